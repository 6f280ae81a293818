"""How many different rows could stand in each leaf of a model: the worlds that are left to whoever reads it.

A released model and its schema are public, and nothing here looks at a row. All numbers are exact Python integers.

References
----------
Ferry, Aïvodji, Gambs, Huguet, Siala, *Probabilistic Dataset Reconstruction from Interpretable Models*, 2024 (PDR):
eq. 11 for trees, eq. 12 to 16 for rule lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hedgerow.audit.counting.first_match import first_matches
from hedgerow.audit.counting.outside import Box, BoxCounter, Weights
from hedgerow.errors import ArgumentError


@dataclass(frozen=True)
class Region:
    """The rows of a box that lie in none of the earlier boxes.

    Attributes
    ----------
    box : tuple of int
        For each attribute of the schema, in its order, the allowed bins: bit i stands for bin i.
    earlier : tuple of tuple of int
        The boxes taken off it, such as those of the rules before.

    Raises
    ------
    ValueError
        If the boxes are not all of the same number of attributes.
    """

    box: Box
    earlier: tuple[Box, ...] = ()

    def __post_init__(self) -> None:
        if any(len(other) != len(self.box) for other in self.earlier):
            raise ArgumentError(f"expected earlier boxes of {len(self.box)} attributes, as the box itself.")


def worlds(region: Region, weights: Weights) -> int:
    """Return how many different rows a region holds, exactly.

    This is ``Capt(f_j)`` of PDR's eq. 12. Its eq. 13 and 15 add and subtract over all sets of overlapping rules; here
    earlier boxes that do not meet the box, or lie within others, are dropped, what is left is split into components
    without a common attribute, whose numbers multiply, and each of these over the bins, as far as the boxes tell them
    apart, of the attribute that most boxes use. The worst case is still exponential: the problem is #P-complete.

    Parameters
    ----------
    region : Region
        A box without earlier boxes.
    weights : tuple of tuple of int
        How many values each bin of each attribute holds: see `bin_weights`.

    Raises
    ------
    ValueError
        If the weights are not of the region's attributes and bins.

    Examples
    --------
    >>> bits = ((1, 1), (1, 1), (1, 1))
    >>> worlds(Region((0b11, 0b11, 0b10), earlier=((0b10, 0b10, 0b11),)), bits)
    3
    """
    return worlds_of((region,), weights)[0]


def worlds_of(regions: Sequence[Region], weights: Weights) -> tuple[int, ...]:
    """Return how many different rows each region holds, exactly; what they share is done once.

    Where the boxes taken off a region are those of all regions before it, as in a rule list, they are counted together:
    see `first_match`. Others are counted one by one, as by `worlds`, but sub-problems that they share are solved once.

    Raises
    ------
    ValueError
        If the weights are not of the regions' attributes and bins.

    Examples
    --------
    >>> worlds_of((Region((0b01,)), Region((0b11,), earlier=((0b01,),))), weights=((14, 60),))
    (14, 60)
    """
    for box in {box for region in regions for box in (region.box, *region.earlier)}:
        if len(box) != len(weights) or any(mask >> len(bins) for mask, bins in zip(box, weights, strict=True)):
            raise ArgumentError("expected one weight for each bin of each attribute of the regions.")
    boxes = tuple(region.box for region in regions)
    if all(region.earlier == boxes[:index] for index, region in enumerate(regions)):
        return first_matches(boxes, weights)
    counter = BoxCounter(weights, max((len(region.earlier) for region in regions), default=0))
    return tuple(counter.outside(region.box, region.earlier) for region in regions)


def bin_worlds(region: Region, weights: Weights) -> tuple[tuple[int, ...], ...]:
    """Return, for each bin of each attribute, how many rows of a region have it; each attribute's sum to its worlds.

    Raises
    ------
    ValueError
        If the weights are not of the region's attributes and bins.

    Examples
    --------
    Of the three rows of two booleans that are not both true, one has the first true:

    >>> bin_worlds(Region((0b11, 0b11), earlier=((0b10, 0b10),)), ((1, 1), (1, 1)))
    ((2, 1), (2, 1))
    """
    parts = [
        Region((*region.box[:place], mask & 1 << bin, *region.box[place + 1 :]), region.earlier)
        for place, mask in enumerate(region.box)
        for bin in range(len(weights[place]))
    ]
    found = iter(worlds_of(parts, weights))
    return tuple(tuple(next(found) for _ in bins) for bins in weights)
