"""Fits of default models to rows of a public table: their accuracy on others of its rows, at an ε and a size."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.learn.private_base import PrivateEstimator
from hedgerow.learn.rule_lists import PrivateRuleListClassifier
from hedgerow.learn.scorecards import PrivateScorecardClassifier
from hedgerow.learn.trees import PrivateTreeClassifier
from hedgerow.schema.schema import Schema
from hedgerow.text.progress import tracked

_SEED = 20261123


@dataclass(frozen=True)
class Simulated:
    """Accuracies of a default model on rows that it was not fitted to.

    Attributes
    ----------
    name : str
        The model, or "most frequent" for the most frequent class of the rows.
    accuracies : tuple of float
        The share of rows, by run.
    """

    name: str
    accuracies: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean accuracy."""
        return float(np.mean(self.accuracies))

    def text(self) -> str:
        """Return the mean with the range of nine in ten runs, in rows of a hundred."""
        low, high = np.percentile(self.accuracies, [5, 95])
        return f"{100 * self.mean:.1f}  ({100 * low:.1f} to {100 * high:.1f})"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"model": self.name, "mean": self.mean, "accuracies": list(self.accuracies)}


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
    data, labels = public[0], np.asarray(public[1])
    if len(labels) < 10:
        raise ArgumentError(f"expected a public table of at least ten rows, got {len(labels)}.")
    found: dict[str, list[float]] = {name: [] for name in ("most frequent", *_models(schema, epsilon, delta, 0))}
    for run in tracked(range(runs), "fitting to public rows", runs, verbose=verbose):
        rng = np.random.default_rng([_SEED, run])
        order = rng.permutation(len(labels))
        half = len(labels) // 2
        drawn, tried = rng.choice(order[:half], rows), order[half:]
        train, test = _rows(data, drawn), _rows(data, tried)
        values, counts = np.unique(labels[drawn], return_counts=True)
        found["most frequent"].append(float(np.mean(labels[tried] == values[counts.argmax()])))
        for name, model in _models(schema, epsilon, delta, run).items():
            found[name].append(float(np.mean(model.fit(train, labels[drawn]).predict(test) == labels[tried])))
    return tuple(Simulated(name, tuple(accuracies)) for name, accuracies in found.items())


def _models(schema: Schema, epsilon: Fraction, delta: Fraction, seed: int) -> dict[str, PrivateEstimator]:
    """Return default models of which none refuses the schema, and whose noise is seeded: their rows are public."""
    common: Any = {"schema": schema, "random_state": seed}
    found: dict[str, PrivateEstimator] = {
        "rule list": PrivateRuleListClassifier(epsilon, **common),
        "tree": PrivateTreeClassifier(epsilon, **common),
        "scorecard": PrivateScorecardClassifier(epsilon, delta=delta or None, **common),
    }
    return {name: model for name, model in found.items() if model.keeps_monotone or not schema.monotone}


def _rows(data: Any, places: NDArray[np.intp]) -> Any:
    if isinstance(data, np.ndarray):
        return data[places]
    return nw.from_native(data, eager_only=True)[places.tolist()].to_native()
