"""The ledger's rules: charge, commit, then touch rows; one answer to one charge; no refund."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hedgerow.chain import FIRST, digest
from hedgerow.errors import (
    ArgumentError,
    BudgetExceededError,
    LedgerError,
    RequestConflictError,
    RequestFailedError,
    RequestRunningError,
    ServiceBusyError,
)
from hedgerow.messages import shown
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.unit import Unit
from hedgerow.service.ledger.accounts import account_of, check_unit, current_epoch, make_caps, owners, set_total
from hedgerow.service.ledger.caps import WHOLE, caps_data, check_shares
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.entry import Entry, Kind
from hedgerow.service.ledger.runs import begin_run
from hedgerow.service.ledger.tables import ANSWERS, ENTRIES, HEAD, REQUESTS
from hedgerow.service.ledger.verify import Verified, verified

_AT_ONCE = 500  # entries that are read in one transaction
_HEAD = sa.select(HEAD.c.sequence, HEAD.c.hash)
_KNOWN = sa.select(REQUESTS).where(REQUESTS.c.analyst == sa.bindparam("by"), REQUESTS.c.key == sa.bindparam("called"))
_FINISHED = (
    REQUESTS.update()
    .where(
        REQUESTS.c.request == sa.bindparam("ended"),
        REQUESTS.c.state == "reserved",
        REQUESTS.c.attempt == sa.bindparam("of_attempt"),
        REQUESTS.c.run == sa.bindparam("of_run"),
    )
    .values(state=sa.bindparam("to_state"))
)


@dataclass(frozen=True)
class Request:
    """What an analyst asks, as far as the ledger needs to know.

    Attributes
    ----------
    dataset, analyst : str
        Of which dataset, by whom.
    key : str
        The idempotency key: 1 to 200 characters that the analyst chooses anew for each question.
    body : str
        The SHA-256 of what is asked.
    charge : Charge
        What the answer costs.
    epoch : int or None
        The epoch whose rows would be touched; None for the current one, whichever it is.
    """

    dataset: str
    analyst: str
    key: str
    body: str
    charge: Charge
    epoch: int | None = None


@dataclass(frozen=True)
class Reserved:
    """A request that was charged, and is to be evaluated now, by this process.

    Attributes
    ----------
    request : str
        Its name in the ledger.
    attempt : int
        1, or 2 where an earlier answer did not get on disk.
    epoch : int
        The epoch of the dataset in which it was charged.
    entry : str
        The hash of the entry that charged it.
    """

    request: str
    attempt: int
    epoch: int
    entry: str


@dataclass(frozen=True)
class Answered:
    """A request that was answered before.

    Attributes
    ----------
    request : str
        Its name in the ledger.
    content : bytes
        The answer, as it was given.
    """

    request: str
    content: bytes


class Ledger:
    """What was charged to which dataset, by whom, and what was answered.

    Each change is one transaction, on disk before the call returns; any number of processes may share the database.

    Parameters
    ----------
    url : str
        ``sqlite:///ledger.db`` or ``postgresql://user@host/name``. The tables are made, or migrated.

    Raises
    ------
    LedgerError
        If the database cannot be opened.
    """

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self._run = begin_run(self._database)
        self._answering = set[str]()  # requests that this process evaluates

    def close(self) -> None:
        """End this process's run, and close the database."""
        self._run.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def declare(
        self,
        dataset: str,
        cap: Account,
        analysts: Mapping[str, Account],
        *,
        reason: str,
        oversubscribed: bool = False,
        unit: Unit | None = None,
    ) -> int:
        """Declare a new epoch of a dataset's rows, with its cap and those of its analysts; return its number, from 1.

        What was charged in earlier epochs stays there. A new epoch is for new rows: for the same ones it would be a
        second budget. All that is charged to it is charged for a `unit`; None for one row.

        Raises
        ------
        ValueError
            If the analysts' caps do not fit the dataset's; see `check_shares`.
        """
        check_shares(cap, analysts, oversubscribed=oversubscribed)
        with self._database.writing() as connection:
            epoch = 1 + (current_epoch(connection, dataset) or 0)
            declared = {name: caps_data(account) for name, account in analysts.items()}
            whole = caps_data(cap) | ({} if unit is None else {"unit": unit.to_dict()})
            self._append(
                connection,
                "declared",
                {
                    "dataset": dataset,
                    "epoch": epoch,
                    "cap": whole,
                    "analysts": declared,
                    "oversubscribed": oversubscribed,
                    "reason": reason,
                },
            )
            make_caps(connection, dataset, epoch, {WHOLE: whole, **declared})
        return epoch

    def grant(self, dataset: str, analyst: str, cap: Account, *, reason: str) -> None:
        """Give an analyst who has none a cap in a dataset's current epoch, out of what is not another's.

        Raises
        ------
        ValueError
            If the analyst has a cap, or all caps together do not fit the dataset's; see `check_shares`.
        LedgerError
            If there is no such dataset.
        """
        with self._database.writing() as connection:
            epoch = self._known_epoch(connection, dataset)
            shares = {name: account_of(connection, dataset, epoch, name) for name in owners(connection, dataset, epoch)}
            whole = shares.pop(WHOLE)
            if analyst in shares:
                raise ArgumentError(f"expected an analyst without a cap for {shown(dataset)}, got one with a cap.")
            declared = self._oversubscribed(connection, dataset, epoch)
            check_shares(whole, {**shares, analyst: cap}, oversubscribed=declared)
            data = {"dataset": dataset, "epoch": epoch, "name": analyst, "cap": caps_data(cap), "reason": reason}
            self._append(connection, "granted", data)
            make_caps(connection, dataset, epoch, {analyst: caps_data(cap)})

    def epoch(self, dataset: str) -> int | None:
        """Return the number of a dataset's current epoch; None if there is no such dataset."""
        with self._database.reading() as connection:
            return current_epoch(connection, dataset)

    def shares(self, dataset: str) -> dict[str, Account]:
        """Return the caps of a dataset's current epoch by analyst, the dataset's own under ``""``; with all charges.

        Empty if there is no such dataset.
        """
        with self._database.reading() as connection:
            epoch = current_epoch(connection, dataset)
            if epoch is None:
                return {}
            return {name: account_of(connection, dataset, epoch, name) for name in owners(connection, dataset, epoch)}

    def reserve(self, request: Request) -> Reserved | Answered:
        """Charge a request, unless it was charged before; the rows may be touched once this has returned `Reserved`.

        Returns
        -------
        Reserved or Answered
            `Answered`, with the same bytes, if the same request was answered.

        Raises
        ------
        BudgetExceededError
            If the dataset, or the analyst's share of it, has too little left; nothing is charged.
        RequestConflictError
            If the key is of an earlier request with another body; nothing is charged.
        RequestRunningError
            If it is being answered.
        RequestFailedError
            If it has failed, or was charged in another epoch than that of the rows, and got no answer there.
        ServiceBusyError
            If the dataset's current epoch is another than that of the rows; nothing is charged.
        LedgerError
            If there is no such dataset, or the analyst has no cap for it.
        """
        found: Reserved | Answered | None = None
        try:
            with self._database.writing() as connection:
                found = self._reserved(connection, request)
                if isinstance(found, Reserved):
                    self._answering.add(found.request)  # before anybody else can see it
        except BaseException:
            if isinstance(found, Reserved):
                self._answering.discard(found.request)
            raise
        if found is None:  # raised once the transaction, which may have noted the failure, has ended
            raise RequestFailedError(
                "the request was charged and has failed, which is final: it is not evaluated again; the charge stays."
            )
        return found

    def answer(self, reserved: Reserved, content: bytes) -> None:
        """Store the answer of a request, and mark it as answered, in one transaction. Only then may it be sent.

        Raises
        ------
        RequestRunningError
            If the request is not this process's to answer: it has ended, or another process has taken it over.
        """
        with self._ending(reserved), self._database.writing() as connection:
            self._finish(connection, reserved, "answered", {"answer": digest(content)})
            connection.execute(ANSWERS.insert().values(request=reserved.request, content=content))

    def fail(self, reserved: Reserved, reason: str) -> None:
        """Mark a request as failed, which is final; raises as `answer` does. The charge stays.

        Parameters
        ----------
        reserved : Reserved
            The request.
        reason : str
            Public: what failed, without any text that rows could have made.
        """
        with self._ending(reserved), self._database.writing() as connection:
            self._finish(connection, reserved, "failed", {"reason": reason})

    def put_down(self, reserved: Reserved) -> None:
        """Evaluate a request no further, and leave it charged: asked again, it is evaluated again."""
        self._answering.discard(reserved.request)

    def account(self, dataset: str, analyst: str = WHOLE) -> Account:
        """Return the caps of a dataset's current epoch, or of an analyst's share, with all charges so far as one.

        Raises
        ------
        LedgerError
            If there is none.
        """
        with self._database.reading() as connection:
            return account_of(connection, dataset, self._known_epoch(connection, dataset), analyst)

    def stored(self, analyst: str, request: str) -> bytes:
        """Return the answer of a request, as it was given to the analyst whose it is.

        Raises
        ------
        LedgerError
            If the analyst has no request of this name that was answered.
        """
        own = (REQUESTS.c.request == request) & (REQUESTS.c.analyst == analyst)
        with self._database.reading() as connection:
            joined = sa.select(ANSWERS.c.content).join_from(REQUESTS, ANSWERS, REQUESTS.c.request == ANSWERS.c.request)
            content = connection.execute(joined.where(own)).scalar_one_or_none()
        if content is None:
            raise LedgerError("expected an answered request of the analyst, got another name.")
        return content

    def entries(self, first: int = 1) -> Iterator[Entry]:
        """Yield all entries from the one with the number `first` on, in order, each checked against the one before.

        No transaction is open while the reader has an entry, however slow it is.

        Raises
        ------
        LedgerError
            Where the chain is broken.
        """
        expected, previous = first, FIRST if first == 1 else self._hash(first - 1)
        while True:
            with self._database.reading() as connection:
                later = sa.select(ENTRIES).where(ENTRIES.c.sequence >= expected).order_by(ENTRIES.c.sequence)
                rows = connection.execute(later.limit(_AT_ONCE)).all()
                head = connection.execute(_HEAD).one()
            for row in rows:
                if row.sequence != expected:
                    raise LedgerError(f"the ledger is broken: entry {expected} is missing.")
                entry = Entry.read(row.sequence, row.content, row.hash, previous)
                yield entry
                previous, expected = entry.hash, expected + 1
            if len(rows) < _AT_ONCE:
                break
        if tuple(head) != (expected - 1, previous):
            raise LedgerError(f"the ledger is broken: expected {head.sequence} entries, found {expected - 1}.")

    def verify(self) -> Verified:
        """Check the whole ledger: the chain of its entries, and that its tables are what they say.

        Raises
        ------
        LedgerError
            With what is broken.
        """
        with self._database.reading() as connection:
            return verified(connection)

    def _hash(self, sequence: int) -> str:
        """Return the hash of an entry."""
        with self._database.reading() as connection:
            named = sa.select(ENTRIES.c.hash).where(ENTRIES.c.sequence == sequence)
            found = connection.execute(named).scalar_one_or_none()
        if found is None:
            raise LedgerError(f"the ledger is broken: entry {sequence} is missing.")
        return found

    @contextmanager
    def _ending(self, reserved: Reserved) -> Generator[None]:
        """Evaluate a request no further, whether or not its end can be written."""
        try:
            yield
        finally:
            self.put_down(reserved)

    def _reserved(self, connection: Connection, request: Request) -> Reserved | Answered | None:
        """Charge a request, or return what becomes of it if it was charged before; None if it has failed."""
        known = connection.execute(_KNOWN, {"by": request.analyst, "called": request.key}).one_or_none()
        if known is None:
            return self._charge(connection, request)
        if (known.body, known.dataset) != (request.body, request.dataset):
            raise RequestConflictError(
                "expected the body that the idempotency key was first used with, got another. Nothing was charged. "
                "Use a new key for a new question."
            )
        return self._again(connection, known, request.epoch)

    def _is_answered_by(self, run: str, request: str) -> bool:
        """Return whether a request is being evaluated, here or by another process that is still there."""
        return request in self._answering if run == self._run.name else self._run.is_alive(run)

    def _known_epoch(self, connection: Connection, dataset: str) -> int:
        epoch = current_epoch(connection, dataset)
        if epoch is None:
            raise LedgerError(f"expected a dataset of the ledger, got {shown(dataset)}.")
        return epoch

    def _oversubscribed(self, connection: Connection, dataset: str, epoch: int) -> bool:
        """Return whether an epoch was declared as such."""
        found = (json.loads(row.content) for row in connection.execute(sa.select(ENTRIES.c.content)))
        return any(
            data["oversubscribed"]
            for data in found
            if data["kind"] == "declared" and (data["dataset"], data["epoch"]) == (dataset, epoch)
        )

    def _charge(self, connection: Connection, request: Request) -> Reserved:
        epoch, charge = self._known_epoch(connection, request.dataset), request.charge
        if request.epoch not in (None, epoch):
            raise ServiceBusyError(
                "a new epoch of the dataset was declared, and the service has its earlier rows; nothing was charged. "
                "Ask again once the curator has started it anew."
            )
        check_unit(connection, request.dataset, epoch, charge.unit)
        for owner in (request.analyst, WHOLE):
            account = account_of(connection, request.dataset, epoch, owner)
            try:
                spent = account.charged(replace(charge, unit=None))  # as all of the epoch
            except BudgetExceededError as error:
                error.cap = "dataset" if owner == WHOLE else "analyst"
                raise
            set_total(connection, request.dataset, epoch, owner, spent)
        name = str(uuid4())
        entry = self._append(
            connection,
            "reserved",
            {
                "request": name,
                "dataset": request.dataset,
                "epoch": epoch,
                "analyst": request.analyst,
                "key": request.key,
                "body": request.body,
                "charge": _charge_data(charge),
            },
        )
        connection.execute(
            REQUESTS.insert().values(
                request=name,
                analyst=request.analyst,
                key=request.key,
                body=request.body,
                dataset=request.dataset,
                epoch=epoch,
                state="reserved",
                attempt=1,
                run=self._run.name,
            )
        )
        return Reserved(name, 1, epoch, entry)

    def _again(self, connection: Connection, known: Row[Any], epoch: int | None) -> Reserved | Answered | None:
        """Return what becomes of a request that was charged before; None if it has failed."""
        if known.state == "answered":
            query = sa.select(ANSWERS.c.content).where(ANSWERS.c.request == known.request)
            return Answered(known.request, connection.execute(query).scalar_one())
        if known.state == "failed":
            return None
        if self._is_answered_by(known.run, known.request):
            raise RequestRunningError("the same request is being answered; ask again later, with the same key.")
        if epoch not in (None, known.epoch):
            ended = Reserved(known.request, known.attempt, known.epoch, "")
            reason = "no answer got on disk, and the rows are those of another epoch"
            self._finish(connection, ended, "failed", {"reason": reason}, run=known.run)
            return None
        attempt = 2  # however often: whoever asks does not pay for a process that ends
        self._append(connection, "retried", {"request": known.request, "attempt": attempt})
        connection.execute(
            REQUESTS.update().where(REQUESTS.c.request == known.request).values(attempt=attempt, run=self._run.name)
        )
        return Reserved(known.request, attempt, known.epoch, _charging_entry(connection, known.request))

    def _finish(
        self, connection: Connection, reserved: Reserved, state: Kind, data: dict[str, Any], *, run: str | None = None
    ) -> None:
        """Mark a request that is this run's, or that of a `run` that has ended, as answered or failed."""
        run = run or self._run.name
        ended = {"ended": reserved.request, "of_attempt": reserved.attempt, "of_run": run, "to_state": state}
        changed = connection.execute(_FINISHED, ended)
        if changed.rowcount != 1:
            raise RequestRunningError(
                "the request is not to be answered here: it has ended, or another process has taken it. Ask again, "
                "with the same key."
            )
        self._append(connection, state, {"request": reserved.request, **data})

    def _append(self, connection: Connection, kind: Kind, data: dict[str, Any]) -> str:
        """Append an entry, and return its hash."""
        head = connection.execute(_HEAD).one()
        entry = Entry.after(head.hash, head.sequence + 1, kind, datetime.now(UTC).isoformat(), data)
        head = {"sequence": entry.sequence, "hash": entry.hash}
        connection.execute(ENTRIES.insert(), {**head, "content": entry.content})
        connection.execute(HEAD.update(), head)
        return entry.hash


def _charging_entry(connection: Connection, request: str) -> str:
    """Return the hash of the entry that charged a request, by reading all that name it."""
    named = sa.select(ENTRIES.c.content, ENTRIES.c.hash).where(ENTRIES.c.content.contains(request))
    return next(row.hash for row in connection.execute(named) if json.loads(row.content)["kind"] == "reserved")


def _charge_data(charge: Charge) -> dict[str, Any]:
    return {
        "purpose": charge.purpose,
        "mechanism": charge.mechanism,
        "epsilon": str(charge.epsilon),
        "delta": str(charge.delta),
        "rho": None if charge.zcdp is None else str(charge.zcdp),
        **({} if charge.unit is None else {"unit": charge.unit.to_dict()}),
    }
