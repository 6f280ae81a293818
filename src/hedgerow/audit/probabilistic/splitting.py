"""Factorisation of the distribution of a row in a region into independent factors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hedgerow.audit.counting.outside import Box, PerBin, components
from hedgerow.audit.counting.regions import Region, count_rows_by_bin
from hedgerow.audit.probabilistic.factors import BoxFactor
from hedgerow.errors import ArgumentError


def factors_of(region: Region, weights: PerBin, masses: PerBin) -> tuple[BoxFactor, ...]:
    """Return the independent factors of the distribution of a row in a region.

    An attribute that no earlier box restricts together with others is a factor of its own; attributes that the same
    boxes restrict share a factor. Masses are as in `BoxFactor`.

    Examples
    --------
    Of three booleans, not both of the first two are true:

    >>> two = (1, 1)
    >>> [p.attributes for p in factors_of(Region((3, 3, 3), earlier=((2, 2, 3),)), (two,) * 3, (two,) * 3)]
    [(0, 1), (2,)]
    """
    found = _factors(region, tuple(range(len(weights))), weights, masses)
    return tuple(sorted(found, key=lambda factor: factor.attributes))


def _factors(region: Region, places: tuple[int, ...], weights: PerBin, masses: PerBin) -> Iterator[BoxFactor]:
    bins = count_rows_by_bin(region, masses)
    if not sum(bins[0]):
        raise ArgumentError("expected a region with a possible row, got an empty one.")
    box = tuple(sum(1 << i for i, count in enumerate(counts) if count) for counts in bins)

    def factor(indexes: Sequence[int], others: Sequence[Box]) -> BoxFactor:
        def own(everything: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(everything[k] for k in indexes)

        return BoxFactor(own(places), Region(own(box), tuple(map(own, others))), own(weights), own(masses))

    meeting = _largest(tuple(a & b for a, b in zip(box, other, strict=True)) for other in region.earlier)
    supports = {
        i: sum(1 << k for k, (a, b) in enumerate(zip(box, other, strict=True)) if a & ~b)
        for i, other in enumerate(meeting)
    }
    groups = components(supports)
    joint = [([k for k in range(len(box)) if flags >> k & 1], boxes) for flags, boxes in groups.items()]
    free = [k for k in range(len(box)) if not any(k in indexes for indexes, _ in joint)]
    yield from (factor([k], ()) for k in free)
    for indexes, boxes in joint:
        one = factor(indexes, [meeting[i] for i in sorted(boxes)])
        if len(joint) == 1 and not free and one.region == region:
            yield one
        else:  # on its own it may turn out to be a box
            yield from _factors(one.region, one.attributes, one.weights, one.masses)


def _largest(boxes: Iterable[Box]) -> list[Box]:
    """Drop boxes that are empty or lie within another."""
    kept: list[Box] = []
    for box in dict.fromkeys(boxes):
        if all(box) and not any(_within(box, other) for other in kept):
            kept = [other for other in kept if not _within(other, box)] + [box]
    return kept


def _within(box: Box, other: Box) -> bool:
    return all(not a & ~b for a, b in zip(box, other, strict=True))
