"""Division of a scorecard's budget: shares of ε, or of what (ε, δ) allows under zero-concentrated privacy."""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, Mechanism
from hedgerow.privacy.zcdp import pure_rho

PARTS = 1000  # equal parts of the budget; a share is some of them
TOTALS, WEIGHTS, CALIBRATION = map(Fraction, (40, 50, 80))  # parts; benchmarks/scorecards.py says how they were chosen
FIRST_SHARE = Fraction(3, 10)  # of what is left: for the histograms, where the residuals are asked afterwards
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True)
class Spending:
    """Noise for each share of a budget."""

    epsilon: Fraction  # of the whole budget
    delta: Fraction  # of the whole budget
    rows: int = 1  # with δ: how many rows the protected unit has at most

    @property
    def is_pure(self) -> bool:
        return not self.delta

    def counts(self, parts: Fraction, changes: int, steps: int = 1, *, first: bool = False) -> "Noise":
        """Return the noise for counts of which one row changes `changes` by up to `steps` each; one, or all by so much.

        Two or more may be all counts, if no row changes one by more than `steps`, nor all by more than their product.
        """
        # The ℓ1 sensitivity is ``changes·steps``, ℓ2² is ``changes·steps²``.
        if self.is_pure:
            each = steps if changes > 1 else None
            return Noise(DiscreteLaplace(self.epsilon * parts / PARTS, changes * steps, each))
        number = 1 if first else 2
        return Noise(GaussianCounts(self.epsilon, self.delta, PARTS, number, changes * steps**2, parts, self.rows))


@dataclass(frozen=True)
class Noise:
    """A mechanism that adds noise to counts, and the variance of that noise."""

    mechanism: DiscreteLaplace | GaussianCounts  # the mechanism

    @property
    def variance(self) -> float:
        """About the variance of the noise of one count; never 0, however large ε is."""
        if isinstance(self.mechanism, GaussianCounts):
            return self.mechanism.scale**2
        return max(2 * float(self.mechanism.sensitivity / self.mechanism.epsilon) ** 2, _LEAST_VARIANCE)


def rho_of(mechanisms: Iterable[Mechanism]) -> Fraction:
    """Return the ρ of mechanisms of pure ε together."""
    return sum((pure_rho(one.epsilon) if one.rho is None else one.rho for one in mechanisms), Fraction(0))
