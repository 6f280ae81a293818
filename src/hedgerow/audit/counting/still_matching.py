"""States of the search for first matches: the boxes that are open to some rows alike, and the number of these rows.

A box of a list is *open* to a row, some of whose bins are given, if these lie in the box and it is not known that an
earlier box holds the row. A state is a mask of open boxes. Few states are a dictionary, many are columns of words.
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
# The next four decide on time and memory, never on a result.
_FEW = 128  # states up to which a dictionary is faster
_SPLIT = 1 << 15  # states from which it pays to go on apart with those that need fewer words
_MOST = 1 << 18  # states to go on with at once
_SAMPLE = 512  # states by which the next attribute is chosen
_ODD = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # multiplying by an odd number loses no bit


class Step(NamedTuple):
    """What giving one more attribute its bin does to states.

    Attributes
    ----------
    values : dict of int to int
        For each set of boxes that a bin closes, how many values the bins that close just these hold.
    late : tuple of (int, int)
        Where all boxes of the first mask are still open, those of the second are too late: any row that they hold is
        held by an earlier one.
    """

    values: dict[int, int]
    late: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FewStates:
    """States in a dictionary: for each mask of open boxes, the number of rows."""

    rows: dict[int, int]
    kind: type[Any]  # what NumPy counts in: int64 where no count can overflow it, else Python's integers

    def items(self) -> Iterable[tuple[int, int]]:
        """Return each mask of open boxes with its number of rows."""
        return self.rows.items()

    def after(self, step: Step) -> FewStates:
        """Return the states that a step leads to; those with the same open boxes are one."""
        found: dict[int, int] = {}
        for state, rows in self.rows.items():
            for closed, values in step.values.items():
                left = state & ~closed
                for together, late in step.late:
                    if left & together == together:
                        left &= ~late
                found[left] = found.get(left, 0) + rows * values
        return FewStates(found, self.kind)

    def opened(self) -> int:
        """Return the mask of the boxes that are open in any state."""
        return reduce(or_, self.rows)

    def sample(self) -> list[int]:
        """Return in how many states each box is open, at least up to the last that is open in any."""
        size = -(-max(self.rows).bit_length() // 8)
        raw = b"".join(state.to_bytes(size, "little") for state in self.rows)
        return _bit_sums(np.frombuffer(raw, np.uint8).reshape(-1, size))

    def blocks(self) -> list[FewStates | ManyStates]:
        """Return the states in the groups in which to go on, here one."""
        if len(self.rows) <= _FEW:
            return [self]
        width = -(-max(self.rows).bit_length() // _WORD)
        words = np.array([_words(state, width) for state in self.rows], np.uint64)
        return [ManyStates(np.ascontiguousarray(words.T), np.array(list(self.rows.values()), self.kind))]


@dataclass(frozen=True)
class ManyStates:
    """States in arrays.

    Attributes
    ----------
    words : ndarray of shape (n_words, n_states)
        The masks of open boxes, 64 boxes a word.
    rows : ndarray of shape (n_states,)
        The number of rows.
    """

    words: NDArray[np.uint64]
    rows: NDArray[Any]

    def items(self) -> Iterator[tuple[int, int]]:
        """Return each mask of open boxes with its number of rows."""
        for words, rows in zip(self.words.T.tolist(), self.rows.tolist(), strict=True):
            yield _mask(words), rows

    def after(self, step: Step) -> ManyStates:
        """Return the states that a step leads to; those with the same open boxes are one."""
        kept = [np.array(_words(~closed, len(self.words)), np.uint64) for closed in step.values]
        words = np.concatenate([self.words & mask[:, None] for mask in kept], axis=1)
        rows = np.concatenate([self.rows * values for values in step.values.values()])
        for together, late in step.late:
            self._close(words, together, late)
        return ManyStates(*_merged(words, rows))

    def _close(self, words: NDArray[np.uint64], together: int, late: int) -> None:
        opened = np.uint64(1)
        for box in (bit.bit_length() - 1 for bit in bits(together)):
            opened = words[box // _WORD] >> np.uint64(box % _WORD) & opened
        spared = opened - np.uint64(1)  # all ones for the states that are not concerned
        for word, kept in zip(words, _words(~late, len(words)), strict=True):
            if kept != _ONES:
                word &= spared | np.uint64(kept)

    def opened(self) -> int:
        """Return the mask of the boxes that are open in any state."""
        return _mask(np.bitwise_or.reduce(self.words, axis=1).tolist())

    def sample(self) -> list[int]:
        """Return in how many states, of some hundred of them, each box is open."""
        sample = self.words[:, :: 1 + self.words.shape[1] // _SAMPLE]
        little = np.ascontiguousarray(sample.T).astype("<u8")
        return _bit_sums(little.view(np.uint8))

    def blocks(self) -> list[ManyStates]:
        """Return the states in the groups in which to go on: apart if fewer words do for some, or they are too many.

        States in different groups are not merged any more, but memory is bounded.
        """
        n = len(self.rows)
        if n > _MOST:
            return [self._some(half) for half in np.array_split(np.lexsort(self.words), 2)]
        if n > _SPLIT and len(self.words) > 1:
            long = self.words[-1] != 0
            if 4 * np.count_nonzero(long) < 3 * n:
                return [self._some(np.flatnonzero(part)) for part in (long, ~long) if part.any()]
        return [self]

    def _some(self, chosen: NDArray[np.intp]) -> ManyStates:
        words = self.words[:, chosen]
        used = np.flatnonzero(words.any(axis=1))
        return ManyStates(words[: used[-1] + 1], self.rows[chosen])


def _merged(words: NDArray[np.uint64], rows: NDArray[Any]) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Add up the rows of equal states.

    States are sorted by a hash and compared with their neighbours bit by bit. Where hashes collide, equal states may
    stay apart, which costs time; different ones are never taken for one.
    """
    n = len(rows)
    keys = np.zeros(n, np.uint64)
    for word in words:
        keys = (keys ^ word) * np.uint64(_ODD[0])
        keys ^= keys >> np.uint64(32)
    numbers = np.uint64((1 << n.bit_length()) - 1)
    # The low bits give way to the number of the state, as sorting is much faster than argsort.
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
