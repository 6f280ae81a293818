"""Exact K-norm noise for the histograms of several attributes, and the public groups of attributes that share it."""

import math
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import index, itemgetter
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.errors import ArgumentError
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import check_epsilon

MOST_BINS = 64  # the maximum number of bins of an attribute; with more bins the gain is below 3 %
_STEPS_PER_SCALE = 4  # grid steps per scale of the noise: its standard deviation is then within 2 % of the limit
_FINEST = 2**20  # grid steps per row: for larger ε the noise is a small fraction of a row
_DIGITS = 40  # binary digits of the ε of a grid step, rounded down
_POOL = 4096  # bytes per read of random bytes
_NODES = 400  # the number of nodes of the numerical integral over class totals


@dataclass(frozen=True)
class SharedHistograms:
    """K-norm noise on the histograms of several attributes, which count the same rows.

    The input is an array of int64 counts of shape ``(n_classes, sum(sizes))`` with the bins of all attributes, one
    attribute after the other, for every class. In a class all attributes have the same total. A row changes one bin of
    every attribute, so the histograms of a class move within the lattice of vectors whose attributes have equal totals.
    The gauge of a move is the largest ℓ1 norm of an attribute's part. The noise of a class is uniform in a ball of this
    gauge with a random radius. It is ε-differentially private if the gauges of all classes together change by at most
    `sensitivity` (docs/mathematics.md, fact 11; Hardt and Talwar, *On the Geometry of Differential Privacy*, STOC
    2010). Answers are multiples of ``1/grid``, and the attributes of a class again have equal totals.

    The loss ρ is the general ρ of an ε-differentially private release, and no less. If a budget adds up ρ or has a δ,
    `DiscreteLaplace` and `GaussianCounts` add less noise at the same cost.
    """

    epsilon: Fraction
    sizes: tuple[int, ...]  # the number of bins of each attribute
    sensitivity: int = 1  # the largest change of the gauges of all classes together by a row
    delta = Fraction(0)
    rho = None

    def __post_init__(self) -> None:
        # The sampler needs Python's whole numbers: NumPy's would overflow.
        object.__setattr__(self, "sizes", tuple(map(index, self.sizes)))
        object.__setattr__(self, "sensitivity", index(self.sensitivity))
        if not self.sizes or not all(1 <= size <= MOST_BINS for size in self.sizes):
            raise ArgumentError(f"sizes must be numbers of bins from 1 to {MOST_BINS}, got {self.sizes}.")

    @property
    def grid(self) -> int:
        """The number of grid steps per row: a power of two that depends only on ε and the sensitivity."""
        steps = math.ceil(_STEPS_PER_SCALE * self.epsilon / self.sensitivity)
        return min(1 << (steps - 1).bit_length(), _FINEST)

    @property
    def dimension(self) -> int:
        """The dimension of the lattice of a class."""
        return 1 + sum(self.sizes) - len(self.sizes)

    @property
    def count_variances(self) -> tuple[float, ...]:
        """The variance of the noise of a count of each attribute, given the noise of the total of its class."""
        (of_counts, _), square = self._moments, self._square_radius
        return tuple(of_counts[size] * square for size in self.sizes)

    @property
    def total_variance(self) -> float:
        """The variance of the noise of the total of a class."""
        return self._moments[1] * self._square_radius

    @property
    def _moments(self) -> tuple[dict[int, float], float]:
        return _unit_moments(tuple(sorted(Counter(self.sizes).items())))

    @property
    def _square_radius(self) -> float:
        """The mean square of the radius, in rows, plus half a step for the polytope of the lattice points."""
        numerator, denominator = self._step_epsilon
        stop = math.expm1(min(numerator / denominator, 300.0))
        geometrics = self.dimension + 1
        mean = (self.dimension + 1) // 2 + 0.5 + geometrics / stop
        return (mean**2 + geometrics * (1 + stop) / stop**2) / self.grid**2

    @property
    def _step_epsilon(self) -> tuple[int, int]:
        """The ε of a grid step of the gauge, rounded down to a numerator over a power of two."""
        epsilon = self.epsilon / (self.sensitivity * self.grid)
        digits = max(_DIGITS - epsilon.numerator.bit_length() + epsilon.denominator.bit_length(), 0)
        return math.floor(epsilon * 2**digits), 2**digits

    def distance(self, first: Any, second: Any) -> float:
        """Return the sum of the gauges of the changes of all classes.

        The distance is infinite for inputs of another shape or type, and if the totals of the attributes of a class
        differ.
        """
        before, after = np.asarray(first), np.asarray(second)
        is_whole = before.dtype.kind == after.dtype.kind == "i"
        if not is_whole or before.shape != after.shape or before.shape[1:] != (sum(self.sizes),):
            return math.inf
        gauges = 0
        for change in (after.astype(object) - before.astype(object)).tolist():  # without overflow
            parts = [change[start:stop] for start, stop in pairwise(accumulate(self.sizes, initial=0))]
            if len({sum(part) for part in parts}) > 1:
                return math.inf
            gauges += max(sum(map(abs, part)) for part in parts)
        return float(gauges)

    def build(self) -> Callable[[Integers], list[list[float]]]:
        """Return a function that adds noise from the operating system's cryptographic generator."""
        check_epsilon(self.epsilon)
        # Every run reads its own random bytes, so that none are left over for a forked process to use again.
        return lambda histograms: self._release(histograms, _Uniform(os.urandom))

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[list[float]]:
        """Draw with the same sampler, with random bytes from `rng`."""
        return self._release(values, _Uniform(rng.bytes))

    def _release(self, histograms: Integers, uniform: "_Uniform") -> list[list[float]]:
        # The run time of a draw depends only on the noise. Counts and noise are whole numbers of grid steps. From 2^53
        # steps on an answer is the float nearest to their exact sum.
        grid, noise = self.grid, [self._draw(uniform) for _ in histograms]
        return [
            [(count * grid + steps) / grid for count, steps in zip(counts, moves, strict=True)]
            for counts, moves in zip(histograms.tolist(), noise, strict=True)
        ]

    def _draw(self, uniform: "_Uniform") -> list[int]:
        numerator, denominator = self._step_epsilon
        geometrics = (_geometric(numerator, denominator, uniform) for _ in range(self.dimension + 1))
        return _point_of_ball(self.sizes, (self.dimension + 1) // 2 + sum(geometrics), uniform)

    @property
    def record(self) -> Fact:
        sizes = {"attributes": len(self.sizes), "bins": sum(self.sizes)}
        return Fact("shared_histograms", **sizes, sensitivity=self.sensitivity, scale=self.sensitivity / self.epsilon)


class _Uniform:
    """A generator of uniform whole numbers from random bytes."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read, self._pool, self._used = read, b"", 0

    def below(self, limit: int) -> int:
        """Return a uniform number from 0 to ``limit - 1``."""
        bits = (limit - 1).bit_length()
        size = (bits + 7) // 8
        while True:
            end = self._used + size
            if end > len(self._pool):
                self._pool, self._used, end = self._read(max(_POOL, size)), 0, size
            number = int.from_bytes(self._pool[self._used : end]) >> (8 * size - bits)
            self._used = end
            if number < limit:
                return number


def _geometric(numerator: int, denominator: int, uniform: _Uniform) -> int:
    """Return a whole number g >= 0 with probability proportional to ``exp(-g*numerator/denominator)``."""
    # Canonne, Kamath and Steinke, The Discrete Gaussian for Differential Privacy, 2020, Algorithms 1 and 2.
    while True:
        part = uniform.below(denominator)
        if _is_exponential(part, denominator, uniform):
            break
    whole = 0
    while _is_exponential(1, 1, uniform):
        whole += 1
    return (part + denominator * whole) // numerator


def _is_exponential(numerator: int, denominator: int, uniform: _Uniform) -> bool:
    """Return True with probability ``exp(-numerator/denominator)``, for a fraction from 0 to 1."""
    tries = 1
    while uniform.below(denominator * tries) < numerator:
        tries += 1
    return tries % 2 == 1


def _point_of_ball(sizes: Sequence[int], radius: int, uniform: _Uniform) -> list[int]:
    """Return a uniform point of the lattice whose gauge is at most `radius` >= 1."""
    # A uniform total is accepted with probability proportional to its number of points. This is a product of
    # factors, one for each attribute. Each factor is largest for a total of 0, or of 1 if the radius is odd
    # (docs/mathematics.md, fact 11).
    free = Counter(size - 1 for size in sizes)
    most = {n: _point_counts(n, (radius + 1) // 2, radius // 2)[-1] for n in free}
    while True:
        total = uniform.below(2 * radius + 1) - radius
        above = (radius + total) // 2
        below, counts = above - total, dict[int, list[int]]()
        for n in sorted(free, reverse=True):
            counts[n] = _point_counts(n, above, below)
            if not all(uniform.below(most[n]) < counts[n][-1] for _ in range(free[n])):
                break
        else:
            break
    return [value for size in sizes for value in _part(counts[size - 1], above, below, uniform)]


def _point_counts(n: int, above: int, below: int) -> list[int]:
    """Return the numbers of points with at most k positive coordinates among n free coordinates, for k from 0 to n.

    The positive coordinates have a sum of at most `above`, the negative coordinates a sum of at least ``-below``.
    """
    positive, negative, counts = 1, math.comb(below + n, n), list[int]()
    for k in range(n + 1):
        counts.append(math.comb(n, k) * positive * negative)
        positive = positive * (above - k) // (k + 1)
        if k < n:
            negative = negative * (n - k) // (below + n - k)
    return list(accumulate(counts))


def _part(point_counts: Sequence[int], above: int, below: int, uniform: _Uniform) -> list[int]:
    """Return uniform counts of an attribute whose total is ``above - below``; all except the last are free."""
    n = len(point_counts) - 1
    k = bisect_right(point_counts, uniform.below(point_counts[-1]))
    places = _subset(n, k, uniform)
    positive, negative = _gaps(_subset(above, k, uniform)), _gaps(_subset(below + n - k, n - k, uniform))
    chosen = set(places)
    values = [next(positive) if place in chosen else 1 - next(negative) for place in range(1, n + 1)]
    return [*values, above - below - sum(values)]


def _gaps(ends: Sequence[int]) -> Iterator[int]:
    return iter([end - start for start, end in pairwise([0, *ends])])


def _subset(total: int, size: int, uniform: _Uniform) -> list[int]:
    """Return a uniform subset of the numbers from 1 to `total`, sorted (Floyd's algorithm)."""
    subset = set[int]()
    for last in range(total - size + 1, total + 1):
        number = 1 + uniform.below(last)
        subset.add(last if number in subset else number)
    return sorted(subset)


@lru_cache(maxsize=256)
def _unit_moments(counted: tuple[tuple[int, int], ...]) -> tuple[dict[int, float], float]:
    """Return second moments of a uniform point of the real unit ball.

    These are the moments of a count given the total, by the size of its attribute, and the moment of the total.
    `counted` has pairs of a size and the number of attributes of this size.
    """
    # The variance of a count is the variance of a free coordinate minus the variance of its share of the total. The
    # density of the total is nearly normal with a variance of 1/curvature, or flat for booleans. The integral ends when
    # the density is below e^-32.
    curvature = sum(times * n * (n - 1) / (2 * n - 1) for size, times in counted if (n := size - 1))
    reach = min(1.0, 8 / math.sqrt(curvature)) if curvature else 1.0
    totals = ((np.arange(_NODES) + 0.5) / _NODES * 2 - 1) * reach
    density, squares = np.zeros(_NODES), dict[int, Floats]()
    for size, times in counted:
        logarithms, squares[size] = _moments_at(size - 1, (1 + totals) / 2, (1 - totals) / 2)
        density += times * logarithms
    density = np.exp(density - density.max())
    of_total = float(np.average(totals**2, weights=density))
    of_counts = {size: float(np.average(square, weights=density)) for size, square in squares.items()}
    given_total = {size: of_count - of_total / size**2 for size, of_count in of_counts.items()}
    return given_total | {1: 0.0}, of_total  # a single bin is the total


def _moments_at(n: int, above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of the volume of n free coordinates, and the mean square of a coordinate, for each total.

    The positive coordinates have a sum of at most `above`, the negative coordinates a sum of at least ``-below``.
    """
    if not n:
        return np.zeros_like(above), (above - below) ** 2
    k = np.arange(n + 1)[:, np.newaxis]
    weights = np.array([[math.comb(n, j) ** 2] for j in range(n + 1)], dtype=np.float64)
    weights = weights * above**k * below ** (n - k)
    positive, negative = k * 2 * above**2 / ((k + 1) * (k + 2)), (n - k) * 2 * below**2 / ((n - k + 1) * (n - k + 2))
    volume = weights.sum(axis=0)
    return np.log(volume), (weights * (positive + negative)).sum(axis=0) / (n * volume)


def attribute_groups(sizes: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the attributes in each group that shares noise, by the attributes' numbers of bins.

    Groups are runs of attributes in the order of their sizes. The share of ε of a group is its share of the attributes.
    The groups minimise the sum over attributes of the log variance of a count, given the class total. A group of one
    attribute uses `DiscreteLaplace`, as does every attribute with more than `MOST_BINS` bins.
    """
    return _groups(tuple(sizes))


@lru_cache(maxsize=256)
def _groups(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    # Attributes of the same size share a group: the cost of k attributes of dimension D, k·log(D/k), is concave, so an
    # optimum does not split them.
    times = Counter(size for size in sizes if size <= MOST_BINS)
    ordered = sorted(times)
    best: list[tuple[float, tuple[Sequence[int], ...]]] = [(0.0, ())]
    for stop in range(1, len(ordered) + 1):
        groups = ((*best[start], ordered[start:stop]) for start in range(stop))
        costs = ((cost + _log_variances(last, times), (*earlier, last)) for cost, earlier, last in groups)
        best.append(min(costs, key=itemgetter(0)))
    shared = (tuple(place for place, size in enumerate(sizes) if size in group) for group in best[-1][1])
    alone = ((place,) for place in sorted(range(len(sizes)), key=sizes.__getitem__) if sizes[place] > MOST_BINS)
    return (*shared, *alone)


def _log_variances(group: Sequence[int], times: Counter[int]) -> float:
    """Return the sum of the log variances of attributes of these sizes, up to a constant that all partitions share.

    An attribute with a single bin has no count to estimate, but receives its share of ε.
    """
    number = sum(times[size] for size in group)
    several = [size for size in group if size > 1]
    if number == 1:
        return sum(math.log(2 * (1 - 1 / size)) for size in several)
    dimension = 1 + sum(times[size] * (size - 1) for size in several)
    scale = math.log((dimension + 1) * (dimension + 2) / number**2)
    return sum(times[size] * (scale + _log_square(size)) for size in several)


@lru_cache(maxsize=MOST_BINS)
def _log_square(size: int) -> float:
    """Return the logarithm of the mean square of a count in the unit ball, for a total of 0."""
    half = np.array([0.5])
    return math.log(_moments_at(size - 1, half, half)[1][0])
