"""What the rule list estimators share: from a table to a tally, and predictions from the fitted list."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.columns import Table, column_of, is_frame, label_name
from hedgerow.errors import SchemaError
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.label import Label
from hedgerow.schema.public import public_attribute, public_classes
from hedgerow.schema.schema import Schema
from hedgerow.tally import Counts, Tally

FROM_DATA = "from-data"
BINS = 5  # intervals of a number whose domain is taken from the data


class RuleListEstimator(ClassifierMixin, BaseEstimator):
    """A classifier whose model is a `RuleList`; subclasses say how the list is learned from a tally."""

    max_rules: int
    max_literals: int
    negations: bool
    schema: Schema | str | None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn a rule list from rows and labels.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            The rows. With a schema, a frame's columns are found by name and others ignored; an array's by position.
        y : series or array of shape (n_samples,)
            The labels.

        Returns
        -------
        self
            The fitted estimator; it holds released values only, no row and no tally.

        Raises
        ------
        ValueError
            If a parameter is out of range or, as `DomainError`, a value does not fit the schema (names the column,
            never the value), or, as `BudgetExceededError`, the shared budget has too little left.
        """
        self._check_parameters()
        if isinstance(y, str):
            raise TypeError(f"y must be the labels, not the name of a column: fit(X, X[{y!r}]).")
        if isinstance(self.schema, str):
            X, y, schema = self._schema_from_data(X, y)
        else:
            table = Table.of(X)
            schema = boolean_schema(table.column_names, y) if self.schema is None else self.schema
            _check_usable(schema)
            schema.check_columns(table)
            _check_labels(table, y)
        return self._learn(
            schema, lambda: Tally.count(X, y, schema if isinstance(self.schema, (Schema, str)) else None)
        )

    def fit_tally(self, tally: Tally) -> Self:
        """Learn a rule list from a tally counted elsewhere; its schema takes the place of the parameter `schema`.

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
            raise TypeError(f"Expected a Tally, got {type(tally).__name__}.")
        if not tally.schema.void:
            _check_usable(tally.schema)
        return self._learn(tally.schema, lambda: tally)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted class of each row, shape ``(n_samples,)``; see `predict_proba` for `X` and errors."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return class probabilities from the released counts, shape ``(n_samples, n_classes)``.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_samples, n_features)
            Rows. Of a frame only the columns that the rules use are needed.

        Raises
        ------
        NotFittedError
            Before `fit`.
        DomainError
            If a column that the rules use is absent or holds values the schema does not allow.
        """
        check_is_fitted(self)
        if self.schema == FROM_DATA and self.rule_list_.schema.void:
            X = validate_data(self, X, reset=False, **_array_checks(X))
        return self.rule_list_.predict_proba(X)

    def _schema_from_data(self, X: Any, y: Any) -> tuple[Any, Any, Schema]:
        """Validate as scikit-learn does and cut the schema out of the rows themselves, which voids any guarantee."""
        name = label_name(y)
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X, y = validate_data(self, X, y, **_array_checks(X))
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        check_classification_targets(y)
        table, labels = Table.of(X), column_of(y, name)
        classes = public_classes(labels)
        if len(classes) < 2:
            raise ValueError("y holds one class only; expected two or more.")
        attributes = {
            column: public_attribute(table.column(column, position), BINS)
            for position, column in enumerate(table.column_names)
            if column != name
        }
        return X, y, Schema(tuple(attributes.items()), Label(name, classes), void="domain taken from the data")

    def _check_parameters(self) -> None:
        for name, low in (("max_rules", 1), ("max_literals", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
                raise ValueError(f"{name} must be a whole number >= {low}, got {value!r}.")
        if not isinstance(self.negations, (bool, np.bool_)):
            raise ValueError(f"negations must be True or False, got {self.negations!r}.")
        if not (self.schema is None or isinstance(self.schema, Schema) or self.schema == FROM_DATA):
            raise ValueError(
                f"schema must be a Schema (Schema.load reads a file), None or {FROM_DATA!r}, got {self.schema!r}."
            )

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        raise NotImplementedError

    def _publish(self, schema: Schema, antecedents: tuple[Antecedent, ...], counts: Counts, card: PrivacyCard) -> Self:
        rules = tuple(
            Rule(antecedent, tuple(map(int, row))) for antecedent, row in zip([*antecedents, ()], counts, strict=True)
        )
        if self.schema != FROM_DATA or not schema.void:  # else scikit-learn has seen to them
            self.n_features_in_ = len(schema)
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.classes_ = np.array(schema.classes)
        self.privacy_ = card
        self.rule_list_ = RuleList(schema, rules, card)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _check_usable(schema: Schema) -> None:
    """Check that a schema has classes, and that every number can stand in a rule."""
    schema.classes  # noqa: B018 -- raises where the schema declares no label
    for name, attribute in schema.attributes:
        if getattr(attribute, "cuts", None) == ():
            raise SchemaError(
                "a number without cut points cannot stand in a rule; give it cut points (`hedgerow schema learn` and "
                "Schema.learn find them under a charge) or leave the attribute out.",
                attribute=name,
                key="cuts",
            )


def _check_labels(table: Table, y: Any) -> None:
    shape = getattr(y, "shape", (len(y),) if hasattr(y, "__len__") else ())
    if len(shape) != 1:
        raise ValueError(f"y must be one column of labels, got {len(shape)} dimensions.")
    if shape[0] != len(table):
        raise ValueError("y must have as many labels as X has rows.")


def _array_checks(X: Any) -> dict[str, Any]:
    """Return how scikit-learn should validate: frames keep their columns' types, arrays become numbers."""
    return {"skip_check_array": True} if is_frame(X) else {"ensure_all_finite": "allow-nan"}
