"""Plans of draws in blocks: some rules of a list, or some levels of a tree, each block jointly with its leaves."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import ClassVar, Self

import numpy as np

from hedgerow.boundary.arrays import Integers, Mask
from hedgerow.errors import ArgumentError
from hedgerow.learn import learned
from hedgerow.learn.learned import BuildModel, LeafValues, divided, grafted, leaves_of, list_model, tree_model
from hedgerow.learn.plans import LeafPlan
from hedgerow.learn.releases import PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.search.cost import Cost, SearchShape, total_cost
from hedgerow.learn.search.lattice import InnerNode, LeafNode, Node, value_of
from hedgerow.learn.search.losses import Loss, Objective
from hedgerow.learn.search.outside import MOST_WEIGHT, DrawChances
from hedgerow.learn.search.sampler import Draw, ModelSampler, Progress, conditioned, draw_model, draw_models
from hedgerow.learn.search.space import Space
from hedgerow.learn.simplify import simplified, simplified_list
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import Siblings
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema.candidates import Antecedent, Candidates, count_candidates, longest_candidate
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

CostOf = Callable[[tuple[int, ...], bool], Cost]
"""A function that returns the cost of an exact search, given the sizes of its blocks and whether the size is drawn."""


def equal_blocks(total: int, lookahead: int | None) -> tuple[int, ...]:
    """Return the maximum number of rules or levels of each block, `lookahead` for each, `total` for all."""
    size = max(total if lookahead is None else min(lookahead, total), 1)
    return tuple(min(size, total - start) for start in range(0, max(total, 1), size))


def list_costs(schema: Schema, max_literals: int, *, negations: bool, objective: Objective = "errors") -> CostOf:
    """Return the cost function of drawing a rule list."""
    shape = SearchShape.of_lists(schema, max_literals, negations=negations)
    return lambda blocks, draws_size: total_cost(
        [shape.draw_cost(size, objective, draws_size=draws_size) for size in blocks]
    )


def tree_costs(shape: SearchShape, objective: Objective = "errors") -> CostOf:
    """Return the cost function of drawing a tree."""
    leaves = prod(attribute.n_bins for _, attribute in shape.schema.attributes)

    def cost(blocks: tuple[int, ...], draws_size: bool) -> Cost:
        roots = [min(2 ** sum(blocks[:number]), leaves) for number in range(len(blocks))]
        costs = [shape.draw_cost(depth, objective, draws_size=draws_size) for depth in blocks]
        return total_cost([cost.times(n) for cost, n in zip(costs, roots, strict=True)])

    return cost


def longest_path(schema: Schema, max_literals: int, *, negations: bool) -> int:
    """Return the maximum number of consecutive rules or tests that each divide the remaining domain."""
    if longest_candidate(schema, max_literals, negations=negations) == 1:
        return sum(attribute.n_bins - 1 for _, attribute in schema.attributes)
    return count_candidates(schema, max_literals, negations=negations)


@dataclass(frozen=True, eq=False, repr=False)
class DrawProbabilities:
    """Probabilities of a draw on one table. **Private**: a function of the rows, for the data holder only."""

    chances: DrawChances  # the probability of each value for each pattern
    loss: Loss  # the loss of a row
    weight: Fraction  # of a loss of 1: the draw's share of ε, less a margin for rounding
    score: str  # a description of the loss and of its unit
    counts_epsilon: Fraction  # the share of ε for released counts or sums of leaves; 0 if none are released
    added: Integers  # the amount that a row of each level adds to these numbers, shape (n_levels, n_numbers)
    options: tuple[Antecedent, ...]  # the rules or tests

    @property
    def step(self) -> float:
        """The inverse scale of the noise on a count or sum of a leaf."""
        return float(self.counts_epsilon) / max(int(self.added.sum(axis=1).max()), 1)


@dataclass(frozen=True, kw_only=True)
class DrawPlan(LeafPlan):
    """Base class of plans that draw a model and may release numbers of its leaves."""

    blocks: tuple[int, ...]  # the maximum number of rules or levels of each block
    prior: StopPrior  # the probability of stopping at a position
    draws_size: bool = False  # whether the size is drawn too, in a single block
    objective: Objective = "errors"
    query_code: ClassVar[str]  # of the first block

    def block(self, number: int) -> Draw:
        """Return the joint draw of a block, if earlier blocks drew nothing."""
        raise NotImplementedError

    def probabilities(self, tally: Tally, progress: Progress, given: Mapping[int, Mask]) -> DrawProbabilities:
        """Return the probability of each value for each pattern, given values of some leaves. **Private**."""
        if len(self.blocks) > 1:
            raise ArgumentError(
                f"exact probabilities need a model that is drawn as a whole, and this one is drawn in "
                f"{len(self.blocks)} blocks; use a smaller model, with search='exact' and lookahead=None."
            )
        draw, mechanism = self.block(0), self.mechanism
        if mechanism.weight > MOST_WEIGHT:
            problem = f"epsilon is too large for exact probabilities: the weight of the draw is at most {MOST_WEIGHT}"
            underflow = "because model probabilities underflow in float64"
            raise ArgumentError(f"{problem}, {underflow}, got {float(mechanism.weight):.6g}. Use a smaller epsilon.")
        if given:
            tally, draw = conditioned(tally, draw, mechanism.weight, given)
        sampler = ModelSampler(tally, draw, draw.valued_states(), progress)
        chances = sampler.chances(float(mechanism.weight))
        loss, options, of = self.block(0).loss, draw.space.antecedents, self.leaf_numbers
        added = np.zeros((self.target.n_levels, 0), dtype=np.int64) if of is None else of.weights(self.target)
        weight, words = mechanism.weight, mechanism.loss.words
        return DrawProbabilities(chances, loss, weight, words, self._leaf_epsilon, added, options)

    @property
    def mechanism(self) -> ModelDraw:
        """The mechanism of the first block."""
        return self.block(0).mechanism(self._draw_epsilon / len(self.blocks))

    @property
    def releases(self) -> PlannedReleases:
        draws = tuple(self._planned(number) for number in range(len(self.blocks)))
        if self.leaf_numbers is None:
            return draws
        return *draws, self.leaf_numbers.planned(self.target, self._leaf_epsilon)

    def _planned(self, number: int) -> PlannedRelease:
        """Return the planned release of a block, for an equal share of ε."""
        block = self.block(number)
        mechanism = block.mechanism(self._draw_epsilon / len(self.blocks))
        return PlannedRelease(self.query_code, mechanism, max_rows=block.rounding.max_rows(float(mechanism.weight)))

    def max_rho(self, size: int) -> Fraction:
        """Return an upper bound on the ρ of a draw up to a size: one block costs most, as ρ grows faster than ε."""
        # The prior of a single block depends on all of ε. A prior that rises faster needs a larger rounding margin.
        prior = replace(self.prior, curve=len(self.blocks) * self.prior.curve)
        # With fewer attributes, a search may use cut points that it leaves out with more, and more options cost more.
        whole = replace(self.finest, blocks=(size,), prior=prior).block(0)
        return whole.mechanism(self._draw_epsilon).rho + pure_rho(self._leaf_epsilon)

    @property
    def finest(self) -> Self:
        """The same plan with all cut points."""
        return self

    @property
    def _leaf_epsilon(self) -> Fraction:
        return self.epsilon * self.leaf_numbers.share if self.leaf_numbers is not None else Fraction(0)

    @property
    def _draw_epsilon(self) -> Fraction:
        return self.epsilon - self._leaf_epsilon

    @property
    def _drawn_values(self) -> str:
        """The kind of leaf values, as a detail of the query."""
        if self.objective in ("brier", "mixed"):
            return "probabilities"
        return "predictions" if self.objective != "errors" else "labels"


@dataclass(frozen=True, kw_only=True)
class ListDrawPlan(DrawPlan):
    """Plan of a rule list that is drawn with its labels or probabilities, block by block."""

    candidates: Candidates
    model = "rule list"
    query_code = "rules_draw"

    @property
    def is_fixed(self) -> bool:
        """Whether no release depends on an earlier answer; the ρ of a later block depends on the rules before it."""
        return super().is_fixed and len(self.blocks) == 1

    def block(self, number: int, chosen: tuple[Antecedent, ...] = ()) -> Draw:
        """Return the joint draw of a block, after the rules of earlier blocks."""
        prior = self.prior.below(sum(self.blocks[:number]))
        return Draw(
            Space.of_lists(self.candidates, chosen), self.blocks[number], prior, self.draws_size, self.objective
        )

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        antecedents, values = self.draw(tally, runner, progress)
        leaf_values = LeafValues(values=values, loss=self.block(0).loss)
        if self.leaf_numbers is not None:
            noise = runner.mechanism(self.leaf_numbers.query_code)
            released = learned.release_leaf_counts(tally, antecedents, runner, self.leaf_numbers)
            leaf_values = self._with_released(leaf_values, released, noise, values)
        return list_model(antecedents, leaf_values)

    def draw(
        self, tally: Tally, runner: ReleaseRunner, progress: Progress
    ) -> tuple[tuple[Antecedent, ...], tuple[int, ...]]:
        """Draw a rule list block by block, each for an equal share of ε; return the rules and their values."""
        # A block is drawn with its values from all lists of its length, on the rows that no earlier block matches.
        # The default rule gets the last block's value for its remaining rows. Earlier blocks' values are dropped.
        antecedents: list[Antecedent] = []
        values: list[int] = []
        details = {"values": self._drawn_values, "draws_size": self.draws_size or None}
        for number in range(len(self.blocks)):
            block = self.block(number, tuple(antecedents))
            query = Fact(self.query_code, most=self.blocks[number], further=number > 0 or None, **details)
            part = draw_model(tally, block, runner, query, progress)
            del values[len(antecedents) :]
            while isinstance(part, InnerNode):
                antecedents.append(block.space.antecedent(part.option))
                values.append(value_of(part.caught))
                tally, part = tally.without(antecedents[-1]), part.left
            values.append(value_of(part))
        rules, places = simplified_list(self.candidates.schema, antecedents, values)
        return rules, tuple(values[place] for place in places)


@dataclass(frozen=True, kw_only=True)
class TreeDrawPlan(DrawPlan):
    """Plan of a tree that is drawn with its labels or probabilities: the upper levels, then the subtrees below."""

    space: Space  # the tests
    model = "tree"
    query_code = "tree_draw"

    def block(self, number: int, root: Mask | None = None) -> Draw:
        """Return the draw of a subtree of a block, below a box, by default the root."""
        space = self.space if root is None else self.space.below(root)
        levels = sum(self.blocks[:number])
        return Draw(
            space, self.blocks[number], self.prior.below(levels), self.draws_size, self.objective, siblings=2**levels
        )

    @property
    def query(self) -> Fact:
        """The query of the first block."""
        draws_size = self.draws_size or None
        return Fact(self.query_code, depth=self.blocks[0], values=self._drawn_values, draws_size=draws_size)

    def _planned(self, number: int) -> PlannedRelease:
        planned = super()._planned(number)
        if number == 0:
            return planned
        return replace(planned, kind="subtrees_draw", mechanism=Siblings(planned.mechanism))

    @property
    def finest(self) -> Self:
        return replace(self, space=Space.of_trees(self.space.candidates.schema))

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        return self.finish(tally, self.draw(tally, runner, progress), runner)

    def finish(self, tally: Tally, tree: Node, runner: ReleaseRunner) -> BuildModel:
        """Release the planned numbers of a drawn tree's leaves, and return the function that builds the model."""
        values = [value_of(leaf) for leaf in leaves_of(tree)]
        leaf_values = LeafValues(values=values, loss=self.block(0).loss)
        if self.leaf_numbers is not None:
            noise = runner.mechanism(self.leaf_numbers.query_code)
            released = learned.release_tree_counts(tally, self.space, tree, runner, self.leaf_numbers)
            leaf_values = self._with_released(leaf_values, released, noise, values)
        return tree_model(self.space, tree, leaf_values)

    def draw(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> Node:
        """Draw a tree block by block, each for an equal share of ε."""
        # The subtrees of a block are drawn from disjoint sets of rows and share one charge (parallel composition). The
        # last block draws the values of the leaves.
        values = self._drawn_values
        tree = draw_model(tally, self.block(0), runner, self.query, progress)
        for number in range(1, len(self.blocks)):
            leaves = [
                (rows, self.block(number, box)) for rows, box in _leaves(tally, self.space, tree, self.space.root)
            ]
            query = Fact("subtrees_draw", depth=self.blocks[number], values=values)
            parts = draw_models(leaves, runner, query, progress)
            subtrees = (_in_space(self.space, draw.space, part) for (_, draw), part in zip(leaves, parts, strict=True))
            tree = grafted(tree, subtrees)
        return simplified(tree, self.space)


def _leaves(tally: Tally, space: Space, tree: Node, box: Mask) -> Iterator[tuple[Tally, Mask]]:
    """Yield the rows and the box of each leaf, the branch that satisfies a test first. Exact, private."""
    if isinstance(tree, LeafNode):
        yield tally, box
        return
    for (branch, rows), part in zip(divided(tally, space, tree.option), (tree.caught, tree.left), strict=True):
        yield from _leaves(rows, space, part, box & space.side_bins[space.sides(branch)[tree.option]])


def _in_space(space: Space, below: Space, part: Node) -> Node:
    if isinstance(part, LeafNode):
        return part
    option = int(np.searchsorted(space.options, below.options[part.option]))
    return InnerNode(option, _in_space(space, below, part.caught), _in_space(space, below, part.left))
