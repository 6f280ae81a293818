"""Jobs wait in a bounded queue; what waits can be cancelled at no cost; each is its analyst's own."""

import threading

import pytest

from hedgerow.errors import AccessError, BudgetExceededError, QuestionError, ServiceBusyError
from hedgerow.service import jobs as module
from hedgerow.service.jobs import Jobs
from tests.service.wards import ANA, BOB, WatchedRows, curator_of, question

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
    assert (job.state, submit(jobs) is job, jobs.get(ANA, job.name) is job) == ("answered", True, True)
    assert b'"model"' in job.answer.body
    assert curator.ledger.account("wards", "ana").spent == 1 / 4


def test_what_waits_can_be_cancelled_at_no_cost_and_what_runs_goes_on(opened):
    jobs, rows, curator = opened
    first, second = submit(jobs), submit(jobs, "two")
    rows.begun.wait(5)
    assert jobs.waiting == 1
    assert jobs.cancel(ANA, second.name).state == "cancelled"
    assert jobs.waiting == 0
    assert jobs.cancel(ANA, first.name).state == "running"
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
    rows.go.set()
    for ask in (jobs.get, jobs.cancel):
        with pytest.raises(AccessError):
            ask(BOB, job.name)
        with pytest.raises(AccessError):
            ask(ANA, "0" * 32)


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
    first = submit(jobs)
    assert first.ended.wait(10)
    assert submit(jobs, "two").ended.wait(10)
    submit(jobs, "three").ended.wait(10)
    with pytest.raises(AccessError):
        jobs.get(ANA, first.name)
    again = submit(jobs)
    assert again.ended.wait(10)
    assert again.answer == first.answer
    assert curator.ledger.account("wards", "ana").spent == 3 / 4
    assert threading.active_count() < 10
