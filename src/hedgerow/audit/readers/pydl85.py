"""Decision paths of DL8.5 trees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.makers import is_made_by
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import ArgumentError
from hedgerow.models.paths import Path
from hedgerow.schema.schema import Schema


def dl85_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted ``DL85Classifier`` or other predictor of DL8.5; None for any other model.

    The model stores neither its leaf counts nor the number of its columns.

    References
    ----------
    Aglin, Nijssen, Schaus, *Learning Optimal Decision Trees Using Caching Branch-and-Bound Search*, AAAI 2020.
    """
    if not is_made_by(model, "pydl85", "DL85Predictor"):
        return None
    if model.tree_ is None:
        raise ArgumentError(f"expected a fitted {type(model).__name__}, got one without a tree; call `fit` first.")
    columns = Columns.of_bits(schema, features)
    return Paths(tuple(_leaf_paths(model.tree_, columns, ())), exclusive=True)


def _leaf_paths(node: dict[str, Any], columns: Columns, path: Path) -> Iterator[Path]:
    """Yield the decision paths of the leaves below a node, whose left child has the rows with a 1."""
    if "feat" not in node:
        yield path
        return
    for child, holds in (("left", True), ("right", False)):
        yield from _leaf_paths(node[child], columns, (*path, *columns.is_one(node["feat"], holds=holds)))
