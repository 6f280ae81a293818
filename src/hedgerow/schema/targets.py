"""Targets: the column to predict, and the levels into which its values fall; classes are the first kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.attributes import MISSING, MOST_SHOWN, OUTSIDE, BinCodes
from hedgerow.schema.literals import name_problem, values_problem
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, listed, plain_word

_LARGEST = 2**63  # of classes that are numbers: predictions are an array of them


@dataclass(frozen=True)
class Target(ABC):
    """Base class of targets: a column to predict, and its levels, which are all that counting and searching see."""

    name: str
    """The column."""
    kind: ClassVar[str]

    @property
    @abstractmethod
    def n_levels(self) -> int:
        """The number of levels; they are numbered from 0."""

    @property
    @abstractmethod
    def domain(self) -> str:
        """The declared values as text."""

    @property
    def ignores_case(self) -> bool:
        """True if text is looked up in any case."""
        return False

    @abstractmethod
    def spellings(self, *, is_text: bool) -> tuple[tuple[Value, int], ...]:
        """Return each declared value and its level, as a column of text or of another type holds it."""

    @abstractmethod
    def check_type(self, column: Column) -> None:
        """Check, without a look at the values, that a column of this type can hold one of the target's."""

    @abstractmethod
    def codes(self, column: Column) -> NDArray[np.integer[Any]]:
        """Return the level of each row, `OUTSIDE` or `MISSING` where it has none."""

    @abstractmethod
    def checked(self, codes: NDArray[np.integer[Any]]) -> BinCodes:
        """Return levels, after a check that no value is `MISSING` or `OUTSIDE`."""

    @abstractmethod
    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        """Return made-up values."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the target as JSON-ready data."""

    def encode(self, column: Column) -> BinCodes:
        """Return the level of each row, shape ``(n_rows,)``; DomainError, which quotes no value, where one has none."""
        return self.checked(self.codes(column))


@dataclass(frozen=True)
class Label(Target):
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

    classes: tuple[Any, ...]
    kind: ClassVar[str] = "label"

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
        """Check, without a look at the values, that a column of this type can hold one of the classes (DomainError)."""
        if not any(column.can_hold(value) for value in self.classes):
            kind = "dates" if column.holds_dates else "booleans" if column.values.dtype.kind == "b" else "numbers"
            raise DomainError(f"expected one of: {listed(self.classes)}; found a column of {kind}.", column=self.name)

    @property
    def n_levels(self) -> int:
        """The number of classes."""
        return len(self.classes)

    @property
    def domain(self) -> str:
        """The classes."""
        return listed(self.classes, MOST_SHOWN)

    def to_dict(self) -> dict[str, Any]:
        """Return name and classes."""
        return {"name": self.name, "classes": list(self.classes)}

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        """Return made-up labels: each class is as likely."""
        return [self.classes[k] for k in rng.integers(len(self.classes), size=size)]

    def spellings(self, *, is_text: bool) -> tuple[tuple[Value, int], ...]:
        """Return each class and its number; in text also false and true, if the classes are 0 and 1."""
        if is_text and self.ignores_case:
            return (("0", 0), ("1", 1), ("false", 0), ("true", 1))
        return tuple((str(value) if is_text else value, number) for number, value in enumerate(self.classes))

    def codes(self, column: Column) -> NDArray[np.integer[Any]]:
        """Return the class number of each row, `OUTSIDE` or `MISSING` where it has none."""
        codes = column.codes_of(self.spellings(is_text=column.is_text), ignore_case=self.ignores_case)
        return codes if column.missing is None else np.where(column.missing, MISSING, codes)

    @property
    def ignores_case(self) -> bool:
        """True if the classes are the two of a boolean, by either spelling, as for attributes."""
        return set(self.classes) == {0, 1}

    def checked(self, codes: NDArray[np.integer[Any]]) -> BinCodes:
        """Return class numbers, after a check that no label is `MISSING` or `OUTSIDE`."""
        allowed = listed(self.classes)
        if (codes == MISSING).any():
            raise DomainError(f"some labels are missing; expected one of: {allowed}.", column=self.name)
        if (codes == OUTSIDE).any():
            hint = ""
            if isinstance(self.classes[0], bool):
                hint = " In YAML, put the classes yes, no, on, off, true and false in quotes."
            raise DomainError(f"some labels are not in the schema; expected one of: {allowed}.{hint}", column=self.name)
        return codes.astype(np.min_scalar_type(self.n_levels - 1))
