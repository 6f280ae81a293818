"""Attributes and classes derived from public data; the derived schema may reveal every value of the data."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arguments import check_choice, check_integer
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.dates import Date, recognised_formats
from hedgerow.schema.listed import Boolean, Categorical
from hedgerow.schema.missing_words import missing_words, suspected_codes
from hedgerow.schema.numbers import Integer, Numeric, Real
from hedgerow.schema.spellings import similar_values
from hedgerow.schema.targets import Label, Number, Target
from hedgerow.tables.columns import FOUND_INFINITY, Column, pc
from hedgerow.tables.frames import Table
from hedgerow.tables.layout import footer_sentence
from hedgerow.tables.number_marks import recognised_marks
from hedgerow.tables.table_files import DEFAULT_FORMAT, TextFormat
from hedgerow.text.date_formats import DateFormat
from hedgerow.text.days import FIRST, LAST, Day
from hedgerow.text.values import Value, listed, plain_word, printable

MOST_CATEGORIES = 100


def public_attribute(
    column: Column, bins: int, missing_values: Sequence[Value] = (), *, outside: Literal["error", "bin"] = "error"
) -> Attribute:
    """Return an attribute with the domain of a public column; it has a bin for missing values if any occur."""
    bins = check_integer("bins", bins, 2)
    column = column.without(missing_values)
    missing = "error" if column.missing is None or not column.missing.any() else "bin"
    tokens = tuple(missing_values) if missing == "bin" else ()
    values = _present(column)
    if column.is_text:
        categories = tuple(sorted({plain_word(value) for value in np.unique(values.astype(str)).tolist()}))
        if len(categories) > MOST_CATEGORIES:
            problem = f"this column of text has {len(categories):,} values; at most {MOST_CATEGORIES} are allowed"
            advice = _advice_on_text(column, n_values=len(categories), n_rows=len(values))
            raise DomainError(f"{problem}. {advice}", column=column.name)
        return Categorical(categories, missing=missing, missing_values=tokens, outside=outside)
    if column.holds_dates:
        return replace(_date(column, values, bins), missing=missing, missing_values=tokens)
    if values.dtype.kind == "b" or bool(np.isin(values, (0, 1)).all()):
        return Boolean(missing=missing, missing_values=tokens)
    if not np.isfinite(values).all():
        raise DomainError(FOUND_INFINITY, column=column.name)
    return replace(_number(values, bins), missing=missing, missing_values=tokens)


def _present(column: Column) -> Any:
    values = column.present()
    if len(values) == 0:
        problem = "all values are missing, so its domain is unknown; remove the column (on the command line: --drop)."
        raise DomainError(problem, column=column.name)
    return values


def _advice_on_text(column: Column, *, n_values: int, n_rows: int) -> str:
    """Return advice for a column of public text with too many different values."""
    if marks := recognised_marks(column):
        options = " or ".join(marks)
        return f"They look like numbers with decimal commas or thousands separators; read the file with {options}."
    if words := _odd_words(column):
        advice = f"They are numbers, except for {listed(words)}; correct these cells, or declare them as missing"
        return f"{advice} (missing_values; on the command line {_option(words)})."
    if n_values == n_rows:
        return "No value repeats, as in an identifier; remove the column (on the command line: --drop)."
    return (
        "Remove the column (on the command line: --drop), or group its values. If they are numbers, remove leading "
        "zeros, and declare words among them as missing (--missing)."
    )


def _number(values: Any, bins: int) -> Numeric:
    whole = bool((values == np.floor(values)).all()) and np.abs(values).max() < 2**53
    low, high = values.min(), values.max()
    cuts = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
    cuts = cuts[cuts < high]
    if whole:
        low, high = int(low), int(high)
        return Integer(low, max(high, low + 1), tuple(int(cut) for cut in cuts), outside="clip")
    low, high = float(low), float(high)
    high = max(high, math.nextafter(low, math.inf))
    distinct = np.unique(values)
    following = distinct[np.searchsorted(distinct, cuts, side="right")]
    short = tuple(_shortest(float(cut), float(next_value)) for cut, next_value in zip(cuts, following, strict=True))
    return Real(low, high, short, outside="clip")


_FEWEST_DIGITS = 3


def _shortest(cut: float, next_value: float) -> float:
    """Return the cut point rounded up to the fewest digits, three or more, with ``number < next_value``.

    No row changes its bin, since no value is between the cut point and the rounded number.
    """
    contexts = (Context(prec=digits, rounding=ROUND_CEILING) for digits in range(_FEWEST_DIGITS, 18))
    rounded = (float(context.create_decimal_from_float(cut)) for context in contexts)
    return next((number for number in rounded if cut <= number < next_value), cut)


def _date(column: Column, values: Any, bins: int) -> Date:
    if values.min() < FIRST or values.max() > LAST:
        raise DomainError("some dates are outside the years 1 to 9999; correct them.", column=column.name)
    number = _number(values, bins)
    low, high, *cuts = (Day(min(day, LAST)) for day in (number.low, number.high, *number.cuts))
    return Date(min(low, Day(LAST - 1)), high, cuts, outside="clip")


def public_classes(column: Column) -> tuple[Any, ...]:
    if column.holds_dates:
        problem = "dates cannot be classes; derive a number or a category from them."
        raise DomainError(problem, column=column.name)
    values = _present(column)
    classes = np.unique(values.astype(str) if column.is_text else values)
    if classes.dtype.kind == "f" and bool((classes == np.floor(classes)).all()):
        classes = classes.astype(np.int64)
    return tuple(classes.tolist())


def public_target(column: Column) -> Target:
    """Return the target for a public column: a number if it has fractions or many values, else classes."""
    values = column.present()
    is_number = not (column.is_text or column.holds_dates or values.dtype.kind == "b") and np.isfinite(values).all()
    is_whole = is_number and bool((values == np.floor(values)).all())
    if not is_number or (is_whole and len(np.unique(values)) <= MOST_CATEGORIES):
        return Label(column.name, public_classes(column))
    kind = int if is_whole and np.abs(values).max() < 2**53 else float
    return Number(column.name, kind(values.min()), kind(values.max()))


def public_missing_words(
    table: pa.Table, text_format: TextFormat = DEFAULT_FORMAT, declared: Sequence[Value] = ()
) -> dict[str, tuple[str, ...]]:
    """Return the usual words for missing values that occur in columns of public text.

    A column counts if its other values are all numbers, dates or booleans. Words that are `declared` are omitted.
    """
    by_column: dict[str, tuple[str, ...]] = {}
    pointed = text_format.pointed(table, table.column_names)
    for name in table.column_names:
        words = missing_words(Column.from_arrow(table[name], name).without(declared))
        tables = (table, pointed) if words else ()
        columns = [Column.from_arrow(read[name], name).without((*declared, *words)) for read in tables]
        if any(not column.is_missing.all() and _is_typed(column) for column in columns):
            by_column[name] = words
    return by_column


def public_notes(
    table: pa.Table, recognised: Mapping[str, Sequence[str]], label: str | None, footer: int = 0
) -> tuple[str, ...]:
    """Return notes for a person to check, on possible codes for missing values and last rows that look like totals."""
    notes: list[str] = []
    if footer:
        notes.append(footer_sentence(footer))
    for name in table.column_names:
        column, named = Column.from_arrow(table[name], name), printable(name)
        if words := recognised.get(name):
            rows = "; remove these rows, which have no label" if name == label else ""
            notes.append(f"{named}: {listed(words)} is read as a missing value{rows}")
        elif words := missing_words(column) or _odd_words(column):
            notes.append(f"{named}: {listed(words)} is read as a category; if it means missing, add {_option(words)}")
        elif codes := suspected_codes(column):
            notes.append(f"{named}: {listed(codes)} is read as a number; if it means missing, add {_option(codes)}")
        notes += [_spelling_note(named, group) for group in similar_values(_texts(column))]
    return tuple(notes)


def _texts(column: Column) -> tuple[str, ...]:
    """Return the distinct values of a column of text; empty if there are more than `MOST_CATEGORIES`."""
    if not column.is_text or column.is_missing.all():
        return ()
    values = np.unique(column.present().astype(str)).tolist()
    return tuple(values) if len(values) <= MOST_CATEGORIES else ()


def _spelling_note(named: str, group: Sequence[str]) -> str:
    value = next(filter(str.isalpha, reversed(group)), group[-1])
    spellings = json.dumps([word for word in group if word != value], ensure_ascii=False)
    line = f"{json.dumps(value, ensure_ascii=False)}: {printable(spellings)}"
    return f"{named}: {listed(group)} are listed as different values; if they mean the same, write {line} instead"


def _odd_words(column: Column) -> tuple[str, ...]:
    """Return the few non-numeric words of a column of text whose other distinct values are mostly numbers."""
    if not column.is_text or column.is_missing.all():
        return ()
    values = np.unique(column.present().astype(str))
    are_numbers = Column.from_numpy(values, column.name).are_numbers()
    words = tuple(values[~are_numbers].tolist())
    return words if len(words) <= _FEW_WORDS and len(words) < are_numbers.sum() / 4 else ()


_FEW_WORDS = 5


def _option(words: Sequence[Value]) -> str:
    return " ".join(f"--missing={printable(shlex.quote(str(word)))}" for word in words)


def _is_typed(column: Column) -> bool:
    return bool(recognised_formats(column)) or not pa.types.is_large_string(_typed(column).type)


def public_date_formats(
    table: pa.Table, missing_values: Mapping[str, Sequence[Value]] = MappingProxyType({}), declared: str | None = None
) -> dict[str, str]:
    """Return the format of each column of dates in public text; DomainError if several fit and none is declared."""
    if declared and DateFormat(declared).serials:
        problem = f"--date-format {declared} would turn every column of whole numbers into dates"
        raise ArgumentError(f"{problem}; declare the column as `kind: date` with `format: {declared}` in the schema.")
    by_column: dict[str, str] = {}
    for name in table.column_names:
        column = Column.from_arrow(table[name], name).without(missing_values.get(name, ()))
        formats = recognised_formats(column, declared)
        if len(formats) > 1:
            problem = f"its dates can be read as {' and as '.join(formats)}"
            raise DomainError(f"{problem}; choose a format, such as --date-format {formats[0]}.", column=name)
        if formats:
            by_column[name] = formats[0]
    return by_column


def typed_table(
    table: pa.Table,
    missing_values: Mapping[str, Sequence[Value]] = MappingProxyType({}),
    text_format: TextFormat = DEFAULT_FORMAT,
    date_formats: Mapping[str, str] = MappingProxyType({}),
) -> pa.Table:
    """Return a public table in which text columns of numbers, dates or booleans have that type.

    A column in which a number has leading zeros, such as 007, stays text.
    """
    read = {name: Column.from_arrow(table[name], name) for name in table.column_names}
    columns = {name: column.without(missing_values.get(name, ())) for name, column in read.items()}
    columns |= {name: columns[name].plain_dates(form) for name, form in date_formats.items() if form}
    typed = {name: _typed(column) for name, column in columns.items()}
    if text_format.has_marks:
        pointed = typed_table(text_format.pointed(table, table.column_names), missing_values, date_formats=date_formats)
        for name, column in typed.items():
            if pa.types.is_floating(pointed[name].type):
                typed[name] = pointed[name]
            elif pa.types.is_floating(column.type):
                problem = f"some numbers have a decimal point, but the decimal mark is {text_format.decimal}"
                raise DomainError(f"{problem}; correct them, or change --decimal.", column=name)
    return pa.table(typed)


def _typed(column: Column) -> pa.Array:
    missing = column.is_missing
    if not column.is_text:
        values = pa.array(column.values, mask=missing)
        return values.cast(pa.int32()).cast(pa.date32()) if column.holds_dates else values
    if column.are_dates()[~missing].all() and not missing.all():
        return pa.array(column.days().astype(np.int32), mask=missing).cast(pa.date32())
    words = column.index_in(["false", "true"], ignore_case=True)
    if (words[~missing] >= 0).all():
        return pa.array(words == 1, mask=missing)
    text = pc.if_else(pa.array(missing), None, column.values)
    if pc.any(pc.match_substring_regex(text, "^0[0-9]"), min_count=0).as_py():
        return text
    try:
        return pa.array(column.numbers(), mask=missing)
    except DomainError:
        return text


def public_parts(
    table: Table, label: str | None, bins: int, missing_values: Sequence[Value], outside: Literal["error", "bin"]
) -> tuple[dict[str, Attribute], Target | None]:
    check_choice("outside", outside, ("error", "bin"))
    columns = {name: table.column(name, i) for i, name in enumerate(table.column_names)}
    target = None
    if label is not None:
        if label not in columns:
            raise DomainError.absent(label, columns)
        target = public_target(columns.pop(label))
    read = {name: public_attribute(column, bins, missing_values, outside=outside) for name, column in columns.items()}
    return read, target
