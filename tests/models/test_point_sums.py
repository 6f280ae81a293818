"""Totals and predictions in SQL, on every engine, and in Python source."""

import ast
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models import AttributePoints, Scorecard
from hedgerow.models.dialects import DIALECTS
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Real, Schema
from tests.models.hostile import AGE, HOSTILE, HOSTILE_VALUE
from tests.models.scorecards import NONE, SCHEMA, THREE, TWO
from tests.models.sql_engines import SqlEngine, generated, in_duckdb
from tests.models.strategies import Case, added_up, cases, scorecards

ROWS = pa.table(
    {
        "age": [20.0, 44.0, 46.0, 61.0, None, float("nan")],
        "ward": ["surgery", "day clinic", " day clinic ", "ambulance", "surgery", ""],
        "smoker": ["0", "TRUE", None, "1", "", "false"],
        "dose": [0.2, 0.5, 0.6, 0.7, 1.0, 0.0],
    }
)


def functions_of(source: str) -> dict[str, Any]:
    """Run the source with nothing but Python's own names, and return its functions."""
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    return namespace


# --- SQL -----------------------------------------------------------------------------------------------------------


@pytest.mark.hypothesis
def test_an_engine_gives_the_classes_and_totals_that_predict_does(engine: SqlEngine) -> None:
    @generated(engine, {"case": cases(scorecards())})
    def check(case: Case) -> None:
        table, model = case.arrow(), case.model
        assert engine.select(model, table) == model.predict(table).tolist()
        if model.has_one_total:
            query = f"SELECT {model.to_sql(engine.dialect, output='total')} AS p FROM t"
            assert [result for (result,) in engine.run(query, table)] == model.totals(table).tolist()


def test_rows_of_the_example_have_the_same_text(engine: SqlEngine) -> None:
    whole = ROWS[:5]
    assert engine.select_all([TWO, THREE], whole) == [TWO.predict(whole).tolist(), THREE.predict(whole).tolist()]
    query = f"SELECT {TWO.to_sql(engine.dialect, output='total')} AS p FROM t"
    assert [total for (total,) in engine.run(query, whole)] == [-21, 3, -4, 12, -7]


def test_a_value_without_a_bin_has_no_total_and_no_class(engine: SqlEngine) -> None:
    """Where `predict` raises an error for what is missing, SQL is NULL: never a class without a reason."""
    assert engine.select_all([TWO, THREE], ROWS)[0][5] is None  # the ward is blank, and has no bin for it
    schema = Schema(
        {"a": Boolean(), "n": Integer(0, 9, cuts=(4,)), "m": Real(0, 1, cuts=(0.5,)), "c": Categorical(("x", "y"))},
        Label("y", (0, 1)),
    )
    parts = [AttributePoints(name, ((3,), (3,))) for name in schema]
    models = [Scorecard(schema, (-1,), (part,), 1, None, NONE) for part in parts]
    table = pa.table(
        {
            "a": pa.array([True, None], pa.bool_()),
            "n": pa.array([3, None], pa.int64()),
            "m": pa.array([0.5, float("nan")]),
            "c": ["x", "z"],
        }
    )
    assert engine.select_all(models, table) == [[1, None]] * 4


def test_the_largest_total_is_predicted_the_first_of_equals(engine: SqlEngine) -> None:
    schema = Schema({"x": Categorical((0, 1, 2, 3))}, Label("y", ("a", "b", "c")))
    points = ((1, 1, 1), (0, 2, 2), (0, 0, 1), (2, 0, 2))
    model = Scorecard(schema, (-5, -5, -5), (AttributePoints("x", points),), 1, None, NONE)
    table = pa.table({"x": [0, 1, 2, 3]})
    assert engine.select(model, table) == model.predict(table).tolist() == ["a", "b", "c", "a"]


def test_many_and_large_points_are_added_up(engine: SqlEngine) -> None:
    """Engines take expressions of limited depth, and integers of 32 bits.

    DuckDB, which is slow to plan a thousand, is given a quarter of its usual depth.
    """
    if engine.dialect == "duckdb":
        with in_duckdb({"max_expression_depth": "250"}) as shallow:
            check_many_points(shallow, 250)
    else:
        check_many_points(engine, 1000)


def check_many_points(engine: SqlEngine, many: int) -> None:
    attributes = {f"a{i}": Boolean() for i in range(many)}
    parts = tuple(AttributePoints(name, ((-(10**6),), (10**6,))) for name in attributes)
    model = Scorecard(Schema(attributes, Label("y", (0, 1))), (0,), parts, 1, None, NONE)
    table = pa.table({name: [True, False] for name in attributes})
    query = f"SELECT {model.to_sql(engine.dialect, output='total')} AS p FROM t"
    assert [total for (total,) in engine.run(query, table)] == [10**6 * many, -(10**6) * many]


def hostile_card() -> Scorecard:
    schema = Schema(
        {HOSTILE: Categorical((HOSTILE_VALUE.strip(), "O'Brien")), "select": Boolean(), "age": AGE},
        Label("y", ("a'b", "c")),
    )
    parts = (
        AttributePoints(HOSTILE, ((2,), (-1,))),
        AttributePoints("select", ((0,), (-2,))),
        AttributePoints("age", ((1,), (1,), (4,), (0,), (-1,))),
    )
    return Scorecard(schema, (0,), parts, 1, None, PrivacyCard.none("*/ drop table t; /*", software="hedgerow"))


def test_hostile_names_values_and_guarantees_are_quoted(engine: SqlEngine) -> None:
    names = [HOSTILE_VALUE, HOSTILE_VALUE, "O'Brien"]
    table = pa.table({HOSTILE: names, "select": [True, False, True], "age": ["-9", "100", "61"]})
    assert engine.select(hostile_card(), table) == ["a'b", "c", "c"]
    assert hostile_card().totals(table).tolist() == [0, 1, 1]


def test_the_expression_reads_like_the_card() -> None:
    model = Scorecard(SCHEMA, (-1,), (AttributePoints("smoker", ((0,), (3,), (-2,))),), 1, None, NONE)
    text = "TRIM(CAST(\"smoker\" AS TEXT), E' \\t\\n\\r\\x0B\\f')"
    assert model.to_sql().splitlines() == [
        "/* DuckDB; guarantee: none (example) */ CASE (",
        "  -1",
        "  + CASE",
        f"    WHEN \"smoker\" IS NULL OR {text} IN ('', 'nan', '-nan') THEN -2",
        f"    WHEN REGEXP_MATCHES(LOWER({text}), '^(false|-?0([.]0+|e-[0-9]+)?)$') THEN 0",
        f"    WHEN REGEXP_MATCHES(LOWER({text}), '^(true|1([.]0+)?)$') THEN 3",
        "  END",
        ") > 0",
        "  WHEN TRUE THEN 'yes'",
        "  WHEN FALSE THEN 'no'",
        "END",
    ]
    assert model.to_sql(output="total").splitlines()[:2] == ["/* DuckDB; guarantee: none (example) */ -1", "+ CASE"]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("model", [TWO, THREE])
def test_every_dialect_can_parse_the_expression(dialect: str, model: Scorecard) -> None:
    import sqlglot

    result = sqlglot.parse_one(f"SELECT {model.to_sql(dialect)} AS p FROM t", read=dialect)
    assert {column.name for column in result.find_all(sqlglot.exp.Column)} == {part.attribute for part in model.parts}


def test_the_total_is_for_two_classes() -> None:
    with pytest.raises(ValueError, match=r"^output='total' .*3 classes"):
        THREE.to_sql(output="total")
    with pytest.raises(ValueError, match=r"^output .*prediction, total, got 'risk'\.$"):
        TWO.to_sql(output="risk")  # type: ignore[arg-type]


def test_a_card_whose_sql_would_fill_the_memory_is_refused() -> None:
    names = tuple(f"{'x' * 990}{i}" for i in range(100))
    schema = Schema({name: Boolean() for name in names}, Label("y", tuple(range(100))))
    parts = tuple(AttributePoints(name, ((1,) * 100, (2,) * 100)) for name in names)
    model = Scorecard(schema, (0,) * 100, parts, 1, None, NONE)
    with pytest.raises(ValueError, match=r"8,388,608 .*SQL"):
        model.to_sql()


# --- Python --------------------------------------------------------------------------------------------------------


def test_a_name_that_looks_like_source_is_one_name() -> None:
    names = ("']; import os; row['", "age")
    schema = Schema(dict.fromkeys(names, Boolean()), Label("y", ("no", "yes")))
    model = Scorecard(schema, (0,), tuple(AttributePoints(name, ((0,), (1,))) for name in names), 1, None, NONE)
    assert functions_of(model.to_python())["predict"](dict.fromkeys(names, "TRUE")) == "yes"


@given(case=cases(scorecards()))
def test_the_functions_give_the_classes_and_totals_that_predict_does(case: Case) -> None:
    result = functions_of(case.model.to_python())
    totals = [added_up(case.model, row) for row in case.rows]
    assert [result["predict"](row) for row in case.typed_rows] == case.model.predict(case.arrow()).tolist()
    expected = [total[0] if len(total) == 1 else tuple(total) for total in totals]
    assert [result["total"](row) for row in case.typed_rows] == expected


@given(model=scorecards())
def test_the_source_holds_names_and_values_as_constants_only(model: Scorecard) -> None:
    tree = ast.parse(model.to_python())
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own = {f"_points_{number}" for number in range(1, len(model) + 1)}
    assert names <= own | {
        *("row", "value", "missing", "digits", "spelled", "_own", "_cell", "_number", "_boolean", "_word", "_date"),
        *("re", "hasattr", "isinstance", "format", "getattr", "repr", "str", "bool", "int", "float", "ValueError"),
        *("points", "totals", "total", "tuple", "map", "sum", "zip", "max"),
        *(
            "_plain",
            "_serial",
            "zero",
            "steps",
            "pattern",
            "replacement",
            "text",
            "datetime",
        ),  # of the formats of dates
    }
    imports = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    assert [ast.unparse(node) for node in imports] == ["import re"] * bool(imports)


@given(text=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=12))
def test_any_text_is_one_name_one_value_and_one_class(text: str) -> None:
    value = f"'{text}'"
    schema = Schema({text: Categorical((value, "other"))}, Label(f"{text}'s", (value, "no")))
    model = Scorecard(schema, (0,), (AttributePoints(text, ((1,), (-1,))),), 1, None, NONE)
    predict = functions_of(model.to_python())["predict"]
    assert [predict({text: value}), predict({text: "other"})] == [schema.classes[1], schema.classes[0]]


def test_a_value_without_a_bin_is_a_value_error_that_does_not_quote_it() -> None:
    result = functions_of(TWO.to_python())
    row = {"age": 20, "ward": "surgery", "smoker": None, "dose": 1}
    assert (result["total"](row), result["predict"](row)) == (-19, "no")
    with pytest.raises(ValueError, match=r"smoker .*declared domain$"):
        result["total"](row | {"smoker": "s3cret"})


def test_a_category_of_a_thousand_values_can_be_compiled() -> None:
    values = tuple(f"v{i}" for i in range(5000))
    schema = Schema({"x": Categorical(values)}, Label("y", (0, 1)))
    parts = (AttributePoints("x", tuple((i,) for i in range(5000))),)
    total = functions_of(Scorecard(schema, (0,), parts, 1, None, NONE).to_python())["total"]
    assert total({"x": "v4321"}) == 4321
