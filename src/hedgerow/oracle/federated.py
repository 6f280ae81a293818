"""Federated oracles: the counts of tables with disjoint rows are added."""

import threading
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from math import sqrt
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.hypotheses.hypothesis import Hypothesis
from hedgerow.oracle.answer_noise import AnswerNoise
from hedgerow.oracle.answers import PARTS, ErrorCounts, RowCounts, answer_of
from hedgerow.oracle.base_oracle import BaseOracle
from hedgerow.oracle.protocol import MarginalOracle
from hedgerow.oracle.release_forms import Release
from hedgerow.privacy.amounts import total
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge, reasons, total_rho, unit_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.process import read_only
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import ChargeNote, add_charge_note, charge_notes

_METHODS = {"rows": "marginals", "classes": "class_marginals", "levels": "level_marginals", "errors": "error_marginals"}
_AS_STATED = Fact("as_stated")


class FederatedOracle(BaseOracle[RowCounts, ErrorCounts]):
    """An oracle for the rows of several curators, who do not see each other's rows.

    Every curator receives the same question. The answers, and the variances of their noise, are added. Learners use the
    result like any other oracle. A row is in only one of the tables, so a question costs the row the charge of one
    curator. The card therefore states the largest charge of a curator, and a note states the sum, which applies to
    persons with rows at several curators. If the curators protect all rows of a `Unit`, a unit may have rows at every
    curator, and the card states the sum. If a curator did not answer a question, the question can be asked again: it
    goes only to the curators who have not answered, and nothing is charged twice.

    Parameters
    ----------
    oracles : sequence of oracles
        Two or more oracles (`hedgerow.Oracle`, or from `RemoteDataset.oracle`) of tables with the same columns and
        classes, or with the same bounds and levels of a number.

    Raises
    ------
    ValueError, TypeError
        If columns, classes, forms of release or units differ, an oracle is given twice or releases ratios, or an item
        is not an oracle.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> X, y, classes = data.frame, data.labels, data.schema.classes
    >>> first = hr.Oracle(X[:300], y[:300], hr.Budget(1), 1, classes=classes)
    >>> second = hr.Oracle(X[300:], y[300:], hr.Budget(1), 1, classes=classes)
    >>> oracle = FederatedOracle([first, second])
    >>> answer = oracle.marginals(hr.oracle.choose_bins(data.frame, 4))
    >>> oracle.queries_left, float(oracle.privacy.epsilon)
    (0, 1.0)
    """

    columns: tuple[str, ...] = read_only("_first.columns", "The names of the columns of all targets.")
    classes: tuple[Any, ...] = read_only(
        "_first.classes",
        "The classes; the second of two is the positive class. For a number, False (low) and True (high).",
    )
    label: Target = read_only("_first.label", "The name of the labels with their classes, or the number.")
    release: Release = read_only("_first.release", "The form of the answers.")
    unit: Unit | None = read_only("_first.unit", "The unit of privacy of every curator; None for one row.")

    def __init__(self, oracles: Sequence[MarginalOracle]) -> None:
        super().__init__()
        self._oracles = tuple(oracles)
        for oracle in self._oracles:
            if not isinstance(oracle, MarginalOracle):
                raise ArgumentTypeError(f"expected oracles, got {type(oracle).__name__}; see hedgerow.Oracle.")
        different = len({id(oracle) for oracle in self._oracles})
        if len(self._oracles) < 2 or different < len(self._oracles):
            problem = "expected two or more different oracles"
            raise ArgumentError(f"{problem}, got {len(self._oracles)}, of which {different} are different.")
        self._first = self._oracles[0]
        for name in ("columns", "classes", "release", "unit"):
            if len({getattr(oracle, name) for oracle in self._oracles}) > 1:
                raise ArgumentError(f"all oracles must have the same {name}.")
        numbers = (oracle.label.as_number for oracle in self._oracles)
        if len({number and (number.low, number.high, number.levels) for number in numbers}) > 1:
            raise ArgumentError("all oracles must have the same classes, or a number with the same bounds and levels.")
        if self.release == "ratio":
            raise ArgumentError(
                "expected oracles that release counts, since ratios do not add up; got release='ratio'."
            )
        # Answers to questions that some curators have not answered yet. The hypothesis is stored to keep its id unique.
        self._open = dict[tuple[str, str, int], tuple[Any, dict[int, Any]]]()
        self._lock = threading.Lock()

    @property
    def queries_left(self) -> int:
        """The number of questions that every curator still answers."""
        return min(oracle.queries_left for oracle in self._oracles)

    @property
    def privacy(self) -> PrivacyCard:
        """The charges so far: the largest of a curator or, for a unit, the sum. Notes state every curator's charge."""
        cards = [oracle.privacy for oracle in self._oracles]
        charged = [card for card in cards if card.charges]
        if not charged:
            return PrivacyCard.none(Fact("nothing_answered"))
        epsilons, deltas = (
            [card.epsilon or Fraction(0) for card in cards],
            [card.delta or Fraction(0) for card in cards],
        )
        by_curator = Fact("per_curator", epsilon=epsilons, delta=deltas)
        unit_note = Fact("row_at_one_curator", epsilon=total(epsilons))
        if self.unit is not None:
            unit_note = Fact("unit_at_every_curator", column=self.unit.column)
        combine = _largest if self.unit is None else _sum_of
        reserves = [(card.reserve,) for card in charged if card.reserve is not None]
        source_lists = (card.noise.get("sources", (card.noise,)) for card in charged)
        sources = tuple(dict.fromkeys(source for several in source_lists for source in several))
        return PrivacyCard(
            (combine("answers", [card.charges for card in charged]),),
            noise=sources[0] if len(sources) == 1 else Fact("several", sources=sources),
            software=charged[0].software,
            no_guarantee=reasons(*(card.no_guarantee for card in charged)),
            notes=tuple(dict.fromkeys((*(note for card in cards for note in card.notes), by_curator, unit_note))),
            reserve=combine("questions", reserves) if reserves else None,
        )

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return the scale λ of the noise on the sum of all curators' counts; see `Oracle.noise_scale`."""
        return sqrt(sum(oracle.noise_scale(sizes) ** 2 for oracle in self._oracles))

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Raise the errors of `error_marginals` for a hypothesis without charging anything."""
        for oracle in self._oracles:
            oracle.check(bins, hypothesis)

    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        """Ask the curators who have not answered this question yet, and return the sum of all answers."""
        self.check_process()
        arguments = (hypothesis,) if by == "errors" else ()
        key = by, bins.digest if isinstance(bins, Schema) else "", id(hypothesis)
        with self._lock:
            _, answers = self._open.setdefault(key, (hypothesis, {}))
            try:
                for number, oracle in enumerate(self._oracles):
                    if number not in answers:
                        answers[number] = getattr(oracle, _METHODS[by])(bins, *arguments)
                numbers = [_sum(getattr(answer, part) for answer in answers.values()) for part in PARTS[by]]
                noise = reduce(AnswerNoise.plus, (answer.noise for answer in answers.values()))
                total_answer = answer_of(by, bins, numbers, noise, self.label.steps)
            except BaseException as error:
                if answers:
                    note = self._charge_note(len(answers))
                    add_charge_note(error, ChargeNote(" ".join([*charge_notes(error), note])))
                raise
            del self._open[key]
            return total_answer

    def _charge_note(self, answered: int) -> str:
        return (
            f"The epsilon of the answers of {answered} of {len(self._oracles)} curators stays charged. If you ask the "
            "same question again, it goes only to the other curators."
        )

    def __repr__(self) -> str:
        return f"<FederatedOracle of {len(self._oracles)} curators, {self.queries_left} questions left>"


def _sum(parts: Iterable[Integers]) -> Integers:
    """Return the sum of whole-number arrays, clipped to 64 bits; ArgumentError for other arrays."""
    arrays = list(parts)
    if any(array.dtype.kind not in "iu" or array.shape != arrays[0].shape for array in arrays):
        raise ArgumentError("every oracle must answer with whole numbers for the same bins.")
    total: Any = sum(array.astype(object) for array in arrays)  # Python's whole numbers do not overflow
    return np.clip(total, -(2**63), 2**63 - 1).astype(np.int64)


def _largest(of: str, by_curator: Sequence[Sequence[Charge]]) -> Charge:
    """Return a charge with the largest ε, δ and ρ that a curator has charged."""
    rhos = [total_rho(charges) for charges in by_curator]
    known = [rho for rho in rhos if rho is not None]
    return Charge(
        Fact("curators", of=of, together="largest"),
        max(total(charge.epsilon for charge in charges) for charges in by_curator),
        max(total(charge.delta for charge in charges) for charges in by_curator),
        _AS_STATED,
        rho=max(known) if len(known) == len(rhos) else None,
        unit=unit_of([charge for charges in by_curator for charge in charges]),
    )


def _sum_of(of: str, by_curator: Sequence[Sequence[Charge]]) -> Charge:
    """Return the sum of all charges, for a unit that may have rows at every curator."""
    charges = [charge for several in by_curator for charge in several]
    epsilon, delta = total(charge.epsilon for charge in charges), total(charge.delta for charge in charges)
    rho, unit = total_rho(charges), unit_of(charges)
    return Charge(Fact("curators", of=of, together="sum"), epsilon, delta, _AS_STATED, rho=rho, unit=unit)
