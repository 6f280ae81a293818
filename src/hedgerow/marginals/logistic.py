"""Additive logistic models from one question: the label's marginals are their sufficient statistics."""

from __future__ import annotations

from itertools import groupby
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hedgerow.columns import Table
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.marginals.binning import bin_matrix, bin_names, bins_or_chosen
from hedgerow.marginals.oracle.answers import ErrorCounts
from hedgerow.marginals.oracle.hypothesis import Always
from hedgerow.marginals.oracle.oracle import Oracle, check_oracle
from hedgerow.marginals.reweight import equal_weights, reweight
from hedgerow.messages import shown_argument
from hedgerow.models.points_plot import points_bars
from hedgerow.schema.schema import Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PRIOR = 0.5
"""The prior standard deviation of the log-odds of a bin, for ``l2="auto"``."""
Vector = NDArray[np.float64]


class MarginalLogisticClassifier(ClassifierMixin, BaseEstimator):
    """An additive logistic model on bins, from one question to an oracle: how many rows of each bin are positive.

    These counts c and the rows' own distribution, which the weighted source estimates, are all that the likelihood
    needs: θ maximises ``Σ_k θ_k c_k − n Σ_i w_i log(1 + exp(θ·R_i)) − ½ℓ‖θ‖²``. The model is a table of points by bin,
    which add up to the log-odds of a row.

    Parameters
    ----------
    l2 : "auto" or float, default="auto"
        ℓ. "auto" follows from the known variance s² of the noise, not from private data:
        ``(1 + s²/h)/0.25``, where h is the information that a bin has on its θ. It is the ridge for which a bin's
        estimate has the least expected error, if log-odds by bin have a standard deviation of ½.
    bins : {"auto", "published"}, int or Schema, default="auto"
        As for `ExprilClassifier`.
    reweight : bool, default=True
        Whether the target may be distributed differently from the source.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes; points are for the second.
    bins_ : Schema
        The bins.
    coef_ : ndarray of shape (n_bins,)
        The points of each bin, in log-odds.
    intercept_ : float
        The points of every row.
    l2_ : float
        ℓ.
    weights_ : Weights
        The weights of the source, and how well it covers the target.
    privacy_ : PrivacyCard
        What was spent on the target, and what is guaranteed.

    Examples
    --------
    >>> import hedgerow as hr
    >>> data = hr.datasets.load("breast_cancer")
    >>> oracle = hr.Oracle(data.frame[200:], data.labels[200:], hr.Budget(1), 1, classes=data.schema.classes)
    >>> model = hr.MarginalLogisticClassifier(reweight=False).fit(data.frame[:200], oracle=oracle)
    >>> model.predict(data.frame[:2]).shape
    (2,)
    """

    def __init__(
        self,
        *,
        l2: Literal["auto"] | float = "auto",
        bins: Literal["auto", "published"] | int | Schema = "auto",
        reweight: bool = True,
    ) -> None:
        self.l2 = l2
        self.bins = bins
        self.reweight = reweight

    def fit(self, X: Any, y: None = None, *, oracle: Oracle) -> Self:
        """Learn from a public, unlabelled source and one answer of an oracle.

        Parameters
        ----------
        X : pandas, polars or pyarrow frame, or array of shape (n_rows, n_columns)
            The source, with the columns of the oracle's target.
        y : None
            The source has no labels.
        oracle : Oracle
            Who answers a question about the target.

        Raises
        ------
        TypeError
            If `oracle` is no oracle, or labels are given.
        DomainError
            If the columns are not those of the target, or one is constant. Nothing is charged then.
        ValueError
            If a parameter is out of range, or the oracle has no question left or releases ratios. Nothing is charged.
        """
        check_oracle(oracle, y)
        self._check(X, oracle)
        n = len(X)
        bins = bins_or_chosen(self.bins, X, n, oracle.noise_scale(Table.of(X).width))
        matrix = bin_matrix(bins, X)
        answer = oracle.error_marginals(bins, Always(oracle.classes[1]))
        assert isinstance(answer, ErrorCounts)
        self.weights_ = (
            reweight(matrix, answer.masses, len(bins), variance=answer.variance) if self.reweight else equal_weights(n)
        )
        wrong, variance = answer.errors(matrix @ self.weights_.values)
        positive = answer.n_rows * (matrix @ self.weights_.values - wrong)
        noise = variance * answer.n_rows**2
        share = float(np.clip(1 - answer.error_rate, 0.02, 0.98))
        information = answer.n_rows * share * (1 - share) * len(bins) / len(matrix)
        self.l2_ = (1 + noise / information) / PRIOR**2 if self.l2 == "auto" else float(self.l2)
        self.bins_, self.classes_ = bins, np.array(oracle.classes)
        self.intercept_, self.coef_ = _solve(
            matrix, answer.n_rows * self.weights_.values, positive, len(bins), self.l2_
        )
        self.privacy_, self.n_features_in_ = oracle.privacy, Table.of(X).width
        return self

    def _check(self, X: Any, oracle: Oracle) -> None:
        l2: Any = self.l2
        is_number = isinstance(l2, Real) and not isinstance(l2, bool)
        if not (isinstance(l2, str) and l2 == "auto") and not (is_number and 0 < float(l2) < np.inf):
            raise ArgumentError(f"l2 must be 'auto' or a number > 0, got {shown_argument(self.l2)}.")
        if oracle.release == "ratio":
            raise ArgumentError(
                "expected an oracle that releases counts, got one that releases ratios, which do not determine the "
                "number of positive rows."
            )
        names = Table.of(X).column_names
        if names != oracle.columns:
            raise DomainError(f"expected the target's columns {', '.join(oracle.columns)}, got {', '.join(names)}.")

    def decision_function(self, X: Any) -> Vector:
        """Return the log-odds of the second class for each row, shape ``(n_rows,)``."""
        check_is_fitted(self)
        return self.intercept_ + self.coef_ @ bin_matrix(self.bins_, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class of each row, shape ``(n_rows,)``."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(int)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class for each row, shape ``(n_rows, 2)``."""
        positive = expit(self.decision_function(X))
        return np.column_stack([1 - positive, positive])

    def contributions(self) -> list[dict[str, Any]]:
        """Return one record a bin: ``attribute``, ``bin`` and ``points``, in log-odds of the second class."""
        check_is_fitted(self)
        return [
            {"attribute": name, "bin": bin, "points": float(points)}
            for (name, bin), points in zip(bin_names(self.bins_), self.coef_, strict=True)
        ]

    def plot(self, most: int = 12) -> Axes:
        """Draw the points of the attributes that matter most, and return the axes."""
        groups = [
            (name, [(record["bin"], (record["points"],)) for record in records])
            for name, records in groupby(self.contributions(), key=lambda record: record["attribute"])
        ]
        classes = list(map(str, self.classes_))
        return points_bars(groups, classes, self.privacy_.headline, most=most, unit="points in log-odds")


def _solve(
    matrix: NDArray[np.float64], weights: Vector, positive: Vector, n_attributes: int, l2: float
) -> tuple[float, Vector]:
    """Return the intercept, which is not penalised, and the points that maximise the penalised likelihood."""
    total = float(np.clip(positive.sum() / n_attributes, 0.5, max(weights.sum() - 0.5, 0.5)))

    def loss(theta: Vector) -> tuple[float, Vector]:
        odds = theta[0] + theta[1:] @ matrix
        expected = weights * expit(odds)
        value = (
            weights @ np.logaddexp(0, odds) - theta[0] * total - theta[1:] @ positive + l2 / 2 * theta[1:] @ theta[1:]
        )
        return float(value), np.concatenate([[expected.sum() - total], matrix @ expected - positive + l2 * theta[1:]])

    solved = minimize(loss, np.zeros(1 + len(matrix)), jac=True, method="L-BFGS-B", options={"maxiter": 5000})
    return float(solved.x[0]), solved.x[1:]
