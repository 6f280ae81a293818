"""Templates, and the headers that every page has: nothing is loaded from elsewhere, and no script runs."""

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hedgerow.privacy.charge import amount_text
from hedgerow.text.markup import templates

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
"""A picture has its style within, and can do nothing else."""


class Headers:
    """ASGI middleware that sets the headers on every response that has none of the name."""

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
    """Return an amount, rounded up if it is spent and down if it is left or a cap, and marked where it is rounded."""
    text = amount_text(amount, left=left)
    return text if Fraction(text) == amount else f"≈ {text}"


def _percent(part: Fraction, whole: Fraction) -> str:
    """Return how much of a bar is full; 0 only where nothing is, 100 only where all is."""
    share = float(part / whole)
    if 0 < share < 1:
        share = min(max(share, 0.005), 0.995)
    return f"{100 * min(share, 1):.1f}%"


_TEMPLATES = templates(FOLDER / "templates")
_FILTERS: dict[str, Any] = {"moment": _moment, "rounded": _rounded, "percent": _percent}
_TEMPLATES.filters.update(_FILTERS)
