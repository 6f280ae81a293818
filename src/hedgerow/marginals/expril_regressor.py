"""EXPRIL for numbers: a regressor of a private target, learned from questions about whether it is high."""

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

_LEAVES = 64  # of the tree that is asked about in the place of a regressor
_DEVIATIONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # deviations of labels from their mean among which the answers decide


@dataclass(eq=False, repr=False, kw_only=True)
class ExprilRegressor(MarginalRegressor, Expril):
    """Learn a number from an unlabelled source and an oracle's noisy sums, by bin, of the steps between its levels.

    As of `ExprilClassifier`, in the place of a row's class is its level as a share of the range, from 0 to 1. The first
    hypothesis is that every row is high, whose errors are the sums of the levels. After each answer the levels of the
    source are estimated that explain it, and a regressor is learned from them; the next hypothesis says which rows it
    predicts above its median. It is asked about as a decision tree of up to 64 leaves that is learned from these
    predictions, on the source: so any regressor will do, and the oracle sees none of it.

    Parameters
    ----------
    estimator : regressor, optional
        What is learned: anything that takes ``sample_weight``, or a pipeline that ends in such. Default: a random
        forest, on standardised columns. It is tried first on 200 rows of the source with arbitrary numbers: nothing is
        charged where it fails, nor where the oracle cannot be asked about trees.
    reweight : bool, default=True
        Whether the target may be distributed differently from the source. False saves noise where it is not.
    bins : {"auto", "published"}, int or Schema, default="auto"
        As for `ExprilClassifier`.
    variant : {"cumulative", "instantaneous"}, default="cumulative"
        Whether the levels are to explain all answers so far or the last one.
    queries : int, default=3
        How many questions to ask in all.
    random_state : int or None
        For the default estimator, and the trees.

    Attributes
    ----------
    hypothesis_ : object
        The fitted regressor.
    synthetic_ : Synthetic
        The source with weights and numbers of the target.
    history_ : list of dict
        One record per question: the bins, the noise, the mean, as a share of the range.
    privacy_ : PrivacyCard
        What was spent on the target, and what is guaranteed. Source and bins are public.

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
            raise ArgumentError("expected an oracle that releases counts, got one that releases ratios.")

    def _tried(self, tried: Any, halves: Integers, oracle: MarginalOracle) -> Any:
        self._begin(oracle)
        weights = np.ones(len(tried))
        self._predicted(self._fitted_to(tried, self._rounded(halves.astype(np.float64)), weights), tried)
        return self._tree(tried, halves == 1, weights)

    def _asked(self, hypothesis: Any, X: Any, weights: Weights) -> Any:
        predicted = self._predicted(hypothesis, X)
        order = np.argsort(predicted, kind="stable")
        middle = np.searchsorted(np.cumsum(weights.values[order]), 0.5)
        is_high = predicted > predicted[order][min(middle, len(order) - 1)]
        return self._tree(X, is_high, weights.values * len(predicted)) if is_high.any() else Always(True)

    def _predicted(self, hypothesis: Any, X: Any) -> Floats:
        found = np.asarray(hypothesis.predict(X))
        if found.shape != (len(X),) or found.dtype.kind not in "iuf" or not np.isfinite(found).all():
            raise ArgumentError("expected an estimator that predicts one finite number for each row, got another.")
        return found.astype(np.float64)

    def _tree(self, X: Any, is_high: Mask, weights: Floats) -> Any:
        tree = DecisionTreeClassifier(max_leaf_nodes=_LEAVES, random_state=self.random_state)
        return fit_weighted(make_pipeline(prepared(X), tree), X, is_high, weights)

    def _expected(self, questions: list[ErrorQuestion], equations: list[Equations]) -> tuple[float, float]:
        first = questions[0].answer
        assert isinstance(first, ErrorCounts)  # no ratios
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

    As in `estimate_labels`, that of n labels is √n times as large: rows of a bin deviate together.
    """
    matrix = np.vstack([one.matrix for one in equations])
    rest = np.concatenate([one.target for one in equations]) - mean * matrix.sum(axis=1)
    noise = np.concatenate([one.variance for one in equations])
    gram = matrix.shape[1] * matrix @ matrix.T
    jitter = noise + LEAST_NOISE * np.trace(gram) / len(gram)

    def logarithm(deviation: float) -> float:
        return log_evidence(rest, deviation**2 * gram + np.diag(jitter))

    return max(_DEVIATIONS, key=logarithm)
