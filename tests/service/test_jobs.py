"""Jobs wait in a bounded queue; what waits can be cancelled at no cost; each is its analyst's own."""

import threading
from dataclasses import replace
from fractions import Fraction

import pytest

from hedgerow.errors import BudgetExceededError, QuestionError, ServiceBusyError, ServiceUnavailableError
from hedgerow.privacy.charge import Charge
from hedgerow.schema import Schema
from hedgerow.service import jobs as module
from hedgerow.service.jobs import Jobs
from hedgerow.service.ledger.ledger import ChargeRequest
from hedgerow.service.problems import problem_of
from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows
from tests.service.wards import ANA, BOB, MARGINALS, SCHEMA, WatchedRows, curator_of, example, question, table

TREE = example("fits")


@pytest.fixture
def opened(tmp_path):
    rows = WatchedRows(waits=True)
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", rows) as curator:
        jobs = Jobs(curator)
        yield jobs, rows, curator
        rows.go.set()
        jobs.close()


def charge_request(kind, key, body):
    """Return the request by which the ledger charges a question of Ana's."""
    digest = Request(ANA, "wards", kind, key, body).digest
    return ChargeRequest("wards", "ana", key, digest, Charge("a question", Fraction(1, 8)))


def submit(jobs, key="one", caller=ANA, body=TREE):
    return jobs.submit(Request(caller, "wards", "fits", key, body))


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


def test_a_refused_job_that_another_process_charged_is_stated_as_charged(opened):
    jobs, rows, curator = opened
    rows.go.set()
    held = curator._datasets["wards"]
    curator._datasets["wards"] = replace(held, min_epsilon=Fraction(9))
    job = submit(jobs)
    assert job.ended.wait(10)
    assert jobs.get(ANA, job.name).state == "refused"
    curator._datasets["wards"] = held  # of the other process, with a different configuration
    curator.ask(Request(ANA, "wards", "fits", job.key, TREE))
    assert jobs.get(ANA, job.name).state == "answered"
    assert jobs.failed == 1


def test_ended_jobs_are_dropped_and_their_answers_stay_in_the_ledger(opened, monkeypatch):
    jobs, rows, curator = opened
    monkeypatch.setattr(module, "_MOST_KEPT", 1)
    rows.go.set()
    dear = question(epsilon="9", model="tree")
    ended = []
    for key, body in (("1", dear), ("2", TREE), ("3", dear), ("4", dear)):
        ended.append(submit(jobs, key, body=body))
        assert ended[-1].ended.wait(30)
    first, answered, *_ = ended
    assert jobs.get(ANA, first.name) is None
    assert jobs.answer(jobs.get(ANA, answered.name)).body
    assert len(jobs._jobs) == 1  # the last refusal
    assert curator.ledger.account("wards", "ana").spent == 1 / 4
    assert threading.active_count() < 10


def test_analysts_take_turns_and_many_fits_of_an_analyst_delay_no_other(opened):
    """With one worker, a fit that comes after eight of another analyst is the second one that begins."""
    jobs, rows, curator = opened
    jobs._free, begun, evaluate = 1, [], curator.evaluate

    def noted(request):
        begun.append(request.caller.name)
        return evaluate(request)

    curator.evaluate = noted
    own = [submit(jobs, f"{number}", body=question(epsilon="1/100", model="tree")) for number in range(8)]
    assert rows.begun.wait(10)
    with pytest.raises(ServiceBusyError):
        submit(jobs, "nine")
    other = submit(jobs, "bob's", BOB)
    rows.go.set()
    assert all(job.ended.wait(20) for job in (*own, other))
    assert begun == ["ana", "bob", *["ana"] * 7]


def test_different_analysts_fit_concurrently_but_the_same_analyst_waits(opened):
    jobs, rows, _ = opened
    first, second, other = submit(jobs), submit(jobs, "two"), submit(jobs, "one", BOB)
    while rows.touched < 2:
        assert not first.ended.wait(0.01)
    assert (first.state, second.state, other.state, jobs.waiting) == ("running", "queued", "running", 1)
    rows.go.set()
    assert second.ended.wait(10)


def test_a_full_queue_accepts_a_question_of_each_further_analyst(opened, monkeypatch):
    jobs, _, _ = opened
    monkeypatch.setattr(module, "MOST_WAITING", 1)
    submit(jobs)
    submit(jobs, "two")
    with pytest.raises(ServiceBusyError):
        submit(jobs, "three")
    assert submit(jobs, "one", BOB).state == "running"
    with pytest.raises(ServiceBusyError):
        submit(jobs, "two", BOB)


def test_a_waiting_answer_blocks_only_its_own_analyst_and_no_worker(tmp_path):
    with curator_of(f"sqlite:///{tmp_path}/ledger.db", WatchedRows(), answer_after=1.5) as curator:
        jobs = Jobs(curator)
        jobs._free = 1
        first, second = submit(jobs), submit(jobs, "two")
        while jobs._free == 0:  # until the first is evaluated
            assert not first.ended.wait(0.01)
        assert (first.state, second.state, curator.ledger.known("ana", "one").state) == ("running", "queued", "running")
        other = submit(jobs, "one", BOB)
        while not jobs._due.keys() >= {first, other}:  # which has the worker meanwhile
            assert not first.ended.wait(0.01)
        assert second.state == "queued"
        assert first.ended.wait(10)
        assert first.state == "answered"
        while second.state == "queued":
            assert not second.ended.wait(0.01)
        jobs.close()
        assert curator.ledger.known("ana", "two").state == "pending"
    with curator_of(f"sqlite:///{tmp_path}/ledger.db") as curator:
        assert curator.ask(Request(ANA, "wards", "fits", "two", TREE)).body
        assert curator.ledger.account("wards", "ana").spent == 1 / 2


def test_a_job_ends_and_frees_its_turn_if_its_failure_cannot_be_logged(opened, monkeypatch):
    def warning(*_):
        raise ValueError("the log is closed")

    jobs, rows, _ = opened
    monkeypatch.setattr(module._LOG, "warning", warning)
    rows.fails = True
    rows.go.set()
    first = submit(jobs)
    assert first.ended.wait(30)
    second = submit(jobs, "two")
    assert second.ended.wait(30)
    assert first.error is not None


def test_after_a_restart_the_ledger_has_a_jobs_question_and_state(tmp_path):
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
        request = charge_request("fits", "three", TREE)
        curator.ledger.reserve(request)  # and the process ends
    with curator_of(url) as curator:
        jobs = Jobs(curator)
        fits["pending"] = module.Job(module._name("wards", request.body, "three"), ANA, "three")
        for state, job in fits.items():
            result = jobs.get(ANA, job.name)
            assert (result.state, result.ended.is_set(), jobs.get(BOB, job.name)) == (state, True, None)
            assert (jobs.answer(result) is not None) == (state == "answered")
        assert problem_of(jobs.get(ANA, fits["failed"].name).error).charged is True
        assert submit(jobs, "three").ended.wait(10)
        assert jobs.get(ANA, fits["pending"].name).state == "answered"
        assert [submit(jobs, "two").state, submit(jobs).state] == ["failed", "answered"]
        assert curator.ledger.account("wards", "ana").spent == Fraction(5, 8)
        jobs.close()


def test_a_refusal_states_whether_its_question_was_charged_before(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with curator_of(url) as curator:
        curator.ledger.reserve(charge_request("marginals", "one", MARGINALS))
        curator.ledger.reserve(charge_request("fits", "fit", TREE))
    with curator_of(url) as curator:
        monkeypatch.setattr("hedgerow.service.curator.has_room", lambda: False)
        monkeypatch.setattr(module, "MOST_OF_ONE", 0)
        jobs = Jobs(curator)
        for key, charged in (("one", True), ("two", False)):
            with pytest.raises(ServiceUnavailableError) as raised:
                curator.ask(Request(ANA, "wards", "marginals", key, MARGINALS))
            assert problem_of(raised.value).charged is charged
        for key, charged in (("fit", True), ("two", False)):
            with pytest.raises(ServiceBusyError) as raised:
                submit(jobs, key)
            assert problem_of(raised.value).charged is charged
        jobs.close()


def test_an_answer_that_was_paid_for_is_given_whatever_is_refused_since(tmp_path):
    url, other = f"sqlite:///{tmp_path}/ledger.db", Schema({"smoker": SCHEMA["smoker"]}, SCHEMA.label)
    with curator_of(url) as curator:
        answer = curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))
    frame, labels = table()
    with curator_of(url, FrameRows.of(frame, labels, other), schema=other) as curator:
        assert curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS)) == answer
        with pytest.raises(QuestionError) as raised:
            curator.ask(Request(ANA, "wards", "marginals", "two", MARGINALS))
        assert problem_of(raised.value).charged is False
