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
from hedgerow.text.messages import shown
from hedgerow.text.values import Value

MOST_ITEMS = 100  # the most items of a sum
LARGEST_ITEM = 10**6  # the largest item of a sum, in size: sums are exact in float64
LARGEST, LEAST = 1e100, 1e-100
"""The largest number of a ratio, in size, and the least, below which it counts as 0: no quotient over- or underflow."""
MOST_PREFIXES, LONGEST_PREFIX = 1000, 100  # the most prefixes of a mapping, and the most characters of one
WHOLE_BELOW = 10**15  # codes that are floating-point numbers are read as text if they are whole, and below it in size


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
    """Base class of derivations of numbers."""

    @property
    @abstractmethod
    def read_as(self) -> Numeric: ...

    def column(self, name: str, columns: Sequence[Column]) -> Column:
        """Return the computed column, infinite where a cell is refused."""
        cells, missing, refused = zip(*map(self._read, columns), strict=True)
        values = np.asarray(self.render(_Arrays, cells), dtype=np.float64)
        bad = np.logical_or.reduce(refused)
        empty = (np.logical_or.reduce(missing) | np.isnan(values)) & ~bad
        found = np.where(bad, np.inf, np.where(empty, 0.0, values))
        return Column(name, found, empty if empty.any() else None, date_system=columns[0].date_system)

    def _read(self, column: Column) -> tuple[Floats, Mask, Mask]:
        """Return the numbers of a column, where it is missing, and where it holds what is refused."""
        column = self.read_as.prepared(column)
        missing = column.is_missing
        refused = ~missing & ~self.read_as.reads(column)
        empty = missing | refused
        if empty.all():  # then it may be of a type that has no numbers
            return np.zeros(len(column)), missing, refused
        kept = replace(column, missing=empty)
        return self.read_as.numbers_in(kept), missing, refused | (~empty & (self.read_as.codes(kept) == OUTSIDE))


@dataclass(frozen=True)
class YearsSince(_Number):
    """Whole years from a date to a public reference day, as people count their age.

    Who was born on 29 February is a year older on 1 March of a common year. Of a date after the reference day the years
    are negative, and outside a domain from 0 on.

    Attributes
    ----------
    since : str
        The column of dates, of the years 1 to 9999.
    until : Day
        The reference day, given as a date or as text. Public.
    format : str or None
        The format of dates in text, as that of `Date`.

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
    expected: ClassVar[str] = "dates, as a column of type date or text such as 1980-12-31 or in the declared format,"

    def __post_init__(self) -> None:
        until = as_day(self.until)
        if not (isinstance(until, Day) and FIRST <= until <= LAST):
            raise SchemaError(f"expected a date, as in 2026-01-01, got {shown(self.until)}.", key="until")
        object.__setattr__(self, "until", until)
        super().__post_init__()

    def render(self, backend: DerivationBackend, cells: Sequence[Any]) -> Any:
        return backend.years_since(self, *cells)

    @property
    def read_as(self) -> Date:
        return Date(FIRST, LAST, (), missing="bin", missing_values=self.missing_values, format=self.format)

    def of_days(self, days: Any) -> Any:
        """Return the years since days that are counted from 1970-01-01, as whole numbers of any kind of arithmetic.

        Years that begin in March end with the leap day: whole years are a difference of years, less one if the day of
        the year is later.
        """
        later = _year_and_day(int(cast("Day", self.until)))
        return (later - _year_and_day(days) + _SHIFT * _IN_YEAR) // _IN_YEAR - _SHIFT


_SHIFT = 20_000  # years, so that nothing below 0 is divided
_IN_YEAR = 512  # more than the days of a year


def _year_and_day(days: Any) -> Any:
    """Return 512 times the year, which begins in March, plus the day in it; Hinnant, *days_from_civil*."""
    days = days + 719_468  # since 0000-03-01
    in_era = days % 146_097  # an era of 400 years
    year = (in_era - in_era // 1_460 + in_era // 36_524 - in_era // 146_096) // 365
    day = in_era - (365 * year + year // 4 - year // 100)
    return (days // 146_097 * 400 + year) * _IN_YEAR + day


@dataclass(frozen=True)
class Ratio(_Number):
    """The ratio of the numbers in two columns, `numerator` and `denominator`: missing where the latter is 0.

    It is one division of float64, which every engine rounds to the nearest: a ratio that is close to a cut point is on
    the same side everywhere. Numbers below 1e-100 in size count as 0; those above 1e100 are refused, as infinity is.

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
    """The sum of items that are whole numbers, as the score of a questionnaire: missing where an item is.

    The `items` are 2 to 100 columns. The values of `each` are from the least to the largest that are given, at most
    1,000,000 in size; others are refused.

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
            raise SchemaError(f"expected a list of 2 to {MOST_ITEMS} columns.", key="sum")
        fits = isinstance(self.each, (list, tuple)) and len(self.each) == 2
        if not fits or not all(is_number(end) and abs(end) <= LARGEST_ITEM for end in self.each):
            problem = "expected the least and the largest value of an item, as in [0, 3]"
            raise SchemaError(f"{problem}, at most {LARGEST_ITEM:,} in size.", key="each")
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
    """The first characters of a code, or the value that its longest declared prefix is mapped to.

    Codes are text, without the white space around it, or whole numbers. A code that is shorter than `length` is its own
    prefix; one without a declared prefix is outside the domain.

    Attributes
    ----------
    code : str
        The column of codes.
    length : int or None
        How many characters, 1 to 100; or else there is a mapping.
    mapping : mapping of str to tuple of str, or None; kept as a tuple of pairs
        For each value of the attribute, the prefixes of its codes: at most 1,000 in all, of at most 100 characters. The
        longest prefix of a code decides.

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
            raise SchemaError("expected either a length or a mapping, got both or none.", key="derived")
        if self.mapping is not None:
            object.__setattr__(self, "mapping", _mapped(self.mapping))
        elif type(self.length) is not int or not 1 <= self.length <= LONGEST_PREFIX:
            raise SchemaError(f"expected a whole number from 1 to {LONGEST_PREFIX}.", key="length")

    @cached_property
    def values_of(self) -> dict[str, str]:
        """The value that each prefix is mapped to, the longest prefixes first; none without a mapping."""
        mapped = cast("tuple[tuple[str, tuple[str, ...]], ...]", self.mapping or ())
        pairs = [(prefix, value) for value, prefixes in mapped for prefix in prefixes]
        return dict(sorted(pairs, key=lambda pair: -len(pair[0])))

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths of the prefixes of a mapping, the longest first."""
        return tuple(dict.fromkeys(map(len, self.values_of)))

    @cached_property
    def outside(self) -> str:
        """Text that is no value of the attribute: what a code is that has no prefix."""
        return _unlike([*self.values_of.values(), "-" * (self.length or 0)])

    def render(self, backend: DerivationBackend, cells: Sequence[Any]) -> Any:
        return backend.prefix_of(self, *cells)

    @property
    def read_as(self) -> Categorical:
        """Text or whole numbers, of which only the missing ones are told apart."""
        known = (_unlike(self.missing_values),)
        return Categorical(known, missing="bin", outside="bin", missing_values=self.missing_values)

    def check(self, kind: str, values: Sequence[Value]) -> None:
        super().check(kind, values)
        words = set(map(str, values))
        if self.mapping is not None and {*self.values_of.values()} != words:
            raise SchemaError("expected prefixes for each of the values, and for no other.", key="mapping")
        if self.length is not None and any(len(word) > self.length for word in words):
            raise SchemaError("expected a length of at least that of each of the values.", key="length")

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
        found = self.render(_Arrays, [pa.array(replace(codes, values=words).words(), pa.large_string())])
        return pc.if_else(pa.array(codes.is_missing), None, pc.if_else(pa.array(unread), self.outside, found))


def _mapped(mapping: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return a mapping of values to prefixes as pairs; SchemaError if it is none, or too large."""
    given = dict(mapping) if isinstance(mapping, (Mapping, tuple)) else {}
    if not given or not all(isinstance(prefixes, (list, tuple)) for prefixes in given.values()):
        raise SchemaError("expected a mapping of values to lists of prefixes.", key="mapping")
    if len(given) > MOST_PREFIXES or sum(map(len, given.values())) > MOST_PREFIXES:
        raise SchemaError(f"expected at most {MOST_PREFIXES:,} prefixes in all, got more.", key="mapping")
    found = {str(value): tuple(map(_prefix, prefixes)) for value, prefixes in given.items()}
    every = [prefix for prefixes in found.values() for prefix in prefixes]
    if not all(found.values()) or len(set(every)) < len(every):
        raise SchemaError("expected each prefix once, and one or more for each value.", key="mapping")
    return tuple(found.items())


def _prefix(text: object) -> str:
    word = str(text) if type(text) is int else text
    if not isinstance(word, str) or len(word) > LONGEST_PREFIX or values_problem((word,)):
        raise SchemaError(f"expected prefixes of 1 to {LONGEST_PREFIX} characters, got another.", key="mapping")
    return word


def _unlike(values: Sequence[Value]) -> str:
    """Return text that is none of some values: longer than each."""
    return "-" * (1 + max((len(str(value)) for value in values), default=0))


class _Arrays:
    """Derivations of arrays of NumPy, and of text of Arrow."""

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
        prefixes, found = pa.array(list(derived.values_of), pa.large_string()), pa.scalar(None, pa.int32())
        for length in derived.lengths:
            found = pc.coalesce(found, pc.index_in(pc.utf8_slice_codeunits(code, 0, length), prefixes))
        values = pa.array([*derived.values_of.values(), derived.outside], pa.large_string())
        return values.take(pc.fill_null(found, len(prefixes)))


DERIVATIONS: dict[str, type[Derivation]] = {kind.key: kind for kind in (YearsSince, Prefix, Ratio, Sum)}
"""The kinds by the key that says in a file which it is."""
