"""Claim: "Distinct patterns of schema cells" (tally.py): a value has its own bin, however many there are.

More than 65,536 bins once wrapped silently to 16 bits: the last value was counted as the first one.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import product

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import DomainError
from hedgerow.models import Rule, RuleList, Split, Tree
from hedgerow.models.leaf import Leaf
from hedgerow.oracle.binning import bin_matrix
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Date, Integer, Label, Literal, Real, Schema
from hedgerow.schema.attributes import Attribute
from hedgerow.tables.frames import column_of
from hedgerow.tally import Tally

NONE = PrivacyCard.none("example", software="hedgerow")
BYTES, WORDS = [126, 127, 128, 129, 254, 255, 256, 257, 258], [65_536, 65_537]
CELL = {"missing": "bin", "outside": "bin"}


def attributes(size: int) -> list[Attribute]:
    """Attributes of so many cells, those of missing and outside values among them."""
    values, cuts = tuple(range(size - 2)), tuple(range(size - 3))
    words = tuple(f"word {i}" for i in values)
    return [
        Categorical(values, **CELL),
        Categorical(words, **CELL),
        Integer(0, size, cuts, **CELL),
        Real(0, size, cuts, **CELL),
    ]


@pytest.mark.parametrize(("size", "place"), [*product(BYTES, range(4)), *((size, 3) for size in WORDS)])
@pytest.mark.claim("No two bins of an attribute share a number")
def test_every_cell_has_its_own_number(size: int, place: int) -> None:
    attribute = attributes(size)[place]
    assert len(attribute.bins) == size
    known = range(size - 2)
    if isinstance(attribute, Categorical):
        rows = [*attribute.values, None, "other" if place == 1 else size + 7]
    else:
        rows = [*known, None, size + 7]
    cells = attribute.encode(column_of(rows, "c"))
    assert cells.tolist() == list(range(size))


@pytest.mark.parametrize("size", [*BYTES, WORDS[-1]])
def test_every_class_has_its_own_number(size: int) -> None:
    for classes in (tuple(range(size)), tuple(f"class {i:06d}" for i in range(size))):
        assert Label("y", classes).encode(column_of(list(classes), "y")).tolist() == list(range(size))


@pytest.mark.parametrize("size", WORDS)
def test_values_that_were_counted_as_one_are_two_patterns(size: int) -> None:
    schema = Schema({"c": Integer(0, size, tuple(range(size - 1)))}, Label("y", (0, 1)))
    ends = np.array([[0], [1], [size - 2], [size - 1], [size]])
    tally = Tally.count(ends, np.array([0, 1, 0, 1, 0]), schema)
    assert sorted(tally.bins(["c"])["c"].tolist()) == [0, 1, size - 2, size - 1]
    assert bin_matrix(Schema({"c": schema["c"]}), ends).argmax(axis=0).tolist() == [0, 1, size - 2, size - 1, size - 1]


@pytest.mark.parametrize("size", WORDS)
def test_a_model_tells_the_last_value_from_the_first(size: int) -> None:
    schema = Schema({"c": Integer(0, size, tuple(range(size - 1)))}, Label("y", tuple(range(size))))
    first, last = Literal("c", "<=", (0,)), Literal("c", ">", (size - 2,))
    rules = (Rule((first,), label=0), Rule((last,), label=size - 1), Rule((), label=1))
    rows = np.array([[0], [1], [size - 2], [size - 1], [size]])
    expected = [0, 1, 1, size - 1, size - 1]
    assert RuleList(schema, rules, NONE).predict(rows).tolist() == expected
    root = Split(first, Leaf(label=0), Split(last, Leaf(label=size - 1), Leaf(label=1)))
    assert Tree(schema, root, NONE).predict(rows).tolist() == expected


@pytest.mark.parametrize("size", [127, 128, 129, 255, 256, 257])
@pytest.mark.claim("No two bins of an attribute share a number")
def test_an_engine_counts_every_cell_by_itself(size: int) -> None:
    schema = Schema({"c": Integer(0, size, tuple(range(size - 1))), "b": Boolean()}, Label("y", tuple(range(size))))
    values = list(range(size))
    table = pa.table({"c": values, "b": [True] * size, "y": values})
    tally = Tally.from_table(ibis.memtable(table), schema)
    assert tally.distance(Tally.count(table.drop_columns("y"), np.array(values), schema)) == 0
    assert sorted(tally.bins(["c"])["c"].tolist()) == values


@pytest.mark.parametrize("kind", ["7D", "25s", "100ns"])
def test_dates_of_numpy_in_steps_of_several_units_are_of_no_other_day(kind: str) -> None:
    with pytest.raises(DomainError, match="values"):
        Date("1970-01-01", "1999-12-31").encode(column_of(np.array(["1984-12-27"], dtype=f"datetime64[{kind}]"), "c"))


def test_a_day_beyond_32_bits_is_none_within_the_bounds() -> None:
    days = np.array([5_000, 2**32 + 5_000, 5_000 - 2**32], dtype="datetime64[D]")
    bounds = Date("1970-01-01", "1999-12-31", cuts=(), outside="bin")
    assert bounds.encode(column_of(days, "c")).tolist() == [0, 1, 1]


FAR = [2**53, 2**53 + 1, 2**64, 10**37]


def test_whole_numbers_of_many_digits_are_each_their_own_category() -> None:
    """As HUGEINT, decimals without places and objects: the first two are one float64."""
    schema = Schema({"c": Categorical(tuple(FAR))}, Label("y", (0, 1)))
    rows = pa.table({"c": pa.array(list(map(Decimal, FAR)), pa.decimal128(38, 0)), "y": [0, 1] * 2})
    assert schema["c"].encode(column_of(rows["c"], "c")).tolist() == [0, 1, 2, 3]
    with duckdb.connect() as connection:
        connection.register("held", rows)
        for kind in ("HUGEINT", "DECIMAL(38, 0)"):
            connection.execute(f"CREATE OR REPLACE TABLE t AS SELECT c::{kind} AS c, y FROM held")
            tally = Tally.from_table(ibis.duckdb.from_connection(connection).table("t"), schema)
            assert sorted(tally.bins(["c"])["c"].tolist()) == [0, 1, 2, 3]
            model = RuleList(schema, (Rule((Literal("c", "=", (FAR[1],)),), (0, 1)), Rule((), (1, 0))), NONE)
            assert sorted(connection.execute(f"SELECT {model.to_sql()}, c FROM t").fetchall(), key=str)[-1][1] == FAR[1]
    with pytest.raises(DomainError, match=r"dtype object.*float64"):
        schema["c"].encode(column_of(np.array(list(map(Decimal, FAR)), dtype=object), "c"))
