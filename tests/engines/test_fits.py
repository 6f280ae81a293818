"""Counts of rows that do not fit, in engines as in memory."""

from datetime import datetime

import pyarrow as pa
import pytest

from hedgerow.engines.count import engine_fit
from hedgerow.schema import Label, Schema, Unit
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table
from tests.engines.servers import POSTGRES
from tests.engines.values import ATTRIBUTES, COLUMNS

ENGINES = ["duckdb", POSTGRES]
LABEL = Label("y", ("no", "yes", "1"))


def counts(found):
    return [
        (column.name, column.kind, column.missing, column.outside, column.unread, column.refused)
        for column in found.columns
    ]


@pytest.mark.parametrize("storage", ["text", "double", "whole", "boolean"])
@pytest.mark.parametrize("load", ENGINES, indirect=True)
def test_an_engine_counts_what_memory_counts(load, storage):
    values = COLUMNS[storage]
    labels = pa.array(["no", "yes", None, " 1.0 ", "SECRET"] * len(values))[: len(values)]
    table = pa.table({**dict.fromkeys(map(str, range(len(ATTRIBUTES))), values), "y": labels, "note": labels})
    schema = Schema(dict(zip(map(str, range(len(ATTRIBUTES))), ATTRIBUTES.values(), strict=True)), LABEL)
    result, expected = engine_fit(load(table), schema), fit_of(Table.of(table), schema)
    assert counts(result) == counts(expected)
    assert dict(result.missing_words) == dict(expected.missing_words)
    assert (storage == "text") == bool(result.missing_words)
    assert result.policies == expected.policies
    assert len({column.refused for column in result.columns}) > 2
    assert (result.n_rows, result.unused, result.is_accepted) == (len(values), ("note",), False)
    assert {column.rows for column in result.columns} == {()}


@pytest.mark.parametrize("load", ENGINES, indirect=True)
def test_times_cannot_identify_units_in_a_check(load):
    noon = datetime(2026, 3, 1, 12)
    table = pa.table({"day": [noon.date(), noon.date(), None], "time": [noon, noon, None], "a": [1, 2, 3]})
    for name, unread in (("day", 0), ("time", 2)):
        schema = Schema({"a": ATTRIBUTES["integer"]}, unit=Unit(name, 1))
        result, expected = engine_fit(load(table), schema), fit_of(Table.of(table), schema)
        assert counts(result) == counts(expected)
        assert counts(result)[1] == (name, "unit", 1, 0, unread, unread + 1)


@pytest.mark.parametrize("load", ENGINES[:1], indirect=True)
def test_absent_columns_and_empty_tables_are_reported(load):
    schema = Schema({"a": ATTRIBUTES["integer"], "b": ATTRIBUTES["boolean"]})
    result = engine_fit(load(pa.table({"a": pa.array([], pa.int64())})), schema)
    assert [(column.is_absent, column.refused) for column in result.columns] == [(False, 0), (True, 0)]
    assert result.n_rows == 0
