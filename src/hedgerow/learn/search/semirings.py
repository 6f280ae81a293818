"""Semirings of the recursion over models: fewest errors (min, +), and total weight (Σ, ×).

In both, the product of two weights is their sum as numbers: errors add up, and so do logarithms of weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_MOST_TABULATED = 2**20  # differences of two classes whose weight is looked up


@dataclass(frozen=True)
class Semiring:
    """Operations that combine the weights of leaves into the weight of all models below a state.

    Attributes
    ----------
    leaf : callable
        From class counts, shape ``(n_classes, ...)``, the weight of a leaf, shape ``(...)``.
    plus : callable
        From the weights of stopping, shape ``(n,)``, of each option, shape ``(n, m)``, and how often each of these
        counts, shape ``(m,)``, the weight of the state, shape ``(n,)``.
    zero : float
        The weight of an option that cannot be taken.
    per_row, spread : float and callable
        Of two classes, the weight of a leaf is ``per_row·n/2 + spread(d)``: of its n rows one class has d more.
    stop, go : callable
        From the number of open options, shape ``(n,)``, the weight of stopping and that of taking any one option.
    """

    leaf: Callable[[Floats], Floats]
    plus: Callable[[Floats, Floats, Floats], Floats]
    zero: float
    per_row: float
    spread: Callable[[Floats], Floats]
    stop: Callable[[NDArray[np.intp]], Floats]
    go: Callable[[NDArray[np.intp]], Floats]


def fewest_errors(penalty: float) -> Semiring:
    """Return (min, +): the fewest rows that a model gets wrong, each rule or split counting for `penalty` more rows."""
    return Semiring(
        leaf=lambda counts: counts.sum(axis=0) - counts.max(axis=0),
        plus=lambda stop, options, times: np.minimum(stop, options.min(axis=1, initial=np.inf)),  # noqa: ARG005
        zero=np.inf,
        per_row=1.0,
        spread=lambda differences: differences / -2,
        stop=lambda n_open: np.zeros(np.shape(n_open)),
        go=lambda n_open: np.full(np.shape(n_open), penalty),
    )


def all_models(epsilon: float, stop_probability: float) -> Semiring:
    """Return (Σ, ×) in natural logarithms: the weights ``prior(model)·exp(−epsilon·errors(model))`` of all models.

    The prior is a probability over models: at every position where options are open stop with `stop_probability`, else
    take one of them, uniformly; in every leaf one of the classes, uniformly. So in a state without rows the weights of
    all models sum to 1.

    Weights are exact up to the rounding that `hedgerow.privacy.exponential_mechanism.Rounding` bounds, provided that
    `epsilon` has few enough digits for ``epsilon·errors`` to be exact.
    """
    log_stop, log_go = np.log(stop_probability), np.log1p(-stop_probability)

    def leaf(counts: Floats) -> Floats:
        most = counts.max(axis=0)
        shares = np.exp(epsilon * (counts - most)).sum(axis=0) / len(counts)
        return np.log(shares) - epsilon * (counts.sum(axis=0) - most)

    def plus(stop: Floats, options: Floats, times: Floats) -> Floats:
        most = np.maximum(stop, options.max(axis=1, initial=-np.inf))
        return most + np.log(np.exp(stop - most) + np.exp(options - most[:, None]) @ times)

    return Semiring(
        leaf=leaf,
        plus=plus,
        zero=-np.inf,
        per_row=-epsilon,
        spread=lambda differences: epsilon * differences / 2 + np.log((1 + np.exp(-epsilon * differences)) / 2),
        stop=lambda n_open: np.where(n_open > 0, log_stop, 0.0),
        go=lambda n_open: log_go - np.log(np.maximum(n_open, 1)),
    )


def looked_up(function: Callable[[Floats], Floats], total: Floats) -> Callable[[Floats], Floats]:
    """Return a function of differences of two classes, even in them, as a table of its values where that is small."""
    size = int(total.sum()) + 1
    if len(total) != 2 or size > _MOST_TABULATED:
        return lambda differences: function(np.abs(differences).astype(np.float64))
    values = function(np.arange(size, dtype=np.float64))
    return lambda differences: values.take(np.abs(differences).astype(np.intp))
