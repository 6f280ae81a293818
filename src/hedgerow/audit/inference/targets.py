"""Targets of membership inference: learners that are fitted again and again on parts of a table; their shadow fits."""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed

from hedgerow.audit.attack_subject import AttackSubject
from hedgerow.audit.inference.labelled import LabelledRows, label_values, predicts_numbers
from hedgerow.boundary.arrays import Array, Floats, Index, Mask
from hedgerow.errors import ArgumentError, ArgumentTypeError, LabelsOnlyWarning, SeededNoiseWarning
from hedgerow.text.progress import tracked

_DIGITS = 9  # of confidences: the same sum in another order is the same confidence


@dataclass(frozen=True, repr=False, eq=False)
class AttackTarget:
    """A learner, and the rows that it is fitted on parts of."""

    make: Callable[[], Any]  # returns an unfitted estimator
    rows: LabelledRows
    seeded: bool  # whether parameters named random_state that are None are set before a fit

    @classmethod
    def of(cls, target: Any, X: Any, y: Any, *, seeded: bool) -> Self:
        """Check the learner, and that the rows have labels of two or more classes, or two or more numbers."""
        make = _factory(target)
        check_own_budgets(make(), make())
        rows = LabelledRows.of(X, y).typed(getattr(make(), "schema", None))
        if len(np.unique(rows.values)) < 2:
            raise ArgumentError("expected two or more classes, or numbers, in y, got one.")
        return cls(make, rows, seeded)

    @property
    def name(self) -> str:
        return type(self.make()).__name__

    @property
    def subject(self) -> AttackSubject:
        """The learner and the rows as facts."""
        return AttackSubject.of(self.make(), self.rows)

    def fitted(self, index: Index, rng: np.random.Generator) -> Any:
        estimator = self.make()
        if self.seeded and hasattr(estimator, "set_params"):
            estimator.set_params(**{name: int(rng.integers(2**31)) for name in unset_seeds(estimator)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeededNoiseWarning)  # nothing is released
            estimator.fit(self.rows.X(index), self.rows.y(index))
        return estimator

    def repeated(
        self,
        split: "Callable[[AttackTarget, np.random.Generator], tuple[Any, ...]]",
        generators: Sequence[np.random.Generator],
        n_jobs: int | None,
        *,
        verbose: bool,
    ) -> list[Array]:
        """Carry out one split a generator, and return each part of the results as one read-only array."""
        done = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(split)(self, rng) for rng in generators)
        results = tracked(done, "membership inference", len(generators), verbose=verbose)
        arrays = [np.array(part) for part in zip(*results, strict=True)]
        for array in arrays:
            array.setflags(write=False)
        return arrays


def _factory(target: Any) -> Callable[[], Any]:
    if not isinstance(target, type) and hasattr(target, "fit") and hasattr(target, "predict"):
        return partial(_copied, target)
    if callable(target):
        made = target()
        if hasattr(made, "fit") and hasattr(made, "predict"):
            return target
        raise ArgumentTypeError(f"target must return an estimator with fit and predict, got {type(made).__name__}.")
    raise ArgumentTypeError(f"target must be or return an estimator with fit and predict, got {type(target).__name__}.")


def _copied(estimator: Any) -> Any:
    return clone(estimator) if isinstance(estimator, BaseEstimator) else copy.deepcopy(estimator)


def check_own_budgets(first: Any, second: Any) -> None:
    """Check that two fits of an audit do not charge the same budget: their models are not released."""
    if _budgets(first) & _budgets(second):
        problem = "expected a learner without a shared budget, got one whose budget each fit of the audit would charge"
        advice = "these fits are not released: pass budget=None, or a function that creates a new Budget each time"
        raise ArgumentError(f"{problem}; {advice}.")


def _budgets(estimator: Any) -> set[int]:
    """Return the identities of the budgets of an estimator and its parts."""
    if isinstance(estimator, type) or not callable(getattr(estimator, "get_params", None)):
        return set()
    parameters = estimator.get_params().items()
    return {id(value) for name, value in parameters if name.split("__")[-1] == "budget" and value is not None}


def check_known(fitted: Any, rows: LabelledRows, predictions: Any) -> None:
    """Check that some class, or prediction, is among the labels in y; of numbers, that y holds numbers."""
    if predicts_numbers(fitted):
        if rows.values.dtype.kind not in "iuf":
            raise ArgumentError("expected numbers in y, as the target predicts, got others.")
        return
    known = getattr(fitted, "classes_", None)
    known = set(np.asarray(predictions if known is None else known).tolist())
    if not known & set(rows.values.tolist()):
        raise ArgumentError("expected labels in y that the target predicts, got none; check their spelling and type.")


def unset_seeds(estimator: Any) -> list[str]:
    """Return the parameters of an estimator and its parts that are named random_state and None, sorted."""
    given = sorted(estimator.get_params().items())
    return [name for name, value in given if name.split("__")[-1] == "random_state" and value is None]


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

    inside: Floats
    outside: Floats
    first: Mask

    def __post_init__(self) -> None:
        shapes = {array.shape for array in (self.inside, self.outside, self.first)}
        if len(shapes) > 1 or self.inside.ndim != 2:
            raise ArgumentError("expected three arrays of the same shape, splits by rows, got others.")

    def __len__(self) -> int:
        return len(self.inside)

    def without(self, split: int) -> "Shadows":
        """Return all splits but one."""
        inside, outside = (np.delete(array, split, axis=0) for array in (self.inside, self.outside))
        return Shadows(inside, outside, np.delete(self.first, split, axis=0))


class ShadowAttack(Protocol):
    """A scoring of rows by shadow fits: a higher score means that membership is more likely."""

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of each row of each split as a member and as a non-member, each ``(n_splits, n_rows)``.

        They must not use which of a split's own two fits has which rows.
        """
        ...


def shadow_fits(
    target: AttackTarget, generators: Sequence[np.random.Generator], n_jobs: int | None, *, verbose: bool
) -> Shadows:
    return Shadows(*target.repeated(_split, generators, n_jobs, verbose=verbose))


def _split(target: AttackTarget, rng: np.random.Generator) -> tuple[Floats, Floats, Mask]:
    """Split the rows by independent coins, so that a row's side tells nothing of the others, and fit on each side."""
    first = rng.integers(2, size=len(target.rows)) == 1
    one, other = (confidence(target.fitted(np.flatnonzero(side), rng), target.rows) for side in (first, ~first))
    return np.where(first, one, other), np.where(first, other, one), first


def confidence(fitted: Any, rows: LabelledRows) -> Floats:
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LabelsOnlyWarning)  # labels are attacked as they are, fit by fit
        chances = np.asarray(fitted.predict_proba(X))
    return np.where(is_label, chances, 0.0).sum(axis=1).round(_DIGITS)
