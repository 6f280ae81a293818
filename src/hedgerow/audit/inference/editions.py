"""Differences between the exact counts of two models of nearly the same table: editions of a release."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from hedgerow.audit.entropy.domain import Domain, normalised
from hedgerow.audit.readers.paths import Paths
from hedgerow.boundary.arrays import Mask
from hedgerow.models.conditions import Path
from hedgerow.schema import Schema

Box = dict[str, Mask]  # the bins of each tested attribute
Region = tuple[frozenset[Any], frozenset[Any]]  # a leaf's box, and the earlier boxes of a list that overlap with it


@dataclass(frozen=True)
class CountChange:
    """The counts of the same leaf, or of all rows, in two models.

    Attributes
    ----------
    before, after : tuple of int
        The number of rows of each class in the earlier and the later model, or of all rows if classes are not stored.
    leaves : tuple of (int, int), optional
        The place of the leaf in each model, counted from 0; None for all rows.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    leaves: tuple[int, int] | None = None

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
    """The counts of the equal leaves of two models, and of all rows, for models with exact counts.

    Attributes
    ----------
    leaves : tuple of CountChange
        The leaves that both models have, in the order of the later model.
    total : CountChange
        The counts of all rows.
    classes : tuple, optional
        The class labels; None if a model stores only numbers of rows, or if the classes differ.
    """

    leaves: tuple[CountChange, ...]
    total: CountChange
    classes: tuple[Any, ...] | None

    def disclosive(self, threshold: int) -> tuple[CountChange, ...]:
        """Return the changes of few rows or of one class, leaves first."""
        return tuple(change for change in (*self.leaves, self.total) if change.is_disclosive(threshold))


def edition_changes(old: Paths, new: Paths, schema: Schema) -> EditionChanges | None:
    """Return the differences of the counts of equal leaves and of the totals; None without exact counts.

    Leaves are equal if the same rows of the schema fall into them, whatever they predict. In a list, the earlier rules
    count, too. Differences inside a leaf, or between nodes that are not leaves of both models, are not computed.
    """
    if not (old.exact and new.exact and old.complete_supports and new.complete_supports):
        return None
    domain = Domain.of(schema, chain(old.literals, new.literals))
    places = {region: i for i, region in enumerate(_regions(normalised(old, domain.schema), domain.schema))}
    classes, before, after = _counts(old, new)
    leaves = tuple(
        CountChange(before[places[region]], after[i], (places[region], i))
        for i, region in enumerate(_regions(normalised(new, domain.schema), domain.schema))
        if region in places
    )
    total = CountChange(_total(before), _total(after))
    return EditionChanges(leaves, total, classes)


def _total(counts: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*counts, strict=True)))


def _counts(old: Paths, new: Paths) -> tuple[Any, list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the classes, and the counts of each leaf by class if both models store them for the same classes."""
    before, after = ([own for own in paths.counts or () if own is not None] for paths in (old, new))
    if old.classes == new.classes and (len(before), len(after)) == (len(old), len(new)):
        return new.classes, before, after
    return None, [(rows,) for rows in old.complete_supports or ()], [(rows,) for rows in new.complete_supports or ()]


def _regions(paths: Paths, schema: Schema) -> Iterator[Region]:
    """Yield the region of each leaf, such that equal regions compare equal."""
    boxes = [_box(path, schema) for path in paths.paths]
    for place, box in enumerate(boxes):
        earlier = [] if paths.exclusive else boxes[:place]
        yield _key(box), frozenset(_key(other) for other in earlier if _overlap(box, other))


def _box(path: Path, schema: Schema) -> Box:
    box: Box = {}
    for literal, holds in path:
        truth = schema[literal.attribute].truth(literal)
        own = truth if holds else ~truth
        box[literal.attribute] = box[literal.attribute] & own if literal.attribute in box else own
    return {name: bins for name, bins in box.items() if not bins.all()}


def _key(box: Box) -> frozenset[tuple[str, bytes]]:
    return frozenset((name, bins.tobytes()) for name, bins in box.items())


def _overlap(box: Box, other: Box) -> bool:
    return all(bool(np.any(bins & other[name])) for name, bins in box.items() if name in other)
