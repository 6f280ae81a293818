"""Cut points at equal distances or ratios, against their definition in exact arithmetic."""

import math
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.errors import SchemaError
from hedgerow.schema import Integer, Real
from hedgerow.schema.grid import spaced_cuts

numbers = st.integers(1, 30)


@given(st.integers(-500, 500), st.integers(1, 500), numbers)
def test_cut_points_of_whole_numbers_are_equal_steps_rounded_down(low, width, n):
    expected = {low + width * i // (n + 1) for i in range(1, n + 1)}
    assert spaced_cuts(low, low + width, n, whole=True) == tuple(sorted(expected))
    Integer(low, low + width, n)


@given(st.integers(-500, 500), st.integers(1, 500), numbers)
def test_cut_points_of_real_numbers_are_equal_steps_to_the_last_digit(low, width, n):
    low, high = low / 8, (low + width) / 8
    steps = [Fraction(low) + (Fraction(high) - Fraction(low)) * i / (n + 1) for i in range(1, n + 1)]
    assert spaced_cuts(low, high, n, whole=False) == tuple(map(float, steps))
    assert len(Real(low, high, n).cuts) == n


@given(st.floats(1e-6, 1e6), st.floats(1.5, 1e9), numbers)
@example(539760.0, 2.0, 24)  # two digits would round the last one beyond the bound
def test_cut_points_by_ratio_are_near_equal_ratios(low, ratio, n):
    result = spaced_cuts(low, low * ratio, f"log {n}", whole=False)
    expected = [low * (low * ratio / low) ** (i / (n + 1)) for i in range(1, n + 1)]
    assert len(result) == n
    assert all(math.isclose(cut, exact, rel_tol=0.05) for cut, exact in zip(result, expected, strict=True))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((1, 1000, "log 2"), (10.0, 100.0)),
        ((0.5, 8, "log 3"), (1.0, 2.0, 4.0)),
        ((1, 100, "log 3"), (3.2, 10.0, 32.0)),
        ((36, 42, 5), (37.0, 38.0, 39.0, 40.0, 41.0)),
        ((0.1, 0.4, 2), (0.2, 0.3)),  # decimals as they are written
    ],
)
def test_cut_points_are_round_if_possible(arguments, expected):
    assert spaced_cuts(*arguments, whole=False) == expected


def test_few_whole_numbers_are_cut_less_often():
    assert spaced_cuts(1, 5, 9, whole=True) == (1, 2, 3, 4)
    assert spaced_cuts(1, 5, "log 9", whole=True) == (1, 2, 3, 4)


@pytest.mark.parametrize("cuts", [0, -1, 1001, True, "5", "log 0", "log 1001", "log", "log 5.5", "LOG 5", "log 5 "])
def test_other_words_and_numbers_are_refused(cuts):
    with pytest.raises(SchemaError, match="from 1 to 1,000, such as 5 or log 5") as error:
        spaced_cuts(1, 9, cuts, whole=False)
    assert error.value.key == "cuts"


@pytest.mark.parametrize(("low", "whole"), [(0, True), (-1.5, False)])
def test_ratios_need_a_low_above_zero(low, whole):
    with pytest.raises(SchemaError, match="need low > 0"):
        spaced_cuts(low, 9, "log 5", whole=whole)
