"""Division of a scorecard's budget: shares of ε, or of what (ε, δ) allows under zero-concentrated privacy."""

from dataclasses import dataclass, replace
from fractions import Fraction

from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts

PARTS = 1000  # equal parts of the budget; a share is some of them
TOTALS, WEIGHTS, CALIBRATION = map(Fraction, (40, 50, 80))  # parts; benchmarks/scorecards.py says how they were chosen
FIRST_SHARE = Fraction(3, 10)  # of what is left: for the histograms, where the residuals are asked afterwards
MOST_TO_WEIGH = 64  # attributes
_LEAST_VARIANCE = 1e-9
CountsMechanism = DiscreteLaplace | GaussianCounts


@dataclass(frozen=True)
class Spending:
    """The noise of counts for each share of a budget."""

    epsilon: Fraction  # of the whole budget
    delta: Fraction  # of the whole budget
    rows: int = 1  # with δ: how many rows the protected unit has at most

    @property
    def is_pure(self) -> bool:
        return not self.delta

    def counts(self, parts: Fraction, changes: int, steps: int = 1, *, first: bool = False) -> CountsMechanism:
        """Return the mechanism for counts of which one row changes `changes` by up to `steps` each.

        Two or more may be all counts, if no row changes one by more than `steps`, nor all by more than their product.
        """
        # The ℓ1 sensitivity is ``changes·steps``, ℓ2² is ``changes·steps²``.
        if self.is_pure:
            each = steps if changes > 1 else None
            return DiscreteLaplace(self.epsilon * parts / PARTS, changes * steps, each)
        number = 1 if first else 2
        return GaussianCounts(self.epsilon, self.delta, PARTS, number, changes * steps**2, parts, self.rows)


def narrowed(mechanism: CountsMechanism, changes: int, steps: int) -> CountsMechanism:
    """Return the mechanism for counts of which a row changes as many, but each by up to this number of steps."""
    if isinstance(mechanism, GaussianCounts):
        return replace(mechanism, changes=changes * steps**2)
    return replace(mechanism, sensitivity=changes * steps)


def variance_of(mechanism: CountsMechanism) -> float:
    """Return about the variance of the noise of one count; never 0, however large ε is."""
    if isinstance(mechanism, GaussianCounts):
        return mechanism.scale**2
    return max(2 * float(mechanism.sensitivity / mechanism.epsilon) ** 2, _LEAST_VARIANCE)
