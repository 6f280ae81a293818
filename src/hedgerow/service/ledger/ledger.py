"""Rules of the ledger: raise an error if a cap would be exceeded, else charge and commit; no refunds."""

import json
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Literal, Self
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Row

from hedgerow import errors
from hedgerow.boundary.canonical import digest
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.privacy import Account, Charge
from hedgerow.privacy.amounts import amounts_data
from hedgerow.privacy.charge import amounts_of
from hedgerow.privacy.process import ProcessBound
from hedgerow.privacy.unit import Unit
from hedgerow.service.ledger import accounts
from hedgerow.service.ledger.database import LEDGER_LIMITS, begin_run
from hedgerow.service.ledger.entry import EntryKind
from hedgerow.service.ledger.log import Log
from hedgerow.service.ledger.outages import place_of
from hedgerow.service.ledger.tables import ANSWERS, CAPS, ENTRIES, ENTRY_INDEX, REQUESTS, RETRIES, SIZES
from hedgerow.service.ledger.verification_job import VerificationJob
from hedgerow.service.ledger.verify import Spent
from hedgerow.text.messages import shown

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
_ATTEMPTS = sa.select(RETRIES.c.attempts).where(RETRIES.c.request == sa.bindparam("of_request"))
_FREE_ATTEMPTS = 8  # attempts to evaluate a request without a pause
_FIRST_PAUSE, _LONGEST_PAUSE = 5, 3600  # seconds, doubled after each further attempt
RequestState = Literal["reserved", "answered", "failed"]

_SIZED = (
    SIZES.update()
    .where(SIZES.c.request == sa.bindparam("of_request"))
    .values(bytes=sa.bindparam("stored"), is_unfinished=False)
)


@dataclass(frozen=True)
class ChargeRequest:
    """Question of an analyst, for the ledger."""

    dataset: str
    analyst: str
    key: str  # idempotency key: 1 to 200 characters, a new key for each question
    body: str  # SHA-256 of the question
    charge: Charge
    epoch: int | None = None  # epoch of the rows in the service; None for the current epoch
    expected: int | None = None  # epoch that the question names; None for any
    size: int = 0  # maximum size of the answer in bytes


@dataclass(frozen=True)
class Reserved:
    """Charged request that this process is to evaluate."""

    request: str  # name in the ledger
    attempt: int  # 1, or 2 if an earlier answer was not stored
    epoch: int  # epoch in which it was charged
    entry: str  # hash of the entry of its charge


@dataclass(frozen=True)
class Answered:
    """Request that was answered before."""

    request: str  # name in the ledger
    content: bytes  # the stored answer


@dataclass(frozen=True)
class KnownRequest:
    """Charged request with its state."""

    request: str  # name in the ledger
    dataset: str
    body: str  # SHA-256 of the question
    state: Literal["answered", "failed", "running", "pending"]  # pending: charged, but not being evaluated


class Ledger(ProcessBound):
    """Record of all charges and answers. Each change is a transaction, on disk before the call returns.

    Several processes can share the database.
    """

    def __init__(
        self,
        url: str,
        head: Path | None = None,
        *,
        mark: Path | None = None,
        new_ledger: bool = False,
        accept_rollback: bool = False,
        limits: TimeLimits = LEDGER_LIMITS,
    ) -> None:
        super().__init__()
        start = {"new_ledger": new_ledger, "accept_rollback": accept_rollback}
        self.log = Log(url, head, mark=mark, limits=limits, **start)
        self.entries, self.verify = self.log.entries, self.log.verify
        self._database = self.log.database
        self.condition = self._database.condition
        self.verifying = VerificationJob(self.log)
        self._run = begin_run(self._database)
        self._answering = set[str]()  # requests that this process evaluates
        self._began = time.monotonic()
        self._abandoned = dict[str, float]()  # times at which this process abandoned requests

    def close(self) -> None:
        self.verifying.stop()
        self._run.close()
        self.log.close()

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
        """Declare a new epoch for new rows, with caps and a unit of privacy; return its number, from 1."""
        accounts.check_shares(cap, analysts, oversubscribed=oversubscribed)
        with self.log.changing() as connection:
            accounts.check_names([dataset], _names(connection, CAPS.c.dataset))
            accounts.check_names(analysts, _names(connection, CAPS.c.analyst))
            epoch = 1 + (accounts.current_epoch(connection, dataset) or 0)
            declared = {name: account.caps_dict() for name, account in analysts.items()}
            whole = cap.caps_dict() | ({} if unit is None else {"unit": unit.to_dict()})
            data = {"dataset": dataset, "epoch": epoch, "cap": whole, "analysts": declared, "reason": reason}
            self.log.append(connection, "declared", {**data, "oversubscribed": oversubscribed})
            accounts.make_caps(connection, dataset, epoch, {accounts.WHOLE: whole, **declared})
        self.log.settle()
        return epoch

    def grant(self, dataset: str, analyst: str, cap: Account, *, reason: str) -> None:
        """Give an analyst without a cap a cap in the current epoch of a dataset."""
        with self.log.changing() as connection:
            epoch = self._known_epoch(connection, dataset)
            shares = accounts.shares_of(connection, dataset, epoch)
            whole = shares.pop(accounts.WHOLE)
            if analyst in shares:
                raise errors.ArgumentError(f"{shown(analyst)} already has a cap for {shown(dataset)}.")
            accounts.check_names([analyst], _names(connection, CAPS.c.analyst))
            declared = _oversubscribed(connection, dataset)
            accounts.check_shares(whole, {**shares, analyst: cap}, oversubscribed=declared)
            caps = cap.caps_dict()
            data = {"dataset": dataset, "epoch": epoch, "name": analyst, "cap": caps, "reason": reason}
            self.log.append(connection, "granted", data)
            accounts.make_caps(connection, dataset, epoch, {analyst: caps})

    def rotate(self, before: str, key: str, public: str) -> None:
        with self.log.changing() as connection:
            data = {"replaces": _signing(connection) or before, "key": key, "public": public}
            self.log.append(connection, "rotated", data)

    def check_signer(self, key: str) -> None:
        with self._database.reading() as connection:
            last = _signing(connection)
        if last not in (None, key):
            problem = f"the signing key is {key}, but the last key in the ledger is {last}."
            raise errors.LedgerError(f"{problem} Restore that key, or replace it with: hedgerow serve rotate")

    def epoch(self, dataset: str) -> int | None:
        with self._database.reading() as connection:
            return accounts.current_epoch(connection, dataset)

    def shares(self, dataset: str) -> dict[str, Account]:
        """Return the caps of the current epoch with their charges, by analyst; the dataset's own cap under ``""``."""
        with self._database.reading() as connection:
            epoch = accounts.current_epoch(connection, dataset)
            return {} if epoch is None else accounts.shares_of(connection, dataset, epoch)

    def check_unit(self, dataset: str, unit: Unit | None) -> None:
        """Raise `LedgerError` unless the current epoch was declared for this unit of privacy."""
        with self._database.reading() as connection:
            accounts.check_unit(connection, dataset, self._known_epoch(connection, dataset), unit)

    def reserve(
        self, request: ChargeRequest, admit: Callable[[Connection], None] = lambda _: None
    ) -> Reserved | Answered:
        """Charge a request, unless it was charged before. Rows may be read only after this has returned `Reserved`.

        Before a new charge, `admit` is called in the same transaction; if it raises an error, nothing is charged.
        """
        result: Reserved | Answered | None = None
        try:
            with self.log.changing() as connection:
                result = self._reserved(connection, request, admit)
                if isinstance(result, Reserved):
                    self._answering.add(result.request)  # set before other processes can see the request
        except BaseException:
            if isinstance(result, Reserved):
                self._answering.discard(result.request)
            raise
        if result is None:  # after the transaction, which may have recorded the failure
            problem = "the request failed after its charge, and will not be evaluated again"
            raise errors.RequestFailedError(f"{problem}; the charge stays.")
        return result

    def state(self, request: ChargeRequest) -> RequestState | None:
        """Return the state of a charged request, or None if it was not charged.

        Raises `RequestConflictError` if its key was used for a different request.
        """
        with self._database.reading() as connection:
            known = _known(connection, request)
        return None if known is None else known.state

    def known(self, analyst: str, key: str) -> KnownRequest | None:
        """Return the analyst's charged request with this idempotency key, or None."""
        with self._database.reading() as connection:
            row = connection.execute(_KNOWN, {"by": analyst, "called": key}).one_or_none()
        if row is None:
            return None
        state = row.state
        if state == "reserved":
            state = "running" if self._is_answered_by(row.run, row.request) else "pending"
        return KnownRequest(row.request, row.dataset, row.body, state)

    def answer(self, reserved: Reserved, content: bytes) -> None:
        """Store the answer of a request in a transaction. The answer may be sent only after this call has returned."""
        with self._ending(reserved), self.log.changing() as connection:
            self._finish(connection, reserved, "answered", {"answer": digest(content)}, stored=len(content))
            connection.execute(ANSWERS.insert(), {"request": reserved.request, "content": content})
        self._abandoned.pop(reserved.request, None)

    def fail(self, reserved: Reserved, reason: str) -> None:
        """Mark a request as failed, which is final. The charge stays."""
        with self._ending(reserved), self.log.changing() as connection:
            self._finish(connection, reserved, "failed", {"reason": reason})
        self._abandoned.pop(reserved.request, None)

    def abandon(self, reserved: Reserved) -> None:
        """Stop the evaluation of a request, which stays charged; if it is sent again, it is evaluated again."""
        if reserved.request in self._answering:
            self._answering.discard(reserved.request)
            self._abandoned[reserved.request] = time.monotonic()

    @property
    def path(self) -> Path | None:
        """The file of a SQLite ledger, or None."""
        return self._database.path

    def reading(self) -> AbstractContextManager[Connection]:
        """Open a transaction that reads a consistent state of the ledger."""
        return self._database.reading()

    @property
    def place(self) -> str:
        """The place of the database, without secrets."""
        return place_of(self._database.url)

    def unfinished(self) -> int:
        """Return the number of charged requests that are neither answered nor failed."""
        with self._database.reading() as connection:
            return connection.execute(sa.select(sa.func.count()).where(SIZES.c.is_unfinished)).scalar_one()

    def probe(self) -> None:
        """Raise `LedgerUnavailableError` if nothing can be charged at present."""
        self.log.check_writable()

    def account(self, dataset: str, analyst: str = accounts.WHOLE) -> Account:
        with self._database.reading() as connection:
            return accounts.account_of(connection, dataset, self._known_epoch(connection, dataset), analyst)

    def has_cap(self, dataset: str, analyst: str) -> bool:
        with self._database.reading() as connection:
            return accounts.has_cap(connection, dataset, analyst)

    def stored(self, analyst: str, request: str) -> bytes:
        own = (REQUESTS.c.request == request) & (REQUESTS.c.analyst == analyst)
        with self.log.changing() as connection:  # the head is written before an answer is sent
            joined = sa.select(ANSWERS.c.content).join_from(REQUESTS, ANSWERS, REQUESTS.c.request == ANSWERS.c.request)
            content = connection.execute(joined.where(own)).scalar_one_or_none()
        if content is None:
            raise errors.LedgerError("the analyst has no answered request with this name.")
        return content

    @contextmanager
    def _ending(self, reserved: Reserved) -> Generator[None]:
        try:
            yield
        finally:
            self.abandon(reserved)

    def _reserved(
        self, connection: Connection, request: ChargeRequest, admit: Callable[[Connection], None]
    ) -> Reserved | Answered | None:
        """Charge a request, or return the result of an earlier charge; None if the request failed."""
        self._run.hold()  # otherwise another process could evaluate the request at the same time
        known = _known(connection, request)
        if known is not None:
            return self._again(connection, known, request.epoch)
        admit(connection)
        return self._charge(connection, request)

    def _is_answered_by(self, run: str, request: str) -> bool:
        """Return whether this process or another live process is evaluating a request."""
        return request in self._answering if run == self._run.name else self._run.is_alive(run)

    def _known_epoch(self, connection: Connection, dataset: str) -> int:
        epoch = accounts.current_epoch(connection, dataset)
        if epoch is None:
            raise errors.LedgerError(f"{shown(dataset)} is not a dataset of the ledger.")
        return epoch

    def _charge(self, connection: Connection, request: ChargeRequest) -> Reserved:
        epoch, charge = self._known_epoch(connection, request.dataset), request.charge
        if request.epoch not in (None, epoch):
            problem = "the dataset has a new epoch, but the service still has the earlier rows; nothing was charged."
            raise errors.ServiceBusyError(f"{problem} Ask again when the curator has restarted the service.")
        if request.expected not in (None, epoch):
            problem = f"the question is about epoch {request.expected}, but the current epoch is {epoch}"
            raise errors.QuestionError(f"{problem}; nothing was charged. Connect again to ask about the new rows.")
        accounts.check_unit(connection, request.dataset, epoch, charge.unit)
        totals = list[Spent]()
        for owner in (request.analyst, accounts.WHOLE):
            account = accounts.account_of(connection, request.dataset, epoch, owner)
            try:
                spent = account.charged(amounts_of(charge))
            except errors.BudgetExceededError as error:
                error.cap = "dataset" if owner == accounts.WHOLE else "analyst"
                raise
            accounts.set_total(connection, request.dataset, epoch, owner, spent)
            totals.append((spent.spent, spent.spent_rho))
        name = str(uuid4())
        sent = {part: getattr(request, part) for part in ("dataset", "analyst", "key", "body")}
        charged = {"request": name, "epoch": epoch, **sent}
        entry = self.log.append(connection, "reserved", {**charged, "charge": _charge_data(charge)}, totals)
        run = {"state": "reserved", "attempt": 1, "run": self._run.name}
        connection.execute(REQUESTS.insert(), {**charged, **run})
        size = {"analyst": request.analyst, "bytes": request.size, "is_unfinished": True}
        connection.execute(SIZES.insert(), {"request": name, **size})
        return Reserved(name, 1, epoch, entry)

    def _again(self, connection: Connection, known: Row[Any], epoch: int | None) -> Reserved | Answered | None:
        """Return the result of a request that was charged before; None if it failed."""
        if known.state == "answered":
            query = sa.select(ANSWERS.c.content).where(ANSWERS.c.request == known.request)
            return Answered(known.request, connection.execute(query).scalar_one())
        if known.state == "failed":
            return None
        if self._is_answered_by(known.run, known.request):
            problem = "the same request is still being answered"
            raise errors.RequestRunningError(f"{problem}; send it again later with the same idempotency key.")
        if epoch not in (None, known.epoch):
            ended = Reserved(known.request, known.attempt, known.epoch, "")
            reason = "no answer was stored, and the epoch of the request has ended"
            self._finish(connection, ended, "failed", {"reason": reason}, run=known.run)
            return None
        self._count_attempt(connection, known.request)
        attempt = 2  # any number of times: analysts are not charged for a process that ends
        self.log.append(connection, "retried", {"request": known.request, "attempt": attempt})
        again = REQUESTS.update().where(REQUESTS.c.request == known.request)
        connection.execute(again.values(attempt=attempt, run=self._run.name))
        return Reserved(known.request, attempt, known.epoch, _charging_entry(connection, known.request))

    def _count_attempt(self, connection: Connection, request: str) -> None:
        """Record a further attempt to evaluate a request; raise `ServiceUnavailableError` if it comes too soon.

        If every attempt ends the process or exhausts its memory, attempts become ever rarer. Pauses are measured in
        this process, from its start or the end of its last attempt, since system clocks can be set.
        """
        attempts = connection.execute(_ATTEMPTS, {"of_request": request}).scalar_one_or_none()
        if attempts is None:
            connection.execute(RETRIES.insert(), {"request": request, "attempts": 2})
            return
        passed = time.monotonic() - self._abandoned.get(request, self._began)
        wait = _pause(attempts) - passed
        if wait > 0:
            raise errors.ServiceUnavailableError(charged=True, retry_after=ceil(wait))
        connection.execute(RETRIES.update().where(RETRIES.c.request == request).values(attempts=attempts + 1))

    def _finish(
        self,
        connection: Connection,
        reserved: Reserved,
        state: EntryKind,
        data: dict[str, Any],
        *,
        run: str | None = None,
        stored: int = 0,
    ) -> None:
        """Mark a request of this run, or of a `run` that has ended, as answered or failed.

        `stored` is the size of its answer in bytes.
        """
        run = run or self._run.name
        ended = {"ended": reserved.request, "of_attempt": reserved.attempt, "of_run": run, "to_state": state}
        changed = connection.execute(_FINISHED, ended)
        if changed.rowcount != 1:
            problem = "the request was finished or taken over by another process."
            raise errors.RequestRunningError(f"{problem} Send it again with the same idempotency key.")
        connection.execute(_SIZED, {"of_request": reserved.request, "stored": stored})
        self.log.append(connection, state, {"request": reserved.request, **data})


def _known(connection: Connection, request: ChargeRequest) -> Row[Any] | None:
    """Return the row of a charged request; raise `RequestConflictError` if its key was used differently."""
    known = connection.execute(_KNOWN, {"by": request.analyst, "called": request.key}).one_or_none()
    if known is not None and (known.body, known.dataset) != (request.body, request.dataset):
        problem = "the idempotency key was already used with a different request body. Nothing was charged"
        raise errors.RequestConflictError(f"{problem}. Use a new key for a new question.")
    return known


def _pause(attempts: int) -> float:
    """Return the seconds to wait after a number of attempts."""
    further = attempts - _FREE_ATTEMPTS
    return 0 if further < 0 else min(_FIRST_PAUSE * 2 ** min(further, 16), _LONGEST_PAUSE)


def _indexed(kind: EntryKind) -> sa.Select[Any, Any]:
    """Return the query of the entries of a kind, newest first."""
    joined = sa.select(ENTRIES.c.content, ENTRIES.c.hash).join_from(
        ENTRY_INDEX, ENTRIES, ENTRY_INDEX.c.sequence == ENTRIES.c.sequence
    )
    return joined.where(ENTRY_INDEX.c.kind == kind).order_by(ENTRY_INDEX.c.sequence.desc())


def _charging_entry(connection: Connection, request: str) -> str:
    return connection.execute(_indexed("reserved").where(ENTRY_INDEX.c.request == request).limit(1)).one().hash


def _signing(connection: Connection) -> str | None:
    """Return the id of the signing key after the last rotation, or None without rotations."""
    row = connection.execute(_indexed("rotated").limit(1)).one_or_none()
    return None if row is None else json.loads(row.content)["key"]


def _oversubscribed(connection: Connection, dataset: str) -> bool:
    """Return whether the current epoch of a dataset was declared as oversubscribed."""
    row = connection.execute(_indexed("declared").where(ENTRY_INDEX.c.dataset == dataset).limit(1)).one()
    return json.loads(row.content)["oversubscribed"]


def _names(connection: Connection, column: sa.Column[str]) -> list[str]:
    """Return the names with caps, without the name of the datasets' own caps."""
    return [name for name in connection.execute(sa.select(column).distinct()).scalars() if name != accounts.WHOLE]


def _charge_data(charge: Charge) -> dict[str, Any]:
    """Return a charge as data of an entry, including its ρ if that follows from ε."""
    return charge.exact_dict() | amounts_data(charge.epsilon, charge.delta, charge.zcdp)
