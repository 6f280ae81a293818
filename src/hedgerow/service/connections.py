"""Connections: how many are open at once, and for how long a client may take to send a request.

Whoever has sent no whole request yet goes first, the longest-waiting one: strangers who open connections and say
nothing push out each other, and nobody who asks.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = {h11.IDLE: 10.0, h11.SEND_BODY: 60.0}
"""How long a client may take: with TLS, and then the header; for the body after it."""


class Connections:
    """The open connections of all ports.

    Parameters
    ----------
    most : int
        How many there may be.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open, self._waiting = set[Connection](), dict[Connection, None]()

    def add(self, connection: Connection) -> None:
        """Take in a connection; where there are too many, end the one that has been waited for longest."""
        self._open.add(connection)
        self.wait(connection)
        if len(self._open) > self._most:
            longest = next((one for one in self._waiting if not one.is_held_up), connection)
            longest.abort()

    def wait(self, connection: Connection) -> None:
        """Note that a connection's client is waited for, from now on."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = None

    def stop_waiting(self, connection: Connection) -> None:
        """Note that a connection's client has sent its request."""
        self._waiting.pop(connection, None)

    def remove(self, connection: Connection) -> None:
        """Forget a connection that has ended."""
        self._waiting.pop(connection, None)
        self._open.discard(connection)


class Connection(H11Protocol):
    """A connection whose client must send a whole request in time.

    Parameters
    ----------
    connections : Connections
        All connections.
    tls : SSLContext or None
        For TLS, which begins once the connection is counted.
    **given : object
        What uvicorn gives.
    """

    def __init__(self, connections: Connections, tls: ssl.SSLContext | None, **given: Any) -> None:
        super().__init__(**given)
        self._connections, self._tls = connections, tls
        self._raw: asyncio.Transport | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._is_handed_over, self._early = False, b""
        self._phase: Any = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Count the connection, and begin TLS."""
        self._raw = transport
        self._connections.add(self)
        self._update()
        if self._tls is None:
            self._hand_over(transport)
        else:
            transport.pause_reading()
            self._beginning = self.loop.create_task(self._begin_tls(transport, self._tls))

    def data_received(self, data: bytes) -> None:
        """Take in what the client sends."""
        if not self._is_handed_over:  # with TLS, the first data may come with the end of the handshake
            self._early += data
            return
        super().data_received(data)
        self._update()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._update()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._phase = None
        self._forget()
        if self._is_handed_over:
            super().connection_lost(exc)

    def abort(self) -> None:
        """End the connection at once."""
        self._forget()
        if self._raw is not None:
            self._raw.abort()

    @property
    def is_held_up(self) -> bool:
        """Whether the client has to wait until what it sent before is read."""
        return self._is_handed_over and self.flow.read_paused

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
        """Let uvicorn take the connection over."""
        super().connection_made(transport)
        self._is_handed_over = True

    def _update(self) -> None:
        """Note whether the client is waited for, and until when."""
        phase = self.conn.their_state if self.conn.their_state in SECONDS else None
        if phase is self._phase:
            return
        self._phase = phase
        self._stop_timer()
        if phase is None:
            self._connections.stop_waiting(self)
        else:
            self._connections.wait(self)
            self._timer = self.loop.call_later(SECONDS[phase], self._expire)

    def _expire(self) -> None:
        if self.is_held_up:
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
