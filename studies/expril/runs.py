"""One run of the EXPRIL study: a newly drawn problem, and the accuracy of each method on it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from threadpoolctl import threadpool_limits

from hedgerow.errors import OverlapWarning
from hedgerow.hypotheses.hypothesis import Always, Hypothesis
from hedgerow.marginals.expril import ExprilClassifier, network
from hedgerow.marginals.logistic import MarginalLogisticClassifier
from hedgerow.oracle.answers import ClassCounts
from hedgerow.oracle.oracle import Oracle
from hedgerow.privacy.budget import Budget
from hedgerow.schema.schema import Schema
from studies.expril.problems import PROBLEMS, Problem, problem
from studies.runs import Record

EPSILON, DELTA = 1, 1e-6
BEST, MAJORITY = "h*", "h0*"


@dataclass(frozen=True)
class Method:
    """A method of learning from an oracle.

    Attributes
    ----------
    variant : str or None
        C- or I-EXPRIL, as in `ExprilClassifier`; None: `MarginalLogisticClassifier`.
    release : str
        The release of the answers.
    private : bool
        Whether answers are noisy, for ε = 1.
    questions : int
        The number of queries of error marginals.
    bins : str
        The number of bins, as in `ExprilClassifier`.
    """

    variant: Literal["cumulative", "instantaneous"] | None
    release: Literal["counts", "ratio", "gaussian"]
    private: bool = True
    questions: int = 2
    bins: Literal["auto", "published"] = "auto"

    @property
    def budget(self) -> Budget | None:
        """A budget of its own: ε = 1, and δ = 1e-6 where noise is Gaussian."""
        if not self.private:
            return None
        return Budget(EPSILON, DELTA) if self.release == "gaussian" else Budget(EPSILON)


METHODS: Mapping[str, Method] = {
    "C-EXPRIL": Method("cumulative", "ratio", private=False),
    "I-EXPRIL": Method("instantaneous", "ratio", private=False),
    "1DP-C-EXPRIL": Method("cumulative", "ratio", bins="published"),
    "1DP-I-EXPRIL": Method("instantaneous", "ratio", bins="published"),
    "1DP-C-EXPRIL, 12 bins": Method("cumulative", "ratio"),
    "1DP-I-EXPRIL, 12 bins": Method("instantaneous", "ratio"),
    "C, counts": Method("cumulative", "counts"),
    "I, counts": Method("instantaneous", "counts"),
    "C, counts, 1 question": Method("cumulative", "counts", questions=1),
    "C, Gaussian": Method("cumulative", "gaussian"),
    "logistic": Method(None, "counts", questions=1),
    "logistic, exact": Method(None, "counts", private=False, questions=1),
}
"""The paper's four; the same with at most 12 bins an attribute, the default of `ExprilClassifier`; on counts, whose
privacy is proven; and an additive model from one query."""


class WatchedOracle(Oracle):
    """An oracle that stores the hypotheses of its queries.

    Attributes
    ----------
    asked : list
        The hypotheses, in the order of the queries.
    """

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.asked: list[Any] = []

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Check as any oracle does."""
        super().check(bins, _model(hypothesis))

    def error_marginals(self, bins: Schema, hypothesis: Hypothesis) -> Any:
        """Answer as any oracle does."""
        self.asked.append(hypothesis)
        return super().error_marginals(bins, _model(hypothesis))

    def class_marginals(self, bins: Schema) -> ClassCounts:
        """Answer as any oracle does: the hypothesis before is that every row is of the second class."""
        self.asked.append(Always(self.classes[1]))
        return super().class_marginals(bins)


def _model(hypothesis: Hypothesis) -> Hypothesis:
    return hypothesis.model_ if isinstance(hypothesis, MemoNetwork) else hypothesis


class Fits(dict[bytes, Any]):
    """The networks fitted in one run. It has identity: copies of an estimator share it."""

    def __deepcopy__(self, memo: Any) -> Self:
        return self


class MemoNetwork(ClassifierMixin, BaseEstimator):
    """EXPRIL's network, fitted once for equal labels and weights: the first iterations of C- and I-EXPRIL are equal.

    Parameters
    ----------
    hidden : tuple of int
        Units of the hidden layers.
    random_state : int
        The seed of the network.
    fits : Fits
        The cache of fitted networks.
    """

    def __init__(self, hidden: tuple[int, ...], random_state: int, fits: Fits) -> None:
        self.hidden = hidden
        self.random_state = random_state
        self.fits = fits

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: NDArray[np.float64]) -> Self:
        """Fit a network, or reuse the one that was fitted."""
        parts = (np.ascontiguousarray(part).tobytes() for part in (X, y, sample_weight))
        key = blake2b(b"".join(parts)).digest()
        if key not in self.fits:
            model = network(X, self.random_state, self.hidden)
            self.fits[key] = model.fit(X, y, mlpclassifier__sample_weight=sample_weight)
        self.model_, self.classes_ = self.fits[key], np.unique(y)
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return the class of each row, shape ``(n_rows,)``."""
        return self.model_.predict(X)


@dataclass(frozen=True)
class Learning:
    """Test accuracy of every method on one problem, after each iteration.

    Attributes
    ----------
    problem : str
        One of `PROBLEMS`.
    methods : tuple of str
        Some of `METHODS`.
    """

    problem: str
    methods: tuple[str, ...] = tuple(METHODS)

    def __call__(self, run: int) -> Sequence[Record]:
        """Return a record for h* and h0*, and one for each method and iteration; ``gap`` is to h* of the same run."""
        with threadpool_limits(1):
            made, fits = problem(self.problem, run), Fits()
            hidden = PROBLEMS[self.problem].hidden
            best = network(made.target, run, hidden).fit(made.target, made.target_labels)
            majority = Always(int(made.target_labels.mean() >= 0.5))
            scored: list[tuple[str, int, float]] = [
                (name, 0, _score(model, made)) for name, model in ((BEST, best), (MAJORITY, majority))
            ]
            for name in self.methods:
                curve = learn(self.problem, made, METHODS[name], run, MemoNetwork(hidden, run, fits))
                scored += [(name, step, _score(model, made)) for step, model in enumerate(curve)]
        level = scored[0][2]
        return [
            {"method": name, "iteration": step, "accuracy": accuracy, "gap": accuracy - level}
            for name, step, accuracy in scored
        ]


def learn(name: str, made: Problem, method: Method, run: int, estimator: Any) -> list[Any]:
    """Return the hypotheses of a method: h_0, which predicts 1, and one after each iteration."""
    reweight = PROBLEMS[name].reweight
    questions = method.questions + (reweight and method.release == "ratio")
    oracle = WatchedOracle(
        made.target,
        made.target_labels,
        method.budget,
        questions,
        release=method.release,
        random_state=noise_seed(name, run, method),
    )
    learner: Any = MarginalLogisticClassifier(reweight=reweight)
    if method.variant is not None:
        learner = ExprilClassifier(
            estimator, variant=method.variant, queries=questions, reweight=reweight, bins=method.bins
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OverlapWarning)  # weights that noise concentrates show in the accuracies
        learner.fit(made.source, oracle=oracle)
    return [*oracle.asked, learner]


def noise_seed(name: str, run: int, method: Method) -> int:
    """Return the seed of an oracle's noise: the same for C- and I-EXPRIL, whose first queries agree, else different."""
    words = [int.from_bytes(word.encode(), "big") for word in (name, method.release)]
    return int(np.random.SeedSequence((*words, run, method.questions)).generate_state(1)[0])


def _score(model: Any, made: Problem) -> float:
    return float(np.mean(model.predict(made.test) == made.test_labels))
