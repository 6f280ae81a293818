"""Tables of tallies: groups of a table as codes, with their rows, as files and databases hold them; SQL for them."""

import re
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
from pyarrow.parquet import write_table

from hedgerow.boundary.arguments import check_choice
from hedgerow.boundary.arrays import Array, Integers
from hedgerow.boundary.durable import write_whole
from hedgerow.engines.bins import NO_DATE
from hedgerow.engines.count import CLASS, MOST_PATTERNS, ROWS, decoded, grouped, key_of
from hedgerow.engines.engine import Expression, require_package
from hedgerow.engines.packages import ibis, ops
from hedgerow.engines.sources import PRINTED, ask, require_table
from hedgerow.errors import ArgumentError, DomainError, SchemaError, TooManyPatternsError, TooManyRowsError
from hedgerow.schema.attributes import Attribute, BinCodes, CellType
from hedgerow.schema.dates import date_format
from hedgerow.schema.numbers import as_number
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import shown

DIGEST = "schema"  # the column with the digest of the schema, the same in each row
MOST_ROWS = 2**43
"""Tallies of as many rows or more are refused, as choices by impurity do: below, sums in float64 are exact, too."""
KINDS = {"boolean": "boolean", "integer": "int64", "number": "float64", "decimal": "decimal(38, 9)"}
KINDS |= {"date": "date", "text": "string"}
"""What the column of a table may hold, and Ibis's type for it."""
_WHITE = re.compile("(?<!')' \t\n\r\v\f'(?!')")  # what is trimmed, where it stands as it is: files lose such characters
_OF_BIGQUERY = re.compile("[A-Za-z_][A-Za-z0-9_]*")  # Ibis changes other names
_JINJA = re.compile(r"\{[{%#]")


def columns_of(schema: Schema) -> list[str]:
    """Return the columns of a tally: a code for each attribute and for the level, the rows, and the digest."""
    return [*map(key_of, range(len(schema))), CLASS, ROWS, DIGEST]


def check_mergeable(schema: Schema) -> None:
    """Refuse schemas whose tallies are no sums of those of parts: of a unit's rows some are drawn, from all of them."""
    if schema.unit is not None or schema.weight is not None:
        raise ArgumentError("a tally that is kept knows no unit and no weight; fit the rows, or declare none.")


def write_groups(path: str | PathLike[str], schema: Schema, bins: Array, levels: Array, rows: Integers) -> None:
    """Write groups as Parquet, in the order of their codes, for their owner alone: they are as private as the rows."""
    check_mergeable(schema)
    check_total(rows)
    if Path(path).suffix != ".parquet":
        raise ArgumentError("expected a name that ends in .parquet for a tally.")
    order = np.lexsort([levels, *bins.T[::-1]])
    codes = [pa.array(column[order], pa.int32()) for column in (*bins.T, levels)]
    digest = pa.DictionaryArray.from_arrays(np.zeros(len(rows), dtype=np.int32), pa.array([schema.digest]))
    content = pa.BufferOutputStream()
    write_table(pa.table([*codes, pa.array(rows[order]), digest], names=columns_of(schema)), content)
    write_whole(path, content.getvalue().to_pybytes(), mode=0o600)


def read_groups(table: Expression, schema: Schema) -> tuple[dict[str, BinCodes], BinCodes, Integers]:
    """Return the bins, levels and rows of a table's groups, those of the same codes merged: one query, all checked."""
    require_table(table)
    for name in columns_of(schema):
        _check_column(table, name)
    # Summed as decimals, of which an engine reports those that are too many; what is more than learners take is refused
    rows, largest = (x.cast("decimal(38, 0)") for x in (table[ROWS], cast(Expression, ibis.literal(MOST_ROWS))))
    groups = table.group_by(
        **{name: table[name].cast("int64") for name in columns_of(schema)[:-2]}, digest=table[DIGEST]
    ).agg(sum=rows.sum(), least=table[ROWS].min(), absent=table[ROWS].isnull().sum(), n=table.count())
    groups = groups.mutate(sum=ibis.least(groups["sum"], largest).cast("int64"), least=groups["least"] < 0)
    found = ask(groups.filter((groups["n"] > 0).sum() <= MOST_PATTERNS))
    if not len(found) and len(ask(table.limit(1).select(one=1))):
        raise TooManyPatternsError(MOST_PATTERNS)
    _check_groups(found, schema)
    return *decoded(found, schema, schema.target.name), found["sum"].to_numpy()


def _check_column(table: Expression, name: str) -> None:
    if name not in table.columns:
        raise DomainError("no such column, which a tally on this schema has; see `hedgerow tally`.", column=name)
    kind = table[name].type()
    if not (kind.is_string() if name == DIGEST else kind.is_integer() or (kind.is_decimal() and kind.scale == 0)):
        word = "text" if name == DIGEST else "whole numbers"
        raise DomainError(f"expected {word} in this column of a tally, found another type.", column=name)


def _check_groups(found: pa.Table, schema: Schema) -> None:
    """Check what crosses the boundary: whose schema it is, that codes are some of bins, and that rows are counts."""
    if set(found["digest"].unique().to_pylist()) - {schema.digest}:
        raise SchemaError("expected a tally on this schema, got one on another; count the rows by this one.")
    sizes = [*(attribute.n_bins for _, attribute in schema.attributes), schema.target.n_levels]
    for name, size in zip(columns_of(schema), sizes, strict=False):
        codes = found[name]
        if codes.null_count or ((codes.to_numpy() < NO_DATE) | (codes.to_numpy() >= size)).any():
            raise DomainError(f"expected codes from 0 to {size - 1}, found others; make the tally again.", column=name)
    if any(found["absent"].to_pylist()) or any(found["least"].to_pylist()):
        raise DomainError("expected whole numbers of rows from 0 on, found others.", column=ROWS)
    check_total(found["sum"].to_numpy())


def check_total(rows: Integers) -> None:
    """Refuse negative rows, and more than learners are exact for; below, this sum is not rounded either."""
    if (rows < 0).any():
        raise ArgumentError("expected whole numbers of rows from 0 on, got negative ones.")
    if rows.sum(dtype=np.float64) >= MOST_ROWS:
        raise TooManyRowsError("Expected a tally of fewer than 2^43 rows, got 2^43 or more.")


def tally_sql(schema: Schema, dialect: str, table: str, kinds: Mapping[str, str] | None = None) -> str:
    """Return the query that makes a tally of a table, as SQL of one of `PRINTED`.

    The table's name stands there as it is given. Its columns are of the `KINDS` that the schema or `kinds` say.
    """
    check_mergeable(schema)
    check_choice("sql", dialect, [one.name for one in PRINTED])
    engine = next(one for one in PRINTED if one.name == dialect)
    types, place = _types(schema, kinds or {}), f"rows_{schema.digest}"
    for name in types:
        if not name.isprintable() or (dialect == "bigquery" and not _OF_BIGQUERY.fullmatch(name)):
            problem = f"expected names of letters, digits and _ for {dialect}, got {shown(name)}"
            raise ArgumentError(f"{problem}; rename it in a view.")
    if engine.backend == "pyspark":
        require_package("pyspark", "spark", "writing SQL for Spark")
        ibis.pyspark  # noqa: B018 -- which declares its options, and the compiler reads one
    rows = ops.DatabaseTable(name=place, schema=ibis.schema(types), source=engine).to_expr()
    groups = grouped(rows, schema, schema.target.name).mutate(**{DIGEST: ibis.literal(schema.digest)})
    query = engine.answered(lambda: str(ibis.to_sql(groups, engine.backend or engine.name)))
    if _JINJA.search(query):
        raise ArgumentError("expected a schema without {{, {% and {#, which a template runs; found some of them.")
    query = _WHITE.sub("' ' || CHR(9) || CHR(10) || CHR(13) || CHR(11) || CHR(12)", query)
    return re.sub(f'["`]{place}["`]', lambda _: table, query)


def _types(schema: Schema, kinds: Mapping[str, str]) -> dict[str, str]:
    found = {schema.target.name: _of_target(schema.target)}
    for name, attribute in schema.attributes:
        derived = attribute.derived
        read = attribute if derived is None else derived.read_as
        found |= dict.fromkeys((name,) if derived is None else derived.columns, _of_attribute(read))
    for name, kind in kinds.items():
        check_choice("column", kind, [*KINDS])
        if name not in found:
            raise DomainError.absent(name, [*found])
    return {name: KINDS[kind] for name, kind in {**found, **kinds}.items()}


def _of_attribute(attribute: Attribute) -> str:
    if attribute.cell_type in (CellType.TRUTH, CellType.DATE):
        return "boolean" if attribute.cell_type is CellType.TRUTH else "text" if date_format(attribute) else "date"
    number = as_number(attribute)
    if number is not None:
        return "number"
    return "integer" if {type(value) for value, _ in attribute.spellings} == {int} else "text"


def _of_target(target: Target) -> str:
    if target.as_number is not None:
        return "number"
    kind = {type(value) for value, _ in target.spellings(is_text=False)}
    return "boolean" if kind == {bool} else "integer" if kind == {int} else "text"
