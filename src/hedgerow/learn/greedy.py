"""Greedy growth of rule lists (SSRL §3.1), rule by rule, and of trees, level by level."""

from collections.abc import Callable
from fractions import Fraction
from typing import Protocol

import numpy as np

from hedgerow.boundary.arrays import Index, Integers
from hedgerow.learn.learned import divided
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gini import split_scores
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.tally import Tally

Query = Callable[[], tuple[Integers, Integers]]
"""A query for private counts: of the rows that each open candidate catches, and of all remaining rows."""
Choose = Callable[[Query, int, int], int]
"""A choice, given a query, the position and the number of open candidates: the index of a candidate, or this number to
stop. A private choice charges before it evaluates the query."""


class Score(Protocol):
    """Score of a greedy search: `hedgerow.privacy.gini.Gini`, or the smallest `Loss` of both sides."""

    @property
    def sensitivity(self) -> int: ...  # an added row raises a score by at most this, and never lowers it

    def split_scores(self, caught: Integers, total: Integers) -> Integers:
        """Return the score of every candidate, from its counts by level, and last of stopping; smaller is better."""
        ...


def grow(tally: Tally, candidates: Candidates, most: int, choose: Choose) -> tuple[Antecedent, ...]:
    """Grow a rule list of up to `most` rules, each chosen by `choose` on the remaining rows."""
    chosen: list[Antecedent] = []
    remaining = tally
    is_open = np.ones(len(candidates), dtype=bool)
    while len(chosen) < most and is_open.any():
        open_now = np.flatnonzero(is_open)

        def query(remaining: Tally = remaining, open_now: Index = open_now) -> tuple[Integers, Integers]:
            return remaining.class_counts(candidates)[open_now], remaining.total()

        pick = choose(query, len(chosen), len(open_now))
        if pick == len(open_now):
            break
        index = int(open_now[pick])
        chosen.append(candidates[index])
        is_open &= ~candidates.implying(index)  # by the schema, these can hold none of the remaining rows
        remaining = remaining.without(candidates[index])
    return tuple(chosen)


def exact_choice(min_support: float, n_rows: int) -> Choose:
    """Return the choice of the candidate with the smallest Gini impurity and enough support. Not private."""
    # Ties go to the candidate whose own rows are purer, as in GreedyRL.

    def choose(query: Query, position: int, n_open: int) -> int:  # noqa: ARG001
        caught, total = query()
        support = caught.sum(axis=1)
        allowed = np.flatnonzero((support > 0) & (support / max(n_rows, 1) >= min_support))
        if not len(allowed):
            return n_open
        scores = split_scores(caught[allowed], total)[:-1]
        near = allowed[scores <= scores.min() + 2]  # scores are rounded down twice: the exact best is among these
        distinct, first = np.unique(caught[near], axis=0, return_index=True)
        splits = ((rows, int(near[i])) for rows, i in zip(distinct, first, strict=True))
        best = min((_gini(rows) + _gini(total - rows), _gini(rows), place) for rows, place in splits)
        return best[-1] if best[0] < _gini(total) else n_open

    return choose


def _gini(counts: Integers) -> Fraction:
    n = int(counts.sum())
    return n - Fraction(sum(int(count) ** 2 for count in counts), n) if n else Fraction(0)


def private_choice(runner: ReleaseRunner, score: Score) -> Choose:
    """Return the private choice by the score, with stopping as a candidate; each call is ε-DP (fact 1)."""

    def choose(query: Query, position: int, n_open: int) -> int:  # noqa: ARG001
        return runner.release(lambda: score.split_scores(*query()), Fact("rule_choice", number=position + 1))

    return choose


NodeCounts = list[tuple[Integers, Integers]]
ChooseTests = Callable[[Callable[[], NodeCounts], int], list[int]]
"""A choice of tests for a level, given a query for the private counts of each open test at every node, and the level.
It returns an index for each node, or the number of open tests to stop. A private choice charges before it evaluates the
query."""


def grow_tree(tally: Tally, space: Space, most: int, choose: ChooseTests) -> Node:
    """Grow a tree of depth up to `most`, level by level; its leaves have no labels yet."""
    tests: dict[tuple[int, ...], int] = {}
    frontier: list[tuple[tuple[int, ...], Tally]] = [((), tally)]
    for level in range(most):
        nodes = [
            (sides, rows, np.flatnonzero(space.open(np.array([sides], dtype=np.intp))[0])) for sides, rows in frontier
        ]
        nodes = [node for node in nodes if len(node[2])]
        if not nodes:
            break

        def query(nodes: list[tuple[tuple[int, ...], Tally, Index]] = nodes) -> NodeCounts:
            return [
                (rows.class_counts(space.candidates)[space.options[options]], rows.total())
                for _, rows, options in nodes
            ]

        frontier = []
        for (sides, rows, options), pick in zip(nodes, choose(query, level), strict=True):
            if pick < len(options):
                option = int(options[pick])
                tests[sides] = option
                for branch, part in divided(rows, space, option):
                    frontier.append(((*sides, int(space.sides(branch)[option])), part))

    def build(sides: tuple[int, ...]) -> Node:
        option = tests.get(sides)
        if option is None:
            return LeafNode(None)
        return InnerNode(option, *(build((*sides, int(space.sides(branch)[option]))) for branch in (CAUGHT, LEFT)))

    return build(())


def private_tests(runner: ReleaseRunner, score: Score) -> ChooseTests:
    """Return the private choice at every node of a level, with stopping as a candidate; each level is ε-DP."""
    # The nodes of a level hold disjoint sets of rows. An added row changes the scores of one node only, so one charge
    # serves all (parallel composition), and fact 1 of docs/mathematics.md holds at that node.

    def choose(query: Callable[[], NodeCounts], level: int) -> list[int]:
        chosen = Fact("level_choice", number=level + 1)
        return runner.release(lambda: [score.split_scores(*node) for node in query()], chosen)

    return choose
