"""Amounts of ε and δ as exact fractions.

Amounts and their sums are bounded in size and digits: each has a float, and can be written to a file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real

from hedgerow.errors import ArgumentError
from hedgerow.messages import shown, shown_argument
from hedgerow.untrusted_text import LONGEST_AMOUNT

LARGEST = Fraction(10**300)
"""The largest amount: a sum of such amounts still has a float."""
_LONGEST = 10**LONGEST_AMOUNT
_LONGEST_SUM = 10**2500  # digits are written down, and Python writes 4,300 at most


def exact(value: object, name: str) -> Fraction:
    """Return `value` as the exact fraction it is; a float is converted by its exact binary value.

    Raises
    ------
    ValueError
        If `value` is not a finite, non-negative number, or a fraction of more digits than a file may have.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ArgumentError(
            f"{name} must be a finite number >= 0, got {shown_argument(value)} of type {type(value).__name__}."
        )
    if not isinstance(value, Rational) and not math.isfinite(value):
        raise ArgumentError(f"{name} must be a finite number >= 0, got {shown(float(value))}.")
    if isinstance(value, Rational):
        fraction = Fraction(int(value.numerator), int(value.denominator))
    else:
        fraction = Fraction(float(value))
    if fraction < 0 or fraction > LARGEST:
        size = f"{float(fraction):g}" if abs(fraction) <= LARGEST else f"one beyond {float(LARGEST):g}"
        raise ArgumentError(f"{name} must be a finite number >= 0, got {size}.")
    if max(fraction.numerator, fraction.denominator) >= _LONGEST:
        raise ArgumentError(
            f"{name} must have at most {LONGEST_AMOUNT:,} digits in numerator and denominator, got more."
        )
    return fraction


def total(amounts: Iterable[Fraction]) -> Fraction:
    """Return the exact sum.

    Raises
    ------
    ValueError
        If it has more than 2,500 digits in numerator or denominator.
    """
    result = Fraction(0)
    for amount in amounts:
        result += amount
        if max(result.numerator, result.denominator) >= _LONGEST_SUM:
            raise ArgumentError(
                "the sum of amounts must have at most 2,500 digits in numerator and denominator, got more."
            )
    return result


def amount_text(amount: Fraction | float, *, digits: int = 6, left: bool = False) -> str:
    """Return an amount rounded to `digits`: up if it is spent, down if it is `left`.

    An amount that is a decimal with so many digits, up to one rounding of float64 (a factor of 1 ± 2⁻⁵²), is shown as
    that decimal: 0.1 is not shown as 0.100001.

    Examples
    --------
    >>> amount_text(Fraction(1, 3)), amount_text(Fraction(1, 3), left=True), amount_text(0.1)
    ('0.333334', '0.333333', '0.1')
    """
    exactly = Fraction(amount)
    short = f"{float(exactly):.{digits}g}"
    if abs(Fraction(short) - exactly) * 2**52 <= exactly:
        return short
    rounding = Context(prec=digits, rounding=ROUND_FLOOR if left else ROUND_CEILING)
    rounded = rounding.divide(Decimal(exactly.numerator), Decimal(exactly.denominator))
    text = f"{float(rounded):.{digits}g}"
    return text if Fraction(text) == Fraction(rounded) else f"{rounded.normalize():e}"
