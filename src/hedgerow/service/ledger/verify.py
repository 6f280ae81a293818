"""Verification: the chain of a ledger, and whether its tables are what its entries say."""

import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.boundary.canonical import FIRST, canonical, digest
from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.errors import BudgetExceededError, LedgerError
from hedgerow.privacy.charge import total
from hedgerow.service.ledger.accounts import WHOLE, all_so_far, read_amounts, read_caps
from hedgerow.service.ledger.entry import Entry
from hedgerow.service.ledger.tables import ANSWERS, APPROVALS, CAPS, ENTRIES, HEAD, REQUESTS, TOTALS
from hedgerow.text.messages import shown

Owner = tuple[str, int, str]
_UNCOMPARED = (
    "A restored backup or dump lacks the newest entries and looks the same. Compare with the head that is kept outside "
    "the database: give --config with the configuration of the service, or --head with a hash that you kept."
)
_APART = timedelta(minutes=5)  # as far may clocks of processes be apart


@dataclass(frozen=True)
class Verified:
    """A ledger that is whole."""

    entries: int  # how many entries it has
    head: str  # the hash of the last one. Who keeps it can tell later whether entries were cut off or made anew.
    set_back: tuple[int, ...] = ()  # the entries that are earlier than the one before, by more than clocks differ
    is_compared: bool = False  # whether a head that is kept outside the database was compared

    def __str__(self) -> str:
        if not self.entries:
            return "empty: nothing was declared or charged, or all of it is lost"
        state = "whole" if self.is_compared else "consistent, but not compared with a head"
        whole = f"{self.entries} entries, {state}; the last has the hash {self.head}"
        if not self.is_compared:
            whole += f"\n{_UNCOMPARED}"
        if not self.set_back:
            return whole
        where = f"entry {self.set_back[0]}" + (f" and {more} more" if (more := len(self.set_back) - 1) else "")
        return f"{whole}\nwarning: a clock was set back before {where}: ended keys may have opened the service again"


_DECIDED: dict[tuple[str | None, str], str] = {
    (None, "approved"): "approved",
    (None, "refused"): "refused",
    ("approved", "withdrawn"): "refused",
    ("refused", "approved"): "approved",
}
"""State after a decision, by the state before; None for a question that waits."""


@dataclass
class _Replay:
    """Expected contents of the tables after some entries."""

    caps: dict[Owner, str] = field(default_factory=dict[Owner, str])
    charges: dict[Owner, list[dict[str, Any]]] = field(default_factory=dict[Owner, list[dict[str, Any]]])
    requests: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    answers: dict[str, str] = field(default_factory=dict[str, str])
    approvals: dict[tuple[str, str, str], tuple[Any, ...]] = field(
        default_factory=dict[tuple[str, str, str], tuple[Any, ...]]
    )
    key: str | None = None
    time: datetime | None = None
    set_back: list[int] = field(default_factory=list[int])

    def take(self, entry: Entry) -> None:
        data = entry.data
        getattr(self, f"_on_{entry.kind}")(data)
        time = datetime.fromisoformat(data["time"])
        if self.time is not None and self.time - time > _APART:
            self.set_back.append(entry.sequence)
        self.time = time

    def _on_declared(self, data: dict[str, Any]) -> None:
        self._check_next(data["dataset"], data["epoch"])
        for name, caps in {WHOLE: data["cap"], **data["analysts"]}.items():
            owner = data["dataset"], data["epoch"], name
            self.caps[owner], self.charges[owner] = canonical(caps), []

    def _on_granted(self, data: dict[str, Any]) -> None:
        owner = data["dataset"], data["epoch"], data["name"]
        if owner in self.caps or (*owner[:2], WHOLE) not in self.caps:
            raise KeyError
        self.caps[owner], self.charges[owner] = canonical(data["cap"]), []

    def _on_decided(self, data: dict[str, Any]) -> None:
        asked = data["dataset"], data["analyst"], data["asked"]
        decided = self.approvals.get(asked)
        if decided is not None and decided[:3] != (data["number"], data["purpose"], data["question"]):
            raise KeyError
        state = _DECIDED[None if decided is None else decided[3], data["decision"]]
        self.approvals[asked] = data["number"], data["purpose"], data["question"], state

    def _on_reserved(self, data: dict[str, Any]) -> None:
        declared = json.loads(self.caps[data["dataset"], data["epoch"], WHOLE])
        if data["request"] in self.requests or data["charge"].get("unit") != declared.get("unit"):
            raise KeyError
        _sums([data["charge"]])
        for name in (data["analyst"], WHOLE):
            self.charges[data["dataset"], data["epoch"], name].append(data["charge"])
        kept = {key: data[key] for key in ("analyst", "key", "body", "dataset", "epoch")}
        self.requests[data["request"]] = {**kept, "state": "reserved", "attempt": 1}

    def _on_retried(self, data: dict[str, Any]) -> None:
        self._charged(data)["attempt"] = data["attempt"]

    def _on_answered(self, data: dict[str, Any]) -> None:
        self._charged(data)["state"] = "answered"
        self.answers[data["request"]] = data["answer"]

    def _on_failed(self, data: dict[str, Any]) -> None:
        self._charged(data)["state"] = "failed"

    def _on_rotated(self, data: dict[str, Any]) -> None:
        if self.key not in (None, data["replaces"]):
            raise KeyError
        self.key = data["key"]

    def _on_accepted(self, _: dict[str, Any]) -> None:
        """Take in that entries were lost: what is here is all that is known."""

    def _charged(self, data: dict[str, Any]) -> dict[str, Any]:
        request = self.requests[data["request"]]
        if request["state"] != "reserved":
            raise KeyError
        return request

    def _check_next(self, dataset: str, epoch: int) -> None:
        """Raise KeyError for an epoch that does not come next: declared again, its charges would be forgotten."""
        before = {number for name, number, _ in self.caps if name == dataset}
        if epoch != 1 + max(before, default=0):
            raise KeyError


def verified(connection: Connection) -> Verified:
    """Return what a ledger's entries come to, if they and its tables are whole."""
    replay, previous, count = _Replay(), FIRST, 0
    for row in connection.execute(sa.select(ENTRIES).order_by(ENTRIES.c.sequence)).yield_per(1000):
        count += 1
        if row.sequence != count:
            raise LedgerError(f"the ledger is broken: entry {count} is missing.")
        entry = Entry.read(row.sequence, row.content, row.hash, previous)
        previous = entry.hash
        if not _taken(replay, entry):
            raise LedgerError(f"the ledger is broken at entry {count}: no earlier entry allows it.")
    _check_tables(connection, replay, (count, previous))
    for owner, charges in replay.charges.items():
        if not _within(json.loads(replay.caps[owner]), charges):
            raise LedgerError(f"the ledger is broken: more was charged to {shown(owner[0])} than a cap of it allows.")
    return Verified(count, previous, tuple(replay.set_back))


def _taken(replay: _Replay, entry: Entry) -> bool:
    try:
        replay.take(entry)
    except (KeyError, TypeError, AttributeError, ValueError):
        return False
    return True


def _check_tables(connection: Connection, replay: _Replay, head: tuple[int, str]) -> None:
    found = {
        "head": tuple(connection.execute(sa.select(HEAD.c.sequence, HEAD.c.hash)).one()),
        "caps": {(row.dataset, row.epoch, row.analyst): row.caps for row in connection.execute(sa.select(CAPS))},
        "totals": {
            (row.dataset, row.epoch, row.analyst): (row.epsilon, row.delta, row.rho)
            for row in connection.execute(sa.select(TOTALS))
        },
        "requests": {
            row["request"]: {key: row[key] for key in row if key not in ("request", "run")}
            for row in connection.execute(sa.select(REQUESTS)).mappings()
        },
        "answers": {row.request: digest(row.content) for row in connection.execute(sa.select(ANSWERS))},
        "approvals": {
            (row.dataset, row.analyst, row.asked): (row.number, row.purpose, digest(row.question), row.state)
            for row in connection.execute(sa.select(APPROVALS).where(APPROVALS.c.state != "pending"))
        },
    }
    expected = {
        "head": head,
        "caps": replay.caps,
        "totals": {owner: _sums(charges) for owner, charges in replay.charges.items()},
        "requests": replay.requests,
        "answers": replay.answers,
        "approvals": replay.approvals,
    }
    for table, held in expected.items():
        if found[table] != held:
            raise LedgerError(f"the ledger is broken: its table of {table} is not what its entries say.")


def _within(caps: dict[str, Any], charges: list[dict[str, Any]]) -> bool:
    spent = read_amounts(dict(zip(("epsilon", "delta", "rho"), _sums(charges), strict=True)))
    try:
        account = read_caps(caps)
        for charge in all_so_far(**spent):
            account = account.charged(charge)
    except BudgetExceededError:
        return False
    return True


def _sums(charges: list[dict[str, Any]]) -> tuple[str, str, str | None]:
    epsilon, delta = (str(total(parse_amount(charge[name]) for charge in charges)) for name in ("epsilon", "delta"))
    known = [parse_amount(charge["rho"]) for charge in charges if charge["rho"] is not None]
    return epsilon, delta, str(total(known)) if len(known) == len(charges) else None
