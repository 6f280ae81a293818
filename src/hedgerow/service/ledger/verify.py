"""Verification: the chain of a ledger, and whether its tables are what its entries say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.errors import LedgerError
from hedgerow.privacy.amounts import total
from hedgerow.service.ledger.caps import WHOLE
from hedgerow.service.ledger.entry import FIRST, Entry, canonical, digest
from hedgerow.service.ledger.tables import ANSWERS, CAPS, ENTRIES, HEAD, REQUESTS, TOTALS
from hedgerow.untrusted_text import parse_amount

Owner = tuple[str, int, str]


@dataclass(frozen=True)
class Verified:
    """A ledger that is whole.

    Attributes
    ----------
    entries : int
        How many entries it has.
    head : str
        The hash of the last one. Who keeps it can tell later whether entries were cut off or made anew.
    """

    entries: int
    head: str

    def __str__(self) -> str:
        return f"{self.entries} entries, whole; the last has the hash {self.head or 'of nothing'}"


@dataclass
class _Replay:
    """What the tables should hold after some entries."""

    caps: dict[Owner, str] = field(default_factory=dict[Owner, str])
    charges: dict[Owner, list[dict[str, Any]]] = field(default_factory=dict[Owner, list[dict[str, Any]]])
    requests: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    answers: dict[str, str] = field(default_factory=dict[str, str])

    def take(self, entry: Entry) -> None:
        """Take in the next entry; raises KeyError for one that cannot come here."""
        data = entry.data
        if entry.kind == "declared":
            for name, caps in {WHOLE: data["cap"], **data["analysts"]}.items():
                owner = data["dataset"], data["epoch"], name
                self.caps[owner], self.charges[owner] = canonical(caps), []
        elif entry.kind == "granted":
            owner = data["dataset"], data["epoch"], data["name"]
            self.caps[owner], self.charges[owner] = canonical(data["cap"]), []
        elif entry.kind == "reserved":
            for name in (data["analyst"], WHOLE):
                self.charges[data["dataset"], data["epoch"], name].append(data["charge"])
            kept = {key: data[key] for key in ("analyst", "key", "body", "dataset", "epoch")}
            self.requests[data["request"]] = {**kept, "state": "reserved", "attempt": 1}
        else:
            request = self.requests[data["request"]]
            if request["state"] != "reserved":
                raise KeyError
            request |= {"attempt": data["attempt"]} if entry.kind == "retried" else {"state": entry.kind}
            if entry.kind == "answered":
                self.answers[data["request"]] = data["answer"]


def verified(connection: Connection) -> Verified:
    """Return what a ledger's entries come to, if they and its tables are whole.

    Raises
    ------
    LedgerError
        With the first entry, or the table, that is not.
    """
    replay, previous, count = _Replay(), FIRST, 0
    for row in connection.execute(sa.select(ENTRIES).order_by(ENTRIES.c.sequence)).yield_per(1000):
        count += 1
        if row.sequence != count:
            raise LedgerError(f"the ledger is broken: entry {count} is missing.")
        entry = Entry.read(row.sequence, row.content, row.hash, previous)
        previous = entry.hash
        if not _taken(replay, entry):
            raise LedgerError(f"the ledger is broken at entry {count}: nothing that came before allows it.")
    _check_tables(connection, replay, (count, previous))
    return Verified(count, previous)


def _taken(replay: _Replay, entry: Entry) -> bool:
    try:
        replay.take(entry)
    except (KeyError, TypeError, AttributeError):
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
    }
    expected = {
        "head": head,
        "caps": replay.caps,
        "totals": {owner: _sums(charges) for owner, charges in replay.charges.items()},
        "requests": replay.requests,
        "answers": replay.answers,
    }
    for table, held in expected.items():
        if found[table] != held:
            raise LedgerError(f"the ledger is broken: its table of {table} is not what its entries say.")


def _sums(charges: list[dict[str, Any]]) -> tuple[str, str, str | None]:
    epsilon, delta = (str(total(parse_amount(charge[name]) for charge in charges)) for name in ("epsilon", "delta"))
    known = [parse_amount(charge["rho"]) for charge in charges if charge["rho"] is not None]
    return epsilon, delta, str(total(known)) if len(known) == len(charges) else None
