"""SSRL's DP-GreedyRL as published: its parameters and its plan."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from hedgerow.boundary.arguments import check_choice, check_share
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import RuleListEstimator
from hedgerow.learn.greedy import grow
from hedgerow.learn.learned import LearnedList
from hedgerow.learn.plans import Plan
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.search.sampler import Progress
from hedgerow.learn.ssrl.greedy import (
    PUBLISHED,
    NodeParameters,
    Published,
    confidence_threshold,
    least_support,
    release_rule_counts,
)
from hedgerow.privacy.charge import Amount, exact
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace, NoiseSource
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.candidates import Candidates
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

Mechanism = Literal[
    "smooth-laplace", "smooth-cauchy", "global-laplace", "global-gaussian", "exponential", "noisy-counts"
]


@dataclass(eq=False, repr=False, kw_only=True)
class DPGreedyRLEstimator(PrivateEstimator, RuleListEstimator):
    """A private estimator of rule lists by the mechanisms of SSRL."""

    takes_weights = False
    mechanism: Mechanism = "smooth-laplace"
    delta: Amount | None = None
    min_remaining: float = 0.05
    confidence: float = 0.99

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice("mechanism", self.mechanism, tuple(PUBLISHED))
        check_share("min_remaining", self.min_remaining)
        check_share("confidence", self.confidence, 0.5)
        self._check_delta()

    def _check_delta(self) -> None:
        spends = PUBLISHED[self.mechanism].spends_delta
        if self.delta is None:
            if spends:
                raise ArgumentError(
                    f"delta must be chosen for mechanism={self.mechanism!r}, such as delta=1e-9: below 1/n for a table "
                    "of n rows. SSRL takes 1/n²."
                )
            return
        delta = exact(self.delta, "delta")
        if spends and not 0 < delta < 1:
            raise ArgumentError(f"delta must be between 0 and 1, got {describe_argument(self.delta)}.")
        if delta and not spends:
            takers = ", ".join(name for name, published in PUBLISHED.items() if published.spends_delta)
            raise ArgumentError(
                f"delta must be None with mechanism={self.mechanism!r}, got {describe_argument(self.delta)}; "
                f"it is for {takers}."
            )

    def _plan(self, schema: Schema) -> Plan:
        if schema.target.n_levels != 2:
            raise ArgumentError(
                f"Only binary classification is supported. SSRL is published for 2 classes, the label has "
                f"{schema.target.n_levels}; use PrivateRuleListClassifier."
            )
        if rows_of(schema.unit) > 1:
            raise ArgumentError(
                "expected a schema without a unit, or a unit with max_rows=1: SSRL's proofs are for single rows; use "
                "PrivateRuleListClassifier."
            )
        return GreedyAsPublished(
            candidates=Candidates.of(schema, int(self.max_literals), negations=bool(self.negations)),
            most=int(self.max_rules or 1) - 1,
            published=PUBLISHED[self.mechanism],
            notes=PUBLISHED[self.mechanism].notes,
            epsilon=exact(self.epsilon or 0, "epsilon"),
            delta=exact(self.delta or 0, "delta"),
            min_remaining=float(self.min_remaining),
            confidence=float(self.confidence),
        )


@dataclass(frozen=True, kw_only=True)
class GreedyAsPublished(Plan):
    """A rule list grown by a mechanism of SSRL."""

    candidates: Candidates
    most: int  # how many rules may be chosen
    published: Published
    min_remaining: float  # SSRL's λ
    confidence: float  # SSRL's C
    model = "rule list"

    @property
    def no_guarantee_reason(self) -> str | None:
        """Why the model has no guarantee; a list of the default rule alone has one."""
        return self.published.claim(self.epsilon, self.delta) if self.most else None

    @property
    def _each(self) -> Fraction:
        return self.published.node_epsilon(self.epsilon, self.most + 1)

    def prepare(self, noise: NoiseSource) -> None:
        """Raise ValueError for an epsilon below the supported minimum."""
        noise.prepare(DiscreteLaplace(self._each))

    def learn(self, tally: Tally, gate: Gate, progress: Progress) -> LearnedList:  # noqa: ARG002
        """Choose the rules, then release the counts of each."""
        parameters = NodeParameters(
            self._each,
            self.delta / max(self.most, 1),
            least_support(self.min_remaining, int(tally.total().sum())),
            confidence_threshold(self.confidence, self._each),
        )
        antecedents = grow(tally, self.candidates, self.most, self.published.choice(gate, parameters))
        return LearnedList(antecedents, *release_rule_counts(tally, antecedents, gate, self._each))
