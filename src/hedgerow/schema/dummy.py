"""Made-up rows, drawn from a schema alone: for trying out a program before it is run on private rows."""

from typing import Any

import numpy as np

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from hedgerow.schema.schema import Schema

MOST_ROWS = 10_000
MOST_CELLS = 500_000


def dummy_rows(schema: Schema, n_rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """Return made-up rows by column, label and unit included: drawn uniformly from the schema alone."""
    if check_integer("rows", n_rows, 1) > MOST_ROWS:
        raise ArgumentError(f"expected at most {MOST_ROWS:,} dummy rows, got {n_rows:,}.")
    if n_rows * len(schema) > MOST_CELLS:
        raise ArgumentError(f"expected dummy rows of at most {MOST_CELLS:,} values, got more; ask for fewer rows.")
    rng = np.random.default_rng(seed)
    columns = {name: attribute.drawn(n_rows, rng) for name, attribute in schema.attributes}
    if schema.label is not None:
        columns[schema.label.name] = schema.label.drawn(n_rows, rng)
    if schema.unit is not None:
        columns[schema.unit.column] = [f"{n}" for n in range(n_rows)]
    return columns
