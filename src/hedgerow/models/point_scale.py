"""Scales of scorecards for two classes: points that double the odds."""

from dataclasses import asdict, dataclass
from math import isfinite, log, log2
from typing import Any

from hedgerow.errors import ArgumentError
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import Value

_LARGEST_UNIT = 1_000_000  # the largest unit of any scorecard
_LARGEST_PDO, _LARGEST_SCORE, _LARGEST_ODDS = 10_000, 100_000, 1e9
_LARGEST_ROUNDING = 1e9  # in points; totals are not larger


@dataclass(frozen=True)
class PointScale:
    """The scale of the points of a scorecard for two classes, as usual in credit scoring.

    A row with a total of `score` has odds of `odds` to 1 for the class `favourable`. `pdo` more points double the odds:
    ``total = score + pdo * log2(odds of the row / odds)``.

    Attributes
    ----------
    pdo : float
        The number of points that double the odds, above 0 and at most 10,000.
    score : float
        The target score, at most 100,000 in absolute value.
    odds : float
        The odds at the target score: the probability of `favourable` divided by the probability of the other class.
        Above 0 and at most 1,000,000,000.
    favourable : str, int or bool
        The class that high totals favour.
    rounding : float, optional
        The largest error of a total due to rounding to whole points, in points; `Scorecard.scaled` sets it. None if it
        is unknown.

    Raises
    ------
    ValueError
        If a number is out of range.

    References
    ----------
    Siddiqi, *Credit Risk Scorecards*, Wiley 2006, chapter 6.

    Examples
    --------
    >>> scale = PointScale(pdo=20, score=600, odds=50, favourable="repaid")
    >>> round(scale.even, 3), round(scale.unit, 4)
    (487.123, 0.0347)
    """

    pdo: float
    score: float
    odds: float
    favourable: Value
    rounding: float | None = None

    def __post_init__(self) -> None:
        check_amount("pdo", self.pdo, _LARGEST_PDO)
        check_amount("odds", self.odds, _LARGEST_ODDS)
        if not _is_number(self.score) or not abs(self.score) <= _LARGEST_SCORE:
            got = describe_argument(self.score)
            raise ArgumentError(f"score must be a number of at most {_LARGEST_SCORE:,} in absolute value, got {got}.")
        check_amount("rounding", self.rounding, _LARGEST_ROUNDING, zero=True)
        for name in ("pdo", "score", "odds", *(["rounding"] if self.rounding is not None else [])):
            object.__setattr__(self, name, float(getattr(self, name)))
        if self.unit > _LARGEST_UNIT:
            raise ArgumentError(f"pdo must be at least log(2) / {_LARGEST_UNIT:,}, got {describe_argument(self.pdo)}.")

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as JSON-ready data."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @property
    def unit(self) -> float:
        """The log-odds of one point."""
        return log(2) / self.pdo

    @property
    def even(self) -> float:
        """The total at which both classes are equally probable."""
        return self.score - self.pdo * log2(self.odds)


def not_two_classes(schema: Schema) -> ArgumentError:
    """Return the error for a target without odds."""
    is_classes = schema.target.as_number is None
    got = f"{schema.target.n_levels} classes" if is_classes else "a label that is a number"
    return ArgumentError(f"points that double the odds need two classes, got {got}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def check_amount(name: str, value: Any, most: float, *, zero: bool = False) -> None:
    """Raise ArgumentError unless a value is a number above 0 (with `zero`: at least 0, or None) and at most `most`."""
    if zero and value is None:
        return
    if not _is_number(value) or not ((0 < value <= most and isfinite(value)) or (zero and value == 0)):
        least, bound = "of at least 0" if zero else "above 0", f"{most:,.0f}" if 1000 <= most < 1e15 else f"{most:g}"
        raise ArgumentError(f"{name} must be a number {least}, at most {bound}, got {describe_argument(value)}.")
