"""EXPRIL: learning a private target from an unlabelled source and an oracle's error marginals; its classifiers."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Any, Literal, cast

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hedgerow.boundary.arguments import RandomState, check_choice, check_integer, generator
from hedgerow.boundary.arrays import Array, Floats, Integers
from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.hypotheses.hypothesis import Always, codes_of, has_hypothesis
from hedgerow.marginals.base import MarginalClassifier, MarginalEstimator
from hedgerow.marginals.reweight import Weights, bounded_least_squares, equal_weights, inverse_weights, reweight
from hedgerow.oracle.answers import ErrorCounts, ErrorMasses
from hedgerow.oracle.binning import bin_matrix, bins_or_chosen
from hedgerow.oracle.protocol import MarginalOracle
from hedgerow.tables.frames import Table
from hedgerow.text.messages import describe_argument

VARIANTS = ("cumulative", "instantaneous")
ONE = 0.5  # estimated labels from this value on count as positive
TRIED = 200  # rows of the source on which an estimator is tried before the first question


@dataclass(frozen=True, eq=False)
class ErrorQuestion:
    """One question: the bins of the source's rows, what the hypothesis predicts for them, and the answer."""

    matrix: Floats
    hypothesis: Floats
    answer: ErrorMasses


@dataclass(eq=False, repr=False, kw_only=True)
class Expril(MarginalEstimator):
    """Rounds of questions about a hypothesis, each learned from labels that explain the answers."""

    estimator: Any = field(default=None, kw_only=False)
    variant: Literal["cumulative", "instantaneous"] = "cumulative"
    queries: int = 3
    random_state: RandomState = None
    _fitted = "hypothesis_"

    def _learn(self, X: Any, oracle: MarginalOracle) -> Weights:
        self._try_estimator(Table.of(X), oracle)
        self._begin(oracle)
        questions: list[ErrorQuestion] = []
        weights, hypothesis = self._first_weights(X, oracle), cast(Any, None)
        labels, history = np.empty(0), list[dict[str, Any]]()
        for _ in range(self._error_questions(oracle)):
            asked = Always(oracle.classes[1]) if hypothesis is None else self._asked(hypothesis, X, weights)
            questions.append(self._ask(X, asked, weights, questions, oracle))
            if self.reweight and oracle.release != "ratio":
                weights = _weights(questions)
            labels = self._labels(questions, weights)
            history.append(_record(questions, weights, oracle) | self._shares(labels, weights))
            hypothesis = self._next_hypothesis(X, labels, weights)
        self.hypothesis_, self.history_ = hypothesis, history
        self.synthetic_ = Synthetic(X, self._rounded(labels), weights.values, labels)
        self.privacy_ = oracle.privacy
        return weights

    def _begin(self, oracle: MarginalOracle) -> None:
        """Set what is known of the target."""
        raise NotImplementedError

    def _try_estimator(self, source: Table, oracle: MarginalOracle) -> None:
        """Fit on some rows with arbitrary labels, so that an estimator that fails does so before the charge.

        Nor is anything charged where the oracle could not be asked about what is fitted.
        """
        tried = source.take(np.unique(np.linspace(0, len(source) - 1, TRIED).astype(np.int64)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            asked = self._tried(tried, np.arange(len(tried)) % 2, oracle)
        if self._error_questions(oracle) > 1:
            bins = bins_or_chosen(self.bins, source.data, len(source), oracle.noise_scale)
            oracle.check(bins, asked)

    def _tried(self, tried: Any, halves: Integers, oracle: MarginalOracle) -> Any:
        """Return what is asked about after a fit to rows whose labels are low, 0, or high, 1."""
        raise NotImplementedError

    def _asked(self, hypothesis: Any, X: Any, weights: Weights) -> Any:  # noqa: ARG002 -- itself, if it has classes
        return hypothesis

    def _next_hypothesis(self, X: Any, labels: Floats, weights: Weights) -> Any:
        """Learn from the estimated labels, from 0 to 1."""
        rows = np.flatnonzero(weights.values)
        said = self._rounded(labels[rows])
        if not is_regressor(self) and len(set(said.tolist())) == 1:
            return Always(said.tolist()[0])
        return self._fitted_to(Table.of(X).take(rows), said, weights.values[rows] * len(rows))

    def _rounded(self, labels: Floats) -> Array:
        raise NotImplementedError

    def _shares(self, labels: Floats, weights: Weights) -> dict[str, float]:
        """Return what a record of a question says of the labels."""
        raise NotImplementedError

    def _error_questions(self, oracle: MarginalOracle) -> int:
        """Return the number of questions on errors: all, but one less if ratios need a question on marginals."""
        return self.queries - (self.reweight and oracle.release == "ratio")

    def _first_weights(self, X: Any, oracle: MarginalOracle) -> Weights:
        if not self.reweight or oracle.release != "ratio":
            return equal_weights(len(X))
        bins = bins_or_chosen(self.bins, X, len(X), oracle.noise_scale)
        answer = oracle.marginals(bins)
        return reweight(bin_matrix(bins, X), answer.masses, len(bins), variance=answer.variance)

    def _ask(
        self, X: Any, hypothesis: Any, weights: Weights, questions: list[ErrorQuestion], oracle: MarginalOracle
    ) -> ErrorQuestion:
        rows = getattr(questions[-1].answer, "n_rows", len(X)) if questions else len(X)
        bins = bins_or_chosen(self.bins, X, rows, oracle.noise_scale, weights.values)
        predicted = codes_of(hypothesis.predict(X), oracle.classes, len(X)).astype(np.float64)
        return ErrorQuestion(bin_matrix(bins, X), predicted, oracle.error_marginals(bins, hypothesis))

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        check_choice("variant", self.variant, VARIANTS)
        check_integer("queries", self.queries, 1)
        if self.queries > oracle.queries_left:
            problem = f"queries must be at most the {oracle.queries_left} that the oracle has left"
            raise ArgumentError(f"{problem}, got {self.queries}.")
        if self.reweight and oracle.release == "ratio" and self.queries < 2:
            problem = "queries must be 2 or more with ratios and reweight=True"
            raise ArgumentError(f"{problem}, since reweighting spends one.")
        if not (self.estimator is None or hasattr(self.estimator, "get_params")):
            kind = "regressor" if is_regressor(self) else "classifier"
            raise ArgumentTypeError(f"estimator must be a {kind} or None, got {type(self.estimator).__name__}.")
        given = describe_argument(self.random_state)
        problem = ArgumentError(f"random_state must be None, a whole number or a RandomState, got {given}.")
        guarded(lambda: check_random_state(self.random_state), problem)

    def _labels(self, questions: list[ErrorQuestion], weights: Weights) -> Floats:
        used = questions if self.variant == "cumulative" else questions[-1:]
        w = weights.values
        equations = [Equations.of(one.matrix, w, one.hypothesis, *one.answer.errors(one.matrix @ w)) for one in used]
        return estimate_labels(equations, *self._expected(questions, equations))

    def _expected(self, questions: list[ErrorQuestion], equations: "list[Equations]") -> tuple[float, float]:  # noqa: ARG002
        """Return what labels are expected to be, and how far answers say that they deviate from it."""
        return ONE, 0.5

    def _fitted_to(self, X: Any, labels: Array, weights: Floats) -> Any:
        estimator: Any = self._default(X) if self.estimator is None else clone(self.estimator)
        return fit_weighted(estimator, X, labels, weights)

    def _default(self, X: Any) -> Pipeline:
        raise NotImplementedError


@has_hypothesis("hypothesis_")
@dataclass(eq=False, repr=False, kw_only=True)
class ExprilClassifier(MarginalClassifier, Expril):
    """Learn from an unlabelled source and an oracle's noisy counts, by bin, of a hypothesis's errors on private rows.

    The first hypothesis is that every row is of the positive class. After each answer the labels of the source are
    estimated that explain it (Pb. 2), and the next hypothesis is learned from them. Weights make the source's marginals
    those of the target (Pb. 1); where counts are released, the answers themselves hold these marginals, and no question
    is spent on them.

    Parameters
    ----------
    estimator : classifier, optional
        What is learned: anything that takes ``sample_weight``, or a pipeline that ends in such. Default: the paper's
        network with hidden layers of 16, 256, 256 and 16 units (`MLPClassifier`), on standardised columns. It is tried
        first on 200 rows of the source with arbitrary labels: nothing is charged where it fails, nor, as
        `HypothesisError`, where the oracle cannot be asked about the result.
    reweight : bool, default=True
        Whether the target may be distributed differently from the source. False saves noise where it is not.
    bins : {"auto", "published"}, int or Schema, default="auto"
        At most how many bins an attribute; "auto" follows from the noise and is 12 at most, "published" is EXPRIL's
        rule, which has no such limit (`marginals.binning.n_bins`); chosen again for every question. A schema:
        these bins.
    variant : {"cumulative", "instantaneous"}, default="cumulative"
        Whether the labels are to explain all answers so far (C-EXPRIL) or the last one (I-EXPRIL).
    queries : int, default=3
        How many questions to ask in all.
    random_state : int or None
        Seed of the default estimator; refused with another one, which has its own.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes.
    hypothesis_ : object
        The fitted classifier.
    synthetic_ : Synthetic
        The source with weights and labels of the target: a private synthetic version of it, also for other uses.
    history_ : list of dict
        One record per question: the bins, the noise, the estimated errors of the last hypothesis, the labels.
    privacy_ : PrivacyCard
        What was spent on the target, and what is guaranteed. Source and bins are public.

    References
    ----------
    Lacombe, Jetley and Sebag (EXPRIL), *EXtremely PRIvate supervised Learning*, 2021, Algorithm 1.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> data = hr.datasets.load("breast_cancer")
    >>> oracle = hr.Oracle(data.frame[200:], data.labels[200:], hr.Budget(4), 2, classes=data.schema.classes)
    >>> simple = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
    >>> learner = hr.ExprilClassifier(simple, queries=2, reweight=False)
    >>> learner.fit(data.frame[:200], oracle=oracle).predict(data.frame[:2]).shape
    (2,)
    """

    def _begin(self, oracle: MarginalOracle) -> None:
        self.classes_ = np.array(oracle.classes)

    def _check_parameters(self, oracle: MarginalOracle) -> None:
        super()._check_parameters(oracle)
        if len(oracle.classes) != 2:
            raise ArgumentError(f"expected an oracle with two classes, got {len(oracle.classes)}.")
        if self.estimator is not None and self.random_state is not None:
            problem = "random_state must be None with an estimator, which has a seed of its own"
            raise ArgumentError(f"{problem}; got {describe_argument(self.random_state)}.")

    def _tried(self, tried: Any, halves: Integers, oracle: MarginalOracle) -> Any:
        return self._fitted_to(tried, np.array(oracle.classes)[halves], np.ones(len(tried)))

    def _rounded(self, labels: Floats) -> Array:
        return self.classes_[np.where(labels >= ONE, 1, 0)]

    def _shares(self, labels: Floats, weights: Weights) -> dict[str, float]:
        return {
            "positive": float(weights.values[labels >= ONE].sum()),
            "undecided": float(weights.values[np.abs(labels - ONE) < 0.05].sum()),
        }

    def _default(self, X: Any) -> Pipeline:
        return network(X, self.random_state)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row, shape ``(n_rows, 2)``; 0 or 1 if there are none."""
        check_is_fitted(self)
        if hasattr(self.hypothesis_, "predict_proba"):
            return super().predict_proba(X)
        return (self.predict(X)[:, None] == self.classes_[None, :]).astype(np.float64)


def _weights(questions: list[ErrorQuestion]) -> Weights:
    """Return the weights under which the source has the marginals of all answers."""
    counts = [one.answer for one in questions if isinstance(one.answer, ErrorCounts)]
    masses, n = np.concatenate([answer.masses for answer in counts]), sum(len(answer.bins) for answer in counts)
    variance = np.concatenate([answer.variance for answer in counts])
    return reweight(np.vstack([one.matrix for one in questions]), masses, n, variance=variance)


def fit_weighted(estimator: Any, X: Any, labels: Array, weights: Floats) -> Any:
    name = f"{estimator.steps[-1][0]}__sample_weight" if isinstance(estimator, Pipeline) else "sample_weight"
    return estimator.fit(X, labels, **{name: weights})


def _record(questions: list[ErrorQuestion], weights: Weights, oracle: MarginalOracle) -> dict[str, Any]:
    answer = questions[-1].answer
    return {
        "question": len(questions),
        "bins": [*answer.bins.sizes],
        "noise_scale": oracle.noise_scale(answer.bins.sizes),
        "rows": getattr(answer, "n_rows", None),
        "error_rate": getattr(answer, "error_rate", None),
        "effective_sample_size": weights.effective_sample_size,
        "uncovered": weights.uncovered,
        "misfit": weights.misfit,
    }


_NEAREST = 1e-3  # of the mean square of an equation: a ridge that selects the solution nearest to ½


@dataclass(frozen=True, eq=False)
class Equations:
    """Linear equations on labels from one answer: ``R diag(sign(h − ½)) y ≈ R h − e`` (EXPRIL eq. 5), R weighted."""

    matrix: Floats  # the left-hand side
    target: Floats  # the right-hand side
    variance: Floats  # the variance of the noise of each equation

    @classmethod
    def of(
        cls, bins: Floats, weights: Floats, hypothesis: Floats, errors: Floats, variance: Floats | float
    ) -> "Equations":
        weighted, of_each = bins * weights, np.broadcast_to(variance, len(errors))
        return cls(weighted * np.sign(hypothesis - 0.5), weighted @ hypothesis - errors, of_each)


def estimate_labels(equations: Sequence[Equations], expected: float = ONE, deviation: float = 0.5) -> Floats:
    """Return the labels in [0, 1] that fit best: one answer's (instantaneous) or all stacked (cumulative, eq. 6).

    Equations are weighted by the inverse of their noise's variance. Of the labels that fit equally, those nearest to
    what is `expected` are taken, and more noise pulls nearer to it, the less labels deviate from it.
    """
    n = equations[0].matrix.shape[1]
    least, scales = inverse_weights(np.concatenate([one.variance for one in equations]))
    matrix = scales[:, None] * np.vstack([one.matrix for one in equations])
    target = scales * np.concatenate([one.target for one in equations])
    ridge = _NEAREST * max(float(np.mean(np.sum(matrix**2, axis=1))), np.finfo(float).tiny)
    ridge += least / deviation**2 / n
    return bounded_least_squares(matrix, target, np.full(n, expected), ridge, 0.0, 1.0)


@dataclass(frozen=True, repr=False, eq=False)
class Synthetic:
    """The source with weights and labels. As public as the source: of the target it uses released answers only."""

    frame: Any  # the source's rows
    labels: Array  # the estimated labels
    weights: Floats  # the weights; they sum to 1
    soft: Floats  # the labels before they were rounded: the share of the positive class, in [0, 1]

    def __len__(self) -> int:
        return len(self.weights)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Any, Array]:
        """Draw n rows by their weights, with replacement, and return them with their labels."""
        check_integer("n", n, 1)
        rows = generator(random_state).choice(len(self), size=int(n), p=self.weights)
        return Table.of(self.frame).take(rows), self.labels[rows]

    def __repr__(self) -> str:
        return f"<Synthetic of {len(self)} weighted rows>"


HIDDEN = (16, 256, 256, 16)  # Units of the hidden layers for the real datasets (EXPRIL, Table 1)
PASSES, BATCH = 25, 200  # the batch is scikit-learn's own
_STEPS = (150, 3000)  # the fewest and the most gradient steps
_ANY = 1e9  # no loss falls by as much in one pass: "no improvement" counts the passes, and ends without a warning


def network(X: Any, random_state: RandomState = None, hidden: tuple[int, ...] = HIDDEN) -> Pipeline:
    """Return an unfitted network for a table like X, which passes over the rows 25 times, more often if they are few.

    Its weights are drawn to 0: labels are estimates, and to fit them to the end is to fit their noise.
    """
    steps = ceil(len(X) / BATCH)
    passes = ceil(float(np.clip(PASSES * steps, *_STEPS)) / steps)
    learner = MLPClassifier(
        hidden,
        alpha=0.3,
        learning_rate_init=3e-3,
        tol=_ANY,
        n_iter_no_change=passes - 2,  # it stops in the second pass after so many; the first one counts as better
        max_iter=2 * passes,
        random_state=random_state,
    )
    return make_pipeline(prepared(X), learner)


def prepared(X: Any) -> Any:
    """Return what makes numbers of a table like X: standardised numbers, one-hot text, imputed missing values."""
    numbers: Any = make_pipeline(SimpleImputer(), StandardScaler())
    table = Table.of(X)
    if table.names is None:
        return numbers
    words: Any = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    text = [name for name in table.names if table.column(name, 0).is_text]
    return make_column_transformer((words, text), remainder=numbers)
