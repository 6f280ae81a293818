"""The log says who asked, from where, and what came of it; and holds no key, no path, no text and no cell."""

import json
import logging
import socket
import time
from types import SimpleNamespace

import pytest

from hedgerow.errors import LedgerError
from hedgerow.service import availability
from hedgerow.service.monitoring import JsonLines, log_to_stderr
from tests.service.wards import ANA, BINS, MARGINALS, WatchedRows, question
from tests.service.web import JSON, running, web

WARDS = "/v1/datasets/wards"


@pytest.fixture(autouse=True)
def as_before():
    """Leave the service's logger as it was."""
    logger = logging.getLogger("hedgerow.service")
    kept = logger.handlers, logger.propagate, logger.level
    yield
    logger.handlers, logger.propagate, logger.level = kept


def told(capsys):
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_questions_refusals_and_bad_keys_are_logged_and_looking_is_not(tmp_path, capsys):
    log_to_stderr()
    with web(tmp_path) as service:
        ana, nobody = service.client(), service.client("", Authorization="Bearer hr_CANARY")
        key = JSON | {"Idempotency-Key": "CANARY"}
        ana.get(f"{WARDS}/budget")
        ana.get("/healthz")
        nobody.get("/v1/datasets")
        ana.post(f"{WARDS}/marginals", content=MARGINALS, headers=key)
        ana.post(f"{WARDS}/marginals", content=question(epsilon="9", bins=BINS), headers=key | {"Idempotency-Key": "2"})
        ana.post("/v1/datasets/CANARY/marginals", content=MARGINALS, headers=key)
        ana.get("/CANARY?CANARY=1")
        token = service.tokens["ana"]
    lines = told(capsys)
    assert [(line["name"], line["outcome"], line["status"], line["dataset"]) for line in lines] == [
        (None, "unknown-key", 401, None),
        ("ana", "done", 200, "wards"),
        ("ana", "budget-exceeded", 403, "wards"),
        ("ana", "not-allowed", 403, None),
        (None, "http", 404, None),
    ]
    assert lines[0]["reason"] == "the API key is not valid: it is unknown or was revoked."
    assert lines[1]["route"] == "/v1/datasets/{dataset}/marginals"
    assert {line["address"] for line in lines} == {"testclient"}
    assert all(line["time"].endswith("+00:00") for line in lines)
    assert not any(secret in json.dumps(lines) for secret in ("CANARY", token))


def test_only_the_log_distinguishes_an_expired_key_from_an_unknown_key(tmp_path, capsys, monkeypatch):
    log_to_stderr()
    with web(tmp_path) as service:
        key = service.keys.add("carl", "analyst", days=1)
        now = time.time()
        monkeypatch.setattr("hedgerow.service.keys.time.time", lambda: now + 86_401)
        responses = [
            service.client("", Authorization=f"Bearer {given}").get("/v1/datasets") for given in (key, f"{key}x")
        ]
    assert responses[0].content == responses[1].content
    assert set(responses[0].headers.items()) == set(responses[1].headers.items())
    expired, unknown = (line["reason"] for line in told(capsys))
    assert "the key of 'carl' expired on " in expired
    assert "unknown" in unknown
    assert key not in expired + unknown


def test_a_failure_is_logged_by_its_type_alone(tmp_path, capsys):
    log_to_stderr()
    with web(tmp_path, WatchedRows(fails=True)) as service:
        service.client().post(f"{WARDS}/marginals", content=MARGINALS, headers=JSON | {"Idempotency-Key": "1"})
    failed, line = told(capsys)
    assert failed["event"].endswith("of dataset wards failed (ValueError)")
    assert (line["name"], line["outcome"]) == ("ana", "evaluation-failed")
    assert "CANARY" not in json.dumps([failed, line])


def test_a_ledger_at_fault_is_logged_by_the_type_of_its_error(tmp_path, capsys, monkeypatch):
    def reserve(*_):
        raise LedgerError("CANARY")

    log_to_stderr()
    with web(tmp_path) as service:
        monkeypatch.setattr(service.curator.ledger, "reserve", reserve)
        told_of = service.client().post(
            f"{WARDS}/marginals", content=MARGINALS, headers=JSON | {"Idempotency-Key": "1"}
        )
    failed, line = told(capsys)
    assert failed["event"] == "/v1/datasets/{dataset}/marginals: LedgerError"
    assert (line["name"], line["outcome"], line["status"]) == ("ana", "internal", 500)
    assert "CANARY" not in json.dumps([failed, line]) + told_of.text


def test_a_client_that_leaves_is_no_error_of_the_service(tmp_path, capsys):
    log_to_stderr()
    key = "\r\n".join(("Content-Type: application/json", "Idempotency-Key: 1", "Content-Length: 100"))
    with running(tmp_path) as service:
        host, port = service.url.partition("://")[2].split(":")
        bearer = f"Authorization: Bearer {service.tokens['ana']}"
        with socket.create_connection((host, int(port))) as client:
            client.sendall(f"POST {WARDS}/marginals HTTP/1.1\r\nHost: x\r\n{bearer}\r\n{key}\r\n\r\n{{".encode())
            time.sleep(0.3)
        time.sleep(0.3)
    (line,) = told(capsys)
    assert (line["event"], line["level"], line["outcome"]) == ("request", "warning", "client-disconnected")
    assert (line["status"], line["name"], line["dataset"]) == (499, "ana", "wards")


def test_an_outage_of_the_ledger_is_logged_with_its_reason(tmp_path, capsys, monkeypatch):
    log_to_stderr()
    with web(tmp_path) as service:
        ana, key, file = service.client(), JSON | {"Idempotency-Key": "1"}, tmp_path / "ledger.db-head"
        assert ana.get("/healthz").json()["status"] == "ok"
        monkeypatch.setattr(availability, "_FRESH", 0)
        head = file.read_bytes()
        file.unlink()
        file.mkdir()
        failed = [ana.post(f"{WARDS}/marginals", content=MARGINALS, headers=key) for _ in range(2)]
        health = ana.get("/healthz")
        file.rmdir()
        file.write_bytes(head)
        assert ana.post(f"{WARDS}/marginals", content=MARGINALS, headers=key).status_code == 200
        assert ana.get("/healthz").status_code == 200
    assert [response.status_code for response in (*failed, health)] == [503] * 3
    assert (health.json()["status"], health.json()["kind"]) == ("unavailable", "ledger-unavailable")
    assert not any(str(tmp_path) in response.text for response in (*failed, health))
    events = [line["event"] for line in told(capsys) if line["event"] != "request"]
    assert events == [
        f"the ledger cannot be used: the file {file} cannot be written: Is a directory",
        "the ledger can be used again",
    ]


def test_a_disk_without_its_reserve_is_logged_and_not_healthy(tmp_path, capsys, monkeypatch):
    """New questions were refused as busy, without a cause in the log, while the health check stayed ok."""
    log_to_stderr()
    monkeypatch.setattr(availability, "_FRESH", 0)
    with web(tmp_path) as service:
        ana, key = service.client(), JSON | {"Idempotency-Key": "1"}
        with monkeypatch.context() as patch:
            patch.setattr("hedgerow.service.quotas.shutil.disk_usage", lambda _: SimpleNamespace(free=2**20))
            busy = ana.post(f"{WARDS}/marginals", content=MARGINALS, headers=key)
            service.curator.ledger_probe.begin().result(10)
            health = ana.get("/healthz")
        assert ana.get("/healthz").status_code == 200
    assert (busy.status_code, busy.json()["charged"], health.status_code) == (503, False, 503)
    assert health.json()["kind"] == "ledger-unavailable"
    events = [line["event"] for line in told(capsys) if line["event"] != "request"]
    reason = availability.CAUSES["disk"]
    assert "disk_reserve_mib" in reason
    assert events == [f"the ledger cannot be used: {reason}", "the ledger can be used again"]


@pytest.mark.parametrize("kind", [LedgerError, ZeroDivisionError])
def test_a_job_that_failed_is_logged_by_the_type_of_its_error(tmp_path, capsys, monkeypatch, kind):
    def reserve(*_):
        raise kind("CANARY")

    log_to_stderr()
    with web(tmp_path) as service:
        monkeypatch.setattr(service.curator.ledger, "reserve", reserve)
        ana, body = service.client(), question(epsilon="1/4", model="tree")
        at = ana.post(f"{WARDS}/fits", content=body, headers=JSON | {"Idempotency-Key": "1"}).headers["location"]
        job = service.app.state.jobs.get(ANA, at.rpartition("/")[2])
        assert job.ended.wait(60)
        told_of = ana.get(f"{at}/answer")
    lines = told(capsys)
    assert told_of.status_code == 500
    name = at.rpartition("/")[2].partition(".")[0]  # without the idempotency key
    assert {f"job {name} failed: {kind.__name__}", f"/v1/jobs/{{job}}/answer: {kind.__name__}"} <= {
        line["event"] for line in lines
    }
    assert (lines[-1]["name"], lines[-1]["outcome"], lines[-1]["status"]) == ("ana", "internal", 500)
    assert "CANARY" not in json.dumps(lines) + told_of.text


def test_no_exception_and_no_end_of_line_comes_into_a_line():
    record = logging.LogRecord(
        "x", logging.ERROR, "", 1, "a\n%s", ("b\u2028",), (ValueError, ValueError("CANARY"), None)
    )
    line = JsonLines().format(record)
    assert len(line.splitlines()) == 1
    assert "CANARY" not in line
