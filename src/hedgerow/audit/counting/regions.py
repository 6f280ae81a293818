"""Regions of a model, and the exact number of possible rows in each (PDR, eq. 11 to 16), from what is public alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.audit.counting.first_match import first_matches
from hedgerow.audit.counting.outside import Box, BoxCounter, PerBin
from hedgerow.errors import ArgumentError


@dataclass(frozen=True)
class Region:
    """The rows of a box in none of the earlier boxes; a box has for each attribute a mask, in which bit i is bin i."""

    box: Box
    earlier: tuple[Box, ...] = ()

    def __post_init__(self) -> None:
        if any(len(other) != len(self.box) for other in self.earlier):
            raise ArgumentError(f"expected earlier boxes of {len(self.box)} attributes, like the box itself.")


def count_rows(region: Region, weights: PerBin) -> int:
    """Count the different rows of a region, exactly: ``Capt(f_j)`` of PDR's eq. 12; #P-complete in the worst case."""
    return count_rows_each((region,), weights)[0]


def count_rows_each(regions: Sequence[Region], weights: PerBin) -> tuple[int, ...]:
    """Count the different rows of each region, exactly; those of a rule list together, see `first_match`."""
    for box in {box for region in regions for box in (region.box, *region.earlier)}:
        if len(box) != len(weights) or any(mask >> len(bins) for mask, bins in zip(box, weights, strict=True)):
            raise ArgumentError("expected one weight for each bin of each attribute of the regions, got others.")
    boxes = tuple(region.box for region in regions)
    if all(region.earlier == boxes[:index] for index, region in enumerate(regions)):
        return first_matches(boxes, weights)
    counter = BoxCounter(weights, max((len(region.earlier) for region in regions), default=0))
    return tuple(counter.outside(region.box, region.earlier) for region in regions)


def count_rows_by_bin(region: Region, weights: PerBin) -> tuple[tuple[int, ...], ...]:
    """Count the rows of a region by bin, for each attribute; its counts sum to the rows of the region."""
    narrowed = [
        Region((*region.box[:place], mask & 1 << bin, *region.box[place + 1 :]), region.earlier)
        for place, mask in enumerate(region.box)
        for bin in range(len(weights[place]))
    ]
    counts = iter(count_rows_each(narrowed, weights))
    return tuple(tuple(next(counts) for _ in bins) for bins in weights)
