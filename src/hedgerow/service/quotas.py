"""Quotas for the storage of an analyst in the ledger, and the disk space reserved for charged questions.

Both are checked in the transaction that charges a question, before the charge, so that concurrent questions cannot
exceed them. The privacy budget does not limit storage: a question with a tiny ε stores as much as any other.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.errors import QuotaExceededError, ServiceBusyError
from hedgerow.service.ledger.tables import SIZES

MIB = 2**20
_COPIES = 3  # of an answer, at most: in the ledger's file, in the write-ahead log, and rounded up to whole pages


@dataclass(frozen=True)
class Quota:
    """Limits of an analyst over all datasets and epochs."""

    questions: int = 10_000  # the maximum number of charged questions, and therefore of idempotency keys
    stored_bytes: int = 1024 * MIB  # the maximum size of stored answers with their receipts


@dataclass(frozen=True)
class Quotas:
    """Quotas of all analysts, and the reserve of disk space."""

    default: Quota = Quota()
    analysts: Mapping[str, Quota] = field(default_factory=dict[str, Quota])
    disk_reserve: int = 256 * MIB  # bytes that new questions leave free on the disk of a ledger in SQLite

    def check(self, connection: Connection, analyst: str, size: int) -> None:
        """Raise `QuotaExceededError` if a further question, with an answer of `size` bytes, exceeds a quota."""
        quota, (questions, stored) = self._of(analyst), _used(connection, analyst)
        if questions >= quota.questions:
            raise QuotaExceededError("questions", limit=quota.questions, used=questions)
        if stored + size > quota.stored_bytes:
            raise QuotaExceededError("stored_bytes", limit=quota.stored_bytes, used=stored, requested=size)

    def has_room(self, connection: Connection, ledger: Path | None, size: int) -> bool:
        """Return whether the answers of this and all charged questions leave the disk reserve free.

        The disk of a PostgreSQL server is not checked.
        """
        if ledger is None:
            return True
        needed = _COPIES * (unfinished_bytes(connection) + size)
        return shutil.disk_usage(ledger.absolute().parent).free >= self.disk_reserve + needed

    def check_disk(self, connection: Connection, ledger: Path | None, size: int) -> None:
        """Raise `ServiceBusyError` if the answers of this and all charged questions would use the disk reserve."""
        if not self.has_room(connection, ledger, size):
            problem = "the disk of the ledger is nearly full; the remaining space is reserved for charged questions"
            raise ServiceBusyError(
                f"{problem}. Send the request again later with the same idempotency key, or contact the curator."
            )

    def described(self, connection: Connection, analyst: str) -> dict[str, Any]:
        """Return the limits and the usage of an analyst."""
        quota, (questions, stored) = self._of(analyst), _used(connection, analyst)
        return {
            "questions": {"limit": quota.questions, "used": questions},
            "stored_bytes": {"limit": quota.stored_bytes, "used": stored},
        }

    def _of(self, analyst: str) -> Quota:
        return self.analysts.get(analyst, self.default)


def unfinished_bytes(connection: Connection) -> int:
    """Return the maximum size in bytes of all answers that are still in progress."""
    query = sa.select(sa.func.coalesce(sa.func.sum(SIZES.c.bytes), 0)).where(SIZES.c.is_unfinished)
    return int(connection.execute(query).scalar_one())


def _used(connection: Connection, analyst: str) -> tuple[int, int]:
    """Return an analyst's number of questions and the bytes that are stored or reserved for their answers."""
    query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(SIZES.c.bytes), 0))
    questions, stored = connection.execute(query.where(SIZES.c.analyst == analyst)).one()
    return int(questions), int(stored)
