"""Assignment of rows to leaves: the protocol that overfitting audits require of a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.inference.labelled import Index, distinct
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.readable import Readable
from hedgerow.models.released import released_leaf_model
from hedgerow.text.values import value_text


@runtime_checkable
class Leaves(Protocol):
    """A model with `apply`, which returns the leaf of each row: hedgerow's, scikit-learn's trees, or any other."""

    def apply(self, X: Any) -> NDArray[Any]:
        """Return the leaf of each row, shape ``(n_rows,)``: a number or a name."""
        ...


def apply_of(model: Any) -> Callable[[Any], NDArray[Any]]:
    """Return the function that returns the leaf of each row of a table."""
    released = released_leaf_model(model)
    apply = getattr(released or model, "apply", model)
    is_unfitted = released is None and isinstance(model, Readable)
    if isinstance(model, type) or is_unfitted or not callable(apply):
        raise ArgumentTypeError(
            "expected a model with `apply(X)`, a fitted hedgerow estimator, or a function of X, got a "
            f"{type(model).__name__}, which has no `apply` and is not callable (or is not fitted)."
        )

    def checked(X: Any) -> NDArray[Any]:
        problem = ArgumentError(
            "expected a model that returns one leaf for each row of X; it failed, or returned others."
        )
        leaves = guarded(lambda: np.asarray(apply(X)), problem) if released is None else released.apply(X)
        if leaves.shape != (len(X),):
            raise problem
        return leaves

    return checked


def leaf_numbers(model: Any, found: Sequence[NDArray[Any]]) -> tuple[tuple[str, ...], list[Index]]:
    """Return the leaves in words, and the index of the leaf of each row of both sets."""
    released = released_leaf_model(model)
    if released is not None:
        return tuple(f"{i}. {text}" for i, text in enumerate(released.conditions, 1)), [
            x.astype(np.intp) for x in found
        ]
    names, both = distinct(np.concatenate(found))
    return tuple(f"leaf {value_text(name)}" for name in names), [both[: len(found[0])], both[len(found[0]) :]]
