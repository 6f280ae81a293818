"""Gaussian differential privacy: which μ implies (ε, δ), and how much noise on whole numbers it takes.

Releases are μ-GDP together if no test tells two neighbouring tables apart better than one sample of N(0, 1) from one
of N(μ, 1) (Dong, Roth and Su 2022). Gaussian noise of variance v on a change Δ uses up ``‖Δ‖²/v`` of μ²; these add up
over releases, each of which may depend on earlier answers. Noise on whole numbers needs a little more than v: the
proofs are fact 12 of ``docs/mathematics.md``.

All bounds are computed with directed rounding, in contexts of this module that a caller's context cannot change.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, DivisionByZero, InvalidOperation, Overflow
from fractions import Fraction
from functools import lru_cache
from itertools import count

from hedgerow.errors import ArgumentError

LARGEST_MU = Fraction(1000)
"""The μ of noise that is none: of scale 0.001."""
_LEAST_MU = Fraction(1, 2**60)
MARGIN, RELATIVE_MARGIN = 2, Fraction(1, 10**6)
"""What the variance of noise on whole numbers exceeds v by: an absolute part, and a part of v."""
PER_DRAW = Fraction(355, 226)
"""Above π/2 by less than 1e-7: the μ² of a draw by Gumbel noise, in squared sensitivities over its squared scale."""
_EXCESS = Fraction(6, 10**13)  # of μ²: how far, in ε, all releases together are from continuous noise
_FINE = 2**10  # the least variance in which the absolute margin is accepted
_DIGITS = 60
_TRAPS = [InvalidOperation, DivisionByZero, Overflow]
_UP, _DOWN = (
    Context(_DIGITS, side, Emin=-999_999, Emax=999_999, capitals=1, clamp=0, flags=[], traps=_TRAPS)
    for side in (ROUND_CEILING, ROUND_FLOOR)
)
_ROOT_BELOW = Decimal("1.25331413731550025120788264240552262650349337030496915831496178")  # of π/2
_ROOT_ABOVE = Decimal("1.25331413731550025120788264240552262650349337030496915831496179")
_HALF, _TWO = Decimal("0.5"), Decimal(2)
_SERIES = 6  # up to here the Mills ratio is a series, beyond a continued fraction
_TERMS = 200  # of the continued fraction: its bounds from 6 on are within 1e-50 of each other
_LEAST_TERM = Decimal("1e-70")  # of the series
_FAR, _NEXT_TO_NOTHING = 200, Decimal("1e-8600")  # beyond 200 a tail of the normal distribution is below e^-20000


@lru_cache(maxsize=1024)
def largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the largest μ for which noise of `gdp_noise` is proven to be (ε, δ)-differentially private.

    At most `LARGEST_MU`, and smaller than possible by less than a relative 1e-9 if δ is at most 0.9.

    Raises
    ------
    ValueError
        If ε and δ are so small that μ is below 2⁻⁶⁰, or δ is 0.
    """
    if delta and certifies(LARGEST_MU, epsilon, delta):
        return LARGEST_MU
    mu = _near_largest_mu(epsilon, delta) if delta else 0.0
    step = 2.0**-42
    while mu >= _LEAST_MU and not certifies(Fraction(mu), epsilon, delta):
        mu, step = mu * (1 - step), 2 * step
    if mu < _LEAST_MU:
        problem = "epsilon and delta are below the supported minimum for Gaussian noise"
        raise ArgumentError(f"{problem}; increase them, or ask fewer queries.")
    return Fraction(mu)


@lru_cache(maxsize=1024)
def certifies(mu: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Return whether releases with noise of `gdp_noise` for μ are proven to be (ε, δ)-differentially private."""
    if not 0 < mu <= LARGEST_MU:
        return False
    excess = _EXCESS * mu**2
    bound = delta_of_shift(epsilon - 2 * excess, mu)
    return _UP.multiply(bound, _above(1 + 2 * excess)) <= _below(delta)  # e^x ≤ 1 + 2x for 0 ≤ x ≤ 1


def delta_of_shift(epsilon: Fraction, mu: Fraction) -> Decimal:
    """Return an upper bound on the least δ for which N(0, 1) and N(μ, 1) are (ε, δ)-indistinguishable; ε ≥ −μ²/2.

    It exceeds ``Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ)`` by less than a relative 1e-30 where δ is at least 1e-1000.
    """
    # Balle and Wang, Improving the Gaussian Mechanism for Differential Privacy, ICML 2018, Theorem 8. With
    # a = ε/μ − μ/2 and b = a + μ, e^ε·Φ(−b) is φ(a)·M(b), where M(x) = Φ(−x)/φ(x) is the ratio of Mills.
    a, b = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if a > _FAR:
        return _NEXT_TO_NOTHING
    first = _tail_above(_below(a))
    return _UP.subtract(first, _DOWN.multiply(_density(_above(abs(a)), _DOWN), _mills(_above(b))[0]))


@lru_cache(maxsize=1024)
def gdp_noise(needed: Fraction) -> tuple[float, int]:
    """Return the σ of discrete Gaussian noise for a squared sensitivity of `needed` times μ², and its grid.

    σ is in steps of the grid, an odd number of which make 1. Releases on every way together, each with noise of at
    least this σ for its share of μ², are (ε, δ)-differentially private where `certifies` says so.
    """
    # Steps finer than 1 make the absolute margin small. Odd: no sum of steps is half way between two whole numbers.
    grid = 1 if needed >= _FINE else 2 * math.ceil(math.sqrt(_FINE / needed) / 2) + 1
    variance = needed * grid**2 * (1 + RELATIVE_MARGIN) + MARGIN
    sigma = math.sqrt(variance)
    while Fraction(sigma) ** 2 < variance:
        sigma = math.nextafter(sigma, math.inf)
    return sigma, grid


def _near_largest_mu(epsilon: Fraction, delta: Fraction) -> float:
    """Return about the largest μ, by Newton's steps on ln δ, which is concave in ln μ; the derivative of δ is φ(a)."""
    log = _UP.ln(_above(delta))
    size, goal, most = -float(log), float(epsilon), float(LARGEST_MU)
    mu = min(math.sqrt(2) * goal / (math.sqrt(size + goal) + math.sqrt(size)), most)  # what ρ + 2√(ρ·ln(1/δ)) allows
    for _ in range(60):
        if mu < _LEAST_MU:
            break
        exact = Fraction(mu)
        found, a = delta_of_shift(epsilon, exact), epsilon / exact - exact / 2
        slope = _UP.divide(_UP.multiply(_density(_above(abs(a)), _UP), _above(exact)), found)
        step = float(_UP.divide(_UP.subtract(log, _UP.ln(found)), slope))
        mu = min(mu * math.exp(min(step, 1.0)), most)
        if abs(step) < 1e-13:
            break
    return mu


def _tail_above(x: Decimal) -> Decimal:
    """Return an upper bound on the chance that a standard normal variable exceeds x."""
    if x >= 0:
        return _UP.multiply(_density(x, _UP), _mills(x)[1])
    size = x.copy_negate()
    return _UP.subtract(Decimal(1), _DOWN.multiply(_density(size, _DOWN), _mills(size)[0]))


def _density(x: Decimal, side: Context) -> Decimal:
    """Return a bound on φ(x) for x ≥ 0, from above or below by the context."""
    other, root = (_DOWN, _ROOT_BELOW) if side is _UP else (_UP, _ROOT_ABOVE)
    power = side.exp(other.multiply(_HALF, other.multiply(x, x)).copy_negate())  # to nearest, whatever the context
    power = side.next_plus(power) if side is _UP else max(side.next_minus(power), Decimal(0))
    return side.divide(power, other.multiply(_TWO, root))


def _mills(x: Decimal) -> tuple[Decimal, Decimal]:
    """Return bounds from below and above on the ratio of Mills, Φ(−x)/φ(x), for x ≥ 0."""
    return _mills_series(x) if x < _SERIES else _mills_fraction(x)


def _mills_series(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds by ``√(π/2)·e^(x²/2) − Σ x^(2k+1)/(1·3·…·(2k+1))``."""
    bounds = list[Decimal]()
    for side, other, root in ((_DOWN, _UP, _ROOT_BELOW), (_UP, _DOWN, _ROOT_ABOVE)):
        power = side.exp(side.multiply(_HALF, side.multiply(x, x)))
        power = side.next_plus(power) if side is _UP else side.next_minus(power)
        square, term, total = other.multiply(x, x), x, x
        for odd in count(3, 2):
            term = other.divide(other.multiply(term, square), Decimal(odd))
            total = other.add(total, term)
            if square < odd // 2 and term < _LEAST_TERM:  # each of the terms left is at most half of the last
                break
        if other is _UP:
            total = _UP.add(total, term)
        bounds.append(side.subtract(side.multiply(root, power), total))
    return bounds[0], bounds[1]


def _mills_fraction(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds by Laplace's continued fraction ``1/(x + 1/(x + 2/(x + 3/(x + …))))``, whose tails are at least x."""
    low, high = x, _UP.add(x, _UP.divide(Decimal(_TERMS + 1), x))
    for k in range(_TERMS, 0, -1):
        part = Decimal(k)
        low, high = _DOWN.add(x, _DOWN.divide(part, high)), _UP.add(x, _UP.divide(part, low))
    return _DOWN.divide(Decimal(1), high), _UP.divide(Decimal(1), low)


def _above(amount: Fraction) -> Decimal:
    return _UP.divide(Decimal(amount.numerator), Decimal(amount.denominator))


def _below(amount: Fraction) -> Decimal:
    return _DOWN.divide(Decimal(amount.numerator), Decimal(amount.denominator))
