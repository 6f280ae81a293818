"""The cell of every row as an expression that an engine evaluates: the schema, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import ibis
import ibis.expr.operations as ops

from hedgerow.columns import plain_word
from hedgerow.engines.columns import EngineColumn, Expression, constant_for, double, literal_text
from hedgerow.schema.attributes import MISSING, OUTSIDE, Attribute, Boolean, Categorical
from hedgerow.schema.label import Label
from hedgerow.schema.numbers import Integer, Real
from hedgerow.values import value_text

NO_NUMBER, INFINITE, BOOLEAN = -3, -4, -5
"""Codes of values that are errors whatever the policies: text that is no number, infinity, booleans undeclared."""

_LARGEST = 1.7976931348623157e308
Branches = list[tuple[Expression, Any]]


@singledispatch
def cell_code(attribute: Attribute, column: EngineColumn) -> Expression:  # noqa: ARG001 -- each kind has its own
    """Return the cell of each value of a column, or the code of what it is in place of one.

    The codes are those that `Attribute.settle` takes, `NO_NUMBER`, `INFINITE` and `BOOLEAN`. Of floating-point numbers,
    NULL and NaN come first (`_coded`), then the tests that most values pass: an engine evaluates the others for the
    values that are left.
    """
    raise TypeError(f"expected a kind of attribute, got {type(attribute).__name__}.")


@cell_code.register
def _(attribute: Boolean, column: EngineColumn) -> Expression:
    branches: Branches = []
    if column.kind == "boolean":
        branches += [(column.values, 1), (~column.values, 0)]
    elif column.kind == "text":
        for code, words in enumerate((["false", "0"], ["true", "1"])):
            branches.append((column.is_word(words, ignore_case=True), code))
    else:
        branches += [(column.values == 0, 0), (column.values == 1, 1)]
    return _coded(column, [*branches, *_missing(attribute, column)], OUTSIDE)


@cell_code.register
def _(attribute: Categorical, column: EngineColumn) -> Expression:
    if column.kind == "boolean":
        return _coded(column, _missing(attribute, column), BOOLEAN)
    text = column.kind == "text"
    values: tuple[Any, ...] = attribute.known_cells if text else attribute.values
    absent = [value_text(value) for value in attribute.missing_values]
    branches = _as_written(column, values, absent) if text else []
    told = [(column.equals([value]), code) for code, value in enumerate(values)]
    branches += [(condition, code) for condition, code in told if condition is not None]
    return _coded(column, [*branches, *_missing(attribute, column)], OUTSIDE)


@cell_code.register(Integer)
@cell_code.register(Real)
def _(attribute: Integer | Real, column: EngineColumn) -> Expression:
    missing = _missing(attribute, column)
    if column.kind == "boolean":
        return _coded(column, missing, BOOLEAN)
    clipped, whole = attribute.outside == "clip", isinstance(attribute, Integer)
    x = EngineColumn(column.name, column.numbers, "float" if column.kind == "text" else column.kind)
    others = _cases([*_missing(attribute, x), *_infinite(x)], OUTSIDE)
    if column.kind == "text":
        others = _cases([*missing, (x.values.isnull(), NO_NUMBER), *_infinite(x)], OUTSIDE)
    low, high = (-_LARGEST, _LARGEST) if clipped else (attribute.low, attribute.high)
    branches = missing[:-1]  # values that mean "missing" may lie among the others; NULL and NaN do not
    if not (clipped and column.kind == "integer"):
        branches.append((x.values < constant_for(x, low), others))
    if whole and not clipped and x.kind == "float":
        branches.append((x.values > double(high), others))  # beyond it, the floor may be too large for the engine
        branches.append((x.values != x.values.floor(), OUTSIDE))
    branches += [(x.values <= constant_for(x, cut), code) for code, cut in enumerate(attribute.cuts)]
    last = ~x.is_missing if clipped and column.kind == "integer" else x.values <= constant_for(x, high)
    return _coded(column, [*branches, (last, len(attribute.cuts))], others)


def class_code(label: Label, column: EngineColumn) -> Expression:
    """Return the class number of each label of a column, or `MISSING` or `OUTSIDE`: what `Label.settle` takes."""
    branches: Branches = []
    if column.kind == "text":
        if not label.is_binary:
            branches = _as_written(column, label.words, [])
        for code in range(len(label.classes)):
            words = [plain_word(word) for word in label.words[code :: len(label.classes)]]
            branches.append((column.is_word(words, ignore_case=label.is_binary), code))
    else:
        told = [(column.equals([value]), code) for code, value in enumerate(label.classes)]
        branches += [(condition, code) for condition, code in told if condition is not None]
    return _coded(column, [*branches, (column.is_missing, MISSING)], OUTSIDE)


def settled_cell(attribute: Attribute, column: EngineColumn) -> Expression:
    """Return the cell of each value of a column as the policies have it, a number below 0 where they allow none."""
    code, known = cell_code(attribute, column), len(attribute.known_cells)
    branches: Branches = [(code == MISSING, known)] if attribute.missing == "cell" else []
    branches += [(code == OUTSIDE, len(attribute.cells) - 1)] if attribute.outside == "cell" else []
    return ibis.cases(*branches, else_=code) if branches else code


def is_infinite(column: EngineColumn) -> Expression:
    """Return whether a number of a float column is infinite."""
    return _beyond(column) & ~column.is_missing


def _as_written(column: EngineColumn, words: Sequence[str], absent: Sequence[str]) -> Branches:
    """Return the tests for text as it is written in most rows, without white space around it: words, missing, NULL.

    DuckDB looks up the place in a list once for each different text of a block, and compares for each row.
    """
    null: Branches = [(column.values.isnull(), MISSING)]
    listed = [*map(literal_text, words), *map(literal_text, absent)]
    if not column.values.get_backend().has_operation(ops.FindInSet):
        codes = [*range(len(words)), *[MISSING] * len(absent)]
        return [*((column.values == word, code) for word, code in zip(listed, codes, strict=True)), *null]
    place = column.values.find_in_set(listed)
    found: Branches = [(place.between(0, len(words) - 1), place)]
    return [*found, (place >= len(words), MISSING), *null]


def _missing(attribute: Attribute, column: EngineColumn) -> Branches:
    """Return the tests for what is missing: the values declared to mean it, if any, then NULL, NaN and blank text."""
    declared = column.equals(attribute.missing_values) if attribute.missing_values else None
    return [(condition, MISSING) for condition in (declared, column.is_missing) if condition is not None]


def _infinite(column: EngineColumn) -> Branches:
    """Return the test for infinity, for what is not missing: NaN is larger than any number in SQL."""
    return [(_beyond(column), INFINITE)] if column.kind == "float" else []


def _beyond(column: EngineColumn) -> Expression:
    return (column.values > double(_LARGEST)) | (column.values < double(-_LARGEST))


def _coded(column: EngineColumn, branches: Branches, otherwise: Any) -> Expression:
    """Return ``CASE WHEN … THEN … ELSE … END``, of floating-point numbers NULL and NaN before all else.

    No comparison may be asked of a NaN. Engines settle one before they read a row where a file's statistics tell the
    answer, and the least and the largest value of a column leave NaN out: ``x <= 1`` becomes true for every row.
    """
    first: Branches = [(column.is_missing, MISSING)] if column.kind == "float" else []
    return _cases([*first, *branches], otherwise)


def _cases(branches: Branches, otherwise: Any) -> Expression:
    return ibis.cases(*branches, else_=otherwise)
