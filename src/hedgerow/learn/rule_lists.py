"""Private rule lists for scikit-learn: grown greedily, or drawn from all of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from numbers import Real
from typing import Any, Self

from sklearn.utils import Tags

from hedgerow.bounded import shown_argument
from hedgerow.learn.base import RuleListEstimator, check_choice, check_share, check_whole
from hedgerow.learn.cost import Cost
from hedgerow.learn.exact import ListPlan, draw_list, list_blocks, list_cost
from hedgerow.learn.greedy import PrivateChoice, grow, release_leaf_counts
from hedgerow.learn.private import LEAF_SHARE, PrivateEstimator
from hedgerow.learn.published import PUBLISHED, Terms, confidence_threshold, least_support, release_rule_counts
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource, PermuteAndFlip
from hedgerow.privacy.release import Gate
from hedgerow.privacy.selection import SENSITIVITY
from hedgerow.schema.candidates import Candidates, count_candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

MECHANISMS = ("permute-and-flip", *PUBLISHED)


class PrivateRuleListClassifier(PrivateEstimator, RuleListEstimator):
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
    read (`search_cost`). Last rules that say the same as the default rule are left out of the model.

    The other `mechanism` are those of SSRL as published, for comparison and study. ε is shared equally by all releases:
    with ``smooth-*`` a noisy count of the rows left, a choice and the counts of the rule at each node, ``ε/(3K − 1)``
    each; else without that count, ``ε/(2K − 1)`` each. What a list that stops early does not use is on the card as
    reserved and not used. Only ``exponential`` and ``noisy-counts`` are proven to be ε-differentially private; cards of
    the others say "none" and what is not proven (docs/privacy.md). They take labels of two classes only.

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
    search : {"greedy", "exact"}, default="greedy"
        How the list is found. Exact search is far more accurate at small ε, where it is affordable: one literal a rule,
        or few attributes, or with `lookahead`.
    lookahead : int, optional
        With exact search: how many rules are drawn jointly at a time, ε being shared equally by the blocks. None: all.
    mechanism : str, default="permute-and-flip"
        With greedy search: how rules are chosen. ``permute-and-flip``, or as published in SSRL ``smooth-laplace``,
        ``smooth-cauchy``, ``global-laplace``, ``global-gaussian``, ``exponential`` or ``noisy-counts``.
    delta : float, optional
        With ``smooth-laplace`` and ``global-gaussian``: the δ of the whole model, shared equally by the choices. None:
        1/n², n being the exact number of rows, which SSRL takes as public. Must be given with a shared `budget`,
        which is charged before the rows are counted.
    min_support : float, default=0.05
        With ``smooth-*``: the share of all rows that must be left for a further rule to be chosen (SSRL's λ).
        Candidates are never filtered by their own support, as the code released with SSRL does: that is not private.
    confidence : float, default=0.99
        With ``smooth-*``: the probability with which those rows are left when the noisy count says so (SSRL's C).
    release_counts : bool, default=False
        With exact search: whether to release the rows of each class in each rule too. Greedy search always does.
    stop_probability : float, default=0.1
        With exact search: the prior's chance that a list ends at any one position. docs/exact.md says how the
        default was chosen.
    schema : Schema, None or "from-data", default=None
        The public schema. None: all columns and the label are booleans or 0/1, whose domain is public. "from-data" cuts
        the domain out of the rows, which voids the guarantee; the card says so.
    budget : Budget, optional
        A budget to charge `epsilon` to, shared with other releases; a fit that would overdraw it is refused. Default: a
        budget of its own for every fit.
    random_state : int, RandomState or None, default=None
        None: secure noise. Anything else: a seeded generator, for research and tests, which voids the guarantee.
    verbose : bool, default=False
        Whether to tell on stderr what an exact search costs and how far it is.

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
    Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024, for the task and
    the published mechanisms.

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
    >>> clf = PrivateRuleListClassifier(epsilon=1.0, mechanism="smooth-laplace", delta=1e-9).fit(X, X[:, 0] & X[:, 1])
    >>> print(clf.privacy_.guarantee)
    none (published as (1, 1e-09)-differential privacy; not proven: the scale of the noise depends on the rows, ...)
    """

    def __init__(
        self,
        epsilon: float | None = None,
        *,
        max_rules: int = 5,
        max_literals: int = 2,
        negations: bool = True,
        search: str = "greedy",
        lookahead: int | None = None,
        mechanism: str = "permute-and-flip",
        delta: float | Fraction | None = None,
        min_support: float = 0.05,
        confidence: float = 0.99,
        release_counts: bool = False,
        stop_probability: float = 0.1,
        schema: Schema | str | None = None,
        budget: Budget | None = None,
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.max_rules = max_rules
        self.max_literals = max_literals
        self.negations = negations
        self.search = search
        self.lookahead = lookahead
        self.mechanism = mechanism
        self.delta = delta
        self.min_support = min_support
        self.confidence = confidence
        self.release_counts = release_counts
        self.stop_probability = stop_probability
        self.schema = schema
        self.budget = budget
        self.random_state = random_state
        self.verbose = verbose

    def search_cost(self, schema: Schema) -> Cost:
        """Return what an exact search with this schema costs: known without any row.

        Raises
        ------
        SearchTooLargeError
            If it is more than is sensible, with what to change.
        ValueError
            If a parameter is out of range.
        """
        self._check_parameters()
        candidates = count_candidates(schema, int(self.max_literals), negations=bool(self.negations))
        most, classes = int(self.max_rules) - 1, len(schema.classes)
        cost = list_cost(candidates, self._blocks, classes)
        advice = (
            "Use fewer rules (max_rules), fewer literals (max_literals), or fewer attributes, values or cut points."
        )
        sizes = range(1, max(self._blocks))
        smaller = [size for size in sizes if list_cost(candidates, list_blocks(most, size), classes).is_sensible]
        if smaller:
            advice = f"Draw fewer rules at a time (lookahead={smaller[-1]}). {advice}"
        cost.check(advice)
        return cost

    @property
    def _blocks(self) -> tuple[int, ...]:
        return list_blocks(int(self.max_rules) - 1, None if self.lookahead is None else int(self.lookahead))

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.lookahead is not None:
            check_whole("lookahead", self.lookahead, 1)
        check_choice("mechanism", self.mechanism, MECHANISMS)
        if self.search == "exact" and self.mechanism in PUBLISHED:
            raise ValueError(f"mechanism is for search='greedy', got {self.mechanism!r} with search='exact'.")
        check_share("min_support", self.min_support)
        share = self.confidence
        if isinstance(share, bool) or not isinstance(share, Real) or not 0.5 <= float(share) < 1:
            raise ValueError(f"confidence must be in [0.5, 1), got {shown_argument(share)}.")
        self._check_delta()

    def _check_delta(self) -> None:
        spends = self.mechanism in PUBLISHED and PUBLISHED[self.mechanism].spends_delta
        if self.delta is None:
            if spends and self.budget is not None:
                raise ValueError(
                    f"delta must be given to charge mechanism={self.mechanism!r} to a shared budget, such as "
                    "delta=1e-9: the default, 1/n², is not known before the rows are counted."
                )
            return
        delta = exact(self.delta, "delta")
        if spends and not 0 < delta < 1:
            raise ValueError(f"delta must be between 0 and 1, got {shown_argument(self.delta)}.")
        if delta and not spends:
            takers = ", ".join(name for name, published in PUBLISHED.items() if published.spends_delta)
            raise ValueError(
                f"delta is for mechanism {takers}, got {shown_argument(self.delta)} with {self.mechanism!r}."
            )

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        cost = self.search_cost(schema) if self.search == "exact" else None
        candidates = Candidates.of(schema, self.max_literals, negations=bool(self.negations))
        noise = self._noise()
        if cost is not None:
            return self._draw(ListPlan(candidates, self._blocks, float(self.stop_probability)), cost, noise, count)
        if self.mechanism in PUBLISHED:
            return self._grow_as_published(candidates, noise, count)
        return self._grow(candidates, noise, count)

    def _grow(self, candidates: Candidates, noise: NoiseSource, count: Callable[[], Tally]) -> Self:
        most, epsilon = int(self.max_rules) - 1, Budget(self.epsilon or 0).epsilon
        each = epsilon * (1 - LEAF_SHARE) / max(most, 1)
        for mechanism in (PermuteAndFlip(each, SENSITIVITY), DiscreteLaplace(epsilon * LEAF_SHARE)):
            noise.prepare(mechanism)  # an epsilon too small to be of use is refused before it is charged
        share = self._open_budget("rule list", candidates.schema, noise)
        gate, tally = Gate(share, noise), count()
        antecedents = grow(tally, candidates, most, PrivateChoice(gate, each))
        counts = release_leaf_counts(tally, antecedents, gate, share.remaining)
        return self._publish_list(
            candidates.schema, antecedents, self._card(candidates.schema, share, noise), counts=counts
        )

    def _grow_as_published(self, candidates: Candidates, noise: NoiseSource, count: Callable[[], Tally]) -> Self:
        published, schema, most = PUBLISHED[self.mechanism], candidates.schema, int(self.max_rules) - 1
        if len(schema.classes) != 2:
            raise ValueError(
                f"Only binary classification is supported. mechanism={self.mechanism!r} is published for 2 classes, "
                f"the label has {len(schema.classes)}; use mechanism='permute-and-flip'."
            )
        epsilon, notes = Budget(self.epsilon or 0).epsilon, published.notes
        each = published.node_epsilon(epsilon, most + 1)
        noise.prepare(DiscreteLaplace(each))  # an epsilon too small to be of use is refused before it is charged
        if published.spends_delta and self.delta is None and most:
            tally = count()
            delta = Fraction(1, max(int(tally.total().sum()), 2) ** 2)
            share, claim = Budget(epsilon, delta), published.claim(epsilon, delta)
            notes += ("delta is 1/n² of the exact number n of rows, which SSRL takes as public",)
        else:
            delta = exact(self.delta or 0, "delta")
            claim = published.claim(epsilon, delta) if most else None
            share = self._open_budget("rule list", schema, noise, delta=delta, void=claim)
            tally = count()
        terms = Terms(
            each,
            share.delta / max(most, 1),
            least_support(float(self.min_support), int(tally.total().sum())),
            confidence_threshold(float(self.confidence), each),
        )
        gate = Gate(share, noise)
        antecedents = grow(tally, candidates, most, published.make(gate, terms))
        counts, labels = release_rule_counts(tally, antecedents, gate, each)
        card = self._card(schema, share, noise, void=claim, notes=notes)
        return self._publish_list(schema, antecedents, card, counts=counts, labels=labels)

    def _draw(self, plan: ListPlan, cost: Cost, noise: NoiseSource, count: Callable[[], Tally]) -> Self:
        for_draw, for_counts = self._shares(noise)
        noise.prepare(plan.block(0).mechanism(for_draw / len(plan.blocks)))
        with self._searching(cost) as progress:
            share = self._open_budget("rule list", plan.candidates.schema, noise)
            gate, tally = Gate(share, noise), count()
            antecedents, labels = draw_list(tally, plan, gate, for_draw, progress)
        counts = release_leaf_counts(tally, antecedents, gate, share.remaining) if for_counts else None
        schema = plan.candidates.schema
        card = self._card(schema, share, noise)
        return self._publish_list(schema, antecedents, card, counts=counts, labels=labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = self.mechanism not in PUBLISHED
        return tags
