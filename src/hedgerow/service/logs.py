"""The service's log: lines of JSON that say who did what, from where, and what came of it, and hold no key or cell."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.service.curator import Caller
from hedgerow.service.metrics import known_method, template

_LOG = logging.getLogger(__name__)
logging.getLogger("hedgerow.service").addHandler(logging.NullHandler())  # for who wants no log


def log_to_stderr() -> None:
    """Write what the service logs to standard error, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logger = logging.getLogger("hedgerow.service")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)


class Lines(logging.Formatter):
    """Records as JSON: the time, the level, the event, and what is told of it. ASCII, so that no name ends a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line; the traceback of an exception, which can quote a cell, is left out."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat()
        data: dict[str, Any] = getattr(record, "data", {})
        return json.dumps({"time": when, "level": record.levelname.lower(), "event": record.getMessage(), **data})


def note(request: Request, outcome: str, caller: Caller | None = None) -> None:
    """Note what comes of a request, and whose it is, for its line of the log."""
    request.state.outcome = outcome
    if caller is not None:
        request.state.caller = caller


class Logged:
    """ASGI middleware that logs what is asked, changed or refused, and log-ins: not what is only looked at."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and log it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        finally:
            if status >= 400 or scope["method"] not in ("GET", "HEAD") or "outcome" in scope.get("state", {}):
                level = logging.INFO if status < 400 else logging.WARNING
                _LOG.log(level, "request", extra={"data": _line_data(scope, status)})


def _line_data(scope: Scope, status: int) -> dict[str, Any]:
    state = scope.get("state", {})
    caller: Caller | None = state.get("caller")
    address = scope.get("client")
    return {
        "address": None if address is None else address[0],
        "name": None if caller is None else caller.name,
        "role": None if caller is None else caller.role,
        "method": known_method(scope["method"]),
        "route": template(scope),
        "dataset": scope.get("path_params", {}).get("dataset") if status < 400 else None,  # else any text
        "status": status,
        "outcome": state.get("outcome", "done" if status < 400 else "refused"),
    }
