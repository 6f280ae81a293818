"""Log-odds by bin that noisy counts speak for, given how the columns go together in a public source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.special import softmax

SPREADS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Standard deviations of the prior among which the answer decides, for ``smooth="auto"``."""
USUAL, _FACTOR = 1.5, 0.5  # what they are beforehand: the median, and the standard deviation of the logarithm
_OF_BASE = 5.0  # the prior's standard deviation of the log-odds that every row starts with
_LEAST_SHARE = 0.02  # of a class
_LARGEST_STEP, _PART = 1.0, 0.6  # of log-odds in one sweep, and of the way: covariances depend on where it ends
_MOST_SWEEPS, _CLOSE = 30, 0.01
_SETTLED = 2  # sweeps after which the prior's standard deviation is kept
_LEAST_NOISE = 1e-6  # of the rows of a bin: exact counts of several attributes depend on one another
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """Statistics of one answer and the source: the counts, and the rows that stand for those of the target."""

    matrix: Floats  # R: whether a row of the source is in a bin
    rows: Floats  # how many rows of the target each row of the source stands for
    counts: Floats  # noisy numbers of rows of each class
    noise: float  # the variance of the noise of a number

    def of_class(self) -> Floats:
        """Return the rows of each class, the noise of whose sum over classes is replaced by what the source has.

        Of the noise of a number ``1 − 1/n_classes`` is left.
        """
        sums = self.counts.sum(axis=1, keepdims=True)
        return self.counts + (self.matrix @ self.rows[:, None] - sums) / self.counts.shape[1]

    def shares(self) -> Floats:
        """Return the share of each class, at least 2 %."""
        totals = np.maximum(self.counts.sum(axis=0), 0)
        shares = np.maximum(totals / max(totals.sum(), 1.0), _LEAST_SHARE)
        return shares / shares.sum()


@dataclass(frozen=True, eq=False)
class LogOdds:
    """Log-odds by bin that add up."""

    base: Floats  # those of every row: one column for two classes, the log-odds of the second; or one for each class
    values: Floats  # those of each bin
    spreads: tuple[float, ...]  # the prior's standard deviation in each column
    # The standard error of a row's log-odds by the noise, the root of the mean square over rows and columns
    error: float


def estimated(statistics: SufficientStatistics, prior: Floats, spreads: Sequence[float] = SPREADS) -> LogOdds:
    """Return the log-odds that are most probable after the answer, whose noise is part of the likelihood.

    With p the probabilities by the current log-odds, the counts of a class are about ``R(w·p)``, and they grow with the
    log-odds at the rate ``H = R diag(w p(1 − p)) Rᵀ``. They vary by the target's rows, with covariance H, by the
    source's being others, and by the noise. Each sweep is part of a step of Gauss and Newton for one class after the
    other. Of the prior's standard deviations the one is taken that is most probable after the answer; beforehand it is
    1.5, up to a factor.
    """
    used = statistics.matrix.any(axis=1)
    kept = SufficientStatistics(statistics.matrix[used], statistics.rows, statistics.of_class()[used], statistics.noise)
    fit = _Fit(kept, prior[np.ix_(used, used)], np.log(statistics.shares()))
    columns = (1,) if statistics.counts.shape[1] == 2 else range(statistics.counts.shape[1])
    allowed = dict.fromkeys(columns, tuple(spreads))
    for sweep in range(_MOST_SWEEPS):
        size = 0.0
        for column in columns:
            one = fit.posterior(column, allowed[column])
            size = max(size, fit.move(column, one.mean))
            if sweep >= _SETTLED:
                allowed[column] = (one.spread,)
        fit.centre()
        if size < _CLOSE:
            break
    found = [fit.posterior(column, allowed[column]) for column in columns]
    values = np.zeros((len(statistics.matrix), len(columns)))
    values[used] = fit.values[:-1, columns]
    base = fit.values[-1, columns] - (fit.values[-1, 0] if len(columns) == 1 else 0.0)
    error = sqrt(float(np.mean([fit.error(one) for one in found])))
    return LogOdds(base, values, tuple(one.spread for one in found), error)


@dataclass(frozen=True, eq=False)
class _Posterior:
    """Log-odds of one class after the answer: of each bin, and last of every row; and how the counts enter them."""

    mean: Floats
    gain: Floats
    spread: float


class _Fit:
    """Log-odds in the making, one column a class; those of the first of two classes stay as they are."""

    def __init__(self, statistics: SufficientStatistics, prior: Floats, start: Floats) -> None:
        self._statistics, self._start = statistics, start
        bins, n_classes = len(statistics.matrix), len(start)
        self.values = np.vstack([np.zeros((bins, n_classes)), start])
        self._features = np.vstack([statistics.matrix, np.ones(len(statistics.rows))])
        self._prior = np.zeros((bins + 1, bins + 1))
        self._prior[:-1, :-1] = prior
        self._noise = statistics.noise * (1 - 1 / n_classes)
        self._jitter = _LEAST_NOISE * statistics.rows.sum() / bins

    def posterior(self, column: int, spreads: Sequence[float]) -> _Posterior:
        """Return the log-odds of a class by its counts, taken as linear around the current ones."""
        matrix, rows = self._statistics.matrix, self._statistics.rows
        p = softmax(self._features.T @ self.values, axis=1)[:, column]
        slopes = (matrix * (rows * p * (1 - p))) @ self._features.T
        origin = np.append(np.zeros(len(matrix)), self._start[column])
        target = self._statistics.counts[:, column] - matrix @ (rows * p) + slopes @ (self.values[:, column] - origin)
        chance = slopes[:, :-1] + self._by_sampling(p) + (self._noise + self._jitter) * np.eye(len(matrix))
        spread = self._most_probable(slopes, target, chance, spreads)
        prior = spread**2 * self._prior
        prior[-1, -1] = _OF_BASE**2
        factor = cho_factor(chance + slopes @ prior @ slopes.T, lower=True)
        gain = cho_solve(factor, slopes @ prior).T
        return _Posterior(origin + gain @ target, gain, spread)

    def _by_sampling(self, p: Floats) -> Floats:
        """Return the covariance of the counts that is due to the source: its rows are others than the target's."""
        matrix, rows, n = self._statistics.matrix, self._statistics.rows, self._statistics.rows.sum()
        away = p - 1 / self.values.shape[1]
        mean = matrix @ (rows * away)
        square = (matrix * (rows * away**2)) @ matrix.T
        return (1 + rows @ rows / n) * (square - np.outer(mean, mean) / n)

    def _most_probable(self, slopes: Floats, target: Floats, chance: Floats, spreads: Sequence[float]) -> float:
        """Return the prior's standard deviation that is most probable after the counts."""
        if len(spreads) == 1:
            return spreads[0]
        by_bin = slopes @ self._prior @ slopes.T
        rest = chance + _OF_BASE**2 * np.outer(slopes[:, -1], slopes[:, -1])

        def logarithm(spread: float) -> float:
            factor, _ = cho_factor(rest + spread**2 * by_bin, lower=True)
            scaled = solve_triangular(factor, target, lower=True)
            unusual = log(spread / USUAL) / _FACTOR
            return -0.5 * float(scaled @ scaled + unusual**2) - float(np.log(np.diag(factor)).sum())

        return max(spreads, key=logarithm)

    def move(self, column: int, mean: Floats) -> float:
        """Move the log-odds of a class to new ones, part of the way, and return how far they are."""
        step = mean - self.values[:, column]
        size = float(np.abs(step).max())
        self.values[:, column] += step * min(_PART, _LARGEST_STEP / max(size, _CLOSE))
        return size

    def centre(self) -> None:
        """Take off what all of several classes have in common: probabilities do not depend on it."""
        if self.values.shape[1] > 2:
            away = self.values[:-1]
            away -= away.mean(axis=1, keepdims=True)
            self.values[-1] += self._start.mean() - self.values[-1].mean()

    def error(self, one: _Posterior) -> float:
        """Return the variance of a row's log-odds by the noise, on average over rows."""
        by_row = ((one.gain.T @ self._features) ** 2).sum(axis=0)
        rows = self._statistics.rows
        return float(rows @ by_row / rows.sum()) * self._noise
