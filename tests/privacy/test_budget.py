import copy
import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from hedgerow import PrivateRuleListClassifier
from hedgerow.errors import BudgetExceededError, NotPicklableError
from hedgerow.privacy.amounts import amount_text, exact
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.zcdp import largest_rho, pure_rho
from tests.models.markup import Markup


@given(st.lists(st.fractions(min_value=Fraction(1, 10**6), max_value=3), min_size=1, max_size=20))
def test_charges_add_up_exactly_and_never_pass_the_cap(charges):
    budget = Budget(5)
    for epsilon in charges:
        if sum((c.epsilon for c in budget.charges), epsilon) <= 5:
            budget.charge(epsilon, purpose="x")
        else:
            with pytest.raises(BudgetExceededError, match="Nothing was charged"):
                budget.charge(epsilon, purpose="x")
    assert budget.spent == sum(c.epsilon for c in budget.charges) <= 5
    assert budget.spent + budget.remaining == 5


@pytest.mark.parametrize(
    ("cap", "part", "times"), [(0.3, 0.1, 3), (2, 0.4, 5), ("1/2", "0.05", 10), (1, Decimal("0.2"), 5)]
)
def test_decimals_add_up_as_they_are_written(cap, part, times):
    budget = Budget(cap)
    for _ in range(times):
        budget.charge(part, purpose="a part")
    assert budget.remaining == 0
    with pytest.raises(BudgetExceededError, match=r"epsilon=0 left"):
        budget.charge(part, purpose="one more does not fit")


def test_what_differs_by_little_is_told_apart():
    budget = Budget(Fraction(1, 3))
    with pytest.raises(BudgetExceededError, match="epsilon=1/3 left, and epsilon=166666667/500000000 was"):
        budget.charge("0.333333334", purpose="more than a third")


def test_an_overdraft_changes_nothing_and_states_the_rest():
    budget = Budget(1, delta=1e-6)
    budget.charge(0.75, purpose="first")
    before = budget.charges
    with pytest.raises(BudgetExceededError, match=r"0\.25 .*left, and epsilon=0\.5") as error:
        budget.charge(0.5, purpose="second")
    assert (error.value.requested, error.value.remaining) == (Fraction(1, 2), Fraction(1, 4))
    with pytest.raises(BudgetExceededError, match="delta"):
        budget.charge(0.1, delta=1e-5, purpose="third")
    assert budget.charges == before


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "a", True, 1j])
def test_only_finite_positive_numbers_are_epsilons(epsilon):
    with pytest.raises(ValueError, match="epsilon must be a"):
        Budget(epsilon)
    with pytest.raises(ValueError, match="epsilon must be a"):
        Budget(1).charge(epsilon, purpose="x")


@pytest.mark.parametrize("delta", [-1e-9, 1, math.nan])
def test_only_numbers_from_0_to_below_1_are_deltas(delta):
    with pytest.raises(ValueError, match="delta must be"):
        Budget(1, delta=delta)


@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.5), np.int64(3), Fraction(1, 3), 2])
def test_every_real_number_is_taken_by_its_exact_value(number):
    expected = Fraction(str(number))
    assert exact(number, "epsilon") == expected
    assert type(exact(number, "epsilon").numerator) is int


def test_a_copy_is_the_same_budget():
    budget = Budget(1)
    assert copy.copy(budget) is budget
    assert copy.deepcopy([budget])[0] is budget
    assert clone(PrivateRuleListClassifier(1.0, budget=budget)).budget is budget


def test_a_budget_cannot_be_pickled():
    with pytest.raises(NotPicklableError, match="second budget"):
        pickle.dumps(Budget(1))


def test_only_one_of_many_threads_gets_the_last_unit():
    budget = Budget(1)

    def ask(_):
        try:
            budget.charge(1, purpose="last")
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(16) as threads:
        assert sum(threads.map(ask, range(200))) == 1


def test_an_allocation_is_charged_at_once_and_spent_in_parts():
    budget = Budget(1)
    share = budget.allocate(0.5, purpose="one model")
    assert [c.purpose for c in budget.charges] == ["one model"]
    assert budget.remaining == Fraction(1, 2)
    share.charge(0.25, purpose="part")
    with pytest.raises(BudgetExceededError, match="left"):
        share.charge(0.5, purpose="too much")
    assert budget.remaining == Fraction(1, 2)
    with pytest.raises(BudgetExceededError, match=r"0\.5 left"):
        budget.allocate(0.75, purpose="another")


def test_a_share_is_charged_in_rho_and_keeps_to_it():
    budget = Budget(rho=0.5)
    share = budget.allocate(1, rho=0.125, purpose="one draw")
    assert (budget.spent_rho, share.rho, share.epsilon) == (Fraction(1, 8), Fraction(1, 8), 1)
    with pytest.raises(BudgetExceededError, match="rho"):
        share.charge(1, purpose="all of epsilon costs more rho")
    share.charge(1, rho=0.125, purpose="a draw")
    assert budget.allocate(0.5, purpose="anything pure").rho is None
    assert budget.charges[-1].zcdp == pure_rho(Fraction(1, 2))
    noisy = budget.allocate(0.5, 1e-6, purpose="answers with Gaussian noise")
    assert noisy.remaining_rho == budget.charges[-1].rho == largest_rho(Fraction(1, 2), Fraction(1e-6))
    noisy.charge(0.5, 1e-6, rho=noisy.remaining_rho, purpose="all of them")
    with pytest.raises(BudgetExceededError):
        noisy.charge(0.001, purpose="more")
    assert repr(budget) == f"<Budget rho=0.5 spent={amount_text(budget.spent_rho)}>"
    budget.check(0.1, rho=0.001)
    with pytest.raises(BudgetExceededError):
        budget.check(1)


def test_a_budget_without_a_cap_is_none():
    with pytest.raises(ValueError, match="needs a cap"):
        Budget()


def test_a_reason_against_a_guarantee_is_on_the_record():
    budget = Budget(3)
    budget.charge(1, purpose="one")
    assert budget.no_guarantee_reason is None
    budget.charge(1, purpose="two", no_guarantee="seeded")
    share = budget.allocate(1, purpose="three", no_guarantee="not proven")
    assert (budget.no_guarantee_reason, share.no_guarantee_reason) == ("seeded; not proven", None)
    with pytest.raises(ValueError, match="no_guarantee"):
        budget.charge(1, purpose="four", no_guarantee="")


def test_the_record_reads():
    budget = Budget(2)
    budget.charge(0.5, purpose="row count")
    assert str(budget) == "epsilon: 0.5 of 2 spent, 1.5 left\n  0.5         row count"
    assert repr(budget) == "<Budget epsilon=2 spent=0.5>"


def test_a_notebook_shows_the_rest_and_escaped_charges(tmp_path):
    evil = "<script>alert('1')</script>\x1b"
    for budget in (Budget(2, 1e-6, accounting="zcdp"), FileBudget.create(tmp_path / "b.json", 1), Budget(rho=0.5)):
        lines = str(budget).splitlines()
        assert Markup(budget._repr_html_()).texts == lines
        budget.charge(0.25, purpose=evil)
        shown = Markup(budget._repr_html_())
        assert shown.tags == {"p", "table", "thead", "tbody", "tr", "th", "td"}
        assert "0.25" in shown.texts
        assert "alert" in shown.texts[-1]
        assert "\x1b" not in budget._repr_html_()
