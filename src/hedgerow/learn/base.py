"""Base classes of the estimators: counting a table into a tally, and predicting with the fitted model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arguments import check_flag, check_integer
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.inputs import TrainingData, check_kept, check_learnable, validated_table
from hedgerow.learn.readable import Readable, ReadableLeaves
from hedgerow.models.model import Model
from hedgerow.models.rule_list import RuleList
from hedgerow.models.tree import MAX_DEPTH, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.tables.frames import Table
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

FROM_DATA: Literal["from-data"] = "from-data"


class Learned(Protocol):
    """Result of a learner: `LearnedList` or `LearnedTree`."""

    def model(self, schema: Schema, card: PrivacyCard) -> Model:
        """Return the model."""
        ...


class TallyEstimator(Readable):
    """An estimator with an interpretable model; subclasses define its parameters as fields, and how it learns."""

    schema: Schema | Literal["from-data"] | None
    _fitted: ClassVar[str]  # the attribute that holds the model
    _weighing: ClassVar[str] = ""  # how to weigh something else than rows
    keeps_monotone: ClassVar[bool] = False
    """True if the model is monotone where the schema says so."""
    predicts_number: ClassVar[bool] = False
    """True if the model predicts a number, and not a class."""
    takes_weights: ClassVar[bool] = False
    """True if rows may have weights, by the schema."""

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Learn a model from rows and labels; the estimator then holds released values only, no row and no tally.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The rows. With a schema, columns are selected by name in a frame, others ignored; by position in an array.
        y : series or array of shape (n_samples,)
            The labels, or numbers, in the order of the rows; those of pandas must have the index of their rows.
        **refused
            Nothing. ``sample_weight`` is refused: weights are a column that the schema declares with public bounds.

        Raises
        ------
        TypeError
            If rows are weighted, or something else is passed.
        ValueError
            If a parameter is out of range or, as `DomainError`, a value does not fit the schema (names the column,
            never the value), or, as `BudgetExceededError`, the shared budget has too little left.
        """
        self._check_refused(refused)
        self._check_parameters()
        with self._unchanged_by_failure():
            data = TrainingData.of(self, X, y)
            self._warn(data.schema, data.table.names or ())
            self._learn(data.schema, lambda: data.count(getattr(self, "random_state", None)))
        self._warn_of_result()  # outside: what was paid for stays where a warning is an error
        return self

    def check_public(self) -> None:
        """Check the parameters, the schema included, as `fit` does before it counts rows; for tables counted elsewhere.

        Raises
        ------
        ValueError
            If one is out of range, or the schema cannot be learned with.
        """
        self._check_parameters()
        if isinstance(self.schema, Schema):
            check_learnable(self, self.schema)

    def fit_tally(self, tally: Tally) -> Self:
        """Learn a model from a tally counted elsewhere; its schema replaces the parameter `schema`.

        What learning it costs, and what is guaranteed, is as for `fit`.

        Raises
        ------
        TypeError
            If `tally` is not a Tally.
        ValueError
            As `fit` does.
        """
        self._check_parameters()
        if not isinstance(tally, Tally):
            raise ArgumentTypeError(f"Expected a Tally, got {type(tally).__name__}.")
        check_kept(self, tally.schema)
        if not tally.schema.no_guarantee_reason:
            check_learnable(self, tally.schema)
        with self._unchanged_by_failure():
            vars(self).pop("n_features_in_", None)  # those of an earlier fit
            self._learn(tally.schema, lambda: tally)
        self._warn_of_result()
        return self

    def _check_refused(self, given: Mapping[str, Any]) -> None:
        """Refuse what `fit` does not take; weights of rows with the reason."""
        if given.get("sample_weight") is not None:
            raise ArgumentTypeError(
                "leave sample_weight out: the largest weight sets the noise, and must be public. For trees and rule "
                f"lists, declare the column in the schema: `weight: {{name: ..., high: ...}}`.{self._weighing}"
            )
        for name in sorted(given.keys() - {"sample_weight"}):
            raise ArgumentTypeError(f"expected X and y to fit, got {name!r}.")

    def _warn(self, schema: Schema, names: Sequence[str]) -> None:
        """Warn of what parameters, the schema and columns' names show: called by `fit`, whose caller is named."""

    def _warn_of_result(self) -> None:
        """Warn of what the released model shows."""

    @contextmanager
    def _unchanged_by_failure(self) -> Generator[None]:
        """Restore the estimator if fitting fails: scikit-learn's validation writes attributes early."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what is predicted of each row, shape ``(n_samples,)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            Rows. Of a frame only the columns that the model uses are needed.

        Raises
        ------
        NotFittedError
            Before `fit`.
        DomainError
            If a column that the model uses is absent or holds values the schema does not allow.
        """
        rows = self._checked(X)
        return self._model.predict(rows)

    @property
    def _model(self) -> Model:
        return getattr(self, self._fitted)

    @property
    def _is_from_data(self) -> bool:
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def _checked(self, X: Any) -> Table:
        self._check_fitted()
        if self._is_from_data and self._model.schema.no_guarantee_reason:
            return validated_table(self, X, reset=False)
        return Table.of(X)

    def _check_parameters(self) -> None:
        if not (self.schema is None or isinstance(self.schema, Schema) or self._is_from_data):
            expected = f"a Schema (Schema.load reads a file), None or {FROM_DATA!r}"
            raise ArgumentError(f"schema must be {expected}, got {describe_argument(self.schema)}.")

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        raise NotImplementedError

    def _publish(self, schema: Schema, learned: Learned, card: PrivacyCard) -> Self:
        """Set the fitted attributes: the learned model with its card."""
        model = learned.model(schema, card)
        if not self._is_from_data or not schema.no_guarantee_reason or not hasattr(self, "n_features_in_"):
            # else scikit-learn has set them
            self.feature_names_in_ = np.array(schema.columns(), dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        self.privacy_ = card
        setattr(self, self._fitted, model)
        return self

    def _check_size(self, name: str, value: object, low: int) -> None:
        """Check the largest size of a model: a whole number, but where it can be drawn."""
        check_integer(name, value, low)


@dataclass(eq=False, repr=False, kw_only=True)
class RuleListEstimator(ReadableLeaves, TallyEstimator):
    """An estimator whose model is a `RuleList`."""

    max_rules: int | None = 5
    max_literals: int = 2
    negations: bool = True
    rule_list_: RuleList = field(init=False)
    _fitted = "rule_list_"
    takes_weights = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_size("max_rules", self.max_rules, 1)
        check_integer("max_literals", self.max_literals, 1)
        check_flag("negations", self.negations)


@dataclass(eq=False, repr=False, kw_only=True)
class TreeEstimator(ReadableLeaves, TallyEstimator):
    """An estimator whose model is a `Tree`."""

    max_depth: int | None = 3
    tree_: Tree = field(init=False)
    _fitted = "tree_"
    takes_weights = True

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_size("max_depth", self.max_depth, 0)
        if self.max_depth is not None and self.max_depth > MAX_DEPTH:
            raise ArgumentError(
                f"max_depth must be a whole number <= {MAX_DEPTH}, got {describe_argument(self.max_depth)}."
            )
