from fractions import Fraction
from itertools import product
from math import log2, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from hedgerow.audit.counting.regions import Region
from hedgerow.audit.entropy.values import Values
from hedgerow.audit.probabilistic.row import BoxFactor, ListedFactor, drawn_places
from tests.audit.probabilistic.weights import bins_inside, weighted

ALARM = 1e-4  # how often a right sampler would fail, were the seed not fixed


def numbered(weights):
    """Make domains in which bin c of each attribute holds the values (c, 0), (c, 1) and so on."""
    return [
        Values(f"a{k}", tuple([(c, i) for i in range(w)] for c, w in enumerate(ws))) for k, ws in enumerate(weights)
    ]


@given(weighted())
def test_a_box_factor_equals_enumeration(case):
    region, weights, masses = case
    result = dict(bins_inside(region, masses))
    if not result:
        return
    factor = BoxFactor(tuple(range(len(weights))), region, weights, masses)
    total = sum(result.values())
    expected = []
    for row, mass in result.items():
        held = prod(weights[k][bin] for k, bin in enumerate(row))
        for ranks in product(*(range(weights[k][bin]) for k, bin in enumerate(row))):
            expected.append((tuple(zip(row, ranks, strict=True)), Fraction(mass, total * held)))
    assert list(factor.outcomes(numbered(weights))) == sorted(expected)
    assert factor.value_combinations == len(expected)
    assert factor.uniform <= (len({chance for _, chance in expected}) == 1)
    assert factor.uniform or masses != weights
    assert factor.entropy_bits == pytest.approx(-sum(p * log2(p) for _, p in expected), abs=1e-9)
    for k, bins in enumerate(weights):
        marginal = [Fraction(sum(m for row, m in result.items() if row[k] == c), total) for c in range(len(bins))]
        assert factor.marginals[k] == tuple(marginal)
    everything = list(product(*(range(len(bins)) for bins in weights)))
    assert factor.allows(np.array(everything)).tolist() == [row in result for row in everything]


@given(weighted(), st.integers(0, 9))
def test_only_possible_rows_are_drawn(case, seed):
    region, weights, masses = case
    result = dict(bins_inside(region, masses))
    if result:
        factor = BoxFactor(tuple(range(len(weights))), region, weights, masses)
        drawn = factor.draw(20, np.random.default_rng(seed))
        assert {tuple(row) for row in drawn.tolist()} <= set(result)


WEIGHTS = ((1, 2, 1), (1, 1), (2, 1), (1, 1))
OVERLAPPING = Region(
    (0b111, 0b11, 0b11, 0b11), ((0b011, 0b10, 0b11, 0b11), (0b110, 0b11, 0b01, 0b11), (0b111, 0b11, 0b10, 0b10))
)


def p_value(drawn, masses):
    result = dict(bins_inside(OVERLAPPING, masses))
    counts = dict.fromkeys(result, 0)
    for row in drawn.tolist():
        counts[tuple(row)] += 1
    expected = np.array(list(result.values())) / sum(result.values()) * len(drawn)
    return chisquare(list(counts.values()), expected).pvalue


def bin_by_bin_biased(n, rng):
    """Draw each bin evenly from those that are left: what a sampler without counts does."""
    rows = list(dict(bins_inside(OVERLAPPING, WEIGHTS)))
    drawn = []
    for _ in range(n):
        row = ()
        while len(row) < 4:
            row += (rng.choice(sorted({other[len(row)] for other in rows if other[: len(row)] == row})),)
        drawn.append(row)
    return np.array(drawn)


@pytest.mark.parametrize("masses", [WEIGHTS, ((3, 2, 5), (1, 4), (2, 6), (7, 1))])
def test_rows_are_drawn_with_their_probabilities(masses):
    factor = BoxFactor((0, 1, 2, 3), OVERLAPPING, WEIGHTS, masses)
    assert p_value(factor.draw(20_000, np.random.default_rng(1)), masses) > ALARM


@pytest.mark.statistics
def test_the_check_of_draws_rejects_a_biased_one():
    assert p_value(bin_by_bin_biased(20_000, np.random.default_rng(1)), WEIGHTS) < ALARM
    factor = BoxFactor((0, 1, 2, 3), OVERLAPPING, WEIGHTS, ((1, 2, 1), (1, 1), (2, 1), (10, 13)))  # 30 % more of a bin
    assert p_value(factor.draw(20_000, np.random.default_rng(1)), WEIGHTS) < ALARM


@pytest.mark.statistics
@pytest.mark.parametrize("unit", [1, 2**62, 10**40])
def test_places_are_drawn_by_their_masses_however_large(unit):
    masses = [2 * unit, 0, unit, 5 * unit]
    counts = np.bincount(drawn_places(masses, 16_000, np.random.default_rng(2)), minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]], [4000, 2000, 10_000]).pvalue > ALARM
    assert chisquare(counts[[0, 2, 3]], [4000 * 0.7, 2000, 10_000 + 4000 * 0.3]).pvalue < ALARM


@pytest.mark.statistics
def test_a_row_beyond_floats_is_drawn_evenly():
    # 90 bits, not all of them true in any of 30 threes: 7^30 worlds; the first bit is true in 3 of 7 of them
    bits = ((1, 1),) * 90
    full = (3,) * 90
    threes = tuple((*full[:i], 2, 2, 2, *full[i + 3 :]) for i in range(0, 90, 3))
    factor = BoxFactor(tuple(range(90)), Region(full, threes), bits, bits)
    assert factor.value_combinations == 7**30
    drawn = factor.draw(2000, np.random.default_rng(3)).reshape(2000, 30, 3)
    assert not drawn.all(axis=2).any()
    counts = np.bincount((drawn @ [4, 2, 1]).ravel(), minlength=8)[:7]
    assert chisquare(counts).pvalue > ALARM


def test_a_listed_factor_has_the_listed_distribution():
    factor = ListedFactor((2, 0), ((0, 1), (1, 0), (1, 1)), (1, 2, 1), (2, 3))
    domain = [Values.listed("x", "pqr"), Values.listed("y", "."), Values.listed("z", "st")]
    quarter = Fraction(1, 4)
    assert list(factor.outcomes(domain)) == [(("s", "q"), quarter), (("t", "p"), 2 * quarter), (("t", "q"), quarter)]
    assert factor.entropy_bits == 1.5
    assert factor.marginals == ((quarter, 3 * quarter), (2 * quarter, 2 * quarter, 0))
    assert factor.allows(np.array([[0, 1], [0, 0]])).tolist() == [True, False]
    drawn = factor.draw(8000, np.random.default_rng(4))
    assert chisquare(np.bincount(drawn @ [2, 1])[1:], [2000, 4000, 2000]).pvalue > ALARM


def test_entropy_of_uneven_bins_by_hand():
    # one bin of one value with probability 1/4, one of two values that share 3/4: 2 - 3/4 log2(3/2)
    factor = BoxFactor((0,), Region((3,)), ((1, 2),), ((1, 3),))
    assert not factor.uniform
    assert factor.entropy_bits == pytest.approx(2 - 0.75 * log2(1.5))
