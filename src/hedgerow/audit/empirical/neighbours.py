"""Neighbouring tables on which learners that lose more than they claim are likely to show it."""

from __future__ import annotations

from typing import Any

import pandas as pd

from hedgerow.audit.counting.bin_values import Mark, values_of_bins
from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentTypeError
from hedgerow.schema.schema import Schema

Table = tuple[pd.DataFrame, pd.Series]


def worst_neighbours(schema: Schema, rows: int = 20) -> dict[str, tuple[Table, Table]]:
    """Return pairs of tables, one row apart, each as revealing as can be for some learners.

    The second table of a pair has the row that the first has not. Rows are at the two ends of the domain: in the first
    bin of every attribute with the first class, or in the last with the last.

    Parameters
    ----------
    schema : Schema
        The public schema, with a label.
    rows : int, default=20
        Rows of the larger tables.

    Returns
    -------
    dict of str to pair of (X, y)
        By name: "one row" (none, and one), "a row in an empty bin", "a row in a full bin", "the first of its class", "a
        duplicate of all", "a row far out" and "even classes" (as many rows of each class in one bin, and one more).

    Raises
    ------
    TypeError
        If it is no schema.
    ValueError
        If it has no label, or there are fewer than two rows.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(0, 99, (30, 60))}, hr.Label("ill", (False, True)))
    >>> (X, y), (X_more, y_more) = worst_neighbours(schema)["a row far out"]
    >>> len(X_more) - len(X), int(X["age"].max()), int(X_more["age"].max())
    (1, 0, 99)
    """
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"expected a Schema, got {type(schema).__name__}.")
    check_integer("rows", rows, 2)
    plain, odd = (_row(schema, end) for end in (0, -1))
    first, last = schema.classes[0], schema.classes[-1]
    mixed = [first, last] * (rows // 2)
    cases: dict[str, tuple[list[dict[str, Any]], list[Any], dict[str, Any], Any]] = {
        "one row": ([], [], odd, last),
        "a row in an empty bin": ([plain] * (2 * (rows // 2)), mixed, odd, last),
        "a row in a full bin": ([plain] * rows, [first] * rows, plain, last),
        "the first of its class": ([plain, odd] * (rows // 2), [first] * (2 * (rows // 2)), odd, last),
        "a duplicate of all": ([plain] * rows, [first] * rows, plain, first),
        "a row far out": ([plain] * rows, [first] * rows, odd, last),
        "even classes": ([plain] * (2 * (rows // 2)), mixed, plain, last),
    }
    return {name: _pair(schema, *case) for name, case in cases.items()}


def _row(schema: Schema, end: int) -> dict[str, Any]:
    """Return the row at one end of the domain, in bins of values."""
    found: dict[str, Any] = {}
    for name, attribute in schema.attributes:
        known = [values for values in values_of_bins(attribute) if len(values) and not isinstance(values[0], Mark)]
        value = known[end][end]
        found[name] = (value.left if end == 0 else value.right) if isinstance(value, pd.Interval) else value
    return found


def _pair(schema: Schema, rows: list[dict[str, Any]], labels: list[Any], row: dict[str, Any], label: Any) -> Any:
    assert schema.label is not None
    names = schema.names
    whole = pd.DataFrame([*rows, row], columns=list(names))
    y = pd.Series([*labels[: len(rows)], label], name=schema.label.name)
    return (whole.iloc[:-1], y.iloc[:-1]), (whole, y)
