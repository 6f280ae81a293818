"""States of branch and bound: sets of rows, which are compared by their patterns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.learn.search.lattice import PatternMatrix


@dataclass(frozen=True, eq=False)
class States:
    """Distinct sets of rows, with the known bounds of their values."""

    masks: NDArray[np.uint8]  # the patterns of its rows, packed, shape ``(n, n_bytes)``
    floors: Floats  # a lower bound on its value
    sizes: Floats  # its number of rows
    rarest: Index  # the side with the fewest rows of the whole table on a way to it

    def __len__(self) -> int:
        return len(self.masks)

    def __getitem__(self, chosen: slice | Index | Mask) -> Self:
        return type(self)(self.masks[chosen], self.floors[chosen], self.sizes[chosen], self.rarest[chosen])

    @classmethod
    def root(cls, rows: PatternMatrix) -> Self:
        """Return the state of all rows."""
        live = np.ones((1, len(rows)), dtype=bool)
        sizes = rows.totals(live).sum(axis=0)
        return cls(np.packbits(live, axis=1), np.full(1, -np.inf), sizes, np.zeros(1, dtype=np.intp))


def distinct(masks: NDArray[np.uint8]) -> tuple[Index, Index]:
    """Return the first row of each group of equal rows, and the group of every row."""
    # Rows are ordered by a hash, and neighbours are then compared exactly. So a collision of hashes can leave equal
    # rows in two groups, but cannot put different rows into the same group.
    words = np.pad(masks, ((0, 0), (0, -masks.shape[1] % 8))).view(np.uint64)
    key = np.zeros(len(masks), dtype=np.uint64)
    for word in words.T:
        key = (key ^ word) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    order = np.argsort(key, kind="stable")
    new = np.ones(len(order), dtype=bool)
    new[1:] = (words[order[1:]] != words[order[:-1]]).any(axis=1)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum(new) - 1
    return order[new], group


class Cache:
    """Values of states by their rows, up to a number of states; the oldest are forgotten first."""

    def __init__(self, most: int) -> None:
        self._most, self._known = most, dict[bytes, tuple[float, float]]()

    def find(self, states: States) -> tuple[Floats, Mask, list[bytes]]:
        """Return lower bounds on the values, whether they are exact or above the budget, and the keys of the states."""
        keys = [mask.tobytes() for mask in states.masks]
        nothing = (-np.inf, -np.inf)
        values, limits = np.array([self._known.get(key, nothing) for key in keys]).reshape(len(keys), 2).T
        return np.maximum(values, states.floors), (values <= limits) & (values > -np.inf), keys

    def add(self, keys: list[bytes], values: Floats, budgets: Floats) -> None:
        self._known.update(zip(keys, zip(values.tolist(), budgets.tolist(), strict=True), strict=True))
        if len(self._known) > self._most:
            for key in list(islice(self._known, len(self._known) - self._most // 2)):
                del self._known[key]
