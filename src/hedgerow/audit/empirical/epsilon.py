"""Empirical ε: a lower bound of the privacy loss of any learner, by counting events on two neighbouring tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from hedgerow.audit.empirical.draws import RunCache, Runner, run
from hedgerow.audit.empirical.events import chances, choose, epsilon_bounds, gaussian_bound, power, spread_events
from hedgerow.audit.empirical.learner import FACTORS, check_claim, check_factor, check_learner, learner_name
from hedgerow.audit.empirical.outcomes import Outcome, outcome_of, reduced
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.plot import trade_off_bounds
from hedgerow.boundary.arguments import check_integer, check_probability, check_share
from hedgerow.boundary.randomness import RandomState, generator
from hedgerow.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST = 0.25
"""The share of the runs that an event is chosen on; it is counted on the others."""
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
) -> EmpiricalEpsilon:
    """Run a learner again and again on two neighbouring tables, and say which privacy loss its outputs refute.

    An event, a set of outcomes, is chosen on a quarter of the runs and counted on the others: no run is used twice. A
    learner that is (ε, δ)-differentially private has ``p ≤ e^ε·q + δ`` for every event, with chances p and q under
    either table, so exact intervals of p and q (Clopper and Pearson 1934) refute every ε below
    ``ln((p_low − δ)/q_high)``, whatever the learner does. **A small bound proves nothing**: another pair of tables,
    another outcome or more runs may refute more; `EmpiricalEpsilon.power` says what these runs could have seen.

    Parameters
    ----------
    fit : estimator or callable
        The learner: an estimator, cloned for each run, or a function of ``(X, y)`` that returns anything. Of
        hedgerow's and of others.
    table, neighbour : tuple of X and y
        Two tables, one row apart. `worst_neighbours` makes revealing ones of a schema.
    runs : int, default=10000
        Runs on each table. To be chosen beforehand: a bound that is looked at while runs are added holds no more.
    claim : float, optional
        The ε that the learner claims.
    delta : float, default=0
        The δ that it claims.
    confidence : float, default=0.95
        The chance that the bound holds.
    outcome : callable, optional
        Reduces what is returned to a number, an array or a hashable value. Default: hedgerow's models are their content
        without the card; other predictors their probabilities, or labels, on the rows of both tables.
    random_state : int, RandomState, Generator or None, default=None
        Makes runs reproducible: parameters of an estimator named ``random_state`` that are None are set.
        An estimator with one that is set is refused: all runs would be the same, and refute whatever it claims.
    n_jobs : int, optional
        The number of processes, as in scikit-learn.
    file : path, optional
        A file to keep the outcomes in: runs that it holds are not done again. **Private**.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    EmpiricalEpsilon
        The bounds; `plot()` draws the trade-off.

    Raises
    ------
    ValueError
        If a parameter is out of range, or the file holds something else. Errors of `fit` are passed on.
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
    check_probability("confidence", confidence)
    check_share("delta", delta)
    check_claim(claim)
    check_learner(fit)
    _check_unseeded(fit)
    sides = _pair("table", table), _pair("neighbour", neighbour)
    seed = None if random_state is None else int(generator(random_state).integers(2**31))
    reduce = partial(outcome_of, rows=_rows(sides)) if outcome is None else _Then(outcome)
    runner = Runner(fit, ((sides[0].table.data, sides[0].labels), (sides[1].table.data, sides[1].labels)), reduce)
    kept = RunCache.open(file, _settings(runner, sides, seed))
    draws = run(runner, kept, runs, seed, n_jobs, verbose=bool(verbose))
    return measured(learner_name(fit), draws, claim, float(delta), 1 - float(confidence))


@dataclass(frozen=True)
class _Then:
    """The user's reduction, then ours."""

    outcome: Callable[[Any], Any]

    def __call__(self, result: Any) -> Outcome:
        return outcome_of(self.outcome(result), None)


def _check_unseeded(fit: Any) -> None:
    """Refuse an estimator all of whose runs would be the same, and refute whatever it claims."""
    given = fit.get_params() if isinstance(fit, BaseEstimator) else {}
    if any(name.split("__")[-1] == "random_state" and value is not None for name, value in given.items()):
        raise ArgumentError(
            "expected an estimator with random_state=None, got one that is set: all its runs would be the same; pass "
            "random_state= to empirical_epsilon to repeat an audit."
        )


def _pair(name: str, given: Any) -> LabelledRows:
    if not isinstance(given, tuple) or len(given) != 2:
        raise ArgumentTypeError(f"{name} must be a pair of rows and labels, (X, y), got {type(given).__name__}.")
    return LabelledRows.of(*given)


def _rows(sides: tuple[LabelledRows, LabelledRows]) -> Any:
    """Return the rows of the larger table."""
    return max(sides, key=len).table.data


def _settings(runner: Runner, sides: tuple[LabelledRows, LabelledRows], seed: int | None) -> dict[str, Any]:
    tables = [[np.asarray(side.table.data, dtype=object).tolist(), side.values.tolist()] for side in sides]
    names = [side.table.names for side in sides]
    reduction = learner_name(runner.reduce.outcome) if isinstance(runner.reduce, _Then) else None
    return {"fit": learner_name(runner.fit), "tables": repr((names, tables)), "seed": seed, "outcome": reduction}


def measured(
    learner: str, draws: tuple[list[Outcome], list[Outcome]], claim: float | None, delta: float, alarm: float
) -> EmpiricalEpsilon:
    """Return what outcomes on two tables refute, with one false alarm in 1/`alarm`."""
    cut = max(int(len(draws[0]) * FIRST), 1)
    first, rest = reduced((draws[0][:cut], draws[1][:cut]), (draws[0][cut:], draws[1][cut:]))
    tested = len(rest.table)
    event = choose(first.table, first.neighbour, tested, delta, alarm)
    likely, unlikely = event.count(rest.table, rest.neighbour)
    corners = spread_events(first.table, first.neighbour, _CORNERS)
    curve = [(*one.count(rest.table, rest.neighbour), one.on_neighbour) for one in corners]
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
    )


@dataclass(frozen=True, repr=False)
class EmpiricalEpsilon:
    """A lower bound of the privacy loss, by the outputs of a learner on two neighbouring tables.

    The bound holds for the learner; the tables decide how tight it is.

    Attributes
    ----------
    learner : str
        What was run.
    epsilon : float
        Every smaller ε is refuted, at `delta` and `confidence`; 0 where nothing is.
    mu : float
        The same for μ-Gaussian differential privacy, by the same event.
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

    learner: str
    epsilon: float
    mu: float
    delta: float
    confidence: float
    claim: float | None
    runs: int
    tested: int
    likely: int
    unlikely: int
    on_neighbour: bool
    outcomes: int
    curve: tuple[tuple[int, int, bool], ...]

    @property
    def refutes(self) -> bool:
        """True if the claim is refuted.

        Raises
        ------
        ValueError
            If there is none.
        """
        return self.epsilon > self._claim

    def power(self, factor: float, q: float | None = None) -> float:
        """Return the chance that as many runs refute the claim if the learner loses `factor` times as much.

        By an event that shows all of it, as in randomised response; where tables or events show less, it is lower.

        Parameters
        ----------
        factor : float
            How many times the claim is lost.
        q : float, optional
            The chance of the event where it is unlikely. Default: that of randomised response, where most is shown.

        Raises
        ------
        ValueError
            If there is no claim, or the factor is 1 or less.
        """
        check_factor(factor)
        lost = factor * self._claim
        chance = 1 / (1 + np.exp(lost)) if q is None else q
        return power(lost, self._claim, chance, self.tested, self.delta, 1 - self.confidence)

    @property
    def trade_off(self) -> pd.DataFrame:
        """Bounds of the trade-off curve: for each of some events, its highest FPR and lowest TPR, all at once.

        With `confidence` for all of them together (Bonferroni).
        """
        alarm = (1 - self.confidence) / max(len(self.curve), 1)
        found = [(*chances(likely, unlikely, self.tested, alarm)[::-1], side) for likely, unlikely, side in self.curve]
        frame = pd.DataFrame(found, columns=["fpr", "tpr", "on_neighbour"])
        return frame.sort_values(by="fpr", ignore_index=True)

    @property
    def _claim(self) -> float:
        if self.claim is None:
            raise ArgumentError("expected a claim to compare with, got none; pass claim= to empirical_epsilon.")
        return self.claim

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bounds of the trade-off curve, and what the claim allows, and return the axes."""
        caption = f"{self.learner}: events in {self.tested:,} runs a side, {100 * self.confidence:g} % confidence"
        return trade_off_bounds(self.trade_off, self.claim, self.delta, caption, ax)

    def __str__(self) -> str:
        lines = [
            f"learner     {self.learner}",
            f"epsilon     {self.epsilon:.4g} or more, at delta = {self.delta:g}, with {100 * self.confidence:g} % "
            "confidence",
            f"Gaussian    mu = {self.mu:.4g} or more",
            f"event       {self.outcomes} outcomes, {self.likely} times on the "
            f"{'neighbour' if self.on_neighbour else 'table'} and {self.unlikely} on the other, of {self.tested:,} "
            f"tested of {self.runs:,} runs each",
        ]
        if self.claim is not None:
            seen = ", ".join(f"{100 * (factor - 1):g} % wrong: {self.power(factor):.2f}" for factor in FACTORS)
            said = "refuted" if self.refutes else "not refuted"
            lines += [
                f"claim       {self.claim:g}: {said}",
                f"power       the chance to refute it if it were {seen}",
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<EmpiricalEpsilon of {self.learner}: {self.epsilon:.4g} or more>"
