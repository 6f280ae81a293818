"""Exact private draws of several trees from one table, one after the other, none of them twice.

A tree here has no test whose two leaves say the same, so that different trees are different when they are published.
With j choices left, ``s_v`` the weight of stopping with the value v, and I that of all trees that test further,

    I_j(state)  =  ⊕ over options of  go ⊗ ( I(caught) ⊗ Z(left)  ⊕  ⊕_v s_v(caught) ⊗ (Z − s_v)(left) )

where ``Z = I ⊕ ⊕_v s_v``, j − 1 choices are left on both sides, and ``Z − s_v`` is summed without s_v: nothing is
subtracted. The trees drawn before are left out in the same way: all but some pairs of subtrees are those with another
first part, and with each of their first parts those with another second part. One sweep over the table serves all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.learn.search.cost import Cost, SearchShape, masks_cost
from hedgerow.learn.search.lattice import Choose, InnerNode, LeafNode, Node, PatternMatrix, exhaustive_levels, value_of
from hedgerow.learn.search.sampler import Progress, check_rows
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, UNIT, ModelDraw, largest_weight
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.tally import Tally

MOST_MODELS = 100  # trees in a set: the bound on rounding counts on it


@dataclass(frozen=True, eq=False)
class SetSearch:
    """All trees of a space without a test whose two leaves say the same, and their prior: public."""

    space: Space
    depth: int  # the most tests one after the other
    prior: StopPrior  # the probability of stopping at a position

    @property
    def n_values(self) -> int:
        return self.space.candidates.schema.target.n_levels

    @property
    def cost(self) -> Cost:
        result = masks_cost(SearchShape.of(self.space), self.depth)
        return replace(result, largest=result.evaluations)  # which options are open is held for all states

    @cached_property
    def levels(self) -> Sequence[Any]:
        return exhaustive_levels(self.space, self.depth) if self.depth else []

    @cached_property
    def is_open(self) -> list[Mask]:
        """Which options may be taken in each state, by level."""
        return [self.space.open(level.states) for level in self.levels]

    @cached_property
    def stop(self) -> list[Floats]:
        """The prior's log-weight of stopping with one value in each state, by level."""
        log_stop = map(self.prior.log_stop, range(self.depth))
        pairs = zip(self.is_open, log_stop, strict=False)
        return [np.where(is_open.any(axis=1), chance, 0.0) + self.last for is_open, chance in pairs]

    @property
    def last(self) -> float:
        """The same where no choice is left."""
        return -math.log(self.n_values)

    @cached_property
    def go(self) -> list[Floats]:
        """The prior's log-weight of taking one of the open options in each state, by level."""
        log_go = map(self.prior.log_go, range(self.depth))
        pairs = zip(self.is_open, log_go, strict=False)
        return [chance - np.log(np.maximum(is_open.sum(axis=1), 1)) for is_open, chance in pairs]

    def has(self, n_models: int) -> bool:
        """Return whether there are so many trees."""
        of_one_test = self.n_values + (self.space.n_options * self.n_values * (self.n_values - 1) if self.depth else 0)
        return n_models <= of_one_test or n_models <= self.n_trees

    @cached_property
    def n_trees(self) -> float:
        """How many trees there are; rounded where they are many."""
        below: Floats | None = None
        for level, is_open in reversed(list(zip(self.levels, self.is_open, strict=True))):
            each: Any = self.n_values**2
            if below is not None:
                places = (level.children(np.arange(len(level.states)), branch) for branch in (CAUGHT, LEFT))
                each = prod(below.take(place, mode="clip") for place in places)
            below = self.n_values + np.where(is_open, each - self.n_values, 0.0).sum(axis=1)
        return self.n_values if below is None else float(below[0])

    def draw(self, epsilon: Fraction) -> ModelDraw:
        """Return the draw of one tree that costs `epsilon`, rounding included; ValueError if that is too small.

        docs/studies/sets.md proves that rounding adds at most ``8u·(d + 1)·((8d + 2)·w·n + 2l·c)`` to one of weight w,
        with ``u = 2⁻⁵³``, ``n`` rows, ``d`` the depth, ``l`` the leaves, and ``c`` the `constant`.
        """
        each = 8 * UNIT * (self.depth + 1)
        relative, absolute = each * (8 * self.depth + 2) * MOST_ROWS, each * 2 ** (self.depth + 1) * self.constant
        return ModelDraw(epsilon, largest_weight(epsilon, loss=1 + relative, absolute=absolute))

    @property
    def constant(self) -> int:
        """Rounding of one state that does not grow with its rows, in units of 2⁻⁵³: ``c`` of docs/studies/sets.md."""
        options, terms = max(self.space.n_options, 1), self.n_values + 1 + MOST_MODELS
        prior = math.log(options) + self.prior.cost(self.depth) + math.log(self.n_values)
        sums = options + 2 * terms + 8 * (math.log(options) + 2 * math.log(terms))
        return math.ceil((8 * 2**self.depth + 10) * prior + sums) + 40


class TreeSampler:
    """All trees of a search over one private table, but for those that were drawn."""

    def __init__(self, tally: Tally, search: SetSearch, progress: Progress = lambda _: None) -> None:
        check_rows(int(tally.total().sum()), MOST_ROWS, "a set of trees (a single one takes more)")
        self.tally, self.search, self.drawn, self._roots = tally, search, list[Node](), dict[float, DrawState]()
        self._progress = progress

    def sample(self, weight: float, choose: Choose) -> Node:
        """Draw the next tree; what is visited after the first sweep depends on those drawn, and on nothing else."""
        if weight not in self._roots:
            weights = _Weights(self.tally, self.search, weight, self._progress)
            self._roots[weight] = DrawState(weights, 0, 0, np.ones((1, len(weights.rows)), dtype=bool))
        self.drawn.append(self._roots[weight].draw(self.drawn, choose))
        return self.drawn[-1]

    def distance(self, other: TreeSampler) -> float:
        """Return by how many rows the tables differ; infinite if rows were both added and removed."""
        return self.tally.distance(other.tally)


class _Weights:
    """The log-weights of all trees over one table: exact, private."""

    def __init__(self, tally: Tally, search: SetSearch, weight: float, progress: Progress) -> None:
        self.rows, self.search, self.weight = PatternMatrix(tally, search.space), search, weight
        self.inner: dict[int, Floats] = {}  # by level, of all trees that begin with a test
        for depth in reversed(range(len(search.levels))):
            states = search.levels[depth].states
            result = np.empty(len(states))
            for block in self.rows.blocks(len(states)):
                result[block] = _log_sum(self.options(depth, block, self.rows.on(states[block])).T)
            self.inner[depth] = result
            progress(len(states))

    def stops(self, counts: Floats, prior: Any) -> Floats:
        """Return the weights of stopping with each value, from the rows of each class: the same shape."""
        return prior - self.weight * (counts.sum(axis=0) - counts)

    def options(self, depth: int, chosen: Index, rows: Mask) -> Floats:
        """Return the weights of all trees that begin with each option, shape ``(n_states, n_options)``."""
        search, (caught, total) = self.search, self.rows.counts(rows)
        sides = list[tuple[Floats, Floats]]()
        for branch, counts in ((CAUGHT, caught), (LEFT, total[:, :, None] - caught)):
            prior, inner = np.full((2, *counts.shape[1:]), [[[search.last]], [[-np.inf]]])
            if depth + 1 < len(search.levels):
                places = search.levels[depth].children(chosen, branch)
                prior, inner = (of[depth + 1].take(places, mode="clip") for of in (search.stop, self.inner))
            sides.append((self.stops(counts, prior), inner[None]))
        (caught_stops, caught_inner), left = sides[0], np.concatenate(sides[1])
        terms = [stop + _log_sum(np.delete(left, value, axis=0)) for value, stop in enumerate(caught_stops)]
        pairs = _log_sum(np.stack([*terms, caught_inner[0] + _log_sum(left)]))
        return np.where(search.is_open[depth][chosen], search.go[depth][chosen, None] + pairs, -np.inf)


@dataclass(frozen=True, eq=False)
class DrawState:
    """A place in a tree, with the rows that reach it: exact, private. Trees to leave out are given."""

    weights: _Weights
    depth: int
    index: int  # of its state in its level
    rows: Mask
    children: dict[int, tuple[DrawState, DrawState]] = field(default_factory=dict)  # by option, those met so far

    @property
    def is_last(self) -> bool:
        return self.depth == len(self.weights.search.levels)

    @cached_property
    def stops(self) -> Floats:
        search, counts = self.weights.search, self.weights.rows.totals(self.rows)[:, 0]
        return self.weights.stops(counts, search.last if self.is_last else search.stop[self.depth][self.index])

    @cached_property
    def options(self) -> Floats:
        chosen = np.array([self.index])
        return np.empty(0) if self.is_last else self.weights.options(self.depth, chosen, self.rows)[0]

    def below(self, option: int) -> tuple[DrawState, DrawState]:
        """Return the places after an option, for the rows that it catches and those that it leaves."""
        if option not in self.children:
            caught, level = self.weights.rows.caught(option), self.weights.search.levels[self.depth]
            result = list[DrawState]()
            for branch, part in ((CAUGHT, caught), (LEFT, ~caught)):
                index = int(level.children(np.array([self.index]), branch)[0, option])
                result.append(DrawState(self.weights, self.depth + 1, index, self.rows & part))
            self.children[option] = result[0], result[1]
        return self.children[option]

    def weight_of(self, tree: Node) -> float:
        if isinstance(tree, LeafNode):
            return float(self.stops[value_of(tree)])
        caught, left = self.below(tree.option)
        go = float(self.weights.search.go[self.depth][self.index])
        return go + (caught.weight_of(tree.caught) + left.weight_of(tree.left))

    def firsts(self, without: Sequence[Node]) -> Floats:
        """Return the weights of all trees that begin with each option, but for some."""
        result = self.options.copy()
        for option in dict.fromkeys(tree.option for tree in without if isinstance(tree, InnerNode)):
            weights = [weight for weight, _, _ in self.pairs(option, without)]
            result[option] = self.weights.search.go[self.depth][self.index] + _log_sum(np.array(weights))
        return result

    def total(self, without: Sequence[Node]) -> float:
        """Return the weight of all trees but some."""
        stops = [float(self.stops[value]) for value in self._values(without)]
        return float(_log_sum(np.array([*stops, self.inner(without)])))

    def inner(self, without: Sequence[Node]) -> float:
        """Return the weight of all trees that begin with a test, but for some."""
        if not any(isinstance(tree, InnerNode) for tree in without):
            return -math.inf if self.is_last else float(self.weights.inner[self.depth][self.index])
        return float(_log_sum(np.append(self.firsts(without), -np.inf)))

    def pairs(self, option: int, without: Sequence[Node]) -> list[tuple[float, Node | None, list[Node]]]:
        """Return the ways to go on after an option: weight, first subtree if it is known, which seconds are left out.

        Where it is not known, it begins with a test, and is none of the first subtrees of those in `without`.
        """
        caught, left = self.below(option)
        same = [tree for tree in without if isinstance(tree, InnerNode) and tree.option == option]
        firsts = list(dict.fromkeys(tree.caught for tree in same))
        result: list[tuple[float, Node | None, list[Node]]] = [(caught.inner(firsts) + left.total(()), None, [])]
        for fromkey in dict.fromkeys([*firsts, *map(LeafNode, range(len(caught.stops)))]):
            seconds = [tree.left for tree in same if tree.caught == fromkey]
            seconds += [fromkey] if isinstance(fromkey, LeafNode) else []
            result.append((caught.weight_of(fromkey) + left.total(seconds), fromkey, seconds))
        return result

    def draw(self, without: Sequence[Node], choose: Choose, *, stops: bool = True) -> Node:
        """Draw a tree, none of some; with a test if it may not stop."""
        values = self._values(without) if stops else []
        firsts = self.firsts(without)
        options = np.flatnonzero(firsts > -np.inf)
        place = choose(np.array([*(self.stops[value] for value in values), *firsts[options]]))
        if place < len(values):
            return LeafNode(values[place])
        option = int(options[place - len(values)])
        caught, left = self.below(option)
        ways = [way for way in self.pairs(option, without) if way[0] > -np.inf]
        _, first, seconds = ways[choose(np.array([weight for weight, _, _ in ways]))]
        if first is None:
            same = [tree.caught for tree in without if isinstance(tree, InnerNode) and tree.option == option]
            first = caught.draw(same, choose, stops=False)
        return InnerNode(option, first, left.draw(seconds, choose))

    def _values(self, without: Sequence[Node]) -> list[int]:
        return [value for value in range(len(self.stops)) if LeafNode(value) not in without]


def _log_sum(terms: Floats) -> Floats:
    """Return the logarithms of sums of exponentials along the first axis; −∞ of none."""
    most = terms.max(axis=0)
    with np.errstate(divide="ignore"):
        return np.log(np.exp(terms - np.where(most > -np.inf, most, 0.0)).sum(axis=0)) + most
