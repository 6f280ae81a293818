"""Counting in an engine: one aggregate query, which returns only patterns of bins, classes and numbers of rows."""

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
    undeclared_policies,
    undeclared_words,
)
from hedgerow.schema.missing_words import SPELLINGS
from hedgerow.tables.columns import FOUND_BOOLEANS, FOUND_INFINITY, FOUND_NO_DATE, FOUND_NO_NUMBER

MOST_PATTERNS = 5_000_000  # the maximum number of groups (a pattern with a class) that are fetched
_MOST_KEYS = 64  # more booleans are packed into arrays, since Ibis takes 7 ms to compile each key
_PART = 1000  # booleans in an array, so that DuckDB's batches of a million groups fit into an Arrow list
Packed = Mapping[str, Sequence[int]]  # the indices of the boolean attributes in each array
CLASS, ROWS, _ABSENT, _STEPS = "class", "rows", "absent", "steps"
_ERRORS: Mapping[int, str] = {BOOLEAN: FOUND_BOOLEANS, NO_NUMBER: FOUND_NO_NUMBER}
_ERRORS = {**_ERRORS, NO_DATE: FOUND_NO_DATE, INFINITE: FOUND_INFINITY}


def count_rows(table: Expression, schema: Schema, label: str) -> tuple[dict[str, BinCodes], BinCodes, Integers]:
    """Return bins, class and number of rows (or steps of weights) of each pattern, by one query with one scan."""
    packed = _packed(table, schema)
    groups = _unpacked(ask(groups_within_limit(table, schema, label, packed)), packed)
    if not len(groups) and len(ask(table.limit(1).select(one=1))):
        raise TooManyPatternsError(MOST_PATTERNS)
    if schema.unit is not None and (groups[_ABSENT].to_numpy() > 0).any():
        raise no_unit(schema.unit.column)
    bins, classes = decoded(groups, schema, label)
    rows = groups[ROWS].to_numpy()
    if schema.weight is not None:
        steps = groups[_STEPS].to_numpy()
        check_read(schema.weight.name, steps)
        rows = rows * schema.weight.checked(steps)
    return bins, classes, rows


def decoded(groups: pa.Table, schema: Schema, label: str) -> tuple[dict[str, BinCodes], BinCodes]:
    """Return the bins and levels of groups after the policies; DomainError if these do not allow a value."""
    codes = groups[CLASS].to_numpy()
    check_read(label, codes)
    levels = schema.target.checked(codes)
    bins = {name: _final_bins(schema, name, groups[key_of(i)].to_numpy()) for i, name in enumerate(schema.names)}
    return bins, levels


def groups_within_limit(table: Expression, schema: Schema, label: str, packed: Packed | None = None) -> Expression:
    """Return `grouped`, or no rows if there are too many groups; the engine counts them before it sends any."""
    groups = grouped(table, schema, label, packed)
    # A sum of comparisons: for a count, Spark would scan the table twice.
    return groups.filter((groups[ROWS] > 0).sum() <= MOST_PATTERNS)


def _packed(table: Expression, schema: Schema) -> Packed:
    """Return arrays of boolean attributes for each type of column, booleans or whole numbers, with many of them."""
    types, attributes = dict(table.schema()) if engine_of(table).groups_arrays else {}, enumerate(schema.attributes)
    plain = ((i, name) for i, (name, kind) in attributes if kind.cell_type is CellType.TRUTH and not kind.missing_words)
    truths = [(i, types.get(name)) for i, name in plain]
    wholes = [i for i, kind in truths if kind is not None and kind.is_integer() and not kind.is_uint64()]
    kinds = {"wholes": wholes, "truths": [i for i, kind in truths if kind is not None and kind.is_boolean()]}
    many = [(kind, places) for kind, places in kinds.items() if len(places) > _MOST_KEYS]
    return {f"{kind}{i}": places[i : i + _PART] for kind, places in many for i in range(0, len(places), _PART)}


def _unpacked(groups: pa.Table, packed: Packed) -> pa.Table:
    """Return groups with a column of codes for each attribute; arrays are unpacked."""
    columns = dict(zip(groups.column_names, groups.columns, strict=True))
    for array, places in packed.items():
        parts = [chunk.flatten().cast(pa.int8()).fill_null(MISSING).to_numpy() for chunk in columns.pop(array).chunks]
        codes = np.concatenate([np.empty(0, np.int8), *parts]).reshape(-1, len(places))
        columns |= {key_of(i): pa.array(codes[:, j]) for j, i in enumerate(places)}
    return pa.table(columns)


def grouped(table: Expression, schema: Schema, label: str, packed: Packed | None = None) -> Expression:
    """Return the aggregate as an Ibis table, with codes of attributes or arrays, class and number of rows."""
    weight, arrays = schema.weight, packed or {}
    in_arrays = set(chain(*arrays.values()))
    names, codes = [*schema.names, label, *([] if weight is None else [weight.name])], dict[str, Expression]()
    table = with_derived(table, schema)
    table, absent = (table, None) if schema.unit is None else counted_rows(table, schema.unit, names)
    columns = {name: EngineColumn.of(table, name) for name in names}
    lookups = Lookups(table, names if absent is None else [*names, absent])
    for i, (name, attribute) in enumerate(schema.attributes):
        attribute.check_no_dates(columns[name])
        if i not in in_arrays:
            codes[key_of(i)] = bin_code(attribute, columns[name], lookups).cast(_smallest(len(attribute.bins)))
    for key, places in arrays.items():
        codes[key] = ibis.array([columns[schema.names[i]].values for i in places])
        if not codes[key].type().value_type.is_boolean():  # NULL remains NULL
            codes[key] = codes[key].map(lambda x: ibis.cases(((x < 0) | (x > 1), OUTSIDE), else_=x).cast("int8"))
    codes[CLASS] = level_code(schema.target, columns[label], lookups).cast(_smallest(schema.target.n_levels))
    if weight is not None:
        codes[_STEPS] = level_code(weight.as_number, columns[weight.name], lookups).cast(_smallest(weight.levels + 1))
    if absent is not None:
        codes[_ABSENT] = table[absent]
    return lookups.rows().select(**codes).group_by(list(codes)).agg(**{ROWS: ibis._.count()})


def declared_or_boolean(table: Any, schema: Schema | None, label: str | None) -> tuple[Schema, str]:
    """Return the schema, or a schema of booleans, and the name of the label's column; no row is read."""
    require_table(table)
    in_schema = None if schema is None or schema.label is None else schema.label.name
    name = in_schema if label is None else label
    if name is None:
        raise ArgumentError("The column of the labels is unknown; pass `label=`, or a schema with a label.")
    column = EngineColumn.of(table, name)
    if schema is None:
        return all_boolean(table.columns, name, default_classes(column.kind == "boolean")), name
    schema.target  # noqa: B018 -- raises if the schema has no label
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
    """Return the check of a table in a database against a schema; rows that do not fit are counted but not listed."""
    require_table(table)
    absent = {name: fits for name in schema.names if (fits := absent_columns(schema, name, table.columns))}
    table, names = with_derived(table, schema, only={*schema.names} - {*absent}), tuple(table.columns)
    kinds: dict[str, Any] = {**dict(schema.attributes), **schema.extra_columns}
    columns = {name: EngineColumn.of(table, name) for name in kinds if name in table.columns}
    lookups = Lookups(table, list(columns) or [table.columns[0]])
    codes = {f"c{i}": _code(kinds[name], table, column, lookups) for i, (name, column) in enumerate(columns.items())}
    rows = lookups.rows().select(**codes, one=ibis.literal(1))
    counts: dict[str, Any] = {"n": rows.count()}
    for key in codes:
        for place, group in enumerate(([MISSING], [OUTSIDE], list(_ERRORS))):
            counts[f"{key}_{place}"] = rows[key].isin(group).sum()
    numbers: Mapping[str, Any] = ask(rows.aggregate(**counts)).to_pylist()[0]
    places = {name: [int(numbers[f"c{i}_{place}"] or 0) for place in range(3)] for i, name in enumerate(columns)}
    fits = [fit for name in kinds for fit in absent.get(name) or [_column(name, kinds[name], places.get(name))]]
    refused = [fit.name for fit in fits if fit.refused and fit.name in columns and columns[fit.name].kind == "text"]
    by_name = {name: undeclared_words(name, _usual_words(table, columns[name]), schema) for name in refused}
    words = tuple((name, words) for name, words in by_name.items() if words)
    by_names, policies = findings_from_names(names, schema), undeclared_policies(fits, schema)
    return TableFit(int(numbers["n"]), tuple(fits), *by_names, missing_words=words, policies=policies)


def _usual_words(table: Expression, column: EngineColumn) -> tuple[str, ...]:
    """Return the usual words for a missing value that occur in a column of text."""
    words = ask(table.select(x=column.text).filter(ibis._.x.isin(SPELLINGS)).distinct())["x"].to_pylist()
    return tuple(word for word in SPELLINGS if word in words)


def _code(kind: Any, table: Expression, column: EngineColumn, lookups: Lookups) -> Any:
    if isinstance(kind, Unit):
        return ibis.cases((column.is_absent, MISSING), else_=0 if has_exact_keys(table, kind) else NO_NUMBER)
    if isinstance(kind, Attribute):
        code = bin_code(unclipped(kind), column, lookups)
        return ibis.cases((code == MISSING, MISSING), else_=NO_NUMBER) if kind.mistakes_dates(column) else code
    number = kind.as_number
    return _code(number.column_kind, table, column, lookups) if number else level_code(kind, column, lookups)


def _column(name: str, kind: Any, counts: list[int] | None) -> ColumnFit:
    if counts is None:
        return ColumnFit(name, kind_of(kind), is_absent=True)
    missing, outside, unread = counts
    refuses = [getattr(kind, policy, "error") == "error" for policy in ("missing", "outside")]
    refused = unread + missing * refuses[0] + outside * refuses[1]
    return ColumnFit(name, kind_of(kind), missing, outside, unread, refused)
