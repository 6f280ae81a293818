"""Exact private draws: one model of all rule lists, or trees, by the exponential mechanism on errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.errors import TooManyRowsError
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.exhaustive import ExhaustiveLevel, exhaustive_levels
from hedgerow.learn.search.lattice import PatternMatrix, Search, Stop, Take
from hedgerow.learn.search.semirings import Floats, all_models
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, Choose, ModelDraw, Rounding
from hedgerow.privacy.gate import Gate
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.tally import Tally

Progress = Callable[[int], object]


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
    """

    space: Space
    depth: int
    stop_probability: float

    def mechanism(self, epsilon: Fraction) -> ModelDraw:
        """Return the draw that costs `epsilon`; raises ValueError if that is below the supported minimum."""
        depth = min(self.depth, self.space.n_options)  # on one path each option is taken once at most
        leaves = 2**depth if CAUGHT in self.space.branches else depth + 1
        classes = len(self.space.candidates.schema.classes)
        rounding = Rounding(depth, leaves, self.space.n_options, classes, self.stop_probability)
        return ModelDraw(epsilon, rounding.weight(epsilon))


class ModelSampler:
    """All models of a plan over one private table.

    Parameters
    ----------
    tally : Tally
        The table.
    plan : Draw
        What is searched.
    levels : list of ExhaustiveLevel
        The plan's states: the same for every table.
    progress : callable
        Called at most a hundred times, with a hundredth of the states: the size of a block depends on the number of
        patterns, which is private.

    Raises
    ------
    OverflowError
        From 2³² rows on, where the bound on rounding does not hold.
    """

    def __init__(self, tally: Tally, plan: Draw, levels: list[ExhaustiveLevel], progress: Progress) -> None:
        if tally.total().sum() >= MOST_ROWS:
            raise TooManyRowsError("Expected fewer than 2^32 rows for an exact private search, got 2^32 or more.")
        self._tally, self._plan, self._levels = tally, plan, levels
        self._progress = _in_public_steps(sum(len(level.states) for level in levels), progress)

    def sample(self, weight: float, choose: Choose) -> Take | Stop:
        """Draw a model with probability proportional to ``prior·exp(−weight·errors)``: its rules and its labels.

        All states are visited, independent of the labels; those without rows have the weight 1 by the prior.
        """

        def label(counts: Floats) -> int:
            return choose(-weight * (counts.sum() - counts))

        rows = PatternMatrix(self._tally, self._plan.space)
        search = Search(rows, self._levels, all_models(weight, self._plan.stop_probability))
        return search.walk(search.sweep(progress=self._progress), choose, label)

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
    levels = exhaustive_levels(plan.space, plan.depth)
    return gate.release(plan.mechanism(epsilon), lambda: ModelSampler(tally, plan, levels, progress), purpose=purpose)


@dataclass(frozen=True)
class ListDraw:
    """A rule list drawn in blocks of rules, each block jointly.

    Attributes
    ----------
    candidates : Candidates
        The rules.
    blocks : tuple of int
        How many rules each block may add.
    stop_probability : float
        The prior's chance to stop at a position.
    """

    candidates: Candidates
    blocks: tuple[int, ...]
    stop_probability: float

    def block(self, number: int, chosen: tuple[Antecedent, ...] = ()) -> Draw:
        """Return the plan of one block, after the rules in `chosen`."""
        return Draw(Space.of_lists(self.candidates, chosen), self.blocks[number], self.stop_probability)


def list_blocks(most: int, lookahead: int | None) -> tuple[int, ...]:
    """Return the most rules that each block adds: `lookahead` at a time, `most` in all."""
    size = max(most if lookahead is None else min(lookahead, most), 1)
    return tuple(min(size, most - start) for start in range(0, max(most, 1), size))


def list_cost(candidates: int, blocks: tuple[int, ...], classes: int) -> Cost:
    """Return an upper bound on the cost of drawing a list in these blocks."""
    costs = [Cost.of(options=candidates, sides=candidates, depth=depth, classes=classes) for depth in blocks]
    states, evaluations = sum(cost.states for cost in costs), sum(cost.evaluations for cost in costs)
    return Cost(candidates, states, evaluations, classes)


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
        purpose = f"draw of up to {block.depth} {'more ' if number else ''}rules with their labels"
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
