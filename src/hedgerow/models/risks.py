"""The map from totals of points to probabilities, with the uncertainty that the noise of a release adds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scipy.special import expit

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""
_FARTHEST = 5.0  # log-odds beyond which a table has only its ends: risks of 0.7 % and 99.3 %


@dataclass(frozen=True)
class Risk:
    """The probability of the second class for a total of points.

    Attributes
    ----------
    total : int
        The total.
    probability : float
        The probability.
    low, high : float, optional
        The ends of its 95 % interval by the noise of the release; None where there is no noise, or it is unknown.
    """

    total: int
    probability: float
    low: float | None = None
    high: float | None = None

    @property
    def shown(self) -> str:
        """The probability as text."""
        return percent(self.probability)

    @property
    def interval(self) -> str:
        """The interval as text; empty where there is none."""
        return "" if self.low is None or self.high is None else f"{percent(self.low)} to {percent(self.high)}"


def risk_of(total: int, unit: float, error: float | None) -> Risk:
    """Return the risk of a total, with points of `unit` log-odds and a standard error of the log-odds.

    Examples
    --------
    >>> risk_of(0, 0.5, None)
    Risk(total=0, probability=0.5, low=None, high=None)
    """
    odds = total * unit
    if error is None:
        return Risk(total, float(expit(odds)))
    ends = (float(expit(odds + sign * NORMAL_95 * error)) for sign in (-1, 1))
    return Risk(total, float(expit(odds)), *ends)


def tabulated_totals(low: int, high: int, unit: float, most: int) -> list[int]:
    """Return at most `most` totals from `low` to `high` for a table: all, or the ends and round numbers between them.

    Between the ends are multiples of 1, 2 or 5 times a power of ten, of at most 5 log-odds in size, if the total can be
    so small: those on which the probability depends.

    Examples
    --------
    >>> tabulated_totals(-3, 4, 0.5, 12)
    [-3, -2, -1, 0, 1, 2, 3, 4]
    >>> tabulated_totals(-230, 187, 0.1, 8)
    [-230, -40, -20, 0, 20, 40, 187]
    """
    if high - low < most:
        return list(range(low, high + 1))
    farthest = _FARTHEST / unit
    first, last = max(low + 1, -farthest), min(high - 1, farthest)
    if first > last:
        first, last = low + 1, high - 1
    step = next(step for step in _round_steps() if last // step + -first // step + 1 <= most - 2)
    inner = range(int(-(-first // step)) * step, int(last // step) * step + 1, step)
    return [low, *inner, high]


def _round_steps() -> Iterator[int]:
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def percent(probability: float) -> str:
    """Return a probability as a percentage: one decimal below 10 % and above 90 %, where it matters.

    Examples
    --------
    >>> percent(0.4321), percent(0.0123), percent(0.99999)
    ('43 %', '1.2 %', '>99.9 %')
    """
    if probability < 0.0005:
        return "<0.1 %"
    if probability > 0.9995:
        return ">99.9 %"
    decimals = 0 if 0.1 <= probability <= 0.9 else 1
    return f"{100 * probability:.{decimals}f} %"
