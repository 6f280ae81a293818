"""Limits of connections: their number, and the time a client may take to send a request or take an answer.

A request of somebody who is known goes on. Of all others, whoever has been waited for longest goes first: strangers who
open connections and say nothing, read nothing or ask without end push out each other, and nobody who asks.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS = {h11.IDLE: 10.0, h11.SEND_BODY: 60.0, h11.DONE: 60.0}
"""How long a client may take: with TLS, and then the header; for the body; until it takes more of an answer."""


class Connections:
    """The open connections of all ports."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = dict[Connection, None]()  # first those in whose state nothing has changed for longest

    def add(self, connection: Connection) -> None:
        """Take in a connection; where there are too many, end one whose client is waited for, or a stranger's."""
        self.changed(connection)
        if len(self._open) > self._most:
            next((one for one in self._open if not one.is_served), connection).abort()

    def changed(self, connection: Connection) -> None:
        """Note that something else is waited for, from now on."""
        self._open.pop(connection, None)
        self._open[connection] = None

    def remove(self, connection: Connection) -> None:
        self._open.pop(connection, None)


class Connection(H11Protocol):
    """A connection whose client must send a whole request, and take its answer, in time."""

    def __init__(self, connections: Connections, tls: ssl.SSLContext | None, **given: Any) -> None:
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
        if not self._is_handed_over:  # with TLS, the first data may come with the end of the handshake
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
        """True while a request of somebody who is known is worked on, or has to wait."""
        is_known = bool(self.scope) and "caller" in self.scope.get("state", {})
        return is_known and (self._phase is None or self._is_held_up)

    @property
    def _is_held_up(self) -> bool:
        """True while the client has to wait until what it sent before is read."""
        return self._is_handed_over and self.flow.read_paused and not self._is_taking

    @property
    def _is_taking(self) -> bool:
        """True while the client has to take what was sent before anything else is done."""
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
        """Note whether the client is waited for, and until when."""
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
