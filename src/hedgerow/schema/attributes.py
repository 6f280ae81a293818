"""Attributes: what values there are, and which cell each falls into; booleans and categories.

A *cell* is what hedgerow keeps of a value: one of the declared categories, or the interval between two cut points.
Cells are numbered from 0; ``missing`` and ``outside`` cells, where declared, come last in this order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import Column, plain_word
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.literals import Literal
from hedgerow.values import Value, quoted_text

Cells = NDArray[np.unsignedinteger[Any]]
Codes = NDArray[np.int32]
OUTSIDE, MISSING = -1, -2
"""The codes of values outside the domain and of missing ones, before the attribute's policies have been applied."""


@dataclass(frozen=True, kw_only=True)
class Attribute(ABC):
    """What all kinds share: the policies for values that are missing or outside the domain.

    Attributes
    ----------
    missing : {"error", "cell"}
        What a missing value (NULL, NaN, blank text) is: an error, or a cell of its own.
    missing_values : tuple
        Values that mean "missing" too, such as ``"?"`` or ``-9``.
    outside : {"error", "clip", "cell"}
        What a value outside the declared domain is: an error, the nearest bound (numbers only), or a cell of its own
        (not for booleans).
    """

    missing: str = "error"
    missing_values: tuple[Value, ...] = ()
    outside: str = "error"

    kind: ClassVar[str]
    outside_policies: ClassVar[tuple[str, ...]] = ("error", "cell")

    def __post_init__(self) -> None:
        for field in fields(self):
            if isinstance(getattr(self, field.name), list):
                object.__setattr__(self, field.name, tuple(getattr(self, field.name)))
        _check_choice("missing", self.missing, ("error", "cell"))
        _check_choice("outside", self.outside, self.outside_policies)
        _check_values("missing_values", self.missing_values)
        if self.missing_values and self.missing == "error":
            raise SchemaError("needs missing: cell, since these values would be errors.", key="missing_values")

    @property
    @abstractmethod
    def known_cells(self) -> tuple[str, ...]:
        """The cells of values inside the domain, in words."""

    @abstractmethod
    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        """Return the literals of this kind's own operators."""

    @abstractmethod
    def _code(self, column: Column) -> Codes:
        """Return the cell of each value, `OUTSIDE` for those outside the domain, anything for missing ones."""

    @abstractmethod
    def _known_truth(self, literal: Literal) -> NDArray[np.bool_]:
        """Return on which of the known cells a literal of this kind's own operators is true."""

    @cached_property
    def cells(self) -> tuple[str, ...]:
        """All cells in words."""
        return self.known_cells + ("missing",) * (self.missing == "cell") + ("outside",) * (self.outside == "cell")

    def literals(self, name: str, *, negations: bool) -> tuple[Literal, ...]:
        """Return the literals on this attribute: each true on some cells, false on others, no two on the same."""
        proposed = self._own_literals(name, negations=negations)
        proposed += [Literal(name, "missing")] if self.missing == "cell" else []
        proposed += [Literal(name, "known")] if self.missing == "cell" and negations else []
        proposed += [Literal(name, "outside")] if self.outside == "cell" else []
        found: dict[bytes, Literal] = {}
        for literal in proposed:
            truth = self._truth(literal)
            if truth.any() and not truth.all():
                found.setdefault(truth.tobytes(), literal)
        return tuple(found.values())

    def truth(self, literal: Literal) -> NDArray[np.bool_]:
        """Return on which cells a literal is true, shape ``(n_cells,)``.

        Raises
        ------
        SchemaError
            If the literal does not fit this attribute, or is true of no value or of all.
        """
        truth = self._truth(literal)
        if not truth.any() or truth.all():
            raise SchemaError(f"{literal} is true of no value or of all.", attribute=literal.attribute)
        return truth

    def _truth(self, literal: Literal) -> NDArray[np.bool_]:
        known = len(self.known_cells)
        missing, outside = np.zeros((2, len(self.cells)), dtype=bool)
        missing[known : known + (self.missing == "cell")] = True
        outside[known + (self.missing == "cell") :] = True
        if literal.operator in ("missing", "known", "outside"):
            return {"missing": missing, "known": ~missing, "outside": outside}[literal.operator]
        truth = outside if literal.operator == "!=" else np.zeros(len(self.cells), dtype=bool)
        truth[:known] = self._known_truth(literal)
        return truth

    def encode(self, column: Column) -> Cells:
        """Return the cell of each row, shape ``(n_rows,)``.

        Raises
        ------
        DomainError
            If a value is missing or outside and the policy is "error". Names the column, never the value.
        """
        column = column.without(self.missing_values)
        codes = self._code(column)
        if column.missing is not None:
            codes = np.where(column.missing, MISSING, codes)
        return self.settle(codes, column.name)

    def cells_or_refused(self, column: Column) -> NDArray[np.int64]:
        """Return the cell of each row, `OUTSIDE` for a row that `encode` would refuse: each row for itself."""
        column = column.without(self.missing_values)
        codes = self._code_of_each(column)
        if column.missing is not None:
            codes = np.where(column.missing, MISSING, codes)
        refused = ((codes == MISSING) & (self.missing == "error")) | ((codes == OUTSIDE) & (self.outside != "cell"))
        cells = self.settle(np.where(refused, 0, codes), column.name)
        return np.where(refused, OUTSIDE, cells.astype(np.int64))

    def _code_of_each(self, column: Column) -> Codes:
        """Return what `_code` does, `OUTSIDE` for a row on which it fails; by halves, down to that row."""
        try:
            return self._code(column)
        except DomainError:
            if len(column) == 1:
                return np.array([OUTSIDE], dtype=np.int32)
        half = len(column) // 2
        return np.concatenate([self._code_of_each(part) for part in (column[:half], column[half:])])

    def settle(self, codes: NDArray[np.integer[Any]], name: str) -> Cells:
        """Return the cells of values known, `OUTSIDE` or `MISSING`, as the policies have it.

        Raises
        ------
        DomainError
            If a value is missing or outside and the policy is "error". Names the column, never the value.
        """
        missing, out = codes == MISSING, codes == OUTSIDE
        if missing.any() and self.missing == "error":
            raise DomainError(
                "some values are missing; fill them in, or declare `missing: cell` in the schema.", column=name
            )
        if out.any() and self.outside != "cell":
            raise DomainError(
                f"some values are outside the declared domain ({self.domain}); correct them, or declare a wider "
                f"domain{self._outside_advice} in the schema.",
                column=name,
            )
        cells = np.where(missing, len(self.known_cells), np.where(out, len(self.cells) - 1, codes))
        return cells.astype(np.uint8 if len(self.cells) <= 256 else np.uint16)

    @property
    @abstractmethod
    def domain(self) -> str:
        """The declared domain in words."""

    @property
    def _outside_advice(self) -> str:
        choices = [f"`outside: {policy}`" for policy in self.outside_policies if policy != "error"]
        return f", or {' or '.join(choices)}," if choices else ""


@dataclass(frozen=True, kw_only=True)
class Boolean(Attribute):
    """True or false: bool, the numbers 0 and 1, or the words "true" and "false" in any case.

    Examples
    --------
    >>> [str(literal) for literal in Boolean().literals("smoker", negations=True)]
    ['smoker', 'not smoker']
    """

    kind: ClassVar[str] = "boolean"
    outside_policies: ClassVar[tuple[str, ...]] = ("error",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if {plain_word(value).lower() for value in self.missing_values} & {"0", "1", "false", "true"}:
            raise SchemaError("a value cannot be both true or false and missing.", key="missing_values")

    @property
    def known_cells(self) -> tuple[str, ...]:
        """False and true."""
        return ("false", "true")

    @property
    def domain(self) -> str:
        """The two values."""
        return "true or false, 0 or 1"

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        return [Literal(name, "true")] + [Literal(name, "false")] * negations

    def _known_truth(self, literal: Literal) -> NDArray[np.bool_]:
        check_operator(self, literal, ("true", "false"))
        return np.array([literal.operator == "false", literal.operator == "true"])

    def _code(self, column: Column) -> Codes:
        if column.is_text:
            found = column.index_in(["false", "true", "0", "1"], ignore_case=True)
            return np.where(found > 1, found - 2, found)
        values: NDArray[Any] = column.values
        if values.dtype.kind == "b":
            return values.astype(np.int32)
        return np.where(values == 1, np.int32(1), np.where(values == 0, np.int32(0), np.int32(OUTSIDE)))


@dataclass(frozen=True)
class Categorical(Attribute):
    """One of a fixed set of values, each text or a whole number.

    Attributes
    ----------
    values : tuple of str or int
        The values.

    Examples
    --------
    >>> [str(literal) for literal in Categorical(("red", "green", "blue")).literals("hue", negations=True)][:4]
    ['hue = red', 'hue = green', 'hue = blue', 'hue != red']
    """

    values: tuple[str | int, ...]
    kind: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_values("values", self.values)
        if any(isinstance(value, float) for value in self.values):
            raise SchemaError(f"expected text or whole numbers, got {list(self.values)}.", key="values")
        if not self.values:
            raise SchemaError("expected at least one value.", key="values")
        if len({plain_word(value) for value in self.values}) < len(self.values):
            raise SchemaError("expected each value once.", key="values")
        if {plain_word(value) for value in self.values} & {plain_word(value) for value in self.missing_values}:
            raise SchemaError("a value cannot be both a category and missing.", key="missing_values")

    @property
    def known_cells(self) -> tuple[str, ...]:
        """The values as text."""
        return tuple(str(value) for value in self.values)

    @property
    def domain(self) -> str:
        """The values."""
        shown = ", ".join(map(quoted_text, self.values[:12]))
        return shown if len(self.values) <= 12 else f"{shown}, … ({len(self.values)} values)"

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        operators = ("=", "!=") if negations else ("=",)
        return [Literal(name, operator, (value,)) for operator in operators for value in self.values]

    def _known_truth(self, literal: Literal) -> NDArray[np.bool_]:
        check_operator(self, literal, ("=", "!="))
        equal = np.array(self.known_cells) == str(literal.operands[0])
        if not equal.any():
            raise SchemaError(f"{literal}: no such value; expected {self.domain}.", attribute=literal.attribute)
        return equal if literal.operator == "=" else ~equal

    def _code(self, column: Column) -> Codes:
        if column.is_text:
            return column.index_in(self.known_cells)
        column.refuse_booleans()
        codes = np.full(len(column), OUTSIDE, dtype=np.int32)
        for code, value in enumerate(self.values):
            codes[column.equals(value)] = code
        return codes


def _check_choice(key: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise SchemaError(f"expected one of {', '.join(allowed)}, got {value!r}.", key=key)


def _check_values(key: str, values: object) -> None:
    if not isinstance(values, tuple) or any(
        isinstance(v, bool) or not isinstance(v, (str, int, float)) for v in values
    ):
        raise SchemaError(
            f"expected a list of text or numbers, got {values!r} (in YAML, quote words such as yes, no, on, off).",
            key=key,
        )
    if any(isinstance(value, str) and "\0" in value for value in values):
        raise SchemaError("expected text without NUL characters, which databases cannot hold.", key=key)
    if any(isinstance(value, str) and (value != value.strip() or not value) for value in values):
        raise SchemaError("expected no blank text and no spaces around it: they are trimmed off the data.", key=key)


def check_operator(attribute: Attribute, literal: Literal, allowed: Sequence[str]) -> None:
    """Raise SchemaError for a literal whose operator is not one of those allowed."""
    if literal.operator not in allowed:
        raise SchemaError(
            f"expected one of the {attribute.kind} operators {', '.join(allowed)}; got {literal.operator!r}.",
            attribute=literal.attribute,
        )
