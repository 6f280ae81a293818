"""Greedy rule lists with SSRL's selection mechanisms as published: shares of (ε, δ), choices, counts.

docs/privacy.md lists the mechanisms that are proven. The loop is `hedgerow.learn.greedy.grow`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Literal

import numpy as np

from hedgerow.boundary.arguments import check_choice, check_share
from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import check_list_parameters
from hedgerow.learn.greedy import Choose, Query, grow
from hedgerow.learn.learned import BuildModel, LeafValues, list_model
from hedgerow.learn.plans import Plan
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.learn.releases import Branch, PlannedRelease, PlannedReleases, ReleaseRunner, Repeated
from hedgerow.learn.search.sampler import Progress
from hedgerow.learn.ssrl import mechanisms
from hedgerow.learn.ssrl.mechanisms import Exponential, gini_scores, smooth_sensitivity
from hedgerow.privacy import wording
from hedgerow.privacy.amounts import Amount, exact
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource
from hedgerow.privacy.noise import Mechanism as NoiseMechanism
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument


@dataclass(frozen=True)
class PublishedMechanism:
    """Selection mechanism of SSRL."""

    mechanism: Callable[[Fraction, Fraction, int], NoiseMechanism]  # of a choice, by its ε, δ and candidates
    choose: Callable[..., Choose]  # by the runner, the unproven claims, and Λ and 𝒯 of a test of support
    releases: int  # releases at a node: the choice, the counts of its rule and, if 3, the support before them
    spends_delta: bool = False  # whether a choice costs δ too
    unproven: Fact | None = None  # why the published guarantee is not proven; None if it is proven
    notes: tuple[Fact, ...] = ()  # notes on the card
    choice: str = "rule_choice"  # the code of the query of a choice

    def node_epsilon(self, epsilon: Fraction, max_rules: int) -> Fraction:
        """Return ε_node: ``ε/(3K − 1)`` with a support test, else ``ε/(2K − 1)`` (SSRL §4.2 and §5.2)."""
        # K rules, including the default rule, need K − 1 nodes and the counts of the default rule. With a support test
        # these are 3K − 2 releases, so the published 3K − 1 leaves a share unused.
        return epsilon / (self.releases * max_rules - 1)

    @property
    def reasons(self) -> tuple[Fact, ...]:
        """Reasons why a choice has no guarantee."""
        return () if self.unproven is None else (self.unproven,)

    @property
    def gap(self) -> str | None:
        """Why the published guarantee is not proven, in words; None if it is proven."""
        return None if self.unproven is None else wording.unproven(self.unproven["mechanism"])

    def claim(self, epsilon: Fraction, delta: Fraction) -> tuple[Fact, ...]:
        """Return the reasons why a list of total (ε, δ) has no guarantee."""
        claimed = Fact("published", epsilon=epsilon, delta=delta if self.spends_delta else None)
        return () if self.unproven is None else (claimed, self.unproven)


def least_support(share: float, n_rows: int) -> int:
    """Return Λ, this share of all rows, rounded down, and at least 1 (SSRL, Algorithm 1, line 1)."""
    return max(math.floor(share * n_rows), 1)


def confidence_threshold(confidence: float, epsilon: Fraction) -> int:
    """Return 𝒯, which Laplace noise of scale 1/ε exceeds with probability ``1 − confidence`` (SSRL, Algorithm 3)."""
    return 1 + math.ceil(-(math.log(2) + math.log1p(-confidence)) / float(epsilon))


def smooth_choice(runner: ReleaseRunner, unproven: Sequence[Fact], min_support: int, threshold: int) -> Choose:
    """Return the choice of the smallest noisy G, with noise scaled by S*, if a noisy count of remaining rows allows.

    The noisy count must exceed `min_support` (Λ) by `threshold` (𝒯).
    """

    def choose(query: Query, position: int, n_open: int) -> int:
        remaining, chosen = Fact("rows_left", rule=position + 1), Fact("rule_choice", number=position + 1)
        (rows,) = runner.release(lambda: query()[1].sum(keepdims=True), remaining)
        if rows < min_support + threshold:
            return n_open
        beta = runner.mechanism(chosen.code).beta

        def scores() -> Floats:
            caught, total = query()
            return gini_scores(caught, total) / smooth_sensitivity(total.sum(), min_support=min_support, beta=beta)

        return runner.release(scores, chosen, no_guarantee=unproven)

    return choose


def global_choice(runner: ReleaseRunner, unproven: Sequence[Fact] = (), *_: int) -> Choose:
    """Return the choice by G with its global sensitivity, 1/2."""

    def choose(query: Query, position: int, n_open: int) -> int:  # noqa: ARG001
        chosen = Fact("rule_choice", number=position + 1)
        return runner.release(lambda: gini_scores(*query()), chosen, no_guarantee=unproven)

    return choose


def counts_choice(runner: ReleaseRunner, *_: object) -> Choose:
    """Return the choice of the smallest G from noisy class counts of every candidate and of all remaining rows."""
    # A node's ε is shared equally by its 2|R| counts, with |R| the open candidates and "no rule": Laplace noise of
    # scale 2|R|/ε (SSRL §5.2). A row is in only one of a candidate's two counts, so half of this scale would suffice.

    def choose(query: Query, position: int, n_open: int) -> int:
        released = Fact("candidate_counts", candidates=n_open, rule=position + 1)
        mechanism = _for_candidates(runner.mechanism(released.code).epsilon, n_open)
        noisy = runner.release(lambda: np.vstack(query()).ravel(), released, mechanism)
        counts = np.maximum(np.array(noisy).reshape(-1, 2), 0)
        return int(np.argmin(gini_scores(counts[:-1], counts[-1])))

    return choose


def _for_candidates(epsilon: Fraction, number: int) -> DiscreteLaplace:
    """Return the mechanism for the class counts of a number of candidates and of "no rule"."""
    return DiscreteLaplace(epsilon, 2 * (number + 1))


def release_rule_counts(
    tally: Tally, antecedents: Sequence[Antecedent], runner: ReleaseRunner
) -> tuple[Integers, list[int]]:
    """Release the class counts of each rule, the default rule last; return them with labels (SSRL, Algorithm 2)."""
    # Each rule is charged separately as published, although the rules hold disjoint rows and could share one charge.
    rules = [Fact("leaf_counts", of="rule", number=i + 1) for i in range(len(antecedents))]
    noisy = [
        runner.release(lambda i=i: tally.leaf_counts(antecedents)[i], query)
        for i, query in enumerate([*rules, Fact("leaf_counts", of="default_rule")])
    ]
    return np.array(noisy, dtype=np.int64), [int(first <= second) for first, second in noisy]


PUBLISHED: dict[str, PublishedMechanism] = {
    "smooth-laplace": PublishedMechanism(
        lambda epsilon, delta, _: mechanisms.smooth_laplace(epsilon, delta),
        smooth_choice,
        releases=3,
        spends_delta=True,
        unproven=Fact("unproven", mechanism="smooth-laplace"),
    ),
    "smooth-cauchy": PublishedMechanism(
        lambda epsilon, *_: mechanisms.smooth_cauchy(epsilon),
        smooth_choice,
        releases=3,
        unproven=Fact("unproven", mechanism="smooth-cauchy"),
    ),
    "global-laplace": PublishedMechanism(
        lambda epsilon, *_: mechanisms.global_laplace(epsilon),
        global_choice,
        releases=2,
        unproven=Fact("unproven", mechanism="global-laplace"),
    ),
    "global-gaussian": PublishedMechanism(
        lambda epsilon, delta, _: mechanisms.global_gaussian(epsilon, delta),
        global_choice,
        releases=2,
        spends_delta=True,
        unproven=Fact("unproven", mechanism="global-gaussian"),
    ),
    "exponential": PublishedMechanism(
        lambda epsilon, *_: Exponential(epsilon), global_choice, releases=2, notes=(Fact("rounded_impurity"),)
    ),
    "noisy-counts": PublishedMechanism(
        lambda epsilon, _, candidates: _for_candidates(epsilon, candidates),
        counts_choice,
        releases=2,
        choice="candidate_counts",
    ),
}
"""SSRL's mechanisms by name."""


MechanismName = Literal[
    "smooth-laplace", "smooth-cauchy", "global-laplace", "global-gaussian", "exponential", "noisy-counts"
]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublishedRuleList(PrivateSpecification):
    """Parameters of `DPGreedyRLClassifier`."""

    max_rules: int = 5
    max_literals: int = 2
    negations: bool = True
    mechanism: MechanismName = "smooth-laplace"
    delta: Amount | None = None
    min_remaining: float = 0.05
    confidence: float = 0.99
    estimator = "DPGreedyRLClassifier"

    def __post_init__(self) -> None:
        check_list_parameters(self.max_rules, self.max_literals, self.negations)
        super().__post_init__()
        check_choice("mechanism", self.mechanism, tuple(PUBLISHED))
        check_share("min_remaining", self.min_remaining)
        check_share("confidence", self.confidence, 0.5)
        spends = PUBLISHED[self.mechanism].spends_delta
        if self.delta is None:
            if spends:
                problem = f"mechanism={self.mechanism!r} needs a delta below 1/n for n rows, such as delta=1e-9"
                raise ArgumentError(f"{problem}. SSRL uses 1/n².")
            return
        delta = exact(self.delta, "delta")
        if spends and not 0 < delta < 1:
            raise ArgumentError(f"delta must be between 0 and 1, got {describe_argument(self.delta)}.")
        if delta and not spends:
            takers = ", ".join(name for name, published in PUBLISHED.items() if published.spends_delta)
            problem = f"delta must be None with mechanism={self.mechanism!r}, got {describe_argument(self.delta)}"
            raise ArgumentError(f"{problem}; only {takers} use a delta.")

    def plan(self, schema: Schema) -> Plan:
        if schema.target.n_levels != 2:
            problem = "Only binary classification is supported. SSRL is published for 2 classes, and the label has"
            raise ArgumentError(f"{problem} {schema.target.n_levels}; use PrivateRuleListClassifier.")
        if rows_of(schema.unit) > 1:
            problem = f"SSRL's proofs protect single rows, and the schema's unit has max_rows={rows_of(schema.unit)}"
            raise ArgumentError(f"{problem}; use PrivateRuleListClassifier.")
        return PublishedListPlan(
            candidates=Candidates.of(schema, int(self.max_literals), negations=bool(self.negations)),
            most=int(self.max_rules) - 1,
            published=PUBLISHED[self.mechanism],
            notes=PUBLISHED[self.mechanism].notes,
            epsilon=self.exact_epsilon,
            delta=exact(self.delta or 0, "delta"),
            min_remaining=float(self.min_remaining),
            confidence=float(self.confidence),
        )


@dataclass(frozen=True, kw_only=True)
class PublishedListPlan(Plan):
    """Plan of a rule list by a mechanism of SSRL."""

    candidates: Candidates
    most: int  # the maximum number of rules without the default rule
    published: PublishedMechanism
    min_remaining: float  # SSRL's λ
    confidence: float  # SSRL's C
    model = "rule list"

    @property
    def no_guarantee(self) -> tuple[Fact, ...]:
        """Reasons why the model has no guarantee; a list with only the default rule has a guarantee."""
        return self.published.claim(self.epsilon, self.delta) if self.most else ()

    @property
    def _node_epsilon(self) -> Fraction:
        return self.published.node_epsilon(self.epsilon, self.most + 1)

    @property
    def releases(self) -> PlannedReleases:
        counts = DiscreteLaplace(self._node_epsilon)
        chosen = self.published.mechanism(self._node_epsilon, self.delta / max(self.most, 1), len(self.candidates))
        support = (PlannedRelease("rows_left", counts),) if self.published.releases == 3 else ()
        rules = range(1, self.most + 2)
        return (
            Repeated((*support, PlannedRelease(self.published.choice, chosen)), self.most),
            Branch(rules, lambda number: (PlannedRelease("leaf_counts", counts, times=number),), rules[-1:]),
        )

    @cached_property
    def rho(self) -> Fraction | None:
        return None  # unused ε stays reserved, so all of ε counts

    def prepare(self, noise: NoiseSource) -> None:
        noise.prepare(DiscreteLaplace(self._node_epsilon))  # mechanisms without a proof need no further check

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        support = least_support(self.min_remaining, int(tally.total().sum()))
        threshold = confidence_threshold(self.confidence, self._node_epsilon)
        choose = self.published.choose(runner, self.published.reasons, support, threshold)
        antecedents = grow(tally, self.candidates, self.most, choose)
        runner.decide(len(antecedents) + 1)
        return list_model(antecedents, LeafValues(*release_rule_counts(tally, antecedents, runner)))
