"""Attributes and classes taken from public data; whatever the data hold becomes public."""

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from hedgerow.tables.columns import Column, pc
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
    """Return an attribute with the domain of a public column; a missing value gets a bin if one occurs."""
    bins = check_integer("bins", bins, 2)
    column = column.without(missing_values)
    missing = "error" if column.missing is None or not column.missing.any() else "bin"
    tokens = tuple(missing_values) if missing == "bin" else ()
    values = _some(column)
    if column.is_text:
        found = tuple(sorted({plain_word(value) for value in np.unique(values.astype(str)).tolist()}))
        if len(found) > MOST_CATEGORIES:
            hint = (
                "leave the column out (on the command line: --drop), or group its values. If they are numbers, declare "
                "the texts among them as missing_values (--missing), and remove zeros before numbers."
            )
            if marks := recognised_marks(column):
                read = f"read the file with {' or '.join(marks)}."
                hint = f"they look like numbers with decimal commas or separators of thousands: {read}"
            elif len(found) == len(values):
                hint = "no value repeats, as in an identifier: leave the column out (on the command line: --drop)."
            problem = f"expected at most {MOST_CATEGORIES} different values, found {len(found)}; {hint}"
            raise DomainError(problem, column=column.name)
        return Categorical(found, missing=missing, missing_values=tokens, outside=outside)
    if column.holds_dates:
        return replace(_date(column, values, bins), missing=missing, missing_values=tokens)
    if values.dtype.kind == "b" or bool(np.isin(values, (0, 1)).all()):
        return Boolean(missing=missing, missing_values=tokens)
    if not np.isfinite(values).all():
        raise DomainError("expected finite numbers, found infinity.", column=column.name)
    return replace(_number(values, bins), missing=missing, missing_values=tokens)


def _some(column: Column) -> Any:
    values = column.present()
    if len(values) == 0:
        raise DomainError("expected at least one public value to take the domain from, found none.", column=column.name)
    return values


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
    return Real(low, high, tuple(float(cut) for cut in cuts), outside="clip")


def _date(column: Column, values: Any, bins: int) -> Date:
    if values.min() < FIRST or values.max() > LAST:
        raise DomainError("expected dates of the years 1 to 9999, found others; correct them.", column=column.name)
    found = _number(values, bins)
    low, high, *cuts = (Day(min(day, LAST)) for day in (found.low, found.high, *found.cuts))
    return Date(min(low, Day(LAST - 1)), high, cuts, outside="clip")


def public_classes(column: Column) -> tuple[Any, ...]:
    if column.holds_dates:
        raise DomainError("expected classes, found dates; derive a number or a category from them.", column=column.name)
    values = _some(column)
    found = np.unique(values.astype(str) if column.is_text else values)
    if found.dtype.kind == "f" and bool((found == np.floor(found)).all()):
        found = found.astype(np.int64)
    return tuple(found.tolist())


def public_target(column: Column) -> Target:
    """Return the target of a public column: a number with the bounds found, if it has fractions or many values."""
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
    """Return the usual words for missing values in columns of public text whose other values are of another type.

    Those that are declared for all columns are left out.
    """
    found: dict[str, tuple[str, ...]] = {}
    pointed = text_format.pointed(table, table.column_names)
    for name in table.column_names:
        words = missing_words(Column.from_arrow(table[name], name).without(declared))
        rest = (
            [Column.from_arrow(read[name], name).without((*declared, *words)) for read in (table, pointed)]
            if words
            else []
        )
        if any(not one.is_missing.all() and _is_typed(one) for one in rest):
            found[name] = words
    return found


def public_notes(
    table: pa.Table, recognised: Mapping[str, Sequence[str]], label: str | None, footer: int = 0
) -> tuple[str, ...]:
    """Return sentences for a person to check: values that may stand for missing ones, and last rows like totals."""
    found: list[str] = []
    if footer:
        found.append(footer_sentence(footer))
    for name in table.column_names:
        column, named = Column.from_arrow(table[name], name), printable(name)
        if words := recognised.get(name):
            rows = "; leave out these rows, which have no label" if name == label else ""
            found.append(f"{named}: {listed(words)} is taken for a missing value{rows}")
        elif words := missing_words(column) or _odd_words(column):
            found.append(f"{named}: {listed(words)} is taken for a category; if it means missing, add {_option(words)}")
        elif codes := suspected_codes(column):
            found.append(f"{named}: {listed(codes)} is taken for a number; if it means missing, add {_option(codes)}")
        found += [_spelling_note(named, group) for group in similar_values(_texts(column))]
    return tuple(found)


def _texts(column: Column) -> tuple[str, ...]:
    """Return the different values of a column of text, if they are few."""
    if not column.is_text or column.is_missing.all():
        return ()
    values = np.unique(column.present().astype(str)).tolist()
    return tuple(values) if len(values) <= MOST_CATEGORIES else ()


def _spelling_note(named: str, group: Sequence[str]) -> str:
    value = next(filter(str.isalpha, reversed(group)), group[-1])
    others = json.dumps([word for word in group if word != value], ensure_ascii=False)
    line = f"{json.dumps(value, ensure_ascii=False)}: {printable(others)}"
    return f"{named}: {listed(group)} are listed as different values; if they mean the same, write {line} for them"


def _odd_words(column: Column) -> tuple[str, ...]:
    """Return the few words of a column of text that are no numbers if most of its different values are."""
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
    """Return the format of each column of dates in public text; DomainError where several fit and none is declared."""
    if declared and DateFormat(declared).serials:
        problem = f"--date-format {declared} would turn every column of whole numbers into dates"
        raise ArgumentError(f"{problem}; declare the column `kind: date` with `format: {declared}` in the schema.")
    found: dict[str, str] = {}
    for name in table.column_names:
        column = Column.from_arrow(table[name], name).without(missing_values.get(name, ()))
        formats = recognised_formats(column, declared)
        if len(formats) > 1:
            problem = f"its dates fit both {' and '.join(formats)}; say which it is, as in --date-format {formats[0]}."
            raise DomainError(problem, column=name)
        found |= dict.fromkeys([name] if formats else [], formats[0] if formats else "")
    return found


def typed_table(
    table: pa.Table,
    missing_values: Mapping[str, Sequence[Value]] = MappingProxyType({}),
    text_format: TextFormat = DEFAULT_FORMAT,
    date_formats: Mapping[str, str] = MappingProxyType({}),
) -> pa.Table:
    """Return a public table with text that spells numbers (not codes, as 007), dates or booleans as that type."""
    read = {name: Column.from_arrow(table[name], name) for name in table.column_names}
    columns = {name: column.without(missing_values.get(name, ())) for name, column in read.items()}
    columns |= {name: columns[name].plain_dates(form) for name, form in date_formats.items() if form}
    found = {name: _typed(column) for name, column in columns.items()}
    if text_format.has_marks:
        pointed = typed_table(text_format.pointed(table, table.column_names), missing_values, date_formats=date_formats)
        for name, column in found.items():
            if pa.types.is_floating(pointed[name].type):
                found[name] = pointed[name]
            elif pa.types.is_floating(column.type):
                raise DomainError("expected numbers with a decimal comma, found points; correct them.", column=name)
    return pa.table(found)


def _typed(column: Column) -> pa.Array:
    missing = column.is_missing
    if not column.is_text:
        found = pa.array(column.values, mask=missing)
        return found.cast(pa.int32()).cast(pa.date32()) if column.holds_dates else found
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
    found = None
    if label is not None:
        if label not in columns:
            raise DomainError.absent(label, columns)
        found = public_target(columns.pop(label))
    taken = {name: public_attribute(one, bins, missing_values, outside=outside) for name, one in columns.items()}
    return taken, found
