"""Base classes of the estimators that learn from a public source and an oracle's answers."""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arrays import Array, Floats
from hedgerow.errors import ArgumentError, DomainError, OverlapWarning
from hedgerow.learn.contract import score_of_classes, score_of_numbers
from hedgerow.marginals.reweight import Weights, equal_weights, reweight
from hedgerow.oracle.answers import ClassCounts, LevelSums
from hedgerow.oracle.protocol import MarginalOracle, charged_for_answers, check_oracle, note_answers
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.tables.frames import Table
from hedgerow.text.messages import shown


@dataclass(eq=False, repr=False, kw_only=True)
class MarginalEstimator(BaseEstimator):
    """An estimator of an oracle's private rows; subclasses define what it asks, and what it makes of the answers."""

    reweight: bool = True
    bins: Literal["auto", "published"] | int | Schema = "auto"
    _fitted: ClassVar[str] = "model_"  # the attribute that holds the model

    def fit(self, X: Any, y: None = None, *, oracle: MarginalOracle) -> Self:
        """Learn from a public, unlabelled source and an oracle.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
            The source, with the columns of the oracle's target.
        y : None
            The source has no labels.
        oracle : Oracle
            Who answers questions about the target.

        Warns
        -----
        OverlapWarning
            If source and target hardly overlap. The estimator is fitted by then.

        Raises
        ------
        TypeError
            If `oracle` is no oracle, or labels are given.
        DomainError
            If the columns are not those of the target, or are constant. Nothing is charged then.
        ValueError
            If a parameter is out of range, or the oracle has too few questions left, or its answers are of a form that
            the estimator does not learn from. Nothing is charged then.
        """
        check_oracle(oracle, y)
        if isinstance(self.bins, Schema) and self.bins.weight is not None:
            raise ArgumentError("expected bins without a weight, got some with one: an oracle counts each row as one.")
        self._check_target(oracle.label)
        self._check_parameters(oracle)
        source = Table.of(X)
        if source.column_names != oracle.columns:
            expected, found = (", ".join(names) for names in (oracle.columns, source.column_names))
            raise DomainError(f"expected the target's columns {expected}, got {found}.")
        before = charged_for_answers(oracle)
        try:
            weights = self._learn(X, oracle)
            self.n_features_in_ = source.width
            if weights.problem is not None:  # last: a warning can be an error, and the model is paid for
                warnings.warn(weights.problem, OverlapWarning, stacklevel=2)
        except BaseException as error:
            note_answers(error, oracle, before)
            raise
        return self

    def _check_target(self, label: Target) -> None:
        raise NotImplementedError

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        """Check parameters, and what the oracle releases; bins are checked before they are asked about."""

    def _learn(self, X: Any, oracle: MarginalOracle) -> Weights:
        """Ask the oracle, set the fitted attributes, and return the last weights of the source's rows."""
        raise NotImplementedError

    def _weighed(self, matrix: Floats, answer: ClassCounts | LevelSums, n: int) -> Weights:
        """Return weights of the source's rows by an answer with the marginals of n attributes, or equal ones."""
        if not self.reweight:
            return equal_weights(matrix.shape[1])
        return reweight(matrix, answer.masses, n, variance=answer.variance)

    def predict(self, X: Any) -> Array:
        """Return the class, or the number, of each row, shape ``(n_rows,)``."""
        check_is_fitted(self)
        return np.asarray(getattr(self, self._fitted).predict(X))


class MarginalClassifier(ClassifierMixin, MarginalEstimator):
    """An estimator of classes."""

    classes_: Array
    score = score_of_classes

    def _check_target(self, label: Target) -> None:
        if label.as_number is not None:
            raise ArgumentError(f"expected an oracle of classes, got one of a number, {shown(label.name)}.")

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row, shape ``(n_rows, n_classes)``."""
        check_is_fitted(self)
        return np.asarray(getattr(self, self._fitted).predict_proba(X))


class MarginalRegressor(RegressorMixin, MarginalEstimator):
    """An estimator of a number."""

    score = score_of_numbers

    def _check_target(self, label: Target) -> None:
        if label.as_number is None:
            raise ArgumentError(f"expected an oracle of a number, got one of classes, {shown(label.name)}.")
