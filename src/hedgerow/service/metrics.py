"""Metrics for Prometheus: requests by kind, the seconds they took, and the questions that wait."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from starlette.routing import Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.service.jobs import Jobs

_METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counts of requests, in a registry of their own. No label holds what a caller chose: no name, no path, no key."""

    media_type = CONTENT_TYPE_LATEST

    def __init__(self, jobs: Jobs) -> None:
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
        waiting = Gauge("hedgerow_jobs_waiting", "Questions that wait in the queue.", registry=self._registry)
        waiting.set_function(lambda: jobs.waiting)

    def count(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(route, known_method(method), str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """Return all metrics, as Prometheus reads them."""
        return generate_latest(self._registry)


class Metered:
    """ASGI middleware that counts the requests of an app."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and count it."""
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
            self._metrics.count(template(scope), scope["method"], status, time.perf_counter() - began)


def known_method(method: str) -> str:
    """Return a method of HTTP, or ``other``."""
    return method if method in _METHODS else "other"


def template(scope: Scope) -> str:
    """Return the template of the route that took a request, which has none of the names in its path."""
    route, root = scope.get("route"), scope.get("root_path", "")
    if isinstance(route, Mount):  # whose path is part of the root already
        return root
    return root + getattr(route, "path", "") or "none"
