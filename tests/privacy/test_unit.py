"""Units of privacy: what they say, and what a release costs for one."""

from fractions import Fraction

import numpy as np
import pytest

from hedgerow.errors import BudgetExceededError
from hedgerow.learn.ssrl.mechanisms import smooth_laplace
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.budget_file import FileBudget
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge, unit_of
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, SecureNoise
from hedgerow.privacy.unit import MOST_ROWS, Unit, group_loss, group_privacy, loss_of
from hedgerow.privacy.wording import neighbours

PATIENT = Unit("patient_id", 3)


def test_a_unit_says_what_neighbouring_tables_differ_by():
    assert PATIENT.neighbours.endswith("all rows of one patient_id; at most 3 of its rows, drawn at random, are used")
    assert Unit("patient_id", 1).neighbours.endswith(
        "all rows of one patient_id; one of its rows, drawn at random, is used"
    )
    assert "one row" in neighbours(None)
    assert Unit.from_dict(PATIENT.to_dict()) == PATIENT


@pytest.mark.parametrize(
    ("column", "rows"), [("", 3), (None, 3), (7, 3), ("p", 0), ("p", -1), ("p", 1.5), ("p", True), ("p", MOST_ROWS + 1)]
)
def test_bad_units_are_refused(column, rows):
    with pytest.raises(ValueError, match=r"column must be|max_rows must be"):
        Unit(column, rows)


@pytest.mark.parametrize("data", [{}, {"column": "p"}, {"column": "p", "max_rows": 3, "more": 1}])
def test_other_data_are_no_unit(data):
    with pytest.raises((ValueError, TypeError)):
        Unit.from_dict(data)


def test_a_group_costs_k_times_epsilon_and_k_squared_times_rho():
    """Dwork and Roth 2014, Theorem 2.2; Bun and Steinke 2016, Proposition 1.9."""
    assert group_loss(Fraction(1, 3), Fraction(0), Fraction(1, 50), 3) == (1, 0, Fraction(9, 50))
    assert group_loss(Fraction(1, 3), Fraction(0), None, 1) == (Fraction(1, 3), 0, None)


def test_gaussian_noise_is_made_for_the_unit():
    """σ is k times as large, as the ℓ2 distance of tables that differ by k rows is; the amounts are the unit's."""
    item, three = (GaussianCounts(Fraction(1), Fraction(1, 10**6), 1, 1, 4, rows=rows) for rows in (1, 3))
    assert three.scale == pytest.approx(3 * item.scale, rel=1e-2)  # a margin apart: docs/mathematics.md, fact 12
    assert (item.sensitivity, three.sensitivity) == (2, 6)
    assert loss_of(three, 3) == (three.epsilon, three.delta, three.rho) == (item.epsilon, item.delta, item.rho)
    with pytest.raises(ValueError, match=r"units of 3 rows, .*1"):
        loss_of(item, 3)
    with pytest.raises(ValueError, match=r"units of 1 rows, .*3"):
        loss_of(three, 1)


@pytest.mark.claim("and no release relies on it")
def test_a_mechanism_with_a_proof_for_single_rows_is_refused_for_more():
    published = smooth_laplace(Fraction(1), Fraction(1, 10**6))
    assert loss_of(published, 1)[0] == published.epsilon
    with pytest.raises(ValueError, match="none for units of 3 rows"):
        loss_of(published, 3)


def test_the_gate_charges_for_the_unit_before_rows_are_touched():
    touched, budget = [], Budget("0.9")
    gate = Gate(budget, SecureNoise(), PATIENT)
    counts = np.zeros(1, dtype=np.int64)
    gate.release(DiscreteLaplace(Fraction(3, 10)), lambda: touched.append(1) or counts, query="x")
    (charge,) = budget.charges
    assert (charge.epsilon, charge.unit, touched) == (Fraction(9, 10), PATIENT, [1])
    with pytest.raises(BudgetExceededError):
        gate.release(DiscreteLaplace(Fraction(1, 10**6)), lambda: touched.append(2), query="x")
    assert touched == [1]


@pytest.mark.claim("no budget, card or epoch of a service takes both")
def test_charges_of_different_units_do_not_add_up(tmp_path):
    """ε for a row says nothing of a person with many."""
    row, person = Charge("a", Fraction(1, 4)), Charge("b", Fraction(1, 4), unit=PATIENT)
    assert unit_of([person, person]) == PATIENT
    assert unit_of([]) is None
    with pytest.raises(ValueError, match=r"are used\); and one row\.$"):
        unit_of([row, person])
    for refused in (
        lambda: unit_of([row, person]),
        lambda: PrivacyCard((row, person), "noise", "software"),
        lambda: PrivacyCard((person, Charge("c", Fraction(1, 4), unit=Unit("patient_id", 4))), "noise", "software"),
    ):
        with pytest.raises(ValueError, match="same unit of privacy"):
            refused()
    for budget in (Budget(1), FileBudget.create(tmp_path / "budget.json", 1)):
        budget.charge("1/4", purpose="a", unit=PATIENT)
        for refused in (lambda b=budget: b.charge("1/4", purpose="b"), lambda b=budget: b.check("1/4")):
            with pytest.raises(ValueError, match="unit"):
                refused()
        budget.allocate("1/4", purpose="b", unit=PATIENT)
        assert budget.spent == Fraction(1, 2)


def test_a_budget_says_whose_losses_it_adds_up():
    budget = Budget(1)
    assert "unit of privacy" not in str(budget)
    budget.charge("1/4", purpose="a", unit=PATIENT)
    assert "unit of privacy: one patient_id (at most 3 of its rows, drawn at random, are used)\n" in str(budget)
    assert "unit of privacy: one patient_id (at most 3" in budget._repr_html_()


@pytest.mark.parametrize(("given", "charged"), [(PATIENT, None), (None, PATIENT), (PATIENT, Unit("patient_id", 1))])
@pytest.mark.claim("no budget, card or epoch of a service takes both")
def test_a_share_takes_charges_of_the_unit_it_was_allocated_for(given, charged):
    """Else a charge of persons would pay for releases about rows, of which a person may have any number."""
    share = Budget(1).allocate("1/2", purpose="an analyst", unit=given)
    for spend in (share.check, lambda epsilon, **more: share.charge(epsilon, purpose="counts", **more)):
        with pytest.raises(ValueError, match="unit"):
            spend("1/4", unit=charged)
    assert share.spent == 0
    part = share.allocate("1/4", purpose="a part", unit=given)
    part.charge("1/4", purpose="counts", unit=given)
    assert (share.spent, part.spent) == (Fraction(1, 4), Fraction(1, 4))


def test_the_card_speaks_of_the_unit_and_is_read_back():
    card = PrivacyCard((Charge("a", Fraction(1), unit=PATIENT),), "noise", "software")
    assert "adding or removing any one patient_id changes the probability" in card.guarantee
    assert card.guarantee.endswith("e^1; at most 3 of its rows, drawn at random, are used")
    assert card.neighbours == PATIENT.neighbours
    data = card.to_dict()
    assert PrivacyCard.from_dict(data) == card
    with pytest.raises(ValueError, match="unit does not follow"):
        PrivacyCard.from_dict(data | {"unit": None})


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
@pytest.mark.parametrize("rows", [1, 2, 3, 6])
def test_a_guarantee_for_rows_is_a_weaker_guarantee_for_groups(epsilon, rows):
    """By steps from row to row: P(0) <= e^(k eps) P(k) + delta (1 + e^eps + ... + e^((k-1) eps))."""
    delta, rho = Fraction(1, 10**6), Fraction(1, 100)
    group = group_privacy(epsilon, delta, rho, rows)
    steps = float(delta) * sum(np.exp(float(epsilon) * step) for step in range(rows))
    assert (group[0], group[2]) == (rows * epsilon, rows**2 * rho)
    assert steps <= float(group[1]) <= rows * np.exp(float(epsilon) * (rows - 1)) * float(delta) * (1 + 1e-9)
    assert group_privacy(epsilon, Fraction(0), None, rows) == (rows * epsilon, 0, None)


def test_the_delta_of_a_group_is_a_probability():
    assert group_privacy(Fraction(10), Fraction(1, 10), None, 6)[1] == 1
    assert group_privacy(Fraction(1000), Fraction(1, 10**400), None, 6)[1] == 1
    assert group_privacy(Fraction(10), Fraction(1, 10), None, 1)[1] == Fraction(1, 10)
