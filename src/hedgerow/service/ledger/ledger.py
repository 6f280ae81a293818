"""The ledger's rules: charge, commit, then touch rows; one answer to one charge; no refund."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, Self
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hedgerow.errors import (
    ArgumentError,
    BudgetExceededError,
    LedgerError,
    RequestConflictError,
    RequestFailedError,
    RequestRunningError,
)
from hedgerow.messages import shown
from hedgerow.privacy.account import Account
from hedgerow.privacy.charge import Charge
from hedgerow.service.ledger.caps import WHOLE, caps_data, check_shares, read_caps
from hedgerow.service.ledger.database import Database
from hedgerow.service.ledger.entry import FIRST, Entry, Kind, canonical, digest
from hedgerow.service.ledger.runs import begin_run
from hedgerow.service.ledger.tables import ANSWERS, CAPS, ENTRIES, HEAD, REQUESTS, TOTALS
from hedgerow.service.ledger.verify import Verified, verified
from hedgerow.untrusted_text import parse_amount

MOST_ATTEMPTS = 2
"""How often a request is evaluated: once, and once more where the process ended before it had answered."""


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
    """

    dataset: str
    analyst: str
    key: str
    body: str
    charge: Charge


@dataclass(frozen=True)
class Reserved:
    """A request that was charged, and is to be evaluated now, by this process.

    Attributes
    ----------
    request : str
        Its name in the ledger.
    attempt : int
        1, or 2 where an earlier process ended before it had answered.
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
    ) -> int:
        """Declare a new epoch of a dataset's rows, with its cap and those of its analysts; return its number, from 1.

        What was charged in earlier epochs stays there. A new epoch is for new rows: for the same ones it would be a
        second budget.

        Raises
        ------
        ValueError
            If the analysts' caps do not fit the dataset's; see `check_shares`.
        """
        check_shares(cap, analysts, oversubscribed=oversubscribed)
        with self._database.writing() as connection:
            epoch = 1 + (self._epoch(connection, dataset) or 0)
            declared = {name: caps_data(account) for name, account in analysts.items()}
            self._append(
                connection,
                "declared",
                {
                    "dataset": dataset,
                    "epoch": epoch,
                    "cap": caps_data(cap),
                    "analysts": declared,
                    "oversubscribed": oversubscribed,
                    "reason": reason,
                },
            )
            _make_caps(connection, dataset, epoch, {WHOLE: caps_data(cap), **declared})
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
            shares = {name: _account(connection, dataset, epoch, name) for name in _owners(connection, dataset, epoch)}
            whole = shares.pop(WHOLE)
            if analyst in shares:
                raise ArgumentError(f"expected an analyst without a cap for {shown(dataset)}, got one with a cap.")
            declared = self._oversubscribed(connection, dataset, epoch)
            check_shares(whole, {**shares, analyst: cap}, oversubscribed=declared)
            data = {"dataset": dataset, "epoch": epoch, "name": analyst, "cap": caps_data(cap), "reason": reason}
            self._append(connection, "granted", data)
            _make_caps(connection, dataset, epoch, {analyst: caps_data(cap)})

    def shares(self, dataset: str) -> dict[str, Account]:
        """Return the caps of a dataset's current epoch by analyst, the dataset's own under ``""``; with all charges.

        Empty if there is no such dataset.
        """
        with self._database.reading() as connection:
            epoch = self._epoch(connection, dataset)
            if epoch is None:
                return {}
            return {name: _account(connection, dataset, epoch, name) for name in _owners(connection, dataset, epoch)}

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
            If it has failed.
        LedgerError
            If there is no such dataset, or the analyst has no cap for it.
        """
        with self._database.writing() as connection:
            known = connection.execute(
                sa.select(REQUESTS).where(REQUESTS.c.analyst == request.analyst, REQUESTS.c.key == request.key)
            ).one_or_none()
            if known is None:
                return self._charge(connection, request)
            if (known.body, known.dataset) != (request.body, request.dataset):
                raise RequestConflictError(
                    "expected the body that the idempotency key was first used with, got another. Nothing was charged. "
                    "Use a new key for a new question."
                )
            found = self._again(connection, known)
        if found is None:  # raised once the transaction, which may have noted the failure, has ended
            raise RequestFailedError(
                "the request was charged and has failed, which is final: it is not evaluated again; the charge stays."
            )
        return found

    def answer(self, reserved: Reserved, content: bytes) -> None:
        """Store the answer of a request, and mark it as answered, in one transaction. Only then may it be sent.

        Raises
        ------
        LedgerError
            If the request is not this process's to answer: it has been answered, or taken over by another.
        """
        with self._database.writing() as connection:
            self._finish(connection, reserved, "answered", {"answer": digest(content)})
            connection.execute(ANSWERS.insert().values(request=reserved.request, content=content))

    def fail(self, reserved: Reserved, reason: str) -> None:
        """Mark a request as failed, which is final. The charge stays.

        Parameters
        ----------
        reserved : Reserved
            The request.
        reason : str
            Public: what failed, without any text that rows could have made.
        """
        with self._database.writing() as connection:
            self._finish(connection, reserved, "failed", {"reason": reason})

    def account(self, dataset: str, analyst: str = WHOLE) -> Account:
        """Return the caps of a dataset's current epoch, or of an analyst's share, with all charges so far as one.

        Raises
        ------
        LedgerError
            If there is none.
        """
        with self._database.reading() as connection:
            return _account(connection, dataset, self._known_epoch(connection, dataset), analyst)

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

        Raises
        ------
        LedgerError
            Where the chain is broken.
        """
        expected = first
        with self._database.reading() as connection:
            before = sa.select(ENTRIES.c.hash).where(ENTRIES.c.sequence == first - 1)
            previous = FIRST if first == 1 else connection.execute(before).scalar_one_or_none()
            if previous is None:
                raise LedgerError(f"the ledger is broken: entry {first - 1} is missing.")
            later = sa.select(ENTRIES).where(ENTRIES.c.sequence >= first).order_by(ENTRIES.c.sequence)
            for row in connection.execute(later).yield_per(1000):
                if row.sequence != expected:
                    raise LedgerError(f"the ledger is broken: entry {expected} is missing.")
                entry = Entry.read(row.sequence, row.content, row.hash, previous)
                yield entry
                previous, expected = entry.hash, expected + 1
            head = connection.execute(sa.select(HEAD.c.sequence, HEAD.c.hash)).one()
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

    def _epoch(self, connection: Connection, dataset: str) -> int | None:
        return connection.execute(sa.select(sa.func.max(CAPS.c.epoch)).where(CAPS.c.dataset == dataset)).scalar_one()

    def _known_epoch(self, connection: Connection, dataset: str) -> int:
        epoch = self._epoch(connection, dataset)
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
        for owner in (request.analyst, WHOLE):
            account = _account(connection, request.dataset, epoch, owner)
            try:
                spent = account.charged(charge)
            except BudgetExceededError as error:
                error.cap = "dataset" if owner == WHOLE else "analyst"
                raise
            _set_total(connection, request.dataset, epoch, owner, spent)
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

    def _again(self, connection: Connection, known: Row[Any]) -> Reserved | Answered | None:
        """Return what becomes of a request that was charged before; None if it has failed."""
        if known.state == "answered":
            query = sa.select(ANSWERS.c.content).where(ANSWERS.c.request == known.request)
            return Answered(known.request, connection.execute(query).scalar_one())
        if known.state == "failed":
            return None
        if self._run.is_alive(known.run):
            raise RequestRunningError("the same request is being answered; ask again later, with the same key.")
        if known.attempt == MOST_ATTEMPTS:
            self._finish(
                connection,
                Reserved(known.request, known.attempt, known.epoch, ""),
                "failed",
                {"reason": f"the process ended before it had answered, {MOST_ATTEMPTS} times"},
                run=known.run,
            )
            return None
        attempt = known.attempt + 1
        self._append(connection, "retried", {"request": known.request, "attempt": attempt})
        connection.execute(
            REQUESTS.update().where(REQUESTS.c.request == known.request).values(attempt=attempt, run=self._run.name)
        )
        return Reserved(known.request, attempt, known.epoch, _charging_entry(connection, known.request))

    def _finish(
        self, connection: Connection, reserved: Reserved, state: Kind, data: dict[str, Any], *, run: str | None = None
    ) -> None:
        """Mark a request that is this run's, or that of a `run` that has ended, as answered or failed."""
        changed = connection.execute(
            REQUESTS.update()
            .where(
                REQUESTS.c.request == reserved.request,
                REQUESTS.c.state == "reserved",
                REQUESTS.c.attempt == reserved.attempt,
                REQUESTS.c.run == (run or self._run.name),
            )
            .values(state=state)
        )
        if changed.rowcount != 1:
            raise LedgerError("the request is not to be answered here: it has ended, or another process has taken it.")
        self._append(connection, state, {"request": reserved.request, **data})

    def _append(self, connection: Connection, kind: Kind, data: dict[str, Any]) -> str:
        """Append an entry, and return its hash."""
        head = connection.execute(sa.select(HEAD.c.sequence, HEAD.c.hash)).one()
        entry = Entry.after(head.hash, head.sequence + 1, kind, datetime.now(UTC).isoformat(), data)
        connection.execute(ENTRIES.insert().values(sequence=entry.sequence, content=entry.content, hash=entry.hash))
        connection.execute(HEAD.update().values(sequence=entry.sequence, hash=entry.hash))
        return entry.hash


def _charging_entry(connection: Connection, request: str) -> str:
    """Return the hash of the entry that charged a request, by reading all that name it."""
    named = sa.select(ENTRIES.c.content, ENTRIES.c.hash).where(ENTRIES.c.content.contains(request))
    return next(row.hash for row in connection.execute(named) if json.loads(row.content)["kind"] == "reserved")


def _owners(connection: Connection, dataset: str, epoch: int) -> list[str]:
    """Return who has a cap in an epoch, the dataset itself included."""
    owned = sa.select(CAPS.c.analyst).where(CAPS.c.dataset == dataset, CAPS.c.epoch == epoch)
    return list(connection.execute(owned.order_by(CAPS.c.analyst)).scalars())


def _make_caps(connection: Connection, dataset: str, epoch: int, caps: Mapping[str, dict[str, Any]]) -> None:
    for analyst, data in caps.items():
        owner = {"dataset": dataset, "epoch": epoch, "analyst": analyst}
        connection.execute(CAPS.insert().values(**owner, caps=canonical(data)))
        connection.execute(TOTALS.insert().values(**owner, epsilon="0", delta="0", rho="0"))


def _account(connection: Connection, dataset: str, epoch: int, analyst: str) -> Account:
    """Return the caps, with all charges so far as one; raises LedgerError if the analyst has none."""
    owner = CAPS.c.dataset == dataset, CAPS.c.epoch == epoch, CAPS.c.analyst == analyst
    columns = CAPS.c.caps, TOTALS.c.epsilon, TOTALS.c.delta, TOTALS.c.rho
    joined = (CAPS.c.dataset == TOTALS.c.dataset) & (CAPS.c.epoch == TOTALS.c.epoch)
    joined = joined & (CAPS.c.analyst == TOTALS.c.analyst)
    row = connection.execute(sa.select(*columns).join_from(CAPS, TOTALS, joined).where(*owner)).one_or_none()
    if row is None:
        raise LedgerError(f"expected an analyst with a cap for {shown(dataset)}, got one without.")
    caps = read_caps(json.loads(row.caps))
    spent = Charge("all so far", parse_amount(row.epsilon), parse_amount(row.delta), rho=_amount(row.rho))
    return Account(caps.epsilon, caps.delta, (spent,), caps.rho, caps.accounting)


def _amount(text: str | None) -> Fraction | None:
    return None if text is None else parse_amount(text)


def _set_total(connection: Connection, dataset: str, epoch: int, analyst: str, account: Account) -> None:
    rho = account.spent_rho
    connection.execute(
        TOTALS.update()
        .where(TOTALS.c.dataset == dataset, TOTALS.c.epoch == epoch, TOTALS.c.analyst == analyst)
        .values(epsilon=str(account.spent), delta=str(account.spent_delta), rho=None if rho is None else str(rho))
    )


def _charge_data(charge: Charge) -> dict[str, Any]:
    return {
        "purpose": charge.purpose,
        "mechanism": charge.mechanism,
        "epsilon": str(charge.epsilon),
        "delta": str(charge.delta),
        "rho": None if charge.zcdp is None else str(charge.zcdp),
    }
