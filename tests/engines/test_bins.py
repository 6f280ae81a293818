"""Every engine finds for every value the bin, or the error, that it has in memory."""

import ibis
import pyarrow as pa
import pytest

from hedgerow import Schema, Tally
from hedgerow.engines import lookups
from hedgerow.engines.bins import bin_code, level_code
from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.lookups import Lookups
from hedgerow.errors import DomainError
from hedgerow.schema import Date, Integer, Label
from tests.engines.servers import POSTGRES, SPARK
from tests.engines.values import COLUMNS, KINDS, expected_bins, said_of

JOINED = ("digits", "unsigned and long", "whole", "double", "text")  # of others one of these is made before the join
SOON_ON_SPARK = ("digits", "double")  # the others are slow
ONE_OF_EACH = ("boolean, missing", "codes, bins", "date, bins", "integer, bins", "real, bins", "label of numbers")


def _marks(engine, storage, few):
    slow = not few and storage not in (SOON_ON_SPARK if engine is SPARK else JOINED)
    return [*engine.marks, pytest.mark.slow] if slow else engine.marks


CASES = [
    pytest.param(
        *engine.values, storage, few, id=f"{engine.values[0]}-{storage}-{way}", marks=_marks(engine, storage, few)
    )
    for engine in (pytest.param("duckdb"), POSTGRES, SPARK)
    for storage in COLUMNS
    for way, few in (("compared", lookups.FEW), ("joined", 0))
    if engine is not SPARK or storage in JOINED or (few and storage != "time")
]


@pytest.mark.parametrize(("load", "storage", "few"), CASES, indirect=["load"])
def test_an_engine_computes_the_bins_of_memory(load, storage, few, monkeypatch):
    monkeypatch.setattr(lookups, "FEW", few)
    _compare(load, storage, KINDS)


@pytest.mark.parametrize("load", ["duckdb", POSTGRES], indirect=True)
@pytest.mark.parametrize("storage", sorted(set(COLUMNS) - set(JOINED)))
def test_a_join_computes_the_bins_of_memory_for_each_kind(load, storage, monkeypatch):
    monkeypatch.setattr(lookups, "FEW", 0)
    _compare(load, storage, {name: KINDS[name] for name in ONE_OF_EACH})


def _compare(load, storage, kinds):
    values = COLUMNS[storage]
    table = load(pa.table({"i": pa.array(range(len(values)), pa.int64()), "x": values}))
    column, found_by = EngineColumn.of(table, "x"), Lookups(table, ["i", "x"])
    codes = {
        f"k{place}": (level_code if isinstance(kind, Label) else bin_code)(kind, column, found_by)
        for place, kind in enumerate(kinds.values())
    }
    result = found_by.rows().select(i=ibis._.i, **codes).to_pyarrow().sort_by("i")
    for place, (name, kind) in enumerate(kinds.items()):
        expected = expected_bins(name, storage)
        told = [str(bin) for bin in said_of(kind, result[f"k{place}"].to_pylist())]
        different = [
            (value, *both)
            for value, *both in zip(values.to_pylist(), expected, told, strict=True)
            if both[0] != both[1]
        ]
        assert not different, f"{name}: value, in memory, in the engine: {different}"
        no_dates = isinstance(kind, Date) and storage not in ("date", "text", "time")
        assert len(set(expected)) > 1 or no_dates, f"{name}: nothing is told apart"


def _counts(table, load):
    schema = Schema({"x": Integer(0, 9, cuts=(), missing="bin")}, Label("y", (0, 1)))
    return [lambda: Tally.count(table, "y", schema), lambda: Tally.from_table(load(table), schema)]


def test_times_with_a_time_zone_are_refused_in_memory_and_in_engines(load):
    """Which day one is depends on settings of the process and the connection."""
    days = pa.array([0, 86_400_000_000, None], pa.timestamp("us", "UTC"))
    table = pa.table({"x": days, "y": pa.array([0, 1, 0], pa.int64())})
    for count in _counts(table, load):
        with pytest.raises(DomainError, match=r"column 'x': .*type timestamp"):
            count()


@pytest.mark.parametrize("load", [SPARK], indirect=True)
def test_times_of_spark_are_refused(load):
    """Its usual ones are instants, and Ibis does not tell them from the others."""
    table = pa.table({"x": pa.array([0], pa.timestamp("us")), "y": pa.array([0], pa.int64())})
    with pytest.raises(DomainError, match="type timestamp"):
        _counts(table, load)[1]()
