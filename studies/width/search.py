"""A prototype of the width draw's search: trees by errors beyond the optimum, by branch and bound. For the study only.

Of a node and the trees below it, a histogram says what share of the prior has each number of errors, up to a limit. The
limit at the root is err* + W; below a test, a side's is what the other side's least leaves of it. So a tree inside the
width is inside at every node, and what a bound puts beyond the limit is never looked at. The last two choices are
counted at once, by the contingency tables of all pairs of tests: a product of matrices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.tally import Tally

Floats = NDArray[np.float64]
_ROWS = 2**15  # of a product at a time


def smallest_prior(options: int, depth: int, stop: float, classes: int = 2) -> float:
    """Return a bound on the logarithm of the prior of any tree of a depth."""
    taken = 2**depth - 1
    return taken * math.log(min(1 - stop, stop * options) / options) - 2**depth * math.log(classes)


def width_of(options: int, depth: int, epsilon: float, stop: float = 0.1, beta: float = 2.0**-20) -> int:
    """Return the whole W from which on a draw at weight ε comes from the flat part with chance β at most."""
    return math.ceil((-smallest_prior(options, depth, stop) - math.log(beta)) / epsilon)


@dataclass(frozen=True)
class Histogram:
    """The shares of the prior that have `least`, `least` + 1, … errors, up to a limit."""

    least: int
    shares: Floats

    def plus(self, other: Histogram, limit: int) -> Histogram:
        least = self.least + other.least
        return Histogram(least, np.convolve(self.shares, other.shares)[: limit - least + 1])


@dataclass
class Pairs:
    """The rows of each class that each two tests both catch of some, shape ``(2, n, n)``, and all of them."""

    both: Floats
    total: Floats

    @property
    def sides(self) -> tuple[Floats, Floats]:
        """Of all rows on each test's side, by class, those that each test catches; ``(2, n, n)``."""
        caught = np.einsum("cii->ci", self.both)
        return self.both, caught[:, None, :] - self.both

    @property
    def totals(self) -> tuple[Floats, Floats]:
        """The rows by class on each test's side, shape ``(2, n)``."""
        caught = np.einsum("cii->ci", self.both)
        return caught, self.total[:, None] - caught


@dataclass
class Visits:
    """What a search looked at, by choices left: nodes, and those of them that hold a tree inside the width."""

    looked: dict[int, int] = field(default_factory=dict[int, int])
    inside: dict[int, int] = field(default_factory=dict[int, int])

    def add(self, left: int, looked: int, inside: int) -> None:
        self.looked[left] = self.looked.get(left, 0) + looked
        self.inside[left] = self.inside.get(left, 0) + inside


class WidthSearch:
    """Histograms of all trees of a depth over one table of two classes: exact, private."""

    def __init__(self, tally: Tally, space: Space, depth: int, stop: float = 0.1) -> None:
        caught, counts = tally.patterns(space.candidates)
        self._tests = np.ascontiguousarray(caught[:, space.options])
        self._counts = np.ascontiguousarray(counts.T, dtype=np.float32)
        self._space, self._depth, self._stop = space, depth, stop
        self.visits = Visits()
        self.known, self.exact = dict[frozenset[int], float](), set[frozenset[int]]()  # bounds of nodes, by their sides

    def equivalent_points(self, rows: NDArray[np.bool_]) -> tuple[Floats, float]:
        """Return the errors that no tree avoids on what each test catches, and on all rows: each pattern's least."""
        least = np.where(rows, self._counts.min(axis=0), 0)
        return (least @ self._tests).astype(np.float64), float(least.sum(dtype=np.float64))

    def similar(self, value: float, rows: Pairs, side: int, test: int) -> tuple[Floats, Floats]:
        """Return bounds from the least errors on one side: those of other sides, less the rows that they lack."""
        both, caught = rows.both.sum(axis=0), np.einsum("cii->i", rows.both)
        own, total = both[test], rows.total.sum()
        on_caught = own if side == CAUGHT else caught - own
        mine = caught[test] if side == CAUGHT else total - caught[test]
        return value - (mine - on_caught), value - on_caught

    def least(self) -> int:
        """Return err*: the errors of the best tree."""
        rows = np.ones(self._tests.shape[0], dtype=bool)
        return int(self._least((), rows, self._depth, self._quick(rows)))

    def histogram(self, limit: int) -> Histogram:
        result = self._below((), np.ones(self._tests.shape[0], dtype=bool), self._depth, limit)
        assert result is not None
        return result

    def pairs(self, rows: NDArray[np.bool_]) -> Pairs:
        """Return the contingency tables of all pairs of tests."""
        here, n = np.flatnonzero(rows), self._tests.shape[1]
        both, total = np.zeros((2, n, n)), np.zeros(2)
        for start in range(0, len(here), _ROWS):
            some = here[start : start + _ROWS]
            tests = self._tests[some].astype(np.float32)
            for label in (0, 1):
                weights = self._counts[label, some]
                both[label] += tests.T @ (tests * weights[:, None])
                total[label] += weights.sum(dtype=np.float64)
        return Pairs(both, total)

    def _open(self, path: tuple[int, ...], side: int) -> NDArray[np.bool_]:
        """Return which tests are open on a side of each test, below a path; shape ``(n, n)``."""
        states = np.array([[*path, item] for item in self._space.sides(side)])
        return self._space.open(states)

    def _root(self, path: tuple[int, ...]) -> NDArray[np.bool_]:
        return self._space.open(np.array([path], dtype=np.int64).reshape(1, -1))[0]

    def _child(self, path: tuple[int, ...], side: int, test: int) -> tuple[int, ...]:
        return (*path, int(self._space.sides(side)[test]))

    def _on(self, rows: NDArray[np.bool_], side: int, test: int) -> NDArray[np.bool_]:
        return rows & (self._tests[:, test] if side == CAUGHT else ~self._tests[:, test])

    def _quick(self, rows: NDArray[np.bool_]) -> float:
        """Return the errors of a tree that greedy choices find, each by the best two choices."""

        def grown(path: tuple[int, ...], rows: NDArray[np.bool_], left: int) -> float:
            pairs, is_open = self.pairs(rows), self._root(path)
            if not left or not is_open.any():
                return float(pairs.total.min())
            if left == 1:
                return float(_stumps(pairs)[is_open].min(initial=pairs.total.min()))
            values = np.where(is_open, sum(self._last(path, pairs)), np.inf)
            if left == 2 or min(pairs.total) == 0:
                return float(min(values.min(), pairs.total.min()))
            best = int(values.argmin())
            return sum(grown(self._child(path, s, best), self._on(rows, s, best), left - 1) for s in (CAUGHT, LEFT))

        return grown((), rows, self._depth)

    def _last(self, path: tuple[int, ...], pairs: Pairs) -> tuple[Floats, Floats]:
        """Return the least errors of one more choice on either side of each test, shape ``(n,)`` each."""
        result = []
        for side, caught, total in zip((CAUGHT, LEFT), pairs.sides, pairs.totals, strict=True):
            errors = caught.min(axis=0) + (total[:, :, None] - caught).min(axis=0)
            errors[~self._open(path, side)] = np.inf
            result.append(np.minimum(errors.min(axis=1), total.min(axis=0)))
        return result[0], result[1]

    def _bounds(self, path: tuple[int, ...], rows: NDArray[np.bool_]) -> dict[int, Floats]:
        """Return what the errors on either side of each test are at least, by patterns and by what was found before."""
        on_caught, whole = self.equivalent_points(rows)
        bounds = {CAUGHT: on_caught, LEFT: whole - on_caught}
        for side, bound in bounds.items():
            before = [self.known.get(frozenset(self._child(path, side, test)), 0.0) for test in range(len(bound))]
            np.maximum(bound, before, out=bound)
        return bounds

    def _sides(
        self, path: tuple[int, ...], rows: NDArray[np.bool_], left: int, test: int, bounds: dict[int, Floats],
        pairs: Pairs, limit: float,
    ) -> dict[int, float]:  # fmt: skip
        """Return the least errors on both sides of a test; where they exceed a limit together, bounds beyond it."""
        values = {side: float(bounds[side][test]) for side in bounds}
        for side, other in ((CAUGHT, LEFT), (LEFT, CAUGHT)):
            child = self._child(path, side, test)
            node = frozenset(child)
            if sum(values.values()) <= limit and node not in self.exact:
                most = limit - values[other]
                result = self._least(child, self._on(rows, side, test), left - 1, most)
                values[side] = self.known[node] = max(result, values[side])
                if left <= 3 or values[side] <= most:
                    self.exact.add(node)
                for raised, bound in zip((CAUGHT, LEFT), self.similar(values[side], pairs, side, test), strict=True):
                    np.maximum(bounds[raised], bound, out=bounds[raised])
        return values

    def _least(self, path: tuple[int, ...], rows: NDArray[np.bool_], left: int, known: float) -> float:
        """Return the least errors of a tree; of more than `known`, a bound above it."""
        pairs, is_open = self.pairs(rows), self._root(path)
        self.visits.add(left, 1, 0)
        best = float(pairs.total.min())
        if not left or not is_open.any():
            return best
        if left == 1:
            return float(_stumps(pairs)[is_open].min(initial=best))
        if left == 2:
            return float(min(best, np.where(is_open, sum(self._last(path, pairs)), np.inf).min()))
        bounds, beyond = self._bounds(path, rows), np.inf
        guesses = sum(self._last(path, pairs))
        for test in np.argsort(np.where(is_open, guesses, np.inf), kind="stable")[: is_open.sum()]:
            limit = min(known, best - 1)
            values = self._sides(path, rows, left, int(test), bounds, pairs, limit)
            if sum(values.values()) <= limit:
                best = sum(values.values())
            else:
                beyond = min(beyond, sum(values.values()))
        return best if best <= known else min(best, beyond)

    def _below(self, path: tuple[int, ...], rows: NDArray[np.bool_], left: int, limit: float) -> Histogram | None:
        """Return the histogram of a node up to a limit; None where all trees are beyond it."""
        pairs, is_open = self.pairs(rows), self._root(path)
        result, n_open = Sum(int(limit)), int(is_open.sum()) if left else 0
        if left == 1:
            caught, total = pairs.both[:, None].diagonal(0, 2, 3), pairs.total[:, None]
            return _last_histograms(caught, total, is_open[None], np.array([limit]), self._stop)[0]
        result.leaf(pairs.total, self._stop if n_open else 1.0)
        share = (1 - self._stop) / max(n_open, 1)
        if n_open and left == 2:
            self._two(path, pairs, is_open, share, result)
        elif n_open:
            self._deeper(path, rows, pairs, is_open, left, share, result)
        self.visits.add(left, 1, result.is_inside)
        return result.histogram

    def _two(self, path: tuple[int, ...], pairs: Pairs, is_open: NDArray[np.bool_], share: float, found: Sum) -> None:
        values = self._last(path, pairs)
        near = np.flatnonzero(is_open & (sum(values) <= found.limit))
        self.visits.add(1, 2 * int(is_open.sum()), 2 * len(near))
        parts = [
            _last_histograms(caught[:, near], total[:, near], self._open(path, side)[near], found.limit - other[near],
                             self._stop)
            for side, caught, total, other in zip((CAUGHT, LEFT), pairs.sides, pairs.totals, values[::-1], strict=True)
        ]  # fmt: skip
        for part, other in zip(*parts, strict=True):
            assert part is not None
            assert other is not None
            found.add(part.plus(other, found.limit), share)

    def _deeper(
        self, path: tuple[int, ...], rows: NDArray[np.bool_], pairs: Pairs, is_open: Any, left: int, share: float,
        found: Sum,
    ) -> None:  # fmt: skip
        bounds, limit = self._bounds(path, rows), found.limit
        guesses = sum(self._last(path, pairs))
        for test in np.argsort(np.where(is_open, guesses, np.inf), kind="stable")[: is_open.sum()]:
            values = self._sides(path, rows, left, int(test), bounds, pairs, limit)
            if sum(values.values()) <= limit:
                item, other = (
                    self._below(self._child(path, side, int(test)), self._on(rows, side, int(test)), left - 1,
                                limit - values[{CAUGHT: LEFT, LEFT: CAUGHT}[side]])
                    for side in (CAUGHT, LEFT)
                )  # fmt: skip
                assert item is not None
                assert other is not None
                found.add(item.plus(other, limit), share)


class Sum:
    """A sum of histograms up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self._parts = limit, list[tuple[Histogram, float]]()

    def add(self, part: Histogram | None, share: float = 1.0) -> None:
        if part is not None and part.least <= self.limit:
            self._parts.append((part, share))

    def leaf(self, total: Floats, share: float) -> None:
        for errors in total.tolist():
            self.add(Histogram(int(errors), np.array([0.5])), share)

    @property
    def is_inside(self) -> bool:
        return bool(self._parts)

    @property
    def histogram(self) -> Histogram | None:
        if not self._parts:
            return None
        least = min(part.least for part, _ in self._parts)
        shares = np.zeros(self.limit - least + 1)
        for part, share in self._parts:
            start = part.least - least
            stop = min(start + len(part.shares), len(shares))
            shares[start:stop] += share * part.shares[: stop - start]
        return Histogram(least, shares)


def _stumps(pairs: Pairs) -> Floats:
    """Return the least errors of each test with two leaves."""
    caught, left = pairs.totals
    return caught.min(axis=0) + left.min(axis=0)


def _last_histograms(
    caught: Floats, total: Floats, is_open: NDArray[np.bool_], limits: Floats, stop: float
) -> list[Histogram | None]:
    """Return the histograms of several nodes with one choice left, from what each test catches, ``(2, nodes, n)``."""
    rest = total[:, :, None] - caught
    n_open = is_open.sum(axis=1)
    errors = np.concatenate([item + other for item in caught for other in rest], axis=1)
    opens = np.tile(is_open, 4)
    result: list[Histogram | None] = []
    for each, opened, n, of_leaf, limit in zip(errors, opens, n_open.tolist(), total.T, limits.tolist(), strict=True):
        sums = Sum(int(limit))
        sums.leaf(of_leaf, stop if n else 1.0)
        near = each[opened & (each <= limit)].astype(np.intp)
        if len(near):
            least = int(near.min())
            shares = np.bincount(near - least, minlength=int(limit) - least + 1) * ((1 - stop) / (4 * n))
            sums.add(Histogram(least, shares))
        result.append(sums.histogram)
    return result


def inside_mass(found: Histogram, width: int, weight: float) -> tuple[float, Floats]:
    """Return the weight of the flat part, e^(−wW), and that of the trees inside with each number of errors more."""
    # e^(−wk) − e^(−wW) without a difference of near numbers
    more = np.arange(len(found.shares))
    return math.exp(-weight * width), found.shares * np.exp(-weight * width) * np.expm1(weight * (width - more))


class AllTrees(WidthSearch):
    """The total weight of all trees by the same tables and no bound: what the width draw is compared with."""

    def weight(self, weight: float) -> float:
        """Return the logarithm of the sum over all trees of ``prior·exp(−weight·errors)``."""
        return self._sum((), np.ones(self._tests.shape[0], dtype=bool), self._depth, weight)

    def _sum(self, path: tuple[int, ...], rows: NDArray[np.bool_], left: int, weight: float) -> float:
        pairs, is_open = self.pairs(rows), self._root(path)
        n_open = int(is_open.sum()) if left else 0
        leaf = _log_leaf(pairs.total, weight)
        if not n_open:
            return float(leaf)
        if left == 2:
            both = np.add(*self._last_sums(path, pairs, weight))
        elif left == 1:
            both = np.add(*(_log_leaf(total, weight) for total in pairs.totals))
        else:
            both = np.zeros(len(is_open))
            for test in np.flatnonzero(is_open).tolist():
                for side in (CAUGHT, LEFT):
                    child, on = self._child(path, side, test), self._on(rows, side, test)
                    both[test] += self._sum(child, on, left - 1, weight)
        return float(np.logaddexp(leaf + math.log(self._stop), _log_mean(both, is_open) + math.log1p(-self._stop)))

    def _last_sums(self, path: tuple[int, ...], pairs: Pairs, weight: float) -> list[Floats]:
        result = []
        for side, caught, total in zip((CAUGHT, LEFT), pairs.sides, pairs.totals, strict=True):
            is_open = self._open(path, side)
            logs = _log_leaf(caught, weight) + _log_leaf(total[:, :, None] - caught, weight)
            go = _log_mean(logs, is_open) + math.log1p(-self._stop)
            stop = _log_leaf(total, weight) + np.where(is_open.any(axis=1), math.log(self._stop), 0.0)
            result.append(np.logaddexp(stop, go))
        return result


def _log_leaf(counts: Floats, weight: float) -> Floats:
    """Return the logarithm of a leaf's weight: the mean over both labels."""
    return np.logaddexp(-weight * counts[0], -weight * counts[1]) - math.log(2)


def _log_mean(logs: Floats, is_open: NDArray[np.bool_]) -> Floats:
    """Return the logarithm of the mean of the exponentials of those that are open; −∞ where none is."""
    values = np.where(is_open, logs, -np.inf)
    most = values.max(axis=-1)
    safe = np.where(np.isfinite(most), most, 0.0)
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(values - safe[..., None]).sum(axis=-1))
    return safe + total - np.log(np.maximum(is_open.sum(axis=-1), 1))
