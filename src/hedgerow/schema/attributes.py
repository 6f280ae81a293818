"""Attributes of a table: domain, bins and policies for missing and outside values; the base class of all kinds.

Learning and counting use the *bin* of a value and not the value itself. A bin is a declared category, or the interval
between two cut points. Bins are numbered from 0; the ``missing`` and ``outside`` bins, if declared, come last in this
order. `schema.serialize` lists the kinds of attributes.
"""

import typing
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import Field, dataclass, fields, replace
from enum import Enum
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Mask, Whole
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.literals import Extent, Literal, is_number, values_problem
from hedgerow.tables.columns import FOUND_DATES, Column
from hedgerow.text.days import as_plain
from hedgerow.text.messages import near_miss, shown
from hedgerow.text.values import Value, listed, printable

BinCodes = NDArray[np.unsignedinteger[Any]]
Codes = NDArray[np.int32]
OUTSIDE, MISSING = -1, -2
"""The codes of outside and of missing values before the attribute's policies are applied."""
Direction = typing.Literal["increasing", "decreasing"]
DIRECTIONS: tuple[Direction, ...] = ("increasing", "decreasing")
"""How predictions may change with an attribute whose bins have an order."""
MOST_SHOWN = 100  # the maximum number of values in a printed list


class CellType(Enum):
    """The type of a column's cells; it decides how text, engines, SQL and Python read them."""

    TRUTH = "truth"  # bool, 0 or 1, "true" or "false"
    WORD = "word"  # a word for true or for false; a column of type bool holds "true" and "false"
    VALUE = "value"  # one of the declared texts and whole numbers
    NUMBER = "number"
    DATE = "date"


@dataclass(frozen=True, kw_only=True)
class Attribute(ABC):
    """Base class of attributes: the policies for values that are missing or outside the domain.

    Attributes
    ----------
    missing : {"error", "bin"}
        The treatment of a missing value (NULL, NaN, blank text): an error, or a bin of its own.
    missing_values : tuple
        Further values that mean "missing", such as ``"?"`` or ``-9``.
    outside : {"error", "clip", "bin"}
        The treatment of a value outside the declared domain. It is an error, the nearest bound (numbers and dates
        only), or a bin of its own (not for booleans).
    monotone : {"increasing", "decreasing"} or None
        Constraint on predictions if the values have an order. With all other attributes fixed, the prediction must not
        decrease, or must not increase, with this attribute. For two classes, the prediction is the probability of the
        second class. The constraint does not constrain missing values and values outside the domain. Derive the
        declaration from public knowledge. Scorecards satisfy it; other learners raise an error for a schema that
        declares it.
    description, unit, source : str or None
        Meaning, unit of measurement and source of the domain. Models show these texts; no computation uses them.
    derived : Derivation or None
        The derivation that computes the attribute from columns of the table: `YearsSince`, `Prefix`, `Ratio` or `Sum`.
        None if the attribute is a column of the table.
    """

    missing: typing.Literal["error", "bin"] = "error"
    missing_values: tuple[Value, ...] = ()
    outside: typing.Literal["error", "clip", "bin"] = "error"
    monotone: Direction | None = None
    description: str | None = None
    unit: str | None = None
    source: str | None = None
    derived: Derivation | None = None

    kind: ClassVar[str]
    operators: ClassVar[tuple[str, ...]]  # operators of its literals, without those for missing and outside values
    ordered: ClassVar[bool] = False  # whether the bins of values inside the domain have an order
    required: ClassVar[tuple[str, ...]] = ()  # the keys that a schema file must have
    outside_policies: ClassVar[tuple[str, ...]] = ("error", "bin")

    def __post_init__(self) -> None:
        for name, value in list(vars(self).items()):
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        _check_choice("missing", self.missing, ("error", "bin"))
        _check_choice("outside", self.outside, self.outside_policies)
        check_values("missing_values", self.missing_values)
        if self.monotone is not None:
            _check_choice("monotone", self.monotone, DIRECTIONS)
            if not self.ordered:
                problem = f"`monotone` needs values in an order; remove it from this {self.kind} attribute."
                raise SchemaError(problem, key="monotone")
        for key in ("description", "unit", "source"):
            _check_words(key, getattr(self, key))
        if self.missing_values and self.missing == "error":
            problem = "missing_values have no effect with `missing: error`; add `missing: bin`, or remove them."
            raise SchemaError(problem, key="missing_values")
        if self.derived is not None:
            if not isinstance(self.derived, Derivation):
                raise SchemaError(f"expected a Derivation or None, got {shown(self.derived)}.", key="derived")
            self.derived.check(self.kind, self.listed)
            if self.missing_values:
                problem = "a derived attribute declares missing_values inside `derived`; move them there."
                raise SchemaError(problem, key="derived")

    @property
    def meaning(self) -> str:
        """Description, unit and source as one line of printable text; empty if none is declared."""
        source = f"(source: {self.source})" if self.source else None
        unit = f"in {self.unit}" if self.unit else None
        words = ", ".join(text for text in (self.description, unit) if text)
        return printable(" ".join(text for text in (words, source) if text))

    @property
    @abstractmethod
    def cell_type(self) -> CellType:
        """The type of its column's cells."""

    @property
    @abstractmethod
    def known_bins(self) -> tuple[str, ...]:
        """Names of the bins of values inside the domain."""

    @property
    def n_known(self) -> int:
        """The number of bins of values inside the domain."""
        return len(self.known_bins)

    @abstractmethod
    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]: ...

    def _n_own_literals(self, *, negations: bool) -> int:
        return len(self._own_literals("", negations=negations))

    @abstractmethod
    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        """Return candidate literals with this kind's own operators for these bins, the simplest first."""

    @abstractmethod
    def _code(self, column: Column) -> Codes:
        """Return the bin of each value, or `OUTSIDE`; the code of a missing value is arbitrary."""

    @abstractmethod
    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        """Return start, stop and inversion of the known bins on which a literal with this kind's operators is true."""

    @property
    def listed(self) -> tuple[Value, ...]:
        """The value of each bin inside the domain; empty if the kind does not list its values."""
        return ()

    @property
    def spellings(self) -> tuple[tuple[Value, int], ...]:
        """Each declared value with its bin; empty if the kind does not list its values."""
        return tuple((value, code) for code, value in enumerate(self.listed))

    @property
    def number_codes(self) -> tuple[int | None, ...]:
        """Each listed value read as a whole number; None for text that spells no whole number."""
        return ()

    @property
    def is_bit(self) -> bool:
        """True if the values are 0 and 1, or true and false."""
        return False

    @property
    def span(self) -> tuple[float, float]:
        """The smallest and the largest number that a value may stand for; infinite if a value is not a number."""
        codes = [code for code in self.number_codes if code is not None]
        return (min(codes), max(codes)) if codes and len(codes) == len(self.number_codes) else (-np.inf, np.inf)

    @property
    def examples(self) -> tuple[Value, ...]:
        """Example values of the domain, at least one for each bin."""
        return self.listed

    @property
    def n_ordered(self) -> int:
        """The number of bins that have an order; 0 for kinds without an order."""
        return self.n_known if self.ordered else 0

    @property
    def indicators(self) -> tuple[tuple[str, Value | None], ...]:
        """Operator and operand of each indicator (a column of 0 and 1) for the values inside the domain."""
        return tuple(("=", value) for value in self.known_bins)

    @cached_property
    def bins(self) -> tuple[str, ...]:
        """Names of all bins."""
        return self.known_bins + ("missing",) * (self.missing == "bin") + ("outside",) * (self.outside == "bin")

    @property
    def n_bins(self) -> int:
        """The number of bins."""
        return self.n_known + (self.missing == "bin") + (self.outside == "bin")

    @property
    def form(self) -> Hashable:
        """Key that is equal for attributes with equivalent literals: the same number, order and extents."""
        return type(self), self.n_known, self.missing, self.outside

    def literals(self, name: str, *, negations: bool) -> tuple[Literal, ...]:
        """Return the literals on this attribute, no two of them equivalent, none true on all bins or on no bin."""
        proposed = *self._own_literals(name, negations=negations), *self._policy_literals(name, negations)
        if self.n_known > 2:  # then no two of the proposed literals are equivalent
            return proposed
        by_extent: dict[Extent, Literal] = {}
        for literal in proposed:
            by_extent.setdefault(self._extent(literal), literal)
        return tuple(literal for extent, literal in by_extent.items() if not extent.is_trivial)

    def literal_truth(self, kind: "Attribute", *, negations: bool) -> Mask:
        """Return the truth of the literals of `kind`, which has the same known bins, on the bins of this attribute.

        The shape is ``(n_literals, n_bins)``.
        """
        truth = [self.truth(literal) for literal in kind.literals("", negations=negations)]
        return np.array(truth, dtype=bool).reshape(-1, self.n_bins)

    def count_literals(self, *, negations: bool) -> int:
        """Return the number of `literals`."""
        if self.n_known <= 2:
            return len(self.literals("", negations=negations))
        return self._n_own_literals(negations=negations) + len(self._policy_literals("", negations))

    def literal_on(self, name: str, extent: Extent) -> Literal | None:
        """Return the literal that is true on exactly these bins, or None."""
        candidates = [*self._own_literals_on(name, extent), *self._policy_literals(name, negations=True)]
        return next((literal for literal in candidates if self._extent(literal) == extent), None)

    def _policy_literals(self, name: str, negations: bool) -> list[Literal]:
        literals = [Literal(name, "missing")] if self.missing == "bin" else []
        literals += [Literal(name, "known")] if self.missing == "bin" and negations else []
        return literals + ([Literal(name, "outside")] if self.outside == "bin" else [])

    def extent(self, literal: Literal) -> Extent:
        """Return the bins on which a literal is true.

        SchemaError if the attribute has no such literal, or if it is true on all bins or on no bin.
        """
        extent = self._extent(literal)
        if extent.is_trivial:
            problem = (
                f"the literal {literal.brief} is true on all bins or on no bin; use a literal that separates bins."
            )
            raise SchemaError(problem, attribute=literal.attribute)
        return extent

    def truth(self, literal: Literal) -> Mask:
        """Return `extent` as an array, shape ``(n_bins,)``."""
        return self.extent(literal).truth()

    def _extent(self, literal: Literal) -> Extent:
        known = self.n_known
        match literal.operator:  # the known bins on which it is true; its truth on missing and on outside values
            case "missing":
                run, missing, outside = (0, 0, False), True, False
            case "outside":
                run, missing, outside = (0, 0, False), False, True
            case "known":
                run, missing, outside = (0, known, False), False, True
            case operator if operator in self.operators:
                run, missing, outside = self._known_extent(literal), False, operator == "!="
            case operator:
                expected = f"operators of {self.kind} attributes are {', '.join(self.operators)}"
                raise SchemaError(f"{expected}; got {shown(operator)}.", attribute=literal.attribute)
        has_missing, has_outside = self.missing == "bin", self.outside == "bin"
        return Extent(known, *run, missing=missing if has_missing else None, outside=outside if has_outside else None)

    @property
    def missing_words(self) -> tuple[Value, ...]:
        """The values that mean "missing", spelled as in a `prepared` column."""
        return self.missing_values

    def prepared(self, column: Column) -> Column:
        """Return a column in which the declared `missing_values` are missing."""
        return column.without(self.missing_words)

    def encode(self, column: Column) -> BinCodes:
        """Return the bin of each row, shape ``(n_rows,)``.

        DomainError, which quotes no value, if the policies do not allow a value.
        """
        if self.derived is not None:
            self.derived.check_read(column)
        self.check_no_dates(column)
        return bins_of_codes(self, self.codes(self.prepared(column)), column.name)

    def mistakes_dates(self, column: Any) -> bool:
        """Return whether a column, in memory or not, has dates that would be read as days since 1970-01-01."""
        return column.holds_dates and self.cell_type in (CellType.NUMBER, CellType.TRUTH)

    def check_no_dates(self, column: Any) -> None:
        """Raise DomainError if a column has dates that would be read as days since 1970-01-01."""
        if self.mistakes_dates(column):
            raise DomainError(FOUND_DATES, column=column.name)

    def check_type(self, column: Column) -> None:
        """Raise DomainError if no value of the column's type is inside the domain."""
        self.check_no_dates(column)
        if column.is_text or column.values.dtype.kind != "b":
            return
        both = self.prepared(replace(column, values=np.arange(2, dtype=bool), missing=None))
        if (self.codes(both) == OUTSIDE).all():
            self.encode(both)

    def codes(self, column: Column) -> Codes:
        """Return the bin of each row, `OUTSIDE` or `MISSING`, before the policies; DomainError for another type."""
        codes = self._code(column)
        return codes if column.missing is None else np.where(column.missing, np.int32(MISSING), codes)

    @property
    @abstractmethod
    def domain(self) -> str:
        """The declared domain as text."""

    @property
    def details(self) -> str:
        """Cut points, policies and meaning as text to print after the domain."""
        text = ", missing: bin" if self.missing == "bin" else ""
        text += f" (also {listed(self.missing_values, MOST_SHOWN)})" if self.missing_values else ""
        text += f", outside: {self.outside}" if self.outside != "error" else ""
        text += f", monotone: {self.monotone}" if self.monotone else ""
        text += f"; {printable(self.derived.words)}" if self.derived else ""
        return text + (f"; {self.meaning}" if self.meaning else "")

    def values_of(self, literal: Literal) -> Sequence[Value]:  # noqa: ARG002 -- none are declared
        """Return the declared values on which a literal is true; empty for numbers, dates and plain booleans."""
        return ()

    def queried(self, literal: Literal) -> Sequence[Value]:
        """Return `values_of` and further values to compare with if rows are not checked against the domain."""
        return self.values_of(literal)

    def run_name(self, start: int, stop: int) -> str:  # noqa: ARG002 -- bins without an order come one by one
        """Return the name of the bins in ``range(start, stop)``."""
        return self.bins[start]

    def run_label(self, start: int, stop: int) -> str:
        """Return the name of these bins in a printed table."""
        return self.run_name(start, stop)

    def run_words(self, start: int, stop: int) -> str:
        """Return the name of these bins in a form to fill in."""
        return self.run_name(start, stop)

    @abstractmethod
    def run_literal(self, name: str, start: int, stop: int) -> Literal:
        """Return a literal that selects the bins in ``range(start, stop)`` if earlier bins are already excluded."""

    def normalised(self, literal: Literal) -> Literal:
        """Return an equivalent literal whose operands have the type of the domain's values."""
        return literal

    def refined_by(self, literal: Literal) -> "Attribute":  # noqa: ARG002 -- numbers are cut at its operands
        """Return the attribute with bins so fine that the literal is constant on each."""
        return self

    def coarse_bins(self, refined: "Attribute") -> list[int]:  # noqa: ARG002 -- numbers have finer bins
        """Return, for each bin of the refined attribute, the bin of this attribute that contains it."""
        return list(range(self.n_bins))

    def reads(self, column: Column) -> Mask:
        """Return which cells can be read as values of this kind, inside the domain or not."""
        is_boolean = not column.is_text and column.values.dtype.kind == "b"
        return np.full(len(column), not (is_boolean or self.mistakes_dates(column)))

    def typed(self, column: Column) -> pa.Array:
        """Return a column of text in the Arrow type of the values; missing values are NULL."""
        return self.prepared(column).arrow_text()

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        """Return random values, uniform over the domain."""
        return [self.listed[k] for k in rng.integers(len(self.listed), size=size)]

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as JSON-ready data without default values."""
        data: dict[str, Any] = {"kind": self.kind}
        for field in sorted(fields(self), key=lambda field: bool(field.kw_only)):
            if not self._is_default(field):
                value = getattr(self, field.name)
                value = value.to_dict() if isinstance(value, Derivation) else value
                data[field.name] = list(map(as_plain, value)) if isinstance(value, tuple) else as_plain(value)
        return data

    def _is_default(self, field: Field[Any]) -> bool:
        return getattr(self, field.name) == field.default


def _check_choice(key: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        near = near_miss(value, allowed)
        raise SchemaError(f"expected one of {', '.join(allowed)}, got {shown(value)}.{near}", key=key)


def check_values(key: str, values: object) -> None:
    problem = f"expected a list of text or numbers, got {shown(values)}; in YAML, quote the words yes, no, on and off."
    if isinstance(values, tuple) and all(isinstance(value, str) or is_number(value) for value in values):
        problem = values_problem(values)
    if problem:
        raise SchemaError(problem, key=key)


def _check_words(key: str, text: object) -> None:
    problem = None if text is None or (isinstance(text, str) and text) else f"expected text, got {shown(text)}."
    problem = problem or values_problem((text,))
    if problem:
        raise SchemaError(problem, key=key)


def bins_of_codes(attribute: Attribute, codes: Whole, name: str) -> BinCodes:
    """Return bins by the attribute's policies for `OUTSIDE` and `MISSING`; DomainError if a policy is ``error``."""
    missing, out = codes == MISSING, codes == OUTSIDE
    if missing.any() and attribute.missing == "error":
        problem = "some values are missing; fill them in, or declare `missing: bin` in the schema."
        raise DomainError(problem, column=name)
    if out.any() and attribute.outside != "bin":
        choices = " or ".join(f"`outside: {policy}`" for policy in attribute.outside_policies if policy != "error")
        wider = f"declare a wider domain{f' or {choices}' if choices else ''} in the schema."
        problem = f"some values are outside the declared domain ({attribute.domain}); correct them, or {wider}"
        if attribute.cell_type is CellType.WORD:
            problem += " A column of type boolean is read as the words true and false."
        raise DomainError(problem, column=name)
    bins = np.where(missing, attribute.n_known, np.where(out, attribute.n_bins - 1, codes))
    return bins.astype(np.min_scalar_type(attribute.n_bins - 1))
