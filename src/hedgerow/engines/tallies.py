"""Saved tallies: groups of rows as codes with counts, in files and databases, and the SQL that computes them."""

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

DIGEST = "schema"  # column with the digest of the schema, equal in all rows
MOST_ROWS = 2**43
"""Tallies must have fewer rows, like tables for choices by impurity; their sums in float64 are exact."""
KINDS = {"boolean": "boolean", "integer": "int64", "number": "float64", "decimal": "decimal(38, 9)"}
KINDS |= {"date": "date", "text": "string"}
"""The kinds of columns, with Ibis's types for them."""
_WHITE = re.compile("(?<!')' \t\n\r\v\f'(?!')")  # trimmed characters as a literal, which files may not preserve
_OF_BIGQUERY = re.compile("[A-Za-z_][A-Za-z0-9_]*")  # Ibis changes other names
_JINJA = re.compile(r"\{[{%#]")


def columns_of(schema: Schema) -> list[str]:
    """Return the columns of a tally: codes of attributes and of the level, number of rows, and digest."""
    return [*map(key_of, range(len(schema))), CLASS, ROWS, DIGEST]


def check_mergeable(schema: Schema) -> None:
    """Raise ArgumentError for schemas with a unit or a weight, whose tallies of parts cannot be added."""
    if schema.unit is not None or schema.weight is not None:
        part = "unit" if schema.unit is not None else "weight"
        raise ArgumentError(f"saved tallies do not support a schema with a {part}; fit the rows, or remove the {part}.")


def write_groups(path: str | PathLike[str], schema: Schema, bins: Array, levels: Array, rows: Integers) -> None:
    """Write groups to a Parquet file that only its owner can read, sorted by code; they are as private as the rows."""
    check_mergeable(schema)
    check_total(rows)
    if Path(path).suffix != ".parquet":
        raise ArgumentError(f"the name of a tally must end in .parquet, got {shown(Path(path).name)}.")
    order = np.lexsort([levels, *bins.T[::-1]])
    codes = [pa.array(column[order], pa.int32()) for column in (*bins.T, levels)]
    digest = pa.DictionaryArray.from_arrays(np.zeros(len(rows), dtype=np.int32), pa.array([schema.digest]))
    content = pa.BufferOutputStream()
    write_table(pa.table([*codes, pa.array(rows[order]), digest], names=columns_of(schema)), content)
    write_whole(path, content.getvalue().to_pybytes(), mode=0o600)


def read_groups(table: Expression, schema: Schema) -> tuple[dict[str, BinCodes], BinCodes, Integers]:
    """Return bins, levels and numbers of rows of a tally's groups; groups with equal codes are merged by one query."""
    require_table(table)
    for name in columns_of(schema):
        _check_column(table, name)
    # Sums are decimals, for which engines report an overflow, and are clipped to a number that is an error below.
    rows, largest = (x.cast("decimal(38, 0)") for x in (table[ROWS], cast(Expression, ibis.literal(MOST_ROWS))))
    groups = table.group_by(
        **{name: table[name].cast("int64") for name in columns_of(schema)[:-2]}, digest=table[DIGEST]
    ).agg(sum=rows.sum(), least=table[ROWS].min(), absent=table[ROWS].isnull().sum(), n=table.count())
    groups = groups.mutate(sum=ibis.least(groups["sum"], largest).cast("int64"), least=groups["least"] < 0)
    answer = ask(groups.filter((groups["n"] > 0).sum() <= MOST_PATTERNS))
    if not len(answer) and len(ask(table.limit(1).select(one=1))):
        raise TooManyPatternsError(MOST_PATTERNS)
    _check_groups(answer, schema)
    return *decoded(answer, schema, schema.target.name), answer["sum"].to_numpy()


def _check_column(table: Expression, name: str) -> None:
    if name not in table.columns:
        problem = "not a tally with this schema, which has this column; create it with `hedgerow tally`."
        raise DomainError(problem, column=name)
    kind = table[name].type()
    if not (kind.is_string() if name == DIGEST else kind.is_integer() or (kind.is_decimal() and kind.scale == 0)):
        word = "text" if name == DIGEST else "whole numbers"
        raise DomainError(f"this column of a tally must have {word}, got the type {kind}.", column=name)


def _check_groups(groups: pa.Table, schema: Schema) -> None:
    """Check the digest of the schema, the range of codes, and the numbers of rows."""
    if set(groups["digest"].unique().to_pylist()) - {schema.digest}:
        raise SchemaError("the tally was counted with another schema; count the rows with this schema.")
    sizes = [*(attribute.n_bins for _, attribute in schema.attributes), schema.target.n_levels]
    for name, size in zip(columns_of(schema), sizes, strict=False):
        codes = groups[name]
        if codes.null_count or ((codes.to_numpy() < NO_DATE) | (codes.to_numpy() >= size)).any():
            raise DomainError(f"some codes are not between 0 and {size - 1}; create the tally again.", column=name)
    if any(groups["absent"].to_pylist()) or any(groups["least"].to_pylist()):
        raise DomainError("some numbers of rows are missing or negative; create the tally again.", column=ROWS)
    check_total(groups["sum"].to_numpy())


def check_total(rows: Integers) -> None:
    """Raise an error for negative numbers of rows, and for totals of `MOST_ROWS` or more."""
    if (rows < 0).any():
        raise ArgumentError("numbers of rows must not be negative.")
    if rows.sum(dtype=np.float64) >= MOST_ROWS:
        raise TooManyRowsError("A tally must have fewer than 2^43 rows.")


def tally_sql(schema: Schema, dialect: str, table: str, kinds: Mapping[str, str] | None = None) -> str:
    """Return the SQL query that computes a tally of a table, for one of the engines in `PRINTED`.

    The table's name is inserted literally. The kinds of its columns follow from the schema, or from `kinds`.
    """
    check_mergeable(schema)
    check_choice("sql", dialect, [engine.name for engine in PRINTED])
    engine = next(engine for engine in PRINTED if engine.name == dialect)
    types, place = _types(schema, kinds or {}), f"rows_{schema.digest}"
    for name in types:
        if not name.isprintable() or (dialect == "bigquery" and not _OF_BIGQUERY.fullmatch(name)):
            problem = f"column names for {dialect} must consist of letters, digits and _, got {shown(name)}"
            raise ArgumentError(f"{problem}; rename the column in a view.")
    if engine.backend == "pyspark":
        require_package("pyspark", "spark", "writing SQL for Spark")
        ibis.pyspark  # noqa: B018 -- declares its options, one of which the compiler reads
    rows = ops.DatabaseTable(name=place, schema=ibis.schema(types), source=engine).to_expr()
    groups = grouped(rows, schema, schema.target.name).mutate(**{DIGEST: ibis.literal(schema.digest)})
    query = engine.answered(lambda: str(ibis.to_sql(groups, engine.backend or engine.name)))
    if _JINJA.search(query):
        raise ArgumentError(
            "a name or value of the schema contains {{, {% or {#, which a template engine would execute; rename it."
        )
    query = _WHITE.sub("' ' || CHR(9) || CHR(10) || CHR(13) || CHR(11) || CHR(12)", query)
    return re.sub(f'["`]{place}["`]', lambda _: table, query)


def _types(schema: Schema, kinds: Mapping[str, str]) -> dict[str, str]:
    own = {schema.target.name: _of_target(schema.target)}
    for name, attribute in schema.attributes:
        derived = attribute.derived
        read = attribute if derived is None else derived.read_as
        own |= dict.fromkeys((name,) if derived is None else derived.columns, _of_attribute(read))
    for name, kind in kinds.items():
        check_choice("column", kind, [*KINDS])
        if name not in own:
            raise DomainError.absent(name, [*own])
    return {name: KINDS[kind] for name, kind in {**own, **kinds}.items()}


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
