"""Leaves of the trees of an ensemble that disclose by their structure, tree by tree and together."""

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
    "exact": "Rows are counted exactly: for the curator's eyes only.",
    "units": "Each unit is counted once in every leaf: for the curator's eyes only.",
    "drawn": "Rows are the different rows that were drawn for each tree; pass train=(X, y) to examine all rows.",
    "weighted": "Rows are counted once for each time that they were drawn; pass train=(X, y) to count each row once.",
}
_COUNTS_MISSING = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 8)
_SHOWN = 5  # trees in the text


@dataclass(frozen=True, eq=False, repr=False)
class MemberLeaves:
    """The leaves of one tree of an ensemble. **Private** if the counts are exact and not released.

    Attributes
    ----------
    nodes : ndarray of int, shape (n_leaves,)
        The number of each leaf's node, as `apply` of the tree returns it.
    rows : ndarray of int, shape (n_leaves,)
        The rows, or units, of which each leaf's value was computed, at most.
    counts : ndarray of int, shape (n_leaves, n_classes), optional
        The rows, or units, of each class in each leaf; None if they are not known.
    pure : ndarray of bool, shape (n_leaves,), optional
        Which leaves have rows of one class only; None if that is not known.
    """

    nodes: Index
    rows: Integers
    counts: Integers | None
    pure: Mask | None

    @classmethod
    def stored(cls, tree: Any) -> Self:
        """Return the counts that a tree stores: of the rows that it was fitted on."""
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
        """Return the same leaves with the rows, or units, that lie in them, and with these rows of each class."""
        held = np.minimum(_tally(leaves, units, len(self.nodes)), self.rows)
        if by is None:
            return type(self)(self.nodes, held, None, None)
        labels, width = by
        counts = _tally(leaves * width + labels, units, len(self.nodes) * width).reshape(-1, width)
        return type(self)(self.nodes, held, counts, (counts > 0).sum(axis=1) == 1)

    def small(self, threshold: int) -> Mask:
        """Return which leaves have fewer rows than the threshold."""
        return self.rows < threshold

    def few(self, threshold: int) -> Mask | None:
        """Return which leaves have rows of some class, and fewer than the threshold; None if that is not known."""
        if self.counts is None:
            return None
        return np.any((self.counts > 0) & (self.counts < threshold), axis=1)


def _tally(keys: Index, units: Index | None, length: int) -> Integers:
    """Return how many rows, or different units, have each key."""
    if units is not None:
        keys = np.unique(keys * (units.max() + 1) + units) // (units.max() + 1)
    return np.bincount(keys, minlength=length)


@dataclass(frozen=True, eq=False, repr=False)
class EnsembleRisk:
    """What the leaves of all trees of an ensemble disclose. **Private** if the counts are exact and not released.

    A row of a leaf is one that its value was computed from: a tree of a bootstrap sample uses no others. If the
    training rows are given, `rows`, `in_small`, `in_pure`, `cells` and `alone` are known, too.

    Attributes
    ----------
    model : str
        The type of the ensemble.
    members : tuple of MemberLeaves
        The leaves of each tree.
    classes : tuple, optional
        The class labels, or the middles of the levels of a number.
    view : {"exact", "units", "drawn", "weighted"}
        Whether each row, or each unit, was counted once; or only the rows that a bootstrap drew, which the model
        stores; or these as often as they were drawn.
    threshold : int
        The fewest rows, or units, of a leaf, and of a class in it, that are safe.
    schema : Schema, optional
        It may declare a unit.
    rows : int, optional
        The number of training rows, or units.
    in_small, in_pure : int, optional
        How many of them lie in a small leaf, or in a leaf of one class, of any tree.
    cells : int, optional
        The number of combinations of leaves, one of each tree, that rows lie in.
    alone : int, optional
        How many rows, or units, share their combination with no other: the trees together single them out.
    unit : str, optional
        The column of units, if they are not units of the schema.
    contradicted : int, optional
        How many leaves store numbers of rows that the training rows cannot have made: then other rows were given.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import hedgerow as hr
    >>> X, y = np.array([[0, 0], [0, 1], [1, 0]]).repeat([20, 4, 30], axis=0), np.arange(54) % 2
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> found = hr.audit.leaf_risk(forest, (X, y))
    >>> found.rows, found.in_small, found.cells, found.alone
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
            raise ArgumentError("expected the leaves of one tree at least, got none.")

    @property
    def counted(self) -> tuple[str, str]:
        """What is counted, one and many in words: rows, or units of the column that says whose a row is."""
        return counted_nouns((self.unit or declared_unit(self.schema)) if self.view == "units" else None)

    @property
    def leaves(self) -> int:
        """The number of leaves of all trees."""
        return sum(len(member.nodes) for member in self.members)

    @property
    def fewest(self) -> int:
        """The rows of the smallest leaf of any tree."""
        return min(int(member.rows.min()) for member in self.members)

    @cached_property
    def small_leaves(self) -> tuple[int, ...]:
        """How many leaves of each tree have fewer rows than the threshold."""
        return tuple(int(member.small(self.threshold).sum()) for member in self.members)

    @cached_property
    def pure_leaves(self) -> tuple[int, ...] | None:
        """How many leaves of each tree have rows of one class only; None if that is not known of every tree."""
        return _sums([member.pure for member in self.members])

    @cached_property
    def few_leaves(self) -> tuple[int, ...] | None:
        """How many leaves of each tree have few rows of a class; None if that is not known of every tree."""
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
        """The trees that have a leaf in which some class has rows, and fewer than the threshold."""
        return _nonzero(self.few_leaves or ())

    @cached_property
    def worst(self) -> int:
        """The tree with the smallest leaf, then with the most small leaves, then the most of one class."""
        pure = self.pure_leaves or (0,) * len(self.members)
        keys = [
            (int(member.rows.min()), -small, -one_class)
            for member, small, one_class in zip(self.members, self.small_leaves, pure, strict=True)
        ]
        return keys.index(min(keys))

    @property
    def certain_in_small(self) -> int:
        """A number of rows that certainly lie in a small leaf of some tree: the most of any single tree."""
        if self.in_small is not None:
            return self.in_small
        return max(int(member.rows[member.small(self.threshold)].sum()) for member in self.members)

    @property
    def table(self) -> pd.DataFrame:
        """One row a tree: its leaves, the rows of its smallest leaf, and its small, pure and few leaves."""
        found = pd.DataFrame(
            {
                "tree": np.arange(len(self.members)),
                "leaves": [len(member.nodes) for member in self.members],
                f"fewest {self.counted[1]}": [int(member.rows.min()) for member in self.members],
                "small": self.small_leaves,
            }
        )
        for name, values in (("pure", self.pure_leaves), ("few", self.few_leaves)):
            if values is not None:
                found[name] = values
        return found

    def leaf_table(self, tree: int) -> pd.DataFrame:
        """Return one row for each leaf of a tree: its node, rows, rows of each class, and how it discloses."""
        member, (_, rows) = self.members[tree], self.counted
        found = pd.DataFrame({"leaf": member.nodes, rows: member.rows})
        if member.counts is not None:
            for name, counts in zip(self.classes or (), member.counts.T, strict=True):
                found[f"{rows} of {shown_text(name)}"] = counts
        flags = {"small": member.small(self.threshold), "pure": member.pure, "few": member.few(self.threshold)}
        for name, flag in flags.items():
            if flag is not None:
                found[name] = flag
        return found

    def __str__(self) -> str:
        few, (_, rows) = number_of(self.threshold, *self.counted), self.counted
        lines = [
            f"{self.model} of {number_of(len(self.members), 'tree')} with {self.leaves:,} leaves",
            f"{sum(self.small_leaves):,} leaves of {number_of(len(self.small), 'tree')} have fewer than {few}; "
            f"the smallest has {self.fewest:,}",
        ]
        if self.pure_leaves is None:
            lines.append("whether leaves have rows of one class only is not known")
        else:
            lines.append(f"{sum(self.pure_leaves):,} leaves have {rows} of one class only")
        if self.rows is None:
            lines.append(f"at least {self.certain_in_small:,} {rows} lie in a small leaf of some tree")
        else:
            lines.append(f"{self.in_small:,} of {self.rows:,} {rows} lie in a small leaf of some tree")
            alone = f"{self.alone:,} of {self.rows:,} {rows} are alone in their combination of leaves"
            lines.append(f"{alone} ({self.cells:,} combinations)")
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
    """Return the risk of the leaves of an ensemble by the counts that its trees store."""
    if not _COUNTS_MISSING and (
        schema is None or any(attribute.missing == "bin" for _, attribute in schema.attributes)
    ):
        version = f"scikit-learn {sklearn.__version__} does not store the right counts if values are missing"
        raise ArgumentError(f"{version}; pass train=, or a schema without missing values.")
    ensemble, trees = members_as_in(model)
    view: View = "weighted" if any(tree.has_copies_ for tree in trees) else "exact"
    if view == "exact" and is_bootstrapped(ensemble):
        view = "drawn"
    classes = getattr(ensemble, "classes_", None)
    classes = None if classes is None else tuple(np.asarray(classes).tolist())
    found = tuple(map(MemberLeaves.stored, trees))
    return EnsembleRisk(type(ensemble).__name__, found, classes, view, threshold, schema)


def counted_ensemble_risk(
    model: Any,
    X: Any,
    by: tuple[Sequence[Any], Index] | None,
    threshold: int,
    schema: Schema | None,
    unit: str | None = None,
) -> EnsembleRisk:
    """Return the risk of the leaves of an ensemble by the training rows, and by the class of each row, if any.

    `unit` is the column of units; by default, the unit that the schema declares.
    """
    ensemble, trees = members_as_in(model)
    places, units = leaf_nodes(model, X), unit_numbers(schema, X, unit)
    labels = None if by is None else (by[1].astype(np.intp), len(by[0]))
    found, in_small, in_pure = list[MemberLeaves](), np.zeros(len(X), dtype=bool), np.zeros(len(X), dtype=bool)
    is_part, contradicted = is_bootstrapped(ensemble), 0
    for tree, nodes in zip(trees, places.T, strict=True):
        stored = MemberLeaves.stored(tree)
        leaves = np.searchsorted(stored.nodes, nodes)
        member, held = stored.counted(leaves, labels, units), _tally(leaves, None, len(stored.nodes))
        if _COUNTS_MISSING and not tree.has_copies_:
            contradicted += int((held < stored.rows if is_part else held != stored.rows).sum())
        in_small |= member.small(threshold)[leaves]
        if member.pure is not None:
            in_pure |= member.pure[leaves]
        found.append(member)
    cells = _combinations(places)
    alone = _tally(cells, units, 1) == 1
    whose = np.arange(len(X)) if units is None else units
    return EnsembleRisk(
        type(ensemble).__name__,
        tuple(found),
        None if by is None else tuple(by[0]),
        "exact" if units is None else "units",
        threshold,
        schema,
        rows=len(np.unique(whose)),
        in_small=len(np.unique(whose[in_small])),
        in_pure=None if by is None else len(np.unique(whose[in_pure])),
        cells=int(cells.max()) + 1,
        alone=len(np.unique(whose[alone[cells]])),
        contradicted=contradicted,
        unit=unit,
    )


def _combinations(places: Index) -> Index:
    """Return the number of each row's combination of leaves, from 0 on."""
    narrow: Array = np.ascontiguousarray(places, dtype=np.int32)
    whole = narrow.view(np.dtype((np.void, narrow.dtype.itemsize * narrow.shape[1]))).ravel()
    return np.unique(whole, return_inverse=True)[1].astype(np.intp)
