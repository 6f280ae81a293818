"""Valid rows of a schema as arrays of numbers, their distance, and the packaged tables in this form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

import hedgerow as hr
from hedgerow.boundary.arrays import Array, Floats, Integers, Mask
from hedgerow.schema.numbers import Numeric

LABEL = hr.Label("y", (0, 1))


@dataclass(frozen=True, eq=False)
class Domain:
    """Bounds and units of each column: numbers, whole or real, and categories by their code.

    The squared distance of two rows is the sum over numbers of the squared difference in units of `scale`, and 1 for
    each category that differs.
    """

    schema: hr.Schema
    scale: Floats  # the standard deviation of each number

    @classmethod
    def of(cls, schema: hr.Schema, values: Floats) -> Self:
        spread = values.std(axis=0)
        return cls(schema, np.where(spread > 0, spread, 1.0))

    @property
    def numbers(self) -> Mask:
        return np.array([isinstance(attribute, Numeric) for _, attribute in self.schema.attributes])

    @property
    def whole(self) -> Mask:
        return np.array([isinstance(attribute, hr.Integer) for _, attribute in self.schema.attributes])

    @property
    def bounds(self) -> tuple[Floats, Floats]:
        limits = [
            (attribute.low, attribute.high) if isinstance(attribute, Numeric) else (0, attribute.n_bins - 1)
            for _, attribute in self.schema.attributes
        ]
        low, high = np.array(limits, dtype=np.float64).T
        return low, high

    def valid(self, values: Floats) -> Floats:
        """Return the rows with whole numbers rounded, and all numbers clipped to their bounds."""
        return np.where(self.whole, values.round(), values).clip(*self.bounds)

    def squares(self, values: Floats, other: Floats) -> Floats:
        """Return the squared distance in each column."""
        return np.where(self.numbers, ((values - other) / self.scale) ** 2, values != other)

    def distance(self, values: Floats, other: Floats) -> Floats:
        return np.sqrt(self.squares(values, other).sum(axis=-1))


@dataclass(frozen=True, eq=False)
class Rows:
    """Raw values of a table, with categories as codes, and classes 0 and 1."""

    values: Floats
    classes: Integers
    domain: Domain

    def __len__(self) -> int:
        return len(self.values)


@lru_cache(maxsize=1)
def load(name: str, most: int) -> Rows:
    """Return at most this number of random rows of a packaged table, without rows in which a number is missing."""
    data = hr.datasets.load(name)
    columns = {key: _column(data.frame[key].to_numpy(), attribute) for key, attribute in data.schema.attributes}
    schema = hr.Schema({key: attribute for key, (attribute, _) in columns.items()}, LABEL)
    values = np.column_stack([column for _, column in columns.values()])
    classes = np.array([data.schema.classes.index(label) for label in data.labels.tolist()])
    complete = np.flatnonzero(~np.isnan(values).any(axis=1))
    chosen = np.random.default_rng(0).permutation(complete)[:most]
    values = values[chosen]
    return Rows(values, classes[chosen], Domain.of(schema, values))


def _column(column: Array, attribute: Any) -> tuple[Any, Floats]:
    if isinstance(attribute, Numeric):
        number = replace(attribute, missing="error", missing_values=(), outside="clip")
        return number, column.astype(np.float64).clip(attribute.low, attribute.high)
    codes = {value: code for code, value in enumerate(attribute.listed)}
    numbers = np.array([codes.get(value, len(codes)) for value in column.tolist()], dtype=np.float64)
    return hr.Categorical(tuple(range(attribute.n_bins))), numbers
