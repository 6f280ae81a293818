"""Log and Prometheus metrics of requests, without keys, cells or texts that a caller chose.

Each line of the log is JSON with the caller, the address, the request and its outcome; metrics count requests by kind.
"""

import json
import logging
import math
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow._version import __version__
from hedgerow.errors import LedgerUnavailableError
from hedgerow.service.curator import Curator
from hedgerow.service.jobs import Jobs
from hedgerow.service.requests import Caller

_LOG = logging.getLogger(__name__)
logging.getLogger("hedgerow.service").addHandler(logging.NullHandler())  # no log by default
_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Observed:
    """ASGI middleware that reports the status and duration of requests."""

    def __init__(self, app: ASGIApp, ended: Callable[[Scope, int, float], None]) -> None:
        self._app, self._ended = app, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, began = 500, time.perf_counter()

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            self._ended(scope, status, time.perf_counter() - began)


class Metrics:
    """Counts of requests in a registry of their own; labels contain no names, paths or keys."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, jobs: Jobs, curator: Curator) -> None:
        self._registry = CollectorRegistry()
        labels = ("route", "method", "status")
        self._requests = Counter("hedgerow_requests", "Requests.", labels, registry=self._registry)
        self._seconds = Histogram(
            "hedgerow_request_seconds",
            "Seconds from a request to the end of its response.",
            labels[:1],
            registry=self._registry,
            buckets=_SECONDS,
        )
        self._gauge("hedgerow_jobs_waiting", "Fits waiting in the queue.", lambda: jobs.waiting)
        self._gauge("hedgerow_jobs_failed", "Fits without an answer since the start.", lambda: jobs.failed)
        self._gauge("hedgerow_questions_unfinished", "Charged questions without an answer.", curator.ledger.unfinished)
        probe, usable = curator.ledger_probe, "1 if the ledger can be written, else 0."
        self._gauge("hedgerow_ledger_usable", usable, lambda: probe.check() is None)

    def _gauge(self, name: str, description: str, value: Callable[[], float]) -> None:
        def number() -> float:
            with suppress(LedgerUnavailableError):
                return value()
            return math.nan

        Gauge(name, description, registry=self._registry).set_function(number)

    def count(self, scope: Scope, status: int, seconds: float) -> None:
        route = template(scope)
        self._requests.labels(route, _known_method(scope), str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


def log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger("hedgerow.service")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """Log records as ASCII JSON, so that no name can contain a line break."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line without tracebacks, which could quote a cell."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat()
        data: dict[str, Any] = getattr(record, "data", {})
        return json.dumps({"time": when, "level": record.levelname.lower(), "event": record.getMessage(), **data})


def log_start(curator: Curator, address: str) -> None:
    """Log the version, address, ledger, epochs and policy of a service, and the number of unfinished questions."""
    data = {
        "version": __version__,
        "address": address,
        "ledger": curator.ledger.place,
        "epochs": curator.epochs,
        "policy": curator.policy,
        "unfinished": curator.ledger.unfinished(),
    }
    _LOG.info("started", extra={"data": data})


def note(request: Request, outcome: str, caller: Caller | None = None) -> None:
    """Set the outcome and the caller of a request for the log."""
    request.state.outcome = outcome
    if caller is not None:
        request.state.caller = caller


def log_request(scope: Scope, status: int, _: float, datasets: Collection[str] = ()) -> None:
    """Log questions, changes, log-ins and refused requests, but not successful reading of pages."""
    state: dict[str, Any] = scope.get("state", {})
    if status < 400 and scope["method"] in ("GET", "HEAD") and "outcome" not in state:
        return
    caller: Caller | None = state.get("caller")
    address = scope.get("client")
    dataset = scope.get("path_params", {}).get("dataset")
    data = {
        "address": None if address is None else address[0],
        "name": None if caller is None else caller.name,
        "role": None if caller is None else caller.role,
        "method": _known_method(scope),
        "route": template(scope),
        "dataset": dataset if dataset in datasets else None,  # any other name could be any text
        "status": status,
        "outcome": state.get("outcome", "done" if status < 400 else "refused"),
        **({"reason": state["reason"]} if "reason" in state else {}),
    }
    _LOG.log(logging.INFO if status < 400 else logging.WARNING, "request", extra={"data": data})


def template(scope: Scope) -> str:
    """Return the template of the route of a request, which contains no names."""
    route, root = scope.get("route"), scope.get("root_path", "")
    if isinstance(route, Mount):  # its path is already part of the root
        return root
    return root + getattr(route, "path", "") or "none"


def _known_method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "other"
