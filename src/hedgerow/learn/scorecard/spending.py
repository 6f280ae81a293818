"""Division of a scorecard's privacy budget: shares of ε, or of a series of Gaussian answers within (ε, δ)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log
from statistics import fmean
from typing import Self

from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms, attribute_groups

PARTS = 1000  # shares of the budget are counted in thousandths
TOTALS, WEIGHTS, CALIBRATION = map(Fraction, (40, 50, 80))  # thousandths; benchmarks/scorecards.py explains them
FIRST_SHARE = Fraction(3, 10)  # of the remaining budget, for histograms, if residuals are released afterwards
MOST_TO_WEIGH = 64  # attributes
_LEAST_VARIANCE = 1e-9
CountsMechanism = DiscreteLaplace | GaussianCounts
HistogramsMechanism = CountsMechanism | SharedHistograms


@dataclass(frozen=True)
class Spending:
    """Noise of counts for each share of a budget: Laplace noise, or a series of Gaussian answers if δ > 0."""

    epsilon: Fraction  # of all shares together
    delta: Fraction  # of all shares together
    rows: int = 1  # with δ: the maximum number of rows of a protected unit
    adds_up_rho: bool = False  # whether a shared budget accounts in ρ
    of: int = PARTS  # the sum of all shares
    begun: bool = False  # with δ: whether the first answer of the series, which carries the whole charge, was given

    @property
    def is_pure(self) -> bool:
        return not self.delta

    @property
    def shares_noise(self) -> bool:
        """Whether the histograms of several attributes share noise: with pure ε, unless the budget accounts in ρ."""
        # `SharedHistograms` costs ε·tanh(ε/2), the largest ρ of a mechanism with this ε; Laplace noise on the
        # histograms of d attributes costs ε·tanh(ε/2d).
        return self.is_pure and not self.adds_up_rho

    def histograms(
        self, parts: Fraction, sizes: Sequence[int], row: int = 1
    ) -> tuple[tuple[tuple[int, ...], HistogramsMechanism], ...]:
        """Return groups of attributes, each with the mechanism for their histograms.

        `sizes` are the numbers of bins; they are public, and the groups depend only on them. The ε of a mechanism is
        proportional to its number of attributes. A row counts as up to `row` rows.
        """
        groups = attribute_groups(tuple(sizes)) if self.shares_noise else ()
        shared = [group for group in groups if len(group) > 1]
        single = tuple(sorted(set(range(len(sizes))).difference(*shared)))
        share = parts / max(len(sizes), 1)
        mechanisms: list[tuple[tuple[int, ...], HistogramsMechanism]] = [
            (group, SharedHistograms(self.epsilon * share * len(group) / self.of, tuple(sizes[i] for i in group), row))
            for group in shared
        ]
        return (*mechanisms, *([(single, self.counts(share * len(single), len(single), row))] if single else []))

    def histogram_variance(self, parts: Fraction, sizes: Sequence[int]) -> float:
        """Return the geometric mean over attributes of the equivalent variance of independent noise on their counts."""
        variances = [
            variance
            for places, mechanism in self.histograms(parts, sizes)
            for variance in histogram_variances(mechanism, [sizes[place] for place in places])
        ]
        return exp(fmean(map(log, variances)))

    @property
    def continued(self) -> Self:
        """The same series after its first answer."""
        return replace(self, begun=True)

    def after(self, parts: Fraction, delta: Fraction, rows: int) -> Self:
        """Return a series of Gaussian answers with this δ and the pure budget that remains after these parts.

        `rows` is the maximum number of rows of a protected unit. The unit's ε is `rows` times the ε of this budget.
        """
        remaining = self.of - int(parts)
        return type(self)(self.epsilon * rows * remaining / self.of, delta, rows, of=remaining)

    def counts(self, parts: Fraction, changes: int, steps: int = 1) -> CountsMechanism:
        """Return the mechanism for counts if a row changes at most `changes` counts, each by at most `steps`.

        If `changes` is 2 or more, a row may also change more counts, by at most ``changes·steps`` in total.
        """
        # The ℓ1 sensitivity is ``changes·steps``, ℓ2² is ``changes·steps²``.
        if self.is_pure:
            per_count = steps if changes > 1 else None
            return DiscreteLaplace(self.epsilon * parts / self.of, changes * steps, per_count)
        return GaussianCounts(*self._series, changes * steps**2, parts, self.rows, self.adds_up_rho)

    def peeling(self, parts: Fraction, draws: int, sensitivity: int) -> GumbelPeeling:
        """Return the mechanism that chooses `draws` scores if a row changes each score by at most `sensitivity`."""
        return GumbelPeeling(*self._series, sensitivity**2, parts, self.rows, self.adds_up_rho, draws)

    @property
    def _series(self) -> tuple[Fraction, Fraction, int, int]:
        return self.epsilon, self.delta, self.of, 1 + self.begun


def narrowed(mechanism: CountsMechanism, changes: int, steps: int) -> CountsMechanism:
    """Return the mechanism for counts if a row changes at most `changes` counts, each by at most `steps`."""
    if isinstance(mechanism, GaussianCounts):
        return replace(mechanism, changes=changes * steps**2)
    return replace(mechanism, sensitivity=changes * steps)


def typical_sizes(sizes: Sequence[int], number: int) -> list[int]:
    """Return typical numbers of bins of `number` attributes: evenly spaced quantiles of the sizes."""
    ordered = sorted(sizes)
    return [ordered[(2 * place + 1) * len(sizes) // (2 * number)] for place in range(number)]


def histogram_variances(mechanism: HistogramsMechanism, sizes: Sequence[int]) -> list[float]:
    """Return for each attribute the variance of independent noise that gives differences the same variance."""
    # `SharedHistograms` gives the variance of a count given the total of its class. Independent noise on b counts has,
    # given their total, 1 − 1/b of its variance, with the same correlations.
    if isinstance(mechanism, SharedHistograms):
        given_total = zip(mechanism.count_variances, sizes, strict=True)
        return [max(variance * size / max(size - 1, 1), _LEAST_VARIANCE) for variance, size in given_total]
    return [variance_of(mechanism)] * len(sizes)


def variance_of(mechanism: CountsMechanism) -> float:
    """Return the approximate variance of the noise of a count, > 0 for every ε."""
    if isinstance(mechanism, GaussianCounts):
        return mechanism.scale**2
    return max(2 * float(mechanism.sensitivity / mechanism.epsilon) ** 2, _LEAST_VARIANCE)
