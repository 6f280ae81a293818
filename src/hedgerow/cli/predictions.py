"""Output of `hedgerow predict`: a column of predictions, what each follows from, and columns of the input."""

import io
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from hedgerow.boundary.foreign_code import guarded
from hedgerow.cli.options import named_values
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.models.decisions import by_class
from hedgerow.models.model import Model, class_titles
from hedgerow.schema import Schema
from hedgerow.schema.files import read_mapping
from hedgerow.tables.columns import pc
from hedgerow.text.messages import shown
from hedgerow.text.values import NUMBER, Value, escape_formula, listed, quoted_text, value_text

_TEXTS = (
    *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
    *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view),
)


@dataclass(frozen=True)
class OutputColumns:
    """Columns that are written beside the predictions."""

    ids: tuple[str, ...] = ()  # the columns of the input that are copied
    everything: bool = False  # whether all columns of the input are
    proba: bool = False  # whether the probability of every class is written
    explain: bool = False  # whether the rule, path or points are that decide a row, with what was released about them
    reasons: str | None = None  # the class for which the attributes are written that cost most points
    class_weight: Mapping[Value, float] = field(default_factory=dict[Value, float])  # of errors; a decision is written

    def columns_of(self, rows: pa.Table) -> list[str]:
        if self.everything:
            return list(rows.column_names)
        for name in self.ids:
            if name not in rows.column_names:
                problem = f"expected --id to name a column of the input, got {quoted_text(name)}"
                raise ArgumentError(f"{problem}; it has {listed(rows.column_names)}.")
        return list(dict.fromkeys(self.ids))


def predictions(model: Model, rows: pa.Table, output: OutputColumns, *, copied: pa.Table) -> pa.Table:
    """Return a line for each row, in order: columns of the input, the predicted class, what it follows from.

    No column hides another: one whose name is taken gets a longer name. `copied` has the rows as they are written.
    """
    columns: dict[str, Any] = {name: _copied(name, copied.column(name)) for name in output.columns_of(copied)}
    label = "prediction" if model.schema.label is None else model.schema.label.name
    found = model.decisions(rows)
    said = [float(f"{value:.15g}") if isinstance(value, float) else value for value in found.classes]
    columns[_free((label, f"predicted {label}"), columns)] = said  # 8.88, and not 8.879999999999999
    for name, values in found.reasons.items():
        columns[_free((name, f"{name} number"), columns)] = values
    decided = {"decision": model.decide(rows, class_weight=output.class_weight)} if output.class_weight else {}
    explained = found.explained() if output.explain else {}
    shares = zip(class_titles("P", model.schema.classes), found.probabilities.T, strict=True) if output.proba else ()
    reasons = _reasons(model, rows, output.reasons) if output.reasons is not None else {}
    for name, values in (decided | explained | reasons | dict(shares)).items():
        columns[_free((name,), columns)] = values
    return pa.table(columns)


def class_named(schema: Schema, word: str) -> Value:
    """Return the class that an option names; the text itself if there is none, which is then an error."""
    named = {value_text(value): value for value in schema.target.values}
    named |= {text.lower(): value for text, value in named.items() if isinstance(value, bool)}
    return named.get(word, word)


def _reasons(model: Model, rows: pa.Table, favourable: str) -> dict[str, Any]:
    found = model.reasons(rows, favourable=class_named(model.schema, favourable))
    return {f"reason {place}": pa.array(names.tolist(), pa.string()) for place, names in enumerate(found.T, 1)}


def _copied(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of the input as CSV and JSON can have it: text of bytes, too."""
    kind, is_a = column.type, pa.types
    kind = kind.value_type if is_a.is_dictionary(kind) else kind
    is_number = is_a.is_boolean(kind) or is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind)
    expected = "text in UTF-8, numbers, booleans, and dates and times of the years 1 to 9999 to copy"
    problem = DomainError(f"expected {expected}, found others; name other columns with --id.", column=name)
    if is_number or is_a.is_null(kind):
        return column
    if is_a.is_temporal(kind) and not is_a.is_duration(kind) and not is_a.is_interval(kind):
        guarded(lambda: pc.min_max(column).as_py(), problem)
        return column
    if not any(test(kind) for test in _TEXTS):
        raise problem
    return guarded(lambda: _checked_text(column), problem)


def _checked_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    text = column.cast(pa.large_string())
    text.validate(full=True)
    return text


def class_weights(values: Sequence[Value], given: Sequence[str] | None) -> dict[Value, float]:
    classes = {value_text(value): value for value in values}
    found: dict[Value, float] = {}
    form = f"as LABEL=WEIGHT, a number for a class among {listed(values)}"
    for label, weight in named_values("--class-weight", given, form, "class").items():
        if not re.fullmatch(NUMBER, weight) or label not in classes:
            raise ArgumentError(f"expected --class-weight {form}, got {shown(f'{label}={weight}')}.")
        found[classes[label]] = float(weight)
    return found


def costs_in(path: Path, classes: Sequence[Value]) -> dict[Any, Any]:
    lines = cost_lines(path)
    if any(isinstance(key, bool) and key not in classes for line in (lines, *lines.values()) for key in line):
        problem = f"the file of --costs has true or false in place of a class ({listed(classes)})"
        raise ArgumentError(f"{problem}: YAML reads yes and no so; put them in quotes.")
    return by_class(classes, {actual: by_class(classes, line) for actual, line in lines.items()})


def cost_lines(path: Path) -> Mapping[Any, Mapping[Any, Any]]:
    lines = read_mapping(path)
    if not isinstance(lines, Mapping) or not all(isinstance(line, Mapping) for line in lines.values()):
        raise ArgumentError("expected costs as {class: {predicted class: cost}} in the file of --costs, got others.")
    return lines


def _free(names: Sequence[str], taken: Iterable[str]) -> str:
    """Return the first of some names that is not taken; else the last one with the first number that makes it so."""
    numbered = (f"{names[-1]} {number}" for number in count(2))
    return next(name for name in chain(names, numbered) if name not in taken)


def inert_table(table: pa.Table) -> tuple[pa.Table, bool]:
    names = [str(escape_formula(name)) for name in table.column_names]
    before = table.columns
    columns = [_inert_column(column) for column in before]
    is_other = any(one is not other for one, other in zip(columns, before, strict=True))
    return pa.table(columns, names=names), is_other or names != table.column_names


def _inert_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return column
    texts = {value: escape_formula(value) for value in column.unique().to_pylist()}
    if all(value == text for value, text in texts.items()):
        return column
    return pa.chunked_array([pa.array([texts[value] for value in column.to_pylist()], column.type)])


def to_csv(table: pa.Table) -> str:
    buffer = io.BytesIO()
    pacsv.write_csv(table, buffer, pacsv.WriteOptions(quoting_style="needed"))
    return buffer.getvalue().decode()


def to_json(table: pa.Table) -> str:
    """Return a table as the text of a JSON list of rows; what is no number is null, and what is infinite text."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _plain(value: Any) -> Any:
    is_odd = isinstance(value, float) and not math.isfinite(value)
    return (None if math.isnan(value) else str(value)) if is_odd else value
