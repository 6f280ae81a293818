"""Non-private scorecards: logistic regression on bins, with coefficients rounded to integer points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, hstack
from scipy.special import expit, log_softmax, softmax

from hedgerow.boundary.arrays import Floats, Index, Integers, Whole
from hedgerow.learn.scorecard.rounding import one_by_one, units
from hedgerow.learn.scorecard.smoothing import ACROSS, EACH, Direction, Part, Prior
from hedgerow.models.points import MOST_POINTS
from hedgerow.schema.schema import Schema

PRIOR = Prior(ACROSS, EACH)  # of log-odds by bin for ``C = 1``, as for private scorecards
STRENGTHS = (1 / 16, 1 / 4, 1.0)  # values of ``C`` among which cross-validation chooses
_FOLDS = 5
_MOST_VALIDATED = 10_000
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class LogOdds:
    """Log-odds of a regression."""

    base: Floats  # intercepts: of the second class for two classes, else of each class
    values: dict[int, Floats]  # by bin, for each attribute that is used

    def log_odds(self, bins: Whole) -> Floats:
        totals = np.tile(self.base, (len(bins), 1))
        for attribute, values in self.values.items():
            totals += values[bins[:, attribute]]
        return totals


def log_loss(log_odds: Floats, counts: Integers) -> float:
    """Return the total log-loss of class counts, given their log-odds (a single column for two classes)."""
    if log_odds.shape[1] == 1:
        log_odds = np.column_stack([np.zeros(len(log_odds)), log_odds])
    return -float((counts * log_softmax(log_odds, axis=1)).sum())


def chances_of(log_odds: Floats) -> Floats:
    """Return the probability of each column's class; for two classes, of the second class only."""
    return expit(log_odds) if log_odds.shape[1] == 1 else softmax(log_odds, axis=1)


class Regression:
    """Logistic regressions on a table, with `Prior` as penalty, which smooths along numeric attributes."""

    def __init__(self, schema: Schema, bins: Whole, counts: Integers) -> None:
        order = np.lexsort(bins.T)  # so that the scorecard does not depend on the order of rows
        self.schema, self.bins, self.counts = schema, bins[order], counts[order]
        self._codes = [np.linalg.cholesky(np.linalg.inv(PRIOR.of(attribute))) for _, attribute in schema.attributes]

    def fit(self, attributes: Sequence[int], strength: float, counts: Integers | None = None) -> LogOdds:
        """Return the regression on these attributes. One average row, divided among the classes, is added."""
        # Multiplying indicators of bins by a root of the prior's covariance turns the prior into a ridge penalty.
        counts = self.counts if counts is None else counts
        columns = [self._codes[i][self.bins[:, i]] for i in attributes]
        X = np.column_stack([np.zeros((len(counts), 0)), *columns])
        k, mean = counts.shape[1], counts.sum(axis=1) @ X / max(counts.sum(), 1)
        patterns = [np.nonzero(counts[:, c])[0] for c in range(k)]
        rows = np.vstack([X[np.concatenate(patterns)], np.tile(mean, (k, 1))])
        labels = np.concatenate([*(np.full(len(places), c) for c, places in enumerate(patterns)), np.arange(k)])
        weights = np.concatenate([*(counts[places, c] for c, places in enumerate(patterns)), np.full(k, 1 / k)])
        if not attributes:
            shares = np.bincount(labels, weights)
            return LogOdds(np.log(shares[1:] / shares[:1]) if k == 2 else np.log(shares), {})
        from sklearn.linear_model import LogisticRegression  # takes long to import

        solver = "newton-cholesky" if k == 2 else "lbfgs"
        model = LogisticRegression(C=strength, solver=solver, max_iter=_MOST_STEPS).fit(rows, labels, weights)
        ends = np.cumsum([self._codes[i].shape[0] for i in attributes])[:-1]
        parts = np.split(model.coef_.T, ends)
        values = {i: np.asarray(self._codes[i] @ p, dtype=np.float64) for i, p in zip(attributes, parts, strict=True)}
        return LogOdds(model.intercept_, values)

    def choose(self, most: int) -> list[int]:
        """Return attributes by forward selection on the gain in log-likelihood from a Newton step."""
        # The regression is refitted after each choice, as in orthogonal matching pursuit.
        chosen: list[int] = []
        while len(chosen) < min(most, len(self.schema)):
            chances = chances_of(self.fit(chosen, 1.0).log_odds(self.bins))
            rows = self.counts.sum(axis=1, keepdims=True)
            own = self.counts[:, -chances.shape[1] :]
            errors, spreads = own - chances * rows, chances * (1 - chances) * rows
            gains = [-1.0 if i in chosen else self._gain(i, errors, spreads) for i in range(len(self.schema))]
            chosen.append(int(np.argmax(gains)))
        return sorted(chosen)

    def _gain(self, place: int, errors: Floats, spreads: Floats) -> float:
        attribute = self.schema.attributes[place][1]
        precision, codes, gain = PRIOR.of(attribute), self.bins[:, place], 0.0
        for error, spread in zip(errors.T, spreads.T, strict=True):
            slope, size = (np.bincount(codes, weights, attribute.n_bins) for weights in (error, spread))
            gain += slope @ np.linalg.solve(np.diag(size) + precision, slope)
        return float(gain)

    def validate(self, attributes: Sequence[int]) -> float:
        """Return the `C` with the smallest log-loss in cross-validation, or 1 for more than 10,000 patterns."""
        if len(self.counts) > _MOST_VALIDATED:
            return 1.0
        draws = np.random.default_rng(0).multinomial(self.counts.ravel(), [1 / _FOLDS] * _FOLDS)
        folds = draws.T.reshape(_FOLDS, *self.counts.shape)
        losses = [
            sum(log_loss(self.fit(attributes, C, self.counts - fold).log_odds(self.bins), fold) for fold in folds)
            for C in STRENGTHS
        ]
        return STRENGTHS[int(np.argmin(losses))]


def centred(fitted: LogOdds, regression: Regression, monotone: Mapping[str, Direction]) -> LogOdds:
    """Return log-odds by bin that are monotone as declared, with mean 0 over the rows for each attribute."""
    base, values, schema = fitted.base, dict[int, Floats](), regression.schema
    rows = regression.counts.sum(axis=1)
    for i, column in fitted.values.items():
        name, attribute = schema.attributes[i]
        in_bins = np.bincount(regression.bins[:, i], rows, attribute.n_bins).astype(np.float64)
        part = Part(i, column.copy(), [], in_bins)
        if name in monotone:
            part.make_monotone(monotone[name], attribute.n_known)
        base = base + part.centred()
        values[i] = part.values
    return LogOdds(base, values)


def rounded_card(
    fitted: LogOdds, regression: Regression, points: int, monotone: Mapping[str, Direction]
) -> tuple[Mapping[int, Integers], Floats, float]:
    """Return the integer points, the base and the log-odds of a point that have the smallest log-loss."""
    # For each size of a point, the base and the points of a column are rounded one by one, so that the second-order
    # approximation of the log-loss at the unrounded values stays small.
    sizes = [len(column) for column in fitted.values.values()]
    values = np.vstack([fitted.base[None], *fitted.values.values()])
    limits = np.array([MOST_POINTS] + [points] * sum(sizes))
    forms, rising = _forms(fitted, regression), _rising(fitted, regression, monotone)
    best: tuple[Mapping[int, Integers], Floats, float] = {}, fitted.base, 1.0
    least = np.inf
    for unit in units(values[1:], points):
        columns = [one_by_one(v / unit, form, limits, rising) for v, form in zip(values.T, forms, strict=True)]
        base, *parts = np.split(np.column_stack(columns), np.cumsum([1, *sizes])[:-1])
        whole = dict(zip(fitted.values, parts, strict=True))
        odds = LogOdds(base[0] * unit, {i: part * unit for i, part in whole.items()}).log_odds(regression.bins)
        loss = log_loss(odds, regression.counts)
        if loss < least:
            best, least = (whole, base[0], float(unit)), loss
    return best


def _forms(fitted: LogOdds, regression: Regression) -> list[Floats]:
    """Return the Hessian of the log-loss by base and bins for each column, plus a quarter on its diagonal."""
    n, rows = len(regression.bins), regression.counts.sum(axis=1)
    indicators = [csr_array(np.ones((n, 1)))]
    for i, values in fitted.values.items():
        shape, codes = (n, len(values)), regression.bins[:, i].astype(np.intp)
        indicators.append(csr_array((np.ones(n), (np.arange(n), codes)), shape=shape))
    X, n_columns = csr_array(hstack(indicators)), 1 + sum(map(len, fitted.values.values()))
    chances = chances_of(fitted.log_odds(regression.bins))
    weights = rows[:, None] * chances * (1 - chances)
    return [(X.T @ (X * column[:, None])).toarray() + np.eye(n_columns) / 4 for column in weights.T]


def _rising(fitted: LogOdds, regression: Regression, monotone: Mapping[str, Direction]) -> Sequence[Index]:
    """Return sequences of places along which points must not decrease; place 0 is the base."""
    sequences: list[Index] = []
    start = 1
    for i, values in fitted.values.items():
        name, attribute = regression.schema.attributes[i]
        if name in monotone:
            places = np.arange(start, start + attribute.n_known)
            sequences.append(places if monotone[name] == "increasing" else places[::-1])
        start += len(values)
    return sequences
