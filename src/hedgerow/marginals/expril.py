"""EXPRIL: classifiers of a private target, learned from an unlabelled source and the error marginals of an oracle."""

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
THRESHOLD = 0.5  # estimated labels from this value on count as positive
MOST_QUERIES = 3  # the most questions with queries=None
TRIAL_ROWS = 200  # source rows for a trial fit of the estimator before the first question


@dataclass(frozen=True, eq=False)
class ErrorQuestion:
    """A question with its answer: the bins of the source rows and the predictions of the hypothesis for them."""

    matrix: Floats
    hypothesis: Floats
    answer: ErrorMasses


@dataclass(eq=False, repr=False, kw_only=True)
class Expril(MarginalEstimator):
    """Base class of EXPRIL: asks about a hypothesis, estimates labels that explain the answers, and learns."""

    estimator: Any = field(default=None, kw_only=False)
    variant: Literal["cumulative", "instantaneous"] = "cumulative"
    queries: int | None = None
    random_state: RandomState = None
    _fitted = "hypothesis_"

    def _learn(self, X: Any, oracle: MarginalOracle) -> Weights:
        n_questions = self._error_questions(oracle)
        self._try_estimator(Table.of(X), oracle, n_questions)
        self._begin(oracle)
        questions: list[ErrorQuestion] = []
        weights, hypothesis = self._first_weights(X, oracle), cast(Any, None)
        labels, history = np.empty(0), list[dict[str, Any]]()
        for _ in range(n_questions):
            submitted = Always(oracle.classes[1]) if hypothesis is None else self._submitted(hypothesis, X, weights)
            questions.append(self._ask(X, submitted, weights, questions, oracle))
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
        """Set the attributes that follow from the public description of the target."""
        raise NotImplementedError

    def _try_estimator(self, source: Table, oracle: MarginalOracle, n_questions: int) -> None:
        """Fit on some rows with arbitrary labels, so that an unsuitable estimator fails before anything is charged.

        This includes an estimator whose result the oracle would not accept as a hypothesis.
        """
        rows = source.take(np.unique(np.linspace(0, len(source) - 1, TRIAL_ROWS).astype(np.int64)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            hypothesis = self._trial(rows, np.arange(len(rows)) % 2, oracle)
        if n_questions > 1:
            bins = bins_or_chosen(self.bins, source.data, len(source), oracle.noise_scale)
            oracle.check(bins, hypothesis)

    def _trial(self, rows: Any, halves: Integers, oracle: MarginalOracle) -> Any:
        """Return the hypothesis after a fit to rows whose labels are low (0) or high (1)."""
        raise NotImplementedError

    def _submitted(self, hypothesis: Any, X: Any, weights: Weights) -> Any:  # noqa: ARG002 -- regressors need them
        """Return the classifier that is submitted to the oracle."""
        return hypothesis

    def _next_hypothesis(self, X: Any, labels: Floats, weights: Weights) -> Any:
        """Learn from the estimated labels, which are from 0 to 1."""
        rows = np.flatnonzero(weights.values)
        rounded = self._rounded(labels[rows])
        if not is_regressor(self) and len(set(rounded.tolist())) == 1:
            return Always(rounded.tolist()[0])
        return self._fitted_to(Table.of(X).take(rows), rounded, weights.values[rows] * len(rows))

    def _rounded(self, labels: Floats) -> Array:
        raise NotImplementedError

    def _shares(self, labels: Floats, weights: Weights) -> dict[str, float]:
        """Return the statistics of the labels for the record of a question."""
        raise NotImplementedError

    def _n_queries(self, oracle: MarginalOracle) -> int:
        return self.queries or min(oracle.queries_left, MOST_QUERIES)

    def _error_questions(self, oracle: MarginalOracle) -> int:
        """Return the number of questions on errors: all, or all except a question on marginals that ratios need."""
        return self._n_queries(oracle) - (self.reweight and oracle.release == "ratio")

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
        if self.queries is not None:
            check_integer("queries", self.queries, 1)
        if not oracle.queries_left:
            raise ArgumentError("the oracle has no questions left; create an oracle with a new budget.")
        queries = self._n_queries(oracle)
        if queries > oracle.queries_left:
            problem = f"queries must be at most {oracle.queries_left}, the number of questions that the oracle has left"
            raise ArgumentError(f"{problem}, got {queries}.")
        if self.reweight and oracle.release == "ratio" and queries < 2:
            problem = "queries must be at least 2 with ratios and reweight=True"
            raise ArgumentError(f"{problem}, since reweighting uses a question; got {queries}.")
        if not (self.estimator is None or hasattr(self.estimator, "get_params")):
            kind = "regressor" if is_regressor(self) else "classifier"
            raise ArgumentTypeError(f"estimator must be a {kind} or None, got {type(self.estimator).__name__}.")
        seed = describe_argument(self.random_state)
        problem = ArgumentError(f"random_state must be None, a whole number or a RandomState, got {seed}.")
        guarded(lambda: check_random_state(self.random_state), problem)

    def _labels(self, questions: list[ErrorQuestion], weights: Weights) -> Floats:
        used = questions if self.variant == "cumulative" else questions[-1:]
        w = weights.values
        equations = [Equations.of(q.matrix, w, q.hypothesis, *q.answer.errors(q.matrix @ w)) for q in used]
        return estimate_labels(equations, *self._expected(questions, equations))

    def _expected(self, questions: list[ErrorQuestion], equations: "list[Equations]") -> tuple[float, float]:  # noqa: ARG002
        """Return the expected label, and the deviation of labels from it."""
        return THRESHOLD, 0.5

    def _fitted_to(self, X: Any, labels: Array, weights: Floats) -> Any:
        estimator: Any = self._default(X) if self.estimator is None else clone(self.estimator)
        return fit_weighted(estimator, X, labels, weights)

    def _default(self, X: Any) -> Pipeline:
        raise NotImplementedError


@has_hypothesis("hypothesis_")
@dataclass(eq=False, repr=False, kw_only=True)
class ExprilClassifier(MarginalClassifier, Expril):
    """A classifier of a private target, learned from an unlabelled source and noisy error counts from an oracle.

    The first hypothesis predicts the positive class for every row. The oracle answers with noisy counts, by bin, of the
    errors of the hypothesis on the private rows. After each answer EXPRIL estimates labels of the source rows that
    explain the answers (Pb. 2), and learns the next hypothesis from them. Weights of the source rows match the
    marginals of the source to the marginals of the target (Pb. 1). If the oracle releases counts, the answers already
    contain these marginals, and no question is spent on them.

    Parameters
    ----------
    estimator : classifier, optional
        The estimator to fit: a classifier that accepts ``sample_weight``, or a pipeline that ends in such a classifier.
        The default is the paper's network with hidden layers of 16, 256, 256 and 16 units (`MLPClassifier`), on
        standardised columns. The estimator is first fitted to 200 source rows with arbitrary labels. If this fails, or
        the oracle does not accept the result as a hypothesis (`HypothesisError`), nothing is charged.
    reweight : bool, default=True
        Whether to weight the source rows. If source and target have the same distribution, False reduces the noise.
    bins : {"auto", "published"}, int or Schema, default="auto"
        The most bins of an attribute, or a schema with the bins. "auto" depends on the noise and is at most 12;
        "published" is EXPRIL's rule without this limit. Bins are chosen anew for every question, unless a schema is
        given.
    variant : {"cumulative", "instantaneous"}, default="cumulative"
        Whether the labels explain all answers so far (C-EXPRIL) or the last answer (I-EXPRIL).
    queries : int, optional
        The number of questions. By default all questions that the oracle has left, at most 3. The share of ε of a
        question follows from `Oracle(max_queries=...)`: use 1 from about 10 columns on, and 2 for fewer columns.
    random_state : int or None
        The seed of the default estimator. It must be None if an `estimator` is given.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The classes.
    hypothesis_ : object
        The fitted classifier.
    synthetic_ : Synthetic
        The source with estimated weights and labels: a private synthetic version of the target, also for other uses.
    history_ : list of dict
        A record for each question: bins, noise, estimated errors of the last hypothesis, labels.
    privacy_ : PrivacyCard
        The charges to the oracle's budget and the guarantee for the target. Source and bins are public.

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
            problem = "random_state must be None with an estimator, which has its own seed"
            raise ArgumentError(f"{problem}; got {describe_argument(self.random_state)}.")

    def _trial(self, rows: Any, halves: Integers, oracle: MarginalOracle) -> Any:
        return self._fitted_to(rows, np.array(oracle.classes)[halves], np.ones(len(rows)))

    def _rounded(self, labels: Floats) -> Array:
        return self.classes_[np.where(labels >= THRESHOLD, 1, 0)]

    def _shares(self, labels: Floats, weights: Weights) -> dict[str, float]:
        return {
            "positive": float(weights.values[labels >= THRESHOLD].sum()),
            "undecided": float(weights.values[np.abs(labels - THRESHOLD) < 0.05].sum()),
        }

    def _default(self, X: Any) -> Pipeline:
        return network(X, self.random_state)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape ``(n_rows, 2)``; 0 or 1 if the estimator predicts only classes."""
        check_is_fitted(self)
        if hasattr(self.hypothesis_, "predict_proba"):
            return super().predict_proba(X)
        return (self.predict(X)[:, None] == self.classes_[None, :]).astype(np.float64)


def _weights(questions: list[ErrorQuestion]) -> Weights:
    """Return weights under which the source has the marginals of all answers."""
    counts = [question.answer for question in questions if isinstance(question.answer, ErrorCounts)]
    masses, n = np.concatenate([answer.masses for answer in counts]), sum(len(answer.bins) for answer in counts)
    variance = np.concatenate([answer.variance for answer in counts])
    return reweight(np.vstack([question.matrix for question in questions]), masses, n, variance=variance)


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


_RIDGE = 1e-3  # times the mean square of an equation: selects the solution nearest to the expected labels


@dataclass(frozen=True, eq=False)
class Equations:
    """Linear equations for labels: ``R diag(sign(h − ½)) y ≈ R h − e`` (EXPRIL eq. 5), with weighted R."""

    matrix: Floats  # the left-hand side
    target: Floats  # the right-hand side
    variance: Floats  # the variance of the noise of each equation

    @classmethod
    def of(
        cls, bins: Floats, weights: Floats, hypothesis: Floats, errors: Floats, variance: Floats | float
    ) -> "Equations":
        weighted, variances = bins * weights, np.broadcast_to(variance, len(errors))
        return cls(weighted * np.sign(hypothesis - 0.5), weighted @ hypothesis - errors, variances)


def estimate_labels(equations: Sequence[Equations], expected: float = THRESHOLD, deviation: float = 0.5) -> Floats:
    """Return the labels in [0, 1] that best fit the equations of an answer, or of all answers (eq. 6).

    Equations are weighted by the inverse variance of their noise. Of labels that fit equally well, the result is the
    nearest to the `expected` label. More noise, and a smaller deviation of labels, pull the result closer to it.
    """
    n = equations[0].matrix.shape[1]
    least, scales = inverse_weights(np.concatenate([part.variance for part in equations]))
    matrix = scales[:, None] * np.vstack([part.matrix for part in equations])
    target = scales * np.concatenate([part.target for part in equations])
    ridge = _RIDGE * max(float(np.mean(np.sum(matrix**2, axis=1))), np.finfo(float).tiny)
    ridge += least / deviation**2 / n
    return bounded_least_squares(matrix, target, np.full(n, expected), ridge, 0.0, 1.0)


@dataclass(frozen=True, repr=False, eq=False)
class Synthetic:
    """The source with estimated weights and labels. It depends only on the source and on released answers."""

    frame: Any  # the source rows
    labels: Array  # the estimated labels
    weights: Floats  # the weights, which sum to 1
    soft: Floats  # the labels before rounding: the share of the positive class, in [0, 1]

    def __len__(self) -> int:
        return len(self.weights)

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Any, Array]:
        """Return n rows and their labels, drawn with replacement and with probability proportional to the weights."""
        check_integer("n", n, 1)
        rows = generator(random_state).choice(len(self), size=int(n), p=self.weights)
        return Table.of(self.frame).take(rows), self.labels[rows]

    def __repr__(self) -> str:
        return f"<Synthetic of {len(self)} weighted rows>"


HIDDEN = (16, 256, 256, 16)  # units of the hidden layers for the real datasets (EXPRIL, Table 1)
PASSES, BATCH = 25, 200  # the batch size is scikit-learn's default
_STEPS = (150, 3000)  # the fewest and the most gradient steps
_ANY = 1e9  # a tolerance that no pass reaches, so that training ends after a fixed number of passes without a warning


def network(X: Any, random_state: RandomState = None, hidden: tuple[int, ...] = HIDDEN) -> Pipeline:
    """Return an unfitted network for a table like X, which makes 25 passes over the rows, or more for small tables.

    It is regularised, because the labels are estimates and an exact fit would also fit their noise.
    """
    steps = ceil(len(X) / BATCH)
    passes = ceil(float(np.clip(PASSES * steps, *_STEPS)) / steps)
    learner = MLPClassifier(
        hidden,
        alpha=0.3,
        learning_rate_init=3e-3,
        tol=_ANY,
        n_iter_no_change=passes - 2,  # training stops in the second pass after these; the first counts as better
        max_iter=2 * passes,
        random_state=random_state,
    )
    return make_pipeline(prepared(X), learner)


def prepared(X: Any) -> Any:
    """Return a transformer for a table like X that standardises numbers, one-hot encodes text, and imputes."""
    numbers: Any = make_pipeline(SimpleImputer(), StandardScaler())
    table = Table.of(X)
    if table.names is None:
        return numbers
    words: Any = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    text = [name for name in table.names if table.column(name, 0).is_text]
    return make_column_transformer((words, text), remainder=numbers)
