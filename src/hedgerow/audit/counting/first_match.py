"""Exact counts of the rows whose first match is each box of a list (PDR eq. 12), computed for all boxes together.

Dynamic programming over the attributes: bins are assigned to one attribute after another. A partial row matters only
by its *matching set*, the boxes that can still be its first match. Partial rows with the same matching set are merged
and counted. The work grows with the number of matching sets, not of rows or of sets of overlapping boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod

import numpy as np

from hedgerow.audit.counting.outside import Box, PerBin
from hedgerow.audit.counting.still_matching import Extension, FewMatchingSets, ManyMatchingSets

# The gain of assigning a bin to an attribute, for each open box that restricts it. Matching sets must distinguish the
# boxes of which some attributes are assigned: the first attribute of a box costs; the last one, or last but one, gains.
# Found by experiments on random lists; only the time depends on it.
_GAIN_BY_LEFT = {1: 3.0, 2: 1.0}
_GAIN_OF_FIRST = -0.25


def first_matches(boxes: Sequence[Box], weights: PerBin) -> tuple[int, ...]:
    """Count the rows whose first match is each box, a tuple of masks of allowed bins.

    The worst case is exponential in the number of attributes: the problem is #P-complete.
    """
    found = [0] * (len(boxes) + 1)
    if not (domain := prod(map(sum, weights))):
        return tuple(found[:-1])
    everything = tuple((1 << len(bins)) - 1 for bins in weights)
    ended = (*boxes, everything)  # so that each row has a first match
    start = FewMatchingSets({(2 << ended.index(everything)) - 1: 1}, np.int64 if domain < 1 << 63 else object)
    waiting: list[tuple[_Unassigned, FewMatchingSets | ManyMatchingSets]] = [(_Unassigned.of(ended, weights), start)]
    while waiting:
        unassigned, matching = waiting.pop()
        unassigned.keep_only(matching.opened())
        if unassigned.users:
            extension = unassigned.assign(unassigned.best(matching.sample()))
            first, *others = matching.after(extension).blocks()
            waiting.extend((unassigned.copy(), block) for block in others)
            waiting.append((unassigned, first))
            continue
        free = prod(map(sum, unassigned.bins.values()))
        for opened, rows in matching.items():  # one box is open: the first match of these rows
            found[opened.bit_length() - 1] += rows * free
    return tuple(found[:-1])


class _Unassigned:
    """The attributes without a bin, and the restrictions that open boxes put on them."""

    def __init__(
        self, restrictions: dict[int, dict[int, int]], bins: dict[int, tuple[int, ...]], begun: set[int]
    ) -> None:
        self.restrictions = restrictions
        self.bins = bins
        self.begun = begun
        self.users: dict[int, set[int]] = {}
        for box, own in restrictions.items():
            for attribute in own:
                self.users.setdefault(attribute, set()).add(box)

    @classmethod
    def of(cls, boxes: Sequence[Box], weights: PerBin) -> _Unassigned:
        full = [(1 << len(bins)) - 1 for bins in weights]
        restrictions = ({a: mask for a, mask in enumerate(box) if mask != full[a]} for box in boxes)
        return cls(dict(enumerate(restrictions)), dict(enumerate(weights)), set())

    def copy(self) -> _Unassigned:
        restrictions = {box: own.copy() for box, own in self.restrictions.items()}
        return _Unassigned(restrictions, self.bins.copy(), self.begun.copy())

    def keep_only(self, opened: int) -> None:
        """Drop the boxes that are not in a mask, and those that restrict no unassigned attribute."""
        for box in [box for box, own in self.restrictions.items() if not own or not opened >> box & 1]:
            for attribute in self.restrictions.pop(box):
                self.users[attribute].discard(box)
                if not self.users[attribute]:
                    del self.users[attribute]

    def best(self, opened: Sequence[int]) -> int:
        """Return the attribute of the largest gain; `opened` is the number of matching sets that hold each box."""
        gains = {box: opened[box] * self._gain(box) for box in self.restrictions}

        def total_gain(attribute: int) -> float:
            total = sum([gains[box] for box in self.users[attribute]])
            return total / len(self.bins[attribute]) ** 0.5  # more bins make more matching sets

        return max(self.users, key=total_gain)

    def _gain(self, box: int) -> float:
        left = len(self.restrictions[box])
        is_first = left > 1 and box not in self.begun
        return _GAIN_OF_FIRST if is_first else _GAIN_BY_LEFT.get(left, 0)

    def assign(self, attribute: int) -> Extension:
        """Return the effect of assigning a bin to an attribute, and remove it from the unassigned ones."""
        bins, users = self.bins.pop(attribute), self.users.pop(attribute)
        masks = {box: self.restrictions[box].pop(attribute) for box in sorted(users)}
        self.begun |= users
        values: dict[int, int] = {}
        for bin, number in enumerate(bins):
            if number:
                closed = sum([1 << box for box, mask in masks.items() if not mask >> bin & 1])
                values[closed] = values.get(closed, 0) + number
        return Extension(values, tuple(chain.from_iterable(map(self._preempted, masks))))

    def _preempted(self, box: int) -> Iterator[tuple[int, int]]:
        """Yield masks of open boxes and of the boxes that they preempt, after an attribute of `box` was assigned.

        A box preempts later ones that it contains in the unassigned attributes. Two boxes that restrict one attribute
        alone, the same one, and together cover its bins, preempt all boxes after both.
        """
        own = self.restrictions[box]
        if not own:
            yield 1 << box, -2 << box
            return
        shared = set.intersection(*(self.users[attribute] for attribute in own))
        if len(own) == 1:
            ((attribute, mask),) = own.items()
            everything = (1 << len(self.bins[attribute])) - 1
            for other in sorted(shared):
                if len(self.restrictions[other]) == 1 and self.restrictions[other][attribute] | mask == everything:
                    yield 1 << box | 1 << other, -2 << max(box, other)
        inside = [other for other in shared if other > box and self._contains(own, self.restrictions[other])]
        if inside:
            yield 1 << box, sum(1 << other for other in inside)

    @staticmethod
    def _contains(own: dict[int, int], other: dict[int, int]) -> bool:
        return all(not other[attribute] & ~mask for attribute, mask in own.items())
