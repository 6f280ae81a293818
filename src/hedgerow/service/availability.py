"""Checks with a time limit that the resources of a question can be reached."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as WaitTimeoutError

from hedgerow.boundary.environment import environment_cause
from hedgerow.errors import Cause, LedgerUnavailableError

_LOG = logging.getLogger(__name__)
CAUSES: dict[Cause, str] = {
    "connection": "the connection to the database failed or was lost",
    "lock": "another process holds a lock",
    "timeout": "the time limit was reached, or the query was cancelled",
    "memory": "out of memory",
    "disk": "a disk is full, has less free space than disk_reserve_mib requires, or fails",
    "file": "a file is missing, truncated, unreadable, or in use by another process",
    "table": "the table is missing, cannot be read, or differs from the table that was checked at the start",
    "process": "the process has no more threads, file descriptors or memory",
    "package": "a package cannot be imported",
}
"""Descriptions of causes in the log, for the operator."""
SECONDS = 5.0  # the time limit of a check
_FRESH = 1.0  # seconds for which a result is reused


class Probe:
    """Check that runs in a thread of its own, at most once at a time."""

    def __init__(self, name: str, look: Callable[[], None]) -> None:
        self._name, self._look, self._lock = name, look, threading.Lock()
        self._result: Future[Cause | None] | None = None
        self._last: Cause | None = None
        self._ended = 0.0

    def begin(self) -> Future[Cause | None]:
        """Return the result of the current or a recent check, or start a check."""
        with self._lock:
            result = self._result
            if result is None or (result.done() and time.monotonic() - self._ended > _FRESH):
                result = self._result = Future()
                try:
                    threading.Thread(target=self._run, args=(result,), name="hedgerow probe", daemon=True).start()
                except RuntimeError:  # the process may have no more threads
                    self._end(result, "process")
            return result

    def check(self) -> Cause | None:
        """Return the cause of a failure, or None."""
        try:
            return self.begin().result(SECONDS)
        except WaitTimeoutError:
            self._note("timeout")
            return "timeout"

    def _run(self, result: Future[Cause | None]) -> None:
        try:
            self._look()
        except LedgerUnavailableError:  # the ledger logs its own outages, with their reason
            self._ended = time.monotonic()
            result.set_result("connection")
        except Exception as error:
            self._end(result, environment_cause(error) or "table")
        else:
            self._end(result, None)

    def _end(self, result: Future[Cause | None], cause: Cause | None) -> None:
        self._ended = time.monotonic()
        self._note(cause)
        result.set_result(cause)

    def _note(self, cause: Cause | None) -> None:
        """Log a change of state."""
        if cause != self._last:
            state = "can be used again" if cause is None else f"cannot be used: {CAUSES[cause]}"
            _LOG.log(logging.INFO if cause is None else logging.ERROR, "%s %s", self._name, state)
        self._last = cause


async def failing(probes: Iterable[Probe]) -> list[Probe]:
    """Return the checks that do not succeed within the time limit."""
    checks = {asyncio.wrap_future(probe.begin()): probe for probe in probes}
    await asyncio.wait(checks, timeout=SECONDS)
    return [probe for check, probe in checks.items() if not check.done() or check.result() is not None]
