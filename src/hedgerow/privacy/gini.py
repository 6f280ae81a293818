"""Gini impurity of splits in exact integers: monotone, with a known sensitivity (docs/mathematics.md, fact 1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hedgerow.boundary.arrays import Integers, Whole
from hedgerow.errors import TooManyRowsError

RESOLUTION = 2**20  # steps per row in which impurities are measured: public, a power of two, the same for every table
SENSITIVITY = 2 * RESOLUTION  # by how much one added row can raise a score, in steps; it never lowers one
MOST_ROWS = 2**43  # of as many rows or more, impurities in steps may not fit in 64 bits: they are refused
_LARGEST_INT64_TOTAL = 3_037_000_499  # the largest n with n² < 2⁶³


# f stands thrice more: as a fraction for ties (exact_choice), as float64 to rank (a beam), and as SSRL published it.
def impurity(counts: Whole) -> Integers:
    """Return the unnormalised Gini impurity of class counts, in steps of 1/`RESOLUTION` row, rounded down.

    ``f(n_1, …, n_k) = n − Σ n_k²/n`` with ``n = Σ n_k``; 0 where n is 0. In exact integers, so that the proof for real
    numbers holds for what is released: adding one row never lowers f and raises it by less than 2 (for two classes
    ``f(p+1,q) − f(p,q) = 2q²/((p+q)(p+q+1))``), and rounding down to a multiple of a fixed step keeps both, because
    ``⌊x⌋ ≤ ⌊y⌋ ≤ ⌊x⌋ + 2·RESOLUTION`` whenever ``x ≤ y < x + 2·RESOLUTION``.
    """
    largest = int(counts.sum(axis=-1).max(initial=0))
    if largest >= MOST_ROWS:
        raise TooManyRowsError("Expected fewer than 2^43 rows for choices by impurity, got 2^43 or more.")
    rows = counts.reshape(-1, counts.shape[-1]).astype(np.int64 if largest <= _LARGEST_INT64_TOTAL else object)
    n = rows.sum(axis=1)
    numerator, n = n * n - (rows * rows).sum(axis=1), np.maximum(n, 1)
    steps = numerator // n * RESOLUTION + numerator % n * RESOLUTION // n
    return steps.astype(np.int64).reshape(counts.shape[:-1])


def split_scores(caught: Whole, total: Whole) -> Integers:
    """Return ``U(r) = f(caught) + f(left)`` of every candidate, and last ``f(total)``, that of stopping, in steps."""
    # Smaller is better. One added row falls either among the caught or among the left, hence U is monotone with
    # sensitivity `SENSITIVITY`, for any support (docs/mathematics.md, fact 1).
    return np.append(impurity(caught) + impurity(total - caught), impurity(total))


@dataclass(frozen=True)
class Gini:
    """Gini impurity as the score of a greedy search."""

    sensitivity: ClassVar[int] = SENSITIVITY

    def split_scores(self, caught: Whole, total: Whole) -> Integers:
        return split_scores(caught, total)
