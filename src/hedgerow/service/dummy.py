"""Dummy rows: drawn from the schema alone, to try code on before anything is asked."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.arguments import check_whole
from hedgerow.days import Day
from hedgerow.errors import ArgumentError
from hedgerow.schema.attributes import Attribute, Boolean, Categorical
from hedgerow.schema.dates import Date
from hedgerow.schema.numbers import Integer
from hedgerow.schema.schema import Schema

MOST_ROWS = 10_000
MOST_CELLS = 500_000


def dummy_rows(schema: Schema, n_rows: int, seed: int = 0) -> dict[str, list[Any]]:
    """Return made-up rows, by column, label and unit included: every value that the schema allows is as likely.

    Nothing of them is from a private row; they show names, types and domains, and no dependence.

    Examples
    --------
    >>> from hedgerow.schema import Boolean, Label
    >>> rows = dummy_rows(Schema({"smoker": Boolean()}, Label("ill", ("no", "yes"))), 3)
    >>> sorted(rows), len(rows["ill"])
    (['ill', 'smoker'], 3)
    """
    if check_whole("rows", n_rows, 1) > MOST_ROWS:
        raise ArgumentError(f"expected at most {MOST_ROWS:,} dummy rows, got {n_rows:,}.")
    if n_rows * len(schema) > MOST_CELLS:
        raise ArgumentError(f"expected dummy rows of at most {MOST_CELLS:,} values, got more; ask for fewer rows.")
    rng = np.random.default_rng(seed)
    columns = {name: _drawn(attribute, n_rows, rng) for name, attribute in schema.attributes}
    if schema.label is not None:
        columns[schema.label.name] = [schema.classes[k] for k in rng.integers(len(schema.classes), size=n_rows)]
    if schema.unit is not None:
        columns[schema.unit.column] = [f"{n}" for n in range(n_rows)]
    return columns


def _drawn(attribute: Attribute, size: int, rng: np.random.Generator) -> list[Any]:
    if isinstance(attribute, Boolean):
        return [attribute.value_of(int(code)) for code in rng.random(size) < 0.5]
    if isinstance(attribute, Categorical):
        return [attribute.values[k] for k in rng.integers(len(attribute.values), size=size)]
    if isinstance(attribute, Date):
        return [str(Day(round(v))) for v in rng.uniform(attribute.low, attribute.high, size)]
    if isinstance(attribute, Integer):
        return [int(v) for v in np.rint(rng.uniform(attribute.low, attribute.high, size))]
    return rng.uniform(attribute.low, attribute.high, size).tolist()  # type: ignore[attr-defined]
