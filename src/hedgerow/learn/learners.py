"""Private learners by the kind of their models: all of an estimator but scikit-learn's part of it.

The command line learns, and plans compute, by them, without waiting for scikit-learn to be imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.boundary.arguments import check_probability
from hedgerow.errors import ArgumentError, SearchTooLargeError
from hedgerow.learn.base import SMOOTH, RuleListEstimator, ScorecardEstimator, TreeEstimator, check_auto
from hedgerow.learn.blocks import CostOf, ListDraw, TreeDraw, list_costs, longest_path, tree_costs
from hedgerow.learn.objectives import OfClasses, OfReleasedNumbers
from hedgerow.learn.plans import DrawnList, DrawnTree, GreedyList, GreedyTree, Plan
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.search.cost import Outline
from hedgerow.learn.search.space import Space
from hedgerow.learn.searches import SearchEstimator, SearchPlan
from hedgerow.learn.ssrl.greedy import DPGreedyRLEstimator
from hedgerow.privacy.charge import Amount, exact
from hedgerow.privacy.noise import TwoSidedGumbelChoice, TwoSidedPermuteAndFlip
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import describe_argument

# Sizes that nobody chose, those of lists with the default rule
LARGEST_DEPTH, LARGEST_LIST = 5, 10  # that are drawn: 32 leaves, of which a reader can still follow each
GREEDY_DEPTH, GREEDY_RULES = 3, 5  # that are grown
DEEPEST_GREEDY = 12  # levels that may be asked for: each doubles the leaves and the time, whatever the rows


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeEstimator(SearchEstimator, TreeEstimator):
    """A private estimator whose model is a tree."""

    max_depth: int | None = None
    stop_probability: float | Literal["auto"] = "auto"
    _size_name, _parts = "max_depth", "levels"
    _advice = "Use a smaller max_depth, fewer attributes, values or cut points, or search='auto'."
    _draw, _drawn, _grown = TreeDraw, DrawnTree, GreedyTree

    def _costs(self, schema: Schema) -> tuple[CostOf, int]:
        outline = Outline.of_trees(schema)
        return tree_costs(outline, self._row_loss(schema)), min(LARGEST_DEPTH, outline.n_options)

    def _size(self, schema: Schema) -> int:
        depth = GREEDY_DEPTH if self.max_depth is None else int(self.max_depth)
        return min(depth, longest_path(schema, 1, negations=False))  # so that no share is idle

    def _options(self, schema: Schema) -> dict[str, Any]:
        return {"space": Space.of_trees(schema)}

    def _check_stop_probability(self) -> None:
        if not (isinstance(self.stop_probability, str) and self.stop_probability == "auto"):
            check_probability("stop_probability", self.stop_probability, expected="'auto' or between 0 and 1")

    def _search_plan(self, schema: Schema) -> SearchPlan:
        chosen, levels = super()._search_plan(schema), self._size(schema)
        if not chosen.blocks and levels > DEEPEST_GREEDY:
            problem = f"expected max_depth of {DEEPEST_GREEDY} at most where the search is greedy, got {levels}"
            told = f"{problem}: each level doubles the leaves and the time. Use a smaller max_depth."
            raise SearchTooLargeError(told, states=2**levels, evaluations=2**levels * Space.of_trees(schema).n_options)
        return chosen


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRuleListEstimator(SearchEstimator, RuleListEstimator):
    """A private estimator whose model is a rule list."""

    max_rules: int | None = None
    max_literals: int = 1
    _size_name, _parts = "max_rules", "rules"
    _advice = (
        "Use fewer rules (max_rules), fewer literals (max_literals), fewer attributes, values or cut points, or "
        "search='auto'."
    )
    _draw, _drawn, _grown = ListDraw, DrawnList, GreedyList

    def _costs(self, schema: Schema) -> tuple[CostOf, int]:
        literals, negations = int(self.max_literals), bool(self.negations)
        return list_costs(schema, literals, negations=negations, objective=self._row_loss(schema)), LARGEST_LIST - 1

    def _size(self, schema: Schema) -> int:
        rules = GREEDY_RULES if self.max_rules is None else int(self.max_rules)
        return min(rules - 1, longest_path(schema, int(self.max_literals), negations=bool(self.negations)))

    def _options(self, schema: Schema) -> dict[str, Any]:
        return {"candidates": Candidates.of(schema, int(self.max_literals), negations=bool(self.negations))}


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateScorecardEstimator(PrivateEstimator, ScorecardEstimator):
    """A private estimator whose model is a scorecard."""

    delta: Amount | None = None
    smooth: Literal["auto"] | float = "auto"

    def check_public(self) -> None:
        super().check_public()
        if isinstance(self.schema, Schema):
            self._plan(self.schema)

    def _plan(self, schema: Schema) -> Plan:
        from hedgerow.learn.scorecard import number_plan, plan  # lists and trees need neither

        monotone = self._directions(schema)
        epsilon = exact(self.epsilon or 0, "epsilon") if self.delta else self._epsilon_of_a_row(schema)
        prior: dict[str, Any] = {} if isinstance(self.smooth, str) else {"across": float(self.smooth)}
        return (number_plan.NumberPlan if self.predicts_number else plan.ScorecardPlan)(
            epsilon=epsilon,
            delta=exact(self.delta or 0, "delta"),
            rows=rows_of(schema.unit) if self.delta else 1,
            schema=schema,
            most=self._most_attributes,
            points=int(self.points),
            monotone=monotone,
            choice=TwoSidedGumbelChoice if self._adds_up_rho else TwoSidedPermuteAndFlip,
            **prior,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.delta is not None and not 0 < exact(self.delta, "delta") < 1:
            raise ArgumentError(f"delta must be None or a number between 0 and 1, got {describe_argument(self.delta)}.")
        check_auto("smooth", self.smooth, *SMOOTH)


def _learner(estimator: str, *bases: type, **more: Any) -> type[Any]:
    """Return the learner of an estimator, whose name it has: charges name it."""
    return dataclass(eq=False, repr=False, kw_only=True)(type(estimator, bases, more))


Learners = Mapping[str, type[Any]]
CLASSIFIERS: Learners = {
    "rule-list": _learner("PrivateRuleListClassifier", OfClasses, PrivateRuleListEstimator),
    "tree": _learner("PrivateTreeClassifier", OfClasses, PrivateTreeEstimator),
    "scorecard": _learner("PrivateScorecardClassifier", PrivateScorecardEstimator),
    "dp-greedyrl": _learner("DPGreedyRLClassifier", DPGreedyRLEstimator),
}
REGRESSORS: Learners = {
    "rule-list": _learner("PrivateRuleListRegressor", OfReleasedNumbers, PrivateRuleListEstimator),
    "tree": _learner("PrivateTreeRegressor", OfReleasedNumbers, PrivateTreeEstimator),
    "scorecard": _learner("PrivateScorecardRegressor", PrivateScorecardEstimator, predicts_number=True),
}


def estimators_of(target: Target) -> Learners:
    """Return the estimators of a target, by the kind of their models, as questions to a service name them."""
    from hedgerow import learn  # scikit-learn takes long to import

    learners = CLASSIFIERS if target.as_number is None else REGRESSORS
    return {kind: getattr(learn, one.__name__) for kind, one in learners.items() if kind != "dp-greedyrl"}
