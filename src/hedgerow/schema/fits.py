"""Fit of a table to a schema, column by column: exact counts of private rows, for the curator's eyes only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import DomainError
from hedgerow.privacy.unit import Unit
from hedgerow.schema.attributes import MISSING, OUTSIDE, Attribute
from hedgerow.schema.booleans import learning_problems
from hedgerow.schema.contributions import names_person, repeats
from hedgerow.schema.dates import date_line, recognised_formats
from hedgerow.schema.listed import Categorical
from hedgerow.schema.missing_words import declared_missing, missing_words
from hedgerow.schema.schema import Schema
from hedgerow.schema.spellings import occurring_spellings, spellings_line
from hedgerow.schema.targets import Label, Target
from hedgerow.schema.weights import Weight
from hedgerow.tables.columns import Column
from hedgerow.tables.csv_files import is_generated
from hedgerow.tables.frames import Table
from hedgerow.tables.layout import footer_rows, footer_sentence
from hedgerow.tables.number_marks import recognised_marks
from hedgerow.text.values import Value, listed, printable

_NEARLY_ALL = 0.9
MOST_ROWS_NAMED = 5  # the most rows of a column that do not fit which are named


SpelledValues = tuple[tuple[Value, tuple[Value, ...]], ...]
"""Values, each with its other spellings."""


@dataclass(frozen=True)
class ColumnFit:
    """The fit of one column's values to their attribute, or to the label."""

    name: str  # the column
    kind: str  # the kind of attribute, ``label``, or ``unit`` for the column that says whose row it is
    # Rows whose value is missing, is outside the domain, or is no value of such a column at all: text that is
    # not a number, infinity, a boolean
    missing: int = 0
    outside: int = 0
    unread: int = 0
    refused: int = 0  # rows that the schema's policies refuse
    is_absent: bool = False  # whether the table has no such column
    rows: tuple[int, ...] = ()  # the first rows that are refused, counted from 0; none where the rows have no order

    @property
    def fits(self) -> bool:
        return not (self.is_absent or self.refused)


@dataclass(frozen=True)
class TableFit:
    """The fit of a table to a schema. Private: it has exact counts of rows."""

    n_rows: int  # the rows of the table
    columns: tuple[ColumnFit, ...]  # one for each attribute, then for the label and for the unit of privacy
    unused: tuple[str, ...]  # columns that the schema leaves out
    problems: tuple[str, ...]  # why learners refuse the schema, whatever the rows
    # Columns that look as if they say whose row each is, where the schema declares no unit: by their names, and of
    # columns in memory that the schema leaves out, by how their values repeat
    persons: tuple[str, ...] = ()
    # Of text in columns that do not fit: the column, and the usual words for missing values that occur in it
    missing_words: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Columns of numbers that do not fit, and the options that read their decimal commas or separators of thousands
    number_marks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Of text that spells dates, in columns that are not used or do not fit: the column, and the formats that all fit
    dates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Of text in columns that do not fit, in which usual other spellings of values occur: the column, and each value
    # with its other spellings, including the declared ones
    spellings: tuple[tuple[str, SpelledValues], ...] = ()
    footer: int = 0  # the last rows that look like totals, notes or blank rows, if they do not fit

    @property
    def faults(self) -> tuple[ColumnFit, ...]:
        return tuple(column for column in self.columns if not column.fits)

    @property
    def mostly_outside(self) -> tuple[str, ...]:
        """Columns of which nearly all values are outside the domain and none is refused: clipped, or in one bin."""
        return tuple(
            one.name for one in self.columns if one.fits and one.outside > _NEARLY_ALL * (self.n_rows - one.missing)
        )

    @property
    def is_accepted(self) -> bool:
        return not (self.faults or self.problems)

    def to_dict(self) -> dict[str, Any]:
        columns = [{**vars(column), "rows": list(column.rows)} for column in self.columns]
        found = {"n_rows": self.n_rows, "accepted": self.is_accepted, "columns": columns}
        lists: dict[str, Sequence[str]] = {
            "mostly_outside": self.mostly_outside,
            "unused": self.unused,
            "problems": self.problems,
        }
        lists["persons"] = self.persons
        lists["decimal_commas"] = [name for name, marks in self.number_marks if any("--decimal" in x for x in marks)]
        named = {"dates": self.dates, "missing_words": self.missing_words, "number_marks": self.number_marks}
        return (
            {**found, "footer": self.footer, "spellings": {name: _json_of(groups) for name, groups in self.spellings}}
            | {key: list(values) for key, values in lists.items()}
            | {key: {name: list(words) for name, words in pairs} for key, pairs in named.items()}
        )

    @property
    def advice(self) -> tuple[str, ...]:
        """Sentences about text: dates, words for missing values, marks in numbers, last rows that are no rows.

        No bounds are suggested.
        """
        kinds = {column.name: column.kind for column in self.columns}
        words = [_words_advice(name, kinds[name], found) for name, found in self.missing_words]
        dates = [_date_advice(name, kinds.get(name) == "date", *formats) for name, formats in self.dates]
        marks = [_marks_advice(name, options) for name, options in self.number_marks]
        spelled = [_spellings_advice(name, kinds[name] == "label", groups) for name, groups in self.spellings]
        return (*dates, *words, *marks, *spelled, *([footer_sentence(self.footer)] if self.footer else []))

    def text(self, lines: Mapping[int, int] | None = None) -> str:
        """Return the report as a table; with the line of the file on which each row stands, lines in place of rows."""
        where = "rows" if lines is None else "lines"
        head = ("column", "kind", "missing", "outside", "no value", "refused", f"first {where}")
        body = [
            (
                printable(one.name),
                one.kind,
                *("absent" if one.is_absent else f"{n:,}" for n in (one.missing, one.outside, one.unread, one.refused)),
                ", ".join(str(row + 1 if lines is None else lines[row]) for row in one.rows),
            )
            for one in self.columns
        ]
        longest = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
        formats = [f"{side}{min(width, _WIDEST)}" for side, width in zip(_SIDES, longest, strict=True)]
        table = ["  ".join(map(format, cells, formats)).rstrip() for cells in (head, *body)]
        unused = [f"not in the schema: {', '.join(map(printable, self.unused))}"] if self.unused else []
        return "\n".join([f"{self.n_rows:,} rows", "", *table, *unused])


def _date_advice(name: str, is_declared: bool, first: str, *others: str) -> str:
    choice = f" that fit both {' and '.join([first, *others])}: find out which it is" if others else ""
    to_do = f'add to its line: format: "{first}"' if is_declared else f"to use it, write: {date_line(name, first)}"
    return f"{printable(name)} has dates{choice}; {to_do}"


def _words_advice(name: str, kind: str, words: Sequence[str]) -> str:
    if kind in ("label", "unit"):
        return f"{printable(name)} has {listed(words)}; if it means missing, leave out these rows"
    return f"{printable(name)} has {listed(words)}; if it means missing, add to its line: {declared_missing(words)}"


def _marks_advice(name: str, options: Sequence[str]) -> str:
    undecided = ": decide which, as the text does not tell" if len(options) > 1 else ""
    return f"{printable(name)} has decimal commas or separators of thousands; add {' or '.join(options)}{undecided}"


def _spellings_advice(name: str, is_label: bool, groups: SpelledValues) -> str:
    line = printable(spellings_line("classes" if is_label else "values", groups))
    return f"{printable(name)} has other spellings of its values; if they mean the same, write: {line}"


def _json_of(groups: SpelledValues) -> list[dict[str, Any]]:
    return [{"value": value, "spellings": list(words)} for value, words in groups]


_Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_WIDEST = 40
_SIDES = "<<>>>><"  # of the columns of the printed table: text to the left, numbers to the right


def fit_of(table: Table, schema: Schema) -> TableFit:
    """Return how a table in memory fits a schema; exact counts of private rows."""
    names = table.column_names
    schema.check_underived(table.names)
    found: list[ColumnFit] = []
    for name, attribute in schema.attributes:
        absent = [] if table.names is None else absent_columns(schema, name, names)
        found += absent or [_column_fit(schema.column(table, name), attribute)]
    for name, one in schema.extra_columns.items():
        if name in (table.names or ()):
            found.append(_unit_fit(table, name) if isinstance(one, Unit) else _target_fit(table.column(name, 0), one))
        elif table.names is not None or not isinstance(one, Target):  # an array's labels are beside it
            found.append(_absent(name, kind_of(one)))
    unused, problems, persons = findings_from_names(names if table.names else (), schema)
    unread = [one for one in found[: len(schema)] if one.unread or (one.outside and one.kind != "date")]
    others = [*(name for name in unused if not is_generated(name)), *(one.name for one in unread if one.name in names)]
    formats = {name: _date_formats(table.column(name, 0), schema) for name in others if table.names is not None}
    dates = {name: known for name, known in formats.items() if known}
    refused = [table.column(one.name, 0) for one in found if one.refused and one.name in (table.names or ())]
    words = {column.name: undeclared_words(column.name, missing_words(column), schema) for column in refused}
    marks = {one.name: recognised_marks(one) for one in refused if one.name in schema.number_columns}
    spellings = {column.name: _spellings(column, schema) for column in refused}
    footer = footer_rows([table.column(name, 0) for name in names]) if refused else 0
    left = [name for name in unused if not is_generated(name)] if schema.unit is None else []
    persons += tuple(one for one in left if one not in (*persons, *dates) and repeats(table.column(one, 0)))
    named = tuple((name, known) for name, known in words.items() if known)
    known_marks = tuple((name, options) for name, options in marks.items() if options)
    dated, spelled = tuple(dates.items()), tuple((name, groups) for name, groups in spellings.items() if groups)
    return TableFit(len(table), tuple(found), unused, problems, persons, named, known_marks, dated, spelled, footer)


def _spellings(column: Column, schema: Schema) -> SpelledValues:
    """Return the values of a column with their other spellings, declared or occurring; nothing if none occurs."""
    one: Any = schema[column.name] if column.name in schema.names else schema.extra_columns.get(column.name)
    if not isinstance(one, (Categorical, Label)):
        return ()
    known = one.spellings(is_text=True) if isinstance(one, Label) else one.spellings
    taken = [word for word, _ in known] + ([] if isinstance(one, Label) else [*one.missing_values])
    if isinstance(one, Label) and one.ignores_case:
        taken += [form(str(word)) for word in taken for form in (str.upper, str.capitalize)]
    occurring = occurring_spellings(column, one.values, taken)
    declared = one.other_spellings or ((),) * len(one.values)
    groups = tuple((value, (*own, *words)) for value, own, words in zip(one.values, declared, occurring, strict=True))
    return groups if any(occurring) else ()


def undeclared_words(name: str, words: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Return the words that are no values of a column, as the schema declares them, and are not missing yet."""
    one = schema[name] if name in schema.names else None
    known = () if one is None else (*one.missing_values, *(value for value, _ in one.spellings))
    target = schema.extra_columns.get(name)
    known += tuple(value for value, _ in target.spellings(is_text=True)) if isinstance(target, Target) else ()
    return tuple(word for word in words if word not in map(str, known))


def _date_formats(column: Column, schema: Schema) -> tuple[str, ...]:
    """Return the formats of a column's dates; those of a workbook's serial days only if a date is declared."""
    is_declared = column.name in schema.names and schema[column.name].kind == "date"
    return recognised_formats(column, column.date_system if is_declared else None)


def findings_from_names(names: Sequence[str], schema: Schema) -> _Names:
    """Return columns that the schema leaves out, why learners refuse it, and persons' columns: no row is looked at."""
    unused = tuple(name for name in names if name not in {*schema.columns(), *schema.extra_columns})
    persons = filter(names_person, names) if schema.unit is None else ()
    return unused, tuple(map(str, learning_problems(schema))), tuple(persons)


def absent_columns(schema: Schema, name: str, names: Sequence[str]) -> list[ColumnFit]:
    return [_absent(column, schema[name].kind) for column in schema.columns([name]) if column not in names]


def kind_of(one: Attribute | Target | Unit | Weight) -> str:
    return "unit" if isinstance(one, Unit) else one.kind


def _absent(name: str, kind: str) -> ColumnFit:
    return ColumnFit(name, kind, is_absent=True)


def _column_fit(column: Column, attribute: Attribute) -> ColumnFit:
    column = attribute.prepared(column)
    missing = column.is_missing
    unread = ~missing & ~attribute.reads(column)
    empty = missing | unread
    codes = np.full(len(column), MISSING)
    if not empty.all():  # then it may be of a type that has no codes
        codes = unclipped(attribute).codes(replace(column, missing=empty))
    outside = (codes == OUTSIDE) & ~empty
    refused = unread | (missing & (attribute.missing == "error")) | (outside & (attribute.outside == "error"))
    return _counted(column.name, attribute.kind, missing, outside, unread, refused)


def unclipped(attribute: Attribute) -> Attribute:
    """Return an attribute by which values are outside that this one clips."""
    return replace(attribute, outside="error") if attribute.outside == "clip" else attribute


def _target_fit(column: Column, target: Any) -> ColumnFit:
    if target.as_number is not None:
        return replace(_column_fit(column, target.as_number.column_kind), kind=target.kind)
    codes = target.codes(column)
    missing, outside = codes == MISSING, codes == OUTSIDE
    return _counted(target.name, target.kind, missing, outside, missing & False, missing | outside)


def _unit_fit(table: Table, name: str) -> ColumnFit:
    column, no_value = table.column(name, 0), False
    try:
        table.exact_column(name)
    except DomainError:  # of times, say: its values do not tell units apart
        no_value = True
    missing = column.is_missing
    unread = ~missing & no_value
    return _counted(name, "unit", missing, missing & False, unread, missing | unread)


def _counted(name: str, kind: str, *masks: Mask) -> ColumnFit:
    missing, outside, unread, refused = (int(mask.sum()) for mask in masks)
    first = tuple(map(int, np.flatnonzero(masks[-1])[:MOST_ROWS_NAMED]))
    return ColumnFit(name, kind, missing, outside, unread, refused, rows=first)
