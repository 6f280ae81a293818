"""Base class of the estimators whose model is a scorecard: its size, and points that may only rise or fall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real as Number
from typing import Any

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError, ArgumentTypeError, SchemaError
from hedgerow.learn.base import TallyEstimator
from hedgerow.learn.readable import ReadablePoints
from hedgerow.learn.scorecard.log_odds import Direction
from hedgerow.models.scorecard import Scorecard
from hedgerow.schema.attributes import DIRECTIONS
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument

LARGEST_POINTS = 1000
LEAST_SMOOTH, LARGEST_SMOOTH = 0.01, 1000  # outside, float64 does not hold the precision of many bins
MOST_BINS = 2000  # of an attribute: matrices of bin by bin are inverted


@dataclass(eq=False, repr=False, kw_only=True)
class ScorecardEstimator(ReadablePoints, TallyEstimator):
    """An estimator whose model is a `Scorecard`."""

    max_attributes: int | None = None
    points: int = 20
    monotone: Mapping[str, Direction | None] | None = None
    scorecard_: Scorecard = field(init=False)
    _fitted = "scorecard_"
    keeps_monotone = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.max_attributes is not None:
            check_integer("max_attributes", self.max_attributes, 1)
        check_largest_points(self.points)
        monotone: Any = self.monotone
        if monotone is not None and not isinstance(monotone, Mapping):
            raise ArgumentTypeError(
                f"monotone must be a mapping of names to directions, got {type(monotone).__name__}."
            )
        for direction in (monotone or {}).values():
            if direction is not None and (not isinstance(direction, str) or direction not in DIRECTIONS):
                raise ArgumentError(
                    f"monotone must map names to {' or '.join(DIRECTIONS)}, got {describe_argument(direction)}."
                )

    @property
    def _most_attributes(self) -> int | None:
        return None if self.max_attributes is None else int(self.max_attributes)

    def _directions(self, schema: Schema) -> dict[str, Direction]:
        """Return the directions by name, the schema's where none is given, once schema and names are checked."""
        _check_bins(schema)
        monotone: dict[str, Direction | None] = {**schema.monotone, **(self.monotone or {})}
        for name in monotone:
            _check_monotone(name, schema)
        return {name: direction for name, direction in monotone.items() if direction is not None}


def check_largest_points(points: Any) -> None:
    """Check the largest number of points of a bin, in size."""
    check_integer("points", points, 1)
    if points > LARGEST_POINTS:
        raise ArgumentError(f"points must be a whole number <= {LARGEST_POINTS}, got {describe_argument(points)}.")


def check_smooth(smooth: Any) -> None:
    """Check the prior's standard deviation of the log-odds along a number."""
    value: Any = smooth
    is_number = isinstance(smooth, Number) and not isinstance(smooth, bool)
    if is_number and LEAST_SMOOTH <= value <= LARGEST_SMOOTH:
        return
    if not isinstance(smooth, str) or smooth != "auto":
        raise ArgumentError(
            f"smooth must be 'auto' or a number from {LEAST_SMOOTH} to {LARGEST_SMOOTH}, got "
            f"{describe_argument(smooth)}."
        )


def _check_bins(schema: Schema) -> None:
    for name, attribute in schema.attributes:
        if attribute.n_bins > MOST_BINS:
            raise SchemaError(
                f"expected at most {MOST_BINS:,} bins of an attribute of a scorecard, got {attribute.n_bins:,}; "
                "declare fewer, or leave the attribute out.",
                attribute=name,
            )


def _check_monotone(name: str, schema: Schema) -> None:
    if name not in schema:
        raise SchemaError("is in monotone but not declared.", attribute=name)
    if not schema[name].ordered:
        raise SchemaError(
            "expected a number or an ordered attribute in monotone; the bins of others have no order.",
            attribute=name,
        )
    if schema.target.as_number is None and schema.target.n_levels != 2:
        raise ArgumentError(f"monotone needs two classes, and the label has {schema.target.n_levels}; leave it out.")
