"""Neural network of EXPRIL's experiments, on columns of any type."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from hedgerow.frames import Table
from hedgerow.randomness import RandomState

HIDDEN = (16, 256, 256, 16)
"""Units of the hidden layers for the real datasets (EXPRIL, Table 1)."""
PASSES, BATCH = 25, 200  # the batch is scikit-learn's own
_STEPS = (150, 3000)  # the fewest and the most gradient steps
_ANY = 1e9  # no loss falls by as much in one pass: "no improvement" counts the passes, and ends without a warning


def network(X: Any, random_state: RandomState = None, hidden: tuple[int, ...] = HIDDEN) -> Pipeline:
    """Return an unfitted network for a table like X: standardised numbers, one-hot text, imputed missing values.

    It passes over the rows 25 times, more often if they are few, and its weights are drawn to 0: the labels that it
    learns from are estimates, and to fit them to the end is to fit their noise.
    """
    numbers: Any = make_pipeline(SimpleImputer(), StandardScaler())
    columns = numbers
    table = Table.of(X)
    if table.names is not None:
        words: Any = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
        text = [name for name in table.names if table.column(name, 0).is_text]
        columns = make_column_transformer((words, text), remainder=numbers)
    passes = _passes(len(X))
    learner = MLPClassifier(
        hidden,
        alpha=0.3,
        learning_rate_init=3e-3,
        tol=_ANY,
        n_iter_no_change=passes - 2,  # it stops in the second pass after so many; the first one counts as better
        max_iter=2 * passes,
        random_state=random_state,
    )
    return make_pipeline(columns, learner)


def _passes(n_rows: int) -> int:
    steps = ceil(n_rows / BATCH)
    return ceil(float(np.clip(PASSES * steps, *_STEPS)) / steps)
