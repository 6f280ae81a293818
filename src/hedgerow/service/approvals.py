"""Approvals: a curator may want to see a question, or an analyst's first one, before it is charged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import sqlalchemy as sa

from hedgerow.errors import ApprovalError, ArgumentError, ServiceBusyError
from hedgerow.messages import shown
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.tables import APPROVALS

Approval = Literal["off", "first", "every"]
APPROVAL: tuple[Approval, ...] = get_args(Approval)
MOST_PENDING = 32
"""The most questions of one analyst to one dataset that wait."""
_OF_ALL = ""  # in place of a question's digest: what is approved is the analyst


@dataclass(frozen=True)
class Pending:
    """A question that waits for a curator.

    Attributes
    ----------
    number : int
        By which it is approved or refused.
    dataset, analyst : str
        Of which dataset, by whom.
    purpose : str
        What is asked, and what it costs.
    state : {"pending", "approved", "refused"}
        What became of it.
    """

    number: int
    dataset: str
    analyst: str
    purpose: str
    state: str

    def __str__(self) -> str:
        return f"{self.number:>5}  {self.state:<8}  {self.analyst} asks {self.dataset}: {self.purpose}"


class Approvals:
    """What a curator has approved, in the ledger's database.

    Parameters
    ----------
    url : str
        The database.

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

    def require(self, kind: Approval, dataset: str, analyst: str, asked: str, purpose: str) -> None:
        """Check that a question is approved; one that was not seen before is noted, to be approved.

        Parameters
        ----------
        kind : {"off", "first", "every"}
            Whether nothing, an analyst's first question to a dataset, or every one is to be approved.
        dataset, analyst : str
            Of which dataset, by whom.
        asked : str
            The digest of the question with its idempotency key.
        purpose : str
            What is asked and what it costs, for the curator to read.

        Raises
        ------
        ApprovalError
            If it waits, or was refused. Nothing is charged.
        ServiceBusyError
            If too many of the analyst's questions wait. Nothing is charged, and this one is not noted.
        """
        if kind == "off":
            return
        one = {"dataset": dataset, "analyst": analyst, "asked": asked if kind == "every" else _OF_ALL}
        with self._database.writing() as connection:
            query = sa.select(APPROVALS.c.state).where(*(APPROVALS.c[name] == value for name, value in one.items()))
            state = connection.execute(query).scalar_one_or_none()
            if state is None:
                self._check_room(connection, dataset, analyst)
                last = connection.execute(sa.select(sa.func.max(APPROVALS.c.number))).scalar_one() or 0
                connection.execute(APPROVALS.insert().values(**one, number=last + 1, purpose=purpose, state="pending"))
        if state == "refused":
            raise ApprovalError("the curator has refused this; nothing was charged.", refused=True)
        if state != "approved":
            raise ApprovalError(
                "the curator is to approve this first; nothing was charged. Ask the same again later, with the same "
                "key.",
                refused=False,
            )

    def _check_room(self, connection: sa.Connection, dataset: str, analyst: str) -> None:
        waits = (APPROVALS.c.state == "pending", APPROVALS.c.dataset == dataset, APPROVALS.c.analyst == analyst)
        count = connection.execute(sa.select(sa.func.count()).select_from(APPROVALS).where(*waits)).scalar_one()
        if count >= MOST_PENDING:
            raise ServiceBusyError(
                "too many of your questions wait for the curator; nothing was charged. Ask again once some are decided."
            )

    def pending(self) -> Sequence[Pending]:
        """Return the questions that wait, the oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                sa.select(APPROVALS).where(APPROVALS.c.state == "pending").order_by(APPROVALS.c.number)
            )
            return [Pending(row.number, row.dataset, row.analyst, row.purpose, row.state) for row in rows]

    def decide(self, number: int, *, approved: bool) -> None:
        """Approve or refuse a question that waits.

        Raises
        ------
        ValueError
            If none of that number waits.
        """
        state = "approved" if approved else "refused"
        with self._database.writing() as connection:
            waits = (APPROVALS.c.number == number) & (APPROVALS.c.state == "pending")
            changed = connection.execute(APPROVALS.update().where(waits).values(state=state)).rowcount
        if not changed:
            raise ArgumentError(f"expected the number of a question that waits, got {shown(number)}.")
