"""Greedy rule lists without privacy: the baseline of the private ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Self

from hedgerow.arguments import check_share
from hedgerow.learn.base import FROM_DATA, RuleListEstimator
from hedgerow.learn.greedy.rule_lists import ExactChoice, grow
from hedgerow.learn.learned import LearnedList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally


class GreedyRuleListClassifier(RuleListEstimator):
    """A rule list grown greedily by Gini impurity. **Not private**: the list and its counts are exact.

    Parameters
    ----------
    max_rules : int, default=5
        Rules in the list, the default rule included.
    max_literals : int, default=2
        Literals in a rule.
    negations : bool, default=True
        Whether ``not a`` and ``a != v`` are literals too.
    min_support : float, default=0.01
        The share of all rows that a rule must hold among those that earlier rules left.
    schema : Schema, None or "from-data", default="from-data"
        The public schema; None for columns that are all booleans or 0/1; "from-data" cuts one out of the rows.

    Attributes
    ----------
    rule_list_ : RuleList
        The model.
    privacy_ : PrivacyCard
        Says that there is no guarantee.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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

    def __init__(
        self,
        *,
        max_rules: int = 5,
        max_literals: int = 2,
        negations: bool = True,
        min_support: float = 0.01,
        schema: Schema | Literal["from-data"] | None = FROM_DATA,
    ) -> None:
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.min_support = min_support
        self.schema = schema

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_share("min_support", self.min_support)

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        tally = count()
        choose = ExactChoice(float(self.min_support), int(tally.total().sum()))
        antecedents = grow(tally, candidates, int(self.max_rules or 1) - 1, choose)
        card = PrivacyCard.none("not private")
        return self._publish(schema, LearnedList(antecedents, tally.leaf_counts(antecedents)), card)
