"""Decision paths of models of imodels, CORELS, DL8.5 and STreeD; none of these libraries must be installed."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.paths import Paths, leaf_paths
from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Path
from hedgerow.schema.schema import Schema

_WHOLE_TO = 1e-6  # by which a number of rows that a share gives may be off a whole number
_Reader = Callable[[Any, Schema, Features | None], Paths]
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
        _counts(supports, shares) if strict else None,  # the others store the predicted class and not its share
        tuple(model.classes_.tolist()),
        predictions=tuple(model.classes_[[int(share > 1 / 2) for share in shares]].tolist()),
    )


def _counts(supports: tuple[int, ...], shares: tuple[float, ...]) -> tuple[tuple[int, ...], ...] | None:
    """Return the rows of both classes, given the shares of the second class."""
    second = [share * rows for share, rows in zip(shares, supports, strict=True)]
    if any(abs(number - round(number)) > _WHOLE_TO for number in second):
        return None
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


_READERS: dict[tuple[str, str], _Reader] = {
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
    """Return the decision paths of a fitted model of these libraries; None for any other model."""
    bases = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(model).__mro__}
    read = next((read for base, read in _READERS.items() if base in bases), None)
    return None if read is None else read(model, schema, features)
