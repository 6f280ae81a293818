"""Contribution bounding in frames: the rows of a unit of privacy that are counted, drawn at random."""

import hashlib
import secrets
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DomainError
from hedgerow.privacy.unit import Unit
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.values import quoted_text


def check_unit(unit: Unit, table: Table) -> None:
    """Check that a table has the unit's column, without touching a row."""
    if table.names is None:
        problem = f"expected a frame with the unit's column {quoted_text(unit.column)}, got an array"
        raise DomainError(f"{problem}, whose columns have no names.")
    table.require([unit.column])


def check_units(unit: Unit, table: Table) -> None:
    """Check that every row says whose it is; raises DomainError."""
    _whose(unit, table)


def counted_rows(table: Table, unit: Unit | None, key: bytes) -> Table:
    """Return the rows of a table that are counted: all without a unit, else at most `unit.max_rows` of each."""
    if unit is None:
        return table
    return Table.of(table.take(np.flatnonzero(counted(table, unit, key))))


def counted(table: Table, unit: Unit, key: bytes) -> NDArray[np.bool_]:
    """Return which rows of a table are counted, shape ``(n_rows,)``. Private.

    Sensitivity: with all rows of one unit added, the counted rows differ by at most `max_rows`, for any key. For a
    unit's rows are put in the order of a keyed hash of the unit and of their place among its rows, and the first are
    taken, which depends on no row of another unit. The key is secret, so that the choice is as good as random.
    """
    column = _whose(unit, table)
    words = column.words() if column.is_text else column.values
    units = np.unique(words, return_inverse=True)[1].astype(np.int64)  # one number for the rows of a unit
    order = np.argsort(units, kind="stable")
    sizes = np.bincount(units)
    firsts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = np.empty(len(units), dtype=np.int64)
    places[order] = np.arange(len(units)) - firsts
    kept = np.ones(len(units), dtype=bool)
    many = np.flatnonzero(sizes[units] > unit.max_rows)
    keyed = zip(words[many].tolist(), places[many].tolist(), strict=True)
    texts = (f"{place}/{word}".encode("utf-8", "surrogatepass") for word, place in keyed)
    # Numbers that nobody without the key can tell from random ones
    ranks = [int.from_bytes(hashlib.blake2b(text, digest_size=8, key=key).digest(), "big") for text in texts]
    drawn = many[np.lexsort((np.array(ranks, dtype=np.uint64), units[many]))]
    firsts = np.searchsorted(units[drawn], units[drawn], side="left")
    kept[drawn[np.arange(len(drawn)) - firsts >= unit.max_rows]] = False
    return kept


def draw_key(random_state: Any) -> bytes:
    """Return a secret key; one that a seed repeats where the noise is seeded by a whole number, and void."""
    if isinstance(random_state, Integral):
        return f"seed {int(random_state)}".encode()
    return secrets.token_bytes(32)


def no_unit(name: str) -> DomainError:
    return DomainError("some rows do not say whose they are; fill this column in, or leave them out.", column=name)


def _whose(unit: Unit, table: Table) -> Column:
    column = table.exact_column(unit.column)
    if column.missing is not None:
        raise no_unit(unit.column)
    return column
