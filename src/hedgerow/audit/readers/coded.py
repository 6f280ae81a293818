"""Columns that transformers made of an attribute: what a comparison with a number says of the attribute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, isnan, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.readers.paths import Path
from hedgerow.errors import SchemaError
from hedgerow.guard import guarded
from hedgerow.schema.attributes import Attribute, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema

Map = Callable[[NDArray[np.float64]], NDArray[np.float64]]
"""Maps numbers one by one, never to less for more."""
_AT_ONCE = 64  # values that a transformer is asked for at once


@dataclass(frozen=True)
class Coded:
    """A column that has one number for each bin of an attribute.

    Attributes
    ----------
    attribute : str
        The attribute.
    numbers : tuple of (Literal, float)
        For each of its bins, the literal that holds there, and the column's number; NaN is missing to the model.
    narrow : bool
        Whether the numbers are kept in less than float64, so that steps after it compute in less, too.

    Examples
    --------
    >>> red, blue, green = (Literal("hue", "=", (hue,)) for hue in ("red", "blue", "green"))
    >>> column = Coded("hue", ((red, 0.0), (blue, 1.0), (green, 1.0)))
    >>> [(str(literal), holds) for literal, holds in column.at_most(0.5, holds=True)]
    [('hue = red', True)]
    >>> [(str(literal), holds) for literal, holds in column.at_most(0.5, holds=False)]
    [('hue = red', False)]
    """

    attribute: str
    numbers: tuple[tuple[Literal, float], ...]
    narrow: bool = False

    def at_most(self, number: float, *, holds: bool, missing_holds: bool | None = None) -> Path:
        """Return the steps that say that the column is at most a number, or that it is not.

        Raises
        ------
        SchemaError
            If the test is the same for all bins, or the model has no way for missing values and some bin is NaN.
        """
        if missing_holds is None and any(isnan(code) for _, code in self.numbers):
            raise SchemaError("is missing to the model, which has no way for missing values.", attribute=self.attribute)
        low = {literal: missing_holds if isnan(code) else code <= number for literal, code in self.numbers}
        here = [literal for literal, at_most in low.items() if at_most == holds]
        there = [literal for literal, at_most in low.items() if at_most != holds]
        if not here or not there:
            raise SchemaError(
                f"the model compares what is made of it with {number:g}, which is the same for all of its values; "
                "declare the values that the training rows had.",
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
    """A column of numbers that transformers made of an attribute's, never less for more.

    Attributes
    ----------
    attribute : str
        The attribute, whose values are numbers.
    changes : tuple of Map
        What the transformers do, in order.
    narrow : bool
        Whether the numbers are kept in less than float64, so that steps after it compute in less, too.
    """

    attribute: str
    changes: tuple[Map, ...]
    narrow: bool = False

    def last_at_most(self, number: float, schema: Schema) -> float:
        """Return the largest value of the attribute whose number is at most this; one below its bounds if none is.

        Found by bisection of the values that there are, through the transformers themselves, so that it is exact.

        Examples
        --------
        >>> Rescaled("age", (lambda x: (x - 40) / 8,)).last_at_most(0.3, Schema({"age": Integer(0, 120)}))
        42.0
        """
        attribute = schema[self.attribute]
        if not isinstance(attribute, (Integer, Real)):
            raise SchemaError(f"is scaled as a number, but it is {attribute.domain}.", attribute=self.attribute)
        if number == inf:
            return inf
        whole = isinstance(attribute, Integer)
        place, value = (int, float) if whole else (_place, _value)
        low, high = place(attribute.low) - 1, place(attribute.high) + 1
        while high - low > 1:
            places = range(low, high, max((high - low) // _AT_ONCE, 1))[1:]
            fit = int((self._numbers([value(x) for x in places]) <= number).sum())
            low, high = (low, *places, high)[fit : fit + 2]
        if low < place(attribute.low):  # the place before that of 0.0 is -0.0, which is no less
            return float(attribute.low - 1 if whole else nextafter(attribute.low, -inf))
        return float(value(low))

    def _numbers(self, values: Sequence[float]) -> NDArray[np.float64]:
        found = np.array(values, dtype=np.float64)
        for change in self.changes:
            found = change(found)
        return found


def _place(number: float) -> int:
    """Return the place of a float64 among all, in order; those of -0.0 and 0.0 are next to each other."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & (2**63 - 1)) - 1


def _value(place: int) -> float:
    """Return the float64 at a place."""
    return float(np.int64(place).view(np.float64)) if place >= 0 else -float(np.int64(-place - 1).view(np.float64))


Feature = str | Literal | Coded | Rescaled
"""What a column is: an attribute's values, 1 where a literal holds and else 0, or made of an attribute's values."""


def bins(name: str, attribute: Attribute) -> list[Literal]:
    """Return a literal for each bin of booleans or categories, in order."""
    if attribute.outside == "bin":
        raise SchemaError(
            "is encoded, and values outside the domain could be anything; declare it without.", attribute=name
        )
    known = (
        [Literal(name, "=", (value,)) for value in attribute.values]
        if isinstance(attribute, Categorical)
        else [Literal(name, "false"), Literal(name, "true")]
    )
    return known + [Literal(name, "missing")] * (attribute.missing == "bin")


def is_narrow(dtype: Any) -> bool:
    """Return whether numbers are kept in a type of floats with less digits than float64."""
    return dtype is not None and np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8


def transformed(transformer: Any, rows: Any) -> NDArray[np.float64]:
    """Return what a transformer makes of rows."""
    problem = SchemaError(
        f"expected values that the {type(transformer).__name__} takes, got some that it refuses; declare only values "
        "that it was fitted on."
    )

    def call() -> NDArray[np.float64]:
        found = transformer.transform(rows)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)

    return guarded(call, problem)
