"""Logistic regression of the class on bins, from a tally: log-odds by bin, without privacy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax, softmax
from sklearn.linear_model import LogisticRegression

from hedgerow.learn.scorecard.smoothing import ACROSS, EACH, Prior
from hedgerow.schema.schema import Schema

Floats = NDArray[np.float64]
Whole = NDArray[np.int64]
PRIOR = Prior(ACROSS, EACH)
"""The distribution of log-odds by bin where ``C`` is 1: as for private scorecards."""
STRENGTHS = (1 / 16, 1 / 4, 1.0)
"""Values of ``C`` among which cross-validation chooses."""
_FOLDS = 5
_MOST_VALIDATED = 10_000
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class Fitted:
    """Log-odds of a regression."""

    base: Floats  # those of every row: one number for two classes, those of the second; or one for each class
    values: dict[int, Floats]  # those by bin of each attribute that is used

    def log_odds(self, bins: NDArray[np.integer]) -> Floats:
        """Return the log-odds of patterns, shape ``(n_patterns, n_columns)``."""
        found = np.tile(self.base, (len(bins), 1))
        for attribute, values in self.values.items():
            found += values[bins[:, attribute]]
        return found


def log_loss(log_odds: Floats, counts: Whole) -> float:
    """Return the log-loss of the rows of each class, summed, given their log-odds, one column of two classes."""
    if log_odds.shape[1] == 1:
        log_odds = np.column_stack([np.zeros(len(log_odds)), log_odds])
    return -float((counts * log_softmax(log_odds, axis=1)).sum())


def chances_of(log_odds: Floats) -> Floats:
    """Return the chance of each column's class: of two classes, that of the second only."""
    return expit(log_odds) if log_odds.shape[1] == 1 else softmax(log_odds, axis=1)


class Regression:
    """Logistic regressions on a table: penalised as `Prior` has it, smooth along numbers."""

    def __init__(self, schema: Schema, bins: NDArray[np.integer], counts: Whole) -> None:
        order = np.lexsort(bins.T)  # so that the same rows make the same scorecard, in whichever order they come
        self.schema, self.bins, self.counts = schema, bins[order], counts[order]
        self._codes = [np.linalg.cholesky(np.linalg.inv(PRIOR.of(attribute))) for _, attribute in schema.attributes]

    def fit(self, attributes: Sequence[int], strength: float, counts: Whole | None = None) -> Fitted:
        """Return the regression on some attributes; a row in all, shared by the classes, is added to the counts."""
        # Columns are the bins times a root of the prior's covariance, for which the prior's penalty is that of ridge
        # regression.
        counts = self.counts if counts is None else counts
        columns = [self._codes[i][self.bins[:, i]] for i in attributes]
        X = np.column_stack([np.zeros((len(counts), 0)), *columns])
        k, mean = counts.shape[1], counts.sum(axis=1) @ X / max(counts.sum(), 1)
        held = [np.nonzero(counts[:, c])[0] for c in range(k)]
        rows = np.vstack([X[np.concatenate(held)], np.tile(mean, (k, 1))])
        labels = np.concatenate([*(np.full(len(each), c) for c, each in enumerate(held)), np.arange(k)])
        weights = np.concatenate([*(counts[each, c] for c, each in enumerate(held)), np.full(k, 1 / k)])
        if not attributes:
            shares = np.bincount(labels, weights)
            return Fitted(np.log(shares[1:] / shares[:1]) if k == 2 else np.log(shares), {})
        solver = "newton-cholesky" if k == 2 else "lbfgs"
        model = LogisticRegression(C=strength, solver=solver, max_iter=_MOST_STEPS).fit(rows, labels, weights)
        ends = np.cumsum([self._codes[i].shape[0] for i in attributes])[:-1]
        parts = np.split(model.coef_.T, ends)
        values = {
            i: np.asarray(self._codes[i] @ part, dtype=np.float64) for i, part in zip(attributes, parts, strict=True)
        }
        return Fitted(model.intercept_, values)

    def choose(self, most: int) -> list[int]:
        """Return attributes, each that whose bins raise the likelihood most by one Newton step, given those before."""
        # After each, the regression is fitted anew, as in orthogonal matching pursuit.
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
        precision, codes, found = PRIOR.of(attribute), self.bins[:, place], 0.0
        for error, spread in zip(errors.T, spreads.T, strict=True):
            slope, size = (np.bincount(codes, each, attribute.n_bins) for each in (error, spread))
            found += slope @ np.linalg.solve(np.diag(size) + precision, slope)
        return float(found)

    def validate(self, attributes: Sequence[int]) -> float:
        """Return the strength with the least log-loss in cross-validation; 1 for more than 10,000 patterns."""
        if len(self.counts) > _MOST_VALIDATED:
            return 1.0
        draws = np.random.default_rng(0).multinomial(self.counts.ravel(), [1 / _FOLDS] * _FOLDS)
        folds = draws.T.reshape(_FOLDS, *self.counts.shape)
        losses = [
            sum(log_loss(self.fit(attributes, one, self.counts - fold).log_odds(self.bins), fold) for fold in folds)
            for one in STRENGTHS
        ]
        return STRENGTHS[int(np.argmin(losses))]
