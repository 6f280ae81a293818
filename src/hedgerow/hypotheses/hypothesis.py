"""Hypotheses of questions to an oracle, the columns that they take, and the class numbers of their predictions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Array, Integers
from hedgerow.errors import ArgumentError, HypothesisError
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown
from hedgerow.text.values import quoted_text

NO_CLASS = -1  # the prediction for a row without a result: none of the classes, hence wrong
_Class = TypeVar("_Class")


class Hypothesis(Protocol):
    """A classifier that an oracle can be asked about, read as data, or, without a guarantee, as code."""

    def predict(self, X: Any) -> Any:
        """Return the class of each row, shape ``(n_rows,)``."""
        ...


@dataclass(frozen=True)
class TargetColumns:
    """Public properties of the target's columns."""

    names: tuple[str, ...]  # their names
    kinds: tuple[str, ...]  # ``boolean``, ``numbers`` or ``text``
    named: bool  # whether columns are selected by name; else by position

    def place(self, name: str) -> int:
        if name not in self.names:
            raise ArgumentError(f"it uses the column {shown(name)}, which the target does not have")
        return self.names.index(name)


class RowClassifier(Protocol):
    """A classifier as data. Its prediction for a row depends on the row and its public parameters alone."""

    def __call__(self, columns: Sequence[Column], n_rows: int) -> Integers:
        """Return the number of the class predicted for each row, shape ``(n_rows,)``, `NO_CLASS` where none is."""
        ...


_ATTRIBUTES: dict[type, str] = {}


def has_hypothesis(attribute: str) -> Callable[[type[_Class]], type[_Class]]:
    """Declare that fitted objects of exactly the decorated class have their hypothesis in an attribute."""

    def declare(learner: type[_Class]) -> type[_Class]:
        _ATTRIBUTES[learner] = attribute
        return learner

    return declare


def unwrap_hypothesis(hypothesis: Any) -> Any:
    """Return the hypothesis of a fitted object of a declared class; any other object as it is."""
    attribute = _ATTRIBUTES.get(type(hypothesis))
    if attribute is None:
        return hypothesis
    if not hasattr(hypothesis, attribute):
        raise HypothesisError(f"expected a fitted {type(hypothesis).__name__}, got one that is not fitted.")
    return unwrap_hypothesis(getattr(hypothesis, attribute))


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

    def predict(self, X: Any) -> Array:
        """Return the class for each row, shape ``(n_rows,)``."""
        return np.full(len(X), self.label)


def class_codes(labels: Sequence[Any], classes: Sequence[Any]) -> tuple[int, ...]:
    found = codes_of(np.array(labels, dtype=object), classes, len(labels))
    if (found < 0).any():
        names = ", ".join(map(quoted_text, classes))
        raise HypothesisError(f"expected predictions that are one of {names}; some are not.")
    return tuple(found.tolist())


def codes_of(predictions: Any, classes: Sequence[Any], expected: int) -> Integers:
    """Return the class number of each prediction, -1 for others."""
    values = np.asarray(predictions)
    if values.shape != (expected,):
        raise HypothesisError(f"expected predictions of shape ({expected},), got {values.shape}.")
    codes = np.full(expected, -1, dtype=np.int64)
    for code, label in enumerate(classes):
        codes[[value == label for value in values.tolist()]] = code
    return codes
