"""Entries of a ledger: canonical JSON, each with the hash of the previous entry."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

from hedgerow.boundary.canonical import broken_link, canonical, digest, exported
from hedgerow.boundary.untrusted_text import parse_json
from hedgerow.errors import LedgerError
from hedgerow.privacy.facts import Fact
from hedgerow.text.values import printable

EntryKind = Literal[
    "declared",
    "granted",
    "decided",
    "reserved",
    "retried",
    "answered",
    "failed",
    "rotated",
    "accepted",
]
_PLACE = ("sequence", "previous", "salt", "number")  # these would show how many entries other analysts have


@dataclass(frozen=True)
class Entry:
    """Entry of a ledger."""

    sequence: int  # number, from 1
    kind: EntryKind
    content: str  # canonical JSON, including the hash of the previous entry
    hash: str  # SHA-256 of `content`

    @classmethod
    def after(cls, previous: str, sequence: int, kind: EntryKind, time: str, data: dict[str, Any]) -> Self:
        whole = {**data, "previous": previous, "sequence": sequence, "kind": kind, "time": time}
        content = canonical(whole)
        return cls(sequence, kind, content, digest(content))

    @classmethod
    def read(cls, sequence: int, content: str, stored: str, previous: str) -> Self:
        data: dict[str, Any] = {}
        try:
            data = parse_json(content)
            intact = canonical(data) == content and data["sequence"] == sequence
            if intact and broken_link([(data, stored)], previous) is None:
                return cls(sequence, data["kind"], content, stored)
        except (ValueError, KeyError, TypeError, AttributeError, LedgerError):
            pass
        raise LedgerError(f"the ledger is broken at entry {sequence}: it does not continue the previous entry.")

    @classmethod
    def stored(cls, sequence: int, content: str, stored: str) -> Self:
        """Read a single entry and check its own hash, but not that it continues the previous entry."""
        previous = json.loads(content)["previous"] if digest(content) == stored else ""
        return cls.read(sequence, content, stored, previous)

    @property
    def data(self) -> dict[str, Any]:
        return json.loads(self.content)

    @property
    def line(self) -> str:
        return exported(self.content, self.hash)

    @property
    def own_line(self) -> str:
        kept = {name: value for name, value in self.data.items() if name not in _PLACE}
        return exported(canonical(kept), self.hash)

    def __str__(self) -> str:
        data = self.data
        request = f" {data['request'][:8]}" if "request" in data else ""
        return printable(f"{self.sequence:>6}  {data['time'][:19]}  {self.kind:<8}{request}  {_WHAT[self.kind](data)}")

    @property
    def what(self) -> str:
        return printable(_WHAT[self.kind](self.data))


def cost_text(charge: dict[str, Any]) -> str:
    """Return the query and the amounts of a charge in words."""
    delta = f", delta {charge['delta']}" if charge["delta"] != "0" else ""
    return f"{Fact.from_dict(charge['query'], 'query').words}, epsilon {charge['epsilon']}{delta}"


def _asks(data: dict[str, Any]) -> str:
    return f"{data['analyst']} asks {data['dataset']}: {cost_text(data['charge'])}"


def _decided(data: dict[str, Any]) -> str:
    return f"{data['decision']} by {data['by']}: {_asks(data)}"


def _lost(data: dict[str, Any]) -> str:
    if data.get("new"):
        return f"a new ledger replaced one of at least {data['head']['sequence']} entries, whose charges are lost"
    head = "there was no head" if data["head"] is None else f"the head was entry {data['head']['sequence']}"
    return f"a rollback was accepted, which may have lost charges: {head}"


_WHAT: dict[EntryKind, Callable[[dict[str, Any]], str]] = {
    "declared": lambda data: f"epoch {data['epoch']} of {data['dataset']}: {data['reason']}",
    "granted": lambda data: f"{data['name']} has a cap for {data['dataset']}: {data['reason']}",
    "decided": _decided,
    "reserved": _asks,
    "retried": lambda data: f"attempt {data['attempt']}",
    "answered": lambda data: f"answer {data['answer'][:12]}",
    "failed": lambda data: data["reason"],
    "rotated": lambda data: f"signing key {data['key']} replaces {data['replaces']}",
    "accepted": _lost,
}
