"""Values of an attribute, bin by bin, in order; large bins are enumerated lazily."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from math import log2
from typing import Any, Self

import narwhals as nw
import numpy as np
import pandas as pd

from hedgerow.audit.counting.bin_values import NumberGrid, Unspecified, values_of_bins
from hedgerow.boundary.arrays import Floats, Index
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.numbers import Numeric, as_number
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.days import Day


@dataclass(frozen=True)
class Values:
    """Possible values of an attribute, bin by bin, in order; listed values have a bin each.

    For an `attribute` of a schema, the bins are its own, with `Unspecified` for missing or outside values, or an
    interval of numbers.
    """

    name: str
    bins: tuple[Sequence[Any], ...]
    attribute: Attribute | None = None

    @classmethod
    def listed(cls, name: str, values: Sequence[Any]) -> Self:
        """Return the domain of distinct, hashable values without NaN, at least one; SchemaError otherwise."""
        problem = SchemaError("the possible values must be a collection of hashable values.", attribute=name)
        bins, different = guarded(lambda: (tuple((value,) for value in values), len(set(values))), problem)
        if not bins or different < len(bins):
            raise SchemaError("there must be at least one possible value, and no duplicates.", attribute=name)
        if any(value != value for (value,) in bins):  # only NaN differs from itself
            raise SchemaError("the possible values contain NaN; use None for a missing value.", attribute=name)
        return cls(name, bins)

    @classmethod
    def of(cls, name: str, attribute: Attribute, step: float | None = None) -> Self:
        """Return the values of a schema's attribute; real numbers without a step are represented by intervals."""
        return cls(name, values_of_bins(attribute, step), attribute)

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """The number of values in each bin."""
        return tuple(map(len, self.bins))

    @cached_property
    def count(self) -> int:
        """The number of values."""
        return sum(self.weights)

    @property
    def bits(self) -> float:
        """The entropy of a value in bits, if all values are equally likely."""
        return log2(self.count)

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self.bins)

    @cached_property
    def _single(self) -> Mapping[Any, int]:
        return {values[0]: bin for bin, values in enumerate(self.bins) if not isinstance(values, NumberGrid)}

    def bin_of(self, value: Any) -> int:
        """Return the bin of a value; -1 if the value is not in the domain."""
        try:
            bin = self._single.get(value, -1)
        except TypeError:  # not hashable
            return -1
        grids = (i for i, values in enumerate(self.bins) if isinstance(values, NumberGrid) and value in values)
        return next(grids, -1) if bin < 0 else bin

    def drawn(self, bins: Index, rng: np.random.Generator) -> list[Any]:
        """Draw a value from each bin, uniformly; None for a missing value."""
        ranks = rng.integers(np.array(self.weights)[bins]).tolist()
        values = (self.bins[bin][rank] for bin, rank in zip(bins.tolist(), ranks, strict=True))
        values = (value.date if isinstance(value, Day) else value for value in values)
        return [None if value is Unspecified.MISSING else value for value in values]

    def raw(self, table: Table, position: int) -> list[Any]:
        """Return the values of a table's column by name, or of an array's by position; missing values are marked."""
        table.require([self.name])
        missing = None if self.attribute is None else Unspecified.MISSING

        def read() -> list[Any]:
            of_frame = table.names is not None
            values = table.data.get_column(self.name).to_list() if of_frame else table.data[:, position].tolist()
            return [missing if pd.isna(value) is True else value for value in values]

        return guarded(read, DomainError("the values of the column cannot be listed.", column=self.name))

    def codes(self, table: Table, position: int) -> Index:
        """Return the bin of each row of a table, by name or position; DomainError for values outside the domain."""
        if self.attribute is None:
            raw = self.raw(table, position)
            problem = DomainError("some values are not in the declared domain.", column=self.name)
            bins = guarded(lambda: np.array(list(map(self.bin_of, raw)), dtype=np.intp), problem)
            if (bins < 0).any():
                raise problem
            return bins
        column, marked = self._unmarked(table, position)
        bins = np.empty(len(table), dtype=np.intp)
        bins[list(marked)] = list(map(self.bin_of, marked.values()))
        if (bins[list(marked)] < 0).any():
            raise DomainError("some values mark bins that the attribute does not have.", column=self.name)
        bins[_others(marked, len(table))] = self.attribute.encode(column)
        return bins

    def _unmarked(self, table: Table, position: int) -> tuple[Column, dict[int, Any]]:
        """Return the values of a column without marks of bins, and these marks by row."""
        if table.names is None:
            is_mixed = table.data.dtype == object
        else:
            table.require([self.name])
            is_mixed = table.data.get_column(self.name).dtype in (nw.Object, nw.Unknown)
        values = self.raw(table, position) if is_mixed else []
        marked = {i: value for i, value in enumerate(values) if isinstance(value, (Unspecified, pd.Interval))}
        if not marked:
            return table.column(self.name, position), {}
        others = np.array([value for i, value in enumerate(values) if i not in marked], dtype=object)
        return Column.from_numpy(others, self.name), marked

    def distances(self, table: Table, position: int) -> Floats:
        """Return the mean distances of bins from rows, ``(n_rows, n_bins)``: shares of the domain, or 0 and 1."""
        codes, bins = self.codes(table, position), np.arange(len(self.bins))
        distances = (codes[:, None] != bins).astype(np.float64)
        number = as_number(self.attribute)
        if number is not None:
            known = codes < number.n_known
            numbers = self._numbers(table, position, number)[known]
            for bin in range(number.n_known):
                distances[known, bin] = _mean_distance(self.bins[bin], numbers)
            distances[np.ix_(known, bins < number.n_known)] /= number.high - number.low
        elif self.attribute is None and all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in self):
            numbers = np.array(list(self), dtype=np.float64)
            distances = np.abs(numbers[codes][:, None] - numbers) / max(np.ptp(numbers), np.finfo(np.float64).tiny)
        return distances

    def _numbers(self, table: Table, position: int, attribute: Numeric) -> Floats:
        """Return the numbers in a column, clipped to the bounds; the midpoint for an interval."""
        column, marked = self._unmarked(table, position)
        numbers = np.empty(len(table))
        numbers[list(marked)] = [value.mid if isinstance(value, pd.Interval) else 0.0 for value in marked.values()]
        numbers[_others(marked, len(table))] = attribute.numbers_in(attribute.prepared(column))
        return np.clip(numbers, attribute.low, attribute.high)


def _others(marked: Mapping[int, Any], n: int) -> Index:
    return np.setdiff1d(np.arange(n), list(marked))


def _mean_distance(values: Sequence[Any], numbers: Floats) -> Floats:
    if isinstance(values, NumberGrid):
        return values.mean_distance(numbers)
    low, high = values[0].left, values[0].right
    inside = ((numbers - low) ** 2 + (high - numbers) ** 2) / (2 * (high - low))
    return np.where((numbers >= low) & (numbers <= high), inside, np.abs(numbers - (low + high) / 2))
