"""Selection mechanisms of SSRL, as published: report noisy min, and the exponential mechanism.

`hedgerow.learn.ssrl.greedy` says which of them are proven. Cards of the others carry no guarantee.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.ssrl.smooth_sensitivity import GINI_SENSITIVITY
from hedgerow.privacy import opendp as dp
from hedgerow.privacy.exponential_mechanism import gumbel_choice

Scores = NDArray[np.float64]
GAMMA = 2
"""The exponent of the Cauchy noise: density proportional to 1/(1 + |z|^γ)."""


@dataclass(frozen=True)
class SmoothLaplace:
    """Choose the smallest score after Laplace noise of scale 2/ε, in units of the smooth sensitivity.

    Input: float64 scores, each divided by S*, which is the same for all of them and depends on the data. Released
    *alone*, one such score is (ε, δ)-differentially private; that the index of the smallest of many is too, as SSRL
    takes it to be, is not proven.

    References
    ----------
    Ly et al., Section 3.3 and Algorithm 1; Nissim, Raskhodnikova and Smith, STOC 2007, Example 2.
    """

    epsilon: Fraction
    delta: Fraction
    sensitivity: float = 1
    rho = None

    @property
    def beta(self) -> float:
        """The β of the smooth sensitivity S*: ``ε/(2·ln(2/δ))``."""
        return float(self.epsilon) / (2 * log(2 / self.delta))

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        return float(2 / self.epsilon)

    def distance(self, one: Scores, other: Scores) -> float:
        """Return max |one - other|."""
        return _farthest(one, other)

    def build(self) -> Callable[[Scores], int]:
        """Return a function that adds OpenDP's Laplace noise and takes the smallest."""
        return _smallest_after(_laplace(self.scale))

    def simulate(self, values: Scores, rng: np.random.Generator) -> int:
        """Draw with Laplace noise of the seeded generator."""
        return int(np.argmin(values + rng.laplace(scale=self.scale, size=len(values))))

    def __str__(self) -> str:
        return f"smallest after Laplace noise of scale {self.scale:.4g} smooth sensitivities, beta {self.beta:.4g}"


@dataclass(frozen=True)
class SmoothCauchy:
    """Choose the smallest score after Cauchy noise of scale 2(γ+1)/ε, in units of the smooth sensitivity.

    Input: as for `SmoothLaplace`. Released alone, one such score is ε-differentially private.

    The noise is ``tan(π(u − ½))`` in float64, with u from 53 bits of the operating system's randomness: OpenDP has no
    Cauchy noise. Unlike OpenDP's it is not hardened against attacks on the least significant digits of floats; only an
    index is released of it.

    References
    ----------
    Ly et al., Section 3.3, with γ = 2; Nissim, Raskhodnikova and Smith, STOC 2007, Example 1.
    """

    epsilon: Fraction
    sensitivity: float = 1
    delta = Fraction(0)
    rho = None

    @property
    def beta(self) -> float:
        """The β of the smooth sensitivity S*: ``ε/(2(γ + 1))``."""
        return float(self.epsilon / (2 * (GAMMA + 1)))

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        return float(2 * (GAMMA + 1) / self.epsilon)

    def distance(self, one: Scores, other: Scores) -> float:
        """Return max |one - other|."""
        return _farthest(one, other)

    def build(self) -> Callable[[Scores], int]:
        """Return a function that adds Cauchy noise from the operating system's randomness and takes the smallest."""
        return _smallest_after(lambda scores: scores + self.scale * _cauchy(len(scores)))

    def simulate(self, values: Scores, rng: np.random.Generator) -> int:
        """Draw with Cauchy noise of the seeded generator."""
        return int(np.argmin(values + self.scale * rng.standard_cauchy(len(values))))

    def __str__(self) -> str:
        return f"smallest after Cauchy noise of scale {self.scale:.4g} smooth sensitivities, beta {self.beta:.4g}"


@dataclass(frozen=True)
class GlobalLaplace:
    """Choose the smallest score after Laplace noise of scale ``sensitivity/ε``.

    Input: float64 scores, each changed by at most `sensitivity` by one row. Noisy max is ε-differentially private at
    this scale for scores that all move in one direction; the Gini impurity G does not, and needs twice the scale, that
    is twice the ε.

    References
    ----------
    Ly et al., Section 5.2; Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014, Section 3.3.
    """

    epsilon: Fraction
    sensitivity: float = GINI_SENSITIVITY
    delta = Fraction(0)
    rho = None

    @property
    def scale(self) -> float:
        """The scale of the noise."""
        return float(Fraction(self.sensitivity) / self.epsilon)

    def distance(self, one: Scores, other: Scores) -> float:
        """Return max |one - other|."""
        return _farthest(one, other)

    def build(self) -> Callable[[Scores], int]:
        """Return a function that adds OpenDP's Laplace noise and takes the smallest."""
        return _smallest_after(_laplace(self.scale))

    def simulate(self, values: Scores, rng: np.random.Generator) -> int:
        """Draw with Laplace noise of the seeded generator."""
        return int(np.argmin(values + rng.laplace(scale=self.scale, size=len(values))))

    def __str__(self) -> str:
        return f"smallest after Laplace noise of scale {self.scale:.4g}, sensitivity {self.sensitivity:g}"


@dataclass(frozen=True)
class GlobalGaussian:
    """Choose the smallest score after Gaussian noise of standard deviation ``c·sensitivity/ε``, c² > 2·ln(1.25/δ).

    Input: as for `GlobalLaplace`. For ε below 1 one such score alone is (ε, δ)-differentially private; that the index
    of the smallest of many is too is not proven.

    References
    ----------
    Ly et al., Sections 2.2 and 5.3; Dwork and Roth, 2014, Theorem A.1.
    """

    epsilon: Fraction
    delta: Fraction
    sensitivity: float = GINI_SENSITIVITY
    rho = None

    @property
    def scale(self) -> float:
        """The standard deviation of the noise."""
        square = 2 * log(Fraction(5, 4) / self.delta)
        c = math.sqrt(square)
        while c * c <= square:
            c = math.nextafter(c, math.inf)
        return c * float(Fraction(self.sensitivity) / self.epsilon)

    def distance(self, one: Scores, other: Scores) -> float:
        """Return max |one - other|."""
        return _farthest(one, other)

    def build(self) -> Callable[[Scores], int]:
        """Return a function that adds OpenDP's Gaussian noise and takes the smallest."""
        space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l2_distance(T="f64")
        return _smallest_after(dp.m.make_gaussian(*space, scale=self.scale))

    def simulate(self, values: Scores, rng: np.random.Generator) -> int:
        """Draw with normal noise of the seeded generator."""
        return int(np.argmin(values + rng.normal(scale=self.scale, size=len(values))))

    def __str__(self) -> str:
        return f"smallest after Gaussian noise of standard deviation {self.scale:.4g}, sensitivity {self.sensitivity:g}"


@dataclass(frozen=True)
class Exponential:
    """Draw an index with probability proportional to ``exp(−ε·score/(2·sensitivity))``: ε-differential privacy.

    Input: float64 scores, each changed by at most `sensitivity` by one row, in any direction. Drawn with OpenDP's
    Gumbel noise on the log-weights.

    Rounding costs nothing for the Gini impurity G. Its largest change, 1/2, happens between one row and two, where G is
    0 or 1/2 and exact in float64, as is half the weight, which is ε rounded down. All other changes are at most 4/9,
    which leaves a ninth of ε for the rounding of scores and products, some 10⁻¹⁵ of it.

    References
    ----------
    Ly et al., Section 2.2; McSherry and Talwar, *Mechanism Design via Differential Privacy*, FOCS 2007, Theorem 6.
    """

    epsilon: Fraction
    sensitivity: float = GINI_SENSITIVITY
    delta = Fraction(0)
    rho = None

    @property
    def weight(self) -> float:
        """The factor of a score in the exponent: at most ``ε/(2·sensitivity)``."""
        exact = self.epsilon / (2 * Fraction(self.sensitivity))
        rounded = float(exact)
        return rounded if Fraction(rounded) <= exact else math.nextafter(rounded, 0)

    def distance(self, one: Scores, other: Scores) -> float:
        """Return max |one - other|."""
        return _farthest(one, other)

    def build(self) -> Callable[[Scores], int]:
        """Return a function that draws with OpenDP's Gumbel noise."""
        choose = gumbel_choice()
        return lambda scores: choose(-self.weight * scores)

    def simulate(self, values: Scores, rng: np.random.Generator) -> int:
        """Draw with Gumbel noise of the seeded generator."""
        return int(np.argmax(rng.gumbel(size=len(values)) - self.weight * values))

    def __str__(self) -> str:
        return f"exponential mechanism, weight exp(-{self.weight:.4g} score), sensitivity {self.sensitivity:g}"


def log(value: Fraction) -> float:
    """Return the natural logarithm of a fraction that may be too large or too small for a float."""
    return math.log(value.numerator) - math.log(value.denominator)


def _farthest(one: Scores, other: Scores) -> float:
    return float(np.max(np.abs(other - one), initial=0))


def _smallest_after(noise: Callable[[Scores], Scores | list[float]]) -> Callable[[Scores], int]:
    return lambda scores: int(np.argmin(noise(scores)))


def _laplace(scale: float) -> dp.Measurement:
    space = dp.vector_domain(dp.atom_domain(T="f64", nan=False)), dp.l1_distance(T="f64")
    return dp.m.make_laplace(*space, scale=scale)


def _cauchy(size: int) -> Scores:
    """Return standard Cauchy noise from 53 random bits each."""
    bits = np.frombuffer(os.urandom(8 * size), dtype=np.uint64) >> np.uint64(11)
    return np.tan(np.pi * ((bits.astype(np.float64) + 0.5) / 2**53 - 0.5))
