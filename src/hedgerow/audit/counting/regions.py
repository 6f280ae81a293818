"""Regions of a model, and the exact number of possible rows in each (PDR, eq. 11 to 16), from public values only.

For a list of boxes, the rows whose first match is each box (eq. 12) are counted by dynamic programming over the
attributes. A partial row, with bins assigned to some attributes, is represented by its *matching set*: the boxes that
can still be its first match. These are *open*, since the assigned bins lie in them, and no earlier box is known to
preempt them. Partial rows with the same matching set (a mask of boxes) are merged. The work grows with the number of
matching sets, not with the number of rows or of sets of overlapping boxes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from math import prod
from operator import and_, or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.counting.outside import BinMasks, BoxCounter, PerBin, bits
from hedgerow.boundary.arrays import Array, Index
from hedgerow.errors import ArgumentError


@dataclass(frozen=True)
class Region:
    """Rows of a box that lie in no earlier box. In a box, bit i of an attribute's mask stands for bin i."""

    box: BinMasks
    earlier: tuple[BinMasks, ...] = ()

    def __post_init__(self) -> None:
        if any(len(other) != len(self.box) for other in self.earlier):
            raise ArgumentError(f"earlier boxes must have {len(self.box)} attributes, like the box.")

    def __and__(self, other: "Region") -> "Region":
        """Return the region of the rows that lie in both."""
        return Region(tuple(map(and_, self.box, other.box)), self.earlier + other.earlier)


def count_rows(region: Region, weights: PerBin) -> int:
    """Return the exact number of rows of a region, ``Capt(f_j)`` of PDR's eq. 12; #P-complete in the worst case."""
    return count_rows_each((region,), weights)[0]


def count_rows_each(regions: Sequence[Region], weights: PerBin) -> tuple[int, ...]:
    """Return the exact number of rows of each region; the regions of a rule list are counted together."""
    for box in {box for region in regions for box in (region.box, *region.earlier)}:
        if len(box) != len(weights) or any(mask >> len(bins) for mask, bins in zip(box, weights, strict=True)):
            raise ArgumentError("weights must have an entry for each bin of each attribute of the regions.")
    boxes = tuple(region.box for region in regions)
    if all(region.earlier == boxes[:index] for index, region in enumerate(regions)):
        return first_matches(boxes, weights)
    counter = BoxCounter(weights, max((len(region.earlier) for region in regions), default=0))
    return tuple(counter.outside(region.box, region.earlier) for region in regions)


def count_rows_by_bin(region: Region, weights: PerBin) -> tuple[tuple[int, ...], ...]:
    """Return the number of rows of a region in each bin of each attribute."""
    narrowed = [
        Region((*region.box[:place], mask & 1 << bin, *region.box[place + 1 :]), region.earlier)
        for place, mask in enumerate(region.box)
        for bin in range(len(weights[place]))
    ]
    counts = iter(count_rows_each(narrowed, weights))
    return tuple(tuple(next(counts) for _ in bins) for bins in weights)


_WORD = 64
_ONES = (1 << _WORD) - 1
# The next four numbers of matching sets affect time and memory, but not the result.
_FEW = 128  # up to this number a dictionary is faster
_SEPARATE = 1 << 15  # from this number on, matching sets that need fewer words are processed separately
_MOST = 1 << 18  # number that is processed at once
_SAMPLE = 512  # number from which on the next attribute is chosen
_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # multiplication by an odd number loses no bit


class Extension(NamedTuple):
    """Effect of assigning a bin to one more attribute."""

    # For each set of closed boxes, the number of values in the bins that close exactly this set
    values: dict[int, int]
    # If all boxes of the first mask are open, the boxes of the second cannot be the first match, since every row in
    # them lies in an earlier box
    preempted: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FewMatchingSets:
    """Matching sets in a dictionary: the number of partial rows for each mask of open boxes."""

    rows: dict[int, int]
    kind: type[Any]  # type of NumPy's counts: int64 if no count can overflow, else Python's integers

    def items(self) -> Iterable[tuple[int, int]]:
        return self.rows.items()

    def after(self, extension: Extension) -> "FewMatchingSets":
        """Return the matching sets after an extension; equal sets are merged."""
        merged: dict[int, int] = {}
        for opened, rows in self.rows.items():
            for closed, values in extension.values.items():
                left = opened & ~closed
                for together, preempted in extension.preempted:
                    if left & together == together:
                        left &= ~preempted
                merged[left] = merged.get(left, 0) + rows * values
        return FewMatchingSets(merged, self.kind)

    def opened(self) -> int:
        return reduce(or_, self.rows)

    def sample(self) -> list[int]:
        """Return the number of matching sets with each box, at least up to the last box in any set."""
        size = -(-max(self.rows).bit_length() // 8)
        raw = b"".join(opened.to_bytes(size, "little") for opened in self.rows)
        return _bit_sums(np.frombuffer(raw, np.uint8).reshape(-1, size))

    def blocks(self) -> "list[FewMatchingSets | ManyMatchingSets]":
        """Return the matching sets in groups that are processed separately, here a single group."""
        if len(self.rows) <= _FEW:
            return [self]
        width = -(-max(self.rows).bit_length() // _WORD)
        words = np.array([_words(opened, width) for opened in self.rows], np.uint64)
        return [ManyMatchingSets(np.ascontiguousarray(words.T), np.array(list(self.rows.values()), self.kind))]


@dataclass(frozen=True)
class ManyMatchingSets:
    """Matching sets in arrays."""

    words: NDArray[np.uint64]  # the masks of open boxes, in words of 64 boxes
    rows: Array  # the number of partial rows of each set

    def items(self) -> Iterator[tuple[int, int]]:
        for words, rows in zip(self.words.T.tolist(), self.rows.tolist(), strict=True):
            yield _mask(words), rows

    def after(self, extension: Extension) -> "ManyMatchingSets":
        masks = [np.array(_words(~closed, len(self.words)), np.uint64) for closed in extension.values]
        words = np.concatenate([self.words & mask[:, None] for mask in masks], axis=1)
        rows = np.concatenate([self.rows * values for values in extension.values.values()])
        for together, preempted in extension.preempted:
            self._close(words, together, preempted)
        return ManyMatchingSets(*_merged(words, rows))

    def _close(self, words: NDArray[np.uint64], together: int, preempted: int) -> None:
        opened = np.uint64(1)
        for box in (bit.bit_length() - 1 for bit in bits(together)):
            opened = words[box // _WORD] >> np.uint64(box % _WORD) & opened
        unaffected = opened - np.uint64(1)  # all bits set for the matching sets that lack a box of `together`
        for word, mask in zip(words, _words(~preempted, len(words)), strict=True):
            if mask != _ONES:
                word &= unaffected | np.uint64(mask)

    def opened(self) -> int:
        return _mask(np.bitwise_or.reduce(self.words, axis=1).tolist())

    def sample(self) -> list[int]:
        """Return the number of matching sets with each box, in a sample of some hundred sets."""
        sample = self.words[:, :: 1 + self.words.shape[1] // _SAMPLE]
        return _bit_sums(np.ascontiguousarray(sample.T).astype("<u8").view(np.uint8))

    def blocks(self) -> "list[ManyMatchingSets]":
        """Return the matching sets in groups, which bounds memory; sets of different groups are not merged later."""
        n = len(self.rows)
        if n > _MOST:
            return [self._some(half) for half in np.array_split(np.lexsort(self.words), 2)]
        if n > _SEPARATE and len(self.words) > 1:
            long = self.words[-1] != 0
            if 4 * np.count_nonzero(long) < 3 * n:
                return [self._some(np.flatnonzero(group)) for group in (long, ~long) if group.any()]
        return [self]

    def _some(self, chosen: Index) -> "ManyMatchingSets":
        words = self.words[:, chosen]
        used = np.flatnonzero(words.any(axis=1))  # empty if no box is open
        return ManyMatchingSets(words[: used[-1] + 1 if len(used) else 1], self.rows[chosen])


def _merged(words: NDArray[np.uint64], rows: Array) -> tuple[NDArray[np.uint64], Array]:
    """Merge equal matching sets by sorting a hash, and return them; after a collision, some stay separate."""
    n = len(rows)
    keys = np.zeros(n, np.uint64)
    for word in words:
        keys = (keys ^ word) * np.uint64(_ODD[0])
        keys ^= keys >> np.uint64(32)
    numbers = np.uint64((1 << n.bit_length()) - 1)
    # The number of the matching set replaces the low bits, since sort is much faster than argsort.
    keys = keys * np.uint64(_ODD[1]) & ~numbers | np.arange(n, dtype=np.uint64)
    keys.sort()
    order = (keys & numbers).astype(np.intp)
    words = words[:, order]
    first = np.ones(n, dtype=bool)
    np.any(words[:, 1:] != words[:, :-1], axis=0, out=first[1:])
    starts = np.flatnonzero(first)
    return words[:, starts], np.add.reduceat(rows[order], starts)


def _bit_sums(rows_of_bytes: NDArray[np.uint8]) -> list[int]:
    return np.unpackbits(rows_of_bytes, axis=1, bitorder="little").sum(axis=0).tolist()


def _words(mask: int, width: int) -> list[int]:
    return [mask >> (_WORD * i) & _ONES for i in range(width)]


def _mask(words: Iterable[int]) -> int:
    return sum(word << (_WORD * i) for i, word in enumerate(words))


# Gain of assigning a bin to an attribute, for each open box that restricts it. Matching sets must distinguish boxes
# with some assigned attributes: the first attribute of a box costs, and the last two attributes gain. The values come
# from experiments on random lists; only the running time depends on them.
_GAIN_BY_LEFT = {1: 3.0, 2: 1.0}
_GAIN_OF_FIRST = -0.25


def first_matches(boxes: Sequence[BinMasks], weights: PerBin) -> tuple[int, ...]:
    """Return the number of rows whose first match is each box; #P-complete in the worst case."""
    counts = [0] * (len(boxes) + 1)
    if not (domain := prod(map(sum, weights))):
        return tuple(counts[:-1])
    everything = tuple((1 << len(bins)) - 1 for bins in weights)
    ended = (*boxes, everything)  # so that each row has a first match
    start = FewMatchingSets({(2 << ended.index(everything)) - 1: 1}, np.int64 if domain < 1 << 63 else object)
    waiting: list[tuple[_Unassigned, FewMatchingSets | ManyMatchingSets]] = [(_Unassigned.of(ended, weights), start)]
    while waiting:
        unassigned, matching = waiting.pop()
        unassigned.keep_only(matching.opened())
        if unassigned.users:
            first, *others = matching.after(unassigned.assign(unassigned.best(matching.sample()))).blocks()
            waiting.extend((unassigned.copy(), block) for block in others)
            waiting.append((unassigned, first))
            continue
        free = prod(map(sum, unassigned.bins.values()))
        for opened, rows in matching.items():  # a single box is open: the first match of these rows
            counts[opened.bit_length() - 1] += rows * free
    return tuple(counts[:-1])


class _Unassigned:
    """Attributes without an assigned bin, and the restrictions of open boxes on them."""

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
    def of(cls, boxes: Sequence[BinMasks], weights: PerBin) -> "_Unassigned":
        full = [(1 << len(bins)) - 1 for bins in weights]
        restrictions = ({a: mask for a, mask in enumerate(box) if mask != full[a]} for box in boxes)
        return cls(dict(enumerate(restrictions)), dict(enumerate(weights)), set())

    def copy(self) -> "_Unassigned":
        restrictions = {box: own.copy() for box, own in self.restrictions.items()}
        return _Unassigned(restrictions, self.bins.copy(), self.begun.copy())

    def keep_only(self, opened: int) -> None:
        """Drop the boxes that are not in a mask, and the boxes that restrict no unassigned attribute."""
        for box in [box for box, own in self.restrictions.items() if not own or not opened >> box & 1]:
            for attribute in self.restrictions.pop(box):
                self.users[attribute].discard(box)
                if not self.users[attribute]:
                    del self.users[attribute]

    def best(self, opened: Sequence[int]) -> int:
        """Return the attribute with the largest gain; `opened` is the number of matching sets with each box."""
        gains: dict[int, float] = {}
        for box, own in self.restrictions.items():
            is_first = len(own) > 1 and box not in self.begun
            gains[box] = opened[box] * (_GAIN_OF_FIRST if is_first else _GAIN_BY_LEFT.get(len(own), 0))

        def total_gain(attribute: int) -> float:
            total = sum([gains[box] for box in self.users[attribute]])
            return total / len(self.bins[attribute]) ** 0.5  # more bins make more matching sets

        return max(self.users, key=total_gain)

    def assign(self, attribute: int) -> Extension:
        """Return the effect of assigning a bin to an attribute, which is then no longer unassigned."""
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
        """Yield masks of open boxes, each with the later boxes inside, after an attribute of `box` is assigned."""
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
        later = [(other, self.restrictions[other]) for other in shared if other > box]
        inside = [other for other, masks in later if all(not masks[a] & ~mask for a, mask in own.items())]
        if inside:
            yield 1 << box, sum(1 << other for other in inside)
