"""Approvals of a curator, who may want to see a question, or an analyst's first one, before it is charged."""

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Literal, get_args

import sqlalchemy as sa

from hedgerow.boundary.canonical import digest
from hedgerow.errors import ApprovalError, ArgumentError, QuestionError, ServiceBusyError
from hedgerow.service.ledger.log import Log
from hedgerow.service.ledger.tables import APPROVALS
from hedgerow.text.messages import shown

Approval = Literal["off", "first", "every"]
APPROVAL: tuple[Approval, ...] = get_args(Approval)
MOST_PENDING = 32  # the most questions of one analyst to one dataset that wait
LONGEST = 2**16  # the most characters of a question that somebody is to read
_OF_ALL = ""  # in place of a question's digest: what is approved is the analyst


@dataclass(frozen=True)
class Pending:
    """A question that waits for a curator."""

    number: int  # by which it is approved or refused
    dataset: str  # of which dataset, by whom
    analyst: str  # of which dataset, by whom
    purpose: str  # what is asked, and what it costs, in a line
    # The question itself, as JSON: columns, cuts and amounts, with the digest of a hypothesis in its place
    question: str

    def __str__(self) -> str:
        what = f"{self.number:>5}  {self.analyst} asks {self.dataset}: {self.purpose}"
        return f"{what}\n{indent(self.question, ' ' * 7)}"


class Approvals:
    """Decisions of a curator in the ledger's database; each is an entry of the ledger."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def require(self, kind: Approval, dataset: str, analyst: str, asked: str, purpose: str, question: str) -> None:
        """Check that a question is approved; one that was not seen before is noted, to be approved."""
        if kind == "off":
            return
        one = {"dataset": dataset, "analyst": analyst, "asked": asked if kind == "every" else _OF_ALL}
        if len(question) > LONGEST:
            raise QuestionError(f"expected a question of at most {LONGEST:,} characters, which a curator is to read.")
        noted = {"purpose": purpose, "question": question, "state": "pending"}
        with self._log.database.writing() as connection:
            query = sa.select(APPROVALS.c.state).where(*(APPROVALS.c[name] == value for name, value in one.items()))
            state = connection.execute(query).scalar_one_or_none()
            if state is None:
                self._check_room(connection, dataset, analyst)
                last = connection.execute(sa.select(sa.func.max(APPROVALS.c.number))).scalar_one() or 0
                connection.execute(APPROVALS.insert().values(**one, number=last + 1, **noted))
        if state == "refused":
            raise ApprovalError("the curator has refused this; nothing was charged.", refused=True)
        if state != "approved":
            problem = "the curator is to approve this first; nothing was charged"
            raise ApprovalError(f"{problem}. Ask the same again later, with the same key.", refused=False)

    def _check_room(self, connection: sa.Connection, dataset: str, analyst: str) -> None:
        waits = (APPROVALS.c.state == "pending", APPROVALS.c.dataset == dataset, APPROVALS.c.analyst == analyst)
        count = connection.execute(sa.select(sa.func.count()).select_from(APPROVALS).where(*waits)).scalar_one()
        if count >= MOST_PENDING:
            problem = "too many of your questions wait for the curator; nothing was charged"
            raise ServiceBusyError(f"{problem}. Ask again once some are decided.")

    def pending(self) -> Sequence[Pending]:
        shown_of = [APPROVALS.c[name] for name in ("number", "dataset", "analyst", "purpose", "question")]
        waits = sa.select(*shown_of).where(APPROVALS.c.state == "pending").order_by(APPROVALS.c.number)
        with self._log.database.reading() as connection:
            return [Pending(*row) for row in connection.execute(waits)]

    def decide(self, number: int, *, approved: bool, by: str) -> None:
        decision = "approved" if approved else "refused"
        waits = (APPROVALS.c.number == number) & (APPROVALS.c.state == "pending")
        with self._log.changing() as connection:
            row = connection.execute(sa.select(APPROVALS).where(waits)).one_or_none()
            if row is not None:
                data = {name: getattr(row, name) for name in ("dataset", "analyst", "asked", "number", "purpose")}
                data |= {"question": digest(row.question), "decision": decision, "by": by}
                self._log.append(connection, "decided", data)
                connection.execute(APPROVALS.update().where(waits).values(state=decision))
        if row is None:
            raise ArgumentError(f"expected the number of a question that waits, got {shown(number)}.")
