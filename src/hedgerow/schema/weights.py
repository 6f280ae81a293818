"""Weights of rows, such as survey weights: a column that is read in whole steps between public bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from hedgerow.boundary.arrays import Integers, Whole
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.attributes import MISSING
from hedgerow.schema.literals import is_number, name_problem
from hedgerow.schema.targets import MOST_LEVELS, Number
from hedgerow.tables.frames import Table
from hedgerow.text.messages import shown
from hedgerow.text.values import value_text

_LARGEST = 1e100  # bound on `high`; `high` is also above its inverse


@dataclass(frozen=True)
class Weight:
    """The weight of each row, such as a survey's design weight; a row of weight w counts as w/`high` of a row.

    Weights are clipped to the range from 0 to `high` and rounded to the nearest of `levels` equal steps. No row counts
    as more than one row, so the charge protects a row of any weight (docs/mathematics.md, fact 9). Neighbouring tables
    differ by one row with its weight. The guarantee therefore requires that the weight of a row does not depend on
    other rows. Weights that were raked, calibrated or adjusted on the table itself do depend on them.

    Attributes
    ----------
    name : str
        The column of the weights, which is neither an attribute nor the label.
    high : float
        The largest weight, > 0. Public: take it from the design of the sample, never from private rows.
    levels : int, default=100
        The number of steps from 0 to `high`, from 1 to 255.

    Examples
    --------
    >>> Weight("w", high=4, levels=8).domain
    '0 to 4 in 8 steps, outside: clip'
    """

    name: str
    high: float
    levels: int = 100
    kind: ClassVar[str] = "weight"

    def __post_init__(self) -> None:
        problem, key = name_problem(self.name), "weight"
        if problem:
            raise SchemaError(problem, key=key)
        if not is_number(self.high) or not 1 / _LARGEST < self.high < _LARGEST:
            problem, key = f"the largest weight must be a number > 0, got {shown(self.high)}.", "high"
        elif type(self.levels) is not int or not 1 <= self.levels < MOST_LEVELS:
            problem, key = f"expected a whole number from 1 to {MOST_LEVELS - 1}, got {shown(self.levels)}.", "levels"
        if problem:
            raise SchemaError(problem, attribute=self.name, key=key)
        object.__setattr__(self, "high", float(self.high))  # 4 and 4.0 are equal, so their digests must be equal, too

    @cached_property
    def as_number(self) -> Number:
        """The number as which the column is read; the middle of its level k is k steps."""
        half = self.high / (2 * self.levels)
        return Number(self.name, -half, self.high + half, self.levels + 1)

    @property
    def domain(self) -> str:
        """The bounds and the steps as text."""
        return f"0 to {value_text(self.high)} in {self.levels} steps, outside: clip"

    def check_column(self, table: Table) -> None:
        """Check that a table has the column, and that its type can hold weights; DomainError if not. Reads no value."""
        if table.names is None:
            raise DomainError(f"expected a frame with the weight column {shown(self.name)}, got an array.")
        table.require([self.name])
        column = table.column(self.name, 0)
        if column.holds_dates or (not column.is_text and column.values.dtype.kind == "b"):
            kind = "dates" if column.holds_dates else "booleans"
            raise DomainError(f"weights must be numbers, got a column of {kind}.", column=self.name)

    def encode(self, table: Table) -> Integers:
        """Return the steps of each row, shape ``(n_rows,)``; DomainError, which quotes no value, if a row has none."""
        self.check_column(table)
        return self.checked(self.as_number.codes(table.column(self.name, 0)))

    def checked(self, codes: Whole) -> Integers:
        """Return steps; DomainError if a weight is `MISSING`."""
        if (codes == MISSING).any():
            raise DomainError("some weights are missing; remove these rows.", column=self.name)
        return codes.astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return the weight as JSON-ready data without default values."""
        data: dict[str, Any] = {"name": self.name, "high": self.high}
        return data if self.levels == type(self).levels else {**data, "levels": self.levels}
