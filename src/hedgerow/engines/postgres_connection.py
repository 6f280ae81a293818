"""Connections to PostgreSQL that are cut if an answer takes too long: a server may hang and keep its connections."""

import os
import socket
import threading
from contextlib import suppress
from typing import Any, Self

import psycopg

from hedgerow.engines.time_limits import TimeLimits, limited, waiting_seconds

_CANCEL_SECONDS = 2.0


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that is cut if the server takes longer than the time limit of a query."""

    _seconds: float | None = None  # no limit before the connection is open: the driver has its own

    @classmethod
    def opened(cls, limits: TimeLimits, **settings: Any) -> Self:
        connection = cls.connect(**settings)
        connection._seconds = waiting_seconds(limits)
        return connection

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        """Wait as psycopg does, which all queries and transactions of a connection go through."""
        if self._seconds is None:
            return super().wait(gen, *given, **named)
        with limited(self._seconds, self._cut) as stopped:
            try:
                return super().wait(gen, *given, **named)
            except psycopg.Error:
                if not stopped:
                    raise
        raise psycopg.errors.QueryCanceled("no answer within the time limit")

    def _cut(self) -> None:
        own = socket.socket(fileno=os.dup(self.fileno()))
        threading.Thread(target=self._end, args=(own,), name="hedgerow cut", daemon=True).start()

    def _end(self, own: socket.socket) -> None:
        """Ask the server to cancel the query, which would else run on there; then shut the connection."""
        with own, suppress(OSError):
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCEL_SECONDS)
            own.shutdown(socket.SHUT_RDWR)
