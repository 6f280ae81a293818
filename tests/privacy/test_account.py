from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import BudgetExceededError
from hedgerow.privacy.account import Account
from hedgerow.privacy.card import Charge

ONE = Charge("one", Fraction(1), Fraction(1, 8))


@given(st.lists(st.fractions(0, 3), max_size=10))
def test_what_is_spent_and_what_is_left_are_the_cap(amounts):
    account = Account(Fraction(5), charges=tuple(Charge("x", amount) for amount in amounts))
    assert account.spent == sum(amounts)
    assert account.spent + account.remaining == 5


def test_a_charge_makes_another_account():
    before = Account(Fraction(2), Fraction(1, 4))
    after = before.charged(ONE)
    assert (before.charges, after.charges) == ((), (ONE,))
    assert (after.remaining, after.remaining_delta) == (1, Fraction(1, 8))
    with pytest.raises(BudgetExceededError, match=r"epsilon=1 and delta=0\.125 left, and epsilon=2"):
        after.charged(Charge("two", Fraction(2), Fraction(1, 8)))
    with pytest.raises(BudgetExceededError, match="delta"):
        after.charged(Charge("two", Fraction(1), Fraction(1, 4)))


@pytest.mark.parametrize(
    ("cap", "message"),
    [
        ((0,), "epsilon must be a number > 0"),
        ((1, 1), r"delta must be in \[0, 1\)"),
        ((-1,), "epsilon must be a finite"),
    ],
)
def test_a_cap_is_in_range(cap, message):
    with pytest.raises(ValueError, match=message):
        Account(*map(Fraction, cap))


def test_the_text_has_both_caps_and_what_they_do_not_cover():
    account = Account(Fraction(3), Fraction(1, 2)).charged(ONE).charged(Charge("two", Fraction(1), void="seeded"))
    assert str(account) == (
        "epsilon: 2 of 3 spent, 1 left\n"
        "delta: 0.125 of 0.5 spent, 0.375 left\n"
        "  1           one\n"
        "  1           two; no guarantee: seeded\n"
        "no guarantee for 1 of 2 charges: the cap says nothing about what was released under them"
    )
    assert account.void == "seeded"
    assert (account.charged(ONE).void, Account(Fraction(1)).void) == ("seeded", None)


def test_a_charge_can_be_marked_later_and_its_reasons_are_said_once():
    account = (
        Account(Fraction(3), Fraction(1, 2))
        .charged(ONE)
        .marked(0, "seeded")
        .marked(0, "domain taken from the data; seeded")
    )
    assert [charge.void for charge in account.charges] == ["seeded; domain taken from the data"]
    with pytest.raises(ValueError, match="found fewer charges than before"):
        account.marked(1, "seeded")
