"""Operators against one number at a time, and alike for a row in any batch."""

import math

import numpy as np
import pyarrow as pa
import pytest

from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.operators import ELEMENTWISE, Affine, Clip, Elementwise, Encode, FillText, Pick, Rowwise, Text
from hedgerow.tables.columns import Column

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
RNG = np.random.default_rng(2)
NUMBERS = [0.0, -0.0, 1.0, -2.5, 3.7, 1e-310, 1e30, -1e80, math.inf, -math.inf, math.nan]
NAN = math.nan


def is_nan(*values):
    return any(map(math.isnan, values))


def single(x):
    with np.errstate(all="ignore"):
        return float(np.float32(x))


SLOW = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: (
        a / b if b else NAN if is_nan(a) or not a else math.copysign(1, a) * math.copysign(math.inf, b)
    ),
    "negative": lambda a: -a,
    "absolute": abs,
    "maximum": lambda a, b: NAN if is_nan(a, b) else max(a, b),
    "minimum": lambda a, b: NAN if is_nan(a, b) else min(a, b),
    "is missing": lambda a: float(is_nan(a)),
    "equal": lambda a, b: float(a == b),
    "less": lambda a, b: float(a < b),
    "less or equal": lambda a, b: float(a <= b),
    "greater": lambda a, b: float(a > b),
    "greater or equal": lambda a, b: float(a >= b),
    "not": lambda a: NAN if is_nan(a) else float(a == 0),
    "boolean": lambda a: NAN if is_nan(a) else float(a != 0),
    "and": lambda a, b: NAN if is_nan(a, b) else float(a != 0 and b != 0),
    "or": lambda a, b: NAN if is_nan(a, b) else float(a != 0 or b != 0),
    "where": lambda c, a, b: NAN if is_nan(c) else a if c else b,
    "single": single,
    "whole": lambda a: a if is_nan(a) or math.isinf(a) else float(math.trunc(a)),
    "relu": lambda a: NAN if not abs(a) < 2.0**300 else max(a, 0.0),
    "tanh": lambda a: NAN if not abs(a) < 2.0**300 else math.tanh(a),
    "logistic": lambda a: NAN if not abs(a) < 2.0**300 else 1 / (1 + math.exp(-max(a, -700.0))),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_function_is_that_of_each_number(name):
    n_values = SLOW[name].__code__.co_argcount if hasattr(SLOW[name], "__code__") else 1
    grid = np.array(np.meshgrid(*[NUMBERS] * n_values)).reshape(n_values, -1)
    result = Elementwise(name)(*(row[:, None] for row in grid))[:, 0]
    expected = np.array([SLOW[name](*map(float, item)) for item in grid.T])
    np.testing.assert_allclose(result, expected, rtol=1e-14, atol=1e-300)


def test_a_function_of_others_is_refused():
    with pytest.raises(ArgumentError, match=r"expected one of add, .* got 'eval'"):
        Elementwise("eval")
    with pytest.raises(ArgumentError, match=r"expected one of join, .* got 'eval'"):
        Rowwise("eval")


def test_a_constant_and_a_column_count_for_all():
    rows = RNG.normal(size=(5, 3))
    assert (Elementwise("add")(rows, np.ones((1, 3))) == rows + 1).all()
    assert (Elementwise("multiply")(rows, rows[:, :1]) == rows * rows[:, :1]).all()
    joined = Rowwise("join")(rows, np.array([[7.0]]))
    assert joined.shape == (5, 4)
    assert (joined[:, 3] == 7).all()


@pytest.mark.parametrize("width", [1, 2, 7, 64, 1001])
@pytest.mark.parametrize("operator", [*map(Rowwise, ("sum", "softmax", "arg max")), Clip(-1, 1), Pick((0, 0))])
def test_a_row_has_the_same_result_in_any_batch(operator, width):
    rows = RNG.normal(size=(40, width)) * 10.0 ** RNG.integers(-9, 9, (40, width))
    whole = operator(rows)
    for i in range(0, 40, 7):
        assert (operator(rows[i : i + 1]) == whole[i]).all()
        assert (operator(np.asfortranarray(rows[i : i + 3])) == whole[i : i + 3]).all()


def test_sums_shares_and_places_are_those_of_the_numbers():
    rows = RNG.normal(size=(30, 9))
    np.testing.assert_allclose(Rowwise("sum")(rows)[:, 0], [math.fsum(row) for row in rows], atol=1e-14)
    powers = np.exp(rows)
    np.testing.assert_allclose(Rowwise("softmax")(rows), powers / powers.sum(axis=1, keepdims=True), rtol=1e-13)
    assert (Rowwise("arg max")(rows)[:, 0] == rows.argmax(axis=1)).all()
    assert np.isnan(Rowwise("arg max")(np.array([[1.0, NAN]]))).all()
    product = Affine(RNG.normal(size=(9, 2)), np.array([1.0, -1.0]))
    np.testing.assert_allclose(product(rows), rows @ product.weights + product.bias, atol=1e-10)


@pytest.mark.parametrize("number", [NAN, math.inf, 1e100])
def test_a_row_with_a_number_that_is_missing_or_too_large_has_no_product(number):
    rows = np.array([[1.0, number], [1.0, 1.0]])
    result = Affine(np.zeros((2, 3)), np.zeros(3))(rows)
    assert np.isnan(result).tolist() == [[True] * 3, [False] * 3]


def test_text_is_compared_and_filled_as_columns_are():
    words = pa.array(["a", None, "1.0", "b"], pa.large_string())
    text = (Text(Column("w", words, np.array([False, True, False, False]))),)
    for word, expected in (("a", [1, 0, 0, 0]), ("1", [0, 0, 1, 0]), ("", [0, 1, 0, 0])):
        assert Encode((word or None,))(text)[:, 0].tolist() == expected
    assert Encode(("b",))(FillText("b")(text))[:, 0].tolist() == [0, 1, 0, 1]
    assert Encode((None,))(FillText("b")(text))[:, 0].tolist() == [0, 0, 0, 0]
    assert len(Pick((0, 0))(text)) == len(Rowwise("join")(text, text)) == 2
