"""Targets of membership inference: learners that are fitted repeatedly on parts of a table, and their shadow models."""

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

_DIGITS = 9  # confidences are rounded, so that the order of sums does not matter


@dataclass(frozen=True, repr=False, eq=False)
class AttackTarget:
    """Learner under attack, and the rows from which its training sets are taken."""

    make: Callable[[], Any]  # returns an unfitted estimator
    rows: LabelledRows
    seeded: bool  # whether unset parameters named random_state are set before a fit

    @classmethod
    def of(cls, target: Any, X: Any, y: Any, *, seeded: bool) -> Self:
        """Return the target; the learner must be an estimator, and the labels must have at least two values."""
        make = _factory(target)
        check_own_budgets(make(), make())
        rows = LabelledRows.of(X, y).typed(getattr(make(), "schema", None))
        if len(np.unique(rows.values)) < 2:
            raise ArgumentError("y must contain at least two different classes or numbers.")
        return cls(make, rows, seeded)

    @property
    def name(self) -> str:
        return type(self.make()).__name__

    @property
    def subject(self) -> AttackSubject:
        """The learner and the rows, as recorded with an attack."""
        return AttackSubject.of(self.make(), self.rows)

    def fitted(self, index: Index, rng: np.random.Generator) -> Any:
        estimator = self.make()
        if self.seeded and hasattr(estimator, "set_params"):
            estimator.set_params(**{name: int(rng.integers(2**31)) for name in unset_seeds(estimator)})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SeededNoiseWarning)  # the model itself is not released
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
        """Carry out a split for each generator, and return each part of the results as a read-only array."""
        splits = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(split)(self, rng) for rng in generators)
        results = tracked(splits, "membership inference", len(generators), verbose=verbose)
        arrays = [np.array(part) for part in zip(*results, strict=True)]
        for array in arrays:
            array.setflags(write=False)
        return arrays


def _factory(target: Any) -> Callable[[], Any]:
    if not isinstance(target, type) and hasattr(target, "fit") and hasattr(target, "predict"):
        return partial(_copied, target)
    if callable(target):
        estimator = target()
        if hasattr(estimator, "fit") and hasattr(estimator, "predict"):
            return target
        got = type(estimator).__name__
        raise ArgumentTypeError(f"target must return an estimator with fit and predict, got {got}.")
    raise ArgumentTypeError(f"target must be or return an estimator with fit and predict, got {type(target).__name__}.")


def _copied(estimator: Any) -> Any:
    return clone(estimator) if isinstance(estimator, BaseEstimator) else copy.deepcopy(estimator)


def check_own_budgets(first: Any, second: Any) -> None:
    """Raise ArgumentError if two fits of an audit would charge the same budget, since their models are not released."""
    if _budgets(first) & _budgets(second):
        problem = "every fit of the audit would charge the shared budget of the learner, although no fit is released"
        advice = "pass budget=None, or a function that creates a new Budget for each fit"
        raise ArgumentError(f"{problem}; {advice}.")


def _budgets(estimator: Any) -> set[int]:
    """Return the identities of the budgets of an estimator and its parts."""
    if isinstance(estimator, type) or not callable(getattr(estimator, "get_params", None)):
        return set()
    parameters = estimator.get_params().items()
    return {id(value) for name, value in parameters if name.split("__")[-1] == "budget" and value is not None}


def check_known(fitted: Any, rows: LabelledRows, predictions: Any) -> None:
    """Raise ArgumentError if no class or prediction is among the labels in y; for a regressor, if y has no numbers."""
    if predicts_numbers(fitted):
        if rows.values.dtype.kind not in "iuf":
            raise ArgumentError(f"y must contain numbers, since the target is a regressor; got {rows.values.dtype}.")
        return
    known = getattr(fitted, "classes_", None)
    known = set(np.asarray(predictions if known is None else known).tolist())
    if not known & set(rows.values.tolist()):
        raise ArgumentError("the target predicts none of the labels in y; check the spelling and type of the labels.")


def unset_seeds(estimator: Any) -> list[str]:
    """Return the sorted names of all random_state parameters of an estimator and its parts that are None."""
    parameters = sorted(estimator.get_params().items())
    return [name for name, value in parameters if name.split("__")[-1] == "random_state" and value is None]


@dataclass(frozen=True, eq=False, repr=False)
class Shadows:
    """Confidence of shadow models in the label of every row. **Private**: a function of the rows.

    A confidence is the predicted probability of a row's true label. For models without probabilities it is 1 if the
    predicted label is correct, and 0 otherwise. For regressors it is ``1 / (1 + |error| / s)`` with the standard
    deviation s of all rows. Its logit, ``−ln(|error| / s)``, orders rows by their error.

    Attributes
    ----------
    inside, outside : ndarray of shape (n_splits, n_rows)
        The confidence of the fit of each split whose training rows contain the row, and of the other fit.
    first : ndarray of bool, shape (n_splits, n_rows)
        The training rows of the first fit of each split.
    """

    inside: Floats
    outside: Floats
    first: Mask

    def __post_init__(self) -> None:
        shapes = {array.shape for array in (self.inside, self.outside, self.first)}
        if len(shapes) > 1 or self.inside.ndim != 2:
            raise ArgumentError("inside, outside and first must have the same shape (n_splits, n_rows).")

    def __len__(self) -> int:
        return len(self.inside)

    def without(self, split: int) -> "Shadows":
        """Return all splits except the given split."""
        inside, outside = (np.delete(array, split, axis=0) for array in (self.inside, self.outside))
        return Shadows(inside, outside, np.delete(self.first, split, axis=0))


class ShadowAttack(Protocol):
    """Membership inference attack that scores rows by shadow models: higher scores for likelier members."""

    def scores(self, shadows: Shadows) -> tuple[Floats, Floats]:
        """Return the scores of each row in each split as a member and as a non-member, each ``(n_splits, n_rows)``.

        The scores must not depend on which rows the two fits of the same split contain.
        """
        ...


def shadow_fits(
    target: AttackTarget, generators: Sequence[np.random.Generator], n_jobs: int | None, *, verbose: bool
) -> Shadows:
    return Shadows(*target.repeated(_split, generators, n_jobs, verbose=verbose))


def _split(target: AttackTarget, rng: np.random.Generator) -> tuple[Floats, Floats, Mask]:
    """Assign each row to one of two halves, independently, and fit on each half."""
    first = rng.integers(2, size=len(target.rows)) == 1
    of_first, of_second = (
        confidence(target.fitted(np.flatnonzero(half), rng), target.rows) for half in (first, ~first)
    )
    return np.where(first, of_first, of_second), np.where(first, of_second, of_first), first


def confidence(fitted: Any, rows: LabelledRows) -> Floats:
    """Return the confidence of a fitted estimator in the label of each row, as `Shadows` defines it."""
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
        warnings.simplefilter("ignore", LabelsOnlyWarning)  # an attack on labels alone is intended here
        chances = np.asarray(fitted.predict_proba(X))
    return np.where(is_label, chances, 0.0).sum(axis=1).round(_DIGITS)
