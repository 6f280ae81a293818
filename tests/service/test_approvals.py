"""Questions wait for their curator where the dataset says so; nothing is charged before, and nothing is asked twice."""

import pytest

from hedgerow.errors import ApprovalError, ArgumentError, ServiceBusyError
from hedgerow.service import approvals as module
from hedgerow.service.approvals import Approvals
from tests.service.databases import ledger_url  # noqa: F401 -- a fixture
from tests.service.wards import ANA, BINS, BOB, MARGINALS, WatchedRows, curator_of, question

OTHER = question(epsilon="1/8", bins=BINS)


@pytest.fixture
def approvals(ledger_url):  # noqa: F811
    with Approvals(ledger_url) as opened:
        yield opened


def ask(curator, caller=ANA, key="one", body=MARGINALS):
    return curator.ask(caller, "wards", "marginals", key, body)


def waits(curator, **given):
    with pytest.raises(ApprovalError) as raised:
        ask(curator, **given)
    return not raised.value.refused


def test_every_question_waits_and_each_is_approved_by_itself(approvals, ledger_url):  # noqa: F811
    rows = WatchedRows()
    with curator_of(ledger_url, rows, approval="every", approvals=approvals) as curator:
        assert curator.describe(ANA, "wards")["approval"] == "every"
        assert waits(curator)
        assert waits(curator)
        assert waits(curator, key="two")
        assert waits(curator, caller=BOB)
        assert [(one.number, one.analyst) for one in approvals.pending()] == [(1, "ana"), (2, "ana"), (3, "bob")]
        assert "rows by bin of 2 attributes, epsilon 1/4" in str(approvals.pending()[0])
        assert (rows.touched, curator.ledger.account("wards").spent) == (0, 0)
        approvals.decide(1, approved=True)
        approvals.decide(2, approved=False)
        assert ask(curator) == ask(curator)
        assert waits(curator, body=OTHER)
        assert not waits(curator, key="two")
        assert curator.ledger.account("wards").spent == 1 / 4


def test_the_first_question_waits_and_then_none_does(approvals, ledger_url):  # noqa: F811
    with curator_of(ledger_url, approval="first", approvals=approvals) as curator:
        assert waits(curator)
        assert waits(curator, key="two", body=OTHER)
        (one,) = approvals.pending()
        approvals.decide(one.number, approved=True)
        ask(curator)
        ask(curator, key="two", body=OTHER)
        assert waits(curator, caller=BOB)
        assert [one.analyst for one in approvals.pending()] == ["bob"]


def test_what_is_decided_is_decided(approvals, ledger_url):  # noqa: F811
    with curator_of(ledger_url, approval="every", approvals=approvals) as curator:
        waits(curator)
        approvals.decide(1, approved=False)
        for number in (1, 2, 0):
            with pytest.raises(ArgumentError, match="that waits"):
                approvals.decide(number, approved=True)
        assert not waits(curator)


def test_one_analyst_cannot_fill_the_list(approvals, ledger_url, monkeypatch):  # noqa: F811
    monkeypatch.setattr(module, "MOST_PENDING", 2)
    with curator_of(ledger_url, approval="every", approvals=approvals) as curator:
        assert all(waits(curator, key=key) for key in ("1", "2", "1"))
        with pytest.raises(ServiceBusyError, match="too many"):
            ask(curator, key="3")
        assert waits(curator, caller=BOB, key="3")
        approvals.decide(1, approved=False)
        assert waits(curator, key="3")
        assert len(approvals.pending()) == 3


def test_without_a_place_to_wait_nothing_is_answered(tmp_path):
    with curator_of(f"sqlite:///{tmp_path}/l.db", approval="every") as curator:
        assert not waits(curator)
        assert curator.ledger.account("wards").spent == 0
