"""Weights of rows: the column of a survey's weights, between public bounds, in whole steps."""

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

_LARGEST = 1e100  # of `high`, and the inverse of the least


@dataclass(frozen=True)
class Weight:
    """The weight of each row, such as a survey's design weight: a row of weight w counts as w/`high` of a row.

    Weights are clipped to between 0 and `high`, and rounded to the nearest of `levels` equal steps above 0. So no row
    counts for more than one, and what is charged protects a row of any weight (docs/mathematics.md, fact 9).
    Neighbouring tables differ by one row with its weight: the weight of a row must not depend on other rows, as weights
    do that were raked, calibrated or adjusted on the table itself.

    Attributes
    ----------
    name : str
        The column of the weights, neither an attribute nor the label.
    high : float
        The largest weight, > 0: public, from the design of the sample and never from private rows.
    levels : int, default=100
        How many steps there are from 0 to `high`, from 1 to 255.

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
            problem, key = f"expected a number > 0, the largest weight, got {shown(self.high)}.", "high"
        elif type(self.levels) is not int or not 1 <= self.levels < MOST_LEVELS:
            problem, key = f"expected a whole number from 1 to {MOST_LEVELS - 1}, got {shown(self.levels)}.", "levels"
        if problem:
            raise SchemaError(problem, attribute=self.name, key=key)
        object.__setattr__(self, "high", float(self.high))  # 4 and 4.0 are equal: so must their digests be

    @cached_property
    def as_number(self) -> Number:
        """The same column as a number in levels, of which the k-th has k steps as its middle: so it is read."""
        half = self.high / (2 * self.levels)
        return Number(self.name, -half, self.high + half, self.levels + 1)

    @property
    def domain(self) -> str:
        """The bounds and the steps."""
        return f"0 to {value_text(self.high)} in {self.levels} steps, outside: clip"

    def check_column(self, table: Table) -> None:
        """Check that a table has the column, of a type that can hold weights (DomainError); no value is looked at."""
        if table.names is None:
            raise DomainError(f"expected a frame with the column of weights, {shown(self.name)}; got an array.")
        table.require([self.name])
        column = table.column(self.name, 0)
        if column.holds_dates or (not column.is_text and column.values.dtype.kind == "b"):
            raise DomainError("expected numbers as weights, found a column of dates or booleans.", column=self.name)

    def encode(self, table: Table) -> Integers:
        """Return the steps of each row, shape ``(n_rows,)``; DomainError, which quotes no value, where it has none."""
        self.check_column(table)
        return self.checked(self.as_number.codes(table.column(self.name, 0)))

    def checked(self, codes: Whole) -> Integers:
        """Return steps, after a check that no weight is `MISSING`."""
        if (codes == MISSING).any():
            raise DomainError("some weights are missing; leave these rows out.", column=self.name)
        return codes.astype(np.int64)

    def to_dict(self) -> dict[str, Any]:
        """Return name, largest weight, and what is not the default."""
        found: dict[str, Any] = {"name": self.name, "high": self.high}
        return found if self.levels == type(self).levels else {**found, "levels": self.levels}
