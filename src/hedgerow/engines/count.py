"""Counting in an engine: one aggregate returns patterns of bins with class and number of rows, and nothing else."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Array, Integers
from hedgerow.engines.bins import BOOLEAN, INFINITE, NO_DATE, NO_NUMBER, bin_code, level_code
from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.contributions import counted_rows, has_exact_keys
from hedgerow.engines.derived import with_derived
from hedgerow.engines.engine import Expression
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.packages import ibis
from hedgerow.engines.sources import ask, engine_of, require_table
from hedgerow.errors import ArgumentError, DomainError, TooManyPatternsError
from hedgerow.schema import Schema, Unit
from hedgerow.schema.attributes import MISSING, OUTSIDE, Attribute, BinCodes, CellType, bins_of_codes
from hedgerow.schema.booleans import all_boolean, default_classes
from hedgerow.schema.contributions import no_unit
from hedgerow.schema.fits import (
    ColumnFit,
    TableFit,
    absent_columns,
    findings_from_names,
    kind_of,
    unclipped,
    undeclared_words,
)
from hedgerow.schema.missing_words import SPELLINGS
from hedgerow.tables.columns import FOUND_BOOLEANS, FOUND_INFINITY, FOUND_NO_DATE, FOUND_NO_NUMBER

MOST_PATTERNS = 5_000_000  # the most groups (a pattern with a class) that are fetched
_MOST_KEYS = 64  # booleans that are keys of their own; of more, Ibis takes 7 ms to write each
_PART = 1000  # booleans that are one key: in DuckDB's batches of a million groups, fewer than an Arrow list holds
Packed = Mapping[str, Sequence[int]]  # arrays of truths that are keys of groups, and the places of their attributes
CLASS, ROWS, _ABSENT, _STEPS = "class", "rows", "absent", "steps"
_ERRORS: Mapping[int, str] = {BOOLEAN: FOUND_BOOLEANS, NO_NUMBER: FOUND_NO_NUMBER}
_ERRORS = {**_ERRORS, NO_DATE: FOUND_NO_DATE, INFINITE: FOUND_INFINITY}


def count_rows(table: Expression, schema: Schema, label: str) -> tuple[dict[str, BinCodes], BinCodes, Integers]:
    """Count the rows, or steps of their weights, of each pattern and class where they are: one scan, one query."""
    packed = _packed(table, schema)
    found = _unpacked(ask(groups_within_limit(table, schema, label, packed)), packed)
    if not len(found) and len(ask(table.limit(1).select(one=1))):
        raise TooManyPatternsError(MOST_PATTERNS)
    if schema.unit is not None and (found[_ABSENT].to_numpy() > 0).any():
        raise no_unit(schema.unit.column)
    bins, classes = decoded(found, schema, label)
    rows = found[ROWS].to_numpy()
    if schema.weight is not None:
        steps = found[_STEPS].to_numpy()
        check_read(schema.weight.name, steps)
        rows = rows * schema.weight.checked(steps)
    return bins, classes, rows


def decoded(groups: pa.Table, schema: Schema, label: str) -> tuple[dict[str, BinCodes], BinCodes]:
    """Return the bins of groups, and their levels, as the policies have it; DomainError where these refuse a value."""
    codes = groups[CLASS].to_numpy()
    check_read(label, codes)
    levels = schema.target.checked(codes)
    bins = {name: _final_bins(schema, name, groups[key_of(i)].to_numpy()) for i, name in enumerate(schema.names)}
    return bins, levels


def groups_within_limit(table: Expression, schema: Schema, label: str, packed: Packed | None = None) -> Expression:
    """Return `grouped`, or nothing if there are too many groups: the engine counts them before it sends any."""
    groups = grouped(table, schema, label, packed)  # a sum over rows: with a count, Spark would scan the table twice
    return groups.filter((groups[ROWS] > 0).sum() <= MOST_PATTERNS)


def _packed(table: Expression, schema: Schema) -> Packed:
    """Return the truths that are columns of booleans, or of whole numbers, by their array; those of a type if many."""
    types, attributes = dict(table.schema()) if engine_of(table).groups_arrays else {}, enumerate(schema.attributes)
    plain = ((i, name) for i, (name, kind) in attributes if kind.cell_type is CellType.TRUTH and not kind.missing_words)
    truths = [(i, types.get(name)) for i, name in plain]
    wholes = [i for i, kind in truths if kind is not None and kind.is_integer() and not kind.is_uint64()]
    kinds = {"wholes": wholes, "truths": [i for i, kind in truths if kind is not None and kind.is_boolean()]}
    many = [(kind, found) for kind, found in kinds.items() if len(found) > _MOST_KEYS]
    return {f"{kind}{i}": found[i : i + _PART] for kind, found in many for i in range(0, len(found), _PART)}


def _unpacked(groups: pa.Table, packed: Packed) -> pa.Table:
    """Return groups with a column of codes for each attribute, those of arrays too."""
    columns = dict(zip(groups.column_names, groups.columns, strict=True))
    for array, places in packed.items():
        parts = [chunk.flatten().cast(pa.int8()).fill_null(MISSING).to_numpy() for chunk in columns.pop(array).chunks]
        codes = np.concatenate([np.empty(0, np.int8), *parts]).reshape(-1, len(places))
        columns |= {key_of(i): pa.array(codes[:, j]) for j, i in enumerate(places)}
    return pa.table(columns)


def grouped(table: Expression, schema: Schema, label: str, packed: Packed | None = None) -> Expression:
    """Return the aggregate as an Ibis table: a column of codes for each attribute, or array; class, number of rows."""
    weight, arrays = schema.weight, packed or {}
    in_arrays = set(chain(*arrays.values()))
    names, codes = [*schema.names, label, *([] if weight is None else [weight.name])], dict[str, Expression]()
    table = with_derived(table, schema)
    table, absent = (table, None) if schema.unit is None else counted_rows(table, schema.unit, names)
    columns = {name: EngineColumn.of(table, name) for name in names}
    lookups = Lookups(table, names if absent is None else [*names, absent])
    for i, (name, attribute) in enumerate(schema.attributes):
        attribute.refuse_days(columns[name])
        if i not in in_arrays:
            codes[key_of(i)] = bin_code(attribute, columns[name], lookups).cast(_smallest(len(attribute.bins)))
    for key, places in arrays.items():
        codes[key] = ibis.array([columns[schema.names[i]].values for i in places])
        if not codes[key].type().value_type.is_boolean():  # NULL stays NULL
            codes[key] = codes[key].map(lambda x: ibis.cases(((x < 0) | (x > 1), OUTSIDE), else_=x).cast("int8"))
    codes[CLASS] = level_code(schema.target, columns[label], lookups).cast(_smallest(schema.target.n_levels))
    if weight is not None:
        codes[_STEPS] = level_code(weight.as_number, columns[weight.name], lookups).cast(_smallest(weight.levels + 1))
    if absent is not None:
        codes[_ABSENT] = table[absent]
    return lookups.rows().select(**codes).group_by(list(codes)).agg(**{ROWS: ibis._.count()})


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
    schema.target  # noqa: B018 -- raises where the schema has no label
    return schema, name


def key_of(position: int) -> str:
    return f"a{position}"


def _smallest(bins: int) -> str:
    return "int8" if bins <= np.iinfo(np.int8).max else "int32"


def _final_bins(schema: Schema, name: str, codes: Array) -> BinCodes:
    derived = schema[name].derived
    if derived is not None and (codes == INFINITE).any():
        raise derived.refusal(name)
    check_read(name, codes)
    return bins_of_codes(schema[name], codes, name)


def check_read(name: str, codes: Array) -> None:
    for code, error in _ERRORS.items():
        if (codes == code).any():
            raise DomainError(error, column=name)


def engine_fit(table: Expression, schema: Schema) -> TableFit:
    """Return how a table in a database fits a schema; rows that do not fit are counted, and not named."""
    require_table(table)
    absent = {name: found for name in schema.names if (found := absent_columns(schema, name, table.columns))}
    table, names = with_derived(table, schema, only={*schema.names} - {*absent}), tuple(table.columns)
    kinds: dict[str, Any] = {**dict(schema.attributes), **schema.extra_columns}
    columns = {name: EngineColumn.of(table, name) for name in kinds if name in table.columns}
    lookups = Lookups(table, list(columns) or [table.columns[0]])
    codes = {f"c{i}": _code(kinds[name], table, column, lookups) for i, (name, column) in enumerate(columns.items())}
    rows = lookups.rows().select(**codes, one=ibis.literal(1))
    counts: dict[str, Any] = {"n": rows.count()}
    for key in codes:
        for place, found in enumerate(([MISSING], [OUTSIDE], list(_ERRORS))):
            counts[f"{key}_{place}"] = rows[key].isin(found).sum()
    numbers: Mapping[str, Any] = ask(rows.aggregate(**counts)).to_pylist()[0]
    places = {name: [int(numbers[f"c{i}_{place}"] or 0) for place in range(3)] for i, name in enumerate(columns)}
    fits = [one for name in kinds for one in absent.get(name) or [_column(name, kinds[name], places.get(name))]]
    refused = [one.name for one in fits if one.refused and one.name in columns and columns[one.name].kind == "text"]
    words = {name: undeclared_words(name, _usual_words(table, columns[name]), schema) for name in refused}
    named = tuple((name, found) for name, found in words.items() if found)
    return TableFit(int(numbers["n"]), tuple(fits), *findings_from_names(names, schema), missing_words=named)


def _usual_words(table: Expression, column: EngineColumn) -> tuple[str, ...]:
    """Return which of the usual words for a missing value occur in a column of text."""
    found = ask(table.select(x=column.text).filter(ibis._.x.isin(SPELLINGS)).distinct())["x"].to_pylist()
    return tuple(word for word in SPELLINGS if word in found)


def _code(kind: Any, table: Expression, column: EngineColumn, lookups: Lookups) -> Any:
    if isinstance(kind, Unit):
        return ibis.cases((column.is_absent, MISSING), else_=0 if has_exact_keys(table, kind) else NO_NUMBER)
    if isinstance(kind, Attribute):
        code = bin_code(unclipped(kind), column, lookups)
        return ibis.cases((code == MISSING, MISSING), else_=NO_NUMBER) if kind.takes_for_days(column) else code
    number = kind.as_number
    return _code(number.column_kind, table, column, lookups) if number else level_code(kind, column, lookups)


def _column(name: str, kind: Any, counts: list[int] | None) -> ColumnFit:
    if counts is None:
        return ColumnFit(name, kind_of(kind), is_absent=True)
    missing, outside, unread = counts
    kept = [getattr(kind, policy, "error") == "error" for policy in ("missing", "outside")]
    return ColumnFit(name, kind_of(kind), missing, outside, unread, unread + missing * kept[0] + outside * kept[1])
