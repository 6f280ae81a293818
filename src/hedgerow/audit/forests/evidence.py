"""Evidence of models on the rows in their leaves: true counts, noisy counts, or counts of a bootstrap sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.utils.validation import check_is_fitted

from hedgerow.audit.readers.columns import Features
from hedgerow.audit.readers.encoders import last_step
from hedgerow.audit.readers.paths import Paths, leaf_paths
from hedgerow.audit.readers.read import children_of, paths_of, trees_of
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.released import released_leaf_model
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument

Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The numbers of one model's leaves."""

    paths: Paths  # the decision paths to its leaves
    numbers: Index  # rows of each class of `classes` in each leaf, or rows of all classes where these are None
    classes: tuple[Any, ...] | None  # the classes
    scale: float | None = None  # the scale of the Laplace noise in each number; None where there is none
    # For a bootstrap sample, whose draws the numbers count: how many different rows were drawn
    distinct: Index | None = None

    @property
    def is_exact(self) -> bool:
        return self.scale is None and self.distinct is None


def evidence_of(
    models: Any, schema: Schema | None, features: Features | None, noise: Any
) -> tuple[list[Evidence], Schema]:
    """Return what one model, or a sequence of models, says of the rows, and the schema."""
    several: list[Any] = list(models) if isinstance(models, (list, tuple)) else [models]
    if not several:
        raise ArgumentError("expected one or more models, got none.")
    scales = list(noise) if isinstance(noise, (list, tuple)) else [noise] * len(several)
    if len(scales) != len(several):
        raise ArgumentError(f"expected one scale of noise for each of {len(several)} models, got {len(scales)}.")
    found: list[Evidence] = []
    own = schema
    for model, scale in zip(several, scales, strict=True):
        read, other = _read(model, schema, features)
        if own is not None and other.attributes != own.attributes:
            raise ArgumentError("expected models on the same schema; pass `schema` if their own schemas differ.")
        own = other
        found += [_with_scale(one, scale) for one in read]
    assert own is not None
    return found, own


def _read(model: Any, schema: Schema | None, features: Features | None) -> tuple[list[Evidence], Schema]:
    last, rest = last_step(model, features)
    if isinstance(last, (Paths, RandomForestClassifier, ExtraTreesClassifier)):
        if schema is None:
            raise ArgumentError("expected a schema, as forests and paths have none of their own; pass `schema=`.")
        return [_of_paths(last)] if isinstance(last, Paths) else _of_forest(last, schema, rest), schema
    if type(last).__module__.startswith("sklearn.ensemble"):
        raise ArgumentTypeError(
            f"expected a RandomForestClassifier, an ExtraTreesClassifier or a single model, got a "
            f"{type(last).__name__}, whose leaves do not hold class counts of the whole table."
        )
    released = released_leaf_model(model)
    if released is not None and any(leaf.sums is not None for leaf in released.leaves):
        raise ArgumentError(
            "expected counts of rows in leaves, got sums of a number, whose noise on rows is no Laplace noise; release "
            "the model with counts of levels (release_counts=True), or leave it out."
        )
    paths, own = paths_of(model, schema, features)
    return [_of_paths(paths)], own


def _of_paths(paths: Paths) -> Evidence:
    if paths.view == "weighted":
        raise ArgumentError("expected counts of rows, got weighted ones; pass a forest as a whole.")
    if paths.counts is not None and paths.classes is not None:
        return Evidence(paths, np.array(paths.counts, dtype=np.int64), paths.classes)
    if paths.supports is None:
        raise ArgumentError(
            "expected a model with leaf counts, got one without; release it with counts (release_counts=True), or "
            "leave it out."
        )
    return Evidence(paths, np.array(paths.supports, dtype=np.int64)[:, None], None)


def _of_forest(forest: Any, schema: Schema, features: Features | None) -> list[Evidence]:
    check_is_fitted(forest)
    if forest.n_outputs_ != 1:
        raise ArgumentError(f"expected a forest with one output, got one with {forest.n_outputs_}.")
    if forest.class_weight is not None:
        raise ArgumentError("expected a forest that counts rows, got one with class_weight, which weights them.")
    found: list[Evidence] = []
    for tree, names in trees_of(forest, schema, features):
        paths = paths_of(tree, schema, names)[0]
        if paths.counts is None and not forest.bootstrap:
            raise ArgumentError("expected a forest whose leaves store numbers of rows, got weights of rows.")
        found.append(_of_bootstrap(tree, paths) if forest.bootstrap else _of_paths(paths))
    return found


def _of_bootstrap(tree: Any, paths: Paths) -> Evidence:
    """Return the draws of each class in each leaf of a bagged tree, and how many different rows these were."""
    leaves = [leaf for leaf, _ in leaf_paths(0, lambda node: [(x, ()) for x, _ in children_of(tree.tree_, node)])]
    draws = tree.tree_.value[leaves, 0, :] * tree.tree_.weighted_n_node_samples[leaves, None]
    numbers, distinct = np.rint(draws).astype(np.int64), tree.tree_.n_node_samples[leaves].astype(np.int64)
    if not np.allclose(draws, numbers, rtol=0, atol=1e-6) or (numbers.sum(axis=1) < distinct).any():
        raise ArgumentError("expected a forest whose leaves store numbers of rows, got weights of rows.")
    return Evidence(paths, numbers, tuple(tree.classes_.tolist()), distinct=distinct)


def _with_scale(one: Evidence, scale: Any) -> Evidence:
    if one.paths.view != "noisy":
        return one
    if scale is None:
        raise ArgumentError("expected the scale of the noise in counts, which the privacy card has; pass `noise=`.")
    if isinstance(scale, bool) or not isinstance(scale, Real) or not 0 < float(scale) < 1e9:
        raise ArgumentError(f"noise must be a number above 0 and below 1e9, got {describe_argument(scale)}.")
    return replace(one, scale=float(scale))


def classes_of(evidence: Sequence[Evidence], schema: Schema) -> tuple[Any, ...] | None:
    """Return the classes of all rows: the schema's, or those of the models; None if no model counts them."""
    known = [one.classes for one in evidence if one.classes is not None]
    if not known:
        return None
    classes = known[0] if schema.label is None else schema.target.values
    if any(not set(own) <= set(classes) for own in known):
        raise ArgumentError("expected models of the same classes as the schema's label, got others.")
    return classes


def rows_of(evidence: Sequence[Evidence], given: Any, *, has_prior: bool) -> tuple[int, int]:
    """Return the least and the largest possible number of rows of the table."""
    totals = {int(one.numbers.sum()) for one in evidence if one.is_exact}
    if len(totals) > 1:
        raise ArgumentError("expected models of one table, got exact counts of different numbers of rows.")
    drawn = {int(one.numbers.sum()) for one in evidence if one.distinct is not None}
    if given is None and (totals or len(drawn) == 1):
        total = (totals or drawn).pop()
        return total, total
    pair: Any = given if isinstance(given, (tuple, list)) else (given, given)
    whole = [isinstance(n, (int, np.integer)) and not isinstance(n, bool) for n in pair]
    if len(pair) != 2 or not all(whole) or not 1 <= pair[0] <= pair[1] <= 10**6:
        raise ArgumentError(
            f"rows must be a whole number from 1 to 1,000,000, or a pair of them, the smaller first, got "
            f"{describe_argument(given)}; models with noisy counts do not tell it."
        )
    low, high = int(pair[0]), int(pair[1])
    if totals and not low <= next(iter(totals)) <= high:
        raise ArgumentError(f"expected the number of rows that the models count, {totals.pop()}, got another.")
    if low < high and (drawn or has_prior):
        raise ArgumentError("expected one number as rows with a prior, or with bootstrap samples, got a range.")
    return low, high
