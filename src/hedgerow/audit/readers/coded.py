"""Columns computed from an attribute by transformers, and comparisons of them as literals on the attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isnan, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import SchemaError
from hedgerow.models.conditions import Path
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

Map = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""A monotone, non-decreasing map of numbers, elementwise."""
_AT_ONCE = 64  # values that are transformed at once


@dataclass(frozen=True)
class Coded:
    """A column that has one number for each bin of an attribute."""

    attribute: str
    numbers: tuple[tuple[Literal, float], ...]  # the literal of each bin and its number; NaN is missing to the model
    narrow: bool = False  # whether the numbers, and so what later steps compute, have lower precision than float64

    def at_most(self, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the literals of "the column is at most a number", or of its negation."""
        if missing_holds is None and any(isnan(code) for _, code in self.numbers):
            raise SchemaError(
                "is encoded as missing in some bin, and the model has no branch for missing values; declare it without "
                "that bin.",
                attribute=self.attribute,
            )
        low = {literal: missing_holds if isnan(code) else code <= number for literal, code in self.numbers}
        here = [literal for literal, at_most in low.items() if at_most == holds]
        there = [literal for literal, at_most in low.items() if at_most != holds]
        if not here or not there:
            raise SchemaError(
                f"the model compares its encoding with {number:g}, with the same outcome for all declared values; "
                "declare the values of the training rows.",
                attribute=self.attribute,
            )
        return ((here[0], True),) if len(here) == 1 else tuple((literal, False) for literal in there)

    def mapped(self, change: Map) -> Coded:
        """Return the column after a transformer that maps its numbers."""
        codes = change(np.array([code for _, code in self.numbers], dtype=np.float64))
        pairs = zip(self.numbers, codes.tolist(), strict=True)
        return Coded(self.attribute, tuple((literal, code) for (literal, _), code in pairs))


@dataclass(frozen=True)
class Rescaled:
    """A column of numbers computed from an attribute by monotone transformers."""

    attribute: str  # of numbers
    changes: tuple[Map, ...]  # the transformations, in order
    narrow: bool = False  # as of `Coded`

    def last_at_most(self, number: float, schema: Schema) -> float:
        """Return the largest value mapped to at most a number; if there is none, one below its bounds."""
        # by bisection over the attribute's values, with the transformers themselves, so that it is exact
        attribute = schema.numbers.get(self.attribute)
        if attribute is None:
            raise SchemaError(
                f"is scaled as a number, but declared as {schema[self.attribute].domain}; "
                "declare it as integer or real.",
                attribute=self.attribute,
            )
        if number == inf:
            return inf
        whole = attribute.whole
        place, value = (int, float) if whole else (_place, _value)
        low, high = place(attribute.low) - 1, place(attribute.high) + 1
        while high - low > 1:
            places = range(low, high, max((high - low) // _AT_ONCE, 1))[1:]
            fit = int((self._numbers([value(x) for x in places]) <= number).sum())
            low, high = (low, *places, high)[fit : fit + 2]
        if low < place(attribute.low):  # the rank before that of 0.0 is -0.0, which is not less
            return float(attribute.low - 1 if whole else nextafter(attribute.low, -inf))
        return float(value(low))

    def _numbers(self, values: Sequence[float]) -> NDArray[np.float64]:
        found = np.array(values, dtype=np.float64)
        for change in self.changes:
            found = change(found)
        return found


def _place(number: float) -> int:
    """Return the rank of a float64 among all of them; those of -0.0 and 0.0 are adjacent."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _value(place: int) -> float:
    """Return the float64 of a rank."""
    return float(np.int64(place).view(np.float64)) if place >= 0 else -float(np.int64(-place - 1).view(np.float64))


Feature = str | Literal | Coded | Rescaled
"""Meaning of a column: an attribute's values, 1 where a literal holds and else 0, or computed from an attribute."""


def bins(name: str, attribute: Attribute) -> list[Literal]:
    """Return a literal for each bin of booleans or categories, in order."""
    if attribute.outside == "bin":
        raise SchemaError(
            "is encoded, and the codes of values outside the domain are unknown; declare it without `outside: bin`.",
            attribute=name,
        )
    known = [attribute.run_literal(name, place, place + 1) for place in range(attribute.n_known)]
    return known + [Literal(name, "missing")] * (attribute.missing == "bin")


def is_narrow(dtype: Any) -> bool:
    """Return whether a type is of floating-point numbers with lower precision than float64."""
    return dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8


def transformed(transformer: Any, rows: Any) -> NDArray[np.float64]:
    """Return the output of a transformer for rows."""
    problem = SchemaError(
        f"expected declared values that the {type(transformer).__name__} accepts, got some that it refuses; declare "
        "only values that it was fitted on."
    )

    def call() -> NDArray[np.float64]:
        found = transformer.transform(rows)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    return guarded(call, problem)
