"""Reproducible arithmetic: the result for a row depends only on this row, to the last bit.

BLAS products of floating-point matrices do not have this property. BLAS chooses the order of additions by the number of
rows, so that the result for a row can change when another row is added. Here both factors are split into whole numbers
with few digits. Every partial sum is then a whole number below 2⁵³, which is exact in float64 in any order of addition.
All other operations are elementwise and correctly rounded by IEEE 754 (+, −, ×, ÷, comparisons, rounding to whole
numbers), so the result does not depend on the batch, its alignment or the processor's instructions. The exponential is
computed from these operations, since NumPy's exponential may differ in the last place between the vectorised part of an
array and its end.

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
LARGEST = 2.0**300  # numbers and weights of absolute value below this can be multiplied and added without overflow
_LOG2 = log(2)
_HIGH = float.fromhex("0x1.62e42fee00000p-1")  # ln 2 to 32 bits: its product with a whole number below 2^20 is exact
_LOW = float.fromhex("0x1.a39ef35793c76p-33")  # ln 2 minus `_HIGH`
_TERMS = tuple(1 / factorial(k) for k in range(13, -1, -1))


def affine(rows: Floats, weights: Floats, bias: Floats) -> Floats:
    """Return ``rows @ weights + bias``, to about 40 binary digits of the largest possible product of a row."""
    digits = (_EXACT - len(weights).bit_length()) // 2
    balance = _power_above(weights, axis=1)  # scales every input by the size of its weights
    rows, weights = rows * balance[:, 0], weights / balance
    of_rows, of_outputs = _power_above(rows, axis=1), _power_above(weights, axis=0)
    high, low = _whole(rows / of_rows, digits)
    weights_high, weights_low = _whole(weights / of_outputs, digits)
    total = high @ weights_high + (high @ weights_low + low @ weights_high) / 2**digits
    return total / 4**digits * of_rows * of_outputs + bias


def _power_above(values: Floats, axis: int) -> Floats:
    """Return along an axis the power of 2 above the absolute value of every entry, at least 2⁻³⁰⁰."""
    largest = np.abs(values).max(axis=axis, initial=0.0, keepdims=True)
    return np.ldexp(1.0, np.where(largest > 0, np.maximum(np.frexp(largest)[1], -300), -300))


def _whole(values: Floats, digits: int) -> tuple[Floats, Floats]:
    """Return values of absolute value at most 1 as whole numbers: the first `digits` binary digits, and the next."""
    scaled = values * 2**digits
    high = np.rint(scaled)
    return high, np.rint((scaled - high) * 2**digits)


def exponential(x: Floats) -> Floats:
    """Return e^x, with x clipped to ±700, as ``2^k·e^r`` with x = k·ln 2 + r and the Taylor series of e^r."""
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
