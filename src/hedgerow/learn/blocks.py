"""Draws in blocks: some rules of a list at a time, or some levels of a tree, each block jointly with its leaves."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.learn.learned import divided, grafted
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.search.cost import Cost, Outline, total_cost
from hedgerow.learn.search.lattice import Stop, Take, value_of
from hedgerow.learn.search.losses import Objective
from hedgerow.learn.search.sampler import Draw, Progress, draw_model, draw_models
from hedgerow.learn.search.space import Space
from hedgerow.learn.simplify import simplified, simplified_list
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import Siblings
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema.candidates import Antecedent, Candidates, count_candidates, longest_candidate
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

CostOf = Callable[[tuple[int, ...], bool], Cost]
"""From the sizes of the blocks, and whether the size is drawn, the cost of an exact search."""


@dataclass(frozen=True)
class ListDraw:
    """A rule list drawn in blocks of rules, each block jointly."""

    candidates: Candidates
    blocks: tuple[int, ...]  # how many rules each block may add
    prior: StopPrior  # the probability of stopping at a position
    draws_size: bool = False  # whether the number of rules is drawn, too: of one block
    objective: Objective = "errors"

    def block(self, number: int, chosen: tuple[Antecedent, ...] = ()) -> Draw:
        space = Space.of_lists(self.candidates, chosen)
        prior = self.prior.below(sum(self.blocks[:number]))
        return Draw(space, self.blocks[number], prior, self.draws_size, self.objective)


@dataclass(frozen=True)
class TreeDraw:
    """A tree drawn in blocks of levels: the upper levels jointly, then the subtrees below them, and so on."""

    space: Space  # the tests
    blocks: tuple[int, ...]  # how many levels each block may add
    prior: StopPrior  # the probability of stopping at a node
    draws_size: bool = False  # whether the depth is drawn, too: of one block
    objective: Objective = "errors"

    def block(self, number: int, root: Mask | None = None) -> Draw:
        """Return the plan of a subtree of one block, below a box; at the root of the tree by default."""
        space = self.space if root is None else self.space.below(root)
        levels = sum(self.blocks[:number])
        return Draw(
            space, self.blocks[number], self.prior.below(levels), self.draws_size, self.objective, siblings=2**levels
        )


def equal_blocks(most: int, lookahead: int | None) -> tuple[int, ...]:
    """Return the most rules, or levels, that each block adds: `lookahead` at a time, `most` in all."""
    size = max(most if lookahead is None else min(lookahead, most), 1)
    return tuple(min(size, most - start) for start in range(0, max(most, 1), size))


def list_costs(schema: Schema, max_literals: int, *, negations: bool, objective: Objective = "errors") -> CostOf:
    """Return a function that bounds the cost of drawing a list in some blocks; of several sizes, if that is drawn."""
    outline = Outline.of_lists(schema, max_literals, negations=negations)
    return lambda blocks, draws_size: total_cost(
        [outline.draw_cost(size, objective, draws_size=draws_size) for size in blocks]
    )


def tree_costs(outline: Outline, objective: Objective = "errors") -> CostOf:
    """Return a function that bounds the cost of drawing a tree in some blocks; of several depths, if that is drawn."""
    leaves = prod(attribute.n_bins for _, attribute in outline.schema.attributes)

    def cost(blocks: tuple[int, ...], draws_size: bool) -> Cost:
        roots = [min(2 ** sum(blocks[:number]), leaves) for number in range(len(blocks))]
        each = [outline.draw_cost(depth, objective, draws_size=draws_size) for depth in blocks]
        return total_cost([one.times(n) for one, n in zip(each, roots, strict=True)])

    return cost


def longest_path(schema: Schema, max_literals: int, *, negations: bool) -> int:
    """Return how many rules, or tests, there can be one after the other, each of which divides what is left."""
    if longest_candidate(schema, max_literals, negations=negations) == 1:
        return sum(attribute.n_bins - 1 for _, attribute in schema.attributes)
    return count_candidates(schema, max_literals, negations=negations)


def draw_releases(plan: ListDraw | TreeDraw, epsilon: Fraction) -> tuple[PlannedRelease, ...]:
    """Return a release for each block, for an equal share of ε."""
    found: list[PlannedRelease] = []
    for number in range(len(plan.blocks)):
        block = plan.block(number)
        mechanism = block.mechanism(epsilon / len(plan.blocks))
        most_rows = block.rounding.most_rows(float(mechanism.weight))
        if isinstance(plan, ListDraw):
            found.append(PlannedRelease("rules_draw", mechanism, most_rows=most_rows))
        elif number == 0:
            found.append(PlannedRelease("tree_draw", mechanism, most_rows=most_rows))
        else:
            found.append(PlannedRelease("subtrees_draw", Siblings(mechanism), most_rows=most_rows))
    return tuple(found)


def draw_list(
    tally: Tally, plan: ListDraw, runner: ReleaseRunner, progress: Progress
) -> tuple[tuple[Antecedent, ...], tuple[int, ...]]:
    """Draw a rule list block by block, each for an equal share of ε; return the rules and their values.

    A block is drawn jointly with its values, such as labels, among all lists of its length on the rows that the earlier
    blocks left. The last block's value of what it leaves is that of the default rule; those of earlier blocks are
    dropped. The list is simplified by the schema, which depends on the drawn list only.
    """
    antecedents: list[Antecedent] = []
    values: list[int] = []
    drawn = {"values": _drawn_values(plan.objective), "draws_size": plan.draws_size or None}
    for number in range(len(plan.blocks)):
        block = plan.block(number, tuple(antecedents))
        query = Fact("rules_draw", most=plan.blocks[number], further=number > 0 or None, **drawn)
        part = draw_model(tally, block, runner, query, progress)
        del values[len(antecedents) :]
        while isinstance(part, Take):
            antecedents.append(block.space.antecedents[part.option])
            values.append(value_of(part.caught))
            tally, part = tally.without(antecedents[-1]), part.left
        values.append(value_of(part))
    rules, places = simplified_list(plan.candidates.schema, antecedents, values)
    return rules, tuple(values[place] for place in places)


def draw_tree(tally: Tally, plan: TreeDraw, runner: ReleaseRunner, progress: Progress) -> Take | Stop:
    """Draw a tree block by block, each for an equal share of ε.

    The subtrees of a block are drawn from different rows, so that one charge serves them all (parallel composition).
    Values, such as labels, are those of the last block. The tree is simplified by the schema, which depends on the
    drawn tree only.
    """
    values = _drawn_values(plan.objective)
    query = Fact("tree_draw", depth=plan.blocks[0], values=values, draws_size=plan.draws_size or None)
    tree = draw_model(tally, plan.block(0), runner, query, progress)
    for number in range(1, len(plan.blocks)):
        leaves = [(rows, plan.block(number, box)) for rows, box in _leaves(tally, plan.space, tree, plan.space.root)]
        query = Fact("subtrees_draw", depth=plan.blocks[number], values=values)
        parts = draw_models(leaves, runner, query, progress)
        found = (_in_space(plan.space, draw.space, part) for (_, draw), part in zip(leaves, parts, strict=True))
        tree = grafted(tree, found)
    return simplified(tree, plan.space)


def _leaves(tally: Tally, space: Space, tree: Take | Stop, box: Mask) -> Iterator[tuple[Tally, Mask]]:
    """Yield the rows and the box of each leaf, those that satisfy a test first. Exact, private."""
    if isinstance(tree, Stop):
        yield tally, box
        return
    for (branch, rows), part in zip(divided(tally, space, tree.option), (tree.caught, tree.left), strict=True):
        yield from _leaves(rows, space, part, box & space.side_bins[space.sides(branch)[tree.option]])


def _in_space(space: Space, below: Space, part: Take | Stop) -> Take | Stop:
    if isinstance(part, Stop):
        return part
    option = int(np.searchsorted(space.options, below.options[part.option]))
    return Take(option, _in_space(space, below, part.caught), _in_space(space, below, part.left))


def _drawn_values(objective: Objective) -> str:
    return "probabilities" if objective in ("brier", "mixed") else "predictions" if objective != "errors" else "labels"
