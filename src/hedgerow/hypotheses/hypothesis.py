"""Hypotheses in questions to an oracle, their columns, and the class indices of their predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Array, Integers
from hedgerow.errors import ArgumentError, HypothesisError
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown
from hedgerow.text.values import quoted_text

NO_CLASS = -1  # the prediction for a row without a result, which counts as wrong
_Class = TypeVar("_Class")


class Hypothesis(Protocol):
    """A classifier in a question to an oracle, which reads it as data or, without a guarantee, runs its code."""

    def predict(self, X: Any) -> Any:
        """Return the class of each row, shape ``(n_rows,)``."""
        ...


@dataclass(frozen=True)
class TargetColumns:
    """The public properties of the columns of a target."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]  # ``boolean``, ``numbers`` or ``text``
    named: bool  # True if columns are selected by name, False if by position

    def place(self, name: str) -> int:
        if name not in self.names:
            raise ArgumentError(f"it uses the column {shown(name)}, which the target does not have")
        return self.names.index(name)


class RowClassifier(Protocol):
    """A classifier as data. Its prediction for a row depends only on the row and on public parameters."""

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Integers:
        """Return the index of the predicted class of each row, or `NO_CLASS`, shape ``(n_rows,)``."""
        ...


_ATTRIBUTES: dict[type, str] = {}


def has_hypothesis(attribute: str) -> Callable[[type[_Class]], type[_Class]]:
    """Return a decorator that declares the attribute with the hypothesis of fitted objects of exactly this class."""

    def declare(learner: type[_Class]) -> type[_Class]:
        _ATTRIBUTES[learner] = attribute
        return learner

    return declare


def unwrap_hypothesis(hypothesis: Any) -> Any:
    """Return the hypothesis of a fitted object of a declared class, or any other object unchanged."""
    attribute = _ATTRIBUTES.get(type(hypothesis))
    if attribute is None:
        return hypothesis
    if not hasattr(hypothesis, attribute):
        raise HypothesisError(f"the {type(hypothesis).__name__} is not fitted; call fit first.")
    return unwrap_hypothesis(getattr(hypothesis, attribute))


class Always:
    """The hypothesis that predicts the same class for every row (h_0 of EXPRIL).

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

    def predict(self, X: Any) -> Array:
        """Return the class for each row, shape ``(n_rows,)``."""
        return np.full(len(X), self.label)


def class_codes(labels: Sequence[Any], classes: Sequence[Any]) -> tuple[int, ...]:
    codes = codes_of(np.array(labels, dtype=object), classes, len(labels))
    if (codes < 0).any():
        names = ", ".join(map(quoted_text, classes))
        raise HypothesisError(f"all predictions of the hypothesis must be classes of the target: {names}.")
    return tuple(codes.tolist())


def codes_of(predictions: Any, classes: Sequence[Any], expected: int) -> Integers:
    """Return the class index of each prediction, -1 for values that are not classes."""
    values = np.asarray(predictions)
    if values.shape != (expected,):
        raise HypothesisError(f"expected predictions of shape ({expected},), got {values.shape}.")
    codes = np.full(expected, -1, dtype=np.int64)
    for code, label in enumerate(classes):
        codes[[value == label for value in values.tolist()]] = code
    return codes
