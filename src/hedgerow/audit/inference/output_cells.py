"""Cells of a model's output, used in place of leaves for models in which a row has several leaves or none."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hedgerow.audit.readers.columns import fitted_columns
from hedgerow.boundary.arrays import Array, Floats
from hedgerow.text.values import value_text

_PARTS = 10  # number of parts of the probabilities, and of the predicted numbers


def class_cells(model: Any) -> Callable[[Any], Array]:
    """Return a function that names each row's cell: the predicted class, and its probability to one tenth."""
    names = np.array(
        [
            [f"{value_text(value)}, probability {part / _PARTS:g} to {(part + 1) / _PARTS:g}" for part in range(_PARTS)]
            for value in np.asarray(model.classes_).tolist()
        ]
    )

    def cells(X: Any) -> Array:
        chances: Floats = np.asarray(model.predict_proba(fitted_columns(model, X)), dtype=np.float64)
        best = chances.argmax(axis=1)
        part = np.minimum((chances.max(axis=1) * _PARTS).astype(np.intp), _PARTS - 1)
        return names[best, part]

    return cells


def number_cells(predict: Callable[[Any], Array], tables: Sequence[Any]) -> Callable[[Any], Array]:
    """Return a function that numbers each row's cell: its decile among the predictions for these tables."""
    every = np.concatenate([np.asarray(predict(X), dtype=np.float64) for X in tables])
    cuts = np.unique(np.quantile(every, np.arange(1, _PARTS) / _PARTS))
    return lambda X: np.searchsorted(cuts, np.asarray(predict(X), dtype=np.float64), side="left")
