"""The proof of fact 11 (docs/mathematics.md) in exact arithmetic, and constants that would break it."""

import contextlib
import math
from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import comb

import numpy as np
import pytest

from hedgerow.privacy import shared_histograms
from hedgerow.privacy.shared_histograms import MOST_BINS, SharedHistograms

SIZES = [(1,), (2,), (3,), (1, 2), (2, 2), (3, 2), (5,), (2,) * 6, (4, 3), (3,) * 4, (1, 6, 2), (7, 7), (5, 3, 2, 2)]
CHANCES = [Fraction(1, 3), Fraction(2, 3)]  # q = exp(-ε) of one step


def dimension(sizes):
    return 1 + sum(size - 1 for size in sizes)


def start(sizes):
    return math.ceil(dimension(sizes) / 2)


def parts(n, above, below):
    """Return the number of n whole numbers whose positive and negative parts sum to at most `above` and `below`."""
    # The coefficient of x^above y^below in (1 - xy)^n / ((1 - x)(1 - y))^(n + 1).
    ways = (comb(n, i) * comb(above - i + n, n) * comb(below - i + n, n) for i in range(min(n, above, below) + 1))
    return sum((-1) ** i * number for i, number in enumerate(ways))


@cache
def volume(sizes, radius):
    """Return the number of points of the lattice with a gauge of at most `radius`."""
    totals = ((total, (radius + total) // 2) for total in range(-radius, radius + 1))
    return sum(math.prod(parts(size - 1, above, above - total) for size in sizes) for total, above in totals)


def points(sizes, radius):
    """Return all points with a gauge of at most `radius`, by enumeration."""
    every = product(range(-radius, radius + 1), repeat=sum(sizes))
    result = [tuple(point[sum(sizes[:j]) : sum(sizes[: j + 1])] for j in range(len(sizes))) for point in every]
    return [point for point in result if len({sum(part) for part in point}) == 1 and gauge(point) <= radius]


def gauge(point):
    return max(sum(map(abs, part)) for part in point)


@pytest.mark.parametrize("sizes", [(1,), (2,), (2, 2), (3, 1), (3, 2)])
def test_lattice_points_match_the_proof_and_a_row_moves_the_gauge_by_one(sizes):
    result = points(sizes, 3)
    assert [sum(gauge(point) <= radius for point in result) for radius in range(4)] == [
        volume(sizes, radius) for radius in range(4)
    ]
    for row in product(*map(range, sizes)):
        for point in result:
            moved = [[n + (i == bin_) for i, n in enumerate(part)] for part, bin_ in zip(point, row, strict=True)]
            assert abs(gauge(moved) - gauge(point)) == 1


@pytest.mark.parametrize("sizes", SIZES)
def test_coefficients_are_palindromic_and_bound_how_fast_volumes_grow(sizes):
    D, c = dimension(sizes), start(sizes)
    volumes = [volume(sizes, radius) for radius in range(3 * D + 4)]
    coefficients = [sum((-1) ** j * comb(D + 1, j) * volumes[k - j] for j in range(k + 1)) for k in range(D + 1)]
    assert min(coefficients) >= 0
    assert coefficients == coefficients[::-1]
    for radius, (before, after) in enumerate(pairwise(volumes)):
        in_basis = sum(h * comb(radius + D - k, D) for k, h in enumerate(coefficients))
        slack = sum(h * (c - k) * comb(radius + D - k, D - 1) for k, h in enumerate(coefficients))
        assert in_basis == before
        assert D * before - (radius + 1 - c) * (after - before) == slack >= 0


def test_no_total_has_more_points_than_the_balanced_one():
    for n in (*range(12), 31, MOST_BINS - 1):
        for radius in (*range(1, 12), 40, 41, 1001):
            most = parts(n, (radius + 1) // 2, radius // 2)
            for total in {*range(-radius, radius + 1, max(1, radius // 20)), radius}:
                above = (radius + total) // 2
                below = above - total
                assert shared_histograms._point_counts(n, above, below)[-1] == parts(n, above, below) <= most
                summed = sum(
                    comb(n, k) * comb(above, i) * comb(below, i) * comb(above + below - 2 * i, k - 2 * i)
                    for k in range(n + 1)
                    for i in range(min(above, below, k // 2) + 1)
                )
                assert summed == parts(n, above, below)


# Every path of the sampler


class NumberError(Exception):
    """The sampler asks for a random number after all that a path has decided."""


class Path:
    """Random numbers that are fixed beforehand."""

    def __init__(self, numbers, restart=None):
        self.numbers, self.restart, self.limits = numbers, restart, []

    def below(self, limit):
        if self.limits and limit == self.restart:
            raise StopIteration
        if len(self.limits) == len(self.numbers):
            raise NumberError(limit)
        self.limits.append(limit)
        return self.numbers[len(self.limits) - 1]


def outcomes(run, restart):
    """Return the exact probability of every result of `run`, in one pass of a loop that starts with `restart`."""
    result, paths = Counter(), [((), Fraction(1))]
    while paths:
        numbers, chance = paths.pop()
        try:
            result[run(Path(numbers, restart))] += chance
        except NumberError as asked:
            limit = asked.args[0]
            paths.extend(((*numbers, number), chance / limit) for number in range(limit))
        except StopIteration:
            result["rejected"] += chance
    return result


@pytest.mark.parametrize(
    ("sizes", "radius"), [((1,), 3), ((2,), 3), ((3,), 2), ((2, 2), 2), ((1, 3), 2), ((3, 2), 2)], ids=str
)
def test_every_point_of_a_ball_is_exactly_as_likely(sizes, radius):
    point = shared_histograms._point_of_ball
    result = outcomes(lambda path: tuple(point(sizes, radius, path)), restart=2 * radius + 1)
    assert sum(result.values()) == 1
    result.pop("rejected", None)
    assert len(set(result.values())) == 1
    assert set(result) == {sum(point, ()) for point in points(sizes, radius)}


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (1, 3), (2, 3), (5, 7)])
def test_a_coin_is_exponential(numerator, denominator):
    """It stops at try k + 1 with probability γᵏ/k!·(1 - γ/(k + 1)): over even k these add up to exp(-γ)."""
    for k in range(8):
        path = Path((0,) * k + (numerator,))
        assert shared_histograms._is_exponential(numerator, denominator, path) == (k % 2 == 0)
        assert path.limits == [denominator * (i + 1) for i in range(k + 1)]
    assert shared_histograms._is_exponential(0, denominator, Path((0,)))


@pytest.mark.parametrize(("numerator", "denominator"), [(1, 1), (3, 8), (4, 3)])
def test_a_geometric_number_is_a_quotient_of_a_geometric_number(numerator, denominator, monkeypatch):
    """The dividend has probabilities in proportion to exp(-dividend/denominator)."""
    for part, whole in product(range(denominator), range(5)):
        tosses, asked = iter([False, True, *[True] * whole, False]), []

        def coin(numerator, denominator, _path, tosses=tosses, asked=asked):
            asked.append((numerator, denominator))
            return next(tosses)

        monkeypatch.setattr(shared_histograms, "_is_exponential", coin)
        path = Path((0, part))
        result = shared_histograms._geometric(numerator, denominator, path)
        assert result == (part + denominator * whole) // numerator
        assert asked == [(0, denominator), (part, denominator), *[(1, 1)] * (whole + 1)]
        assert path.limits == [denominator] * 2


@pytest.mark.parametrize("limit", [1, 2, 3, 200, 256, 257, 300])
def test_every_number_below_a_limit_is_made_of_as_many_bytes(limit):
    size = ((limit - 1).bit_length() + 7) // 8
    source = iter(number.to_bytes(size, "big") for number in range(256**size))
    uniform, result = shared_histograms._Uniform(lambda _: next(source)), Counter()
    with contextlib.suppress(StopIteration):
        while result.total() < 256**size:
            result[uniform.below(limit)] += 1
    assert set(result) == set(range(limit))
    assert len(set(result.values())) == 1


def test_an_answer_is_the_exact_sum_rounded_once(monkeypatch):
    """Otherwise what is lost in rounding a large count would not be post-processing of the noisy one."""
    monkeypatch.setattr(SharedHistograms, "_draw", lambda *_: [2, 2])
    counts = [2**53 + 1, -(2**53) - 3]
    noisy = SharedHistograms(Fraction(1), (2,)).build()(np.array([counts]))
    assert noisy == [[float(count + Fraction(2, 4)) for count in counts]]
    assert noisy != [[count + 2 / 4 for count in counts]]


# The law: g(r) = Σ w(R)/V(R) over R >= r, between rational bounds


def bounds(sizes, q, start, geometrics, gauges, terms):
    """Return lower and upper bounds on the probability of a point of each gauge, for a radius of these constants."""
    law = [(1 - q) ** geometrics * comb(i + geometrics - 1, i) * q**i for i in range(terms)]
    rest = (1 - sum(law)) / volume(sizes, start + terms)
    ratios = [mass / volume(sizes, start + i) for i, mass in enumerate(law)]
    lower = [sum(ratios[max(r - start, 0) :]) for r in range(gauges)]
    return lower, [bound + rest for bound in lower]


def broken(sizes, q, start, geometrics, gauges=30):
    """Return a gauge at which one row certainly changes a probability by more than a factor of 1/q, or None."""
    lower, upper = bounds(sizes, q, start, geometrics, gauges, 120)
    return next((r for r in range(gauges - 1) if upper[r + 1] < q * lower[r]), None)


@pytest.mark.parametrize("q", CHANCES)
@pytest.mark.parametrize("sizes", SIZES[:9])
def test_one_step_of_the_gauge_costs_at_most_epsilon(sizes, q):
    lower, upper = bounds(sizes, q, start(sizes), dimension(sizes) + 1, 30, 120)
    for r in range(29):
        assert q * upper[r] <= lower[r + 1]
        assert upper[r + 1] - lower[r + 1] < lower[r + 1] / 10**6
        assert lower[r + 1] <= lower[r]


@pytest.mark.parametrize("q", CHANCES)
@pytest.mark.parametrize("sizes", SIZES[:9])
def test_smaller_constants_would_not_be_private(sizes, q):
    D, c = dimension(sizes), start(sizes)
    assert broken(sizes, q, c, D + 1) is None
    assert broken(sizes, q, c, D) is not None
    if D % 2:
        assert broken(sizes, q, D // 2, D + 1) is not None
    else:
        assert broken(sizes, q, c - 1, D + 1) is not None


@pytest.mark.parametrize("sizes", SIZES)
def test_the_sampler_has_the_constants_of_the_proof(sizes, monkeypatch):
    radii = []
    monkeypatch.setattr(shared_histograms, "_point_of_ball", lambda _sizes, radius, _uniform: radii.append(radius))
    for steps in (0, 1):
        monkeypatch.setattr(shared_histograms, "_geometric", lambda *_, steps=steps: steps)
        SharedHistograms(Fraction(1), sizes)._draw(None)
    assert radii == [start(sizes), start(sizes) + dimension(sizes) + 1]


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), Fraction(1, 3), Fraction(17, 5), Fraction(10**7, 3)])
@pytest.mark.parametrize("sensitivity", [1, 7, 1000])
def test_all_steps_of_the_grid_together_cost_at_most_epsilon(epsilon, sensitivity):
    mechanism = SharedHistograms(epsilon, (3, 2), sensitivity)
    step = Fraction(*mechanism._step_epsilon)
    assert epsilon * (1 - Fraction(1, 2**30)) <= step * mechanism.grid * sensitivity <= epsilon


@pytest.mark.parametrize(("epsilon", "share"), [(0.1, 0.97), (0.25, 0.93)])
@pytest.mark.parametrize("sizes", [(2,), (2,) * 5, (4, 3, 2)])
def test_it_costs_about_as_much_rho_as_any_release_of_its_epsilon(sizes, epsilon, share):
    D, c = dimension(sizes), start(sizes)
    volumes = [0, *(volume(sizes, radius) for radius in range(c + math.ceil((D + 16) / epsilon)))]
    law = [
        comb(i + D, D) * (-math.expm1(-epsilon)) ** (D + 1) * math.exp(-epsilon * i) for i in range(len(volumes) - c)
    ]
    chances = [0.0]
    for radius in range(len(volumes) - 2, -1, -1):
        chances.append(chances[-1] + (law[radius - c] / volumes[radius + 1] if radius >= c else 0))
    chances = chances[:0:-1]
    divergence, down = 0.0, 0  # the points of a gauge that one row moves down are as many as it moves up from below
    for r in range(len(chances) - 1):
        up = volumes[r + 1] - volumes[r] - down
        divergence += chances[r] * up * math.log(chances[r] / chances[r + 1])
        divergence += chances[r] * down * math.log(chances[r] / chances[max(r - 1, 0)])
        down = up
    assert share < divergence / (epsilon * math.tanh(epsilon / 2)) <= 1
