"""Checks of the answers of a service, which are not trusted, against the question."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from math import isclose, isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.boundary.canonical import digest, question_digest
from hedgerow.boundary.signatures import read_signed
from hedgerow.errors import ArgumentError, ReceiptError, ServiceError
from hedgerow.learn.learners import learners_of
from hedgerow.models.files import model_from_dict
from hedgerow.models.model import Model
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.oracle.answers import PARTS
from hedgerow.oracle.release_forms import AnswerPlan
from hedgerow.privacy.amounts import exact, total
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.unit import loss_of, rows_of
from hedgerow.schema.schema import Schema
from hedgerow.text.messages import shown

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

UNSIGNED = Fact("unsigned")
MOST_ROWS = 2**43  # limit of engines
STAYS = ". If the question was charged, the charge stays; repeating it on this connection is not charged again."
_TAIL = 64  # standard deviations; larger noise has a probability below 10^-38
_VARIANCE = "variances that match epsilon"
_CLOSE = 1e-9  # relative difference of variances and ρ, which machines may round differently
_AMOUNT = re.compile(r"[0-9]{1,500}(/[1-9][0-9]{0,499})?", re.ASCII)
_AMOUNTS = ("epsilon", "delta", "rho")
_LONGEST_TEXT = 1000  # characters of a text
_LARGEST_NUMBER = 10**30  # of a number
_MOST = 100  # entries of a list or mapping
_DEEPEST = 3  # nested lists and mappings


@dataclass(frozen=True, eq=False)
class Counts:
    """Noisy counts of a marginal question, by the names of `PARTS`."""

    counts: Mapping[str, Integers]
    noise: AnswerNoise
    charge: Charge
    card: PrivacyCard


@dataclass(frozen=True, eq=False)
class Received:
    """Checked answer with the name of its request and its receipt, which may be empty."""

    content: bytes
    receipt: str
    request: str
    result: Counts | Model


@dataclass(frozen=True)
class Checked:
    """Result of an answer that was checked, and the entries of its receipt that depend on the result."""

    result: Counts | Model
    delta: Fraction  # the charged δ
    digest: str | None = None  # of a model


@dataclass(frozen=True, eq=False)
class SentQuestion:
    """Question that was sent, against which answers are checked."""

    dataset: str
    epoch: int
    schema: Schema  # public schema of the dataset
    kind: str  # a key of `KINDS`
    question: Mapping[str, Any]
    body: bytes  # the question as sent
    keys: tuple[Ed25519PublicKey, ...] = ()  # public keys of the curator

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ArgumentError(f"the kind of a question must be {' or '.join(KINDS)}, got {shown(self.kind)}.")

    def read(self, data: Any, content: bytes, receipt: str) -> Received:
        try:
            head = data["format"], data["version"], data["dataset"], data["epoch"]
            expected = f"an answer about epoch {self.epoch} of {self.dataset!r}"
            _require(head == ("hedgerow/answer", 2, self.dataset, self.epoch), expected)
            _require(isinstance(data["request"], str) and type(data["epoch"]) is int, expected)
            checked = KINDS[self.kind].read(self, data)
            self._check_receipt(receipt, content, data["request"], checked)
            return Received(content, receipt, data["request"], checked.result)
        except ReceiptError as error:
            problem = f"the receipt of the answer is not valid: {str(error).rstrip('.')}{STAYS}"
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError):
            problem = f"the service did not send {KINDS[self.kind].answer} with its privacy card{STAYS}"
        raise ServiceError(problem)

    @property
    def _amounts(self) -> tuple[Fraction, Fraction]:
        return exact(self.question["epsilon"], "epsilon"), exact(self.question.get("delta", 0), "delta")

    def counts(self, data: Mapping[str, Any]) -> Checked:
        """Return checked noisy counts of rows, classes or levels by bin."""
        return self._counts(data, self.question.get("by", "rows"))

    def error_counts(self, data: Mapping[str, Any]) -> Checked:
        """Return checked noisy counts of correct and incorrect predictions by bin."""
        return self._counts(data, "errors")

    def _counts(self, data: Mapping[str, Any], by: str) -> Checked:
        bins = Schema.from_dict({"attributes": self.question["bins"]})
        own, card = Charge.from_dict(data["charge"]), PrivacyCard.from_dict(data["card"])
        # Services of earlier versions answer as if their ledgers added up ρ.
        how, release = own.mechanism, "gaussian" if self._amounts[1] else "counts"
        in_rho = how is None or (how.get("mu") is None if release == "gaussian" else how.code == "discrete_laplace")
        plan = AnswerPlan(release, *self._amounts, 1, self.schema.unit, in_rho)
        steps = self.schema.target.steps if by in ("levels", "errors") else 1
        noise = plan.noise(1, bins.sizes, steps)
        _require(_are_close(data["variance"], dict(zip(bins.names, noise.counts, strict=True))), _VARIANCE)
        epsilon, delta, rho = loss_of(plan.mechanism(1, bins.sizes, steps), rows_of(self.schema.unit))
        claimed = (
            rho if own.rho is None and not delta else own.rho
        )  # services of earlier versions state the ρ that follows from ε
        same_rho = claimed == rho or (claimed and rho and isclose(claimed, rho, rel_tol=_CLOSE))
        agree = (own.epsilon, own.delta, own.unit, own.declared) == (epsilon, delta, self.schema.unit, False)
        _require(agree and same_rho and own in card.charges, "an answer with its privacy card, at the requested cost")
        classes, most = self.schema.target.n_levels if by == "classes" else None, MOST_ROWS * steps
        deviation = sqrt(max(noise.counts))
        counts = {name: _whole(bins, data[name], classes, deviation, most) for name in PARTS[by]}
        notes = card.notes if self.keys else (*card.notes, UNSIGNED)
        return Checked(Counts(counts, noise, own, replace(card, notes=notes)), self._amounts[1])

    def model(self, data: Mapping[str, Any]) -> Checked:
        """Return a checked model of the requested kind and size."""
        model, names = model_from_dict(data["model"]), self.question.get("attributes", self.schema.names)
        attributes = tuple((name, kind) for name, kind in self.schema.attributes if name in names)
        defaults = signature(learners_of(self.schema.target)[self.question["model"]]).parameters
        limits = {name: parameter.default for name, parameter in defaults.items()} | self.question.get("parameters", {})
        _require(model.name == self.question["model"], f"a {self.question['model']}")
        within = all(limits[name] is None or size <= limits[name] for name, size in model.sizes.items())
        _require(within, f"a {model.name} within the requested size ({', '.join(model.sizes)})")
        _require(replace(self.schema, attributes=attributes) == model.schema, "a model with the requested attributes")
        card, (epsilon, delta) = model.privacy, self._amounts
        epsilon = total([*(charge.epsilon for charge in self.schema.charges), epsilon])
        with_schema, of_schema = (total(charge.delta for charge in of.charges) for of in (card, self.schema))
        charged = with_schema - of_schema  # 0 for a model that needs no δ
        is_cost = card.epsilon == epsilon and charged in (delta, 0)
        _require(is_cost and card.unit == self.schema.unit, "a model with its privacy card, at the requested cost")
        return Checked(model, charged, data["model"]["digest"])

    def _check_receipt(self, receipt: str, content: bytes, request: str, checked: Checked) -> None:
        if not (receipt or self.keys):
            return
        statement = read_signed(receipt, self.keys)
        expected = {
            "dataset": self.dataset,
            "epoch": self.epoch,
            "request": request,
            "question": question_digest(self.kind, self.body),
            "answer": digest(content),
            "model": checked.digest,
            "epsilon": str(self._amounts[0]),
            "delta": str(checked.delta),
            "unit": None if self.schema.unit is None else self.schema.unit.to_dict(),
        }
        different = [name for name, value in expected.items() if statement.get(name) != value]
        _require(not different, f"a receipt of this answer (different: {', '.join(different)})")


@dataclass(frozen=True)
class Kind:
    """A kind of question: the public facts of its cost, and the check of its answer."""

    facts: tuple[str, ...]
    read: Callable[[SentQuestion, Mapping[str, Any]], Checked]
    answer: str = "an answer"  # for messages
    is_job: bool = False  # whether the service answers with a job


KINDS = {
    "marginals": Kind(("bins", "noise_sd"), SentQuestion.counts),
    "error-marginals": Kind(("bins", "noise_sd"), SentQuestion.error_counts),
    "fits": Kind(("search",), SentQuestion.model, "a model", is_job=True),
}
"""The kinds of questions of a service, by the last part of their path."""


def _require(holds: object, expected: str) -> None:
    if not holds:
        raise ServiceError(f"the service did not send {expected}{STAYS}")


def _are_close(given: Any, variances: Mapping[str, float]) -> bool:
    """Return whether variances are as expected; earlier versions send a single variance for all attributes."""
    by_attribute: dict[str, Any] = given if isinstance(given, dict) else dict.fromkeys(variances, given)
    return by_attribute.keys() == variances.keys() and all(
        type(by_attribute[name]) in (float, int) and isclose(by_attribute[name], expected, rel_tol=_CLOSE)
        for name, expected in variances.items()
    )


def _whole(bins: Schema, answer: Any, classes: int | None, deviation: float, most: int) -> Integers:
    """Return the counts of all bins by attribute; raise `ServiceError` unless they are plausible whole numbers."""
    _require(isinstance(answer, dict) and set(answer) == set(bins.names), "the counts of all bins")
    lines = [line for name in bins.names for line in answer[name]]
    sizes = [len(answer[name]) for name in bins.names] == [kind.n_bins for _, kind in bins.attributes]
    rows = [[line] if classes is None else line for line in lines]
    _require(sizes and all(len(row) == (classes or 1) for row in rows), "the counts of all bins")
    tail = _TAIL * deviation
    within = all(type(count) is int and -tail <= count <= most + tail for row in rows for count in row)
    _require(within, "noisy counts that are whole numbers")
    return np.array(lines, dtype=np.int64)


def read_budget(data: Any) -> dict[str, Any]:
    """Return a checked budget: caps, charges and remaining amounts as exact text, and the accounting."""
    if _is_budget(data):
        return data
    raise ServiceError("the service sent a response that is not a budget with exact amounts.")


def read_cost(data: Any, kind: str) -> dict[str, Any]:
    """Return a checked cost: exact amounts, whether enough budget is left, and public facts."""
    facts = KINDS[kind].facts
    if isinstance(data, dict) and set(data) == {*_AMOUNTS, "allowed", *facts}:
        amounts = all(data[name] is None or _is_amount(data[name]) for name in _AMOUNTS)
        if amounts and isinstance(data["allowed"], bool) and all(_is_fact(data[name]) for name in facts):
            return data
    raise ServiceError("the service sent a response that is not the cost of the question.")


def _is_budget(data: Any) -> bool:
    if not isinstance(data, dict) or set(data) != {"accounting", *_AMOUNTS}:
        return False
    parts = [data[name] for name in _AMOUNTS if data[name] is not None]
    return data["accounting"] in ("basic", "zcdp") and all(_is_part(part) for part in parts)


def _is_part(part: Any) -> bool:
    known = isinstance(part, dict) and set(part) == {"cap", "spent", "left"} and _is_amount(part["cap"])
    return known and all(part[name] is None or _is_amount(part[name]) for name in ("spent", "left"))


def _is_amount(value: Any) -> bool:
    return isinstance(value, str) and _AMOUNT.fullmatch(value) is not None


def _is_fact(value: Any) -> bool:
    """Return whether a value is printable text or a number >= 0, within bounds."""
    if isinstance(value, str):
        return len(value) <= _LONGEST_TEXT and value.isprintable()
    return type(value) in (int, float) and 0 <= value <= _LARGEST_NUMBER and isfinite(value)


def is_public(value: Any, depth: int = _DEEPEST) -> bool:
    """Return whether a part of a description consists of printable texts, numbers and booleans, within bounds."""
    if isinstance(value, dict):
        return all(_is_fact(name) for name in value) and is_public([*value.values()], depth)
    if isinstance(value, list):
        return depth > 0 and len(value) <= _MOST and all(is_public(part, depth - 1) for part in value)
    return value is None or isinstance(value, bool) or _is_fact(value)
