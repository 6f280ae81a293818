"""Time limits of work in a database, and its end when the process has to stop."""

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil

_TICK = 0.1  # seconds between two looks at what runs
_GRACE = 2.0  # seconds that a server has to end a query by itself


@dataclass(frozen=True)
class TimeLimits:
    """Seconds that a database may take.

    Attributes
    ----------
    connect : float, default=10
        Seconds to open a connection.
    query : float, default=600
        Seconds for one query.
    lock : float, default=10
        Seconds to wait for a lock of another transaction.

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
        """Return settings of a connection to PostgreSQL: those of its address, with these limits for omitted settings.

        The server ends a query in time; TCP notices that a host is gone. A server that accepts a query and hangs is
        left by `limited`.
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
    """Call `stop` from another thread if the block takes longer; the list that is yielded has an entry if it did."""
    global _watch
    call, stopped = object(), list[bool]()

    def ending() -> None:
        stopped.append(True)
        stop()

    with _lock:
        _running[call] = time.monotonic() + seconds, ending
        if _watch is None or not _watch.is_alive():  # in a forked process, it is not
            _watch = threading.Thread(target=_look, name="hedgerow time limits", daemon=True)
            _watch.start()
    try:
        yield stopped
    finally:
        with _lock:  # nothing is stopped once the block has ended
            _running.pop(call, None)


def stop_all() -> None:
    """Stop what runs, as if its time were over."""
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
    """Return how long to wait for a server that ends queries by itself."""
    return limits.query + _GRACE
