"""Outages of a ledger: their reason, and log lines for the operator when they begin and when they end."""

import logging
import os
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.engine import URL

from hedgerow.errors import LedgerUnavailableError

_LOG = logging.getLogger(__name__)
UNAVAILABLE = "the ledger's database cannot be read or written at present (it is full, damaged or unreachable)."
RECENT = 30.0  # seconds for which a failed charge counts, although a check of the database succeeds
_MOST_REASONS = 20  # reasons that are logged in an outage
_LONGEST = 500  # characters of a reason
# Classes of SQLSTATE whose messages name objects and settings of the server, and never a value
_QUOTED = ("08", "25", "28", "3D", "40", "53", "55", "57", "58", "42501", "42P01")


def place_of(url: URL) -> str:
    """Return the place of a database, without its password and the parameters of the URL."""
    if url.get_backend_name() == "sqlite":
        return f"SQLite at {url.database}"
    host = f"{url.host or 'a local socket'}:{url.port or 5432}"
    return f"PostgreSQL at {host}, database {url.database}, role {url.username}"


def reason_of(error: BaseException, url: URL) -> str:
    """Return the place and the reason of a database's error, without passwords, parameters of the URL or values."""
    secrets = [url.password, os.environ.get("PGPASSWORD"), *map(_quoted, url.query.values())]
    text = _text(error)
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    return f"{place_of(url)}: {text}"


def _quoted(value: Any) -> str:
    return f'"{value}"'


def _text(error: BaseException) -> str:
    """Return the first line of an error's text if it cannot contain a value, else its SQLSTATE."""
    original: Any = getattr(error, "orig", None) or error
    state = getattr(original, "sqlstate", None)
    if state is None:
        return (str(original).strip() or type(original).__name__).splitlines()[0][:_LONGEST]
    if not state.startswith(_QUOTED):
        return f"SQLSTATE {state}"
    primary = getattr(getattr(original, "diag", None), "message_primary", None) or str(original)
    return f"{primary.splitlines()[0][:_LONGEST]} (SQLSTATE {state})"


class Condition:
    """Whether a ledger can be written, by the last attempts. Beginnings and ends of outages are logged."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reasons = dict[str, None]()  # of the current outage, in order
        self._failed = float("-inf")  # time of the last failed charge

    def failed(self, reason: str) -> None:
        """Log a reason, once in an outage."""
        with self._lock:
            is_new = reason not in self._reasons and len(self._reasons) < _MOST_REASONS
            if is_new:
                self._reasons[reason] = None
        if is_new:
            _LOG.error("the ledger cannot be used: %s", reason)

    @contextmanager
    def writing(self) -> Generator[None]:
        """Note whether a change of the ledger succeeds."""
        try:
            yield
        except LedgerUnavailableError as error:
            self._failed = time.monotonic()
            self.failed(error.reason)
            raise
        self._worked()

    @contextmanager
    def checking(self) -> Generator[bool]:
        """Note whether a check succeeds; raise `LedgerUnavailableError` if a change failed recently.

        Yields whether the last attempt failed: then the check should be thorough.
        """
        # A check cannot notice every reason why a change fails.
        try:
            yield bool(self._reasons)
        except LedgerUnavailableError as error:
            self.failed(error.reason)
            raise
        with self._lock:
            reason = next(reversed(self._reasons), "")
        if reason and time.monotonic() < self._failed + RECENT:
            raise LedgerUnavailableError(UNAVAILABLE, reason)
        self._worked()

    def _worked(self) -> None:
        with self._lock:
            was_failing, self._failed = bool(self._reasons), float("-inf")
            self._reasons.clear()
        if was_failing:
            _LOG.info("the ledger can be used again")
