"""One oracle of several: counts of tables that hold different rows add up."""

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
from hedgerow.oracle.charged_oracle import AskedOracle
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


class FederatedOracle(AskedOracle[RowCounts, ErrorCounts]):
    """An oracle over the rows of several curators, none of whom sees the others'.

    Each is asked the same; answers are added, and so are the variances of their noise. Learners take it as they take
    one oracle. One row is in one of the tables, so that a question costs it what that curator charges: the card has the
    largest charge of any, not their sum, and says what somebody pays who has a row with several. Where the curators
    protect all rows of a `Unit`, one unit may have rows with each of them: the card has the sum. A question that a
    curator did not answer can be asked again: only those who have not answered are asked, and nothing is paid twice.

    Parameters
    ----------
    oracles : sequence of oracles
        Two or more, of tables with the same columns and classes, or bounds and levels of a number: of
        `RemoteDataset.oracle`, or `hedgerow.Oracle`.

    Raises
    ------
    ValueError, TypeError
        If columns, classes, forms or units differ, one is given twice, releases ratios, or is no oracle.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> X, y, classes = data.frame, data.labels, data.schema.classes
    >>> one = hr.Oracle(X[:300], y[:300], hr.Budget(1), 1, classes=classes)
    >>> other = hr.Oracle(X[300:], y[300:], hr.Budget(1), 1, classes=classes)
    >>> oracle = FederatedOracle([one, other])
    >>> answer = oracle.marginals(hr.oracle.choose_bins(data.frame, 4))
    >>> oracle.queries_left, float(oracle.privacy.epsilon)
    (0, 1.0)
    """

    columns: tuple[str, ...] = read_only("_first.columns", "The names of the targets' columns.")
    classes: tuple[Any, ...] = read_only(
        "_first.classes", "The classes; the second of two is the positive one. Of a number, whether it is high."
    )
    label: Target = read_only("_first.label", "The name of the labels, and the classes, or the number.")
    release: Release = read_only("_first.release", "The form of the answers.")
    unit: Unit | None = read_only("_first.unit", "The unit that every curator protects; None for one row.")

    def __init__(self, oracles: Sequence[MarginalOracle]) -> None:
        super().__init__()
        self._oracles = tuple(oracles)
        for oracle in self._oracles:
            if not isinstance(oracle, MarginalOracle):
                raise ArgumentTypeError(f"expected oracles, got {type(oracle).__name__}; see hedgerow.Oracle.")
        if len(self._oracles) < 2 or len({id(oracle) for oracle in self._oracles}) < len(self._oracles):
            raise ArgumentError("expected two or more different oracles, got fewer, or one of them twice.")
        self._first = self._oracles[0]
        for name in ("columns", "classes", "release", "unit"):
            if len({getattr(oracle, name) for oracle in self._oracles}) > 1:
                raise ArgumentError(f"expected oracles with the same {name}, got different ones.")
        if len({one and (one.low, one.high, one.levels) for one in (o.label.as_number for o in self._oracles)}) > 1:
            problem = "expected oracles of the same classes, or of one number with the same bounds and levels."
            raise ArgumentError(problem)
        if self.release == "ratio":
            raise ArgumentError("expected oracles that release counts, which add up, got some that release ratios.")
        # Of questions that some have answered and others not: the hypothesis, held so that its id stays its own
        self._open = dict[tuple[str, str, int], tuple[Any, dict[int, Any]]]()
        self._lock = threading.Lock()

    @property
    def queries_left(self) -> int:
        """The number of questions that all have left."""
        return min(oracle.queries_left for oracle in self._oracles)

    @property
    def privacy(self) -> PrivacyCard:
        """The charges so far: the most of any curator, for a unit all together; notes with what each charged."""
        cards = [oracle.privacy for oracle in self._oracles]
        charged = [card for card in cards if card.charges]
        if not charged:
            return PrivacyCard.none(Fact("nothing_answered"))
        epsilons, deltas = (
            [card.epsilon or Fraction(0) for card in cards],
            [card.delta or Fraction(0) for card in cards],
        )
        each = Fact("per_curator", epsilon=epsilons, delta=deltas)
        whose = Fact("row_at_one_curator", epsilon=total(epsilons))
        if self.unit is not None:
            whose = Fact("unit_at_every_curator", column=self.unit.column)
        together = _largest if self.unit is None else _sum_of
        reserves = [(card.reserve,) for card in charged if card.reserve is not None]
        each_noise = (card.noise.get("sources", (card.noise,)) for card in charged)
        sources = tuple(dict.fromkeys(source for several in each_noise for source in several))
        return PrivacyCard(
            (together("answers", [card.charges for card in charged]),),
            noise=sources[0] if len(sources) == 1 else Fact("several", sources=sources),
            software=charged[0].software,
            no_guarantee=reasons(*(card.no_guarantee for card in charged)),
            notes=tuple(dict.fromkeys((*(note for card in cards for note in card.notes), each, whose))),
            reserve=together("questions", reserves) if reserves else None,
        )

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return λ for attributes with these numbers of bins, as an oracle does, of the noise on a sum of counts."""
        return sqrt(sum(oracle.noise_scale(sizes) ** 2 for oracle in self._oracles))

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Check with each that `error_marginals` can be asked about a hypothesis; nothing is charged."""
        for oracle in self._oracles:
            oracle.check(bins, hypothesis)

    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        """Ask each who has not answered this question yet, and return the sum of all answers."""
        self.check_process()
        about = (hypothesis,) if by == "errors" else ()
        key = by, bins.digest if isinstance(bins, Schema) else "", id(hypothesis)
        with self._lock:
            _, answers = self._open.setdefault(key, (hypothesis, {}))
            try:
                for number, oracle in enumerate(self._oracles):
                    if number not in answers:
                        answers[number] = getattr(oracle, _METHODS[by])(bins, *about)
                found = answers.values()
                numbers = [_sum(getattr(one, part) for one in found) for part in PARTS[by]]
                noise = reduce(AnswerNoise.plus, (one.noise for one in found))
                answer = answer_of(by, bins, numbers, noise, self.label.steps)
            except BaseException as error:
                if answers:
                    own = self._kept(len(answers))
                    add_charge_note(error, ChargeNote(" ".join([*charge_notes(error), own])))
                raise
            del self._open[key]
            return answer

    def _kept(self, answered: int) -> str:
        return (
            f"The epsilon of the answers of {answered} of {len(self._oracles)} curators stays charged. If you ask the "
            "same question again, it goes only to the other curators."
        )

    def __repr__(self) -> str:
        return f"<FederatedOracle of {len(self._oracles)} curators, {self.queries_left} questions left>"


def _sum(parts: Iterable[Integers]) -> Integers:
    """Return the sum, held within 64 bits as each noisy count is; raises ArgumentError for no counts."""
    given = list(parts)
    if any(part.dtype.kind not in "iu" or part.shape != given[0].shape for part in given):
        raise ArgumentError("expected whole numbers of the same bins from every oracle, got others.")
    total: Any = sum(part.astype(object) for part in given)  # Python's whole numbers do not wrap around
    return np.clip(total, -(2**63), 2**63 - 1).astype(np.int64)


def _largest(what: str, each: Sequence[Sequence[Charge]]) -> Charge:
    """Return a charge of the largest ε, δ and ρ that one of the curators has charged."""
    rho = [total_rho(charges) for charges in each]
    known = [one for one in rho if one is not None]
    return Charge(
        Fact("curators", of=what, together="largest"),
        max(total(charge.epsilon for charge in charges) for charges in each),
        max(total(charge.delta for charge in charges) for charges in each),
        _AS_STATED,
        rho=max(known) if len(known) == len(rho) else None,
        unit=unit_of([charge for charges in each for charge in charges]),
    )


def _sum_of(what: str, each: Sequence[Sequence[Charge]]) -> Charge:
    """Return a charge of all that was charged, for a unit that may have rows with every curator."""
    charges = [charge for one in each for charge in one]
    epsilon, delta = total(charge.epsilon for charge in charges), total(charge.delta for charge in charges)
    rho, unit = total_rho(charges), unit_of(charges)
    return Charge(Fact("curators", of=what, together="sum"), epsilon, delta, _AS_STATED, rho=rho, unit=unit)
