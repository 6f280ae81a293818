"""The choice between a tree and a scorecard, from public parameters or by a private draw from both kinds of models.

docs/mathematics.md, fact 3, proves the draw. docs/benchmarks/model_choice.md explains the constants.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil
from typing import Literal

from hedgerow.boundary.arguments import check_choice, check_integer
from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError
from hedgerow.learn.blocks import TreeDrawPlan
from hedgerow.learn.learned import BuildModel
from hedgerow.learn.learners import PrivateScorecardClassification, PrivateTreeClassification
from hedgerow.learn.plans import Plan
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.learn.releases import Branch, PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.search.sampler import Alternative, Progress, draw_model
from hedgerow.learn.simplify import simplified
from hedgerow.models.decisions import ClassWeight, Costs, CostTable
from hedgerow.privacy.amounts import Amount
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import LARGEST_COUNT, Fact
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

Scoring = Literal["accuracy", "roc_auc"]
SCORINGS: tuple[Scoring, ...] = ("accuracy", "roc_auc")
DRAW_SHARES = {3_000: Fraction(1, 2), 12_000: Fraction(1, 4)}
"""The share of ε for the draw from all trees and a scorecard, by the smallest number of rows times ε.

The scorecard takes the rest of ε. With fewer rows, a tree takes all of ε. Trees gain little from a larger share.
"""
HANDICAP = 20
"""The prior weight of the scorecard is exp(-20) times the prior weight of all trees together.

It compensates for two effects: the best trees have only a small part of the prior weight of all trees, and a scorecard
fits its training rows better than new rows.
"""
COUNT_SHARE = Fraction(1, 100)  # share of ε for a count of the rows, if their number is not public


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateAutoClassification(PrivateSpecification):
    """Specification of a private classifier that is a tree or a scorecard."""

    scoring: Scoring = "accuracy"
    n_rows: int | None = None
    costs: Costs | None = None
    class_weight: ClassWeight | None = None
    estimator = "PrivateAutoClassifier"
    keeps_monotone = True
    takes_weights = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("scoring", self.scoring, SCORINGS)
        if self.n_rows is not None and check_integer("n_rows", self.n_rows, 1) >= LARGEST_COUNT:
            raise ArgumentError(f"n_rows must be below 2^63, got {describe_argument(self.n_rows)}.")
        self._tree(self.exact_epsilon)  # checks costs

    def check_public(self) -> None:
        super().check_public()
        if isinstance(self.schema, Schema):
            self.plan(self.schema)

    def costs_by_class(self, schema: Schema) -> CostTable | None:
        return self._tree(self.exact_epsilon).costs_by_class(schema)

    def choice(self, schema: Schema, rows: int | None = None) -> Fact | None:
        """Return the model of a fit with this number of rows and the reason; None if it depends on unknown rows.

        The fact has the code ``model_choice``. Its model is ``either`` if a draw decides.
        """
        if (only := self._only_choice(schema)) is not None:
            return only
        if rows is None:
            return None
        needed, *_ = rows_needed(self.epsilon_of_a_row(schema))
        if rows < needed:
            model, because = "tree", "few_rows"
        elif self._draws_jointly(schema):
            model, because = "either", "drawn"
        else:
            model, because = "scorecard", "many_rows"
        return Fact("model_choice", model=model, because=because, rows=rows, rows_needed=needed)

    def plan(self, schema: Schema) -> Plan:
        rows = None if self.n_rows is None else int(self.n_rows)
        choice = self.choice(schema, rows)
        if choice is not None:
            plan = self._plan_of(choice, schema, self.exact_epsilon)
            return plan if isinstance(plan, EitherPlan) else replace(plan, notes=(choice, *plan.notes))
        epsilon, remaining = self.epsilon_of_a_row(schema), self.exact_epsilon * (1 - COUNT_SHARE)
        min_rows = (0, *rows_needed(epsilon))
        choices = tuple(option for rows in min_rows if (option := self.choice(schema, rows)) is not None)
        plans = tuple(self._plan_of(option, schema, remaining) for option in choices)
        return CountedPlan(epsilon=epsilon, plans=plans, choices=choices, min_rows=min_rows, cost=plans[-1].cost)

    def _plan_of(self, choice: Fact, schema: Schema, epsilon: Fraction) -> Plan:
        """Return the plan of a choice, given the ε of a unit."""
        if choice["model"] == "tree":
            return self._tree(epsilon).plan(schema)
        if choice["model"] == "scorecard":
            return self._scorecard(epsilon).plan(schema)
        share = draw_share(choice["rows"] * self.epsilon_of_a_row(schema))
        card, tree = self._scorecard(epsilon * (1 - share)).plan(schema), self._tree(epsilon * share).plan(schema)
        assert isinstance(tree, TreeDrawPlan)  # as `choice` requires
        return EitherPlan(epsilon=card.epsilon + tree.epsilon, card=card, tree=tree, choice=choice, cost=tree.cost)

    def _only_choice(self, schema: Schema) -> Fact | None:
        """Return the choice if the parameters or the schema allow one kind of model only, else None."""
        only_card = {"ranking": self.scoring == "roc_auc", "monotone": bool(schema.monotone)}
        only_tree = {"costs": not self._tree(self.exact_epsilon).loss.is_default, "weights": schema.weight is not None}
        for_card, for_tree = ([why for why, holds in reasons.items() if holds] for reasons in (only_card, only_tree))
        if for_card and for_tree:
            problem = f"{_WORDS[for_card[0]]} needs a scorecard, and {_WORDS[for_tree[0]]} needs a tree"
            raise ArgumentError(f"{problem}; remove either.")
        if for_card:
            return Fact("model_choice", model="scorecard", because=for_card[0])
        return Fact("model_choice", model="tree", because=for_tree[0]) if for_tree else None

    def _draws_jointly(self, schema: Schema) -> bool:
        """Return whether a whole tree of this schema is drawn at once."""
        plan = self._tree(self.exact_epsilon).plan(schema)
        return isinstance(plan, TreeDrawPlan) and len(plan.blocks) == 1

    def _tree(self, epsilon: Fraction) -> PrivateTreeClassification:
        return PrivateTreeClassification(
            epsilon, costs=self.costs, class_weight=self.class_weight, schema=self.schema, budget=self.budget
        )

    def _scorecard(self, epsilon: Fraction) -> PrivateScorecardClassification:
        return PrivateScorecardClassification(epsilon, schema=self.schema, budget=self.budget)


_WORDS = {
    "ranking": "scoring='roc_auc'",
    "monotone": "a schema with monotone attributes",
    "costs": "a fit with costs or class_weight",
    "weights": "a schema with row weights",
}


def draw_share(strength: Fraction) -> Fraction:
    """Return the share of ε for the draw, given the number of rows times ε; 0 if a tree takes all of ε."""
    return next((share for least, share in reversed(DRAW_SHARES.items()) if strength >= least), Fraction(0))


def rows_needed(epsilon: Fraction) -> tuple[int, ...]:
    """Return the smallest number of rows for each share of the draw, given the ε of a row."""
    # If the number exceeds the largest count, epsilon is too small for any draw.
    return tuple(min(ceil(least / epsilon), LARGEST_COUNT - 1) for least in DRAW_SHARES)


def automatic_choice(
    schema: Schema,
    rows: int,
    epsilon: Amount,
    *,
    scoring: Scoring = "accuracy",
    costs: Costs | None = None,
    class_weight: ClassWeight | None = None,
) -> Fact:
    """Return the kind of model that `PrivateAutoClassifier` learns from this number of rows, and the reason.

    The choice depends on public numbers only. The fact has the code ``model_choice``; its detail ``model`` is ``tree``,
    ``scorecard`` or, if a draw from all trees and a scorecard decides, ``either``.
    """
    learner = PrivateAutoClassification(epsilon, scoring=scoring, costs=costs, class_weight=class_weight)
    choice = learner.choice(schema, rows)
    assert choice is not None  # the number of rows is given
    return choice


def _with_notes(build: BuildModel, *notes: Fact) -> BuildModel:
    return lambda schema, card: build(schema, replace(card, notes=(*card.notes, *notes)))


@dataclass(frozen=True, kw_only=True)
class CountedPlan(Plan):
    """Plan that decides by a noisy count of the rows, for a hundredth of ε."""

    plans: tuple[Plan, ...]  # for the remaining ε
    choices: tuple[Fact, ...]  # the reason for each plan
    min_rows: tuple[int, ...]  # the smallest number of rows for each plan
    model = "tree or scorecard"

    @property
    def releases(self) -> PlannedReleases:
        count = PlannedRelease("class_totals", DiscreteLaplace(self.epsilon * COUNT_SHARE, 1))
        return count, Branch(range(len(self.plans)), lambda place: self.plans[place].releases)

    @cached_property
    def rho(self) -> Fraction | None:
        # The ρ of a greedy tree follows from ε.
        return None if any(plan.rho is None for plan in self.plans) else super().rho

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        rows = max(int(sum(runner.release(tally.total, Fact("class_totals")))), 0)
        place = sum(rows >= threshold for threshold in self.min_rows) - 1
        runner.decide(place)
        plan, choice = self.plans[place], self.choices[place].having(rows=rows, is_noisy=True)
        if isinstance(plan, EitherPlan):
            return replace(plan, choice=choice).run(tally, runner, progress)
        return _with_notes(plan.run(tally, runner, progress), choice, *plan.notes)


@dataclass(frozen=True, kw_only=True)
class EitherPlan(Plan):
    """Plan of a scorecard, then one draw from all trees and this scorecard.

    The scorecard is released first, for its own ε. The exponential mechanism then draws from all trees and the
    scorecard by misclassified rows. One added row changes every score by 0 to 1 in the same direction (monotone), so
    the draw costs as much as a draw from trees only.
    """

    card: Plan
    tree: TreeDrawPlan
    choice: Fact
    model = "tree or scorecard"

    @property
    def releases(self) -> PlannedReleases:
        draw, *leaf_releases = self.tree.releases
        assert isinstance(draw, PlannedRelease)
        draw = replace(draw, mechanism=replace(self.tree.mechanism, handicap=HANDICAP))
        return *self.card.releases, draw, Branch((False, True), lambda is_tree: tuple(leaf_releases) if is_tree else ())

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        scorecard = self.card.run(tally, runner, progress)
        alternative = Alternative(lambda rows: _values(scorecard, rows), HANDICAP)
        block, query = replace(self.tree.block(0), alternative=alternative), self.tree.query.having(or_scorecard=True)
        drawn = draw_model(tally, block, runner, query, progress)
        runner.decide(drawn is not None)
        if drawn is None:
            return _with_notes(scorecard, self.choice.having(model="scorecard"))
        build = self.tree.finish(tally, simplified(drawn, self.tree.space), runner)
        return _with_notes(build, self.choice.having(model="tree"), *self.tree.notes)


def _values(build: BuildModel, tally: Tally) -> Integers:
    """Return the index of the class that a scorecard predicts for each pattern of a table."""
    model = build(tally.schema, PrivacyCard.none(Fact("not_private")))
    bins = tally.bins(model.used_attributes)
    return model.outcomes_of(bins, len(tally.bins_and_counts()[0]))
