"""Hypotheses that an oracle is asked about: tried on made-up rows first, then held against the private ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import deepcopy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Table
from hedgerow.errors import HypothesisError
from hedgerow.schema.label import Label
from hedgerow.values import quoted_text


class Hypothesis(Protocol):
    """What can be asked about: anything that predicts a class for each row by itself."""

    def predict(self, X: Any) -> Any:
        """Return the class of each row, shape ``(n_rows,)``."""
        ...


class Always:
    """The hypothesis that predicts one class for every row: h_0 of EXPRIL.

    Parameters
    ----------
    label : str, int or bool
        The class.

    Examples
    --------
    >>> Always("yes").predict([[1], [2]])
    array(['yes', 'yes'], dtype='<U3')
    """

    def __init__(self, label: Any) -> None:
        self.label = label

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class for each row, shape ``(n_rows,)``."""
        return np.full(len(X), self.label)


def own_copy(hypothesis: Any) -> Any:
    """Return a copy to ask about: what is tried is what is asked, and what it keeps of the rows is not handed back.

    Raises
    ------
    HypothesisError
        If there is no copy, or it does not predict.
    """
    if not callable(getattr(hypothesis, "predict", None)) or isinstance(hypothesis, type):
        raise HypothesisError(f"expected a fitted model with predict(X), got {type(hypothesis).__name__}.")
    try:
        return deepcopy(hypothesis)
    except Exception as error:
        raise HypothesisError(f"the hypothesis cannot be copied: {type(error).__name__}: {error}") from error


def try_out(hypothesis: Any, rows: Table, classes: Sequence[Any]) -> None:
    """Check on made-up rows that a hypothesis predicts one class for each, and the same whatever rows are beside it.

    Raises
    ------
    HypothesisError
        If it does not.
    """
    try:
        found = codes_of(hypothesis.predict(rows.take(np.arange(len(rows)))), classes, len(rows))
        alone = [codes_of(hypothesis.predict(rows.take(np.array([i]))), classes, 1)[0] for i in range(len(rows))]
    except HypothesisError:
        raise
    except Exception as error:
        raise HypothesisError(f"the hypothesis fails on made-up rows: {type(error).__name__}: {error}") from error
    if (found < 0).any():
        names = ", ".join(map(quoted_text, classes))
        raise HypothesisError(f"expected predictions that are one of {names}; on made-up rows some are not.")
    if not np.array_equal(found, alone):
        raise HypothesisError("expected predictions of each row by itself; they change with the rows beside it.")


def wrong_rows(hypothesis: Any, rows: Table, codes: NDArray[np.int64], label: Label) -> NDArray[np.bool_]:
    """Return which private rows, whose classes have these numbers, a hypothesis gets wrong. Exact, private.

    A row on which it fails is wrong, as one for which it predicts no class is: an error, or a warning, would tell of
    the row without noise.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _predicted(hypothesis, rows, label, np.arange(len(rows))) != codes


def _predicted(hypothesis: Any, table: Table, label: Label, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the class predicted for each row, -1 for none; by halves, down to the row that fails."""
    if not len(rows):
        return np.empty(0, dtype=np.int64)
    try:
        return codes_of(hypothesis.predict(table.take(rows)), label.classes, len(rows))
    except Exception:
        if len(rows) == 1:
            return np.array([-1])
    return np.concatenate([_predicted(hypothesis, table, label, half) for half in np.array_split(rows, 2)])


def codes_of(predictions: Any, classes: Sequence[Any], expected: int) -> NDArray[np.int64]:
    """Return the number of the class of each prediction, -1 for what is none.

    Raises
    ------
    HypothesisError
        If there is not one prediction a row.
    """
    values = np.asarray(predictions)
    if values.shape != (expected,):
        raise HypothesisError(f"expected predictions of shape ({expected},), got {values.shape}.")
    codes = np.full(expected, -1, dtype=np.int64)
    for code, label in enumerate(classes):
        codes[[value == label for value in values.tolist()]] = code
    return codes
