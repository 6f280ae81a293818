"""Counting in an engine: one aggregate returns patterns of bins with class and number of rows, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ibis
import numpy as np
from numpy.typing import NDArray

from hedgerow.columns import found_booleans, found_infinity, found_no_date, found_no_number
from hedgerow.engines.bins import BOOLEAN, INFINITE, NO_DATE, NO_NUMBER, bin_code, class_code
from hedgerow.engines.columns import EngineColumn, Expression, require_table
from hedgerow.engines.contributions import counted_rows
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.queries import ask
from hedgerow.errors import ArgumentError, DomainError, TooManyPatternsError
from hedgerow.schema.attributes import BinCodes, bins_of_codes
from hedgerow.schema.booleans import all_boolean, default_classes
from hedgerow.schema.contributions import no_unit
from hedgerow.schema.label import checked_classes
from hedgerow.schema.schema import Schema

MOST_PATTERNS = 5_000_000
"""The most groups (a pattern with a class) that are fetched."""

_CLASS, _ROWS, _ABSENT = "class", "rows", "absent"
_ERRORS: Mapping[int, Callable[[str], DomainError]] = {
    BOOLEAN: found_booleans,
    NO_NUMBER: found_no_number,
    NO_DATE: found_no_date,
    INFINITE: found_infinity,
}


def count_rows(
    table: Expression, schema: Schema, label: str
) -> tuple[dict[str, BinCodes], BinCodes, NDArray[np.int64]]:
    """Count the rows of each pattern and class where they are: one scan, one query, grouped rows as the answer."""
    assert schema.label is not None
    few = groups_within_limit(table, schema, label)
    found = ask(few)
    if not len(found) and len(ask(table.limit(1).select(one=1))):
        raise TooManyPatternsError(MOST_PATTERNS)
    if schema.unit is not None and (found[_ABSENT].to_numpy() > 0).any():
        raise no_unit(schema.unit.column)
    classes = checked_classes(schema.label, found[_CLASS].to_numpy())
    bins = {name: _final_bins(schema, name, found[_key(i)].to_numpy()) for i, name in enumerate(schema.names)}
    return bins, classes, found[_ROWS].to_numpy()


def groups_within_limit(table: Expression, schema: Schema, label: str) -> Expression:
    """Return `grouped`, or nothing if there are too many groups: the engine counts them before it sends any.

    Their number is a sum over their rows: to count them Spark would leave the rows out, and scan the table twice.
    """
    groups = grouped(table, schema, label)
    return groups.filter((groups[_ROWS] > 0).sum() <= MOST_PATTERNS)


def grouped(table: Expression, schema: Schema, label: str) -> Expression:
    """Return the aggregate as an Ibis table: a column of codes for each attribute, the class, the number of rows."""
    assert schema.label is not None
    names, codes = [*schema.names, label], dict[str, Expression]()
    table, absent = (table, None) if schema.unit is None else counted_rows(table, schema.unit, names)
    columns = {name: EngineColumn.of(table, name) for name in names}
    lookups = Lookups(table, names if absent is None else [*names, absent])
    for i, (name, attribute) in enumerate(schema.attributes):
        codes[_key(i)] = bin_code(attribute, columns[name], lookups).cast(_smallest(len(attribute.bins)))
    codes[_CLASS] = class_code(schema.label, columns[label], lookups).cast(_smallest(len(schema.classes)))
    if absent is not None:
        codes[_ABSENT] = table[absent]
    return lookups.rows().select(**codes).group_by(list(codes)).agg(**{_ROWS: ibis._.count()})


def declared_or_boolean(table: Any, schema: Schema | None, label: str | None) -> tuple[Schema, str]:
    """Return the schema, or that of booleans only, and the column with the labels; no row is touched."""
    require_table(table)
    in_schema = None if schema is None or schema.label is None else schema.label.name
    name = in_schema if label is None else label
    if name is None:
        raise ArgumentError("Expected the column of the labels, got none; pass `label=`, or a schema with a label.")
    column = EngineColumn.of(table, name)
    if schema is None:
        return all_boolean(table.columns, name, default_classes(column.kind == "boolean")), name
    schema.classes  # noqa: B018 -- raises where the schema has no label
    return schema, name


def _key(position: int) -> str:
    return f"a{position}"


def _smallest(bins: int) -> str:
    return "int8" if bins <= np.iinfo(np.int8).max else "int32"


def _final_bins(schema: Schema, name: str, codes: NDArray[Any]) -> BinCodes:
    for code, error in _ERRORS.items():
        if (codes == code).any():
            raise error(name)
    return bins_of_codes(schema[name], codes, name)
