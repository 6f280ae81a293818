"""K-norm noise on histograms: its law by brute force and in exact arithmetic, its sampler, variances and groups."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.privacy.noise import SecureNoise, SeededNoise
from hedgerow.privacy.shared_histograms import SharedHistograms

SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(58))]


def dimension(sizes):
    return 1 + sum(size - 1 for size in sizes)


# The law, by enumeration: points of the lattice by gauge


def parts_of_size(size, radius):
    """Return all whole vectors of a length whose ℓ1 norm is at most the radius, by their sum."""
    found = {}
    for part in product(range(-radius, radius + 1), repeat=size):
        if sum(map(abs, part)) <= radius:
            found.setdefault(sum(part), []).append(part)
    return found


def points(sizes, radius):
    """Yield all points of the lattice whose gauge is at most the radius: parts with equal sums."""
    parts = [parts_of_size(size, radius) for size in sizes]
    for total in range(-radius, radius + 1):
        yield from product(*(part.get(total, []) for part in parts))


def gauge(point):
    return max(sum(map(abs, part)) for part in point)


@cache
def of_size(size, radius):
    """Return the number of whole vectors of a length whose ℓ1 norm is at most the radius, by their sum."""
    # By dynamic programming over coordinates: too slow to use, too simple to be wrong.
    found = {(0, 0): 1}
    for _ in range(size):
        more = Counter()
        for (norm, total), number in found.items():
            for value in range(-radius, radius + 1):
                if norm + abs(value) <= radius:
                    more[norm + abs(value), total + value] += number
        found = more
    sums = Counter()
    for (_, total), number in found.items():
        sums[total] += number
    return sums


def volume(sizes, radius):
    """Return the number of points whose gauge is at most the radius."""
    of_sizes = [of_size(size, radius) for size in sizes]
    total = 0
    for s in range(-radius, radius + 1):
        number = 1
        for sums in of_sizes:
            number *= sums[s]
        total += number
    return total


@pytest.mark.parametrize("sizes", [(2,), (1, 2), (2, 2), (3,), (3, 2), (2, 2, 2)])
def test_points_are_counted_as_they_are_enumerated(sizes):
    for radius in range(4):
        assert volume(sizes, radius) == sum(1 for _ in points(sizes, radius))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_volumes_of_booleans_have_a_closed_form(d):
    for radius in range(9):
        assert volume((2,) * d, radius) == (radius + 1) ** (d + 1) + radius ** (d + 1)


# What callers rely on


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.fractions(Fraction(1, 1000), 1000), st.integers(1, 300))
def test_an_answer_has_equal_totals_and_is_on_the_grid(sizes, epsilon, sensitivity):
    mechanism = SharedHistograms(epsilon, tuple(sizes), sensitivity)
    grid = mechanism.grid
    assert grid & (grid - 1) == 0
    assert grid >= 4 * epsilon / sensitivity
    rows = np.zeros((2, sum(sizes)), dtype=np.int64)
    ends = np.cumsum([0, *sizes])
    rows[:, ends[:-1]] = [[5], [2**40]]
    for source in SOURCES:
        found = np.array(source.prepare(mechanism)(rows))
        assert found.shape == rows.shape
        assert np.array_equal(found * grid, np.rint(found * grid))
        totals = np.add.reduceat(found, ends[:-1], axis=1)
        assert np.array_equal(totals, np.broadcast_to(totals[:, :1], totals.shape))
