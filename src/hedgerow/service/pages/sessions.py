"""Sessions: who is logged in to the dashboard, in memory, for eight hours, and as long as their key is not revoked."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from hedgerow.boundary.chain import digest
from hedgerow.service.curator import Caller
from hedgerow.service.keys import Keys

LIFETIME = 8 * 3600
"""Seconds after which a session ends."""
MOST_OF_ONE = 10
"""The most sessions of one caller; the oldest ends where there would be more."""


def new_name() -> str:
    """Return 256 random bits, as text."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, repr=False)
class Session:
    """A session."""

    caller: Caller  # who is logged in, in which role
    key: str | None  # the SHA-256 of the key that opened it; None for the curator's, which a link opened
    ends: float  # when, by a clock that nobody sets
    # What every form of the session sends back, and no other site knows
    form_token: str = field(default_factory=new_name)

    def sent(self, token: str) -> bool:
        """Return whether a form was one of this session's."""
        return hmac.compare_digest(self.form_token.encode(), token.encode())


class Sessions:
    """The sessions of a dashboard, by the SHA-256 of their random names."""

    def __init__(self, keys: Keys) -> None:
        self._keys, self._lock = keys, threading.Lock()
        self._sessions = OrderedDict[str, Session]()

    def begin(self, caller: Caller, key: str | None) -> str:
        """Begin a session, and return its name, which has 256 random bits."""
        name, now = new_name(), time.monotonic()
        with self._lock:
            for old in [one for one, session in self._sessions.items() if session.ends <= now]:
                del self._sessions[old]
            own = [one for one, session in self._sessions.items() if session.caller == caller]
            for old in own[: max(0, len(own) - MOST_OF_ONE + 1)]:
                del self._sessions[old]
            self._sessions[digest(name)] = Session(caller, key, now + LIFETIME)
        return name

    def get(self, name: str) -> Session | None:
        """Return the session of this name; None where there is none, or it has ended."""
        with self._lock:
            session = self._sessions.get(digest(name))
        if session is None:
            return None
        ended = session.ends <= time.monotonic()
        if ended or (session.key is not None and self._keys.holder(session.key) != session.caller):
            self.end(name)
            return None
        return session

    def end(self, name: str) -> None:
        """End a session, if there is one of this name."""
        with self._lock:
            self._sessions.pop(digest(name), None)
