"""K-norm noise on histograms: draws against their exact law, variances, groups, and hostile inputs."""

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import exp, inf, log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom

from hedgerow.privacy import shared_histograms as module
from hedgerow.privacy.noise import SecureNoise, SeededNoise, Siblings
from hedgerow.privacy.shared_histograms import MOST_BINS, SharedHistograms, attribute_groups
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value
from tests.privacy.lattice import dimension, gauge_chances, gauges, number, numbers, point_chances, volumes

SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(58))]
OFF = (*FACTORS, Fraction(104, 100), Fraction(96, 100))  # times the ε, which a test of gauges must reject


@dataclass(frozen=True)
class Coarse(SharedHistograms):
    """The mechanism on whole rows: at a large ε few points have most of the probability."""

    grid = 1


def uniform(seed):
    return module._Uniform(np.random.default_rng(seed).bytes)


# Points of the lattice, by enumeration


def parts(size, radius):
    """Return all whole vectors of so many numbers whose ℓ1 norm is at most the radius, by their sum."""
    result = {}
    for part in product(range(-radius, radius + 1), repeat=size):
        if sum(map(abs, part)) <= radius:
            result.setdefault(sum(part), []).append(part)
    return result


def points(sizes, radius):
    """Yield all points whose gauge is at most the radius: a part for each attribute, all with the same sum."""
    by_sum = [parts(size, radius) for size in sizes]
    for total in range(-radius, radius + 1):
        yield from product(*(part.get(total, []) for part in by_sum))


def gauge(point):
    return max(sum(map(abs, part)) for part in point)


SMALL = [(1,), (2,), (1, 2), (2, 2), (3,), (3, 2), (2, 2, 2), (4, 3), (1, 1), (5, 2)]


@pytest.mark.parametrize("sizes", SMALL, ids=str)
def test_volumes_are_those_of_an_enumeration(sizes):
    for radius in range(4 if sum(sizes) > 6 else 5):
        assert volumes(sizes, 4)[radius] == sum(1 for _ in points(sizes, radius))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_volumes_of_booleans_have_a_closed_form(d):
    assert volumes((2,) * d, 9) == [(r + 1) ** (d + 1) + r ** (d + 1) for r in range(10)]


@pytest.mark.parametrize("sizes", [(2, 2), (3, 2), (1, 2), (2, 2, 2)], ids=str)
def test_the_distance_from_no_rows_is_the_gauge(sizes):
    mechanism, nothing = SharedHistograms(Fraction(1), sizes), np.zeros((1, sum(sizes)), dtype=np.int64)
    for point in points(sizes, 3):
        flat = np.array([[value for part in point for value in part]])
        assert mechanism.distance(nothing, flat) == gauge(point)


# The sampler: tests/privacy/test_shared_histograms_proof.py has every path of small balls, exactly


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [20_000, pytest.param(300_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rate", [Fraction(1, 7), Fraction(5, 8), Fraction(3), Fraction(1, 2**30)], ids=str)
def test_geometric_numbers_have_their_exact_chances(rate, draws):
    source, spread = uniform(3), max(1, int(1 / rate) // 20)
    result = np.array([module._geometric(rate.numerator, rate.denominator, source) for _ in range(draws)]) // spread
    top = 200
    counts = np.bincount(np.minimum(result, top), minlength=top + 1)

    def chances(factor):
        stay = exp(-float(rate * factor) * spread)
        return np.append((1 - stay) * stay ** np.arange(top), stay**top)

    assert p_value(counts, chances(1)) > ALARM
    assert all(p_value(counts, chances(factor)) < ALARM for factor in FACTORS)


@pytest.mark.parametrize("limit", [1, 2, 3, 255, 256, 257, 1000])
def test_whole_numbers_below_a_limit_are_equally_likely(limit):
    source, draws = uniform(limit), max(2000, 20 * limit)
    result = np.bincount([source.below(limit) for _ in range(draws)], minlength=limit)
    assert len(result) == limit
    assert limit == 1 or p_value(result, np.full(limit, 1 / limit)) > ALARM


def test_large_numbers_below_a_limit_fill_the_range():
    limit = 3 * 2**9_000
    source = uniform(4)
    result = [source.below(limit) for _ in range(300)]
    assert 0 <= min(result) <= max(result) < limit
    assert abs(sum(result) / limit / 300 - 0.5) < 0.1


def test_points_of_large_balls_have_the_exact_chances_of_totals_and_counts():
    """Of attributes of many sizes: the total, and the first count of the largest attribute."""
    sizes, radius, draws = (2, 3, 10, 31), 100, 1500
    source = uniform(7)
    result = np.array([module._point_of_ball(sizes, radius, source) for _ in range(draws)])
    ends = np.cumsum([0, *sizes])
    by_part = np.add.reduceat(result, ends[:-1], axis=1)
    assert (by_part == by_part[:, :1]).all()
    assert np.add.reduceat(np.abs(result), ends[:-1], axis=1).max() <= radius
    by_size = {size: numbers(size, radius) for size in sizes}
    ways = {total: prod(by_size[size][total] for size in sizes) for total in range(-radius, radius + 1)}
    totals = np.array([ways[total] / sum(ways.values()) for total in sorted(ways)])
    assert p_value(np.bincount(by_part[:, 0] + radius, minlength=2 * radius + 1), totals) > ALARM
    item = Counter()
    for total, share in zip(sorted(ways), totals, strict=True):
        for value in range(-40, 41):
            # the others of its attribute have a sum of total − value, and may have a norm of radius − |value|
            if share > 1e-12 and abs(total - value) <= radius - abs(value):
                item[value] += share * number(30, radius - abs(value), total - value) / by_size[31][total]
    counts = Counter(np.clip(result[:, ends[3]], -41, 41).tolist())
    kept = [*range(-40, 41)]
    chances = [item[value] for value in kept]
    assert p_value([counts[v] for v in kept] + [counts[-41] + counts[41]], [*chances, 1 - sum(chances)]) > ALARM


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [6000, pytest.param(60_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize(
    ("sizes", "epsilon", "reach"),
    [((2,), 1, 25), ((2, 2), 1, 15), ((3,), 1, 12), ((3, 2), Fraction(3, 2), 8), ((2, 2, 2), 2, 6), ((4, 1), 3, 5)],
    ids=str,
)
def test_points_have_their_exact_chances(sizes, epsilon, reach, source, draws):
    """Point by point, on whole rows."""
    mechanism = Coarse(Fraction(epsilon), sizes)
    result = np.array(source.prepare(mechanism)(np.zeros((draws, sum(sizes)), dtype=np.int64))).astype(np.int64)
    counted = Counter(map(tuple, result.tolist()))

    def chances(factor):
        step = Fraction(epsilon) * factor
        by_gauge = point_chances(sizes, step, reach)
        return {tuple(v for part in point for v in part): by_gauge[gauge(point)] for point in points(sizes, reach)}

    exact = chances(1)
    likely = [point for point, chance in exact.items() if chance * draws >= 10]
    counts = [counted[point] for point in likely]
    counts.append(draws - sum(counts))
    for factor in (1, *FACTORS):
        given = chances(factor)
        expected = [given[point] for point in likely]
        right = p_value(counts, [*expected, 1 - sum(expected)]) > ALARM
        assert right == (factor == 1)


@pytest.mark.statistics
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize(
    ("mechanism", "draws"),
    [
        (SharedHistograms(Fraction(5, 2), (2,) * 40), 3400),
        (SharedHistograms(Fraction(1, 7), (3,) * 12), 5400),
        (SharedHistograms(Fraction(4), (4, 3, 3, 6, 1, 8), 3), 6800),
    ],
    ids=["40 of 2 bins", "12 of 3 bins", "of 1 to 8 bins"],
)
def test_gauges_have_their_exact_chances_on_every_grid(mechanism, draws, source):
    """Of two classes, which are independent; noise of an ε that is 4 % too large or too small is rejected."""
    sizes, step = mechanism.sizes, Fraction(*mechanism._step_epsilon)
    run, zeros = source.prepare(mechanism), np.zeros((2, sum(sizes)), dtype=np.int64)
    result = np.array([run(zeros) for _ in range(draws // 2)]) * mechanism.grid
    pairs = np.array([gauges(result[:, place], sizes) for place in (0, 1)]).astype(np.int64)
    ends = np.searchsorted(np.cumsum(gauge_chances(sizes, step)), np.arange(1, 10) / 10)  # tenths

    def p(factor):
        chances = np.add.reduceat(gauge_chances(sizes, step * factor), [0, *ends + 1])
        return p_value(np.bincount(np.searchsorted(ends, pairs.ravel()), minlength=10), chances)

    assert p(1) > ALARM
    assert all(p(factor) < ALARM for factor in OFF)
    high = pairs > np.median(pairs)
    assert abs(np.corrcoef(high)[0, 1]) < 6.2 / np.sqrt(draws // 2)  # six standard errors: 1e-9


@given(st.lists(st.integers(-(2**40), 2**40), min_size=5, max_size=5), st.integers(0, 2**32))
def test_noise_does_not_depend_on_the_counts(values, seed):
    mechanism = SharedHistograms(Fraction(1, 3), (3, 2))
    given, zeros = np.array([values]), np.zeros((1, 5), dtype=np.int64)
    result, alone = (mechanism.simulate(rows, np.random.default_rng(seed)) for rows in (given, zeros))
    assert (np.array(result) - given == alone).all()


# Variances


def exact_variances(sizes, step):
    """Return the variances of the noise of a count of each size, given the total, and of the total, in grid steps."""
    d = dimension(sizes)
    c = (d + 1) // 2
    stop = 1 - exp(-float(step))
    far = c + int(nbinom.isf(1e-4, d + 1, stop))
    of_total, of_counts, known = 0.0, Counter(), 0.0
    for radius in range(c, far):
        chance = nbinom.pmf(radius - c, d + 1, stop)
        if chance < 1e-4:
            continue
        by_size = {size: numbers(size, radius) for size in set(sizes)}
        ways = {total: prod(by_size[size][total] for size in sizes) for total in range(-radius, radius + 1)}
        volume, known = sum(ways.values()), known + chance
        of_total += chance * sum(size * total**2 for total, size in ways.items()) / volume
        for size, by_total in by_size.items():
            squares = sum(
                ways[total] / by_total[total] / volume * value**2 * number(size - 1, radius - abs(value), total - value)
                for total in range(-radius, radius + 1)
                if ways[total] > 1e-6 * volume
                for value in range(-radius, radius + 1)
                if abs(total - value) <= radius - abs(value)
            )
            of_counts[size] += chance * squares
    return {size: square / known - of_total / known / size**2 for size, square in of_counts.items()}, of_total / known


@pytest.mark.parametrize(("sizes", "epsilon"), [((2, 2), 1), ((3, 2), Fraction(1, 4)), ((2, 2, 2), 30)], ids=str)
def test_variances_are_within_two_percent_of_the_exact_ones(sizes, epsilon):
    mechanism = SharedHistograms(Fraction(epsilon), sizes)
    of_counts, of_total = exact_variances(sizes, Fraction(*mechanism._step_epsilon))
    for size, variance in zip(sizes, mechanism.count_variances, strict=True):
        assert variance * mechanism.grid**2 == pytest.approx(of_counts[size], rel=0.02)
    assert mechanism.total_variance * mechanism.grid**2 == pytest.approx(of_total, rel=0.02)


@pytest.mark.parametrize(
    ("sizes", "epsilon", "sensitivity", "draws"),
    [((2,) * 30, Fraction(1, 2), 1, 900), ((2, 3, 9, 20), 8, 5, 900), ((1, 64, 30), Fraction(1, 50), 1, 300)],
    ids=str,
)
def test_variances_are_those_of_draws(sizes, epsilon, sensitivity, draws):
    mechanism = SharedHistograms(Fraction(epsilon), sizes, sensitivity)
    noise = np.array(mechanism.simulate(np.zeros((draws, sum(sizes)), np.int64), np.random.default_rng(9)))
    ends = np.cumsum([0, *sizes])
    total = noise[:, : sizes[0]].sum(axis=1)
    assert (total**2).mean() == pytest.approx(mechanism.total_variance, abs=5 * (total**2).std() / draws**0.5)
    for start, stop, variance in zip(ends[:-1], ends[1:], mechanism.count_variances, strict=True):
        squares = ((noise[:, start:stop] - total[:, np.newaxis] / (stop - start)) ** 2).mean(axis=1)
        assert squares.mean() == pytest.approx(variance, abs=5 * squares.std() / draws**0.5 + 1e-12)


def test_variances_stay_positive_and_finite_at_any_epsilon():
    for epsilon in (Fraction(1, 2**40), Fraction(10**6), Fraction(10**305)):
        mechanism = SharedHistograms(epsilon, (2, 30))
        assert 0 < min(mechanism.count_variances) < inf
        assert 0 < mechanism.total_variance < inf


def test_shared_noise_is_smaller_than_laplace_noise_on_each_histogram():
    """The ratios of standard deviations that docs/mathematics.md states, at a small ε of all attributes together."""
    for size, ratio in ((2, 0.361), (3, 0.510), (6, 0.716), (20, 0.904)):
        shared = SharedHistograms(Fraction(1, 1000), (size,) * 10).count_variances[0]
        reconciled = 2 * (10 / 0.001) ** 2 * (1 - 1 / size)
        assert (shared / reconciled) ** 0.5 == pytest.approx(ratio, abs=0.002)


# Groups


def partitions(places):
    """Yield all ways to cut a sequence into runs."""
    for cuts in range(len(places)):
        for ends in combinations(range(1, len(places)), cuts):
            yield [places[start:stop] for start, stop in pairwise((0, *ends, len(places)))]


def true_cost(groups, sizes):
    """Return the mean log standard deviation of counts given totals, over attributes that have more than one bin."""
    costs = []
    for group in groups:
        epsilon = Fraction(len(group), len(sizes) * 100)
        if len(group) == 1:
            variances = [2 * (1 - 1 / sizes[group[0]]) / float(epsilon) ** 2]
        elif max(sizes[place] for place in group) > MOST_BINS:
            return inf
        else:
            variances = SharedHistograms(epsilon, tuple(sizes[place] for place in group)).count_variances
        costs += [log(variance) / 2 for place, variance in zip(group, variances, strict=True) if sizes[place] > 1]
    return sum(costs) / max(len(costs), 1)


@given(st.lists(st.one_of(st.integers(1, 8), st.integers(1, 70)), min_size=1, max_size=7))
def test_groups_are_within_one_percent_of_the_best_partition(sizes):
    """Of all partitions into runs by size, by the variances of the mechanisms themselves."""
    groups = attribute_groups(sizes)
    assert sorted(place for group in groups for place in group) == [*range(len(sizes))]
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    assert [sizes[place] for group in groups for place in sorted(group, key=sizes.__getitem__)] == sorted(sizes)
    best = min(true_cost(groups, sizes) for groups in partitions(order))
    assert true_cost(groups, sizes) <= best + log(1.01)


def test_groups_of_usual_tables():
    def shape(sizes):
        return [tuple(sorted(sizes[place] for place in group)) for group in attribute_groups(sizes)]

    assert shape([2] * 12) == [(2,) * 12]
    assert shape([20, 2] * 10) == [(2,) * 10, (20,) * 10]
    assert shape([2, 30]) == [(2,), (30,)]
    assert shape([7]) == [(7,)]
    assert shape([65, 2, 65, 2]) == [(2, 2), (65,), (65,)]
    assert shape([1, 1, 3, 3]) == [(1, 1, 3, 3)]
    assert attribute_groups([3, 2, 3, 2]) == ((0, 1, 2, 3),)
    assert attribute_groups([]) == ()


# What callers rely on


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.fractions(Fraction(1, 1000), 1000), st.integers(1, 300))
def test_an_answer_has_equal_totals_and_is_on_the_grid(sizes, epsilon, sensitivity):
    mechanism = SharedHistograms(epsilon, tuple(sizes), sensitivity)
    grid = mechanism.grid
    assert grid & (grid - 1) == 0
    assert 4 * epsilon / sensitivity <= grid < max(8 * epsilon / sensitivity, 2)
    rows = np.zeros((2, sum(sizes)), dtype=np.int64)
    ends = np.cumsum([0, *sizes])
    rows[:, ends[:-1]] = [[5], [2**40]]
    for source in SOURCES:
        result = np.array(source.prepare(mechanism)(rows))
        assert result.shape == rows.shape
        assert np.array_equal(result * grid, np.rint(result * grid))
        totals = np.add.reduceat(result, ends[:-1], axis=1)
        assert np.array_equal(totals, np.broadcast_to(totals[:, :1], totals.shape))


def test_no_count_is_too_large():
    """A release may not fail after its charge."""
    mechanism = SharedHistograms(Fraction(10**6), (2, 1))
    counts = np.array([[2**63 - 1, 0, 2**63 - 1], [-(2**63), 2**63 - 1, -1]])
    result = np.array(mechanism.build()(counts))
    assert result == pytest.approx(counts.astype(float), rel=1e-9, abs=1e-3)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2**40), Fraction(1000), Fraction(10**305)], ids=float)
def test_every_epsilon_that_is_accepted_is_drawn_with(epsilon):
    mechanism = SharedHistograms(epsilon, (1, 2, 20, 64) * 5)
    result = np.array(mechanism.build()(np.zeros((3, 435), dtype=np.int64)))
    assert result.std() == pytest.approx(np.mean(mechanism.count_variances) ** 0.5, rel=10)


def test_an_epsilon_that_is_too_small_is_refused_before_the_charge():
    with pytest.raises(ValueError, match="epsilon for one release must be >= 9"):
        SecureNoise().prepare(SharedHistograms(Fraction(1, 2**40 + 1), (2, 3)))


@pytest.mark.parametrize("sizes", [(), (0, 2), (65,), (2, -1)])
def test_sizes_that_cannot_share_noise_are_refused(sizes):
    with pytest.raises(ValueError, match=r"^sizes .*1 to 64"):
        SharedHistograms(Fraction(1), sizes)


def test_numbers_of_numpy_do_not_overflow():
    mechanism = SharedHistograms(Fraction(1, 10**9), (np.int32(3), np.int8(40)), np.int32(10))
    assert [type(size) for size in mechanism.sizes] == [int, int]
    assert mechanism == SharedHistograms(Fraction(1, 10**9), (3, 40), 10)
    result = np.array(mechanism.simulate(np.zeros((1, 43), np.int64), np.random.default_rng(1)))
    assert np.abs(result).max() > 10**9


DISTANCE = SharedHistograms(Fraction(1), (3, 2))
EMPTY = [[0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("other", "distance"),
    [
        (EMPTY, 0),
        ([[1, 0, 0, 0, 1], [0, 0, 0, 0, 0]], 1),
        ([[0, 0, 0, 0, 0], [0, -1, 0, -1, 0]], 1),
        ([[3, 0, 0, 0, 3], [0, 1, 0, 1, 0]], 4),  # of the steps of a number, some in each class
        ([[1, 0, 0, 0, 1], [0, -1, 0, -1, 0]], 2),  # a row of another class
        ([[1, -1, 0, 0, 0], [0, 0, 0, 0, 0]], 2),  # a row of another bin
        ([[1, 0, 0, 1, 1], [0, 0, 0, 0, 0]], inf),  # totals that change unequally
        ([[1, 0, 0, 0, 1]], inf),
        ([[1, 0, 0, 0], [0, 0, 0, 0]], inf),
        ([0, 0, 0, 0, 0], inf),
        ([[[0, 0, 0, 0, 0]]], inf),
        ([[0.5, 0, 0, 0, 0.5], [0, 0, 0, 0, 0]], inf),
        ([[float("nan")] * 5] * 2, inf),
        ([["a"] * 5] * 2, inf),
        ([[False] * 5] * 2, inf),
        ([[2**62, 0, 0, 2**62, 0], [2**62, 0, 0, 2**62, 0]], 2**63),
        ([[2**62, 2**62, 2**62, -(2**62), 0], [0, 0, 0, 0, 0]], inf),  # 3·2^62 and −2^62 are equal in 64 bits
    ],
)
def test_the_distance_is_the_sum_of_the_gauges_of_classes(other, distance):
    assert DISTANCE.distance(np.array(EMPTY), np.array(other)) == distance
    assert DISTANCE.distance(np.array(other), np.array(EMPTY)) == distance


def test_distances_do_not_overflow():
    low, high = ([[way * 2**62] * 3 + [way * 3 * 2**61] * 2] for way in (-1, 1))
    assert DISTANCE.distance(low, high) == 3 * 2**63


def test_inputs_of_disjoint_rows_are_released_for_a_single_charge():
    siblings = Siblings(SharedHistograms(Fraction(1), (3, 2)))
    item, other = ([np.array(EMPTY), np.array(EMPTY) + place] for place in (0, np.array([1, 0, 0, 0, 1])))
    assert siblings.distance(item, other) == 2
    assert np.shape(siblings.build()(item)) == (2, 2, 5)


def test_the_record_and_the_words_of_the_mechanism():
    mechanism = SharedHistograms(Fraction(1, 2), (3, 2), 3)
    assert (mechanism.delta, mechanism.rho) == (0, None)
    assert dict(mechanism.record.details) == {"attributes": 2, "bins": 5, "sensitivity": 3, "scale": Fraction(6)}
    assert mechanism.record.words == (
        "K-norm noise shared by histograms of 2 attributes with 5 bins; sensitivity 3, scale 6; its rho is the largest "
        "that this epsilon allows"
    )


def test_randomness_is_read_anew_for_every_release(monkeypatch):
    """So that no two processes, of which one is a fork of the other, draw from the same bytes."""
    reads, read = [], module.os.urandom
    monkeypatch.setattr(module.os, "urandom", lambda size: reads.append(size) or read(size))
    run = SharedHistograms(Fraction(1), (2, 2)).build()
    for _ in range(3):
        reads.clear()
        run(np.zeros((1, 4), dtype=np.int64))
        assert len(reads) == 1
