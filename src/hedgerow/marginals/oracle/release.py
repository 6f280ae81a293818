"""Forms in which an oracle releases its answers, with the loss of each."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self, get_args

import numpy as np

from hedgerow.arguments import check_choice, check_whole
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.messages import number_of
from hedgerow.privacy.amounts import total
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import Charge, total_rho, unit_of
from hedgerow.privacy.expril_ratios import PublishedRatios
from hedgerow.privacy.gaussian import GaussianCounts
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.unit import Unit, rows_of
from hedgerow.privacy.zcdp import largest_rho, pure_rho

Release = Literal["counts", "ratio", "gaussian"]
RELEASES: tuple[Release, ...] = get_args(Release)


@dataclass(frozen=True)
class Form:
    """The form of the answers, and the budget, shared equally by all questions."""

    release: Release  # the form
    epsilon: Fraction  # for all questions together
    delta: Fraction  # for all questions together
    questions: int  # how many
    unit: Unit | None = None  # what is protected; None for one row

    @classmethod
    def of(cls, release: Release, budget: Budget, questions: int, unit: Unit | None = None) -> Self:
        """Return the form of answers that share all that is left of a budget."""
        epsilon = budget.remaining_with_delta if release == "gaussian" else budget.remaining
        return cls(release, epsilon, budget.remaining_delta, questions, unit)

    def mechanism(self, question: int, attributes: int) -> Any:
        """Return the mechanism of a question, counted from 1, on bins of so many attributes."""
        if self.release == "ratio":
            return PublishedRatios(self.epsilon / self.questions, attributes)
        if self.release == "gaussian":
            rows = rows_of(self.unit)
            return GaussianCounts(self.epsilon, self.delta, self.questions, question, attributes, rows=rows)
        return DiscreteLaplace(self.epsilon / self.questions / rows_of(self.unit), attributes)

    def reserve(self, left: int, others: Collection[Charge] = ()) -> Charge | None:
        """Return what may still be charged, once a question was answered: for those left, and for hypotheses.

        `others` are the reserves on the cards of hypotheses that were asked about. None where nothing is left.
        """
        parts = [*others, *self._own_reserve(left)]
        if len(parts) < 2:
            return parts[0] if parts else None
        epsilon, delta = total(part.epsilon for part in parts), total(part.delta for part in parts)
        return Charge("questions left, hypotheses' included", epsilon, delta, rho=total_rho(parts), unit=unit_of(parts))

    def _own_reserve(self, left: int) -> list[Charge]:
        if not left or (self.release == "gaussian" and self.questions > 1):  # all were charged with the first
            return []
        epsilon, delta = self.epsilon / self.questions, self.delta if self.release == "gaussian" else Fraction(0)
        rho = largest_rho(epsilon, delta) if delta else pure_rho(epsilon)
        purpose = number_of(left, "question") + " left"
        return [Charge(purpose, left * epsilon, left * delta, rho=left * rho, unit=self.unit)]

    def scale(self, question: int, attributes: int) -> float:
        """Return λ: ``√2·λ`` is the standard deviation of the noise on a count."""
        if self.release == "gaussian":
            return float(self.mechanism(question, attributes).scale / np.sqrt(2))
        return float(attributes * self.questions * rows_of(self.unit) / self.epsilon)


def check_form(budget: Any, max_queries: Any, release: str, unit: Any = None) -> None:
    """Check the parameters of an oracle, before a row is touched."""
    if not (budget is None or isinstance(budget, Budget)):
        raise ArgumentTypeError(f"budget must be a Budget, or None for exact answers; got {type(budget).__name__}.")
    if not (unit is None or isinstance(unit, Unit)):
        raise ArgumentTypeError(f"unit must be a Unit or None, got {type(unit).__name__}.")
    check_whole("max_queries", max_queries, 1)
    check_choice("release", release, RELEASES)
    if release == "gaussian" and budget is not None and not budget.remaining_delta:
        raise ArgumentError("release='gaussian' needs a budget with delta > 0, such as Budget(1, 1e-6).")
    if release == "ratio" and rows_of(unit) > 1:
        raise ArgumentError("expected release='counts' or 'gaussian' with a unit of several rows, got 'ratio'.")
    if budget is not None and not budget.remaining:
        raise ArgumentError("expected a budget with epsilon left, got one that is exhausted.")
