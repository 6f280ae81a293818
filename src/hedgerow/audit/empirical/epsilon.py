"""Empirical ε: a lower bound of any learner's privacy loss, by events on two neighbouring tables; and such tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from hedgerow.audit.counting.bin_values import Mark, values_of_bins
from hedgerow.audit.empirical.draws import Outcome, RunCache, Runner, outcome_of, reduced, run
from hedgerow.audit.empirical.events import chances, choose, epsilon_bounds, gaussian_bound, power, spread_events
from hedgerow.audit.empirical.learner import LossBound, check_settings, learner_name
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.audit.plot import trade_off_bounds
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.randomness import RandomState, generator
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.schema.schema import Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
    check_settings(fit, claim, delta, confidence)
    _check_unseeded(fit)
    sides = LabelledRows.of_pair("table", table), LabelledRows.of_pair("neighbour", neighbour)
    seed = None if random_state is None else int(generator(random_state).integers(2**31))
    reduce = partial(outcome_of, rows=max(sides, key=len).table.data) if outcome is None else partial(_reduced, outcome)
    runner = Runner(fit, ((sides[0].table.data, sides[0].labels), (sides[1].table.data, sides[1].labels)), reduce)
    kept = RunCache.open(file, _settings(fit, sides, seed, outcome))
    draws = run(runner, kept, runs, seed, n_jobs, verbose=bool(verbose))
    return measured(learner_name(fit), draws, claim, float(delta), 1 - float(confidence))


def _reduced(outcome: Callable[[Any], Any], result: Any) -> Outcome:
    """Return the outcome of a result that the user's function has reduced."""
    return outcome_of(outcome(result), None)


def _check_unseeded(fit: Any) -> None:
    """Refuse an estimator all of whose runs would be the same, and refute whatever it claims."""
    given = fit.get_params() if isinstance(fit, BaseEstimator) else {}
    if any(name.split("__")[-1] == "random_state" and value is not None for name, value in given.items()):
        raise ArgumentError(
            "expected an estimator with random_state=None, got one that is set: all its runs would be the same; pass "
            "random_state= to empirical_epsilon to repeat an audit."
        )


def _settings(fit: Any, sides: tuple[LabelledRows, LabelledRows], seed: int | None, outcome: Any) -> dict[str, Any]:
    tables = [[np.asarray(side.table.data, dtype=object).tolist(), side.values.tolist()] for side in sides]
    names = [side.table.names for side in sides]
    reduction = None if outcome is None else learner_name(outcome)
    return {"fit": learner_name(fit), "tables": repr((names, tables)), "seed": seed, "outcome": reduction}


def measured(
    learner: str, draws: tuple[list[Outcome], list[Outcome]], claim: float | None, delta: float, alarm: float
) -> EmpiricalEpsilon:
    """Return what outcomes on two tables refute, with one false alarm in 1/`alarm`."""
    cut = max(int(len(draws[0]) * _FIRST), 1)
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
class EmpiricalEpsilon(LossBound):
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

    runs: int
    tested: int
    likely: int
    unlikely: int
    on_neighbour: bool
    outcomes: int
    curve: tuple[tuple[int, int, bool], ...]

    def power(self, factor: float, q: float | None = None) -> float:
        """Return the chance that as many runs refute the claim if the learner loses `factor` times as much.

        By an event that shows all of it, as in randomised response; where tables or events show less, it is lower.
        `q` is the chance of the event where it is unlikely; by default that of randomised response, where most is
        shown. `ValueError` if there is no claim, or the factor is 1 or less.
        """
        lost = self._lost(factor)
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

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the bounds of the trade-off curve, and what the claim allows, and return the axes."""
        caption = f"{self.learner}: events in {self.tested:,} runs a side, {100 * self.confidence:g} % confidence"
        return trade_off_bounds(self.trade_off, self.claim, self.delta, caption, ax)

    @property
    def _evidence(self) -> str:
        return (
            f"event       {self.outcomes} outcomes, {self.likely} times on the "
            f"{'neighbour' if self.on_neighbour else 'table'} and {self.unlikely} on the other, of {self.tested:,} "
            f"tested of {self.runs:,} runs each"
        )


_Table = tuple[pd.DataFrame, pd.Series]


def worst_neighbours(schema: Schema, rows: int = 20) -> dict[str, tuple[_Table, _Table]]:
    """Return pairs of tables, one row apart, each as revealing as can be for some learners.

    The second table of a pair has the row that the first has not. Rows are at the two ends of the domain: in the first
    bin of every attribute with the first class, or in the last with the last. The names: "one row" (none, and one), "a
    row in an empty bin", "a row in a full bin", "the first of its class", "a duplicate of all", "a row far out" and
    "even classes" (as many rows of each class in one bin, and one more).

    Parameters
    ----------
    schema : Schema
        The public schema, with a label.
    rows : int, default=20
        Rows of the larger tables.

    Raises
    ------
    TypeError
        If it is no schema.
    ValueError
        If it has no label, or there are fewer than two rows.

    Examples
    --------
    >>> import hedgerow as hr
    >>> schema = hr.Schema({"age": hr.Integer(0, 99, (30, 60))}, hr.Label("ill", (False, True)))
    >>> (X, y), (X_more, y_more) = worst_neighbours(schema)["a row far out"]
    >>> len(X_more) - len(X), int(X["age"].max()), int(X_more["age"].max())
    (1, 0, 99)
    """
    if not isinstance(schema, Schema):
        raise ArgumentTypeError(f"expected a Schema, got {type(schema).__name__}.")
    check_integer("rows", rows, 2)
    plain, odd = (_row(schema, end) for end in (0, -1))
    first, last = schema.classes[0], schema.classes[-1]
    mixed = [first, last] * (rows // 2)
    cases: dict[str, tuple[list[dict[str, Any]], list[Any], dict[str, Any], Any]] = {
        "one row": ([], [], odd, last),
        "a row in an empty bin": ([plain] * (2 * (rows // 2)), mixed, odd, last),
        "a row in a full bin": ([plain] * rows, [first] * rows, plain, last),
        "the first of its class": ([plain, odd] * (rows // 2), [first] * (2 * (rows // 2)), odd, last),
        "a duplicate of all": ([plain] * rows, [first] * rows, plain, first),
        "a row far out": ([plain] * rows, [first] * rows, odd, last),
        "even classes": ([plain] * (2 * (rows // 2)), mixed, plain, last),
    }
    return {name: _pair(schema, *case) for name, case in cases.items()}


def _row(schema: Schema, end: int) -> dict[str, Any]:
    """Return the row at one end of the domain, in bins of values."""
    found: dict[str, Any] = {}
    for name, attribute in schema.attributes:
        known = [values for values in values_of_bins(attribute) if len(values) and not isinstance(values[0], Mark)]
        value = known[end][end]
        found[name] = (value.left if end == 0 else value.right) if isinstance(value, pd.Interval) else value
    return found


def _pair(schema: Schema, rows: list[dict[str, Any]], labels: list[Any], row: dict[str, Any], label: Any) -> Any:
    """Return the tables with these rows without and with one row more."""
    assert schema.label is not None
    whole = pd.DataFrame([*rows, row], columns=list(schema.names))
    y = pd.Series([*labels[: len(rows)], label], name=schema.label.name)
    return (whole.iloc[:-1], y.iloc[:-1]), (whole, y)
