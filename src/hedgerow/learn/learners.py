"""Specifications of private learners, by kind of model.

They do not import scikit-learn, which is slow to import. The public estimators are in `trees`, `rule_lists` and
`scorecards`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

from hedgerow.boundary.arguments import check_probability
from hedgerow.errors import ArgumentError, SearchTooLargeError
from hedgerow.learn.base import (
    SMOOTH,
    Monotone,
    check_auto,
    check_depth,
    check_list_parameters,
    check_scorecard_parameters,
    directions,
)
from hedgerow.learn.blocks import CostOf, ListDrawPlan, TreeDrawPlan, list_costs, longest_path, tree_costs
from hedgerow.learn.objectives import (
    CLIP,
    OBJECTIVE,
    ClassificationLoss,
    ClassObjective,
    NumberObjective,
    PrivateRegressionLoss,
)
from hedgerow.learn.plans import GreedyListPlan, GreedyTreePlan, Plan
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.learn.search.cost import SearchShape
from hedgerow.learn.search.space import Space
from hedgerow.learn.searches import SearchPlan, SearchSpecification
from hedgerow.learn.ssrl.greedy import PublishedRuleList
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.privacy.amounts import Amount, exact
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import describe_argument

# Default sizes; sizes of lists include the default rule.
LARGEST_DEPTH, LARGEST_LIST = 5, 10  # of exact searches: a reader can still follow each of 32 leaves
GREEDY_DEPTH, GREEDY_RULES = 3, 5
COARSE_DEPTH = 3
"""The number of levels for which an exact search of a regression tree may leave out every second cut point."""
DEEPEST_GREEDY = 12  # the maximum depth: each level doubles the leaves and the time, whatever the rows


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateTree(SearchSpecification):
    """Parameters of a private tree."""

    max_depth: int | None = None
    stop_probability: float | Literal["auto"] = "auto"
    takes_weights = True
    model, parts, size_name = "tree", "levels", "max_depth"
    too_large = "Use a smaller max_depth, fewer attributes, values or cut points, or search='auto'."

    def __post_init__(self) -> None:
        if self.max_depth is not None:
            check_depth(self.max_depth)
        super().__post_init__()

    @property
    def requested_size(self) -> int | None:
        return self.max_depth

    def size(self, schema: Schema) -> int:
        depth = GREEDY_DEPTH if self.max_depth is None else int(self.max_depth)
        return min(depth, longest_path(schema, 1, negations=False))  # so that no share is idle

    def exact_costs(self, schema: Schema) -> tuple[CostOf, int]:
        shape = SearchShape.of_trees(schema, self.every(schema))
        return tree_costs(shape, self.loss.table(schema)), min(LARGEST_DEPTH, shape.n_options)

    def exact_plan(self, schema: Schema, common: dict[str, Any]) -> TreeDrawPlan:
        return TreeDrawPlan(space=Space.of_trees(schema, self.every(schema)), **common)

    def every(self, schema: Schema) -> int:
        """Return 2 if the exact search of a fit uses every second cut point of attributes with many, else 1; public.

        An unspecified depth is the largest depth whose search is quick. A regression tree leaves out cut points if
        three levels are quick only without them.
        """
        if self.max_depth is not None or self.search == "greedy" or not self.predicts_number:
            return 1
        whole, coarse = SearchShape.of_trees(schema), SearchShape.of_trees(schema, 2)
        return 2 if self._is_quick(coarse) and coarse != whole and not self._is_quick(whole) else 1

    def _is_quick(self, shape: SearchShape) -> bool:
        """Return whether a search of three levels is quick."""
        levels = min(COARSE_DEPTH, shape.n_options)
        return tree_costs(shape, self.loss.table(shape.schema))((levels,), not self._stops_by_depth).is_quick

    def greedy_plan(self, schema: Schema, common: dict[str, Any]) -> GreedyTreePlan:
        return GreedyTreePlan(space=Space.of_trees(schema), **common)

    def _check_stop_probability(self) -> None:
        if not (isinstance(self.stop_probability, str) and self.stop_probability == "auto"):
            check_probability("stop_probability", self.stop_probability, expected="'auto' or between 0 and 1")

    def search_plan(self, schema: Schema) -> SearchPlan:
        chosen, levels = super().search_plan(schema), self.size(schema)
        if not chosen.blocks and levels > DEEPEST_GREEDY:
            message = f"max_depth must be at most {DEEPEST_GREEDY} for a greedy search, got {levels}."
            evaluations = 2**levels * Space.of_trees(schema).n_options
            raise SearchTooLargeError(message, states=2**levels, evaluations=evaluations)
        return chosen


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateRuleList(SearchSpecification):
    """Parameters of a private rule list."""

    max_rules: int | None = None
    max_literals: int = 1
    negations: bool = True
    takes_weights = True
    model, parts, size_name = "rule list", "rules", "max_rules"
    too_large = (
        "Use fewer rules (max_rules), fewer literals (max_literals), fewer attributes, values or cut points, or "
        "search='auto'."
    )

    def __post_init__(self) -> None:
        check_list_parameters(1 if self.max_rules is None else self.max_rules, self.max_literals, self.negations)
        super().__post_init__()

    @property
    def requested_size(self) -> int | None:
        return self.max_rules

    def size(self, schema: Schema) -> int:
        rules = GREEDY_RULES if self.max_rules is None else int(self.max_rules)
        return min(rules - 1, longest_path(schema, int(self.max_literals), negations=bool(self.negations)))

    def exact_costs(self, schema: Schema) -> tuple[CostOf, int]:
        literals, negations = int(self.max_literals), bool(self.negations)
        return list_costs(schema, literals, negations=negations, objective=self.loss.table(schema)), LARGEST_LIST - 1

    def exact_plan(self, schema: Schema, common: dict[str, Any]) -> ListDrawPlan:
        return ListDrawPlan(candidates=self._candidates(schema), **common)

    def greedy_plan(self, schema: Schema, common: dict[str, Any]) -> GreedyListPlan:
        return GreedyListPlan(candidates=self._candidates(schema), **common)

    def _candidates(self, schema: Schema) -> Candidates:
        return Candidates.of(schema, int(self.max_literals), negations=bool(self.negations))


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateTreeClassification(PrivateTree):
    """Parameters of `PrivateTreeClassifier`."""

    release_counts: bool | Literal["auto"] = "auto"
    objective: ClassObjective = OBJECTIVE
    costs: Costs | None = None
    class_weight: ClassWeight | None = None
    estimator = "PrivateTreeClassifier"

    @property
    def loss(self) -> ClassificationLoss:
        return ClassificationLoss(self.objective, self.costs, self.class_weight)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateTreeRegression(PrivateTree):
    """Parameters of `PrivateTreeRegressor`."""

    release_counts: bool = False
    objective: NumberObjective = "squared"
    quantile: float = 0.5
    clip: float = CLIP
    release_means: bool = True
    estimator = "PrivateTreeRegressor"
    predicts_number = True

    @property
    def loss(self) -> PrivateRegressionLoss:
        return PrivateRegressionLoss(self.objective, self.quantile, self.clip, self.release_means)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateRuleListClassification(PrivateRuleList):
    """Parameters of `PrivateRuleListClassifier`."""

    release_counts: bool | Literal["auto"] = "auto"
    objective: ClassObjective = OBJECTIVE
    costs: Costs | None = None
    class_weight: ClassWeight | None = None
    estimator = "PrivateRuleListClassifier"

    @property
    def loss(self) -> ClassificationLoss:
        return ClassificationLoss(self.objective, self.costs, self.class_weight)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateRuleListRegression(PrivateRuleList):
    """Parameters of `PrivateRuleListRegressor`."""

    release_counts: bool = False
    objective: NumberObjective = "squared"
    quantile: float = 0.5
    clip: float = CLIP
    release_means: bool = True
    estimator = "PrivateRuleListRegressor"
    predicts_number = True

    @property
    def loss(self) -> PrivateRegressionLoss:
        return PrivateRegressionLoss(self.objective, self.quantile, self.clip, self.release_means)


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateScorecard(PrivateSpecification):
    """Parameters of a private scorecard."""

    max_attributes: int | None = None
    points: int = 40
    monotone: Monotone = None
    delta: Amount | None = None
    smooth: Literal["auto"] | float = "auto"
    keeps_monotone = True

    def __post_init__(self) -> None:
        check_scorecard_parameters(self.max_attributes, self.points, self.monotone)
        super().__post_init__()
        if self.delta is not None and not 0 < exact(self.delta, "delta") < 1:
            raise ArgumentError(f"delta must be None or a number between 0 and 1, got {describe_argument(self.delta)}.")
        check_auto("smooth", self.smooth, *SMOOTH)

    def check_public(self) -> None:
        super().check_public()
        if isinstance(self.schema, Schema):
            self.plan(self.schema)

    def plan(self, schema: Schema) -> Plan:
        from hedgerow.learn.scorecard import class_plan, number_plan  # lists and trees need neither

        monotone = directions(schema, self.monotone)
        prior: dict[str, Any] = {} if isinstance(self.smooth, str) else {"across": float(self.smooth)}
        plan = (number_plan.NumberPlan if self.predicts_number else class_plan.ClassPlan)(
            epsilon=self.exact_epsilon if self.delta else self.epsilon_of_a_row(schema),
            delta=exact(self.delta or 0, "delta"),
            rows=rows_of(schema.unit) if self.delta else 1,
            schema=schema,
            most=None if self.max_attributes is None else int(self.max_attributes),
            points=int(self.points),
            monotone=monotone,
            adds_up_rho=self.adds_up_rho,
            **prior,
        )
        if not self.delta or plan.may_use_delta:
            return plan
        return replace(plan, epsilon=self.epsilon_of_a_row(schema), delta=Fraction(0), rows=1)


class PrivateScorecardClassification(PrivateScorecard):
    """Parameters of `PrivateScorecardClassifier`."""

    estimator = "PrivateScorecardClassifier"


class PrivateScorecardRegression(PrivateScorecard):
    """Parameters of `PrivateScorecardRegressor`."""

    estimator = "PrivateScorecardRegressor"
    predicts_number = True


Learners = Mapping[str, type[Any]]
CLASSIFIERS: Learners = {
    "rule-list": PrivateRuleListClassification,
    "tree": PrivateTreeClassification,
    "scorecard": PrivateScorecardClassification,
    "dp-greedyrl": PublishedRuleList,
}
REGRESSORS: Learners = {
    "rule-list": PrivateRuleListRegression,
    "tree": PrivateTreeRegression,
    "scorecard": PrivateScorecardRegression,
}


def learners_of(target: Target) -> Learners:
    """Return the learners of a target by the kind of model, as requests to a service name it."""
    learners = CLASSIFIERS if target.as_number is None else REGRESSORS
    return {kind: learner for kind, learner in learners.items() if kind != "dp-greedyrl"}
