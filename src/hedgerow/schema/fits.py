"""Check of a table against a schema, column by column, with exact counts of private rows for the curator alone."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import DomainError
from hedgerow.privacy.unit import Unit
from hedgerow.schema.attributes import MISSING, OUTSIDE, Attribute
from hedgerow.schema.booleans import learning_problems
from hedgerow.schema.contributions import names_person, repeats
from hedgerow.schema.dates import date_line, recognised_formats
from hedgerow.schema.listed import Categorical
from hedgerow.schema.missing_words import declared_missing, missing_words, suspected_codes
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

T = TypeVar("T")
_NEARLY_ALL = 0.9
MOST_ROWS_NAMED = 5  # the maximum number of rows that do not fit and are listed for a column


SpelledValues = tuple[tuple[Value, tuple[Value, ...]], ...]
"""Values with their other spellings."""


Policies = Mapping[str, tuple[str, ...]]
"""Keys of an attribute, ``missing`` and ``outside``, with the policies that they may have."""


@dataclass(frozen=True)
class ColumnFit:
    """Counts of a column's values that do not fit their attribute, the label or the unit."""

    name: str  # the column
    kind: str  # the kind of attribute, the kind of target, ``unit`` or ``weight``
    # Rows whose value is missing, is outside the domain, or has the wrong type, such as text in a column of numbers
    missing: int = 0
    outside: int = 0
    unread: int = 0
    refused: int = 0  # rows that a fit does not accept under the schema's policies
    is_absent: bool = False  # whether the table lacks the column
    rows: tuple[int, ...] = ()  # the first of these rows, counted from 0; empty if the rows have no order

    @property
    def fits(self) -> bool:
        return not (self.is_absent or self.refused)


@dataclass(frozen=True)
class TableFit:
    """Result of checking a table against a schema. Private: it contains exact counts of rows."""

    n_rows: int  # the number of rows in the table
    columns: tuple[ColumnFit, ...]  # the attributes, followed by the label, the unit and the weight
    unused: tuple[str, ...]  # columns that the schema does not use
    problems: tuple[str, ...]  # reasons why learners do not accept the schema, regardless of the rows
    # Columns that may identify persons although the schema declares no unit: by their names or, for unused columns in
    # memory, by the way in which their values repeat
    persons: tuple[str, ...] = ()
    # Columns that do not fit, with the usual words for missing values, or codes such as -9, that occur in them
    missing_words: tuple[tuple[str, tuple[Value, ...]], ...] = ()
    # Columns of numbers that do not fit, with the options that read their decimal commas or thousands separators
    number_marks: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Columns of dates in text that are unused or do not fit, with all formats in which they can be read
    dates: tuple[tuple[str, tuple[str, ...]], ...] = ()
    # Columns of text that do not fit, with their values and the spellings of each, both declared and usual
    spellings: tuple[tuple[str, SpelledValues], ...] = ()
    # Attributes that do not fit, with the keys that would accept their missing values and values outside the domain
    policies: tuple[tuple[str, Policies], ...] = ()
    footer: int = 0  # the number of last rows that do not fit and look like totals, notes or blank rows

    @property
    def faults(self) -> tuple[ColumnFit, ...]:
        return tuple(column for column in self.columns if not column.fits)

    @property
    def mostly_outside(self) -> tuple[str, ...]:
        """Columns that fit only because nearly all of their values are clipped or in the bin for outside values."""
        fitting = [column for column in self.columns if column.fits]
        return tuple(column.name for column in fitting if column.outside > _NEARLY_ALL * (self.n_rows - column.missing))

    @property
    def is_accepted(self) -> bool:
        return not (self.faults or self.problems)

    def to_dict(self) -> dict[str, Any]:
        columns = [{**vars(column), "rows": list(column.rows)} for column in self.columns]
        counts = {"n_rows": self.n_rows, "accepted": self.is_accepted, "columns": columns}
        lists: dict[str, Sequence[str]] = {
            "mostly_outside": self.mostly_outside,
            "unused": self.unused,
            "problems": self.problems,
        }
        lists["persons"] = self.persons
        lists["decimal_commas"] = [name for name, marks in self.number_marks if any("--decimal" in x for x in marks)]
        named = {"dates": self.dates, "missing_words": self.missing_words, "number_marks": self.number_marks}
        return (
            {**counts, "footer": self.footer, "spellings": {name: _json_of(groups) for name, groups in self.spellings}}
            | {key: list(values) for key, values in lists.items()}
            | {key: {name: list(words) for name, words in pairs} for key, pairs in named.items()}
            | {"policies": {name: {key: list(own) for key, own in keys.items()} for name, keys in self.policies}}
        )

    @property
    def advice(self) -> tuple[str, ...]:
        """Advice on dates, missing values, marks in numbers, spellings, policies and footers, but not on bounds."""
        kinds = {column.name: column.kind for column in self.columns}
        words = [_words_advice(name, kinds[name], words) for name, words in self.missing_words]
        dates = [_date_advice(name, kinds.get(name) == "date", *formats) for name, formats in self.dates]
        marks = [_marks_advice(name, options) for name, options in self.number_marks]
        spelled = [_spellings_advice(name, kinds[name] == "label", groups) for name, groups in self.spellings]
        named = {name for name, _ in (*self.missing_words, *self.dates, *self.number_marks, *self.spellings)}
        policies = [_policies_advice(name, keys) for name, keys in self.policies if name not in named]
        booleans = [fit.name for fit in self.faults if fit.kind == "boolean" and fit.outside and fit.name not in named]
        policies += map(_boolean_advice, booleans)
        return (*dates, *words, *marks, *spelled, *policies, *([footer_sentence(self.footer)] if self.footer else []))

    def text(self, lines: Mapping[int, int] | None = None) -> str:
        """Return the result as a table; it lists lines of the file instead of rows if `lines` has the line of each."""
        unit = "rows" if lines is None else "lines"
        head = ("column", "kind", "missing", "outside", "wrong type", "refused", f"first {unit}")
        body = [_cells(column, lines) for column in self.columns]
        longest = [max(map(len, cells)) for cells in zip(head, *body, strict=True)]
        formats = [f"{side}{min(width, _WIDEST)}" for side, width in zip(_SIDES, longest, strict=True)]
        table = ["  ".join(map(format, cells, formats)).rstrip() for cells in (head, *body)]
        unused = [f"not in the schema: {', '.join(map(printable, self.unused))}"] if self.unused else []
        return "\n".join([f"{self.n_rows:,} rows", "", *table, *unused])


def _cells(column: ColumnFit, lines: Mapping[int, int] | None) -> tuple[str, ...]:
    counts = (column.missing, column.outside, column.unread, column.refused)
    texts = ("absent" if column.is_absent else f"{count:,}" for count in counts)
    places = ", ".join(str(row + 1 if lines is None else lines[row]) for row in column.rows)
    return printable(column.name), column.kind, *texts, places


def _date_advice(name: str, is_declared: bool, first: str, *further: str) -> str:
    choice = f" that can be read as {' and as '.join([first, *further])}; find out which is right" if further else ""
    to_do = f'add to its line: format: "{first}"' if is_declared else f"to use it, write: {date_line(name, first)}"
    return f"{printable(name)} contains dates{choice}; {to_do}"


def _words_advice(name: str, kind: str, words: Sequence[Value]) -> str:
    problem = f"{printable(name)} contains {listed(words)}; if this means missing"
    if kind in ("label", "unit"):
        return f"{problem}, remove these rows"
    return f"{problem}, add to its line: {declared_missing(words)}"


def _marks_advice(name: str, options: Sequence[str]) -> str:
    undecided = "; the text allows each of these readings, so find out which is right" if len(options) > 1 else ""
    return f"{printable(name)} contains decimal commas or thousands separators; add {' or '.join(options)}{undecided}"


def _boolean_advice(name: str) -> str:
    keys = "true_values, false_values or missing_values"
    return f"{printable(name)} has other values than true, false, 1 and 0; list them under {keys}, or change its kind"


def _spellings_advice(name: str, is_label: bool, groups: SpelledValues) -> str:
    if is_label and all(isinstance(value, bool) and len(words) == 1 for value, words in groups):
        classes = json.dumps([words[0] for _, words in groups], ensure_ascii=False)
        reason = "YAML reads words such as yes and no as true and false"
        advice = f"if the classes of {printable(name)} are words, put them in quotes"
        return f"{reason}; {advice}: classes: {printable(classes)}"
    line = printable(spellings_line("classes" if is_label else "values", groups))
    return f"{printable(name)} contains other spellings of its values; if they mean the same, write: {line}"


def _policies_advice(name: str, policies: Policies) -> str:
    values = {"missing": "missing values", "outside": "values outside its domain"}
    lines = [" or ".join(f"{key}: {policy}" for policy in own) for key, own in policies.items()]
    problem = f"{printable(name)} has {' and '.join(values[key] for key in policies)}"
    return f"{problem}; correct them, or add to its line: {', '.join(lines)}"


def _json_of(groups: SpelledValues) -> list[dict[str, Any]]:
    return [{"value": value, "spellings": list(words)} for value, words in groups]


_Names = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
_WIDEST = 40
_SIDES = "<<>>>><"  # alignment of the columns of the printed table: text left, numbers right


def fit_of(table: Table, schema: Schema) -> TableFit:
    """Return the check of a table in memory against a schema, with exact counts of private rows."""
    names = table.column_names
    schema.check_underived(table.names)
    columns: list[ColumnFit] = []
    for name, attribute in schema.attributes:
        absent = [] if table.names is None else absent_columns(schema, name, names)
        columns += absent or [_column_fit(schema.column(table, name), attribute)]
    for name, part in schema.extra_columns.items():
        if name in (table.names or ()):
            is_unit = isinstance(part, Unit)
            columns.append(_unit_fit(table, name) if is_unit else _target_fit(table.column(name, 0), part))
        elif table.names is not None or not isinstance(part, Target):  # the labels of an array are separate
            columns.append(_absent(name, kind_of(part)))
    unused, problems, persons = findings_from_names(names if table.names else (), schema)
    named = [name for name in unused if not is_generated(name)]
    attributes = columns[: len(schema)]
    unread = [fit.name for fit in attributes if fit.unread or (fit.outside and fit.kind != "date")]
    maybe_dates = [*named, *(name for name in unread if name in names)] if table.names is not None else []
    dates = _nonempty({name: _date_formats(table.column(name, 0), schema) for name in maybe_dates})
    refused = [table.column(fit.name, 0) for fit in columns if fit.refused and fit.name in (table.names or ())]
    if schema.unit is None:
        others = (name for name in named if name not in {*persons, *dict(dates)})
        persons += tuple(name for name in others if repeats(table.column(name, 0)))
    return TableFit(
        n_rows=len(table),
        columns=tuple(columns),
        unused=unused,
        problems=problems,
        persons=persons,
        missing_words=_nonempty(
            {
                column.name: undeclared_words(column.name, missing_words(column), schema)
                or _undeclared_codes(column, schema)
                for column in refused
            }
        ),
        number_marks=_nonempty(
            {column.name: recognised_marks(column) for column in refused if column.name in schema.number_columns}
        ),
        dates=dates,
        policies=undeclared_policies(columns, schema),
        spellings=_nonempty({column.name: _spellings(column, schema) for column in refused}),
        footer=footer_rows([table.column(name, 0) for name in names]) if refused else 0,
    )


def _nonempty(by_name: Mapping[str, T]) -> tuple[tuple[str, T], ...]:
    return tuple((name, values) for name, values in by_name.items() if values)


def _spellings(column: Column, schema: Schema) -> SpelledValues:
    """Return the values of a column with their declared and occurring other spellings; empty if none occurs."""
    kind: Any = schema[column.name] if column.name in schema.names else schema.extra_columns.get(column.name)
    if not isinstance(kind, (Categorical, Label)):
        return ()
    known = kind.spellings(is_text=True) if isinstance(kind, Label) else kind.spellings
    words = [word for word, _ in known] + ([] if isinstance(kind, Label) else [*kind.missing_values])
    if isinstance(kind, Label) and kind.ignores_case:
        words += [form(str(word)) for word in words for form in (str.upper, str.capitalize)]
    occurring = occurring_spellings(column, kind.values, words)
    declared = kind.other_spellings or ((),) * len(kind.values)
    groups = tuple((value, (*own, *more)) for value, own, more in zip(kind.values, declared, occurring, strict=True))
    return groups if any(occurring) else ()


def undeclared_words(name: str, words: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """Return the words that the schema declares neither as values of a column nor as missing."""
    attribute = schema[name] if name in schema.names else None
    known = () if attribute is None else (*attribute.missing_values, *(value for value, _ in attribute.spellings))
    target = schema.extra_columns.get(name)
    known += tuple(value for value, _ in target.spellings(is_text=True)) if isinstance(target, Target) else ()
    return tuple(word for word in words if word not in map(str, known))


def _undeclared_codes(column: Column, schema: Schema) -> tuple[int, ...]:
    """Return the numbers beyond the declared bounds that may be codes for a missing value."""
    number = schema.numbers.get(column.name)
    if number is None or number.kind == "date":
        return ()
    column = number.prepared(column)
    known = number.reads(column) & ~column.is_missing
    if not known.any():  # such as a column of booleans
        return ()
    values = replace(column, missing=~known).numbers()[known]
    codes = suspected_codes(Column.from_numpy(values, column.name))
    return tuple(code for code in codes if not number.low <= code <= number.high)


def undeclared_policies(columns: Sequence[ColumnFit], schema: Schema) -> tuple[tuple[str, Policies], ...]:
    """Return the policies that would accept the missing values, and the values outside the domain, of attributes."""

    def policies(fit: ColumnFit, attribute: Attribute) -> Policies:
        outside = tuple(policy for policy in attribute.outside_policies if policy != "error")
        refused = {
            "missing": ("bin",) if fit.missing and attribute.missing == "error" else (),
            "outside": outside if fit.outside and attribute.outside == "error" else (),
        }
        return {key: own for key, own in refused.items() if own}

    return _nonempty({fit.name: policies(fit, schema[fit.name]) for fit in columns if fit.name in schema.names})


def _date_formats(column: Column, schema: Schema) -> tuple[str, ...]:
    """Return the formats of a column's dates; serial days of a workbook count only if the column is declared a date."""
    is_declared = column.name in schema.names and schema[column.name].kind == "date"
    return recognised_formats(column, column.date_system if is_declared else None)


def findings_from_names(names: Sequence[str], schema: Schema) -> _Names:
    """Return unused columns, the problems of the schema, and columns that may identify persons; no row is read."""
    unused = tuple(name for name in names if name not in {*schema.columns(), *schema.extra_columns})
    persons = filter(names_person, names) if schema.unit is None else ()
    return unused, tuple(map(str, learning_problems(schema))), tuple(persons)


def absent_columns(schema: Schema, name: str, names: Sequence[str]) -> list[ColumnFit]:
    return [_absent(column, schema[name].kind) for column in schema.columns([name]) if column not in names]


def kind_of(part: Attribute | Target | Unit | Weight) -> str:
    return "unit" if isinstance(part, Unit) else part.kind


def _absent(name: str, kind: str) -> ColumnFit:
    return ColumnFit(name, kind, is_absent=True)


def _column_fit(column: Column, attribute: Attribute) -> ColumnFit:
    column = attribute.prepared(column)
    missing = column.is_missing
    unread = ~missing & ~attribute.reads(column)
    empty = missing | unread
    codes = np.full(len(column), MISSING)
    if not empty.all():  # the column's type may then have no codes
        codes = unclipped(attribute).codes(replace(column, missing=empty))
    outside = (codes == OUTSIDE) & ~empty
    refused = unread | (missing & (attribute.missing == "error")) | (outside & (attribute.outside == "error"))
    return _counted(column.name, attribute.kind, missing, outside, unread, refused)


def unclipped(attribute: Attribute) -> Attribute:
    """Return the attribute without clipping, so that clipped values count as outside."""
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
    except DomainError:  # such as times, whose dates do not identify units
        no_value = True
    missing = column.is_missing
    unread = ~missing & no_value
    return _counted(name, "unit", missing, missing & False, unread, missing | unread)


def _counted(name: str, kind: str, *masks: Mask) -> ColumnFit:
    missing, outside, unread, refused = (int(mask.sum()) for mask in masks)
    first = tuple(map(int, np.flatnonzero(masks[-1])[:MOST_ROWS_NAMED]))
    return ColumnFit(name, kind, missing, outside, unread, refused, rows=first)
