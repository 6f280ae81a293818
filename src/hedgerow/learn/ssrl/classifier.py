"""Private rule lists of SSRL, with its mechanisms as published."""

from typing import Any

from sklearn.utils import Tags

from hedgerow.learn.contract import Classifier, PrivateEstimator, of_model, on_rows, parameters_of
from hedgerow.learn.parameters import documented
from hedgerow.learn.ssrl.greedy import MechanismName, PublishedRuleList
from hedgerow.models.leaf_model import LeafModel
from hedgerow.models.rule_list import RuleList
from hedgerow.privacy.amounts import Amount


@documented
class DPGreedyRLClassifier(PrivateEstimator, Classifier):
    """SSRL's DP-GreedyRL: a rule list grown greedily by noisy Gini impurity, as published. For comparison and study.

    Neighbouring tables differ by adding or removing one row. ε is shared equally by all releases: with ``smooth-*`` a
    noisy count of the rows left, a choice and the counts of the rule at each node, ``ε/(3K − 1)`` each; else without
    that count, ``ε/(2K − 1)`` each. What a list that stops early does not use is on the card as reserved and not used.
    Only ``exponential`` and ``noisy-counts`` are proven to be ε-differentially private; cards of the others say "none"
    and what is not proven (docs/privacy.md). Labels have two classes. `PrivateRuleListClassifier` is proven, and more
    accurate.

    Parameters
    ----------
    %(epsilon)s
    max_rules : int, default=5
        Rules in the list, the default rule included (SSRL's K).
    %(max_literals)s
    %(negations)s
    %(public schema)s
    %(budget)s
    mechanism : str, default="smooth-laplace"
        How rules are chosen: ``smooth-laplace``, ``smooth-cauchy``, ``global-laplace``, ``global-gaussian``,
        ``exponential`` or ``noisy-counts``.
    delta : float, Fraction, Decimal or str, optional
        The δ of the whole model, shared equally by the choices. Must be chosen for ``smooth-laplace`` and
        ``global-gaussian``, and for no other. SSRL takes 1/n², n being the number of rows, which is then public.
    min_remaining : float, default=0.05
        With ``smooth-*``: the share of all rows that must remain for a further rule to be chosen: SSRL's minimum
        support λ, which is not that of a rule.
        Candidates are never filtered by their own support, as the code released with SSRL does: that is not private.
    confidence : float, default=0.99
        With ``smooth-*``: the probability that so many rows remain when the noisy count passes the test (SSRL's C).

    %(fitted)s

    References
    ----------
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024, Algorithms 1 to
    3 and Section 5.2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = DPGreedyRLClassifier(epsilon=1.0, delta=1e-9).fit(X, X[:, 0] & X[:, 1])
    >>> print(clf.privacy_.guarantee)
    none (published as (1, 1e-09)-differential privacy; not proven: the scale of the noise depends on the rows, ...)
    """

    rule_list_: RuleList
    _fitted = "rule_list_"
    max_rules: int
    max_literals: int
    negations: bool
    mechanism: MechanismName
    delta: Amount | None
    min_remaining: float
    confidence: float

    @parameters_of(PublishedRuleList)
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    apply = on_rows(LeafModel.apply)
    get_rules = of_model(LeafModel.get_rules)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
        return tags
