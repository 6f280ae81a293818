"""Oracles, which hold private rows and answer questions about bins with noise until their budget is exhausted."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any, Literal, Self

import numpy as np

from hedgerow.boundary.arguments import RandomState, check_flag
from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, ArgumentTypeError, OracleExhaustedError
from hedgerow.hypotheses.hypothesis import Hypothesis
from hedgerow.hypotheses.read import HypothesisCharges, charges_of
from hedgerow.oracle.answer_noise import AnswerHistograms, AnswerNoise
from hedgerow.oracle.answers import PARTS, ErrorCounts, ErrorRatios, RowCounts, RowShares, answer_of
from hedgerow.oracle.base_oracle import LimitedOracle
from hedgerow.oracle.binning import plain_bins
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
    """A question that was checked against the public description of an oracle's rows."""

    bins: Schema
    by: Literal["rows", "classes", "levels", "errors"]  # the kind of counts in each bin
    hypothesis: Any = None  # the prepared hypothesis of a question about errors
    paid: HypothesisCharges = field(default_factory=HypothesisCharges)  # the charges on the cards of the hypothesis
    steps: int = 1  # the amount that a row adds to the counts of a bin of each attribute

    @classmethod
    def of(cls, rows: OracleRows, bins: Schema, by: Any, hypothesis: Any = None, *, run_code: bool = False) -> Self:
        rows.check(bins)
        if by in ("classes", "levels") and (by == "levels") != (rows.label.as_number is not None):
            kind, method = ("a number", "level_marginals") if by == "classes" else ("classes", "class_marginals")
            raise ArgumentError(f"the oracle has {kind} as its target: use {method}, got a question for {by}.")
        if by != "errors":
            return cls(bins, by, steps=rows.label.steps if by == "levels" else 1)
        prepared = rows.prepare(hypothesis, bins, run_code=run_code)
        return cls(bins, by, prepared, charges_of(hypothesis), rows.label.steps)

    @property
    def order(self) -> Literal["C", "F"]:
        """The memory order of counts in a vector: class counts bin by bin, two sums one after the other."""
        return "F" if self.by == "classes" else "C"


class Oracle(LimitedOracle[RowCounts | RowShares, ErrorCounts | ErrorRatios]):
    """Private rows with labels that answer questions with noisy counts by bin.

    A question asks for the rows in each bin, the rows of each class, or the rows that a hypothesis misclassifies. Every
    answer is charged before a row is touched; with ``release="gaussian"`` all answers are charged with the first. After
    the last question, or with too little budget, the oracle raises an error and changes nothing. A failure after the
    charge is not refunded. The exact number of rows is never released, but every answer allows an estimate.

    Neighbouring tables differ by one row, or by all rows of a `unit`. A row is in one bin of each of d attributes.
    There it has one class and is either correct or wrong. It therefore changes d counts by 1. This is the ℓ1
    sensitivity of an answer (√d in ℓ2), whatever the number of classes. For a number, a row adds K steps, divided
    between two counts, and sensitivity and noise are K times as large. Since a row changes the same amount in every
    attribute, attributes can share noise under pure ε, which makes the noise smaller.

    Parameters
    ----------
    data : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
        The private rows.
    labels : series or array of shape (n_rows,)
        The labels of the rows.
    budget : Budget or None
        The budget to charge. Each question costs an equal share of the amount that is left now. None gives exact
        answers, which are **not private**.
    max_queries : int, default=3
        The number of questions, which share the budget equally. For a learner of marginals, 1 is best from about 10
        columns on, and 2 for fewer columns.
    classes : sequence, optional
        Two or more classes. The default is False and True for labels of boolean type, and otherwise 0 and 1.
    number : Number, optional
        The public bounds and levels of numeric labels, instead of classes.
    release : {"counts", "ratio", "gaussian"}, default="counts"
        ``counts``: counts with ε-differential privacy. Attributes share K-norm noise. Its standard deviation is between
        half and all of the standard deviation of discrete Laplace noise of scale d·(questions)/ε; with fewer bins it is
        smaller. If `budget` adds up ρ, the noise is discrete Laplace noise, which costs less ρ. `noise_scale` returns
        the scale.
        ``gaussian``: counts with discrete Gaussian noise and (ε, δ)-differential privacy; the budget needs a δ.
        ``ratio``: the clipped ratios of EXPRIL's eq. 7, for comparison. They have no guarantee, since an empty bin can
        be recognised.
    run_code : bool, default=False
        Whether to call ``predict`` of a hypothesis that cannot be read as data on the private rows. It could store
        them, or make the prediction for a row depend on other rows, so such answers have **no guarantee**.
    unit : Unit, optional
        The unit of privacy if a person may have several rows. At most `max_rows` rows of every unit, drawn at random
        when the oracle is created, are counted, and the noise is `max_rows` times as large. Its column cannot have
        bins.
    random_state : NoiseSource, int, RandomState, Generator or None
        None for OpenDP's noise. Any other value gives seeded noise, which is **not private**.

    Raises
    ------
    DomainError
        If labels are missing or not among the classes, their number differs from the number of rows, or a number is
        infinite.
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

    columns: tuple[str, ...] = read_only("_target.columns", "The names of the columns of the target.")

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
        private_labels, declared = Labels.of(labels, data), _declared(classes, number, release)
        label = target_label(private_labels.name, declared, are_boolean=private_labels.is_boolean)
        target = OracleFrame.of(Table.of(data), private_labels, label, unit, random_state)
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
        """Return an oracle for a table in DuckDB, PostgreSQL, Spark or another engine that Ibis supports.

        Each question runs an aggregate query in the engine, which returns a number per bin and nothing else. Hypotheses
        must be models with SQL: rule lists and trees of hedgerow, and constants. A question whose query fails stays
        charged, because the failure may depend on the rows.

        Parameters
        ----------
        table : Ibis table
            The private rows; `hedgerow.engines.sources.open_table` opens files and databases.
        label : str
            The column with the labels.
        budget, max_queries, classes, number, release, unit, random_state
            See `Oracle`. The default classes are False and True for a boolean column, and otherwise 0 and 1.

        Raises
        ------
        EngineError, DomainError, ValueError
            If the engine fails, the column does not exist, or for the reasons listed for `Oracle`.

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
            raise ArgumentError(f"number must have the name of the column, {label!r}, got {number.name!r}.")
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
        super().__init__(int(max_queries))  # NumPy's whole numbers could overflow
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
        """The charges so far and the guarantee."""
        if not self._charges:
            return PrivacyCard.none(Fact("exact_answers" if self._budget is None else "nothing_answered"))
        charges = tuple(charge for _, charge in self._charges.values())
        return PrivacyCard(
            charges,
            noise=noise_fact(self._noise.description, charges),
            software=SOFTWARE,
            notes=card_notes(self._denials, self._unit, with_delta=any(charge.delta for charge in charges)),
            reserve=None if self._plan is None else self._plan.reserve(self.queries_left, self._reserves, self._spared),
        )

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return the scale λ of the noise on a count, for attributes with these numbers of bins.

        The standard deviation of the noise is ``√2·λ``, as a root mean square over attributes (`AnswerNoise.scale`).
        The scale is public. It is 0 for exact answers.
        """
        return 0.0 if self._plan is None else self._plan.noise(self._next, sizes).scale

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Raise the errors of `error_marginals` for a hypothesis without charging anything."""
        self._question("errors", bins, hypothesis)

    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        if by == "classes" and self._release == "ratio":
            problem = "class_marginals needs an oracle with release='counts' or 'gaussian', got release='ratio'"
            raise ArgumentError(f"{problem}: ratios do not determine class counts.")
        return self._answer(self._question(by, bins, hypothesis))

    def _question(self, by: str, bins: Schema, hypothesis: Any = None) -> OracleQuestion:
        return OracleQuestion.of(self._target, plain_bins(bins), by, hypothesis, run_code=self._run_code)

    def _counted(self, question: OracleQuestion) -> Integers:
        """Return the exact, private counts of a question, with a line of bins for each kind of rows."""
        target, bins = self._target, question.bins
        if question.by == "classes":
            return target.classes_by_bin(bins).T
        if question.by == "rows":
            return target.rows_by_bin(bins)[np.newaxis]
        if question.by == "levels":
            return np.array(target.levels_by_bin(bins))
        return np.array(target.errors_by_bin(bins, question.hypothesis))

    def _input(self, question: OracleQuestion, mechanism: Mechanism | None) -> Any:
        """Return the exact, private input of the mechanism."""
        counts = self._counted(question)
        if self._release == "ratio":
            rows = counts.sum(axis=0)
            return counts[0], np.full_like(rows, self._target.size()) if question.by == "rows" else rows
        return counts if isinstance(mechanism, AnswerHistograms) else counts.ravel(question.order)

    def _answer_of(self, question: OracleQuestion, released: Any, noise: AnswerNoise) -> Any:
        """Return the answer made of released numbers."""
        bins, by = question.bins, question.by
        if self._release == "ratio":
            return (RowShares if by == "rows" else ErrorRatios)(bins, np.array(released))
        kinds = len(self.classes) if by == "classes" else len(PARTS[by])
        counts = np.reshape(np.array(released, dtype=np.int64), (kinds, -1), order=question.order)
        return answer_of(by, bins, [counts.T] if by == "classes" else [*counts], noise, question.steps)

    @property
    def _next(self) -> int:
        """The number of the next question, from 1, or of the last question if none is left."""
        return min(self._asked + 1, self._max_queries)

    def _query(self, question: OracleQuestion, mechanism: Mechanism) -> Fact:
        details = {"by": question.by, "attributes": len(question.bins), "of": self._max_queries}
        if isinstance(mechanism, GaussianCounts):
            return Fact("series", **details)
        return Fact("question", **details, number=self._asked + 1)

    def _answer(self, question: OracleQuestion) -> Any:
        self.check_process()
        with self._lock:
            if not self.queries_left:
                raise OracleExhaustedError(self._max_queries)
            if self._budget is not None and self._plan is not None:
                return self._noisy_answer(question, self._budget, self._plan)
            self._asked += 1
            exact = self._input(question, None)
            shares = exact if isinstance(exact, np.ndarray) else exact[0] / np.maximum(exact[1], 1)
            return self._answer_of(question, shares, AnswerNoise.independent(question.bins.sizes, 0.0))

    def _noisy_answer(self, question: OracleQuestion, budget: Budget, plan: AnswerPlan) -> Any:
        bins, noise, asked, spared, spent = question.bins, self._noise, self._asked, self._spared, budget.spent_here
        noise_on_counts = plan.noise(self._next, bins.sizes, question.steps)
        mechanism: Mechanism = plan.mechanism(self._next, bins.sizes, question.steps)
        epsilon, delta, rho = loss_of(mechanism, rows_of(self._unit))
        planned = Charge(Fact("planned"), epsilon, delta, unit=self._unit)
        paid, reserves = self._prior_costs(plan, planned, bins, question.paid)
        opaque = OPAQUE if isinstance(question.hypothesis, OpaqueClassifier) else None
        why = reasons(UNPROVEN_RATIO if self._release == "ratio" else None, opaque, bins.no_guarantee)
        query = self._query(question, mechanism)

        @cache
        def own_charge() -> Charge:
            all_reasons = reasons(why, noise.no_guarantee_reason)
            return Charge(query, epsilon, delta, mechanism.record, all_reasons, rho=rho, unit=self._unit)

        def record() -> None:  # may be repeated
            own = own_charge()
            is_charged = own.epsilon or own.delta or own.no_guarantee
            self._record([*paid, (own, own)] if is_charged else paid, reserves, question.paid.denials)
            self._asked = asked + 1
            if asked and not own.delta:  # no answer preceded the choice of the first attributes
                self._spared = spared + pure_rho(own.epsilon) - (own.zcdp or 0)

        def charged() -> Any:
            record()
            return self._input(question, mechanism)

        def answer(gate: Gate) -> Any:
            try:
                released = gate.release(mechanism, charged, query=query, no_guarantee=why)
            except BaseException:
                if budget.spent_here > spent:  # perhaps interrupted between the charge and its record
                    record()
                raise
            return self._answer_of(question, released, noise_on_counts)

        return spend(budget, noise, answer, unit=self._unit)

    def __repr__(self) -> str:
        return f"<Oracle of {len(self.columns)} columns, {self.queries_left} of {self._max_queries} questions left>"


def _declared(classes: Any, number: Any, release: Release) -> Any:
    if number is None:
        return classes
    if not isinstance(number, Number):
        raise ArgumentTypeError(f"number must be a Number or None, got {type(number).__name__}.")
    if classes is not None or release == "ratio":
        given = "both" if classes is not None else "number with release='ratio'"
        raise ArgumentError(f"expected classes, or number with release='counts' or 'gaussian'; got {given}.")
    return number


def ask_once(
    target: OracleRows,
    question: OracleQuestion,
    budget: Budget,
    plan: AnswerPlan,
    *,
    random_state: NoiseSource | RandomState = None,
) -> tuple[Any, PrivacyCard]:
    """Return the answer to a single question with its card. `target` has the counted rows of each unit."""
    check_form(budget, 1, plan.release, plan.unit)
    target.check(question.bins)  # again, since a table in a database may have changed
    oracle = Oracle.__new__(Oracle)
    oracle._begin(target, budget, 1, plan.release, random_state, plan.unit, plan)  # pyright: ignore[reportPrivateUsage] -- of this module
    return oracle._answer(question), oracle.privacy  # pyright: ignore[reportPrivateUsage] -- of this module
