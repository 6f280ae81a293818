"""The automatic choice between a tree and a scorecard: by public numbers, or by a draw from all trees and a scorecard.

docs/mathematics.md, fact 3, proves the draw. docs/benchmarks/model_choice.md says how the constants were chosen.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
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
"""By rows times ε: the share of ε for the draw in which a scorecard, for the rest, competes with the trees.

With fewer rows, a tree takes all of ε. Trees gain little from more ε than this, and scorecards more.
"""
HANDICAP = 20
"""The prior weight of the scorecard is exp(-20) times that of all trees.

The best trees have a small share of all trees' prior weight, and a scorecard fits its own rows better than others.
"""
COUNT_SHARE = Fraction(1, 100)  # of ε, for a count of the rows if their number is not public


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateAutoClassification(PrivateSpecification):
    """The private learner that chooses between a tree and a scorecard of classes."""

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
        """Return what a fit with this number of rows takes, and why; None if that depends on rows not given.

        A fact of the code ``model_choice``. Its model is ``either`` if it is drawn from all trees and a scorecard.
        """
        if (forced := self._forced(schema)) is not None:
            return forced
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
        epsilon, left = self.epsilon_of_a_row(schema), self.exact_epsilon * (1 - COUNT_SHARE)
        least = (0, *rows_needed(epsilon))
        choices = tuple(one for rows in least if (one := self.choice(schema, rows)) is not None)
        plans = tuple(self._plan_of(one, schema, left) for one in choices)
        return CountedPlan(epsilon=epsilon, plans=plans, choices=choices, least=least, cost=plans[-1].cost)

    def _plan_of(self, choice: Fact, schema: Schema, epsilon: Fraction) -> Plan:
        """Return the plan of a choice for this ε of a unit."""
        if choice["model"] == "tree":
            return self._tree(epsilon).plan(schema)
        if choice["model"] == "scorecard":
            return self._scorecard(epsilon).plan(schema)
        share = draw_share(choice["rows"] * self.epsilon_of_a_row(schema))
        card, tree = self._scorecard(epsilon * (1 - share)).plan(schema), self._tree(epsilon * share).plan(schema)
        assert isinstance(tree, TreeDrawPlan)  # as `choice` requires
        return EitherPlan(epsilon=card.epsilon + tree.epsilon, card=card, tree=tree, choice=choice, cost=tree.cost)

    def _forced(self, schema: Schema) -> Fact | None:
        """Return the only model that can be learned; None if a tree and a scorecard can."""
        of_cards = {"ranking": self.scoring == "roc_auc", "monotone": bool(schema.monotone)}
        of_trees = {"costs": not self._tree(self.exact_epsilon).loss.is_default, "weights": schema.weight is not None}
        for_card, for_tree = ([why for why, holds in each.items() if holds] for each in (of_cards, of_trees))
        if for_card and for_tree:
            problem = f"expected what a tree or a scorecard can do, got {_WORDS[for_card[0]]}, for which a scorecard"
            raise ArgumentError(f"{problem} is needed, and {_WORDS[for_tree[0]]}, for which a tree is; drop either.")
        if for_card:
            return Fact("model_choice", model="scorecard", because=for_card[0])
        return Fact("model_choice", model="tree", because=for_tree[0]) if for_tree else None

    def _draws_jointly(self, schema: Schema) -> bool:
        """Return whether all trees of this schema are drawn from at once."""
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
    "monotone": "monotone attributes in the schema",
    "costs": "costs or class_weight",
    "weights": "weights of rows in the schema",
}


def draw_share(strength: Fraction) -> Fraction:
    """Return the share of ε for the draw, given the rows times ε; 0 if a tree takes all of it."""
    return next((share for least, share in reversed(DRAW_SHARES.items()) if strength >= least), Fraction(0))


def rows_needed(epsilon: Fraction) -> tuple[int, ...]:
    """Return the numbers of rows from which on the draw has each of its shares, given the ε of a row."""
    # Where no count can be as large, epsilon is too small for any draw.
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
    """Return what `PrivateAutoClassifier` takes of a table with this number of rows, and why.

    The choice depends on public numbers alone. It is a fact of the code ``model_choice``: its detail ``model`` is
    ``tree``, ``scorecard`` or, if it is drawn from all trees and a scorecard, ``either``.
    """
    learner = PrivateAutoClassification(epsilon, scoring=scoring, costs=costs, class_weight=class_weight)
    choice = learner.choice(schema, rows)
    assert choice is not None  # the number of rows is given
    return choice


def _with_notes(build: BuildModel, *notes: Fact) -> BuildModel:
    return lambda schema, card: build(schema, replace(card, notes=(*card.notes, *notes)))


@dataclass(frozen=True, kw_only=True)
class CountedPlan(Plan):
    """A choice by a noisy count of the rows, which costs a hundredth of ε."""

    plans: tuple[Plan, ...]  # with what is left of ε
    choices: tuple[Fact, ...]  # what each of these takes, and why
    least: tuple[int, ...]  # the rows from which on each of these is taken
    model = "tree or scorecard"

    @property
    def releases(self) -> PlannedReleases:
        count = PlannedRelease("class_totals", DiscreteLaplace(self.epsilon * COUNT_SHARE, 1))
        return count, Branch(range(len(self.plans)), lambda place: self.plans[place].releases)

    @property
    def rho(self) -> Fraction | None:
        # That of a greedy tree follows from ε.
        return None if any(plan.rho is None for plan in self.plans) else super().rho

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        rows = max(int(sum(runner.release(tally.total, Fact("class_totals")))), 0)
        place = sum(rows >= least for least in self.least) - 1
        runner.decide(place)
        plan, choice = self.plans[place], self.choices[place].having(rows=rows, is_noisy=True)
        if isinstance(plan, EitherPlan):
            return replace(plan, choice=choice).run(tally, runner, progress)
        return _with_notes(plan.run(tally, runner, progress), choice, *plan.notes)


@dataclass(frozen=True, kw_only=True)
class EitherPlan(Plan):
    """A scorecard, then one draw from all trees and this scorecard.

    The scorecard is released first and costs its own ε. Given it, the exponential mechanism draws from all trees and
    the scorecard by their misclassified rows: one row changes all of them by 0 to 1 in one direction, so the draw costs
    its weight, as a draw from trees alone does.
    """

    card: Plan
    tree: TreeDrawPlan
    choice: Fact
    model = "tree or scorecard"

    @property
    def releases(self) -> PlannedReleases:
        draw, *of_leaves = self.tree.releases
        assert isinstance(draw, PlannedRelease)
        draw = replace(draw, mechanism=replace(self.tree.mechanism, handicap=HANDICAP))
        return *self.card.releases, draw, Branch((False, True), lambda is_tree: tuple(of_leaves) if is_tree else ())

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:
        build = self.card.run(tally, runner, progress)
        other = Alternative(lambda rows: _values(build, rows), HANDICAP)
        block, query = replace(self.tree.block(0), alternative=other), self.tree.query.having(or_scorecard=True)
        drawn = draw_model(tally, block, runner, query, progress)
        runner.decide(drawn is not None)
        if drawn is None:
            return _with_notes(build, self.choice.having(model="scorecard"))
        build = self.tree.finish(tally, simplified(drawn, self.tree.space), runner)
        return _with_notes(build, self.choice.having(model="tree"), *self.tree.notes)


def _values(build: BuildModel, tally: Tally) -> Integers:
    """Return the class that a scorecard predicts for each pattern of a table, as its place."""
    model = build(tally.schema, PrivacyCard.none(Fact("not_private")))
    bins = tally.bins(model.used_attributes)
    return model.outcomes_of(bins, len(tally.bins_and_counts()[0]))
