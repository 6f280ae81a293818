"""Matching sets: the boxes of a list that can still be the first match of partial rows, with the number of these rows.

A partial row has bins for some attributes. A box is *open* to it if these bins lie in the box and no earlier box is
known to hold the row. A matching set is the mask of the open boxes. Few of them are a dictionary, many are arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.counting.outside import bits

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
        """Return each mask of open boxes with its number of rows."""
        return self.rows.items()

    def after(self, extension: Extension) -> FewMatchingSets:
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
        """Return the union of the matching sets, as a mask."""
        return reduce(or_, self.rows)

    def sample(self) -> list[int]:
        """Count the matching sets that hold each box, at least up to the last box in any."""
        size = -(-max(self.rows).bit_length() // 8)
        raw = b"".join(opened.to_bytes(size, "little") for opened in self.rows)
        return _bit_sums(np.frombuffer(raw, np.uint8).reshape(-1, size))

    def blocks(self) -> list[FewMatchingSets | ManyMatchingSets]:
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
    rows: NDArray[Any]  # the number of partial rows of each

    def items(self) -> Iterator[tuple[int, int]]:
        """Return each mask of open boxes with its number of rows."""
        for words, rows in zip(self.words.T.tolist(), self.rows.tolist(), strict=True):
            yield _mask(words), rows

    def after(self, extension: Extension) -> ManyMatchingSets:
        """Return the matching sets after an extension; equal ones are merged."""
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
        """Return the union of the matching sets, as a mask."""
        return _mask(np.bitwise_or.reduce(self.words, axis=1).tolist())

    def sample(self) -> list[int]:
        """Count the matching sets that hold each box, among some hundred of them."""
        sample = self.words[:, :: 1 + self.words.shape[1] // _SAMPLE]
        little = np.ascontiguousarray(sample.T).astype("<u8")
        return _bit_sums(little.view(np.uint8))

    def blocks(self) -> list[ManyMatchingSets]:
        """Return the matching sets in groups that bound memory; those of different groups are no longer merged."""
        n = len(self.rows)
        if n > _MOST:
            return [self._some(half) for half in np.array_split(np.lexsort(self.words), 2)]
        if n > _SEPARATE and len(self.words) > 1:
            long = self.words[-1] != 0
            if 4 * np.count_nonzero(long) < 3 * n:
                return [self._some(np.flatnonzero(group)) for group in (long, ~long) if group.any()]
        return [self]

    def _some(self, chosen: NDArray[np.intp]) -> ManyMatchingSets:
        words = self.words[:, chosen]
        used = np.flatnonzero(words.any(axis=1))  # none, where no box is open any more
        return ManyMatchingSets(words[: used[-1] + 1 if len(used) else 1], self.rows[chosen])


def _merged(words: NDArray[np.uint64], rows: NDArray[Any]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Merge equal matching sets, sorted by a hash and compared bit by bit, and add up their rows.

    Where hashes collide, equal ones may stay separate, which costs time; different ones are never merged.
    """
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
