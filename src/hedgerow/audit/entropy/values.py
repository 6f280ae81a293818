"""Values of an attribute, bin by bin, in order; large bins are enumerated lazily."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import chain, pairwise
from math import floor, isfinite, log2
from typing import Any, Self, cast, overload

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hedgerow.columns import Column, Table
from hedgerow.errors import DomainError, SchemaError
from hedgerow.guard import guarded
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.numbers import Integer, Real

Floats = NDArray[np.float64]
Index = NDArray[np.intp]


class Mark(Enum):
    """Placeholder of the unspecified value of a ``missing`` or ``outside`` bin."""

    MISSING = "missing"
    OUTSIDE = "outside"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Grid(Sequence[float]):
    """The numbers ``low + k · step`` for all k of a range except a few.

    Examples
    --------
    >>> list(Grid(Fraction(10), Fraction(1), range(2, 6), without=(4,)))
    [12, 13, 15]
    """

    low: Fraction
    step: Fraction
    places: range
    without: tuple[int, ...] = ()

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
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
            return False
        place = round((_as_written(value) - self.low) / self.step)
        return place in self.places and place not in self.without and self._number(place) == value

    def _number(self, place: int) -> float:
        number = self.low + place * self.step
        return int(number) if self.step == 1 and number.denominator == 1 else float(number)

    def mean_distance(self, numbers: Floats) -> Floats:
        """Return the mean of ``|value − number|`` over the grid for each of some numbers, in closed form."""
        first, step, n = self._number(self.places.start), float(self.step), len(self.places)
        below = np.clip(np.floor((numbers - first) / step) + 1, 0, n)
        sums = (2 * below - n) * (numbers - first) + step * (n * (n - 1) / 2 - below * (below - 1))
        for skipped in self.without:
            sums -= np.abs(numbers - self._number(skipped))
        return sums / max(len(self), 1)


@dataclass(frozen=True)
class Values:
    """The values that one attribute can have, bin by bin.

    Attributes
    ----------
    name : str
        The attribute.
    bins : tuple of sequence
        The values of each bin, in order: one a bin where they were listed; for a schema's attribute those of its bins,
        with a `Mark` for missing or outside, and an interval where the numbers in it are not distinguished.
    attribute : Attribute, optional
        The schema's attribute that encodes raw values into the bins, if there is one.
    """

    name: str
    bins: tuple[Sequence[Any], ...]
    attribute: Attribute | None = None

    @classmethod
    def listed(cls, name: str, values: Sequence[Any]) -> Self:
        """Return the domain of an attribute whose possible values are listed.

        Raises
        ------
        SchemaError
            If there is none, one occurs twice or is NaN, or they are not hashable.
        """
        problem = SchemaError("expected a collection of hashable values.", attribute=name)
        bins, different = guarded(lambda: (tuple((value,) for value in values), len(set(values))), problem)
        if not bins or different < len(bins):
            raise SchemaError("expected one or more possible values, each once.", attribute=name)
        if any(value != value for (value,) in bins):  # only NaN differs from itself
            raise SchemaError("expected no NaN among the possible values; use None for a missing one.", attribute=name)
        return cls(name, bins)

    @classmethod
    def of(cls, name: str, attribute: Attribute, step: float | None = None) -> Self:
        """Return the values of a schema's attribute; reals recorded to a step are numbers, others intervals."""
        known: list[Sequence[Any]]
        if isinstance(attribute, Boolean):
            known = [(False,), (True,)]
        elif isinstance(attribute, Categorical):
            known = [(value,) for value in attribute.values]
        elif isinstance(attribute, Integer) or (isinstance(attribute, Real) and step is not None):
            known = list(_grids(attribute, Fraction(repr(float(step or 1)))))
        else:
            numbers = cast(Real, attribute)
            edges = (numbers.low, *numbers.cuts, numbers.high)
            known = [
                (pd.Interval(low, high, closed="right" if i else "both"),)
                for i, (low, high) in enumerate(pairwise(edges))
            ]
        marks = [(Mark(word),) for word in attribute.bins[len(attribute.known_bins) :]]
        return cls(name, (*known, *marks), attribute)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """How many values each bin holds."""
        return tuple(map(len, self.bins))

    @cached_property
    def count(self) -> int:
        """How many values there are."""
        return sum(self.weights)

    @property
    def bits(self) -> float:
        """The entropy of a value, in bits, all values being equally likely."""
        return log2(self.count)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.bins)

    @cached_property
    def _single(self) -> Mapping[Any, int]:
        return {values[0]: bin for bin, values in enumerate(self.bins) if not isinstance(values, Grid)}

    def bin_of(self, value: Any) -> int:
        """Return the bin of a value; -1 if the value is not in the domain."""
        try:
            found = self._single.get(value, -1)
        except TypeError:  # not hashable
            return -1
        grids = (bin for bin, values in enumerate(self.bins) if isinstance(values, Grid) and value in values)
        return next(grids, -1) if found < 0 else found

    def drawn(self, bins: Index, rng: np.random.Generator) -> list[Any]:
        """Draw a value from each of some bins, uniformly; None for a missing one."""
        ranks = rng.integers(np.array(self.weights)[bins]).tolist()
        found = (self.bins[bin][rank] for bin, rank in zip(bins.tolist(), ranks, strict=True))
        return [None if value is Mark.MISSING else value for value in found]

    def raw(self, table: Table, position: int) -> list[Any]:
        """Return the values of a table's column by name, or of an array's by position; missing ones are marked."""
        table.require([self.name])
        missing = None if self.attribute is None else Mark.MISSING

        def read() -> list[Any]:
            of_frame = table.names is not None
            values = table.data.get_column(self.name).to_list() if of_frame else table.data[:, position].tolist()
            return [missing if pd.isna(value) is True else value for value in values]

        return guarded(read, DomainError("expected a column whose values can be listed.", column=self.name))

    def codes(self, table: Table, position: int) -> Index:
        """Return the bin of each row of a table that has the attribute by name or at this position.

        Raises
        ------
        DomainError
            If there is no such column, or some values are not in the domain.
        """
        if self.attribute is None:
            raw = self.raw(table, position)
            problem = DomainError("expected values of the declared domain, got others.", column=self.name)
            found = guarded(lambda: np.array(list(map(self.bin_of, raw)), dtype=np.intp), problem)
            if (found < 0).any():
                raise problem
            return found
        column, marked = self._unmarked(table, position)
        found = np.empty(len(table), dtype=np.intp)
        found[list(marked)] = list(map(self.bin_of, marked.values()))
        if (found[list(marked)] < 0).any():
            raise DomainError("expected marks of bins that the attribute has, got others.", column=self.name)
        found[_others(marked, len(table))] = self.attribute.encode(column)
        return found

    def _unmarked(self, table: Table, position: int) -> tuple[Column, dict[int, Any]]:
        """Return the values of a column without marks of bins, and these marks by row."""
        if table.names is None:
            is_mixed = table.data.dtype == object
        else:
            table.require([self.name])
            is_mixed = table.data.get_column(self.name).dtype in (nw.Object, nw.Unknown)
        values = self.raw(table, position) if is_mixed else []
        marked = {i: value for i, value in enumerate(values) if isinstance(value, (Mark, pd.Interval))}
        if not marked:
            return table.column(self.name, position), {}
        others = np.array([value for i, value in enumerate(values) if i not in marked], dtype=object)
        return Column.from_numpy(others, self.name), marked

    def distances(self, table: Table, position: int) -> Floats:
        """Return the mean distance of the values of each bin from that of each row, shape ``(n_rows, n_bins)``.

        The distance of numbers is their difference as a share of the domain's length, that of other values 0 or 1.
        """
        codes, bins = self.codes(table, position), np.arange(len(self.bins))
        found = (codes[:, None] != bins).astype(np.float64)
        if isinstance(self.attribute, (Integer, Real)):
            known = codes < len(self.attribute.known_bins)
            numbers = self._numbers(table, position, self.attribute)[known]
            for bin in range(len(self.attribute.known_bins)):
                found[known, bin] = _mean_distance(self.bins[bin], numbers)
            found[np.ix_(known, bins < len(self.attribute.known_bins))] /= self.attribute.high - self.attribute.low
        elif self.attribute is None and all(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in self
        ):
            numbers = np.array(list(self), dtype=np.float64)
            found = np.abs(numbers[codes][:, None] - numbers) / max(np.ptp(numbers), np.finfo(np.float64).tiny)
        return found

    def _numbers(self, table: Table, position: int, attribute: Integer | Real) -> Floats:
        """Return the numbers in a column, clipped to the bounds; for an interval its midpoint."""
        column, marked = self._unmarked(table, position)
        found = np.empty(len(table))
        found[list(marked)] = [value.mid if isinstance(value, pd.Interval) else 0.0 for value in marked.values()]
        found[_others(marked, len(table))] = column.without(attribute.missing_values).numbers()
        return np.clip(found, attribute.low, attribute.high)


def _others(marked: Mapping[int, Any], n: int) -> Index:
    return np.setdiff1d(np.arange(n), list(marked))


def _grids(attribute: Integer | Real, step: Fraction) -> Iterator[Grid]:
    """Yield the numbers of each interval on the grid of the step, without those that mean "missing"."""
    low = _as_written(attribute.low)
    missing = {(number - low) / step for number in _missing_numbers(attribute)}
    first = 0
    for edge in (*attribute.cuts, attribute.high):
        after = floor((_as_written(edge) - low) / step) + 1
        inside = sorted(int(place) for place in missing if place.denominator == 1 and first <= place < after)
        yield Grid(low, step, range(first, after), tuple(inside))
        first = after


def _missing_numbers(attribute: Attribute) -> Iterator[Fraction]:
    for value in attribute.missing_values:
        try:
            number = float(value)
        except (ValueError, OverflowError):
            continue
        if isfinite(number) and Column("", np.array([number]), None).equals(value)[0]:
            yield _as_written(number)


def _as_written(number: float) -> Fraction:
    return Fraction(number) if isinstance(number, int) else Fraction(repr(float(number)))


def _mean_distance(values: Sequence[Any], numbers: Floats) -> Floats:
    if isinstance(values, Grid):
        return values.mean_distance(numbers)
    low, high = values[0].left, values[0].right
    inside = ((numbers - low) ** 2 + (high - numbers) ** 2) / (2 * (high - low))
    return np.where((numbers >= low) & (numbers <= high), inside, np.abs(numbers - (low + high) / 2))
