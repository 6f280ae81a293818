import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import strategies as st

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Ordered, Real, Schema
from hedgerow.tables.frames import Table
from tests.models.hostile import AGE, FLAG, HOSTILE, HOSTILE_VALUE, NONE, hostile_model
from tests.models.sql_engines import SqlEngine, generated
from tests.models.strategies import Case, Cell, cases, told_apart, trees

WHITE = " \t\n\r\v\f"


def known(value, raw=None) -> Cell:
    return Cell("known", value, value if raw is None else raw)


NULL, NAN = Cell("missing", None, None), Cell("missing", float("nan"), float("nan"))
NEGATIVE_NAN = Cell("missing", -float("nan"), -float("nan"))
COLOURS = Categorical(("red", "O'Brien"), missing="bin", missing_values=("?",), outside="bin")
GRADES = Categorical((0, 1, 2), missing="bin", missing_values=(-9,), outside="bin")
CODES = Categorical(("02", "2", "3"), missing="bin", missing_values=("9",))
DOSE = Real(0, 1, cuts=(0.5,), missing="bin", missing_values=(-9,))


EXAMPLES = [
    told_apart(FLAG, Literal("x", "true"), [known(True, 1.0), known(False, 0.0), NULL, NAN], "double"),
    told_apart(FLAG, Literal("x", "false"), [known(True, " true "), known(False, "FALSE"), NULL], "text"),
    told_apart(FLAG, Literal("x", "known"), [known(True, 1.0), NAN, Cell("missing", 9, 9.0)], "double"),
    told_apart(FLAG, Literal("x", "missing"), [known(True, 1.0), NAN, NEGATIVE_NAN], "double"),
    told_apart(GRADES, Literal("x", "!=", (1,)), [known(1, 1.0), known(2, 2.0), NAN, NEGATIVE_NAN], "double"),
    told_apart(GRADES, Literal("x", "outside"), [known(1, 1.0), Cell("outside", 7, 7.0), NAN], "double"),
    told_apart(COLOURS, Literal("x", "!=", ("O'Brien",)), [known("red"), known("O'Brien"), NULL], "text"),
    told_apart(CODES, Literal("x", "=", ("3",)), [known("3", 3.0), NULL, NAN], "double"),
    told_apart(CODES, Literal("x", "=", ("02",)), [known("02"), known("2"), Cell("missing", "9", "9")], "text"),
    told_apart(AGE, Literal("x", ">", (30,)), [known(31, 31.0), NAN, NEGATIVE_NAN, NULL], "double"),
    told_apart(AGE, Literal("x", "<=", (30,)), [known(30, "30"), Cell("missing", "?", "?")], "text"),
    told_apart(AGE, Literal("x", "outside"), [known(30, 30.0), Cell("outside", 30.5, 30.5), NAN], "double"),
    told_apart(AGE, Literal("x", "<=", (60,)), [known(30, 30.0), Cell("outside", 30.5, 30.5)], "double"),
    told_apart(DOSE, Literal("x", ">", (0.5,)), [known(0.75), known(0.5), NAN, NEGATIVE_NAN, NULL], "double"),
    told_apart(DOSE, Literal("x", "<=", (0.5,)), [known(0.25), Cell("missing", -9, -9.0)], "double"),
]


@pytest.mark.hypothesis
def test_an_engine_predicts_exactly_what_predict_does(engine: SqlEngine) -> None:
    @generated(engine, {"case": cases()}, *[{"case": case} for case in EXAMPLES])
    def check(case: Case) -> None:
        table = case.arrow()
        assert engine.select(case.model, table) == case.model.predict(table).tolist()


@pytest.mark.hypothesis
def test_an_engine_predicts_exactly_what_a_tree_does(engine: SqlEngine) -> None:
    @generated(engine, {"case": cases(trees())})
    def check(case: Case) -> None:
        table = case.arrow()
        assert engine.select(case.model, table) == case.model.predict(table).tolist()


def test_missing_values_go_to_the_false_branch(engine: SqlEngine) -> None:
    schema = Schema({"x": DOSE, "b": Boolean()}, Label("y", (1, 2, 3, 4)))
    trees = []
    for literal in (Literal("x", "<=", (0.5,)), Literal("x", ">", (0.5,)), Literal("x", "known")):
        inner = Split(Literal("b", "true"), Split(literal, Leaf(label=3), Leaf(label=4)), Leaf(label=2))
        trees.append(Tree(schema, Split(literal, Leaf(label=1), inner), NONE))
    values = [None, None, float("nan"), float("nan"), -9.0, -9.0]
    table = pa.table({"x": pa.array(values, pa.float64()), "b": [True, False] * 3})
    for tree, result in zip(trees, engine.select_all(trees, table), strict=True):
        assert result == tree.predict(table).tolist() == [4, 2] * 3


def test_ordered_values_are_not_compared_as_text(engine: SqlEngine) -> None:
    kind = Ordered(("low", "high", "V", "10", "9"), missing="bin", missing_values=("?",), outside="bin")
    literals = [*kind.literals("x", negations=True), Literal("x", "!=", ("V",))]
    table = pa.table({"x": [*kind.values, " high ", "10.0", "?", "", None, "other", "LOW"]})
    result = engine.select_all([told_apart(kind, literal, [], "text").model for literal in literals], table)
    bins = kind.encode(Table.of(table).column("x", 0))
    assert result == [np.where(kind.truth(literal)[bins], "no", "yes").tolist() for literal in literals]


def test_a_tree_of_the_greatest_depth_is_read(engine: SqlEngine) -> None:
    root: Split | Leaf = Leaf(label=1)
    for _ in range(64):
        root = Split(Literal("x", "true"), root, Leaf(label=0))
    tree = Tree(Schema({"x": Boolean()}, Label("y", (0, 1))), root, NONE)
    assert engine.select(tree, pa.table({"x": [True, False]})) == [1, 0]


@pytest.mark.hypothesis
def test_a_cut_point_keeps_every_digit(engine: SqlEngine) -> None:
    numbers = st.floats(-1e9, 1e9)

    @generated(
        engine,
        {"cut": numbers, "values": st.lists(numbers, max_size=4)},
        {"cut": 0.30000000000000004, "values": [0.3]},
        {"cut": 123456789.12345679, "values": [123456789.12345677, 123456789.12345681]},
        # DuckDB divides the decimal out to a neighbour of the double
        {"cut": 0.00012031514605000358, "values": [0.00012031514605000356, 0.0001203151460500036]},
        {"cut": -0.00012031514605000358, "values": [-0.00012031514605000356, -0.0001203151460500036]},
        {"cut": 5e-324, "values": [1e-323, 0.0, -5e-324, 2.2250738585072014e-308]},
        {"cut": 1e-150, "values": [1.0000000000000002e-150, 9.999999999999999e-151]},
        share=1 / 3,
    )
    def check(cut: float, values: list[float]) -> None:
        schema = Schema({"x": Real(-1e9, 2e9, cuts=(cut,))}, Label("y", (0, 1)))
        model = RuleList(schema, (Rule((Literal("x", "<=", (cut,)),), (1, 0)), Rule((), (0, 1))), NONE)
        expected = [int(not value <= cut) for value in [cut, *values]]
        table = pa.table({"x": pa.array([cut, *values], pa.float64())})
        assert engine.select(model, table) == expected
        assert engine.select(model, pa.table({"x": [repr(value) for value in [cut, *values]]})) == expected


def test_single_precision_is_compared_as_predict_compares_it(engine: SqlEngine) -> None:
    # the single nearest to 0.1 is 0.100000001..., which is above the cut point
    model = told_apart(Real(0, 1, cuts=(0.1,)), Literal("x", "<=", (0.1,)), [], "double").model
    table = pa.table({"x": pa.array([0.1, 0.05], pa.float32())})
    assert engine.select(model, table) == model.predict(table).tolist() == ["yes", "no"]


def test_a_text_column_of_numbers_compares_as_numbers(engine: SqlEngine) -> None:
    model = told_apart(Real(0, 100, cuts=(30.4,)), Literal("x", ">", (30.4,)), [], "text").model
    table = pa.table({"x": ["9", "30.4", "30.5", "1e2"]})
    assert engine.select(model, table) == model.predict(table).tolist() == ["yes", "yes", "no", "no"]


@pytest.mark.parametrize(
    ("operator", "expected"), [("missing", ["yes", "yes", "no"]), ("outside", ["yes", "no", "yes"])]
)
def test_a_decimal_column_compares_as_numbers(engine: SqlEngine, operator: str, expected: list[str]) -> None:
    model = told_apart(GRADES, Literal("x", operator), [], "double").model
    table = pa.table({"x": pa.array([1, 7, -9], pa.decimal128(12, 3))})  # as text 1.000, 7.000, -9.000
    assert engine.select(model, table) == model.predict(table).tolist() == expected


def test_hostile_names_and_values_are_quoted(engine: SqlEngine) -> None:
    table = pa.table({HOSTILE: [HOSTILE_VALUE, HOSTILE_VALUE, "O'Brien"], "select": [True, False, True]})
    assert engine.select(hostile_model(), table) == ["a'b", "c", "a'b"]


@pytest.mark.hypothesis
def test_any_text_is_one_name_one_value_and_one_class(engine: SqlEngine) -> None:
    texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12)

    @generated(engine, {"name": texts}, {"name": "\\"}, {"name": "\\'\"`"}, share=1 / 3)
    def check(name: str) -> None:
        value = f"'{name}'"  # no blanks around it, which are not part of a value
        schema = Schema({name: Categorical((value, "other"))}, Label(f"{name}'s", (value, "no")))
        rules = (Rule((Literal(name, "=", (value,)),), tuple(int(c == value) for c in schema.classes)),)
        model = RuleList(schema, (*rules, Rule((), tuple(int(c == "no") for c in schema.classes))), NONE)
        assert engine.select(model, pl.DataFrame({name: [value, "other"]}).to_arrow()) == [value, "no"]


def test_an_apostrophe_in_a_guarantee_changes_no_value(engine: SqlEngine) -> None:
    """DuckDB would replace no-break spaces in the values after them."""
    schema = Schema({"x": Categorical(("a\u00a0b", "c"))}, Label("y", (0, 1)))
    card = PrivacyCard.none("the curator's rows", software="hedgerow")
    model = Tree(schema, Split(Literal("x", "=", ("a\u00a0b",)), Leaf(label=1), Leaf(label=0)), card)
    assert engine.select(model, pa.table({"x": ["a\u00a0b", "c"]})) == [1, 0]


def test_a_guarantee_stays_within_its_comment(engine: SqlEngine) -> None:
    schema, models = Schema({"x": Boolean()}, Label("y", (0, 1))), []
    for reason in ("*/ drop table t; /*", "/*", "*/", "/*/", "*/*", "/", "*"):
        card = PrivacyCard.none(reason, software="hedgerow")
        models += [RuleList(schema, (Rule((), (0, 1)),), card), Tree(schema, Leaf((0, 1)), card)]
    assert engine.select_all(models, pa.table({"x": [True]})) == [[1]] * 14


@pytest.mark.parametrize(("classes", "text"), [(("no", "y'es"), "'y''es'"), ((False, True), "TRUE"), ((0, 1), "1")])
def test_a_list_of_the_default_rule_alone_is_its_class(classes: tuple, text: str) -> None:
    model = RuleList(Schema({"x": Boolean()}, Label("y", classes)), (Rule((), (0, 1)),), NONE)
    assert model.to_sql() == f"/* DuckDB; guarantee: none (example) */ {text}"


AGE_IN_SQL = (
    "CASE WHEN TYPEOF(\"age\") LIKE 'DECIMAL%' THEN"
    " TRY_CAST(TRIM(CAST(\"age\" AS TEXT), E' \\t\\n\\r\\x0B\\f') AS DOUBLE)"
    ' ELSE TRY_CAST("age" AS DOUBLE) END'
)


def test_the_expression_reads_like_the_rules() -> None:
    schema = Schema({"age": Integer(0, 90, cuts=(30,)), "sex": Categorical(("F", "M"))}, Label("y", (0, 1)))
    rules = (Rule((Literal("age", "<=", (30,)), Literal("sex", "=", ("F",))), (9, 1)), Rule((), (0, 5)))
    assert RuleList(schema, rules, NONE).to_sql() == (
        "/* DuckDB; guarantee: none (example) */ CASE\n"
        f"  WHEN ({AGE_IN_SQL} <= 30"
        " AND NOT TRIM(CAST(\"age\" AS TEXT), E' \\t\\n\\r\\x0B\\f') IN ('', 'nan', '-nan'))"
        " AND TRIM(CAST(\"sex\" AS TEXT), E' \\t\\n\\r\\x0B\\f') IN ('F', 'false') THEN 0\n"
        "  ELSE 1\n"
        "END"
    )


def test_the_expression_reads_like_the_tree() -> None:
    schema = Schema({"age": Integer(0, 90, cuts=(30,)), "sex": Categorical(("F", "M"))}, Label("y", (0, 1)))
    inner = Split(Literal("sex", "=", ("F",)), Leaf(label=0), Leaf(label=1))
    assert Tree(schema, Split(Literal("age", "<=", (30,)), inner, Leaf((0, 5))), NONE).to_sql() == (
        f"/* DuckDB; guarantee: none (example) */ CASE WHEN {AGE_IN_SQL} <= 30"
        " AND NOT TRIM(CAST(\"age\" AS TEXT), E' \\t\\n\\r\\x0B\\f') IN ('', 'nan', '-nan')\n"
        "  THEN CASE WHEN TRIM(CAST(\"sex\" AS TEXT), E' \\t\\n\\r\\x0B\\f') IN ('F', 'false')\n"
        "    THEN 0\n"
        "    ELSE 1\n"
        "  END\n"
        "  ELSE 1\n"
        "END"
    )
