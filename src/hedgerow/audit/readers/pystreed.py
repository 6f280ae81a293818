"""Trees of STreeD, as ways to leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.makers import is_made_by
from hedgerow.audit.readers.paths import Path, Paths
from hedgerow.errors import ArgumentError
from hedgerow.schema.schema import Schema

_Test = Callable[[bool], Path]
"""The steps that say that a column of 0 and 1 is 1, or that it is not."""


def streed_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the ways to the leaves of a fitted ``STreeDClassifier`` or ``STreeDRegressor``; None for anything else.

    STreeD makes columns of 0 and 1 of those that it is given, first of those that are such, then of words, then of
    numbers. `features` says what the columns are that it was given.

    Raises
    ------
    ValueError
        If the model is not fitted, or what its columns are is not clear.

    References
    ----------
    Van der Linden, De Weerdt, Demirović, *Necessary and Sufficient Conditions for Optimal Decision Trees using Dynamic
    Programming*, NeurIPS 2023.
    """
    if not is_made_by(model, "pystreed", "STreeDClassifier", "STreeDRegressor"):
        return None
    if getattr(model, "tree_", None) is None:
        raise ArgumentError(f"expected a fitted {type(model).__name__}, got one that has no tree; call fit first.")
    tests = list(_tests(model.binarizer_, schema, features))
    leaves, ways = zip(*_ways(model.tree_, tests, ()), strict=True)
    if model.tree_.num_instances != len(model.train_y_):  # a regressor counts rows that are alike once
        return Paths(ways, exclusive=True)
    classes = tuple(int(label) for label in getattr(model, "classes_", ()))
    return Paths(
        ways,
        tuple(leaf.num_instances for leaf in leaves),
        tuple(tuple(leaf.num_instances_per_class[label] for label in classes) for leaf in leaves) if classes else None,
        classes or None,
        exclusive=True,
    )


def _ways(node: Any, tests: list[_Test], way: Path) -> Iterator[tuple[Any, Path]]:
    """Yield the leaves below a node, whose left child has the rows with a 0, with the ways to them."""
    if node.is_leaf_node():
        yield node, way
        return
    for child, holds in ((node.left_child, False), (node.right_child, True)):
        yield from _ways(child, tests, (*way, *tests[node.feature](holds)))


def _tests(binarizer: Any, schema: Schema, features: Features | None) -> Iterator[_Test]:
    """Yield what each column of 0 and 1 that STreeD makes says of a row."""
    if binarizer.binary_feature_limiter is not None:
        raise ArgumentError("expected a model without max_num_binary_features, which leaves open what its columns are.")
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
    """Return the columns that STreeD was given, and the place of each by its name or number."""
    kinds = (binarizer.binary_columns, binarizer.categorical_columns, binarizer.continuous_columns)
    keys = list(dict.fromkeys(key for kind in kinds for key in kind))
    if all(isinstance(key, str) for key in keys):
        if features is not None and len(keys) > len(binarizer.binary_columns):
            raise ArgumentError(
                "expected no features=, since the model has names for its columns, in an order of its own."
            )
        return Columns.of(schema, features, keys, len(keys)), {key: place for place, key in enumerate(keys)}
    return Columns.of(schema, features, None, len(keys)), {key: key for key in keys}
