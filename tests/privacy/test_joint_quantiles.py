"""Joint quantiles: the draw against every tuple, its loss on generated neighbours, its rounding against 60 digits."""

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import TooManyRowsError
from hedgerow.privacy import joint_quantiles
from hedgerow.privacy.exponential_mechanism import MOST_ROWS
from hedgerow.privacy.joint_quantiles import Intervals, JointQuantiles
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.learn.enumerate_models import PRECISE, decimal, exact_chance, executions, log_sum
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value
from tests.privacy.renyi import rho_of

SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(17))]
EPSILONS = st.sampled_from([Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(10)])
SIZES = [5, pytest.param(300, marks=pytest.mark.slow)]


def score(counts, mechanism, positions):
    """The score as it is defined, in fractions: each count is spread evenly over the parts of a candidate."""
    bins, parts, rows = mechanism.bins, mechanism.parts, sum(counts)
    spread = [Fraction(count, parts) for count in counts[:-1] for _ in range(parts)] + [Fraction(counts[-1])]
    edges = [0, *(position + 1 for position in positions), len(spread)]
    return -parts * sum(abs(bins * sum(spread[start:end]) - rows) for start, end in pairwise(edges))


def tuples(mechanism):
    return list(combinations_with_replacement(range(mechanism.parts * mechanism.candidates), mechanism.bins - 1))


def exactly(counts, mechanism, weight=None):
    """The log-probability of every tuple at the weight, to 60 digits."""
    weight = mechanism.weight if weight is None else weight
    weights = {positions: decimal(weight * score(counts, mechanism, positions)) for positions in tuples(mechanism)}
    total = log_sum(weights.values())
    return {positions: PRECISE.subtract(result, total) for positions, result in weights.items()}


def as_drawn(counts, mechanism):
    """The log-probability of every tuple as it is drawn, to 60 digits: from what is offered at every choice."""
    result = list(executions(lambda choose: mechanism.sampler(np.array(counts, dtype=np.int64), choose)()))
    chances = {positions: exact_chance(path) for positions, path in result}
    assert len(chances) == len(result)
    return chances


def reserved(mechanism):
    return decimal(mechanism.epsilon - 4 * (mechanism.bins - 1) * mechanism.parts * mechanism.weight)


@st.composite
def columns(draw, most=20):
    """Counts of no row, of all rows in one bin, or of rows anywhere; bins to aim at, with at most 120 tuples."""
    candidates, bins = draw(st.sampled_from([(1, 2), (1, 5), (2, 4), (3, 3), (5, 3), (9, 2), (40, 2)]))
    number = st.integers(0, most // (candidates + 1))
    counts = draw(st.lists(number, min_size=candidates + 1, max_size=candidates + 1))
    kind = draw(st.sampled_from(["any", "none", "one bin", "few bins"]))
    kept = {"any": candidates + 1, "none": 0, "one bin": 1, "few bins": 2}[kind]
    places = draw(st.permutations(range(candidates + 1)))[:kept]
    if kind == "one bin":
        return [draw(st.integers(1, most)) if place in places else 0 for place in range(candidates + 1)], bins
    return [count if place in places else 0 for place, count in enumerate(counts)], bins


@st.composite
def neighbours(draw, most=20):
    """Counts, and the same with one row more, at times in an empty bin."""
    counts, bins = draw(columns(most))
    empty = [place for place, count in enumerate(counts) if not count]
    place = draw(st.sampled_from(empty if empty and draw(st.booleans()) else range(len(counts))))
    return counts, [count + (at == place) for at, count in enumerate(counts)], bins


large = columns(MOST_ROWS - 1)


# What is drawn


@settings(deadline=None)
@given(columns(), EPSILONS, st.sampled_from([1, 2, 3, 64]))
def test_every_tuple_is_drawn_with_its_exact_probability(column, epsilon, block):
    counts, bins = column
    mechanism = JointQuantiles(epsilon, bins, len(counts) - 1)
    expected = exactly(counts, mechanism)
    with patch.object(joint_quantiles, "_BLOCK", block):
        result = as_drawn(counts, mechanism)
    assert result.keys() == expected.keys()
    assert max(abs(result[places] - expected[places]) for places in expected) < Decimal("1e-11")


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [6000, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_draws_have_the_exact_distribution(source, draws):
    """Total variation, too; the test rejects a weight 30 % too small or too large."""
    counts, mechanism = [6, 0, 2, 1, 9], JointQuantiles(Fraction(4), 3, 4)
    run, order = source.prepare(mechanism), list(combinations_with_replacement(range(4), 2))

    def chances(factor):
        summed = dict.fromkeys(order, 0.0)
        for positions, value in exactly(counts, mechanism, mechanism.weight * factor).items():
            summed[mechanism.places(positions)] += math.exp(value)
        return np.array([*summed.values()])

    drawn = [run(np.array(counts)) for _ in range(draws)]
    result = np.array([drawn.count(places) for places in order])
    assert result.sum() == draws
    assert p_value(result, chances(1)) > ALARM
    assert all(p_value(result, chances(factor)) < ALARM for factor in FACTORS)
    # of k outcomes: its mean is below sqrt(k / 4n), and one draw moves it by 1/n at most (McDiarmid)
    bound = math.sqrt(len(order) / (4 * draws)) + math.sqrt(-math.log(ALARM) / (2 * draws))
    assert np.abs(result / draws - chances(1)).sum() / 2 < bound


def test_the_steps_of_a_draw_do_not_depend_on_the_rows():
    mechanism = JointQuantiles(Fraction(1), 4, 7)
    assert mechanism.parts == 4

    def offered(counts, places):
        result = []

        def choose(log_weights):
            result.append(log_weights)
            return places[len(result) - 1]

        mechanism.sampler(np.array(counts), choose)()
        assert all(np.isfinite(item).all() for item in result)
        return [len(item) for item in result]

    for places in ([0, 0, 0], [2, 0, 4], [26, 0, 0]):
        tables = ([0] * 8, [1] * 8, [0, 0, 0, 2**31, 0, 0, 0, 0], [5, 0, 0, 0, 0, 0, 0, 900])
        assert len({tuple(offered(counts, places)) for counts in tables}) == 1
    assert offered([0] * 8, [2, 0, 4]) == [28, 26, 26]


def test_equal_masses_are_found_at_large_epsilon():
    """By hand: 12 rows in four intervals of 3."""
    counts = np.array([1, 2, 0, 3, 1, 1, 1, 3])
    assert JointQuantiles(Fraction(10_000), 4, 7).build()(counts) in [(1, 3, 6), (2, 3, 6)]


def test_a_frequent_value_is_several_quantiles_and_bins_stay_balanced():
    """By hand: half of 80 rows are up to the fifth of nine candidates, five up to each other; 20 rows an interval."""
    counts = np.array([5, 5, 5, 5, 40, 5, 5, 5, 5, 0])
    mechanism = JointQuantiles(Fraction(10_000), 4, 9)
    assert score(counts.tolist(), mechanism, (15, 17, 19)) == 0
    assert mechanism.build()(counts) == mechanism.places((15, 17, 19)) == (3, 4, 4)


def test_the_place_of_a_position_is_the_nearer_candidate():
    even, odd = JointQuantiles(Fraction(1), 4, 3), JointQuantiles(Fraction(1), 3, 3)
    assert (even.parts, odd.parts) == (4, 3)
    assert even.places(tuple(range(12))) == (0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2)
    assert odd.places(tuple(range(9))) == (0, 0, 0, 0, 1, 1, 1, 2, 2)


@pytest.mark.parametrize(
    ("bins", "candidates", "parts"),
    [(2, 1, 2), (5, 1000, 5), (10, 1000, 4), (10, 168, 10), (52, 120, 16), (1000, 1000, 1)],
)
def test_there_is_a_part_for_each_bin_unless_a_draw_would_take_long(bins, candidates, parts):
    mechanism = JointQuantiles(Fraction(1), bins, candidates)
    assert mechanism.parts == parts
    assert parts == 1 or (bins - 1) * (parts * candidates) ** 2 / 2 <= 10**8


# What it costs


def test_a_row_changes_the_score_by_at_most_its_sensitivity_which_is_tight():
    """All columns of up to four rows with two candidates, and all tuples, for two to four bins."""
    for bins in range(2, 5):
        mechanism, changes = JointQuantiles(Fraction(1), bins, 2), set()
        scores = {
            counts: np.array([score(counts, mechanism, positions) for positions in tuples(mechanism)])
            for counts in product(range(5), repeat=3)
            if sum(counts) <= 4
        }
        for counts in scores:
            for more in range(3):
                after = tuple(count + (place == more) for place, count in enumerate(counts))
                if after in scores:
                    changes |= set((scores[after] - scores[counts]).tolist())
        assert -min(changes) == max(map(abs, changes)) == mechanism.score_sensitivity == 2 * bins * (bins - 1)
        assert max(changes) > 0


@settings(deadline=None)
@given(neighbours(), EPSILONS)
def test_a_row_changes_log_probabilities_of_tuples_by_at_most_epsilon(tables, epsilon):
    before, after, bins = tables
    mechanism = JointQuantiles(epsilon, bins, len(before) - 1)
    item, other = (as_drawn(counts, mechanism) for counts in (before, after))
    assert max(abs(item[places] - other[places]) for places in item) <= decimal(epsilon)
    assert rho_of(item, other) <= float(mechanism.rho) * (1 + 1e-9) + 1e-13


def test_most_of_epsilon_is_used():
    """So that the test above has power, and the factor 2 for scores of any direction is needed.

    The row comes into the empty bin: the tuple that parts it from the others gains the sensitivity, and the many that
    have all rows in one interval lose it.
    """
    empty = [0] * 60
    mechanism = JointQuantiles(Fraction(1), 2, 61)
    item, other = (exactly([*empty, *counts], mechanism) for counts in ([0, 1], [1, 1]))
    assert Decimal("0.9") < max(abs(item[positions] - other[positions]) for positions in item) <= 1


def test_distances_count_rows():
    mechanism = JointQuantiles(Fraction(1), 3, 2)
    assert mechanism.sensitivity == 1
    assert mechanism.distance(np.array([1, 5, 0]), np.array([1, 5, 1])) == 1
    assert mechanism.distance(np.array([1, 5, 0]), np.array([2, 4, 0])) == 2


# What is kept for rounding is enough


def worst_rounding(counts, mechanism):
    result, expected = as_drawn(counts, mechanism), exactly(counts, mechanism)
    return max(abs(PRECISE.subtract(result[places], expected[places])) for places in expected)


@pytest.mark.parametrize("examples", SIZES)
def test_rounding_of_two_columns_is_within_its_allowance(examples):
    """Of every tuple, of columns of up to 2^32 rows, against 60 digits."""

    @settings(max_examples=examples, deadline=None)
    @given(large, st.data(), EPSILONS)
    def within(column, data, epsilon):
        item, bins = column
        mechanism = JointQuantiles(epsilon, bins, len(item) - 1)
        other = data.draw(st.permutations(item))
        together = sum(worst_rounding(counts, mechanism) for counts in (item, other))
        assert together <= reserved(mechanism)

    within()


def test_rounding_is_real_and_grows_with_the_rows():
    """So that the test above has power: a two-hundredth of what is kept would not be enough."""
    mechanism = JointQuantiles(Fraction(10), 4, 2)
    few = [30, 1, 1]
    small, big = (worst_rounding(counts, mechanism) for counts in (few, [count * (2**27 - 9) + 7 for count in few]))
    assert big > 1000 * small > 0
    assert reserved(mechanism) / 200 < big < reserved(mechanism)


@pytest.mark.parametrize("bins", [2, 3, 17, 1000])
def test_the_log_weights_of_intervals_are_exact_products(bins):
    counts = [2**31, 12_345, 2**30 + 1, 2**30 - 12_347]
    mechanism = JointQuantiles(Fraction(1, 3), bins, 3)
    ends = np.cumsum([count * mechanism.parts for count in counts])
    result = Intervals(ends, bins, float(mechanism.weight)).after(np.array([0, *ends[:-1]]), 1)
    for start in range(4):
        for end in range(1, 4):
            rows = sum(counts[start : end + 1]) if end >= start else -sum(counts[end + 1 : start])
            expected = -mechanism.weight * mechanism.parts * abs(bins * rows - sum(counts))
            assert Fraction(float(result[start, end - 1])) == expected


# The weight

mechanisms = st.builds(
    JointQuantiles, st.fractions(Fraction(1, 10**5), 10**5), st.integers(2, 1000), st.integers(1, 1000)
)


@given(mechanisms)
def test_a_weight_has_few_binary_digits_and_costs_less_than_epsilon(mechanism):
    weight, largest = mechanism.weight, (mechanism.bins - 1) * mechanism.parts * (MOST_ROWS - 1)
    assert 0 < 2 * mechanism.score_sensitivity * weight < mechanism.epsilon
    assert weight.denominator & (weight.denominator - 1) == 0  # a power of two
    odd = weight.numerator // (weight.numerator & -weight.numerator)
    assert odd.bit_length() + largest.bit_length() <= 53


@given(mechanisms)
def test_hardly_anything_is_kept_beyond_what_the_bound_asks_for(mechanism):
    """The formula of the docstring, and at most 2^(bits of a term - 19) of epsilon for the weight's few digits."""
    m, r, unit = mechanism.bins - 1, mechanism.parts, Fraction(1, 2**53)
    k = r * mechanism.candidates
    grows = 4 * m * r * mechanism.weight * 6 * m * unit * MOST_ROWS
    least = grows + 4 * m * unit * Fraction(3 * m * math.log(k) + k + 8 + 8 * math.log(k))
    most = grows + 4 * m * unit * Fraction(3 * m * math.log(k) + k + 21 + 9 * math.log(k))
    kept = mechanism.epsilon - 4 * m * r * mechanism.weight
    assert least <= kept <= most + mechanism.epsilon * Fraction(1, 2 ** (19 - (m * r).bit_length()))


@pytest.mark.parametrize("bins", [2, 53, 1000])
def test_an_epsilon_of_which_rounding_would_take_half_is_refused(bins):
    with pytest.raises(ValueError, match=r"epsilon .*got 1e-14"):
        JointQuantiles(Fraction(1, 10**14), bins, 1000)
    mechanism = JointQuantiles(Fraction(1, 10**6), bins, 1000)
    assert mechanism.weight * 2 * mechanism.score_sensitivity > Fraction(9, 10**7)


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_log_weights_do_not_overflow_however_large_epsilon_is(source):
    mechanism = JointQuantiles(Fraction(10**305), 3, 2)
    assert mechanism.epsilon == 10**305
    assert source.prepare(mechanism)(np.array([2**30, 2**30, 2**30])) == (0, 1)


def test_columns_of_too_many_rows_are_refused():
    run = JointQuantiles(Fraction(1), 2, 1).build()
    assert run(np.array([MOST_ROWS - 1, 0])) == (0,)
    with pytest.raises(TooManyRowsError, match=r"fewer than 2\^32 rows"):
        run(np.array([MOST_ROWS - 1, 1]))


def test_one_candidate_is_every_quantile():
    assert JointQuantiles(Fraction(1), 5, 1).build()(np.array([3, 4])) == (0, 0, 0, 0)


def test_a_draw_says_what_it_is_and_what_is_kept_for_rounding():
    assert JointQuantiles(Fraction(1, 2), 6, 100).record.words == (
        "quantiles for 6 bins, jointly by the exponential mechanism over 100 public candidates, "
        "weight exp(-0.0041666 × score), sensitivity 60; epsilon reserved for rounding: 7.6e-06"
    )
