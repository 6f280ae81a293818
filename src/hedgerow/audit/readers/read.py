"""Extraction of decision paths from models of any supported library, of which scikit-learn alone is imported."""

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
from hedgerow.models.readers.questions import largest_as_single
from hedgerow.models.released import released_leaf_model
from hedgerow.schema import Literal, Schema

_NOWHERE = -1  # the child of a leaf
_COUNTS_MISSING = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)


def paths_of(model: Any, schema: Schema | None = None, features: Features | None = None) -> tuple[Paths, Schema]:
    if not (schema is None or isinstance(schema, Schema)):
        raise ArgumentTypeError(f"expected a Schema or None as schema, got {type(schema).__name__}.")
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
        raise ArgumentError("expected a schema, as the model has none of its own; pass `schema=`.")
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
        # If the noise is not known, as in files of others, an audit assumes that counts disclose exact numbers of rows.
        view="noisy" if model.privacy.has_noise else "exact",
        exclusive=model.exclusive,
        predictions=model.predictions,
    )


def _unsupported(model: Any) -> str:
    names = ["hedgerow's RuleList, Tree and fitted estimators", "scikit-learn's trees", *LIBRARIES]
    if isinstance(model, WITHOUT_TREES):
        return (
            f"cannot extract decision paths from a {type(model).__name__}, of whose trees scikit-learn publishes no "
            "structure; hedgerow.audit.overfit and membership examine its predictions."
        )
    return (
        f"cannot extract decision paths from a {type(model).__name__}; supported are {', '.join(names)}, and any "
        "object with\n"
        "    supports = (40, 60)    # rows in each region, None if unknown; or None\n"
        "    def regions(self):     # a row belongs to the first conjunction that holds\n"
        '        return [[Literal("age", "<=", (30,))], []]\n'
        "To find the rows that a model of another kind stores, call hedgerow.audit.stored_contents(model)."
    )


def tree_paths(model: Any, schema: Schema, features: Features | None = None) -> Paths | None:
    """Return the decision paths of a fitted decision tree, from left to right; None for any other model."""
    # Supports are numbers of rows, whatever their positive weight: a row that a bootstrap drew twice is one row. The
    # trees of a forest store neither its class weights nor whether rows are copies: see `trees_of`. Before scikit-learn
    # 1.8, nodes of a tree fitted on missing values count other rows than those sent there: no supports are returned.
    if not isinstance(model, BaseDecisionTree):
        if members(model):
            given = "forest, schema" if features is None else "forest, schema, steps"
            where = "" if features is None else ", where steps is the fitted transformer before it, or its features"
            raise ArgumentTypeError(
                f"expected a single model, got a {type(model).__name__} of many trees; audit its trees one by one: "
                f"[audit.reconstruction(tree, schema, features=names) for tree, names in audit.trees_of({given})]"
                f"{where}"
            )
        return None
    check_is_fitted(model)
    columns = Columns.of(schema, features, getattr(model, "feature_names_in_", None), model.n_features_in_)
    leaves, paths = zip(*_leaf_paths(model.tree_, columns), strict=True)
    classes, said = _classes(model), _predictions(model, list(leaves))
    if not _COUNTS_MISSING and _splits_on_missing(model.tree_, columns):
        return Paths(paths, classes=classes, exclusive=True, predictions=said)
    supports, counts, view = _stored(model, list(leaves))
    return Paths(paths, supports, counts, classes, view, exclusive=True, predictions=said)


class UnnamedLeaves(NamedTuple):
    """The leaves of a tree without their conditions, by the numbers of their nodes, and what the tree stores."""

    nodes: tuple[int, ...]
    supports: tuple[int, ...]
    counts: tuple[tuple[int, ...] | None, ...] | None
    classes: tuple[Any, ...] | None
    view: str


def unnamed_leaves(model: Any) -> UnnamedLeaves | None:
    """Return the leaves that a fitted tree of scikit-learn stores, for which no schema is needed; None for others.

    Before scikit-learn 1.8, it is not known without a schema whether the stored counts are right: None.
    """
    if not isinstance(model, BaseDecisionTree) or not _COUNTS_MISSING:
        return None
    check_is_fitted(model)
    nodes = leaf_order(model)
    supports, counts, view = _stored(model, nodes)
    return UnnamedLeaves(tuple(nodes), supports, counts, _classes(model), view)


def _stored(model: Any, leaves: list[int]) -> tuple[Any, Any, str]:
    """Return the rows, and the rows of each class, that a tree stores of its leaves, and what they are."""
    supports = tuple(map(int, model.tree_.n_node_samples[leaves]))
    return supports, _counts(model, leaves), "weighted" if getattr(model, "has_copies_", False) else "exact"


def _leaf_paths(tree: Any, columns: Columns) -> Iterator[tuple[int, Path]]:
    def step(node: int, *, holds: bool) -> Path:
        number, missing = largest_as_single(float(tree.threshold[node])), bool(tree.missing_go_to_left[node])
        return columns.at_most(int(tree.feature[node]), number, holds=holds, missing_holds=missing)

    return leaf_paths(0, lambda node: [(child, step(node, holds=left)) for child, left in children_of(tree, node)])


def children_of(tree: Any, node: int) -> list[tuple[int, bool]]:
    """Return the children of a node of scikit-learn's, and whether each is the left one; none of a leaf."""
    if tree.children_left[node] == _NOWHERE:
        return []
    return [(int(tree.children_left[node]), True), (int(tree.children_right[node]), False)]


def _splits_on_missing(tree: Any, columns: Columns) -> bool:
    asked = [columns.features[i] for i in tree.feature[tree.children_left != _NOWHERE]]
    names = [x if isinstance(x, str) else x.attribute for x in asked if not isinstance(x, Literal)]
    return any(columns.schema[name].missing == "bin" for name in names)


def _counts(model: Any, leaves: list[int]) -> tuple[tuple[int, ...] | None, ...] | None:
    """Return the rows of each class in each leaf; of weighted rows, in leaves of one class alone."""
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
    """Return the rows of each class if all rows are of one class, whatever their weights; None for other leaves."""
    is_present = [share != 0 for share in shares]  # weights may be negative
    return tuple(rows * present for present in is_present) if sum(is_present) == 1 else None


def _predictions(model: Any, leaves: list[int]) -> tuple[Any, ...] | None:
    """Return the class or the number that each leaf predicts; None of a model with several outputs."""
    if model.n_outputs_ != 1:
        return None
    values = model.tree_.value[leaves, 0, :]
    classes = getattr(model, "classes_", None)
    return tuple((values[:, 0] if classes is None else classes[values.argmax(axis=1)]).tolist())


def _classes(model: Any) -> tuple[Any, ...] | None:
    one = getattr(model, "n_outputs_", 0) == 1 and hasattr(model, "classes_")
    return tuple(model.classes_.tolist()) if one else None


_WHOLE_TO = 1e-6  # by which a number of rows that a share gives may be off a whole number
_PathReader = Callable[[Any, Schema, Features | None], Paths]
_Test = Callable[..., Path]  # with `holds`: the literals of "a column of 0 and 1 is 1", or of its negation


def own_names(names: Sequence[Any], pattern: str, first: int = 0) -> list[str] | None:
    """Return the names of columns; None if they are the default names that a library generates."""
    given = [str(name) for name in names]
    return None if given == [pattern.format(i) for i in range(first, first + len(given))] else given


def _learned(model: Any, name: str, what: str) -> Any:
    found = getattr(model, name, None)
    if found is None:
        raise ArgumentError(f"expected a fitted {type(model).__name__}, got one without {what}; call `fit` first.")
    return found


def _thresholds(model: Any, schema: Schema, features: Features | None, *, strict: bool) -> Paths:
    """Return the decision paths of a list of comparisons: a rule holds below the cut if `flip`, else above."""
    # "below" is less than the cut if `strict`, else at most; the last entry is the default rule, whatever it contains
    columns = Columns.of(schema, features, _names(model, model.feature_names_, "X{}"), len(model.feature_names_))
    below = columns.less if strict else columns.at_most
    *rules, rest = model.rules_
    paths = [below(int(rule["index_col"]), rule["cutoff"], holds=rule["flip"]) for rule in rules]
    supports = (*(int(rule["num_pts_right"]) for rule in rules), int(rest["num_pts"]))
    shares = (*(rule["val_right"] for rule in rules), rest["val"])
    return Paths(
        (*paths, ()),
        supports,
        _by_shares(supports, shares) if strict else None,  # the others store the predicted class and not its share
        tuple(model.classes_.tolist()),
        predictions=tuple(model.classes_[[int(share > 1 / 2) for share in shares]].tolist()),
    )


def _by_shares(supports: tuple[int, ...], shares: tuple[float, ...]) -> tuple[tuple[int, ...] | None, ...]:
    """Return the rows of both classes by the share of the second; of weighted rows, in leaves of one class alone."""
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
    """Return the column names of the training frame or those passed to `fit`; None if imodels numbered the columns."""
    return list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else own_names(names, pattern)


def _corels(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a rule list of CORELS (Angelino et al., 2018), which stores no supports."""
    found = _learned(model, "rl_", "a rule list")
    columns = Columns.of(schema, features, own_names(found.features, "feature{}", first=1), len(found.features))
    said = tuple(bool(rule["prediction"]) for rule in found.rules)
    paths = tuple(  # of an antecedent i, column i - 1 is 1; of -i it is 0; 0 is no condition
        tuple(step for i in rule["antecedents"] if i for step in columns.is_one(abs(i) - 1, holds=i > 0))
        for rule in found.rules
    )
    return Paths(paths, predictions=said if len(said) > 1 else None)  # 1.1.29 predicts false by a default rule alone


def _dl85(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a tree of DL8.5 (Aglin et al., AAAI 2020), which stores no leaf counts."""
    tree, columns = _learned(model, "tree_", "a tree"), Columns.of_bits(schema, features)

    def children(node: dict[str, Any]) -> list[tuple[Any, Path]]:
        sides = (("left", True), ("right", False)) if "feat" in node else ()  # the left child has the rows with a 1
        return [(node[side], columns.is_one(node["feat"], holds=holds)) for side, holds in sides]

    return Paths(tuple(path for _, path in leaf_paths(tree, children)), exclusive=True)


def _streed(model: Any, schema: Schema, features: Features | None) -> Paths:
    """Return the decision paths of a tree of STreeD (Van der Linden et al., NeurIPS 2023)."""
    tree = _learned(model, "tree_", "a tree")
    tests = list(_tests(model.binarizer_, schema, features))

    def children(node: Any) -> list[tuple[Any, Path]]:
        sides = () if node.is_leaf_node() else ((node.left_child, False), (node.right_child, True))
        return [(child, tests[node.feature](holds=holds)) for child, holds in sides]  # the left one: rows with a 0

    leaves, paths = zip(*leaf_paths(tree, children), strict=True)
    said = tuple(leaf.label for leaf in leaves)
    if tree.num_instances != len(model.train_y_):  # a regressor counts equal rows once
        return Paths(paths, exclusive=True, predictions=said)
    classes = tuple(int(label) for label in getattr(model, "classes_", ()))
    return Paths(
        paths,
        tuple(leaf.num_instances for leaf in leaves),
        tuple(tuple(leaf.num_instances_per_class[label] for label in classes) for leaf in leaves) if classes else None,
        classes or None,
        exclusive=True,
        predictions=said,
    )


def _tests(binarizer: Any, schema: Schema, features: Features | None) -> Iterator[_Test]:
    """Yield the test of each column that STreeD computes: of its binary, then categorical, then continuous input."""
    if binarizer.binary_feature_limiter is not None:
        raise ArgumentError("expected a model without max_num_binary_features: the meaning of its columns is unknown.")
    columns, places = _given(binarizer, schema, features)
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


def _given(binarizer: Any, schema: Schema, features: Features | None) -> tuple[Columns, dict[Any, int]]:
    kinds = (binarizer.binary_columns, binarizer.categorical_columns, binarizer.continuous_columns)
    keys = list(dict.fromkeys(key for kind in kinds for key in kind))
    if all(isinstance(key, str) for key in keys):
        if features is not None and len(keys) > len(binarizer.binary_columns):
            raise ArgumentError("expected no `features=`, as the model orders its columns by itself; leave it out.")
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
"""The reader of each class of a library, and of the classes derived from it."""
LIBRARIES = ("imodels' rule lists", "CORELS", "DL8.5", "STreeD")


def other_paths(model: Any, schema: Schema, features: Features | None) -> Paths | None:
    bases = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(model).__mro__}
    read = next((read for base, read in _READERS.items() if base in bases), None)
    return None if read is None else read(model, schema, features)
