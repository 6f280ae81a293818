"""Metrics count requests by route, method and status, and hold nothing that a caller chose."""

import pytest
from starlette.testclient import TestClient

from hedgerow.service.dashboard import create_dashboard, mount_dashboard
from hedgerow.service.monitoring import Metrics, Observed
from tests.service.ledger.asking import asked
from tests.service.wards import MARGINALS
from tests.service.web import JSON, web


@pytest.fixture(scope="module")
def metered(tmp_path_factory):
    with web(tmp_path_factory.mktemp("metrics")) as service:
        mount_dashboard(service.app, service.curator.ledger, service.keys, secure=False)
        metrics = Metrics(service.app.state.jobs, service.curator)
        own, _ = create_dashboard(service.curator.ledger, service.keys, metrics)
        service.own = TestClient(own, base_url="http://127.0.0.1")
        service.app = Observed(service.app, metrics.count)
        yield service


def samples(service):
    """Return what the curator's port tells, by the text before each number."""
    lines = [line for line in service.own.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def counts(service):
    return {name: value for name, value in samples(service).items() if name.startswith("hedgerow_requests_total")}


def test_requests_are_counted_by_the_template_of_their_route(metered):
    client, nobody = metered.client(), metered.client("")
    asked = [
        client.get("/v1/datasets/wards/budget"),
        client.get("/v1/datasets/CANARY-dataset/budget"),
        client.post(
            "/v1/datasets/wards/marginals", content=MARGINALS, headers=JSON | {"Idempotency-Key": "CANARY-key"}
        ),
        nobody.get("/v1/datasets"),
        nobody.get("/CANARY-path?CANARY=1"),
        nobody.get("/dashboard/login"),
        nobody.get("/dashboard/static/style.css"),
        nobody.request("CANARY", "/healthz"),
    ]
    labels = [
        ("/v1/datasets/{dataset}/budget", "GET", 200),
        ("/v1/datasets/{dataset}/budget", "GET", 403),
        ("/v1/datasets/{dataset}/marginals", "POST", 200),
        ("/v1/datasets", "GET", 401),
        ("none", "GET", 404),
        ("/dashboard/login", "GET", 200),
        ("/dashboard/static", "GET", 200),
        ("/healthz", "other", 405),
    ]
    assert [item.status_code for item in asked] == [status for _, _, status in labels]
    assert counts(metered) == {
        f'hedgerow_requests_total{{method="{method}",route="{route}",status="{status}"}}': 1.0
        for route, method, status in labels
    }
    result = samples(metered)
    assert result['hedgerow_request_seconds_count{route="/v1/datasets/{dataset}/budget"}'] == 2
    assert result['hedgerow_request_seconds_bucket{le="+Inf",route="none"}'] == 1
    assert "CANARY" not in metered.own.get("/metrics").text


def test_metrics_are_at_the_curators_port_alone(metered):
    for path in ("/metrics", "/dashboard/metrics"):
        assert metered.client("kim").get(path).status_code == 404
    assert metered.own.get("/metrics", headers={"Host": "evil.example"}).status_code == 400


def test_questions_that_wait_are_told(metered, monkeypatch):
    assert samples(metered)["hedgerow_jobs_waiting"] == 0
    monkeypatch.setattr(type(metered.client().app._app.state.jobs), "waiting", 3)
    assert samples(metered)["hedgerow_jobs_waiting"] == 3


def test_the_state_of_the_ledger_and_its_unfinished_questions_are_shown(metered, monkeypatch):
    assert samples(metered)["hedgerow_ledger_usable"] == 1
    assert samples(metered)["hedgerow_questions_unfinished"] == 0
    curator = metered.curator
    curator.ledger.reserve(asked("unfinished", dataset="wards"))
    assert samples(metered)["hedgerow_questions_unfinished"] == 1
    monkeypatch.setattr(type(curator.ledger_probe), "check", lambda _: "connection")
    monkeypatch.setattr(metered.app._app.state.jobs, "failed", 2)
    assert samples(metered)["hedgerow_ledger_usable"] == 0
    assert samples(metered)["hedgerow_jobs_failed"] == 2


def test_what_fails_is_counted_as_such(metered):
    async def app(*_):
        raise RuntimeError

    metrics = Metrics(metered.app._app.state.jobs, metered.curator)
    client = TestClient(Observed(app, metrics.count), raise_server_exceptions=False)
    assert client.get("/CANARY").status_code == 500
    assert b'hedgerow_requests_total{method="GET",route="none",status="500"} 1.0' in metrics.text()
    assert b"CANARY" not in metrics.text()
