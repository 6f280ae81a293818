"""Bin sizes: the number of values in each bin of a schema, with which possible rows are counted."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import floor, isfinite

from hedgerow.audit.counting.outside import PerBin
from hedgerow.columns import plain_word
from hedgerow.errors import ArgumentTypeError, SchemaError
from hedgerow.messages import shown_argument
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.numbers import Integer, Real
from hedgerow.schema.schema import Schema
from hedgerow.values import Value

Resolution = Mapping[str, float]
"""For real attributes, the step to which they are recorded."""


def bin_weights(schema: Schema, *, resolution: Resolution | None = None) -> PerBin:
    """Return how many values each bin of each attribute holds, in the order of the schema and of the bins.

    A boolean's bins and a categorical's hold one value each; an integer's interval its whole numbers, but not those
    declared to mean "missing". ``missing`` and ``outside`` bins count as one value each, since what is behind them is
    not declared. Where numbers beyond the bounds are clipped, they are the bound, and no other value.

    Parameters
    ----------
    schema : Schema
        The public schema.
    resolution : mapping of str to float, optional
        For real attributes, the step to which they are recorded: the values are then ``low, low + step, ...`` up to
        `high`, decimals meant as written. A real attribute without one has one value a bin, as no model can
        distinguish values within a bin.

    Raises
    ------
    SchemaError
        If a resolution is given for something other than a real attribute, or is not a step above 0.

    Examples
    --------
    >>> from hedgerow.schema import Boolean
    >>> schema = Schema({"age": Integer(17, 90, cuts=(30, 45)), "bmi": Real(10, 60, cuts=(25,)), "smoker": Boolean()})
    >>> bin_weights(schema)
    ((14, 15, 45), (1, 1), (1, 1))
    >>> bin_weights(schema, resolution={"bmi": 0.1})
    ((14, 15, 45), (151, 350), (1, 1))
    """
    if not (resolution is None or isinstance(resolution, Mapping)):
        raise ArgumentTypeError(
            f"expected a mapping of attributes to steps as resolution, got {type(resolution).__name__}."
        )
    steps = {} if resolution is None else dict(resolution)
    for name, step in steps.items():
        if name not in schema or not isinstance(schema[name], Real):
            raise SchemaError("expected resolutions of real attributes only; leave this one out.", attribute=name)
        if not 0 < step < float("inf"):
            raise SchemaError(f"expected a resolution above 0, got {shown_argument(step)}.", attribute=name)
    return tuple(_weights(attribute, steps.get(name)) for name, attribute in schema.attributes)


def _weights(attribute: Attribute, step: float | None) -> tuple[int, ...]:
    known = (1,) * len(attribute.known_bins)
    if isinstance(attribute, Integer):
        known = _numbers_in(attribute, Fraction(1))
    elif isinstance(attribute, Real) and step is not None:
        known = _numbers_in(attribute, _as_written(step))
    return known + (1,) * (len(attribute.bins) - len(known))


def _numbers_in(attribute: Integer | Real, step: Fraction) -> tuple[int, ...]:
    """Return how many of the numbers low, low + step, ... fall into each interval and do not mean "missing"."""
    low = _as_written(attribute.low)
    edges = [(_as_written(edge) - low) / step for edge in (*attribute.cuts, attribute.high)]
    missing = {(n - low) / step for n in map(_spelled, attribute.missing_values) if n is not None}
    found: list[int] = []
    first = 0
    for edge in edges:
        after = floor(edge) + 1
        tokens = sum(token.denominator == 1 and first <= token < after for token in missing)
        found.append(after - first - tokens)
        first = after
    return tuple(found)


def _as_written(number: float) -> Fraction:
    return Fraction(repr(float(number)))


def _spelled(value: Value) -> Fraction | None:
    """Return the number that a value is, or spells just as numbers are written; None for other text."""
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return _as_written(number) if isfinite(number) and plain_word(number) == plain_word(value) else None
