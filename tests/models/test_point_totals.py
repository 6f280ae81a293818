"""Totals that a table shows, and their probabilities."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.models.point_totals import percent, risk_of, tabulated_totals


@given(
    low=st.integers(-(10**9), 10**9),
    width=st.integers(0, 40) | st.integers(0, 10**9),
    unit=st.floats(1e-300, 1e6),
    most=st.integers(4, 15),
)
def test_a_table_of_totals_is_short_in_order_and_has_both_ends(low: int, width: int, unit: float, most: int) -> None:
    result = tabulated_totals(low, low + width, unit, most)
    assert 1 <= len(result) <= most
    assert (result[0], result[-1]) == (low, low + width)
    assert all(item < other for item, other in pairwise(result))
    assert width >= most or result == list(range(low, low + width + 1))


def test_between_the_ends_are_round_totals_where_the_probability_changes() -> None:
    # 5 log-odds are 50 points; multiples of 10 would be 11 and of 20 are 5
    assert tabulated_totals(-230, 187, 0.1, 12) == [-230, -40, -20, 0, 20, 40, 187]
    assert tabulated_totals(-230, 187, 0.1, 13) == [-230, *range(-50, 60, 10), 187]
    assert tabulated_totals(300, 1000, 0.1, 9) == [300, 400, 500, 600, 700, 800, 900, 1000]  # all are certain


def test_the_risk_of_a_total_is_logistic_with_a_normal_interval() -> None:
    result = risk_of(3, 1.5, 0.4)
    assert result.value == pytest.approx(1 / (1 + math.exp(-1.5)))
    assert result.low == pytest.approx(1 / (1 + math.exp(-1.5 + 1.959964 * 0.4)))
    assert result.high == pytest.approx(1 / (1 + math.exp(-1.5 - 1.959964 * 0.4)))
    assert (result.shown, result.ends) == ("82 %", ("67 %", "90.8 %"))
    assert risk_of(3, 0.5, None).ends == ()
    certain = risk_of(10**9, 1e15, 1e6)
    assert (certain.low, certain.value, certain.high) == (1, 1, 1)


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.0999, "10.0 %"),
        (0.1, "10 %"),
        (0.5, "50 %"),
        (0.951, "95.1 %"),
        (1, ">99.9 %"),
    ],
)
def test_percentages_are_as_precise_as_matters(probability: float, text: str) -> None:
    assert percent(probability) == text
