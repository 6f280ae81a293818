"""Disclosive leaves of an ensemble of trees: of each tree, and of all trees together."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import sklearn

from hedgerow.audit.inference.labelled import counted_nouns, declared_unit, unit_numbers
from hedgerow.audit.readers.ensembles import is_bootstrapped, leaf_nodes, members_as_in
from hedgerow.boundary.arrays import Array, Index, Integers, Mask
from hedgerow.errors import ArgumentError
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import number_of
from hedgerow.text.values import shown_text

View = Literal["exact", "units", "drawn", "weighted"]
_NOTES: dict[View, str] = {
    "exact": "Exact row counts: for the curator's eyes only.",
    "units": "Exact counts of units, each counted once in every leaf: for the curator's eyes only.",
    "drawn": "Counts are of the distinct rows sampled for each tree; pass train=(X, y) to count all training rows.",
    "weighted": "A row that was sampled several times is counted several times; pass train=(X, y) to count it once.",
}
_COUNTS_MISSING = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
_SHOWN = 5  # the maximum number of trees in the text


@dataclass(frozen=True, eq=False, repr=False)
class MemberLeaves:
    """Leaves of one tree of an ensemble. **Private** if the counts are exact and not released.

    Attributes
    ----------
    nodes : ndarray of int, shape (n_leaves,)
        The node number of each leaf, as the tree's `apply` returns it.
    rows : ndarray of int, shape (n_leaves,)
        The largest number of rows or units from which the leaf's value may have been computed.
    counts : ndarray of int, shape (n_leaves, n_classes), optional
        The number of rows or units of each class in each leaf; None if unknown.
    pure : ndarray of bool, shape (n_leaves,), optional
        True for each leaf whose rows all have the same class; None if unknown.
    """

    nodes: Index
    rows: Integers
    counts: Integers | None
    pure: Mask | None

    @classmethod
    def stored(cls, tree: Any) -> Self:
        """Return the leaves with the counts that a tree stores, which refer to the rows that it was fitted on."""
        nodes = np.flatnonzero(tree.tree_.children_left == -1)
        rows = tree.tree_.n_node_samples[nodes].astype(np.int64)
        if tree.n_outputs_ != 1 or not hasattr(tree, "classes_"):
            return cls(nodes, rows, None, None)
        shares = tree.tree_.value[nodes, 0, :]
        counts = shares * tree.tree_.weighted_n_node_samples[nodes, None]
        whole = np.rint(counts).astype(np.int64)
        is_counted = tree.class_weight is None and np.allclose(counts, whole, rtol=0, atol=1e-6)
        is_counted = is_counted and np.array_equal(whole.sum(axis=1), rows)
        return cls(nodes, rows, whole if is_counted else None, (shares > 0).sum(axis=1) == 1)

    def counted(self, leaves: Index, by: tuple[Index, int] | None, units: Index | None) -> Self:
        """Return the same leaves with counts of rows or units, in total and, given the labels, by class."""
        totals = np.minimum(_tally(leaves, units, len(self.nodes)), self.rows)
        if by is None:
            return type(self)(self.nodes, totals, None, None)
        labels, width = by
        counts = _tally(leaves * width + labels, units, len(self.nodes) * width).reshape(-1, width)
        return type(self)(self.nodes, totals, counts, (counts > 0).sum(axis=1) == 1)

    def small(self, threshold: int) -> Mask:
        """Return which leaves have fewer rows than the threshold."""
        return self.rows < threshold

    def few(self, threshold: int) -> Mask | None:
        """Return which leaves have a class with at least one row, but fewer than the threshold; None if unknown."""
        if self.counts is None:
            return None
        return np.any((self.counts > 0) & (self.counts < threshold), axis=1)


def _tally(keys: Index, units: Index | None, length: int) -> Integers:
    """Return the number of rows, or of distinct units, with each key."""
    if units is not None:
        keys = np.unique(keys * (units.max() + 1) + units) // (units.max() + 1)
    return np.bincount(keys, minlength=length)


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleRisk:
    """Disclosive leaves of all trees of an ensemble. **Private** if the counts are exact and not released.

    The rows of a leaf are the rows from which its value was computed; a tree on a bootstrap sample uses no other rows.
    `rows`, `in_small`, `in_pure`, `cells` and `alone` are known only if the training rows were given.

    Attributes
    ----------
    model : str
        The type of the ensemble.
    members : tuple of MemberLeaves
        The leaves of each tree.
    classes : tuple, optional
        The class labels, or the midpoints of the levels of a number.
    view : {"exact", "units", "drawn", "weighted"}
        The counted objects. Each row ("exact") or each unit ("units") counts once. For counts that the model stores,
        the distinct rows of the bootstrap samples count once ("drawn"), or as often as they were sampled ("weighted").
    threshold : int
        The smallest safe number of rows or units in a leaf, and of a class in it.
    schema : Schema, optional
        The schema, which may declare a unit.
    rows : int, optional
        The number of training rows or units.
    in_small, in_pure : int, optional
        The number of rows or units that lie in a small leaf, or in a leaf of one class, of any tree.
    cells : int, optional
        The number of combinations of leaves (one of each tree) that contain rows.
    alone : int, optional
        The number of rows or units that are alone in their combination. The trees together single them out.
    unit : str, optional
        The unit column, if it differs from the schema's unit.
    contradicted : int, optional
        The number of leaves whose stored counts contradict the training rows, so that other rows must have been given.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0]]).repeat([20, 4, 30], axis=0), np.arange(54) % 2
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> risk = hr.audit.leaf_risk(forest, (X, y))
    >>> risk.rows, risk.in_small, risk.cells, risk.alone
    (54, 4, 3, 0)
    """

    model: str
    members: tuple[MemberLeaves, ...]
    classes: tuple[Any, ...] | None
    view: View
    threshold: int
    schema: Schema | None = None
    rows: int | None = None
    in_small: int | None = None
    in_pure: int | None = None
    cells: int | None = None
    alone: int | None = None
    contradicted: int | None = None
    unit: str | None = None

    def __post_init__(self) -> None:
        if not self.members:
            raise ArgumentError("members must contain the leaves of at least one tree, got none.")

    @property
    def counted(self) -> tuple[str, str]:
        """The noun for the counts, singular and plural: rows, or units with their column."""
        return counted_nouns((self.unit or declared_unit(self.schema)) if self.view == "units" else None)

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return sum(len(member.nodes) for member in self.members)

    @property
    def fewest(self) -> int:
        """The number of rows of the smallest leaf of any tree."""
        return min(int(member.rows.min()) for member in self.members)

    @cached_property
    def small_leaves(self) -> tuple[int, ...]:
        """The number of leaves of each tree with fewer rows than the threshold."""
        return tuple(int(member.small(self.threshold).sum()) for member in self.members)

    @cached_property
    def pure_leaves(self) -> tuple[int, ...] | None:
        """The number of leaves of each tree with rows of one class only; None if unknown for some tree."""
        return _sums([member.pure for member in self.members])

    @cached_property
    def few_leaves(self) -> tuple[int, ...] | None:
        """The number of leaves of each tree with few rows of a class; None if unknown for some tree."""
        return _sums([member.few(self.threshold) for member in self.members])

    @property
    def small(self) -> tuple[int, ...]:
        """The trees that have a leaf with fewer rows than the threshold, counted from 0."""
        return _nonzero(self.small_leaves)

    @property
    def pure(self) -> tuple[int, ...]:
        """The trees that have a leaf whose rows are all of one class, counted from 0."""
        return _nonzero(self.pure_leaves or ())

    @property
    def few(self) -> tuple[int, ...]:
        """The trees that have a leaf with few rows of a class, counted from 0."""
        return _nonzero(self.few_leaves or ())

    @cached_property
    def worst(self) -> int:
        """The tree with the smallest leaf; ties go to the most small leaves, then to the most pure leaves."""
        pure = self.pure_leaves or (0,) * len(self.members)
        keys = [
            (int(member.rows.min()), -small, -one_class)
            for member, small, one_class in zip(self.members, self.small_leaves, pure, strict=True)
        ]
        return keys.index(min(keys))

    @property
    def certain_in_small(self) -> int:
        """A lower bound on the number of rows in a small leaf of any tree."""
        if self.in_small is not None:
            return self.in_small
        return max(int(member.rows[member.small(self.threshold)].sum()) for member in self.members)

    @property
    def table(self) -> pd.DataFrame:
        """A row for each tree: the number of leaves, the rows of the smallest, and the disclosive leaves."""
        table = pd.DataFrame(
            {
                "tree": np.arange(len(self.members)),
                "leaves": [len(member.nodes) for member in self.members],
                f"fewest {self.counted[1]}": [int(member.rows.min()) for member in self.members],
                "small": self.small_leaves,
            }
        )
        for name, values in (("pure", self.pure_leaves), ("few", self.few_leaves)):
            if values is not None:
                table[name] = values
        return table

    def leaf_table(self, tree: int) -> pd.DataFrame:
        """Return a row for each leaf of a tree: node, counts in total and by class, and whether it is disclosive."""
        member, (_, rows) = self.members[tree], self.counted
        table = pd.DataFrame({"leaf": member.nodes, rows: member.rows})
        if member.counts is not None:
            for name, counts in zip(self.classes or (), member.counts.T, strict=True):
                table[f"{rows} of {shown_text(name)}"] = counts
        flags = {"small": member.small(self.threshold), "pure": member.pure, "few": member.few(self.threshold)}
        for name, flag in flags.items():
            if flag is not None:
                table[name] = flag
        return table

    def __str__(self) -> str:
        few, (_, rows) = number_of(self.threshold, *self.counted), self.counted
        lines = [
            f"{self.model}: {number_of(len(self.members), 'tree')}, {self.leaves:,} leaves",
            f"small leaves  {sum(self.small_leaves):,} leaves of {number_of(len(self.small), 'tree')} have fewer than "
            f"{few}; the smallest leaf has {self.fewest:,}",
        ]
        if self.pure_leaves is None:
            lines.append("pure leaves   unknown: the trees store no class counts")
        else:
            lines.append(f"pure leaves   {sum(self.pure_leaves):,} leaves have {rows} of one class only")
        if self.rows is None:
            lines.append(f"exposed       at least {self.certain_in_small:,} {rows} are in a small leaf of some tree")
        else:
            lines.append(
                f"exposed       {self.in_small:,} of {self.rows:,} {rows} are in a small leaf of at least one tree"
            )
            lines.append(
                f"singled out   {self.alone:,} of {self.rows:,} {rows} are the only one in their combination of leaves "
                f"({self.cells:,} combinations occur)"
            )
        worst = self.table.sort_values([self.table.columns[2], "small"], ascending=[True, False], kind="stable")
        lines += ["", worst.head(_SHOWN).to_string(index=False), "", _NOTES[self.view]]
        return "\n".join(lines)

    def __repr__(self) -> str:
        small = f"{len(self.small)} with small leaves"
        return f"<EnsembleRisk of {number_of(len(self.members), 'tree')}: {small}, {len(self.pure)} with pure leaves>"


def _sums(flags: Sequence[Mask | None]) -> tuple[int, ...] | None:
    known = tuple(int(flag.sum()) for flag in flags if flag is not None)
    return known if len(known) == len(flags) else None


def _nonzero(counts: Sequence[int]) -> tuple[int, ...]:
    return tuple(i for i, count in enumerate(counts) if count)


def stored_ensemble_risk(model: Any, threshold: int, schema: Schema | None) -> EnsembleRisk:
    """Return the leaf risk of an ensemble from the counts that its trees store."""
    if not _COUNTS_MISSING and (
        schema is None or any(attribute.missing == "bin" for _, attribute in schema.attributes)
    ):
        problem = f"scikit-learn {sklearn.__version__} stores wrong counts if values are missing"
        raise ArgumentError(f"{problem}; pass train=(X, y), or a schema without missing values.")
    ensemble, trees = members_as_in(model)
    view: View = "weighted" if any(tree.has_copies_ for tree in trees) else "exact"
    if view == "exact" and is_bootstrapped(ensemble):
        view = "drawn"
    classes = getattr(ensemble, "classes_", None)
    classes = None if classes is None else tuple(np.asarray(classes).tolist())
    leaves = tuple(map(MemberLeaves.stored, trees))
    return EnsembleRisk(type(ensemble).__name__, leaves, classes, view, threshold, schema)


def counted_ensemble_risk(
    model: Any,
    X: Any,
    by: tuple[Sequence[Any], Index] | None,
    threshold: int,
    schema: Schema | None,
    unit: str | None = None,
) -> EnsembleRisk:
    """Return the leaf risk of an ensemble from the training rows and, optionally, their classes.

    `unit` is the unit column. Default: the unit that the schema declares.
    """
    ensemble, trees = members_as_in(model)
    places, units = leaf_nodes(model, X), unit_numbers(schema, X, unit)
    labels = None if by is None else (by[1].astype(np.intp), len(by[0]))
    members, in_small, in_pure = list[MemberLeaves](), np.zeros(len(X), dtype=bool), np.zeros(len(X), dtype=bool)
    is_part, contradicted = is_bootstrapped(ensemble), 0
    for tree, nodes in zip(trees, places.T, strict=True):
        stored = MemberLeaves.stored(tree)
        leaves = np.searchsorted(stored.nodes, nodes)
        member, rows = stored.counted(leaves, labels, units), _tally(leaves, None, len(stored.nodes))
        if _COUNTS_MISSING and not tree.has_copies_:
            contradicted += int((rows < stored.rows if is_part else rows != stored.rows).sum())
        in_small |= member.small(threshold)[leaves]
        if member.pure is not None:
            in_pure |= member.pure[leaves]
        members.append(member)
    cells = _combinations(places)
    alone = _tally(cells, units, 1) == 1
    owners = np.arange(len(X)) if units is None else units
    return EnsembleRisk(
        type(ensemble).__name__,
        tuple(members),
        None if by is None else tuple(by[0]),
        "exact" if units is None else "units",
        threshold,
        schema,
        rows=len(np.unique(owners)),
        in_small=len(np.unique(owners[in_small])),
        in_pure=None if by is None else len(np.unique(owners[in_pure])),
        cells=int(cells.max()) + 1,
        alone=len(np.unique(owners[alone[cells]])),
        contradicted=contradicted,
        unit=unit,
    )


def _combinations(places: Index) -> Index:
    """Return the number of each row's combination of leaves, counted from 0."""
    narrow: Array = np.ascontiguousarray(places, dtype=np.int32)
    whole = narrow.view(np.dtype((np.void, narrow.dtype.itemsize * narrow.shape[1]))).ravel()
    return np.unique(whole, return_inverse=True)[1].astype(np.intp)
