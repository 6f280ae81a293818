"""Gini impurity of splits in exact integers: a monotone score of known sensitivity (docs/mathematics.md, fact 1)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from hedgerow.boundary.arrays import Integers, Whole
from hedgerow.errors import TooManyRowsError

RESOLUTION = 2**20  # steps of impurity per row: public, a power of two, the same for every table
SENSITIVITY = 2 * RESOLUTION  # the largest increase of a score by an added row, in steps; no score decreases
MOST_ROWS = 2**43  # from this number of rows on, impurities in steps may not fit into 64 bits
_LARGEST_INT64_TOTAL = 3_037_000_499  # the largest n with n² < 2⁶³


# There are three more implementations of f: fractions for ties (exact_choice), float64 for ranks (a beam), and SSRL's.
def impurity(counts: Whole) -> Integers:
    """Return the unnormalised Gini impurity of class counts, in steps of 1/`RESOLUTION` row, rounded down.

    ``f(n_1, …, n_k) = n − Σ n_k²/n`` with ``n = Σ n_k``, and 0 if n is 0. The computation is in exact integers, so the
    proof for real numbers also holds for the released values. Adding a row never lowers f and raises it by less than 2
    (for two classes ``f(p+1,q) − f(p,q) = 2q²/((p+q)(p+q+1))``). Rounding down to a multiple of a fixed step preserves
    both properties, because ``⌊x⌋ ≤ ⌊y⌋ ≤ ⌊x⌋ + 2·RESOLUTION`` if ``x ≤ y < x + 2·RESOLUTION``.
    """
    largest = int(counts.sum(axis=-1).max(initial=0))
    if largest >= MOST_ROWS:
        raise TooManyRowsError("a choice by Gini impurity needs a table of fewer than 2^43 rows; this one has more.")
    rows = counts.reshape(-1, counts.shape[-1]).astype(np.int64 if largest <= _LARGEST_INT64_TOTAL else object)
    n = rows.sum(axis=1)
    numerator, n = n * n - (rows * rows).sum(axis=1), np.maximum(n, 1)
    steps = numerator // n * RESOLUTION + numerator % n * RESOLUTION // n
    return steps.astype(np.int64).reshape(counts.shape[:-1])


def split_scores(caught: Whole, total: Whole) -> Integers:
    """Return the score ``U(r) = f(caught) + f(left)`` of every candidate and, last, ``f(total)`` for stopping."""
    # Smaller is better. An added row is either among the caught or among the left rows. U is therefore monotone with
    # sensitivity `SENSITIVITY`, for any support (docs/mathematics.md, fact 1).
    return np.append(impurity(caught) + impurity(total - caught), impurity(total))


@dataclass(frozen=True)
class Gini:
    """The score of a greedy search by Gini impurity."""

    sensitivity: ClassVar[int] = SENSITIVITY

    def split_scores(self, caught: Whole, total: Whole) -> Integers:
        return split_scores(caught, total)
