"""Values of states of two classes with one choice left, from differences of counts.

The two leaves that an option makes weigh as much as two other numbers of rows, one of them the same for all options:

    spread(a) ⊗ spread(b)  =  half ⊗ (spread(a + b) ⊕ spread(a − b))

where `a` and `b` are how many more rows of the first class each leaf has, so that ``a + b`` is that of the state. It is
``cosh x · cosh y = ½ (cosh(x + y) + cosh(x − y))``, and ``|a| + |b| = max(|a + b|, |a − b|)`` for the fewest errors. So
an option costs one weight to be looked up, and all that is alike is added once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.search.semirings import Floats, Semiring

CLOSED = -1
"""The difference of an option that cannot be taken."""
_MOST_TABULATED = 2**20  # differences whose weight is looked up
_BLOCK_NUMBERS = 2**16  # of a block of states and their options: fits in the cache


class LastChoice:
    """The weights of the last choices over one table: exact, private."""

    def __init__(self, semiring: Semiring, spread: Callable[[NDArray[Any]], Floats]) -> None:
        self._semiring, self._spread = semiring, spread

    @classmethod
    def of(cls, semiring: Semiring, total: Floats) -> Self | None:
        """Return the weights over a table; None where differences are not enough."""
        if semiring.spread is None or len(total) != 2:
            return None
        return cls(semiring, looked_up(semiring.spread, total, semiring.zero))

    def values(
        self, totals: Floats, n_open: NDArray[np.intp], differences: NDArray[np.floating], times: Floats
    ) -> Floats:
        """Return the values of some states, shape ``(n,)``."""
        semiring, options = self._semiring, differences.reshape(len(n_open), -1)
        alike = np.where(n_open > 0, semiring.go(np.ones_like(n_open)) + semiring.half, semiring.zero)
        stop = semiring.leaf(totals) + semiring.plus(semiring.stop(n_open), alike[:, None], np.ones(1))
        each = semiring.per_row / 2 * totals.sum(axis=0) + (semiring.go(n_open) + semiring.half)
        value, step = stop - each, max(1, _BLOCK_NUMBERS // max(1, len(times)))
        for start in range(0, len(value), step):
            block = slice(start, start + step)
            value[block] = semiring.plus(value[block], self._spread(options[block]), times)
        return value + each


def looked_up(function: Callable[[Floats], Floats], total: Floats, zero: float) -> Callable[[NDArray[Any]], Floats]:
    """Return a function of differences as a table of its values where that is small; `zero` for `CLOSED`."""
    size = int(total.sum()) + 1
    if size > _MOST_TABULATED:
        return lambda differences: np.where(differences < 0, zero, function(differences.astype(np.float64)))
    values = np.append(function(np.arange(size, dtype=np.float64)), zero)  # -1 is the last one
    return lambda differences: values.take(differences.astype(np.intp))
