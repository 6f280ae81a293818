"""Private rule lists: grown greedily, or drawn from all rule lists of a size."""

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
    """A rule list learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row, or all rows of the schema's `Unit`. The total is exactly
    `epsilon`, and the card adds to it what the schema's cut points cost where they were learned.

    An exact search draws the whole list, the number of rules and the labels included, at once by the exponential
    mechanism from *all* rule lists, with score −loss (monotone, sensitivity 1). By default a twentieth of ε, from
    ε = 0.1 on, pays for counts of the rules, from which the class probabilities follow (`release_counts`). What the
    draw costs is known before any row is read (`search_cost`). With `lookahead`, some rules are drawn jointly at a
    time, each block for an equal share of ε. Of many attributes a few are chosen first (docs/mathematics.md, fact 5),
    unless the search is "exact".

    A greedy search chooses each rule by permute-and-flip, or Gumbel noise if `budget` adds up ρ, on the negated Gini
    impurity in rows, a monotone score of sensitivity 2, or by any other loss than errors, on that of the best values
    (sensitivity 1); 80 % of ε is shared equally by the choices. The rest of ε, and what unused choices leave, buys one
    histogram of rules by class (sensitivity 1), which gives all predictions and displayed counts.

    Rules and literals that change no prediction are left out, by the schema alone.

    Parameters
    ----------
    %(epsilon)s
    max_rules : int or None, default=None
        Rules in the list, the default rule included (SSRL's K). None: an exact search draws their number too, from
        those up to 10 of which it takes about eight seconds at most, each with the same prior probability; a greedy
        search chooses up to 5.
    max_literals : int, default=1
        Literals in a rule. More make many more rules to choose from: a search that was joint may have to be greedy.
    %(negations)s
    %(public schema)s
    %(budget)s
    %(exact search)s
    %(verbose)s
    %(loss of classes)s

    %(fitted)s

    References
    ----------
    McKenna and Sheldon, *Permute-and-Flip: A New Mechanism for Differentially Private Selection*, NeurIPS 2020.
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Kasiviswanathan et al., *What Can We Learn Privately?*, SIAM Journal on Computing 2011, for draws by errors.
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
    """The learner of rule lists by Gini impurity, without privacy."""

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
    """A rule list grown greedily by Gini impurity. **Not private**: the list and its counts are exact.

    Parameters
    ----------
    max_rules : int, default=5
        Rules in the list, the default rule included.
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
    """A rule list that predicts a number, learned and released under pure ε-differential privacy.

    One draw from *all* rule lists, as of `PrivateRuleListClassifier`, with what its rules predict. The loss of a row is
    a public function of its level (`hedgerow.schema.Number`) and of what its rule predicts, between 0 and 1: a monotone
    score of sensitivity 1. Then the means of the rules are released for a tenth of ε (`release_means`). Neighbouring
    tables differ by adding or removing one row, or all rows of the schema's `Unit`. The total is exactly `epsilon`.

    Parameters
    ----------
    %(epsilon)s
    max_rules : int or None, default=None
        Rules in the list, the default rule included. None: an exact search draws their number too, from those up to 10
        of which it takes eight seconds at most, each with the same prior probability; a greedy one chooses up to 5.
    max_literals : int, default=1
        Literals in a rule.
    %(negations)s
    %(number schema)s
    %(budget)s
    %(exact search of numbers)s
    %(verbose)s
    %(regression)s

    %(fitted)s

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
