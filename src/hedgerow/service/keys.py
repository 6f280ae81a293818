"""API keys: 256 random bits each, shown once, stored as a SHA-256."""

import secrets
import time
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from hedgerow.boundary.arguments import check_choice
from hedgerow.boundary.canonical import digest
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import AccessError, ArgumentError
from hedgerow.service.ledger.accounts import check_names
from hedgerow.service.ledger.database import LEDGER_LIMITS, Database
from hedgerow.service.ledger.outages import Condition
from hedgerow.service.ledger.tables import KEYS
from hedgerow.service.requests import ROLES, Caller, Role
from hedgerow.text.messages import shown

PREFIX = "hr_"  # distinguishes keys from tokens of an identity provider


class Keys:
    """API keys in the ledger's database. They have 256 random bits, so a fast hash is sufficient."""

    def __init__(self, url: str, limits: TimeLimits = LEDGER_LIMITS, condition: Condition | None = None) -> None:
        self._database = Database(url, limits=limits)
        self._database.condition = condition or self._database.condition  # outages of a database are logged once

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, name: str, role: Role, days: int | None = None) -> str:
        """Create and return a key, which cannot be retrieved later."""
        check_choice("role", role, ROLES)
        check_names([name], [caller.name for caller in self.callers() if caller.name != name])
        if days is not None and not 1 <= days <= 3650:
            raise ArgumentError(f"a key can be valid for 1 to 3,650 days, got {shown(days)}.")
        ends = None if days is None else int(time.time()) + days * 86_400
        key = PREFIX + secrets.token_urlsafe(32)
        taken = False
        try:
            with self._database.writing() as connection:
                connection.execute(KEYS.insert().values(name=name, role=role, hash=digest(key), ends=ends))
        except IntegrityError:
            taken = True
        if taken:
            raise ArgumentError(f"{shown(name)} already has a key; revoke it first.")
        return key

    def revoke(self, name: str) -> None:
        with self._database.writing() as connection:
            removed = connection.execute(KEYS.delete().where(KEYS.c.name == name)).rowcount
        if not removed:
            raise ArgumentError(f"{shown(name)} has no key.")

    def callers(self) -> dict[Caller, str]:
        """Return the callers with a key, by name, with its expiry in UTC; empty text without an expiry."""
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(KEYS).order_by(KEYS.c.name))
            return {Caller(row.name, row.role): _moment(row.ends) for row in rows}

    def caller(self, key: str) -> Caller:
        """Return the caller with this key; the text of the `AccessError` is for the log, not for the caller."""
        row = self._row(digest(key))
        if row is None:
            raise AccessError("the API key is not valid: it is unknown or was revoked.")
        if _is_expired(row.ends):
            raise AccessError(f"the API key is not valid: the key of {shown(row.name)} expired on {_moment(row.ends)}.")
        return Caller(row.name, row.role)

    def holder(self, hashed: str) -> Caller | None:
        """Return the caller whose key has this SHA-256, or None if it is unknown, expired or revoked."""
        row = self._row(hashed)
        return None if row is None or _is_expired(row.ends) else Caller(row.name, row.role)

    def _row(self, hashed: str) -> sa.Row[Any] | None:
        with self._database.reading() as connection:
            return connection.execute(sa.select(KEYS).where(KEYS.c.hash == hashed)).one_or_none()


def _is_expired(ends: int | None) -> bool:
    return ends is not None and ends <= time.time()


def _moment(ends: int | None) -> str:
    return "" if ends is None else datetime.fromtimestamp(ends, UTC).isoformat(sep=" ", timespec="minutes")[:16]
