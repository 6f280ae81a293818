"""Semirings of the recursion over models: least loss (min, +) and total weight (Σ, ×).

The semiring product ⊗ is always addition, because weights are represented by losses or by logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.learn.search.losses import BLOCK, LeafLoss, Loss, errors
from hedgerow.privacy.exponential_mechanism import NEAR, Choose, weight_digits
from hedgerow.privacy.stop_prior import StopPrior

_LEAST_LOG = -700.0
CLOSED = -1  # the difference of an option that cannot be taken
_MOST_TABULATED = 2**20  # largest size of a lookup table by difference
_BLOCK_NUMBERS = 2**16  # states times options in a block, so that it fits in the cache


@dataclass(frozen=True)
class Semiring:
    """Operations that combine the weights of leaves into the weight of all models below a state."""

    # The weight of a leaf, shape ``(...)``, from class counts, shape ``(n_classes, ...)``
    leaf: Callable[[Floats], Floats]
    # The weight of a state, shape ``(n,)``, from the weights of stopping, shape ``(n,)``, the weights of options, shape
    # ``(n, m)``, and the multiplicities of options, shape ``(m,)``
    plus: Callable[[Floats, Floats, Floats], Floats]
    zero: float  # the weight of an option that cannot be taken
    # With two classes, the weight of a leaf with n rows and a difference d of the class counts is
    # ``per_row·n/2 + spread(d)``. `spread` is None if the weight does not have this form.
    per_row: float
    spread: Callable[[Floats], Floats] | None
    # A function, made for the number of rows of a table. It maps differences, shape ``(n, m)``, and multiplicities,
    # shape ``(m,)``, to ⊕ over the spreads, shape ``(n,)``.
    spreads: Callable[[int], Callable[[Array, Floats], Floats]]
    half: float  # the weight with ``spread(a) ⊗ spread(b) = half ⊗ (spread(a + b) ⊕ spread(a − b))``
    # The weights of stopping and of taking an open option, from the number of open options, shape ``(n,)``, and the
    # depth of the states below the root of the search
    stop: Callable[[Index, int], Floats]
    go: Callable[[Index, int], Floats]
    kind: type = np.float64  # the type of weights
    is_least: bool = False  # whether ⊕ is the minimum, so that repeated or useless options do not change it


def least_loss(penalty: float, loss: LeafLoss | None = None) -> Semiring:
    """Return (min, +), for the least loss in rows plus `penalty` rows for each rule or split."""
    has_labels = loss is None or loss.is_errors
    return Semiring(
        leaf=errors if loss is None else loss.least,
        plus=lambda stop, options, times: np.minimum(stop, options.min(axis=1, initial=np.inf)),  # noqa: ARG005
        zero=np.inf,
        per_row=1.0,
        spread=(lambda differences: differences / -2) if has_labels else None,
        spreads=lambda rows: _largest,  # noqa: ARG005
        half=0.0,
        stop=lambda n_open, depth: np.zeros(np.shape(n_open)),  # noqa: ARG005
        go=lambda n_open, depth: np.full(np.shape(n_open), penalty),  # noqa: ARG005
        is_least=True,
    )


def all_models(epsilon: float, prior: StopPrior, loss: Loss | None = None) -> Semiring:
    """Return (Σ, ×) in natural logarithms: the weights ``prior(model)·exp(−epsilon·loss(model))`` of all models.

    The prior is a probability distribution over models. At each position with open options, it stops with the
    probability that `prior` has for the depth; otherwise it takes an open option uniformly at random. The value of each
    leaf is uniform over the values of the loss. So in a state without rows, the weights of all models sum to 1. Weights
    are exact up to the rounding that `Rounding` bounds, if `epsilon` has few enough digits for ``epsilon·loss`` to be
    exact.
    """

    def by_errors(counts: Floats) -> Floats:
        most = counts.max(axis=0)
        shares = _exp(epsilon * (counts - most)).sum(axis=0) / len(counts)
        return np.log(shares) - epsilon * (counts.sum(axis=0) - most)

    def plus(stop: Floats, options: Floats, times: Floats) -> Floats:
        most = np.maximum(stop, options.max(axis=1, initial=-np.inf))
        return most + np.log(np.exp(stop - most) + _exp(options - most[:, None]) @ times)

    def spread(differences: Floats) -> Floats:
        return epsilon * differences / 2 + np.log((1 + np.exp(-epsilon * differences)) / 2)

    return Semiring(
        leaf=by_errors if loss is None else _by_loss(loss, epsilon / loss.steps),
        plus=plus,
        zero=-np.inf,
        per_row=-epsilon,
        spread=spread if loss is None else None,
        spreads=lambda rows: SumOfSpreads(epsilon / 2, rows),
        half=float(np.log(0.5)),
        stop=lambda n_open, depth: np.where(n_open > 0, prior.log_stop(depth), 0.0),
        go=lambda n_open, depth: prior.log_go(depth) - np.log(np.maximum(n_open, 1)),
    )


def all_models_of_many_rows(epsilon: float, prior: StopPrior, loss: Loss) -> Semiring:
    """Return the semiring (Σ, ×) of `all_models` for tables too large for accurate float64 logarithms of weights.

    A weight ``exp(−unit·m + r)`` is represented by the complex number ``m + r·i``. The real part is the exact least
    loss in steps. The imaginary part is a logarithm that does not grow with the number of rows. ⊗ is still addition.
    """
    unit, base = epsilon / loss.steps, all_models(epsilon, prior)

    def leaf(counts: Floats) -> Any:
        flat = counts.reshape(len(counts), -1)
        weights = np.empty(flat.shape[1], dtype=np.complex128)
        for start in range(0, len(weights), BLOCK):
            losses = loss.totals(flat[:, start : start + BLOCK])
            least = losses.min(axis=0)
            shares = _exp(-unit * (losses - least)).sum(axis=0) / len(losses)
            weights[start : start + BLOCK] = least + 1j * np.log(shares)
        return weights.reshape(counts.shape[1:])

    def plus(stop: Floats, options: Floats, times: Floats) -> Any:
        least = np.minimum(stop.real, options.real.min(axis=1, initial=np.inf))
        stopped = stop.imag - unit * (stop.real - least)
        taken = options.imag - unit * (options.real - least[:, None])
        return least + 1j * base.plus(stopped, taken, times)

    return replace(
        base,
        leaf=leaf,
        plus=plus,
        zero=complex(np.inf),
        spread=None,
        stop=lambda n_open, depth: np.multiply(1j, base.stop(n_open, depth)),
        go=lambda n_open, depth: np.multiply(1j, base.go(n_open, depth)),
        kind=np.complex128,
    )


def choice_of_many_rows(choose: Choose, epsilon: float, steps: int) -> Callable[[Floats], int]:
    """Return a draw by weights of `all_models_of_many_rows`, in integers that represent loss differences exactly."""
    digits = weight_digits(steps)
    share, exponent = math.frexp(epsilon / steps)
    whole, places = int(math.ldexp(share, digits)), digits - exponent  # the weight of a step is ``whole·2^−places``

    def draw(weights: Floats) -> int:
        excess = (weights.real - weights.real.min()).astype(np.int64)
        finer = min(62 - (whole * max(int(excess.max()), 1)).bit_length(), 45 - places)
        logs = np.rint(np.ldexp(weights.imag, places + finer)).astype(np.int64)
        return choose(logs - excess * (whole << finer), 2.0 ** (places + finer))

    return draw


def _by_loss(loss: Loss, unit: float) -> Callable[[Floats], Floats]:
    """Return the function for leaf weights, the log of the mean over values of ``exp(−unit·loss in steps)``."""

    def leaf(counts: Floats) -> Floats:
        flat = counts.reshape(len(counts), -1)
        weights = np.empty(flat.shape[1])
        for start in range(0, len(weights), BLOCK):
            losses = loss.totals(flat[:, start : start + BLOCK])
            least = losses.min(axis=0)
            losses -= least
            losses *= -unit
            shares = _exp(losses).sum(axis=0) / len(losses)
            weights[start : start + BLOCK] = np.log(shares) - unit * least
        return weights.reshape(counts.shape[1:])

    return leaf


def _exp(shares: Floats) -> Floats:
    """Return exponentials in place; for speed, results below e⁻⁷⁰⁰, negligible next to 1, become e⁻⁷⁰⁰."""
    np.maximum(shares, _LEAST_LOG, out=shares)
    return np.exp(shares, out=shares)


class LastChoice:
    """The exact, private weights of the last choices over one table, from differences of two classes' counts.

    The weight of an option's two leaves follows from two other differences. The first is the same for all options:

        spread(a) ⊗ spread(b)  =  half ⊗ (spread(a + b) ⊕ spread(a − b))

    `a` and `b` are the differences between the counts of the first and the second class in each leaf. For total weights
    this follows from ``cosh x · cosh y = ½ (cosh(x + y) + cosh(x − y))``. For the least errors it follows from
    ``|a| + |b| = max(|a + b|, |a − b|)``. The common term ``a + b`` is the difference of the state, whose leaf has the
    weight ``per_row·n/2 ⊗ spread(a + b)``, too. So it is added once for each state, with a factor that depends on the
    number of open options only.
    """

    def __init__(self, semiring: Semiring, rows: int, depth: int) -> None:
        self.spreads, self._semiring, self._depth = semiring.spreads(rows), semiring, depth
        self._factors = np.empty((2, 0))  # by the number of open options: of the state's spread, and of all spreads
        assert semiring.spread is not None
        spread = self._spread = semiring.spread
        if rows < _MOST_TABULATED:
            table = spread(np.arange(rows + 1.0))
            self._spread = lambda differences: table.take(differences.astype(np.intp))

    @classmethod
    def of(cls, semiring: Semiring, total: Floats, depth: int) -> Self | None:
        """Return the weights over a table for states at a depth, or None if differences do not suffice."""
        return None if semiring.spread is None or len(total) != 2 else cls(semiring, int(total.sum()), depth)

    @property
    def has_loops(self) -> bool:
        """Whether compiled loops compute the spreads; sums of weights need a table."""
        return not isinstance(self.spreads, SumOfSpreads) or self.spreads.table is not None

    def values(self, totals: Floats, n_open: Index, differences: NDArray[np.floating], times: Floats) -> Floats:
        """Return the values of states, shape ``(n,)``."""
        options, step = differences.reshape(len(n_open), len(times)), max(1, _BLOCK_NUMBERS // max(1, len(times)))

        sums = np.empty(len(n_open))
        for start in range(0, len(sums), step):
            sums[start : start + step] = self.spreads(options[start : start + step], times)
        return self.combine(totals, n_open, sums)

    def combine(self, totals: Floats, n_open: Index, spreads: Floats) -> Floats:
        """Return the values of states from ⊕ over the spreads of their options."""
        semiring, (own, common) = self._semiring, self._of_open(int(n_open.max(initial=0)))
        alike = own.take(n_open) + self._spread(np.abs(totals[0] - totals[1]))
        of_all = semiring.plus(alike, spreads[:, None], np.ones(1))
        return of_all + (semiring.per_row / 2 * totals.sum(axis=0) + common.take(n_open))

    def _of_open(self, most: int) -> Floats:
        if self._factors.shape[1] <= most:
            semiring, n_open = self._semiring, np.arange(2 * most + 1)
            alike = np.where(n_open > 0, semiring.go(np.ones_like(n_open), self._depth) + semiring.half, semiring.zero)
            stop = semiring.plus(semiring.stop(n_open, self._depth), alike[:, None], np.ones(1))
            factors = semiring.go(n_open, self._depth) + semiring.half
            self._factors = np.stack([stop - factors, factors])
        return self._factors


def _largest(differences: Array, times: Floats) -> Floats:  # noqa: ARG001 -- multiplicities do not change a minimum
    most = differences.max(axis=1, initial=CLOSED).astype(np.float64)
    return np.where(most < 0, np.inf, most / -2)


class SumOfSpreads:
    """Logarithms of sums of ``cosh(unit·difference)``."""

    # If D is the largest difference of a state, its sum is computed times e^(−unit·D). If D is near, the weight of a
    # difference d is cosh(unit·d), and the sum is scaled; otherwise, the weight is ½·e^(−unit·(D − d)), because the
    # other half of cosh is negligible. So each weight is one number of a small table. If D is
    # near, `CLOSED` has the first number, 0; otherwise, its weight is below e⁻⁶⁴, which is negligible, too.
    def __init__(self, unit: float, rows: int) -> None:
        # Both halves of cosh are added up to this difference: e⁻⁶⁴ is far below the rounding of a sum.
        self.unit, self.near, self.table = unit, int(min(rows, NEAR / unit)), None
        far = int(min(rows, -_LEAST_LOG / unit)) + 1
        if self.near + far < _MOST_TABULATED:
            near, far = np.arange(self.near + 1.0), np.arange(far + 0.0)
            cosh = (np.exp(unit * near) + np.exp(-unit * near)) / 2
            self.table = np.concatenate([[0], cosh, self._fall(far) / 2, [0]])

    def __call__(self, differences: Array, times: Floats) -> Floats:
        """Return logarithms of sums over options."""
        most = differences.max(axis=1, initial=CLOSED).astype(np.intp)
        if self.table is None:
            return self.logarithms(self._weights(differences.astype(np.float64), most[:, None]) @ times, most)
        places, is_near = differences.astype(np.intp), most <= self.near
        places *= np.where(is_near, 1, -1)[:, None]
        places += np.where(is_near, 1, most + (self.near + 2))[:, None]
        sums = self.table.take(places, mode="clip") @ times
        sums *= np.where(is_near, 2 * self.table.take(most + (self.near + 2), mode="clip"), 1.0)
        return self.logarithms(sums, most)

    def logarithms(self, sums: Floats, most: Array) -> Floats:
        """Return the logarithms of sums that were divided by ``e^(unit·most)``."""
        with np.errstate(divide="ignore"):  # all options of a state can be closed
            return np.log(sums) + self.unit * most

    def _weights(self, differences: Floats, most: Array) -> Floats:
        weights = (self._fall(most - differences) + self._fall(most + differences)) / 2
        return np.where(differences < 0, 0.0, weights)

    def _fall(self, steps: Floats) -> Floats:
        exponents = -self.unit * steps
        return np.where(exponents < _LEAST_LOG, 0.0, np.exp(np.maximum(exponents, _LEAST_LOG)))
