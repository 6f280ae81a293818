"""The paths of the service: what each returns, who may ask, and that refusals are problems without a cell."""

import json
import threading

import pytest

from hedgerow.service import forms
from hedgerow.service.app import RECEIPT
from hedgerow.service.dashboard import mount_dashboard
from hedgerow.service.forms import MOST_ENTRIES
from hedgerow.service.receipts import Receipt, Signer
from tests.service.wards import EXAMPLES, MARGINALS, WatchedRows, example, question
from tests.service.web import JSON, web

TREE = example("fits")
WARDS = "/v1/datasets/wards"


@pytest.fixture
def service(tmp_path):
    with web(tmp_path) as opened:
        yield opened


def key(name):
    return JSON | {"Idempotency-Key": name}


def problem(response, status, kind):
    """Check that a response is a problem of this kind, and return it."""
    assert response.headers["content-type"] == "application/problem+json"
    data = response.json()
    assert (response.status_code, data["type"]) == (status, f"urn:hedgerow:problem:{kind}")
    assert data["status"] == status
    return data


def test_what_is_public_is_told(service):
    ana = service.client()
    assert ana.get("/healthz").json()["status"] == "ok"
    assert ana.get("/v1/datasets").json() == ["wards"]
    assert ana.get(WARDS).json()["columns"] == ["age", "smoker", "ward"]
    assert ana.get(f"{WARDS}/budget").json()["epsilon"] == {"cap": "2", "spent": "0", "left": "2"}
    assert {len(column) for column in ana.get(f"{WARDS}/dummy?rows=7").json().values()} == {7}
    assert ana.post(f"{WARDS}/cost", content=question(question="fits", epsilon="1", model="tree"), headers=JSON).json()[
        "allowed"
    ]


@pytest.mark.parametrize("path", [kind for kind in EXAMPLES if kind != "fits"])
def test_a_question_is_answered_once(tmp_path, path):
    signer, body = Signer.new(), example(path)
    with web(tmp_path, signer=signer) as service:
        ana = service.client()
        first = ana.post(f"{WARDS}/{path}", content=body, headers=key("one"))
        assert (first.status_code, first.headers["cache-control"]) == (200, "no-store")
        again = ana.post(f"{WARDS}/{path}", content=body, headers=key("one"))
        assert (again.content, again.headers[RECEIPT]) == (first.content, first.headers[RECEIPT])
        assert Receipt.verify(first.headers[RECEIPT], signer.public).statement["analyst"] == "ana"
        assert ana.get(f"{WARDS}/budget").json()["epsilon"]["spent"] == "1/4"
        told = problem(ana.post(f"{WARDS}/{path}", content=body + b"\n", headers=key("one")), 422, "key-reused")
        assert told["charged"] is False
        kinds = [json.loads(line)["kind"] for line in ana.get("/v1/ledger").text.splitlines()]
        assert kinds == ["reserved", "answered"]


def test_the_ledger_is_read_by_pages_that_name_the_next_one(service):
    ana, kim = service.client(), service.client("kim")
    for number in range(3):
        ana.post(f"{WARDS}/marginals", content=MARGINALS.replace(b"1/4", b"1/100"), headers=key(str(number)))
    for client, count in ((ana, 6), (kim, 7)):
        whole = client.get("/v1/ledger")
        assert "link" not in whole.headers
        lines, path, pages = [], "/v1/ledger?limit=2", 0
        while path:
            result = client.get(path)
            lines += result.text.splitlines()
            path, pages = result.links["next"]["url"] if "next" in result.links else "", pages + 1
        assert (lines, len(lines), pages) == (whole.text.splitlines(), count, (count + 1) // 2)
    (others,) = [json.loads(line)["hash"] for line in kim.get("/v1/ledger?limit=1").text.splitlines()]
    problem(ana.get(f"/v1/ledger?after={others}"), 422, "question-refused")
    for query in ("limit=0", "limit=1001", "after=x", f"after={'%00' * 64}", f"after={others.upper()}"):
        problem(ana.get(f"/v1/ledger?{query}"), 422, "malformed")


def test_a_fit_is_a_job(service):
    ana = service.client()
    response = ana.post(f"{WARDS}/fits", content=TREE, headers=key("one"))
    assert response.status_code == 202
    at = response.headers["location"]
    with ana.stream("GET", f"{at}/events") as events:
        told = [line for line in events.iter_lines() if line.startswith("data: ")]
    assert json.loads(told[-1].removeprefix("data: "))["state"] == "answered"
    assert ana.get(f"{at}/answer").json()["model"]["format"] == "hedgerow/tree"
    assert ana.delete(at).json()["state"] == "answered"
    for path in (at, f"{at}/answer", f"{at}/events"):
        assert problem(service.client("bob").get(path), 404, "unknown-job")["charged"] is None
    dear = ana.post(f"{WARDS}/fits", content=question(epsilon="7", model="tree"), headers=key("two"))
    with ana.stream("GET", f"{dear.headers['location']}/events") as events:
        assert "refused" in list(events.iter_lines())[-2]
    refused = problem(ana.get(f"{dear.headers['location']}/answer"), 403, "budget-exceeded")
    assert (refused["cap"], refused["asked"]["epsilon"], refused["left"]["epsilon"]) == ("analyst", "7", "7/4")


def test_a_job_that_waits_has_no_answer_yet_and_can_be_cancelled(tmp_path):
    rows = WatchedRows(waits=True)
    with web(tmp_path, rows) as service:
        ana = service.client()
        first = ana.post(f"{WARDS}/fits", content=TREE, headers=key("one")).headers["location"]
        second = ana.post(f"{WARDS}/fits", content=TREE, headers=key("two")).headers["location"]
        assert rows.begun.wait(5)
        problem(ana.get(f"{first}/answer"), 409, "not-answered")
        assert ana.delete(second).json()["state"] == "cancelled"
        told = problem(ana.post(f"{WARDS}/marginals", content=TREE, headers=key("one")), 422, "question-refused")
        assert told["charged"] is False
        rows.go.set()


ROUTES = [
    ("GET", "/v1/datasets"),
    ("GET", WARDS),
    ("GET", f"{WARDS}/budget"),
    ("GET", f"{WARDS}/dummy"),
    ("POST", f"{WARDS}/cost"),
    ("POST", f"{WARDS}/marginals"),
    ("POST", f"{WARDS}/error-marginals"),
    ("POST", f"{WARDS}/fits"),
    ("GET", "/v1/jobs/x"),
    ("DELETE", "/v1/jobs/x"),
    ("GET", "/v1/ledger"),
]


@pytest.mark.parametrize("authorization", [None, "Bearer hr_x", "Basic YTpi", "Bearer"])
def test_without_a_key_no_information_is_given(service, authorization):
    headers = {} if authorization is None else {"Authorization": authorization}
    for method, path in ROUTES:
        response = service.client("").request(method, path, headers=key("one") | headers, content=MARGINALS)
        told = problem(response, 401, "unknown-key")
        assert response.headers["www-authenticate"] == "Bearer"
        assert told["charged"] is None  # the same question may have been charged before its key ended


def test_who_has_no_cap_sees_no_dataset(service):
    eve, kim = service.client("eve"), service.client("kim")
    assert eve.get("/v1/datasets").json() == []
    unknown = problem(eve.get("/v1/datasets/nothing"), 403, "not-allowed")
    known = problem(eve.get(WARDS), 403, "not-allowed")
    assert {**unknown, "detail": ""} == {**known, "detail": ""}
    assert unknown["detail"].replace("nothing", "wards") == known["detail"]
    for path, body in (("marginals", MARGINALS), ("fits", TREE)):
        problem(eve.post(f"{WARDS}/{path}", content=body, headers=key("one")), 403, "not-allowed")
        problem(kim.post(f"{WARDS}/{path}", content=body, headers=key("one")), 403, "not-allowed")
    assert eve.get("/v1/ledger").text == ""
    assert len(kim.get("/v1/ledger").text.splitlines()) == 1


def test_requests_that_lack_something_are_told_what(service):
    ana, path = service.client(), f"{WARDS}/marginals"
    problem(ana.post(path, content=MARGINALS, headers=JSON), 400, "key-missing")
    problem(ana.post(path, content=MARGINALS, headers={"Idempotency-Key": "1"}), 415, "not-json")
    problem(ana.post(path, content=b" " * (2**23 + 1), headers=key("1")), 413, "too-large")
    problem(ana.post(path, content=b"{", headers=key("1")), 422, "question-refused")
    problem(ana.post(f"{WARDS}/cost", content=b"[]", headers=JSON), 422, "question-refused")
    problem(ana.get(f"{WARDS}/dummy?rows=0"), 422, "malformed")
    problem(ana.get(f"{WARDS}/dummy?rows=1e9"), 422, "malformed")
    problem(ana.get("/v1/nothing"), 404, "http")
    problem(ana.put("/v1/datasets"), 405, "http")
    for path, methods in (("/v1/datasets", "GET"), ("/v1/jobs/x", "DELETE, GET"), (f"{WARDS}/fits", "POST")):
        assert ana.put(path).headers["allow"] == methods
    assert service.curator.ledger.account("wards").spent == 0


def test_openapi_describes_every_body_without_dangling_references(service):
    result = service.client("").get("/openapi.json").json()
    text = json.dumps(result)
    assert all(f'"{name}"' in text for name in ("epsilon", "bins", "hypothesis", "parameters"))
    for part in text.split('"$ref": "#/')[1:]:
        place = result
        for step in part.partition('"')[0].split("/"):
            place = place[step]
    posts = [operation["post"] for operation in result["paths"].values() if "post" in operation]
    assert all("requestBody" in operation for operation in posts)
    assert len(posts) == len({*forms.FORMS, "cost"})


@pytest.mark.parametrize("path", ["/v1/datasets/", "/v1/ledger/", "/dashboard/login/", "/dashboard/ledger/"])
def test_a_slash_too_many_leads_nowhere(service, path):
    mount_dashboard(service.app, service.curator.ledger, service.keys, secure=True)
    response = service.client().get(path, headers={"Host": "evil.example"}, follow_redirects=False)
    assert (response.status_code, response.headers.get("location")) == (404, None)


def test_the_ledger_says_that_it_is_lines(service):
    (kind,) = service.app.openapi()["paths"]["/v1/ledger"]["get"]["responses"]["200"]["content"]
    assert service.client().get("/v1/ledger").headers["content-type"].partition(";")[0] == kind == "application/jsonl"


def test_a_question_of_more_entries_than_are_checked_quickly_is_refused(service):
    deep = b'{"question": "marginals", "epsilon": "1", "bins": {"age": [' + b"[]," * MOST_ENTRIES + b"[]]}}"
    for path in ("cost", "marginals", "fits"):
        told = problem(
            service.client().post(f"{WARDS}/{path}", content=deep, headers=key("1")), 422, "question-refused"
        )
        assert f"{MOST_ENTRIES:,} entries" in told["detail"]


def test_no_body_is_parsed_on_the_event_loop(service, monkeypatch):
    seen = []
    monkeypatch.setattr(forms, "parse_json", lambda _: seen.append(threading.current_thread().name) or {})
    for path in ("cost", "marginals", "error-marginals", "fits"):
        assert service.client().post(f"{WARDS}/{path}", content=MARGINALS, headers=key("1")).status_code == 422
    assert set(seen) == {"hedgerow free call", "AnyIO worker thread"}
