"""Exact counting of the rows that each box of a list is the first to hold (PDR eq. 12), for all boxes in one go.

Attributes are given their bins one after another. What matters of the bins given so far is only which boxes are
still open to a row: may hold it, and are not known to be too late. Rows that agree in this are merged into one *state*
with their number. So the work grows with the number of states, not with that of rows or of sets of overlapping boxes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from math import prod

import numpy as np

from hedgerow.audit.counting.outside import Box, Weights
from hedgerow.audit.counting.still_matching import FewStates, ManyStates, Step

# What it gains to give an attribute its bin, by each open box that restricts it. States must tell apart in which of
# the boxes that are begun they are open: beginning one costs; deciding its last attribute gains, or its last but one.
# Found by trying on random lists; nothing but time depends on it.
_GAIN_BY_LEFT = {1: 3.0, 2: 1.0}
_GAIN_OF_BEGINNING = -0.25


def first_matches(boxes: Sequence[Box], weights: Weights) -> tuple[int, ...]:
    """Return for each box, a tuple of masks of allowed bins by attribute, how many rows it is the first to hold.

    The worst case is exponential in the number of attributes: the problem is #P-complete.

    Examples
    --------
    Rule List 1 of PDR, over three booleans; its Table IV has two worlds, three and three.

    >>> first_matches([(0b10, 0b10, 0b11), (0b11, 0b11, 0b10), (0b11, 0b11, 0b11)], ((1, 1),) * 3)
    (2, 3, 3)
    """
    found = [0] * (len(boxes) + 1)
    if not (domain := prod(map(sum, weights))):
        return tuple(found[:-1])
    everything = tuple((1 << len(bins)) - 1 for bins in weights)
    ended = (*boxes, everything)  # so that each row has a first match
    start = FewStates({(2 << ended.index(everything)) - 1: 1}, np.int64 if domain < 1 << 63 else object)
    waiting: list[tuple[_Undecided, FewStates | ManyStates]] = [(_Undecided.of(ended, weights), start)]
    while waiting:
        undecided, states = waiting.pop()
        undecided.forget_all_but(states.opened())
        if undecided.users:
            step = undecided.decide(undecided.best(states.sample()))
            first, *others = states.after(step).blocks()
            waiting.extend((undecided.copy(), block) for block in others)
            waiting.append((undecided, first))
            continue
        free = prod(map(sum, undecided.bins.values()))
        for state, rows in states.items():  # one box is open: the first that holds them
            found[state.bit_length() - 1] += rows * free
    return tuple(found[:-1])


class _Undecided:
    """What is left to decide: the attributes without a bin, and the parts of the open boxes that lie in them.

    Attributes
    ----------
    parts : dict of int to dict of int to int
        For each open box, for each attribute without a bin that it restricts, the mask of allowed bins.
    bins : dict of int to tuple of int
        For each attribute without a bin, how many values each of its bins holds.
    begun : set of int
        The boxes of which some attribute has been decided.
    users : dict of int to set of int
        For each attribute that any of them restricts, the boxes that do.
    """

    def __init__(self, parts: dict[int, dict[int, int]], bins: dict[int, tuple[int, ...]], begun: set[int]) -> None:
        self.parts = parts
        self.bins = bins
        self.begun = begun
        self.users: dict[int, set[int]] = {}
        for box, part in parts.items():
            for attribute in part:
                self.users.setdefault(attribute, set()).add(box)

    @classmethod
    def of(cls, boxes: Sequence[Box], weights: Weights) -> _Undecided:
        full = [(1 << len(bins)) - 1 for bins in weights]
        parts = ({a: mask for a, mask in enumerate(box) if mask != full[a]} for box in boxes)
        return cls(dict(enumerate(parts)), dict(enumerate(weights)), set())

    def copy(self) -> _Undecided:
        return _Undecided({box: part.copy() for box, part in self.parts.items()}, self.bins.copy(), self.begun.copy())

    def forget_all_but(self, opened: int) -> None:
        """Leave out the boxes that are not in a mask, and those without an undecided part."""
        for box in [box for box, part in self.parts.items() if not part or not opened >> box & 1]:
            for attribute in self.parts.pop(box):
                self.users[attribute].discard(box)
                if not self.users[attribute]:
                    del self.users[attribute]

    def best(self, opened: Sequence[int]) -> int:
        """Return the attribute that gains most, if each box is open in so many states."""
        gains = {box: opened[box] * self._gain(box) for box in self.parts}

        def total_gain(attribute: int) -> float:
            total = sum([gains[box] for box in self.users[attribute]])
            return total / len(self.bins[attribute]) ** 0.5  # more bins make more states

        return max(self.users, key=total_gain)

    def _gain(self, box: int) -> float:
        left = len(self.parts[box])
        begins = left > 1 and box not in self.begun
        return _GAIN_OF_BEGINNING if begins else _GAIN_BY_LEFT.get(left, 0)

    def decide(self, attribute: int) -> Step:
        """Return what giving an attribute its bin does to states; it is no longer undecided."""
        bins, users = self.bins.pop(attribute), self.users.pop(attribute)
        masks = {box: self.parts[box].pop(attribute) for box in sorted(users)}
        self.begun |= users
        values: dict[int, int] = {}
        for bin, number in enumerate(bins):
            if number:
                closed = sum([1 << box for box, mask in masks.items() if not mask >> bin & 1])
                values[closed] = values.get(closed, 0) + number
        return Step(values, tuple(chain.from_iterable(map(self._late, masks))))

    def _late(self, box: int) -> Iterator[tuple[int, int]]:
        """Return the boxes that are too late where one is open of whose parts one was just decided.

        Those after it that it contains, now, are. If it restricts a single attribute, and another does that with it
        covers all bins, so are those after both.
        """
        part = self.parts[box]
        if not part:
            yield 1 << box, -2 << box
            return
        shared = set.intersection(*(self.users[attribute] for attribute in part))
        if len(part) == 1:
            ((attribute, mask),) = part.items()
            everything = (1 << len(self.bins[attribute])) - 1
            for other in sorted(shared):
                if len(self.parts[other]) == 1 and self.parts[other][attribute] | mask == everything:
                    yield 1 << box | 1 << other, -2 << max(box, other)
        inside = [other for other in shared if other > box and self._contains(part, self.parts[other])]
        if inside:
            yield 1 << box, sum(1 << other for other in inside)

    @staticmethod
    def _contains(part: dict[int, int], other: dict[int, int]) -> bool:
        return all(not other[attribute] & ~mask for attribute, mask in part.items())
