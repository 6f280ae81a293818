import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.privacy.charge import Charge, least_epsilon, renewed, total_rho
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, PermuteAndFlip, Siblings, TwoSidedGumbelChoice
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.zcdp import epsilon_at, pure_rho

AT = Fraction(1e-6)
DRAW, NOISY = Charge("draw", Fraction(1, 2), rho=Fraction(1, 32)), Charge("noisy", Fraction(1), AT)


@given(
    epsilon=st.fractions(0, 100),
    delta=st.fractions(0, 1).filter(lambda delta: delta < 1),
    purpose=st.text(max_size=9),
    mechanism=st.text(max_size=9),
    rho=st.none() | st.fractions(0, 100),
)
def test_json_brings_back_an_equal_charge(epsilon, delta, purpose, mechanism, rho):
    charge = Charge(purpose, epsilon, delta, mechanism, rho=rho)
    assert Charge.from_dict(json.loads(json.dumps(charge.to_dict()))) == charge


MECHANISMS = [
    PermuteAndFlip(Fraction(1, 3), 7),
    TwoSidedGumbelChoice(Fraction(1, 3), 7),
    DiscreteLaplace(Fraction(1, 3), 7, 2),
    Siblings(DiscreteLaplace(Fraction(1, 3))),
    SharedHistograms(Fraction(1, 3), (2, 3), 4),
    ModelDraw(Fraction(1, 3), Fraction(1, 4)),
    JointQuantiles(Fraction(1, 3), 6, 100),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: one.record.code)
def test_epsilon_is_what_the_mechanism_costs_a_unit(mechanism):
    """A file that states less noise than its ε is read by nobody: intervals would be too narrow."""
    record, unit = mechanism.record, Unit("patient", 5)
    for rows, whose in ((1, None), (255, None), (5, unit), (15, unit)):  # a row of a weight is several
        charge = Charge("counts", rows * mechanism.epsilon, mechanism=record, unit=whose)
        assert Charge.from_dict(charge.to_dict()) == charge
        for name in {"scale", "weight"} & {name for name, _ in record.details}:
            data = charge.to_dict()
            data["mechanism"][name] = str(record[name] * Fraction(9, 10))
            with pytest.raises(ValueError, match="epsilon="):
                Charge.from_dict(data)
    for epsilon, whose in (("1/4", None), ("256/3", None), ("4/3", unit)):
        with pytest.raises(ValueError, match="epsilon="):
            Charge("counts", epsilon, mechanism=record, unit=whose)


SERIES = Fraction(1), Fraction("1e-6"), 9, 1, 4, Fraction(2), 3
SERIES_MECHANISMS = [
    mechanism
    for adds_up_rho in (False, True)
    for mechanism in (GaussianCounts(*SERIES, adds_up_rho), GumbelPeeling(*SERIES, adds_up_rho, 5))
]


@pytest.mark.parametrize("mechanism", SERIES_MECHANISMS, ids=lambda one: f"{one.record.code}-{one.adds_up_rho}")
def test_a_series_is_charged_the_cost_of_its_noise_for_a_unit(mechanism):
    """A smaller rho in a file would let a budget that adds it up release more than its cap."""
    record, unit = mechanism.record, Unit("patient", 3)
    amounts = {"epsilon": mechanism.epsilon, "delta": mechanism.delta, "rho": mechanism.rho, "unit": unit}
    charge = Charge("counts", mechanism=record, **amounts)
    assert Charge.from_dict(charge.to_dict()) == charge
    wrong = [{"rho": mechanism.rho * Fraction(99, 100)}, {"unit": None}, {"unit": Unit("patient", 4)}]
    wrong += [{"epsilon": "999/1000"}, {"delta": "9e-7"}, {"rho": None}] if mechanism.mu else []
    for other in wrong:
        with pytest.raises(ValueError, match="must match the noise of the series"):
            Charge("counts", mechanism=record, **(amounts | other))
    tampered = [{"scale": mechanism.scale * 0.99}, {"parts": 1}, {"changes": 8}, {"number": 2}, {"answers": 10}]
    tampered += [{"changes": 0}, {"rows": 0}, {"answers": 0}, {"parts": 10}, {"parts": 0}]
    tampered += [{"mu": mechanism.mu * Fraction(101, 100)}] if mechanism.mu else []
    tampered += [{"draws": 6}, {"draws": 0}] if isinstance(mechanism, GumbelPeeling) else []
    for details in tampered:
        with pytest.raises(ValueError, match="series"):
            Charge("counts", mechanism=record.having(**details), **amounts)


@pytest.mark.parametrize(
    "details",
    [{"groups": 0}, {"groups": 1}, {"groups": 4}, {"alone": 0}, {"alone": 4}, {"attributes": 0}, {"bins": 2}],
    ids=str,
)
def test_a_charge_of_shared_noise_states_attributes_that_exist(details):
    record = Fact("shared_histograms", attributes=4, bins=9, sensitivity=1, scale=1, groups=2, alone=1)
    assert Charge("histograms", 1, mechanism=record).mechanism == record
    with pytest.raises(ValueError, match="groups and alone must match"):
        Charge("histograms", 1, mechanism=record.having(**details))


def test_no_charge_is_for_noise_that_no_row_needs():
    for exact in (
        Fact("discrete_laplace", sensitivity=0, scale=0),
        Fact("shared_histograms", attributes=2, bins=4, sensitivity=0, scale=0),
    ):
        with pytest.raises(ValueError, match="not the loss of the mechanism"):
            Charge(Fact("leaf_counts", of="leaves"), Fraction(1), mechanism=exact)


def test_shared_noise_costs_the_rho_of_any_release_of_its_epsilon():
    charge = Charge("histograms", Fraction(1), mechanism=SharedHistograms(Fraction(1), (2,) * 9).record)
    assert charge.zcdp == pure_rho(Fraction(1)) > DiscreteLaplace(Fraction(1), 9, 1).rho


def test_rho_is_the_stated_rho_or_follows_from_epsilon():
    assert (DRAW.zcdp, NOISY.zcdp) == (Fraction(1, 32), None)
    assert Charge("one", Fraction(1, 2)).zcdp == pure_rho(Fraction(1, 2)) > Fraction(1, 32)
    assert Charge("said", Fraction(1, 2), rho=Fraction(5)).zcdp == pure_rho(Fraction(1, 2))


def test_a_charge_with_its_own_rho_has_entries_for_it():
    assert {"rho", "rho_exact"} <= DRAW.to_dict().keys()
    assert not {"rho", "rho_exact"} & NOISY.to_dict().keys()
    with pytest.raises(ValueError, match="contradict each other"):
        Charge.from_dict(DRAW.to_dict() | {"rho": 1.0})
    with pytest.raises(ValueError, match="rho must be a finite number"):
        Charge("draw", Fraction(1), rho=Fraction(-1))


def test_a_renewed_charge_keeps_rho():
    assert renewed(DRAW) == DRAW
    assert renewed(DRAW) is not DRAW
    assert renewed(DRAW, no_guarantee="seeded").rho == DRAW.rho


def test_the_sum_of_rho_is_unknown_if_the_rho_of_a_charge_is():
    assert total_rho([DRAW] * 10) == Fraction(5, 16)
    assert total_rho([DRAW, NOISY]) is None
    assert total_rho([]) == 0


def test_the_least_epsilon_is_that_of_rho_or_the_sum():
    assert least_epsilon([DRAW] * 10, AT) == epsilon_at(Fraction(5, 16), AT) < 5
    assert least_epsilon([DRAW], AT) == Fraction(1, 2)
    assert least_epsilon([DRAW, NOISY], AT) == Fraction(3, 2)
    with pytest.raises(ValueError, match="delta"):
        least_epsilon([DRAW, NOISY], AT / 2)
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 0"):
        least_epsilon([DRAW], Fraction(0))


def test_the_line_of_a_charge_states_why_it_is_void_and_its_origin():
    assert Charge("counts", Fraction(1, 2)).entries() == ("0.5", "counts")
    known = Charge("counts", Fraction(1, 2), no_guarantee="seeded by hand", declared=True)
    assert known.entries() == ("0.5", "counts; declared by the schema's file; no guarantee: seeded by hand")
