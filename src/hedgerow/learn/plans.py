"""Plans of private fits, with their releases and shares of ε: base classes, and plans of greedy searches."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.learn import learned
from hedgerow.learn.greedy import Score, grow, grow_tree, private_choice, private_tests
from hedgerow.learn.leaf_shares import leaf_shares
from hedgerow.learn.learned import LEAF_SHARE, BuildModel, LeafNumbers, LeafValues, list_model, tree_model
from hedgerow.learn.releases import PlannedRelease, PlannedReleases, ReleaseRunner, Repeated, extremes, max_rho
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.sampler import Progress
from hedgerow.learn.search.space import Space
from hedgerow.learn.simplify import simplified, simplified_list
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.gini import MOST_ROWS
from hedgerow.privacy.noise import DiscreteLaplace, Mechanism, NoiseSource, PermuteAndFlip, Siblings
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.targets import Target
from hedgerow.tally import Tally


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Plan of a private fit, made from public values only."""

    epsilon: Fraction  # of the whole model
    delta: Fraction = Fraction(0)
    notes: tuple[Fact, ...] = ()  # notes on the card
    cost: Cost | None = None  # of an exact search
    model: ClassVar[str]  # the kind of model: "rule list", "tree" or "scorecard"

    @property
    def releases(self) -> PlannedReleases:
        """All releases of a fit."""
        raise NotImplementedError

    @cached_property
    def _releases(self) -> PlannedReleases:
        return self.releases

    @cached_property
    def rho(self) -> Fraction | None:
        """The largest ρ (zCDP) of a fit; None if it follows from ε."""
        return max_rho(self._releases)

    @cached_property
    def _extremes(self) -> tuple[PlannedRelease, ...]:
        """The releases of the runs with the largest cost, or the smallest ε for each release."""
        return tuple(extremes(self._releases))

    @property
    def max_rows(self) -> int | None:
        """The public row limit, or None. A fit takes fewer rows than this."""
        limits = (release.max_rows for release in self._extremes)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def is_fixed(self) -> bool:
        """Whether the releases and their ε do not depend on earlier answers."""
        return all(isinstance(node, PlannedRelease) for node in self.releases)

    @property
    def no_guarantee(self) -> tuple[Fact, ...]:
        """Reasons why the model has no guarantee; empty if it has a guarantee."""
        return ()

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum, before anything is charged."""
        for mechanism in dict.fromkeys(release.mechanism for release in self._extremes):
            noise.prepare(mechanism)

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> BuildModel:
        """Learn from the rows by the planned releases; the gate charges each before it is made."""
        runner = ReleaseRunner(self._releases, gate)
        build = self.run(tally, runner, progress)
        runner.finish()
        return build

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        """Learn from the rows; the runner makes every release, in the planned order."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class LeafPlan(Plan):
    """Base class of plans of models with leaves."""

    target: Target
    leaf_numbers: LeafNumbers | None  # the numbers that are released of each leaf
    predicts_means: bool = False  # whether leaves predict the mean of their rows

    def _with_released(
        self, leaf_values: LeafValues, released: Integers, noise: DiscreteLaplace, drawn: Sequence[int] | None
    ) -> LeafValues:
        """Return the values of leaves with released numbers, and the means or class shares that follow from them."""
        assert self.leaf_numbers is not None
        means, shares, number = None, None, self.target.as_number
        scale = noise.sensitivity / noise.epsilon
        if number is not None and self.predicts_means:
            means = learned.leaf_means(number, released, scale, drawn)
        is_by_errors = number is None and leaf_values.loss is not None and leaf_values.loss.is_errors
        if is_by_errors and drawn is not None and self.target.n_levels <= learned.MOST_FOR_SHARES:
            shares = leaf_shares(released, drawn, float(scale))
        return replace(leaf_values, means=means, shares=shares, **{self.leaf_numbers.kind: released})


@dataclass(frozen=True, kw_only=True)
class GreedyPlan(LeafPlan):
    """Base class of plans of greedy searches, which spend 80 % of ε on choices."""

    score: Score
    loss: Loss | None = None  # minimised by the predictions of leaves; None for the majority class, or means
    most: int  # the maximum number of rules or levels
    leaf_numbers: LeafNumbers
    choice_of: ClassVar[str]  # the code of the query of a choice
    choice: type[PermuteAndFlip] = PermuteAndFlip  # `GumbelChoice` if a budget accounts in ρ

    @property
    def releases(self) -> PlannedReleases:
        for_leaves = self.epsilon * LEAF_SHARE if self.most else self.epsilon
        return (
            Repeated((PlannedRelease(self.choice_of, self._mechanism, max_rows=MOST_ROWS),), self.most),
            replace(self.leaf_numbers.planned(self.target, for_leaves), takes_rest=True),
        )

    @cached_property
    def rho(self) -> Fraction | None:
        # The share of unused choices goes to the leaves: ρ if the mechanism of choices declares it, otherwise ε.
        return None if self._mechanism.rho is None else super().rho

    @property
    def _mechanism(self) -> Mechanism:
        """The mechanism of a choice."""
        return self.choice(self.epsilon * (1 - LEAF_SHARE) / max(self.most, 1), self.score.sensitivity)

    def _values(self, counts: Integers) -> list[int] | None:
        return None if self.loss is None else [self.loss.best(row.astype(np.float64)) for row in counts]

    def _leaf_values(self, counts: Integers, noise: DiscreteLaplace) -> LeafValues:
        return self._with_released(LeafValues(values=self._values(counts), loss=self.loss), counts, noise, None)


@dataclass(frozen=True, kw_only=True)
class GreedyListPlan(GreedyPlan):
    """Plan of a greedy rule list."""

    candidates: Candidates  # the candidate rules
    model = "rule list"
    choice_of = "rule_choice"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        grown = grow(tally, self.candidates, self.most, private_choice(runner, self.score))
        antecedents, _ = simplified_list(tally.schema, grown)
        noise = runner.mechanism(self.leaf_numbers.query_code)
        counts = learned.release_leaf_counts(tally, antecedents, runner, self.leaf_numbers)
        if tally.schema.weight is not None and not self.predicts_means:  # the model has labels, no sums of weights
            labels = self._values(counts) or counts.argmax(axis=1).tolist()
            antecedents, places = simplified_list(tally.schema, antecedents, labels)
            counts = counts[list(places)]
        return list_model(antecedents, self._leaf_values(counts, noise))


@dataclass(frozen=True, kw_only=True)
class GreedyTreePlan(GreedyPlan):
    """Plan of a greedy tree."""

    space: Space  # the candidate tests
    model = "tree"
    choice_of = "level_choice"

    @property
    def _mechanism(self) -> Mechanism:
        return Siblings(super()._mechanism)

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        grown = grow_tree(tally, self.space, self.most, private_tests(runner, self.score))
        tree = simplified(grown, self.space)
        noise = runner.mechanism(self.leaf_numbers.query_code)
        counts = learned.release_tree_counts(tally, self.space, tree, runner, self.leaf_numbers)
        return tree_model(self.space, tree, self._leaf_values(counts, noise))
