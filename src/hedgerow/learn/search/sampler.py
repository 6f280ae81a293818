"""Exact private draws: one model of all rule lists, or trees, by the exponential mechanism on errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from hedgerow.errors import TooManyRowsError
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cost import Cost, masks_cost, space_cost, total_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.exhaustive import ExhaustiveLevel, exhaustive_levels
from hedgerow.learn.search.lattice import Masks, PatternMatrix, Search, Stop, Take
from hedgerow.learn.search.semirings import Floats, all_models
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, Choose, ModelDraw, Rounding
from hedgerow.privacy.gate import Gate
from hedgerow.schema.candidates import Antecedent, Candidates, count_candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

Progress = Callable[[int], object]
States = Boxes | Sequence[ExhaustiveLevel]
"""The states of a search that counts by contingency tables, or by masks."""


@dataclass(frozen=True, eq=False)
class Draw:
    """The search space and prior of one exact draw: public, made before any row is read.

    Attributes
    ----------
    space : Space
        The options.
    depth : int
        How many may be taken one after the other.
    stop_probability : float
        The prior's chance to stop at a position.
    draws_size : bool
        Whether the size is drawn, too: the prior gives every depth from 0 to `depth` the same chance, then each model
        of up to that depth its own. Otherwise the depth is `depth`.
    """

    space: Space
    depth: int
    stop_probability: float
    draws_size: bool = False

    def __post_init__(self) -> None:
        most = min(self.depth, self.space.n_options)  # on one path each option is taken once at most
        object.__setattr__(self, "depth", most)

    @cached_property
    def cost(self) -> Cost:
        """The cost of the draw, by the method that costs less."""
        cost = space_cost(self.space, self.depth)
        if cost.method == "cubes" or not self.draws_size:
            return cost
        n, sides, classes = self.space.n_options, self.space.n_sides, cost.classes
        return total_cost([masks_cost(options=n, sides=sides, depth=d, classes=classes) for d in self.sizes])

    @property
    def sizes(self) -> range:
        """The depths that can be drawn."""
        return range(0 if self.draws_size else self.depth, self.depth + 1)

    def states(self) -> States:
        """Return what is visited: the same for every table."""
        boxes = Boxes.of(self.space, self.depth) if self.cost.method == "cubes" else None
        return exhaustive_levels(self.space, self.depth) if boxes is None else boxes

    def mechanism(self, epsilon: Fraction) -> ModelDraw:
        """Return the draw that costs `epsilon`; raises ValueError if that is below the supported minimum."""
        leaves = 2**self.depth if CAUGHT in self.space.branches else self.depth + 1
        classes = len(self.space.candidates.schema.classes)
        rounding = Rounding(self.depth, leaves, self.space.n_options, classes, self.stop_probability)
        return ModelDraw(epsilon, rounding.weight(epsilon))


class ModelSampler:
    """All models of a plan over one private table.

    Parameters
    ----------
    tally : Tally
        The table.
    plan : Draw
        What is searched.
    states : Boxes or sequence of ExhaustiveLevel
        The plan's states: the same for every table.
    progress : callable
        Called at most a hundred times, with a hundredth of the states: the size of a block depends on the number of
        patterns, which is private.

    Raises
    ------
    OverflowError
        From 2³² rows on, where the bound on rounding does not hold.
    """

    def __init__(self, tally: Tally, plan: Draw, states: States, progress: Progress) -> None:
        if tally.total().sum() >= MOST_ROWS:
            raise TooManyRowsError("Expected fewer than 2^32 rows for an exact private search, got 2^32 or more.")
        self._tally, self._plan, self._states = tally, plan, states
        if isinstance(states, Boxes):
            total = sum(states.count(choices) for choices in range(plan.depth))
        else:
            total = sum(len(level.states) for size in plan.sizes for level in states[:size])
        self._progress = _in_public_steps(total, progress)

    def sample(self, weight: float, choose: Choose) -> Take | Stop:
        """Draw a model with probability proportional to ``prior·exp(−weight·errors)``: its rules and its labels.

        If the size is drawn, it is chosen first, by the weights of all models of each size. All states are visited,
        independent of the labels; those without rows have the weight 1 by the prior.
        """

        def label(counts: Floats) -> int:
            return choose(-weight * (counts.sum() - counts))

        plan, semiring = self._plan, all_models(weight, self._plan.stop_probability)
        if isinstance(self._states, Boxes):
            models = Cubes(self._tally, self._states, semiring, progress=self._progress)
        else:
            rows = PatternMatrix(self._tally, plan.space)
            models = Masks(Search(rows, self._states, semiring), plan.sizes, self._progress)
        size = plan.depth
        if plan.draws_size:
            size = choose(np.array([models.total(each) for each in plan.sizes]))
        return models.walk(size, choose, label)

    def distance(self, other: ModelSampler) -> float:
        """Return by how many rows the tables differ; infinite if rows were both added and removed."""
        return self._tally.distance(other._tally)


def _in_public_steps(total: int, progress: Progress) -> Progress:
    """Return a callback that reports `total` in hundredths, independent of the sizes of the steps it is called with."""
    done = shown = 0

    def report(more: int) -> None:
        nonlocal done, shown
        done += more
        while shown < 100 and done >= total * (shown + 1) // 100:
            shown += 1
            step = total * shown // 100 - total * (shown - 1) // 100
            if step:
                progress(step)

    return report


def draw_model(
    tally: Tally, plan: Draw, gate: Gate, epsilon: Fraction, purpose: str, progress: Progress
) -> Take | Stop:
    """Draw one model of a plan: its options and the labels of its leaves, for one charge of `epsilon`.

    Neighbouring tables differ by one row; the errors of every model then differ by 0 or 1, all in one direction.
    """
    states = plan.states()
    return gate.release(plan.mechanism(epsilon), lambda: ModelSampler(tally, plan, states, progress), purpose=purpose)


@dataclass(frozen=True)
class ListDraw:
    """A rule list drawn in blocks of rules, each block jointly; if there is one block, its size may be drawn, too.

    Attributes
    ----------
    candidates : Candidates
        The rules.
    blocks : tuple of int
        How many rules each block may add.
    stop_probability : float
        The prior's chance to stop at a position.
    draws_size : bool
        Whether the number of rules is drawn, too.
    """

    candidates: Candidates
    blocks: tuple[int, ...]
    stop_probability: float
    draws_size: bool = False

    def block(self, number: int, chosen: tuple[Antecedent, ...] = ()) -> Draw:
        """Return the plan of one block, after the rules in `chosen`."""
        space = Space.of_lists(self.candidates, chosen)
        return Draw(space, self.blocks[number], self.stop_probability, self.draws_size)


def list_blocks(most: int, lookahead: int | None) -> tuple[int, ...]:
    """Return the most rules that each block adds: `lookahead` at a time, `most` in all."""
    size = max(most if lookahead is None else min(lookahead, most), 1)
    return tuple(min(size, most - start) for start in range(0, max(most, 1), size))


def list_cost(
    schema: Schema, max_literals: int, blocks: tuple[int, ...], *, negations: bool, draws_size: bool = False
) -> Cost:
    """Return an upper bound on the cost of drawing a list in these blocks; of several sizes, if that is drawn."""
    if draws_size:
        sizes = [(size,) for size in range(max(blocks) + 1)]
        each = [list_cost(schema, max_literals, size, negations=negations) for size in sizes]
        return each[-1] if each[-1].method == "cubes" else total_cost(each)
    if max_literals == 1:
        space = Space.of_lists(Candidates.of(schema, 1, negations=negations))
        each = {depth: space_cost(space, min(depth, space.n_options)) for depth in set(blocks)}
        return total_cost([each[depth] for depth in blocks])
    n, classes = count_candidates(schema, max_literals, negations=negations), len(schema.classes)
    return total_cost([masks_cost(options=n, sides=n, depth=depth, classes=classes) for depth in blocks])


def draw_list(
    tally: Tally, plan: ListDraw, gate: Gate, epsilon: Fraction, progress: Progress
) -> tuple[tuple[Antecedent, ...], tuple[int, ...]]:
    """Draw a rule list block by block, each for an equal share of `epsilon`; return the rules and the labels.

    A block is drawn jointly with its labels among all lists of its length on the rows that the earlier blocks left. The
    last block's label of what it leaves is that of the default rule; those of earlier blocks are dropped. Last rules
    with the label of the default rule are left out, which depends on what was drawn only.
    """
    antecedents: list[Antecedent] = []
    labels: list[int] = []
    each = epsilon / len(plan.blocks)
    for number in range(len(plan.blocks)):
        block = plan.block(number, tuple(antecedents))
        drawn = "their number and their labels" if plan.draws_size else "their labels"
        purpose = f"draw of up to {plan.blocks[number]} {'more ' if number else ''}rules with {drawn}"
        part = draw_model(tally, block, gate, each, purpose, progress)
        del labels[len(antecedents) :]
        while isinstance(part, Take):
            antecedents.append(block.space.antecedents[part.option])
            labels.append(_label(part.caught))
            tally, part = tally.without(antecedents[-1]), part.left
        labels.append(_label(part))
    while antecedents and labels[-2] == labels[-1]:
        del antecedents[-1], labels[-1]
    return tuple(antecedents), tuple(labels)


def _label(part: Take | Stop) -> int:
    assert isinstance(part, Stop)
    assert part.label is not None
    return part.label


def simplified(part: Take | Stop) -> Take | Stop:
    """Return a tree that predicts the same without options whose leaves both have the same label."""
    if isinstance(part, Stop):
        return part
    caught, left = simplified(part.caught), simplified(part.left)
    return caught if isinstance(caught, Stop) and caught == left else Take(part.option, caught, left)
