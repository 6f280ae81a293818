"""History of a ledger: datasets, requests with their states, and spending over time."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.service.ledger.entry import Entry
from hedgerow.service.ledger.ledger import Ledger

Currency = Literal["epsilon", "rho"]


@dataclass(frozen=True)
class Declared:
    """The current epoch of a dataset."""

    name: str  # the dataset
    epoch: int  # its number, from 1
    time: str  # when it was declared (ISO 8601, UTC)
    reason: str  # why these rows have this cap
    oversubscribed: bool  # whether the analysts' caps may add up to more than the dataset's


@dataclass(frozen=True)
class Asked:
    """A request that was charged."""

    request: str  # its name in the ledger; when, of which dataset, by whom, and what was asked
    time: str  # its name in the ledger; when, of which dataset, by whom, and what was asked
    dataset: str  # its name in the ledger; when, of which dataset, by whom, and what was asked
    analyst: str  # its name in the ledger; when, of which dataset, by whom, and what was asked
    purpose: str  # its name in the ledger; when, of which dataset, by whom, and what was asked
    epoch: int  # the epoch of the dataset
    epsilon: Fraction  # the charge
    delta: Fraction  # the charge
    rho: Fraction | None  # its ρ, where that is known
    state: str = "reserved"  # what became of it

    @classmethod
    def read(cls, data: dict[str, Any]) -> Asked:
        """Read what an entry of the kind ``reserved`` holds."""
        charge = data["charge"]
        return cls(
            data["request"],
            data["time"],
            data["dataset"],
            data["analyst"],
            charge["purpose"],
            data["epoch"],
            parse_amount(charge["epsilon"]),
            parse_amount(charge["delta"]),
            None if charge["rho"] is None else parse_amount(charge["rho"]),
        )


class History:
    """A ledger's entries, read once each: every reading goes on where the last one ended."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._lock = ledger, threading.Lock()
        self._count = 0
        self._datasets = dict[str, Declared]()
        self._asked = dict[str, Asked]()

    def read(self) -> None:
        """Take in the entries that are new."""
        with self._lock:
            for entry in self._ledger.entries(self._count + 1):
                self._take(entry)
                self._count = entry.sequence

    @property
    def count(self) -> int:
        """The number of entries that were read."""
        return self._count

    def datasets(self) -> list[Declared]:
        """Return the datasets by name."""
        with self._lock:
            return [self._datasets[name] for name in sorted(self._datasets)]

    def asked(self, *, analyst: str | None = None, dataset: str | None = None) -> list[Asked]:
        """Return the requests, newest first; those of an analyst, or of a dataset, alone where one is given."""
        with self._lock:
            found = reversed(self._asked.values())
            return [one for one in found if analyst in (None, one.analyst) and dataset in (None, one.dataset)]

    def _take(self, entry: Entry) -> None:
        data = entry.data
        if entry.kind == "declared":
            facts = data["epoch"], data["time"], data["reason"], data["oversubscribed"]
            self._datasets[data["dataset"]] = Declared(data["dataset"], *facts)
        elif entry.kind == "reserved":
            self._asked[data["request"]] = Asked.read(data)
        elif entry.kind in ("answered", "failed"):
            self._asked[data["request"]] = replace(self._asked[data["request"]], state=entry.kind)


def spending(asked: list[Asked], epoch: int, currency: Currency) -> Iterator[tuple[datetime, Fraction]]:
    """Yield when something was charged in an epoch, and what was spent by then, oldest first."""
    spent = Fraction(0)
    for one in reversed(asked):
        amount = one.epsilon if currency == "epsilon" else one.rho
        if one.epoch == epoch and amount is not None:
            spent += amount
            yield datetime.fromisoformat(one.time), spent
