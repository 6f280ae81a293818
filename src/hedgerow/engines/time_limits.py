"""Time limits for queries in a database, and their cancellation when the process stops."""

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil

_TICK = 0.1  # seconds between two checks of running queries
_GRACE = 2.0  # seconds within which a server should end a query by itself


@dataclass(frozen=True)
class TimeLimits:
    """Time limits for a database, in seconds.

    Attributes
    ----------
    connect : float, default=10
        Seconds to open a connection.
    query : float, default=600
        Seconds for a query.
    lock : float, default=10
        Seconds to wait for a lock held by another transaction.

    Examples
    --------
    >>> from hedgerow.engines import TimeLimits
    >>> TimeLimits(query=30)
    TimeLimits(connect=10, query=30, lock=10)
    """

    connect: float = 10
    query: float = 600
    lock: float = 10

    def postgres_settings(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return settings of a connection to PostgreSQL: the given settings, and these limits for omitted settings.

        The server ends a query in time, and TCP detects a lost host. For a server that accepts a query and hangs,
        `limited` closes the connection.
        """
        options = f"-c statement_timeout={ceil(1000 * self.query)} -c lock_timeout={ceil(1000 * self.lock)}"
        limits = {
            "connect_timeout": str(max(2, ceil(self.connect))),
            "keepalives": "1",
            "keepalives_idle": "30",
            "keepalives_interval": "10",
            "keepalives_count": "3",
            "tcp_user_timeout": str(ceil(1000 * self.connect) + 60_000),
        }
        return {**limits, **given, "options": f"{options} {given.get('options', '')}".strip()}


_lock = threading.Lock()
_running: dict[object, tuple[float, Callable[[], object]]] = {}
_watch: threading.Thread | None = None


@contextmanager
def limited(seconds: float, stop: Callable[[], object]) -> Generator[list[bool]]:
    """Call `stop` from another thread if the block takes longer; the yielded list is then not empty."""
    global _watch
    call, stopped = object(), list[bool]()

    def ending() -> None:
        stopped.append(True)
        stop()

    with _lock:
        _running[call] = time.monotonic() + seconds, ending
        if _watch is None or not _watch.is_alive():  # it is not alive in a forked process
            _watch = threading.Thread(target=_look, name="hedgerow time limits", daemon=True)
            _watch.start()
    try:
        yield stopped
    finally:
        with _lock:  # no query is stopped after the block has ended
            _running.pop(call, None)


def stop_all() -> None:
    """Stop all running queries as if their time were over."""
    _stop(float("inf"))


def _look() -> None:
    global _watch
    while True:
        time.sleep(_TICK)
        _stop(time.monotonic())
        with _lock:
            if not _running:
                _watch = None
                return


def _stop(now: float) -> None:
    with _lock:
        for call, (ends, stop) in list(_running.items()):
            if ends <= now:
                del _running[call]
                with suppress(Exception):
                    stop()


def waiting_seconds(limits: TimeLimits) -> float:
    """Return the seconds to wait for a server that ends queries by itself."""
    return limits.query + _GRACE
