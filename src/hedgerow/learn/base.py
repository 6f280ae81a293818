"""What the estimators share: from a table to a tally, and predictions from the fitted model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from hedgerow.bounded import shown_argument
from hedgerow.columns import Column, Table, column_of, is_frame, label_name
from hedgerow.errors import SchemaError
from hedgerow.guard import guarded
from hedgerow.learn.lattice import Stop, Take
from hedgerow.learn.space import Space
from hedgerow.models.leaf import Leaf
from hedgerow.models.model import Model
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.tree import MAX_DEPTH, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.booleans import boolean_schema
from hedgerow.schema.candidates import Antecedent
from hedgerow.schema.label import Label
from hedgerow.schema.public import public_attribute, public_classes
from hedgerow.schema.schema import Schema
from hedgerow.tally import Counts, Tally

FROM_DATA = "from-data"
BINS = 5  # intervals of a number whose domain is taken from the data


class TallyEstimator(ClassifierMixin, BaseEstimator):
    """A classifier with a model that a person can read; subclasses say how it is learned from a tally."""

    schema: Schema | str | None

    def fit(self, X: Any, y: Any) -> Self:
        """Learn a model from rows and labels.

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
        with self._unchanged_by_failure():
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

    def check_public(self) -> None:
        """Check the parameters, the schema among them, as fitting does first: before a table is counted elsewhere.

        Raises
        ------
        ValueError
            If one is out of range, or the schema cannot be learned with.
        """
        self._check_parameters()
        if isinstance(self.schema, Schema):
            _check_usable(self.schema)

    def fit_tally(self, tally: Tally) -> Self:
        """Learn a model from a tally counted elsewhere; its schema takes the place of the parameter `schema`.

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
        with self._unchanged_by_failure():
            vars(self).pop("n_features_in_", None)  # those of an earlier fit
            return self._learn(tally.schema, lambda: tally)

    @contextmanager
    def _unchanged_by_failure(self) -> Generator[None]:
        """Leave the estimator as it was if fitting fails; scikit-learn's checks write to it before all is checked."""
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
        """Return class probabilities, shape ``(n_samples, n_classes)``: from the released counts, where there are any.

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
        raise NotImplementedError

    @property
    def _is_from_data(self) -> bool:
        return isinstance(self.schema, str) and self.schema == FROM_DATA

    def _checked(self, X: Any) -> Any:
        check_is_fitted(self)
        if self._is_from_data and self._model.schema.void:
            return validate_data(self, _two_dimensional(X), reset=False, **_array_checks(X))
        return X

    def _schema_from_data(self, X: Any, y: Any) -> tuple[Any, Any, Schema]:
        """Validate as scikit-learn does and cut the schema out of the rows themselves, which voids any guarantee."""
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        name = label_name(y)
        if is_frame(X):
            validate_data(self, X, skip_check_array=True)
        else:
            X, y = validate_data(self, _two_dimensional(X), _of_one_type(y, name), **_array_checks(X))
        labels = column_of(y, name)
        check_classification_targets(labels.present())
        table = Table.of(X)
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
        if not (self.schema is None or isinstance(self.schema, Schema) or self._is_from_data):
            expected = f"a Schema (Schema.load reads a file), None or {FROM_DATA!r}"
            raise ValueError(f"schema must be {expected}, got {shown_argument(self.schema)}.")

    def _learn(self, schema: Schema, count: Callable[[], Tally]) -> Self:
        raise NotImplementedError

    def _publish(self, schema: Schema, card: PrivacyCard) -> None:
        """Set what all fitted estimators have in common."""
        if not self._is_from_data or not schema.void or not hasattr(self, "n_features_in_"):
            # else scikit-learn has seen to them
            self.n_features_in_ = len(schema)
            self.feature_names_in_ = np.array(schema.names, dtype=object)
        self.classes_ = np.array(schema.classes)
        self.privacy_ = card

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class RuleListEstimator(TallyEstimator):
    """A classifier whose model is a `RuleList`."""

    max_rules: int
    max_literals: int
    negations: bool

    @property
    def _model(self) -> RuleList:
        return self.rule_list_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("max_rules", self.max_rules, 1)
        check_whole("max_literals", self.max_literals, 1)
        if not isinstance(self.negations, (bool, np.bool_)):
            raise ValueError(f"negations must be True or False, got {shown_argument(self.negations)}.")

    def _publish_list(
        self,
        schema: Schema,
        antecedents: Sequence[Antecedent],
        card: PrivacyCard,
        *,
        counts: Counts | None = None,
        labels: Sequence[int] | None = None,
    ) -> Self:
        """Make the rule list of these antecedents, the default rule last, with the counts, the labels or both."""
        rows, classes = [*antecedents, ()], schema.classes
        rules = tuple(
            Rule(
                antecedent,
                None if counts is None else tuple(map(int, counts[i])),
                None if labels is None else classes[labels[i]],
            )
            for i, antecedent in enumerate(rows)
        )
        model = RuleList(schema, rules, card)
        self._publish(schema, card)
        self.rule_list_ = model
        return self


class TreeEstimator(TallyEstimator):
    """A classifier whose model is a `Tree`."""

    max_depth: int

    @property
    def _model(self) -> Tree:
        return self.tree_

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("max_depth", self.max_depth, 0)
        if self.max_depth > MAX_DEPTH:
            raise ValueError(f"max_depth must be a whole number <= {MAX_DEPTH}, got {shown_argument(self.max_depth)}.")

    def _publish_tree(
        self, space: Space, tree: Take | Stop, card: PrivacyCard, *, counts: Iterable[Any] | None
    ) -> Self:
        """Make the tree with its labels, where it has them, and the counts by leaf, what a test catches first."""
        schema = space.candidates.schema
        model = Tree(schema, _build(tree, space, None if counts is None else iter(counts)), card)
        self._publish(schema, card)
        self.tree_ = model
        return self


def _build(part: Take | Stop, space: Space, counts: Iterator[Any] | None) -> Split | Leaf:
    if isinstance(part, Stop):
        label = None if part.label is None else space.candidates.schema.classes[part.label]
        return Leaf(None if counts is None else tuple(map(int, next(counts))), label)
    (literal,) = space.antecedents[part.option]
    return Split(literal, _build(part.caught, space, counts), _build(part.left, space, counts))


def check_whole(name: str, value: object, low: int) -> None:
    """Check that a parameter is a whole number from `low` on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
        raise ValueError(f"{name} must be a whole number >= {low}, got {shown_argument(value)}.")


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Check that a parameter is one of some words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {shown_argument(value)}.")


def check_share(name: str, value: object) -> None:
    """Check that a parameter is a number from 0 to less than 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < 1:
        raise ValueError(f"{name} must be in [0, 1), got {shown_argument(value)}.")


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
    shape = guarded(lambda: _shape(y), TypeError(f"y must be one column of labels, got {type(y).__name__}."))
    if len(shape) != 1:
        raise ValueError(f"y must be one column of labels, got {len(shape)} dimensions.")
    if shape[0] != len(table):
        raise ValueError("y must have as many labels as X has rows.")


def _shape(y: Any) -> tuple[int, ...]:
    return tuple(getattr(y, "shape", (len(y),) if hasattr(y, "__len__") else ()))


def _two_dimensional(X: Any) -> Any:
    """Return a frame as it is, anything else as an array of numbers: scikit-learn's own errors quote rows."""
    if is_frame(X):
        return X
    if issparse(X):
        raise TypeError("Expected a frame or a dense array, got sparse data; X.toarray() is dense.")
    array = guarded(lambda: np.asarray(X), TypeError(f"Expected a frame or a 2D array, got {type(X).__name__}."))
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported; give real and imaginary parts as two columns.")
    if array.dtype.kind not in "biuf":
        problem = TypeError(
            "Expected an array of numbers: each argument must be a string that spells one, or a number."
        )
        array = guarded(lambda: array.astype(object).astype(np.float64), problem)
    if array.ndim != 2:
        raise ValueError(f"Expected a 2D array, got one of {array.ndim} dimensions. Reshape your data.")
    return array


def _of_one_type(y: Any, name: str) -> Any:
    """Return labels as an array of numbers, booleans or text: scikit-learn's own errors quote other ones."""
    array = guarded(lambda: np.asarray(y), TypeError(f"y must be one column of labels, got {type(y).__name__}."))
    if array.dtype.kind in "biufU":
        return array
    Column.from_numpy(array.ravel(), name)
    return array.astype(object)


def _array_checks(X: Any) -> dict[str, Any]:
    """Return how scikit-learn should validate: frames keep their columns' types, arrays become numbers."""
    return {"skip_check_array": True} if is_frame(X) else {"ensure_all_finite": "allow-nan"}
