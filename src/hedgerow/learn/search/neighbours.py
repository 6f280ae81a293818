"""Lower bounds on the best tree by a first test, from the best trees by neighbouring thresholds."""

from __future__ import annotations

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Mask

_MOST_SKIPPED = 16  # thresholds of an attribute that the first round leaves out between two thresholds
_LEAST_RUN = 8  # thresholds for which rounds pay


class Neighbours:
    """Runs of tests such as thresholds: each test catches all rows that the test before it catches.

    Let v be the least errors, plus penalties, of trees up to a depth. Let a test catch the rows A, and a later test of
    the run the rows A and M, and leave the rows B, so that the first test leaves B and M. If leaves need only one row,

    - v(A) ≤ v(A and M): the best tree of A and M is a tree of A, with at most as many errors. Tests that do not divide
      A are dropped, which costs no penalty (subset bound);
    - v(B and M) ≤ v(B) + |M|: the best tree of B is a tree of B and M, which errs on at most |M| more rows
      (similarity bound).

    So v(A and M) + v(B) is at least v(A) + v(B and M) − |M|, and likewise with both tests exchanged. If leaves need
    more rows, a dropped test may leave too few rows in a leaf, so the bounds are not used.
    """

    def __init__(self, caught: Mask) -> None:
        """Find the runs of tests by the patterns that each test catches, shape ``(n_patterns, n_tests)``."""
        n_tests = caught.shape[1]
        begins = np.flatnonzero((caught[:, :-1] & ~caught[:, 1:]).any(axis=0)) + 1
        starts = np.concatenate([[0], begins]).astype(np.intp)
        lengths = np.diff(np.append(starts, n_tests))
        self._runs = [
            slice(start, start + n) for start, n in zip(starts.tolist(), lengths.tolist(), strict=True) if n > 1
        ]
        self._places = np.arange(n_tests) - np.repeat(starts, lengths)
        self._longest = int(lengths.max(initial=0))

    def rounds(self) -> list[Index]:
        """Return the tests in rounds: first few of each run, then those between them."""
        steps = [1]
        while 2 * steps[-1] <= _MOST_SKIPPED and _LEAST_RUN * steps[-1] < self._longest:
            steps.append(2 * steps[-1])
        rounds, done = list[Index](), np.zeros(len(self._places), dtype=bool)
        for step in reversed(steps):
            chosen = (self._places % step == 0) & ~done
            rounds.append(np.flatnonzero(chosen))
            done |= chosen
        return rounds

    def bounds(self, totals: Floats, sizes: Floats) -> Floats:
        """Return lower bounds on the objectives by each first test, shape ``(n_states, n_tests)``.

        `totals` are lower bounds, or −∞, and `sizes` the rows that each test catches.
        """
        bounds = totals.copy()
        for run in self._runs:
            part, size = totals[:, run], sizes[:, run]
            before = np.maximum.accumulate(part + size, axis=1) - size
            after = np.maximum.accumulate((part - size)[:, ::-1], axis=1)[:, ::-1] + size
            np.maximum(before, after, out=bounds[:, run])
        return bounds
