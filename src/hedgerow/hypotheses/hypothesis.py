"""Hypotheses of questions to an oracle, and the class numbers of their predictions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import HypothesisError
from hedgerow.text.values import quoted_text

_Class = TypeVar("_Class")


class Hypothesis(Protocol):
    """A classifier that an oracle can be asked about; it is read as data, see `hedgerow.hypotheses`.

    Without a guarantee, anything that predicts a class for each row by itself.
    """

    def predict(self, X: Any) -> Any:
        """Return the class of each row, shape ``(n_rows,)``."""
        ...


_HOLDERS: dict[type, str] = {}


def holds_hypothesis(attribute: str) -> Callable[[type[_Class]], type[_Class]]:
    """Declare that fitted objects of exactly the decorated class have their hypothesis in an attribute."""

    def declare(holder: type[_Class]) -> type[_Class]:
        _HOLDERS[holder] = attribute
        return holder

    return declare


def held_hypothesis(hypothesis: Any) -> Any:
    """Return the hypothesis that a fitted object of a declared class holds; any other object as it is."""
    attribute = _HOLDERS.get(type(hypothesis))
    if attribute is None:
        return hypothesis
    if not hasattr(hypothesis, attribute):
        raise HypothesisError(f"expected a fitted {type(hypothesis).__name__}, got one that is not fitted.")
    return held_hypothesis(getattr(hypothesis, attribute))


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


def class_codes(labels: Sequence[Any], classes: Sequence[Any]) -> tuple[int, ...]:
    """Return the class number of each label."""
    found = codes_of(np.array(labels, dtype=object), classes, len(labels))
    if (found < 0).any():
        names = ", ".join(map(quoted_text, classes))
        raise HypothesisError(f"expected predictions that are one of {names}; some are not.")
    return tuple(found.tolist())


def codes_of(predictions: Any, classes: Sequence[Any], expected: int) -> NDArray[np.int64]:
    """Return the class number of each prediction, -1 for others."""
    values = np.asarray(predictions)
    if values.shape != (expected,):
        raise HypothesisError(f"expected predictions of shape ({expected},), got {values.shape}.")
    codes = np.full(expected, -1, dtype=np.int64)
    for code, label in enumerate(classes):
        codes[[value == label for value in values.tolist()]] = code
    return codes
