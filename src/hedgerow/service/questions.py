"""Questions: their cost, from public values only, and their answers, from private rows after the charge."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from inspect import signature
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.hypotheses import Always, read_onnx
from hedgerow.learn.learners import learners_of
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.searches import SearchSpecification
from hedgerow.models.decisions import by_class
from hedgerow.models.files import model_from_dict
from hedgerow.oracle.answers import PARTS
from hedgerow.oracle.frame_rows import OracleRows
from hedgerow.oracle.oracle import OracleQuestion, ask_once
from hedgerow.oracle.release_forms import AnswerPlan
from hedgerow.privacy import Budget, PrivacyCard
from hedgerow.privacy.amounts import LARGEST, exact, positive
from hedgerow.privacy.charge import Charge, reasons
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import NoiseSource, noise_source
from hedgerow.privacy.unit import loss_of, rows_of
from hedgerow.schema.schema import Schema
from hedgerow.service.forms import AlwaysForm, ErrorMarginals, Fit, Marginals, ModelForm, QuestionForm
from hedgerow.service.rows import HostedRows
from hedgerow.text.messages import shown
from hedgerow.text.values import listed

LARGEST_DIVISOR = 500
"""Largest denominator of an amount after its factors 2 and 5 are removed.

A ledger adds amounts exactly. With arbitrary denominators, totals would grow longer with each question, without limit.
All permitted denominators divide a single number of 350 digits, apart from powers of 2 and 5.
"""
_DIGITS = 22  # bytes of a count of 64 bits, with its sign and separators
_HEAD = 2**14  # bytes of the card and the receipt of an answer
_LARGEST_MODEL = 2**20  # bytes of a model, in addition to the schema
_OURS = ("epsilon", "delta", "schema", "budget", "random_state", "verbose")
"""Parameters that have entries in the form or that only the curator sets."""


def read_question(
    form: QuestionForm,
    schema: Schema,
    target: OracleRows,
    noise: NoiseSource | None = None,
    *,
    adds_up_rho: bool = False,
) -> "CheckedQuestion":
    """Check a question against public information about a dataset, without reading rows or charging.

    `adds_up_rho` states whether the ledger adds up ρ.
    """
    if isinstance(form, Fit):
        return _fit_question(form, schema, adds_up_rho=adds_up_rho)
    bins = Schema.from_dict({"attributes": form.bins})
    if isinstance(form, Marginals):
        oracle_question = OracleQuestion.of(target, bins, form.by)
    else:
        oracle_question = OracleQuestion.of(target, bins, "errors", _hypothesis(form, schema))
    epsilon, delta = _loss(form)
    plan = AnswerPlan("gaussian" if delta else "counts", epsilon, delta, 1, schema.unit, adds_up_rho)
    return MarginalQuestion.of(oracle_question, plan, noise, schema)


def _hypothesis(form: ErrorMarginals, schema: Schema) -> Any:
    if isinstance(form.hypothesis, AlwaysForm):
        given = form.hypothesis.always
        return Always(next((label for label in schema.target.hypothesis_classes if str(label) == given), given))
    if isinstance(form.hypothesis, ModelForm):
        return model_from_dict(form.hypothesis.model)
    return read_onnx(form.hypothesis.onnx)


@dataclass(frozen=True, eq=False)
class MarginalQuestion:
    """Question for noisy counts."""

    oracle_question: OracleQuestion
    plan: AnswerPlan  # mechanism of the answer
    charge: Charge
    columns: int  # counts in each bin

    @classmethod
    def of(
        cls, oracle_question: OracleQuestion, plan: AnswerPlan, noise: NoiseSource | None, schema: Schema
    ) -> "MarginalQuestion":
        """Return a question with its charge; raise `ValueError` for amounts that the mechanism does not support."""
        bins, unit, source = oracle_question.bins, schema.unit, noise_source(noise)
        mechanism = plan.mechanism(1, bins.sizes, oracle_question.steps)
        source.prepare(mechanism)
        query = Fact("answer", by=oracle_question.by, attributes=len(bins))
        loss, slack, rho = loss_of(mechanism, rows_of(unit))
        charge = Charge(query, loss, slack, mechanism.record, reasons(source.no_guarantee_reason), rho=rho, unit=unit)
        return cls(oracle_question, plan, charge, schema.target.n_levels if oracle_question.by == "classes" else 1)

    @property
    def _variances(self) -> tuple[float, ...]:
        return self.plan.noise(1, self.oracle_question.bins.sizes, self.oracle_question.steps).counts

    @property
    def public(self) -> dict[str, Any]:
        return {"bins": sum(self.oracle_question.bins.sizes), "noise_sd": float(np.sqrt(np.mean(self._variances)))}

    @property
    def largest_answer(self) -> int:
        """Maximum size of the answer in bytes, from public values only."""
        counts = self.public["bins"] * (self.columns * _DIGITS + 2)
        return (
            len(PARTS[self.oracle_question.by]) * (counts + 2 * len(json.dumps(self.oracle_question.bins.names)))
            + _HEAD
        )

    def answer(self, rows: HostedRows, noted: Callable[[PrivacyCard], PrivacyCard], noise: NoiseSource | None) -> Any:
        budget = Budget(self.plan.epsilon, self.plan.delta)
        with rows.opened() as target:
            counts, card = ask_once(target, self.oracle_question, budget, self.plan, random_state=noise)
        parts = {part: self._by_attribute(getattr(counts, part)) for part in PARTS[self.oracle_question.by]}
        (charge,) = budget.charges
        variance = dict(zip(self.oracle_question.bins.names, self._variances, strict=True))
        return {**parts, "variance": variance, "charge": charge.to_dict(), "card": noted(card).to_dict()}

    def _by_attribute(self, counts: Integers) -> dict[str, Any]:
        parts = np.split(counts, np.cumsum(self.oracle_question.bins.sizes)[:-1])
        return {name: part.tolist() for name, part in zip(self.oracle_question.bins.names, parts, strict=True)}


@dataclass(frozen=True, eq=False)
class FitQuestion:
    """Question for a model."""

    learner: PrivateSpecification
    schema: Schema  # public schema with the requested attributes
    charge: Charge

    @property
    def cost(self) -> Cost | None:
        """Computational cost of an exact search."""
        return self.learner.search_cost(self.schema) if isinstance(self.learner, SearchSpecification) else None

    @property
    def public(self) -> dict[str, Any]:
        return {"search": "none" if self.cost is None else str(self.cost)}

    @property
    def largest_answer(self) -> int:
        """Expected maximum size of a model in bytes, which contains the schema and names of its attributes."""
        return 4 * len(json.dumps(self.schema.to_dict())) + _LARGEST_MODEL

    def answer(self, rows: HostedRows, noted: Callable[[PrivacyCard], PrivacyCard], noise: NoiseSource | None) -> Any:
        model = replace(self.learner, random_state=noise).fit_tally(rows.tally(self.schema))
        return {"model": replace(model, privacy=noted(model.privacy)).to_dict()}


CheckedQuestion = MarginalQuestion | FitQuestion
"""Checked question with its `charge`, `public` facts of its answer, and the `answer` after the charge."""


def _fit_question(form: Fit, schema: Schema, *, adds_up_rho: bool) -> FitQuestion:
    make = learners_of(schema.target)[form.model]
    known = [name for name in signature(make).parameters if name not in _OURS]
    for name in form.parameters:
        if name not in known:
            raise ArgumentError(
                f"{shown(name)} is not a parameter of a {form.model}; the parameters are {', '.join(known)}."
            )
    learned_schema = schema if form.attributes is None else _restricted(schema, form.attributes)
    epsilon, delta = _loss(form)
    more = {"delta": delta} if delta else {}
    if delta and "delta" not in signature(make).parameters:
        raise ArgumentError(f"a {form.model} does not use delta; set it to 0, got {form.delta}.")
    # The ledger checks the caps. With a budget that adds up ρ, a learner chooses mechanisms with a small ρ.
    budget = Budget(rho=LARGEST) if adds_up_rho else None
    learner = make(epsilon, schema=learned_schema, budget=budget, **more, **_parameters(form, schema))
    learner.check_public()
    return FitQuestion(learner, learned_schema, learner.planned_charge(learned_schema))


def _parameters(form: Fit, schema: Schema) -> dict[str, Any]:
    parameters: dict[str, Any] = dict(form.parameters)
    for name in ("class_weight", "costs"):
        if isinstance(given := parameters.get(name), dict):
            lines = {
                key: by_class(schema.classes, line) if isinstance(line, dict) else line for key, line in given.items()
            }
            parameters[name] = by_class(schema.classes, lines)
    return parameters


def _restricted(schema: Schema, names: list[str]) -> Schema:
    for name in names:
        if name not in schema:
            raise SchemaError(f"not an attribute of the schema, which has {listed(schema.names)}.", attribute=name)
    return replace(schema, attributes=tuple((name, kind) for name, kind in schema.attributes if name in names))


def _loss(form: QuestionForm) -> tuple[Fraction, Fraction]:
    epsilon, delta = positive(form.epsilon, "epsilon"), exact(form.delta, "delta")
    if delta >= 1:
        raise ArgumentError(f"delta must be in [0, 1), got {form.delta}.")
    if max(map(_divisor, (epsilon, delta))) > LARGEST_DIVISOR:
        raise ArgumentError(
            "epsilon and delta must be decimals, or fractions whose denominator is at most "
            f"{LARGEST_DIVISOR} after its factors 2 and 5 are removed. Round the amount down to a decimal."
        )
    return epsilon, delta


def _divisor(amount: Fraction) -> int:
    divisor = amount.denominator
    for prime in (2, 5):
        while divisor % prime == 0:
            divisor //= prime
    return divisor
