from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.bounded import parse_amount
from hedgerow.privacy.amounts import LARGEST, exact, total


@given(st.fractions(0, 10**9) | st.floats(0, 1e299) | st.integers(0, 10**300))
def test_an_exact_amount_has_a_float_and_is_read_back_as_it_is_written(number):
    amount = exact(number, "epsilon")
    assert amount == Fraction(number)
    assert float(amount) >= 0
    assert parse_amount(str(amount)) == amount


@pytest.mark.parametrize("number", [5e-324, LARGEST, Fraction(1, 10**1000 - 1), 0])
def test_the_outermost_amounts_are_amounts(number):
    assert parse_amount(str(exact(number, "epsilon"))) == Fraction(number)


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (LARGEST + 1, "got one beyond 1e"),
        (-(10**400), "got one beyond 1e"),
        (Fraction(1, 10**1000), "at most 1,000 digits"),
        (Fraction(10**1000 + 1, 10**1000), "at most 1,000 digits"),
    ],
)
def test_what_no_file_could_hold_is_no_amount(number, message):
    with pytest.raises(ValueError, match=message):
        exact(number, "epsilon")


def test_a_table_given_as_an_amount_is_not_shown():
    class Table:
        def __repr__(self):
            return "SECRET"

    with pytest.raises(ValueError, match="got <Table> of type Table") as caught:
        exact(Table(), "epsilon")
    assert "SECRET" not in str(caught.value)


@given(st.lists(st.fractions(0, 10, max_denominator=50), max_size=20))
def test_the_total_is_the_exact_sum(amounts):
    assert total(amounts) == sum(amounts, Fraction(0))


def test_a_total_of_too_many_digits_is_refused():
    with pytest.raises(ValueError, match="too many digits"):
        total([Fraction(1, 10**900 + i) for i in (7, 9, 13)])
