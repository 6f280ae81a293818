"""Every state there is, in an order that lets a state be found by its sides: what a private search visits.

The states of a level are all sets of so many sides, whatever the table holds, in colexicographic order. The place of a
set ``c_1 < … < c_k`` is then ``Σ binomial(c_i, i)``, so nothing has to be looked up.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.search.lattice import Chosen, States
from hedgerow.learn.search.space import Space


@dataclass(frozen=True, eq=False)
class EveryState:
    """All states that are a number of choices below the root.

    Attributes
    ----------
    space : Space
        The options.
    states : ndarray of int, shape (n_states, n_choices)
        All sets of that many sides, each increasing, in colexicographic order.
    """

    space: Space
    states: States

    def children(self, chosen: Chosen, branch: int) -> NDArray[np.int64] | None:
        """Return the place of each state with one more side; where the side is in it already, any place."""
        if branch not in self.space.branches:
            return None
        side = self.space.sides(branch)
        states = self.states[chosen]
        place = np.zeros((len(states), len(side)), dtype=np.int64)
        before = np.zeros_like(place)
        ways = _binomials(self.space.n_sides, self.states.shape[1] + 1)
        for i, member in enumerate(states.T[:, :, None], 1):
            smaller = member < side
            place += np.where(smaller, ways[member, i], ways[member, i + 1])
            before += smaller
        return place + ways[side, before + 1]


def every_level(space: Space, depth: int) -> list[EveryState]:
    """Return the levels from which up to `depth` options can be taken one after the other, those that have states."""
    levels = [EveryState(space, np.zeros((1, 0), dtype=np.int32))]
    while len(levels) < min(depth, space.n_sides + 1):
        taken, states = len(levels), levels[-1].states
        parts = [
            np.column_stack([states[: comb(last, taken - 1)], np.full(comb(last, taken - 1), last, dtype=np.int32)])
            for last in range(taken - 1, space.n_sides)
        ]
        levels.append(EveryState(space, np.concatenate(parts)))
    return levels[:depth]


def _binomials(most: int, members: int) -> NDArray[np.int64]:
    return np.array([[comb(n, k) for k in range(members + 1)] for n in range(most)], dtype=np.int64)
