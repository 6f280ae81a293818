"""Log-odds by bin from noisy counts, smooth along ordered bins."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.models.count_noise import CountNoise
from hedgerow.schema.attributes import Attribute, Direction

ACROSS = 4.0
"""The default prior standard deviation of the change in log-odds over the range of a number."""
EACH = 2.0  # the prior standard deviation of other bins, and of a number's mean
_SUPPORTS, _PASSES = 50, 60  # grid points for the size of a bin, and iterations of expectation maximisation
_LEAST_ERROR = 1e-30  # the variance of a value without noise
LEAST_SLOPE = 1e-9  # rows, of an empty bin
WIDTHS, NOTHING = (1.0, 0.5), 0.1  # prior scales to average over, and the relative prior weight of no effect


@dataclass(frozen=True)
class Prior:
    """Public prior distribution of log-odds by bin.

    The log-odds of consecutive bins of a number are a random walk. Other bins, and a number's mean, are independent.
    """

    across: float  # the standard deviation of the difference between the first and the last bin of a number
    each: float  # the standard deviation of a category, a number's mean, and missing and outside bins

    def precision(self, n_bins: int, n_ordered: int) -> Floats:
        """Return the precision matrix, ``(n_bins, n_bins)``, if the first `n_ordered` bins are the bins of a number."""
        matrix = np.eye(n_bins) / self.each**2
        if n_ordered > 1:
            steps = np.diff(np.eye(n_ordered), axis=0)
            walk = steps.T @ steps * ((n_ordered - 1) / self.across**2)
            matrix[:n_ordered, :n_ordered] = walk + 1 / (n_ordered * self.each) ** 2
        return matrix

    def of(self, attribute: Attribute) -> Floats:
        return self.precision(attribute.n_bins, attribute.n_ordered)


@dataclass(frozen=True)
class SmoothedValues:
    """Smoothed log-odds by bin of one attribute."""

    values: Floats  # posterior means
    covariance: Floats  # the covariance of the values due to the noise of the release
    trust: Floats  # the shrinkage matrix: the weights of the unsmoothed log-odds in the values
    gap: Floats  # the covariance of the difference from the values that the same rows give without noise


@dataclass(frozen=True)
class Evidence:
    """Released evidence on the log-odds of each bin of one attribute, without the prior.

    All releases are about the same rows, so the sampling variance is added only once, in `smoothed`.
    """

    means: Floats  # estimates of the log-odds
    information: Floats  # the inverse of their variance due to the noise of the releases

    @classmethod
    def of(cls, start: Floats, sums: Floats, slopes: Floats, noise: Floats | float) -> "Evidence":
        """Return the evidence from a linear step: noisy sums at the log-odds `start`, and their slopes."""
        slopes = np.maximum(slopes, LEAST_SLOPE)
        return cls(start + sums / slopes, slopes**2 / noise)

    def weighed(self, weight: float) -> "Evidence":
        return Evidence(self.means * weight, self.information / weight**2)

    def moved(self, variances: Floats) -> "Evidence":
        """Return the evidence on log-odds that have since changed by amounts with these variances."""
        return Evidence(self.means, self.information / (1 + self.information * variances))

    def joined(self, other: "Evidence") -> "Evidence":
        """Return the combined evidence: means weighted by information."""
        information = self.information + other.information
        means = self.information * self.means + other.information * other.means
        return Evidence(means / information, information)

    def smoothed(self, sampling: Floats, prior: Floats) -> SmoothedValues:
        """Return the posterior mean of the log-odds, given the sampling variances and the precision of the prior."""
        precision = 1 / (1 / self.information + sampling)
        posterior = np.linalg.inv(np.diag(precision) + prior)
        gain = posterior * precision
        gap = posterior - without_noise(1 / np.maximum(sampling, LEAST_SLOPE), prior)
        return SmoothedValues(gain @ self.means, (gain / self.information) @ gain.T, gain, gap)


def without_noise(precision: Floats, prior: Floats) -> Floats:
    """Return the posterior covariance of the log-odds without noise, given the precisions of rows and prior."""
    # The exact counts determine the posterior mean without noise. By the law of total variance, its covariance given
    # the released numbers is the posterior covariance given these numbers minus this matrix.
    inverse = np.linalg.inv(precision[:, None] * np.eye(len(precision)) + prior)
    return np.asarray(inverse, dtype=np.float64)


def smoothed(
    sums: Floats,
    slopes: Floats,
    spreads: Floats,
    noise: Floats | float,
    priors: Sequence[Floats],
    nothing: float = 0.0,
) -> SmoothedValues:
    # A bin's sum is approximately its slope times its log-odds, plus sampling error and noise, so the values are a
    # weighted ridge regression. Bayesian model averaging weighs several priors by their marginal likelihoods, and
    # the hypothesis that all log-odds are 0, with prior weight `nothing`.
    by_slope = slopes / (noise + spreads)
    inverses = np.linalg.inv(np.diag(slopes * by_slope) + np.array(priors))
    fits = np.einsum("i,sij,j->s", by_slope * sums, inverses, by_slope * sums)
    logs = (fits + np.linalg.slogdet(priors)[1] + np.linalg.slogdet(inverses)[1]) / 2
    most = max(logs.max(), 0.0)
    weights = np.exp(logs - most)
    weights /= weights.sum() + nothing * np.exp(-most)
    gain = np.tensordot(weights, inverses, 1) * by_slope
    gap = np.tensordot(
        weights, inverses - without_noise(slopes**2 / np.maximum(spreads, LEAST_SLOPE), np.array(priors)), 1
    )
    return SmoothedValues(gain @ sums, (gain * noise) @ gain.T, gain * slopes, gap)


def newton_step(derivatives: Floats, noise: float, prior: Floats) -> Array:
    """Return a Newton step, given noisy first and second derivatives (upper triangle) and the prior's precisions."""
    k = len(prior)
    curvature = np.zeros((k, k))
    curvature[np.triu_indices(k)] = derivatives[k:]
    sizes, axes = np.linalg.eigh(curvature, UPLO="U")
    sizes = np.maximum(sizes, max(sizes[-1] / 1000, 1.0))
    axes = axes * np.sqrt(sizes / (sizes + noise))  # along an axis, a slope has the variances of sampling and noise
    return np.linalg.solve((axes * sizes) @ axes.T + np.diag(prior), axes @ axes.T @ derivatives[:k])


def likely_rows(released: Floats, noise: float) -> Floats:
    """Return the expected rows of each bin by empirical Bayes (Robbins 1956; Kiefer and Wolfowitz 1956)."""
    # With little noise, these are the released counts. With more noise, the counts shrink towards each other, and the
    # expected count of a bin that is probably empty is close to 0.
    if noise < 0.5 or len(released) < 2:
        return np.maximum(released, 0)
    largest = max(float(released.max()), 1.0)
    sizes = np.concatenate([[0.0], np.geomspace(min(noise / 20, largest), largest, _SUPPORTS)])
    logs = -(((released[:, None] - sizes) / noise) ** 2) / 2
    likelihoods = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares = np.full(len(sizes), 1 / len(sizes))
    for _ in range(_PASSES):
        shares = _posterior(likelihoods, shares).mean(axis=0)
    rows = _posterior(likelihoods, shares) @ sizes
    return rows * max(float(released.sum()), 0.0) / max(float(rows.sum()), 1e-9)


def _posterior(likelihoods: Floats, shares: Floats) -> Floats:
    joint = likelihoods * shares
    return joint / joint.sum(axis=1, keepdims=True)


@dataclass
class Part:
    """Log-odds by bin of one attribute."""

    attribute: int  # the attribute's place in the schema
    values: Floats  # log-odds: a single column for two classes (second class), else a column for each class
    covariances: list[Floats]  # due to the noise of the releases, for each column
    released: Floats  # the released rows of each bin, which may be negative
    noise: float = 0.0  # the standard deviation of the noise on these rows
    segments: list[Index] = field(default_factory=list[Index])  # merged bins
    evidence: list[Evidence] = field(default_factory=list[Evidence])  # for each column
    alone: list[Evidence] = field(default_factory=list[Evidence])  # from the attribute's histogram, for each column
    gaps: list[Floats] = field(default_factory=list[Floats])  # covariances of differences from values without noise
    needs_support: bool = True  # whether bins with fewer rows than noise are merged or set to 0

    @property
    def least_rows(self) -> float:
        """The released rows that a bin needs for support. A segment of n bins has it with √n times this number, too."""
        least = CountNoise.of_deviation(self.noise).spread(1) + 0.5  # models show whole rows
        return least if self.needs_support else min(least, 1.0)

    @property
    def rows(self) -> Floats:
        """The released rows of each bin, at least 0."""
        return np.maximum(self.released, 0)

    def likely_rows(self) -> Floats:
        return likely_rows(self.released, self.noise)

    def mean(self, values: Floats) -> Floats:
        return self.rows @ values / max(self.rows.sum(), 1e-9)

    def centred(self) -> Floats:
        """Subtract the mean over rows from the log-odds, and return this mean."""
        mean = self.mean(self.values)
        self.values -= mean
        return mean

    def weigh(self, weight: float) -> None:
        self.values *= weight
        self.evidence = [evidence.weighed(weight) for evidence in self.evidence]
        self.covariances = [covariance * weight**2 for covariance in self.covariances]
        self.gaps = [gap * weight**2 for gap in self.gaps]

    def spread(self) -> float:
        return float(np.sqrt(self.mean(self.values**2).mean()))

    def error(self) -> float:
        """Return the mean square, over rows, of the difference from the values without noise."""
        return float(np.mean([self.mean(np.maximum(np.diag(gap), 0)) for gap in self.gaps]))

    def variances(self) -> Floats:
        """Return the variance of each value due to the noise of the releases, with the shape of the values."""
        return np.column_stack([np.diag(covariance) for covariance in self.covariances])

    def errors(self) -> Floats:
        """Return the standard deviation of the difference from each value without noise."""
        return np.sqrt(np.maximum(np.column_stack([np.diag(gap) for gap in self.gaps]), 0))

    def is_supported(self, places: Index) -> bool:
        """Return whether any of these bins, or all of them together, have enough released rows."""
        released, least = self.released[places], self.least_rows
        return bool(released.max() >= least or released.sum() >= least * np.sqrt(len(places)))

    def unsupported(self) -> list[int]:
        """Return the bins without support, except the bins of segments that only together have support."""
        lacks_support = self.released < self.least_rows
        for places in self.segments:
            if lacks_support[places].all() and self.is_supported(places):
                lacks_support[places] = False
        return np.flatnonzero(lacks_support).tolist()

    def average(self, segments: Sequence[Index], weights: Floats) -> None:
        """Replace the values of the bins of each segment by their weighted mean."""
        self.segments = list(segments)
        for column in range(self.values.shape[1]):
            means = np.eye(len(weights))
            for places in segments:
                means[np.ix_(places, places)] = weights[places, column] / weights[places, column].sum()
            self.values[:, column] = means @ self.values[:, column]
            for covariances in filter(None, (self.covariances, self.gaps)):
                covariances[column] = _of_means(means, covariances[column])

    def make_monotone(self, direction: Direction, n_ordered: int) -> None:
        """Replace the log-odds of a number by their isotonic regression."""
        from sklearn.isotonic import IsotonicRegression  # takes long to import

        rows = np.maximum(self.rows[:n_ordered], 1)
        fit = IsotonicRegression(increasing=direction == "increasing")
        places = np.arange(n_ordered)
        self.values[:n_ordered, 0] = fit.fit(places, self.values[:n_ordered, 0], rows).predict(places)


def _of_means(means: Floats, covariance: Floats) -> Floats:
    """Return the covariance of segment means, with variances averaged over bins and not reduced by merging."""
    # Merging depends on the noise, so the noise of merged bins does not average out as in fixed segments.
    averaged = means @ covariance @ means.T
    variances = np.maximum(means @ np.diag(covariance), 0)  # which rounding may make negative
    growth = np.sqrt(variances / np.maximum(np.diag(averaged), _LEAST_ERROR))
    return averaged * np.outer(growth, growth)
