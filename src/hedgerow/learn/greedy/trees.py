"""Greedy growth of trees, level by level, with a private choice of each test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hedgerow.learn.learned import divided
from hedgerow.learn.search.lattice import Stop, Take
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.gini import SENSITIVITY, split_scores
from hedgerow.privacy.noise import Integers, PermuteAndFlip, Siblings
from hedgerow.tally import Tally

ChooseTests = Callable[[Callable[[], list[Integers]], int], list[int]]
"""A choice: from a query for the scores at every node of a level (smaller is better, stopping last) and the level, the
index chosen at each node. The query evaluates private counts: a private choice charges first."""


def grow_tree(tally: Tally, space: Space, most: int, choose: ChooseTests) -> Take | Stop:
    """Grow a tree of depth up to `most`, the tests of a level chosen together; its leaves have no labels yet.

    Tests that cannot divide a node by the schema are not open there; a node without open tests is a leaf.
    """
    tests: dict[tuple[int, ...], int] = {}
    frontier: list[tuple[tuple[int, ...], Tally]] = [((), tally)]
    for level in range(most):
        nodes = [
            (sides, rows, np.flatnonzero(space.open(np.array([sides], dtype=np.intp))[0])) for sides, rows in frontier
        ]
        nodes = [node for node in nodes if len(node[2])]
        if not nodes:
            break

        def query(nodes: list[tuple[tuple[int, ...], Tally, Integers]] = nodes) -> list[Integers]:
            return [
                split_scores(rows.class_counts(space.candidates)[space.options[options]], rows.total())
                for _, rows, options in nodes
            ]

        frontier = []
        for (sides, rows, options), pick in zip(nodes, choose(query, level), strict=True):
            if pick < len(options):
                option = int(options[pick])
                tests[sides] = option
                for branch, part in divided(rows, space, option):
                    frontier.append(((*sides, int(space.sides(branch)[option])), part))

    def build(sides: tuple[int, ...]) -> Take | Stop:
        option = tests.get(sides)
        if option is None:
            return Stop(None)
        return Take(option, *(build((*sides, int(space.sides(branch)[option]))) for branch in (CAUGHT, LEFT)))

    return build(())


@dataclass(frozen=True)
class PrivateTests:
    """Permute-and-flip on the Gini impurity at every node of a level, stopping being a candidate too. ε-DP a level.

    The nodes of a level hold different rows, so that one added row changes the scores of one node only: one charge
    serves them all (parallel composition), and at that node fact 1 of docs/privacy.md holds.
    """

    gate: Gate  # what is charged
    epsilon: Fraction  # what each level costs

    def __call__(self, query: Callable[[], list[Integers]], level: int) -> list[int]:
        """Return the index drawn at every node."""
        mechanism = Siblings(PermuteAndFlip(self.epsilon, SENSITIVITY))
        return self.gate.release(mechanism, query, purpose=f"choice of the tests of level {level + 1}")
