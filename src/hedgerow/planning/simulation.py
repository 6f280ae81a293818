"""Fits of default models to rows of a public table: accuracy or R² on others of its rows, at an ε and a size."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, ArgumentTypeError, SeededNoiseWarning, UnitWarning
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.scorecards import PrivateScorecardClassifier, PrivateScorecardRegressor
from hedgerow.planning.expected import CLASSIFIERS, REGRESSORS
from hedgerow.schema.schema import Schema
from hedgerow.text.progress import tracked

_SEED = 20261123


@dataclass(frozen=True)
class Simulated:
    """Accuracies of a default model on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        The model, or "most frequent" for the most frequent class of the rows, or "mean" for the mean of a number.
    accuracies : tuple of float
        The share of rows that get their own class, by run; R² of a number.
    errors : tuple of float
        The mean absolute error of a number, in its units, by run; empty of classes.
    constant : int
        In how many runs one class, or one number, was predicted for every row.
    """

    name: str
    accuracies: tuple[float, ...]
    errors: tuple[float, ...] = ()
    constant: int = 0

    @property
    def mean(self) -> float:
        """The mean accuracy, or R²."""
        return float(np.mean(self.accuracies))

    def text(self) -> str:
        """Return the mean with the range of nine in ten runs: in rows of a hundred; of a number, R² and the error."""
        if self.errors:
            found = f"{_ranged(self.accuracies, '.3f')}   {_ranged(self.errors, '.4g')}"
        else:
            found = _ranged([100 * share for share in self.accuracies], ".1f")
        what = "number" if self.errors else "class"
        always = f"   one {what} for every row in {self.constant} of {len(self.accuracies)} runs"
        return found + (always if self.constant and self.name not in _CONSTANTS else "")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        found = {"model": self.name, "mean": self.mean, "accuracies": list(self.accuracies), "constant": self.constant}
        return found | ({"errors": list(self.errors)} if self.errors else {})


_CONSTANTS = ("most frequent", "mean")


def _ranged(values: Sequence[float], form: str) -> str:
    low, high = np.percentile(values, [5, 95])
    return f"{np.mean(values):{form}}  ({low:{form}} to {high:{form}})"


def simulate(
    schema: Schema,
    rows: int,
    epsilon: Fraction,
    delta: Fraction,
    public: tuple[Any, Any],
    runs: int,
    *,
    verbose: bool = False,
) -> tuple[Simulated, ...]:
    """Fit each default model to rows drawn from half of a public table, and try it on the other half."""
    if not (isinstance(public, tuple) and len(public) == 2):
        raise ArgumentTypeError("public must be a pair of data and labels of a public table.")
    data, is_number = public[0], schema.target.as_number is not None
    others = ArgumentError("expected public rows with different finite numbers to predict, got others.")
    kind = np.float64 if is_number else None
    labels = guarded(lambda: np.asarray(public[1], dtype=kind), others)
    if len(labels) < 10:
        raise ArgumentError(f"expected a public table of at least ten rows, got {len(labels)}.")
    if is_number and not (np.isfinite(labels).all() and labels.var()):
        raise others
    baseline = _CONSTANTS[is_number]
    found: dict[str, list[NDArray[Any]]] = {name: [] for name in (baseline, *_models(schema, epsilon, delta, 0))}
    tried = list[NDArray[np.intp]]()
    for run in tracked(range(runs), "fitting to public rows", runs, verbose=verbose):
        rng = np.random.default_rng([_SEED, run])
        order = rng.permutation(len(labels))
        half = len(labels) // 2
        drawn = rng.choice(order[:half], rows)
        tried.append(order[half:])
        train, test = _rows(data, drawn), _rows(data, tried[-1])
        found[baseline].append(np.full(len(tried[-1]), _constant(labels[drawn], is_number=is_number)))
        for name, model in _models(schema, epsilon, delta, run).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SeededNoiseWarning)  # of public rows
                warnings.simplefilter("ignore", UnitWarning)
                found[name].append(model.fit(train, labels[drawn]).predict(test))
    truths = [labels[rows] for rows in tried]
    score = _of_number if is_number else _of_classes
    return tuple(score(name, truths, said) for name, said in found.items())


def _constant(drawn: NDArray[Any], *, is_number: bool) -> Any:
    """Return the mean of numbers, or else the most frequent class."""
    values, counts = np.unique(drawn, return_counts=True)
    return drawn.mean() if is_number else values[counts.argmax()]


def _of_classes(name: str, truths: Sequence[NDArray[Any]], said: Sequence[NDArray[Any]]) -> Simulated:
    accuracies = tuple(float(np.mean(ours == truth)) for ours, truth in zip(said, truths, strict=True))
    return Simulated(name, accuracies, constant=_constants(said))


def _of_number(name: str, truths: Sequence[NDArray[Any]], said: Sequence[NDArray[Any]]) -> Simulated:
    off = [ours - truth for ours, truth in zip(said, truths, strict=True)]
    scores = tuple(float(1 - np.mean(each**2) / truth.var()) for each, truth in zip(off, truths, strict=True))
    return Simulated(name, scores, tuple(float(np.abs(each).mean()) for each in off), _constants(said))


def _constants(said: Sequence[NDArray[Any]]) -> int:
    """Return how many models predicted the same for every row."""
    return sum(bool((each == each[0]).all()) for each in said)


def _models(schema: Schema, epsilon: Fraction, delta: Fraction, seed: int) -> dict[str, PrivateEstimator]:
    """Return default models of which none refuses the schema, and whose noise is seeded: their rows are public."""
    common: Any = {"schema": schema, "random_state": seed}
    is_number = schema.target.as_number is not None
    scorecard = PrivateScorecardRegressor if is_number else PrivateScorecardClassifier
    makers = REGRESSORS if is_number else CLASSIFIERS
    found: dict[str, PrivateEstimator] = {
        **{kind: make(epsilon, **common) for kind, make in reversed(makers.items())},
        "scorecard": scorecard(epsilon, delta=delta or None, **common),
    }
    return {name: model for name, model in found.items() if model.keeps_monotone or not schema.monotone}


def _rows(data: Any, places: NDArray[np.intp]) -> Any:
    if isinstance(data, np.ndarray):
        return data[places]
    return nw.from_native(data, eager_only=True)[places.tolist()].to_native()
