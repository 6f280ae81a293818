"""The last two choices of many trees at once, from the rows that each two tests both catch.

With two choices left, the value of a state is the least over its first tests of what both branches then cost with one
choice left. All four leaves of two tests follow from the rows that both catch and those that each one catches; so
neither branch becomes a state of its own, and each two tests are counted once, whichever comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Self

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index, Mask, Whole
from hedgerow.learn.search.lattice import PatternMatrix, enough
from hedgerow.learn.search.losses import errors
from hedgerow.learn.search.space import CAUGHT, product

_BLOCK_NUMBERS = 2**15  # of each class, of one test with all others: several such tables fit in the cache
_BLOCK_PATTERNS = 2**24  # of all states of a block


@dataclass(frozen=True, eq=False)
class LastTwo:
    """The fewest errors of states with two choices left, each choice counting for `penalty` rows more."""

    rows: PatternMatrix
    penalty: float
    min_rows: int  # of every leaf, at least 1

    @classmethod
    def of(cls, rows: PatternMatrix, depth: int, penalty: float, min_rows: float) -> Self | None:
        """Return the last two choices of a search; None where it is of lists, by another loss or less deep."""
        fits = depth > 1 and CAUGHT in rows.space.branches and rows.loss.is_errors
        return cls(rows, penalty, max(ceil(min_rows), 1)) if fits else None

    def values(self, states: Whole, report: Callable[[int], object]) -> Floats:
        """Return the values of the states, and report how many are done."""
        found, done = np.empty(len(states)), 0
        for block in self._blocks(states):
            found[block] = self._values(self.rows.on(states[block]))
            done += len(block)
            report(done)
        return found

    def _blocks(self, states: Whole) -> Iterator[Index]:
        # States that share their rarest side, and are alike in size, go together: few patterns and tests count.
        sizes, rarest = np.empty(len(states)), np.zeros(len(states))
        for block in self.rows.blocks(len(states)):
            sizes[block] = self.rows.totals(self.rows.on(states[block])).sum(axis=0)
        if states.shape[1]:
            rarest = states[np.arange(len(states)), self.rows.side_sizes[states].argmin(axis=1)]
        order = np.lexsort([sizes, rarest])
        n_options, n_patterns = max(self.rows.space.n_options, 1), max(len(self.rows), 1)
        step = max(1, min(_BLOCK_NUMBERS // n_options, _BLOCK_PATTERNS // n_patterns))
        for start in range(0, len(states), step):
            yield order[start : start + step]

    def _values(self, live: Mask) -> Floats:
        caught, total = self.rows.counts(live)
        left = total[:, :, None] - caught
        allowed = enough(self.min_rows, caught, left, self.rows.space)
        tests = np.flatnonzero(allowed.any(axis=0))
        # Of complements, which divide rows alike, the smaller is counted; the smallest have the most partners.
        size, rest = (part[..., tests].sum(axis=(0, 1)) for part in (caught, left))
        order = np.argsort(np.minimum(size, rest), kind="stable")
        tests, flipped = tests[order], (rest < size)[order]
        one = np.where(flipped, left[..., tests], caught[..., tests]).transpose(0, 2, 1)
        further = _further(one, total, self.rows.by_class(live, tests, flipped), self.min_rows)
        stop = errors(one), errors(total[:, None] - one)
        both = sum(np.minimum(leaf, more + self.penalty) for leaf, more in zip(stop, further, strict=True))
        first = np.where(allowed[:, tests].T, both, np.inf).min(axis=0, initial=np.inf)
        return np.minimum(errors(total), first + self.penalty)


def _further(one: Floats, total: Floats, tables: list[tuple[Array, Array]], min_rows: int) -> tuple[Array, Array]:
    """Return the fewest errors with a second test, of what each first one catches and leaves: ``(n_tests, n)``."""
    # Whole numbers with a bit to spare: it is set where rows are missing, also by a difference below 0.
    most = int(total.sum(axis=0).max(initial=0)) + min_rows
    bits = next(bits for bits in (16, 32, 64) if most < 2 ** (bits - 2))
    kind, missing = np.dtype(f"u{bits // 8}"), 2 ** (bits - 2)
    one, total = one.astype(kind), total.astype(kind)
    caught, left = (np.full(one.shape[1:], missing, dtype=kind) for _ in range(2))
    for first in range(one.shape[1] - 1):
        rest = slice(first + 1, None)
        both = np.stack([_both(tests, rows, first) for tests, rows in tables], dtype=kind, casting="unsafe")
        only, other = one[:, first, None] - both, one[:, rest] - both
        none = (total - one[:, first])[:, None] - other
        leaves = [errors(part) for part in (both, only, other, none)]
        if min_rows > 1:  # a test that makes an empty leaf saves nothing
            for leaf, part in zip(leaves, (both, only, other, none), strict=True):
                leaf |= (part.sum(axis=0, dtype=kind) - min_rows) & missing
        in_both, in_only, in_other, in_none = leaves
        np.minimum(caught[first], (in_both + in_only).min(axis=0), out=caught[first])
        np.minimum(caught[rest], in_both + in_other, out=caught[rest])
        np.minimum(left[first], (in_other + in_none).min(axis=0), out=left[first])
        np.minimum(left[rest], in_only + in_none, out=left[rest])
    return caught, left


def _both(tests: Array, rows: Array, first: int) -> Array:
    """Return the rows that a test and each later one both catch, by state: shape ``(n_later, n)``."""
    here = np.flatnonzero(tests[:, first])
    return product(tests[here, first + 1 :].T, rows[here])
