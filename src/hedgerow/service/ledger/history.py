"""Pages and summaries of a ledger's entries, by its index; their cost does not grow with the number of entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from hedgerow.errors import QuestionError
from hedgerow.privacy.amounts import read_amounts
from hedgerow.privacy.facts import Fact
from hedgerow.service.ledger.entry import Entry
from hedgerow.service.ledger.log import Log
from hedgerow.service.ledger.tables import ENTRIES, ENTRY_INDEX, REQUESTS

Currency = Literal["epsilon", "rho"]
MOST_POINTS = 200  # the maximum number of points of a chart
_CHARGES = ENTRY_INDEX.c.kind == "reserved"
_STORED = sa.select(ENTRIES.c.sequence, ENTRIES.c.content, ENTRIES.c.hash).join_from(
    ENTRY_INDEX, ENTRIES, ENTRY_INDEX.c.sequence == ENTRIES.c.sequence
)


@dataclass(frozen=True)
class Declared:
    """Current epoch of a dataset."""

    name: str  # the dataset
    epoch: int  # number, from 1
    time: str  # time of the declaration (ISO 8601, UTC)
    reason: str  # why these rows have this cap
    oversubscribed: bool  # whether the analysts' caps may add up to more than the dataset's
    sequence: int  # the entry that declares it


@dataclass(frozen=True)
class ChargedRequest:
    """Charged request."""

    request: str  # id in the ledger
    time: str  # time of the charge (ISO 8601, UTC)
    dataset: str
    analyst: str
    query: Fact  # the release
    epoch: int  # epoch of the dataset
    epsilon: Fraction
    delta: Fraction
    rho: Fraction | None  # None if unknown
    state: str = "reserved"  # afterwards "answered" or "failed"

    @classmethod
    def read(cls, data: dict[str, Any], state: str) -> ChargedRequest:
        named = {name: data[name] for name in ("request", "time", "dataset", "analyst", "epoch")}
        return cls(
            **named, query=Fact.from_dict(data["charge"]["query"], "query"), **read_amounts(data["charge"]), state=state
        )


@dataclass(frozen=True)
class Share:
    """Requests of an analyst about a dataset."""

    count: int
    last: str  # time of the last charge


class History:
    """Queries of the entries of a ledger."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def datasets(self) -> list[Declared]:
        """Return the current epoch of each dataset, by name."""
        last = sa.select(sa.func.max(ENTRY_INDEX.c.sequence)).where(ENTRY_INDEX.c.kind == "declared")
        chosen = sa.select(ENTRIES).where(ENTRIES.c.sequence.in_(last.group_by(ENTRY_INDEX.c.dataset)))
        with self._log.database.reading() as connection:
            entries = [Entry.stored(*row) for row in connection.execute(chosen)]
        facts = ("epoch", "time", "reason", "oversubscribed")
        datasets = [
            Declared(name=entry.data["dataset"], sequence=entry.sequence, **{name: entry.data[name] for name in facts})
            for entry in entries
        ]
        return sorted(datasets, key=lambda dataset: dataset.name)

    def asked(
        self, *, analyst: str | None = None, dataset: str | None = None, before: str | None = None, limit: int = 50
    ) -> list[ChargedRequest]:
        """Return up to `limit` requests, newest first, that were charged before the request `before`."""
        # A condition on the kind only would make the database sort all requests.
        chosen = [ENTRY_INDEX.c.whole_epsilon.is_not(None), *_about(analyst, dataset)]
        if dataset is not None:
            chosen.append(_CHARGES)
        joined = sa.select(ENTRIES, REQUESTS.c.state).select_from(
            ENTRY_INDEX.join(ENTRIES, ENTRY_INDEX.c.sequence == ENTRIES.c.sequence).join(
                REQUESTS, ENTRY_INDEX.c.request == REQUESTS.c.request
            )
        )
        with self._log.database.reading() as connection:
            if before is not None:
                chosen.append(ENTRY_INDEX.c.sequence < self._charged(connection, before, analyst))
            rows = connection.execute(joined.where(*chosen).order_by(ENTRY_INDEX.c.sequence.desc()).limit(limit)).all()
        return [ChargedRequest.read(Entry.stored(*row[:3]).data, row.state) for row in rows]

    def count(self, *, analyst: str | None = None, dataset: str | None = None) -> int:
        """Return the number of charged requests."""
        chosen = sa.select(sa.func.count()).select_from(ENTRY_INDEX).where(_CHARGES, *_about(analyst, dataset))
        with self._log.database.reading() as connection:
            return connection.execute(chosen).scalar_one()

    def shares(self, dataset: str) -> dict[str, Share]:
        """Return the number and last time of requests about a dataset, by analyst."""
        index = ENTRY_INDEX.c
        grouped = sa.select(index.analyst, sa.func.count().label("asked"), sa.func.max(index.sequence).label("last"))
        chosen = grouped.where(_CHARGES, index.dataset == dataset).group_by(index.analyst)
        with self._log.database.reading() as connection:
            rows = connection.execute(chosen).all()
            times = _times(connection, [row.last for row in rows])
        return {row.analyst: Share(row.asked, times[row.last]) for row in rows}

    def spending(self, declared: Declared, analyst: str | None, currency: Currency) -> list[tuple[datetime, float]]:
        """Return the amounts spent in an epoch after each charge, or after a sample of many charges."""
        name = currency if analyst is not None else f"whole_{currency}"
        spent = sa.select(ENTRY_INDEX.c.sequence, ENTRY_INDEX.c[name]).where(_CHARGES, *_about(analyst, declared.name))
        later = spent.where(ENTRY_INDEX.c.sequence > declared.sequence).order_by(ENTRY_INDEX.c.sequence)
        with self._log.database.reading() as connection:
            points = connection.execute(later.limit(MOST_POINTS + 1)).all()
            if len(points) > MOST_POINTS:
                points = _sample(connection, spent, points[0].sequence)
            times = _times(connection, [row.sequence for row in points])
        return [(datetime.fromisoformat(times[number]), amount) for number, amount in points if amount is not None]

    def page(self, analyst: str | None, after: str | None, limit: int) -> list[Entry]:
        """Return up to `limit` entries, of an analyst or of all, after the entry with the hash `after`."""
        with self._log.database.reading() as connection:
            first = 0 if after is None else self._place(connection, after, analyst)
            later = _STORED.where(*_about(analyst, None), ENTRY_INDEX.c.sequence > first)
            rows = connection.execute(later.order_by(ENTRY_INDEX.c.sequence).limit(limit)).all()
        return [Entry.stored(*row) for row in rows]

    def _place(self, connection: Connection, hashed: str, analyst: str | None) -> int:
        result = connection.execute(_STORED.where(ENTRIES.c.hash == hashed, *_about(analyst, None))).one_or_none()
        if result is None:
            raise QuestionError("`after` must be the hash of an entry that you have received.")
        return result.sequence

    def _charged(self, connection: Connection, request: str, analyst: str | None) -> int:
        """Return the number of the entry that charged a request, or 0 if the caller may not see it."""
        chosen = sa.select(ENTRY_INDEX.c.sequence).where(_CHARGES, ENTRY_INDEX.c.request == request)
        return connection.execute(chosen.where(*_about(analyst, None))).scalar_one_or_none() or 0


def _about(analyst: str | None, dataset: str | None) -> list[sa.ColumnElement[bool]]:
    named = {"analyst": analyst, "dataset": dataset}
    return [ENTRY_INDEX.c[name] == value for name, value in named.items() if value is not None]


def _sample(connection: Connection, chosen: sa.Select[Any, Any], first: int) -> Sequence[Any]:
    """Return charges at even distances, including the first and the last."""
    number = ENTRY_INDEX.c.sequence
    last = connection.execute(chosen.order_by(number.desc()).limit(1)).one().sequence
    steps = [(first + step * (last - first) // MOST_POINTS,) for step in range(MOST_POINTS)]
    places = sa.values(sa.column("at", sa.BigInteger), name="places").data(steps).cte()
    # With two bounds, SQLite may seek by the lower bound and read all charges up to the other.
    later = chosen.with_only_columns(number).where(number >= places.c.at).order_by(number).limit(1)
    numbers = connection.execute(sa.select(later.correlate(places).scalar_subquery()).select_from(places)).scalars()
    return connection.execute(chosen.where(number.in_({*numbers, last})).order_by(number)).all()


def _times(connection: Connection, sequences: Sequence[int]) -> dict[int, str]:
    rows = connection.execute(sa.select(ENTRIES).where(ENTRIES.c.sequence.in_(sequences)))
    return {row.sequence: Entry.stored(*row).data["time"] for row in rows}
