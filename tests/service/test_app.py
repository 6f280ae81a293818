"""Whatever goes wrong is told as a problem with a fixed text, and logged by its type."""

import asyncio

import pytest

from tests.service.wards import MARGINALS, WatchedRows
from tests.service.web import JSON, web


def test_an_unexpected_error_is_reported_without_its_text(tmp_path, monkeypatch, caplog):
    with web(tmp_path) as service:
        monkeypatch.setattr(service.curator, "datasets", lambda _: 1 / int("CANARY"[:0] + "0"))
        monkeypatch.setattr(service.curator, "budget", lambda *_: (_ for _ in ()).throw(ValueError("CANARY")))
        for path in ("/v1/datasets", "/v1/datasets/wards/budget"):
            response = service.client().get(path)
            assert response.status_code == 500
            assert response.headers["content-type"] == "application/problem+json"
            assert response.json()["charged"] is None
            assert "CANARY" not in response.text
            assert "division" not in response.text
        assert "CANARY" not in caplog.text
        assert "ZeroDivisionError" in caplog.text


def test_a_failure_tells_that_it_is_charged(tmp_path):
    with web(tmp_path, WatchedRows(fails=True)) as service:
        response = service.client().post(
            "/v1/datasets/wards/marginals", content=MARGINALS, headers=JSON | {"Idempotency-Key": "1"}
        )
        assert (response.status_code, response.json()["charged"]) == (424, True)
        assert "CANARY" not in response.text


def test_a_body_is_read_no_further_than_a_question_can_be_long(tmp_path):
    """Of a body without a length, whose parts come for ever, only so many are asked for."""
    asked = []

    async def receive():
        asked.append(1)
        return {"type": "http.request", "body": b" " * 2**20, "more_body": True}

    sent = []

    async def send(message):
        sent.append(message)

    with web(tmp_path) as service:
        headers = {"authorization": f"Bearer {service.tokens['ana']}", "idempotency-key": "1", **JSON}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/datasets/wards/marginals",
            "raw_path": b"/v1/datasets/wards/marginals",
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        asyncio.run(service.app(scope, receive, send))
    assert sent[0]["status"] == 413
    assert len(asked) == 9


@pytest.mark.parametrize("path", ["/docs", "/redoc", "/metrics"])
def test_no_page_is_served_that_loads_from_elsewhere_and_no_metrics(tmp_path, path):
    with web(tmp_path) as service:
        assert service.client().get(path).status_code == 404
