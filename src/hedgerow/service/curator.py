"""The curator, who holds private rows, charges questions in a ledger, and answers them; without the web."""

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
from hedgerow.service.questions import CheckedQuestion, read_question
from hedgerow.service.quotas import Quotas
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Caller, Request
from hedgerow.service.resources import has_room
from hedgerow.service.rows import HostedRows
from hedgerow.text.messages import shown

_LOG = logging.getLogger(__name__)
MOST_ENTRIES = 1000  # of a page of the ledger
_PAUSE = 5  # seconds after which a question that could not be evaluated may be asked again


@dataclass(frozen=True, repr=False, eq=False)
class HostedDataset:
    """A dataset that a curator holds."""

    schema: Schema  # what is public of it, with the label
    rows: HostedRows  # the private rows
    # Answers leave so many seconds after the charge, or a multiple of it where they take longer, so that run
    # time tells little of the rows. None: as soon as they are there, which the cards say.
    answer_after: float | None = None
    # Whether the analysts' caps add up to more than the dataset's, which the cards say, too
    oversubscribed: bool = False
    # Whether the curator is to approve nothing, an analyst's first question, or every one, before it is charged
    approval: Approval = "off"
    min_epsilon: Fraction | None = None  # the least epsilon of a question
    epoch: int | None = None  # the epoch that was current before the rows were read: no other one is charged for them

    def __post_init__(self) -> None:
        if self.schema.weight is not None:
            problem = "expected a schema without a weight, got one: a service counts each row as one"
            raise errors.ArgumentError(f"{problem}. Leave `weight` out.")


@dataclass(frozen=True)
class Answer:
    """An answer, as it was stored before it left."""

    body: bytes  # the answer, as JSON
    receipt: str  # the curator's signed statement about it; empty where the curator does not sign

    @classmethod
    def read(cls, content: bytes) -> "Answer":
        receipt, _, body = content.partition(b"\n")
        return cls(body, receipt.decode())

    @property
    def content(self) -> bytes:
        return self.receipt.encode() + b"\n" + self.body


@dataclass(frozen=True, repr=False, eq=False)
class EvaluatedQuestion:
    """What became of the evaluation of a charged question. Nothing of it may be seen before it is due."""

    reserved: Reserved
    answer: Answer | None
    cause: errors.Cause | None  # what failed in the environment
    due: float  # when it may be stored and sent, on the clock of `time.monotonic`


class Curator(ProcessBound):
    """Holder of private datasets, who answers what their ledger allows."""

    # Every question is checked against what is public, then charged in the ledger, on disk, then answered from the
    # rows. An answer is on disk before it leaves. A failure of the environment before noise is drawn leaves the
    # question pending: asked again, it is evaluated again under the same charge. Any other failure is final, and an
    # answer that cannot be stored is kept until it can. If whether a draw is stored depended on the drawn values, a
    # second draw would be rejection sampling, whose loss is up to twice that charged.

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
        self._unstored = dict[str, EvaluatedQuestion]()  # by request: results, which are not evaluated again
        self._rows = {name: Probe(f"dataset {name}", held.rows.probe) for name, held in self._datasets.items()}
        self._ledger = Probe("the ledger", ledger.probe)

    @property
    def probes(self) -> tuple[Probe, ...]:
        """The checks of all that has to be reached: the ledger, and the rows of each dataset."""
        return (self._ledger, *self._rows.values())

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
        """Return the caps that the caller may know, what was charged, and what is left, as exact text. Free."""
        self._held(caller, dataset)
        if caller.role == "analyst":
            return _account_data(self.ledger.account(dataset, caller.name))
        return _account_data(self.ledger.account(dataset, WHOLE))

    def dummy(self, caller: Caller, dataset: str, n_rows: int, seed: int = 0) -> dict[str, list[Any]]:
        return dummy_rows(self._held(caller, dataset).schema, n_rows, seed)

    def cost(self, caller: Caller, dataset: str, kind: QuestionKind, body: bytes) -> dict[str, Any]:
        _, question = self._question(caller, dataset, kind, body)
        charge = question.charge
        return {
            **amounts_data(charge.epsilon, charge.delta, charge.zcdp),
            "allowed": caller.role == "analyst" and self._allows(dataset, caller, question),
            **question.public,
        }

    def ask(self, request: Request) -> Answer:
        """Answer a question: checked, charged, answered, stored; then returned."""
        found = self.evaluate(request)
        if isinstance(found, Answer):
            return found
        time.sleep(max(0.0, found.due - time.monotonic()))
        return self.finish(found)

    def evaluate(self, request: Request) -> Answer | EvaluatedQuestion:
        """Check, charge and evaluate a question; return the stored answer of a question that was answered before."""
        try:
            form, question = self.check(request)
            found = self._reserve(request, form, question)
        except errors.RefusalError as error:
            known = self.known(request)
            if known is not None and known.state == "answered":
                return self.stored(request.caller, known.request)  # it was paid for, whatever was refused since
            error.charged = known is not None
            raise
        if isinstance(found, Answered):
            self._unstored.pop(found.request, None)  # another process may have answered it
            return Answer.read(found.content)
        if (kept := self._unstored.get(found.request)) is not None:
            return replace(kept, reserved=found)
        try:
            return self._evaluate(request, question, found)
        except BaseException:
            self.ledger.put_down(found)  # else it would be taken for one that is still being answered
            raise

    def _reserve(self, request: Request, form: QuestionForm, question: CheckedQuestion) -> Reserved | Answered:
        """Charge a question that was checked, if it may be charged now, unless it was charged before."""
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
        if state is None:
            with self.ledger.reading() as connection:
                self._quotas.check_disk(connection, self.ledger.path, size)
        if held.approval != "off" and state is None:
            self._approve(request, question, subject, readable(request.kind, form))
        if state in (None, "reserved"):
            self._check_available(request.dataset, is_charged=state is not None)
        return self.ledger.reserve(charging, partial(self._admit, charging, subject))

    def _admit(self, request: ChargeRequest, subject: str, connection: Connection) -> None:
        """Check, in the transaction that is about to charge a request, what may have changed since it was checked."""
        self._quotas.check(connection, request.analyst, request.size)
        self._quotas.check_disk(connection, self.ledger.path, request.size)
        if self._datasets[request.dataset].approval != "off":
            self.approvals.check(connection, request.dataset, request.analyst, subject)

    def check(self, request: Request) -> tuple[QuestionForm, CheckedQuestion]:
        """Return the form of a question, and the question, which can be asked; raises as `ask` does before a charge."""
        self._held(request.caller, request.dataset)
        if request.caller.role != "analyst":
            raise errors.AccessError("only analysts ask, since only they have caps; got another role.")
        return self._question(request.caller, request.dataset, request.kind, request.body)

    def known(self, request: Request) -> KnownRequest | None:
        """Return how the ledger knows a request that was charged; None if it was not."""
        found = self.ledger.known(request.caller.name, request.key)
        return found if found is not None and (found.dataset, found.body) == (request.dataset, request.digest) else None

    def stored(self, caller: Caller, request: str) -> Answer:
        """Return the stored answer of a request of the caller's."""
        return Answer.read(self.ledger.stored(caller.name, request))

    def entries(
        self, caller: Caller, after: str | None = None, limit: int = MOST_ENTRIES
    ) -> tuple[list[str], str | None]:
        """Return a page of the ledger's entries as lines, an analyst's own or all, and the cursor of the next page.

        The cursor is the hash of the page's last entry: its number would show how many entries others have.
        """
        is_own = caller.role == "analyst"
        found = self._history.page(caller.name if is_own else None, after, limit + 1)
        page, following = found[:limit], found[limit - 1].hash if len(found) > limit else None
        return [entry.own_line if is_own else entry.line for entry in page], following

    def abandon(self, evaluation: EvaluatedQuestion) -> None:
        """Leave an evaluation that is not stored: asked again, the question is evaluated or stored under its charge."""
        self.ledger.put_down(evaluation.reserved)

    def _evaluate(self, request: Request, question: CheckedQuestion, reserved: Reserved) -> EvaluatedQuestion:
        dataset, began = request.dataset, time.monotonic()
        held = self._datasets[dataset]

        def noted(card: PrivacyCard) -> PrivacyCard:
            return replace(card, notes=(*card.notes, *_notes(dataset, reserved.epoch, held)))

        answer = cause = None
        with watched_draws() as draws:
            try:
                found = question.answer(held.rows, noted, self._noise)
                head = {"format": "hedgerow/answer", "version": 2, "dataset": dataset, "epoch": reserved.epoch}
                body = json.dumps({**head, "request": reserved.request, **found}, separators=(",", ":")).encode()
                answer = Answer(body, self._receipt(request, question, reserved, body, found))
            except (KeyboardInterrupt, SystemExit):  # the process ends
                raise
            except BaseException as error:  # as panics of Rust are; its text could quote a row
                kind = type(error).__name__
                if not draws.is_set():  # else the failure may depend on what was drawn
                    cause = environment_cause(error) or (None if has_room() else "process")
                state = "failed" if cause is None else f"is pending: {CAUSES[cause]}"
                _LOG.warning("request %s of dataset %s %s (%s)", reserved.request, dataset, state, kind)
        due = time.monotonic()
        if (step := held.answer_after) is not None:  # at a multiple of it after the charge
            due += step - (due - began) % step
        evaluation = EvaluatedQuestion(reserved, answer, cause, due)
        if cause is None:
            self._unstored[reserved.request] = evaluation
        return evaluation

    def finish(self, evaluation: EvaluatedQuestion) -> Answer:
        """Store the answer of an evaluation that is due, and return it; raises if there is none."""
        try:
            return self._finished(evaluation.reserved, evaluation.answer, evaluation.cause)
        except errors.LedgerUnavailableError as error:
            error.charged = True
            raise
        finally:
            self.ledger.put_down(evaluation.reserved)  # whatever fails

    def _finished(self, reserved: Reserved, answer: Answer | None, cause: errors.Cause | None) -> Answer:
        if cause is not None:
            raise errors.ServiceUnavailableError(charged=True, retry_after=_PAUSE)
        if answer is None:
            self.ledger.fail(reserved, "the evaluation failed")
            self._unstored.pop(reserved.request, None)
            problem = "the evaluation of the request failed, which is final; the charge stays. Ask the curator why."
            raise errors.RequestFailedError(problem)
        self.ledger.answer(reserved, answer.content)
        self._unstored.pop(reserved.request, None)
        return answer

    def _check_available(self, dataset: str, *, is_charged: bool) -> None:
        """Check, before a charge or another attempt, that there are resources and that the rows can be reached."""
        cause = self._rows[dataset].check() if has_room() else "process"
        if cause is not None:  # which is in the log of the check
            raise errors.ServiceUnavailableError(charged=is_charged, retry_after=_PAUSE)

    def _receipt(self, request: Request, question: CheckedQuestion, reserved: Reserved, body: bytes, found: Any) -> str:
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
                "model": found["model"]["digest"] if "model" in found else None,
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
            raise errors.AccessError(f"expected a dataset that you may ask about, got {shown(dataset)}.")
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
            _check_epsilon(form, held.min_epsilon)
            target = held.rows.target
            return form, read_question(form, held.schema, target, self._noise, adds_up_rho=adds_up_rho)
        except errors.HedgerowError as error:  # made of the question and of what is public
            problem = str(error)
        except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError, MemoryError):  # of libraries
            pass
        raise errors.QuestionError(problem)


def _account_data(account: Account) -> dict[str, Any]:
    def part(cap: Fraction | None, spent: Fraction | None, left: Fraction | None) -> dict[str, str | None] | None:
        amounts = {"cap": cap, "spent": spent, "left": left}
        return None if cap is None else {name: None if one is None else str(one) for name, one in amounts.items()}

    return {
        "accounting": account.accounting,
        "epsilon": part(account.epsilon, account.spent, account.remaining),
        "delta": part(account.delta, account.spent_delta, account.remaining_delta),
        "rho": part(account.largest_rho, account.spent_rho, account.remaining_rho),
    }


def _check_epsilon(form: QuestionForm, least: Fraction | None) -> None:
    if least is not None and exact(form.epsilon, "epsilon") < least:
        problem = f"expected epsilon of at least {least}, the least that this dataset allows for a question"
        raise errors.QuestionError(f"{problem}, got {shown(form.epsilon)}.")


def _notes(dataset: str, epoch: int, held: HostedDataset) -> tuple[Fact, ...]:
    notes = Fact("asked_of", dataset=dataset, epoch=epoch), Fact("timing", seconds=held.answer_after)
    return (*notes, *([Fact("oversubscribed")] if held.oversubscribed else []))
