"""Derivations: attributes computed row by row from columns of the table; the base class of all kinds.

A derivation is a public function of the cells of one row. Neighbouring tables therefore stay neighbours when the
derived column is added, and sensitivities do not change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.literals import name_problem
from hedgerow.text.days import as_plain
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, listed

if TYPE_CHECKING:
    from hedgerow.tables.columns import Column

MOST_MISSING = 32  # the maximum number of missing_values of a derivation, since engines compare with each word in turn


@dataclass(frozen=True, kw_only=True)
class Derivation(ABC):
    """Base class of derivations, which compute an attribute row by row from columns of the table.

    The columns belong to the table; they cannot be derived attributes. If one of the cells is missing, the derived
    value is missing. Neighbouring tables stay neighbours, so sensitivities do not change.

    Attributes
    ----------
    missing_values : tuple
        Values of the columns that mean "missing", such as ``-9``, in addition to NULL, NaN and blank text; at most 32.

    Raises
    ------
    SchemaError
        If a column's name is invalid or repeated, or a parameter of the derivation is invalid.
    """

    missing_values: tuple[Value, ...] = ()

    key: ClassVar[str]  # key in a file, whose value is the columns
    own: ClassVar[tuple[str, ...]]  # fields that name its columns
    required: ClassVar[tuple[str, ...]] = ()  # further keys that a file must have
    optional: ClassVar[tuple[str, ...]] = ("missing_values",)  # further keys that a file may have
    kinds: ClassVar[tuple[str, ...]]  # kinds of attributes that it can compute
    form: ClassVar[str]  # its description, with the names of fields in braces
    expected: ClassVar[str]  # description of the values that its columns must hold

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        problem = next(filter(None, map(name_problem, self.columns)), "")
        if not problem and len(set(self.columns)) < len(self.columns):
            problem = f"the columns must differ, got {shown(self.columns)}."
        if isinstance(self.missing_values, tuple) and len(self.missing_values) > MOST_MISSING:
            problem = f"at most {MOST_MISSING} missing_values are allowed here, got {len(self.missing_values)}."
        if problem:
            raise SchemaError(problem, key="derived")
        self.read_as  # noqa: B018 -- raises for invalid missing values

    @classmethod
    def of(cls, columns: Any, **parameters: Any) -> Self:
        """Return the derivation for columns as a file states them."""
        make: Any = cls
        if len(cls.own) == 1:
            return make(columns, **parameters)
        if not isinstance(columns, list) or len(columns) != len(cls.own):
            problem = f"expected a list of {len(cls.own)} columns, {' and '.join(cls.own)}, got {shown(columns)}."
            raise SchemaError(problem, key=cls.key)
        return make(*columns, **parameters)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table from which the attribute is computed."""
        return tuple(getattr(self, name) for name in self.own)

    @property
    def words(self) -> str:
        """The derivation as text for people."""
        return self.form.format(**vars(self))

    @property
    @abstractmethod
    def read_as(self) -> Any:
        """The `Attribute` as which the cells of each column are read; values outside its domain are errors."""

    @abstractmethod
    def column(self, name: str, columns: Sequence[Column]) -> Column:
        """Return the computed column; a number is infinite if one of its cells is invalid."""

    @abstractmethod
    def render(self, backend: Any, cells: Sequence[Any]) -> Any:
        """Return the derived values, or an expression for them, in the form of a `DerivationBackend`."""

    def check(self, kind: str, values: Sequence[Value]) -> None:  # noqa: ARG002 -- for kinds that list their values
        """Check that the derivation can compute an attribute of this kind with these values; SchemaError if not."""
        if kind not in self.kinds:
            problem = f"{self.key} computes attributes of kind {' or '.join(self.kinds)}, got kind {kind}."
            raise SchemaError(problem, key="derived")

    def check_read(self, column: Column) -> None:
        """Raise DomainError, which quotes no cell, if the column was computed from an invalid cell."""
        if not column.is_text and np.isinf(column.values).any():
            raise self.refusal(column.name, column.serials_advice if "format" in self.optional else "")

    def refusal(self, name: str, advice_on_serials: str = "") -> DomainError:
        """Return the error for cells from which the attribute cannot be computed."""
        problem = f"some cells of {listed(self.columns)}, from which it is derived, are not"
        expected = self.expected.format(**vars(self))
        advice = "correct them, or list those that mean missing under `missing_values` inside `derived` in the schema"
        return DomainError(f"{problem} {expected}; {advice}.{advice_on_serials}", column=name)

    def to_dict(self) -> dict[str, Any]:
        """Return the derivation as JSON-ready data without default values."""
        columns = [*self.columns]
        parameters = {key: getattr(self, key) for key in (*self.required, *self.optional)}
        data = {self.key: columns if len(columns) > 1 else columns[0]}
        return data | {key: _plain(value) for key, value in parameters.items() if value not in (None, ())}


def _plain(value: Any) -> Any:
    if not isinstance(value, tuple):
        return as_plain(value)
    parts: list[Any] = [*value]
    return {key: list(values) for key, values in parts} if isinstance(parts[0], tuple) else parts
