"""Base classes of oracles: the questions, and the record of the charges of a limited number of answers."""

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
from hedgerow.privacy.process import ProcessBound, read_only
from hedgerow.privacy.unit import Unit
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target

ChargePairs = Sequence[tuple[Charge, Charge]]  # pairs of a charge and a copy that no caller can reach
RowAnswer = TypeVar("RowAnswer")
ErrorAnswer = TypeVar("ErrorAnswer")


class BaseOracle(ProcessBound, Generic[RowAnswer, ErrorAnswer]):
    """Base class of oracles, which answer four kinds of questions by `_ask`."""

    def marginals(self, bins: Schema) -> RowAnswer:
        """Return noisy counts of the rows in each bin.

        Parameters
        ----------
        bins : Schema
            Public bins of some of the columns. Every possible value must have a bin; see `choose_bins`.

        Raises
        ------
        SchemaError, DomainError
            If a value could have no bin, bins do not fit their column, or a column does not exist. Nothing is charged.
        OracleExhaustedError, BudgetExceededError
            If no question or too little budget is left. Nothing is charged.
        ServiceError
            If a remote curator's service refuses the request or cannot be reached.
        """
        return self._ask("rows", bins)

    def class_marginals(self, bins: Schema) -> ClassCounts:
        """Return noisy counts of the rows of each class in each bin.

        Raises the errors of `marginals`, and ValueError for an oracle of a number or with ``release="ratio"``.
        """
        return self._ask("classes", bins)

    def level_marginals(self, bins: Schema) -> LevelSums:
        """Return, for an oracle of a number, noisy sums of the levels of the rows in each bin.

        A row with level ℓ adds ℓ steps to a sum of its bin, and the steps up to the last level to another sum. For each
        of d attributes this is a total of K, the number of steps between the first and the last level. The ℓ1
        sensitivity is d·K, and the ℓ2 sensitivity at most √d·K. Raises the errors of `marginals`, and ValueError for an
        oracle of classes.
        """
        return self._ask("levels", bins)

    def error_marginals(self, bins: Schema, hypothesis: Hypothesis) -> ErrorAnswer:
        """Return noisy counts, by bin, of the rows that a hypothesis misclassifies and classifies correctly.

        For an oracle of a number, the hypothesis predicts whether the number is high (True) or low (False). The correct
        part of a row is then its steps above the first level (high) or below the last level (low), and the remaining
        steps are wrong. The sensitivity is the same as for `level_marginals`.

        The hypothesis is read as data: hedgerow extracts the numbers of the model and evaluates every row separately
        with its own arithmetic (`hedgerow.hypotheses`). A row therefore changes d counts by 1, whatever the numbers
        are, and no code of the hypothesis runs. A row without a result counts as wrong, since an error would disclose
        the row without noise.

        Parameters
        ----------
        bins : Schema
            Public bins; see `marginals`.
        hypothesis : object
            A constant (`Always`), a rule list or tree of hedgerow, a fitted learner of hedgerow, or a fitted classifier
            of scikit-learn: linear, network, tree or forest, alone or in a pipeline after scalers, `SimpleImputer`,
            `OneHotEncoder` and `ColumnTransformer`. With ``run_code=True``, any object with ``predict(X)``.

        Raises
        ------
        HypothesisError
            If the hypothesis cannot be read as data, or does not fit the columns or classes. Nothing is charged.
        SchemaError, DomainError, OracleExhaustedError, BudgetExceededError, ServiceError
            As for `marginals`.
        """
        return self._ask("errors", bins, hypothesis)

    @abstractmethod
    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        """Return the answer to a question by ``rows``, ``classes``, ``levels`` or ``errors``."""


class LimitedOracle(BaseOracle[RowAnswer, ErrorAnswer]):
    """Base class of oracles with a limited number of questions and a record of their charges."""

    label: Target = read_only("_label", "The name of the labels with their classes, or the number.")
    classes: tuple[Any, ...] = read_only(
        "_label.hypothesis_classes",
        "The classes; the second of two is the positive class. For a number, False (low) and True (high).",
    )
    max_queries: int = read_only("_max_queries", "The total number of questions.")
    release: Release = read_only("_release", "The form of the answers.")
    unit: Unit | None = read_only("_unit", "The unit of privacy; None for one row.")
    _label: Target
    _release: Release
    _unit: Unit | None

    def __init__(self, max_queries: int) -> None:
        super().__init__()
        self._max_queries, self._asked, self._lock = max_queries, 0, threading.Lock()
        self._charges: dict[int, tuple[Charge, Charge]] = {}  # by identity, since equal charges count twice
        self._denials: dict[tuple[Fact, ...], None] = {}
        self._reserves: list[Charge] = []  # from the cards of hypotheses

    @property
    def queries_left(self) -> int:
        """The number of questions left."""
        return self._max_queries - self._asked

    def _prior_costs(
        self, plan: AnswerPlan, own: Charge, bins: Schema, paid: HypothesisCharges
    ) -> tuple[ChargePairs, list[Charge]]:
        """Return the charges for the bins and the hypothesis, and the reserves on the cards of all hypotheses.

        Raises ArgumentError, before the question is charged, if these and its own charge do not add up.
        """
        charges = [*((charge, renewed(charge)) for charge in bins.charges), *paid.charges]
        reserves = [*self._reserves, *paid.foreign(self._charges)]
        unit_of([*(charge for charge, _ in charges), *reserves, own])
        plan.reserve(self.queries_left, reserves)
        return charges, reserves

    def _record(self, charges: ChargePairs, reserves: list[Charge], denials: Iterable[tuple[Fact, ...]]) -> None:
        for charge, copied in charges:
            _, before = self._charges.get(id(charge), (charge, None))
            if before is not None:
                copied = renewed(before, no_guarantee=copied.no_guarantee)
            self._charges[id(charge)] = (charge, copied)
        self._denials |= dict.fromkeys(denials)
        self._reserves = reserves
