"""Where engines differ: each reads a column of any type as `predict` reads it in memory."""

import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from hedgerow.models import Leaf, Split, Tree
from hedgerow.models.dialects import DIALECTS
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Label, Literal, Real, Schema
from tests.models.hostile import AGE, FLAG, HOSTILE, HOSTILE_VALUE, hostile_model
from tests.models.sql_engines import SqlEngine, agree, each_literal
from tests.models.strategies import Case, cases, told_apart

NONE = PrivacyCard.none("example", software="hedgerow")
WHITE = " \t\n\r\v\f"


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


def test_words_and_numbers_are_distinguished_as_by_predict(engine: SqlEngine) -> None:
    agree(engine, [(SPELLED, values) for values in COLUMNS.values()])


def test_text_of_a_number_is_that_number_and_a_declared_word_is_a_word(engine: SqlEngine) -> None:
    policy = {"cuts": (-8.0, 0.1, 3.0), "missing": "bin", "missing_values": (-9, "7")}
    texts = ["-9", "-9.0", "-09", "-9e0", "7", "7.00", "07", ".1", "1e-1", "+3", "3.", "0003.000e+00", " \v3\f", "\n"]
    values = pa.array([*texts, "5e-324", "-2.2250738585072014e-308", "1.5e-150", "9" * 9, None])
    agree(engine, [(Real(-1e9, 2e9, **policy, outside=outside), values) for outside in ("clip", "bin")])


def test_zeros_and_ones_of_every_type_are_booleans(engine: SqlEngine) -> None:
    numbers, flag = (pa.float64(), pa.float32(), pa.int64(), pa.decimal128(12, 8)), Boolean(missing="bin")
    columns = [pa.array([False, True, None]), *(pa.array([0, 1, None], kind) for kind in numbers)]
    columns += [pa.array([-0.0, 1.0, float("nan")], kind) for kind in numbers[:2]]
    agree(engine, [(flag, values) for values in columns])


def test_whole_numbers_beyond_doubles_are_distinguished(engine: SqlEngine) -> None:
    attribute = Categorical((2**60, 2**60 + 1), outside="bin")
    agree(engine, [(attribute, pa.array([2**60, 2**60 + 1, 2**60 + 2]))])


def test_a_line_separator_is_no_end_of_a_number(engine: SqlEngine) -> None:
    flags = told_apart(FLAG, Literal("x", "true"), [], "text").model
    assert engine.select(flags, pa.table({"x": ["true", "true\u2028", "1.0\x85"]})) == ["no", "yes", "yes"]


def test_no_text_makes_a_comparison_fail(engine: SqlEngine) -> None:
    texts = ["1e400", "-1e999", "1e-400", "9" * 400, "1e", "e", ".", "0x1p3", "inf", "nan", "x", "\u0663", "31"]
    for result in engine.select_all(each_literal("x", AGE), pa.table({"x": texts})):
        assert len(result) == len(texts)


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
def test_every_model_is_one_expression_in_every_dialect(case: Case, dialect: str) -> None:
    sql = case.model.to_sql(dialect)
    tree = parse_one(sql, read=dialect)
    names = {column.name for column in tree.find_all(exp.Column)}
    assert names == {literal.attribute for rule in case.model.rules for literal in rule.antecedent}
    assert sql.startswith(f"/* {DIALECTS[dialect].title}; guarantee: none (example) */ ")


def test_postgres_reads_backslashes_the_same_under_any_setting() -> None:
    schema = Schema({"a": Categorical(("b\\", "c'"))}, Label("y", ("no", "yes")))
    for value, written in (("b\\", r"E'b\\'"), ("c'", "'c'''")):
        split = Split(Literal("a", "=", (value,)), Leaf(label="yes"), Leaf(label="no"))
        assert f" = {written}\n" in Tree(schema, split, NONE).to_sql("postgres")


def test_an_unknown_dialect_is_refused_with_the_known_dialects() -> None:
    with pytest.raises(ValueError, match="duckdb, postgres, snowflake, spark, got 'mysql'"):
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
