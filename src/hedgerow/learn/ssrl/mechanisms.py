"""Selection mechanisms of SSRL, as published: report noisy min, the exponential mechanism, and the sensitivity of G.

G is the Gini impurity of SSRL, which is between 0 and 1/2. `hedgerow.learn.ssrl.greedy` says which mechanisms are
proven. Cards of the others carry no guarantee.

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
"""By how much one row can change G for two classes: exactly that from one row to two, and at most 4/9 elsewhere."""


def gini_scores(caught: Whole, total: Whole) -> Floats:
    """Return the Gini impurity G of every candidate, and last that of adding no rule (Ly et al., Section 3.2).

    ``G(r) = (f(caught) + f(left))/n``, with ``n`` the rows that remain and ``f(p, q) = 2pq/(p + q)``; 0 without rows.
    Smaller is better. Unlike U, G is not monotone: adding a row can raise it for one candidate and lower it for
    another. Adding or removing a row changes it by at most `GINI_SENSITIVITY`, tables without rows included.
    """
    left = np.maximum(total - caught, 0)
    rows = np.maximum((caught + left).sum(axis=1), 1)
    return np.append((_impurity(caught) + _impurity(left)) / rows, _impurity(total) / max(total.sum(), 1))


def _impurity(counts: Whole) -> Floats:
    return 2.0 * counts[..., 0] * counts[..., 1] / np.maximum(counts.sum(axis=-1), 1)


def local_sensitivity(n: ArrayLike) -> Floats:
    """Return by how much one row added to `n` rows can change G at most: ``g(n) = 2n/(n+1)²`` (Ly et al., 4.1).

    SSRL calls it the local sensitivity; *removing* a row from `n` can change G by ``g(n − 1)``, which is more from two
    rows on.
    """
    n = np.asarray(n, dtype=np.float64)
    return 2 * n / (n + 1) ** 2


def smooth_sensitivity(n: ArrayLike, *, min_support: int, beta: float) -> Floats:
    """Return the β-smooth sensitivity S* of G where `n` rows remain, of which there are taken to be `min_support`.

    ``S* = max over k of ξ(k) = exp(−βk)·g(max(Λ, n − k))``, at one end of [0, n − Λ] or beside the larger root of ξ's
    derivative, ``t = n − y``, with ``y`` the smaller solution of ``βy² − (1 − β)y + 1 = 0``. From ``β = 3 − 2√2`` on, ξ
    does not rise there (Ly et al., Theorem 4.1, with t brought into [0, n − Λ]).
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
    """A distribution of noise on scores."""

    code: str  # on cards
    secure: Callable[[float], Callable[[Floats], Floats | list[float]]]  # by scale, what adds it: OpenDP where it can
    seeded: Callable[[np.random.Generator, float, int], Floats]  # so many draws of it, by generator and scale


class Selection:
    """A mechanism that chooses among float64 scores."""

    rho = None

    def distance(self, one: Floats, other: Floats) -> float:
        return float(np.max(np.abs(other - one), initial=0))


@dataclass(frozen=True)
class NoisyMin(Selection):
    """Choose the smallest of some float64 scores after noise is added to each."""

    epsilon: Fraction
    delta: Fraction
    sensitivity: float  # the most that one row changes a score
    noise: Noise
    scale: float  # of the noise
    beta: float = 0.0  # that of the smooth sensitivity S*, by which scores are divided; 0 where they are not

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

    Each score is divided by S*, the same for all, which depends on the data. Released *alone*, one such score is
    (ε, δ)-differentially private (Ly et al., Section 3.3; Nissim et al., Example 2); that the index of the smallest of
    many is too is not proven.
    """
    beta = float(epsilon) / (2 * log(2 / delta))
    return NoisyMin(epsilon, delta, 1, _LAPLACE, float(2 / epsilon), beta)


def smooth_cauchy(epsilon: Fraction) -> NoisyMin:
    """Return noisy min with Cauchy noise of scale 2(γ+1)/ε, in units of the smooth sensitivity; β is ``ε/(2(γ + 1))``.

    Scores are as for `smooth_laplace`. Released alone, one is ε-differentially private (Nissim et al., Example 1).
    """
    beta = float(epsilon / (2 * (GAMMA + 1)))
    return NoisyMin(epsilon, Fraction(0), 1, _CAUCHY, float(2 * (GAMMA + 1) / epsilon), beta)


def global_laplace(epsilon: Fraction) -> NoisyMin:
    """Return noisy min with Laplace noise of scale ``sensitivity/ε``.

    It is ε-differentially private at this scale for scores that all move in one direction (Dwork and Roth, Section
    3.3); the Gini impurity G does not, and needs twice the scale, that is twice the ε.
    """
    return NoisyMin(epsilon, Fraction(0), GINI_SENSITIVITY, _LAPLACE, float(Fraction(GINI_SENSITIVITY) / epsilon))


def global_gaussian(epsilon: Fraction, delta: Fraction) -> NoisyMin:
    """Return noisy min with Gaussian noise of standard deviation ``c·sensitivity/ε``, c² > 2·ln(1.25/δ).

    For ε below 1 one such score alone is (ε, δ)-differentially private (Ly et al., Sections 2.2 and 5.3; Dwork and
    Roth, Theorem A.1); that the index of the smallest of many is too is not proven.
    """
    square = 2 * log(Fraction(5, 4) / delta)
    c = math.sqrt(square)
    while c * c <= square:
        c = math.nextafter(c, math.inf)
    return NoisyMin(epsilon, delta, GINI_SENSITIVITY, _GAUSSIAN, c * float(Fraction(GINI_SENSITIVITY) / epsilon))


@dataclass(frozen=True)
class Exponential(Selection):
    """Draw an index with probability proportional to ``exp(−ε·score/(2·sensitivity))``: ε-differential privacy.

    Each float64 score is changed by at most `sensitivity` by one row, in any direction (McSherry and Talwar, Theorem
    6). Drawn with OpenDP's Gumbel noise on the log-weights.

    Rounding costs nothing for the Gini impurity G. Its largest change, 1/2, happens between one row and two, where G is
    0 or 1/2 and exact in float64, as is half the weight, which is ε rounded down. All other changes are at most 4/9,
    which leaves a ninth of ε for the rounding of scores and products, some 10⁻¹⁵ of it.
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
    """Return a function that adds ``scale·tan(π(u − ½))``, with u from 53 bits of the operating system's randomness.

    OpenDP has no Cauchy noise. Unlike OpenDP's it is not hardened against attacks on the least significant digits of
    floats; only an index is released of it.
    """

    def with_noise(scores: Floats) -> Floats:
        bits = np.frombuffer(os.urandom(8 * len(scores)), dtype=np.uint64) >> np.uint64(11)
        return scores + scale * np.tan(np.pi * ((bits.astype(np.float64) + 0.5) / 2**53 - 0.5))

    return with_noise


_LAPLACE = Noise("laplace", _laplace, lambda rng, scale, size: rng.laplace(scale=scale, size=size))
_CAUCHY = Noise("cauchy", _cauchy, lambda rng, scale, size: scale * rng.standard_cauchy(size))
_GAUSSIAN = Noise("gaussian", _gaussian, lambda rng, scale, n: rng.normal(0.0, scale, n))
