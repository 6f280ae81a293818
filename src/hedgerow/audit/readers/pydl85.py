"""Trees of DL8.5, as ways to leaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.makers import is_made_by
from hedgerow.audit.readers.paths import Path, Paths
from hedgerow.errors import ArgumentError
from hedgerow.schema.schema import Schema


def dl85_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the ways to the leaves of a fitted ``DL85Classifier`` or another predictor of DL8.5; None for all else.

    It tells neither how many rows came to each leaf nor how many columns there were.

    Raises
    ------
    ValueError
        If the model is not fitted, or what its columns are is not clear.

    References
    ----------
    Aglin, Nijssen, Schaus, *Learning Optimal Decision Trees Using Caching Branch-and-Bound Search*, AAAI 2020.
    """
    if not is_made_by(model, "pydl85", "DL85Predictor"):
        return None
    if model.tree_ is None:
        raise ArgumentError(f"expected a fitted {type(model).__name__}, got one that has no tree; call fit first.")
    columns = Columns.of_bits(schema, features)
    return Paths(tuple(_ways(model.tree_, columns, ())), exclusive=True)


def _ways(node: dict[str, Any], columns: Columns, way: Path) -> Iterator[Path]:
    """Yield the ways to the leaves below a node, whose left child has the rows with a 1."""
    if "feat" not in node:
        yield way
        return
    for child, holds in (("left", True), ("right", False)):
        yield from _ways(node[child], columns, (*way, *columns.is_one(node["feat"], holds=holds)))
