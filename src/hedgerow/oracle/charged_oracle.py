"""Base classes of oracles: the questions; and those that answer a limited number, with what was charged."""

import threading
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from hedgerow.hypotheses.hypothesis import Hypothesis
from hedgerow.hypotheses.read import HypothesisCharges
from hedgerow.oracle.answers import ClassCounts, LevelSums
from hedgerow.oracle.release_forms import AnswerPlan, Release
from hedgerow.privacy.charge import Charge, renewed, unit_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.process import OfOneProcess, read_only
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target

ChargePairs = Sequence[tuple[Charge, Charge]]  # charges, each with a copy that no caller holds
RowAnswer = TypeVar("RowAnswer")
ErrorAnswer = TypeVar("ErrorAnswer")


class AskedOracle(OfOneProcess, Generic[RowAnswer, ErrorAnswer]):
    """An oracle with the four questions, each of which is one of `_ask`; with the types of two of its answers."""

    def marginals(self, bins: Schema) -> RowAnswer:
        """Answer how many rows are in each bin.

        Parameters
        ----------
        bins : Schema
            Public bins on some of the columns, in which every value has a bin: see `choose_bins`.

        Raises
        ------
        SchemaError, DomainError
            If a value could have no bin, a bin does not fit its column, or there is none. Nothing is charged.
        OracleExhaustedError, BudgetExceededError
            If all questions were asked, or the budget has too little left. Nothing is charged.
        ServiceError
            If the oracle is with a curator elsewhere, whose service refuses, or cannot be reached.
        """
        return self._ask("rows", bins)

    def class_marginals(self, bins: Schema) -> ClassCounts:
        """Answer how many rows of each class are in each bin; raises as `marginals`, or ValueError with ratios."""
        return self._ask("classes", bins)

    def level_marginals(self, bins: Schema) -> LevelSums:
        """Answer, of a number, the sums of the levels of the rows in each bin; raises as `marginals`, or ValueError.

        A row of level ℓ adds ℓ steps to one sum of its bin, and the steps up to the last level to another: as many in
        all, for each of d attributes, as there are steps K between the first and the last level. The ℓ1 sensitivity is
        d·K, and ℓ2 at most √d·K.
        """
        return self._ask("levels", bins)

    def error_marginals(self, bins: Schema, hypothesis: Hypothesis) -> ErrorAnswer:
        """Answer how many rows of each bin a hypothesis gets wrong, and how many it gets right.

        Of a number, a hypothesis says whether it is high (True) or low (False), and gets right of a row the steps above
        the first level, or below the last; all others it gets wrong. The sensitivity is that of `level_marginals`.

        The hypothesis is read as data: of a model of hedgerow's or scikit-learn's the numbers are taken, and every row
        is evaluated by itself in arithmetic of hedgerow's own (`hedgerow.hypotheses`), so that one row
        changes d counts by one, for any numbers. None of the hypothesis's code is run. A row for which it has
        no result is wrong: an error would disclose the row without noise.

        Parameters
        ----------
        bins : Schema
            As for `marginals`.
        hypothesis : object
            A constant (`Always`), a rule list or tree of hedgerow's, a fitted learner of hedgerow's, or a fitted
            classifier of scikit-learn's: linear, network, tree or forest, alone or in a pipeline after scalers,
            `SimpleImputer`, `OneHotEncoder` and `ColumnTransformer`. With ``run_code=True``, anything with
            ``predict(X)``.

        Raises
        ------
        HypothesisError
            If it cannot be read as data, or does not fit the columns and the classes. Nothing is charged.
        SchemaError, DomainError, OracleExhaustedError, BudgetExceededError, ServiceError
            As `marginals` does.
        """
        return self._ask("errors", bins, hypothesis)

    @abstractmethod
    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        """Answer the counts in each bin of ``rows``, ``classes``, ``levels`` or ``errors``."""


class ChargedOracle(AskedOracle[RowAnswer, ErrorAnswer]):
    """An oracle with a number of questions, and a record of their charges."""

    label: Target = read_only("_label", "The name of the labels, and the classes, or the number.")
    classes: tuple[Any, ...] = read_only(
        "_label.hypothesis_classes",
        "The classes; the second of two is the positive one. Of a number, whether it is high: False and True.",
    )
    max_queries: int = read_only("_max_queries", "The number of questions that are answered in all.")
    release: Release = read_only("_release", "The form in which answers are released.")
    unit: Unit | None = read_only("_unit", "The unit that is protected; None for one row.")
    _label: Target
    _release: Release
    _unit: Unit | None

    def __init__(self, max_queries: int) -> None:
        super().__init__()
        self._max_queries, self._asked, self._lock = max_queries, 0, threading.Lock()
        self._charges: dict[int, tuple[Charge, Charge]] = {}  # by identity: equal charges count twice
        self._denials: dict[tuple[Fact, ...], None] = {}
        self._reserves: list[Charge] = []  # of the cards of hypotheses

    @property
    def queries_left(self) -> int:
        """The number of questions left."""
        return self._max_queries - self._asked

    def _prior_costs(
        self, plan: AnswerPlan, own: Charge, bins: Schema, paid: HypothesisCharges
    ) -> tuple[ChargePairs, list[Charge]]:
        """Return the charges of a question's bins and hypothesis, and the reserves of the cards of all hypotheses.

        Raises where they do not add up with the question's own charge, before it is charged.
        """
        charges = [*((charge, renewed(charge)) for charge in bins.charges), *paid.charges]
        reserves = [*self._reserves, *paid.foreign(self._charges)]
        unit_of([*(charge for charge, _ in charges), *reserves, own])
        plan.reserve(self.queries_left, reserves)
        return charges, reserves

    def _record(self, charges: ChargePairs, reserves: list[Charge], denials: Iterable[tuple[Fact, ...]]) -> None:
        for charge, made in charges:
            _, before = self._charges.get(id(charge), (charge, None))
            if before is not None:
                made = renewed(before, no_guarantee=made.no_guarantee)
            self._charges[id(charge)] = (charge, made)
        self._denials |= dict.fromkeys(denials)
        self._reserves = reserves
