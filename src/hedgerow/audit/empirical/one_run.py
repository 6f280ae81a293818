"""One-run audit: a lower bound on the privacy loss from one fit on randomly included rows."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from hedgerow.audit.attack_subject import AttackSubject
from hedgerow.audit.empirical.learner import LossBound, check_settings, learner_name, output_of
from hedgerow.audit.inference.labelled import LabelledRows, predicts_numbers
from hedgerow.boundary.arguments import RandomState, check_integer, generator
from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models.released import released_model
from hedgerow.text.messages import describe_argument

_FEWEST = 8  # smallest number of guesses that is tried by default


def one_run_epsilon(
    fit: Any,
    X: Any,
    y: Any,
    *,
    canaries: int | Mask | None = None,
    score: Callable[[Any, Any, Any], Any] | None = None,
    guesses: int | None = None,
    claim: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    random_state: RandomState = None,
) -> "OneRunEpsilon":
    """Run a learner once on randomly included rows, and return a lower bound on its privacy loss.

    Each canary is included with probability 1/2, independently; all other rows are always included. The canaries with
    the highest scores are guessed to be included, the canaries with the lowest scores to be excluded, and no guess is
    made about the remaining canaries. Assume that the learner is ε-differentially private for adding or removing a row.
    The number of correct guesses is then stochastically no larger than under randomised response, even if the guesses
    are dependent. Too many correct guesses therefore refute ε. A single run limits the bound: n correct guesses of n
    refute at most about ``ln(n/3)`` at 95 % confidence. The bound is usually smaller than the bound of
    `empirical_epsilon`. **A small bound proves nothing.**

    Parameters
    ----------
    fit, claim, delta
        As in `empirical_epsilon`; δ should be far below one over the number of canaries.
    X, y : table of shape (n_rows, n_columns), and column of shape (n_rows,)
        The rows with their labels, including the canaries. Rows that a model is likely to memorise, such as rows with
        a wrong label, give the largest bounds.
    canaries : int or array of bool, optional
        The number of canaries, which are drawn at random, or a mask of the rows. Default: all rows.
    score : callable, optional
        A function of ``(fitted, X, y)`` that returns a finite number for each canary, larger if the canary is more
        likely to be included. Default: the predicted probability of the canary's label, or whether the label is
        predicted; for a regressor, minus the absolute error.
    guesses : int, optional
        Number of canaries to guess, at least 2. Default: all, half, a quarter and so on down to 8 are tried, and the
        largest bound is returned; the numbers share the false-alarm rate.
    confidence : float, default=0.95
        The probability with which each of the two bounds (on ε and on μ) holds.
    random_state : int, RandomState, Generator or None, default=None
        Determines the included canaries and the order of equal scores, but not the randomness of the estimator.

    Raises
    ------
    ValueError, TypeError
        As `empirical_epsilon`, and if `score` does not return one finite number for each canary.

    References
    ----------
    Steinke, Nasr and Jagielski, *Privacy Auditing with One (1) Training Run*, NeurIPS 2023, Corollary 5.4. For μ:
    Mahloujifar, Melis and Chaudhuri, *Auditing f-Differential Privacy in One Run*, 2024, Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(200.0)[:, np.newaxis], np.arange(200) % 2  # an excluded row gets its neighbours' label
    >>> bound = one_run_epsilon(DecisionTreeClassifier(), X, y, claim=1, random_state=0)
    >>> bound.refutes, bound.canaries, bound.runs
    (True, 200, 1)
    """
    check_settings(fit, claim, delta, confidence)
    rows, rng = LabelledRows.of(X, y), generator(random_state)
    chosen = _canaries(canaries, len(rows), rng)
    numbers = _numbers(guesses, len(chosen))
    included = rng.random(len(chosen)) < 0.5
    is_training = np.ones(len(rows), dtype=bool)
    is_training[chosen[~included]] = False
    training = np.flatnonzero(is_training)
    fitted = output_of(fit, rows.X(training), rows.y(training))
    scores = np.asarray((score or own_label)(fitted, rows.X(chosen), rows.y(chosen)), dtype=np.float64)
    if scores.shape != (len(chosen),) or not np.isfinite(scores).all():
        raise ArgumentError("score must return one finite number for each canary, as an array of one dimension.")
    n, delta, alarm = len(chosen), float(delta), 1 - float(confidence)
    share = alarm / len(numbers)
    results = [(right_guesses(scores, included, number, rng), number) for number in numbers]
    bounds = [epsilon_bound(right, number, n, delta, share) for right, number in results]
    best = int(np.argmax(bounds))
    return OneRunEpsilon(
        learner=learner_name(fit),
        epsilon=bounds[best],
        mu=max(mu_bound(right, number, n, share) for right, number in results),
        delta=delta,
        confidence=1 - alarm,
        claim=claim,
        canaries=n,
        included=int(included.sum()),
        guesses=results[best][1],
        right=results[best][0],
        tried=len(results),
        subject=AttackSubject.of(fit, rows),
    )


def _canaries(canaries: Any, n_rows: int, rng: np.random.Generator) -> Index:
    if canaries is None:
        chosen = np.arange(n_rows)
    elif isinstance(canaries, (int, np.integer)) and not isinstance(canaries, bool):
        check_integer("canaries", int(canaries), 2)
        if canaries > n_rows:
            raise ArgumentError(f"canaries must be at most the number of rows, got {canaries}.")
        chosen = rng.permutation(n_rows)[: int(canaries)]
    else:
        mask = np.asarray(canaries)
        if mask.dtype != bool or mask.shape != (n_rows,):
            raise ArgumentError("canaries must be a whole number, or an array of booleans with one value for each row.")
        chosen = np.flatnonzero(mask)
    if len(chosen) < 2:
        raise ArgumentError("at least two canaries are needed.")
    return chosen


def _numbers(guesses: int | None, n_canaries: int) -> list[int]:
    if guesses is not None:
        check_integer("guesses", guesses, 2)
        if guesses > n_canaries:
            raise ArgumentError(f"guesses must be at most the number of canaries, got {describe_argument(guesses)}.")
        return [guesses]
    numbers = [n_canaries]
    while numbers[-1] // 2 >= _FEWEST:
        numbers.append(numbers[-1] // 2)
    return numbers


def own_label(fitted: Any, X: Any, y: Any) -> Floats:
    """Return the predicted probability of each row's label, or whether it is predicted; for numbers, −|error|."""
    released = released_model(fitted)
    labels = np.asarray(y) if released is None else LabelledRows.of(X, y).typed(released.schema).values
    if predicts_numbers(fitted):
        return -np.abs(np.asarray(fitted.predict(X), dtype=np.float64) - labels)
    if hasattr(fitted, "predict_proba") and hasattr(fitted, "classes_"):
        classes = np.asarray(fitted.classes_)
        return np.where(labels[:, np.newaxis] == classes, np.asarray(fitted.predict_proba(X)), 0.0).sum(axis=1)
    if hasattr(fitted, "predict"):
        return (np.asarray(fitted.predict(X)) == labels).astype(np.float64)
    raise ArgumentTypeError(f"fit returned {type(fitted).__name__}, which has no predict method; pass score.")


def right_guesses(scores: Floats, included: Mask, guesses: int, rng: np.random.Generator) -> int:
    """Return the number of correct guesses: high scores are guessed to be included, low scores to be excluded."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    highest, lowest = order[: (guesses + 1) // 2], order[len(order) - guesses // 2 :]
    return int(included[highest].sum() + (~included[lowest]).sum())


@dataclass(frozen=True, repr=False)
class OneRunEpsilon(LossBound):
    """Lower bound on a learner's privacy loss, from one run; neighbouring tables differ by adding or removing a row.

    Attributes
    ----------
    learner, epsilon, mu, delta, confidence, claim
        As in `EmpiricalEpsilon`.
    canaries, included : int
        Number of canaries, and the number of these that were included.
    guesses, right : int
        Number of guesses that gives the largest bound on ε, and the number of these that are correct.
    tried : int
        The number of tried values of `guesses`, which share the false-alarm rate.
    """

    kind = "one-run"
    canaries: int
    included: int
    guesses: int
    right: int
    tried: int
    runs = 1

    def power(self, factor: float) -> float:
        """Return the power of the same number of guesses against a true loss of `factor` > 1 times the claim.

        This assumes that the full loss shows on every guessed canary, as in randomised response; otherwise the
        probability is lower.
        """
        alarm = (1 - self.confidence) / self.tried
        return power(self._multiple_of_claim(factor), self._claim, self.guesses, self.canaries, self.delta, alarm)

    @property
    def _method(self) -> str:
        return f"guesses which of {self.canaries:,} randomly included rows one run contained"

    @property
    def _evidence(self) -> str:
        return (
            f"guesses     {self.right:,} of {self.guesses:,} correct; one run, {self.canaries:,} canaries, each "
            "included with probability 1/2"
        )


_STEP = 0.05  # step of the search for a bound, before bisection
_HALVINGS = 30
_LARGEST = 60.0  # largest ε or μ that is tried


def tail(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return an upper bound on the probability of `right` or more correct guesses under (ε, δ)-DP."""
    # Corollary 5.4: P(W ≥ v) + 2·m·δ·max_i P(v − i ≤ W < v)/i for v correct guesses made from the output in any way, m
    # canaries, and W ~ Binomial(guesses, e^ε/(1 + e^ε)), the number of correct answers of randomised response.
    p = 1 / (1 + exp(-epsilon))
    bound = float(binom.sf(right - 1, guesses, p))
    if delta and right:
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, p))
        bound += 2 * canaries * delta * float((below / np.arange(1, right + 1)).max())
    return min(bound, 1.0)


def epsilon_bound(right: int, guesses: int, canaries: int, delta: float, alarm: float) -> float:
    """Return the largest ε that `right` correct guesses refute at a false-alarm rate; 0 if they refute none."""
    return _refuted(lambda epsilon: tail(right, guesses, canaries, epsilon, delta) <= alarm)


def mu_bound(right: int, guesses: int, canaries: int, alarm: float) -> float:
    """Return the largest μ for which the guesses refute μ-Gaussian differential privacy; 0 if they refute none."""
    return _refuted(lambda mu: refutes_gaussian(right, guesses, canaries, mu, alarm))


def refutes_gaussian(right: int, guesses: int, canaries: int, mu: float, alarm: float) -> bool:
    """Return whether `right` correct guesses refute μ-Gaussian differential privacy at a false-alarm rate."""
    # Algorithm 3, by contradiction: if this result had probability `alarm`, the correct and wrong guesses would sum to
    # more than the share of canaries that is guessed.
    correct, wrong = alarm * right / canaries, alarm * (guesses - right) / canaries
    for place in range(right - 1, -1, -1):
        least = float(
            ndtr(ndtri(correct) - mu)
        )  # least probability of wrong guesses for this probability of correct guesses
        if least <= wrong:
            break
        correct, wrong = min(correct + place / (guesses - place) * (least - wrong), 1.0), least
    return correct + wrong > guesses / canaries


def _refuted(refutes: Callable[[float], bool]) -> float:
    low = 0.0
    while low < _LARGEST and refutes(low + _STEP):
        low += _STEP
    high = low + _STEP
    if low == 0 and not refutes(0.0):
        return 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if refutes(middle) else (low, middle)
    return low


def power(epsilon: float, claim: float, guesses: int, canaries: int, delta: float, alarm: float) -> float:
    """Return the probability to refute a claim if the guesses are as good as randomised response with `epsilon`."""
    least = next((v for v in range(guesses + 1) if tail(v, guesses, canaries, claim, delta) <= alarm), guesses + 1)
    return float(binom.sf(least - 1, guesses, 1 / (1 + exp(-epsilon))))
