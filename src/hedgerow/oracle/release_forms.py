"""The forms in which an oracle releases its answers, with their privacy loss."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, Literal, Self, get_args

import numpy as np

from hedgerow.boundary.arguments import check_choice, check_integer
from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.oracle.answer_noise import AnswerHistograms, AnswerNoise
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.amounts import total
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import Charge, Reserve, total_rho, unit_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts
from hedgerow.privacy.unit import Unit, rows_of
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.text.messages import describe_argument

Release = Literal["counts", "ratio", "gaussian"]
RELEASES: tuple[Release, ...] = get_args(Release)


@dataclass(frozen=True)
class AnswerPlan:
    """The mechanisms of the answers in a form of release, which share a budget equally."""

    release: Release  # the form
    epsilon: Fraction  # for all questions together
    delta: Fraction  # for all questions together
    questions: int  # the number of questions
    unit: Unit | None = None  # the unit of privacy; None for one row
    adds_up_rho: bool = (
        False  # whether the budget adds up ρ; then Gaussian answers do, too, and other answers share no noise
    )

    @classmethod
    def of(cls, release: Release, budget: Budget, questions: int, unit: Unit | None = None) -> Self:
        """Return the plan for answers that share the remaining budget."""
        epsilon = budget.remaining_with_delta if release == "gaussian" else budget.remaining
        adds_up_rho = budget.remaining_rho is not None
        return cls(release, epsilon, budget.remaining_delta, questions, unit, adds_up_rho)

    def mechanism(self, question: int, sizes: Sequence[int], steps: int = 1) -> Any:
        """Return the mechanism of question number `question`, from 1, for attributes with these numbers of bins.

        In every attribute, a row adds a total of `steps` to two whole numbers of one bin. The ℓ1 sensitivity is the
        number of attributes times `steps`. The ℓ2 sensitivity is at most the square root of the number of attributes
        times `steps`, and every number changes by at most `steps`. As a change of histograms of the same rows, its
        gauge is `steps` (docs/mathematics.md, facts 6 and 8).
        """
        attributes, rows = len(sizes), rows_of(self.unit)
        if self.release == "ratio":
            return PublishedRatios(self.epsilon / self.questions, attributes)
        if self.release == "gaussian":
            return self._gaussian(question, attributes * steps**2)
        epsilon = self.epsilon / self.questions / rows
        shared = AnswerHistograms(epsilon, tuple(sizes), steps)
        is_laplace = self.adds_up_rho or not shared.shared
        return DiscreteLaplace(epsilon, attributes * steps, steps) if is_laplace else shared

    def _gaussian(self, question: int, squares: int) -> GaussianCounts:
        series = self.epsilon, self.delta, self.questions, question, squares
        return GaussianCounts(*series, rows=rows_of(self.unit), adds_up_rho=self.adds_up_rho)

    def reserve(self, left: int, foreign: Collection[Charge] = (), spared: Fraction | int = 0) -> Charge | None:
        """Return the planned charge for the questions left and for the `foreign` reserves of hypotheses, or None.

        `spared` is the additional ρ that earlier questions would have cost with fewer attributes. Callers may choose
        attributes depending on answers, so only the largest cost of all questions is fixed beforehand.
        """
        parts = [*foreign, *self._own_reserve(left, spared)]
        if len(parts) < 2:
            return parts[0] if parts else None
        epsilon, delta = total(part.epsilon for part in parts), total(part.delta for part in parts)
        return Reserve(Fact("all_questions_left"), epsilon, delta, rho=total_rho(parts), unit=unit_of(parts))

    def _own_reserve(self, left: int, spared: Fraction | int) -> list[Charge]:
        if spared and not left:
            return [Reserve(Fact("fewer_attributes"), Fraction(0), rho=Fraction(spared), unit=self.unit)]
        if not left or (self.release == "gaussian" and self.questions > 1):  # the first answer was charged for all
            return []
        epsilon, delta = self.epsilon / self.questions, self.delta if self.release == "gaussian" else Fraction(0)
        rho = self._gaussian(1, 1).rho if delta else pure_rho(epsilon)
        query = Fact("questions_left", number=left)
        return [Reserve(query, left * epsilon, left * delta, rho=left * rho + spared, unit=self.unit)]

    def noise(self, question: int, sizes: Sequence[int], steps: int = 1) -> AnswerNoise:
        """Return the variances of the noise of an answer; ArgumentTypeError unless `sizes` is a sequence."""
        if not isinstance(sizes, Sequence):
            problem = "sizes must be the numbers of bins of the attributes, such as [4, 4]"
            raise ArgumentTypeError(f"{problem}, got {describe_argument(sizes)}.")
        mechanism = self.mechanism(question, sizes, steps)
        if isinstance(mechanism, AnswerHistograms):
            return mechanism.noise
        if isinstance(mechanism, GaussianCounts):
            return AnswerNoise.independent(sizes, mechanism.scale**2)
        scale = float(len(sizes) * steps * self.questions * rows_of(self.unit) / self.epsilon)
        return AnswerNoise.independent(sizes, 2 * scale**2)


def check_form(budget: Any, max_queries: Any, release: str, unit: Any = None) -> None:
    if not (budget is None or isinstance(budget, Budget)):
        raise ArgumentTypeError(f"budget must be a Budget or None (exact answers), got {type(budget).__name__}.")
    if not (unit is None or isinstance(unit, Unit)):
        raise ArgumentTypeError(f"unit must be a Unit or None, got {type(unit).__name__}.")
    check_integer("max_queries", max_queries, 1)
    check_choice("release", release, RELEASES)
    if release == "gaussian" and budget is not None and not budget.remaining_delta:
        raise ArgumentError("release='gaussian' needs a budget with delta > 0, such as Budget(1, 1e-6).")
    if release == "ratio" and rows_of(unit) > 1:
        raise ArgumentError("a unit with several rows needs release='counts' or 'gaussian', got release='ratio'.")
    if budget is not None and not budget.remaining:
        raise ArgumentError("the budget has no epsilon left; create the oracle with another budget.")


UNPROVEN_RATIO = Fact("unproven_ratio")
"""The reason why ratios have no guarantee."""


@dataclass(frozen=True)
class PublishedRatios:
    """EXPRIL's ratio of noisy to exact counts, clipped to [0, 1], as published. `epsilon` is **not** its loss.

    The input is a pair of int64 vectors of numerators and denominators. EXPRIL's eq. 7 (Lacombe, Jetley and Sebag,
    2021, Section 3.5) adds Laplace noise of scale λ = changes/ε to the numerators and divides by the exact
    denominators. There is no guarantee: an empty bin always gives 0, a bin with a row does not, and the loss is
    infinite. For a bin with m rows, the published lemma compares densities with denominators m and m + 1 without their
    Jacobians. The supremum of the loss is then ``m/((m + 1)λ) + ln((m + 1)/m)``, or 1/λ if that is larger, as for small
    λ.
    """

    epsilon: Fraction
    changes: int
    delta = Fraction(0)
    rho = None

    @property
    def sensitivity(self) -> float:
        return self.changes

    @property
    def scale(self) -> float:
        return float(self.changes / self.epsilon)

    def distance(self, first: Any, second: Any) -> float:
        """Return the ℓ1 distance of the numerators; infinite if denominators differ, which the noise does not cover."""
        if not np.array_equal(first[1], second[1]):
            return inf
        return float(np.abs(second[0] - first[0]).sum())

    def build(self) -> Callable[[Any], list[float]]:
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l1_distance(T="f64")
        noisy = dp.m.make_laplace(*space, scale=self.scale)
        return lambda pair: _ratio(np.asarray(noisy(pair[0].astype(np.float64))), pair[1])

    def simulate(self, values: Any, rng: np.random.Generator) -> list[float]:
        return _ratio(values[0] + rng.laplace(scale=self.scale, size=len(values[0])), values[1])

    @property
    def record(self) -> Fact:
        return Fact("clipped_ratio", scale=self.scale)


def _ratio(numerators: Floats, denominators: Integers) -> list[float]:
    shares = np.divide(numerators, denominators, out=np.zeros(len(numerators)), where=denominators > 0)
    return np.clip(shares, 0.0, 1.0).tolist()


def card_notes(denials: Iterable[Sequence[Fact]], unit: Unit | None, *, with_delta: bool) -> tuple[Fact, ...]:
    """Return the notes on the card of answers, including the denials of the cards of hypotheses."""
    unit_note = Fact("oracle_row_is_unit", delta=with_delta or None)
    if unit is not None:
        unit_note = Fact("oracle_unit", column=unit.column, rows=unit.max_rows)
    return (*map(Fact, ("oracle_public", "hypotheses_are_data", "hypotheses_paid")), *denied(denials), unit_note)


def denied(denials: Iterable[Sequence[Fact]]) -> tuple[Fact, ...]:
    """Return the notes on hypotheses whose own cards have no guarantee, with the reasons."""
    return tuple(Fact("denied", because=reasons) for reasons in denials)
