"""Claim: whoever asks a curator's service gets what the card says, and nothing else of a row.

Answers over HTTP on neighbouring tables, without noise, differ by the sensitivity and in nothing else. Hostile requests
are refused without a charge and without a failure of the service. A value of a private column is nowhere but in the
table. A process that is killed while it answers has charged once, and gives one answer.
"""

import json
import os
import signal
from fractions import Fraction

import numpy as np
import pytest

from hedgerow.service.requests import Request
from hedgerow.service.rows import FrameRows
from tests.service.wards import ANA, BINS, MARGINALS, SCHEMA, Exact, WatchedRows, curator_of, example, question, table
from tests.service.web import JSON, web

WARDS = "/v1/datasets/wards"
ERRORS = example("error-marginals")
CLASSES = question(epsilon="1/4", bins=BINS, by="classes")
COUNTED = ("rows", "wrong", "right")
TREE = example("fits")


def key(name):
    return JSON | {"Idempotency-Key": name}


@pytest.mark.parametrize(
    ("path", "body"), [("marginals", MARGINALS), ("marginals", CLASSES), ("error-marginals", ERRORS)]
)
@pytest.mark.claim("differ by the sensitivity before noise is added, and in nothing else")
def test_answers_on_neighbouring_tables_differ_by_the_sensitivity(tmp_path, path, body):
    frame, labels = table(60)
    result = []
    for number, kept in enumerate((slice(None), slice(1, None))):
        rows = FrameRows.of(frame[kept], labels[kept], SCHEMA)
        (tmp_path / str(number)).mkdir()
        with web(tmp_path / str(number), rows, noise=Exact()) as service:
            ana = service.client()
            response = ana.post(f"{WARDS}/{path}", content=body, headers=key("1"))
            free = [ana.get(at).text for at in (WARDS, f"{WARDS}/budget", f"{WARDS}/dummy", "/v1/datasets")]
            result.append((response, free))
    (item, free), (other, others_free) = result
    assert free == others_free
    answers = [response.json() for response in (item, other)]
    counts = [
        np.concatenate(
            [np.ravel(part) for name in ("rows", "wrong", "right") for part in answer.pop(name, {}).values()]
        )
        for answer in answers
    ]
    assert np.abs(counts[0] - counts[1]).sum() == len(BINS)  # one bin of each attribute, one class, wrong or right
    for answer in answers:
        del answer["request"]
    assert answers[0] == answers[1]
    assert dict(item.headers) | {"content-length": ""} == dict(other.headers) | {"content-length": ""}


HOSTILE = [
    b"",
    b"null",
    b"[]",
    b"\x00",
    b"\xff\xfe",
    b"{" * 10_000,
    b"[" * 100_000,
    b'{"epsilon":1e999}',
    b'{"epsilon":"1","epsilon":"2"}',
    b'{"epsilon":' + b"9" * 100_000 + b"}",
    b'{"__class__":"os.system"}',
    *(
        question(epsilon=amount, bins=BINS)
        for amount in (
            "NaN",
            "inf",
            "-1",
            "0",
            "1e-400",
            "1/0",
            "0/1",
            "1" * 31,
            "1_0",
            "１",
            True,
            None,
            1,
            0.5,
            [],
            {},
        )
    ),
    *(
        question(epsilon="1", bins=bins)
        for bins in (
            None,
            [],
            {},
            {"name": BINS["smoker"]},
            {"ill": BINS["smoker"]},
            {"../../etc/passwd": BINS["smoker"]},
            {"smoker": {"kind": "integer", "low": 0, "high": 1, "missing": "bin", "outside": "clip"}},
            {"smoker": {"kind": "boolean"}},
            {"age": BINS["age"] | {"cuts": [60, 40]}},
            {"age": BINS["age"] | {"cuts": list(range(10**5))}},
            {"age": BINS["age"] | {"low": -(10**400)}},
            {"age": BINS["age"] | {"low": 1e308, "high": -1e308}},
            {"age": BINS["age"] | {"outside": "error"}},
            {"ward": {"kind": "categorical", "values": ["a'; DROP TABLE wards; --"], "missing": "bin"}},
            {"age\u202e": BINS["age"]},
            {"x" * 10_000: BINS["age"]},
        )
    ),
    *(
        question(epsilon="1", bins=BINS, hypothesis=hypothesis)
        for hypothesis in (
            None,
            {},
            {"always": None},
            {"always": "z"},
            {"always": ["yes"]},
            {"pickle": "gASVAAAA"},
            {"model": {}},
            {"model": {"format": "hedgerow/tree", "version": 10**6}},
            {"model": {"format": "hedgerow/tree", "version": 1, "digest": "0" * 64, "schema": {}, "tree": []}},
            {"onnx": "AAAA"},
            {"onnx": ""},
        )
    ),
    *(
        question(epsilon="1", model=model, parameters=parameters)
        for model, parameters in (
            ("forest", {}),
            ("tree", {"random_state": 0}),
            ("tree", {"budget": None}),
            ("tree", {"schema": "from-data"}),
            ("tree", {"__init__": 1}),
            ("tree", {"max_depth": 10**30}),
            ("tree", {"max_depth": "1"}),
            ("tree", {"max_depth": True}),
            ("tree", {"stop_probability": -1}),
            ("tree", {"search": "random"}),
            ("rule-list", {"max_rules": 0}),
            ("rule-list", {"max_literals": -(10**18)}),
            ("scorecard", {"points": 0}),
            ("scorecard", {"monotone": {"name": "increasing"}}),
            ("scorecard", {"smooth": -1.0}),
        )
    ),
]


@pytest.mark.claim("Refused requests are refused before the charge")
def test_hostile_questions_are_refused_at_no_charge(tmp_path):
    rows = WatchedRows(fails=True)
    with web(tmp_path, rows) as service:
        ana = service.client()
        for number, body in enumerate(HOSTILE):
            kind = "error-marginals" if b"hypothesis" in body else "fits" if b"model" in body else "marginals"
            for path in (kind, "cost"):
                response = ana.post(f"{WARDS}/{path}", content=body, headers=key(f"{path} {number}"))
                assert response.status_code == 422, (path, body[:100], response.text)
                assert response.json()["charged"] is False
                assert "Traceback" not in response.text
                assert len(response.content) < 2000
        assert rows.touched == 0
        assert service.curator.ledger.account("wards").spent == 0


@pytest.mark.parametrize(
    "path",
    [
        "/v1/datasets/../../etc/passwd",
        "/v1/datasets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "/v1/datasets/wards%00",
        "/v1/datasets/wards'--/budget",
        "/v1/datasets/wards/dummy?rows=1&rows=999999",
        "/v1/datasets/wards/dummy?seed=-1",
        "/v1/datasets/" + "x" * 5000,
        "//v1/datasets",
        "/v1/datasets/wards/budget?analyst=bob",
    ],
)
def test_paths_lead_nowhere_else(tmp_path, path):
    with web(tmp_path) as service:
        response = service.client().get(path)
        assert response.status_code < 500
        assert "root:" not in response.text
        if response.status_code == 200:
            assert response.json() == service.client().get(path.partition("?")[0]).json() or "dummy" in path


def test_a_key_answers_for_its_own_analyst_alone(tmp_path):
    with web(tmp_path) as service:
        ana, bob = service.client("ana"), service.client("bob")
        first = ana.post(f"{WARDS}/marginals", content=MARGINALS, headers=key("one"))
        replayed = bob.post(f"{WARDS}/marginals", content=MARGINALS, headers=key("one"))
        assert first.json()["request"] != replayed.json()["request"]
        assert bob.get(f"{WARDS}/budget").json()["epsilon"]["spent"] == "1/4"
        assert first.json()["request"] not in bob.get("/v1/ledger").text
        service.keys.revoke("bob")
        assert bob.get("/v1/datasets").status_code == 401


@pytest.mark.claim("reported in one of two fixed sentences")
def test_a_private_value_is_nowhere_but_in_the_table(tmp_path, caplog):
    """Names are in a column that the schema leaves out; a ward that only one row has fails each evaluation."""
    seen = []
    with web(tmp_path) as service:
        ana = service.client()
        for number, body in enumerate([MARGINALS, ERRORS, TREE, *HOSTILE[:20]]):
            for path in ("marginals", "error-marginals", "fits", "cost"):
                seen.append(ana.post(f"{WARDS}/{path}", content=body, headers=key(f"{path} {number}")))
        at = next(response.headers["location"] for response in seen if "location" in response.headers)
        with ana.stream("GET", f"{at}/events") as events:
            seen_events = "".join(events.iter_text())
        seen += [ana.get(path) for path in (WARDS, f"{at}/answer", at, "/v1/ledger", "/openapi.json")]
        seen += [service.client("kim").get("/v1/ledger")]
    (tmp_path / "failing").mkdir()
    with web(tmp_path / "failing", WatchedRows(fails=True)) as service:
        seen.append(service.client().post(f"{WARDS}/marginals", content=MARGINALS, headers=key("1")))
        assert seen[-1].status_code == 424
    texts = [response.text + str(response.headers) for response in seen]
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert sum(b"reserved" in content for content in files) >= 1
    assert not any("CANARY" in text for text in [*texts, seen_events, caplog.text])
    assert not any(b"CANARY" in content for content in files)


POINTS = ["rows are touched", "before it is stored", "once it is stored"]


@pytest.mark.statistics
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize(("kind", "body"), [("marginals", MARGINALS), ("fits", TREE)])
def test_who_is_killed_has_charged_once_and_gives_one_answer(tmp_path, kind, body, point):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with curator_of(url):
        pass
    child = os.fork()
    if not child:
        try:
            _answer_and_die(url, kind, body, point)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL
    with curator_of(url) as curator:
        result = curator.ask(Request(ANA, "wards", kind, "one", body))
        assert curator.ask(Request(ANA, "wards", kind, "one", body)) == result
        kinds = [entry.kind for entry in curator.ledger.entries()]
        assert kinds == ["declared", "reserved", *(["retried"] if point != POINTS[2] else []), "answered"]
        assert curator.budget(ANA, "wards")["epsilon"]["spent"] == "1/4"
        assert json.loads(result.body)["request"]
        curator.ledger.verify()


def _answer_and_die(url, kind, body, point):
    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    rows = WatchedRows()
    with curator_of(url, rows) as curator:
        store = curator.ledger.answer
        if point == "rows are touched":
            rows.when = die
        elif point == "before it is stored":
            curator.ledger.answer = die
        else:
            curator.ledger.answer = lambda *given: (store(*given), die())
        curator.ask(Request(ANA, "wards", kind, "one", body))


@pytest.mark.statistics
def test_a_question_is_charged_once_despite_killed_processes(tmp_path):
    url = f"sqlite:///{tmp_path}/ledger.db"
    with curator_of(url):
        pass
    for _ in range(3):
        child = os.fork()
        if not child:
            try:
                _answer_and_die(url, "marginals", MARGINALS, POINTS[0])
            finally:
                os._exit(1)
        os.waitpid(child, 0)
    with curator_of(url) as curator:
        answer = curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS))
        assert curator.ask(Request(ANA, "wards", "marginals", "one", MARGINALS)) == answer
        assert curator.ledger.account("wards").spent == Fraction(1, 4)
        curator.ledger.verify()
