"""What a ledger's entries come to: as many requests, in the same states, and sums of the same charges."""

from datetime import datetime
from fractions import Fraction

import pytest

from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.ledger.ledger import Ledger, Request
from hedgerow.service.pages.views import History, spending

CAP = Account(Fraction(4))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/ledger.db", new_ledger=True) as opened:
        for name in ("wards", "labs"):
            opened.declare(name, CAP, {"ana": Account(Fraction(2)), "bob": Account(Fraction(1))}, reason="of 2026")
        yield opened


def reserve(ledger, key, analyst="ana", dataset="wards", epsilon="1/4"):
    return ledger.reserve(Request(dataset, analyst, key, "0" * 64, Charge(f"what {key}", Fraction(epsilon))))


def slow(ledger):
    """Return the requests of all entries, read anew: (request, analyst, dataset, state), newest first."""
    states = {}
    for entry in ledger.entries():
        if "request" in entry.data:
            known = states.get(entry.data["request"], (entry.data.get("analyst"), entry.data.get("dataset"), ""))
            states[entry.data["request"]] = (*known[:2], "reserved" if entry.kind == "retried" else entry.kind)
    return [(name, *state) for name, state in reversed(states.items())]


def facts(asked):
    return [(one.request, one.analyst, one.dataset, one.state) for one in asked]


def test_a_history_that_is_read_in_parts_is_that_of_all_entries(ledger):
    history = History(ledger)
    history.read()
    assert (history.count, history.asked()) == (2, [])
    first = reserve(ledger, "1")
    history.read()
    reserve(ledger, "2", "bob", "labs", "1/3")
    ledger.fail(first, "a test")
    ledger.answer(reserve(ledger, "3"), b"answer")
    for _ in range(2):
        history.read()
        assert facts(history.asked()) == slow(ledger)
    whole = History(ledger)
    whole.read()
    assert (whole.asked(), whole.count) == (history.asked(), history.count)
    assert facts(history.asked(analyst="ana", dataset="labs")) == []
    assert facts(history.asked(analyst="bob")) == [one for one in slow(ledger) if one[1] == "bob"]


def test_the_current_epoch_of_a_dataset_is_shown_and_its_spending_alone(ledger):
    reserve(ledger, "1")
    ledger.declare("wards", CAP, {"ana": CAP}, reason="of 2027", oversubscribed=True)
    for key, epsilon in (("2", "1/3"), ("3", "1/6")):
        reserve(ledger, key, epsilon=epsilon)
    history = History(ledger)
    history.read()
    labs, wards = history.datasets()
    assert (labs.name, labs.epoch, labs.reason, labs.oversubscribed) == ("labs", 1, "of 2026", False)
    assert (wards.name, wards.epoch, wards.reason, wards.oversubscribed) == ("wards", 2, "of 2027", True)
    asked = history.asked(dataset="wards")
    spent = list(spending(asked, 2, "epsilon"))
    assert [amount for _, amount in spent] == [Fraction(1, 3), Fraction(1, 2)]
    assert [when for when, _ in spent] == [datetime.fromisoformat(one.time) for one in asked[1::-1]]
    assert [amount for _, amount in spending(asked, 1, "epsilon")] == [Fraction(1, 4)]
    assert list(spending(asked, 1, "rho"))[-1][1] == asked[-1].rho
