import json
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.boundary.canonical import canonical
from hedgerow.errors import ArgumentError
from hedgerow.privacy.account import Account
from hedgerow.service.ledger.accounts import check_names, check_shares

AMOUNTS = st.fractions(Fraction(1, 10**6), 50)
CAPS = st.one_of(
    st.builds(Account, AMOUNTS, st.fractions(0, Fraction(1, 2))),
    st.builds(lambda rho: Account(None, rho=rho), AMOUNTS),
    st.builds(lambda epsilon: Account(epsilon, Fraction(1, 10**6), accounting="zcdp"), AMOUNTS),
)


@given(CAPS)
def test_caps_are_read_back_as_they_were_written_without_a_float(account):
    assert Account.of_caps(json.loads(canonical(account.caps_dict()))) == account


@given(AMOUNTS, st.lists(AMOUNTS, min_size=1, max_size=5))
def test_shares_add_up_to_no_more_than_the_cap(cap, parts):
    shares = {f"analyst {place}": Account(part) for place, part in enumerate(parts)}
    if sum(parts) <= cap:
        check_shares(Account(cap), shares, oversubscribed=False)
    else:
        with pytest.raises(ValueError, match="add up to epsilon"):
            check_shares(Account(cap), shares, oversubscribed=False)
    check_shares(Account(cap), shares, oversubscribed=True)


def test_delta_adds_up_too():
    shares = {name: Account(Fraction(1), Fraction(1, 100)) for name in "ab"}
    with pytest.raises(ValueError, match="add up to delta"):
        check_shares(Account(Fraction(2), Fraction(1, 100)), shares, oversubscribed=False)


@pytest.mark.parametrize(
    "name",
    ["", "x" * 201, "an\u0430", "a\nb", " ana", "ana ", "a  b", "an\u200ba", "a\u00adna", "\u202eana", "e\u0301ve"],
)
def test_a_name_is_ascii_without_invisible_characters(name):
    with pytest.raises(ArgumentError, match="1 to 200 printable ASCII characters"):
        check_names([name])


@pytest.mark.parametrize(("one", "other"), [("ana", "Ana"), ("ana1", "anal"), ("bob", "b0b"), ("Iris", "lris")])
def test_names_that_look_alike_are_refused(one, other):
    check_names([one], [one])
    for names, known in (([one, other], []), ([other], [one])):
        with pytest.raises(ArgumentError, match="look alike"):
            check_names(names, known)
