"""Bin sizes: the number of values in each bin of a schema, with which possible rows are counted."""

from __future__ import annotations

from collections.abc import Mapping
from math import ulp

from hedgerow.audit.counting.bin_values import values_of_bins
from hedgerow.audit.counting.outside import PerBin
from hedgerow.errors import ArgumentTypeError, SchemaError
from hedgerow.schema.numbers import Real
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument

Resolution = Mapping[str, float]
"""For real attributes, the step to which they are recorded."""


def bin_weights(schema: Schema, *, resolution: Resolution | None = None) -> PerBin:
    """Return how many values each bin of each attribute holds, in the order of the schema and of the bins.

    A boolean's bins and a categorical's hold one value each; an integer's interval its whole numbers, but not those
    declared to mean "missing". ``missing`` and ``outside`` bins count as one value each, since what is behind them is
    not declared. Where numbers beyond the bounds are clipped, they are the bound, and no other value.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Integer
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
    declared = dict(schema.attributes)
    for name, step in steps.items():
        attribute = declared.get(name)
        if not isinstance(attribute, Real):
            raise SchemaError("expected resolutions of real attributes only; leave this one out.", attribute=name)
        if not 0 < step < float("inf"):
            raise SchemaError(f"expected a resolution above 0, got {describe_argument(step)}.", attribute=name)
        finest = ulp(max(abs(attribute.low), abs(attribute.high)))
        if step <= finest:
            raise SchemaError(
                f"expected a resolution above {finest:.3g}, the distance of neighbouring float64 at the bounds, got "
                f"{describe_argument(step)}.",
                attribute=name,
            )
    return tuple(tuple(map(len, values_of_bins(attribute, steps.get(name)))) for name, attribute in schema.attributes)
