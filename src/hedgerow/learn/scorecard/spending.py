"""Division of a scorecard's budget: shares of ε, or of what (ε, δ) allows a series of Gaussian answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp, log
from statistics import fmean
from typing import Self

from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms, attribute_groups

PARTS = 1000  # equal parts of the budget; a share is some of them
TOTALS, WEIGHTS, CALIBRATION = map(Fraction, (40, 50, 80))  # parts; benchmarks/scorecards.py says how they were chosen
FIRST_SHARE = Fraction(3, 10)  # of what is left: for the histograms, where the residuals are asked afterwards
MOST_TO_WEIGH = 64  # attributes
_LEAST_VARIANCE = 1e-9
CountsMechanism = DiscreteLaplace | GaussianCounts
HistogramsMechanism = CountsMechanism | SharedHistograms


@dataclass(frozen=True)
class Spending:
    """The noise of counts for each share of a budget: Laplace noise, or with δ a series of Gaussian answers."""

    epsilon: Fraction  # of all shares together
    delta: Fraction  # of all shares together
    rows: int = 1  # with δ: the most rows of a protected unit
    adds_up_rho: bool = False  # whether a shared budget adds up ρ
    of: int = PARTS  # the parts that all shares are together
    begun: bool = False  # with δ: whether the first answer of the series, which all is charged with, was given

    @property
    def is_pure(self) -> bool:
        return not self.delta

    @property
    def shares_noise(self) -> bool:
        """Whether the histograms of several attributes share noise: at pure ε, unless ρ is added up."""
        # `SharedHistograms` costs ε·tanh(ε/2), as much ρ as any mechanism of this ε; Laplace noise on the histograms
        # of d attributes costs ε·tanh(ε/2d).
        return self.is_pure and not self.adds_up_rho

    def histograms(
        self, parts: Fraction, sizes: Sequence[int], row: int = 1
    ) -> tuple[tuple[tuple[int, ...], HistogramsMechanism], ...]:
        """Return the mechanisms for the histograms of attributes with these numbers of bins.

        Each comes with the places of its attributes, and takes the share of ε that these have of all attributes. The
        groups depend on the sizes alone, which are public. One row counts as up to `row` rows.
        """
        groups = attribute_groups(tuple(sizes)) if self.shares_noise else ()
        shared = [group for group in groups if len(group) > 1]
        others = tuple(sorted(set(range(len(sizes))).difference(*shared)))
        share = parts / max(len(sizes), 1)
        found: list[tuple[tuple[int, ...], HistogramsMechanism]] = [
            (group, SharedHistograms(self.epsilon * share * len(group) / self.of, tuple(sizes[i] for i in group), row))
            for group in shared
        ]
        return (*found, *([(others, self.counts(share * len(others), len(others), row))] if others else []))

    def histogram_variance(self, parts: Fraction, sizes: Sequence[int]) -> float:
        """Return the variance of independent noise on every count that leaves histograms as exact as their own noise.

        It is a geometric mean over attributes, whose noise differs if they share it.
        """
        variances = [
            variance
            for places, mechanism in self.histograms(parts, sizes)
            for variance in histogram_variances(mechanism, [sizes[place] for place in places])
        ]
        return exp(fmean(map(log, variances)))

    @property
    def continued(self) -> Self:
        """The same after its first answer."""
        return replace(self, begun=True)

    def after(self, parts: Fraction, delta: Fraction, rows: int) -> Self:
        """Return a series of Gaussian answers with this δ for all that these parts of a pure budget leave.

        `rows` are the most rows of a protected unit, whose ε is as many times that of this budget.
        """
        left = self.of - int(parts)
        return type(self)(self.epsilon * rows * left / self.of, delta, rows, of=left)

    def counts(self, parts: Fraction, changes: int, steps: int = 1) -> CountsMechanism:
        """Return the mechanism for counts of which one row changes `changes` by up to `steps` each.

        Two or more may be all counts, if no row changes one by more than `steps`, nor all by more than their product.
        """
        # The ℓ1 sensitivity is ``changes·steps``, ℓ2² is ``changes·steps²``.
        if self.is_pure:
            each = steps if changes > 1 else None
            return DiscreteLaplace(self.epsilon * parts / self.of, changes * steps, each)
        return GaussianCounts(*self._series, changes * steps**2, parts, self.rows, self.adds_up_rho)

    def peeling(self, parts: Fraction, draws: int, moved: int) -> GumbelPeeling:
        """Return the mechanism that chooses `draws` scores of which one row moves each by at most `moved`."""
        return GumbelPeeling(*self._series, moved**2, parts, self.rows, self.adds_up_rho, draws)

    @property
    def _series(self) -> tuple[Fraction, Fraction, int, int]:
        return self.epsilon, self.delta, self.of, 1 + self.begun


def narrowed(mechanism: CountsMechanism, changes: int, steps: int) -> CountsMechanism:
    """Return the mechanism for counts of which a row changes as many, but each by up to this number of steps."""
    if isinstance(mechanism, GaussianCounts):
        return replace(mechanism, changes=changes * steps**2)
    return replace(mechanism, sensitivity=changes * steps)


def typical_sizes(sizes: Sequence[int], number: int) -> list[int]:
    """Return the numbers of bins of as many attributes as are chosen, spread evenly over those of all."""
    ordered = sorted(sizes)
    return [ordered[(2 * place + 1) * len(sizes) // (2 * number)] for place in range(number)]


def histogram_variances(mechanism: HistogramsMechanism, sizes: Sequence[int]) -> list[float]:
    """Return for each attribute the variance of independent noise on every count that has the same differences.

    Shared noise is given as the variance of a count given the total of its class. Independent noise on b counts has
    the part 1 − 1/b of its variance after their total is known, and the same correlations.
    """
    if isinstance(mechanism, SharedHistograms):
        given_total = zip(mechanism.count_variances, sizes, strict=True)
        return [max(variance * size / max(size - 1, 1), _LEAST_VARIANCE) for variance, size in given_total]
    return [variance_of(mechanism)] * len(sizes)


def variance_of(mechanism: CountsMechanism) -> float:
    """Return about the variance of the noise of one count; never 0, however large ε is."""
    if isinstance(mechanism, GaussianCounts):
        return mechanism.scale**2
    return max(2 * float(mechanism.sensitivity / mechanism.epsilon) ** 2, _LEAST_VARIANCE)
