"""Plans of draws in blocks: some rules of a list, or some levels of a tree, each block jointly with its leaves."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import ClassVar

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
"""From the sizes of the blocks, and whether the size is drawn, the cost of an exact search."""


def equal_blocks(most: int, lookahead: int | None) -> tuple[int, ...]:
    """Return the most rules, or levels, that each block adds: `lookahead` at a time, `most` in all."""
    size = max(most if lookahead is None else min(lookahead, most), 1)
    return tuple(min(size, most - start) for start in range(0, max(most, 1), size))


def list_costs(schema: Schema, max_literals: int, *, negations: bool, objective: Objective = "errors") -> CostOf:
    """Return a function that bounds the cost of drawing a list in some blocks; of several sizes, if that is drawn."""
    shape = SearchShape.of_lists(schema, max_literals, negations=negations)
    return lambda blocks, draws_size: total_cost(
        [shape.draw_cost(size, objective, draws_size=draws_size) for size in blocks]
    )


def tree_costs(shape: SearchShape, objective: Objective = "errors") -> CostOf:
    """Return a function that bounds the cost of drawing a tree in some blocks; of several depths, if that is drawn."""
    leaves = prod(attribute.n_bins for _, attribute in shape.schema.attributes)

    def cost(blocks: tuple[int, ...], draws_size: bool) -> Cost:
        roots = [min(2 ** sum(blocks[:number]), leaves) for number in range(len(blocks))]
        each = [shape.draw_cost(depth, objective, draws_size=draws_size) for depth in blocks]
        return total_cost([one.times(n) for one, n in zip(each, roots, strict=True)])

    return cost


def longest_path(schema: Schema, max_literals: int, *, negations: bool) -> int:
    """Return how many rules, or tests, there can be one after the other, each of which divides what is left."""
    if longest_candidate(schema, max_literals, negations=negations) == 1:
        return sum(attribute.n_bins - 1 for _, attribute in schema.attributes)
    return count_candidates(schema, max_literals, negations=negations)


@dataclass(frozen=True, eq=False, repr=False)
class DrawProbabilities:
    """Probabilities of a draw on one table. **Private**: a function of the rows, for the curator only."""

    chances: DrawChances  # how likely each value is for each pattern
    loss: Loss  # the loss of a row
    weight: Fraction  # the weight of a loss of 1: what is left of the draw's share of ε after rounding
    score: str  # the loss in words, and what a loss of 1 is
    counts_epsilon: Fraction  # the share of ε of the counts, or sums, that are released too; 0 where none are
    added: Integers  # by level, what a row adds to each of these of its leaf, shape (n_levels, n_numbers)
    options: tuple[Antecedent, ...]  # the rules, or tests

    @property
    def step(self) -> float:
        """The share of ε of a change by 1 of one count, or sum: the inverse of the scale of its noise."""
        return float(self.counts_epsilon) / max(int(self.added.sum(axis=1).max()), 1)


@dataclass(frozen=True, kw_only=True)
class DrawPlan(LeafPlan):
    """Base class of plans that draw a model: the cost, and a share of ε for what is released of the leaves."""

    blocks: tuple[int, ...]  # how many rules, or levels, each block may add
    prior: StopPrior  # the probability of stopping at a position
    draws_size: bool = False  # whether the size is drawn, too: of one block
    objective: Objective = "errors"
    query_code: ClassVar[str]  # the code of the query of the first block

    def block(self, number: int) -> Draw:
        """Return what is drawn jointly in one block, where nothing was drawn before it."""
        raise NotImplementedError

    def probabilities(self, tally: Tally, progress: Progress, given: Mapping[int, Mask]) -> DrawProbabilities:
        """Return how likely each pattern gets each value, given those of some leaves. **Private**, without noise."""
        if len(self.blocks) > 1:
            raise ArgumentError(
                f"expected a model that is drawn as a whole, got one drawn in {len(self.blocks)} blocks, of which "
                "no exact chances are available; ask for a smaller model, with search='exact' and lookahead=None."
            )
        draw, mechanism = self.block(0), self.mechanism
        if mechanism.weight > MOST_WEIGHT:
            problem = f"expected a draw with a weight of {MOST_WEIGHT} at most, got {float(mechanism.weight):.6g}: the"
            raise ArgumentError(f"{problem} chances of its models are too small for float64; use a smaller epsilon.")
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
        """The draw of the first block."""
        return self.block(0).mechanism(self._draw_epsilon / len(self.blocks))

    @property
    def releases(self) -> PlannedReleases:
        draws = tuple(self._planned(number) for number in range(len(self.blocks)))
        if self.leaf_numbers is None:
            return draws
        return *draws, self.leaf_numbers.planned(self.target, self._leaf_epsilon)

    def _planned(self, number: int) -> PlannedRelease:
        """Return the release of a block, for an equal share of ε."""
        block = self.block(number)
        mechanism = block.mechanism(self._draw_epsilon / len(self.blocks))
        return PlannedRelease(self.query_code, mechanism, max_rows=block.rounding.max_rows(float(mechanism.weight)))

    def max_rho(self, size: int) -> Fraction:
        """Return the most in ρ of a draw of up to `size` for this ε: in one block, as ρ grows faster than ε."""
        # The prior of one block follows all of ε: the more it rises with the depth, the more is kept for rounding.
        prior = replace(self.prior, curve=len(self.blocks) * self.prior.curve)
        whole = replace(self, blocks=(size,), prior=prior).block(0)
        return whole.mechanism(self._draw_epsilon).rho + pure_rho(self._leaf_epsilon)

    @property
    def _leaf_epsilon(self) -> Fraction:
        return self.epsilon * self.leaf_numbers.share if self.leaf_numbers is not None else Fraction(0)

    @property
    def _draw_epsilon(self) -> Fraction:
        return self.epsilon - self._leaf_epsilon

    @property
    def _drawn_values(self) -> str:
        """What the values of leaves are, as a detail of the query."""
        if self.objective in ("brier", "mixed"):
            return "probabilities"
        return "predictions" if self.objective != "errors" else "labels"


@dataclass(frozen=True, kw_only=True)
class ListDrawPlan(DrawPlan):
    """A rule list drawn with its labels or probabilities: in blocks of rules, each block jointly."""

    candidates: Candidates
    model = "rule list"
    query_code = "rules_draw"

    @property
    def is_fixed(self) -> bool:
        """Whether no release depends on an earlier answer: after other rules, a further block may cost less ρ."""
        return super().is_fixed and len(self.blocks) == 1

    def block(self, number: int, chosen: tuple[Antecedent, ...] = ()) -> Draw:
        """Return what is drawn jointly in one block, after the rules that were chosen before it."""
        prior = self.prior.below(sum(self.blocks[:number]))
        return Draw(
            Space.of_lists(self.candidates, chosen), self.blocks[number], prior, self.draws_size, self.objective
        )

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        antecedents, values = self.draw(tally, runner, progress)
        found = LeafValues(values=values, loss=self.block(0).loss)
        if self.leaf_numbers is not None:
            noise = runner.mechanism(self.leaf_numbers.query_code)
            released = learned.release_leaf_counts(tally, antecedents, runner, self.leaf_numbers)
            found = self._with_released(found, released, noise, values)
        return list_model(antecedents, found)

    def draw(
        self, tally: Tally, runner: ReleaseRunner, progress: Progress
    ) -> tuple[tuple[Antecedent, ...], tuple[int, ...]]:
        """Draw a rule list block by block, each for an equal share of ε; return the rules and their values.

        A block is drawn jointly with its values, such as labels, among all lists of its length on the rows that the
        earlier blocks left. The last block's value of what it leaves is that of the default rule; those of earlier
        blocks are dropped. The list is simplified by the schema, which depends on the drawn list only.
        """
        antecedents: list[Antecedent] = []
        values: list[int] = []
        drawn = {"values": self._drawn_values, "draws_size": self.draws_size or None}
        for number in range(len(self.blocks)):
            block = self.block(number, tuple(antecedents))
            query = Fact(self.query_code, most=self.blocks[number], further=number > 0 or None, **drawn)
            part = draw_model(tally, block, runner, query, progress)
            del values[len(antecedents) :]
            while isinstance(part, InnerNode):
                antecedents.append(block.space.antecedents[part.option])
                values.append(value_of(part.caught))
                tally, part = tally.without(antecedents[-1]), part.left
            values.append(value_of(part))
        rules, places = simplified_list(self.candidates.schema, antecedents, values)
        return rules, tuple(values[place] for place in places)


@dataclass(frozen=True, kw_only=True)
class TreeDrawPlan(DrawPlan):
    """A tree drawn with its labels or probabilities: the upper levels jointly, then the subtrees below."""

    space: Space  # the tests
    model = "tree"
    query_code = "tree_draw"

    def block(self, number: int, root: Mask | None = None) -> Draw:
        """Return the draw of a subtree of one block, below a box; at the root of the tree by default."""
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

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        return self.finish(tally, self.draw(tally, runner, progress), runner)

    def finish(self, tally: Tally, tree: Node, runner: ReleaseRunner) -> BuildModel:
        """Release what is planned about the leaves of a drawn tree, and return the function that builds the model."""
        values = [value_of(leaf) for leaf in leaves_of(tree)]
        found = LeafValues(values=values, loss=self.block(0).loss)
        if self.leaf_numbers is not None:
            noise = runner.mechanism(self.leaf_numbers.query_code)
            released = learned.release_tree_counts(tally, self.space, tree, runner, self.leaf_numbers)
            found = self._with_released(found, released, noise, values)
        return tree_model(self.space, tree, found)

    def draw(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> Node:
        """Draw a tree block by block, each for an equal share of ε.

        The subtrees of a block are drawn from different rows, so that one charge serves them all (parallel
        composition). Values, such as labels, are those of the last block. The tree is simplified by the schema, which
        depends on the drawn tree only.
        """
        values = self._drawn_values
        tree = draw_model(tally, self.block(0), runner, self.query, progress)
        for number in range(1, len(self.blocks)):
            leaves = [
                (rows, self.block(number, box)) for rows, box in _leaves(tally, self.space, tree, self.space.root)
            ]
            query = Fact("subtrees_draw", depth=self.blocks[number], values=values)
            parts = draw_models(leaves, runner, query, progress)
            found = (_in_space(self.space, draw.space, part) for (_, draw), part in zip(leaves, parts, strict=True))
            tree = grafted(tree, found)
        return simplified(tree, self.space)


def _leaves(tally: Tally, space: Space, tree: Node, box: Mask) -> Iterator[tuple[Tally, Mask]]:
    """Yield the rows and the box of each leaf, those that satisfy a test first. Exact, private."""
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
