"""Targets of membership inference: learners that are fitted again and again on parts of a table."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.parallel import Parallel, delayed

from hedgerow.audit.inference.labelled import Index, LabelledRows, predicts_numbers
from hedgerow.errors import ArgumentError, ArgumentTypeError, SeededNoiseWarning
from hedgerow.text.progress import tracked


@dataclass(frozen=True, repr=False, eq=False)
class Target:
    """A learner, and the rows that it is fitted on parts of."""

    make: Callable[[], Any]  # returns an unfitted estimator
    rows: LabelledRows
    seeded: bool  # whether parameters named random_state that are None are set before a fit

    @classmethod
    def of(cls, target: Any, X: Any, y: Any, *, seeded: bool) -> Self:
        """Check the learner, and that the rows have labels of two or more classes, or two or more numbers."""
        make, rows = _factory(target), LabelledRows.of(X, y)
        if len(np.unique(rows.values)) < 2:
            raise ArgumentError("expected two or more classes, or numbers, in y, got one.")
        return cls(make, rows, seeded)

    @property
    def name(self) -> str:
        return type(self.make()).__name__

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
        split: Callable[[Target, np.random.Generator], tuple[Any, ...]],
        generators: Sequence[np.random.Generator],
        n_jobs: int | None,
        *,
        verbose: bool,
    ) -> list[NDArray[Any]]:
        """Carry out one split a generator, and return each part of the results as one read-only array."""
        done = Parallel(n_jobs=n_jobs, return_as="generator")(delayed(split)(self, rng) for rng in generators)
        results = tracked(done, "membership inference", len(generators), verbose=verbose)
        arrays = [np.array(part) for part in zip(*results, strict=True)]
        for array in arrays:
            array.setflags(write=False)
        return arrays


def _factory(target: Any) -> Callable[[], Any]:
    """Return a factory of unfitted estimators, checked to return one."""
    if not isinstance(target, type) and hasattr(target, "fit") and hasattr(target, "predict"):
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
