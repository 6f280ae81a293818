"""Scorecards from a single question: class counts by bin are sufficient statistics of an additive model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import log, sqrt
from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.hypotheses.hypothesis import has_hypothesis
from hedgerow.learn.base import MAX_POINTS, SMOOTH, check_auto, check_up_to
from hedgerow.learn.contract import FittedModelMixin, of_model, on_rows
from hedgerow.learn.learned import scorecard_model
from hedgerow.learn.scorecard.rounding import rounded
from hedgerow.learn.scorecard.smoothing import Part, Prior
from hedgerow.marginals.base import MarginalClassifier
from hedgerow.marginals.reweight import LEAST_NOISE, Weights, log_evidence, sampling_covariance
from hedgerow.models.scorecard import Scorecard
from hedgerow.oracle.binning import bin_matrix, bins_or_chosen, is_constant
from hedgerow.oracle.protocol import MarginalOracle
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Attribute, Boolean, Categorical, Real, Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table

SPREADS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Candidates for the standard deviation of the prior with ``smooth="auto"``."""
_MEDIAN, _FACTOR = 1.5, 0.5  # of the hyperprior: the median, and the standard deviation of the logarithm
_BASE_DEVIATION = 5.0  # the standard deviation of the prior of the base
_LEAST_SHARE = 0.02  # of a class
_LARGEST_STEP, _PART = 1.0, 0.6  # of log-odds per sweep, and the part of a step that is taken: covariances change
_MOST_SWEEPS, _CLOSE = 30, 0.01
_SETTLED = 2  # sweeps after which the standard deviation of the prior is fixed
_EACH = 2 / 3  # the standard deviation of a category, or of a number's mean, relative to that along a number


@has_hypothesis("model_")
@dataclass(eq=False, repr=False, kw_only=True)
class MarginalLogisticClassifier(FittedModelMixin, MarginalClassifier):
    """A scorecard learned from a single question to an oracle: the class counts of every bin.

    The likelihood of an additive logistic model needs only these counts and the distribution of the rows, which the
    weighted source estimates. The noise, whose variance is known, is part of the likelihood, so that many bins cost
    little. The prior of the log-odds along a numeric attribute is a random walk, as for `PrivateScorecardClassifier`.
    The log-odds are rounded to whole points.

    Parameters
    ----------
    reweight : bool, default=True
        Whether to weight the source rows. If source and target have the same distribution, False reduces the noise.
    bins : {"auto", "published"}, int or Schema, default="auto"
        The most bins of an attribute, or a schema with the bins; see `ExprilClassifier`. Columns that are constant in
        the source are omitted unless a schema is given.
    points : int, default=20
        The largest absolute number of points of a bin.
    smooth : "auto" or float, default="auto"
        The standard deviation of the prior for the change of the log-odds from one end of a numeric attribute to the
        other; smaller values give smoother models. "auto" takes the most probable value given the answer, from 0.5 to
        3.

    Attributes
    ----------
    model_ : Scorecard
        The model.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    smooth_ : tuple of float
        The standard deviation of the prior: a single number for two classes, otherwise a number for each class.
    weights_ : Weights
        The weights of the source rows, with measures of the overlap of source and target.
    privacy_ : PrivacyCard
        The charges to the oracle's budget and the guarantee for the target.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> oracle = hr.Oracle(data.frame[200:], data.labels[200:], hr.Budget(1), 1, classes=data.schema.classes)
    >>> learner = hr.MarginalLogisticClassifier(reweight=False).fit(data.frame[:200], oracle=oracle)
    >>> learner.model_.kind, learner.predict(data.frame[:2]).shape
    ('scorecard', (2,))
    """

    points: int = 20
    smooth: Literal["auto"] | float = "auto"
    model_: Scorecard = field(init=False)
    _fitted = "model_"
    get_points = of_model(Scorecard.get_points)
    decision_function = on_rows(Scorecard.decision_function)

    def _learn(self, X: Any, oracle: MarginalOracle) -> Weights:
        bins, notes = source_bins(self.bins, X, oracle.noise_scale)
        matrix, schema = bin_matrix(bins, X), replace(bins, label=oracle.label)
        answer = oracle.class_marginals(bins)
        self.weights_ = self._weighed(matrix, answer, len(bins))
        rows = answer.n_rows * self.weights_.values
        statistics = SufficientStatistics(matrix, rows, answer.rows.astype(np.float64), answer.noise.by_bin)
        spreads = SPREADS if isinstance(self.smooth, str) else (float(self.smooth),)
        log_odds = estimated(statistics, prior_of(bins), spreads)
        build = _rounded(log_odds, schema, matrix @ rows, int(self.points), is_exact=answer.noise.is_exact)
        self.model_ = build(schema, card_of(oracle, notes))
        self.smooth_, self.classes_ = log_odds.spreads, np.array(oracle.classes)
        return self.weights_

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        check_up_to("points", self.points, 1, MAX_POINTS)
        check_auto("smooth", self.smooth, *SMOOTH)
        if oracle.release == "ratio":
            raise ArgumentError("expected an oracle with release='counts', got release='ratio'.")

    @property
    def privacy_(self) -> PrivacyCard:
        """The charges to the oracle's budget and the guarantee for the target."""
        check_is_fitted(self)
        return self.model_.privacy


def prior_of(bins: Schema) -> Floats:
    """Return the prior covariance of the log-odds of bins for a standard deviation of 1, by independent attributes."""
    sizes = [attribute.n_bins for _, attribute in bins.attributes]
    ends, covariance = np.cumsum(sizes), np.zeros((sum(sizes), sum(sizes)))
    prior = Prior(across=1.0, each=_EACH)
    for end, size, (_, attribute) in zip(ends, sizes, bins.attributes, strict=True):
        covariance[end - size : end, end - size : end] = np.linalg.inv(prior.precision(size, attribute.n_ordered))
    return covariance


def _rounded(
    log_odds: "BinLogOdds", schema: Schema, rows: Floats, points: int, *, is_exact: bool
) -> Callable[[Schema, PrivacyCard], Scorecard]:
    """Return a function that builds a scorecard of whole points. The base includes the means of the attributes.

    A bin without source rows, such as the bin of missing values if the source has none, has 0 points.
    """
    ends = np.cumsum([attribute.n_bins for _, attribute in schema.attributes])[:-1]
    by_attribute = zip(np.split(log_odds.values, ends), np.split(rows, ends), strict=True)
    parts = [Part(index, values, [], bin_rows) for index, (values, bin_rows) in enumerate(by_attribute)]
    base = log_odds.base + sum(part.centred() for part in parts)
    for part in parts:
        part.values[part.rows == 0] = 0.0
    whole, unit = rounded(parts, points)
    return scorecard_model(whole, np.rint(base / unit).astype(np.int64), unit, None if is_exact else log_odds.error)


def card_of(oracle: MarginalOracle, notes: Sequence[Fact]) -> PrivacyCard:
    card = oracle.privacy
    return replace(card, notes=(*card.notes, *notes))


def source_bins(
    bins: Any, source: Any, noise_scale: Callable[[Sequence[int]], float]
) -> tuple[Schema, tuple[Fact, ...]]:
    """Return the bins of the question of a learner, and a note on the source columns that are omitted.

    Columns with fewer than two values carry no information and would cost privacy. In an array they keep a single bin.
    """
    table = Table.of(source)
    names = table.column_names
    columns = [table.column(name, place) for place, name in enumerate(names)]
    constant = () if isinstance(bins, Schema) else tuple(column.name for column in columns if is_constant(column))
    if constant == names:
        raise DomainError("every column of the source is constant; expected a column with two or more values.")
    notes = (Fact("columns_left_out", columns=constant),) if constant else ()
    varying = [index for index, name in enumerate(names) if name not in constant]
    if table.names is None:
        single = [2] * len(constant)
        chosen = bins_or_chosen(bins, table.data[:, varying], len(table), lambda sizes: noise_scale([*sizes, *single]))
        if not constant:
            return chosen, ()
        binned = iter(attribute for _, attribute in chosen.attributes)
        attributes = [
            (column.name, _constant_attribute(column) if column.name in constant else next(binned))
            for column in columns
        ]
        return Schema(tuple(attributes)), notes
    data = table.data.select([names[index] for index in varying])
    return bins_or_chosen(bins, data, len(table), noise_scale), notes


def _constant_attribute(column: Column) -> Attribute:
    """Return an attribute with a single bin for present values, for a constant or empty column."""
    values = column.present()
    if column.is_text:
        return Categorical((str(values[0]) if len(values) else "none",), missing="bin", outside="bin")
    if values.dtype.kind == "b":
        return Boolean(missing="bin")
    low = float(values[0]) if len(values) else 0.0
    return Real(low, float(np.nextafter(low, np.inf)), (), missing="bin", outside="clip")


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """The statistics of an answer and the source."""

    matrix: Floats  # R: the indicators of bins of the source rows
    rows: Floats  # the number of target rows that each source row represents
    counts: Floats  # noisy class counts by bin
    noise: Floats  # the variance of the noise on the count of a class, by bin

    def of_class(self) -> Floats:
        """Return class counts by bin whose sums over classes are the weighted source counts, without noise.

        The share ``1 − 1/n_classes`` of the noise variance remains.
        """
        sums = self.counts.sum(axis=1, keepdims=True)
        return self.counts + (self.matrix @ self.rows[:, None] - sums) / self.counts.shape[1]

    def shares(self) -> Floats:
        """Return the share of each class, at least 2 %."""
        totals = np.maximum(self.counts.sum(axis=0), 0)
        shares = np.maximum(totals / max(totals.sum(), 1.0), _LEAST_SHARE)
        return shares / shares.sum()


@dataclass(frozen=True, eq=False)
class BinLogOdds:
    """The additive log-odds of bins."""

    base: Floats  # the intercept: for two classes a column with the log-odds of the second, otherwise one per class
    values: Floats  # the log-odds of each bin
    spreads: tuple[float, ...]  # the standard deviation of the prior in each column
    # The standard error of a row's log-odds due to noise: the root of the mean square over rows and columns
    error: float


def estimated(statistics: SufficientStatistics, prior: Floats, spreads: Sequence[float] = SPREADS) -> BinLogOdds:
    """Return the most probable log-odds given the answer, whose noise is part of the likelihood.

    With the probabilities p at the current log-odds, the counts of a class are about ``R(w·p)``, and their derivative
    by the log-odds is ``H = R diag(w p(1 − p)) Rᵀ``. Their variance has three parts: the rows of the target (covariance
    H), the sampling of the source, and the noise. A sweep makes a damped Gauss-Newton step for one class after the
    other. The standard deviation of the prior is the most probable candidate given the answer. Its hyperprior is
    log-normal with median 1.5.
    """
    used = statistics.matrix.any(axis=1)
    noise = statistics.noise[used]
    in_use = SufficientStatistics(statistics.matrix[used], statistics.rows, statistics.of_class()[used], noise)
    fit = _Fit(in_use, prior[np.ix_(used, used)], np.log(statistics.shares()))
    columns = (1,) if statistics.counts.shape[1] == 2 else range(statistics.counts.shape[1])
    allowed = dict.fromkeys(columns, tuple(spreads))
    for sweep in range(_MOST_SWEEPS):
        size = 0.0
        for column in columns:
            mean, _, spread = fit.posterior(column, allowed[column])
            size = max(size, fit.move(column, mean))
            if sweep >= _SETTLED:
                allowed[column] = (spread,)
        fit.centre()
        if size < _CLOSE:
            break
    gains, best_spreads = zip(*(fit.posterior(column, allowed[column])[1:] for column in columns), strict=True)
    values = np.zeros((len(statistics.matrix), len(columns)))
    values[used] = fit.values[:-1, columns]
    base = fit.values[-1, columns] - (fit.values[-1, 0] if len(columns) == 1 else 0.0)
    error = sqrt(float(np.mean([fit.error(gain) for gain in gains])))
    return BinLogOdds(base, values, best_spreads, error)


class _Fit:
    """The state of a fit: log-odds with a column per class. With two classes the first column does not change."""

    def __init__(self, statistics: SufficientStatistics, prior: Floats, start: Floats) -> None:
        self._statistics, self._start = statistics, start
        bins, n_classes = len(statistics.matrix), len(start)
        self.values = np.vstack([np.zeros((bins, n_classes)), start])
        self._features = np.vstack([statistics.matrix, np.ones(len(statistics.rows))])
        self._prior = np.zeros((bins + 1, bins + 1))
        self._prior[:-1, :-1] = prior
        self._noise = statistics.noise * (1 - 1 / n_classes)
        self._jitter = LEAST_NOISE * statistics.rows.sum() / bins

    def posterior(self, column: int, spreads: Sequence[float]) -> tuple[Floats, Floats, float]:
        """Return the posterior mean of the log-odds of a class, with the base last, for linearised counts.

        The other results are the gain matrix, by which counts enter the log-odds, and the prior's standard deviation.
        """
        matrix, rows = self._statistics.matrix, self._statistics.rows
        p = softmax(self._features.T @ self.values, axis=1)[:, column]
        slopes = (matrix * (rows * p * (1 - p))) @ self._features.T
        origin = np.append(np.zeros(len(matrix)), self._start[column])
        target = self._statistics.counts[:, column] - matrix @ (rows * p) + slopes @ (self.values[:, column] - origin)
        variance = slopes[:, :-1] + sampling_covariance(matrix, rows, p - 1 / self.values.shape[1])
        variance += np.diag(self._noise + self._jitter)
        spread = self._most_probable(slopes, target, variance, spreads)
        prior = spread**2 * self._prior
        prior[-1, -1] = _BASE_DEVIATION**2
        factor = cho_factor(variance + slopes @ prior @ slopes.T, lower=True)
        gain = cho_solve(factor, slopes @ prior).T
        return origin + gain @ target, gain, spread

    def _most_probable(self, slopes: Floats, target: Floats, variance: Floats, spreads: Sequence[float]) -> float:
        """Return the most probable standard deviation of the prior given the counts."""
        if len(spreads) == 1:
            return spreads[0]
        by_bin = slopes @ self._prior @ slopes.T
        base = variance + _BASE_DEVIATION**2 * np.outer(slopes[:, -1], slopes[:, -1])

        def logarithm(spread: float) -> float:
            z = log(spread / _MEDIAN) / _FACTOR
            return log_evidence(target, base + spread**2 * by_bin) - 0.5 * z**2

        return max(spreads, key=logarithm)

    def move(self, column: int, mean: Floats) -> float:
        """Move the log-odds of a class part of the way to new values, and return the largest distance to them."""
        step = mean - self.values[:, column]
        size = float(np.abs(step).max())
        self.values[:, column] += step * min(_PART, _LARGEST_STEP / max(size, _CLOSE))
        return size

    def centre(self) -> None:
        """Subtract the mean over more than two classes, on which probabilities do not depend."""
        if self.values.shape[1] > 2:
            away = self.values[:-1]
            away -= away.mean(axis=1, keepdims=True)
            self.values[-1] += self._start.mean() - self.values[-1].mean()

    def error(self, gain: Floats) -> float:
        """Return the mean variance of a row's log-odds due to noise."""
        by_count, rows = gain.T @ self._features, self._statistics.rows
        by_row = self._noise @ by_count**2
        return float(rows @ by_row / rows.sum())
