"""What a ledger's entries come to: as many requests, in the same states, and sums of the same charges."""

from datetime import datetime
from fractions import Fraction

import pytest

from hedgerow.errors import QuestionError
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.ledger import history as module
from hedgerow.service.ledger.history import History, Share
from hedgerow.service.ledger.ledger import ChargeRequest, Ledger

CAP = Account(Fraction(4))


@pytest.fixture
def ledger(tmp_path):
    with Ledger(f"sqlite:///{tmp_path}/ledger.db", new_ledger=True) as opened:
        for name in ("wards", "labs"):
            opened.declare(name, CAP, {"ana": Account(Fraction(2)), "bob": Account(Fraction(1))}, reason="of 2026")
        yield opened


def reserve(ledger, key, analyst="ana", dataset="wards", epsilon="1/4"):
    return ledger.reserve(ChargeRequest(dataset, analyst, key, "0" * 64, Charge(f"what {key}", Fraction(epsilon))))


def slow(ledger):
    """Return the requests of all entries, read anew: (request, analyst, dataset, state), newest first."""
    states = {}
    for entry in ledger.entries():
        if "request" in entry.data:
            known = states.get(entry.data["request"], (entry.data.get("analyst"), entry.data.get("dataset"), ""))
            states[entry.data["request"]] = (*known[:2], "reserved" if entry.kind == "retried" else entry.kind)
    return [(name, *state) for name, state in reversed(states.items())]


def facts(asked):
    return [(request.request, request.analyst, request.dataset, request.state) for request in asked]


def pages(history, limit=2, **chosen):
    """Return all requests, page by page."""
    result, before = [], None
    while page := history.asked(**chosen, before=before, limit=limit):
        result += page
        before = page[-1].request
    return result


def test_pages_of_requests_are_those_of_all_entries(ledger):
    history = History(ledger.log)
    assert (history.count(), history.asked(), history.shares("wards")) == (0, [], {})
    first = reserve(ledger, "1")
    reserve(ledger, "2", "bob", "labs", "1/3")
    ledger.fail(first, "a test")
    ledger.answer(reserve(ledger, "3"), b"answer")
    assert facts(pages(history)) == slow(ledger)
    assert pages(history, 1) == pages(history, 50) == history.asked()
    assert pages(history, analyst="ana", dataset="labs") == []
    assert facts(pages(history, analyst="bob")) == [request for request in slow(ledger) if request[1] == "bob"]
    assert facts(pages(history, dataset="wards")) == [request for request in slow(ledger) if request[2] == "wards"]
    assert (history.count(), history.count(analyst="bob"), history.count(dataset="wards", analyst="ana")) == (3, 1, 2)
    (share,) = history.shares("wards").items()
    assert share == ("ana", Share(2, history.asked(dataset="wards")[0].time))
    bobs = history.asked(analyst="bob")[0].request
    assert history.asked(analyst="ana", before=bobs) == []  # another's request is no cursor


def test_pages_of_entries_follow_a_cursor_of_ones_own(ledger):
    history = History(ledger.log)
    ledger.answer(reserve(ledger, "1"), b"answer")
    reserve(ledger, "2", "bob")
    ledger.answer(reserve(ledger, "3"), b"answer")
    own = [entry for entry in ledger.entries() if entry.sequence in (3, 4, 6, 7)]
    assert history.page("ana", None, 10) == own
    assert history.page("ana", own[1].hash, 1) == own[2:3]
    assert history.page(None, None, 10) == list(ledger.entries())
    (bobs,) = history.page("bob", None, 10)
    assert history.page(None, bobs.hash, 1)[0].sequence == 6
    for cursor in (bobs.hash, "f" * 64):
        with pytest.raises(QuestionError, match="hash of an entry that you have received"):
            history.page("ana", cursor, 1)


def test_the_current_epoch_of_a_dataset_is_shown_and_its_spending_alone(ledger):
    reserve(ledger, "1")
    ledger.declare("wards", CAP, {"ana": CAP}, reason="of 2027", oversubscribed=True)
    for key, epsilon in (("2", "1/3"), ("3", "1/6")):
        reserve(ledger, key, epsilon=epsilon)
    history = History(ledger.log)
    labs, wards = history.datasets()
    assert (labs.name, labs.epoch, labs.reason, labs.oversubscribed) == ("labs", 1, "of 2026", False)
    assert (wards.name, wards.epoch, wards.reason, wards.oversubscribed) == ("wards", 2, "of 2027", True)
    asked = history.asked(dataset="wards")
    for analyst in ("ana", None):
        spent = history.spending(wards, analyst, "epsilon")
        assert [amount for _, amount in spent] == pytest.approx([1 / 3, 1 / 2])
        assert [when for when, _ in spent] == [datetime.fromisoformat(request.time) for request in asked[1::-1]]
    rho = sum(request.rho for request in asked if request.epoch == 2)
    assert history.spending(wards, "ana", "rho")[-1][1] == pytest.approx(float(rho))
    assert history.spending(wards, "bob", "epsilon") == history.spending(labs, None, "epsilon") == []


def test_many_charges_become_few_points_that_are_true(ledger, monkeypatch):
    monkeypatch.setattr(module, "MOST_POINTS", 4)
    for number in range(20):
        reserve(ledger, str(number), epsilon="1/64")
    history = History(ledger.log)
    _, wards = history.datasets()
    points = history.spending(wards, "ana", "epsilon")
    assert (len(points), points[0][1], points[-1][1]) == (5, 1 / 64, 20 / 64)
    assert points == sorted(points)
    assert {amount * 64 for _, amount in points} <= set(range(1, 21))
