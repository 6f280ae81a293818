"""Base classes of the estimators that learn from a public source and the answers of an oracle."""

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
    """Base class of estimators that learn from an oracle; subclasses define the questions and the model."""

    reweight: bool = True
    bins: Literal["auto", "published"] | int | Schema = "auto"
    _fitted: ClassVar[str] = "model_"  # the attribute that holds the model

    def fit(self, X: Any, y: None = None, *, oracle: MarginalOracle) -> Self:
        """Learn from a public, unlabelled source and an oracle.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
            The source, with the same columns as the target of the oracle.
        y : None
            Not used: the source has no labels.
        oracle : Oracle
            The oracle that answers questions about the target.

        Warns
        -----
        OverlapWarning
            If source and target hardly overlap. The estimator is fitted nevertheless.

        Raises
        ------
        TypeError
            If `oracle` is not an oracle, or labels are given.
        DomainError
            If the columns differ from the columns of the target, or all are constant. Nothing is charged then.
        ValueError
            If a parameter is out of range, the oracle has too few questions left, or the estimator does not support its
            form of release. Nothing is charged then.
        """
        check_oracle(oracle, y)
        if isinstance(self.bins, Schema) and self.bins.weight is not None:
            raise ArgumentError("bins must be a schema without a weight: an oracle counts every row once.")
        self._check_target(oracle.label)
        self._check_parameters(oracle)
        source = Table.of(X)
        if source.column_names != oracle.columns:
            expected, given = (", ".join(names) for names in (oracle.columns, source.column_names))
            raise DomainError(f"expected a source with the target's columns {expected}, got {given}.")
        before = charged_for_answers(oracle)
        try:
            weights = self._learn(X, oracle)
            self.n_features_in_ = source.width
            if weights.problem is not None:  # last: a warning may be raised as an error, and the model is charged
                warnings.warn(weights.problem, OverlapWarning, stacklevel=2)
        except BaseException as error:
            note_answers(error, oracle, before)
            raise
        return self

    def _check_target(self, label: Target) -> None:
        raise NotImplementedError

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        """Check the parameters and the oracle's form of release. Bins are checked with every question."""

    def _learn(self, X: Any, oracle: MarginalOracle) -> Weights:
        """Ask the oracle, set the fitted attributes, and return the last weights of the source rows."""
        raise NotImplementedError

    def _weighed(self, matrix: Floats, answer: ClassCounts | LevelSums, n: int) -> Weights:
        """Return weights of the source rows for the marginals of n attributes, or equal weights without reweighting."""
        if not self.reweight:
            return equal_weights(matrix.shape[1])
        return reweight(matrix, answer.masses, n, variance=answer.variance)

    def predict(self, X: Any) -> Array:
        """Return the predicted class or number of each row, shape ``(n_rows,)``."""
        check_is_fitted(self)
        return np.asarray(getattr(self, self._fitted).predict(X))


class MarginalClassifier(ClassifierMixin, MarginalEstimator):
    """Base class of classifiers that learn from an oracle."""

    classes_: Array
    score = score_of_classes

    def _check_target(self, label: Target) -> None:
        if label.as_number is not None:
            raise ArgumentError(f"expected an oracle with classes, got an oracle of the number {shown(label.name)}.")

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row, shape ``(n_rows, n_classes)``."""
        check_is_fitted(self)
        return np.asarray(getattr(self, self._fitted).predict_proba(X))


class MarginalRegressor(RegressorMixin, MarginalEstimator):
    """Base class of regressors that learn from an oracle."""

    score = score_of_numbers

    def _check_target(self, label: Target) -> None:
        if label.as_number is None:
            raise ArgumentError(f"expected an oracle of a number, got an oracle of the classes {shown(label.name)}.")
