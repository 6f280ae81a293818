"""Exhaustive states of a private search, in colexicographic order.

The states of a level are all sets of so many sides, independent of the table. The index of a set ``c_1 < … < c_k`` in
this order is ``Σ binomial(c_i, i)``, so that no lookup table is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.search.lattice import Chosen, States
from hedgerow.learn.search.space import Space


@dataclass(frozen=True, eq=False)
class ExhaustiveLevel:
    """All states that are a number of choices below the root."""

    space: Space  # the options
    states: States  # all sets of that many sides, each increasing, in colexicographic order

    def children(self, chosen: Chosen, branch: int) -> NDArray[np.int64] | None:
        """Return the index of each state with one more side; where the side is in it already, any index."""
        if branch not in self.space.branches:
            return None
        side = self.space.sides(branch)
        states = self.states[chosen]
        place = np.zeros((len(states), len(side)), dtype=np.int64)
        before = np.zeros_like(place)
        binomials = _binomials(self.space.n_sides, self.states.shape[1] + 1)
        for i, member in enumerate(states.T[:, :, None], 1):
            smaller = member < side
            place += np.where(smaller, binomials[member, i], binomials[member, i + 1])
            before += smaller
        return place + binomials[side, before + 1]


def exhaustive_levels(space: Space, depth: int) -> list[ExhaustiveLevel]:
    """Return the levels of a search to `depth` options, those that have states."""
    levels = [ExhaustiveLevel(space, np.zeros((1, 0), dtype=np.int32))]
    while len(levels) < min(depth, space.n_sides + 1):
        taken, states = len(levels), levels[-1].states
        parts = [
            np.column_stack([states[: comb(last, taken - 1)], np.full(comb(last, taken - 1), last, dtype=np.int32)])
            for last in range(taken - 1, space.n_sides)
        ]
        levels.append(ExhaustiveLevel(space, np.concatenate(parts)))
    return levels[:depth]


def _binomials(most: int, members: int) -> NDArray[np.int64]:
    return np.array([[comb(n, k) for k in range(members + 1)] for n in range(most)], dtype=np.int64)
