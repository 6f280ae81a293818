"""Targets of membership inference: factories, seeded fits, their progress and their labels."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from hedgerow.audit.inference.labelled import Index, LabelledRows
from hedgerow.errors import ArgumentError, ArgumentTypeError


def factory_of(target: Any) -> Callable[[], Any]:
    """Return a factory of unfitted estimators, checked to return one."""
    is_estimator = not isinstance(target, type) and hasattr(target, "fit") and hasattr(target, "predict")
    if is_estimator:
        return _Clones(target)
    if callable(target):
        made = target()
        if hasattr(made, "fit") and hasattr(made, "predict"):
            return target
        raise ArgumentTypeError(
            f"expected target to return an estimator with fit and predict, got {type(made).__name__}."
        )
    raise ArgumentTypeError(
        f"expected an estimator with fit and predict, or a function that returns one, got {type(target).__name__}."
    )


@dataclass(frozen=True)
class _Clones:
    """Factory of unfitted copies of an estimator; unlike a closure, it can be pickled."""

    estimator: Any

    def __call__(self) -> Any:
        return clone(self.estimator) if isinstance(self.estimator, BaseEstimator) else copy.deepcopy(self.estimator)


def fitted_on(
    make: Callable[[], Any], rows: LabelledRows, index: Index, rng: np.random.Generator, *, seeded: bool
) -> Any:
    """Return a new estimator fitted on these rows; `seeded` sets its parameters named random_state that are None."""
    estimator = make()
    if seeded and hasattr(estimator, "set_params"):
        estimator.set_params(**{name: int(rng.integers(2**31)) for name in unset_seeds(estimator)})
    estimator.fit(rows.X(index), rows.y(index))
    return estimator


def rows_of_classes(X: Any, y: Any) -> LabelledRows:
    """Check that a table and labels of two or more classes belong together."""
    rows = LabelledRows.of(X, y)
    if len(np.unique(rows.values)) < 2:
        raise ArgumentError("expected two or more classes in y, got one.")
    return rows


def unset_seeds(estimator: Any) -> list[str]:
    """Return the parameters of an estimator and its parts that are named random_state and None, sorted."""
    given = sorted(estimator.get_params().items())
    return [name for name, value in given if name.split("__")[-1] == "random_state" and value is None]


def check_known(fitted: Any, rows: LabelledRows, predictions: Any) -> None:
    """Check that the target's classes are among the labels in y."""
    known = getattr(fitted, "classes_", None)
    known = set(np.asarray(predictions if known is None else known).tolist())
    if not known & set(rows.values.tolist()):
        raise ArgumentError("expected labels in y that the target predicts, got none; check their spelling and type.")
