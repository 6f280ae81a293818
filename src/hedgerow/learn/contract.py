"""scikit-learn's part of the estimators: its base class and mixins, tags, scores, predictions of classes."""

from collections.abc import Sequence
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags

from hedgerow.boundary.arrays import Array, Floats
from hedgerow.learn.base import Learned, TallyEstimator
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.attributes import MISSING
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Label
from hedgerow.tables.frames import Labels, check_same_index, column_of


class ScoreMixin:
    """A score that pairs no row with the label, or number, of another; left of scikit-learn's mixin that has it."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`, or its R² where a number is predicted, as scikit-learn's estimators do.

        Raises ValueError as `fit`, for labels or numbers of pandas whose index is not that of their rows.
        """
        check_same_index(X, y)
        return cast(Any, super()).score(X, y, sample_weight)


class AccuracyMixin(ScoreMixin, ClassifierMixin):
    """scikit-learn's mixin of classifiers, with a score that reads labels as `fit` does: "1" can be the class 1."""

    classes_: Array

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`. A label that is no class of the model counts as an error.

        Raises ValueError if labels are missing, or, for pandas, if the index of the labels is not that of their rows.
        """
        from sklearn.metrics import accuracy_score  # takes long to import

        labels, label = Labels.of(y, X), Label("label", tuple(self.classes_.tolist()))
        given = label.codes(labels.column(labels.name))
        label.checked(given[given == MISSING])  # raises if there are any
        predicted = label.codes(column_of(cast(Any, self).predict(X), label.name))
        return float(accuracy_score(given, predicted, sample_weight=sample_weight))


class R2Mixin(ScoreMixin, RegressorMixin):
    """scikit-learn's mixin of regressors with this score."""


class Contract(BaseEstimator):
    """scikit-learn's base class, with the tags of all estimators."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.non_deterministic = getattr(self, "random_state", self) is None
        return tags


class Classifier(AccuracyMixin, TallyEstimator, Contract):
    """An estimator of classes."""

    _weighing = " To weigh errors of classes, pass class_weight to `decide`."

    def predict(self, X: Any) -> Array:
        return super().predict(X).astype(self.classes_.dtype)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape ``(n_samples, n_classes)``: from the released counts if there are any.

        Where only labels were released, the label has probability 1: `LabelsOnlyWarning` says so. For `X` and errors
        see `predict`.
        """
        return self._read.predict_proba(self._checked(X))

    def _publish(self, schema: Schema, learned: Learned, card: PrivacyCard) -> Self:
        self.classes_ = np.array(schema.classes)
        return super()._publish(schema, learned, card)


class NumberEstimator(R2Mixin, TallyEstimator, Contract):
    """An estimator of a number."""

    predicts_number = True

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True  # a model that can be read, on many linear effects
        return tags


class Regressor(NumberEstimator):
    """An estimator of a number by rules or leaves."""

    def predict_quantiles(self, X: Any, quantiles: Sequence[float] = (0.05, 0.5, 0.95)) -> Floats:
        """Return quantiles of the number in each row's rule or leaf; see `RuleList.predict_quantiles`."""
        return self._read.predict_quantiles(self._checked(X), quantiles)
