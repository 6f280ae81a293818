"""Connections to PostgreSQL that are closed if a query takes too long, even if the server hangs."""

import os
import socket
import threading
from contextlib import suppress
from typing import Any, Self

import psycopg

from hedgerow.engines.time_limits import TimeLimits, limited, waiting_seconds

_CANCEL_SECONDS = 2.0


class LimitedConnection(psycopg.Connection[Any]):
    """Connection that is closed if the server exceeds the time limit of a query."""

    _seconds: float | None = None  # None while the connection is opened, for which the driver has its own limit

    @classmethod
    def opened(cls, limits: TimeLimits, **settings: Any) -> Self:
        connection = cls.connect(**settings)
        connection._seconds = waiting_seconds(limits)
        return connection

    def wait(self, gen: Any, *given: Any, **named: Any) -> Any:
        """Wait for the server like psycopg, within the time limit; all queries and transactions call this method."""
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
        """Request that the server cancels the query, which would otherwise continue; then close the connection."""
        with own, suppress(OSError):
            with suppress(psycopg.Error):
                self.cancel_safe(timeout=_CANCEL_SECONDS)
            own.shutdown(socket.SHUT_RDWR)
