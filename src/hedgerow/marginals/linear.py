"""Additive regression from one question: sums of levels by bin are sufficient statistics of least squares."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hedgerow.boundary.arrays import Floats
from hedgerow.marginals.base import MarginalRegressor
from hedgerow.marginals.logistic import card_of, prior_of, source_bins
from hedgerow.marginals.reweight import LEAST_MEAN, LEAST_NOISE, Weights, by_sampling, log_evidence
from hedgerow.oracle import LevelSums, MarginalOracle
from hedgerow.oracle.binning import bin_matrix
from hedgerow.schema import Number, Schema

SPREADS = (0.025, 0.05, 0.1, 0.2, 0.4)
"""Standard deviations of the prior, in shares of the number's range, among which the answer decides."""
_USUAL, _FACTOR = 0.1, 1.0  # what they are beforehand: the median, and the standard deviation of the logarithm
_OF_BASE = 0.5  # the prior's standard deviation of what every row starts with
_SWEEPS = 3  # how rows differ by the source being others depends on what is predicted


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """What each bin adds to a number, and what every row starts with. Public: made of released sums alone.

    Attributes
    ----------
    bins : Schema
        The bins.
    base : float
        What every row starts with.
    effects : mapping of str to tuple of float
        What each bin of an attribute adds, in the order of its bins.
    number : Number
        The number; predictions are between its bounds.
    """

    bins: Schema
    base: float
    effects: Mapping[str, tuple[float, ...]]
    number: Number

    def predict(self, X: Any) -> Floats:
        """Return the number of each row, shape ``(n_rows,)``."""
        of_bins = np.concatenate([self.effects[name] for name in self.bins.names])
        return np.clip(self.base + of_bins @ bin_matrix(self.bins, X), self.number.low, self.number.high)

    def __repr__(self) -> str:
        return f"<AdditiveModel of {self.number.name!r}, {len(self.bins)} attributes>"


@dataclass(eq=False, repr=False, kw_only=True)
class MarginalLinearRegressor(MarginalRegressor):
    """A linear model on bins from one question to an oracle: the sums of the levels of the rows in each bin.

    These sums and the rows' own distribution, which the weighted source estimates, are all that least squares on
    indicators of bins needs. The noise, whose variance is known, is part of the likelihood; along a number, what bins
    add is a random walk beforehand, as for `MarginalLogisticClassifier`. One question of d columns costs what a count
    does: one row moves it by d times the steps of the number (docs/mathematics.md, fact 8).

    Parameters
    ----------
    reweight : bool, default=True
        Whether the target may be distributed differently from the source.
    bins : {"auto", "published"}, int or Schema, default="auto"
        As for `ExprilRegressor`. Columns that are constant in the source are left out, unless a schema is given.

    Attributes
    ----------
    model_ : AdditiveModel
        The model.
    smooth_ : float
        The prior's standard deviation, in shares of the number's range, of what a number adds from one end to the
        other: what the answer makes most probable, from 0.025 to 0.4.
    weights_ : Weights
        The weights of the source, and how well it covers the target.
    privacy_ : PrivacyCard
        What was spent on the target, and what is guaranteed.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> X, area = data.frame[["mean radius", "mean texture"]], data.frame["mean area"]
    >>> oracle = hr.Oracle(X[200:], area[200:], hr.Budget(8), 1, number=hr.Number("mean area", 0, 2500))
    >>> learner = hr.MarginalLinearRegressor().fit(X[:200], oracle=oracle)
    >>> learner.score(X[:200], area[:200]) > 0.3
    True
    """

    def _learn(self, X: Any, oracle: MarginalOracle) -> Weights:
        bins, notes = source_bins(self.bins, X, oracle.noise_scale)
        matrix, number = bin_matrix(bins, X), oracle.label.as_number
        assert number is not None  # checked before
        answer = oracle.level_marginals(bins)
        self.weights_ = self._weighed(matrix, answer, len(bins))
        shares, self.smooth_ = estimated(matrix, answer, self.weights_.values, prior_of(bins))
        self.model_ = _model(bins, matrix @ self.weights_.values, shares, number)
        self.privacy_ = card_of(oracle, notes)
        return self.weights_


def _model(bins: Schema, rows: Floats, shares: Floats, number: Number) -> AdditiveModel:
    """Return effects in the number's units, of mean 0 over rows; a bin without rows of the source adds nothing."""
    width, effects = number.values[-1] - number.values[0], dict[str, tuple[float, ...]]()
    base = number.values[0] + width * float(shares[-1])
    ends = np.cumsum([attribute.n_bins for _, attribute in bins.attributes])[:-1]
    for name, values, mass in zip(bins.names, np.split(shares[:-1], ends), np.split(rows, ends), strict=True):
        mean = float(mass @ values) / max(float(mass.sum()), np.finfo(float).tiny)
        base += width * mean
        effects[name] = tuple((width * np.where(mass > 0, values - mean, 0.0)).tolist())
    return AdditiveModel(bins, base, effects, number)


def estimated(matrix: Floats, answer: LevelSums, weights: Floats, prior: Floats) -> tuple[Floats, float]:
    """Return the shares of the range that are most probable after the answer, of each bin and last of every row.

    And the prior's standard deviation that is. With s the share of the range of a row's level, half the difference of
    both sums of a bin is the sum of s − ½ over its rows, with half of the variance of the noise on one of the sums.
    It is about ``R diag(w) Rᵀ`` times the effects, up to how rows vary: by what bins do not tell, and by the source
    being others.
    """
    used = matrix.any(axis=1)
    rows, kept = answer.n_rows * weights, matrix[used]
    below, above = (sums.astype(np.float64) for sums in (answer.below, answer.above))
    target = (above - below)[used] / (2 * answer.steps)
    noise = answer.noise.by_bin[used] / 2 / answer.steps**2
    features = np.vstack([kept, np.ones(len(rows))])
    slopes, values = (kept * rows) @ features.T, np.zeros(len(kept) + 1)
    mean = float(np.clip(above.sum() / max((above + below).sum(), 1), LEAST_MEAN, 1 - LEAST_MEAN))
    values[-1] = mean - 0.5
    jitter = np.diag(noise + LEAST_NOISE * rows.sum() / len(kept))
    own, spread = prior[np.ix_(used, used)], _USUAL
    for _ in range(_SWEEPS):
        chance = _by_rows(kept, rows, features.T @ values, mean) + jitter
        spread = _most_probable(slopes, target, chance, own)
        before = _covariance(own, spread)
        factor = cho_factor(chance + slopes @ before @ slopes.T, lower=True)
        values = before @ slopes.T @ cho_solve(factor, target)
    found = np.zeros(len(matrix) + 1)
    found[:-1][used], found[-1] = values[:-1], values[-1] + 0.5
    return found, spread


def _by_rows(matrix: Floats, rows: Floats, away: Floats, mean: float) -> Floats:
    """Return the covariance of the sums by the rows: residual variance within bins, and sampling of the source."""
    rest = mean * (1 - mean) / 3  # as of levels that are all as frequent, where the mean is in the middle
    return rest * (matrix * rows) @ matrix.T + by_sampling(matrix, rows, away)


def _covariance(prior: Floats, spread: float) -> Floats:
    found = np.zeros((len(prior) + 1, len(prior) + 1))
    found[:-1, :-1], found[-1, -1] = spread**2 * prior, _OF_BASE**2
    return found


def _most_probable(slopes: Floats, target: Floats, chance: Floats, prior: Floats) -> float:
    """Return the prior's standard deviation that is most probable after the sums."""

    def logarithm(spread: float) -> float:
        unusual = log(spread / _USUAL) / _FACTOR
        return log_evidence(target, chance + slopes @ _covariance(prior, spread) @ slopes.T) - 0.5 * unusual**2

    return max(SPREADS, key=logarithm)
