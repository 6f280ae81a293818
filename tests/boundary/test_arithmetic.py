"""What comes out for a row depends on that row alone, to the last bit; and it is what it should be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.boundary.arithmetic import LARGEST, affine, exponential, hyperbolic_tangent, logistic

SHAPES = [(1, 1), (3, 1), (8, 500), (30, 1), (64, 64), (500, 16), (1000, 3)]
SIZES = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 65, 103, 104, 126, 127, 128, 129, 255, 1023, 1024, 2047, 4096]


def hostile(rng, *shape):
    """Return numbers of all sizes, which cancel: in another order of adding, another sum."""
    values = rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, size=shape)
    return np.where(rng.random(shape) < 0.2, -values, values)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_product_does_not_depend_on_the_batch(shape):
    rng = np.random.default_rng(0)
    rows, weights, bias = hostile(rng, 4096, shape[0]), hostile(rng, *shape), hostile(rng, shape[1])
    alone = np.vstack([affine(rows[i : i + 1], weights, bias) for i in range(40)])
    for size in SIZES:
        assert affine(rows[:size], weights, bias)[:40].tobytes() == alone[:size].tobytes()
        where = np.concatenate([rng.permutation(4096)[: size - 1], [7]])
        assert affine(rows[where], weights, bias)[-1].tobytes() == alone[7].tobytes()
        assert affine(np.asfortranarray(rows[where]), weights, bias)[-1].tobytes() == alone[7].tobytes()


def test_the_product_of_the_library_does_depend_on_it():
    """Else the test above would not show anything: on this machine, too, BLAS adds in another order."""
    rng = np.random.default_rng(0)
    rows, weights = hostile(rng, 4096, 500), hostile(rng, 500, 16)
    alone = np.vstack([rows[i : i + 1] @ weights for i in range(40)])
    assert any((rows[:size] @ weights)[:40].tobytes() != alone[:size].tobytes() for size in SIZES)


NUMBERS = st.just(0.0) | st.floats(1e-12, 1e12) | st.floats(-1e12, -1e-12)


@given(st.integers(1, 9).flatmap(lambda k: st.tuples(*(st.lists(NUMBERS, min_size=k, max_size=k) for _ in range(2)))))
def test_a_product_is_within_forty_binary_digits_of_the_exact_one(factors):
    row, weight = factors
    exact = sum(Fraction(x) * Fraction(w) for x, w in zip(row, weight, strict=True))
    result = affine(np.array([row]), np.array(weight)[:, None], np.zeros(1))[0, 0]
    # the powers of 2 that balance inputs and scale rows are within a factor of 8 of the largest product
    largest = max(abs(Fraction(x) * Fraction(w)) for x, w in zip(row, weight, strict=True))
    assert abs(Fraction(result) - exact) <= largest * 8 * len(row) / 2**40


@pytest.mark.parametrize("values", [[LARGEST / 2] * 3, [2.0**-290] * 3, [LARGEST / 2, 2.0**-290, 0.0], [5e-324] * 3])
def test_the_largest_and_the_smallest_numbers_stay_finite(values):
    result = affine(np.array([values]), np.array(values)[:, None], np.zeros(1))
    assert np.isfinite(result).all()


def test_no_rows_and_no_inputs():
    assert affine(np.empty((0, 3)), np.ones((3, 2)), np.ones(2)).shape == (0, 2)
    assert affine(np.empty((2, 0)), np.empty((0, 2)), np.array([1.0, 2.0])).tolist() == [[1, 2], [1, 2]]


def test_the_exponential_is_exact_to_two_units_in_the_last_place():
    x = np.concatenate([np.linspace(-700, 700, 4001), np.linspace(-1, 1, 2001), [0.0, -0.0, 1e-300]])
    for value, result in zip(x.tolist(), exponential(x).tolist(), strict=True):
        true = math.exp(value)
        assert abs(result - true) <= 2 * math.ulp(true)
    assert exponential(np.array([-1e9, 1e9])).tolist() == exponential(np.array([-700.0, 700.0])).tolist()


def test_activations_are_correct_and_independent_of_the_batch():
    x = np.random.default_rng(0).normal(size=4097) * 20
    for function, true in ((logistic, lambda v: 1 / (1 + math.exp(-v))), (hyperbolic_tangent, math.tanh)):
        with np.errstate(all="raise"):
            result = function(x)
        assert np.allclose(result, [true(value) for value in x.tolist()], rtol=1e-13, atol=4e-16)
        for size in SIZES:
            assert function(x[-size:].copy()).tobytes() == result[-size:].tobytes()
            assert function(np.repeat(x, 3)[::3][:size]).tobytes() == result[:size].tobytes()
