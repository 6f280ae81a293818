"""Oracles: they hold private rows and answer questions about bins with noise, until their budget is exhausted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np

from hedgerow.boundary.arguments import RandomState, check_flag
from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError, OracleExhaustedError
from hedgerow.hypotheses.hypothesis import Hypothesis
from hedgerow.hypotheses.read import HypothesisCharges, charges_of
from hedgerow.oracle.answer_noise import AnswerHistograms, AnswerNoise
from hedgerow.oracle.answers import PARTS, ErrorCounts, ErrorRatios, RowCounts, RowShares, answer_of
from hedgerow.oracle.binning import plain_bins
from hedgerow.oracle.charged_oracle import ChargedOracle
from hedgerow.oracle.frame_rows import OPAQUE, OpaqueClassifier, OracleFrame, OracleRows, target_label
from hedgerow.oracle.release_forms import UNPROVEN_RATIO, AnswerPlan, Release, card_notes, check_form
from hedgerow.privacy import Budget, PrivacyCard
from hedgerow.privacy.card import SOFTWARE, noise_fact
from hedgerow.privacy.charge import Charge, reasons
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate, spend
from hedgerow.privacy.noise import GaussianCounts, Mechanism, NoiseSource, noise_source
from hedgerow.privacy.process import read_only
from hedgerow.privacy.unit import Unit, loss_of, rows_of
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema import Number, Schema
from hedgerow.tables.frames import Labels, Table


@dataclass(frozen=True, repr=False, eq=False)
class OracleQuestion:
    """A question that was checked on what is public of an oracle's rows."""

    bins: Schema
    by: Literal["rows", "classes", "levels", "errors"]  # the counts in each bin
    hypothesis: Any = None  # whose errors, as the rows take it
    paid: HypothesisCharges = field(default_factory=HypothesisCharges)  # on the hypothesis's own cards
    steps: int = 1  # how much a row adds to the counts of one bin of each attribute

    @classmethod
    def of(cls, rows: OracleRows, bins: Schema, by: Any, hypothesis: Any = None, *, run_code: bool = False) -> Self:
        rows.check(bins)
        if by in ("classes", "levels") and (by == "levels") != (rows.label.as_number is not None):
            wanted = "levels, of a target that is a number" if by == "classes" else "classes, of a target with classes"
            raise ArgumentError(f"expected a question for {wanted}; got one for {by}.")
        if by != "errors":
            return cls(bins, by, steps=rows.label.steps if by == "levels" else 1)
        asked = rows.prepare(hypothesis, bins, run_code=run_code)
        return cls(bins, by, asked, charges_of(hypothesis), rows.label.steps)

    @property
    def order(self) -> Literal["C", "F"]:
        """The order of counts in a vector: of classes bin by bin, of two sums one after the other."""
        return "F" if self.by == "classes" else "C"


class Oracle(ChargedOracle[RowCounts | RowShares, ErrorCounts | ErrorRatios]):
    """Holder of a private target that answers, per bin, how many rows there are, of each class, or got wrong.

    Every answer is charged before a row is touched (with ``release="gaussian"`` all of them with the first); when the
    budget or the number of questions is used up, the oracle refuses and changes nothing. A failure after the charge is
    not refunded. Neighbouring tables differ by one row, or by all rows of a `unit`. A row is in one bin of each of d
    attributes, and there it is of one class, and wrong or right: it changes d of the counts by one, which is the ℓ1
    sensitivity of an answer (√d in ℓ2), however many classes there are. Of a number a row is as many steps, which it
    divides between two counts: the sensitivity is as many times as much, and so is the noise. What it changes is one
    count of every attribute, so that with pure ε attributes can share noise, which is smaller.

    The exact number of rows is never released; it can be estimated from any answer.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
        The private rows.
    labels : series or array of shape (n_rows,)
        Their labels.
    budget : Budget or None
        What is charged: the same share of what it has left for each question. None: exact answers, **not private**.
    max_queries : int, default=3
        How many questions are answered.
    classes : sequence, optional
        The classes, two or more. Default: False and True if the labels' type is boolean, else 0 and 1.
    number : Number, optional
        Of labels that are numbers: their public bounds and levels, in place of classes.
    release : {"counts", "ratio", "gaussian"}, default="counts"
        ``counts``: numbers of rows, ε-differential privacy. Attributes share K-norm noise. Its standard deviation is
        between half and all of the standard deviation of discrete Laplace noise of scale d·(questions)/ε, and the
        smaller the fewer bins there are. If `budget` adds up ρ, the noise is discrete Laplace, which costs less ρ.
        `noise_scale` states the amount.
        ``gaussian``: with discrete Gaussian noise, (ε, δ); the budget needs a δ. ``ratio``: the clipped ratios of
        EXPRIL's eq. 7, for comparison: an empty bin gives itself away, and the card has no guarantee.
    run_code : bool, default=False
        Whether a hypothesis that cannot be read as data may be evaluated by its own ``predict``, on the private rows.
        It could store them, or make the prediction for one row depend on the others: such answers have **no
        guarantee**.
    unit : Unit, optional
        What is protected where a person may have many rows: at most `max_rows` rows of each are counted, drawn at
        random when the oracle is made; the noise is as much larger. Its column cannot be asked about.
    random_state : NoiseSource, int, RandomState, Generator or None
        None: OpenDP's noise. Anything else: a seeded generator, **not private**.

    Raises
    ------
    DomainError
        If labels are missing, not among the classes, or not as many as the rows, or a number is infinite.
    ValueError
        If an argument is out of range.

    References
    ----------
    Lacombe, Jetley and Sebag (EXPRIL), *EXtremely PRIvate supervised Learning*, 2021, Sections 3.2 to 3.5.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.oracle import choose_bins
    >>> data = hr.datasets.load("breast_cancer")
    >>> source, target = data.frame[:300], data.frame[300:]
    >>> oracle = Oracle(target, data.labels[300:], hr.Budget(1), classes=data.schema.classes)
    >>> answer = oracle.marginals(choose_bins(source, 4))
    >>> oracle.queries_left
    2
    """

    columns: tuple[str, ...] = read_only("_target.columns", "The names of the target's columns.")

    def __init__(
        self,
        data: Any,
        labels: Any,
        budget: Budget | None,
        max_queries: int = 3,
        *,
        classes: Sequence[Any] | None = None,
        number: Number | None = None,
        release: Release = "counts",
        run_code: bool = False,
        unit: Unit | None = None,
        random_state: NoiseSource | RandomState = None,
    ) -> None:
        check_form(budget, max_queries, release, unit)
        check_flag("run_code", run_code)
        given, declared = Labels.of(labels, data), _declared(classes, number, release)
        label = target_label(given.name, declared, are_boolean=given.is_boolean)
        target = OracleFrame.of(Table.of(data), given, label, unit, random_state)
        self._begin(target, budget, max_queries, release, random_state, unit)
        self._run_code = run_code or budget is None

    @classmethod
    def from_table(
        cls,
        table: Any,
        label: str,
        budget: Budget | None,
        max_queries: int = 3,
        *,
        classes: Sequence[Any] | None = None,
        number: Number | None = None,
        release: Release = "counts",
        unit: Unit | None = None,
        random_state: NoiseSource | RandomState = None,
    ) -> Self:
        """Return an oracle on a table in DuckDB, PostgreSQL, Spark or another engine that Ibis knows.

        Each question is one aggregate there, with as many numbers as there are bins; nothing else leaves the engine.
        It can be asked about models that become SQL: rule lists and trees of hedgerow, and constants. A question
        whose query fails stays charged: that it failed may depend on the rows.

        Parameters
        ----------
        table : Ibis table
            The private rows; `hedgerow.engines.sources.open_table` opens files and databases.
        label : str
            The column with the labels.
        budget, max_queries, classes, number, release, unit, random_state
            As for `Oracle`; the classes of a boolean column are False and True, of any other 0 and 1.

        Raises
        ------
        EngineError, DomainError, ValueError
            If the engine fails or there is no such column, and as for `Oracle`.

        Examples
        --------
        >>> import hedgerow as hr, ibis
        >>> from hedgerow.schema import Boolean, Schema
        >>> table = ibis.duckdb.connect().sql("SELECT i % 2 = 0 AS smoker, i % 3 = 0 AS ill FROM range(99) AS t(i)")
        >>> oracle = Oracle.from_table(table, "ill", hr.Budget(1))
        >>> answer = oracle.marginals(Schema({"smoker": Boolean(missing="bin")}))
        >>> oracle.queries_left
        2
        """
        from hedgerow.oracle.table_rows import OracleTable  # Ibis takes long to import

        check_form(budget, max_queries, release, unit)
        declared = _declared(classes, number, release)
        if number is not None and number.name != label:
            raise ArgumentError("expected a number with the name of its column, got another name.")
        oracle = cls.__new__(cls)
        oracle._begin(OracleTable.of(table, label, declared, unit), budget, max_queries, release, random_state, unit)
        return oracle

    def _begin(
        self,
        target: OracleRows,
        budget: Budget | None,
        max_queries: int,
        release: Release,
        noise: Any,
        unit: Unit | None,
        plan: AnswerPlan | None = None,
    ) -> None:
        super().__init__(int(max_queries))  # NumPy's whole numbers overflow
        self._target, self._label = target, target.label
        self._budget = budget
        self._release, self._unit = release, unit
        self._noise: NoiseSource = noise_source(noise)
        self._plan = plan
        if budget is not None and plan is None:
            self._plan = AnswerPlan.of(release, budget, self._max_queries, unit)
        self._run_code, self._spared = False, Fraction(0)

    @property
    def privacy(self) -> PrivacyCard:
        """The charges so far with their purposes, and the guarantee."""
        if not self._charges:
            return PrivacyCard.none(Fact("exact_answers" if self._budget is None else "nothing_answered"))
        charges = tuple(made for _, made in self._charges.values())
        return PrivacyCard(
            charges,
            noise=noise_fact(self._noise.description, charges),
            software=SOFTWARE,
            notes=card_notes(self._denials, self._unit, with_delta=any(charge.delta for charge in charges)),
            reserve=None if self._plan is None else self._plan.reserve(self.queries_left, self._reserves, self._spared),
        )

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return λ for attributes with these numbers of bins: ``√2·λ`` is the standard deviation of the noise.

        It is the noise on a count, as an average over attributes (`AnswerNoise.scale`). Public; 0 if answers are exact.
        """
        return 0.0 if self._plan is None else self._plan.noise(self._next, sizes).scale

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Check that `error_marginals` can be asked about a hypothesis; raises as it does. Nothing is charged."""
        self._question("errors", bins, hypothesis)

    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        if by == "classes" and self._release == "ratio":
            problem = "expected an oracle that releases counts, got one that releases ratios"
            raise ArgumentError(f"{problem}, which do not determine the number of rows of each class.")
        return self._answer(self._question(by, bins, hypothesis))

    def _question(self, by: str, bins: Schema, hypothesis: Any = None) -> OracleQuestion:
        return OracleQuestion.of(self._target, plain_bins(bins), by, hypothesis, run_code=self._run_code)

    def _counted(self, question: OracleQuestion) -> Integers:
        """Return the counts of a question, one line for each kind of rows, bin by bin. Exact, private."""
        target, bins = self._target, question.bins
        if question.by == "classes":
            return target.classes_by_bin(bins).T
        if question.by == "rows":
            return target.rows_by_bin(bins)[np.newaxis]
        if question.by == "levels":
            return np.array(target.levels_by_bin(bins))
        return np.array(target.errors_by_bin(bins, question.hypothesis))

    def _input(self, question: OracleQuestion, mechanism: Mechanism | None) -> Any:
        """Return what the mechanism adds noise to. Exact, private."""
        counts = self._counted(question)
        if self._release == "ratio":
            rows = counts.sum(axis=0)
            return counts[0], np.full_like(rows, self._target.size()) if question.by == "rows" else rows
        return counts if isinstance(mechanism, AnswerHistograms) else counts.ravel(question.order)

    def _answer_of(self, question: OracleQuestion, released: Any, noise: AnswerNoise) -> Any:
        """Return the answer that released numbers are."""
        bins, by = question.bins, question.by
        if self._release == "ratio":
            return (RowShares if by == "rows" else ErrorRatios)(bins, np.array(released))
        kinds = len(self.classes) if by == "classes" else len(PARTS[by])
        counts = np.reshape(np.array(released, dtype=np.int64), (kinds, -1), order=question.order)
        return answer_of(by, bins, [counts.T] if by == "classes" else [*counts], noise, question.steps)

    @property
    def _next(self) -> int:
        """The number of the next question, counted from 1; of the last one, once all were asked."""
        return min(self._asked + 1, self._max_queries)

    def _query(self, question: OracleQuestion, mechanism: Mechanism) -> Fact:
        asked = {"by": question.by, "attributes": len(question.bins), "of": self._max_queries}
        if isinstance(mechanism, GaussianCounts):
            return Fact("series", **asked)
        return Fact("question", **asked, number=self._asked + 1)

    def _answer(self, question: OracleQuestion) -> Any:
        self.check_process()
        bins = question.bins
        with self._lock:
            if not self.queries_left:
                raise OracleExhaustedError(self._max_queries)
            if self._budget is None or self._plan is None:
                self._asked += 1
                exact = self._input(question, None)
                shares = exact if isinstance(exact, np.ndarray) else exact[0] / np.maximum(exact[1], 1)
                return self._answer_of(question, shares, AnswerNoise.independent(bins.sizes, 0.0))
            noise_on_counts = self._plan.noise(self._next, bins.sizes, question.steps)
            mechanism: Mechanism = self._plan.mechanism(self._next, bins.sizes, question.steps)
            epsilon, delta, rho = loss_of(mechanism, rows_of(self._unit))
            planned = Charge(Fact("planned"), epsilon, delta, unit=self._unit)
            paid, reserves = self._prior_costs(self._plan, planned, bins, question.paid)
            noise, unproven = self._noise, UNPROVEN_RATIO if self._release == "ratio" else None
            opaque = OPAQUE if isinstance(question.hypothesis, OpaqueClassifier) else None
            why = reasons(unproven, opaque, bins.no_guarantee)
            query = self._query(question, mechanism)

            def charged() -> Any:
                self._asked += 1
                all_reasons = reasons(why, noise.no_guarantee_reason)
                own = Charge(query, epsilon, delta, mechanism.record, all_reasons, rho=rho, unit=self._unit)
                is_charged = own.epsilon or own.delta or own.no_guarantee
                if self._asked > 1 and not own.delta:  # the attributes of the first were chosen by no answer
                    self._spared += pure_rho(own.epsilon) - (own.zcdp or 0)
                self._record([*paid, (own, own)] if is_charged else paid, reserves, question.paid.denials)
                return self._input(question, mechanism)

            def answer(gate: Gate) -> Any:
                released = gate.release(mechanism, charged, query=query, no_guarantee=why)
                return self._answer_of(question, released, noise_on_counts)

            return spend(self._budget, noise, answer, unit=self._unit)

    def __repr__(self) -> str:
        return f"<Oracle of {len(self.columns)} columns, {self.queries_left} of {self._max_queries} questions left>"


def _declared(classes: Any, number: Any, release: Release) -> Any:
    if number is None:
        return classes
    if not isinstance(number, Number):
        raise ArgumentTypeError(f"number must be a Number or None, got {type(number).__name__}.")
    if classes is not None or release == "ratio":
        got = "both" if classes is not None else "release='ratio'"
        raise ArgumentError(f"expected classes, or a number and release='counts' or 'gaussian'; got {got}.")
    return number


def ask_once(
    target: OracleRows,
    question: OracleQuestion,
    budget: Budget,
    plan: AnswerPlan,
    *,
    random_state: NoiseSource | RandomState = None,
) -> tuple[Any, PrivacyCard]:
    """Return the answer to one question, with its card, on the rows that are counted of each unit."""
    check_form(budget, 1, plan.release, plan.unit)
    target.check(question.bins)  # a table in a database may have changed since
    oracle = Oracle.__new__(Oracle)
    oracle._begin(target, budget, 1, plan.release, random_state, plan.unit, plan)  # pyright: ignore[reportPrivateUsage] -- of this module
    return oracle._answer(question), oracle.privacy  # pyright: ignore[reportPrivateUsage] -- of this module
