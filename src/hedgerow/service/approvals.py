"""Approvals of questions by the curator before they are charged."""

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
MOST_PENDING = 32  # waiting questions of an analyst about a dataset
LONGEST = 2**16  # characters of a question that a curator reads
_MOST_LISTED = 200  # approvals in force
Decision = Literal["approved", "refused", "withdrawn"]
_BEFORE: dict[Decision, tuple[str, ...]] = {
    "approved": ("pending", "refused"),
    "refused": ("pending",),
    "withdrawn": ("approved",),
}
"""States in which a decision can be taken. A withdrawn approval leaves the question refused."""


def subject(kind: Approval, epoch: int | None, key: str, asked: str) -> str:
    """Return the subject of an approval: all questions of an analyst in an epoch, or a single question."""
    return f"epoch {epoch}" if kind == "first" else digest(f"{epoch}\n{key}\n{asked}")


@dataclass(frozen=True)
class ApprovalRequest:
    """Question that waits for approval or was approved."""

    number: int  # identifies it in decisions
    dataset: str
    analyst: str
    charge: str  # the charge as canonical JSON
    # The question as JSON: columns, cuts and amounts; a hypothesis is replaced by its digest
    question: str

    @property
    def cost(self) -> str:
        """The question and its cost in a line."""
        return cost_text(json.loads(self.charge))

    def __str__(self) -> str:
        line = f"{self.number:>5}  {self.analyst} asks {self.dataset}: {self.cost}"
        return f"{line}\n{indent(self.question, ' ' * 7)}"


class Approvals:
    """Decisions of the curator in the ledger's database; each decision is an entry of the ledger."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def require(self, dataset: str, analyst: str, asked: str, charge: Charge, question: str) -> None:
        """Raise `ApprovalError` unless a question is approved; store a new question for approval."""
        if len(question) > LONGEST:
            raise QuestionError(
                f"a question that needs approval may have at most {LONGEST:,} characters, got {len(question):,}."
            )
        noted = {"charge": canonical(charge.exact_dict()), "question": question, "state": "pending"}
        identity = {"dataset": dataset, "analyst": analyst, "asked": asked}
        with self._log.database.writing() as connection:
            state = _state(connection, dataset, analyst, asked)
            if state is None:
                self._check_room(connection, dataset, analyst)
                last = connection.execute(sa.select(sa.func.max(APPROVALS.c.number))).scalar_one() or 0
                connection.execute(APPROVALS.insert().values(**identity, number=last + 1, **noted))
        _check_approved(state)

    def check(self, connection: sa.Connection, dataset: str, analyst: str, asked: str) -> None:
        """Raise `ApprovalError` unless the question is still approved when it is charged."""
        _check_approved(_state(connection, dataset, analyst, asked))

    def _check_room(self, connection: sa.Connection, dataset: str, analyst: str) -> None:
        waits = (APPROVALS.c.state == "pending", APPROVALS.c.dataset == dataset, APPROVALS.c.analyst == analyst)
        count = connection.execute(sa.select(sa.func.count()).select_from(APPROVALS).where(*waits)).scalar_one()
        if count >= MOST_PENDING:
            problem = "too many of your questions are waiting for approval; nothing was charged"
            raise ServiceBusyError(f"{problem}. Send the request again when the curator has decided some of them.")

    def pending(self) -> Sequence[ApprovalRequest]:
        """Return the questions that wait for approval, oldest first."""
        return self._listed("pending", APPROVALS.c.number)

    def approved(self) -> Sequence[ApprovalRequest]:
        """Return the newest valid approvals, newest first."""
        return self._listed("approved", APPROVALS.c.number.desc(), _MOST_LISTED)

    def _listed(self, state: str, order: Any, most: int | None = None) -> Sequence[ApprovalRequest]:
        columns = [APPROVALS.c[name] for name in ("number", "dataset", "analyst", "charge", "question")]
        query = sa.select(*columns).where(APPROVALS.c.state == state).order_by(order).limit(most)
        with self._log.database.reading() as connection:
            return [ApprovalRequest(*row) for row in connection.execute(query)]

    def decide(self, decisions: Mapping[int, Decision], *, by: str) -> None:
        """Record decisions by number, all or none; each is an entry of the ledger.

        A withdrawal applies to questions whose charge is not committed yet. Questions that were charged before are
        answered, and their answers stay available.
        """
        with self._log.changing() as connection:
            for number, decision in decisions.items():
                self._decide(connection, number, decision, by)

    def _decide(self, connection: sa.Connection, number: int, decision: Decision, by: str) -> None:
        fits = (APPROVALS.c.number == number) & APPROVALS.c.state.in_(_BEFORE[decision])
        row = connection.execute(sa.select(APPROVALS).where(fits)).one_or_none()
        if row is None:
            states = " or ".join(_BEFORE[decision])
            problem = f"{shown(number)} is not the number of a question that is {states}, so it cannot be {decision}"
            raise ArgumentError(f"{problem}. Nothing was decided.")
        data = {name: getattr(row, name) for name in ("dataset", "analyst", "asked", "number")}
        data |= {"charge": json.loads(row.charge), "question": digest(row.question), "decision": decision, "by": by}
        self._log.append(connection, "decided", data)
        state = "refused" if decision == "withdrawn" else decision
        connection.execute(APPROVALS.update().where(fits).values(state=state))


def _state(connection: sa.Connection, dataset: str, analyst: str, asked: str) -> str | None:
    identity = {"dataset": dataset, "analyst": analyst, "asked": asked}
    query = sa.select(APPROVALS.c.state).where(*(APPROVALS.c[name] == value for name, value in identity.items()))
    return connection.execute(query).scalar_one_or_none()


def _check_approved(state: str | None) -> None:
    if state == "refused":
        raise ApprovalError("the curator has refused this question or withdrawn its approval.", refused=True)
    if state != "approved":
        problem = "the curator must approve this question first"
        raise ApprovalError(f"{problem}. Send it again later with the same idempotency key.", refused=False)
