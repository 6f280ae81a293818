"""Extraction of decision paths from models of any supported library, none of which must be installed."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.others import LIBRARIES, other_paths
from hedgerow.audit.readers.paths import HasRegions, Paths
from hedgerow.audit.readers.pipelines import last_step
from hedgerow.audit.readers.scikit_learn import tree_paths, trees_of
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.released import released_leaf_model
from hedgerow.schema.schema import Schema

__all__ = ["Features", "paths_of", "trees_of"]


def paths_of(model: Any, schema: Schema | None = None, features: Features | None = None) -> tuple[Paths, Schema]:
    """Return the decision paths of a model, and their schema."""
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"expected a Schema or None as schema, got {type(schema).__name__}.")
    released = released_leaf_model(model)
    if released is not None:
        return _released_paths(released), released.schema if schema is None else schema
    own = _own_paths(model) if isinstance(model, HasRegions) and not isinstance(model, type) else None
    if own is None and isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if schema is None:
        raise ArgumentError("expected a schema, as the model has none of its own; pass `schema=`.")
    if own is not None:
        return own, schema
    model, features = last_step(model, features)
    paths = tree_paths(model, schema, features)
    if paths is None:
        paths = other_paths(model, schema, features)
    if paths is None:
        raise ArgumentTypeError(_unsupported(model))
    return paths, schema


def _released_paths(model: LeafModel) -> Paths:
    counts = tuple(leaf.counts for leaf in model.leaves if leaf.counts is not None)
    supports = tuple(leaf.rows for leaf in model.leaves if leaf.rows is not None)
    complete = len(supports) == len(model)
    return Paths(
        model.paths,
        supports if complete else None,
        counts if complete else None,
        model.schema.target.values,
        view="exact" if model.privacy.noise == "none" else "noisy",
        exclusive=model.exclusive,
        predictions=model.predictions,
    )


def _own_paths(model: HasRegions) -> Paths:
    paths = tuple(tuple((literal, True) for literal in conjunction) for conjunction in model.regions())
    return Paths(paths, None if model.supports is None else tuple(model.supports))


def _unsupported(model: Any) -> str:
    names = ["hedgerow's RuleList, Tree and fitted estimators", "scikit-learn's trees", *LIBRARIES]
    return (
        f"cannot extract decision paths from a {type(model).__name__}; supported are {', '.join(names)}, and any "
        "object with\n"
        "    supports = (40, 60)    # rows in each region, or None\n"
        "    def regions(self):     # a row belongs to the first conjunction that holds\n"
        '        return [[Literal("age", "<=", (30,))], []]'
    )
