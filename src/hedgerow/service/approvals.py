"""Approvals of a curator, who may want to see a question, or an analyst's first one, before it is charged."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent
from typing import Any, Literal

import sqlalchemy as sa

from hedgerow.boundary.canonical import canonical, digest
from hedgerow.errors import ApprovalError, ArgumentError, QuestionError, ServiceBusyError
from hedgerow.privacy.charge import Charge
from hedgerow.service.ledger.entry import cost_text
from hedgerow.service.ledger.log import Log
from hedgerow.service.ledger.tables import APPROVALS
from hedgerow.text.messages import shown

Approval = Literal["off", "first", "every"]
MOST_PENDING = 32  # the most questions of one analyst to one dataset that wait
LONGEST = 2**16  # the most characters of a question that somebody is to read
_MOST_LISTED = 200  # approvals in force
Decision = Literal["approved", "refused", "withdrawn"]
_BEFORE: dict[Decision, tuple[str, ...]] = {
    "approved": ("pending", "refused"),
    "refused": ("pending",),
    "withdrawn": ("approved",),
}
"""States in which a decision can be taken. A withdrawn approval leaves the question refused."""


def subject(kind: Approval, epoch: int | None, key: str, asked: str) -> str:
    """Return what an approval covers: an analyst's questions about one epoch, or one question about it."""
    return f"epoch {epoch}" if kind == "first" else digest(f"{epoch}\n{key}\n{asked}")


@dataclass(frozen=True)
class ApprovalRequest:
    """A question that a curator is to approve, or has approved."""

    number: int  # by which it is decided about
    dataset: str  # of which dataset, by whom
    analyst: str  # of which dataset, by whom
    charge: str  # what is asked, and what it costs: data of a charge as canonical JSON
    # The question itself, as JSON: columns, cuts and amounts, with the digest of a hypothesis in its place
    question: str

    @property
    def cost(self) -> str:
        """What is asked, and what it costs, in a line."""
        return cost_text(json.loads(self.charge))

    def __str__(self) -> str:
        what = f"{self.number:>5}  {self.analyst} asks {self.dataset}: {self.cost}"
        return f"{what}\n{indent(self.question, ' ' * 7)}"


class Approvals:
    """Decisions of a curator in the ledger's database; each is an entry of the ledger."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def require(self, dataset: str, analyst: str, asked: str, charge: Charge, question: str) -> None:
        """Check that a question is approved; one that was not seen before is noted, to be approved."""
        if len(question) > LONGEST:
            raise QuestionError(f"expected a question of at most {LONGEST:,} characters, which a curator is to read.")
        noted = {"charge": canonical(charge.exact_dict()), "question": question, "state": "pending"}
        one = {"dataset": dataset, "analyst": analyst, "asked": asked}
        with self._log.database.writing() as connection:
            state = _state(connection, dataset, analyst, asked)
            if state is None:
                self._check_room(connection, dataset, analyst)
                last = connection.execute(sa.select(sa.func.max(APPROVALS.c.number))).scalar_one() or 0
                connection.execute(APPROVALS.insert().values(**one, number=last + 1, **noted))
        _check_approved(state)

    def check(self, connection: sa.Connection, dataset: str, analyst: str, asked: str) -> None:
        """Check, in the transaction that charges a question, that its approval is not withdrawn."""
        _check_approved(_state(connection, dataset, analyst, asked))

    def _check_room(self, connection: sa.Connection, dataset: str, analyst: str) -> None:
        waits = (APPROVALS.c.state == "pending", APPROVALS.c.dataset == dataset, APPROVALS.c.analyst == analyst)
        count = connection.execute(sa.select(sa.func.count()).select_from(APPROVALS).where(*waits)).scalar_one()
        if count >= MOST_PENDING:
            problem = "too many of your questions wait for the curator; nothing was charged"
            raise ServiceBusyError(f"{problem}. Ask again once some are decided.")

    def pending(self) -> Sequence[ApprovalRequest]:
        """Return the questions that wait, the oldest first."""
        return self._listed("pending", APPROVALS.c.number)

    def approved(self) -> Sequence[ApprovalRequest]:
        """Return the newest approvals in force, which can be withdrawn, the newest first."""
        return self._listed("approved", APPROVALS.c.number.desc(), _MOST_LISTED)

    def _listed(self, state: str, order: Any, most: int | None = None) -> Sequence[ApprovalRequest]:
        columns = [APPROVALS.c[name] for name in ("number", "dataset", "analyst", "charge", "question")]
        query = sa.select(*columns).where(APPROVALS.c.state == state).order_by(order).limit(most)
        with self._log.database.reading() as connection:
            return [ApprovalRequest(*row) for row in connection.execute(query)]

    def decide(self, decisions: Mapping[int, Decision], *, by: str) -> None:
        """Take decisions by number, all or none; each is an entry of the ledger.

        A withdrawal holds for every question whose charge is not committed; a question that was charged before goes
        on, and its answer can be asked for again.
        """
        with self._log.changing() as connection:
            for number, decision in decisions.items():
                self._decide(connection, number, decision, by)

    def _decide(self, connection: sa.Connection, number: int, decision: Decision, by: str) -> None:
        fits = (APPROVALS.c.number == number) & APPROVALS.c.state.in_(_BEFORE[decision])
        row = connection.execute(sa.select(APPROVALS).where(fits)).one_or_none()
        if row is None:
            states = " or ".join(_BEFORE[decision])
            problem = f"expected the number of a question that is {states}, to be {decision}, got {shown(number)}"
            raise ArgumentError(f"{problem}. Nothing was decided.")
        data = {name: getattr(row, name) for name in ("dataset", "analyst", "asked", "number")}
        data |= {"charge": json.loads(row.charge), "question": digest(row.question), "decision": decision, "by": by}
        self._log.append(connection, "decided", data)
        state = "refused" if decision == "withdrawn" else decision
        connection.execute(APPROVALS.update().where(fits).values(state=state))


def _state(connection: sa.Connection, dataset: str, analyst: str, asked: str) -> str | None:
    one = {"dataset": dataset, "analyst": analyst, "asked": asked}
    query = sa.select(APPROVALS.c.state).where(*(APPROVALS.c[name] == value for name, value in one.items()))
    return connection.execute(query).scalar_one_or_none()


def _check_approved(state: str | None) -> None:
    if state == "refused":
        raise ApprovalError("the curator has refused this or withdrawn the approval.", refused=True)
    if state != "approved":
        problem = "the curator has to approve this first"
        raise ApprovalError(f"{problem}. Ask the same again later, with the same idempotency key.", refused=False)
