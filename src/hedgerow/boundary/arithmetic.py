"""Reproducible arithmetic: the result for a row depends on that row alone, to the last bit.

A matrix product of real numbers does not have this property: BLAS chooses the order in which it adds by the number of
rows, so that a row's result can change when another row is added. Here both factors are cut into whole numbers of so
few digits that every partial sum is a whole number below 2⁵³: it is exact in float64, in any order of addition.
All else is elementwise, and made of operations that IEEE 754 rounds correctly (+, −, ×, ÷, comparisons, rounding
to whole numbers): the result does not depend on the batch, its alignment or the processor's instructions. The
exponential is computed from these operations, since NumPy's own may differ in the last place between the vectorised
part of an array and its end.

References
----------
Ozaki, Ogita, Oishi and Rump, *Error-free transformations of matrix multiplication by using fast routines of matrix
multiplication and its applications*, Numerical Algorithms 59, 2012. IEEE 754-2019, Sections 4.3 and 5.4. Muller et al.,
*Handbook of Floating-Point Arithmetic*, 2018 (reduction of the argument of the exponential).
"""

from math import factorial, log

import numpy as np

from hedgerow.boundary.arrays import Floats

_EXACT = 53  # binary digits: whole numbers below 2^53 are exact in float64
LARGEST = 2.0**300  # numbers and weights below it in size can be multiplied and added here without leaving float64
_LOG2 = log(2)
_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # ln 2 to 32 bits: times a whole number below 2^20 it is exact
_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # the rest of it
_TERMS = tuple(1 / factorial(k) for k in range(13, -1, -1))


def affine(rows: Floats, weights: Floats, bias: Floats) -> Floats:
    """Return ``rows @ weights + bias``, to some 40 binary digits of the largest product that a row could have."""
    digits = (_EXACT - len(weights).bit_length()) // 2
    balance = _power_above(weights, axis=1)  # of each input: its share in the products is what counts
    rows, weights = rows * balance[:, 0], weights / balance
    of_rows, of_outputs = _power_above(rows, axis=1), _power_above(weights, axis=0)
    high, low = _whole(rows / of_rows, digits)
    weights_high, weights_low = _whole(weights / of_outputs, digits)
    total = high @ weights_high + (high @ weights_low + low @ weights_high) / 2**digits
    return total / 4**digits * of_rows * of_outputs + bias


def _power_above(values: Floats, axis: int) -> Floats:
    """Return along an axis the power of 2 that is above every value in size, and not below 2⁻³⁰⁰."""
    largest = np.abs(values).max(axis=axis, initial=0.0, keepdims=True)
    return np.ldexp(1.0, np.where(largest > 0, np.maximum(np.frexp(largest)[1], -300), -300))


def _whole(values: Floats, digits: int) -> tuple[Floats, Floats]:
    """Return values of at most 1 in size as two whole numbers: the first `digits` binary digits, and the next."""
    scaled = values * 2**digits
    high = np.rint(scaled)
    return high, np.rint((scaled - high) * 2**digits)


def exponential(x: Floats) -> Floats:
    """Return e^x, x kept from −700 to 700: ``2^k·e^r`` with x = k·ln 2 + r, and Taylor's series of e^r."""
    bounded = np.clip(x, -700.0, 700.0)
    k = np.rint(bounded / _LOG2)
    r = (bounded - k * _HIGH) - k * _LOW
    total = np.zeros_like(r)
    for term in _TERMS:
        total = total * r + term
    return np.ldexp(total, k.astype(np.int64))


def logistic(x: Floats) -> Floats:
    return 1 / (1 + exponential(-x))


def hyperbolic_tangent(x: Floats) -> Floats:
    return 1 - 2 / (exponential(2 * x) + 1)
