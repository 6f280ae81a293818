"""One-run audit: a lower bound of the privacy loss from one fit, by rows put in by coins and guesses of the coins."""

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

_FEWEST = 8  # guesses that are tried, where their number is not given


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
    """Run a learner once, guess which of some rows it was given, and say which privacy loss the guesses refute.

    A fair coin of its own decides for each canary whether it is among the rows; all other rows are. The rows that look
    most as if they were there are guessed to be, those that look least are guessed not to be, and nothing is said of
    the others. If adding or removing one row costs ε, right guesses are no more than those of randomised response,
    however the guesses depend on each other, so that too many refute ε. The price of one run: n guesses that are all
    right refute no more than about ``ln(n/3)`` at 95 % confidence, and less is seen than by `empirical_epsilon`. **A
    small bound proves nothing.**

    Parameters
    ----------
    fit, claim, delta
        As in `empirical_epsilon`; δ should be far below one over the number of canaries.
    X, y : table of shape (n_rows, n_columns), and column of shape (n_rows,)
        Rows with their labels, canaries among them: those that a model is likely to remember, such as rows with a wrong
        label, show most.
    canaries : int or array of bool, optional
        How many rows, drawn at random, or which. Default: all of them.
    score : callable, optional
        A function of ``(fitted, X, y)``, the canaries, that returns a number for each, the larger the more likely it
        was there. Default: the chance that the model gives to the row's own label, or whether it predicts it; of a
        regressor, how near it predicts the row's number.
    guesses : int, optional
        How many canaries are guessed, at least 2. Default: all, half of them, a quarter and so on to 8, whichever
        refutes most, each with its share of the alarm.
    confidence : float, default=0.95
        The chance that each of the two bounds, of ε and of μ, holds.
    random_state : int, RandomState, Generator or None, default=None
        Decides the coins and the order of equal scores; an estimator's own randomness is its own.

    Raises
    ------
    ValueError, TypeError
        As `empirical_epsilon` does, and if scores are not finite numbers, one a canary.

    References
    ----------
    Steinke, Nasr and Jagielski, *Privacy Auditing with One (1) Training Run*, NeurIPS 2023, Corollary 5.4. For μ:
    Mahloujifar, Melis and Chaudhuri, *Auditing f-Differential Privacy in One Run*, 2024, Algorithm 3.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.arange(200.0)[:, np.newaxis], np.arange(200) % 2  # a row left out gets its neighbours' label
    >>> found = one_run_epsilon(DecisionTreeClassifier(), X, y, claim=1, random_state=0)
    >>> found.refutes, found.canaries, found.runs
    (True, 200, 1)
    """
    check_settings(fit, claim, delta, confidence)
    rows, rng = LabelledRows.of(X, y), generator(random_state)
    chosen = _canaries(canaries, len(rows), rng)
    numbers = _numbers(guesses, len(chosen))
    included = rng.random(len(chosen)) < 0.5
    kept = np.ones(len(rows), dtype=bool)
    kept[chosen[~included]] = False
    there = np.flatnonzero(kept)
    fitted = output_of(fit, rows.X(there), rows.y(there))
    scores = np.asarray((score or own_label)(fitted, rows.X(chosen), rows.y(chosen)), dtype=np.float64)
    if scores.shape != (len(chosen),) or not np.isfinite(scores).all():
        raise ArgumentError("expected one finite number for each canary from score, got something else.")
    n, delta, alarm = len(chosen), float(delta), 1 - float(confidence)
    share = alarm / len(numbers)
    tried = [(right_guesses(scores, included, number, rng), number) for number in numbers]
    bounds = [epsilon_bound(right, number, n, delta, share) for right, number in tried]
    best = int(np.argmax(bounds))
    return OneRunEpsilon(
        learner=learner_name(fit),
        epsilon=bounds[best],
        mu=max(mu_bound(right, number, n, share) for right, number in tried),
        delta=delta,
        confidence=1 - alarm,
        claim=claim,
        canaries=n,
        included=int(included.sum()),
        guesses=tried[best][1],
        right=tried[best][0],
        tried=len(tried),
        subject=AttackSubject.of(fit, rows),
    )


def _canaries(given: Any, n_rows: int, rng: np.random.Generator) -> Index:
    if given is None:
        chosen = np.arange(n_rows)
    elif isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        check_integer("canaries", int(given), 2)
        if given > n_rows:
            raise ArgumentError(f"canaries must be at most the number of rows, got {given}.")
        chosen = rng.permutation(n_rows)[: int(given)]
    else:
        mask = np.asarray(given)
        if mask.dtype != bool or mask.shape != (n_rows,):
            raise ArgumentError("canaries must be a whole number, or an array with True or False for each row.")
        chosen = np.flatnonzero(mask)
    if len(chosen) < 2:
        raise ArgumentError("expected two canaries or more, got fewer.")
    return chosen


def _numbers(given: int | None, n_canaries: int) -> list[int]:
    if given is not None:
        check_integer("guesses", given, 2)
        if given > n_canaries:
            raise ArgumentError(f"guesses must be at most the number of canaries, got {describe_argument(given)}.")
        return [given]
    found = [n_canaries]
    while found[-1] // 2 >= _FEWEST:
        found.append(found[-1] // 2)
    return found


def own_label(fitted: Any, X: Any, y: Any) -> Floats:
    """Return the chance that a model gives to each row's label, or whether it predicts it; of a number, −|error|."""
    released = released_model(fitted)
    labels = np.asarray(y) if released is None else LabelledRows.of(X, y).typed(released.schema).values
    if predicts_numbers(fitted):
        return -np.abs(np.asarray(fitted.predict(X), dtype=np.float64) - labels)
    if hasattr(fitted, "predict_proba") and hasattr(fitted, "classes_"):
        classes = np.asarray(fitted.classes_)
        return np.where(labels[:, np.newaxis] == classes, np.asarray(fitted.predict_proba(X)), 0.0).sum(axis=1)
    if hasattr(fitted, "predict"):
        return (np.asarray(fitted.predict(X)) == labels).astype(np.float64)
    raise ArgumentTypeError(f"expected a model that predicts from fit, got {type(fitted).__name__}; pass score=.")


def right_guesses(scores: Floats, included: Mask, guesses: int, rng: np.random.Generator) -> int:
    """Return how many guesses are right: the highest scores are in, as many of the lowest out; ties by chance."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    highest, lowest = order[: (guesses + 1) // 2], order[len(order) - guesses // 2 :]
    return int(included[highest].sum() + (~included[lowest]).sum())


@dataclass(frozen=True, repr=False)
class OneRunEpsilon(LossBound):
    """A lower bound of the privacy loss, by guesses of the rows of one run; tables differ by adding or removing a row.

    Attributes
    ----------
    learner, epsilon, mu, delta, confidence, claim
        As in `EmpiricalEpsilon`.
    canaries, included, guesses, right, tried : int
        Rows that a coin was thrown for, and those that were put in; how many were guessed, and rightly, where that
        refutes most; how many numbers of guesses were tried, each with its share of the alarm.
    """

    kind = "one-run"
    canaries: int
    included: int
    guesses: int
    right: int
    tried: int
    runs = 1

    def power(self, factor: float) -> float:
        """Return the chance that as many guesses refute the claim if the learner loses `factor` > 1 times as much.

        If it shows all of it on every canary that is guessed, as randomised response does; else it is lower.
        """
        alarm = (1 - self.confidence) / self.tried
        return power(self._lost(factor), self._claim, self.guesses, self.canaries, self.delta, alarm)

    @property
    def _method(self) -> str:
        return f"guesses of which of {self.canaries:,} rows are in one run"

    @property
    def _evidence(self) -> str:
        return (
            f"guesses     {self.right:,} right of {self.guesses:,}, of {self.canaries:,} rows that coins put in "
            "or left out of one run"
        )


_STEP = 0.05  # in which a bound is looked for, before it is bisected
_HALVINGS = 30
_LARGEST = 60.0  # of ε and of μ


def tail(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return the most that the chance of so many right guesses can be under (ε, δ)-differential privacy."""
    # Corollary 5.4: P(W ≥ v) + 2·m·δ·max_i P(v − i ≤ W < v)/i for v right guesses, however made from the output, and m
    # canaries, W being the right answers of randomised response, that is Binomial(guesses, e^ε/(1 + e^ε)).
    p = 1 / (1 + exp(-epsilon))
    most = float(binom.sf(right - 1, guesses, p))
    if delta and right:
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, p))
        most += 2 * canaries * delta * float((below / np.arange(1, right + 1)).max())
    return min(most, 1.0)


def epsilon_bound(right: int, guesses: int, canaries: int, delta: float, alarm: float) -> float:
    """Return the largest ε below which all are refuted by so many right guesses, at a false-alarm rate; 0 for none."""
    return _refuted(lambda epsilon: tail(right, guesses, canaries, epsilon, delta) <= alarm)


def mu_bound(right: int, guesses: int, canaries: int, alarm: float) -> float:
    """Return the largest μ below which μ-Gaussian differential privacy is refuted; 0 for none."""
    return _refuted(lambda mu: refutes_gaussian(right, guesses, canaries, mu, alarm))


def refutes_gaussian(right: int, guesses: int, canaries: int, mu: float, alarm: float) -> bool:
    """Return whether so many right guesses refute μ-Gaussian differential privacy at a false-alarm rate."""
    # Algorithm 3: if they came with chance `alarm`, then what a guess adds, right or wrong, sums to more than all can.
    known, wrong = alarm * right / canaries, alarm * (guesses - right) / canaries
    for place in range(right - 1, -1, -1):
        least = float(ndtr(ndtri(known) - mu))  # of wrong guesses, where right ones have that chance
        if least <= wrong:
            break
        known, wrong = min(known + place / (guesses - place) * (least - wrong), 1.0), least
    return known + wrong > guesses / canaries


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
    """Return the chance to refute a claim if guesses are right as in randomised response of `epsilon`."""
    least = next((v for v in range(guesses + 1) if tail(v, guesses, canaries, claim, delta) <= alarm), guesses + 1)
    return float(binom.sf(least - 1, guesses, 1 / (1 + exp(-epsilon))))
