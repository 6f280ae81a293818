"""Parameters of foreign objects become plain values, or are refused."""

from datetime import datetime

import numpy as np
import pytest

from hedgerow.boundary.plain import are_nan, plain_array, plain_flag, plain_number, plain_text, plain_values


class Word(str):
    """Text of a derived type."""

    __slots__ = ()


class Array(np.ndarray):
    """An array of a derived type."""


def test_values_of_known_types_become_pythons_own():
    values = np.array(["a", 1, 2.5, True, None, np.nan, np.int64(3), np.str_("b"), datetime(2020, 1, 2)], dtype=object)
    result = plain_values(values)
    assert result == ["a", 1, 2.5, True, None, None, 3, "b", datetime(2020, 1, 2)]
    assert {type(value) for value in result} == {str, int, float, bool, type(None), datetime}
    assert are_nan(values) == [False] * 5 + [True] + [False] * 3
    assert plain_values(np.array(["2020-01-02", "NaT"], dtype="datetime64[ns]")) == [datetime(2020, 1, 2), None]


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (np.array([Word("a")], dtype=object), "expected text, a number or a date"),
        (np.array([object()], dtype=object), "expected text, a number or a date"),
        (np.array([b"a"]), "expected text, a number or a date"),
        (np.array(["\ud800"], dtype=object), "surrogates not allowed"),
        (np.ones(2).view(Array), "not (numeric|in) NumPy arrays"),
        (np.ones((2, 1)), "not (numeric|in) NumPy arrays"),
        ([1.0], "not (numeric|in) NumPy arrays"),
    ],
)
def test_other_values_are_refused(values, match):
    with pytest.raises(ValueError, match=match):
        plain_values(values)


def test_numbers_have_the_expected_shape_and_are_finite():
    assert plain_array(np.array([[1, 2]]), (1, -1)).tolist() == [[1.0, 2.0]]
    for values, match in (
        (np.ones(3), "shape"),
        (np.array([[np.inf]]), "not finite"),
        (np.array([["1"]]), "not (numeric|in) NumPy arrays"),
        (np.ones((1, 1)).view(Array), "not (numeric|in) NumPy arrays"),
    ):
        with pytest.raises(ValueError, match=match):
            plain_array(values, (1, -1))


def test_settings_are_of_exactly_their_type():
    assert (plain_text("a"), plain_flag(np.True_), plain_flag(0), plain_number(3)) == ("a", True, False, 3.0)
    for read, value in ((plain_text, Word("a")), (plain_flag, "yes"), (plain_number, "3"), (plain_number, None)):
        with pytest.raises(ValueError, match=rf"got a {type(value).__name__}"):
            read(value)
