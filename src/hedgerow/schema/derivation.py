"""Derivations: attributes computed from columns of the table, each row by itself; the base class of their kinds.

A derivation is a public function of a row's own cells: tables that differ by a row, or by the rows of a unit, still do
with the derived column, and every sensitivity stays as it is.
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
from hedgerow.text.values import Value, listed

if TYPE_CHECKING:
    from hedgerow.tables.columns import Column

MOST_MISSING = 32  # the most values that mean "missing" in the columns of a derivation: engines compare them in turn


@dataclass(frozen=True, kw_only=True)
class Derivation(ABC):
    """Base class of what computes an attribute from columns of the table, each row by itself.

    The columns are the table's, and never other derived attributes. A value is missing where one of its cells is.
    Neighbouring tables stay neighbours, and sensitivities as they are.

    Attributes
    ----------
    missing_values : tuple
        Values of the columns that mean "missing", such as ``-9``, beside NULL, NaN and blank text; at most 32.

    Raises
    ------
    SchemaError
        If a column has no possible name, or is named twice, or the derivation is not as its kind says.
    """

    missing_values: tuple[Value, ...] = ()

    key: ClassVar[str]  # of a file, with the columns as its value
    own: ClassVar[tuple[str, ...]]  # the fields that name its columns
    required: ClassVar[tuple[str, ...]] = ()  # the keys that a file must have beside
    optional: ClassVar[tuple[str, ...]] = ("missing_values",)  # the keys that a file may have beside
    kinds: ClassVar[tuple[str, ...]]  # the kinds of attributes that can be computed so
    form: ClassVar[str]  # what it is, for people, with the names of fields in braces
    expected: ClassVar[str]  # what its columns are to hold, for people

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        problem = next(filter(None, map(name_problem, self.columns)), "")
        if not problem and len(set(self.columns)) < len(self.columns):
            problem = "expected different columns, got one more than once."
        if isinstance(self.missing_values, tuple) and len(self.missing_values) > MOST_MISSING:
            problem = f"expected at most {MOST_MISSING} missing_values inside it, got more."
        if problem:
            raise SchemaError(problem, key="derived")
        self.read_as  # noqa: B018 -- raises for missing values that are none

    @classmethod
    def of(cls, columns: Any, **others: Any) -> Self:
        """Return the derivation of columns as a file names them."""
        made: Any = cls
        if len(cls.own) == 1:
            return made(columns, **others)
        if not isinstance(columns, list) or len(columns) != len(cls.own):
            raise SchemaError(f"expected a list of {len(cls.own)} columns: {' and '.join(cls.own)}.", key=cls.key)
        return made(*columns, **others)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table that it is computed from."""
        return tuple(getattr(self, name) for name in self.own)

    @property
    def words(self) -> str:
        """What it is, for people."""
        return self.form.format(**vars(self))

    @property
    @abstractmethod
    def read_as(self) -> Any:
        """The `Attribute` that the cells of each column are read as: values outside its domain are refused."""

    @abstractmethod
    def column(self, name: str, columns: Sequence[Column]) -> Column:
        """Return the computed column; a number is infinite where a cell is refused."""

    @abstractmethod
    def render(self, backend: Any, cells: Sequence[Any]) -> Any:
        """Return the derived values of cells, or an expression for them, as a `DerivationBackend` has them."""

    def check(self, kind: str, values: Sequence[Value]) -> None:  # noqa: ARG002 -- for kinds that list their values
        """Check that the listed values of an attribute of a kind can be computed so; SchemaError if not."""
        if kind not in self.kinds:
            problem = f"expected {self.key} for attributes of the kind {' or '.join(self.kinds)}, got {kind}."
            raise SchemaError(problem, key="derived")

    def check_read(self, column: Column) -> None:
        """Raise DomainError, which quotes no cell, if a cell that a column was computed from is refused."""
        if not column.is_text and np.isinf(column.values).any():
            raise self.refusal(column.name, column.serials_advice if "format" in self.optional else "")

    def refusal(self, name: str, advice_on_serials: str = "") -> DomainError:
        """Return the error of cells that it cannot be computed from."""
        problem = f"is derived from {listed(self.columns)}: expected {self.expected.format(**vars(self))} there"
        advice = "name those that stand for a missing value under `missing_values` inside `derived` in the schema"
        return DomainError(f"{problem}, found others; correct them, or {advice}.{advice_on_serials}", column=name)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data; defaults are left out."""
        columns = [*self.columns]
        given = {key: getattr(self, key) for key in (*self.required, *self.optional)}
        named = {self.key: columns if len(columns) > 1 else columns[0]}
        return named | {key: _plain(value) for key, value in given.items() if value not in (None, ())}


def _plain(value: Any) -> Any:
    if not isinstance(value, tuple):
        return as_plain(value)
    parts: list[Any] = [*value]
    return {key: list(values) for key, values in parts} if isinstance(parts[0], tuple) else parts
