"""Exact K-norm noise for the histograms of several attributes, and the public grouping of attributes that share it."""

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

MOST_BINS = 64  # of an attribute: more bins gain below 3 %
_STEPS_PER_SCALE = 4  # grid steps in one scale of the noise: its standard deviation is then within 2 % of the limit
_FINEST = 2**20  # grid steps in one row: at any larger ε the noise is a small fraction of a row
_DIGITS = 40  # binary digits of the ε of one grid step, rounded down
_POOL = 4096  # random bytes that are read at a time
_NODES = 400  # of the numerical integral over class totals


@dataclass(frozen=True)
class SharedHistograms:
    """Add K-norm noise to the histograms of several attributes, which count the same rows.

    Input: int64 counts of shape ``(n_classes, sum(sizes))``, for each class the bins of all attributes, attribute after
    attribute. In each class all attributes have the same total. One row changes one bin of every attribute, so the
    histograms of a class move within the lattice of vectors whose attributes have equal totals. The gauge of a move is
    the largest ℓ1 norm of an attribute's part. The noise of a class is uniform in a ball of this gauge with a random
    radius, which is ε-differentially private if the gauges of all classes together change by at most `sensitivity`
    (docs/mathematics.md, fact 11; Hardt and Talwar, *On the Geometry of Differential Privacy*, STOC 2010). Answers are
    multiples of ``1/grid``, and in each class the attributes have equal totals again.

    The loss ρ is no smaller than that of any ε-differentially private release: if a budget adds up ρ or has a δ,
    `DiscreteLaplace` and `GaussianCounts` add less noise at the same cost.
    """

    epsilon: Fraction
    sizes: tuple[int, ...]  # the number of bins of each attribute
    sensitivity: int = 1  # the most by which one row changes the gauges of all classes together
    delta = Fraction(0)
    rho = None

    def __post_init__(self) -> None:
        # The sampler needs whole numbers that do not overflow, as NumPy's do.
        object.__setattr__(self, "sizes", tuple(map(index, self.sizes)))
        object.__setattr__(self, "sensitivity", index(self.sensitivity))
        if not self.sizes or not all(1 <= size <= MOST_BINS for size in self.sizes):
            raise ArgumentError(f"sizes must be numbers of bins from 1 to {MOST_BINS}, got {self.sizes}.")

    @property
    def grid(self) -> int:
        """The number of grid steps in one row: a power of two, by ε alone."""
        steps = math.ceil(_STEPS_PER_SCALE * self.epsilon / self.sensitivity)
        return min(1 << (steps - 1).bit_length(), _FINEST)

    @property
    def dimension(self) -> int:
        """The dimension of the lattice of one class."""
        return 1 + sum(self.sizes) - len(self.sizes)

    @property
    def count_variances(self) -> tuple[float, ...]:
        """The variance of the noise of one count of each attribute, given the noise of its class's total."""
        (of_counts, _), square = self._moments, self._square_radius
        return tuple(of_counts[size] * square for size in self.sizes)

    @property
    def total_variance(self) -> float:
        """The variance of the noise of a class's total."""
        return self._moments[1] * self._square_radius

    @property
    def _moments(self) -> tuple[dict[int, float], float]:
        return _unit_moments(tuple(sorted(Counter(self.sizes).items())))

    @property
    def _square_radius(self) -> float:
        """The mean square of the radius, in rows; half a step more, as the polytopes of lattice points are."""
        numerator, denominator = self._step_epsilon
        stop = math.expm1(min(numerator / denominator, 300.0))
        geometrics = self.dimension + 1
        mean = (self.dimension + 1) // 2 + 0.5 + geometrics / stop
        return (mean**2 + geometrics * (1 + stop) / stop**2) / self.grid**2

    @property
    def _step_epsilon(self) -> tuple[int, int]:
        """The ε of one grid step of the gauge, rounded down to a numerator and a power of two."""
        epsilon = self.epsilon / (self.sensitivity * self.grid)
        digits = max(_DIGITS - epsilon.numerator.bit_length() + epsilon.denominator.bit_length(), 0)
        return math.floor(epsilon * 2**digits), 2**digits

    def distance(self, one: Any, other: Any) -> float:
        """Return the sum of the gauges of all classes' changes.

        It is infinite for inputs of another form, and if the totals of a class's attributes change unequally.
        """
        before, after = np.asarray(one), np.asarray(other)
        is_whole = before.dtype.kind == after.dtype.kind == "i"
        if not is_whole or before.shape != after.shape or before.shape[1:] != (sum(self.sizes),):
            return math.inf
        gauges = 0
        for change in (after.astype(object) - before.astype(object)).tolist():  # whole numbers that do not overflow
            parts = [change[start:stop] for start, stop in pairwise(accumulate(self.sizes, initial=0))]
            if len({sum(part) for part in parts}) > 1:
                return math.inf
            gauges += max(sum(map(abs, part)) for part in parts)
        return float(gauges)

    def build(self) -> Callable[[Integers], list[list[float]]]:
        """Return a function that adds noise from the operating system's cryptographic generator."""
        check_epsilon(self.epsilon)
        # Each run reads its own random bytes: none are left over for a forked process to use again.
        return lambda histograms: self._release(histograms, _Uniform(os.urandom))

    def simulate(self, values: Integers, rng: np.random.Generator) -> list[list[float]]:
        """Draw by the same sampler, with the bytes of `rng`."""
        return self._release(values, _Uniform(rng.bytes))

    def _release(self, histograms: Integers, uniform: "_Uniform") -> list[list[float]]:
        # The run time of a draw depends on the noise alone. Counts and noise are whole numbers of grid steps; from
        # 2^53 steps on an answer is the float nearest to their exact sum.
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
    """Uniform whole numbers, made of random bytes."""

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
    """Return a number g with probability proportional to ``exp(-g*numerator/denominator)``."""
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
    """Return True with probability ``exp(-numerator/denominator)``, of a fraction from 0 to 1."""
    tries = 1
    while uniform.below(denominator * tries) < numerator:
        tries += 1
    return tries % 2 == 1


def _point_of_ball(sizes: Sequence[int], radius: int, uniform: _Uniform) -> list[int]:
    """Return a uniform point of the lattice whose gauge is at most `radius`, at least 1."""
    # The total is uniform, and accepted in proportion to the number of points that have it: the product of a number
    # for each attribute, which is largest for a total of 0, or 1 if the radius is odd (docs/mathematics.md, fact 11).
    free = Counter(size - 1 for size in sizes)
    most = {n: _ways(n, (radius + 1) // 2, radius // 2)[-1] for n in free}
    while True:
        total = uniform.below(2 * radius + 1) - radius
        above = (radius + total) // 2
        below, ways = above - total, dict[int, list[int]]()
        for n in sorted(free, reverse=True):
            ways[n] = _ways(n, above, below)
            if not all(uniform.below(most[n]) < ways[n][-1] for _ in range(free[n])):
                break
        else:
            break
    return [value for size in sizes for value in _part(ways[size - 1], above, below, uniform)]


def _ways(n: int, above: int, below: int) -> list[int]:
    """Return how many points have at most k positive of n free coordinates, for k from 0 to n.

    The positive coordinates add up to at most `above`, the negative ones to at least ``-below``.
    """
    positive, negative, counts = 1, math.comb(below + n, n), list[int]()
    for k in range(n + 1):
        counts.append(math.comb(n, k) * positive * negative)
        positive = positive * (above - k) // (k + 1)
        if k < n:
            negative = negative * (n - k) // (below + n - k)
    return list(accumulate(counts))


def _part(ways: Sequence[int], above: int, below: int, uniform: _Uniform) -> list[int]:
    """Return uniform counts of an attribute whose total is ``above - below``; all but the last are free."""
    n = len(ways) - 1
    k = bisect_right(ways, uniform.below(ways[-1]))
    places = _subset(n, k, uniform)
    positive, negative = _gaps(_subset(above, k, uniform)), _gaps(_subset(below + n - k, n - k, uniform))
    chosen = set(places)
    values = [next(positive) if place in chosen else 1 - next(negative) for place in range(1, n + 1)]
    return [*values, above - below - sum(values)]


def _gaps(ends: Sequence[int]) -> Iterator[int]:
    return iter([end - start for start, end in pairwise([0, *ends])])


def _subset(total: int, size: int, uniform: _Uniform) -> list[int]:
    """Return a uniform subset of the numbers from 1 to `total`, sorted (Floyd's algorithm)."""
    found = set[int]()
    for last in range(total - size + 1, total + 1):
        number = 1 + uniform.below(last)
        found.add(last if number in found else number)
    return sorted(found)


@lru_cache(maxsize=256)
def _unit_moments(counted: tuple[tuple[int, int], ...]) -> tuple[dict[int, float], float]:
    """Return second moments of a uniform point of the real unit ball: of counts given the total, by size; of the total.

    `counted` has the sizes of attributes, each with the number of attributes of this size.
    """
    # A count has the variance of a free coordinate less that of its share of the total. The density of the total is
    # nearly normal with a variance of 1/curvature, or flat for booleans: the integral ends where it is below e^-32.
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
    return given_total | {1: 0.0}, of_total  # a single bin has all of the total


def _moments_at(n: int, above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """Return the logarithm of the volume of n free coordinates, and the mean square of one, at each total.

    The positive coordinates add up to at most `above`, the negative ones to at least ``-below``.
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
    """Return the places of the attributes of each group that shares one noise, by the attributes' numbers of bins.

    Groups are runs of attributes in the order of their sizes. Each takes the share of ε that it has of all attributes.
    The groups minimise the sum over attributes of the log variance of a count, given the class total. A group of one
    attribute takes `DiscreteLaplace`, and so does every attribute with more than `MOST_BINS` bins.
    """
    return _groups(tuple(sizes))


@lru_cache(maxsize=256)
def _groups(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    # Attributes of one size are together: in a cost of k·log(D/k) for k attributes of dimension D, which is concave,
    # they belong to one end or the other.
    times = Counter(size for size in sizes if size <= MOST_BINS)
    ordered = sorted(times)
    best: list[tuple[float, tuple[Sequence[int], ...]]] = [(0.0, ())]
    for stop in range(1, len(ordered) + 1):
        groups = ((*best[start], ordered[start:stop]) for start in range(stop))
        costs = ((cost + _log_variances(last, times), (*others, last)) for cost, others, last in groups)
        best.append(min(costs, key=itemgetter(0)))
    shared = (tuple(place for place, size in enumerate(sizes) if size in group) for group in best[-1][1])
    alone = ((place,) for place in sorted(range(len(sizes)), key=sizes.__getitem__) if sizes[place] > MOST_BINS)
    return (*shared, *alone)


def _log_variances(group: Sequence[int], times: Counter[int]) -> float:
    """Return the summed log variances of the attributes of these sizes, in units that all partitions share.

    An attribute with a single bin has no count to estimate, but takes its share of ε.
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
    """Return the log mean square of a count of the unit ball at a total of 0."""
    half = np.array([0.5])
    return math.log(_moments_at(size - 1, half, half)[1][0])
