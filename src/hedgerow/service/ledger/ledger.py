"""The ledger's rules: charge or refuse what would overdraw a cap, commit, then touch rows; no refund."""

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
from hedgerow.service.ledger.tables import ANSWERS, CAPS, ENTRIES, ENTRY_INDEX, HEAD, REQUESTS, RETRIES, SIZES
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
_FREE_ATTEMPTS = 8  # of a request, one right after the other
_FIRST_PAUSE, _LONGEST_PAUSE = 5, 3600  # seconds, doubled after each further attempt
RequestState = Literal["reserved", "answered", "failed"]

_SIZED = (
    SIZES.update()
    .where(SIZES.c.request == sa.bindparam("of_request"))
    .values(bytes=sa.bindparam("stored"), is_unfinished=False)
)


@dataclass(frozen=True)
class ChargeRequest:
    """Question of an analyst, as far as the ledger needs to know."""

    dataset: str
    analyst: str  # who asks
    key: str  # the idempotency key: 1 to 200 characters that the analyst chooses anew for each question
    body: str  # the SHA-256 of what is asked
    charge: Charge  # what the answer costs
    epoch: int | None = None  # the epoch whose rows would be touched; None for the current one, whichever it is
    expected: int | None = None  # the epoch that is asked about; None for any
    size: int = 0  # the most bytes that the answer may have


@dataclass(frozen=True)
class Reserved:
    """A request that was charged, and is to be evaluated now, by this process."""

    request: str  # its name in the ledger
    attempt: int  # 1, or 2 where an earlier answer did not get on disk
    epoch: int  # the epoch of the dataset in which it was charged
    entry: str  # the hash of the entry that charged it


@dataclass(frozen=True)
class Answered:
    """A request that was answered before."""

    request: str  # its name in the ledger
    content: bytes  # the answer, as it was given


@dataclass(frozen=True)
class KnownRequest:
    """A request that was charged, and its state."""

    request: str  # its name in the ledger
    dataset: str
    body: str  # the SHA-256 of the question
    state: Literal["answered", "failed", "running", "pending"]  # pending: charged, and no process evaluates it


class Ledger(ProcessBound):
    """Record of all charges and answers. A change is one transaction, on disk before the call returns."""

    # Any number of processes may share the database.

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
        self.verifying = VerificationJob(self.log)
        self._run = begin_run(self._database)
        self._answering = set[str]()  # requests that this process evaluates
        self._began = time.monotonic()
        self._put_down = dict[str, float]()  # when this process put down requests without an answer, by their names

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
        """Declare a new epoch, for new rows, with caps and a `unit`; return its number, from 1."""
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
        """Give an analyst who has none a cap in a dataset's current epoch, out of what is not another's."""
        with self.log.changing() as connection:
            epoch = self._known_epoch(connection, dataset)
            shares = accounts.shares_of(connection, dataset, epoch)
            whole = shares.pop(accounts.WHOLE)
            if analyst in shares:
                problem = f"expected an analyst without a cap for {shown(dataset)}, got one with a cap."
                raise errors.ArgumentError(problem)
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
            problem = f"expected the signing key {last}, the last one in the ledger, got {key}."
            raise errors.LedgerError(f"{problem} Bring it back, or replace it: hedgerow serve rotate.")

    def epoch(self, dataset: str) -> int | None:
        with self._database.reading() as connection:
            return accounts.current_epoch(connection, dataset)

    def shares(self, dataset: str) -> dict[str, Account]:
        """Return the caps of a dataset's current epoch, with all charges, by analyst; its own under ``""``."""
        with self._database.reading() as connection:
            epoch = accounts.current_epoch(connection, dataset)
            return {} if epoch is None else accounts.shares_of(connection, dataset, epoch)

    def check_unit(self, dataset: str, unit: Unit | None) -> None:
        """Check that a dataset's current epoch was declared for this unit of privacy."""
        with self._database.reading() as connection:
            accounts.check_unit(connection, dataset, self._known_epoch(connection, dataset), unit)

    def reserve(
        self, request: ChargeRequest, admit: Callable[[Connection], None] = lambda _: None
    ) -> Reserved | Answered:
        """Charge a request, unless it was charged before; the rows may be touched once this has returned `Reserved`.

        Before a new charge, `admit` is called in the same transaction; if it raises, nothing is charged.
        """
        found: Reserved | Answered | None = None
        try:
            with self.log.changing() as connection:
                found = self._reserved(connection, request, admit)
                if isinstance(found, Reserved):
                    self._answering.add(found.request)  # before anybody else can see it
        except BaseException:
            if isinstance(found, Reserved):
                self._answering.discard(found.request)
            raise
        if found is None:  # raised once the transaction, which may have noted the failure, has ended
            problem = "the request was charged and has failed, which is final: it is not evaluated again"
            raise errors.RequestFailedError(f"{problem}; the charge stays.")
        return found

    def state(self, request: ChargeRequest) -> RequestState | None:
        """Return what has become of a request that was charged; None if it was not.

        Raises RequestConflictError if its key was used for another request.
        """
        with self._database.reading() as connection:
            known = _known(connection, request)
        return None if known is None else known.state

    def known(self, analyst: str, key: str) -> KnownRequest | None:
        """Return the request that the analyst was charged for under this idempotency key; None if there is none."""
        with self._database.reading() as connection:
            row = connection.execute(_KNOWN, {"by": analyst, "called": key}).one_or_none()
        if row is None:
            return None
        state = row.state
        if state == "reserved":
            state = "running" if self._is_answered_by(row.run, row.request) else "pending"
        return KnownRequest(row.request, row.dataset, row.body, state)

    def answer(self, reserved: Reserved, content: bytes) -> None:
        """Store the answer of a request, and mark it as answered, in one transaction. Only then may it be sent."""
        with self._ending(reserved), self.log.changing() as connection:
            self._finish(connection, reserved, "answered", {"answer": digest(content)}, stored=len(content))
            connection.execute(ANSWERS.insert(), {"request": reserved.request, "content": content})
        self._put_down.pop(reserved.request, None)

    def fail(self, reserved: Reserved, reason: str) -> None:
        """Mark a request as failed, which is final; raises as `answer` does. The charge stays."""
        with self._ending(reserved), self.log.changing() as connection:
            self._finish(connection, reserved, "failed", {"reason": reason})
        self._put_down.pop(reserved.request, None)

    def put_down(self, reserved: Reserved) -> None:
        """Evaluate a request no further, and leave it charged: asked again, it is evaluated again."""
        if reserved.request in self._answering:
            self._answering.discard(reserved.request)
            self._put_down[reserved.request] = time.monotonic()

    @property
    def path(self) -> Path | None:
        """The file of a ledger in SQLite."""
        return self._database.path

    def reading(self) -> AbstractContextManager[Connection]:
        """Open a transaction that reads one state of the ledger."""
        return self._database.reading()

    def probe(self) -> None:
        """Check that the ledger's database answers; LedgerUnavailableError if not."""
        with self._database.reading() as connection:
            connection.execute(sa.select(HEAD.c.version)).scalar_one()

    def account(self, dataset: str, analyst: str = accounts.WHOLE) -> Account:
        with self._database.reading() as connection:
            return accounts.account_of(connection, dataset, self._known_epoch(connection, dataset), analyst)

    def has_cap(self, dataset: str, analyst: str) -> bool:
        with self._database.reading() as connection:
            return accounts.has_cap(connection, dataset, analyst)

    def stored(self, analyst: str, request: str) -> bytes:
        own = (REQUESTS.c.request == request) & (REQUESTS.c.analyst == analyst)
        with self.log.changing() as connection:  # it leaves once the head has it
            joined = sa.select(ANSWERS.c.content).join_from(REQUESTS, ANSWERS, REQUESTS.c.request == ANSWERS.c.request)
            content = connection.execute(joined.where(own)).scalar_one_or_none()
        if content is None:
            raise errors.LedgerError("expected an answered request of the analyst, got another name.")
        return content

    @contextmanager
    def _ending(self, reserved: Reserved) -> Generator[None]:
        try:
            yield
        finally:
            self.put_down(reserved)

    def _reserved(
        self, connection: Connection, request: ChargeRequest, admit: Callable[[Connection], None]
    ) -> Reserved | Answered | None:
        """Charge a request, or return what becomes of it if it was charged before; None if it has failed."""
        known = _known(connection, request)
        if known is not None:
            return self._again(connection, known, request.epoch)
        admit(connection)
        return self._charge(connection, request)

    def _is_answered_by(self, run: str, request: str) -> bool:
        """Return whether a request is being evaluated, here or by another process that is still there."""
        return request in self._answering if run == self._run.name else self._run.is_alive(run)

    def _known_epoch(self, connection: Connection, dataset: str) -> int:
        epoch = accounts.current_epoch(connection, dataset)
        if epoch is None:
            raise errors.LedgerError(f"expected a dataset of the ledger, got {shown(dataset)}.")
        return epoch

    def _charge(self, connection: Connection, request: ChargeRequest) -> Reserved:
        epoch, charge = self._known_epoch(connection, request.dataset), request.charge
        if request.epoch not in (None, epoch):
            problem = "the dataset has a new epoch, and the service still has the earlier rows; nothing was charged."
            raise errors.ServiceBusyError(f"{problem} Ask again once the curator has restarted it.")
        if request.expected not in (None, epoch):
            problem = f"expected a question about epoch {epoch} of the dataset, got one about another"
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
        asked = {part: getattr(request, part) for part in ("dataset", "analyst", "key", "body")}
        charged = {"request": name, "epoch": epoch, **asked}
        entry = self.log.append(connection, "reserved", {**charged, "charge": _charge_data(charge)}, totals)
        run = {"state": "reserved", "attempt": 1, "run": self._run.name}
        connection.execute(REQUESTS.insert(), {**charged, **run})
        size = {"analyst": request.analyst, "bytes": request.size, "is_unfinished": True}
        connection.execute(SIZES.insert(), {"request": name, **size})
        return Reserved(name, 1, epoch, entry)

    def _again(self, connection: Connection, known: Row[Any], epoch: int | None) -> Reserved | Answered | None:
        """Return what becomes of a request that was charged before; None if it has failed."""
        if known.state == "answered":
            query = sa.select(ANSWERS.c.content).where(ANSWERS.c.request == known.request)
            return Answered(known.request, connection.execute(query).scalar_one())
        if known.state == "failed":
            return None
        if self._is_answered_by(known.run, known.request):
            problem = "the same request is being answered"
            raise errors.RequestRunningError(f"{problem}; ask again later, with the same idempotency key.")
        if epoch not in (None, known.epoch):
            ended = Reserved(known.request, known.attempt, known.epoch, "")
            reason = "no answer got on disk, and the rows are those of another epoch"
            self._finish(connection, ended, "failed", {"reason": reason}, run=known.run)
            return None
        self._count_attempt(connection, known.request)
        attempt = 2  # however often: whoever asks does not pay for a process that ends
        self.log.append(connection, "retried", {"request": known.request, "attempt": attempt})
        again = REQUESTS.update().where(REQUESTS.c.request == known.request)
        connection.execute(again.values(attempt=attempt, run=self._run.name))
        return Reserved(known.request, attempt, known.epoch, _charging_entry(connection, known.request))

    def _count_attempt(self, connection: Connection, request: str) -> None:
        """Count one more attempt to evaluate a request; raises ServiceUnavailableError if it comes too soon.

        A question that ends the process, or exhausts its memory, each time it is evaluated is tried ever more rarely.
        Pauses are measured in this process, from its start or from the end of its last attempt: no clock is trusted.
        """
        attempts = connection.execute(_ATTEMPTS, {"of_request": request}).scalar_one_or_none()
        if attempts is None:
            connection.execute(RETRIES.insert(), {"request": request, "attempts": 2})
            return
        passed = time.monotonic() - self._put_down.get(request, self._began)
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
        """Mark a request that is this run's, or that of a `run` that has ended, as answered or failed.

        `stored` is the size of its answer in bytes.
        """
        run = run or self._run.name
        ended = {"ended": reserved.request, "of_attempt": reserved.attempt, "of_run": run, "to_state": state}
        changed = connection.execute(_FINISHED, ended)
        if changed.rowcount != 1:
            problem = "the request is not to be answered here: it has ended, or another process has taken it."
            raise errors.RequestRunningError(f"{problem} Ask again, with the same idempotency key.")
        connection.execute(_SIZED, {"of_request": reserved.request, "stored": stored})
        self.log.append(connection, state, {"request": reserved.request, **data})


def _known(connection: Connection, request: ChargeRequest) -> Row[Any] | None:
    """Return the row of a request that was charged; raises RequestConflictError if its key is of another."""
    known = connection.execute(_KNOWN, {"by": request.analyst, "called": request.key}).one_or_none()
    if known is not None and (known.body, known.dataset) != (request.body, request.dataset):
        problem = "this idempotency key is of another question. Nothing was charged"
        raise errors.RequestConflictError(f"{problem}. Use a new key for a new question.")
    return known


def _pause(attempts: int) -> float:
    """Return the seconds to wait after so many attempts."""
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
    """Return the id of the key that receipts are signed with since the last rotation; None if there was none."""
    row = connection.execute(_indexed("rotated").limit(1)).one_or_none()
    return None if row is None else json.loads(row.content)["key"]


def _oversubscribed(connection: Connection, dataset: str) -> bool:
    """Return whether the current epoch of a dataset was declared as oversubscribed."""
    row = connection.execute(_indexed("declared").where(ENTRY_INDEX.c.dataset == dataset).limit(1)).one()
    return json.loads(row.content)["oversubscribed"]


def _names(connection: Connection, column: sa.Column[str]) -> list[str]:
    """Return the names that a ledger has caps for, but for that of a dataset's own."""
    return [name for name in connection.execute(sa.select(column).distinct()).scalars() if name != accounts.WHOLE]


def _charge_data(charge: Charge) -> dict[str, Any]:
    """Return a charge as data of an entry, with its ρ even if that follows from ε."""
    return charge.exact_dict() | amounts_data(charge.epsilon, charge.delta, charge.zcdp)
