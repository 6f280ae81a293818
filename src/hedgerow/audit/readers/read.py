"""Extraction of decision paths from models of all supported libraries; only scikit-learn is imported."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.base import BaseEstimator
from sklearn.tree import BaseDecisionTree
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.encoders import last_step
from hedgerow.audit.readers.ensembles import WITHOUT_TREES, leaf_order, members
from hedgerow.audit.readers.paths import HasRegions, Paths, leaf_paths
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.conditions import Path
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.readers.attribute_tests import largest_as_single
from hedgerow.models.released import released_leaf_model
from hedgerow.schema import Literal, Schema

_NOWHERE = -1  # the child of a leaf
_COUNTS_MISSING = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)


def paths_of(model: Any, schema: Schema | None = None, features: Features | None = None) -> tuple[Paths, Schema]:
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"schema must be a Schema or None, got {type(schema).__name__}.")
    released = released_leaf_model(model)
    if released is not None:
        return _released_paths(released), released.schema if schema is None else schema
    own = None
    if isinstance(model, HasRegions) and not isinstance(model, type):
        paths = tuple(tuple((literal, True) for literal in conjunction) for conjunction in model.regions())
        own = Paths(paths, None if model.supports is None else tuple(model.supports))
    elif isinstance(model, BaseEstimator):
        check_is_fitted(model)
    if schema is None:
        raise ArgumentError("the model has no schema of its own; pass `schema=`.")
    if own is not None:
        return own, schema
    model, features = last_step(model, features)
    paths = tree_paths(model, schema, features) or other_paths(model, schema, features)
    if paths is None:
        raise ArgumentTypeError(_unsupported(model))
    return paths, schema


def _released_paths(model: LeafModel) -> Paths:
    release = model.leaf_release
    return Paths(
        model.paths,
        tuple(None if rows is None else max(rows, 0) for rows in release.rows),
        release.numbers if release.kind == "counts" else None,
        model.schema.target.values,
        # If the noise is unknown, as in files of other software, an audit treats the counts as exact.
        view="noisy" if model.privacy.has_noise else "exact",
        exclusive=model.exclusive,
        predictions=model.predictions,
    )


def _unsupported(model: Any) -> str:
    names = ["hedgerow's RuleList, Tree and fitted estimators", "scikit-learn's trees", *LIBRARIES]
    if isinstance(model, WITHOUT_TREES):
        return (
            f"cannot extract decision paths from {type(model).__name__}, since scikit-learn does not publish the "
            "structure of its trees; use hedgerow.audit.overfit or membership, which examine its predictions."
        )
    return (
        f"cannot extract decision paths from {type(model).__name__}; supported are {', '.join(names)}, and any "
        "object with\n"
        "    supports = (40, 60)    # rows in each region, or None if unknown; None without counts\n"
        "    def regions(self):     # a row belongs to the first conjunction that holds\n"
        '        return [[Literal("age", "<=", (30,))], []]\n'
        "To find training rows stored in a model of any kind, call hedgerow.audit.stored_contents(model)."
    )


def tree_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted decision tree from left to right; None for other models."""
    # Supports are numbers of distinct rows, regardless of their weights. Trees of a forest do not store its class
    # weights or whether rows are copies; see `trees_of`. Before scikit-learn 1.8, node counts are wrong if values are
    # missing, so that no supports are returned.
    if not isinstance(model, BaseDecisionTree):
        if members(model):
            given = "forest, schema" if features is None else "forest, schema, steps"
            note = "" if features is None else "; steps is the fitted transformer before the forest, or its features"
            raise ArgumentTypeError(
                f"{type(model).__name__} has several trees, which must be audited separately: "
                f"[audit.reconstruction(tree, schema, features=names) for tree, names in audit.trees_of({given})]"
                f"{note}"
            )
        return None
    check_is_fitted(model)
    columns = Columns.of(schema, features, getattr(model, "feature_names_in_", None), model.n_features_in_)
    leaves, paths = zip(*_leaf_paths(model.tree_, columns), strict=True)
    classes, predictions = _classes(model), _predictions(model, list(leaves))
    if not _COUNTS_MISSING and _splits_on_missing(model.tree_, columns):
        return Paths(paths, classes=classes, exclusive=True, predictions=predictions)
    supports, counts, view = _stored(model, list(leaves))
    return Paths(paths, supports, counts, classes, view, exclusive=True, predictions=predictions)


class UnnamedLeaves(NamedTuple):
    """Leaves of a tree by node number, without conditions, with the counts that the tree stores."""

    nodes: tuple[int, ...]
    supports: tuple[int, ...]
    counts: tuple[tuple[int, ...] | None, ...] | None
    classes: tuple[Any, ...] | None
    view: str


def unnamed_leaves(model: Any) -> UnnamedLeaves | None:
    """Return the leaves that a fitted tree of scikit-learn stores, without the need of a schema; None for other models.

    None also before scikit-learn 1.8, whose counts may be wrong if values are missing.
    """
    if not isinstance(model, BaseDecisionTree) or not _COUNTS_MISSING:
        return None
    check_is_fitted(model)
    nodes = leaf_order(model)
    supports, counts, view = _stored(model, nodes)
    return UnnamedLeaves(tuple(nodes), supports, counts, _classes(model), view)


def _stored(model: Any, leaves: list[int]) -> tuple[Any, Any, str]:
    """Return the row counts and class counts of a tree's leaves, and the kind of the counts."""
    supports = tuple(map(int, model.tree_.n_node_samples[leaves]))
    return supports, _counts(model, leaves), "weighted" if getattr(model, "has_copies_", False) else "exact"


def _leaf_paths(tree: Any, columns: Columns) -> Iterator[tuple[int, Path]]:
    def step(node: int, *, holds: bool) -> Path:
        number, missing = largest_as_single(float(tree.threshold[node])), bool(tree.missing_go_to_left[node])
        return columns.at_most(int(tree.feature[node]), number, holds=holds, missing_holds=missing)

    return leaf_paths(0, lambda node: [(child, step(node, holds=left)) for child, left in children_of(tree, node)])


def children_of(tree: Any, node: int) -> list[tuple[int, bool]]:
    """Return the children of a node of scikit-learn's tree, and whether each is the left child; empty for a leaf."""
    if tree.children_left[node] == _NOWHERE:
        return []
    return [(int(tree.children_left[node]), True), (int(tree.children_right[node]), False)]


def _splits_on_missing(tree: Any, columns: Columns) -> bool:
    used = [columns.features[i] for i in tree.feature[tree.children_left != _NOWHERE]]
    names = [x if isinstance(x, str) else x.attribute for x in used if not isinstance(x, Literal)]
    return any(columns.schema[name].missing == "bin" for name in names)


def _counts(model: Any, leaves: list[int]) -> tuple[tuple[int, ...] | None, ...] | None:
    """Return the class counts of each leaf; with weighted rows, only the counts of pure leaves are known."""
    if _classes(model) is None:
        return None
    shares, rows = model.tree_.value[leaves, 0, :], model.tree_.n_node_samples[leaves]
    counts = shares * model.tree_.weighted_n_node_samples[leaves, None]
    whole = np.rint(counts)
    is_whole = np.allclose(counts, whole, rtol=0, atol=1e-6) and (whole.sum(axis=1) == rows).all()
    if is_whole and getattr(model, "class_weight", None) is None:
        return tuple(tuple(map(int, row)) for row in whole)
    return tuple(_pure_counts(*leaf) for leaf in zip(shares.tolist(), rows.tolist(), strict=True))


def _pure_counts(shares: Sequence[float], rows: int) -> tuple[int, ...] | None:
    """Return the class counts of a pure leaf, which do not depend on weights; None for other leaves."""
    is_present = [share != 0 for share in shares]  # weights may be negative
    return tuple(rows * present for present in is_present) if sum(is_present) == 1 else None


def _predictions(model: Any, leaves: list[int]) -> tuple[Any, ...] | None:
    """Return the class or number that each leaf predicts; None for a model with several outputs."""
    if model.n_outputs_ != 1:
        return None
    values = model.tree_.value[leaves, 0, :]
    classes = getattr(model, "classes_", None)
    return tuple((values[:, 0] if classes is None else classes[values.argmax(axis=1)]).tolist())


def _classes(model: Any) -> tuple[Any, ...] | None:
    is_single = getattr(model, "n_outputs_", 0) == 1 and hasattr(model, "classes_")
    return tuple(model.classes_.tolist()) if is_single else None


_WHOLE_TO = 1e-6  # largest distance from a whole number of a number of rows computed from a share
_PathReader = Callable[[Any, Schema, Features | None], Paths]
_Test = Callable[..., Path]  # with `holds`: the literals of "a column of 0 and 1 is 1", or of its negation


def own_names(names: Sequence[Any], pattern: str, first: int = 0) -> list[str] | None:
    """Return the names of columns; None if they are the default names that a library generates."""
    texts = [str(name) for name in names]
    return None if texts == [pattern.format(i) for i in range(first, first + len(texts))] else texts


def _learned(model: Any, name: str, noun: str) -> Any:
    value = getattr(model, name, None)
    if value is None:
        raise ArgumentError(f"this {type(model).__name__} is not fitted, it has no {noun}; call `fit` first.")
    return value


def _thresholds(model: Any, schema: Schema, features: Features | None, *, strict: bool) -> Paths:
    """Return the decision paths of a list of comparisons; a rule with `flip` holds below its threshold."""
    # "Below" excludes the threshold if `strict`. The last entry is the default rule, regardless of its content.
    columns = Columns.of(schema, features, _names(model, model.feature_names_, "X{}"), len(model.feature_names_))
    below = columns.less if strict else columns.at_most
    *rules, rest = model.rules_
    paths = [below(int(rule["index_col"]), rule["cutoff"], holds=rule["flip"]) for rule in rules]
    supports = (*(int(rule["num_pts_right"]) for rule in rules), int(rest["num_pts"]))
    shares = (*(rule["val_right"] for rule in rules), rest["val"])
    return Paths(
        (*paths, ()),
        supports,
        _by_shares(supports, shares) if strict else None,  # other models store the predicted class, not its share
        tuple(model.classes_.tolist()),
        predictions=tuple(model.classes_[[int(share > 1 / 2) for share in shares]].tolist()),
    )


def _by_shares(supports: tuple[int, ...], shares: tuple[float, ...]) -> tuple[tuple[int, ...] | None, ...]:
    """Return class counts from the share of the second class; with weighted rows, only for pure leaves."""
    second = [share * rows for share, rows in zip(shares, supports, strict=True)]
    if any(abs(number - round(number)) > _WHOLE_TO for number in second):
        return tuple(_pure_counts((1 - share, share), n) for share, n in zip(shares, supports, strict=True))
    return tuple((rows - round(number), round(number)) for rows, number in zip(supports, second, strict=True))


def _bayesian(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a Bayesian rule list, which stores no supports."""
    places = {name: place for place, name in enumerate(model.feature_placeholders)}
    columns = Columns.of(schema, features, _names(model, model.feature_names, "X_{}"), len(places))
    paths: list[Path] = []
    for itemset in model.final_itemsets:
        if isinstance(itemset, str):  # "null", the default rule
            break
        paths.append(tuple(step for name in itemset for step in columns.is_one(places[name], holds=True)))
    return Paths((*paths, ()), classes=tuple(model.classes_.tolist()))


def _names(model: Any, names: Any, pattern: str) -> list[str] | None:
    """Return the column names of the training frame or of `fit`; None if imodels numbered the columns."""
    return list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else own_names(names, pattern)


def _corels(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a rule list of CORELS (Angelino et al., 2018), which stores no supports."""
    rule_list = _learned(model, "rl_", "rule list")
    names = own_names(rule_list.features, "feature{}", first=1)
    columns = Columns.of(schema, features, names, len(rule_list.features))
    predictions = tuple(bool(rule["prediction"]) for rule in rule_list.rules)
    paths = tuple(  # an antecedent i means that column i - 1 is 1, -i that it is 0, and 0 is no condition
        tuple(step for i in rule["antecedents"] if i for step in columns.is_one(abs(i) - 1, holds=i > 0))
        for rule in rule_list.rules
    )
    # CORELS 1.1.29 predicts false if there is only a default rule, regardless of the rule's prediction.
    return Paths(paths, predictions=predictions if len(predictions) > 1 else None)


def _dl85(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a tree of DL8.5 (Aglin et al., AAAI 2020), which stores no leaf counts."""
    tree, columns = _learned(model, "tree_", "tree"), Columns.of_bits(schema, features)

    def children(node: dict[str, Any]) -> list[tuple[Any, Path]]:
        sides = (("left", True), ("right", False)) if "feat" in node else ()  # rows with a 1 go to the left child
        return [(node[side], columns.is_one(node["feat"], holds=holds)) for side, holds in sides]

    return Paths(tuple(path for _, path in leaf_paths(tree, children)), exclusive=True)


def _streed(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a tree of STreeD (Van der Linden et al., NeurIPS 2023)."""
    tree = _learned(model, "tree_", "tree")
    tests = list(_tests(model.binarizer_, schema, features))

    def children(node: Any) -> list[tuple[Any, Path]]:
        sides = () if node.is_leaf_node() else ((node.left_child, False), (node.right_child, True))
        return [(child, tests[node.feature](holds=holds)) for child, holds in sides]  # rows with a 0 go to the left

    leaves, paths = zip(*leaf_paths(tree, children), strict=True)
    predictions = tuple(leaf.label for leaf in leaves)
    if tree.num_instances != len(model.train_y_):  # a regressor counts equal rows once
        return Paths(paths, exclusive=True, predictions=predictions)
    classes = tuple(int(label) for label in getattr(model, "classes_", ()))
    return Paths(
        paths,
        tuple(leaf.num_instances for leaf in leaves),
        tuple(tuple(leaf.num_instances_per_class[label] for label in classes) for leaf in leaves) if classes else None,
        classes or None,
        exclusive=True,
        predictions=predictions,
    )


def _tests(binarizer: Any, schema: Schema, features: Features | None) -> Iterator[_Test]:
    """Yield the test of each column that STreeD computes, from its binary, then categorical, then continuous input."""
    if binarizer.binary_feature_limiter is not None:
        raise ArgumentError("max_num_binary_features is not supported, since the meaning of its columns is unknown.")
    columns, places = _input_columns(binarizer, schema, features)
    for name in binarizer.binary_columns:
        yield partial(columns.is_one, places[name])
    if binarizer.categorical_binarizer is not None:
        every = binarizer.categorical_binarizer.categories_
        for name, groups in zip(binarizer.categorical_columns, every, strict=True):
            for group in groups:
                yield partial(columns.among, places[name], group if isinstance(group, list) else [group])
    if binarizer.continuous_binarizer is not None:
        for name, cuts in zip(binarizer.continuous_columns, binarizer.continuous_binarizer.thresholds_, strict=True):
            for cut in cuts:
                yield partial(columns.at_most, places[name], cut)


def _input_columns(binarizer: Any, schema: Schema, features: Features | None) -> tuple[Columns, dict[Any, int]]:
    kinds = (binarizer.binary_columns, binarizer.categorical_columns, binarizer.continuous_columns)
    keys = list(dict.fromkeys(key for kind in kinds for key in kind))
    if all(isinstance(key, str) for key in keys):
        if features is not None and len(keys) > len(binarizer.binary_columns):
            raise ArgumentError("`features=` is not allowed, since the model orders its columns by name; remove it.")
        return Columns.of(schema, features, keys, len(keys)), {key: place for place, key in enumerate(keys)}
    return Columns.of(schema, features, None, len(keys)), {key: key for key in keys}


_READERS: dict[tuple[str, str], _PathReader] = {
    ("imodels", "BayesianRuleListClassifier"): _bayesian,
    ("imodels", "GreedyRuleListClassifier"): partial(_thresholds, strict=True),  # and OneRClassifier, derived from it
    ("imodels", "FastFrugalTreeClassifier"): partial(_thresholds, strict=False),
    ("corels", "CorelsClassifier"): _corels,
    ("pydl85", "DL85Predictor"): _dl85,
    ("pystreed", "STreeDClassifier"): _streed,
    ("pystreed", "STreeDRegressor"): _streed,
}
"""The reader of each class of a library and of its subclasses."""
LIBRARIES = ("imodels' rule lists", "CORELS", "DL8.5", "STreeD")


def other_paths(model: Any, schema: Schema, features: Features | None) -> Paths | None:
    bases = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(model).__mro__}
    read = next((read for base, read in _READERS.items() if base in bases), None)
    return None if read is None else read(model, schema, features)
