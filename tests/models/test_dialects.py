"""Where engines differ: each reads a column of any type as `predict` reads it in memory."""

import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.dialects import DIALECTS
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Label, Literal, Real, Schema
from hedgerow.schema.attributes import Attribute
from tests.models.sql_engines import SqlEngine
from tests.models.strategies import Case, cases, told_apart
from tests.models.test_sql import AGE, FLAG, HOSTILE, HOSTILE_VALUE, hostile_model

NONE = PrivacyCard.none("example", software="hedgerow")
WHITE = " \t\n\r\v\f"


def each_literal(attribute: Attribute) -> list[RuleList]:
    """Return a model for each literal, which says 1 where it holds."""
    schema = Schema({"x": attribute}, Label("y", (0, 1)))
    literals = attribute.literals("x", negations=True)
    return [RuleList(schema, (Rule((literal,), (0, 1)), Rule((), (1, 0))), NONE) for literal in literals]


def agrees(engine: SqlEngine, attribute: Attribute, values: pa.Array) -> None:
    """Check each literal of an attribute on a column."""
    models, table = each_literal(attribute), pa.table({"x": values})
    for model, found in zip(models, engine.select_all(models, table), strict=True):
        assert found == model.predict(table).tolist(), model


SPELLED = Categorical(
    ("0.5", "12345678", "3.0", "0", "1e+16"), missing="bin", missing_values=(-9, "7", 0.25), outside="bin"
)
TEXTS = """
0.5 0.50 .5 12345678 12345678.00 1.2345678E7 3 3.0 3. 03 +3 3e0 0 -0 0.0 -0.0 1e+16 10000000000000000 -9 -9.0 -09
7 7.000 0.25 0.250 nan NaN -nan true
"""
DECIMALS = "0.5 12345678 3 0 -9 7 0.25 3.001"
COLUMNS = {
    "double": pa.array([0.5, 12345678.0, 3.0, -0.0, 1e16, -9.0, 7.0, 0.25, 1e300, 5e-324, float("nan"), None]),
    "infinite": pa.array([float("inf"), -float("inf"), 0.5]),
    "single": pa.array([0.5, 12345678.0, 3.0, -0.0, 0.1, -9.0, 7.0, 0.25, float("nan"), None], pa.float32()),
    "decimal": pa.array(
        [Decimal(x) for x in ["0.5", "12345678", "3", "0", "-9", "7", "0.25", "3.001"]], pa.decimal128(12, 3)
    ),
    "integer": pa.array([12345678, 3, 0, -9, 7, 30, None]),
    "text": pa.array(
        [*TEXTS.split(), "", "3\u2028", "3\x85", "\xa03", "3\n", *(f"{c}3{c}" for c in WHITE), WHITE, None]
    ),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_words_and_numbers_are_told_apart_as_predict_does(engine: SqlEngine, kind: str) -> None:
    agrees(engine, SPELLED, COLUMNS[kind])


@pytest.mark.parametrize("outside", ["clip", "bin"])
def test_text_of_a_number_is_that_number_and_a_declared_word_is_a_word(engine: SqlEngine, outside: str) -> None:
    attribute = Real(-1e9, 2e9, cuts=(-8.0, 0.1, 3.0), missing="bin", missing_values=(-9, "7"), outside=outside)
    texts = ["-9", "-9.0", "-09", "-9e0", "7", "7.00", "07", ".1", "1e-1", "+3", "3.", "0003.000e+00", " \v3\f", "\n"]
    agrees(engine, attribute, pa.array([*texts, "5e-324", "-2.2250738585072014e-308", "1.5e-150", "9" * 9, None]))


@pytest.mark.parametrize("kind", [pa.float64(), pa.float32(), pa.int64(), pa.decimal128(12, 8), pa.bool_()], ids=str)
def test_zeros_and_ones_of_every_type_are_booleans(engine: SqlEngine, kind: pa.DataType) -> None:
    values = [False, True, None] if pa.types.is_boolean(kind) else [0, 1, None]
    agrees(engine, Boolean(missing="bin"), pa.array(values, kind))
    if pa.types.is_floating(kind):
        agrees(engine, Boolean(missing="bin"), pa.array([-0.0, 1.0, float("nan")], kind))


def test_whole_numbers_that_no_double_tells_apart_are_told_apart(engine: SqlEngine) -> None:
    agrees(engine, Categorical((2**60, 2**60 + 1), outside="bin"), pa.array([2**60, 2**60 + 1, 2**60 + 2]))


def test_a_line_separator_is_no_end_of_a_number(engine: SqlEngine) -> None:
    flags = told_apart(FLAG, Literal("x", "true"), [], "text").model
    assert engine.select(flags, pa.table({"x": ["true", "true\u2028", "1.0\x85"]})) == ["no", "yes", "yes"]


def test_no_text_makes_a_comparison_fail(engine: SqlEngine) -> None:
    texts = ["1e400", "-1e999", "1e-400", "9" * 400, "1e", "e", ".", "0x1p3", "inf", "nan", "x", "\u0663", "31"]
    for found in engine.select_all(each_literal(AGE), pa.table({"x": texts})):
        assert len(found) == len(texts)


def test_compiled_spark_predicts_what_predict_does(spark, tmp_path) -> None:
    table = pa.table({"x": ["30", " 31.0 ", "?", "NaN", "-9.0", None, "99", "45"], "b": [True, False] * 4})
    tree = Tree(
        Schema({"x": AGE, "b": Boolean()}, Label("y", ("no", "yes", "?"))),
        Split(Literal("x", "missing"), Leaf(label="?"), Split(Literal("b", "true"), Leaf((1, 0, 0)), Leaf((0, 1, 0)))),
        NONE,
    )
    table = table.set_column(0, "x", pa.array(["30", " 31.0 ", "?", "60", "-9.0", None, "99", "45"]))
    pq.write_table(table, tmp_path / "t.parquet")  # a table in memory is folded into its answer by the optimizer
    frame = spark.read.parquet(str(tmp_path / "t.parquet")).selectExpr(f"{tree.to_sql('spark')} AS predicted")
    assert "*(1) Project" in frame._jdf.queryExecution().toString()
    assert frame.toArrow().column(0).to_pylist() == tree.predict(table).tolist()


def joined(parts: exp.Concat) -> str:
    """Return the text that a concatenation of constants makes."""
    return "".join(
        chr(int(part.expressions[0].name)) if isinstance(part, exp.Chr) else part.name for part in parts.expressions
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_reads_back_hostile_names_values_and_classes(dialect: str) -> None:
    tree = parse_one(hostile_model().to_sql(dialect), read=dialect)
    assert {column.name for column in tree.find_all(exp.Column)} == {HOSTILE, "select"}
    texts = {text.name for text in tree.find_all(exp.Literal, exp.ByteString)} | {
        *map(joined, tree.find_all(exp.Concat))
    }
    assert {HOSTILE_VALUE.strip(), "O'Brien", "a'b", "c"} <= texts
    assert isinstance(tree, exp.Case)


@given(case=cases(), dialect=st.sampled_from(sorted(DIALECTS)))
@settings(max_examples=60, deadline=None)
def test_every_model_is_one_expression_in_every_dialect(case: Case, dialect: str) -> None:
    sql = case.model.to_sql(dialect)
    tree = parse_one(sql, read=dialect)
    names = {column.name for column in tree.find_all(exp.Column)}
    assert names == {literal.attribute for rule in case.model.rules for literal in rule.antecedent}
    assert sql.startswith(f"/* {DIALECTS[dialect].title}; guarantee: none (example) */ ")


def test_an_unknown_dialect_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="duckdb, postgres, snowflake, spark; got 'mysql'"):
        hostile_model().to_sql("mysql")


def test_what_ibis_adds_to_sqlglot_after_a_model_was_written_is_not_lost() -> None:
    source = """
import sys
from hedgerow.models import Leaf, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Literal, Schema
from hedgerow.models import Split
schema = Schema({"x": Boolean()}, Label("y", (0, 1)))
tree = Tree(schema, Split(Literal("x", "true"), Leaf((1, 0)), Leaf((0, 1))), PrivacyCard.none("r", software="hedgerow"))
tree.to_sql("postgres")
assert "ibis" not in sys.modules
import ibis
print(ibis.to_sql(ibis.date("1970-01-01"), dialect="postgres"))
"""
    ended = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert "make_date(1970, 1, 1)" in ended.stdout.lower()
