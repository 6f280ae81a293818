"""Scorecards from one question: the rows of each class by bin are sufficient statistics of an additive model."""

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
from hedgerow.marginals.reweight import LEAST_NOISE, Weights, by_sampling, log_evidence
from hedgerow.models.scorecard import Scorecard
from hedgerow.oracle.binning import bin_matrix, bins_or_chosen, is_constant
from hedgerow.oracle.protocol import MarginalOracle
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Attribute, Boolean, Categorical, Real, Schema
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table

SPREADS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
"""Standard deviations of the prior among which the answer decides, for ``smooth="auto"``."""
USUAL, _FACTOR = 1.5, 0.5  # what they are beforehand: the median, and the standard deviation of the logarithm
_OF_BASE = 5.0  # the prior's standard deviation of the log-odds that every row starts with
_LEAST_SHARE = 0.02  # of a class
_LARGEST_STEP, _PART = 1.0, 0.6  # of log-odds in one sweep, and of the way: covariances depend on where it ends
_MOST_SWEEPS, _CLOSE = 30, 0.01
_SETTLED = 2  # sweeps after which the prior's standard deviation is kept
_EACH = 2 / 3  # of the prior's standard deviation along a number: that of a category, and of a number's mean


@has_hypothesis("model_")
@dataclass(eq=False, repr=False, kw_only=True)
class MarginalLogisticClassifier(FittedModelMixin, MarginalClassifier):
    """A scorecard from one question to an oracle: how many rows of each class are in each bin.

    These counts and the rows' own distribution, which the weighted source estimates, are all that the likelihood of an
    additive logistic model needs. The noise, whose variance is known, is part of the likelihood, so that many bins cost
    little; log-odds along a number are a random walk beforehand, as for `PrivateScorecardClassifier`. They are rounded
    to whole points.

    Parameters
    ----------
    reweight : bool, default=True
        Whether the target may be distributed differently from the source.
    bins : {"auto", "published"}, int or Schema, default="auto"
        As for `ExprilClassifier`. Columns that are constant in the source are left out, unless a schema is given.
    points : int, default=20
        The largest number of points of a bin, in size.
    smooth : "auto" or float, default="auto"
        The prior's standard deviation of the log-odds from one end of a number to the other: less is smoother. "auto"
        is what the answer makes most probable, from 0.5 to 3.

    Attributes
    ----------
    model_ : Scorecard
        The model.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    smooth_ : tuple of float
        The prior's standard deviation that was taken: one number for two classes, else one for each class.
    weights_ : Weights
        The weights of the source, and how well it covers the target.
    privacy_ : PrivacyCard
        What was spent on the target, and what is guaranteed.

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
        found = estimated(statistics, prior_of(bins), spreads)
        build = _rounded(found, schema, matrix @ rows, int(self.points), is_exact=answer.noise.is_exact)
        self.model_ = build(schema, card_of(oracle, notes))
        self.smooth_, self.classes_ = found.spreads, np.array(oracle.classes)
        return self.weights_

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        check_up_to("points", self.points, 1, MAX_POINTS)
        check_auto("smooth", self.smooth, *SMOOTH)
        if oracle.release == "ratio":
            raise ArgumentError("expected an oracle that releases counts, got one that releases ratios.")

    @property
    def privacy_(self) -> PrivacyCard:
        """The card of what was spent on the target, and what is guaranteed."""
        check_is_fitted(self)
        return self.model_.privacy


def prior_of(bins: Schema) -> Floats:
    """Return the covariance of the log-odds by bin for a standard deviation of 1: attributes are independent."""
    sizes = [attribute.n_bins for _, attribute in bins.attributes]
    ends, found = np.cumsum(sizes), np.zeros((sum(sizes), sum(sizes)))
    prior = Prior(across=1.0, each=_EACH)
    for end, size, (_, attribute) in zip(ends, sizes, bins.attributes, strict=True):
        found[end - size : end, end - size : end] = np.linalg.inv(prior.precision(size, attribute.n_ordered))
    return found


def _rounded(
    found: "BinLogOdds", schema: Schema, rows: Floats, points: int, *, is_exact: bool
) -> Callable[[Schema, PrivacyCard], Scorecard]:
    """Return what makes a scorecard of whole points: of each attribute the mean over rows is in the base.

    A bin without rows of the source has 0 points, such as that of missing values where the source has none.
    """
    ends = np.cumsum([attribute.n_bins for _, attribute in schema.attributes])[:-1]
    parts = [
        Part(place, values, [], of_bins)
        for place, (values, of_bins) in enumerate(zip(np.split(found.values, ends), np.split(rows, ends), strict=True))
    ]
    base = found.base + sum(part.centred() for part in parts)
    for part in parts:
        part.values[part.rows == 0] = 0.0
    whole, unit = rounded(parts, points)
    return scorecard_model(whole, np.rint(base / unit).astype(np.int64), unit, None if is_exact else found.error)


def card_of(oracle: MarginalOracle, notes: Sequence[Fact]) -> PrivacyCard:
    card = oracle.privacy
    return replace(card, notes=(*card.notes, *notes))


def source_bins(
    bins: Any, source: Any, noise_scale: Callable[[Sequence[int]], float]
) -> tuple[Schema, tuple[Fact, ...]]:
    """Return the bins of the one question of a learner, and a note on the columns of the source that are left out.

    Columns with fewer than two values tell nothing and would cost privacy. Those of an array keep a single bin.
    """
    table = Table.of(source)
    names = table.column_names
    columns = [table.column(name, place) for place, name in enumerate(names)]
    constant = () if isinstance(bins, Schema) else tuple(column.name for column in columns if is_constant(column))
    if constant == names:
        raise DomainError("expected a column with two or more values in the source, found none.")
    notes = (Fact("columns_left_out", columns=constant),) if constant else ()
    kept = [place for place, name in enumerate(names) if name not in constant]
    if table.names is None:
        single = [2] * len(constant)
        chosen = bins_or_chosen(bins, table.data[:, kept], len(table), lambda sizes: noise_scale([*sizes, *single]))
        if not constant:
            return chosen, ()
        of_kept = iter(attribute for _, attribute in chosen.attributes)
        attributes = [
            (column.name, _single(column) if column.name in constant else next(of_kept)) for column in columns
        ]
        return Schema(tuple(attributes)), notes
    data = table.data.select([names[place] for place in kept])
    return bins_or_chosen(bins, data, len(table), noise_scale), notes


def _single(column: Column) -> Attribute:
    """Return an attribute for a column that has one value, or none."""
    values = column.present()
    if column.is_text:
        return Categorical((str(values[0]) if len(values) else "none",), missing="bin", outside="bin")
    if values.dtype.kind == "b":
        return Boolean(missing="bin")
    low = float(values[0]) if len(values) else 0.0
    return Real(low, float(np.nextafter(low, np.inf)), (), missing="bin", outside="clip")


@dataclass(frozen=True, eq=False)
class SufficientStatistics:
    """Statistics of one answer and the source: the counts, and the rows that stand for those of the target."""

    matrix: Floats  # R: whether a row of the source is in a bin
    rows: Floats  # how many rows of the target each row of the source stands for
    counts: Floats  # noisy numbers of rows of each class
    noise: Floats  # the variance of the noise on the number of rows of one class, for each bin

    def of_class(self) -> Floats:
        """Return the rows of each class, the noise of whose sum over classes is replaced by what the source has.

        The share ``1 − 1/n_classes`` of the noise is left.
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
    """Log-odds by bin that add up."""

    base: Floats  # those of every row: one column for two classes, the log-odds of the second; or one for each class
    values: Floats  # those of each bin
    spreads: tuple[float, ...]  # the prior's standard deviation in each column
    # The standard error of a row's log-odds by the noise, the root of the mean square over rows and columns
    error: float


def estimated(statistics: SufficientStatistics, prior: Floats, spreads: Sequence[float] = SPREADS) -> BinLogOdds:
    """Return the log-odds that are most probable after the answer, whose noise is part of the likelihood.

    With p the probabilities by the current log-odds, the counts of a class are about ``R(w·p)``, and they grow with the
    log-odds at the rate ``H = R diag(w p(1 − p)) Rᵀ``. They vary by the target's rows, with covariance H, by the
    source's being others, and by the noise. Each sweep is part of a step of Gauss and Newton for one class after the
    other. Of the prior's standard deviations the one is taken that is most probable after the answer; beforehand it is
    1.5, up to a factor.
    """
    used = statistics.matrix.any(axis=1)
    noise = statistics.noise[used]
    kept = SufficientStatistics(statistics.matrix[used], statistics.rows, statistics.of_class()[used], noise)
    fit = _Fit(kept, prior[np.ix_(used, used)], np.log(statistics.shares()))
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
    gains, found_spreads = zip(*(fit.posterior(column, allowed[column])[1:] for column in columns), strict=True)
    values = np.zeros((len(statistics.matrix), len(columns)))
    values[used] = fit.values[:-1, columns]
    base = fit.values[-1, columns] - (fit.values[-1, 0] if len(columns) == 1 else 0.0)
    error = sqrt(float(np.mean([fit.error(gain) for gain in gains])))
    return BinLogOdds(base, values, found_spreads, error)


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
        self._jitter = LEAST_NOISE * statistics.rows.sum() / bins

    def posterior(self, column: int, spreads: Sequence[float]) -> tuple[Floats, Floats, float]:
        """Return the log-odds of a class after the answer: of each bin, and last of every row.

        Counts are taken as linear around the current log-odds. Returns, too, how counts enter the log-odds, and the
        prior's standard deviation.
        """
        matrix, rows = self._statistics.matrix, self._statistics.rows
        p = softmax(self._features.T @ self.values, axis=1)[:, column]
        slopes = (matrix * (rows * p * (1 - p))) @ self._features.T
        origin = np.append(np.zeros(len(matrix)), self._start[column])
        target = self._statistics.counts[:, column] - matrix @ (rows * p) + slopes @ (self.values[:, column] - origin)
        chance = slopes[:, :-1] + by_sampling(matrix, rows, p - 1 / self.values.shape[1])
        chance += np.diag(self._noise + self._jitter)
        spread = self._most_probable(slopes, target, chance, spreads)
        prior = spread**2 * self._prior
        prior[-1, -1] = _OF_BASE**2
        factor = cho_factor(chance + slopes @ prior @ slopes.T, lower=True)
        gain = cho_solve(factor, slopes @ prior).T
        return origin + gain @ target, gain, spread

    def _most_probable(self, slopes: Floats, target: Floats, chance: Floats, spreads: Sequence[float]) -> float:
        """Return the prior's standard deviation that is most probable after the counts."""
        if len(spreads) == 1:
            return spreads[0]
        by_bin = slopes @ self._prior @ slopes.T
        rest = chance + _OF_BASE**2 * np.outer(slopes[:, -1], slopes[:, -1])

        def logarithm(spread: float) -> float:
            unusual = log(spread / USUAL) / _FACTOR
            return log_evidence(target, rest + spread**2 * by_bin) - 0.5 * unusual**2

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

    def error(self, gain: Floats) -> float:
        """Return the variance of a row's log-odds by the noise, on average over rows."""
        by_count, rows = gain.T @ self._features, self._statistics.rows
        by_row = self._noise @ by_count**2
        return float(rows @ by_row / rows.sum())
