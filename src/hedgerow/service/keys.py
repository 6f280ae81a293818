"""API keys: 256 random bits each, shown once, stored as a SHA-256."""

from __future__ import annotations

import secrets
from typing import Self

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from hedgerow.arguments import check_choice
from hedgerow.chain import digest
from hedgerow.errors import AccessError, ArgumentError
from hedgerow.messages import shown
from hedgerow.service.curator import ROLES, Caller, Role
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.tables import KEYS

PREFIX = "hr_"
"""How a key begins, unlike a token of an identity provider."""


class Keys:
    """The keys of a service, in the ledger's database.

    A key has 256 random bits, so that a fast hash of it is as hard to invert as a slow one.

    Parameters
    ----------
    url : str
        The ledger's database.

    Raises
    ------
    LedgerError
        If it cannot be opened.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, name: str, role: Role) -> str:
        """Make a key, and return it: it is shown this once.

        Raises
        ------
        ValueError
            If the name has a key already, or is none, or there is no such role.
        """
        check_choice("role", role, ROLES)
        if not name or len(name) > 200 or not name.isprintable():
            raise ArgumentError(f"expected a name of 1 to 200 characters, got {shown(name)}.")
        key = PREFIX + secrets.token_urlsafe(32)
        taken = False
        try:
            with self._database.writing() as connection:
                connection.execute(KEYS.insert().values(name=name, role=role, hash=digest(key)))
        except IntegrityError:
            taken = True
        if taken:
            raise ArgumentError(f"expected a name without a key, got {shown(name)}, which has one; revoke it first.")
        return key

    def revoke(self, name: str) -> None:
        """Remove the key of a name.

        Raises
        ------
        ValueError
            If it has none.
        """
        with self._database.writing() as connection:
            removed = connection.execute(KEYS.delete().where(KEYS.c.name == name)).rowcount
        if not removed:
            raise ArgumentError(f"expected a name with a key, got {shown(name)}.")

    def callers(self) -> list[Caller]:
        """Return everybody who has a key, by name."""
        with self._database.reading() as connection:
            return [Caller(row.name, row.role) for row in connection.execute(sa.select(KEYS).order_by(KEYS.c.name))]

    def caller(self, key: str) -> Caller:
        """Return who has this key.

        Raises
        ------
        AccessError
            If nobody has.
        """
        found = self.holder(digest(key))
        if found is None:
            raise AccessError("expected a key of this service, got another, or one that was revoked.")
        return found

    def holder(self, hashed: str) -> Caller | None:
        """Return who has the key with this SHA-256; None where nobody has, or it was revoked."""
        with self._database.reading() as connection:
            row = connection.execute(sa.select(KEYS).where(KEYS.c.hash == hashed)).one_or_none()
        return None if row is None else Caller(row.name, row.role)
