"""Dashboard: pages for curators, auditors and analysts about charges. It has no access to rows."""

from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from hedgerow.service.approvals import Approvals
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.monitoring import Metrics, Observed, log_request
from hedgerow.service.pages.session_auth import FAILED, FOLDER, HEADERS, UNTOLD, Endpoint, Headers, SessionAuth, render
from hedgerow.service.pages.views import Views
from hedgerow.service.requests import ROLES, Role

PLACE = "/dashboard"
_LOCAL = ["127.0.0.1", "localhost"]


def create_dashboard(
    ledger: Ledger, keys: Keys, metrics: Metrics, approvals: Approvals | None = None
) -> tuple[ASGIApp, str]:
    """Return the curator's app, which serves this machine only, and its single-use log-in token."""
    views, auth = Views(ledger, keys, approvals), SessionAuth(keys, ("curator",), secure=False)

    async def healthz(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def metrics_endpoint(_: Request) -> Response:
        return Response(await run_in_threadpool(metrics.text), media_type=metrics.media_type)

    def post(path: str, endpoint: Endpoint) -> Route:
        return Route(path, endpoint, methods=["POST"])

    routes = [
        Route("/", auth.enter(views.overview, "curator")),
        Route("/keys", auth.page(views.keys, "curator")),
        post("/keys/add", auth.page(views.add_key, "curator")),
        post("/keys/revoke", auth.page(views.revoke_key, "curator")),
        Route("/approvals", auth.page(views.approvals, "curator")),
        post("/approvals/decide", auth.page(views.decide, "curator")),
        Route("/healthz", healthz),
        Route("/metrics", metrics_endpoint),
    ]
    # Prevents DNS rebinding: another host name that resolves to this machine must not get the session's pages.
    host = Middleware(TrustedHostMiddleware, allowed_hosts=_LOCAL, www_redirect=False)
    return Observed(_app([*routes, *_shared(views, auth)], host), log_request), auth.token


def mount_dashboard(app: FastAPI, ledger: Ledger, keys: Keys, *, secure: bool) -> None:
    """Add the pages of analysts and auditors to the service's app, at ``/dashboard``."""
    views, auth = Views(ledger, keys), SessionAuth(keys, ("analyst", "auditor"), secure=secure)
    routes = [
        Route("/", auth.page(views.overview, "analyst", "auditor")),
        Route("/requests/{request}/answer", auth.page(views.answer, "analyst")),
        Route("/requests/{request}/receipt", auth.page(views.receipt, "analyst")),
    ]

    async def enter(_: Request) -> Response:
        return RedirectResponse(f"{PLACE}/", 303, HEADERS)

    app.add_route(PLACE, enter, include_in_schema=False)
    app.mount(PLACE, _app([*routes, *_shared(views, auth)]))


def _shared(views: Views, auth: SessionAuth) -> list[BaseRoute]:
    """Return the routes that both apps have; each app admits keys of its own roles."""
    overseers: tuple[Role, ...] = ("auditor", "curator")
    return [
        Route("/requests", auth.page(views.requests, *ROLES)),
        Route("/chart.svg", auth.page(views.chart, *ROLES)),
        Route("/ledger", auth.page(views.entries, *overseers)),
        Route("/ledger/verify", auth.page(views.verify, *overseers), methods=["POST"]),
        Route("/login", auth.form),
        Route("/login", auth.log_in, methods=["POST"]),
        Route("/logout", auth.page(auth.log_out, *ROLES), methods=["POST"]),
        Mount("/static", StaticFiles(directory=FOLDER / "static")),
    ]


def _app(routes: list[BaseRoute], *middleware: Middleware) -> ASGIApp:
    """Return an app that sets the security headers on every response, including errors."""
    handlers = {HTTPException: _problem_page, Exception: _failure_page}
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=handlers)
    app.router.redirect_slashes = False  # redirects would go to the host that a request names
    return Headers(app)


async def _problem_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = "This page does not exist, or does not support this method."
    return render(request, "problem.html", error.status_code, title=str(error.detail), detail=detail)


async def _failure_page(request: Request, _: Exception) -> Response:
    return render(request, "problem.html", 500, title=FAILED, detail=UNTOLD)
