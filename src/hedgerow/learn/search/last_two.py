"""The last two choices of many trees at once, from the numbers of rows that pairs of tests both catch.

With two choices left, the value of a state is a minimum over its first tests. The cost of a first test is the sum of
the values of both branches with one choice left. The counts in the leaves follow from the rows that each test catches
and the rows that both tests catch. So the branches are not stored as states, and each pair of tests is counted once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index, Mask
from hedgerow.learn.search.lattice import PatternMatrix, enough
from hedgerow.learn.search.losses import errors
from hedgerow.learn.search.space import CAUGHT, product

_BLOCK_NUMBERS = 2**15  # states times tests in a block, so that several tables of one class fit in the cache
_BLOCK_PATTERNS = 2**24  # states times patterns in a block


@dataclass(frozen=True, eq=False)
class LastTwo:
    """The least errors of states with two choices left, plus `penalty` rows for each choice."""

    rows: PatternMatrix
    penalty: float
    min_rows: int  # the minimum for every leaf, at least 1

    @classmethod
    def of(cls, rows: PatternMatrix, depth: int, penalty: float, min_rows: float) -> Self | None:
        """Return the last two choices of a search, or None unless it is for trees by errors with depth > 1."""
        fits = depth > 1 and CAUGHT in rows.space.branches and rows.loss.is_errors
        return cls(rows, penalty, max(ceil(min_rows), 1)) if fits else None

    def blocks(self, sizes: Floats, rarest: Index) -> Iterator[Index]:
        """Yield the indices of states in blocks, from their numbers of rows and the rarest side of each."""
        # States with the same rarest side and similar sizes share a block, so the block has few patterns and tests.
        order = np.lexsort([sizes, rarest])
        n_options, n_patterns = max(self.rows.space.n_options, 1), max(len(self.rows), 1)
        step = max(1, min(_BLOCK_NUMBERS // n_options, _BLOCK_PATTERNS // n_patterns))
        for start in range(0, len(order), step):
            yield order[start : start + step]

    def values(self, live: Mask) -> Floats:
        """Return the values of states from their patterns, shape ``(n_states, n_patterns)``."""
        caught, total = self.rows.counts(live)
        left = total[:, :, None] - caught
        allowed = enough(self.min_rows, caught, left, self.rows.space)
        tests = np.flatnonzero(allowed.any(axis=0))
        # A test and its complement divide rows alike, so the smaller part is counted. Tests with the smallest parts
        # come first, because the first tests are paired with the most tests.
        caught_size, left_size = (part[..., tests].sum(axis=(0, 1)) for part in (caught, left))
        order = np.argsort(np.minimum(caught_size, left_size), kind="stable")
        tests, flipped = tests[order], (left_size < caught_size)[order]
        counts = np.where(flipped, left[..., tests], caught[..., tests]).transpose(0, 2, 1)
        further = _further(counts, total, self.rows.by_class(live, tests, flipped), self.min_rows)
        stop = errors(counts), errors(total[:, None] - counts)
        both = sum(np.minimum(leaf, more + self.penalty) for leaf, more in zip(stop, further, strict=True))
        first = np.where(allowed[:, tests].T, both, np.inf).min(axis=0, initial=np.inf)
        return np.minimum(errors(total), first + self.penalty)


def _further(counts: Floats, total: Floats, tables: list[tuple[Array, Array]], min_rows: int) -> tuple[Array, Array]:
    """Return the least errors of both parts of each first test after a second test, shape ``(n_tests, n)``."""
    # Unsigned integers with a spare bit, which is set if a leaf has too few rows: a difference below 0 sets it, too.
    most = int(total.sum(axis=0).max(initial=0)) + min_rows
    bits = next(bits for bits in (16, 32, 64) if most < 2 ** (bits - 2))
    kind, missing = np.dtype(f"u{bits // 8}"), 2 ** (bits - 2)
    counts, total = counts.astype(kind), total.astype(kind)
    caught, left = (np.full(counts.shape[1:], missing, dtype=kind) for _ in range(2))
    for first in range(counts.shape[1] - 1):
        later = slice(first + 1, None)
        both = np.stack([_both(tests, rows, first) for tests, rows in tables], dtype=kind, casting="unsafe")
        first_only, second_only = counts[:, first, None] - both, counts[:, later] - both
        neither = (total - counts[:, first])[:, None] - second_only
        leaves = [errors(part) for part in (both, first_only, second_only, neither)]
        if min_rows > 1:  # with a minimum of 1 row, no check is needed: a test with an empty leaf saves no errors
            for leaf, part in zip(leaves, (both, first_only, second_only, neither), strict=True):
                leaf |= (part.sum(axis=0, dtype=kind) - min_rows) & missing
        in_both, in_first, in_second, in_neither = leaves
        np.minimum(caught[first], (in_both + in_first).min(axis=0), out=caught[first])
        np.minimum(caught[later], in_both + in_second, out=caught[later])
        np.minimum(left[first], (in_second + in_neither).min(axis=0), out=left[first])
        np.minimum(left[later], in_first + in_neither, out=left[later])
    return caught, left


def _both(tests: Array, rows: Array, first: int) -> Array:
    """Return the number of rows that a test and each later test both catch, shape ``(n_later, n)``."""
    here = np.flatnonzero(tests[:, first])
    return product(tests[here, first + 1 :].T, rows[here])
