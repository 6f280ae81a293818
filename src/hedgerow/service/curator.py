"""Curator: charges questions in a ledger and answers them from private rows, independent of HTTP."""

import errno
import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from sqlalchemy.engine import Connection

from hedgerow import errors
from hedgerow.boundary.canonical import digest
from hedgerow.boundary.environment import environment_cause
from hedgerow.privacy import Account, NoiseSource, PrivacyCard, wording
from hedgerow.privacy.amounts import amounts_data, exact
from hedgerow.privacy.charge import amounts_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import watched_draws
from hedgerow.privacy.process import ProcessBound
from hedgerow.schema.dummy import dummy_rows
from hedgerow.schema.schema import Schema
from hedgerow.service.approvals import Approval, Approvals
from hedgerow.service.approvals import subject as approval_subject
from hedgerow.service.availability import CAUSES, Probe
from hedgerow.service.forms import FORMS, QuestionForm, QuestionKind, read_form, readable
from hedgerow.service.ledger.accounts import WHOLE
from hedgerow.service.ledger.history import History
from hedgerow.service.ledger.ledger import Answered, ChargeRequest, KnownRequest, Ledger, Reserved
from hedgerow.service.questions import CheckedQuestion, FitQuestion, read_question
from hedgerow.service.quotas import Quotas
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Caller, Request
from hedgerow.service.resources import has_room
from hedgerow.service.rows import HostedRows
from hedgerow.text.messages import shown

_LOG = logging.getLogger(__name__)
MOST_ENTRIES = 1000  # the maximum number of entries on a page of the ledger
LONGEST_SEARCH = 60
_SMALL_ANSWER = 2**16  # bytes
_PAUSE = 5  # seconds after which an unavailable question may be sent again


@dataclass(frozen=True, repr=False, eq=False)
class HostedDataset:
    """Dataset of a curator."""

    schema: Schema  # public schema with the label
    rows: HostedRows  # private rows
    # Answers are sent this number of seconds after the charge, or a multiple if they take longer, so that run times
    # reveal little about the rows. None: immediately, which the privacy cards state
    answer_after: float | None = None
    # Whether the sum of the analysts' caps may exceed the dataset's cap, which the privacy cards state
    oversubscribed: bool = False
    # Which questions the curator must approve before they are charged
    approval: Approval = "off"
    min_epsilon: Fraction | None = None  # smallest epsilon of a question
    longest_search: float = LONGEST_SEARCH  # expected seconds of the longest exact search of a question
    epoch: int | None = None  # current epoch before the rows were read; only its budget is charged for them

    def __post_init__(self) -> None:
        if self.schema.weight is not None:
            problem = "a service does not support weights of rows; leave `weight` out of the schema"
            raise errors.ArgumentError(f"{problem}.")

    def check_limits(self, form: QuestionForm, question: CheckedQuestion) -> None:
        """Check a question that is not charged yet against the limits, which a curator can change."""
        if self.min_epsilon is not None and exact(form.epsilon, "epsilon") < self.min_epsilon:
            problem = f"epsilon must be at least {self.min_epsilon} for questions about this dataset"
            raise errors.QuestionError(f"{problem}, got {shown(form.epsilon)}.")
        cost = question.cost if isinstance(question, FitQuestion) else None
        if cost is not None and cost.seconds() > self.longest_search:
            raise errors.QuestionError(
                f"the exact search is expected to take {cost.seconds():.0f} seconds on one core, and this service "
                f"allows at most {self.longest_search:g}; use search='auto', a smaller size, or fewer attributes."
            )


@dataclass(frozen=True)
class Answer:
    """Stored answer."""

    body: bytes  # JSON
    receipt: str  # the curator's signed statement; empty without a signing key

    @classmethod
    def read(cls, content: bytes) -> "Answer":
        receipt, _, body = content.partition(b"\n")
        return cls(body, receipt.decode())

    @property
    def content(self) -> bytes:
        return self.receipt.encode() + b"\n" + self.body


@dataclass(frozen=True, repr=False, eq=False)
class EvaluatedQuestion:
    """Result of the evaluation of a charged question, which must not be visible before it is due."""

    reserved: Reserved
    answer: Answer | None
    cause: errors.Cause | None  # failure of the environment
    due: float  # time at which it may be stored and sent, by `time.monotonic`


class Curator(ProcessBound):
    """Owner of private datasets, who answers questions within the budgets of a ledger."""

    # Every question is checked against public information, then charged durably in the ledger, then answered from the
    # rows. An answer is stored durably before it is sent. If the environment fails before noise is drawn, the question
    # stays pending; if it is sent again, it is evaluated again under the same charge. Any other failure is final, and
    # an answer that cannot be stored is kept until it can be. If storing a draw depended on the drawn values, a second
    # draw would be rejection sampling, with up to twice the charged privacy loss.

    def __init__(
        self,
        ledger: Ledger,
        datasets: Mapping[str, HostedDataset],
        *,
        signer: Signer | None = None,
        noise: NoiseSource | None = None,
        quotas: Quotas | None = None,
    ) -> None:
        super().__init__()
        self.ledger = ledger
        self._datasets = {
            name: held if held.epoch is not None else replace(held, epoch=ledger.epoch(name))
            for name, held in datasets.items()
        }
        self._adds_up_rho = {name: ledger.account(name).largest_rho is not None for name in self._datasets}
        self.approvals, self._quotas = Approvals(ledger.log), quotas or Quotas()
        self._history = History(ledger.log)
        self._signer, self._noise = signer, noise
        self._unstored = dict[str, EvaluatedQuestion]()  # results that could not be stored yet, by request
        self._rows = {name: Probe(f"dataset {name}", held.rows.probe) for name, held in self._datasets.items()}
        self.ledger_probe = Probe("the ledger", self._check_ledger)

    @property
    def epochs(self) -> dict[str, int | None]:
        """The names of all datasets with the epochs of their rows."""
        return {name: held.epoch for name, held in self._datasets.items()}

    @property
    def policy(self) -> str:
        """Short digest of the settings that decide on questions, which must agree in all processes of a ledger.

        It contains only settings that analysts may know, since everybody can read it. The ledger compares the caps.
        """
        datasets = {
            name: [held.schema.digest, held.answer_after, held.oversubscribed, held.approval, held.min_epsilon]
            for name, held in sorted(self._datasets.items())
        }
        searches = {name: held.longest_search for name, held in sorted(self._datasets.items())}
        signer = None if self._signer is None else self._signer.name
        return digest(repr((datasets, searches, self._quotas.default, signer)))[:16]

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The checks of the ledger and of the rows of each dataset."""
        return (self.ledger_probe, *self._rows.values())

    def datasets(self, caller: Caller) -> list[str]:
        return [name for name in self._datasets if caller.role != "analyst" or self.ledger.has_cap(name, caller.name)]

    def describe(self, caller: Caller, dataset: str) -> dict[str, Any]:
        held = self._held(caller, dataset)
        with self.ledger.reading() as connection:
            quota = self._quotas.described(connection, caller.name) if caller.role == "analyst" else None
        return {
            "dataset": dataset,
            "epoch": held.epoch,
            "schema": held.schema.to_dict(),
            "columns": list(held.rows.target.columns),
            "kinds": list(held.rows.target.kinds.values()),
            "unit": None if held.schema.unit is None else held.schema.unit.to_dict(),
            "questions": list(FORMS),
            "adds_up_rho": self._adds_up_rho[dataset],
            "timing": wording.timing(held.answer_after),
            "approval": held.approval,
            "oversubscribed": held.oversubscribed,
            "min_epsilon": None if held.min_epsilon is None else str(held.min_epsilon),
            "quota": quota,
        }

    def budget(self, caller: Caller, dataset: str) -> dict[str, Any]:
        """Return the caps that the caller may see, their charges and the remaining amounts, as exact text."""
        self._held(caller, dataset)
        if caller.role == "analyst":
            return _account_data(self.ledger.account(dataset, caller.name))
        return _account_data(self.ledger.account(dataset, WHOLE))

    def dummy(self, caller: Caller, dataset: str, n_rows: int, seed: int = 0) -> dict[str, list[Any]]:
        return dummy_rows(self._held(caller, dataset).schema, n_rows, seed)

    def cost(self, caller: Caller, dataset: str, kind: QuestionKind, body: bytes) -> dict[str, Any]:
        form, question = self._question(caller, dataset, kind, body)
        self._datasets[dataset].check_limits(form, question)
        charge = question.charge
        return {
            **amounts_data(charge.epsilon, charge.delta, charge.zcdp),
            "allowed": caller.role == "analyst" and self._allows(dataset, caller, question),
            **question.public,
        }

    def ask(self, request: Request) -> Answer:
        """Check, charge and answer a question, store the answer, and return it."""
        result = self.evaluate(request)
        if isinstance(result, Answer):
            return result
        time.sleep(max(0.0, result.due - time.monotonic()))
        return self.finish(result)

    def evaluate(self, request: Request) -> Answer | EvaluatedQuestion:
        """Check, charge and evaluate a question; return the stored answer if it was answered before."""
        try:
            form, question = self.check(request)
            result = self._reserve(request, form, question)
        except errors.RefusalError as error:
            known = self.known(request)
            if known is not None and known.state == "answered":
                return self.stored(request.caller, known.request)  # the question was charged before the error
            error.charged = known is not None
            raise
        if isinstance(result, Answered):
            self._unstored.pop(result.request, None)  # another process may have answered the question
            return Answer.read(result.content)
        if (kept := self._unstored.get(result.request)) is not None:
            return replace(kept, reserved=result)
        try:
            return self._evaluate(request, question, result)
        except BaseException:
            self.ledger.abandon(result)  # otherwise the request would count as still being answered
            raise

    def _reserve(self, request: Request, form: QuestionForm, question: CheckedQuestion) -> Reserved | Answered:
        """Charge a checked question, unless it was charged before."""
        held, size = self._datasets[request.dataset], question.largest_answer
        charging = ChargeRequest(
            request.dataset,
            request.caller.name,
            request.key,
            request.digest,
            question.charge,
            held.epoch,
            form.epoch,
            size,
        )
        state = self.ledger.state(charging)
        subject = approval_subject(held.approval, held.epoch, request.key, request.digest)
        if state is None:  # a charged question is answered even if a limit was changed since
            held.check_limits(form, question)
            with self.ledger.reading() as connection:
                self._check_disk(connection, size)
        if held.approval != "off" and state is None:
            self._approve(request, question, subject, readable(request.kind, form))
        if state in (None, "reserved"):
            self._check_available(request.dataset, is_charged=state is not None)
        return self.ledger.reserve(charging, partial(self._admit, charging, subject))

    def _admit(self, request: ChargeRequest, subject: str, connection: Connection) -> None:
        """Check quotas and approval again, in the transaction that charges the request."""
        self._quotas.check(connection, request.analyst, request.size)
        self._check_disk(connection, request.size)
        if self._datasets[request.dataset].approval != "off":
            self.approvals.check(connection, request.dataset, request.analyst, subject)

    def _check_disk(self, connection: Connection, size: int) -> None:
        try:
            self._quotas.check_disk(connection, self.ledger.path, size)
        except errors.ServiceBusyError:
            self.ledger_probe.begin()  # which logs the cause
            raise

    def _check_ledger(self) -> None:
        """Raise an error if no question can be charged at present."""
        self.ledger.probe()
        with self.ledger.reading() as connection:
            if not self._quotas.has_room(connection, self.ledger.path, _SMALL_ANSWER):
                raise errors.FileError(errno.ENOSPC, "the reserve of the disk would be used")

    def check(self, request: Request) -> tuple[QuestionForm, CheckedQuestion]:
        """Return the form and the checked question; raise the errors that `ask` raises before a charge."""
        self._held(request.caller, request.dataset)
        if request.caller.role != "analyst":
            raise errors.AccessError(
                f"only analysts can ask questions, because only they have caps; your role is {request.caller.role}."
            )
        return self._question(request.caller, request.dataset, request.kind, request.body)

    def known(self, request: Request) -> KnownRequest | None:
        """Return the ledger's state of a charged request, or None if it was not charged."""
        known = self.ledger.known(request.caller.name, request.key)
        if known is None or (known.dataset, known.body) != (request.dataset, request.digest):
            return None
        return known

    def stored(self, caller: Caller, request: str) -> Answer:
        """Return the stored answer of a request of the caller."""
        return Answer.read(self.ledger.stored(caller.name, request))

    def entries(
        self, caller: Caller, after: str | None = None, limit: int = MOST_ENTRIES
    ) -> tuple[list[str], str | None]:
        """Return a page of the caller's entries (all, unless an analyst) as lines, and the cursor of the next page.

        The cursor is the hash of the page's last entry, since its number would reveal the number of other entries.
        """
        is_own = caller.role == "analyst"
        result = self._history.page(caller.name if is_own else None, after, limit + 1)
        page, following = result[:limit], result[limit - 1].hash if len(result) > limit else None
        return [entry.own_line if is_own else entry.line for entry in page], following

    def abandon(self, evaluation: EvaluatedQuestion) -> None:
        """Abandon an evaluation that is not stored; if the question is sent again, it is not charged again."""
        self.ledger.abandon(evaluation.reserved)

    def _evaluate(self, request: Request, question: CheckedQuestion, reserved: Reserved) -> EvaluatedQuestion:
        dataset, began = request.dataset, time.monotonic()
        held = self._datasets[dataset]

        def noted(card: PrivacyCard) -> PrivacyCard:
            return replace(card, notes=(*card.notes, *_notes(dataset, reserved.epoch, held)))

        answer = cause = None
        with watched_draws() as draws:
            try:
                result = question.answer(held.rows, noted, self._noise)
                head = {"format": "hedgerow/answer", "version": 2, "dataset": dataset, "epoch": reserved.epoch}
                body = json.dumps({**head, "request": reserved.request, **result}, separators=(",", ":")).encode()
                answer = Answer(body, self._receipt(request, question, reserved, body, result))
            except (KeyboardInterrupt, SystemExit):  # the process ends
                raise
            except BaseException as error:  # such as a panic in Rust; its text could quote a row
                kind = type(error).__name__
                if not draws.is_set():  # afterwards, the failure may depend on the drawn noise
                    cause = environment_cause(error) or (None if has_room() else "process")
                state = "failed" if cause is None else f"is pending: {CAUSES[cause]}"
                _LOG.warning("request %s of dataset %s %s (%s)", reserved.request, dataset, state, kind)
        due = time.monotonic()
        if (step := held.answer_after) is not None:  # the next multiple of it after the charge
            due += step - (due - began) % step
        evaluation = EvaluatedQuestion(reserved, answer, cause, due)
        if cause is None:
            self._unstored[reserved.request] = evaluation
        return evaluation

    def finish(self, evaluation: EvaluatedQuestion) -> Answer:
        """Store and return the answer of an evaluation that is due, or raise its error."""
        try:
            return self._finished(evaluation.reserved, evaluation.answer, evaluation.cause)
        except errors.LedgerUnavailableError as error:
            error.charged = True
            raise
        finally:
            self.ledger.abandon(evaluation.reserved)  # for every kind of failure

    def _finished(self, reserved: Reserved, answer: Answer | None, cause: errors.Cause | None) -> Answer:
        if cause is not None:
            raise errors.ServiceUnavailableError(charged=True, retry_after=_PAUSE)
        if answer is None:
            self.ledger.fail(reserved, "the evaluation failed")
            self._unstored.pop(reserved.request, None)
            problem = (
                "the evaluation of the request failed and will not be repeated; the charge stays. Contact the curator."
            )
            raise errors.RequestFailedError(problem)
        self.ledger.answer(reserved, answer.content)
        self._unstored.pop(reserved.request, None)
        return answer

    def _check_available(self, dataset: str, *, is_charged: bool) -> None:
        """Raise `ServiceUnavailableError` without free resources or access to the rows."""
        cause = self._rows[dataset].check() if has_room() else "process"
        if cause is not None:  # the check has logged it
            raise errors.ServiceUnavailableError(charged=is_charged, retry_after=_PAUSE)

    def _receipt(self, request: Request, question: CheckedQuestion, reserved: Reserved, body: bytes, data: Any) -> str:
        if self._signer is None:
            return ""
        charge = question.charge
        return self._signer.sign(
            {
                "dataset": request.dataset,
                "epoch": reserved.epoch,
                "analyst": request.caller.name,
                "request": reserved.request,
                "entry": reserved.entry,
                "question": request.digest,
                "answer": digest(body),
                "model": data["model"]["digest"] if "model" in data else None,
                **amounts_data(charge.epsilon, charge.delta, charge.zcdp),
                "query": charge.query.to_dict(),
                "unit": None if charge.unit is None else charge.unit.to_dict(),
            }
        )

    def _approve(self, request: Request, question: CheckedQuestion, subject: str, text: str) -> None:
        self.approvals.require(request.dataset, request.caller.name, subject, question.charge, text)

    def _held(self, caller: Caller, dataset: str) -> HostedDataset:
        held = self._datasets.get(dataset)
        if held is None or (caller.role == "analyst" and not self.ledger.has_cap(dataset, caller.name)):
            raise errors.AccessError(f"{shown(dataset)} is not a dataset that you may ask about.")
        return held

    def _allows(self, dataset: str, caller: Caller, question: CheckedQuestion) -> bool:
        try:
            for owner in (caller.name, WHOLE):
                self.ledger.account(dataset, owner).check(amounts_of(question.charge))
        except errors.BudgetExceededError:
            return False
        return True

    def _question(
        self, caller: Caller, dataset: str, kind: QuestionKind, body: bytes
    ) -> tuple[QuestionForm, CheckedQuestion]:
        held, adds_up_rho = self._held(caller, dataset), self._adds_up_rho[dataset]
        problem = "the question cannot be read"
        try:
            form = read_form(kind, body)
            target = held.rows.target
            return form, read_question(form, held.schema, target, self._noise, adds_up_rho=adds_up_rho)
        except errors.HedgerowError as error:  # contains only the question and public information
            problem = str(error)
        except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError):  # of libraries
            pass
        raise errors.QuestionError(problem)


def _account_data(account: Account) -> dict[str, Any]:
    def part(cap: Fraction | None, spent: Fraction | None, left: Fraction | None) -> dict[str, str | None] | None:
        amounts = {"cap": cap, "spent": spent, "left": left}
        return (
            None if cap is None else {name: None if amount is None else str(amount) for name, amount in amounts.items()}
        )

    return {
        "accounting": account.accounting,
        "epsilon": part(account.epsilon, account.spent, account.remaining),
        "delta": part(account.delta, account.spent_delta, account.remaining_delta),
        "rho": part(account.largest_rho, account.spent_rho, account.remaining_rho),
    }


def _notes(dataset: str, epoch: int, held: HostedDataset) -> tuple[Fact, ...]:
    notes = Fact("asked_of", dataset=dataset, epoch=epoch), Fact("timing", seconds=held.answer_after)
    return (*notes, *([Fact("oversubscribed")] if held.oversubscribed else []))
