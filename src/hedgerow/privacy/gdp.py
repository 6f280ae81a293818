"""Gaussian differential privacy: the μ that implies (ε, δ), and the discrete noise that it requires.

Releases are together μ-GDP if no test distinguishes neighbouring tables better than the best test distinguishes a
sample of N(0, 1) from a sample of N(μ, 1) (Dong, Roth and Su 2022). Gaussian noise of variance v on a change Δ uses
``‖Δ‖²/v`` of μ². These amounts add up over releases, even if a release depends on earlier answers. Noise on whole
numbers needs a variance slightly above v. The proofs are in fact 12 of ``docs/mathematics.md``.

All bounds are computed with directed rounding, in decimal contexts of this module that a caller cannot change.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from functools import lru_cache
from itertools import count

from hedgerow.errors import ArgumentError

LARGEST_MU = Fraction(1000)
"""The μ of negligible noise (scale 0.001)."""
_LEAST_MU = Fraction(1, 2**60)
MARGIN, RELATIVE_MARGIN = 2, Fraction(1, 10**6)
"""The amounts by which the variance of noise on whole numbers exceeds v: absolute, and relative to v."""
PER_DRAW = Fraction(355, 226)
"""The μ² of a draw by Gumbel noise, in units of (sensitivity/scale)²: π/2, rounded up by less than 1e-7."""
_EXCESS = Fraction(6, 10**13)  # times μ²: the distance of all releases together from continuous noise, in ε
_FINE = 2**10  # the smallest variance on a grid of whole numbers: below it a finer grid is used
_DIGITS = 60
_TRAPS = [InvalidOperation, DivisionByZero, Overflow]
_UP, _DOWN = (
    Context(_DIGITS, side, Emin=-999_999, Emax=999_999, capitals=1, clamp=0, flags=[], traps=_TRAPS)
    for side in (ROUND_CEILING, ROUND_FLOOR)
)
_ROOT_BELOW = Decimal("1.25331413731550025120788264240552262650349337030496915831496178")  # of π/2
_ROOT_ABOVE = Decimal("1.25331413731550025120788264240552262650349337030496915831496179")
_HALF, _TWO = Decimal("0.5"), Decimal(2)
_SERIES = 6  # the Mills ratio is computed by a series below this number, and otherwise by a continued fraction
_TERMS = 200  # terms of the continued fraction, whose bounds are within 1e-50 of each other from 6 on
_LEAST_TERM = Decimal("1e-70")  # the smallest term of the series
_FAR, _FAR_TAIL = 200, Decimal("1e-8600")  # beyond 200 a tail of the normal distribution is below e^-20000


@lru_cache(maxsize=1024)
def largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return nearly the largest μ for which noise of `gdp_noise` is proven to be (ε, δ)-differentially private.

    The result is at most `LARGEST_MU`. If δ is at most 0.9, it is within a relative 1e-9 of the largest such μ.

    Raises
    ------
    ValueError
        If δ is 0, or ε and δ are so small that μ is below 2⁻⁶⁰.
    """
    if delta and certifies(LARGEST_MU, epsilon, delta):
        return LARGEST_MU
    mu = _near_largest_mu(epsilon, delta) if delta else 0.0
    step = 2.0**-42
    while mu >= _LEAST_MU and not certifies(Fraction(mu), epsilon, delta):
        mu, step = mu * (1 - step), 2 * step
    if mu < _LEAST_MU:
        given = f"epsilon={float(epsilon):.3g} with delta={float(delta):.3g}"
        problem = f"{given} is below the supported minimum for Gaussian noise"
        raise ArgumentError(f"{problem}. Increase epsilon or delta, or ask fewer queries.")
    return Fraction(mu)


@lru_cache(maxsize=1024)
def certifies(mu: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return True if releases with noise of `gdp_noise` for μ are proven to be (ε, δ)-differentially private."""
    if not 0 < mu <= LARGEST_MU:
        return False
    excess = _EXCESS * mu**2
    bound = delta_of_shift(epsilon - 2 * excess, mu)
    return _UP.multiply(bound, _above(1 + 2 * excess)) <= _below(delta)  # e^x ≤ 1 + 2x for 0 ≤ x ≤ 1


def delta_of_shift(epsilon: Fraction, mu: Fraction) -> Decimal:
    """Return an upper bound on the least δ for which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable; ε ≥ −μ²/2.

    It exceeds ``Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)`` by less than a relative 1e-30 if δ is at least 1e-1000.
    """
    # Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, ICML 2018, Theorem 8. With
    # a = ε/μ − μ/2 and b = a + μ, e^ε·Φ(−b) is φ(a)·M(b), with the Mills ratio M(x) = Φ(−x)/φ(x).
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a > _FAR:
        return _FAR_TAIL
    first = _tail_above(_below(a))
    return _UP.subtract(first, _DOWN.multiply(_density(_above(abs(a)), _DOWN), _mills(_above(b))[0]))


@lru_cache(maxsize=1024)
def gdp_noise(needed: Fraction) -> tuple[float, int]:
    """Return the σ of discrete Gaussian noise for a squared sensitivity of `needed` times μ², and the steps per unit.

    σ is in steps of the grid; the number of steps per unit is odd. Assume that every release has noise of at least this
    σ for its share of μ², and that `certifies` is True. All releases together are then (ε, δ)-differentially private,
    even if they depend on earlier answers.
    """
    # A fine grid makes the absolute margin small. With an odd number no step is half way between two whole numbers.
    grid = 1 if needed >= _FINE else 2 * math.ceil(math.sqrt(_FINE / needed) / 2) + 1
    variance = needed * grid**2 * (1 + RELATIVE_MARGIN) + MARGIN
    sigma = math.sqrt(variance)
    while Fraction(sigma) ** 2 < variance:
        sigma = math.nextafter(sigma, math.inf)
    return sigma, grid


def _near_largest_mu(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the largest μ, by Newton's method for ln δ, which is concave in ln μ; δ has the derivative φ(a)."""
    log = _UP.ln(_above(delta))
    size, goal, most = -float(log), float(epsilon), float(LARGEST_MU)
    mu = min(math.sqrt(2) * goal / (math.sqrt(size + goal) + math.sqrt(size)), most)  # what ρ + 2√(ρ·ln(1/δ)) allows
    for _ in range(60):
        if mu < _LEAST_MU:
            break
        exact = Fraction(mu)
        bound, a = delta_of_shift(epsilon, exact), epsilon / exact - exact / 2
        slope = _UP.divide(_UP.multiply(_density(_above(abs(a)), _UP), _above(exact)), bound)
        step = float(_UP.divide(_UP.subtract(log, _UP.ln(bound)), slope))
        mu = min(mu * math.exp(min(step, 1.0)), most)
        if abs(step) < 1e-13:
            break
    return mu


def _tail_above(x: Decimal) -> Decimal:
    """Return an upper bound on the probability that a standard normal variable exceeds x."""
    if x >= 0:
        return _UP.multiply(_density(x, _UP), _mills(x)[1])
    size = x.copy_negate()
    return _UP.subtract(Decimal(1), _DOWN.multiply(_density(size, _DOWN), _mills(size)[0]))


def _density(x: Decimal, side: Context) -> Decimal:
    """Return an upper or lower bound on φ(x) for x ≥ 0, depending on the context."""
    other, root = (_DOWN, _ROOT_BELOW) if side is _UP else (_UP, _ROOT_ABOVE)
    power = side.exp(other.multiply(_HALF, other.multiply(x, x)).copy_negate())  # exp rounds to nearest in any context
    power = side.next_plus(power) if side is _UP else max(side.next_minus(power), Decimal(0))
    return side.divide(power, other.multiply(_TWO, root))


def _mills(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return a lower and an upper bound on the Mills ratio, Φ(−x)/φ(x), for x ≥ 0."""
    return _mills_series(x) if x < _SERIES else _mills_fraction(x)


def _mills_series(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return bounds by the series ``√(π/2)·e^(x²/2) − Σ x^(2k+1)/(1·3·…·(2k+1))``."""
    bounds = list[Decimal]()
    for side, other, root in ((_DOWN, _UP, _ROOT_BELOW), (_UP, _DOWN, _ROOT_ABOVE)):
        power = side.exp(side.multiply(_HALF, side.multiply(x, x)))
        power = side.next_plus(power) if side is _UP else side.next_minus(power)
        square, term, total = other.multiply(x, x), x, x
        for odd in count(3, 2):
            term = other.divide(other.multiply(term, square), Decimal(odd))
            total = other.add(total, term)
            if square < odd // 2 and term < _LEAST_TERM:  # every further term is at most half of its predecessor
                break
        if other is _UP:
            total = _UP.add(total, term)
        bounds.append(side.subtract(side.multiply(root, power), total))
    return bounds[0], bounds[1]


def _mills_fraction(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return bounds by Laplace's fraction ``1/(x + 1/(x + 2/(x + 3/(x + …))))``, whose tails are at least x."""
    low, high = x, _UP.add(x, _UP.divide(Decimal(_TERMS + 1), x))
    for k in range(_TERMS, 0, -1):
        part = Decimal(k)
        low, high = _DOWN.add(x, _DOWN.divide(part, high)), _UP.add(x, _UP.divide(part, low))
    return _DOWN.divide(Decimal(1), high), _UP.divide(Decimal(1), low)


def _above(amount: Fraction) -> Decimal:
    return _UP.divide(Decimal(amount.numerator), Decimal(amount.denominator))


def _below(amount: Fraction) -> Decimal:
    return _DOWN.divide(Decimal(amount.numerator), Decimal(amount.denominator))
