"""Points of an attribute by bin, and bins of a number that have the same points as one interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.foreign_code import guarded
from hedgerow.messages import shown
from hedgerow.schema.attributes import Attribute, Boolean
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import value_text

MOST_POINTS = 10**6
"""The most points of a bin, and of the base, in size."""
MOST_TOTAL = 10**9
"""The most points that a row can have in all, in size: any engine adds them up as 32-bit integers."""
MOST_IN_ALL = 2**18
"""The most points of all bins and classes: text and HTML of them have tens of MB."""
Points = tuple[int, ...]
"""Whole points: one number for two classes, that of the second; or else one for each class."""


@dataclass(frozen=True)
class AttributePoints:
    """The points of an attribute's bins.

    Attributes
    ----------
    attribute : str
        The attribute.
    points : tuple of tuple of int
        For each of its bins, in their order, those of missing and outside values included: one whole number for two
        classes, the points of the second; or one for each class.

    Raises
    ------
    ValueError
        If they are not whole numbers of at most 1,000,000 in size.

    Examples
    --------
    >>> AttributePoints("smoker", ((0,), (4,))).points
    ((0,), (4,))
    """

    attribute: str
    points: tuple[Points, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.attribute, str):
            raise ArgumentTypeError(f"expected text for the attribute of points, got {shown(self.attribute)}.")
        rows: Any = self.points
        if not isinstance(rows, (tuple, list, np.ndarray)):
            raise ArgumentTypeError(f"expected a tuple of points, one element for each bin, got {shown(rows)}.")
        object.__setattr__(self, "points", tuple(whole_points(row) for row in rows))


def whole_points(values: Any) -> Points:
    """Return points as a tuple of Python's integers."""
    found = tuple(values) if isinstance(values, (tuple, list, np.ndarray)) else ()
    if not found or not all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in found):
        raise ArgumentError(f"expected a tuple of whole numbers as points, such as (3,), got {shown(values)}.")
    if any(abs(int(one)) > MOST_POINTS for one in found):
        raise ArgumentError(f"expected points of at most {MOST_POINTS:,} in size, got more.")
    return tuple(map(int, found))


def check_points(base: Points, parts: Sequence[AttributePoints], schema: Schema) -> None:
    """Check that points fit a schema."""
    width = _n_columns(schema)
    expected = "1 number" if width == 1 else f"{width} numbers"
    if len(base) != width:
        raise ArgumentError(f"expected {expected} as base, for {len(schema.classes)} classes, got {len(base)}.")
    n_points = sum(len(row) for part in parts for row in part.points)
    if n_points > MOST_IN_ALL:
        raise ArgumentError(f"expected at most {MOST_IN_ALL:,} points of bins and classes in all, got {n_points:,}.")
    seen: set[str] = set()
    for part in parts:
        if part.attribute not in schema:
            raise SchemaError("is used by a scorecard but not declared.", attribute=part.attribute)
        if part.attribute in seen:
            raise SchemaError("expected points once, got them more than once.", attribute=part.attribute)
        seen.add(part.attribute)
        n_bins = schema[part.attribute].n_bins
        if len(part.points) != n_bins:
            raise SchemaError(
                f"expected points for each of {n_bins} bins, got {len(part.points)}.", attribute=part.attribute
            )
        if any(len(row) != width for row in part.points):
            raise SchemaError(
                f"expected {expected} a bin, for {len(schema.classes)} classes, got others.", attribute=part.attribute
            )
    if max(max(map(abs, ends)) for ends in extreme_totals(base, parts)) > MOST_TOTAL:
        raise ArgumentError(f"expected totals of at most {MOST_TOTAL:,} in size, got points that add up to more.")


def _n_columns(schema: Schema) -> int:
    """Return how many numbers the points of a bin are: one for two classes, else one for each class."""
    return 1 if len(schema.classes) == 2 else len(schema.classes)


def extreme_totals(base: Points, parts: Sequence[AttributePoints]) -> list[tuple[int, int]]:
    """Return the smallest and the largest total that a row can have, for each number of its points."""
    return [
        (
            start + sum(min(row[k] for row in part.points) for part in parts),
            start + sum(max(row[k] for row in part.points) for part in parts),
        )
        for k, start in enumerate(base)
    ]


@dataclass(frozen=True)
class PointBin:
    """A run of an attribute's bins that have the same points: a single bin, or neighbouring intervals of a number.

    Attributes
    ----------
    attribute : str
        The attribute's name.
    declared : Attribute
        The attribute.
    start, stop : int
        The bins, from `start` up to and without `stop`.
    points : tuple of int
        Their points.
    """

    attribute: str
    declared: Attribute
    start: int
    stop: int
    points: Points

    @property
    def is_known(self) -> bool:
        """Whether these are bins of values inside the domain, and not of missing or outside ones."""
        return self.start < self.declared.n_known

    @property
    def name(self) -> str:
        """The name: that of the bin as the schema has it, or the interval."""
        if self.is_known and isinstance(self.declared, (Integer, Real)):
            return self.declared.interval(self.start, self.stop)
        return self.declared.bins[self.start]

    @property
    def label(self) -> str:
        """The name in a printed table: whole numbers from the first to the last of the bin."""
        return self.words if self.is_known and isinstance(self.declared, Integer) else self.name

    @property
    def words(self) -> str:
        """The bin as a form to fill in has it."""
        if not self.is_known:
            return {"missing": "missing", "outside": "any other value"}[self.name]
        if isinstance(self.declared, Boolean):
            return ("no", "yes")[self.start]
        if isinstance(self.declared, Integer):
            return _whole_numbers(self.declared, self.start, self.stop)
        if isinstance(self.declared, Real):
            return _range_in_words(self.declared, self.start, self.stop)
        return self.name


def _whole_numbers(number: Integer, start: int, stop: int) -> str:
    """Return the whole numbers of the bins; beyond the bounds where numbers outside count as the nearest inside."""
    edge, last = number.edges[start], value_text(number.edges[stop])
    first = value_text(type(edge)(edge + (start > 0)))
    is_open = number.outside == "clip" and stop - start < number.n_known
    if is_open and start == 0:
        return f"up to {last}"
    if is_open and stop == number.n_known:
        return f"{first} and more"
    return first if first == last else f"{first} to {last}"


def _range_in_words(number: Real, start: int, stop: int) -> str:
    low, high = value_text(number.edges[start]), value_text(number.edges[stop])
    if start == 0:
        return f"{low} to {high}" if stop == number.n_known else f"up to {high}"
    return f"over {low}" if stop == number.n_known else f"over {low}, up to {high}"


def point_bins(part: AttributePoints, attribute: Attribute) -> list[PointBin]:
    """Return the bins of an attribute with their points; neighbouring intervals with the same points are one."""
    merges = isinstance(attribute, (Integer, Real))

    def run(place: int) -> Any:
        return part.points[place] if merges and place < attribute.n_known else place

    found: list[PointBin] = []
    for _, places in groupby(range(attribute.n_bins), run):
        first, *others = places
        found.append(PointBin(part.attribute, attribute, first, first + 1 + len(others), part.points[first]))
    return found


def one_row(row: Any, names: Sequence[str]) -> Any:
    """Return a mapping of names to values as a table of one row, with those of the named columns that it has.

    Anything else is returned as it is.
    """
    if not isinstance(row, Mapping):
        return row
    values = {name: row[name] for name in names if name in row}
    problem = ArgumentTypeError("expected a mapping of attributes to one value each, got values of other types.")
    return guarded(
        lambda: pa.table({name: pa.array([value], from_pandas=True) for name, value in values.items()}), problem
    )
