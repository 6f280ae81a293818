"""EXPRIL for numbers: a regressor of a private target, learned from questions about rows with a high number."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier

from hedgerow.boundary.arrays import Floats, Integers, Mask
from hedgerow.errors import ArgumentError
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.marginals.base import MarginalRegressor
from hedgerow.marginals.expril import Equations, ErrorQuestion, Expril, fit_weighted, prepared
from hedgerow.marginals.reweight import LEAST_MEAN, LEAST_NOISE, Weights, log_evidence
from hedgerow.oracle import ErrorCounts, MarginalOracle

_LEAVES = 64  # of the tree that replaces a regressor as the hypothesis
_DEVIATIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # candidates for the deviation of labels from their mean


@dataclass(eq=False, repr=False, kw_only=True)
class ExprilRegressor(MarginalRegressor, Expril):
    """A regressor of a private target, learned from an unlabelled source and noisy sums of levels from an oracle.

    The algorithm is that of `ExprilClassifier`, with the level of a row (its number as a share of the range, from 0 to
    1) instead of its class. The first hypothesis predicts that every row is high; its errors are the sums of the
    levels. After each answer EXPRIL estimates levels of the source rows that explain the answers, and fits the
    regressor to them. The next hypothesis marks the rows that the regressor predicts above its median. A decision tree
    with up to 64 leaves, learned from these marks on the source, replaces it. The oracle therefore accepts any
    regressor, and receives only the tree.

    Parameters
    ----------
    estimator : regressor, optional
        The estimator to fit: a regressor that accepts ``sample_weight``, or a pipeline that ends in such a regressor.
        The default is a random forest on standardised columns. The estimator is first fitted to 200 source rows with
        arbitrary numbers. If this fails, or the oracle does not accept trees as hypotheses, nothing is charged.
    reweight : bool, default=True
        Whether to weight the source rows. If source and target have the same distribution, False reduces the noise.
    bins : {"auto", "published"}, int or Schema, default="auto"
        The most bins of an attribute, or a schema with the bins; see `ExprilClassifier`.
    variant : {"cumulative", "instantaneous"}, default="cumulative"
        Whether the levels explain all answers so far or the last answer.
    queries : int, optional
        The number of questions. By default all questions that the oracle has left, at most 3.
    random_state : int or None
        The seed of the default estimator and of the trees.

    Attributes
    ----------
    hypothesis_ : object
        The fitted regressor.
    synthetic_ : Synthetic
        The source with estimated weights and numbers.
    history_ : list of dict
        A record for each question: bins, noise, and the mean as a share of the range.
    privacy_ : PrivacyCard
        The charges to the oracle's budget and the guarantee for the target. Source and bins are public.

    References
    ----------
    Lacombe, Jetley and Sebag (EXPRIL), *EXtremely PRIvate supervised Learning*, 2021, Algorithm 1, for classes.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> data = hr.datasets.load("breast_cancer")
    >>> X, area = data.frame[["mean radius", "mean texture"]], data.frame["mean area"]
    >>> oracle = hr.Oracle(X[200:], area[200:], hr.Budget(8), 2, number=hr.Number("mean area", 0, 2500))
    >>> learner = hr.ExprilRegressor(RandomForestRegressor(20, random_state=0), queries=2, reweight=False)
    >>> learner.fit(X[:200], oracle=oracle).predict(X[:2]).shape
    (2,)
    """

    def _begin(self, oracle: MarginalOracle) -> None:
        number = oracle.label.as_number
        assert number is not None  # checked before
        self._low, self._range = number.values[0], number.values[-1] - number.values[0]

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        super()._check_parameters(oracle)
        if oracle.release == "ratio":
            raise ArgumentError("expected an oracle with release='counts', got release='ratio'.")

    def _trial(self, rows: Any, halves: Integers, oracle: MarginalOracle) -> Any:
        self._begin(oracle)
        weights = np.ones(len(rows))
        self._predicted(self._fitted_to(rows, self._rounded(halves.astype(np.float64)), weights), rows)
        return self._tree(rows, halves == 1, weights)

    def _submitted(self, hypothesis: Any, X: Any, weights: Weights) -> Any:
        predicted = self._predicted(hypothesis, X)
        order = np.argsort(predicted, kind="stable")
        middle = np.searchsorted(np.cumsum(weights.values[order]), 0.5)
        is_high = predicted > predicted[order][min(middle, len(order) - 1)]
        return self._tree(X, is_high, weights.values * len(predicted)) if is_high.any() else Always(True)

    def _predicted(self, hypothesis: Any, X: Any) -> Floats:
        predicted = np.asarray(hypothesis.predict(X))
        if predicted.shape != (len(X),) or predicted.dtype.kind not in "iuf" or not np.isfinite(predicted).all():
            raise ArgumentError("estimator must predict a finite number for each row.")
        return predicted.astype(np.float64)

    def _tree(self, X: Any, is_high: Mask, weights: Floats) -> Any:
        tree = DecisionTreeClassifier(max_leaf_nodes=_LEAVES, random_state=self.random_state)
        return fit_weighted(make_pipeline(prepared(X), tree), X, is_high, weights)

    def _expected(self, questions: list[ErrorQuestion], equations: list[Equations]) -> tuple[float, float]:
        first = questions[0].answer
        assert isinstance(first, ErrorCounts)  # ratios are rejected by `_check_parameters`
        right, wrong = (counts.sum(dtype=np.float64) for counts in (first.right, first.wrong))
        mean = float(np.clip(right / max(right + wrong, 1), LEAST_MEAN, 1 - LEAST_MEAN))
        return mean, most_probable(equations, mean)

    def _rounded(self, labels: Floats) -> Floats:
        return self._low + self._range * labels

    def _shares(self, labels: Floats, weights: Weights) -> dict[str, float]:
        return {"mean": float(weights.values @ labels)}

    def _default(self, X: Any) -> Pipeline:
        return make_pipeline(prepared(X), RandomForestRegressor(50, min_samples_leaf=5, random_state=self.random_state))


def most_probable(equations: list[Equations], mean: float) -> float:
    """Return the deviation of labels from their mean that makes the answers most probable.

    As in `estimate_labels`, the deviation of n labels is √n times as large, since rows of a bin deviate together.
    """
    matrix = np.vstack([part.matrix for part in equations])
    residual = np.concatenate([part.target for part in equations]) - mean * matrix.sum(axis=1)
    noise = np.concatenate([part.variance for part in equations])
    gram = matrix.shape[1] * matrix @ matrix.T
    jitter = noise + LEAST_NOISE * np.trace(gram) / len(gram)

    def logarithm(deviation: float) -> float:
        return log_evidence(residual, deviation**2 * gram + np.diag(jitter))

    return max(_DEVIATIONS, key=logarithm)
