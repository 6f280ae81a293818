import re
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.privacy.amounts import LARGEST, amount_text, exact, guarantee_warning, positive, total


@given(st.fractions(0, 10**9) | st.floats(0, 1e299) | st.integers(0, 10**300))
def test_an_exact_amount_has_a_float_and_is_read_back_as_it_is_written(number):
    amount = exact(number, "epsilon")
    assert amount == Fraction(repr(number) if isinstance(number, float) else number)
    assert float(amount) >= 0
    assert parse_amount(str(amount)) == amount


@pytest.mark.parametrize("number", [5e-324, LARGEST, Fraction(1, 10**1000 - 1), 0])
def test_the_outermost_amounts_are_amounts(number):
    assert float(parse_amount(str(exact(number, "epsilon")))) == float(number)


@pytest.mark.parametrize("number", [0.1, "0.1", ".1", "1/10", "1e-1", Decimal("0.1"), np.float64(0.1), np.float32(0.1)])
def test_a_decimal_means_what_is_written(number):
    assert exact(number, "epsilon") == Fraction(1, 10)


@given(st.decimals(0, 10**6, places=6), st.integers(1, 50))
def test_decimals_add_up_as_on_paper(amount, times):
    assert times * exact(float(amount), "epsilon") == times * Fraction(amount)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        ".",
        ".e1",
        "-1",
        "nan",
        "inf",
        "1e9999",
        "1_0",
        "0x1",
        "\uff11",
        " 1",
        "1/0",
        "1/-2",
        "1,5",
        "9" * 401,
        "1." + "9" * 401,
    ],
)
def test_a_text_that_is_no_amount_is_refused(text):
    with pytest.raises(ValueError, match="epsilon must be a"):
        exact(text, "epsilon")


@pytest.mark.parametrize("number", [0, -1, "0.0", "-1", None, float("nan"), Decimal(-1), Decimal("1e999999999")])
def test_a_message_about_an_amount_does_not_suggest_0_if_0_is_refused(number):
    with pytest.raises(ValueError, match=r"^epsilon must be a (finite )?number > 0") as caught:
        positive(number, "epsilon")
    assert ">=" not in str(caught.value)
    assert positive("1/3", "epsilon") == Fraction(1, 3)


@pytest.mark.parametrize("number", ["1e999999999", "1e-999999999", "NaN", "-1", "Infinity", "sNaN"])
def test_a_decimal_beyond_all_amounts_is_refused_at_once(number):
    with pytest.raises(ValueError, match="epsilon must be a finite number"):
        exact(Decimal(number), "epsilon")


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (LARGEST + 1, "got a number beyond"),
        (-(10**400), "got a number beyond"),
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
    with pytest.raises(ValueError, match="2,500 digits"):
        total([Fraction(1, 10**900 + i) for i in (7, 9, 13)])


@example(9.999999999999999e299, 1)  # the float before 1e300
@example(1.0000000000000003e105, 2)
@given(st.fractions(0, 10**9) | st.fractions(0, Fraction(1, 10**9)) | st.floats(0, 1e300), st.integers(1, 12))
def test_shown_amounts_never_understate_spending_or_overstate_the_rest(amount, digits):
    spent, left = amount_text(amount, digits=digits), amount_text(amount, digits=digits, left=True)
    assert len(re.sub(r"e.*|[^1-9]", "", spent)) <= digits
    if abs(Fraction(spent) - Fraction(amount)) * 2**52 > amount:  # else it is shown as it was written
        assert Fraction(left) < Fraction(amount) < Fraction(spent)
    assert float(spent) == pytest.approx(float(left), rel=1.0001 * 10 ** (1 - digits), abs=1e-320)


def test_amounts_with_few_digits_are_shown_as_written():
    shown = [amount_text(amount) for amount in (0.1, 0.3, Fraction(1, 10), 1, 0, 1e-9, Fraction(1, 3), 1.0000049)]
    assert shown == ["0.1", "0.3", "0.1", "1", "0", "1e-09", "0.333334", "1.00001"]
    assert amount_text(Fraction(1, 10**999)) == "1e-999"


@pytest.mark.parametrize(
    ("epsilon", "delta", "named"),
    [
        (10, "1e-4", []),
        ("10.1", 0, [r"epsilon = 10.1 .* exp\(10.1\)"]),
        (1, "0.001", ["delta = 0.001 .* a row"]),
        (1000, "0.5", ["epsilon = 1000", "delta = 0.5"]),
    ],
)
def test_a_guarantee_that_protects_little_has_one_warning(epsilon, delta, named):
    warning = guarantee_warning(exact(epsilon, "epsilon"), exact(delta, "delta"))
    assert (warning is None) == (not named)
    assert all(re.search(part, warning or "") for part in named)
