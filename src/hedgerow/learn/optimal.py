"""Estimators of rule lists and trees with a certificate of optimality (`search/certified.py`), without privacy."""

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from hedgerow.boundary.arguments import check_share
from hedgerow.errors import ArgumentError, SearchLimitWarning, TooManyRowsError
from hedgerow.learn.base import (
    FROM_DATA,
    Publish,
    SchemaParameter,
    Specification,
    T,
    TrainingRows,
    check_depth,
    check_list_parameters,
)
from hedgerow.learn.callers import warn
from hedgerow.learn.contract import Classifier, Regressor, TallyEstimator, of_model, on_rows, parameters_of
from hedgerow.learn.learned import LeafValues, leaf_totals, leaves_of, list_model, tree_model
from hedgerow.learn.objectives import (
    CLIP,
    OBJECTIVE,
    ClassificationLoss,
    ClassObjective,
    NumberObjective,
    RegressionLoss,
    RowLoss,
)
from hedgerow.learn.parameters import documented
from hedgerow.learn.search.certified import find_optimum, rows_needed
from hedgerow.learn.search.lattice import InnerNode, value_of
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.optimum import Limit, Optimum, SearchProblem, SearchSettings
from hedgerow.learn.search.space import Space
from hedgerow.models.decisions import ClassWeight, Costs, CostTable
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.rule_list import RuleList
from hedgerow.models.tree import Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument
from hedgerow.text.progress import progress_bar

_STEPS = 2**20  # per row, at most: the resolution of penalties, so that sums of objectives are exact
_SMALLER = "use a smaller max_depth or max_rules, fewer cut points, or a larger min_support or regularization"
_STOPS = {
    "time": ("reached its time limit (time_limit={} seconds)", "Raise time_limit"),
    "interrupt": ("was interrupted (Ctrl-C)", "Let the search finish"),
}
_LONGEST = 2**40  # seconds: no limit in practice, and small enough for the addition to a clock
_EXACT = 2**50  # sums of a loss and a few penalties, in steps, are exact in float64 below this


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalSpecification(Specification):
    """Specification of a search for the model with the smallest loss, with a proof or a proven gap."""

    min_support: float = 0.01
    regularization: float = 0.0
    time_limit: float | None = None
    schema: SchemaParameter = FROM_DATA
    verbose: bool = False
    takes_weights = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_share("min_support", self.min_support)
        check_share("regularization", self.regularization)
        self.loss  # noqa: B018 -- checks its parameters
        limit = self.time_limit
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, Real) or not limit > 0):
            raise ArgumentError(f"time_limit must be a number of seconds > 0 or None, got {describe_argument(limit)}.")

    @property
    def loss(self) -> RowLoss:
        """The loss of a row."""
        raise NotImplementedError

    def costs_by_class(self, schema: Schema) -> CostTable | None:
        return self.loss.costs_by_class(schema)

    def find(self, problem: SearchProblem, space: Space, depth: int) -> Optimum:
        """Return the model with the smallest loss of all models up to a depth, with its proof."""
        n, loss = problem.n_rows, problem.loss
        limit = _EXACT // (loss.reach * loss.steps)
        if n >= limit:
            raise TooManyRowsError(f"A certified search takes fewer than {limit:,} rows, for which float64 is exact.")
        steps = min(_STEPS, 2 ** ((_EXACT // max(n * loss.reach, 1)).bit_length() - 1))
        penalty = round(float(self.regularization) * n * float(problem.unit) * steps) / steps
        settings = SearchSettings(
            depth, rows_needed(problem.tally, float(self.min_support)), penalty, problem.objective
        )
        with progress_bar("searching", verbose=self.verbose) as update:

            def progress(level: int, done: int, states: int) -> None:
                update(description=f"level {level}, {states:,} states", completed=done, total=states)

            limit = None if self.time_limit is None else float(min(self.time_limit, _LONGEST))
            return problem.reported(find_optimum(problem.tally, space, settings, limit, progress))

    def values(self, problem: SearchProblem) -> Loss | None:
        """Return the loss whose values are the probabilities of a leaf, or None if leaves predict levels."""
        return problem.loss if isinstance(problem.loss, Loss) else None


def proof(optimum: Optimum, tally: Tally) -> dict[str, Any]:
    """Return the fitted attributes of the certificate."""
    n, is_optimal = max(int(tally.total().sum()), 1), optimum.lower_bound >= optimum.objective
    return {
        "objective_": optimum.objective / n,
        "lower_bound_": optimum.lower_bound / n,
        "optimal_": is_optimal,
        "n_states_": optimum.n_states,
        "stopped_by_": None if is_optimal else optimum.stopped_by,
    }


class CertifiedEstimator(TallyEstimator):
    """Estimator that warns if the search was stopped before optimality was proven."""

    time_limit: float | None
    objective_: float
    lower_bound_: float
    optimal_: bool
    n_states_: int
    stopped_by_: Limit | None

    def _publish(self, model: Any, /, **facts: Any) -> None:
        super()._publish(model, **facts)
        if self.stopped_by_ is not None:
            stop, advice = _STOPS[self.stopped_by_]
            warn(
                f"The search {stop.format(self.time_limit)} before optimality was proven. The model's objective is "
                f"{self.objective_:.6g}, and the proven lower bound is {self.lower_bound_:.6g} "
                f"(gap {self.objective_ - self.lower_bound_:.2g}). {advice}, or {_SMALLER}.",
                SearchLimitWarning,
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalRuleList(OptimalSpecification):
    """Specification of the rule list with the smallest loss."""

    max_rules: int = 5
    max_literals: int = 1
    negations: bool = True

    def __post_init__(self) -> None:
        check_list_parameters(self.max_rules, self.max_literals, self.negations)
        super().__post_init__()

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        tally = rows.count()
        problem = self.loss.problem(tally)
        candidates = Candidates.of(problem.tally.schema, int(self.max_literals), negations=bool(self.negations))
        space = Space.of_lists(candidates)
        optimum = self.find(problem, space, int(self.max_rules) - 1)
        part, antecedents, values = optimum.model, list[Antecedent](), list[int]()
        while isinstance(part, InnerNode):
            antecedents.append(space.antecedent(part.option))
            values.append(value_of(part.caught))
            part = part.left
        values.append(value_of(part))
        build = list_model(antecedents, LeafValues(tally.leaf_counts(antecedents), values, self.values(problem)))
        return publish(self.built(build, schema, PrivacyCard.none(Fact("not_private"))), **proof(optimum, tally))


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalTree(OptimalSpecification):
    """Specification of the tree with the smallest loss."""

    max_depth: int = 3

    def __post_init__(self) -> None:
        check_depth(self.max_depth)
        super().__post_init__()

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        tally = rows.count()
        problem = self.loss.problem(tally)
        space = Space.of_trees(problem.tally.schema)
        optimum = self.find(problem, space, int(self.max_depth))
        counts = np.array(list(leaf_totals(tally, space, optimum.model)))
        values = [value_of(leaf) for leaf in leaves_of(optimum.model)]
        build = tree_model(space, optimum.model, LeafValues(counts, values, self.values(problem)))
        return publish(self.built(build, schema, PrivacyCard.none(Fact("not_private"))), **proof(optimum, tally))


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalRuleListClassification(OptimalRuleList):
    """Specification of a certified rule list for classification."""

    objective: ClassObjective = OBJECTIVE
    costs: Costs | None = None
    class_weight: ClassWeight | None = None
    estimator = "OptimalRuleListClassifier"

    @property
    def loss(self) -> ClassificationLoss:
        return ClassificationLoss(self.objective, self.costs, self.class_weight)


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalRuleListRegression(OptimalRuleList):
    """Specification of a certified rule list for regression."""

    objective: NumberObjective = "squared"
    quantile: float = 0.5
    clip: float = CLIP
    estimator = "OptimalRuleListRegressor"
    predicts_number = True

    @property
    def loss(self) -> RegressionLoss:
        return RegressionLoss(self.objective, self.quantile, self.clip)


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalTreeClassification(OptimalTree):
    """Specification of a certified tree for classification."""

    objective: ClassObjective = OBJECTIVE
    costs: Costs | None = None
    class_weight: ClassWeight | None = None
    estimator = "OptimalTreeClassifier"

    @property
    def loss(self) -> ClassificationLoss:
        return ClassificationLoss(self.objective, self.costs, self.class_weight)


@dataclass(frozen=True, kw_only=True, eq=False)
class OptimalTreeRegression(OptimalTree):
    """Specification of a certified tree for regression."""

    objective: NumberObjective = "squared"
    quantile: float = 0.5
    clip: float = CLIP
    estimator = "OptimalTreeRegressor"
    predicts_number = True

    @property
    def loss(self) -> RegressionLoss:
        return RegressionLoss(self.objective, self.quantile, self.clip)


@documented
class OptimalRuleListClassifier(CertifiedEstimator, Classifier):
    """The rule list with the smallest training loss, certified. **Not private**: the list and its counts are exact.

    The search covers all lists with up to ``max_rules - 1`` rules, each with enough support at its position, and a
    default rule. If no limit stops it, the list is optimal (`optimal_`).

    Parameters
    ----------
    max_rules : int, default=5
        The maximum number of rules, including the default rule.
    max_literals : int, default=1
        The maximum number of literals in a rule. With 2 literals, certifying more than two rules can take hours.
    %(negations)s
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s
    %(certified)s

    Notes
    -----
    Branch and bound: states with the same rows are searched once, and bounds prune states that cannot be part of a
    better list.

    References
    ----------
    Angelino, Larus-Stone, Alabi, Seltzer and Rudin, *Learning Certifiably Optimal Rule Lists for Categorical Data*,
    JMLR 2018, for the problem and the equivalent-points bound.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> clf = OptimalRuleListClassifier(max_rules=3, schema=None).fit(X, X[:, 0] & X[:, 1])
    >>> print(clf.rule_list_)
    if not x0 then 0     # 100.0 % of 20
    else if x1 then 1    # 100.0 % of 10
    else 0               # 100.0 % of 10
    >>> clf.optimal_
    True
    """

    rule_list_: RuleList
    _fitted = "rule_list_"
    min_support: float
    regularization: float
    verbose: bool
    max_rules: int
    max_literals: int
    negations: bool
    objective: ClassObjective
    costs: Costs | None
    class_weight: ClassWeight | None

    @parameters_of(OptimalRuleListClassification)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)


@documented
class OptimalTreeClassifier(CertifiedEstimator, Classifier):
    """The decision tree with the smallest training loss, certified. **Not private**: tree and counts are exact.

    The search covers all trees of depth up to `max_depth` whose leaves have enough support. If no limit stops it, the
    tree is optimal (`optimal_`).

    Parameters
    ----------
    max_depth : int, default=3
        The maximum number of tests on a path.
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s
    %(certified)s

    Notes
    -----
    Branch and bound: nodes with the same rows are searched once, and bounds prune nodes that cannot be part of a better
    tree.

    References
    ----------
    Nijssen and Fromont, *Mining Optimal Decision Trees from Itemset Lattices*, KDD 2007; Aglin, Nijssen and Schaus,
    *Learning Optimal Decision Trees Using Caching Branch-and-Bound Search*, AAAI 2020.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> clf = OptimalTreeClassifier(max_depth=2, schema=None).fit(X, X[:, 0] ^ X[:, 1])
    >>> [clf.score(X, X[:, 0] ^ X[:, 1]), clf.optimal_]
    [1.0, True]
    """

    tree_: Tree
    _fitted = "tree_"
    min_support: float
    regularization: float
    verbose: bool
    max_depth: int
    objective: ClassObjective
    costs: Costs | None
    class_weight: ClassWeight | None

    @parameters_of(OptimalTreeClassification)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)


@documented
class OptimalRuleListRegressor(CertifiedEstimator, Regressor):
    """The regression rule list with the smallest training loss, certified. **Not private**: its counts are exact.

    %(certificate of numbers)s

    Parameters
    ----------
    max_rules : int, default=5
        The maximum number of rules, including the default rule.
    max_literals : int, default=1
        The maximum number of literals in a rule.
    %(negations)s
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(regression)s

    %(fitted)s
    %(certified)s

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> model = OptimalRuleListRegressor(clip=1.0).fit(X, 8.0 * X[:, 0] + 4.0 * X[:, 1])
    >>> [round(model.score(X, 8.0 * X[:, 0] + 4.0 * X[:, 1]), 1), model.optimal_]
    [0.9, True]
    """

    rule_list_: RuleList
    _fitted = "rule_list_"
    min_support: float
    regularization: float
    verbose: bool
    max_rules: int
    max_literals: int
    negations: bool
    objective: NumberObjective
    quantile: float
    clip: float

    @parameters_of(OptimalRuleListRegression)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)
    predict_quantiles = on_rows(LeafModel.predict_quantiles)


@documented
class OptimalTreeRegressor(CertifiedEstimator, Regressor):
    """The regression tree with the smallest training loss, certified. **Not private**: its counts are exact.

    %(certificate of numbers)s

    Parameters
    ----------
    max_depth : int, default=3
        The maximum number of tests on a path.
    %(min_support)s
    %(certified search)s
    %(schema)s
    %(verbose)s
    %(regression)s

    %(fitted)s
    %(certified)s

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> model = OptimalTreeRegressor(clip=1.0).fit(X, 8.0 * X[:, 0] + 4.0 * X[:, 1])
    >>> [bool(model.score(X, 8.0 * X[:, 0] + 4.0 * X[:, 1]) > 0.99), model.optimal_]
    [True, True]
    """

    tree_: Tree
    _fitted = "tree_"
    min_support: float
    regularization: float
    verbose: bool
    max_depth: int
    objective: NumberObjective
    quantile: float
    clip: float

    @parameters_of(OptimalTreeRegression)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)
    predict_quantiles = on_rows(LeafModel.predict_quantiles)
