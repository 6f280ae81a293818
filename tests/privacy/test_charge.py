import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.privacy.charge import Charge, least_epsilon, renewed, total_rho
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


def test_rho_is_that_of_the_charge_or_what_follows_from_epsilon():
    assert (DRAW.zcdp, NOISY.zcdp) == (Fraction(1, 32), None)
    assert Charge("one", Fraction(1, 2)).zcdp == pure_rho(Fraction(1, 2)) > Fraction(1, 32)
    assert Charge("said", Fraction(1, 2), rho=Fraction(5)).zcdp == pure_rho(Fraction(1, 2))


def test_a_charge_whose_rho_is_not_what_follows_has_entries_for_it():
    assert {"rho", "rho_exact"} <= DRAW.to_dict().keys()
    assert not {"rho", "rho_exact"} & NOISY.to_dict().keys()
    with pytest.raises(ValueError, match="contradict one another"):
        Charge.from_dict(DRAW.to_dict() | {"rho": 1.0})
    with pytest.raises(ValueError, match="rho must be a finite number"):
        Charge("draw", Fraction(1), rho=Fraction(-1))


def test_a_renewed_charge_keeps_rho():
    assert renewed(DRAW) == DRAW
    assert renewed(DRAW) is not DRAW
    assert renewed(DRAW, no_guarantee="seeded").rho == DRAW.rho


def test_the_rho_of_charges_together_is_not_known_where_that_of_one_is_not():
    assert total_rho([DRAW] * 10) == Fraction(5, 16)
    assert total_rho([DRAW, NOISY]) is None
    assert total_rho([]) == 0


def test_the_least_epsilon_is_that_of_rho_or_the_sum():
    assert least_epsilon([DRAW] * 10, AT) == epsilon_at(Fraction(5, 16), AT) < 5
    assert least_epsilon([DRAW], AT) == Fraction(1, 2)
    assert least_epsilon([DRAW, NOISY], AT) == Fraction(3, 2)
    with pytest.raises(ValueError, match="as large as that of the charges"):
        least_epsilon([DRAW, NOISY], AT / 2)
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 0"):
        least_epsilon([DRAW], Fraction(0))
