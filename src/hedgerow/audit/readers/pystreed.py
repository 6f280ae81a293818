"""Decision paths of STreeD trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.makers import is_made_by
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import ArgumentError
from hedgerow.models.paths import Path
from hedgerow.schema.schema import Schema

_Test = Callable[[bool], Path]
"""The literals of "a column of 0 and 1 is 1", or of its negation."""


def streed_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted ``STreeDClassifier`` or ``STreeDRegressor``; None for any other model.

    STreeD binarises its input columns: first those of 0 and 1, then those of text, then those of numbers. `features`
    is the meaning of the input columns.

    References
    ----------
    Van der Linden, De Weerdt, Demirović, *Necessary and Sufficient Conditions for Optimal Decision Trees using Dynamic
    Programming*, NeurIPS 2023.
    """
    if not is_made_by(model, "pystreed", "STreeDClassifier", "STreeDRegressor"):
        return None
    if getattr(model, "tree_", None) is None:
        raise ArgumentError(f"expected a fitted {type(model).__name__}, got one without a tree; call `fit` first.")
    tests = list(_tests(model.binarizer_, schema, features))
    leaves, paths = zip(*_leaf_paths(model.tree_, tests, ()), strict=True)
    if model.tree_.num_instances != len(model.train_y_):  # a regressor counts equal rows once
        return Paths(paths, exclusive=True)
    classes = tuple(int(label) for label in getattr(model, "classes_", ()))
    return Paths(
        paths,
        tuple(leaf.num_instances for leaf in leaves),
        tuple(tuple(leaf.num_instances_per_class[label] for label in classes) for leaf in leaves) if classes else None,
        classes or None,
        exclusive=True,
    )


def _leaf_paths(node: Any, tests: list[_Test], path: Path) -> Iterator[tuple[Any, Path]]:
    """Yield the leaves below a node, whose left child has the rows with a 0, with their decision paths."""
    if node.is_leaf_node():
        yield node, path
        return
    for child, holds in ((node.left_child, False), (node.right_child, True)):
        yield from _leaf_paths(child, tests, (*path, *tests[node.feature](holds)))


def _tests(binarizer: Any, schema: Schema, features: Features | None) -> Iterator[_Test]:
    """Yield the test of each column of 0 and 1 that STreeD computes."""
    if binarizer.binary_feature_limiter is not None:
        raise ArgumentError(
            "expected a model without max_num_binary_features, got one with it; the meaning of its columns is unknown."
        )
    columns, places = _given(binarizer, schema, features)
    for name in binarizer.binary_columns:
        yield lambda holds, i=places[name]: columns.is_one(i, holds=holds)
    if binarizer.categorical_binarizer is not None:
        for name, groups in zip(
            binarizer.categorical_columns, binarizer.categorical_binarizer.categories_, strict=True
        ):
            for group in groups:
                values = group if isinstance(group, list) else [group]
                yield lambda holds, i=places[name], values=values: columns.among(i, values, holds=holds)
    if binarizer.continuous_binarizer is not None:
        for name, cuts in zip(binarizer.continuous_columns, binarizer.continuous_binarizer.thresholds_, strict=True):
            for cut in cuts:
                yield lambda holds, i=places[name], cut=cut: columns.at_most(i, cut, holds=holds)


def _given(binarizer: Any, schema: Schema, features: Features | None) -> tuple[Columns, dict[Any, int]]:
    """Return the input columns of STreeD, and the position of each by its name or number."""
    kinds = (binarizer.binary_columns, binarizer.categorical_columns, binarizer.continuous_columns)
    keys = list(dict.fromkeys(key for kind in kinds for key in kind))
    if all(isinstance(key, str) for key in keys):
        if features is not None and len(keys) > len(binarizer.binary_columns):
            raise ArgumentError(
                "expected no `features=`, as the model stores the names of its columns in its own order; leave it out."
            )
        return Columns.of(schema, features, keys, len(keys)), {key: place for place, key in enumerate(keys)}
    return Columns.of(schema, features, None, len(keys)), {key: key for key in keys}
