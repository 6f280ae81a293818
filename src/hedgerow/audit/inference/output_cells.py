"""Cells of the output of a model, which take the place of leaves if a row is in many leaves, or in none."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hedgerow.audit.readers.columns import fitted_columns
from hedgerow.boundary.arrays import Array, Floats
from hedgerow.text.values import value_text

_PARTS = 10  # of probabilities, and of predicted numbers


def class_cells(model: Any) -> Callable[[Any], Array]:
    """Return a function that names the cell of each row: the predicted class and the tenth of its probability."""
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
    """Return a function that numbers the cell of each row: the tenth of all predictions for these tables."""
    every = np.concatenate([np.asarray(predict(X), dtype=np.float64) for X in tables])
    cuts = np.unique(np.quantile(every, np.arange(1, _PARTS) / _PARTS))
    return lambda X: np.searchsorted(cuts, np.asarray(predict(X), dtype=np.float64), side="left")
