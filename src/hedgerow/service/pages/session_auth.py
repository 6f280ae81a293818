"""Session authentication of the dashboard: log-in, sessions, forms and access to pages."""

import hmac
import logging
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.boundary.canonical import digest
from hedgerow.errors import AccessError, LedgerError, ServiceBusyError
from hedgerow.privacy.amounts import amount_text
from hedgerow.service.jobs import MOST_FREE_AT_ONCE, ConcurrencyLimits
from hedgerow.service.keys import Keys
from hedgerow.service.monitoring import note, template
from hedgerow.service.requests import Caller, Role
from hedgerow.text.markup import templates
from hedgerow.text.messages import shown

FOLDER = Path(__file__).parents[1]
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
PICTURE = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; form-action 'none'; "
    "frame-ancestors 'none'; base-uri 'none'; sandbox"
}
"""Headers of an image, which may only use its own style."""


class Headers:
    """ASGI middleware that sets default headers on every response."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str] = HEADERS) -> None:
        self._app, self._headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sending)


def render(request: Request, template: str, status: int = 200, *, session: object = None, **values: Any) -> Response:
    base: str = request.scope.get("root_path", "")
    here = request.scope["path"].removeprefix(base)
    text = _TEMPLATES.get_template(template).render(base=base, here=here, session=session, **values)
    return HTMLResponse(text, status)


def _moment(time: str) -> str:
    return time[:19].replace("T", " ")


def _rounded(amount: Fraction, *, left: bool = False) -> str:
    """Return an amount, rounded up if spent and down if left or a cap, with ≈ if it was rounded."""
    text = amount_text(amount, left=left)
    return text if Fraction(text) == amount else f"≈ {text}"


def _percent(part: Fraction, whole: Fraction) -> str:
    """Return the width of a bar; 0 % only if nothing is spent, 100 % only if all is spent."""
    share = float(part / whole)
    if 0 < share < 1:
        share = min(max(share, 0.005), 0.995)
    return f"{100 * min(share, 1):.1f}%"


_TEMPLATES = templates(FOLDER / "templates")
_FILTERS: dict[str, Any] = {"moment": _moment, "rounded": _rounded, "percent": _percent}
_TEMPLATES.filters.update(_FILTERS)


LIFETIME = 8 * 3600  # seconds after which a session ends
MOST_OF_ONE = 10  # sessions of a caller; a further session ends the oldest


def new_name() -> str:
    """Return 256 random bits, as text."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, repr=False)
class Session:
    """Session of a caller who is logged in."""

    caller: Caller
    key: str | None  # SHA-256 of the API key; None for a session opened by the curator's link
    ends: float  # on the monotonic clock
    # Every form of the session sends this token, which other sites do not know (CSRF protection)
    form_token: str = field(default_factory=new_name)

    def sent(self, token: str) -> bool:
        return hmac.compare_digest(self.form_token.encode(), token.encode())


class Sessions:
    """Sessions of a dashboard, by the SHA-256 of their random names."""

    def __init__(self, keys: Keys) -> None:
        self._keys, self._lock = keys, threading.Lock()
        self._sessions = OrderedDict[str, Session]()

    def begin(self, caller: Caller, key: str | None) -> str:
        name, now = new_name(), time.monotonic()
        with self._lock:
            for old in [name for name, session in self._sessions.items() if session.ends <= now]:
                del self._sessions[old]
            own = [name for name, session in self._sessions.items() if session.caller == caller]
            for old in own[: max(0, len(own) - MOST_OF_ONE + 1)]:
                del self._sessions[old]
            self._sessions[digest(name)] = Session(caller, key, now + LIFETIME)
        return name

    def get(self, name: str) -> Session | None:
        with self._lock:
            session = self._sessions.get(digest(name))
        if session is None:
            return None
        ended = session.ends <= time.monotonic()
        if ended or (session.key is not None and self._keys.holder(session.key) != session.caller):
            self.end(name)
            return None
        return session

    def end(self, name: str) -> None:
        with self._lock:
            self._sessions.pop(digest(name), None)


Endpoint = Callable[[Request], Awaitable[Response]]
FAILED, UNTOLD = "The page failed", "The curator can find the reason in the log of the service."
_LOG = logging.getLogger(__name__)
_LARGEST_FORM = 4096  # bytes
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Visit:
    """Request of a caller who is logged in."""

    request: Request
    session: Session
    form: Mapping[str, str]  # a form of this session; empty for a page

    def render(self, template: str, status: int = 200, **values: object) -> Response:
        return render(self.request, template, status, session=self.session, **values)

    def go(self, place: str) -> Response:
        return _go(self.request, place)

    def missing(self) -> Response:
        """Return the same page for a missing page and for a page that the caller may not see."""
        return self.render(
            "problem.html", 404, title="No such page", detail="It does not exist, or you have no access to it."
        )


View = Callable[[Visit], Response]


class SessionAuth:
    """Authentication of callers by API keys and sessions."""

    def __init__(self, keys: Keys, roles: tuple[Role, ...], *, secure: bool) -> None:
        self._keys, self._roles, self._secure = keys, roles, secure
        self._sessions, self._turns = Sessions(keys), ConcurrencyLimits(MOST_FREE_AT_ONCE)
        self.token = secrets.token_urlsafe(32)
        self._used = False

    def page(self, view: View, *roles: Role) -> Endpoint:
        """Return an endpoint that shows a view to these roles only and rejects forms of other sessions."""

        async def endpoint(request: Request) -> Response:
            session = await run_in_threadpool(self._sessions.get, self._cookie(request))
            if session is None:
                return self._unknown(request)
            request.state.caller = session.caller
            if session.caller.role not in roles:
                return Visit(request, session, {}).missing()
            form = {} if request.method in ("GET", "HEAD") else await self._form(request)
            if form is None or (request.method == "POST" and not session.sent(form.get("form_token", ""))):
                return _refused(request, session)
            return await self._shown(view, Visit(request, session, form))

        return endpoint

    def enter(self, view: View, *roles: Role) -> Endpoint:
        """Return an endpoint like `page` that also accepts the single-use token of the curator's link."""
        page = self.page(view, *roles)

        async def endpoint(request: Request) -> Response:
            token = request.query_params.get("token")
            if token is None or request.method != "GET":
                return await page(request)
            if self._used or not hmac.compare_digest(token.encode(), self.token.encode()):
                note(request, "log-in refused")
                return self._log_in(
                    request, 401, "This link was already used, or belongs to an earlier run of the service."
                )
            self._used = True
            return self._begun(request, Caller("curator", "curator"), None)

        return endpoint

    async def form(self, request: Request) -> Response:
        return self._log_in(request, 200, "")

    async def log_in(self, request: Request) -> Response:
        """Begin a session with an API key; all invalid keys get the same message."""
        form = await self._form(request)
        if form is None:
            note(request, "log-in refused")
            return _refused(request, None)
        key = form.get("key", "").strip()
        try:
            caller = await run_in_threadpool(self._keys.caller, key)
            if caller.role in self._roles:
                return self._begun(request, caller, digest(key))
            request.state.reason = f"the key of {shown(caller.name)} has the role {caller.role}"
        except AccessError as error:
            request.state.reason = str(error)  # for the log, not for the caller
        note(request, "log-in refused")
        return self._log_in(request, 401, "This key is not valid here.")

    def log_out(self, visit: Visit) -> Response:
        self._sessions.end(self._cookie(visit.request))
        note(visit.request, "logged out")
        response = visit.go("/login")
        response.delete_cookie(_name(visit.request), path=_path(visit.request))
        return response

    async def _form(self, request: Request) -> dict[str, str] | None:
        """Return a form, or None if the browser reports that it comes from another site."""
        headers, own = request.headers, f"{'https' if self._secure else 'http'}://{request.headers.get('host', '')}"
        site = headers.get("sec-fetch-site") or ("none" if headers.get("origin", own) == own else "cross-site")
        return await _form(request) if site in ("same-origin", "none") else None

    def _begun(self, request: Request, caller: Caller, key: str | None) -> Response:
        note(request, "logged in", caller)
        response, name = _go(request, "/"), self._sessions.begin(caller, key)
        response.set_cookie(
            _name(request), name, path=_path(request), secure=self._secure, httponly=True, samesite="strict"
        )
        return response

    async def _shown(self, view: View, visit: Visit) -> Response:
        try:
            async with self._turns.of(visit.session.caller) as turn:
                return await turn.run_free(lambda: view(visit))
        except ServiceBusyError as error:
            return visit.render("problem.html", 503, title="Too many requests", detail=str(error))
        except LedgerError as error:  # contains only numbers of entries and public names
            return visit.render("problem.html", 500, title="The ledger cannot be read", detail=str(error))
        except Exception as error:  # its text could contain private data
            _LOG.error("%s: %s", template(visit.request.scope), type(error).__name__)
        return visit.render("problem.html", 500, title=FAILED, detail=UNTOLD)

    def _cookie(self, request: Request) -> str:
        return request.cookies.get(_name(request), "")

    def _unknown(self, request: Request) -> Response:
        if request.method in ("GET", "HEAD"):
            return _go(request, "/login")
        return self._log_in(request, 401, "Your session has ended.")

    def _log_in(self, request: Request, status: int, problem: str) -> Response:
        return render(request, "login.html", status, problem=problem, curator="curator" in self._roles)


def _refused(request: Request, session: Session | None) -> Response:
    detail = "It was not sent from a page of this session. Go back, reload the page, and send it again."
    return render(request, "problem.html", 403, session=session, title="The form was not accepted", detail=detail)


async def _form(request: Request) -> dict[str, str] | None:
    """Return a form, or None if it is too large or malformed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > _LARGEST_FORM:
            return None
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=8, errors="strict"))
    except ValueError:
        return None


def _go(request: Request, place: str) -> Response:
    return RedirectResponse(_path(request).rstrip("/") + place, 303)


def _path(request: Request) -> str:
    return request.scope.get("root_path", "") or "/"


def _name(request: Request) -> str:
    """Return the name of the cookie. It contains the port, because browsers share cookies among ports."""
    return f"hedgerow-{request.scope['server'][1]}"
