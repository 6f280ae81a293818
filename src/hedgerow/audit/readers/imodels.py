"""Decision paths of imodels rule lists."""

from __future__ import annotations

from typing import Any

from hedgerow.audit.readers.columns import Columns, Features
from hedgerow.audit.readers.makers import is_made_by, own_names
from hedgerow.audit.readers.paths import Paths
from hedgerow.models.paths import Path
from hedgerow.schema.schema import Schema

_WHOLE_TO = 1e-6


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
