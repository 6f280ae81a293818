"""SQL for columns of the declared types: it reads like the model and predicts what `predict` does."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
import sqlglot

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.models.dialects import DIALECTS
from hedgerow.schema import Attribute, Boolean, Categorical, Date, Integer, Label, Literal, Real, Schema
from tests.models.hostile import HOSTILE, HOSTILE_VALUE, NONE, hostile_model
from tests.models.sql_engines import SqlEngine, generated
from tests.models.strategies import Case, Cell, cases, rule_lists, scorecards, storages, trees

AGE = Integer(0, 90, cuts=(30, 45), missing="bin", missing_values=(-9, 88))
SCHEMA = Schema(
    {"age": AGE, "sex": Categorical(("F", "M")), "smoker": Boolean(), "dose": Real(0, 1, cuts=(0.1, 0.5))},
    Label("ill", ("no", "yes")),
)
EVERY = [True, False, None]


def declared_types(attribute: Attribute) -> list[str]:
    """Return the column types that an attribute declares, by the documentation of `Model.to_sql`."""
    if isinstance(attribute, Boolean):
        return ["boolean"]
    if isinstance(attribute, Categorical):
        are_text = {isinstance(value, str) for value in attribute.values}
        return ["text"] if are_text == {True} else ["integer", "double"] if are_text == {False} else ["text"]
    if isinstance(attribute, Date):
        return ["date"] if attribute.format is None else storages(attribute)
    return ["double"] if isinstance(attribute, Real) else ["integer", "double"]


def is_plain(cell: Cell) -> bool:
    return not isinstance(cell.raw, str) or cell.raw == cell.raw.strip(" ")


def select(engine: SqlEngine, models: list, table: pa.Table) -> list[list]:
    columns = ", ".join(f"{model.to_sql(engine.dialect, types='declared')} AS p{i}" for i, model in enumerate(models))
    return [list(column) for column in zip(*engine.run(f"SELECT {columns} FROM t", table), strict=True)]


@pytest.mark.hypothesis
@pytest.mark.parametrize("models", [rule_lists, trees, scorecards])
def test_an_engine_predicts_what_predict_does(engine: SqlEngine, models: Any) -> None:
    @generated(engine, {"case": cases(models(), declared_types, is_plain)})
    def check(case: Case) -> None:
        table = case.arrow()
        assert select(engine, [case.model], table)[0] == case.model.predict(table).tolist()


def column(values: list[Any], kind: pa.DataType) -> pa.Table:
    return pa.table({"x": pa.array(values, kind)})


NAN = float("nan")
CODES = Categorical((0, 1, 2), missing="bin", missing_values=(-9,), outside="bin")
COLOURS = Categorical(("red", "O'Brien"), missing="bin", missing_values=("?", -8), outside="bin")
WHOLE = replace(AGE, outside="bin")
DOSE = Real(0, 1, cuts=(0.1, 0.5), missing="bin", missing_values=(-9, 0.75))
SEEN = Date("2020-01-01", "2020-12-31", ("2020-06-30",), missing="bin", missing_values=("2020-12-24",), outside="bin")
COLUMNS = [
    (Boolean(missing="bin"), column([True, False, None], pa.bool_())),
    (Boolean(true_values=("yes", "y"), false_values=("no",)), column(["yes", "y", "no"], pa.string())),
    (COLOURS, column(["red", "O'Brien", "?", "-8", "", None, "RED", "other"], pa.string())),
    (CODES, column([0.0, 1.0, 2.0, -9.0, NAN, -NAN, None, 7.0], pa.float64())),
    (CODES, column([0, 1, 2, -9, None, 7], pa.int32())),
    (AGE, column([0.0, 30.0, 31.0, 45.0, 46.0, 90.0, 88.0, -9.0, NAN, -NAN, None], pa.float64())),
    (AGE, column([0, 30, 31, 45, 46, 90, 88, -9, None], pa.int16())),
    (AGE, column([30, 31, 88, None], pa.decimal128(12, 3))),
    (WHOLE, column([30.0, 30.5, 90.5, -1.0, 91.0, 88.0, -9.0, NAN, None], pa.float64())),
    (replace(AGE, outside="clip"), column([-100.0, 30.0, 31.0, 1e9, 88.0, -9.0, NAN, None], pa.float64())),
    (DOSE, column([0.0, 0.1, 0.10000000000000002, 0.5, 0.6, 0.75, 1.0, -9.0, NAN, None], pa.float64())),
    (DOSE, column([0.1, 0.5, 0.6, 0.75, -9.0, NAN, None], pa.float32())),  # the single 0.1 is above the double
    (SEEN, column([18262, 18443, 18444, 18620, 18627, 18628, 0, None], pa.date32())),
]


@pytest.mark.parametrize("place", range(len(COLUMNS)))
def test_every_literal_holds_of_the_values_that_predict_finds(engine: SqlEngine, place: int) -> None:
    attribute, table = COLUMNS[place]
    schema = Schema({"x": attribute}, Label("y", (0, 1)))
    literals = attribute.literals("x", negations=True)
    models = [RuleList(schema, (Rule((literal,), (0, 1)), Rule((), (1, 0))), NONE) for literal in literals]
    assert select(engine, models, table) == [model.predict(table).tolist() for model in models]


def test_missing_values_and_values_above_the_bound_have_no_total(engine: SqlEngine) -> None:
    schema = Schema({"n": Integer(0, 9, cuts=(4,)), "m": Real(0, 1, cuts=(0.5,))}, Label("y", (0, 1)))
    models = [Scorecard(schema, (-1,), (AttributePoints(name, ((2,), (3,))),), 1, None, NONE) for name in schema]
    table = pa.table({"n": pa.array([3.0, NAN, None, 10.0]), "m": pa.array([0.7, NAN, None, 1.5])})
    assert select(engine, models, table) == [[1, None, None, None]] * 2


def test_names_and_values_are_quoted(engine: SqlEngine) -> None:
    table = pa.table({HOSTILE: [HOSTILE_VALUE.strip(), "other", "O'Brien"], "select": [True, False, True]})
    assert select(engine, [hostile_model()], table) == [["a'b", "c", "a'b"]]


def test_a_tree_and_a_rule_list_read_like_their_conditions() -> None:
    women = Split(Literal("dose", ">", (0.1,)), Leaf(label="yes"), Leaf(label="no"))
    inner = Split(Literal("sex", "=", ("F",)), women, Split(Literal("smoker", "false"), Leaf(label="no"), Leaf((0, 5))))
    model = Tree(SCHEMA, Split(Literal("age", "<=", (30,)), Leaf(label="no"), inner), NONE)
    assert model.to_sql("postgres", types="declared").splitlines() == [
        "/* PostgreSQL, columns of the declared types; guarantee: none (example) */ CASE",
        """  WHEN "age" <= 30 AND "age" <> -9 THEN 'no'""",
        """  WHEN "sex" = 'F' AND ("dose" > 0.1 AND "dose" <= 1.0) THEN 'yes'""",
        """  WHEN "sex" = 'F' THEN 'no'""",
        """  WHEN NOT "smoker" THEN 'no'""",
        "  ELSE 'yes'",
        "END",
    ]
    literals = Literal("age", "between", (30, 45)), Literal("sex", "=", ("M",)), Literal("smoker", "true")
    rules = RuleList(SCHEMA, (Rule(literals, label="yes"), Rule((), label="no")), NONE)
    assert rules.to_sql(types="declared").splitlines()[1:] == [
        """  WHEN ("age" > 30 AND "age" <= 45) AND "sex" = 'M' AND "smoker" THEN 'yes'""",
        "  ELSE 'no'",
        "END",
    ]


def test_a_case_of_a_tree_leaves_out_what_a_narrower_condition_implies() -> None:
    schema = Schema({"n": Integer(0, 9, cuts=(2, 4, 6))}, Label("y", (0, 1, 2, 3)))
    low = Split(Literal("n", "<=", (2,)), Leaf(label=0), Leaf(label=1))
    model = Tree(schema, Split(Literal("n", "<=", (4,)), low, Split(Literal("n", ">", (6,)), low, Leaf(label=3))), NONE)
    assert model.to_sql(types="declared").splitlines()[1:-1] == [
        """  WHEN "n" <= 2 THEN 0""",
        """  WHEN "n" <= 4 THEN 1""",
        """  WHEN ("n" > 6 AND "n" <= 9) AND "n" <= 2 THEN 0""",
        """  WHEN "n" > 6 AND "n" <= 9 THEN 1""",
        "  ELSE 3",
    ]


def test_a_scorecard_is_a_sum_of_one_case_for_each_attribute() -> None:
    parts = (
        AttributePoints("age", ((-2,), (0,), (3,), (1,))),
        AttributePoints("sex", ((0,), (2,))),
        AttributePoints("dose", ((0,), (1,), (4,))),
    )
    card = Scorecard(SCHEMA, (-2,), parts, 0.5, None, NONE)
    assert card.to_sql(types="declared", output="total").splitlines()[1:] == [
        "+ CASE",
        """  WHEN "age" IS NULL OR ISNAN("age") OR "age" IN (-9, 88) THEN 1""",
        """  WHEN "age" <= 30 AND "age" <> -9 THEN -2""",
        """  WHEN "age" <= 45 AND "age" <> -9 THEN 0""",
        """  WHEN "age" > 45 AND "age" <= 90 AND "age" <> 88 THEN 3""",
        "END",
        "+ CASE",
        """  WHEN "sex" = 'F' THEN 0""",
        """  WHEN "sex" = 'M' THEN 2""",
        "END",
        "+ CASE",
        """  WHEN "dose" <= 0.1e0 THEN 0""",
        """  WHEN "dose" <= 0.5 THEN 1""",
        """  WHEN "dose" > 0.5 AND "dose" <= 1.0 THEN 4""",
        "END",
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_parses_without_casts_of_columns(dialect: str) -> None:
    parts = (AttributePoints("age", ((-2,), (0,), (3,), (1,))), AttributePoints("smoker", ((0,), (2,))))
    card = Scorecard(SCHEMA, (-2,), parts, 0.5, None, NONE)
    tree = sqlglot.parse_one(card.to_sql(dialect, types="declared"), read=dialect)
    assert not any(cast.find(sqlglot.exp.Column) for cast in tree.find_all(sqlglot.exp.Cast))


def test_other_types_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^types .*any, declared, got 'typed'\.$"):
        hostile_model().to_sql(types="typed")  # type: ignore[arg-type]
