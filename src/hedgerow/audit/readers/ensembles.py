"""Ensembles of scikit-learn's trees: their trees, and the leaf of each row in each tree."""

from collections.abc import Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.readers.columns import Columns, Features, fitted_columns
from hedgerow.audit.readers.encoders import last_step
from hedgerow.boundary.arrays import Index
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.pipelines import split_pipeline
from hedgerow.schema import Schema
from hedgerow.tables.frames import Table

_FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
_BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
_WITH_APPLY = (*_FORESTS, *_BOOSTED)
PREDICTORS = (*_WITH_APPLY, BaggingClassifier, BaggingRegressor, AdaBoostClassifier, AdaBoostRegressor)
"""Types of ensembles that predict a class or a number from their trees alone."""

WITHOUT_TREES = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
"""Types of ensembles whose trees have no public structure."""


def is_ensemble(model: Any) -> bool:
    """Return whether a model, or the last step of a pipeline, is an ensemble of trees, with public structure or not.

    Raises
    ------
    ValueError
        If the model is not fitted, or has several outputs.
    TypeError
        If the model is an ensemble of other models than trees, or predicts neither a class nor a number.
    """
    last = final_model(model)[1]
    if isinstance(last, (*PREDICTORS, *WITHOUT_TREES)):
        check_is_fitted(last)
        outputs = getattr(last, "n_outputs_", 1)
        if outputs != 1:
            raise ArgumentError(f"models with several outputs are not supported, got {outputs} outputs.")
        if not isinstance(last, WITHOUT_TREES) and not members(last):
            problem = f"{type(last).__name__} of models other than decision trees is not supported"
            raise ArgumentTypeError(f"{problem}; examine each of its models.")
        return True
    if members(last) and not (is_classifier(last) or is_regressor(last)):
        problem = f"{type(last).__name__} is not supported, since it predicts neither a class nor a number"
        raise ArgumentTypeError(f"{problem}.")
    if members(last):
        problem = f"{type(last).__name__} is not supported, since it does not predict by its trees alone"
        raise ArgumentTypeError(f"{problem}; examine each of its models.")
    return False


def trees_of(forest: Any, schema: Schema, features: Features | None = None) -> tuple[tuple[Any, Features], ...]:
    """Return the trees of a forest, bagging or boosting, each with its features.

    The trees are copies with the classes of the forest instead of class numbers. They store whether the forest weights
    its classes, and whether they were fitted on copies of rows. Copies occur in ``AdaBoostRegressor`` and in a bagging
    with metadata routing.

    Parameters
    ----------
    forest : fitted ensemble of scikit-learn's trees
        The forest, or a fitted ``Pipeline`` that ends in a forest.
    schema, features
        As for `reconstruction` of a tree.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from hedgerow.audit.readers.read import paths_of
    >>> from hedgerow.schema import Boolean
    >>> forest = ExtraTreesClassifier(2, random_state=0).fit([[0, 1], [1, 0]] * 10, ["no", "yes"] * 10)
    >>> schema = Schema({"smoker": Boolean(), "female": Boolean()})
    >>> read = [paths_of(tree, schema, features)[0] for tree, features in trees_of(forest, schema)]
    >>> [(paths.supports, paths.classes) for paths in read]
    [((10, 10), ('no', 'yes')), ((10, 10), ('no', 'yes'))]
    """
    forest, features = last_step(forest, features)
    trees = members(forest)
    if not trees:
        got = type(forest).__name__
        raise ArgumentTypeError(f"forest must be a fitted ensemble of scikit-learn's trees, got {got}.")
    columns = Columns.of(schema, features, getattr(forest, "feature_names_in_", None), forest.n_features_in_).features
    subsets = _column_subsets(forest, len(trees))
    pairs = zip(members_as_in(forest)[1], subsets, strict=True)
    return tuple((tree, tuple(columns[i] for i in subset)) for tree, subset in pairs)


def members(model: Any) -> list[Any]:
    """Return the trees of an ensemble; empty if it is not an ensemble of trees."""
    parts = getattr(model, "estimators_", None)
    if isinstance(model, type) or parts is None or not type(model).__module__.startswith("sklearn.ensemble"):
        return []
    trees = list(np.ravel(np.asarray(parts, dtype=object)))
    return trees if trees and all(isinstance(tree, BaseDecisionTree) for tree in trees) else []


def members_as_in(model: Any) -> tuple[Any, list[Any]]:
    """Return the ensemble of a model or pipeline, and copies of its trees as `trees_of` describes them."""
    ensemble = final_model(model)[1]
    trees = members(ensemble)
    drawn = getattr(ensemble, "estimators_samples_", [None] * len(trees))
    return ensemble, [_as_in_forest(tree, ensemble, rows) for tree, rows in zip(trees, drawn, strict=True)]


def is_bootstrapped(ensemble: Any) -> bool:
    """Return whether trees of an ensemble may have been fitted on a sample of the rows."""
    parts = (getattr(ensemble, name, None) for name in ("max_samples", "subsample"))
    is_part = any(part is not None and (part != 1 or isinstance(part, int)) for part in parts)  # the int 1 is one row
    return is_part or bool(getattr(ensemble, "bootstrap", False))


def final_model(model: Any) -> tuple[list[Any], Any]:
    """Return the steps before the final model of nested pipelines, and the final model."""
    return split_pipeline(model, lambda part: isinstance(part, Pipeline))


def leaf_nodes(model: Any, X: Any) -> Index:
    """Return the node number of the leaf of each row in each tree of an ensemble, shape ``(n_rows, n_trees)``.

    Earlier steps of a pipeline transform the rows first.
    """
    (before, ensemble), X = final_model(model), fitted_columns(model, X)
    problem = ArgumentError("the model could not be applied to the rows, or did not return a leaf for each tree.")
    nodes = guarded(lambda: _applied(ensemble, make_pipeline(*before).transform(X) if before else X), problem)
    if nodes.shape != (len(X), len(members(ensemble))):
        raise problem
    return nodes


def leaf_order(tree: Any) -> list[int]:
    """Return the node numbers of a tree's leaves, from left to right."""
    structure, leaves, waiting = tree.tree_, list[int](), [0]
    while waiting:
        node = waiting.pop()
        left, right = int(structure.children_left[node]), int(structure.children_right[node])
        if left == right:  # a leaf has -1 for both
            leaves.append(node)
        else:
            waiting += [right, left]
    return leaves


def _applied(ensemble: Any, X: Any) -> Index:
    if isinstance(ensemble, _WITH_APPLY):
        nodes = ensemble.apply(X).astype(np.intp)  # for boosting, the third dimension stands for the classes
        return nodes.reshape(len(nodes), -1)
    trees, array = members(ensemble), _single(X, getattr(ensemble, "feature_names_in_", None))
    subsets = _column_subsets(ensemble, len(trees))
    nodes = [tree.apply(array[:, subset]) for tree, subset in zip(trees, subsets, strict=True)]
    return np.column_stack(nodes).astype(np.intp)


def _single(X: Any, names: Any) -> Any:
    """Return a table as an array in single precision, as the trees use it, with the columns in the fitted order."""
    if sparse.issparse(X):
        return X.tocsr().astype(np.float32)
    if names is not None and (frame := Table.of_frame(X)) is not None:
        return frame.data.select(list(names)).to_numpy().astype(np.float32)
    return np.asarray(X, dtype=np.float32)


def _column_subsets(ensemble: Any, trees: int) -> Sequence[Any]:
    return getattr(ensemble, "estimators_features_", [range(ensemble.n_features_in_)] * trees)


def _as_in_forest(tree: Any, forest: Any, drawn: Any) -> Any:
    """Return a copy of a tree that stores the classes and weights of its forest, and whether it has copied rows."""
    own = copy(tree)
    own.has_copies_ = (
        isinstance(forest, AdaBoostRegressor)  # samples with replacement, and does not store the sample
        if drawn is None
        else bool(tree.tree_.n_node_samples[0] > len(np.unique(drawn)))
    )
    has_classes = tree.n_outputs_ == 1 and hasattr(tree, "classes_")
    on_labels = isinstance(forest, AdaBoostClassifier) or getattr(forest, "cv", None) == "prefit"
    if has_classes and not on_labels:
        own.classes_ = np.asarray(forest.classes_)[tree.classes_.astype(int)]
        own.class_weight = getattr(forest, "class_weight", tree.class_weight)
    return own
