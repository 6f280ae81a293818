"""Derived attributes are the same in each engine as in memory."""

from functools import partial

import numpy as np
import pyarrow as pa
import pytest

from hedgerow import Integer, Label, Schema, Tally, Unit
from hedgerow.engines.count import engine_fit
from hedgerow.errors import DomainError
from hedgerow.schema import Categorical, Prefix, Ratio, Real, Sum, YearsSince
from hedgerow.schema.fits import fit_of
from hedgerow.tables.frames import Table
from tests.engines.rows import as_rows
from tests.schema.derived_values import schema, table


def outcome(count, declared):
    """Return the counted rows, or the message of an error."""
    try:
        return as_rows(count(schema=declared))
    except DomainError as error:
        return str(error)


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 6))])
def test_engines_derive_the_values_of_memory(load, seed):
    random = np.random.default_rng([5, seed])
    declared, rows = schema(random), table(random, 40)
    in_engine = load(rows)
    for name in declared.derivations:
        if _fits(declared, name, rows):
            continue  # into the schema of all that do, below
        # one at a time: of several errors, each tells one
        column = Schema({"row id": declared["row id"], name: declared[name]}, declared.label)
        assert outcome(partial(Tally.from_table, in_engine), column) == outcome(
            partial(Tally.count, rows, "y"), column
        ), name
    fitting = {name: column for name, column in declared.attributes if name == "row id" or _fits(declared, name, rows)}
    whole = Schema(fitting, declared.label)
    assert outcome(partial(Tally.from_table, in_engine), whole) == outcome(partial(Tally.count, rows, "y"), whole)
    of_engine, of_memory = engine_fit(in_engine, declared), fit_of(Table.of(rows), declared)
    assert [vars(column) | {"rows": ()} for column in of_engine.columns] == [
        vars(column) | {"rows": ()} for column in of_memory.columns
    ]
    assert of_engine.unused == of_memory.unused


def _fits(declared, name, rows):
    try:
        declared.encode(Table.of(rows), [name])
    except DomainError:
        return False
    return True


def test_ratios_next_to_a_cut_point_are_on_the_same_side_in_each_engine(load):
    random = np.random.default_rng(2)
    above, below = random.integers(1, 1000, 500).astype(float), random.integers(1, 1000, 500).astype(float)
    cuts = tuple(np.unique(above[::5] / below[::5]).tolist())
    share = Real(0, 1000, cuts, derived=Ratio("above", "below"))
    declared = Schema({"row": Integer(0, 500, tuple(range(500))), "share": share}, Label("y", ("no", "yes")))
    rows = pa.table({"row": range(500), "above": above, "below": below, "y": ["no", "yes"] * 250})
    assert Tally.from_table(load(rows), declared).distance(Tally.count(rows, "y", declared)) == 0


def test_an_engine_checks_the_columns_of_derivations(load):
    age = Integer(0, 110, (17,), derived=YearsSince("birth", "2026-01-01"))
    declared = Schema({"age": age}, Label("y", ("no", "yes")))
    rows = pa.table({"birth": ["1990-01-01"], "age": [3], "y": ["no"]})
    missing = "'birth': the table has no such column"
    for given, message in ((rows, "the table already has this column"), (rows.select(["y"]), missing)):
        with pytest.raises(DomainError, match=message):
            Tally.from_table(load(given), declared)
    (absent, _) = engine_fit(load(rows.select(["y"])), declared).columns
    assert (absent.name, absent.is_absent) == ("birth", True)


def test_an_engine_counts_the_rows_of_units_with_derived_attributes(load):
    score = Integer(0, 6, (2,), derived=Sum(("q1", "q2"), (0, 3)))
    group = Categorical(("a", "b"), derived=Prefix("code", 1))
    declared = Schema({"score": score, "group": group}, Label("y", ("no", "yes")), unit=Unit("person", 2))
    rows = pa.table({"q1": [0, 1] * 6, "q2": [3, 1] * 6, "code": ["a1", "b2"] * 6, "y": ["no", "yes"] * 6})
    rows = rows.append_column("person", pa.array(["p", "q", "r"] * 4))
    assert Tally.from_table(load(rows), declared).total().sum() == 6


def test_long_mappings_and_many_missing_values_are_the_same_in_each_engine(load):
    mapping = {f"v{n}": [f"{n}{end}" for end in "abcdefghij"] for n in range(100)}
    derived = Prefix("code", mapping=mapping, missing_values=tuple(f"?{n}" for n in range(32)))
    group = Categorical(tuple(mapping), derived=derived, missing="bin", outside="bin")
    declared = Schema({"row": Integer(0, 200, tuple(range(200))), "group": group}, Label("y", ("no", "yes")))
    codes = [*(f"{n}{'abcdefghijk'[n % 11]}.{n}" for n in range(150)), *(f"?{n}" for n in range(50))]
    rows = pa.table({"row": range(200), "code": codes, "y": ["no", "yes"] * 100})
    assert Tally.from_table(load(rows), declared).distance(Tally.count(rows, "y", declared)) == 0
