"""Labels: the column to predict and its classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.attributes import MISSING, OUTSIDE, BinCodes
from hedgerow.schema.literals import name_problem, values_problem
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown
from hedgerow.text.values import listed, plain_word

_LARGEST = 2**63  # of classes that are numbers: predictions are an array of them


@dataclass(frozen=True)
class Label:
    """The column to predict and its classes.

    Attributes
    ----------
    name : str
        The column's name.
    classes : tuple of str, int or bool
        The classes, two or more, all of one type; kept in sorted order.

    Examples
    --------
    >>> Label("income", ("<=50K", ">50K")).classes
    ('<=50K', '>50K')
    """

    name: str
    classes: tuple[Any, ...]

    def __post_init__(self) -> None:
        problem = name_problem(self.name)
        if problem:
            raise SchemaError(problem, key="label")
        classes: tuple[Any, ...] = () if isinstance(self.classes, str) else tuple(self.classes)
        one_type = len({type(value) for value in classes}) == 1 and isinstance(classes[0], (str, int))
        if not one_type:
            problem = f"expected text, whole numbers or booleans, got {shown(self.classes)}."
        elif len({plain_word(value) if isinstance(value, str) else value for value in classes}) < max(2, len(classes)):
            problem = f"expected two or more different classes, got {shown(self.classes)}."
        elif any(isinstance(value, int) and not -_LARGEST <= value < _LARGEST for value in classes):
            problem = f"expected whole numbers of 64 bits, got {shown(self.classes)}."
        problem = problem or values_problem(classes)
        if problem:
            raise SchemaError(problem, attribute=self.name, key="classes")
        object.__setattr__(self, "classes", tuple(sorted(classes)))

    def __eq__(self, other: object) -> bool:
        """Compare name and classes; True and 1 are different classes, as in files and predictions."""
        if not isinstance(other, Label):
            return NotImplemented
        one, another = ((each.name, each.classes, isinstance(each.classes[0], bool)) for each in (self, other))
        return one == another

    def check_type(self, column: Column) -> None:
        """Check, without a look at the values, that a column of this type can hold one of the classes.

        Raises
        ------
        DomainError
            If it cannot, as numbers hold no word.
        """
        if not any(column.can_hold(value) for value in self.classes):
            kind = "dates" if column.holds_dates else "booleans" if column.values.dtype.kind == "b" else "numbers"
            raise DomainError(f"expected one of: {listed(self.classes)}; found a column of {kind}.", column=self.name)

    def encode(self, column: Column) -> BinCodes:
        """Return the class number of each row, shape ``(n_rows,)``.

        Raises
        ------
        DomainError
            If a label is missing or not one of the classes. Names the classes allowed, never the label found.
        """
        return checked_classes(self, self.codes(column))

    def codes(self, column: Column) -> NDArray[np.integer[Any]]:
        """Return the class number of each row, `OUTSIDE` or `MISSING` where it has none."""
        if column.is_text:
            words = class_spellings(self)
            codes = column.index_in(words, ignore_case=self.is_binary)
            codes = np.where(codes > 1, codes - 2, codes) if self.is_binary else codes
        else:
            codes = np.full(len(column), OUTSIDE)
            for code, value in enumerate(self.classes):
                codes[column.equals(value)] = code
        return codes if column.missing is None else np.where(column.missing, MISSING, codes)

    @property
    def is_binary(self) -> bool:
        """True if the classes are the two of a boolean, by either spelling, as for attributes."""
        return set(self.classes) == {0, 1}


def class_spellings(label: Label) -> tuple[str, ...]:
    """Return the spellings of the classes in text columns; if binary 0, 1, false and true, in any case."""
    return ("0", "1", "false", "true") if label.is_binary else tuple(str(value) for value in label.classes)


def checked_classes(label: Label, codes: NDArray[np.integer[Any]]) -> BinCodes:
    """Return class numbers, after a check that no label is `MISSING` or `OUTSIDE`."""
    allowed = listed(label.classes)
    if (codes == MISSING).any():
        raise DomainError(f"some labels are missing; expected one of: {allowed}.", column=label.name)
    if (codes == OUTSIDE).any():
        hint = ""
        if isinstance(label.classes[0], bool):
            hint = " In YAML, put the classes yes, no, on, off, true and false in quotes."
        raise DomainError(f"some labels are not in the schema; expected one of: {allowed}.{hint}", column=label.name)
    return codes.astype(np.min_scalar_type(len(label.classes) - 1))
