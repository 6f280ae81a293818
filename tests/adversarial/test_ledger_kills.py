"""Claim: a curator that is killed has neither answered without a charge, nor given two answers to one, nor lost either.

Processes are killed by SIGKILL before and after each commit, before its head is written outside the database, and
while they evaluate; what they had sent is compared with what the ledger says, and with what the same request is
answered afterwards.
"""

import os
import signal
from fractions import Fraction

import pytest
from sqlalchemy import event

from hedgerow.errors import BudgetExceededError, RequestFailedError
from hedgerow.privacy.account import Account
from hedgerow.service.ledger.ledger import Answered
from tests.service.databases import ledger_at
from tests.service.ledger.asking import asked

POINTS = [
    "before it is charged",
    "charged, and the head is not written",
    "once it is charged",
    "while it is evaluated",
    "before it is answered",
    "answered, and the head is not written",
    "once it is answered",
    None,
]
COST = Fraction(1, 1000)
KILLS = [25, pytest.param(1000, marks=pytest.mark.slow)]

pytestmark = [
    pytest.mark.statistics,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork"),
]


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def ask(ledger_url, key, evaluations, point=None):
    """Ask, evaluate and answer as a curator does, killed at a point; return the answer."""
    ledger = ledger_at(ledger_url)
    commits = []

    @event.listens_for(ledger._database.engine, "commit")
    def before_commit(_):
        commits.append(1)
        if point == {1: "before it is charged", 2: "before it is answered"}.get(len(commits)):
            die()

    keep, kept = ledger.log._head.keep, []

    def before_the_head(mark):
        kept.append(mark)
        if point == {1: POINTS[1], 2: POINTS[5]}.get(len(kept)):
            die()
        keep(mark)

    ledger.log._head.keep = before_the_head
    result = ledger.reserve(asked(key, COST))
    if isinstance(result, Answered):
        return result.content
    if point == "once it is charged":
        die()
    os.write(evaluations, f"{key}\n".encode())
    content = os.urandom(8)
    if point == "while it is evaluated":
        die()
    ledger.answer(result, content)
    if point == "once it is answered":
        die()
    ledger.close()
    return content


def killed(ledger_url, key, evaluations, point):
    """Ask in a process that is killed at a point; return what it had sent."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.write(writing, ask(ledger_url, key, evaluations, point))
            code = 0
        except RequestFailedError:
            code = 3
        finally:
            os._exit(code)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as sent:
        return sent.read(), status


@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.claim("never gives two answers to one request")
def test_no_kill_loses_a_charge_or_an_answer_or_makes_two(ledger_url, kills, tmp_path):
    evaluations = os.open(tmp_path / "evaluations", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with ledger_at(ledger_url) as ledger:
        ledger.declare("wards", Account(Fraction(9)), {"ana": Account(Fraction(9))}, reason="rows")
    sent, asked_for = {}, set()
    number = died = 0
    while died < kills:
        key, point = f"key {number // 3}", POINTS[(number * 5 + number // 9) % len(POINTS)]
        content, status = killed(ledger_url, key, evaluations, point)
        assert os.WIFSIGNALED(status) or os.waitstatus_to_exitcode(status) in (0, 3)
        number, died = number + 1, died + os.WIFSIGNALED(status)
        asked_for.add(key)
        if content:
            assert sent.setdefault(key, content) == content  # never two answers
    os.close(evaluations)
    made = (tmp_path / "evaluations").read_text().splitlines()
    with ledger_at(ledger_url) as ledger:
        ledger.verify()
        entries = [entry.data for entry in ledger.entries()]
        charged = {data["request"]: data["key"] for data in entries if data["kind"] == "reserved"}
        assert len(set(charged.values())) == len(charged)  # never two charges for one request
        assert ledger.account("wards").spent == COST * len(charged)
        assert set(made) <= set(charged.values())  # no rows were touched before the charge
        assert max(map(made.count, made)) <= 2
        answered = {charged[data["request"]] for data in entries if data["kind"] == "answered"}
        assert set(sent) <= answered <= set(charged.values()) <= asked_for
        for key, content in sent.items():
            assert ledger.reserve(asked(key, COST)).content == content


@pytest.mark.claim("never gives two answers to one request")
def test_only_one_of_many_processes_gets_the_last_unit(ledger_url):
    with ledger_at(ledger_url) as ledger:
        ledger.declare("wards", Account(Fraction(1)), {"ana": Account(Fraction(1))}, reason="rows")
    children = []
    for number in range(8):
        child = os.fork()
        if not child:
            code = 1
            try:
                with ledger_at(ledger_url) as ledger:
                    ledger.reserve(asked(f"{number}", 1))
                code = 0
            except BudgetExceededError:
                code = 2
            finally:
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert sorted(codes) == [0] + [2] * 7
    with ledger_at(ledger_url) as ledger:
        assert ledger.account("wards").remaining == 0
        ledger.verify()
