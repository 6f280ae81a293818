"""The split of a region into parts that do not depend on each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hedgerow.audit.counting.outside import Box, Weights, components
from hedgerow.audit.counting.regions import Region, bin_worlds
from hedgerow.audit.probabilistic.factors import Boxes
from hedgerow.errors import ArgumentError


def parts_of(region: Region, weights: Weights, masses: Weights) -> tuple[Boxes, ...]:
    """Return what is known of a row in a region, split into parts that do not depend on each other.

    Attributes of which earlier boxes leave a set of bins are parts of their own; others stay with those that the same
    boxes speak of. Masses are as in `Boxes`.

    Raises
    ------
    ValueError
        If the region holds no row.

    Examples
    --------
    Of three booleans, not both of the first two are true:

    >>> two = (1, 1)
    >>> [p.attributes for p in parts_of(Region((3, 3, 3), earlier=((2, 2, 3),)), (two,) * 3, (two,) * 3)]
    [(0, 1), (2,)]
    """
    found = _parts(region, tuple(range(len(weights))), weights, masses)
    return tuple(sorted(found, key=lambda part: part.attributes))


def _parts(region: Region, places: tuple[int, ...], weights: Weights, masses: Weights) -> Iterator[Boxes]:
    bins = bin_worlds(region, masses)
    if not sum(bins[0]):
        raise ArgumentError("expected a region that holds some row.")
    box = tuple(sum(1 << i for i, count in enumerate(counts) if count) for counts in bins)

    def part(indexes: Sequence[int], others: Sequence[Box]) -> Boxes:
        def own(everything: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(everything[k] for k in indexes)

        return Boxes(own(places), Region(own(box), tuple(map(own, others))), own(weights), own(masses))

    meeting = _largest(tuple(a & b for a, b in zip(box, other, strict=True)) for other in region.earlier)
    supports = {
        i: sum(1 << k for k, (a, b) in enumerate(zip(box, other, strict=True)) if a & ~b)
        for i, other in enumerate(meeting)
    }
    groups = components(supports)
    joint = [([k for k in range(len(box)) if flags >> k & 1], boxes) for flags, boxes in groups.items()]
    free = [k for k in range(len(box)) if not any(k in indexes for indexes, _ in joint)]
    yield from (part([k], ()) for k in free)
    for indexes, boxes in joint:
        one = part(indexes, [meeting[i] for i in sorted(boxes)])
        if len(joint) == 1 and not free and one.region == region:
            yield one
        else:  # on its own it may turn out to be a box
            yield from _parts(one.region, one.attributes, one.weights, one.masses)


def _largest(boxes: Iterable[Box]) -> list[Box]:
    """Leave out boxes that are empty or lie within another."""
    kept: list[Box] = []
    for box in dict.fromkeys(boxes):
        if all(box) and not any(_within(box, other) for other in kept):
            kept = [other for other in kept if not _within(other, box)] + [box]
    return kept


def _within(box: Box, other: Box) -> bool:
    return all(not a & ~b for a, b in zip(box, other, strict=True))
