"""Differences between the exact counts of two models of nearly the same table: editions of a release."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from scipy import sparse

from hedgerow.audit.counting.regions import Region
from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.readers.paths import Paths
from hedgerow.boundary.arrays import Index
from hedgerow.schema import Schema

MOST_STEPS = 10**7  # comparisons of two boxes


@dataclass(frozen=True)
class CountChange:
    """The counts of the same leaf or leaves, or of all rows, in two models.

    Attributes
    ----------
    before, after : tuple of int
        The number of rows of each class in the earlier and the later model, or of all rows if classes are not stored.
    leaves : tuple of (tuple of int, tuple of int), optional
        The places of the leaves in each model, counted from 0; None for all rows.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    leaves: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def differences(self) -> tuple[int, ...]:
        """The rows of each class that were added (positive) or removed (negative)."""
        return tuple(b - a for a, b in zip(self.before, self.after, strict=True))

    @property
    def rows(self) -> int:
        """The fewest rows that were added or removed."""
        return sum(map(abs, self.differences))

    @property
    def is_pure(self) -> bool:
        """True if rows of only one class were added or removed; False if classes are not stored."""
        return len(self.differences) > 1 and sum(n != 0 for n in self.differences) == 1

    def is_disclosive(self, threshold: int) -> bool:
        """Return whether the difference has rows, but fewer than a threshold, or rows of only one class."""
        return self.is_pure or 0 < self.rows < threshold


@dataclass(frozen=True)
class EditionChanges:
    """The counts of equal regions of two models, and of all rows, for models with exact counts.

    Attributes
    ----------
    leaves : tuple of CountChange
        The smallest groups of leaves, often single leaves, into which the same rows of the schema fall in both models,
        in the order of the later model. Only the group of all leaves is omitted.
    total : CountChange
        The counts of all rows.
    classes : tuple, optional
        The class labels; None if a model stores only numbers of rows, or if the classes differ.
    is_complete : bool
        False if the models have too many leaves to be compared, so that only all rows are counted.
    """

    leaves: tuple[CountChange, ...]
    total: CountChange
    classes: tuple[Any, ...] | None
    is_complete: bool = True

    def disclosive(self, threshold: int) -> tuple[CountChange, ...]:
        """Return the changes of few rows or of one class, leaves first."""
        return tuple(change for change in (*self.leaves, self.total) if change.is_disclosive(threshold))


def edition_changes(old: Paths, new: Paths, schema: Schema) -> EditionChanges | None:
    """Return the differences of the counts of equal regions and of the totals; None without exact counts.

    The difference of two sums of counts is known from the rows that were added or removed alone only if both sums are
    over the same region: then other rows cancel out. All such regions are unions of the groups in the result, except
    that leaves of a list are also grouped if several earlier rules together, but no single one, separate them.
    """
    if not (old.exact and new.exact and old.complete_supports and new.complete_supports):
        return None
    domain = Domain.of(schema, chain(old.literals, new.literals))
    regions = [domain.regions(normalised(paths, domain.schema)) for paths in (old, new)]
    classes, before, after = _counts(old, new)
    everything = CountChange(_total(before), _total(after))
    if len(old) * len(new) * (1 + sum(len(own[-1].earlier) for own in regions)) > MOST_STEPS:
        return EditionChanges((), everything, classes, is_complete=False)
    changes = (
        CountChange(_total([before[i] for i in ours]), _total([after[j] for j in theirs]), (ours, theirs))
        for ours, theirs in _groups(*regions)
        if len(theirs) < len(new)
    )
    return EditionChanges(tuple(changes), everything, classes)


def _total(counts: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*counts, strict=True)))


def _counts(old: Paths, new: Paths) -> tuple[Any, list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the classes, and the counts of each leaf by class if both models store them for the same classes."""
    before, after = ([own for own in paths.counts or () if own is not None] for paths in (old, new))
    if old.classes == new.classes and (len(before), len(after)) == (len(old), len(new)):
        return new.classes, before, after
    return None, [(rows,) for rows in old.complete_supports or ()], [(rows,) for rows in new.complete_supports or ()]


def _groups(old: Sequence[Region], new: Sequence[Region]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the connected components of overlapping regions: their places in both models, in the order of the new."""
    pairs = [(i, j) for i, ours in enumerate(old) for j, theirs in enumerate(new) if _overlap(ours, theirs)]
    rows, columns = np.array(pairs, dtype=np.intp).T
    shape = (len(old) + len(new),) * 2
    graph = sparse.csr_matrix((np.ones(len(pairs)), (rows, columns + len(old))), shape)
    labels: Index = sparse.csgraph.connected_components(graph, directed=False)[1]
    ours, theirs = labels[: len(old)].tolist(), labels[len(old) :].tolist()
    for label in dict.fromkeys(theirs):
        members = (tuple(i for i, own in enumerate(side) if own == label) for side in (ours, theirs))
        both = next(members), next(members)
        if all(both):  # a leaf that no row can reach overlaps with none
            yield both


def _overlap(ours: Region, theirs: Region) -> bool:
    """Return whether two regions have a common row, unless several earlier boxes together contain all of them."""
    both = ours & theirs
    return all(both.box) and not any(
        all(not bins & ~mask for bins, mask in zip(both.box, other, strict=True)) for other in both.earlier
    )
