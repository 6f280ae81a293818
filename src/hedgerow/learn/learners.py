"""Private learners by the kind of their models: all of an estimator but scikit-learn's part of it.

The command line learns, and plans compute, by them, without waiting for scikit-learn to be imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from hedgerow.errors import ArgumentError
from hedgerow.learn.base import RuleListEstimator, TreeEstimator
from hedgerow.learn.blocks import ListDraw, TreeDraw, list_costs, longest_path, tree_costs
from hedgerow.learn.objectives import OfClasses, OfReleasedNumbers
from hedgerow.learn.plans import DrawnList, DrawnTree, GreedyList, GreedyTree, Plan
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.scorecard.estimator import ScorecardEstimator, check_smooth
from hedgerow.learn.scorecard.numbers import NumberPlan
from hedgerow.learn.scorecard.plan import ScorecardPlan
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.outline import Outline
from hedgerow.learn.search.space import Space
from hedgerow.learn.searches import SearchEstimator, SearchPlan, choose_search
from hedgerow.learn.ssrl.greedy import DPGreedyRLEstimator
from hedgerow.privacy.charge import Amount, exact
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import describe_argument

LARGEST_DEPTH = 5
"""The largest depth that is drawn: 32 leaves, of which a reader can still follow each."""
GREEDY_DEPTH = 3
"""The levels of a tree that is grown greedily, if nobody chose their number."""
LARGEST_LIST = 10
"""The most rules of a list whose number of rules is drawn, the default rule included."""
GREEDY_RULES = 5
"""The rules of a list that is grown greedily, if nobody chose their number, the default rule included."""


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTreeEstimator(SearchEstimator, TreeEstimator):
    """A private estimator whose model is a tree."""

    max_depth: int | None = None
    _size_name, _parts = "max_depth", "levels"

    def _search_plan(self, schema: Schema) -> SearchPlan:
        outline = Outline.of_trees(schema)
        return choose_search(
            self.search,
            None if self.max_depth is None else self._depth(schema),
            None if self.lookahead is None else int(self.lookahead),
            min(LARGEST_DEPTH, outline.n_options),
            tree_costs(outline, self._row_loss(schema)),
            self._parts,
            "Use a smaller max_depth, fewer attributes, values or cut points, or search='auto'.",
        )

    def _drawn(self, schema: Schema, chosen: SearchPlan, cost: Cost, epsilon: Fraction, notes: tuple[str, ...]) -> Plan:
        stop = float(self.stop_probability)
        draw = TreeDraw(Space.of_trees(schema), chosen.blocks, stop, chosen.draws_size, self._row_loss(schema))
        return DrawnTree(epsilon=epsilon, notes=notes, cost=cost, draw=draw, **self._leaf_plan(schema))

    def _grown(self, schema: Schema, epsilon: Fraction, notes: tuple[str, ...]) -> Plan:
        space, most, leaves = Space.of_trees(schema), self._depth(schema), self._grown_leaves(schema)
        return GreedyTree(epsilon=epsilon, notes=notes, space=space, most=most, **leaves)

    def _depth(self, schema: Schema) -> int:
        """Return the depth, which is no more than there are tests one after the other, so that no share is idle."""
        depth = GREEDY_DEPTH if self.max_depth is None else int(self.max_depth)
        return min(depth, longest_path(schema, 1, negations=False))


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateRuleListEstimator(SearchEstimator, RuleListEstimator):
    """A private estimator whose model is a rule list."""

    max_rules: int | None = None
    max_literals: int = 1
    _size_name, _parts = "max_rules", "rules"

    def _search_plan(self, schema: Schema) -> SearchPlan:
        literals, negations = int(self.max_literals), bool(self.negations)
        return choose_search(
            self.search,
            None if self.max_rules is None else self._most(schema),
            None if self.lookahead is None else int(self.lookahead),
            LARGEST_LIST - 1,
            list_costs(schema, literals, negations=negations, objective=self._row_loss(schema)),
            self._parts,
            "Use fewer rules (max_rules), fewer literals (max_literals), fewer attributes, values or cut points, or "
            "search='auto'.",
        )

    def _drawn(self, schema: Schema, chosen: SearchPlan, cost: Cost, epsilon: Fraction, notes: tuple[str, ...]) -> Plan:
        stop = float(self.stop_probability)
        draw = ListDraw(self._candidates(schema), chosen.blocks, stop, chosen.draws_size, self._row_loss(schema))
        return DrawnList(epsilon=epsilon, notes=notes, cost=cost, draw=draw, **self._leaf_plan(schema))

    def _grown(self, schema: Schema, epsilon: Fraction, notes: tuple[str, ...]) -> Plan:
        candidates, most, leaves = self._candidates(schema), self._most(schema), self._grown_leaves(schema)
        return GreedyList(epsilon=epsilon, notes=notes, candidates=candidates, most=most, **leaves)

    def _most(self, schema: Schema) -> int:
        """Return the most rules but the default: no more than there can be one after the other."""
        rules = GREEDY_RULES if self.max_rules is None else int(self.max_rules)
        return min(rules - 1, longest_path(schema, int(self.max_literals), negations=bool(self.negations)))

    def _candidates(self, schema: Schema) -> Candidates:
        return Candidates.of(schema, int(self.max_literals), negations=bool(self.negations))


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateScorecardEstimator(PrivateEstimator, ScorecardEstimator):
    """A private estimator whose model is a scorecard."""

    delta: Amount | None = None
    smooth: Literal["auto"] | float = "auto"

    def check_public(self) -> None:
        """Check the parameters, and that `monotone` fits the schema; see `PrivateRuleListClassifier.check_public`."""
        super().check_public()
        if isinstance(self.schema, Schema):
            self._plan(self.schema)

    def _plan(self, schema: Schema) -> Plan:
        monotone = self._directions(schema)
        epsilon = exact(self.epsilon or 0, "epsilon") if self.delta else self._epsilon_of_a_row(schema)
        given: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": exact(self.delta or 0, "delta"),
            "rows": rows_of(schema.unit) if self.delta else 1,
            "schema": schema,
            "most": self._most_attributes,
            "points": int(self.points),
            "monotone": monotone,
        }
        plan = NumberPlan if self.predicts_number else ScorecardPlan
        return plan(**given) if isinstance(self.smooth, str) else plan(**given, across=float(self.smooth))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.delta is not None and not 0 < exact(self.delta, "delta") < 1:
            raise ArgumentError(f"delta must be None or a number between 0 and 1, got {describe_argument(self.delta)}.")
        check_smooth(self.smooth)


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
