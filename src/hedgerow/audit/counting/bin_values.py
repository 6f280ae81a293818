"""Values of each bin of an attribute, in order and lazily enumerated, and their number.

A number is in a bin if and only if `Attribute.encode` puts it there. Numbers and cut points are compared in float64, in
which a number of the grid can equal a cut point that it exceeds as a decimal.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import pairwise
from math import floor, isfinite, ulp
from typing import Any, overload

import numpy as np
import pandas as pd

from hedgerow.audit.counting.outside import PerBin
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentTypeError, SchemaError
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.numbers import Numeric, as_number
from hedgerow.schema.schema import Schema
from hedgerow.tables.columns import Column
from hedgerow.text.days import Day, as_day
from hedgerow.text.messages import describe_argument


class Unspecified(Enum):
    """Placeholder for the unspecified value of a ``missing`` or ``outside`` bin."""

    MISSING = "missing"
    OUTSIDE = "outside"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class NumberGrid(Sequence[float]):
    """Numbers ``low + k · step`` for all k of a range except a few."""

    low: Fraction
    step: Fraction
    places: range
    without: tuple[int, ...] = ()
    kind: type[int] = int

    def __len__(self) -> int:
        return len(self.places) - len(self.without)

    @overload
    def __getitem__(self, index: int) -> float: ...
    @overload
    def __getitem__(self, index: slice) -> list[float]: ...
    def __getitem__(self, index: int | slice) -> float | list[float]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = self.places.start + range(len(self))[index]
        for skipped in self.without:
            place += place >= skipped
        return self._number(place)

    def __contains__(self, value: object) -> bool:
        value = as_day(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            return False
        if isinstance(value, Day) != (self.kind is Day):
            return False
        place = round((_as_written(value) - self.low) / self.step)
        return place in self.places and place not in self.without and self._number(place) == value

    def _number(self, place: int) -> float:
        number = _number(self.low + place * self.step, self.step)
        return self.kind(number) if isinstance(number, int) else number

    def mean_distance(self, numbers: Floats) -> Floats:
        """Return the mean of ``|value − number|`` over the grid for each number, in closed form."""
        first, step, n = self._number(self.places.start), float(self.step), len(self.places)
        below = np.clip(np.floor((numbers - first) / step) + 1, 0, n)
        sums = (2 * below - n) * (numbers - first) + step * (n * (n - 1) / 2 - below * (below - 1))
        for skipped in self.without:
            sums -= np.abs(numbers - self._number(skipped))
        return sums / max(len(self), 1)


def values_of_bins(attribute: Attribute, step: float | None = None) -> tuple[Sequence[Any], ...]:
    known: list[Sequence[Any]]
    number = as_number(attribute)
    if number is None:
        known = [(value,) for value in attribute.listed]
    elif number.whole:
        known = list(_grids(number, Fraction(1)))
    elif step is not None:
        known = list(_grids(number, _as_written(step)))
    else:
        edges = pairwise(number.edges)
        known = [(pd.Interval(*edge, closed="right" if i else "both"),) for i, edge in enumerate(edges)]
    return (*known, *((Unspecified(word),) for word in attribute.bins[len(known) :]))


def _grids(attribute: Numeric, step: Fraction) -> Iterator[NumberGrid]:
    """Yield the numbers of each interval on the grid of the step, without the numbers that mean "missing"."""
    low = _as_written(attribute.low)
    missing = _missing_places(attribute, low, step)
    first = 0
    for edge in (*attribute.cuts, attribute.high):
        after = floor((_as_written(edge) - low) / step) + 1
        after += _number(low + after * step, step) <= edge  # above the edge as a decimal, maybe equal in float64
        without = tuple(place for place in missing if first <= place < after)
        yield NumberGrid(low, step, range(first, after), without, Day if attribute.cell_type is CellType.DATE else int)
        first = after


def _missing_places(attribute: Numeric, low: Fraction, step: Fraction) -> list[int]:
    """Return the places on the grid, in order, whose numbers mean "missing" in a column of numbers."""
    tokens = [number for number in map(attribute.number_in, attribute.missing_words) if number is not None]
    near = sorted({round((_as_written(number) - low) / step) for number in tokens if isfinite(number)})
    numbers = np.array([_number(low + place * step, step) for place in near], dtype=np.float64)
    missing = attribute.prepared(Column("", numbers, None, holds_dates=attribute.cell_type is CellType.DATE)).missing
    return [] if missing is None else [place for place, is_missing in zip(near, missing, strict=True) if is_missing]


def _number(exact: Fraction, step: Fraction) -> float:
    return int(exact) if step == 1 and exact.denominator == 1 else float(exact)


def _as_written(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


Resolution = Mapping[str, float]  # the step to which real attributes are recorded


def bin_weights(schema: Schema, *, resolution: Resolution | None = None) -> PerBin:
    """Return the number of values in each bin; ``missing`` and ``outside`` count as one value each."""
    if not (resolution is None or isinstance(resolution, Mapping)):
        raise ArgumentTypeError(f"resolution must map attributes to steps, got {type(resolution).__name__}.")
    steps = {} if resolution is None else dict(resolution)
    for name, step in steps.items():
        attribute = schema.numbers.get(name)
        if attribute is None or attribute.whole:
            problem = "resolution is only supported for real attributes of the schema"
            raise SchemaError(f"{problem}; remove this entry.", attribute=name)
        if not 0 < step < float("inf"):
            raise SchemaError(f"resolution must be a number above 0, got {describe_argument(step)}.", attribute=name)
        finest = ulp(max(abs(attribute.low), abs(attribute.high)))
        if step <= finest:
            problem = f"resolution must be above {finest:.3g}, the spacing of float64 numbers at the bounds"
            raise SchemaError(f"{problem}; got {describe_argument(step)}.", attribute=name)
    return tuple(tuple(map(len, values_of_bins(attribute, steps.get(name)))) for name, attribute in schema.attributes)
