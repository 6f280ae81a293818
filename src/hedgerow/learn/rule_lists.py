"""Private rule lists, drawn by the exponential mechanism or grown greedily."""

from dataclasses import dataclass
from typing import Any, Literal

from hedgerow.boundary.arguments import check_share
from hedgerow.learn.base import (
    FROM_DATA,
    Publish,
    SchemaParameter,
    Specification,
    T,
    TrainingRows,
    check_list_parameters,
)
from hedgerow.learn.contract import (
    Classifier,
    PrivateEstimator,
    Regressor,
    of_learner,
    of_model,
    on_rows,
    parameters_of,
)
from hedgerow.learn.greedy import exact_choice, grow
from hedgerow.learn.learned import LeafValues, list_model
from hedgerow.learn.learners import PrivateRuleListClassification, PrivateRuleListRegression
from hedgerow.learn.objectives import ClassObjective, NumberObjective
from hedgerow.learn.parameters import documented
from hedgerow.learn.searches import SearchSpecification
from hedgerow.models.decisions import ClassWeight, Costs
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.rule_list import RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.facts import Fact
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema


@documented
class PrivateRuleListClassifier(PrivateEstimator, Classifier):
    """A rule list with pure ε-differential privacy.

    Neighbouring tables differ in one row, added or removed, or in all rows of the schema's `Unit`. A fit spends exactly
    `epsilon`. If the schema's cut points were learned privately, the privacy card adds their charge.

    Read more in the :doc:`guide </fit>`.

    Parameters
    ----------
    %(epsilon)s
    max_rules : int or None, default=None
        The maximum number of rules, including the default rule (SSRL's K). None: an exact search also draws the number,
        with a uniform prior over the numbers up to 10 that are expected to take at most eight seconds; a greedy search
        chooses up to 5 rules.
    max_literals : int, default=1
        The maximum number of literals in a rule. The number of candidate rules grows quickly with it, so that "auto"
        may have to search greedily.
    %(negations)s
    %(public schema)s
    %(budget)s
    %(exact search)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s

    See Also
    --------
    PrivateTreeClassifier : A tree instead of a rule list.
    OptimalRuleListClassifier : The rule list with the smallest loss, without privacy.

    Notes
    -----
    **Exact search.** The exponential mechanism draws the whole list, with the number of rules and the labels, from
    *all* rule lists within the limits. The score is −loss (monotone, sensitivity 1). `search_cost` returns the
    computational cost before any row is read. With `lookahead`, a block of rules is drawn jointly, then the next
    block, each for an equal share of ε. If the schema has many attributes, a few are chosen privately first
    (docs/mathematics.md, fact 5), unless ``search="exact"``.

    **Greedy search.** Permute-and-flip chooses each rule, or report-noisy-max with Gumbel noise if `budget` accounts in
    ρ (zCDP). The score is the negated Gini impurity in rows (monotone, sensitivity 2). With any loss other than errors
    it is the negated loss of the best predictions (sensitivity 1). The choices share 80 % of ε equally. The rest of ε,
    with the shares of unused choices, pays for one histogram of rules by class (sensitivity 1), from which all
    predictions and displayed counts follow.

    Rules and literals that cannot change a prediction are removed, which depends on the schema and the drawn list only.

    References
    ----------
    McKenna and Sheldon, *Permute-and-Flip: A New Mechanism for Differentially Private Selection*, NeurIPS 2020.
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Kasiviswanathan et al., *What Can We Learn Privately?*, SIAM Journal on Computing 2011, for the error as the score.
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024, for the task.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateRuleListClassifier(epsilon=1.0).fit(X, X[:, 0] & X[:, 1])
    >>> [clf.score(X, X[:, 0] & X[:, 1]), float(clf.privacy_.epsilon), clf.privacy_.is_private]
    [1.0, 1.0, True]
    """

    rule_list_: RuleList
    _fitted = "rule_list_"
    search: Literal["auto", "exact", "greedy"]
    lookahead: int | None
    release_counts: bool | Literal["auto"]
    stop_probability: float | Literal["auto"]
    verbose: bool
    max_rules: int | None
    max_literals: int
    negations: bool
    objective: ClassObjective
    costs: Costs | None
    class_weight: ClassWeight | None

    @parameters_of(PrivateRuleListClassification)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)
    search_cost = of_learner(SearchSpecification.search_cost)


@dataclass(frozen=True, kw_only=True, eq=False)
class GreedyRuleList(Specification):
    """Specification of a greedy rule list by Gini impurity, without privacy."""

    max_rules: int = 5
    max_literals: int = 2
    negations: bool = True
    min_support: float = 0.01
    schema: SchemaParameter = FROM_DATA
    estimator = "GreedyRuleListClassifier"
    takes_weights = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_list_parameters(self.max_rules, self.max_literals, self.negations)
        check_share("min_support", self.min_support)

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        candidates, tally = Candidates.of(schema, int(self.max_literals), negations=bool(self.negations)), rows.count()
        choose = exact_choice(float(self.min_support), int(tally.total().sum()))
        antecedents = grow(tally, candidates, int(self.max_rules) - 1, choose)
        build = list_model(antecedents, LeafValues(tally.leaf_counts(antecedents)))
        return publish(build(schema, PrivacyCard.none(Fact("not_private"))))


@documented
class GreedyRuleListClassifier(Classifier):
    """A greedy rule list that minimises the Gini impurity. **Not private**: the list and its counts are exact.

    Parameters
    ----------
    max_rules : int, default=5
        The maximum number of rules, including the default rule.
    %(max_literals)s
    %(negations)s
    %(min_support)s
    %(schema)s

    %(fitted)s

    References
    ----------
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, Section 3.1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> print(GreedyRuleListClassifier(schema=None).fit(X, X[:, 0] & X[:, 1]).rule_list_)
    if x0 and x1 then 1    # 100.0 % of 10
    else 0                 # 100.0 % of 30
    """

    rule_list_: RuleList
    _fitted = "rule_list_"
    max_rules: int
    max_literals: int
    negations: bool
    min_support: float

    @parameters_of(GreedyRuleList)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)


@documented
class PrivateRuleListRegressor(PrivateEstimator, Regressor):
    """A rule list for regression with pure ε-differential privacy.

    Neighbouring tables differ in one row, added or removed, or in all rows of the schema's `Unit`. A fit spends exactly
    `epsilon`.

    Parameters
    ----------
    %(epsilon)s
    max_rules : int or None, default=None
        The maximum number of rules, including the default rule. None: an exact search also draws the number, with a
        uniform prior over the numbers up to 10 that are expected to take at most eight seconds; a greedy search chooses
        up to 5 rules.
    max_literals : int, default=1
        The maximum number of literals in a rule.
    %(negations)s
    %(number schema)s
    %(budget)s
    %(exact search of numbers)s
    %(verbose)s
    %(regression)s

    %(fitted)s

    Notes
    -----
    An exact search draws the list with the predictions of its rules from *all* rule lists, as
    `PrivateRuleListClassifier` does. The loss of a row is a public function of the level of its target
    (`hedgerow.schema.Number`) and of the prediction of its rule. It is between 0 and 1, so the score −loss is monotone
    with sensitivity 1. Then the means of the rules are released for a tenth of ε (`release_means`).

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow.schema import Boolean, Number
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> schema = Schema({"a": Boolean(), "b": Boolean()}, Number("y", 0, 32))
    >>> model = PrivateRuleListRegressor(epsilon=1.0, schema=schema).fit(X, 20.0 * (X[:, 0] & X[:, 1]) + 4.5)
    >>> model.score(X, 20.0 * (X[:, 0] & X[:, 1]) + 4.5) > 0.9
    True
    """

    rule_list_: RuleList
    _fitted = "rule_list_"
    search: Literal["auto", "exact", "greedy"]
    lookahead: int | None
    release_counts: bool
    stop_probability: float | Literal["auto"]
    verbose: bool
    max_rules: int | None
    max_literals: int
    negations: bool
    objective: NumberObjective
    quantile: float
    clip: float
    release_means: bool

    @parameters_of(PrivateRuleListRegression)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)
    predict_quantiles = on_rows(LeafModel.predict_quantiles)
    search_cost = of_learner(SearchSpecification.search_cost)
