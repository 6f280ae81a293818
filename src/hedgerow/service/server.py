"""Server with two ports in one process: for analysts, and for the curator (by default on this machine only).

The number of connections is limited, and so is the time in which clients must send a request and receive the response.
If there are too many connections, the server closes the connection for whose client it has waited longest, but never a
request of an authenticated caller. Unauthenticated connections can therefore displace only each other.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import ssl
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from hedgerow.boundary.durable import check_closed
from hedgerow.datasets import load
from hedgerow.engines.time_limits import stop_all
from hedgerow.errors import ArgumentError, FileError
from hedgerow.privacy.account import Account
from hedgerow.service.curator import Curator, HostedDataset
from hedgerow.service.keys import Keys
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.receipts import Signer
from hedgerow.service.resources import allowed_connections
from hedgerow.service.rows import FrameRows

LOCAL = "127.0.0.1"
_LAST_SECONDS = 5.0  # seconds from the cancellation of database queries to the end of the process
_SWITCH = 0.0005  # seconds that a computing thread may delay threads that return from the ledger's disk


@dataclass(frozen=True)
class Address:
    """Address of a port."""

    host: str = LOCAL  # the address to listen on
    port: int = 8765  # the port; 0 chooses a free port
    certificate: Path | None = None  # for TLS
    private_key: Path | None = None  # for TLS
    behind_proxy: bool = False  # whether a proxy provides TLS

    def __post_init__(self) -> None:
        if (self.certificate is None) != (self.private_key is None):
            raise ArgumentError("TLS requires both a certificate and its private key; one of the two is missing.")
        if self.private_key is not None and self.private_key.exists():
            check_closed(self.private_key, "a TLS key")
        if self.host not in (LOCAL, "localhost", "::1") and self.certificate is None and not self.behind_proxy:
            problem = f"{self.host} is reachable from other machines and requires TLS, since API keys must not be sent"
            advice = "Give --tls-certificate and --tls-key, or state that a proxy provides TLS with --behind-proxy"
            raise ArgumentError(f"{problem} unencrypted. {advice}.")

    @property
    def scheme(self) -> str:
        return "http" if self.certificate is None else "https"

    @property
    def visible_host(self) -> str:
        """The address by which this machine reaches the port; a wildcard address becomes the loopback."""
        return LOCAL if self.host in ("0.0.0.0", "::") else self.host

    @property
    def secure(self) -> bool:
        """True if browsers reach the service by TLS."""
        return self.certificate is not None or self.behind_proxy


SECONDS = {h11.IDLE: 10.0, h11.SEND_BODY: 60.0, h11.DONE: 60.0}
"""Timeouts for a client: for TLS and then the header; for the body; for reading more of a response."""


class ServedConnections:
    """Open connections of all ports."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = dict[ServedConnection, None]()  # ordered by the time of their last change of state

    def add(self, connection: ServedConnection) -> None:
        """Add a connection; if there are too many, close the oldest that serves no authenticated request."""
        self.changed(connection)
        if len(self._open) > self._most:
            next((oldest for oldest in self._open if not oldest.is_served), connection).abort()

    def changed(self, connection: ServedConnection) -> None:
        """Record a change of the state of a connection."""
        self._open.pop(connection, None)
        self._open[connection] = None

    def remove(self, connection: ServedConnection) -> None:
        self._open.pop(connection, None)


class ServedConnection(H11Protocol):
    """Connection with timeouts for requests and responses."""

    def __init__(self, connections: ServedConnections, tls: ssl.SSLContext | None, **given: Any) -> None:
        super().__init__(**given)
        self._connections, self._tls = connections, tls
        self._raw: asyncio.Transport | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._is_handed_over, self._early = False, b""
        self._phase: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        self._raw = transport
        self._update()
        self._connections.add(self)
        if self._tls is None:
            self._hand_over(transport)
        else:
            transport.pause_reading()
            self._beginning = self.loop.create_task(self._begin_tls(transport, self._tls))

    def data_received(self, data: bytes) -> None:
        if not self._is_handed_over:  # with TLS, the first data may arrive with the end of the handshake
            self._early += data
            return
        super().data_received(data)
        self._update()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._update()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._update()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        self._phase = None
        self._forget()
        if self._is_handed_over:
            super().connection_lost(exc)

    def abort(self) -> None:
        self._forget()
        if self._raw is not None:
            self._raw.abort()

    @property
    def is_served(self) -> bool:
        """True while a request of an authenticated caller is processed or waits."""
        is_known = bool(self.scope) and "caller" in self.scope.get("state", {})
        return is_known and (self._phase is None or self._is_held_up)

    @property
    def _is_held_up(self) -> bool:
        """True while the client waits until its earlier data is read."""
        return self._is_handed_over and self.flow.read_paused and not self._is_taking

    @property
    def _is_taking(self) -> bool:
        """True while the server waits until the client reads the response."""
        return self._is_handed_over and (self.flow.write_paused or self.transport.is_closing())

    async def _begin_tls(self, transport: asyncio.Transport, tls: ssl.SSLContext) -> None:
        try:
            encrypted = await self.loop.start_tls(transport, self, tls, server_side=True)
        except (OSError, ssl.SSLError):
            encrypted = None
        if encrypted is None:
            self.abort()
            return
        self._hand_over(encrypted)
        if self._early:
            self.data_received(self._early)

    def _hand_over(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._is_handed_over = True

    def _update(self) -> None:
        """Start or stop the timeout of the client according to the state of the connection."""
        state = self.conn.their_state
        phase = h11.DONE if self._is_taking else state if state in (h11.IDLE, h11.SEND_BODY) else None
        if phase is self._phase:
            return
        self._phase = phase
        self._stop_timer()
        self._connections.changed(self)
        if phase is not None:
            self._timer = self.loop.call_later(SECONDS[phase], self._expire)

    def _expire(self) -> None:
        if self._is_held_up:
            self._timer = self.loop.call_later(SECONDS[self._phase], self._expire)
        else:
            self.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _forget(self) -> None:
        self._stop_timer()
        self._connections.remove(self)


def serve(
    app: ASGIApp,
    address: Address,
    own: ASGIApp,
    own_address: Address,
    ready: Callable[[str, str], None],
    seconds: float = 30,
) -> None:
    """Serve both apps until SIGINT or SIGTERM, then finish requests in progress for up to `seconds`.

    After that, database queries are cancelled, and the process ends. At any time, each question is either charged or
    not, and a charged question has a stored answer or is pending.
    """
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)  # its records can contain the text of an exception
    sys.setswitchinterval(_SWITCH)
    public, private = _bound(address.host, address.port), _bound(own_address.host, own_address.port)
    connections = ServedConnections(allowed_connections())
    servers = [
        (_server(app, connections, _tls(address), seconds, behind_proxy=address.behind_proxy), public),
        (_server(own, connections, None, seconds, behind_proxy=False), private),
    ]

    def stop() -> None:
        for server, _ in servers:
            server.should_exit = True

    def stop_in_time() -> None:
        stop()
        _later(seconds, stop_all)
        _later(seconds + _LAST_SECONDS, partial(os._exit, 1))

    async def run() -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop_in_time)
        tasks = [asyncio.create_task(server.serve([listening])) for server, listening in servers]
        while not all(server.started for server, _ in servers) and not any(task.done() for task in tasks):
            await asyncio.sleep(0.02)
        if all(server.started for server, _ in servers):
            ready(_url(address.scheme, address.host, public), _url("http", own_address.visible_host, private))
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        stop()
        await asyncio.gather(*tasks)

    asyncio.run(run())


def _later(seconds: float, call: Callable[[], object]) -> None:
    """Call a function after a delay, unless the process has ended; threads that hang do not prevent the call."""
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()


def _server(
    app: ASGIApp, connections: ServedConnections, tls: ssl.SSLContext | None, seconds: float, *, behind_proxy: bool
) -> _Server:
    protocol: Any = partial(ServedConnection, connections, tls)
    return _Server(
        uvicorn.Config(
            app,
            http=protocol,
            ws="none",
            backlog=128,
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=behind_proxy,
            forwarded_allow_ips="*",  # only the proxy can reach the port, and it sets the address of the client
            timeout_graceful_shutdown=ceil(seconds),
        )
    )


def _tls(address: Address) -> ssl.SSLContext | None:
    if address.certificate is None:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(address.certificate, address.private_key)
    return context


class _Server(uvicorn.Server):
    """Server without signal handlers, since the process runs two servers and handles signals itself."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture no signals: uvicorn's handlers would end the process before the ledger is closed."""
        yield


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise FileError.of(getattr(error, "errno", None), "the port is not available", f"{host}:{port}") from None
    return listening


def _url(scheme: str, host: str, listening: socket.socket) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{listening.getsockname()[1]}"


DATASET, ANALYST = "breast_cancer", "demo"
CAP = Fraction(10)  # ε; enough for many questions, and the rows are public


def demo_curator(folder: Path) -> tuple[Curator, Keys, str]:
    """Return a curator of the breast cancer table with a ledger in `folder`, its keys, and the demo key."""
    url = f"sqlite:///{folder / 'ledger.db'}"
    data, ledger, keys = load(DATASET), Ledger(url, new_ledger=True), Keys(url)
    ledger.declare(DATASET, Account(CAP), {ANALYST: Account(CAP)}, reason="a demonstration on public rows")
    signer = Signer.new()
    signer.save(folder / "curator.key")
    held = HostedDataset(data.schema, FrameRows.of(data.frame, data.labels, data.schema))
    return Curator(ledger, {DATASET: held}, signer=signer), keys, keys.add(ANALYST, "analyst")
