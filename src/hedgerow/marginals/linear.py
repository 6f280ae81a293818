"""Additive regression from a single question: sums of levels by bin are sufficient statistics of least squares."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from hedgerow.boundary.arrays import Floats
from hedgerow.marginals.base import MarginalRegressor
from hedgerow.marginals.logistic import card_of, prior_of, source_bins
from hedgerow.marginals.reweight import LEAST_MEAN, LEAST_NOISE, Weights, log_evidence, sampling_covariance
from hedgerow.oracle import LevelSums, MarginalOracle
from hedgerow.oracle.binning import bin_matrix
from hedgerow.schema import Number, Schema

SPREADS = (0.025, 0.05, 0.1, 0.2, 0.4)
"""Candidates for the standard deviation of the prior, as shares of the number's range."""
_MEDIAN, _FACTOR = 0.1, 1.0  # of the hyperprior: the median, and the standard deviation of the logarithm
_BASE_DEVIATION = 0.5  # the standard deviation of the prior of the base
_SWEEPS = 3  # the sampling variance depends on the predictions, hence several sweeps


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """An additive model of a number: a base plus an effect for every bin. It depends only on released sums.

    Attributes
    ----------
    bins : Schema
        The bins.
    base : float
        The intercept.
    effects : mapping of str to tuple of float
        The effects of the bins of each attribute, in the order of the bins.
    number : Number
        The target; predictions are clipped to its bounds.
    """

    bins: Schema
    base: float
    effects: Mapping[str, tuple[float, ...]]
    number: Number

    def predict(self, X: Any) -> Floats:
        """Return the predicted number of each row, shape ``(n_rows,)``."""
        effects = np.concatenate([self.effects[name] for name in self.bins.names])
        return np.clip(self.base + effects @ bin_matrix(self.bins, X), self.number.low, self.number.high)

    def __repr__(self) -> str:
        return f"<AdditiveModel of {self.number.name!r}, {len(self.bins)} attributes>"


@dataclass(eq=False, repr=False, kw_only=True)
class MarginalLinearRegressor(MarginalRegressor):
    """A linear model on bins, learned from a single question to an oracle: the sums of the levels by bin.

    Least squares on indicators of bins needs only these sums and the distribution of the rows, which the weighted
    source estimates. The noise, whose variance is known, is part of the likelihood. The prior of the effects along a
    numeric attribute is a random walk, as for `MarginalLogisticClassifier`. The privacy loss of a question is that of
    counts: a row changes the sums by at most d times the steps of the number, with d columns (docs/mathematics.md, fact
    8).

    Parameters
    ----------
    reweight : bool, default=True
        Whether to weight the source rows. If source and target have the same distribution, False reduces the noise.
    bins : {"auto", "published"}, int or Schema, default="auto"
        The most bins of an attribute, or a schema with the bins; see `ExprilClassifier`. Columns that are constant in
        the source are omitted unless a schema is given.

    Attributes
    ----------
    model_ : AdditiveModel
        The model.
    smooth_ : float
        The standard deviation of the prior for the change of the effect from one end of a numeric attribute to the
        other, as a share of the number's range. It is the most probable value given the answer, from 0.025 to 0.4.
    weights_ : Weights
        The weights of the source rows, with measures of the overlap of source and target.
    privacy_ : PrivacyCard
        The charges to the oracle's budget and the guarantee for the target.

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
    """Return a model with effects of mean 0 over rows, in units of the number; bins without source rows add nothing."""
    width, effects = number.values[-1] - number.values[0], dict[str, tuple[float, ...]]()
    base = number.values[0] + width * float(shares[-1])
    ends = np.cumsum([attribute.n_bins for _, attribute in bins.attributes])[:-1]
    for name, values, mass in zip(bins.names, np.split(shares[:-1], ends), np.split(rows, ends), strict=True):
        mean = float(mass @ values) / max(float(mass.sum()), np.finfo(float).tiny)
        base += width * mean
        effects[name] = tuple((width * np.where(mass > 0, values - mean, 0.0)).tolist())
    return AdditiveModel(bins, base, effects, number)


def estimated(matrix: Floats, answer: LevelSums, weights: Floats, prior: Floats) -> tuple[Floats, float]:
    """Return the most probable effects given the answer, with the base last, and the most probable prior deviation.

    Effects are shares of the range. Let s be the level of a row as a share of the range. Half the difference of the two
    sums of a bin is the sum of s − ½ over its rows, with half the noise variance of one of the sums. This is about
    ``R diag(w) Rᵀ`` times the effects. The deviation has two parts: the residual variance of rows within bins, and the
    sampling variance of the source.
    """
    used = matrix.any(axis=1)
    rows, used_matrix = answer.n_rows * weights, matrix[used]
    below, above = (sums.astype(np.float64) for sums in (answer.below, answer.above))
    target = (above - below)[used] / (2 * answer.steps)
    noise = answer.noise.by_bin[used] / 2 / answer.steps**2
    features = np.vstack([used_matrix, np.ones(len(rows))])
    slopes, values = (used_matrix * rows) @ features.T, np.zeros(len(used_matrix) + 1)
    mean = float(np.clip(above.sum() / max((above + below).sum(), 1), LEAST_MEAN, 1 - LEAST_MEAN))
    values[-1] = mean - 0.5
    jitter = np.diag(noise + LEAST_NOISE * rows.sum() / len(used_matrix))
    used_prior, spread = prior[np.ix_(used, used)], _MEDIAN
    for _ in range(_SWEEPS):
        variance = _row_covariance(used_matrix, rows, features.T @ values, mean) + jitter
        spread = _most_probable(slopes, target, variance, used_prior)
        before = _covariance(used_prior, spread)
        factor = cho_factor(variance + slopes @ before @ slopes.T, lower=True)
        values = before @ slopes.T @ cho_solve(factor, target)
    shares = np.zeros(len(matrix) + 1)
    shares[:-1][used], shares[-1] = values[:-1], values[-1] + 0.5
    return shares, spread


def _row_covariance(matrix: Floats, rows: Floats, deviations: Floats, mean: float) -> Floats:
    """Return the covariance of the sums without noise: residual variance within bins, and sampling of the source."""
    residual = mean * (1 - mean) / 3  # the variance of uniformly distributed levels if the mean is in the middle
    return residual * (matrix * rows) @ matrix.T + sampling_covariance(matrix, rows, deviations)


def _covariance(prior: Floats, spread: float) -> Floats:
    covariance = np.zeros((len(prior) + 1, len(prior) + 1))
    covariance[:-1, :-1], covariance[-1, -1] = spread**2 * prior, _BASE_DEVIATION**2
    return covariance


def _most_probable(slopes: Floats, target: Floats, variance: Floats, prior: Floats) -> float:
    """Return the most probable standard deviation of the prior given the sums."""

    def logarithm(spread: float) -> float:
        z = log(spread / _MEDIAN) / _FACTOR
        return log_evidence(target, variance + slopes @ _covariance(prior, spread) @ slopes.T) - 0.5 * z**2

    return max(SPREADS, key=logarithm)
