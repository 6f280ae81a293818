"""The curator's service as an ASGI app."""

from __future__ import annotations

import logging
from collections.abc import Callable

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow._version import __version__
from hedgerow.errors import HedgerowError
from hedgerow.service.curator import Caller, Curator
from hedgerow.service.forms import PROBLEMS, OpenApiApp, named
from hedgerow.service.jobs import MOST_AT_ONCE, MOST_FREE_AT_ONCE, MOST_OF_ONE, ConcurrencyLimits, Jobs
from hedgerow.service.logs import Logged, note
from hedgerow.service.metrics import template
from hedgerow.service.problems import TYPE, ProblemError, problem_of
from hedgerow.service.routes import router

Authenticate = Callable[[str], Caller]
_LOG = logging.getLogger(__name__)


def create_app(curator: Curator, authenticate: Authenticate, jobs: Jobs) -> FastAPI:
    """Return the service's app."""
    app = OpenApiApp(
        title="hedgerow",
        version=__version__,
        summary="Ask about private rows that stay with their curator.",
        description="Every charged question is on disk in a ledger before a row is touched. See docs/service.md.",
        docs_url=None,  # pages that load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to the host that a request says it is for
        generate_unique_id_function=named,
        responses=PROBLEMS,
    )
    app.state.curator, app.state.authenticate, app.state.jobs = curator, authenticate, jobs
    app.state.charged, app.state.free = ConcurrencyLimits(MOST_AT_ONCE), ConcurrencyLimits(MOST_FREE_AT_ONCE)
    app.state.watching = ConcurrencyLimits(MOST_OF_ONE)
    app.include_router(router)
    app.add_exception_handler(HTTPException, _http_problem_handler)
    app.add_exception_handler(RequestValidationError, _invalid_problem_handler)
    for kind in (ProblemError, HedgerowError):
        app.add_exception_handler(kind, _problem_handler)
    app.add_middleware(_ErrorMiddleware)
    app.add_middleware(Logged)
    return app


def response_of(error: Exception) -> JSONResponse:
    """Return the response that tells an exception as a problem."""
    problem = problem_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    headers |= {"Retry-After": "5"} if problem.status in (409, 503) else {}
    return JSONResponse(problem.to_dict(), problem.status, headers, media_type=TYPE)


def _noted_problem(request: Request, error: Exception) -> JSONResponse:
    note(request, problem_of(error).kind)
    return response_of(error)


async def _problem_handler(request: Request, error: Exception) -> JSONResponse:
    return _noted_problem(request, error)


async def _http_problem_handler(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    return _noted_problem(request, ProblemError(error.status_code, "http", str(error.detail), "See /openapi.json."))


async def _invalid_problem_handler(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    places = ", ".join(sorted({".".join(map(str, one["loc"])) for one in error.errors()}))
    return _noted_problem(request, ProblemError(422, "malformed", "The request is malformed", f"Check {places}."))


class _ErrorMiddleware:
    """ASGI middleware that answers any other exception by a problem, and logs its type: more could show a row."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = False

        async def sending(message: Message) -> None:
            nonlocal began
            began = True
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            _LOG.error("%s: %s", template(scope), type(error).__name__)
            if not began and scope["type"] == "http":
                await response_of(error)(scope, receive, send)
