"""Rule list estimators for scikit-learn: greedy without privacy, and private."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags, check_random_state

from hedgerow._version import __version__
from hedgerow.learn.base import FROM_DATA, RuleListEstimator
from hedgerow.learn.greedy import ExactChoice, PrivateChoice, grow, release_leaf_counts
from hedgerow.privacy.budget import Budget, exact
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource, PermuteAndFlip, SecureNoise, SeededNoise
from hedgerow.privacy.release import Gate
from hedgerow.privacy.selection import SENSITIVITY
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

SOFTWARE = f"hedgerow {__version__}"
MECHANISMS = ("permute-and-flip",)
LEAF_SHARE = Fraction(1, 5)  # of epsilon, for the counts of the leaves
_NOTES = (
    "the names, types and order of the columns count as public, like the schema",
    "one row is one protected unit: a person with k rows in the table is protected with k times the epsilon",
    "errors about values outside the schema, and run time, are for the curator's eyes only: neither is noised",
)


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
    min_support : float, default=0.05
        The share of all rows that a rule must catch.
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
        min_support: float = 0.05,
        schema: Schema | str | None = FROM_DATA,
    ) -> None:
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.min_support = min_support
        self.schema = schema

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.min_support, Real) or not 0 <= self.min_support < 1:
            raise ValueError(f"min_support must be in [0, 1), got {self.min_support!r}.")

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        tally = count()
        choose = ExactChoice(float(self.min_support), int(tally.total().sum()))
        antecedents = grow(tally, candidates, int(self.max_rules) - 1, choose)
        card = PrivacyCard.none("not private", software=SOFTWARE)
        return self._publish(schema, antecedents, tally.leaf_counts(antecedents), card)


class PrivateRuleListClassifier(RuleListEstimator):
    """A rule list learned and released under pure ε-differential privacy.

    Neighbouring tables differ by adding or removing one row. Each of up to ``max_rules - 1`` rules is chosen by
    permute-and-flip on the negated Gini impurity in rows, a monotone score of sensitivity 2; 80 % of ε is shared
    equally by the choices. The rest of ε, and what unused choices leave, buys one histogram of rules by class
    (sensitivity 1), which gives all predictions and displayed counts. The total is exactly `epsilon`, and the card
    adds to it what the schema's cut points cost where they were learned.

    Parameters
    ----------
    epsilon : float
        The privacy loss of the whole model, > 0. Must be chosen.
    max_rules : int, default=5
        Rules in the list, the default rule included (SSRL's K).
    max_literals : int, default=2
        Literals in a rule.
    negations : bool, default=True
        Whether ``not a`` and ``a != v`` are literals too.
    mechanism : {"permute-and-flip"}, default="permute-and-flip"
        How rules are chosen.
    schema : Schema, None or "from-data", default=None
        The public schema. None: all columns and the label are booleans or 0/1, whose domain is public. "from-data" cuts
        the domain out of the rows, which voids the guarantee; the card says so.
    budget : Budget, optional
        A budget to charge `epsilon` to, shared with other releases; a fit that would overdraw it is refused. Default: a
        budget of its own for every fit.
    random_state : int, RandomState or None, default=None
        None: secure noise. Anything else: a seeded generator, for research and tests, which voids the guarantee.

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
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024, for the task.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 500)
    >>> clf = PrivateRuleListClassifier(epsilon=1.0, max_rules=2).fit(X, X[:, 0] & X[:, 1])
    >>> [len(clf.rule_list_), float(clf.privacy_.epsilon), clf.privacy_.is_private]
    [2, 1.0, True]
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        max_rules: int = 5,
        max_literals: int = 2,
        negations: bool = True,
        mechanism: str = "permute-and-flip",
        schema: Schema | str | None = None,
        budget: Budget | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.mechanism = mechanism
        self.schema = schema
        self.budget = budget
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.epsilon is None:
            raise ValueError("epsilon must be chosen: the privacy loss to spend on this model, such as epsilon=1.0.")
        if exact(self.epsilon, "epsilon") == 0:
            raise ValueError("epsilon must be a number > 0, got 0.")
        if self.mechanism not in MECHANISMS:
            raise ValueError(f"mechanism must be one of {', '.join(MECHANISMS)}, got {self.mechanism!r}.")
        if not (self.budget is None or isinstance(self.budget, Budget)):
            raise ValueError(f"budget must be a Budget or None, got {type(self.budget).__name__}.")

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        assert self.epsilon is not None
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        noise, share, most = self._noise(), Budget(self.epsilon), int(self.max_rules) - 1
        each = share.epsilon * (1 - LEAF_SHARE) / max(most, 1)
        for mechanism in (PermuteAndFlip(each, SENSITIVITY), DiscreteLaplace(share.epsilon * LEAF_SHARE)):
            noise.prepare(mechanism)  # an epsilon too small to be of use is refused before it is charged
        if self.budget is not None:
            share = self.budget.allocate(share.epsilon, purpose=f"{type(self).__name__}: one rule list")
        gate, tally = Gate(share, noise), count()
        antecedents = grow(tally, candidates, most, PrivateChoice(gate, each))
        counts = release_leaf_counts(tally, antecedents, gate, share.remaining)
        card = PrivacyCard(
            schema.charges + share.charges,
            noise=noise.description,
            software=SOFTWARE,
            void="; ".join(filter(None, [schema.void, noise.void])) or None,
            notes=_NOTES,
        )
        return self._publish(schema, antecedents, counts, card)

    def _noise(self) -> NoiseSource:
        if self.random_state is None:
            return SecureNoise()
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        return SeededNoise(np.random.default_rng(seed))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = self.random_state is None
        return tags
