"""Decision paths of models of imodels, CORELS, DL8.5 and STreeD; none of these libraries must be installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.paths import Paths
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Path
from hedgerow.schema.schema import Schema

_WHOLE_TO = 1e-6  # by which a number of rows that a share gives may be off a whole number
_Test = Callable[[bool], Path]
"""The literals of "a column of 0 and 1 is 1", or of its negation."""


def is_made_by(model: Any, library: str, *classes: str) -> bool:
    """Return whether a model is of one of these classes of a library, or of a class derived from one.

    Examples
    --------
    >>> is_made_by(3, "builtins", "int", "float"), is_made_by(3, "corels", "CorelsClassifier")
    (True, False)
    """
    return any(
        kind.__name__ in classes and kind.__module__.partition(".")[0] == library for kind in type(model).__mro__
    )


def own_names(names: Sequence[Any], pattern: str, first: int = 0) -> list[str] | None:
    """Return the names of columns; None if they are the default names that a library generates.

    Examples
    --------
    >>> own_names(["age", "sex"], "X{}"), own_names(["X0", "X1"], "X{}")
    (['age', 'sex'], None)
    """
    given = [str(name) for name in names]
    return None if given == [pattern.format(i) for i in range(first, first + len(given))] else given


def imodels_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted rule list of imodels; None for any other model.

    Supported are ``GreedyRuleListClassifier``, ``OneRClassifier``, ``FastFrugalTreeClassifier`` and
    ``BayesianRuleListClassifier``; the last does not store the supports of its rules.

    References
    ----------
    Singh, Nasseri, Tan, Tang, Yu, *imodels: a Python package for fitting interpretable models*, JOSS 2021.
    """
    if is_made_by(model, "imodels", "BayesianRuleListClassifier"):
        return _bayesian(model, schema, features)
    if is_made_by(model, "imodels", "GreedyRuleListClassifier"):
        return _thresholds(model, schema, features, strict=True)
    if is_made_by(model, "imodels", "FastFrugalTreeClassifier"):
        return _thresholds(model, schema, features, strict=False)
    return None


def _thresholds(model: Any, schema: Schema, features: Features | None, *, strict: bool) -> Paths:
    """Return the decision paths of a list of comparisons: a rule holds below the cut if `flip`, else above.

    "Below" is less than the cut if `strict`, and at most the cut if not. The last entry is the default rule, whatever
    it contains.
    """
    columns = Columns.of(schema, features, _names(model, model.feature_names_, "X{}"), len(model.feature_names_))
    below = columns.less if strict else columns.at_most
    *rules, rest = model.rules_
    paths = [below(int(rule["index_col"]), rule["cutoff"], holds=rule["flip"]) for rule in rules]
    supports = (*(int(rule["num_pts_right"]) for rule in rules), int(rest["num_pts"]))
    shares = (*(rule["val_right"] for rule in rules), rest["val"])
    return Paths(
        (*paths, ()),
        supports,
        _counts(supports, shares) if strict else None,  # the others store the predicted class and not its share
        tuple(model.classes_.tolist()),
    )


def _counts(supports: tuple[int, ...], shares: tuple[float, ...]) -> tuple[tuple[int, ...], ...] | None:
    """Return the rows of both classes, given the shares of the second class."""
    second = [share * rows for share, rows in zip(shares, supports, strict=True)]
    if any(abs(number - round(number)) > _WHOLE_TO for number in second):
        return None
    return tuple((rows - round(number), round(number)) for rows, number in zip(supports, second, strict=True))


def _bayesian(model: Any, schema: Schema, features: Features | None) -> Paths:
    places = {name: place for place, name in enumerate(model.feature_placeholders)}
    columns = Columns.of(schema, features, _names(model, model.feature_names, "X_{}"), len(places))
    paths: list[Path] = []
    for itemset in model.final_itemsets:
        if isinstance(itemset, str):  # "null", the default rule
            break
        paths.append(tuple(step for name in itemset for step in columns.is_one(places[name], holds=True)))
    return Paths((*paths, ()), classes=tuple(model.classes_.tolist()))


def _names(model: Any, names: Any, pattern: str) -> list[str] | None:
    """Return the column names of the training frame or those passed to `fit`; None if imodels numbered the columns."""
    return list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else own_names(names, pattern)


def corels_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted ``CorelsClassifier``; None for any other model.

    The model does not store the supports of its rules.

    References
    ----------
    Angelino, Larus-Stone, Alabi, Seltzer, Rudin, *Learning Certifiably Optimal Rule Lists for Categorical Data*, 2018.
    """
    if not is_made_by(model, "corels", "CorelsClassifier"):
        return None
    found = getattr(model, "rl_", None)
    if found is None:
        raise ArgumentError("expected a fitted CorelsClassifier, got one without a rule list; call `fit` first.")
    columns = Columns.of(schema, features, own_names(found.features, "feature{}", first=1), len(found.features))
    return Paths(tuple(_path(rule["antecedents"], columns) for rule in found.rules))


def _path(antecedents: list[int], columns: Columns) -> Path:
    """Return the literals of a rule: column i - 1 is 1 for i, and 0 for -i; 0 is no condition."""
    return tuple(step for i in antecedents if i for step in columns.is_one(abs(i) - 1, holds=i > 0))


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
    return Paths(tuple(_binary_leaf_paths(model.tree_, columns, ())), exclusive=True)


def _binary_leaf_paths(node: dict[str, Any], columns: Columns, path: Path) -> Iterator[Path]:
    """Yield the decision paths of the leaves below a node, whose left child has the rows with a 1."""
    if "feat" not in node:
        yield path
        return
    for child, holds in (("left", True), ("right", False)):
        yield from _binary_leaf_paths(node[child], columns, (*path, *columns.is_one(node["feat"], holds=holds)))


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
