"""Dummy rows that depend on a schema alone, to test a program before it is run on private rows."""

from typing import Any

import numpy as np

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from hedgerow.schema.schema import Schema

MOST_ROWS = 10_000
MOST_CELLS = 500_000


def dummy_rows(schema: Schema, n_rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """Return random rows by column, uniform over the schema's domain, with the label and the unit."""
    if check_integer("rows", n_rows, 1) > MOST_ROWS:
        raise ArgumentError(f"rows must be at most {MOST_ROWS:,} for a dummy table, got {n_rows:,}.")
    if n_rows * len(schema) > MOST_CELLS:
        size = f"{n_rows:,} rows with {len(schema)} attributes exceed the {MOST_CELLS:,} values of a dummy table"
        raise ArgumentError(f"{size}; request fewer rows.")
    rng = np.random.default_rng(seed)
    columns = {name: attribute.drawn(n_rows, rng) for name, attribute in schema.attributes}
    if schema.label is not None:
        columns[schema.label.name] = schema.label.drawn(n_rows, rng)
    if schema.unit is not None:
        columns[schema.unit.column] = [f"{n}" for n in range(n_rows)]
    return columns
