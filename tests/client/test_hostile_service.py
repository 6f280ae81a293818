"""Whatever a service answers, the client returns an answer of the right shape or one error, and hides its key."""

import json
import traceback
from itertools import repeat

import httpx2
import pytest

import hedgerow as hr
from hedgerow.client import http
from hedgerow.errors import ServiceError
from hedgerow.schema import Schema
from hedgerow.service.requests import Request
from tests.service.wards import BINS, SCHEMA, Exact, curator_of, question

BY = Schema.from_dict({"attributes": BINS})
KEY = "hr_SECRET"
KINDS = ["numbers", "boolean", "text"]
PUBLIC = {
    "dataset": "wards",
    "epoch": 1,
    "schema": SCHEMA.to_dict(),
    "columns": list(SCHEMA.names),
    "kinds": KINDS,
    "unit": None,
    "timing": "open",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """An answer of a real curator's."""
    from tests.service.wards import ANA

    with curator_of(f"sqlite:///{tmp_path_factory.mktemp('l')}/l.db", noise=Exact()) as curator:
        return json.loads(curator.ask(Request(ANA, "wards", "marginals", "1", question(epsilon="1", bins=BINS))).body)


def connected(monkeypatch, answer, status=200, headers=None, handle=None, **more):
    """Connect to a service that describes itself well, and answers questions with this, or as `handle` does."""

    def answering(request):
        if request.url.path == "/v1/datasets":
            return httpx2.Response(200, json=["wards"])
        if request.url.path == "/v1/datasets/wards":
            return httpx2.Response(200, json=PUBLIC)
        if handle is not None:
            return handle(request)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return httpx2.Response(status, content=content, headers=headers)

    real = httpx2.Client
    monkeypatch.setattr("httpx2.Client", lambda **given: real(transport=httpx2.MockTransport(answering), **given))
    monkeypatch.setattr("time.sleep", lambda _: None)
    return hr.connect("https://curator.example", key=KEY, **more)


def refused(curator, ask):
    with pytest.raises(ServiceError) as raised:
        ask(curator)
    assert "SECRET" not in "".join(traceback.format_exception(raised.value))
    return str(raised.value)


def rows(curator):
    return curator.oracle(1, epsilon=1).marginals(BY).rows


def test_a_good_answer_is_taken(monkeypatch, good):
    assert len(rows(connected(monkeypatch, good))) == 7


@pytest.mark.parametrize(
    "change",
    [
        {"rows": {"age": [1, 2, 3], "smoker": [1, 2, 3]}},
        {"rows": {"age": [1, 2, 3, "x"], "smoker": [1, 2, 3]}},
        {"rows": {"age": [1, 2, 3, 10**30], "smoker": [1, 2, 3]}},
        {"rows": {"age": [[1], [2], [3], [4]], "smoker": [1, 2, 3]}},
        {"rows": {"smoker": [1, 2, 3]}},
        {"rows": [1, 2, 3]},
        {"rows": None},
        {"card": {}},
        {"card": None},
        {"charge": {"epsilon": 0}},
    ],
    ids=str,
)
def test_an_answer_of_another_shape_is_refused(monkeypatch, good, change):
    assert "did not send" in refused(connected(monkeypatch, good | change), rows)


def test_a_card_that_contradicts_itself_is_refused(monkeypatch, good):
    card = good["card"] | {"epsilon": 0.1, "epsilon_exact": "1/10"}
    assert "with its privacy card" in refused(connected(monkeypatch, good | {"card": card}), rows)


@pytest.mark.parametrize("answer", [b"", b"<html>", b"\xff", b"NaN", b"[" * 10_000, b"[]", b"null"])
def test_what_is_no_answer_is_refused(monkeypatch, answer):
    refused(connected(monkeypatch, answer), rows)


@pytest.mark.parametrize("status", [301, 302, 400, 404, 500, 502])
def test_what_is_no_service_of_hedgerows_is_told(monkeypatch, status):
    curator = connected(monkeypatch, b"<html>", status, {"location": "https://evil.example/"})
    assert f"status {status}" in refused(curator, rows)


def test_an_invalid_model_is_refused(monkeypatch):
    curator = connected(monkeypatch, {"job": "1", "state": "answered"}, 202)
    assert "a model" in refused(curator, lambda one: one.fit(hr.PrivateTreeClassifier(epsilon=1)))


UNSETTLED = {
    "behind a proxy that gave up": (504, b"<html>gateway timeout</html>"),
    "ledger-unavailable": (503, None),
    "internal": (500, None),
    "approval-needed": (403, None),
    "budget-exceeded": (403, None),
}


@pytest.mark.parametrize("kind", UNSETTLED)
@pytest.mark.parametrize("fails", ["question", "job", "answer"])
def test_a_question_without_an_answer_is_sent_again_with_its_key(monkeypatch, kind, fails):
    status, body = UNSETTLED[kind]
    problem = {"type": f"urn:hedgerow:problem:{kind}", "title": "a", "detail": "b", "charged": None}
    failure = json.dumps(problem).encode() if body is None else body
    keys = []

    def handle(request):
        if request.method == "POST":
            keys.append(request.headers["Idempotency-Key"])
        place = "question" if request.method == "POST" else request.url.path.rpartition("/")[2].replace("j", "job", 1)
        if place == fails:
            return httpx2.Response(status, content=failure)
        return httpx2.Response(202, json={"job": "j", "state": "queued" if fails == "job" else "answered"})

    dataset = connected(monkeypatch, {}, handle=handle)["wards"]
    for _ in range(2):
        with pytest.raises(ServiceError):
            dataset.fit(hr.PrivateTreeClassifier(epsilon=0.5))
    assert len(keys) == 2
    assert len(set(keys)) == 1


def sent_as_jobs(keys, polled):
    """Return a handler of fits, whose jobs are in the states that `polled` yields; it notes the keys."""

    def handle(request):
        if request.method == "POST":
            keys.append(request.headers["Idempotency-Key"])
            return httpx2.Response(202, json={"job": "j", "state": "queued"})
        state = next(polled)
        if state == "away":
            raise httpx2.ConnectError("away")
        if state in ("running", "pending"):
            return httpx2.Response(200, json={"job": "j", "state": state})
        problem = {"type": f"urn:hedgerow:problem:{state}", "title": "a", "detail": "b", "charged": None}
        return httpx2.Response(404 if state == "unknown-job" else 424, json=problem)

    return handle


def test_a_job_that_the_service_lost_is_asked_for_again_with_its_key(monkeypatch):
    keys, polled = [], iter(["running", "unknown-job", "pending", "running", "evaluation-failed"])
    dataset = connected(monkeypatch, {}, handle=sent_as_jobs(keys, polled))["wards"]
    with pytest.raises(ServiceError) as raised:
        dataset.fit(hr.PrivateTreeClassifier(epsilon=0.5))
    assert (raised.value.kind, len(keys), len(set(keys))) == ("evaluation-failed", 3, 1)


@pytest.mark.parametrize(("timeout", "kind"), [(120, "evaluation-failed"), (0, "unreachable")])
def test_a_service_that_is_restarted_during_a_fit_may_be_out_of_reach(monkeypatch, timeout, kind):
    keys, polled = [], iter(["running", *["away"] * 20, "pending", "evaluation-failed"])
    answer = sent_as_jobs(keys, polled)
    dataset = connected(monkeypatch, {}, handle=answer)["wards"]
    dataset._connection.timeout = timeout
    monkeypatch.setattr(http, "_TRIES", 1)
    with pytest.raises(ServiceError) as raised:
        dataset.fit(hr.PrivateTreeClassifier(epsilon=0.5))
    assert (raised.value.kind, len(set(keys))) == (kind, 1)


@pytest.mark.parametrize("state", ["running", "pending", "unknown-job"])
def test_an_endless_job_is_polled_for_a_bounded_time_and_keeps_its_key(monkeypatch, state):
    keys = []
    dataset = connected(monkeypatch, {}, handle=sent_as_jobs(keys, repeat(state)), job_timeout=0.05)["wards"]
    for _ in range(2):
        with pytest.raises(ServiceError, match=r"after 0.05 seconds, and may be charged") as raised:
            dataset.fit(hr.PrivateTreeClassifier(epsilon=0.5))
        assert (raised.value.kind, raised.value.charged) == ("job-timeout", None)
    assert len(keys) >= 2
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    "job", [{"job": 1, "state": "x"}, {"job": "a/b", "state": "x"}, {"job": "..", "state": "x"}, {"job": "j"}, [], None]
)
def test_a_job_of_another_shape_is_refused(monkeypatch, job):
    curator = connected(monkeypatch, job, 202)
    assert "not a job with a name" in refused(curator, lambda one: one.fit(hr.PrivateTreeClassifier(epsilon=1)))


@pytest.mark.parametrize("charged", ["no", 0, [], {}])
def test_whether_a_question_was_charged_is_a_truth_value_or_unknown(monkeypatch, charged):
    problem = {"type": "urn:hedgerow:problem:budget-exceeded", "title": "a", "detail": "b", "charged": charged}
    problem |= {"asked": {"epsilon": "1" * 10**6}, "left": {"epsilon": "0"}}
    with pytest.raises(ServiceError) as raised:
        rows(connected(monkeypatch, problem, 403))
    assert raised.value.charged is None
    assert "Nothing was charged" not in str(raised.value)


@pytest.mark.parametrize(
    "kind",
    [
        *("about:blank", "evaluation-failed", "urn:other:problem:evaluation-failed", None),
        *("urn:hedgerow:problem:a:evaluation-failed", "urn:hedgerow:problem:evaluation-failed\n"),
    ],
)
def test_a_problem_of_another_type_does_not_settle_a_question(monkeypatch, kind):
    problem = {"type": kind, "title": "a", "detail": "b", "charged": False}
    with pytest.raises(ServiceError, match="status 424 without a problem description") as raised:
        rows(connected(monkeypatch, problem, 424))
    assert (raised.value.kind, raised.value.charged) == (None, None)


BUDGET = {
    "accounting": "basic",
    "epsilon": {"cap": "2", "spent": "1/3", "left": "5/3"},
    "delta": None,
    "rho": {"cap": "1", "spent": None, "left": "1"},
}
COST = {"epsilon": "1", "delta": "0", "rho": None, "allowed": True, "search": "none"}


def test_a_good_budget_is_taken(monkeypatch):
    assert connected(monkeypatch, BUDGET)["wards"].budget == BUDGET


def test_a_good_cost_is_taken(monkeypatch):
    assert connected(monkeypatch, COST)["wards"].cost(hr.PrivateTreeClassifier(epsilon=1)) == COST


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": {"cap": "2", "spent": "1/3"}},
        {"epsilon": {"cap": "two", "spent": "1/3", "left": "5/3"}},
        {"epsilon": {"cap": "9" * 501, "spent": "1/3", "left": "5/3"}},
        {"epsilon": {"cap": "-1", "spent": "1/3", "left": "5/3"}},
        {"epsilon": {"cap": "2", "spent": "1/3", "left": "5/0"}},
        {"epsilon": 2},
        {"accounting": "\x1b[2J"},
        {"more": 1},
    ],
    ids=str,
)
def test_a_budget_of_another_shape_is_refused(monkeypatch, change):
    assert "not a budget" in refused(connected(monkeypatch, BUDGET | change), lambda one: one.budget)


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 1.0},
        {"epsilon": "1e5"},
        {"allowed": "yes"},
        {"search": "\x1b[2J"},
        {"search": "x" * 10**6},
        {"search": {"a": 1}},
        {"bins": 3},
    ],
    ids=lambda change: str(change)[:20],
)
def test_a_cost_of_another_shape_is_refused(monkeypatch, change):
    curator = connected(monkeypatch, COST | change)
    assert "the cost of the question" in refused(curator, lambda one: one.cost(hr.PrivateTreeClassifier(epsilon=1)))


@pytest.mark.parametrize(
    "change",
    [
        {"timing": "\x1b]0;title\x07"},
        {"timing": "x" * 10**6},
        {"quota": {"questions": {"limit": {"a": {"b": 1}}}}},
        {"quota": [1] * 101},
        {"\n": 1},
    ],
    ids=lambda change: str(change)[:20],
)
def test_a_description_that_is_not_plain_is_refused(monkeypatch, change):
    monkeypatch.setitem(PUBLIC, "quota", None)
    for name, value in change.items():
        monkeypatch.setitem(PUBLIC, name, value)
    assert "description" in refused(connected(monkeypatch, {}), lambda one: one["wards"])


def test_dummy_rows_are_made_here_whatever_the_service_answers(monkeypatch):
    frame = connected(monkeypatch, {"age": "x"}, 500)["wards"].dummy(5)
    assert (len(frame), list(frame)) == (5, [*SCHEMA.names, "ill"])


def test_a_permanently_failed_question_is_resent_with_a_new_key(monkeypatch):
    problem = {"type": "urn:hedgerow:problem:evaluation-failed", "title": "a", "detail": "b", "charged": True}
    keys = []

    def handle(request):
        keys.append(request.headers["Idempotency-Key"])
        return httpx2.Response(424, json=problem)

    dataset = connected(monkeypatch, {}, handle=handle)["wards"]
    for _ in range(2):
        with pytest.raises(ServiceError):
            dataset.fit(hr.PrivateTreeClassifier(epsilon=0.5))
    assert len(set(keys)) == 2
