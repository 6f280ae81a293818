import math
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import BudgetExceededError
from hedgerow.privacy.account import Account, Totals
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.zcdp import epsilon_at, largest_pure, largest_rho, pure_rho

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


def test_the_text_shows_both_caps_and_their_limits():
    account = (
        Account(Fraction(3), Fraction(1, 2)).charged(ONE).charged(Charge("two", Fraction(1), no_guarantee="seeded"))
    )
    assert str(account) == (
        "epsilon: 2 of 3 spent, 1 left\n"
        "delta: 0.125 of 0.5 spent, 0.375 left\n"
        "  1           one\n"
        "  1           two; no guarantee: seeded\n"
        "no guarantee for 1 of 2 charges: the cap does not bound what they released"
    )
    assert account.no_guarantee_reason == "seeded"
    assert (account.charged(ONE).no_guarantee_reason, Account(Fraction(1)).no_guarantee_reason) == ("seeded", None)


def test_a_charge_can_be_marked_later_and_lists_each_reason_once():
    account = (
        Account(Fraction(3), Fraction(1, 2))
        .charged(ONE)
        .marked(0, "seeded")
        .marked(0, ("domain taken from the data", "seeded"))
    )
    assert [charge.no_guarantee_reason for charge in account.charges] == ["seeded; domain taken from the data"]
    with pytest.raises(ValueError, match="fewer charges than before"):
        account.marked(1, "seeded")


def test_there_is_no_guarantee_at_a_delta_below_the_cap():
    account = Account(Fraction(1), Fraction(1, 1000))
    assert account.epsilon_at(Fraction(1, 1000)) == account.epsilon_at(Fraction(1, 100)) == 1
    with pytest.raises(ValueError, match="delta must be at least"):
        account.epsilon_at(Fraction(1, 10**6))


# Running totals

REASONS = st.sampled_from([None, None, "seeded", "not proven"])
CHARGES = st.builds(
    Charge,
    st.just("x"),
    st.fractions(0, 3),
    st.just(Fraction(0)) | st.fractions(0, "1/2"),
    no_guarantee=REASONS,
    rho=st.none() | st.fractions(0, 1),
    unit=st.just(Unit("patient", 4)),
)
CAPS = st.sampled_from(
    [
        Account(Fraction(20), Fraction(9, 10)),
        Account(None, rho=Fraction(3)),
        Account(Fraction(20), rho=Fraction(3)),
        Account(Fraction(20), Fraction(1, 100), accounting="zcdp"),
    ]
)
STEPS = st.lists(CHARGES | st.tuples(st.integers(0, 9), st.sampled_from(["seeded", "a second reason"])), max_size=12)


def sums_from_scratch(charges):
    """Add up all charges with plain sums, as simply as possible."""
    rhos = [charge.zcdp for charge in charges]
    return {
        "spent": sum((charge.epsilon for charge in charges), Fraction(0)),
        "spent_delta": sum((charge.delta for charge in charges), Fraction(0)),
        "spent_rho": None if None in rhos else sum(rhos, Fraction(0)),
        "without_guarantee": len([charge for charge in charges if charge.no_guarantee_reason]),
    }


def totals_of(account):
    totals = {name: getattr(account, name) for name in ("spent", "spent_delta", "spent_rho")}
    return totals | {"without_guarantee": account._totals.without_guarantee}


@given(CAPS, STEPS)
def test_running_totals_equal_sums_over_all_charges(account, steps):
    for step in steps:
        if isinstance(step, Charge):
            try:
                account = account.charged(step)
            except BudgetExceededError:
                continue
        elif step[0] < len(account.charges):
            account = account.marked(*step)
        assert totals_of(account) == sums_from_scratch(account.charges)
        fresh = Account(account.epsilon, account.delta, account.charges, account.rho, account.accounting)
        assert (totals_of(fresh), fresh.remaining, str(fresh)) == (totals_of(account), account.remaining, str(account))


@pytest.mark.parametrize(
    "account", [Account(Fraction(1000)), Account(Fraction(1000), Fraction(1, 10**6), accounting="zcdp")]
)
def test_a_charge_adds_to_the_totals_without_reading_earlier_charges(account, monkeypatch):
    added, plus = [], Totals.plus
    monkeypatch.setattr(Totals, "plus", lambda totals, charge: added.append(charge) or plus(totals, charge))
    charges = [Charge("x", Fraction(k + 1, 7 * 10**5)) for k in range(200)]
    for charge in charges:
        account = account.charged(charge)
    assert added == charges


def test_a_sum_with_too_many_digits_is_refused_before_the_charge():
    account = Account(Fraction(1), charges=tuple(Charge("x", Fraction(1, 10**999 + k)) for k in (1, 3)))
    with pytest.raises(ValueError, match="2,500 digits"):
        account.charged(Charge("x", Fraction(1, 10**999 + 7)))


# Accounts that add up ρ

DELTA = Fraction(1, 10**6)
DRAW = Charge("draw", Fraction(1, 2), rho=Fraction(1, 32))
NOISY = Charge("noisy", Fraction(1), DELTA, rho=largest_rho(Fraction(1), DELTA))


def test_a_cap_on_rho_accepts_any_epsilon_within_rho():
    account = Account(None, rho=Fraction(5, 16))
    for _ in range(10):
        account = account.charged(DRAW)
    assert (account.spent, account.spent_rho, account.remaining_rho) == (5, Fraction(5, 16), 0)
    assert account.remaining == account.remaining_delta == 0
    with pytest.raises(BudgetExceededError, match=r"rho=0 left, .*rho=0\.03125"):
        account.charged(DRAW)
    with pytest.raises(BudgetExceededError, match="with no known rho was requested"):
        account.charged(ONE)
    assert str(account).splitlines()[0] == "rho: 0.3125 of 0.3125 spent, 0 left"


def test_caps_on_epsilon_and_rho_both_hold():
    account = Account(Fraction(1), rho=Fraction(1, 16)).charged(DRAW)
    assert account.remaining == largest_pure(Fraction(1, 32)) < Fraction(1, 2)
    with pytest.raises(BudgetExceededError):
        account.charged(Charge("counts", Fraction(1, 2)))  # whose ρ is four times that of the draw
    account = account.charged(DRAW)
    assert account.remaining == 0
    with pytest.raises(BudgetExceededError):
        Account(Fraction(1, 4), rho=Fraction(1)).charged(DRAW)


@pytest.mark.claim("accepts a charge if the sum of ρ implies (ε, δ), or if no charge has a δ")
@pytest.mark.claim("so such charges count only by their ρ")
def test_zcdp_accounting_accepts_charges_that_fit_either_cap():
    account = Account(Fraction(1), DELTA, accounting="zcdp")
    assert (account.remaining, account.remaining_with_delta, account.remaining_delta) == (1, 1, DELTA)
    item = account.charged(Charge("one", Fraction(1)))  # by addition: 0.462 in ρ would be an ε of 5
    assert (item.remaining, item.remaining_rho, item.remaining_with_delta) == (0, 0, 0)
    small = Charge("small", Fraction(1, 20), rho=Fraction(1, 3200))
    for _ in range(70):
        account = account.charged(small)  # by ρ: 3.5 by addition
    assert epsilon_at(account.spent_rho, DELTA) < 1 < account.spent
    assert str(account).startswith(
        "guarantee: epsilon at most 1 at delta 1e-06 for all charges together, whenever releases stop\n"
        "epsilon by addition: 3.5 of 1 spent, 0 left\nrho: "
    )
    with pytest.raises(BudgetExceededError):
        account.charged(Charge("one", Fraction(1)))
    assert account.remaining_with_delta == epsilon_at(account.remaining_rho, DELTA) > account.remaining
    noisy = Account(Fraction(1), DELTA, accounting="zcdp").charged(NOISY)
    assert (noisy.remaining_rho, noisy.remaining) == (0, 0)  # a charge with δ and one by addition have 2δ together
    with pytest.raises(BudgetExceededError):
        Account(Fraction(1), DELTA, accounting="zcdp").charged(small).charged(NOISY)


@pytest.mark.parametrize(
    ("caps", "message"),
    [
        ({"epsilon": None}, "needs a cap: .* got neither"),
        ({"epsilon": None, "rho": Fraction(1), "delta": DELTA}, "got rho and delta"),
        ({"epsilon": Fraction(1), "accounting": "zcdp"}, "needs epsilon and delta > 0"),
        ({"epsilon": None, "rho": Fraction(0)}, "rho must be a number > 0, got 0"),
        ({"epsilon": Fraction(1), "accounting": "rdp"}, "accounting must be one of basic, zcdp"),
        ({"epsilon": Fraction(1), "delta": Fraction(1, 10**400), "accounting": "zcdp"}, "below the supported minimum"),
    ],
)
def test_caps_that_say_too_little_are_refused(caps, message):
    with pytest.raises(ValueError, match=message):
        Account(**caps)


def response(losses, epsilon, times):
    """Compose probabilities by privacy loss with so many randomised responses."""
    for _ in range(times):
        after = Counter()
        for loss, chance in losses.items():
            after[round(loss + epsilon, 9)] += chance / (1 + math.exp(-epsilon))
            after[round(loss - epsilon, 9)] += chance / (1 + math.exp(epsilon))
        losses = after
    return losses


@pytest.mark.parametrize("first", [0.02, 0.1, 0.15])
@pytest.mark.claim("The analyst may choose by earlier answers which condition holds")
def test_choosing_a_cap_by_an_answer_spends_at_most_both_caps(first):
    """Fact 6: after one answer, either many releases that fit in ρ, or one large one by addition; δ exactly."""
    begun = Account(Fraction(1), Fraction(1, 1000), accounting="zcdp").charged(Charge("first", Fraction(first)))
    many, times, large = begun, 0, 1 - Fraction(first)
    while many.remaining_rho >= pure_rho(Fraction(1, 50)):
        many, times = many.charged(Charge("small", Fraction(1, 50))), times + 1
    assert begun.charged(Charge("large", large)).remaining == 0
    assert times > 50  # more than fit by addition
    likely = 1 / (1 + math.exp(-first))
    losses = response({first: likely}, 1 / 50, times) + response({-first: 1 - likely}, float(large), 1)
    assert math.fsum(losses.values()) == pytest.approx(1)
    assert math.fsum(chance * max(1 - math.exp(1 - loss), 0) for loss, chance in losses.items()) <= 1 / 1000
