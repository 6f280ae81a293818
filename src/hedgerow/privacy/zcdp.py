"""Zero-concentrated differential privacy: the ρ of releases, and its conversion to (ε, δ).

A mechanism is ρ-zCDP if the Rényi divergence of order α of its answers on neighbouring tables is at most αρ, for every
α > 1 (Bun and Steinke 2016). ρ adds up over releases, even if a release depends on earlier answers. The proofs are in
fact 6 of ``docs/mathematics.md``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache, lru_cache
from sys import float_info

from hedgerow.errors import ArgumentError
from hedgerow.privacy import opendp as dp

LARGEST_RHO = Fraction(200)
"""The largest ρ that is converted: the ρ of noise of scale 0.05, which is 0 except with probability about e⁻²⁰⁰."""
_LEAST_RHO = Fraction(1, 2**121)
_DIGITS = 64
_SMALL_RANGE = Fraction(1, 2**10)  # below it r²/8 exceeds the least ρ by less than a relative 1e-8
_UP, _DOWN = (Context(prec=60, rounding=side) for side in (ROUND_CEILING, ROUND_FLOOR))


@lru_cache(maxsize=1024)
def pure_rho(epsilon: Fraction, each: Fraction | None = None) -> Fraction:
    """Return an upper bound on the ρ of releases of pure ε: `epsilon` in total, and at most `each` per release.

    The bound is at least ``ε·tanh(each/2)``, which is proven to suffice, and at most ``ε·each/2``. It exceeds
    ``ε·tanh(each/2)`` by a relative 1e-5 at most if `each` is at most 1, and by less than 2 % for any `each`. For a
    single release of ε = 5 it is 5, and ``ε·tanh(ε/2)`` is 4.933. If `each` is None, there is a single release.
    """
    # Kairouz, Oh and Viswanath, The Composition Theorem for Differential Privacy, ICML 2015, Theorem 2.5: randomised
    # response dominates every pair of answers. A convergent of the continued fraction of tanh, cut off at 1, bounds
    # tanh from above.
    half = (epsilon if each is None else each) / 2
    tanh = half * (15 + half**2) / (15 + 6 * half**2)
    # From 1 on the result is ε itself, without rounding: the ρ of equal parts then adds up to the ρ of the whole.
    return epsilon if tanh >= 1 else _rounded_up(epsilon * tanh)


def drawn_rho(epsilon: Fraction, weight: Fraction) -> Fraction:
    """Return the ρ of a draw whose exact log-ratios have a range of `weight`; `epsilon` includes rounding errors."""
    # Rounding extends the range by `epsilon` − `weight` at both ends.
    return min(_rho_of_range(2 * epsilon - weight), pure_rho(epsilon))


@lru_cache(maxsize=1024)
def _rho_of_range(width: Fraction) -> Fraction:
    """Return the least ρ for log-ratios of range r, rounded up: ``u − 1 − ln u < r²/8`` with ``u = r/(1 − e⁻ʳ)``."""
    # Harrison and Manurangsi, Exact zCDP Characterizations for Fundamental Differentially Private Mechanisms, FORC
    # 2026. ρ increases with u, and u with r, so every step rounds to the side of a larger result. A unary minus would
    # round by the caller's context.
    if width < _SMALL_RANGE:
        return _rounded_up(width**2 / 8)
    r = _UP.divide(Decimal(width.numerator), Decimal(width.denominator))
    u = _UP.divide(r, _DOWN.subtract(1, _UP.next_plus(_UP.exp(r.copy_negate()))))
    return _rounded_up(Fraction(_UP.subtract(_UP.subtract(u, 1), _DOWN.next_minus(_DOWN.ln(u)))))


def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an ε for which ρ-zCDP implies (ε, δ)-differential privacy, by OpenDP's conversion, rounded up."""
    if not delta:
        raise ArgumentError("delta must be > 0 to express rho as epsilon, got 0.")
    if not rho:
        return Fraction(0)
    at = float(delta)
    at = at if Fraction(at) <= delta else math.nextafter(at, 0.0)
    if rho > LARGEST_RHO:  # Bun and Steinke 2016, Proposition 1.3: ρ + 2√(ρ·ln(1/δ))
        more = 2 * math.sqrt(float(rho) * -math.log(at)) if at else float_info.max
        return _rounded_up(rho + Fraction(more) * (1 + Fraction(1, 2**40)))
    return _converted(max(rho, _LEAST_RHO), at)


@cache
def largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ, to a relative 1e-7 and at most `LARGEST_RHO`, that implies (ε, δ)-differential privacy."""
    near = _near_largest_rho(epsilon, delta) if delta else Fraction(0)
    low, high = _bisected(near.__ge__)
    # Usually two conversions, of milliseconds each, confirm the result; otherwise every step needs a conversion.
    if delta and not (epsilon_at(low, delta) <= epsilon and (low == high or epsilon_at(high, delta) > epsilon)):
        low, _ = _bisected(lambda rho: epsilon_at(rho, delta) <= epsilon)
    if low < _LEAST_RHO:
        given = f"epsilon={float(epsilon):.3g} with delta={float(delta):.3g}"
        problem = f"{given} is below the supported minimum for Gaussian noise and zCDP accounting"
        raise ArgumentError(f"{problem}. Increase epsilon or delta, or ask fewer queries.")
    return low


def _bisected(allowed: Callable[[Fraction], bool]) -> tuple[Fraction, Fraction]:
    """Return the largest allowed ρ of a grid and the next ρ; a ρ below `_LEAST_RHO` if none is allowed."""
    low = high = LARGEST_RHO
    while low >= _LEAST_RHO and not allowed(low):
        low, high = low / 4, low
    while low >= _LEAST_RHO and high - low > high / 10**7:
        middle = (low + high) / 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low, high


def _near_largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return about the largest ρ, by the secant method: ε is nearly linear in the square root of ρ."""
    if epsilon_at(LARGEST_RHO, delta) <= epsilon:
        return LARGEST_RHO
    goal, at = float(epsilon), -math.log(max(float(delta), float_info.min))
    before, off, root = 0.0, -goal, goal / (math.sqrt(at + goal) + math.sqrt(at))
    for _ in range(12):
        root = min(root, 14.0)  # its square is below `LARGEST_RHO`, beyond which ε may have no float
        last, off = off, float(epsilon_at(Fraction(root) ** 2, delta)) - goal
        if abs(off) < 1e-9 * goal or root == before:
            break
        slope = (off - last) / (root - before)
        before, root = root, root - off / slope if slope > 0 else 2 * root
    return Fraction(min(root, 14.0)) ** 2


def largest_pure(rho: Fraction) -> Fraction:
    """Return the largest ε, to a relative 1e-9, whose `pure_rho` is at most ρ."""
    low, high = Fraction(0), Fraction(math.sqrt(float(rho)) * 2 + float(rho) * 2)
    while high - low > high / 10**9:
        middle = Fraction(float((low + high) / 2))
        low, high = (middle, high) if pure_rho(middle) <= rho else (low, middle)
    return low


@lru_cache(maxsize=4096)
def _converted(rho: Fraction, delta: float) -> Fraction:
    """Return OpenDP's ε for Gaussian noise that costs ρ or slightly more."""
    scale = 1 / math.sqrt(2 * float(rho))
    while Fraction(gaussian(scale).map(1.0)) < rho:
        scale = math.nextafter(scale, 0.0)
    return Fraction(min(dp.c.make_zCDP_to_approxDP(gaussian(scale)).map(1.0).epsilon(delta), float_info.max))


def gaussian(scale: float) -> dp.Measurement:
    """Return OpenDP's discrete Gaussian mechanism on vectors, whose privacy map returns the ρ of an ℓ2 distance."""
    return dp.m.make_gaussian(dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64"), scale=scale)


def _rounded_up(amount: Fraction) -> Fraction:
    """Return the smallest fraction with `_DIGITS` binary digits that is at least `amount`."""
    power = amount.numerator.bit_length() - amount.denominator.bit_length()  # the square of a huge ε has no float
    unit = Fraction(2) ** (power + (amount >= Fraction(2) ** power) - _DIGITS)
    return math.ceil(amount / unit) * unit
