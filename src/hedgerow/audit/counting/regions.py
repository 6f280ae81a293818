"""Regions of a model, and the exact number of possible rows in each (PDR, eq. 11 to 16), from what is public alone.

The rows whose first match is each box of a list (eq. 12) are counted for all boxes together by dynamic programming
over the attributes: bins are assigned to one attribute after another. A partial row matters only by its *matching
set*, the boxes that can still be its first match: those that are *open*, since its bins lie in them, and that no
earlier box is known to preempt. Partial rows with the same matching set, a mask of boxes, are merged and counted. The
work grows with the number of matching sets, not of rows or of sets of overlapping boxes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from math import prod
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.counting.outside import BinMasks, BoxCounter, PerBin, bits
from hedgerow.boundary.arrays import Array, Index
from hedgerow.errors import ArgumentError


@dataclass(frozen=True)
class Region:
    """The rows of a box in none of the earlier boxes; a box has for each attribute a mask, in which bit i is bin i."""

    box: BinMasks
    earlier: tuple[BinMasks, ...] = ()

    def __post_init__(self) -> None:
        if any(len(other) != len(self.box) for other in self.earlier):
            raise ArgumentError(f"expected earlier boxes of {len(self.box)} attributes, like the box itself.")


def count_rows(region: Region, weights: PerBin) -> int:
    """Count the different rows of a region, exactly: ``Capt(f_j)`` of PDR's eq. 12; #P-complete in the worst case."""
    return count_rows_each((region,), weights)[0]


def count_rows_each(regions: Sequence[Region], weights: PerBin) -> tuple[int, ...]:
    """Count the different rows of each region, exactly; those of a rule list together."""
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


_WORD = 64
_ONES = (1 << _WORD) - 1
# The next four affect time and memory, never a result.
_FEW = 128  # matching sets up to which a dictionary is faster
_SEPARATE = 1 << 15  # matching sets from which those that need fewer words are processed separately
_MOST = 1 << 18  # matching sets that are processed at once
_SAMPLE = 512  # matching sets by which the next attribute is chosen
_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # multiplying by an odd number loses no bit


class Extension(NamedTuple):
    """Effect of assigning a bin to one more attribute."""

    # For each set of boxes that a bin closes, how many values the bins that close exactly these hold
    values: dict[int, int]
    # Where all boxes of the first mask are still open, those of the second cannot be the first match: every row
    # in them lies in an earlier box
    preempted: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FewMatchingSets:
    """Matching sets in a dictionary: for each mask of open boxes, the number of partial rows."""

    rows: dict[int, int]
    kind: type[Any]  # what NumPy counts in: int64 where no count can overflow it, else Python's integers

    def items(self) -> Iterable[tuple[int, int]]:
        return self.rows.items()

    def after(self, extension: Extension) -> "FewMatchingSets":
        """Return the matching sets after an extension; equal ones are merged."""
        found: dict[int, int] = {}
        for opened, rows in self.rows.items():
            for closed, values in extension.values.items():
                left = opened & ~closed
                for together, preempted in extension.preempted:
                    if left & together == together:
                        left &= ~preempted
                found[left] = found.get(left, 0) + rows * values
        return FewMatchingSets(found, self.kind)

    def opened(self) -> int:
        return reduce(or_, self.rows)

    def sample(self) -> list[int]:
        """Count the matching sets that hold each box, at least up to the last box in any."""
        size = -(-max(self.rows).bit_length() // 8)
        raw = b"".join(opened.to_bytes(size, "little") for opened in self.rows)
        return _bit_sums(np.frombuffer(raw, np.uint8).reshape(-1, size))

    def blocks(self) -> "list[FewMatchingSets | ManyMatchingSets]":
        """Return the matching sets in groups that are processed separately, here one."""
        if len(self.rows) <= _FEW:
            return [self]
        width = -(-max(self.rows).bit_length() // _WORD)
        words = np.array([_words(opened, width) for opened in self.rows], np.uint64)
        return [ManyMatchingSets(np.ascontiguousarray(words.T), np.array(list(self.rows.values()), self.kind))]


@dataclass(frozen=True)
class ManyMatchingSets:
    """Matching sets in arrays."""

    words: NDArray[np.uint64]  # the masks of open boxes, 64 boxes a word
    rows: Array  # the number of partial rows of each

    def items(self) -> Iterator[tuple[int, int]]:
        for words, rows in zip(self.words.T.tolist(), self.rows.tolist(), strict=True):
            yield _mask(words), rows

    def after(self, extension: Extension) -> "ManyMatchingSets":
        kept = [np.array(_words(~closed, len(self.words)), np.uint64) for closed in extension.values]
        words = np.concatenate([self.words & mask[:, None] for mask in kept], axis=1)
        rows = np.concatenate([self.rows * values for values in extension.values.values()])
        for together, preempted in extension.preempted:
            self._close(words, together, preempted)
        return ManyMatchingSets(*_merged(words, rows))

    def _close(self, words: NDArray[np.uint64], together: int, preempted: int) -> None:
        opened = np.uint64(1)
        for box in (bit.bit_length() - 1 for bit in bits(together)):
            opened = words[box // _WORD] >> np.uint64(box % _WORD) & opened
        unaffected = opened - np.uint64(1)  # all ones for the matching sets without all boxes of `together`
        for word, kept in zip(words, _words(~preempted, len(words)), strict=True):
            if kept != _ONES:
                word &= unaffected | np.uint64(kept)

    def opened(self) -> int:
        return _mask(np.bitwise_or.reduce(self.words, axis=1).tolist())

    def sample(self) -> list[int]:
        """Count the matching sets that hold each box, among some hundred of them."""
        sample = self.words[:, :: 1 + self.words.shape[1] // _SAMPLE]
        return _bit_sums(np.ascontiguousarray(sample.T).astype("<u8").view(np.uint8))

    def blocks(self) -> "list[ManyMatchingSets]":
        """Return the matching sets in groups that bound memory; those of different groups are no longer merged."""
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
        used = np.flatnonzero(words.any(axis=1))  # none, where no box is open any more
        return ManyMatchingSets(words[: used[-1] + 1 if len(used) else 1], self.rows[chosen])


def _merged(words: NDArray[np.uint64], rows: Array) -> tuple[NDArray[np.uint64], Array]:
    """Merge equal matching sets, sorted by a hash and compared bit by bit; where hashes collide, some stay separate."""
    n = len(rows)
    keys = np.zeros(n, np.uint64)
    for word in words:
        keys = (keys ^ word) * np.uint64(_ODD[0])
        keys ^= keys >> np.uint64(32)
    numbers = np.uint64((1 << n.bit_length()) - 1)
    # The number of the matching set replaces the low bits, as sorting is much faster than argsort.
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


# The gain of assigning a bin to an attribute, for each open box that restricts it. Matching sets must distinguish the
# boxes of which some attributes are assigned: the first attribute of a box costs; the last one, or last but one, gains.
# Found by experiments on random lists; only the time depends on it.
_GAIN_BY_LEFT = {1: 3.0, 2: 1.0}
_GAIN_OF_FIRST = -0.25


def first_matches(boxes: Sequence[BinMasks], weights: PerBin) -> tuple[int, ...]:
    """Count the rows whose first match is each box, a tuple of masks of allowed bins; #P-complete in the worst case."""
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
            first, *others = matching.after(unassigned.assign(unassigned.best(matching.sample()))).blocks()
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
    def of(cls, boxes: Sequence[BinMasks], weights: PerBin) -> "_Unassigned":
        full = [(1 << len(bins)) - 1 for bins in weights]
        restrictions = ({a: mask for a, mask in enumerate(box) if mask != full[a]} for box in boxes)
        return cls(dict(enumerate(restrictions)), dict(enumerate(weights)), set())

    def copy(self) -> "_Unassigned":
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
        gains: dict[int, float] = {}
        for box, own in self.restrictions.items():
            is_first = len(own) > 1 and box not in self.begun
            gains[box] = opened[box] * (_GAIN_OF_FIRST if is_first else _GAIN_BY_LEFT.get(len(own), 0))

        def total_gain(attribute: int) -> float:
            total = sum([gains[box] for box in self.users[attribute]])
            return total / len(self.bins[attribute]) ** 0.5  # more bins make more matching sets

        return max(self.users, key=total_gain)

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
        """Yield masks of open boxes and of the later boxes that these contain, after `box` was assigned."""
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
