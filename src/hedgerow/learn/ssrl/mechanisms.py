"""Selection mechanisms of SSRL, as published: report noisy min, the exponential mechanism, and the sensitivity of G.

G is the Gini impurity of SSRL, which is between 0 and 1/2. `hedgerow.learn.ssrl.greedy` states which mechanisms are
proven. Privacy cards of other mechanisms state no guarantee.

References
----------
Ly et al., *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, 2024; Nissim, Raskhodnikova
and Smith, *Smooth Sensitivity and Sampling in Private Data Analysis*, STOC 2007; Dwork and Roth, *The Algorithmic
Foundations of Differential Privacy*, 2014; McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hedgerow.boundary.arrays import Floats, Whole
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.exponential_mechanism import gumbel_choice
from hedgerow.privacy.facts import Fact

GAMMA = 2  # the exponent of the Cauchy noise: density proportional to 1/(1 + |z|^γ)
GINI_SENSITIVITY = 0.5
"""The sensitivity of G for two classes; it is attained between one row and two, other changes are at most 4/9."""


def gini_scores(caught: Whole, total: Whole) -> Floats:
    """Return the Gini impurity G of every candidate, and last of adding no rule (Ly et al., Section 3.2).

    ``G(r) = (f(caught) + f(left))/n``, with ``n`` the remaining rows and ``f(p, q) = 2pq/(p + q)``; 0 without rows.
    Smaller is better. Unlike U, G is not monotone: an added row can raise the score of a candidate and lower the score
    of another. Adding or removing a row changes G by at most `GINI_SENSITIVITY`, also for tables without rows.
    """
    left = np.maximum(total - caught, 0)
    rows = np.maximum((caught + left).sum(axis=1), 1)
    return np.append((_impurity(caught) + _impurity(left)) / rows, _impurity(total) / max(total.sum(), 1))


def _impurity(counts: Whole) -> Floats:
    return 2.0 * counts[..., 0] * counts[..., 1] / np.maximum(counts.sum(axis=-1), 1)


def local_sensitivity(n: ArrayLike) -> Floats:
    """Return the largest change of G if a row is added to `n` rows: ``g(n) = 2n/(n+1)²`` (Ly et al., 4.1).

    SSRL calls it the local sensitivity. *Removing* one of `n` rows can change G by ``g(n − 1)``, which is larger from
    two rows on.
    """
    n = np.asarray(n, dtype=np.float64)
    return 2 * n / (n + 1) ** 2


def smooth_sensitivity(n: ArrayLike, *, min_support: int, beta: float) -> Floats:
    """Return the β-smooth sensitivity S* of G for `n` remaining rows, assuming at least `min_support` (Λ).

    ``S* = max over k of ξ(k) = exp(−βk)·g(max(Λ, n − k))``. The maximum is at an end of [0, n − Λ] or next to the
    larger root of ξ's derivative, ``t = n − y``, with ``y`` the smaller solution of ``βy² − (1 − β)y + 1 = 0``. From
    ``β = 3 − 2√2`` on, ξ does not rise there (Ly et al., Theorem 4.1, with t clipped to [0, n − Λ]).
    """
    n = np.asarray(n, dtype=np.float64)
    last = np.maximum(n - min_support, 0)
    discriminant = (1 - beta) ** 2 - 4 * beta if beta < 1 else -1.0  # the square of a large beta is no float
    root = 2 / (1 - beta + math.sqrt(discriminant)) if discriminant >= 0 else np.inf
    t = np.clip(n - root, 0, last)
    steps = np.stack([np.zeros_like(n), np.floor(t), np.ceil(t), last])
    return (np.exp(-beta * steps) * local_sensitivity(np.maximum(min_support, n - steps))).max(axis=0)


@dataclass(frozen=True)
class Noise:
    """Distribution of noise on scores."""

    code: str  # on cards
    secure: Callable[[float], Callable[[Floats], Floats | list[float]]]  # by scale; from OpenDP if available
    seeded: Callable[[np.random.Generator, float, int], Floats]  # by generator, scale and number of draws


class Selection:
    """Mechanism that chooses among float64 scores."""

    rho = None

    def distance(self, first: Floats, second: Floats) -> float:
        return float(np.max(np.abs(second - first), initial=0))


@dataclass(frozen=True)
class NoisyMin(Selection):
    """Report-noisy-min mechanism: the smallest of some float64 scores after noise is added to each."""

    epsilon: Fraction
    delta: Fraction
    sensitivity: float  # the largest change of a score by one row
    noise: Noise
    scale: float  # of the noise
    beta: float = 0.0  # of the smooth sensitivity S*, by which scores are divided; 0 if they are not divided

    def build(self) -> Callable[[Floats], int]:
        with_noise = self.noise.secure(self.scale)
        return lambda scores: int(np.argmin(with_noise(scores)))

    def simulate(self, values: Floats, rng: np.random.Generator) -> int:
        return int(np.argmin(values + self.noise.seeded(rng, self.scale, len(values))))

    @property
    def record(self) -> Fact:
        sizes = {"scale": self.scale, "sensitivity": self.sensitivity, "beta": self.beta or None}
        return Fact("noisy_min", noise=self.noise.code, **sizes)


def smooth_laplace(epsilon: Fraction, delta: Fraction) -> NoisyMin:
    """Return noisy min with Laplace noise of scale 2/ε, in units of the smooth sensitivity; β is ``ε/(2·ln(2/δ))``.

    All scores are divided by the same S*, which depends on the data. A *single* released score is
    (ε, δ)-differentially private (Ly et al., Section 3.3; Nissim et al., Example 2). This is not proven for the index
    of the smallest of several scores.
    """
    beta = float(epsilon) / (2 * log(2 / delta))
    return NoisyMin(epsilon, delta, 1, _LAPLACE, float(2 / epsilon), beta)


def smooth_cauchy(epsilon: Fraction) -> NoisyMin:
    """Return noisy min with Cauchy noise of scale 2(γ+1)/ε, in units of the smooth sensitivity; β is ``ε/(2(γ + 1))``.

    Scores are as for `smooth_laplace`. A single released score is ε-differentially private (Nissim et al., Example 1).
    """
    beta = float(epsilon / (2 * (GAMMA + 1)))
    return NoisyMin(epsilon, Fraction(0), 1, _CAUCHY, float(2 * (GAMMA + 1) / epsilon), beta)


def global_laplace(epsilon: Fraction) -> NoisyMin:
    """Return noisy min with Laplace noise of scale ``sensitivity/ε``.

    It is ε-differentially private at this scale for monotone scores (Dwork and Roth, Section 3.3). The Gini impurity G
    is not monotone and needs twice the scale.
    """
    return NoisyMin(epsilon, Fraction(0), GINI_SENSITIVITY, _LAPLACE, float(Fraction(GINI_SENSITIVITY) / epsilon))


def global_gaussian(epsilon: Fraction, delta: Fraction) -> NoisyMin:
    """Return noisy min with Gaussian noise of standard deviation ``c·sensitivity/ε``, c² > 2·ln(1.25/δ).

    For ε below 1 a single released score is (ε, δ)-differentially private (Ly et al., Sections 2.2 and 5.3; Dwork and
    Roth, Theorem A.1). This is not proven for the index of the smallest of several scores.
    """
    square = 2 * log(Fraction(5, 4) / delta)
    c = math.sqrt(square)
    while c * c <= square:
        c = math.nextafter(c, math.inf)
    return NoisyMin(epsilon, delta, GINI_SENSITIVITY, _GAUSSIAN, c * float(Fraction(GINI_SENSITIVITY) / epsilon))


@dataclass(frozen=True)
class Exponential(Selection):
    """Exponential mechanism that draws an index with probability proportional to ``exp(−ε·score/(2·sensitivity))``.

    It is ε-differentially private if one row changes each float64 score by at most `sensitivity` (McSherry and Talwar,
    Theorem 6). It is drawn with OpenDP's Gumbel noise on the log-weights.

    Rounding does not increase ε for the Gini impurity G. Its largest change, 1/2, occurs between one row and two, where
    G is 0 or 1/2 and exact in float64. Half the weight, which is ε rounded down, is exact too. All other changes are at
    most 4/9, which leaves a ninth of ε for the rounding of scores and products, about 10⁻¹⁵ of it.
    """

    epsilon: Fraction
    sensitivity: float = GINI_SENSITIVITY
    delta = Fraction(0)

    @property
    def weight(self) -> float:
        """The factor of a score in the exponent: at most ``ε/(2·sensitivity)``."""
        exact = self.epsilon / (2 * Fraction(self.sensitivity))
        rounded = float(exact)
        return rounded if Fraction(rounded) <= exact else math.nextafter(rounded, 0)

    def build(self) -> Callable[[Floats], int]:
        choose = gumbel_choice()
        return lambda scores: choose(-self.weight * scores)

    def simulate(self, values: Floats, rng: np.random.Generator) -> int:
        return int(np.argmax(rng.gumbel(size=len(values)) - self.weight * values))

    @property
    def record(self) -> Fact:
        return Fact("exponential_choice", weight=self.weight, sensitivity=self.sensitivity)


def log(value: Fraction) -> float:
    """Return the natural logarithm of a fraction that may be too large or too small for a float."""
    return math.log(value.numerator) - math.log(value.denominator)


def _laplace(scale: float) -> dp.Measurement:
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l1_distance(T="f64")
    return dp.m.make_laplace(*space, scale=scale)


def _gaussian(scale: float) -> dp.Measurement:
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def _cauchy(scale: float) -> Callable[[Floats], Floats]:
    """Return a function that adds ``scale·tan(π(u − ½))``, with u from 53 bits of the operating system's randomness."""
    # OpenDP has no Cauchy noise. Unlike OpenDP's noise, this is not hardened against attacks on the least significant
    # digits of floats; only the index of the smallest score is released.

    def with_noise(scores: Floats) -> Floats:
        bits = np.frombuffer(os.urandom(8 * len(scores)), dtype=np.uint64) >> np.uint64(11)
        return scores + scale * np.tan(np.pi * ((bits.astype(np.float64) + 0.5) / 2**53 - 0.5))

    return with_noise


_LAPLACE = Noise("laplace", _laplace, lambda rng, scale, size: rng.laplace(scale=scale, size=size))
_CAUCHY = Noise("cauchy", _cauchy, lambda rng, scale, size: scale * rng.standard_cauchy(size))
_GAUSSIAN = Noise("gaussian", _gaussian, lambda rng, scale, n: rng.normal(0.0, scale, n))
