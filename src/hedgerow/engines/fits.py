"""How the rows of a table in a database fit a schema: one aggregate query, counts of private rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis

from hedgerow.engines.bins import BOOLEAN, INFINITE, NO_DATE, NO_NUMBER, bin_code, class_code
from hedgerow.engines.columns import EngineColumn, Expression, require_table
from hedgerow.engines.contributions import tells_units_apart
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.queries import ask
from hedgerow.schema import Unit
from hedgerow.schema.attributes import MISSING, OUTSIDE
from hedgerow.schema.fits import ColumnFit, TableFit, beside_the_rows, unclipped
from hedgerow.schema.label import Label
from hedgerow.schema.schema import Schema

_UNREAD = (NO_NUMBER, INFINITE, BOOLEAN, NO_DATE)


def engine_fit(table: Expression, schema: Schema) -> TableFit:
    """Return how a table in a database fits a schema; rows that do not fit are counted, and not named."""
    require_table(table)
    kinds: dict[str, Any] = dict(schema.attributes)
    if schema.label is not None:
        kinds[schema.label.name] = schema.label
    if schema.unit is not None:
        kinds[schema.unit.column] = schema.unit
    columns = {name: EngineColumn.of(table, name) for name in kinds if name in table.columns}
    lookups = Lookups(table, list(columns) or [table.columns[0]])
    codes = {f"c{i}": _code(kinds[name], table, column, lookups) for i, (name, column) in enumerate(columns.items())}
    rows = lookups.rows().select(**codes, one=ibis.literal(1))
    counts: dict[str, Any] = {"n": rows.count()}
    for key in codes:
        for place, found in enumerate(([MISSING], [OUTSIDE], _UNREAD)):
            counts[f"{key}_{place}"] = rows[key].isin(list(found)).sum()
    numbers: Mapping[str, Any] = ask(rows.aggregate(**counts)).to_pylist()[0]
    places = {name: [int(numbers[f"c{i}_{place}"] or 0) for place in range(3)] for i, name in enumerate(columns)}
    return TableFit(
        int(numbers["n"]),
        tuple(_column(name, kind, places.get(name)) for name, kind in kinds.items()),
        *beside_the_rows(tuple(table.columns), schema),
    )


def _code(kind: Any, table: Expression, column: EngineColumn, lookups: Lookups) -> Any:
    if isinstance(kind, Unit):
        return ibis.cases((column.is_absent, MISSING), else_=0 if tells_units_apart(table, kind) else NO_NUMBER)
    return class_code(kind, column, lookups) if isinstance(kind, Label) else bin_code(unclipped(kind), column, lookups)


def _column(name: str, kind: Any, counts: list[int] | None) -> ColumnFit:
    word = "unit" if isinstance(kind, Unit) else getattr(kind, "kind", "label")
    if counts is None:
        return ColumnFit(name, word, is_absent=True)
    missing, outside, unread = counts
    kept = [getattr(kind, policy, "error") == "error" for policy in ("missing", "outside")]
    return ColumnFit(name, word, missing, outside, unread, unread + missing * kept[0] + outside * kept[1])
