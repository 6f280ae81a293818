"""The private rule lists of SSRL, with its mechanisms as published."""

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
    """SSRL's DP-GreedyRL, a greedy rule list by noisy Gini impurity, as published, for comparison.

    Only the mechanisms ``exponential`` and ``noisy-counts`` are proven to be ε-differentially private. With the others
    the privacy card states the guarantee "none" and what is not proven (docs/privacy.md). Use
    `PrivateRuleListClassifier` for releases: its guarantee is proven, and it is more accurate.

    The label must have two classes. Neighbouring tables differ in one row, added or removed.

    Parameters
    ----------
    %(epsilon)s
    max_rules : int, default=5
        The maximum number of rules, including the default rule (SSRL's K).
    %(max_literals)s
    %(negations)s
    %(public schema)s
    %(budget)s
    mechanism : str, default="smooth-laplace"
        The mechanism that chooses rules: ``smooth-laplace``, ``smooth-cauchy``, ``global-laplace``,
        ``global-gaussian``, ``exponential`` or ``noisy-counts``.
    delta : float, Fraction, Decimal or str, optional
        The δ of the whole model, shared equally by the choices. Required for ``smooth-laplace`` and
        ``global-gaussian``, not allowed for other mechanisms. SSRL uses 1/n² for n rows, which makes n public.
    min_remaining : float, default=0.05
        With ``smooth-*``: the minimum share of all rows that must remain before a further rule is added. This is SSRL's
        λ ("minimum support"). It is not a minimum support of single rules: filtering rules by their own support, as the
        code released with SSRL does, is not private.
    confidence : float, default=0.99
        With ``smooth-*``: the probability that `min_remaining` holds if the noisy count passes the test (SSRL's C).

    %(fitted)s

    Notes
    -----
    All releases have an equal share of ε. With ``smooth-*``, every node releases a noisy count of the remaining rows, a
    choice and the counts of the rule, for ``ε/(3K − 1)`` each. The other mechanisms do not need the count of the
    remaining rows, and each release takes ``ε/(2K − 1)``. If the list stops early, the card lists the rest as reserved,
    not used.

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
