"""Verification of a ledger: the chain of its entries, and whether its tables follow from them.

A `Verification` reads the entries in chunks, each in a transaction of its own, so that the service can continue. Memory
holds caps, totals, decisions, and requests without an answer.

Between two chunks, `entries` and `head` are the checkpoint: the number and hash of the last verified entry. It is kept
in memory only, because a checkpoint in a file could be forged.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.boundary.canonical import FIRST, canonical, digest
from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.errors import BudgetExceededError, LedgerError
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.ledger.accounts import WHOLE, all_so_far
from hedgerow.service.ledger.entry import Entry
from hedgerow.service.ledger.tables import ANSWERS, APPROVALS, CAPS, ENTRIES, ENTRY_INDEX, HEAD, REQUESTS, TOTALS
from hedgerow.text.messages import shown

Owner = tuple[str, int, str]
AT_ONCE = 1000  # entries per transaction
_UNCOMPARED = (
    "A restored backup without the newest entries would look the same. Compare the ledger with a head outside the "
    "database: add --config with the configuration of the service, or --head with a hash that you stored."
)
_INCOMPLETE = (
    "the ledger's index of entries is incomplete: an older version of hedgerow appended entries, or rows of the table "
    "entry_index were removed. The next start of the service rebuilds the index; then verify again."
)
_APART = timedelta(minutes=5)  # tolerated difference between clocks of processes


@dataclass(frozen=True)
class Verified:
    """Result of a successful verification."""

    entries: int  # number of entries
    head: str  # hash of the last entry; if stored, it reveals later whether entries were removed or replaced
    set_back: tuple[int, ...] = ()  # entries whose time is before the previous entry, beyond the tolerance
    is_compared: bool = False  # whether the ledger was compared with a head outside the database

    def __str__(self) -> str:
        if not self.entries:
            return "empty: nothing was declared or charged, or all entries are lost"
        state = "complete" if self.is_compared else "consistent, but not compared with a head"
        whole = f"{self.entries} entries, {state}; the last entry has the hash {self.head}"
        if not self.is_compared:
            whole += f"\n{_UNCOMPARED}"
        if not self.set_back:
            return whole
        entries = f"entry {self.set_back[0]}" + (f" and {more} more" if (more := len(self.set_back) - 1) else "")
        return f"{whole}\nwarning: a clock was set back before {entries}; expired keys may have been valid again"


_DECIDED: dict[tuple[str | None, str], str] = {
    (None, "approved"): "approved",
    (None, "refused"): "refused",
    ("approved", "withdrawn"): "refused",
    ("refused", "approved"): "approved",
}
"""State after a decision, by the previous state; None for a waiting question."""


@dataclass
class Total:
    """Sum of the charges to a cap."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = Fraction(0)  # None if the ρ of a charge is unknown

    def add(self, charge: Mapping[str, Any]) -> None:
        amounts = [None if charge[name] is None else parse_amount(charge[name]) for name in ("epsilon", "delta", "rho")]
        epsilon, delta, rho = amounts
        if epsilon is None or delta is None:
            raise ValueError
        self.epsilon, self.delta = self.epsilon + epsilon, self.delta + delta
        self.rho = None if rho is None or self.rho is None else self.rho + rho

    @property
    def texts(self) -> tuple[str, str, str | None]:
        return str(self.epsilon), str(self.delta), None if self.rho is None else str(self.rho)


@dataclass
class Replay:
    """Expected contents of the tables after some entries."""

    caps: dict[Owner, str] = field(default_factory=dict[Owner, str])
    totals: dict[Owner, Total] = field(default_factory=dict[Owner, Total])
    pending: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])  # rows of requests
    ended: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])  # not compared yet
    answers: dict[str, str] = field(default_factory=dict[str, str])  # not compared yet
    counts: dict[str, int] = field(default_factory=lambda: {"requests": 0, "answers": 0})
    approvals: dict[tuple[str, str, str], tuple[Any, ...]] = field(
        default_factory=dict[tuple[str, str, str], tuple[Any, ...]]
    )
    key: str | None = None
    time: datetime | None = None
    set_back: list[int] = field(default_factory=list[int])

    def take(self, entry: Entry) -> dict[str, Any]:
        """Apply the next entry, and return its index row; raise `LedgerError` if earlier entries do not allow it."""
        row: dict[str, Any] | None = None
        with suppress(KeyError, TypeError, AttributeError, ValueError):
            row = self._taken(entry)
        if row is None:
            raise LedgerError(f"the ledger is broken at entry {entry.sequence}: earlier entries do not allow it.")
        return row

    def _taken(self, entry: Entry) -> dict[str, Any]:
        data = entry.data
        about = self.pending.get(data.get("request", ""), data)
        getattr(self, f"_on_{entry.kind}")(data)
        time = datetime.fromisoformat(data["time"])
        if self.time is not None and self.time - time > _APART:
            self.set_back.append(entry.sequence)
        self.time = time
        spent: Sequence[Total] = ()
        if entry.kind == "reserved":
            spent = [self.totals[data["dataset"], data["epoch"], name] for name in (data["analyst"], WHOLE)]
        return index_row(entry.sequence, entry.kind, about, data, [(part.epsilon, part.rho) for part in spent])

    def _on_declared(self, data: dict[str, Any]) -> None:
        self._check_next(data["dataset"], data["epoch"])
        for name, caps in {WHOLE: data["cap"], **data["analysts"]}.items():
            owner = data["dataset"], data["epoch"], name
            self.caps[owner], self.totals[owner] = canonical(caps), Total()

    def _on_granted(self, data: dict[str, Any]) -> None:
        owner = data["dataset"], data["epoch"], data["name"]
        if owner in self.caps or (*owner[:2], WHOLE) not in self.caps:
            raise KeyError
        self.caps[owner], self.totals[owner] = canonical(data["cap"]), Total()

    def _on_decided(self, data: dict[str, Any]) -> None:
        subject = data["dataset"], data["analyst"], data["asked"]
        decided = self.approvals.get(subject)
        if decided is not None and decided[:3] != (data["number"], data["charge"], data["question"]):
            raise KeyError
        state = _DECIDED[None if decided is None else decided[3], data["decision"]]
        self.approvals[subject] = data["number"], data["charge"], data["question"], state

    def _on_reserved(self, data: dict[str, Any]) -> None:
        declared = json.loads(self.caps[data["dataset"], data["epoch"], WHOLE])
        if data["request"] in self.pending or data["charge"].get("unit") != declared.get("unit"):
            raise KeyError
        for name in (data["analyst"], WHOLE):
            self.totals[data["dataset"], data["epoch"], name].add(data["charge"])
        kept = {key: data[key] for key in ("analyst", "key", "body", "dataset", "epoch")}
        self.pending[data["request"]] = {**kept, "state": "reserved", "attempt": 1}
        Charge.parsed(data["charge"])  # raises an error if its facts are unknown
        self.counts["requests"] += 1

    def _on_retried(self, data: dict[str, Any]) -> None:
        self.pending[data["request"]]["attempt"] = data["attempt"]

    def _on_answered(self, data: dict[str, Any]) -> None:
        self._end(data["request"], "answered")
        self.answers[data["request"]] = data["answer"]
        self.counts["answers"] += 1

    def _on_failed(self, data: dict[str, Any]) -> None:
        self._end(data["request"], "failed")

    def _on_rotated(self, data: dict[str, Any]) -> None:
        if self.key not in (None, data["replaces"]):
            raise KeyError
        self.key = data["key"]

    def _on_accepted(self, _: dict[str, Any]) -> None:
        """Accept a loss of entries, which changes no table."""

    def _end(self, request: str, state: str) -> None:
        self.ended[request] = self.pending.pop(request) | {"state": state}

    def _check_next(self, dataset: str, epoch: int) -> None:
        """Raise KeyError unless an epoch is the next; a repeated declaration would hide its charges."""
        before = {number for name, number, _ in self.caps if name == dataset}
        if epoch != 1 + max(before, default=0):
            raise KeyError


def fill_index(connection: Connection, entries: int) -> None:
    """Rebuild the index if it is missing, or if an older version appended entries without it."""
    last = connection.execute(sa.select(sa.func.count(), sa.func.max(ENTRY_INDEX.c.sequence))).one()
    if tuple(last) == (entries, entries or None):
        return
    connection.execute(ENTRY_INDEX.delete())
    replay, previous, done = Replay(), FIRST, 0
    while done < entries:
        later = sa.select(ENTRIES).where(ENTRIES.c.sequence > done).order_by(ENTRIES.c.sequence).limit(AT_ONCE)
        rows = list[dict[str, Any]]()
        for row in connection.execute(later).all():
            entry = Entry.read(row.sequence, row.content, row.hash, previous)
            previous, done = entry.hash, entry.sequence
            rows.append(replay.take(entry))
        replay.ended, replay.answers = {}, {}
        if not rows:
            raise LedgerError(f"the ledger is broken: entry {done + 1} is missing.")
        connection.execute(ENTRY_INDEX.insert(), rows)


Spent = tuple[Fraction, Fraction | None]  # ε and, if it is known, ρ


def index_row(
    sequence: int, kind: str, about: Mapping[str, Any], data: Mapping[str, Any], spent: Sequence[Spent]
) -> dict[str, Any]:
    """Return the index row of an entry: the dataset and analyst it is `about`, and the amounts `spent` of both caps.

    The amounts are rounded, since they are used in charts only.
    """
    rounded = [None if amount is None else float(amount) for pair in spent for amount in pair] or [None] * 4
    named = dict(zip(("epsilon", "rho", "whole_epsilon", "whole_rho"), rounded, strict=True))
    part = {name: about.get(name) for name in ("dataset", "analyst")}
    return {"sequence": sequence, "kind": kind, "request": data.get("request"), **part, **named}


class Verification:
    """Verification of a ledger in progress."""

    def __init__(self) -> None:
        self.entries, self.head = 0, FIRST  # the last verified entry
        self._replay = Replay()

    def advance(self, connection: Connection) -> Verified | None:
        """Verify the next entries in a consistent state of the ledger; return the result after the last entry.

        Raises `LedgerError` if the ledger is broken. If the database fails, call it again: finished requests that are
        not compared yet are compared then.
        """
        later = sa.select(ENTRIES).where(ENTRIES.c.sequence > self.entries).order_by(ENTRIES.c.sequence)
        rows = connection.execute(later.limit(AT_ONCE)).all()
        indexed = _rows(connection, ENTRY_INDEX, self.entries, len(rows)) if _has_index(connection) else None
        previous, expected = self.head, list[dict[str, Any]]()
        for number, row in enumerate(rows, self.entries + 1):
            if row.sequence != number:
                raise LedgerError(f"the ledger is broken: entry {number} is missing.")
            entry = Entry.read(row.sequence, row.content, row.hash, previous)
            previous = entry.hash
            expected.append(self._replay.take(entry))
        if indexed is not None and len(indexed) < len(expected):
            raise LedgerError(_INCOMPLETE)
        if indexed not in (None, expected):
            raise _broken("entry_index")
        self.entries, self.head = self.entries + len(rows), previous
        self._check_ended(connection)
        return self._finished(connection) if len(rows) < AT_ONCE else None

    def _check_ended(self, connection: Connection) -> None:
        replay = self._replay
        if _requests(connection, replay.ended) != replay.ended:
            raise _broken("requests")
        if _digests(connection, replay.answers) != replay.answers:
            raise _broken("answers")
        replay.ended, replay.answers = {}, {}

    def _finished(self, connection: Connection) -> Verified:
        """Check the tables that follow from all entries, and return the result."""
        replay, head = self._replay, connection.execute(sa.select(HEAD.c.sequence, HEAD.c.hash)).one()
        for table, result, expected in (
            ("head", tuple(head), (self.entries, self.head)),
            ("caps", {_owner(row): row.caps for row in connection.execute(sa.select(CAPS))}, replay.caps),
            (
                "totals",
                {_owner(row): (row.epsilon, row.delta, row.rho) for row in connection.execute(sa.select(TOTALS))},
                {owner: total.texts for owner, total in replay.totals.items()},
            ),
            ("requests", _requests(connection, replay.pending), replay.pending),
            ("requests", _count(connection, REQUESTS), replay.counts["requests"]),
            ("answers", _count(connection, ANSWERS), replay.counts["answers"]),
            ("approvals", _decisions(connection), replay.approvals),
        ):
            if result != expected:
                raise _broken(table)
        if _has_index(connection) and _count(connection, ENTRY_INDEX) != self.entries:
            raise _broken("entry_index")
        for owner, total in replay.totals.items():
            if not _within(json.loads(replay.caps[owner]), total):
                problem = f"the charges to {shown(owner[0])} exceed a cap"
                raise LedgerError(f"the ledger is broken: {problem}.")
        return Verified(self.entries, self.head, tuple(replay.set_back))


def _broken(table: str) -> LedgerError:
    return LedgerError(f"the ledger is broken: its table of {table} does not follow from its entries.")


def _has_index(connection: Connection) -> bool:
    """Return whether there is an index; an older ledger gets an index when it is opened for writing."""
    return sa.inspect(connection).has_table(ENTRY_INDEX.name)


def _rows(connection: Connection, table: sa.Table, after: int, count: int) -> list[dict[str, Any]]:
    chosen = sa.select(table).where(table.c.sequence.between(after + 1, after + count)).order_by(table.c.sequence)
    return [dict(row) for row in connection.execute(chosen).mappings()]


def _requests(connection: Connection, names: Iterable[str]) -> dict[str, dict[str, Any]]:
    result = dict[str, dict[str, Any]]()
    for part in _parts(names):
        for row in connection.execute(sa.select(REQUESTS).where(REQUESTS.c.request.in_(part))).mappings():
            result[row["request"]] = {key: row[key] for key in row if key not in ("request", "run")}
    return result


def _digests(connection: Connection, names: Iterable[str]) -> dict[str, str]:
    result = dict[str, str]()
    for part in _parts(names):
        chosen = sa.select(ANSWERS).where(ANSWERS.c.request.in_(part))
        streamed = connection.execute(chosen, execution_options={"yield_per": 10})  # answers may be large
        result.update({row.request: digest(row.content) for row in streamed})
    return result


def _parts(names: Iterable[str]) -> Iterable[list[str]]:
    listed = list(names)
    return (listed[start : start + AT_ONCE] for start in range(0, len(listed), AT_ONCE))


def _count(connection: Connection, table: sa.Table) -> int:
    return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def _owner(row: Any) -> Owner:
    return row.dataset, row.epoch, row.analyst


def _decisions(connection: Connection) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    return {
        (row.dataset, row.analyst, row.asked): (row.number, json.loads(row.charge), digest(row.question), row.state)
        for row in connection.execute(sa.select(APPROVALS).where(APPROVALS.c.state != "pending"))
    }


def _within(caps: dict[str, Any], total: Total) -> bool:
    try:
        account = Account.of_caps(caps)
        for charge in all_so_far(**asdict(total)):
            account = account.charged(charge)
    except BudgetExceededError:
        return False
    return True
