"""Empirical ε: a lower bound of any learner's privacy loss, by events chosen on some runs and counted on others."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta, binom, norm
from sklearn.base import BaseEstimator

from hedgerow.audit.attack_subject import AttackSubject
from hedgerow.audit.empirical.learner import (
    LossBound,
    Outcomes,
    RunCache,
    RunOutcome,
    check_settings,
    learner_name,
    outcome_of,
    reduced,
    run,
    run_part,
)
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.plot import trade_off_bounds
from hedgerow.boundary.arguments import RandomState, check_integer, generator
from hedgerow.boundary.arrays import Floats
from hedgerow.errors import ArgumentError
from hedgerow.text.axes import Axes

_LEVELS = 200  # counts of the unlikely side that the power is computed at, the others taken as the next larger
_FIRST = 0.25  # the share of the runs that an event is chosen on; it is counted on the others
_CORNERS = 12  # of the trade-off curve, each with its share of the alarm


def empirical_epsilon(
    fit: Any,
    table: tuple[Any, Any],
    neighbour: tuple[Any, Any],
    *,
    runs: int = 10_000,
    claim: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    outcome: Callable[[Any], Any] | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
    file: str | PathLike[str] | None = None,
    verbose: bool = False,
) -> "EmpiricalEpsilon":
    """Run a learner again and again on two neighbouring tables, and say which privacy loss its outputs refute.

    An event, a set of outcomes, is chosen on a quarter of the runs and counted on the others: no run is used twice. A
    learner that is (ε, δ)-differentially private has ``p ≤ e^ε·q + δ`` for every event, with chances p and q under
    either table, so exact intervals of p and q (Clopper and Pearson 1934) refute every ε below
    ``ln((p_low − δ)/q_high)``, whatever the learner does. **A small bound proves nothing**: another pair of tables,
    another outcome or more runs may refute more; `EmpiricalEpsilon.power` says what these runs could have seen.

    Parameters
    ----------
    fit : estimator or callable
        The learner, of hedgerow or others: an estimator, cloned for each run, or a function of ``(X, y)``.
    table, neighbour : tuple of X and y
        Two tables, one row apart. `worst_neighbours` makes revealing ones of a schema.
    runs : int, default=10000
        Runs on each table. To be chosen beforehand: a bound that is looked at while runs are added holds no more.
    claim, delta : float, optional
        The ε and the δ that the learner claims; by default no ε, and a δ of 0.
    confidence : float, default=0.95
        The chance that the bound holds.
    outcome : callable, optional
        Reduces what is returned to a number, an array or a hashable value. Default: hedgerow's models are their content
        without the card; other predictors their probabilities, or labels, on the rows of both tables.
    random_state : int, RandomState, Generator or None, default=None
        Makes runs reproducible: parameters of an estimator named ``random_state`` that are None are set.
        An estimator with one that is set is refused: all runs would be the same, and refute whatever it claims.
    n_jobs, verbose : int, optional, and bool, default=False
        The number of processes, as in scikit-learn; whether to show progress on stderr.
    file : path, optional
        A file to keep the outcomes in: runs that it holds are not done again. **Private**. Of another learner it is
        refused; but functions of one name are taken for the same.

    Raises
    ------
    ValueError
        If a parameter is out of range, the file holds something else, or runs would share a budget. Errors of `fit` are
        passed on.
    TypeError
        If `fit` is neither an estimator nor a function, or a table is no pair.

    References
    ----------
    Jagielski, Ullman and Oprea, *Auditing Differentially Private Machine Learning*, NeurIPS 2020. Gilbert and
    McMillan, *Property Testing for Differential Privacy*, 2018.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((3, 1)), np.array([0, 1, 1])
    >>> def count(X, y):  # claims ε = 1, and has the noise of ε = 3
    ...     return int(y.sum() + np.round(np.random.default_rng().laplace(scale=1 / 3)))
    >>> found = empirical_epsilon(count, (X, y), (X[:2], y[:2]), runs=2000, claim=1)
    >>> found.refutes, 1 < found.epsilon < 4
    (True, True)
    """
    check_integer("runs", runs, 20)
    check_settings(fit, claim, delta, confidence)
    given = fit.get_params() if isinstance(fit, BaseEstimator) else {}
    if any(name.split("__")[-1] == "random_state" and value is not None for name, value in given.items()):
        problem = "expected an estimator with random_state=None, got one that is set: all its runs would be the same"
        raise ArgumentError(f"{problem}; pass random_state= to empirical_epsilon to repeat an audit.")
    sides = LabelledRows.of_pair("table", table), LabelledRows.of_pair("neighbour", neighbour)
    seed = None if random_state is None else int(generator(random_state).integers(2**31))
    reduce = partial(outcome_of, rows=max(sides, key=len).table.data) if outcome is None else partial(_reduced, outcome)
    tables = (sides[0].table.data, sides[0].labels), (sides[1].table.data, sides[1].labels)
    runner = partial(run_part, fit, tables, reduce)
    kept = RunCache.open(file, _settings(fit, sides, seed, outcome))
    draws = run(runner, kept, runs, seed, n_jobs, verbose=bool(verbose))
    subject = AttackSubject.of(fit, None)
    return measured(learner_name(fit), draws, claim, float(delta), 1 - float(confidence), subject)


def _reduced(outcome: Callable[[Any], Any], result: Any) -> RunOutcome:
    return outcome_of(outcome(result), None)


def _settings(fit: Any, sides: tuple[LabelledRows, LabelledRows], seed: int | None, outcome: Any) -> dict[str, Any]:
    tables = [[np.asarray(side.table.data, dtype=object).tolist(), side.values.tolist()] for side in sides]
    names = [side.table.names for side in sides]
    reduction = None if outcome is None else learner_name(outcome)
    # All parameters, as the text of an estimator leaves out some of many
    learner = [learner_name(fit), repr(sorted(fit.get_params().items()) if isinstance(fit, BaseEstimator) else None)]
    return {"fit": learner, "tables": repr((names, tables)), "seed": seed, "outcome": reduction}


def measured(
    learner: str,
    draws: tuple[list[RunOutcome], list[RunOutcome]],
    claim: float | None,
    delta: float,
    alarm: float,
    subject: AttackSubject | None = None,
) -> "EmpiricalEpsilon":
    """Return what outcomes on two tables refute, with one false alarm in 1/`alarm`."""
    cut = max(int(len(draws[0]) * _FIRST), 1)
    first, rest = reduced((draws[0][:cut], draws[1][:cut]), (draws[0][cut:], draws[1][cut:]))
    tested = len(rest[0])
    event = choose(*first, tested, delta, alarm)
    likely, unlikely = event.count(*rest)
    corners = spread_events(*first, _CORNERS)
    curve = [(*one.count(*rest), one.on_neighbour) for one in corners]
    return EmpiricalEpsilon(
        learner=learner,
        epsilon=max(float(epsilon_bounds(likely, unlikely, tested, delta, alarm)), 0.0),
        mu=max(gaussian_bound(likely, unlikely, tested, alarm), 0.0),
        delta=delta,
        confidence=1 - alarm,
        claim=claim,
        runs=len(draws[0]),
        tested=tested,
        likely=likely,
        unlikely=unlikely,
        on_neighbour=event.on_neighbour,
        outcomes=len(event.outcomes),
        curve=tuple(curve),
        subject=subject,
    )


@dataclass(frozen=True, repr=False)
class EmpiricalEpsilon(LossBound):
    """A lower bound of the privacy loss, by the outputs of a learner on two neighbouring tables: they decide how tight.

    Attributes
    ----------
    learner : str
        What was run.
    epsilon, mu : float
        Every smaller ε is refuted, at `delta` and `confidence`, and every smaller μ of μ-Gaussian differential privacy,
        by the same event; 0 where nothing is.
    delta, confidence : float
        δ, and the chance that the bound holds.
    claim : float or None
        The ε that was claimed.
    runs, tested : int
        Runs on each table, and those that the event was counted on.
    likely, unlikely : int
        How often the event came under the table where it is likelier, and under the other one.
    on_neighbour : bool
        Whether it is likelier on the neighbour.
    outcomes : int
        How many different outcomes are in the event.
    curve : tuple of (int, int, bool)
        For some events, the same counts and direction.
    """

    kind = "empirical"
    runs: int
    tested: int
    likely: int
    unlikely: int
    on_neighbour: bool
    outcomes: int
    curve: tuple[tuple[int, int, bool], ...]

    def power(self, factor: float, q: float | None = None) -> float:
        """Return the chance that as many runs refute the claim if the learner loses `factor`, above 1, times as much.

        By an event of chance `q` where it is unlikely that shows all of it; by default as in randomised response.
        """
        lost = self._lost(factor)
        chance = 1 / (1 + np.exp(lost)) if q is None else q
        return power(lost, self._claim, chance, self.tested, self.delta, 1 - self.confidence)

    @property
    def trade_off(self) -> pd.DataFrame:
        """The highest FPR and lowest TPR of some events, with `confidence` for all of them together (Bonferroni)."""
        alarm = (1 - self.confidence) / max(len(self.curve), 1)
        found = [(*chances(likely, unlikely, self.tested, alarm)[::-1], side) for likely, unlikely, side in self.curve]
        return pd.DataFrame(found, columns=["fpr", "tpr", "on_neighbour"]).sort_values(by="fpr", ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bounds of the trade-off curve, and what the claim allows, and return the axes."""
        caption = f"{self.learner}: events in {self.tested:,} runs a side, {100 * self.confidence:g} % confidence"
        return trade_off_bounds(self.trade_off, self.claim, self.delta, caption, ax)

    @property
    def _method(self) -> str:
        return f"an event in {self.runs:,} runs on each of two neighbouring tables that were made for it"

    @property
    def _evidence(self) -> str:
        return (
            f"event       {self.outcomes} outcomes, {self.likely} times on the "
            f"{'neighbour' if self.on_neighbour else 'table'} and {self.unlikely} on the other, of {self.tested:,} "
            f"tested of {self.runs:,} runs each"
        )


@dataclass(frozen=True)
class Event:
    """A set of outcomes, and the table under which they are likelier."""

    outcomes: frozenset[Hashable]  # the outcomes
    on_neighbour: bool  # whether they are likelier on the neighbour than on the table

    def count(self, table: Outcomes, neighbour: Outcomes) -> tuple[int, int]:
        """Return how often it comes under the table where it is likelier, and under the other one."""
        hits = [sum(outcome in self.outcomes for outcome in side) for side in (table, neighbour)]
        likely, unlikely = hits[::-1] if self.on_neighbour else hits
        return likely, unlikely


def choose(table: Outcomes, neighbour: Outcomes, tested: int, delta: float, alarm: float) -> Event:
    """Return the event whose bound on ε is expected to be largest when `tested` other draws a side are counted."""
    # The shares seen here are expected again, with half a draw more for the unlikely table. By Neyman and Pearson 1933
    # no events can be better on these draws than those that take one outcome more each, by falling likelihood ratio.
    share, best, event = tested / max(len(table), 1), 0.0, Event(frozenset(), on_neighbour=False)
    for event_at, likely, unlikely in _both(table, neighbour):
        bounds = epsilon_bounds(likely * share, np.minimum((unlikely + 0.5) * share, tested), tested, delta, alarm)
        place = int(np.argmax(bounds))
        if bounds[place] > best:
            best, event = float(bounds[place]), event_at(place)
    return event


def spread_events(table: Outcomes, neighbour: Outcomes, most: int) -> list[Event]:
    """Return up to so many events, half of each direction, spread over the false positive rates seen here."""
    found: list[Event] = []
    for event_at, _, unlikely in _both(table, neighbour):
        targets = np.geomspace(1 / max(len(table), 2), 1, most // 2 + 1)[:-1] * len(table)
        places = {int(np.abs(unlikely - target).argmin()) for target in targets}
        found += [event_at(place) for place in sorted(places)]
    return found


def _both(table: Outcomes, neighbour: Outcomes) -> Iterator[tuple[Callable[[int], Event], Floats, Floats]]:
    """Yield, for each direction, events that take one outcome more each, and how often each came under either table."""
    sides = Counter(table), Counter(neighbour)
    for on_neighbour in (False, True):
        likely, unlikely = sides[::-1] if on_neighbour else sides
        order = sorted(likely, key=lambda one: (unlikely[one] + 0.5) / (likely[one] + 0.5))
        p, q = (np.cumsum([float(counts[one]) for one in order]) for counts in (likely, unlikely))
        if order:
            yield partial(_first_outcomes, order, on_neighbour), p, q


def _first_outcomes(order: Sequence[Hashable], on_neighbour: bool, place: int) -> Event:
    return Event(frozenset(order[: place + 1]), on_neighbour)


def chances(likely: Any, unlikely: Any, draws: int, alarm: float) -> tuple[Floats, Floats]:
    """Return lower bounds of p and upper bounds of q, half of `alarm` for each (Clopper and Pearson 1934)."""
    likely, unlikely = np.asarray(likely, dtype=np.float64), np.asarray(unlikely, dtype=np.float64)
    low = beta.ppf(alarm / 2, np.maximum(likely, 1), draws - np.maximum(likely, 1) + 1)
    high = beta.isf(alarm / 2, unlikely + 1, np.maximum(draws - unlikely, 1))
    return np.where(likely >= 1, low, 0.0), np.where(unlikely < draws, high, 1.0)


def epsilon_bounds(likely: Any, unlikely: Any, draws: int, delta: float, alarm: float) -> Floats:
    """Return lower bounds of ``ln((p − δ)/q)`` from how often events came in so many draws under p and under q."""
    low, high = chances(likely, unlikely, draws, alarm)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0.0)) - np.log(high)


def gaussian_bound(likely: float, unlikely: float, draws: int, alarm: float) -> float:
    """Return a lower bound of μ by ``p ≤ Φ(Φ⁻¹(q) + μ)`` (Dong, Roth and Su, JRSS-B 2022, Section 2.2)."""
    low, high = chances(likely, unlikely, draws, alarm)
    return float(norm.ppf(low) - norm.ppf(high)) if low > 0 and high < 1 else -inf


def power(epsilon: float, claim: float, q: float, draws: int, delta: float, alarm: float) -> float:
    """Return the chance, from below, to refute a claim by an event of chance q where all of `epsilon` is lost."""
    # p is the most that (ε, δ) allows
    p = min(np.exp(epsilon) * q + delta, 1 - np.exp(-epsilon) * max(1 - q - delta, 0.0), 1.0)
    low, high = binom.ppf([1e-9, 1 - 1e-9], draws, q)
    unlikely = np.unique(np.linspace(low, high, _LEVELS).astype(int))
    highs = np.where(unlikely < draws, beta.isf(alarm / 2, unlikely + 1, np.maximum(draws - unlikely, 1)), 1.0)
    fewest = np.array([_fewest(np.exp(claim) * chance + delta, draws, alarm) for chance in highs])
    mass = np.diff(binom.cdf(unlikely, draws, q), prepend=0.0)  # of as many as that, and fewer: from above
    return float((mass * binom.sf(fewest - 1, draws, p)).sum())


def _fewest(chance: float, draws: int, alarm: float) -> int:
    """Return the fewest successes whose lower bound exceeds a chance; more than `draws` where none do."""
    counts = range(1, draws + 1)
    return 1 + bisect_right(counts, chance, key=lambda n: float(beta.ppf(alarm / 2, n, draws - n + 1)))
