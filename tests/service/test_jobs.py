"""Jobs wait in a bounded queue; what waits can be cancelled at no cost; each is its analyst's own."""

import threading
from fractions import Fraction

import pytest

from hedgerow.errors import BudgetExceededError, QuestionError, ServiceBusyError, ServiceUnavailableError
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Schema
from hedgerow.service import jobs as module
from hedgerow.service.app import problem_of
from hedgerow.service.curator import digest_of
from hedgerow.service.jobs import Jobs
from hedgerow.service.ledger.ledger import Request
from hedgerow.service.rows import FrameRows
from tests.service.wards import ANA, BOB, MARGINALS, SCHEMA, WatchedRows, curator_of, question, table

TREE = question(epsilon="1/4", model="tree", parameters={"max_depth": 1})


@pytest.fixture
def opened(tmp_path):
    rows = WatchedRows(waits=True)
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        jobs = Jobs(curator)
        yield jobs, rows, curator
        rows.go.set()
        jobs.close()


def submit(jobs, key="one", caller=ANA, body=TREE):
    return jobs.submit(caller, "wards", "fits", key, body)


def test_a_job_is_answered_and_the_same_request_is_the_same_job(opened):
    jobs, rows, curator = opened
    job = submit(jobs)
    rows.begun.wait(5)
    assert submit(jobs) is job
    assert job.state == "running"
    rows.go.set()
    assert job.ended.wait(10)
    again = submit(jobs)
    assert (job.state, again.name, again.state) == ("answered", job.name, "answered")
    assert b'"model"' in jobs.answer(again).body
    assert curator.ledger.account("wards", "ana").spent == 1 / 4


def test_what_waits_can_be_cancelled_at_no_cost_and_what_runs_goes_on(opened):
    jobs, rows, curator = opened
    first, second = submit(jobs), submit(jobs, "two")
    rows.begun.wait(5)
    assert jobs.waiting == 1
    for job, state in ((second, "cancelled"), (first, "running")):
        jobs.cancel(job)
        assert job.state == state
    assert jobs.waiting == 0
    again = submit(jobs, "two")
    assert again is not second
    rows.go.set()
    assert first.ended.wait(10)
    assert again.ended.wait(10)
    assert second.ended.is_set()
    assert (first.state, again.state) == ("answered", "answered")
    assert curator.ledger.account("wards", "ana").spent == 1 / 2


def test_a_job_is_its_analysts_own(opened):
    jobs, rows, _ = opened
    job = submit(jobs)
    for _ in range(2):  # as this process knows it, and as the ledger does
        assert jobs.get(ANA, job.name) is not None
        assert jobs.get(BOB, job.name) is None
        rows.go.set()
        assert job.ended.wait(10)
    for name in ("0" * 32, "", ".", "x.é", f"{job.name}x", "0" * 32 + job.name[32:], job.name * 100):
        assert jobs.get(ANA, name) is None


def test_a_refusal_is_kept_and_a_new_try_is_made(opened):
    jobs, rows, curator = opened
    rows.go.set()
    job = submit(jobs, body=question(epsilon="9", model="tree"))
    assert job.ended.wait(10)
    assert job.state == "refused"
    assert isinstance(job.error, BudgetExceededError)
    assert job.error.__traceback__ is None
    with pytest.raises(QuestionError):
        submit(jobs, "two", body=b"{}")
    assert curator.ledger.account("wards").spent == 0


def test_the_queue_is_bounded_for_each_and_for_all(opened, monkeypatch):
    jobs, _, _ = opened
    monkeypatch.setattr(module, "MOST_OF_ONE", 2)
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    submit(jobs)
    submit(jobs, "two")
    with pytest.raises(ServiceBusyError):
        submit(jobs, "three")
    submit(jobs, "one", BOB)
    with pytest.raises(ServiceBusyError):
        submit(jobs, "two", BOB)


def test_jobs_that_have_ended_are_forgotten_in_time_and_the_ledger_has_their_answers(opened, monkeypatch):
    jobs, rows, curator = opened
    monkeypatch.setattr(module, "_MOST_KEPT", 1)
    rows.go.set()
    dear = question(epsilon="9", model="tree")
    first, answered, *_ = ended = [
        submit(jobs, "1", body=dear),
        submit(jobs, "2"),
        *(submit(jobs, k, body=dear) for k in "34"),
    ]
    assert all(job.ended.wait(10) for job in ended)
    assert jobs.get(ANA, first.name) is None
    assert jobs.answer(jobs.get(ANA, answered.name)).body
    assert len(jobs._jobs) == 2  # the refusal that is kept, and the last one
    assert curator.ledger.account("wards", "ana").spent == 1 / 4
    assert threading.active_count() < 10


def test_after_a_restart_the_ledger_knows_the_question_of_a_job_and_its_state(tmp_path):
    url, fits = f"sqlite:///{tmp_path}/ledger.db", {}
    with curator_of(url, WatchedRows()) as curator:
        jobs = Jobs(curator)
        fits["answered"] = submit(jobs)
        assert fits["answered"].ended.wait(10)
        jobs.close()
    with curator_of(url, WatchedRows(fails=True)) as curator:
        jobs = Jobs(curator)
        fits["failed"] = submit(jobs, "two")
        assert fits["failed"].ended.wait(10)
        jobs.close()
        request = Request("wards", "ana", "three", digest_of("fits", TREE), Charge("a fit", Fraction(1, 8)))
        curator.ledger.reserve(request)  # and the process ends
    with curator_of(url) as curator:
        jobs = Jobs(curator)
        fits["pending"] = module.Job(module._name("wards", request.body, "three"), ANA, "three")
        for state, job in fits.items():
            found = jobs.get(ANA, job.name)
            assert (found.state, found.ended.is_set(), jobs.get(BOB, job.name)) == (state, True, None)
            assert (jobs.answer(found) is not None) == (state == "answered")
        assert problem_of(jobs.get(ANA, fits["failed"].name).error).charged is True
        assert submit(jobs, "three").ended.wait(10)
        assert jobs.get(ANA, fits["pending"].name).state == "answered"
        assert [submit(jobs, "two").state, submit(jobs).state] == ["failed", "answered"]
        assert curator.ledger.account("wards", "ana").spent == Fraction(5, 8)
        jobs.close()


def test_a_refusal_states_whether_its_question_was_charged_before(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with curator_of(url) as curator:
        asked = Request("wards", "ana", "one", digest_of("marginals", MARGINALS), Charge("rows", Fraction(1, 8)))
        curator.ledger.reserve(asked)
        fit = Request("wards", "ana", "fit", digest_of("fits", TREE), Charge("a fit", Fraction(1, 8)))
        curator.ledger.reserve(fit)
    with curator_of(url) as curator:
        monkeypatch.setattr("hedgerow.service.curator.has_room", lambda: False)
        monkeypatch.setattr(module, "MOST_WAITING", 0)
        jobs = Jobs(curator)
        for key, charged in (("one", True), ("two", False)):
            with pytest.raises(ServiceUnavailableError) as raised:
                curator.ask(ANA, "wards", "marginals", key, MARGINALS)
            assert problem_of(raised.value).charged is charged
        for key, charged in (("fit", True), ("two", False)):
            with pytest.raises(ServiceBusyError) as raised:
                submit(jobs, key)
            assert problem_of(raised.value).charged is charged
        jobs.close()


def test_an_answer_that_was_paid_for_is_given_whatever_is_refused_since(tmp_path):
    url, other = f"sqlite:///{tmp_path}/ledger.db", Schema({"smoker": SCHEMA["smoker"]}, SCHEMA.label)
    with curator_of(url) as curator:
        answer = curator.ask(ANA, "wards", "marginals", "one", MARGINALS)
    frame, labels = table()
    with curator_of(url, FrameRows.of(frame, labels, other), schema=other) as curator:
        assert curator.ask(ANA, "wards", "marginals", "one", MARGINALS) == answer
        with pytest.raises(QuestionError) as raised:
            curator.ask(ANA, "wards", "marginals", "two", MARGINALS)
        assert problem_of(raised.value).charged is False
