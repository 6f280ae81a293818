"""Attributes of a table: domain, bins and policies for missing and outside values; booleans and categories.

A *bin* is all that hedgerow uses of a value: one of the declared categories, or the interval between two cut points.
Bins are numbered from 0; ``missing`` and ``outside`` bins, where declared, come last in this order.
"""

from __future__ import annotations

import typing
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.extents import Extent
from hedgerow.schema.literals import Literal, is_number, values_problem
from hedgerow.tables.columns import Column
from hedgerow.text.messages import near_miss, shown
from hedgerow.text.values import Value, listed, plain_word, printable

BinCodes = NDArray[np.unsignedinteger[Any]]
Codes = NDArray[np.int32]
OUTSIDE, MISSING = -1, -2
"""The codes of values outside the domain and of missing ones, before the attribute's policies have been applied."""
_NO_VALUE = -3  # text where a number is declared: refused under every policy


@dataclass(frozen=True, kw_only=True)
class Attribute(ABC):
    """Base class of attributes: the policies for values that are missing or outside the domain.

    Attributes
    ----------
    missing : {"error", "bin"}
        What a missing value (NULL, NaN, blank text) is: an error, or a bin of its own.
    missing_values : tuple
        Values that mean "missing" too, such as ``"?"`` or ``-9``.
    outside : {"error", "clip", "bin"}
        What a value outside the declared domain is: an error, the nearest bound (numbers only), or a bin of its own
        (not for booleans).
    description, unit, source : str or None
        What the attribute is, in which unit, and where its domain is from, for people: models show it, and nothing is
        computed with it.
    """

    missing: typing.Literal["error", "bin"] = "error"
    missing_values: tuple[Value, ...] = ()
    outside: typing.Literal["error", "clip", "bin"] = "error"
    description: str | None = None
    unit: str | None = None
    source: str | None = None

    kind: ClassVar[str]
    outside_policies: ClassVar[tuple[str, ...]] = ("error", "bin")

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        _check_choice("missing", self.missing, ("error", "bin"))
        _check_choice("outside", self.outside, self.outside_policies)
        _check_values("missing_values", self.missing_values)
        for key in ("description", "unit", "source"):
            _check_words(key, getattr(self, key))
        if self.missing_values and self.missing == "error":
            raise SchemaError(
                "expected `missing: bin` beside missing_values, got `missing: error`, which refuses these values.",
                key="missing_values",
            )

    @property
    def meaning(self) -> str:
        """Description, unit and source as one line of printable text; empty where none is declared."""
        source = f"(source: {self.source})" if self.source else None
        unit = f"in {self.unit}" if self.unit else None
        words = ", ".join(text for text in (self.description, unit) if text)
        return printable(" ".join(text for text in (words, source) if text))

    @property
    @abstractmethod
    def known_bins(self) -> tuple[str, ...]:
        """Names of the bins of values inside the domain."""

    @property
    @abstractmethod
    def n_known(self) -> int:
        """The number of bins of values inside the domain."""

    @abstractmethod
    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        """Return the literals of this kind's own operators."""

    @abstractmethod
    def _n_own_literals(self, *, negations: bool) -> int:
        """Return the number of `_own_literals`."""

    @abstractmethod
    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        """Return the literals of this kind's own operators that may be true on these bins, the plainest first."""

    @abstractmethod
    def _code(self, column: Column) -> Codes:
        """Return the bin of each value, `OUTSIDE` for those outside the domain, anything for missing ones."""

    @abstractmethod
    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        """Return the run of known bins on which a literal of this kind's own operators is true, or else false."""

    @cached_property
    def bins(self) -> tuple[str, ...]:
        """Names of all bins."""
        return self.known_bins + ("missing",) * (self.missing == "bin") + ("outside",) * (self.outside == "bin")

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return self.n_known + (self.missing == "bin") + (self.outside == "bin")

    def literals(self, name: str, *, negations: bool) -> tuple[Literal, ...]:
        """Return the literals on this attribute: each true on some bins, false on others, no two on the same."""
        found: dict[Extent, Literal] = {}
        for literal in [*self._own_literals(name, negations=negations), *self._policy_literals(name, negations)]:
            found.setdefault(self._extent(literal), literal)
        return tuple(literal for extent, literal in found.items() if not extent.is_trivial)

    def count_literals(self, *, negations: bool) -> int:
        """Return the number of `literals`; on three bins or more no two are equivalent."""
        if self.n_known <= 2:
            return len(self.literals("", negations=negations))
        return self._n_own_literals(negations=negations) + len(self._policy_literals("", negations))

    def literal_on(self, name: str, extent: Extent) -> Literal | None:
        """Return that of all `literals` that is true on exactly these bins; None if there is none."""
        proposed = [*self._own_literals_on(name, extent), *self._policy_literals(name, negations=True)]
        return next((literal for literal in proposed if self._extent(literal) == extent), None)

    def _policy_literals(self, name: str, negations: bool) -> list[Literal]:
        found = [Literal(name, "missing")] if self.missing == "bin" else []
        found += [Literal(name, "known")] if self.missing == "bin" and negations else []
        return found + ([Literal(name, "outside")] if self.outside == "bin" else [])

    def extent(self, literal: Literal) -> Extent:
        """Return on which bins a literal is true.

        Raises
        ------
        SchemaError
            If the literal does not fit this attribute, or is true of no value or of all.
        """
        extent = self._extent(literal)
        if extent.is_trivial:
            raise SchemaError(
                f"expected a literal that is true of some values and false of others, got {literal.brief}.",
                attribute=literal.attribute,
            )
        return extent

    def truth(self, literal: Literal) -> NDArray[np.bool_]:
        """Return `extent` as an array, shape ``(n_bins,)``."""
        return self.extent(literal).truth()

    def _extent(self, literal: Literal) -> Extent:
        known, missing, outside = (
            self.n_known,
            *(False if policy == "bin" else None for policy in (self.missing, self.outside)),
        )
        match literal.operator:
            case "missing":
                return Extent(known, 0, 0, missing=None if missing is None else True, outside=outside)
            case "outside":
                return Extent(known, 0, 0, missing=missing, outside=None if outside is None else True)
            case "known":
                return Extent(known, 0, known, missing=missing, outside=None if outside is None else True)
            case operator:
                beyond = outside if outside is None else operator == "!="
                return Extent(known, *self._known_extent(literal), missing=missing, outside=beyond)

    def encode(self, column: Column) -> BinCodes:
        """Return the bin of each row, shape ``(n_rows,)``.

        Raises
        ------
        DomainError
            If a value is missing or outside and the policy is "error". Names the column, never the value.
        """
        return bins_of_codes(self, self.codes(column.without(self.missing_values)), column.name)

    def codes(self, column: Column) -> Codes:
        """Return the bin of each row before the policies, `OUTSIDE` or `MISSING` where it has none.

        Raises
        ------
        DomainError
            If a value is none of such a column, such as text where a number is declared.
        """
        codes = self._code(column)
        return codes if column.missing is None else np.where(column.missing, np.int32(MISSING), codes)

    def bins_or_refused(self, column: Column) -> NDArray[np.int64]:
        """Return the bin of each row, `OUTSIDE` for a row that `encode` would refuse; independent of other rows."""
        column = column.without(self.missing_values)
        codes = self._code_of_each(column)
        if column.missing is not None:
            codes = np.where(column.missing, MISSING, codes)
        refused = ((codes == MISSING) & (self.missing == "error")) | ((codes == OUTSIDE) & (self.outside != "bin"))
        refused |= codes == _NO_VALUE
        bins = bins_of_codes(self, np.where(refused, 0, codes), column.name)
        return np.where(refused, OUTSIDE, bins.astype(np.int64))

    def _code_of_each(self, column: Column) -> Codes:
        """Return the codes of `_code`, `_NO_VALUE` for a row on which it fails, which bisection finds."""
        try:
            return self._code(column)
        except DomainError:
            if len(column) == 1:
                return np.array([_NO_VALUE], dtype=np.int32)
        half = len(column) // 2
        return np.concatenate([self._code_of_each(part) for part in (column[:half], column[half:])])

    @property
    @abstractmethod
    def domain(self) -> str:
        """The declared domain as text."""


@dataclass(frozen=True, kw_only=True)
class Boolean(Attribute):
    """True or false: bool, the numbers 0 and 1, or the texts "true" and "false" in any case; or else declared words.

    Attributes
    ----------
    true_values, false_values : tuple of str or int
        The values that stand for true and for false, as they are written, such as ``("yes", "Y")`` and ``("no", "N")``,
        or 1 and 2. Both or none. Other values are outside the domain then; a column of type bool holds the words
        ``"true"`` and ``"false"``.

    Examples
    --------
    >>> [str(literal) for literal in Boolean().literals("smoker", negations=True)]
    ['smoker', 'not smoker']
    """

    true_values: tuple[str | int, ...] = ()
    false_values: tuple[str | int, ...] = ()
    kind: ClassVar[str] = "boolean"
    outside_policies: ClassVar[tuple[str, ...]] = ("error",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.true_values != () or self.false_values != ():
            self._check_words()
        elif {plain_word(value).lower() for value in self.missing_values} & {"0", "1", "false", "true"}:
            raise SchemaError(
                "expected missing_values other than 0, 1, true and false, got one of these.", key="missing_values"
            )

    def _check_words(self) -> None:
        both = {"true_values": self.true_values, "false_values": self.false_values}
        for key, values in both.items():
            _check_values(key, values)
            if any(isinstance(value, float) for value in values):
                raise SchemaError(f"expected text or whole numbers, got {shown(values)}.", key=key)
            if not values:
                raise SchemaError("expected at least one value beside those of the other truth, got none.", key=key)
        words = [plain_word(value) for value in (*self.true_values, *self.false_values, *self.missing_values)]
        if len(set(words)) < len(words):
            raise SchemaError(
                "expected distinct values, none of them missing_values or false_values; got one twice.",
                key="true_values",
            )

    def value_of(self, code: int) -> bool | str | int:
        """Return a value of the bin of false (0) or true (1), the first where words are declared."""
        values = (self.false_values, self.true_values)[code]
        return values[0] if values else bool(code)

    @property
    def known_bins(self) -> tuple[str, ...]:
        """False and true."""
        return ("false", "true")

    @property
    def domain(self) -> str:
        """The two values."""
        if not self.true_values:
            return "true or false, 0 or 1"
        return f"true ({listed(self.true_values)}) or false ({listed(self.false_values)})"

    @property
    def n_known(self) -> int:
        """Two."""
        return 2

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        return [Literal(name, "true")] + [Literal(name, "false")] * negations

    def _n_own_literals(self, *, negations: bool) -> int:
        return 1 + negations

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:  # noqa: ARG002 -- there are only two
        return self._own_literals(name, negations=True)

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        check_operator(self, literal, ("true", "false"))
        return (1, 2, False) if literal.operator == "true" else (0, 1, False)

    def _code(self, column: Column) -> Codes:
        if self.true_values:
            return self._code_of_words(column)
        if column.is_text:
            found = column.index_in(["false", "true", "0", "1"], ignore_case=True)
            return np.where(found > 1, found - 2, found)
        values: NDArray[Any] = column.values
        if values.dtype.kind == "b":
            return values.astype(np.int32)
        return np.where(values == 1, np.int32(1), np.where(values == 0, np.int32(0), np.int32(OUTSIDE)))

    def _code_of_words(self, column: Column) -> Codes:
        codes = np.full(len(column), OUTSIDE, dtype=np.int32)
        is_bool = not column.is_text and column.values.dtype.kind == "b"
        for code, values in enumerate((self.false_values, self.true_values)):
            for value in values:
                if not is_bool:
                    codes[column.equals(value)] = code
                elif value in ("false", "true"):
                    codes[column.values == (value == "true")] = code
        return codes


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
            raise SchemaError(f"expected text or whole numbers, got {shown(self.values)}.", key="values")
        if not self.values:
            raise SchemaError("expected at least one value.", key="values")
        words = set(map(plain_word, self.values))
        if len(words) < len(self.values):
            raise SchemaError("expected distinct values, got one more than once.", key="values")
        if not words.isdisjoint(map(plain_word, self.missing_values)):
            raise SchemaError("expected missing_values that are not categories, got one that is.", key="missing_values")

    @property
    def known_bins(self) -> tuple[str, ...]:
        """The values as text."""
        return tuple(str(value) for value in self.values)

    @property
    def n_known(self) -> int:
        """One per value."""
        return len(self.values)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(value): place for place, value in enumerate(self.values)}

    def place(self, literal: Literal) -> int:
        """Return the index of the value that a literal compares with; the text "1" stands for the value 1.

        Raises
        ------
        SchemaError
            If it is none of them.
        """
        place = self._places.get(str(literal.operands[0]))
        if place is None:
            raise SchemaError(
                f"expected a literal on one of the values {self.domain}; got {literal.brief}.",
                attribute=literal.attribute,
            )
        return place

    @property
    def domain(self) -> str:
        """The values."""
        return listed(self.values)

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        operators = ("=", "!=") if negations else ("=",)
        return [Literal(name, operator, (value,)) for operator in operators for value in self.values]

    def _n_own_literals(self, *, negations: bool) -> int:
        return len(self.values) * (1 + negations)

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        equal = [("=", extent.only_known), ("!=", extent.complement().only_known)]
        return [Literal(name, operator, (self.values[place],)) for operator, place in equal if place is not None]

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        check_operator(self, literal, ("=", "!="))
        place = self.place(literal)
        return place, place + 1, literal.operator == "!="

    def _code(self, column: Column) -> Codes:
        if column.is_text:
            return column.index_in(self.known_bins)
        column.refuse_booleans()
        codes = np.full(len(column), OUTSIDE, dtype=np.int32)
        for code, value in enumerate(self.values):
            codes[column.equals(value)] = code
        return codes


def _check_choice(key: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        near = near_miss(value, allowed)
        raise SchemaError(f"expected one of {', '.join(allowed)}, got {shown(value)}.{near}", key=key)


def _check_values(key: str, values: object) -> None:
    if not isinstance(values, tuple) or not all(isinstance(value, str) or is_number(value) for value in values):
        problem = (
            f"expected a list of text or numbers, got {shown(values)} (in YAML, quote words such as yes, no, on, off)."
        )
    else:
        problem = values_problem(values)
    if problem:
        raise SchemaError(problem, key=key)


def _check_words(key: str, text: object) -> None:
    problem = None if text is None or (isinstance(text, str) and text) else f"expected text, got {shown(text)}."
    problem = problem or values_problem((text,))
    if problem:
        raise SchemaError(problem, key=key)


def check_operator(attribute: Attribute, literal: Literal, allowed: Sequence[str]) -> None:
    """Raise SchemaError for a literal whose operator is not one of those allowed."""
    if literal.operator not in allowed:
        raise SchemaError(
            f"expected one of the {attribute.kind} operators {', '.join(allowed)}; got {shown(literal.operator)}.",
            attribute=literal.attribute,
        )


def bins_of_codes(attribute: Attribute, codes: NDArray[np.integer[Any]], name: str) -> BinCodes:
    """Return the bins of values known, `OUTSIDE` or `MISSING`, as the policies have it."""
    missing, out = codes == MISSING, codes == OUTSIDE
    if missing.any() and attribute.missing == "error":
        raise DomainError(
            "some values are missing; fill them in, or declare `missing: bin` in the schema.", column=name
        )
    if out.any() and attribute.outside != "bin":
        raise DomainError(
            f"some values are outside the declared domain ({attribute.domain}); correct them, or declare a wider "
            f"domain{_outside_advice(attribute)} in the schema.",
            column=name,
        )
    bins = np.where(missing, attribute.n_known, np.where(out, attribute.n_bins - 1, codes))
    return bins.astype(np.min_scalar_type(attribute.n_bins - 1))


def _outside_advice(attribute: Attribute) -> str:
    choices = [f"`outside: {policy}`" for policy in attribute.outside_policies if policy != "error"]
    return f", or {' or '.join(choices)}," if choices else ""
