"""The kinds of derivations: years since a date, the prefix of a code, a ratio, a sum of items."""

import datetime
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, ClassVar, Protocol, cast

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Floats, Mask
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import OUTSIDE
from hedgerow.schema.dates import Date
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.listed import Categorical
from hedgerow.schema.literals import is_number, values_problem
from hedgerow.schema.numbers import Integer, Numeric, Real
from hedgerow.tables.columns import Column, pc
from hedgerow.text.days import FIRST, LAST, Day, as_day
from hedgerow.text.messages import repeated, shown
from hedgerow.text.values import Value

MOST_ITEMS = 100  # the maximum number of items of a sum
LARGEST_ITEM = 10**6  # the largest absolute value of an item, for which sums are exact in float64
LARGEST, LEAST = 1e100, 1e-100
"""Bounds on the size of a ratio's numbers, so that no quotient overflows or underflows; smaller numbers count as 0."""
MOST_PREFIXES, LONGEST_PREFIX = 1000, 100  # the maximum number of prefixes of a mapping, and of characters of a prefix
WHOLE_BELOW = 10**15  # codes stored as floating point are read as text if they are whole and smaller in absolute value


class DerivationBackend(Protocol):
    """Backend that computes derivations: arrays, columns of an engine, SQL or Python."""

    def years_since(self, derived: "YearsSince", date: Any, /) -> Any:
        """Return the whole years from a date to the reference day."""

    def ratio(self, derived: "Ratio", /, *cells: Any) -> Any:
        """Return the ratio of two numbers."""

    def sum(self, derived: "Sum", /, *items: Any) -> Any:
        """Return the sum of items."""

    def prefix_of(self, derived: "Prefix", code: Any, /) -> Any:
        """Return the prefix of a code, or the value that it is mapped to."""


class _Number(Derivation):
    """Base class of derivations that compute numbers."""

    @property
    @abstractmethod
    def read_as(self) -> Numeric: ...

    def column(self, name: str, columns: Sequence[Column]) -> Column:
        """Return the computed column; a number is infinite if one of its cells is invalid."""
        cells, missing, invalid = zip(*map(self._read, columns), strict=True)
        values = np.asarray(self.render(_Arrays, cells), dtype=np.float64)
        bad = np.logical_or.reduce(invalid)
        empty = (np.logical_or.reduce(missing) | np.isnan(values)) & ~bad
        numbers = np.where(bad, np.inf, np.where(empty, 0.0, values))
        return Column(name, numbers, empty if empty.any() else None, date_system=columns[0].date_system)

    def _read(self, column: Column) -> tuple[Floats, Mask, Mask]:
        """Return the numbers of a column, which cells are missing, and which are invalid."""
        column = self.read_as.prepared(column)
        missing = column.is_missing
        invalid = ~missing & ~self.read_as.reads(column)
        empty = missing | invalid
        if empty.all():  # the type of an empty column may have no numbers
            return np.zeros(len(column)), missing, invalid
        readable = replace(column, missing=empty)
        outside = self.read_as.codes(readable) == OUTSIDE
        return self.read_as.numbers_in(readable), missing, invalid | (~empty & outside)


@dataclass(frozen=True)
class YearsSince(_Number):
    """Whole years from a date to a public reference day, counted like an age.

    A person born on 29 February becomes a year older on 1 March of a common year. For a date after the reference day
    the number of years is negative, and so outside a domain that starts at 0.

    Attributes
    ----------
    since : str
        The column of dates, in the years 1 to 9999.
    until : Day
        The reference day, given as a date or as text. Public.
    format : str or None
        The format of dates in text, with the same values as `Date.format`.

    Examples
    --------
    >>> from hedgerow.schema import Integer, YearsSince
    >>> print(Integer(0, 110, cuts=(17,), derived=YearsSince("birth", until="2026-01-01")).details)
    , cut at 17; years from birth to 2026-01-01
    """

    since: str
    until: str | datetime.date | Day
    format: str | None = None
    key: ClassVar[str] = "years_since"
    own: ClassVar[tuple[str, ...]] = ("since",)
    required: ClassVar[tuple[str, ...]] = ("until",)
    optional: ClassVar[tuple[str, ...]] = ("format", "missing_values")
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real")
    form: ClassVar[str] = "years from {since} to {until}"
    expected: ClassVar[str] = "dates (a date type, or text such as 1980-12-31 or in the declared `format`)"

    def __post_init__(self) -> None:
        until = as_day(self.until)
        if not (isinstance(until, Day) and FIRST <= until <= LAST):
            raise SchemaError(f"expected a date such as 2026-01-01, got {shown(self.until)}.", key="until")
        object.__setattr__(self, "until", until)
        super().__post_init__()

    def render(self, backend: DerivationBackend, cells: Sequence[Any]) -> Any:
        return backend.years_since(self, *cells)

    @property
    def read_as(self) -> Date:
        return Date(FIRST, LAST, (), missing="bin", missing_values=self.missing_values, format=self.format)

    def of_days(self, days: Any) -> Any:
        """Return the whole years since days, which are counted from 1970-01-01; arrays and expressions alike.

        In a calendar whose years begin in March, the leap day is the last day of a year. The whole years are then the
        difference of the years, minus one if the day of the year comes later.
        """
        later = _year_and_day(int(cast("Day", self.until)))
        return (later - _year_and_day(days) + _SHIFT * _IN_YEAR) // _IN_YEAR - _SHIFT


_SHIFT = 20_000  # years added so that no negative number is divided
_IN_YEAR = 512  # more than the number of days in a year


def _year_and_day(days: Any) -> Any:
    """Return 512 times the year, which begins in March, plus the day in it; Hinnant, *days_from_civil*."""
    days = days + 719_468  # since 0000-03-01
    in_era = days % 146_097  # an era of 400 years
    year = (in_era - in_era // 1_460 + in_era // 36_524 - in_era // 146_096) // 365
    day = in_era - (365 * year + year // 4 - year // 100)
    return (days // 146_097 * 400 + year) * _IN_YEAR + day


@dataclass(frozen=True)
class Ratio(_Number):
    """The ratio of the numbers in two columns, `numerator` and `denominator`; missing if the denominator is 0.

    The ratio is one division of float64, rounded to nearest on every engine. A ratio near a cut point therefore falls
    into the same bin everywhere. Numbers below 1e-100 in absolute value count as 0. Numbers above 1e100 in absolute
    value, and infinity, are errors.

    Examples
    --------
    >>> from hedgerow.schema import Ratio, Real
    >>> Real(0, 5, derived=Ratio("debt", "income")).to_dict()["derived"]
    {'ratio': ['debt', 'income']}
    """

    numerator: str
    denominator: str
    key: ClassVar[str] = "ratio"
    own: ClassVar[tuple[str, ...]] = ("numerator", "denominator")
    kinds: ClassVar[tuple[str, ...]] = ("real",)
    form: ClassVar[str] = "{numerator} / {denominator}"
    expected: ClassVar[str] = f"numbers of at most {LARGEST:g} in size"

    def render(self, backend: DerivationBackend, cells: Sequence[Any]) -> Any:
        return backend.ratio(self, *cells)

    @property
    def read_as(self) -> Real:
        return Real(-LARGEST, LARGEST, (), missing="bin", missing_values=self.missing_values)


@dataclass(frozen=True)
class Sum(_Number):
    """The sum of items that are whole numbers, such as the score of a questionnaire; missing if an item is missing.

    The `items` are 2 to 100 columns. `each` has the smallest and the largest value of an item, both at most 1,000,000
    in absolute value. Other values are errors.

    Examples
    --------
    >>> from hedgerow.schema import Integer, Sum
    >>> Integer(0, 9, derived=Sum(("q1", "q2", "q3"), each=(0, 3))).derived.words
    'sum of q1, q2, q3'
    """

    items: tuple[str, ...]
    each: tuple[int, int]
    key: ClassVar[str] = "sum"
    own: ClassVar[tuple[str, ...]] = ("items",)
    required: ClassVar[tuple[str, ...]] = ("each",)
    kinds: ClassVar[tuple[str, ...]] = ("integer", "real")
    expected: ClassVar[str] = "whole numbers from {each[0]} to {each[1]}"

    def __post_init__(self) -> None:
        if not isinstance(self.items, (list, tuple)) or not 2 <= len(self.items) <= MOST_ITEMS:
            raise SchemaError(f"expected a list of 2 to {MOST_ITEMS} columns, got {shown(self.items)}.", key="sum")
        is_pair = isinstance(self.each, (list, tuple)) and len(self.each) == 2
        if not is_pair or not all(is_number(end) and abs(end) <= LARGEST_ITEM for end in self.each):
            problem = "expected the smallest and the largest value of an item, such as [0, 3]"
            raise SchemaError(f"{problem}, at most {LARGEST_ITEM:,} in size; got {shown(self.each)}.", key="each")
        super().__post_init__()

    @property
    def columns(self) -> tuple[str, ...]:
        return self.items

    @property
    def words(self) -> str:
        return f"sum of {', '.join(self.items)}"

    def render(self, backend: DerivationBackend, cells: Sequence[Any]) -> Any:
        return backend.sum(self, *cells)

    @property
    def read_as(self) -> Integer:
        return Integer(*self.each, (), missing="bin", missing_values=self.missing_values)


@dataclass(frozen=True)
class Prefix(Derivation):
    """The first characters of a code, or the value that a mapping assigns to the code's longest declared prefix.

    Codes are text, whose surrounding white space is ignored, or whole numbers. A code shorter than `length` is its own
    prefix. A code without a declared prefix is outside the domain.

    Attributes
    ----------
    code : str
        The column of codes.
    length : int or None
        The number of characters, from 1 to 100. None if there is a mapping.
    mapping : mapping of str to tuple of str, or None; stored as a tuple of pairs
        The prefixes for each value of the attribute: at most 1,000 in total, each of at most 100 characters. If several
        prefixes match a code, the longest decides.

    Examples
    --------
    >>> from hedgerow.schema import Categorical, Prefix
    >>> chapters = {"infectious": ["A", "B"], "neoplasm": ["C", "D"], "blood": ["D5", "D6"]}
    >>> Categorical(tuple(chapters), derived=Prefix("icd", mapping=chapters)).derived.values_of["D5"]
    'blood'
    """

    code: str
    length: int | None = None
    mapping: Mapping[str, Sequence[str]] | tuple[tuple[str, tuple[str, ...]], ...] | None = None
    key: ClassVar[str] = "prefix_of"
    own: ClassVar[tuple[str, ...]] = ("code",)
    optional: ClassVar[tuple[str, ...]] = ("length", "mapping", "missing_values")
    kinds: ClassVar[tuple[str, ...]] = ("categorical", "ordered")
    form: ClassVar[str] = "by the prefix of {code}"
    expected: ClassVar[str] = "text or whole numbers"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.length is None) == (self.mapping is None):
            problem = "both" if self.mapping is not None else "neither"
            raise SchemaError(f"prefix_of needs either `length` or `mapping`, got {problem}.", key="derived")
        if self.mapping is not None:
            object.__setattr__(self, "mapping", _mapped(self.mapping))
        elif type(self.length) is not int or not 1 <= self.length <= LONGEST_PREFIX:
            problem = f"expected a whole number from 1 to {LONGEST_PREFIX}, got {shown(self.length)}."
            raise SchemaError(problem, key="length")

    @cached_property
    def values_of(self) -> dict[str, str]:
        """The value of each prefix, the longest prefixes first; empty without a mapping."""
        mapped = cast("tuple[tuple[str, tuple[str, ...]], ...]", self.mapping or ())
        pairs = [(prefix, value) for value, prefixes in mapped for prefix in prefixes]
        return dict(sorted(pairs, key=lambda pair: -len(pair[0])))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the mapped prefixes, in decreasing order."""
        return tuple(dict.fromkeys(map(len, self.values_of)))

    @cached_property
    def outside(self) -> str:
        """Text that stands for a code without a declared prefix; it is not a value of the attribute."""
        return _unlike([*self.values_of.values(), "-" * (self.length or 0)])

    def render(self, backend: DerivationBackend, cells: Sequence[Any]) -> Any:
        return backend.prefix_of(self, *cells)

    @property
    def read_as(self) -> Categorical:
        """Text or whole numbers; only missing values are distinguished from other values."""
        known = (_unlike(self.missing_values),)
        return Categorical(known, missing="bin", outside="bin", missing_values=self.missing_values)

    def check(self, kind: str, values: Sequence[Value]) -> None:
        super().check(kind, values)
        words = set(map(str, values))
        if self.mapping is not None and {*self.values_of.values()} != words:
            raise SchemaError("the mapping must have exactly the attribute's `values` as its keys.", key="mapping")
        if self.length is not None and any(len(word) > self.length for word in words):
            problem = f"a value is longer than length={self.length} and cannot be a prefix; increase the length."
            raise SchemaError(problem, key="length")

    def column(self, name: str, columns: Sequence[Column]) -> Column:
        (codes,) = columns
        if codes.holds_dates or not (codes.is_text or codes.values.dtype.kind in "iuf"):
            raise self.refusal(name)
        codes = codes.without(self.missing_values)
        return Column.from_arrow(guarded(lambda: self._prefixes(codes), self.refusal(name)), name)

    def _prefixes(self, codes: Column) -> pa.Array:
        words, unread = codes.values, np.zeros(len(codes), dtype=bool)
        if not codes.is_text:
            if words.dtype.kind == "f":
                unread = ~((np.floor(words) == words) & (np.abs(words) < WHOLE_BELOW))
                words = np.where(unread, 0, words).astype(np.int64)
            words = pa.array(words).cast(pa.large_string())
        prefixes = self.render(_Arrays, [pa.array(replace(codes, values=words).words(), pa.large_string())])
        return pc.if_else(pa.array(codes.is_missing), None, pc.if_else(pa.array(unread), self.outside, prefixes))


def _mapped(mapping: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a mapping of values to prefixes as pairs; SchemaError for other data, or too many prefixes."""
    by_value = dict(mapping) if isinstance(mapping, (Mapping, tuple)) else {}
    if not by_value or not all(isinstance(prefixes, (list, tuple)) for prefixes in by_value.values()):
        problem = f"expected a mapping of values to lists of prefixes, got {shown(mapping)}."
        raise SchemaError(problem, key="mapping")
    size = max(len(by_value), sum(map(len, by_value.values())))
    if size > MOST_PREFIXES:
        raise SchemaError(f"expected at most {MOST_PREFIXES:,} prefixes in total, got {size:,}.", key="mapping")
    pairs = tuple((str(value), tuple(map(_prefix, prefixes))) for value, prefixes in by_value.items())
    every = [prefix for _, prefixes in pairs for prefix in prefixes]
    if not all(prefixes for _, prefixes in pairs):
        raise SchemaError("every value needs at least one prefix.", key="mapping")
    if twice := repeated(every):
        raise SchemaError(f"every prefix may be listed once, got {shown(twice[0])} more than once.", key="mapping")
    return pairs


def _prefix(text: object) -> str:
    word = str(text) if type(text) is int else text
    if not isinstance(word, str) or len(word) > LONGEST_PREFIX or values_problem((word,)):
        problem = f"expected prefixes of 1 to {LONGEST_PREFIX} characters, got {shown(text)}."
        raise SchemaError(problem, key="mapping")
    return word


def _unlike(values: Sequence[Value]) -> str:
    """Return text that differs from all values, since it is longer than each."""
    return "-" * (1 + max((len(str(value)) for value in values), default=0))


class _Arrays:
    """Backend that computes derivations of NumPy arrays and Arrow text."""

    @staticmethod
    def years_since(derived: YearsSince, days: Floats) -> Any:
        return derived.of_days(days.astype(np.int64))

    @staticmethod
    def ratio(derived: Ratio, *cells: Floats) -> Any:  # noqa: ARG004 -- two numbers are all
        above, below = (np.where(np.abs(cell) < LEAST, 0.0, cell) for cell in cells)
        return np.divide(above, below, out=np.full(len(above), np.nan), where=below != 0)

    @staticmethod
    def sum(derived: Sum, *items: Floats) -> Any:  # noqa: ARG004 -- the items are all
        return reduce(np.add, items)

    @staticmethod
    def prefix_of(derived: Prefix, code: pa.Array) -> Any:
        if derived.length is not None:
            return pc.utf8_slice_codeunits(code, 0, derived.length)
        prefixes, places = pa.array(list(derived.values_of), pa.large_string()), pa.scalar(None, pa.int32())
        for length in derived.lengths:
            places = pc.coalesce(places, pc.index_in(pc.utf8_slice_codeunits(code, 0, length), prefixes))
        values = pa.array([*derived.values_of.values(), derived.outside], pa.large_string())
        return values.take(pc.fill_null(places, len(prefixes)))


DERIVATIONS: dict[str, type[Derivation]] = {kind.key: kind for kind in (YearsSince, Prefix, Ratio, Sum)}
"""The kinds of derivations by their keys in a file."""
