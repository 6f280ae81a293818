"""Plans of private fits: greedy growth, or a draw from all models, with their shares of ε."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from hedgerow.boundary.arrays import Integers, Mask
from hedgerow.errors import ArgumentError
from hedgerow.learn import learned
from hedgerow.learn.base import Learned
from hedgerow.learn.blocks import ListDraw, TreeDraw, draw_list, draw_releases, draw_tree
from hedgerow.learn.greedy import Score, grow, grow_tree, private_choice, private_tests
from hedgerow.learn.learned import LEAF_SHARE, LeafNumbers, LearnedList, LearnedTree
from hedgerow.learn.releases import PlannedRelease, PlannedReleases, ReleaseRunner, Repeated, extremes, most_rho
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.lattice import Stop, value_of
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.outside import MOST_WEIGHT, DrawChances
from hedgerow.learn.search.sampler import ModelSampler, Progress, conditioned
from hedgerow.learn.search.space import Space
from hedgerow.learn.simplify import simplified, simplified_list
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.gini import MOST_ROWS
from hedgerow.privacy.noise import DiscreteLaplace, Mechanism, NoiseSource, PermuteAndFlip, Siblings
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.targets import Target
from hedgerow.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The plan of a private fit, made from public values alone; unless it says otherwise, its guarantee is proven."""

    epsilon: Fraction  # the privacy loss of the whole model
    delta: Fraction = Fraction(0)
    notes: tuple[Fact, ...] = ()  # notes on the card
    cost: Cost | None = None  # of an exact search
    model: ClassVar[str]  # the kind of model: "rule list", "tree" or "scorecard"

    @property
    def releases(self) -> PlannedReleases:
        """The description of all releases of a fit."""
        raise NotImplementedError

    @property
    def rho(self) -> Fraction | None:
        """The most that the model costs in ρ (zCDP); None for what follows from ε."""
        return most_rho(self.releases)

    @property
    def most_rows(self) -> int | None:
        """The public row limit of the search, or None: a fit takes fewer rows than this."""
        return min((most for one in extremes(self.releases) if (most := one.most_rows) is not None), default=None)

    @property
    def is_fixed(self) -> bool:
        """Whether what is released, and for which ε, depends on no earlier answer."""
        return all(isinstance(node, PlannedRelease) for node in self.releases)

    @property
    def no_guarantee(self) -> tuple[Fact, ...]:
        """Why a model of this kind has no guarantee; empty if it has one."""
        return ()

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum: before anything is charged."""
        for mechanism in dict.fromkeys(one.mechanism for one in extremes(self.releases)):
            noise.prepare(mechanism)

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> Learned:
        """Learn from the rows by the described releases, each charged to the gate's budget before it is made."""
        runner = ReleaseRunner(self.releases, gate)
        learned = self.run(tally, runner, progress)
        runner.finish()
        return learned

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> Learned:
        """Learn from the rows; every release is made by the runner, in the order of the description."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LeafPlan(Plan):
    """Base class of plans of models with leaves: what is released about the rows of these, and what follows from it."""

    target: Target
    of_leaves: LeafNumbers | None  # what is released
    predicts_means: bool = False  # whether leaves predict the mean of their rows

    def _found(self, released: Integers, noise: DiscreteLaplace, drawn: Sequence[int] | None) -> dict[str, Any]:
        """Return what a learned model has of the released numbers, beside the levels that were drawn."""
        assert self.of_leaves is not None
        found: dict[str, Any] = {self.of_leaves.kind: released}
        number = self.target.as_number
        if number is not None and self.predicts_means:
            found["means"] = learned.leaf_means(number, released, noise.sensitivity / noise.epsilon, drawn)
        return found


@dataclass(frozen=True, kw_only=True)
class GreedyPlan(LeafPlan):
    """Base class of plans that grow a model choice by choice; four fifths of ε are for the choices."""

    score: Score
    loss: Loss | None = None  # by which leaves predict, of the released counts; None for the commonest, or means
    most: int  # how many rules, or levels, are chosen
    of_leaves: LeafNumbers
    choice_of: ClassVar[str]  # the code of the query of a choice
    choice: type[PermuteAndFlip] = PermuteAndFlip  # `GumbelChoice` where a budget adds up ρ

    @property
    def releases(self) -> PlannedReleases:
        for_leaves = self.epsilon * LEAF_SHARE if self.most else self.epsilon
        return (
            Repeated((PlannedRelease(self.choice_of, self._mechanism, most_rows=MOST_ROWS),), self.most),
            replace(self.of_leaves.planned(self.target, for_leaves), takes_rest=True),
        )

    @property
    def rho(self) -> Fraction | None:
        # What choices that were not made leave goes to the leaves: of ρ where choices declare it, or else of ε.
        return None if self._mechanism.rho is None else super().rho

    @property
    def _mechanism(self) -> Mechanism:
        """The mechanism of a choice."""
        return self.choice(self.epsilon * (1 - LEAF_SHARE) / max(self.most, 1), self.score.sensitivity)

    def _values(self, counts: Integers) -> list[int] | None:
        return None if self.loss is None else [self.loss.best(row.astype(np.float64)) for row in counts]


@dataclass(frozen=True, kw_only=True)
class GreedyListPlan(GreedyPlan):
    """A rule list grown rule by rule."""

    candidates: Candidates  # the candidate rules
    model = "rule list"
    choice_of = "rule_choice"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> LearnedList:  # noqa: ARG002
        grown = grow(tally, self.candidates, self.most, private_choice(runner, self.score))
        antecedents, _ = simplified_list(tally.schema, grown)
        noise = runner.mechanism(self.of_leaves.query_code)
        counts = learned.release_leaf_counts(tally, antecedents, runner, self.of_leaves)
        if tally.schema.weight is not None and not self.predicts_means:  # labels alone are kept of sums of weights
            said = self._values(counts) or counts.argmax(axis=1).tolist()
            antecedents, places = simplified_list(tally.schema, antecedents, said)
            counts = counts[list(places)]
        return LearnedList(antecedents, values=self._values(counts), loss=self.loss, **self._found(counts, noise, None))


@dataclass(frozen=True, kw_only=True)
class GreedyTreePlan(GreedyPlan):
    """A tree grown level by level."""

    space: Space  # the tests to choose from
    model = "tree"
    choice_of = "level_choice"

    @property
    def _mechanism(self) -> Mechanism:
        return Siblings(super()._mechanism)

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> LearnedTree:  # noqa: ARG002
        grown = grow_tree(tally, self.space, self.most, private_tests(runner, self.score))
        tree = simplified(grown, self.space)
        noise = runner.mechanism(self.of_leaves.query_code)
        counts = learned.release_tree_counts(tally, self.space, tree, runner, self.of_leaves)
        tree = tree if self.loss is None else learned.grafted(tree, map(Stop, self._values(counts) or ()))
        return LearnedTree(self.space, tree, loss=self.loss, **self._found(counts, noise, None))


@dataclass(frozen=True, eq=False, repr=False)
class DrawProbabilities:
    """Probabilities of a draw on one table. **Private**: a function of the rows, for the curator only."""

    chances: DrawChances  # how likely each value is for each pattern
    loss: Loss  # the loss of a row
    weight: Fraction  # the weight of a loss of 1: what is left of the draw's share of ε after rounding
    score: str  # the loss in words, and what a loss of 1 is
    for_counts: Fraction  # the share of ε of the counts, or sums, that are released too; 0 where none are
    added: Integers  # by level, what a row adds to each of these of its leaf, shape (n_levels, n_numbers)
    options: tuple[Antecedent, ...]  # the rules, or tests

    @property
    def step(self) -> float:
        """The share of ε of a change by 1 of one count, or sum: the inverse of the scale of its noise."""
        return float(self.for_counts) / max(int(self.added.sum(axis=1).max()), 1)


@dataclass(frozen=True, kw_only=True)
class DrawPlan(LeafPlan):
    """Base class of plans that draw a model: the cost, and a share of ε for what is released of the leaves."""

    draw: ListDraw | TreeDraw

    def probabilities(self, tally: Tally, progress: Progress, given: Mapping[int, Mask]) -> DrawProbabilities:
        """Return how likely each pattern gets each value, given those of some leaves. **Private**, without noise."""
        if len(self.draw.blocks) > 1:
            raise ArgumentError(
                f"expected a model that is drawn as a whole, got one drawn in {len(self.draw.blocks)} blocks, of which "
                "no exact chances are available; ask for a smaller model, with search='exact' and lookahead=None."
            )
        draw, mechanism = self.draw.block(0), self.mechanism
        if mechanism.weight > MOST_WEIGHT:
            problem = f"expected a draw with a weight of {MOST_WEIGHT} at most, got {float(mechanism.weight):.6g}: the"
            raise ArgumentError(f"{problem} chances of its models are too small for float64; use a smaller epsilon.")
        if given:
            tally, draw = conditioned(tally, draw, mechanism.weight, given)
        sampler = ModelSampler(tally, draw, draw.valued_states(), progress)
        chances = sampler.chances(float(mechanism.weight))
        loss, options, of = self.draw.block(0).loss, draw.space.antecedents, self.of_leaves
        added = np.zeros((self.target.n_levels, 0), dtype=np.int64) if of is None else of.weights(self.target)
        weight, words = mechanism.weight, mechanism.loss.words
        return DrawProbabilities(chances, loss, weight, words, self._for_leaves, added, options)

    @property
    def mechanism(self) -> ModelDraw:
        """The draw of the first block."""
        return self.draw.block(0).mechanism(self._for_draw / len(self.draw.blocks))

    @property
    def releases(self) -> PlannedReleases:
        draws = draw_releases(self.draw, self._for_draw)
        if self.of_leaves is None:
            return draws
        return *draws, self.of_leaves.planned(self.target, self._for_leaves)

    def most_rho(self, size: int) -> Fraction:
        """Return the most in ρ of a draw of up to `size` for this ε: in one block, as ρ grows faster than ε."""
        draw = self.draw
        # The prior of one block follows all of ε: the more it rises with the depth, the more is kept for rounding.
        prior = replace(draw.prior, curve=len(draw.blocks) * draw.prior.curve)
        whole = replace(draw, blocks=(size,), prior=prior).block(0)
        return whole.mechanism(self._for_draw).rho + pure_rho(self._for_leaves)

    @property
    def _for_leaves(self) -> Fraction:
        return self.epsilon * self.of_leaves.share if self.of_leaves is not None else Fraction(0)

    @property
    def _for_draw(self) -> Fraction:
        return self.epsilon - self._for_leaves


@dataclass(frozen=True, kw_only=True)
class ListDrawPlan(DrawPlan):
    """A rule list drawn with its labels or probabilities, in one block or several."""

    draw: ListDraw  # what is drawn from
    model = "rule list"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> LearnedList:
        antecedents, values = draw_list(tally, self.draw, runner, progress)
        found: dict[str, Any] = {}
        if self.of_leaves is not None:
            noise = runner.mechanism(self.of_leaves.query_code)
            released = learned.release_leaf_counts(tally, antecedents, runner, self.of_leaves)
            found = self._found(released, noise, values)
        return LearnedList(antecedents, values=values, loss=self.draw.block(0).loss, **found)


@dataclass(frozen=True, kw_only=True)
class TreeDrawPlan(DrawPlan):
    """A tree drawn with its labels or probabilities."""

    draw: TreeDraw  # what is drawn from
    model = "tree"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> LearnedTree:
        space, tree = self.draw.space, draw_tree(tally, self.draw, runner, progress)
        found: dict[str, Any] = {}
        if self.of_leaves is not None:
            noise = runner.mechanism(self.of_leaves.query_code)
            released = learned.release_tree_counts(tally, space, tree, runner, self.of_leaves)
            found = self._found(released, noise, [value_of(leaf) for leaf in learned.leaves_of(tree)])
        return LearnedTree(space, tree, loss=self.draw.block(0).loss, **found)
