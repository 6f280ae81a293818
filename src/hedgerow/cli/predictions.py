"""Output of `hedgerow predict`: predictions, their explanations, and columns of the input."""

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
    """Columns to write in addition to the predictions."""

    ids: tuple[str, ...] = ()  # input columns to copy
    everything: bool = False  # copy all input columns
    proba: bool = False  # add the probability of each class
    explain: bool = False  # add the rule, path or points of a row, with their released numbers
    reasons: str | None = None  # a class; add the attributes that cost the most points for it
    class_weight: Mapping[Value, float] = field(default_factory=dict[Value, float])  # costs of errors; add a decision

    def columns_of(self, rows: pa.Table) -> list[str]:
        if self.everything:
            return list(rows.column_names)
        for name in self.ids:
            if name not in rows.column_names:
                problem = f"--id {quoted_text(name)} is not a column of the input"
                raise ArgumentError(f"{problem}; its columns are {listed(rows.column_names)}.")
        return list(dict.fromkeys(self.ids))


def predictions(model: Model, rows: pa.Table, output: OutputColumns, *, copied: pa.Table) -> pa.Table:
    """Return a table with a line for each row: input columns, the prediction and its explanation.

    A column whose name is taken gets a longer name. Input columns are copied from `copied`, the unconverted rows.
    """
    columns: dict[str, Any] = {name: _copied(name, copied.column(name)) for name in output.columns_of(copied)}
    label = "prediction" if model.schema.label is None else model.schema.label.name
    decisions = model.decisions(rows)
    # 15 digits print 8.88 instead of 8.879999999999999
    predicted = [float(f"{value:.15g}") if isinstance(value, float) else value for value in decisions.classes]
    columns[_free((label, f"predicted {label}"), columns)] = predicted
    for name, values in decisions.reasons.items():
        columns[_free((name, f"{name} number"), columns)] = values
    decision = {"decision": model.decide(rows, class_weight=output.class_weight)} if output.class_weight else {}
    explanations = decisions.explained() if output.explain else {}
    probabilities: dict[str, Any] = {}
    if output.proba:
        probabilities.update(zip(class_titles("P", model.schema.classes), decisions.probabilities.T, strict=True))
    reasons = _reasons(model, rows, output.reasons) if output.reasons is not None else {}
    for name, values in (decision | explanations | reasons | probabilities).items():
        columns[_free((name,), columns)] = values
    return pa.table(columns)


def class_named(schema: Schema, word: str) -> Value:
    """Return the class that an option names, or the text itself if there is no such class."""
    named = {value_text(value): value for value in schema.target.values}
    named |= {text.lower(): value for text, value in named.items() if isinstance(value, bool)}
    return named.get(word, word)


def _reasons(model: Model, rows: pa.Table, favourable: str) -> dict[str, Any]:
    favoured = class_named(model.schema, favourable)
    classes = model.schema.classes
    if classes and favoured not in classes:
        raise ArgumentError(f"--reasons must be one of {listed(classes)}, got {shown(favoured)}.")
    reasons = model.reasons(rows, favourable=favoured)
    return {f"reason {rank}": pa.array(names.tolist(), pa.string()) for rank, names in enumerate(reasons.T, 1)}


def _copied(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return an input column that CSV and JSON can represent; bytes become text."""
    kind, is_a = column.type, pa.types
    kind = kind.value_type if is_a.is_dictionary(kind) else kind
    is_number = is_a.is_boolean(kind) or is_a.is_integer(kind) or is_a.is_floating(kind) or is_a.is_decimal(kind)
    supported = "UTF-8 text, numbers, booleans, and dates and times of the years 1 to 9999"
    problem = DomainError(f"cannot be copied: only {supported} can; choose other columns with --id.", column=name)
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
    weights: dict[Value, float] = {}
    form = f"LABEL=WEIGHT, a class ({listed(values)}) and a number"
    for label, weight in named_values("--class-weight", given, form).items():
        if not re.fullmatch(NUMBER, weight) or label not in classes:
            raise ArgumentError(f"expected --class-weight {form}, got {shown(f'{label}={weight}')}.")
        weights[classes[label]] = float(weight)
    return weights


def costs_in(path: Path, classes: Sequence[Value]) -> dict[Any, Any]:
    lines = cost_lines(path)
    if any(isinstance(key, bool) and key not in classes for line in (lines, *lines.values()) for key in line):
        problem = f"the file of --costs contains true or false, which is not a class ({listed(classes)})"
        raise ArgumentError(f"{problem}: YAML reads yes and no as booleans; put them in quotes.")
    return by_class(classes, {actual: by_class(classes, line) for actual, line in lines.items()})


def cost_lines(path: Path) -> Mapping[Any, Mapping[Any, Any]]:
    lines = read_mapping(path)
    if not isinstance(lines, Mapping) or not all(isinstance(line, Mapping) for line in lines.values()):
        form = "{class: {predicted class: cost}}"
        raise ArgumentError(f"expected {form} in the file of --costs, got {shown(lines)}.")
    return lines


def _free(names: Sequence[str], taken: Iterable[str]) -> str:
    """Return the first name that is not taken; if all are, the last with a number."""
    numbered = (f"{names[-1]} {number}" for number in count(2))
    return next(name for name in chain(names, numbered) if name not in taken)


def escape_table(table: pa.Table) -> tuple[pa.Table, bool]:
    """Return a table with formulas of spreadsheets escaped, and whether anything changed."""
    names = [str(escape_formula(name)) for name in table.column_names]
    originals = table.columns  # each access creates new objects
    columns = [_escaped_column(column) for column in originals]
    is_changed = any(new is not old for new, old in zip(columns, originals, strict=True))
    return pa.table(columns, names=names), is_changed or names != table.column_names


def _escaped_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
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
    """Return a table as a JSON list of rows, with null for NaN and text for infinity."""
    rows = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return json.dumps(rows, ensure_ascii=False, allow_nan=False, default=str) + "\n"


def _plain(value: Any) -> Any:
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else str(value)
