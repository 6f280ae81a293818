"""Exact private draws of a model from all rule lists or trees, by the exponential mechanism on its loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.errors import ArgumentError, SearchTooLargeError, TooManyRowsError
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.conjunctions import Outcomes, OutcomeValues, count_states
from hedgerow.learn.search.cost import MOST_NUMBERS, Cost, SearchShape, masks_cost
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import (
    ExhaustiveLevel,
    Masks,
    Node,
    PatternMatrix,
    Search,
    exhaustive_levels,
)
from hedgerow.learn.search.losses import Loss, LossTable, Objective
from hedgerow.learn.search.outside import DrawChances, LeafShares, OutsideBoxes, OutsideMasks
from hedgerow.learn.search.pairs import Pairs, PairValues
from hedgerow.learn.search.semirings import all_models, all_models_of_many_rows, choice_of_many_rows
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, Choose, ModelDraw, Rounding
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema.targets import Label
from hedgerow.tally import Tally

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Progress = Callable[[int], object]
States = Boxes | Pairs | Outcomes | Sequence[ExhaustiveLevel]
"""The states of a search: boxes or pairs of rules, outcomes of single tests, or sets of sides, counted by masks."""


@dataclass(frozen=True, eq=False)
class Alternative:
    """Released model that competes with all models of a draw; its prior weight is ``exp(-handicap)`` times theirs."""

    values: Callable[[Tally], Integers]  # the predicted value, such as the class, for each pattern of a table
    handicap: int

    def loss(self, tally: Tally, loss: Loss) -> float:
        """Return the loss of the model on a table, in steps. **Private**: exact, without noise."""
        _, counts = tally.bins_and_counts()
        return float((counts * loss.by_value[self.values(tally)]).sum())


@dataclass(frozen=True, eq=False)
class Draw:
    """Search space and prior of an exact draw: public, made before any row is read."""

    space: Space
    depth: int  # the maximum number of consecutive choices
    prior: StopPrior  # the probability of stopping at a position
    # Whether the size is drawn too, with a uniform prior on the depths from 0 to `depth`.
    draws_size: bool = False
    objective: Objective = "errors"
    siblings: int = 1  # the maximum number of disjoint tables that share the charge
    row_loss: Loss | None = None  # the loss of a row, if it differs from the objective's
    alternative: Alternative | None = None  # a released model that may be drawn instead

    def __post_init__(self) -> None:
        if self.draws_size and self.alternative is not None:
            # The bound on rounding covers a choice of the size or an alternative, not both.
            raise ArgumentError("draws_size must be False if a released model competes with the draw.")
        if self.draws_size and not self.prior.is_constant:
            # Boxes are valued by the remaining choices, which do not determine the depth if the size is drawn too.
            raise ArgumentError("draws_size needs a prior that does not depend on the depth.")
        depth = min(self.depth, self.space.n_options)  # a path takes each option at most once
        object.__setattr__(self, "depth", depth)

    @cached_property
    def cost(self) -> Cost:
        return SearchShape.of(self.space).draw_cost(self.depth, self.objective, draws_size=self.draws_size)

    @cached_property
    def loss(self) -> Loss:
        return self.row_loss or Loss.of(self.objective, self.space.candidates.schema.target.n_levels)

    @property
    def sizes(self) -> range:
        return range(0 if self.draws_size else self.depth, self.depth + 1)

    def states(self) -> States:
        """Return the states of the search, which do not depend on the table."""
        kinds = {"cubes": Boxes.of, "pairs": Pairs.of, "conjunctions": Outcomes.of}
        states = kinds[self.cost.method](self.space, self.depth) if self.cost.method in kinds else None
        return exhaustive_levels(self.space, self.depth) if states is None else states

    def valued_states(self) -> Boxes | Sequence[ExhaustiveLevel]:
        """Return states from which probabilities can be passed on, if necessary sets of sides."""
        if self.cost.method in ("cubes", "masks"):
            states = self.states()
            assert not isinstance(states, Pairs | Outcomes)
            if isinstance(states, Boxes):
                self._check_outside(states)
            return states
        cost = masks_cost(SearchShape.of(self.space), self.depth, self.objective)
        remedy = "rules of one literal (max_literals=1), or fewer rules"
        if CAUGHT in self.space.branches:
            remedy = "fewer attributes or a smaller max_depth"
        cost.check(f"Use {remedy}, to audit a draw exactly.")
        return exhaustive_levels(self.space, self.depth)

    def _check_outside(self, boxes: Boxes) -> None:
        """Raise SearchTooLargeError if exact probabilities need too much memory."""
        width = sum(axis.n_bins for axis in boxes.axes)
        largest = max(prod(group.shape) for group in boxes.groups(boxes.depth - 1))
        numbers = len(self.loss.values) * largest * width
        if numbers > MOST_NUMBERS:
            raise SearchTooLargeError(
                f"Exact probabilities of this draw need {numbers:,} numbers in memory, at most {MOST_NUMBERS:,} are "
                "supported. Use fewer cut points or levels, a smaller size, or objective='errors' for classes.",
                states=self.cost.states,
                evaluations=self.cost.evaluations,
            )

    @property
    def rounding(self) -> Rounding:
        leaves = 2**self.depth if CAUGHT in self.space.branches else self.depth + 1
        values, sizes = len(self.loss.values), (self.loss.steps, self.siblings)
        return Rounding(self.depth, leaves, self.space.n_options, values, self.prior, *sizes)

    def mechanism(self, epsilon: Fraction) -> ModelDraw:
        """Return the mechanism that costs `epsilon`; raise ValueError below the supported minimum."""
        loss = self.objective.loss if isinstance(self.objective, LossTable) else Fact(self.objective)
        handicap = None if self.alternative is None else self.alternative.handicap
        return ModelDraw(epsilon, self.rounding.weight(epsilon), loss, handicap=handicap)


class ModelSampler:
    """Sampler of the models of a plan over a private table."""

    def __init__(self, tally: Tally, plan: Draw, states: States, progress: Progress, rows: int | None = None) -> None:
        self._rows = int(tally.total().sum()) if rows is None else rows  # of all tables that share the charge
        self._tally, self._plan, self._states = tally, plan, states
        if isinstance(states, Boxes):
            total = sum(states.sizes.count(choices) for choices in range(plan.depth))
        elif isinstance(states, Pairs):
            total = 1 + states.space.n_options * (plan.depth > 1)
        elif isinstance(states, Outcomes):
            total = sum(count_states(states.space.n_options, size) for size in plan.sizes)
        else:
            total = sum(len(level.states) for size in plan.sizes for level in states[:size])
        self._progress = _in_public_steps(total, progress)

    def sample(self, weight: float, choose: Choose) -> Node | None:
        """Draw a model with probability proportional to ``prior·exp(−weight·loss)``; None for the alternative."""
        # All states are visited, whatever the labels; states without rows have weight 1 by the prior.
        plan, loss = self._plan, self._plan.loss
        check_rows(self._rows, plan.rounding.max_rows(weight), "this draw (search='greedy' takes 2^43)")
        option = choice_of_many_rows(choose, weight, loss.steps) if self._has_many_rows else choose
        step: Any = 1 + 0j if self._has_many_rows else -(weight / loss.steps)

        def value(counts: Floats) -> int:
            return option(step * loss.totals(counts))

        models, size = self._models(weight), plan.depth
        if plan.draws_size:
            size = option(np.array([models.total(size) for size in plan.sizes]))
        if (alternative := plan.alternative) is not None:
            prior = -alternative.handicap * (1j if self._has_many_rows else 1)
            if option(np.array([models.total(size), step * alternative.loss(self._tally, loss) + prior])):
                return None
        return models.walk(size, option, value)

    def chances(self, weight: float) -> DrawChances:
        """Return the probability of each value for each pattern. **Private**: exact, without noise."""
        check_rows(self._rows, MOST_ROWS, "exact probabilities of a draw")
        plan, models, shares = self._plan, self._models(weight), LeafShares(self._plan.loss, weight)
        if isinstance(models, Cubes):
            return OutsideBoxes(models, plan.sizes, shares).chances
        assert isinstance(models, Masks)
        return OutsideMasks(models, shares).chances

    def _models(self, weight: float) -> Cubes | PairValues | OutcomeValues | Masks:
        plan, loss = self._plan, self._plan.loss
        if self._has_many_rows:
            semiring = all_models_of_many_rows(weight, plan.prior, loss)
        else:
            semiring = all_models(weight, plan.prior, None if loss.is_errors else loss)
        if isinstance(self._states, Boxes):
            return Cubes(self._tally, self._states, semiring, progress=self._progress)
        if isinstance(self._states, Pairs):
            return PairValues(self._tally, self._states, semiring, self._progress)
        if isinstance(self._states, Outcomes):
            return OutcomeValues(self._tally, self._states, semiring, plan.sizes, progress=self._progress)
        rows = PatternMatrix(self._tally, plan.space)
        return Masks(Search(rows, self._states, semiring), plan.sizes, self._progress)

    @property
    def _has_many_rows(self) -> bool:
        return self._rows >= MOST_ROWS

    def distance(self, other: ModelSampler) -> float:
        """Return the number of rows by which the tables differ; infinite if rows were both added and removed."""
        return self._tally.distance(other._tally)


def check_rows(rows: int, limit: int, purpose: str) -> None:
    if rows >= limit:
        raise TooManyRowsError(f"The table is too large: {purpose} takes fewer than {limit:,} rows.")


_SURE = 200.0  # the log-ratio, in addition to the weight, by which conditioned values outweigh all others


def conditioned(tally: Tally, plan: Draw, weight: Fraction, values: Mapping[int, Mask]) -> tuple[Tally, Draw]:
    """Return a table and a plan whose draw is the draw of `plan`, conditioned on values of some patterns' leaves.

    It is exact to within ``e^−100`` if the condition has a probability of at least ``e^(−w − 100)`` for weight w.
    """
    # An artificial level for each pattern costs 1 under all other values; many rows of it are added.
    target, free = tally.schema.target, np.array(list(values.values()), dtype=bool).reshape(len(values), -1)
    levels, steps = target.n_levels + len(values), plan.loss.steps
    schema = replace(tally.schema, label=Label(target.name, tuple(range(levels))))
    bins, counts = tally.bins_and_counts()
    counts = np.hstack([counts, np.zeros((len(counts), len(values)), dtype=np.int64)])
    rows = math.ceil(len(values) * (_SURE + weight) / weight)
    counts[list(values), range(target.n_levels, levels)] = rows
    made_up = tuple(tuple(0 if is_free else steps for is_free in line) for line in free)
    loss = replace(plan.loss, table=plan.loss.table + made_up)
    space = replace(plan.space, candidates=replace(plan.space.candidates, schema=schema))
    return Tally(schema, bins, counts), replace(plan, space=space, row_loss=loss)


def _in_public_steps(total: int, progress: Progress) -> Progress:
    """Return a callback that reports `total` in hundredths, whatever the sizes of the steps."""
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


def draw_model(tally: Tally, plan: Draw, runner: ReleaseRunner, query: Fact, progress: Progress) -> Any:
    """Draw a model of a plan for a single charge; None for the alternative."""
    # Between neighbouring tables, the loss of every model differs by 0 to 1, in the same direction.
    states = plan.states()
    mechanism = plan.mechanism(runner.mechanism(query.code).epsilon)
    return runner.release(lambda: ModelSampler(tally, plan, states, progress), query, mechanism)


def draw_models(
    parts: Sequence[tuple[Tally, Draw]], runner: ReleaseRunner, query: Fact, progress: Progress
) -> list[Node]:
    """Draw a model for each of several disjoint tables, for a single charge (parallel composition)."""
    # A row is in at most one table, so an added row changes the losses for one table only. The planned mechanism is for
    # a draw at least as large as each of these, with at least as many siblings.
    draws = [(tally, plan, plan.states()) for tally, plan in parts]
    rows = sum(int(tally.total().sum()) for tally, _ in parts)
    return runner.release(
        lambda: [ModelSampler(tally, plan, states, progress, rows) for tally, plan, states in draws], query
    )


class _OneThread:
    """Context manager that limits BLAS to one thread: products of a search are small, and waiting threads spin."""

    _lock, _searches, _limits = Lock(), 0, ExitStack()

    @contextmanager
    def __call__(self) -> Generator[None]:
        with self._lock:
            if not self._searches:
                self._limits.enter_context(_libraries().limit(limits=1, user_api="blas"))
            self._searches += 1
        try:
            yield
        finally:
            with self._lock:
                self._searches -= 1
                if not self._searches:
                    self._limits.close()


@cache
def _libraries() -> ThreadpoolController:
    """Return the loaded libraries that use threads, which take milliseconds to find."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


one_thread = _OneThread()
