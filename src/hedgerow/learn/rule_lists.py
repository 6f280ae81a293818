"""Private rule lists: grown greedily, or drawn from all rule lists of a size."""

from __future__ import annotations

from typing import Literal

from hedgerow.arguments import check_whole
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import RuleListEstimator
from hedgerow.learn.plans import DrawnList, GreedyList
from hedgerow.learn.private_base import Plan, SearchEstimator
from hedgerow.learn.search.cost import Cost, largest_size
from hedgerow.learn.search.sampler import ListDraw, list_blocks, list_cost
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.noise import NoiseSource
from hedgerow.randomness import RandomState
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema

LARGEST_LIST = 10
"""The most rules of a list whose number of rules is drawn, the default rule included."""


class PrivateRuleListClassifier(SearchEstimator, RuleListEstimator):
    """A rule list learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row. The total is exactly `epsilon`, and the card adds to it
    what the schema's cut points cost where they were learned.

    With ``search="greedy"`` each of up to ``max_rules - 1`` rules is chosen by permute-and-flip on the negated Gini
    impurity in rows, a monotone score of sensitivity 2; 80 % of ε is shared equally by the choices. The rest of ε, and
    what unused choices leave, buys one histogram of rules by class (sensitivity 1), which gives all predictions and
    displayed counts.

    With ``search="exact"`` the whole list, its labels included, is one draw by the exponential mechanism from *all*
    rule lists of that size, with score −errors (monotone, sensitivity 1). No other release is needed, so the model has
    labels and no counts, unless `release_counts` asks for them at a fifth of ε. The draw visits every set of rules:
    what that costs depends on the schema and the parameters, not on the labels, and is checked before any row is
    read (`search_cost`). Rules directly before the default rule that have its label are left out.

    Parameters
    ----------
    epsilon : float
        The privacy loss of the whole model, > 0. Must be chosen.
    max_rules : int or None, default=5
        Rules in the list, the default rule included (SSRL's K). None, with exact search: the number is drawn too, from
        those up to 10 of which a search takes about ten seconds at most, each with the same prior probability.
    max_literals : int, default=2
        Literals in a rule.
    negations : bool, default=True
        Whether ``not a`` and ``a != v`` are literals too.
    search : {"greedy", "exact"}, default="greedy"
        The search. Exact search is far more accurate at small ε, where it is affordable: one literal a rule,
        or few attributes, or with `lookahead`.
    lookahead : int, optional
        With exact search: how many rules are drawn jointly at a time, ε being shared equally by the blocks. None: all.
    release_counts : bool, default=False
        With exact search: whether to release the rows of each class in each rule too. Greedy search always does.
    stop_probability : float, default=0.1
        With exact search: the prior probability that a list ends at any one position. docs/exact.md says how the
        default was chosen.
    schema : Schema, None or "from-data", default=None
        The public schema. None: all columns and the label are booleans or 0/1, whose domain is public. "from-data"
        infers the domain from the rows, which voids the guarantee; the card says so.
    budget : Budget, optional
        A budget to charge `epsilon` to, shared with other releases; a fit that would overdraw it is refused. Default: a
        budget of its own for every fit.
    random_state : NoiseSource, int, RandomState, Generator or None, default=None
        None: secure noise. Anything else: a seeded generator, for research and tests, which voids the guarantee.
    verbose : bool, default=False
        Whether to print the cost and progress of an exact search on stderr.

    Attributes
    ----------
    rule_list_ : RuleList
        The released model.
    privacy_ : PrivacyCard
        What was spent, on what, and what is guaranteed.
    classes_ : ndarray of shape (n_classes,)
        The class labels, from the schema.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    McKenna and Sheldon, *Permute-and-Flip: A New Mechanism for Differentially Private Selection*, NeurIPS 2020.
    McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024, for the task.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateRuleListClassifier(epsilon=1.0, max_rules=2).fit(X, X[:, 0] & X[:, 1])
    >>> [len(clf.rule_list_), float(clf.privacy_.epsilon), clf.privacy_.is_private]
    [2, 1.0, True]
    >>> clf = PrivateRuleListClassifier(epsilon=1.0, max_rules=2, search="exact").fit(X, X[:, 0] & X[:, 1])
    >>> clf.score(X, X[:, 0] & X[:, 1])
    1.0
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        max_rules: int | None = 5,
        max_literals: int = 2,
        negations: bool = True,
        search: Literal["greedy", "exact"] = "greedy",
        lookahead: int | None = None,
        release_counts: bool = False,
        stop_probability: float = 0.1,
        schema: Schema | Literal["from-data"] | None = None,
        budget: Budget | None = None,
        random_state: NoiseSource | RandomState = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.search = search
        self.lookahead = lookahead
        self.release_counts = release_counts
        self.stop_probability = stop_probability
        self.schema = schema
        self.budget = budget
        self.random_state = random_state
        self.verbose = verbose

    def search_cost(self, schema: Schema) -> Cost:
        """Return the cost of an exact search with this schema, which does not depend on the rows.

        Raises
        ------
        SearchTooLargeError
            If it exceeds the limits, with what to change.
        ValueError
            If a parameter is out of range.
        """
        self._check_parameters()

        blocks = self._blocks(schema)
        cost = self._cost(schema, blocks)
        advice = (
            "Use fewer rules (max_rules), fewer literals (max_literals), or fewer attributes, values or cut points."
        )
        jointly = 0
        while not cost.is_sensible and jointly + 1 < max(blocks):
            fewer = list_blocks(int(self.max_rules or 1) - 1, jointly + 1)
            if not self._cost(schema, fewer).is_sensible:
                break
            jointly += 1
        if jointly:
            advice = f"Draw fewer rules at a time (lookahead={jointly}). {advice}"
        cost.check(advice)
        return cost

    def _cost(self, schema: Schema, blocks: tuple[int, ...]) -> Cost:
        literals, is_drawn = int(self.max_literals), self.max_rules is None
        return list_cost(schema, literals, blocks, negations=bool(self.negations), draws_size=is_drawn)

    def _blocks(self, schema: Schema) -> tuple[int, ...]:
        if self.max_rules is None:
            return (largest_size(lambda size: self._cost(schema, (size,)), LARGEST_LIST - 1),)
        return list_blocks(int(self.max_rules) - 1, None if self.lookahead is None else int(self.lookahead))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.lookahead is not None:
            check_whole("lookahead", self.lookahead, 1)
            if self.search == "greedy":
                raise ArgumentError(
                    "expected lookahead=None with search='greedy', got a number: rules are drawn jointly by an exact "
                    "search only; use search='exact'."
                )
            if self.max_rules is None:
                raise ArgumentError(
                    "max_rules must be a whole number with lookahead, got None: a size is drawn with all rules jointly."
                )

    def _plan(self, schema: Schema) -> Plan:
        epsilon = exact(self.epsilon or 0, "epsilon")
        if self.search == "exact":
            cost, candidates = self.search_cost(schema), self._candidates(schema)
            blocks, is_drawn = self._blocks(schema), self.max_rules is None
            draw = ListDraw(candidates, blocks, float(self.stop_probability), draws_size=is_drawn)
            return DrawnList(epsilon=epsilon, cost=cost, release_counts=bool(self.release_counts), draw=draw)
        return GreedyList(epsilon=epsilon, candidates=self._candidates(schema), most=int(self.max_rules or 1) - 1)

    def _candidates(self, schema: Schema) -> Candidates:
        return Candidates.of(schema, int(self.max_literals), negations=bool(self.negations))
