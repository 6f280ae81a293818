"""Oracles whose target is with a curator elsewhere."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hedgerow.client.answers import Counts
from hedgerow.errors import OracleExhaustedError
from hedgerow.hypotheses import Hypothesis, TargetColumns
from hedgerow.hypotheses.onnx_write import hypothesis_data
from hedgerow.hypotheses.read import HypothesisCharges, charges_of
from hedgerow.oracle.answers import PARTS, ErrorCounts, RowCounts, answer_of
from hedgerow.oracle.binning import plain_bins
from hedgerow.oracle.charged_oracle import ChargedOracle
from hedgerow.oracle.release import Form
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge, renewed
from hedgerow.privacy.process import read_only
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import number_of

Ask = Callable[[str, dict[str, Any]], Counts]
TryOut = Callable[[str, dict[str, Any]], Any]


class RemoteOracle(ChargedOracle[RowCounts, ErrorCounts]):
    """An oracle that asks a curator's service: learners take it as they take `hedgerow.Oracle`.

    Every question is charged at the curator's before a row is touched there, an equal share of ε and δ each.
    Neighbouring tables differ by one row, which is in one bin of each of d attributes: a question has the ℓ1
    sensitivity d; or by all rows of a unit, of which as many count as it may have, each of them so.

    Parameters
    ----------
    ask, try_out : callable
        Send a question of a kind: one is charged, and returns the answer, which was checked; the other is free.
    columns, kinds : tuple of str
        The names of the target's columns, and of each: ``boolean``, ``numbers`` or ``text``.
    label : Target
        The name of the labels, and the classes or the number.
    epsilon, delta, max_queries : Fraction, Fraction, int
        For all questions together, and how many there are.
    unit : Unit, optional
        What the curator protects; None for one row.
    """

    columns: tuple[str, ...] = read_only("_columns", "The names of the target's columns.")
    kinds: tuple[str, ...] = read_only("_kinds", "Kind of each column: ``boolean``, ``numbers`` or ``text``.")

    def __init__(
        self,
        ask: Ask,
        try_out: TryOut,
        columns: tuple[str, ...],
        kinds: tuple[str, ...],
        label: Target,
        *,
        epsilon: Fraction,
        delta: Fraction,
        max_queries: int,
        unit: Unit | None = None,
    ) -> None:
        super().__init__(max_queries)
        self._send, self._try_out = ask, try_out
        self._columns, self._kinds, self._label = columns, kinds, label
        self._release, self._unit = "gaussian" if delta else "counts", unit
        self._form = Form(self._release, epsilon / max_queries, delta / max_queries, 1, unit)
        self._cards = list[PrivacyCard]()

    @property
    def privacy(self) -> PrivacyCard:
        """Privacy card of all that was charged so far, at the curator's and before."""
        if not self._cards:
            return PrivacyCard.none("nothing was answered")
        last = self._cards[-1]
        denials = tuple(f"asked about a hypothesis whose own card says: none ({reason})" for reason in self._denials)
        charges = tuple(made for _, made in self._charges.values())
        notes, reserve = (*last.notes, *denials), self._form.reserve(self.queries_left, self._reserves)
        return PrivacyCard(charges, last.noise, last.software, last.no_guarantee_reason, notes, reserve)

    def noise_scale(self, n_attributes: int) -> float:
        """Return λ: ``√2·λ`` is the standard deviation of the noise on a count."""
        return self._form.scale(1, n_attributes)

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Ask the service whether `error_marginals` can be asked about a hypothesis. Free; raises as it does."""
        question = self._question(plain_bins(bins), hypothesis=self._sent(hypothesis))
        self._try_out("error-marginals", question)

    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        bins, paid = plain_bins(bins), HypothesisCharges()
        if by == "errors":
            sent = self._sent(hypothesis)
            paid = charges_of(hypothesis)
            answer = self._answer("error-marginals", bins, paid, hypothesis=sent)
        else:
            answer = self._answer("marginals", bins, paid, by=by)
        numbers = [answer.counts[part] for part in PARTS[by]]
        return answer_of(by, bins, numbers, answer.variance, self.label.steps)

    def _sent(self, hypothesis: Hypothesis) -> dict[str, Any]:
        return hypothesis_data(hypothesis, TargetColumns(self._columns, self._kinds, named=True), self.classes)

    def _question(self, bins: Schema, **more: Any) -> dict[str, Any]:
        amounts = {"epsilon": str(self._form.epsilon), "delta": str(self._form.delta)}
        return {**amounts, "bins": bins.to_dict()["attributes"], **more}

    def _answer(self, kind: str, bins: Schema, paid: HypothesisCharges, **more: Any) -> Counts:
        self.check_process()
        with self._lock:
            if not self.queries_left:
                raise OracleExhaustedError(self._max_queries)
            planned = Charge("the answer", self._form.epsilon, unit=self._unit)
            prior = self._prior_costs(self._form, planned, bins, paid)
            answer = self._send(kind, self._question(bins, **more))
            self._asked += 1
            self._cards.append(answer.card)
            self._record([(answer.charge, renewed(answer.charge)), *prior.charges], prior)
            return answer

    def __repr__(self) -> str:
        return (
            f"<RemoteOracle of {number_of(len(self._columns), 'column')}, {self.queries_left} of "
            f"{number_of(self._max_queries, 'question')} left>"
        )
