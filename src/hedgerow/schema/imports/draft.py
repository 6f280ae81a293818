"""Draft schemas: the columns of an existing description of a table, with marks for missing information."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from hedgerow.boundary.durable import write_whole
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.contributions import names_key, plain_name
from hedgerow.schema.files import mapping_text
from hedgerow.schema.grid import SCHEMA_VERSION
from hedgerow.schema.literals import is_number
from hedgerow.schema.schema import Schema
from hedgerow.schema.serialize import FILL_IN, KINDS
from hedgerow.text.days import FIRST, LAST, Day, as_day, as_plain
from hedgerow.text.messages import repeated
from hedgerow.text.values import LONGEST_NUMBER, LONGEST_TEXT, NUMBER, plain_word, printable, value_text

_TAG = re.compile("<[^<>]{1,200}>")
_NAMED = {"true", "false"}
ColumnKind = Literal["boolean", "categorical", "date", "integer", "ordered", "real"]


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The values that a column may have, by the conjunction (``&``) or disjunction (``|``) of declarations."""

    # bounds that all hold; each has a flag that is True if the bound itself is allowed
    lows: tuple[tuple[float, bool], ...] = ()
    highs: tuple[tuple[float, bool], ...] = ()
    values: tuple[Any, ...] | None = None  # the allowed values; None if they are not listed

    def __and__(self, other: Self) -> Self:
        values = self.values if other.values is None else other.values
        if self.values is not None and other.values is not None:
            values = tuple(value for value in self.values if value in other.values)
        both = type(self)(lows=self.lows + other.lows, highs=self.highs + other.highs)
        return both if values is None else replace(both, values=tuple(filter(both._has, values)))

    def _has(self, value: Any) -> bool:
        """Return whether the bounds allow a value; they allow all text and booleans."""
        low, high = self._ends
        if isinstance(value, (bool, str)) or not is_number(value):
            return True
        is_above = low is None or value > low[0] or (low[1] and value == low[0])
        return is_above and (high is None or value < high[0] or (high[1] and value == high[0]))

    def __or__(self, other: Self) -> Self:
        if self.values is not None and other.values is not None:
            return type(self)(values=self.values + other.values)
        (low, high), (other_low, other_high) = self._ends, other._ends
        return type(self)(
            lows=(min(low, other_low, key=_tightness),) if low and other_low else (),
            highs=(max(high, other_high),) if high and other_high else (),
        )

    @property
    def _ends(self) -> tuple[tuple[float, bool] | None, tuple[float, bool] | None]:
        """The tightest bounds, or the smallest and the largest listed number; None without a bound."""
        if self.values is None:
            return max(self.lows, key=_tightness, default=None), min(self.highs, default=None)
        numbers = [number for number in map(_number_or_day, self.values) if number is not None]
        if not numbers or len(numbers) < len(self.values):
            return None, None
        return (min(numbers), True), (max(numbers), True)

    def low(self, *, whole: bool, times: bool = False) -> float | None:
        """Return the largest lower bound: for whole numbers the first allowed number, for times the first date."""
        bounds = [_inside(value, allowed or times, whole, 1) for value, allowed in self.lows]
        return max(bounds, default=None)

    def high(self, *, whole: bool) -> float | None:
        """Return the smallest upper bound; for whole numbers, the last allowed number."""
        bounds = [_inside(value, allowed, whole, -1) for value, allowed in self.highs]
        return min(bounds, default=None)


NO_LIMITS = Limits()


def _tightness(end: tuple[float, bool]) -> tuple[float, bool]:
    return end[0], not end[1]


def _number_or_day(value: object) -> float | None:
    day = _day(value)
    return bound(value, whole=False) if day is None else day


def _inside(value: float, allowed: bool, whole: bool, step: int) -> float:
    if not whole:
        return value
    nearest = int(-(-value // 1)) if step > 0 else int(value // 1)
    nearest = nearest if allowed or nearest != value else nearest + step
    return Day(min(max(nearest, FIRST), LAST)) if isinstance(value, Day) else nearest


@dataclass(frozen=True, kw_only=True)
class DraftColumn:
    """A column of a draft schema; None, or (), stands for information that is missing in its source.

    Attributes
    ----------
    name : str
        The name of the column.
    kind : {"boolean", "categorical", "date", "integer", "ordered", "real"} or None
        The kind of attribute.
    values : tuple of str or int
        The values of a category; an ordered category has them in its order.
    low, high : float or None
        The bounds of a number or date.
    true_values, false_values : tuple of str or int
        The words of a boolean, if it has its own words.
    format : str or None
        The format of a date in text, as in `Date`; None for ``YYYY-MM-DD``.
    may_be_missing : bool
        Whether values may be missing.
    missing_values : tuple of str or int or float
        Values that mean "missing".
    description, unit, source : str or None
        Meaning, unit of measurement and source as text for people.
    """

    name: str
    kind: ColumnKind | None = None
    values: tuple[str | int, ...] = ()
    low: float | None = None
    high: float | None = None
    true_values: tuple[str | int, ...] = ()
    false_values: tuple[str | int, ...] = ()
    format: str | None = None
    may_be_missing: bool = False
    missing_values: tuple[str | int | float, ...] = ()
    description: str | None = None
    unit: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.name.strip())
        for key in ("description", "unit", "source"):
            object.__setattr__(self, key, words(getattr(self, key)))
        tokens = values_of(self.missing_values)
        missing = {plain_word(value) for value in tokens}
        if self.kind == "boolean" and not self.true_values:
            tokens = tuple(value for value in tokens if plain_word(value).lower() not in {*_NAMED, "0", "1"})
        object.__setattr__(self, "missing_values", tokens)
        for key in ("values", "true_values", "false_values"):
            values = tuple(value for value in values_of(getattr(self, key)) if plain_word(value) not in missing)
            object.__setattr__(self, key, values)
        if self.kind == "ordered" and len(self.values) == 1:  # all other values mean "missing"
            object.__setattr__(self, "kind", "categorical")

    def to_dict(self) -> dict[str, Any]:
        """Return the column as an attribute of a schema file, with `FILL_IN` for unknown values."""
        data: dict[str, Any] = {"kind": FILL_IN if self.kind is None else self.kind}
        for key in KINDS[self.kind].required if self.kind else ():
            value = getattr(self, key)
            data[key] = FILL_IN if value in (None, ()) else list(value) if key == "values" else as_plain(value)
        if self.kind == "boolean" and self.true_values and self.false_values:
            data |= {"true_values": list(self.true_values), "false_values": list(self.false_values)}
        if self.kind == "date" and self.format:
            data["format"] = self.format
        if self.may_be_missing or self.missing_values:
            data["missing"] = "bin"
        if self.missing_values:
            data["missing_values"] = list(self.missing_values)
        texts = {key: getattr(self, key) for key in ("description", "unit", "source")}
        return data | {key: text for key, text in texts.items() if text}

    def to_label(self) -> dict[str, Any]:
        """Return the column as a label of a schema file, with `FILL_IN` for unknown values.

        Reals, and whole numbers with a bound, become a number to predict; all other kinds become classes.
        """
        ends = {"low": self.low, "high": self.high}
        is_number = self.kind == "real" or (self.kind == "integer" and ends != {"low": None, "high": None})
        if is_number and not self.classes:
            return {"name": self.name} | {key: FILL_IN if value is None else value for key, value in ends.items()}
        order = {"ordered": True} if self.kind == "ordered" else {}
        return {"name": self.name, "classes": list(self.classes) or FILL_IN} | order

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes if this column is the label; empty if they are unknown."""
        if self.kind == "boolean":
            own = (*self.false_values, *self.true_values)
            return (0, 1) if not own else own if len(own) == 2 else ()
        if self.kind == "integer" and (self.low, self.high) == (0, 1):
            return (0, 1)
        if self.kind not in ("categorical", "ordered") or len(self.values) < 2:
            return ()
        return self.values if len({type(value) for value in self.values}) == 1 else tuple(map(str, self.values))


@dataclass(frozen=True)
class Draft:
    """A draft of a schema, in which a person must fill in the information that its source does not state.

    One of the `columns` may be the `label`. Columns in `left_out` cannot be attributes; each has a reason. The `origin`
    names the source, such as ``REDCap data dictionary``.

    Examples
    --------
    >>> draft = Draft((DraftColumn(name="age", kind="integer", low=0), DraftColumn(name="ill", kind="boolean")))
    >>> draft.gaps
    (('age', 'high'),)
    """

    columns: tuple[DraftColumn, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    origin: str = ""
    label: str | None = None

    def __post_init__(self) -> None:
        twice = repeated(column.name for column in self.columns)
        if twice:
            several = tuple((name, "described more than once; describe each column once") for name in twice)
            object.__setattr__(self, "columns", tuple(column for column in self.columns if column.name not in twice))
            object.__setattr__(self, "left_out", self.left_out + several)

    @classmethod
    def of(cls, described: Iterable[DraftColumn | tuple[str, str]], origin: str, expected: str) -> Self:
        """Return the draft of columns, and of left-out columns with reasons; SchemaError if all are left out."""
        parts = list(described)
        columns = tuple(part for part in parts if isinstance(part, DraftColumn))
        left_out = tuple(part for part in parts if not isinstance(part, DraftColumn))
        if not columns:
            raise SchemaError(f"expected a {expected} that can be an attribute, got none.")
        return cls(columns, left_out, origin)

    def labelled(self, name: str) -> Self:
        """Return the draft with this column as the label; DomainError if it does not exist or has dates."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise DomainError.absent(name, names)
        draft = replace(self, label=name)
        if draft._label.kind == "date":
            problem = "a date cannot be the label; convert it into days since a public date, or into classes."
            raise DomainError(problem, column=name)
        return draft

    def completed(self, column: DraftColumn) -> Self:
        """Return the draft in which this column replaces the column of the same name."""
        return replace(self, columns=tuple(column if column.name == old.name else old for old in self.columns))

    @property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        """The columns and keys that a person must fill in."""
        label = [] if self.label is None else [(self.label, self._label.to_label())]
        described = [*label, *((column.name, column.to_dict()) for column in self._attributes)]
        return tuple((name, key) for name, data in described for key, value in data.items() if value == FILL_IN)

    @property
    def _label(self) -> DraftColumn:
        return next(column for column in self.columns if column.name == self.label)

    @property
    def _attributes(self) -> list[DraftColumn]:
        return [column for column in self.columns if column.name != self.label]

    def to_dict(self) -> dict[str, Any]:
        """Return the draft as the data of a schema file, with `FILL_IN` for unknown values."""
        data: dict[str, Any] = {"version": SCHEMA_VERSION}
        if self.label is not None:
            data["label"] = self._label.to_label()
        return data | {"attributes": {column.name: column.to_dict() for column in self._attributes}}

    def schema(self) -> Schema:
        """Return the schema; SchemaError with all gaps if there are any."""
        return Schema.from_dict(self.to_dict())

    def save(self, path: str | PathLike[str]) -> None:
        """Write the draft to a file like `Schema.save`; in YAML, comments list the gaps."""
        text = mapping_text(path, self.to_dict())
        comments = "" if Path(path).suffix.lower() == ".json" else "".join(f"# {line}\n" for line in self.notes)
        write_whole(path, comments + text)

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines on the draft's origin, its gaps, and the left-out columns with reasons."""
        by_name: dict[str, list[str]] = {}
        for name, key in self.gaps:
            by_name.setdefault(name, []).append(key)
        return (
            *([f"From: {printable(self.origin)}"] if self.origin else []),
            *(f"Fill in: {_shown(name)}: {', '.join(keys)}" for name, keys in by_name.items()),
            *(f"Left out: {_shown(name)}: {printable(reason)}" for name, reason in self.left_out),
        )


def _shown(name: str) -> str:
    return printable(json.dumps(name, ensure_ascii=False)) if re.search(r"[^\w ]", name) else name


def words(text: object) -> str | None:
    """Return text without markup on one line, shortened to the limit of a schema; None if there is no text."""
    if not isinstance(text, str):
        return None
    plain = " ".join(_TAG.sub(" ", text[: 4 * LONGEST_TEXT]).replace("\0", " ").split())
    return plain[:LONGEST_TEXT].strip() or None


def values_of(values: Iterable[object]) -> tuple[Any, ...]:
    """Return distinct values as text and whole numbers, without blank text, null, lists and mappings."""
    by_text: dict[str, Any] = {}
    for value in values:
        if value is None or isinstance(value, (list, dict)):
            continue
        plain: Any = str(value).lower() if isinstance(value, bool) else value
        if isinstance(plain, float):
            plain = int(plain) if plain.is_integer() and abs(plain) < 2**53 else value_text(plain)
        plain = plain.strip() if isinstance(plain, str) else plain
        if plain != "":
            by_text.setdefault(plain_word(plain), plain)
    return tuple(by_text.values())


def bound(value: object, *, whole: bool) -> float | None:
    """Return a bound as a finite number, whole if required; None for any other value."""
    if isinstance(value, str):
        text = value.strip()
        is_number_text = len(text) <= LONGEST_NUMBER and re.fullmatch(NUMBER, text)
        value = None if not is_number_text else int(text) if re.fullmatch("[-+]?[0-9]+", text) else float(text)
    if not is_number(value) or isinstance(value, Day):
        return None
    number: Any = value
    return (int(number) if float(number).is_integer() else None) if whole else number


def limits_between(data: Mapping[str, Any], *keys: str) -> Limits:
    """Return the bounds, numbers or dates, under four keys: minimum, excluded minimum, maximum, excluded maximum."""
    least, above, largest, below = (_number_or_day(data.get(key)) for key in keys)
    lows, highs = ((least, True), (above, False)), ((largest, True), (below, False))
    return Limits(
        lows=tuple((value, allowed) for value, allowed in lows if value is not None),
        highs=tuple((value, allowed) for value, allowed in highs if value is not None),
    )


def typed_column(
    name: str, kind: ColumnKind | None, values: Sequence[object], limits: Limits, *, times: bool = False, **fields: Any
) -> DraftColumn:
    """Return a column of listed values if there are any, else of the kind, with bounds if it is a number or date."""
    if values:
        return category_or_boolean(name, values, **fields)
    if kind not in ("date", "integer", "real"):
        return DraftColumn(name=name, kind=kind, **fields)
    whole = kind != "real"
    return bounded_column(name, kind, limits.low(whole=whole, times=times), limits.high(whole=whole), **fields)


def bounded_column(name: str, kind: ColumnKind, low: object, high: object, **fields: Any) -> DraftColumn:
    first, last = (_day(end) if kind == "date" else bound(end, whole=kind == "integer") for end in (low, high))
    return DraftColumn(name=name, kind=kind, low=first, high=last, **fields)


def _day(value: object) -> Day | None:
    day = as_day(value.strip() if isinstance(value, str) else value)
    return day if isinstance(day, Day) else None


def category_or_boolean(name: str, values: Sequence[object], *, ordered: bool = False, **fields: Any) -> DraftColumn:
    """Return a boolean column if the values are true and false, else a category; blank text means missing."""
    plain = values_of(values)
    if any(isinstance(value, str) and not value.strip() for value in values):
        fields["may_be_missing"] = True
    if {plain_word(value).lower() for value in plain} == _NAMED:
        return DraftColumn(name=name, kind="boolean", **fields)
    return DraftColumn(name=name, kind="ordered" if ordered else "categorical", values=plain, **fields)


_AS_TEXT = r"(.* )?(name|surname|email|phone|address|street|comment|notes?)"
_AS_TIME = r"(.* )?(time|timestamp|datetime)( .*)?|.* at"
_CATEGORY = {"kind": "categorical"}
_SUGGESTED: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"(is|has|was|had|does|can) .*|.* (flag|yn|yes no)|smoker|alive|dead|died|deceased", {"kind": "boolean"}),
    (r"(.* )?(date|dob|birthday)( .*)?", {"kind": "date"}),
    (r"(.* )?age( .*)?", {"kind": "integer", "low": 0, "high": 120, "unit": "years"}),
    (r"(.* )?year( .*)?", {"kind": "integer", "low": 1900, "high": 2100}),
    (r"(.* )?month", {"kind": "integer", "low": 1, "high": 12}),
    (r"(.* )?weekday", {"kind": "integer", "low": 1, "high": 7}),
    (r"(.* )?hour", {"kind": "integer", "low": 0, "high": 23}),
    (r"(.* )?(percent|percentage|pct)( .*)?", {"kind": "real", "low": 0, "high": 100}),
    (r"(.* )?(probability|share|fraction|proportion)( .*)?", {"kind": "real", "low": 0, "high": 1}),
    (r"(.* )?(bmi|body mass index)( .*)?", {"kind": "real", "low": 5, "high": 100}),
    (r"(height|stature)( cm)?", {"kind": "real", "low": 20, "high": 250, "unit": "cm"}),
    (r"weight( kg)?", {"kind": "real", "low": 0, "high": 400, "unit": "kg"}),
    (r"(body )?temp(erature)?", {"kind": "real", "low": 30, "high": 45, "unit": "degrees Celsius"}),
    (r"(n|num|number|count|total)( of)? .*|.* (count|number)|visits|children", {"kind": "integer", "low": 0}),
    (r"sex|gender|(.* )?(group|type|kind|class|category|status|stage|grade|ward|region|country)", _CATEGORY),
    (r"(.* )?(amount|price|cost|income|salary|dose|score|rate|level|length|size)( .*)?", {"kind": "real"}),
)


def suggested(name: str) -> DraftColumn | None:
    """Return the column that a name suggests; None if it suggests an identifier, free text or a time."""
    plain = plain_name(name)
    if names_key(name) or re.fullmatch(f"{_AS_TEXT}|{_AS_TIME}", plain):
        return None
    fields = next((fields for pattern, fields in _SUGGESTED if re.fullmatch(pattern, plain)), {})
    return DraftColumn(name=name, **fields)


def with_suggestions(column: DraftColumn) -> DraftColumn:
    """Return a column of a draft; missing bounds and units are filled in if its name suggests the same kind."""
    other = suggested(column.name)
    if other is None or other.kind != column.kind:
        return column
    low, high = (other.low if column.low is None else column.low), (other.high if column.high is None else column.high)
    return replace(column, low=low, high=high, unit=column.unit or other.unit)
