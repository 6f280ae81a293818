"""Claim: a value is looked up among any number of constants, in time and text that grow as their number, not faster.

A regular expression for each category took 16 s for 1,000 categories and 20,000 rows, minutes on PostgreSQL; 3,000
missing values ended in a RecursionError; the query for 50,000 words took 78 s to write.
"""

import time

import ibis
import pyarrow as pa
import pytest

from hedgerow import Boolean, Categorical, Integer, Label, Oracle, Real, Schema, Tally
from hedgerow.engines import lookups
from hedgerow.engines.count import groups_within_limit
from tests.engines.collations import ignoring_case
from tests.engines.load import into_duckdb
from tests.engines.rows import as_rows
from tests.engines.servers import POSTGRES, SPARK
from tests.engines.words import HOSTILE

LABEL = Label("y", ("no", "yes"))
ROWS = 20_000
MANY = {
    "whole numbers in text": (Categorical(tuple(range(1000))), [str(i % 1000) + ".0" * (i % 2) for i in range(ROWS)]),
    "words": (Categorical(tuple(f"w{i}" for i in range(1000))), [" " * (i % 2) + f"w{i % 1000}" for i in range(ROWS)]),
    "whole numbers": (Categorical(tuple(range(1000))), [i % 1000 for i in range(ROWS)]),
    "floats": (Categorical(tuple(range(1000))), [float(i % 1000) for i in range(ROWS)]),
    "missing words": (
        Categorical(("a",), missing="bin", missing_values=tuple(range(3000))),
        ["a", *(str(i % 3000) for i in range(1, ROWS))],
    ),
    "missing words of booleans": (
        Boolean(missing="bin", missing_values=tuple(range(2, 3000))),
        [str(i % 3000) for i in range(ROWS)],
    ),
    "missing numbers": (
        Integer(0, 5000, cuts=(4000,), missing="bin", missing_values=tuple(range(3000))),
        [i % 5000 for i in range(ROWS)],
    ),
    "missing numbers in text": (
        Integer(0, 5000, cuts=(4000,), missing="bin", missing_values=tuple(range(3000))),
        [str(i % 5000) for i in range(ROWS)],
    ),
    "cut points": (Real(0, 1000, cuts=tuple(range(1, 1000))), [(i % 2000) / 2 for i in range(ROWS)]),
    "cut points, text": (Integer(0, 1000, cuts=tuple(range(1, 1000))), [str(i % 1000) for i in range(ROWS)]),
}


ON_SPARK = ("words", "missing numbers in text", "cut points")  # which takes long to plan many joins
SOON = ("missing numbers in text",)
KINDS = [("duckdb", tuple(MANY)), pytest.param("postgres", tuple(MANY), marks=POSTGRES.marks)]
KINDS += [pytest.param("spark", SOON, marks=SPARK.marks)]
KINDS += [pytest.param("spark", ON_SPARK, marks=[*SPARK.marks, pytest.mark.slow])]


@pytest.mark.parametrize(("load", "kinds"), KINDS, indirect=["load"], ids=["duckdb", "postgres", "spark", "spark, all"])
def test_the_tally_matches_memory(load, kinds):
    table = pa.table({**{kind: MANY[kind][1] for kind in kinds}, "y": ["no", "yes"] * (ROWS // 2)})
    schema = Schema({kind: MANY[kind][0] for kind in kinds}, LABEL)
    into = load(table)
    start = time.perf_counter()
    result = Tally.from_table(into, schema)
    assert time.perf_counter() - start < 60
    assert as_rows(result) == as_rows(Tally.count(table, "y", schema))


def test_classes_are_looked_up_too(load):
    words = tuple(f"class {i}" for i in range(100))
    table = pa.table({"b": [True] * 200, "y": [f"{word} " for word in words] * 2})
    schema = Schema({"b": Boolean()}, Label("y", words))
    assert Tally.from_table(load(table), schema).total().tolist() == [2] * 100


@pytest.mark.parametrize("kind", ["words", "numbers", "missing", "cuts"])
@pytest.mark.claim("grows at most in proportion to the schema")
def test_the_query_grows_as_the_constants(kind):
    """By the size of its text, which is the same on every machine; and in each, a number of regular expressions."""

    def written(number):
        constants = tuple(range(1, number + 1))
        attribute = {
            "words": lambda: Categorical(tuple(map("w{}".format, constants))),
            "numbers": lambda: Categorical(constants),
            "missing": lambda: Real(0, 1, cuts=(), missing="bin", missing_values=constants),
            "cuts": lambda: Integer(0, number + 1, cuts=constants),
        }[kind]()
        table = into_duckdb(pa.table({"x": ["1"], "y": ["no"]}))
        return str(ibis.to_sql(groups_within_limit(table, Schema({"x": attribute}, LABEL), "y")))

    few, many = written(100), written(1000)
    assert len(many) < 11 * len(few)
    assert few.count("REGEXP") == many.count("REGEXP") <= 5


def test_many_words_are_written_soon():
    table = into_duckdb(pa.table({"x": ["w7"], "y": ["no"]}))
    schema = Schema({"x": Categorical(tuple(f"w{i}" for i in range(50_000)))}, LABEL)
    start = time.process_time()
    ibis.to_sql(groups_within_limit(table, schema, "y"))
    assert time.process_time() - start < 20  # 0.3 s; it were 78


def test_an_oracle_counts_the_bins_of_many_categories(load):
    table = pa.table({"x": [f"w{i % 500}" for i in range(3000)], "y": [i % 3 == 0 for i in range(3000)]})
    bins = Schema({"x": Categorical(tuple(f"w{i}" for i in range(500)), missing="bin", outside="bin")})
    result, expected = Oracle.from_table(load(table), "y", None), Oracle(table.drop_columns("y"), table["y"], None)
    assert result.marginals(bins).masses.tolist() == expected.marginals(bins).masses.tolist()


@pytest.mark.parametrize("few", [lookups.FEW, 0])
def test_any_text_is_one_constant(load, monkeypatch, few):
    monkeypatch.setattr(lookups, "FEW", few)
    words = HOSTILE[: lookups.FEW - 2] if few else HOSTILE
    schema = Schema({"x": Categorical(tuple(words), outside="bin")}, LABEL)
    table = pa.table({"x": [*words, "other"], "y": ["no"] * (len(words) + 1)})
    assert as_rows(Tally.from_table(load(table), schema)) == [[i, 1, 0] for i in range(len(words) + 1)]


def test_a_collation_multiplies_no_row(load, monkeypatch):
    """Different categories that a column's own collation takes for equal: each row is counted once all the same."""
    monkeypatch.setattr(lookups, "FEW", 0)
    table = ignoring_case(load(pa.table({"x": ["a", "A", "b"], "y": ["no", "no", "yes"]})), "x")
    schema = Schema({"x": Categorical(("a", "A", "b", "B"))}, LABEL)
    assert Tally.from_table(table, schema).total().tolist() == [2, 1]


def test_names_that_the_query_uses_itself_may_be_the_tables(load, monkeypatch):
    monkeypatch.setattr(lookups, "FEW", 0)
    names = ["key0", "KEY1", "code0", "code2", "line0", "key", "code", "rows", "class", "a0", "t0", "t1"]
    table = pa.table({name: ["1", "2", " 2.0"] for name in names} | {"key3": [0.5, 2.5, 7.5], "y": ["no", "yes", "no"]})
    attributes = {name: Categorical(("1", "2")) for name in names} | {"key3": Real(0, 9, cuts=(1, 3), missing="bin")}
    schema = Schema(attributes, LABEL)
    result = Tally.from_table(load(table), schema)
    assert as_rows(result) == as_rows(Tally.count(table, "y", schema))
