"""Shadow fits of a learner: confidences in every row, with the row among the training rows and without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.inference.labelled import LabelledRows, label_values, predicts_numbers
from hedgerow.audit.inference.membership import Array
from hedgerow.audit.inference.targets import Target, check_known
from hedgerow.errors import ArgumentError

_DIGITS = 9  # of confidences: the same sum in another order is the same confidence


@dataclass(frozen=True, eq=False, repr=False)
class Shadows:
    """The confidence of shadow fits in the label of every row. **Private**: a function of the rows.

    A confidence is the probability that a model gives to the true label of a row; of a model without probabilities it
    is 1 if the predicted label is right, and else 0. Of a model of a number it is ``1 / (1 + |error| / s)``, where s is
    the standard deviation of all rows: its logit is ``−ln(|error| / s)``, which a monotone test may order by.

    Attributes
    ----------
    inside, outside : ndarray of shape (n_splits, n_rows)
        Of each split, the confidence of the fit whose training rows have the row, and that of the other fit.
    first : ndarray of bool, shape (n_splits, n_rows)
        Which rows the first fit of each split was fitted on.
    """

    inside: Array
    outside: Array
    first: NDArray[np.bool_]

    def __post_init__(self) -> None:
        shapes = {array.shape for array in (self.inside, self.outside, self.first)}
        if len(shapes) > 1 or self.inside.ndim != 2:
            raise ArgumentError("expected three arrays of the same shape, splits by rows, got others.")

    def __len__(self) -> int:
        """Return the number of splits, each with two fits."""
        return len(self.inside)

    def without(self, split: int) -> Shadows:
        """Return all splits but one."""
        inside, outside = (np.delete(array, split, axis=0) for array in (self.inside, self.outside))
        return Shadows(inside, outside, np.delete(self.first, split, axis=0))


class ShadowAttack(Protocol):
    """A scoring of rows by shadow fits: a higher score means that membership is more likely."""

    def scores(self, shadows: Shadows) -> tuple[Array, Array]:
        """Return the scores of each row of each split as a member and as a non-member, each ``(n_splits, n_rows)``.

        They must not use which of a split's own two fits has which rows.
        """
        ...


def shadow_fits(
    target: Target, generators: Sequence[np.random.Generator], n_jobs: int | None, *, verbose: bool
) -> Shadows:
    """Fit a learner on both sides of a split of the rows by coins, one split a generator."""
    return Shadows(*target.repeated(_split, generators, n_jobs, verbose=verbose))


def _split(target: Target, rng: np.random.Generator) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Split the rows by independent coins, so that a row's side tells nothing of the others, and fit on each side."""
    first = rng.integers(2, size=len(target.rows)) == 1
    one, other = (confidence(target.fitted(np.flatnonzero(side), rng), target.rows) for side in (first, ~first))
    return np.where(first, one, other), np.where(first, other, one), first


def confidence(fitted: Any, rows: LabelledRows) -> Array:
    """Return the probability that a fitted estimator gives to the label of each row; 1 or 0 if it has labels only."""
    X, classes = rows.X(np.arange(len(rows))), getattr(fitted, "classes_", None)
    if predicts_numbers(fitted):
        check_known(fitted, rows, None)
        y = rows.values.astype(np.float64)
        return (1 / (1 + np.abs(np.asarray(fitted.predict(X), dtype=np.float64) - y) / y.std())).round(_DIGITS)
    if classes is None or not hasattr(fitted, "predict_proba"):
        predictions = label_values(fitted.predict(X))
        check_known(fitted, rows, predictions)
        return (predictions == rows.values).astype(np.float64)
    check_known(fitted, rows, None)
    is_label = label_values(np.asarray(classes)) == rows.values[:, None]
    return np.where(is_label, np.asarray(fitted.predict_proba(X)), 0.0).sum(axis=1).round(_DIGITS)
