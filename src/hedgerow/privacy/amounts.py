"""Amounts of privacy loss: exact fractions that are read from numbers or text, added, and shown rounded."""

import math
import re
from collections.abc import Iterable, Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np

from hedgerow.boundary.untrusted_text import LONGEST_AMOUNT, parse_amount
from hedgerow.errors import ArgumentError
from hedgerow.text.messages import describe_argument, shown

LARGEST = Fraction(10**300)  # the largest amount, so that sums of amounts are finite as floats
Amount = float | Fraction | Decimal | str  # the types of an amount in calls; `exact` gives its value
_WRITTEN = re.compile(r"[0-9]{1,400}/[0-9]{1,400}|([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_LONGEST = 10**LONGEST_AMOUNT
_LARGE_EPSILON = 10  # the last tier of Ponomareva et al., 2023
# δ must be far below 1/n (Dwork and Roth, 2014, section 2.3), and few sensitive tables have fewer than 1,000 rows.
_LARGE_DELTA = Fraction(1, 10_000)
_LONGEST_SUM = 10**2500  # digits are written down, and Python writes 4,300 at most


def exact(value: object, name: str) -> Fraction:
    """Return `value` as an exact fraction; a float counts as its shortest decimal, so that 0.1 is a tenth."""
    return _exact(value, name, ">= 0")


def positive(value: object, name: str) -> Fraction:
    """Return `value` as an exact fraction, as `exact` does; ArgumentError also for 0."""
    fraction = _exact(value, name, "> 0")
    if not fraction:
        raise ArgumentError(f"{name} must be a number > 0, got 0.")
    return fraction


def _exact(value: object, name: str, bound: str) -> Fraction:
    fraction = _fraction(value, name, bound)
    if fraction < 0 or fraction > LARGEST:
        size = f"{float(fraction):g}" if abs(fraction) <= LARGEST else f"a number beyond ±{float(LARGEST):g}"
        raise ArgumentError(f"{name} must be a finite number {bound}, got {size}.")
    if max(fraction.numerator, fraction.denominator) >= _LONGEST:
        problem = f"{name} must have at most {LONGEST_AMOUNT:,} digits in numerator and denominator. Use a float."
        raise ArgumentError(problem)
    return fraction


def _fraction(value: object, name: str, bound: str) -> Fraction:
    if isinstance(value, str):
        if not _WRITTEN.fullmatch(value):
            raise ArgumentError(f"{name} must be a number {bound} such as 0.1 or 1/10, got {shown(value)}.")
        above, _, below = value.partition("/")
        if below and not int(below):
            raise ArgumentError(f"{name} must be a finite number {bound}, got {shown(value)}.")
        return Fraction(above) / int(below or 1)
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        got = f"{describe_argument(value)} of type {type(value).__name__}"
        raise ArgumentError(f"{name} must be a finite number {bound}, got {got}.")
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise ArgumentError(f"{name} must be a finite number {bound}, got {shown(str(value))}.")
    if isinstance(value, Decimal):
        if value and abs(value.adjusted()) > LONGEST_AMOUNT:
            size = "beyond" if value.adjusted() > 0 else "closer to 0 than"
            raise ArgumentError(f"{name} must be a finite number {bound}, got a number {size} 1e{value.adjusted():+}.")
        return Fraction(value)
    return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))


def total(amounts: Iterable[Fraction]) -> Fraction:
    result = Fraction(0)
    for amount in amounts:
        result += amount
        if max(result.numerator, result.denominator) >= _LONGEST_SUM:
            problem = "the sum of amounts has more than 2,500 digits in numerator or denominator."
            raise ArgumentError(f"{problem} Use amounts with fewer digits.")
    return result


def amount_text(amount: Fraction | float, *, digits: int = 6, left: bool = False) -> str:
    """Return an amount rounded to `digits` significant digits: up if it is spent, down if it is `left`."""
    # An amount within one rounding of float64 (a factor of 1 ± 2⁻⁵²) of such a decimal is shown as this decimal: 0.1 is
    # not shown as 0.100001.
    exactly = Fraction(amount)
    short = f"{float(exactly):.{digits}g}"
    if abs(Fraction(short) - exactly) * 2**52 <= exactly:
        return short
    rounding = Context(prec=digits, rounding=ROUND_FLOOR if left else ROUND_CEILING)
    rounded = rounding.divide(Decimal(exactly.numerator), Decimal(exactly.denominator))
    text = f"{float(rounded):.{digits}g}"
    return text if Fraction(text) == Fraction(rounded) else f"{rounded.normalize():e}"


def guarantee_warning(epsilon: Fraction, delta: Fraction = Fraction(0)) -> str | None:
    """Return a warning if the guarantee of a release protects little, whatever the table; else None."""
    warnings = list[str]()
    if epsilon > _LARGE_EPSILON:
        amount = amount_text(epsilon)
        warnings.append(
            f"epsilon = {amount} protects little: one row or unit can change the probability of a result by a factor "
            f"of exp({amount}). Use at most {_LARGE_EPSILON}."
        )
    if delta > _LARGE_DELTA:
        warnings.append(
            f"delta = {amount_text(delta)} protects little: with this probability, a release may disclose a row or "
            "unit. Use far less than 1/n for n rows, such as 1e-6."
        )
    return " ".join(warnings) or None


def both_amounts(name: str, amount: Fraction | None) -> dict[str, float | str | None]:
    """Return an amount as JSON-ready data: as a float and as exact text."""
    return {
        name: amount if amount is None else float(amount),
        f"{name}_exact": amount if amount is None else str(amount),
    }


def amounts_data(epsilon: Fraction | None, delta: Fraction, rho: Fraction | None) -> dict[str, str | None]:
    """Return amounts as exact text, or None if they are not capped or not known."""
    amounts = {"epsilon": epsilon, "delta": delta, "rho": rho}
    return {name: None if amount is None else str(amount) for name, amount in amounts.items()}


def read_amounts(data: Mapping[Any, Any]) -> dict[str, Any]:
    """Read back what `amounts_data` wrote; raises ValueError, KeyError or TypeError for anything else."""
    return {name: None if data[name] is None else parse_amount(data[name]) for name in ("epsilon", "delta", "rho")}
