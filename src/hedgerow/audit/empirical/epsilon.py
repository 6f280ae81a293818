"""Empirical ε: a lower bound on any learner's privacy loss, from many runs on two neighbouring tables."""

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

_LEVELS = 200  # counts at which the power is computed; other counts are rounded up to one of them
_FIRST = 0.25  # share of the runs on which an event is chosen; it is counted on the remaining runs
_CORNERS = 12  # corners of the trade-off curve, which share the false-alarm rate


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
    """Run a learner repeatedly on two neighbouring tables, and return a lower bound on its privacy loss.

    An event (a set of outcomes) is chosen on a quarter of the runs and counted on the remaining runs. No run is
    therefore used twice. If a learner is (ε, δ)-differentially private, every event has ``p ≤ e^ε·q + δ`` for its
    probabilities p and q under the two tables. Exact confidence intervals for p and q (Clopper and Pearson 1934)
    therefore refute every ε below ``ln((p_low − δ)/q_high)``, without assumptions about the learner. **A small bound
    proves nothing**: another pair of tables, another outcome or more runs may give a larger bound.
    `EmpiricalEpsilon.power` is the probability that these runs detect a given violation.

    Parameters
    ----------
    fit : estimator or callable
        The learner: an estimator of any library, cloned for each run, or a function of ``(X, y)``.
    table, neighbour : tuple of X and y
        Two tables that differ in one row. `worst_neighbours` creates revealing pairs from a schema.
    runs : int, default=10000
        Number of runs on each table. Fix it in advance: the bound does not hold if runs are added until it is large.
    claim, delta : float, optional
        The ε and δ that the learner claims. Default: no claimed ε, and δ = 0.
    confidence : float, default=0.95
        The probability with which the bound holds.
    outcome : callable, optional
        Reduces the result of a run to a number, an array or a hashable value. Default: the content of hedgerow's models
        without their card; for other predictors, their probabilities or labels on the rows of the larger table.
    random_state : int, RandomState, Generator or None, default=None
        Makes the runs reproducible by setting all parameters of the estimator that are named ``random_state``. These
        must be None: with a fixed seed all runs would be equal, and would refute every claim.
    n_jobs, verbose : int, optional, and bool, default=False
        The number of processes, as in scikit-learn; whether to show progress on stderr.
    file : path, optional
        A file that stores the outcomes, so that an interrupted audit continues. **Private**. Files of another learner
        are rejected, but functions with the same name are not distinguished.

    Raises
    ------
    ValueError
        If a parameter is out of range, the file belongs to another audit, or runs would share a budget. Errors of `fit`
        are passed on.
    TypeError
        If `fit` is neither an estimator nor a function, or a table is not a pair.

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
    >>> bound = empirical_epsilon(count, (X, y), (X[:2], y[:2]), runs=2000, claim=1)
    >>> bound.refutes, 1 < bound.epsilon < 4
    (True, True)
    """
    check_integer("runs", runs, 20)
    check_settings(fit, claim, delta, confidence)
    parameters = fit.get_params() if isinstance(fit, BaseEstimator) else {}
    if any(name.split("__")[-1] == "random_state" and value is not None for name, value in parameters.items()):
        problem = "random_state of the estimator must be None, since all runs with a fixed seed are equal"
        raise ArgumentError(f"{problem}; pass random_state to empirical_epsilon instead.")
    sides = LabelledRows.of_pair("table", table), LabelledRows.of_pair("neighbour", neighbour)
    seed = None if random_state is None else int(generator(random_state).integers(2**31))
    reduce = partial(outcome_of, rows=max(sides, key=len).table.data) if outcome is None else partial(_reduced, outcome)
    tables = (sides[0].table.data, sides[0].labels), (sides[1].table.data, sides[1].labels)
    runner = partial(run_part, fit, tables, reduce)
    cache = RunCache.open(file, _settings(fit, sides, seed, outcome))
    draws = run(runner, cache, runs, seed, n_jobs, verbose=bool(verbose))
    subject = AttackSubject.of(fit, None)
    return measured(learner_name(fit), draws, claim, float(delta), 1 - float(confidence), subject)


def _reduced(outcome: Callable[[Any], Any], result: Any) -> RunOutcome:
    return outcome_of(outcome(result), None)


def _settings(fit: Any, sides: tuple[LabelledRows, LabelledRows], seed: int | None, outcome: Any) -> dict[str, Any]:
    tables = [[np.asarray(side.table.data, dtype=object).tolist(), side.values.tolist()] for side in sides]
    names = [side.table.names for side in sides]
    reduction = None if outcome is None else learner_name(outcome)
    # All parameters: the repr of an estimator with many parameters is abbreviated.
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
    """Return the bound that follows from the outcomes on two tables; `alarm` is the false-alarm rate."""
    cut = max(int(len(draws[0]) * _FIRST), 1)
    first, rest = reduced((draws[0][:cut], draws[1][:cut]), (draws[0][cut:], draws[1][cut:]))
    tested = len(rest[0])
    event = choose(*first, tested, delta, alarm)
    likely, unlikely = event.count(*rest)
    corners = spread_events(*first, _CORNERS)
    curve = [(*corner.count(*rest), corner.on_neighbour) for corner in corners]
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
    """Lower bound on a learner's privacy loss, from its outputs on two neighbouring tables.

    The tables decide how tight the bound is.

    Attributes
    ----------
    learner : str
        The audited learner.
    epsilon, mu : float
        Lower bounds. Every smaller ε is refuted at `delta` and `confidence`. The same event refutes every smaller μ of
        μ-Gaussian differential privacy. 0 if nothing is refuted.
    delta, confidence : float
        δ, and the probability with which each of the two bounds holds.
    claim : float or None
        The claimed ε.
    runs, tested : int
        Number of runs on each table, and the number of these on which the event was counted.
    likely, unlikely : int
        Number of occurrences of the event on the table with the larger probability, and on the other table.
    on_neighbour : bool
        Whether the event is more probable on the neighbour.
    outcomes : int
        Number of different outcomes in the event.
    curve : tuple of (int, int, bool)
        `likely`, `unlikely` and `on_neighbour` of further events, for the trade-off curve.
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
        """Return the power of the same number of runs against a true loss of `factor` > 1 times the claim.

        The event must reach the full loss; `q` is the smaller of its probabilities on the two tables. Default: the `q`
        of randomised response.
        """
        epsilon = self._multiple_of_claim(factor)
        chance = 1 / (1 + np.exp(epsilon)) if q is None else q
        return power(epsilon, self._claim, chance, self.tested, self.delta, 1 - self.confidence)

    @property
    def trade_off(self) -> pd.DataFrame:
        """Upper bounds on the FPR and lower bounds on the TPR of several events, jointly valid with `confidence`."""
        alarm = (1 - self.confidence) / max(len(self.curve), 1)  # Bonferroni
        points = [(*chances(likely, unlikely, self.tested, alarm)[::-1], side) for likely, unlikely, side in self.curve]
        return pd.DataFrame(points, columns=["fpr", "tpr", "on_neighbour"]).sort_values(by="fpr", ignore_index=True)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the bounds on the trade-off curve with the region that the claim allows, and return the axes."""
        caption = f"{self.learner}: {self.tested:,} test runs on each table, {100 * self.confidence:g} % confidence"
        return trade_off_bounds(self.trade_off, self.claim, self.delta, caption, ax)

    @property
    def _method(self) -> str:
        return f"event counts in {self.runs:,} runs on each of two neighbouring tables made for the audit"

    @property
    def _evidence(self) -> str:
        sides = ("neighbour", "table") if self.on_neighbour else ("table", "neighbour")
        return (
            f"event       set of {self.outcomes} outcomes: {self.likely:,} times on the {sides[0]}, {self.unlikely:,} "
            f"times on the {sides[1]}, in {self.tested:,} test runs each (of {self.runs:,} runs)"
        )


@dataclass(frozen=True)
class Event:
    """A set of outcomes, and the table on which it is more probable."""

    outcomes: frozenset[Hashable]
    on_neighbour: bool  # whether the event is more probable on the neighbour

    def count(self, table: Outcomes, neighbour: Outcomes) -> tuple[int, int]:
        """Return the occurrences on the table that makes the event more probable, and on the other table."""
        hits = [sum(outcome in self.outcomes for outcome in side) for side in (table, neighbour)]
        likely, unlikely = hits[::-1] if self.on_neighbour else hits
        return likely, unlikely


def choose(table: Outcomes, neighbour: Outcomes, tested: int, delta: float, alarm: float) -> Event:
    """Return the event with the largest expected bound on ε in `tested` further draws on each table."""
    # The shares of these draws are expected again, with half a draw added on the less probable side. By Neyman and
    # Pearson 1933 the best events are unions of the outcomes with the largest likelihood ratios.
    share, best, event = tested / max(len(table), 1), 0.0, Event(frozenset(), on_neighbour=False)
    for event_at, likely, unlikely in _both(table, neighbour):
        bounds = epsilon_bounds(likely * share, np.minimum((unlikely + 0.5) * share, tested), tested, delta, alarm)
        place = int(np.argmax(bounds))
        if bounds[place] > best:
            best, event = float(bounds[place]), event_at(place)
    return event


def spread_events(table: Outcomes, neighbour: Outcomes, most: int) -> list[Event]:
    """Return up to `most` events, half in each direction, spread over the observed false positive rates."""
    events: list[Event] = []
    for event_at, _, unlikely in _both(table, neighbour):
        targets = np.geomspace(1 / max(len(table), 2), 1, most // 2 + 1)[:-1] * len(table)
        places = {int(np.abs(unlikely - target).argmin()) for target in targets}
        events += [event_at(place) for place in sorted(places)]
    return events


def _both(table: Outcomes, neighbour: Outcomes) -> Iterator[tuple[Callable[[int], Event], Floats, Floats]]:
    """Yield nested events for each direction, by falling likelihood ratio, with their counts on the two tables."""
    sides = Counter(table), Counter(neighbour)
    for on_neighbour in (False, True):
        likely, unlikely = sides[::-1] if on_neighbour else sides
        order = sorted(likely, key=lambda outcome: (unlikely[outcome] + 0.5) / (likely[outcome] + 0.5))
        p, q = (np.cumsum([float(counts[outcome]) for outcome in order]) for counts in (likely, unlikely))
        if order:
            yield partial(_first_outcomes, order, on_neighbour), p, q


def _first_outcomes(order: Sequence[Hashable], on_neighbour: bool, place: int) -> Event:
    return Event(frozenset(order[: place + 1]), on_neighbour)


def chances(likely: Any, unlikely: Any, draws: int, alarm: float) -> tuple[Floats, Floats]:
    """Return lower bounds on p and upper bounds on q, each with half of `alarm` (Clopper and Pearson 1934)."""
    likely, unlikely = np.asarray(likely, dtype=np.float64), np.asarray(unlikely, dtype=np.float64)
    low = beta.ppf(alarm / 2, np.maximum(likely, 1), draws - np.maximum(likely, 1) + 1)
    high = beta.isf(alarm / 2, unlikely + 1, np.maximum(draws - unlikely, 1))
    return np.where(likely >= 1, low, 0.0), np.where(unlikely < draws, high, 1.0)


def epsilon_bounds(likely: Any, unlikely: Any, draws: int, delta: float, alarm: float) -> Floats:
    """Return lower bounds on ``ln((p − δ)/q)`` from the counts of events in `draws` runs on each table."""
    low, high = chances(likely, unlikely, draws, alarm)
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(low - delta, 0.0)) - np.log(high)


def gaussian_bound(likely: float, unlikely: float, draws: int, alarm: float) -> float:
    """Return a lower bound on μ from ``p ≤ Φ(Φ⁻¹(q) + μ)`` (Dong, Roth and Su, JRSS-B 2022, Section 2.2)."""
    low, high = chances(likely, unlikely, draws, alarm)
    return float(norm.ppf(low) - norm.ppf(high)) if low > 0 and high < 1 else -inf


def power(epsilon: float, claim: float, q: float, draws: int, delta: float, alarm: float) -> float:
    """Return a lower bound on the probability to refute a claim by an event with probability q and loss `epsilon`."""
    # p is the largest probability that (ε, δ) allows.
    p = min(np.exp(epsilon) * q + delta, 1 - np.exp(-epsilon) * max(1 - q - delta, 0.0), 1.0)
    low, high = binom.ppf([1e-9, 1 - 1e-9], draws, q)
    unlikely = np.unique(np.linspace(low, high, _LEVELS).astype(int))
    highs = np.where(unlikely < draws, beta.isf(alarm / 2, unlikely + 1, np.maximum(draws - unlikely, 1)), 1.0)
    fewest = np.array([_fewest(np.exp(claim) * chance + delta, draws, alarm) for chance in highs])
    mass = np.diff(binom.cdf(unlikely, draws, q), prepend=0.0)  # counts between two levels are rounded up
    return float((mass * binom.sf(fewest - 1, draws, p)).sum())


def _fewest(chance: float, draws: int, alarm: float) -> int:
    """Return the smallest number of successes whose lower bound exceeds `chance`; `draws` + 1 if there is none."""
    counts = range(1, draws + 1)
    return 1 + bisect_right(counts, chance, key=lambda n: float(beta.ppf(alarm / 2, n, draws - n + 1)))
