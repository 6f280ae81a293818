"""Base classes of the estimators: counting a table into a tally, and predicting with the fitted model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.boundary.arguments import check_flag, check_integer
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.inputs import AccuracyMixin, check_labels, homogeneous_labels, number_array, validated_table
from hedgerow.learn.readable import Readable, ReadableLeaves
from hedgerow.models.model import Model
from hedgerow.models.rule_list import RuleList
from hedgerow.models.tree import MAX_DEPTH, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.booleans import boolean_schema, learning_problems
from hedgerow.schema.from_public import public_attribute, public_classes
from hedgerow.schema.schema import FROM_ROWS, Schema
from hedgerow.schema.targets import Label
from hedgerow.tables.frames import Labels, Table
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

FROM_DATA: Literal["from-data"] = "from-data"
BINS = 5  # bins of a number whose domain is taken from the data


class Learned(Protocol):
    """Result of a learner: `LearnedList` or `LearnedTree`."""

    def model(self, schema: Schema, card: PrivacyCard) -> Model:
        """Return the model."""
        ...


class TallyEstimator(Readable, AccuracyMixin, BaseEstimator):
    """A classifier with an interpretable model; subclasses define how it is learned from a tally."""

    schema: Schema | Literal["from-data"] | None
    _fitted: ClassVar[str]  # the attribute that holds the model

    def fit(self, X: Any, y: Any, **refused: Any) -> Self:
        """Learn a model from rows and labels.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The rows. With a schema, columns are selected by name in a frame, others ignored; by position in an array.
        y : series or array of shape (n_samples,)
            The labels, in the order of the rows; those of pandas must have the index of their rows.
        **refused
            Nothing. ``sample_weight`` is refused with the reason: the weight of a row would be in every sensitivity.

        Returns
        -------
        self
            The fitted estimator; it holds released values only, no row and no tally.

        Raises
        ------
        TypeError
            If rows are weighted, or something else is passed.
        ValueError
            If a parameter is out of range or, as `DomainError`, a value does not fit the schema (names the column,
            never the value), or, as `BudgetExceededError`, the shared budget has too little left.
        """
        _check_refused(refused)
        self._check_parameters()
        if isinstance(y, str):
            raise ArgumentTypeError(f"y must be the labels, not the name of a column: fit(X, X[{y!r}]).")
        labels = Labels.of(y, X)
        with self._unchanged_by_failure():
            if isinstance(self.schema, str):
                table, labels, schema = self._schema_from_data(X, labels)
            else:
                table = Table.of(X)
                schema = boolean_schema(table.column_names, labels) if self.schema is None else self.schema
                _check_usable(schema)
                schema.check_columns(table)
                schema.check_unit(table)
                check_labels(table, labels, schema.label)
            self._warn(schema)
            seed = getattr(self, "random_state", None)
            return self._learn(
                schema, lambda: Tally.of(table, labels, schema, is_declared=self.schema is not None, random_state=seed)
            )

    def check_public(self) -> None:
        """Check the parameters, the schema included, as `fit` does before it counts rows; for tables counted elsewhere.

        Raises
        ------
        ValueError
            If one is out of range, or the schema cannot be learned with.
        """
        self._check_parameters()
        if isinstance(self.schema, Schema):
            _check_usable(self.schema)

    def fit_tally(self, tally: Tally) -> Self:
        """Learn a model from a tally counted elsewhere; its schema replaces the parameter `schema`.

        Parameters
        ----------
        tally : Tally
            The counted table. What learning it costs, and what is guaranteed, is as for `fit`.

        Returns
        -------
        self
            The fitted estimator.

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
        if not tally.schema.no_guarantee_reason:
            _check_usable(tally.schema)
        with self._unchanged_by_failure():
            vars(self).pop("n_features_in_", None)  # those of an earlier fit
            return self._learn(tally.schema, lambda: tally)

    def _warn(self, schema: Schema) -> None:
        """Warn of what the parameters and the schema show: called by `fit`, whose caller is named."""

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
        """Return the predicted class of each row, shape ``(n_samples,)``; see `predict_proba` for `X` and errors."""
        rows = self._checked(X)
        return self._model.predict(rows).astype(self.classes_.dtype)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities, shape ``(n_samples, n_classes)``: from the released counts if there are any.

        Where only labels were released, the label has probability 1.

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
        return self._model.predict_proba(rows)

    @property
    def _model(self) -> Model:
        return getattr(self, self._fitted)

    @property
    def _is_from_data(self) -> bool:
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def _checked(self, X: Any) -> Table:
        check_is_fitted(self)
        if self._is_from_data and self._model.schema.no_guarantee_reason:
            return validated_table(self, X, reset=False)
        return Table.of(X)

    def _schema_from_data(self, X: Any, labels: Labels) -> tuple[Table, Labels, Schema]:
        """Validate as scikit-learn does and infer the schema from the rows, which voids any guarantee."""
        if labels.data is None:
            raise ArgumentError("This estimator requires y to be passed, but the target y is None.")
        name, table = labels.name, Table.of_frame(X)
        if table is None:
            rows, y = number_array(X), homogeneous_labels(labels.data, name)
            X, y = validate_data(self, rows, y, ensure_all_finite="allow-nan")
            table, labels = Table.of(X), Labels.of(y)
        else:
            validate_data(self, X, skip_check_array=True)
        column = labels.column(name)
        check_classification_targets(column.present())
        classes = public_classes(column)
        if len(classes) < 2:
            raise ArgumentError("y holds one class only; expected two or more.")
        attributes = {
            own: public_attribute(table.column(own, position), BINS, outside="bin")
            for position, own in enumerate(table.column_names)
            if own != name
        }
        return table, labels, Schema(attributes, Label(name, classes), no_guarantee_reason=FROM_ROWS)

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
            self.n_features_in_ = len(schema)
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.classes_ = np.array(schema.classes)
        self.privacy_ = card
        setattr(self, self._fitted, model)
        return self

    def _check_size(self, name: str, value: object, low: int) -> None:
        """Check the largest size of a model: a whole number, but where it can be drawn."""
        check_integer(name, value, low)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class RuleListEstimator(ReadableLeaves, TallyEstimator):
    """A classifier whose model is a `RuleList`."""

    max_rules: int | None
    max_literals: int
    negations: bool
    rule_list_: RuleList
    _fitted = "rule_list_"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_size("max_rules", self.max_rules, 1)
        check_integer("max_literals", self.max_literals, 1)
        check_flag("negations", self.negations)


class TreeEstimator(ReadableLeaves, TallyEstimator):
    """A classifier whose model is a `Tree`."""

    max_depth: int | None
    tree_: Tree
    _fitted = "tree_"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_size("max_depth", self.max_depth, 0)
        if self.max_depth is not None and self.max_depth > MAX_DEPTH:
            raise ArgumentError(
                f"max_depth must be a whole number <= {MAX_DEPTH}, got {describe_argument(self.max_depth)}."
            )


def _check_refused(given: Mapping[str, Any]) -> None:
    """Refuse what `fit` does not take; weights of rows with the reason."""
    if given.get("sample_weight") is not None:
        raise ArgumentTypeError(
            "expected no sample_weight, got one: every row counts as one, since the weight of a row would change the "
            "sensitivity of all that is released about it. To weigh errors of classes, pass class_weight to `decide`."
        )
    for name in sorted(given.keys() - {"sample_weight"}):
        raise ArgumentTypeError(f"expected X and y to fit, got {name!r}.")


def _check_usable(schema: Schema) -> None:
    """Check that a schema has classes, and that every number has cut points."""
    for problem in learning_problems(schema):
        raise problem
