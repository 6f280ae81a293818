"""Questions wait for their curator where the dataset says so; nothing is charged before, and nothing is asked twice."""

import json
from base64 import b64encode
from fractions import Fraction

import pytest

from hedgerow.boundary.canonical import digest
from hedgerow.errors import (
    ApprovalError,
    ArgumentError,
    LedgerError,
    QuestionError,
    RequestConflictError,
    ServiceBusyError,
)
from hedgerow.privacy.account import Account
from hedgerow.service import approvals as module
from hedgerow.service.forms import read_form, readable
from hedgerow.service.requests import Request
from tests.service.databases import ledger_url  # noqa: F401 -- a fixture
from tests.service.wards import ANA, BINS, BOB, MARGINALS, SHARES, WatchedRows, curator_of, question

OTHER = question(epsilon="1/8", bins=BINS)


def ask(curator, caller=ANA, key="one", body=MARGINALS):
    return curator.ask(Request(caller, "wards", "marginals", key, body))


def waits(curator, **given):
    with pytest.raises(ApprovalError) as raised:
        ask(curator, **given)
    return not raised.value.refused


def test_every_question_waits_and_each_is_approved_by_itself(ledger_url):  # noqa: F811
    rows = WatchedRows()
    with curator_of(ledger_url, rows, approval="every") as curator:
        approvals = curator.approvals
        assert curator.describe(ANA, "wards")["approval"] == "every"
        assert waits(curator)
        assert waits(curator)
        assert waits(curator, key="two")
        assert waits(curator, caller=BOB)
        assert [(approval.number, approval.analyst) for approval in approvals.pending()] == [
            (1, "ana"),
            (2, "ana"),
            (3, "bob"),
        ]
        assert "rows by bin of 2 attributes, epsilon 1/4" in str(approvals.pending()[0])
        assert (rows.touched, curator.ledger.account("wards").spent) == (0, 0)
        approvals.decide({1: "approved"}, by="carla")
        approvals.decide({2: "refused"}, by="carla")
        assert ask(curator) == ask(curator)
        with pytest.raises(RequestConflictError, match="key was already used"):
            ask(curator, body=OTHER)
        assert waits(curator, key="three", body=OTHER)
        assert not waits(curator, key="two")
        assert curator.ledger.account("wards").spent == 1 / 4


def test_the_first_question_waits_and_then_none_does(ledger_url):  # noqa: F811
    with curator_of(ledger_url, approval="first") as curator:
        approvals = curator.approvals
        assert waits(curator)
        assert waits(curator, key="two", body=OTHER)
        (approval,) = approvals.pending()
        approvals.decide({approval.number: "approved"}, by="carla")
        ask(curator)
        ask(curator, key="two", body=OTHER)
        assert waits(curator, caller=BOB)
        assert [approval.analyst for approval in approvals.pending()] == ["bob"]


def test_an_approval_for_an_epoch_does_not_apply_to_the_next(ledger_url):  # noqa: F811
    with curator_of(ledger_url, approval="every") as curator:
        assert waits(curator)
        curator.approvals.decide({1: "approved"}, by="carla")
        curator.ledger.declare("wards", Account(Fraction(3)), SHARES, reason="new rows")
    with curator_of(ledger_url, approval="every") as curator:
        assert waits(curator)
        assert curator.ledger.account("wards").spent == 0


def test_what_was_charged_before_needs_no_approval_to_be_given_again(ledger_url):  # noqa: F811
    with curator_of(ledger_url) as curator:
        answer = ask(curator)
    with curator_of(ledger_url, approval="every") as curator:
        assert ask(curator) == answer
        assert waits(curator, key="two")


def test_what_is_decided_is_decided(ledger_url):  # noqa: F811
    with curator_of(ledger_url, approval="every") as curator:
        approvals = curator.approvals
        waits(curator)
        approvals.decide({1: "refused"}, by="carla")
        for number, decision in ((1, "refused"), (1, "withdrawn"), (2, "approved"), (0, "approved")):
            with pytest.raises(ArgumentError, match="Nothing was decided"):
                approvals.decide({number: decision}, by="carla")
        assert waits(curator, key="two")
        with pytest.raises(ArgumentError, match="3 is not the number"):
            approvals.decide({2: "approved", 3: "approved"}, by="carla")
        assert [approval.number for approval in approvals.pending()] == [2]
        assert not waits(curator)


def test_an_approval_of_the_first_question_ends_with_its_epoch(ledger_url):  # noqa: F811
    with curator_of(ledger_url, approval="first") as curator:
        assert waits(curator)
        curator.approvals.decide({1: "approved"}, by="carla")
        ask(curator)
        curator.ledger.declare("wards", Account(Fraction(3)), SHARES, reason="new rows")
    with curator_of(ledger_url, approval="first") as curator:
        assert waits(curator, key="two")
        assert curator.ledger.account("wards").spent == 0
        assert [approval.number for approval in curator.approvals.pending()] == [2]
        curator.ledger.verify()


@pytest.mark.parametrize("approval", ["first", "every"])
def test_an_approval_can_be_withdrawn_and_given_again(ledger_url, approval):  # noqa: F811
    with curator_of(ledger_url, approval=approval) as curator:
        approvals = curator.approvals
        assert waits(curator)
        approvals.decide({1: "approved"}, by="carla")
        assert [item.number for item in approvals.approved()] == [1]
        approvals.decide({1: "withdrawn"}, by="kim")
        assert (approvals.approved(), approvals.pending()) == ([], [])
        assert not waits(curator)
        assert curator.ledger.account("wards").spent == 0
        approvals.decide({1: "approved"}, by="carla")
        answer = ask(curator)
        approvals.decide({1: "withdrawn"}, by="carla")
        assert ask(curator) == answer
        decisions = [entry.data["decision"] for entry in curator.ledger.entries() if entry.kind == "decided"]
        assert decisions == ["approved", "withdrawn", "approved", "withdrawn"]
        curator.ledger.verify()


def test_a_withdrawal_stops_a_question_until_its_charge_is_committed(ledger_url, monkeypatch):  # noqa: F811
    rows = WatchedRows()
    with curator_of(ledger_url, rows, approval="first") as curator:
        assert waits(curator)
        curator.approvals.decide({1: "approved"}, by="carla")
        reserve = curator.ledger.reserve

        def withdrawn_first(request, *more):
            curator.approvals.decide({1: "withdrawn"}, by="carla")
            return reserve(request, *more)

        monkeypatch.setattr(curator.ledger, "reserve", withdrawn_first)
        assert not waits(curator)
        assert (rows.touched, curator.ledger.account("wards").spent) == (0, 0)
        monkeypatch.setattr(curator.ledger, "reserve", reserve)
        curator.approvals.decide({1: "approved"}, by="carla")
        rows.when = lambda: curator.approvals.decide({1: "withdrawn"}, by="carla")
        assert ask(curator).body
        assert not waits(curator, key="two")
        assert curator.ledger.account("wards").spent == 1 / 4


def test_one_analyst_cannot_fill_the_list(ledger_url, monkeypatch):  # noqa: F811
    monkeypatch.setattr(module, "MOST_PENDING", 2)
    with curator_of(ledger_url, approval="every") as curator:
        approvals = curator.approvals
        assert all(waits(curator, key=key) for key in ("1", "2", "1"))
        with pytest.raises(ServiceBusyError, match="too many"):
            ask(curator, key="3")
        assert waits(curator, caller=BOB, key="3")
        approvals.decide({1: "refused"}, by="carla")
        assert waits(curator, key="3")
        assert len(approvals.pending()) == 3


def test_the_question_itself_is_shown(ledger_url):  # noqa: F811
    body = question(epsilon="1/4", bins=BINS, by="classes")
    with curator_of(ledger_url, approval="every") as curator:
        waits(curator, body=body)
        (approval,) = curator.approvals.pending()
        assert json.loads(approval.question) == {
            "question": "marginals",
            "delta": "0",
            "epoch": None,
            **json.loads(body),
        }
        assert approval.question.replace("\n", "\n" + " " * 7) in str(approval)


@pytest.mark.parametrize("hypothesis", ["model", "onnx", "always"])
def test_a_hypothesis_is_shown_by_its_digest(hypothesis):
    tree = {"format": "hedgerow/tree", "version": 1, "digest": "d" * 64, "root": {"label": "x" * 1000}}
    asked = {"model": {"model": tree}, "onnx": {"onnx": b64encode(b"12").decode()}, "always": {"always": "yes"}}
    body = question(epsilon="1/4", bins=BINS, hypothesis=asked[hypothesis])
    shown = json.loads(readable("error-marginals", read_form("error-marginals", body)))["hypothesis"]
    assert (
        shown
        == {
            "model": {"format": "hedgerow/tree", "digest": "d" * 64},
            "onnx": {"format": "onnx", "sha256": digest(b"12")},
            "always": {"always": "yes"},
        }[hypothesis]
    )


def test_what_nobody_can_read_is_not_asked(ledger_url):  # noqa: F811
    many = {f"{'x' * 100} {i}": {"kind": "boolean", "missing": "bin"} for i in range(500)}
    with curator_of(ledger_url, approval="every") as curator:
        with pytest.raises(QuestionError, match="needs approval"):
            curator.approvals.require("wards", "ana", "one", "rows", json.dumps(many))
        assert not curator.approvals.pending()


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE approvals SET state = 'approved'",
        "UPDATE approvals SET question = 'x' WHERE state = 'refused'",
        "DELETE FROM approvals WHERE state = 'refused'",
        "UPDATE approvals SET state = 'pending' WHERE number = 1",
        "UPDATE approvals SET state = 'approved' WHERE number = 4",
    ],
)
def test_an_edited_decision_in_the_ledger_is_detected(ledger_url, edit):  # noqa: F811
    with curator_of(ledger_url, approval="every") as curator:
        for key in ("one", "two", "three", "four"):
            waits(curator, key=key)
        curator.approvals.decide({4: "approved"}, by="carla")
        curator.approvals.decide({4: "withdrawn"}, by="carla")
        curator.approvals.decide({1: "approved"}, by="carla")
        curator.approvals.decide({2: "refused"}, by="carla")
        *_, first, second = (entry for entry in curator.ledger.entries() if entry.kind == "decided")
        assert first.what.startswith("approved by carla: ana asks wards: rows by bin of 2 attributes, epsilon 1/4")
        assert (second.data["decision"], len(second.data["question"])) == ("refused", 64)
        curator.ledger.verify()
        with curator.ledger.log.database.writing() as connection:
            connection.exec_driver_sql(edit)
        with pytest.raises(LedgerError, match="its table of approvals does not follow from its entries"):
            curator.ledger.verify()
