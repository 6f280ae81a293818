"""What a row's outcomes say, against lists of all models with and without the row, and counts by convolution."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.audit.exact.outcomes import DrawOutcomes, number_chances, ratio_chances
from hedgerow.learn.blocks import DrawProbabilities
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.losses import OBJECTIVES
from tests.learn.draws import EPSILONS, SIZES, plan_of
from tests.learn.enumerate_models import all_worlds, coarse_grid, models, neighbours
from tests.learn.search.known_chances import chances

WEIGHTS = [*EPSILONS, Fraction(150)]
FAR = 120  # noise beyond has a chance of e^(-24) at the smallest epsilon here


def known(found, table, weight, counts_epsilon=Fraction(0), added=None):
    added = np.zeros((len(found.schema.classes), 0), dtype=int) if added is None else added
    seen = chances(found, table, weight, exhaustive_levels(found.space, found.depth))
    return DrawProbabilities(
        seen, plan_of(found).loss, weight, "a loss", counts_epsilon, added, found.space.antecedents
    )


def model_chances(found, table, weight):
    return np.array([float(value.exp()) for value in found.log_probabilities(table, weight).values()])


def laplace(epsilon, centre):
    chance = np.exp(-float(epsilon) * np.abs(np.arange(-FAR, FAR + 1) - centre))
    return chance / chance.sum()


def index(schema, world, label):
    return np.array([all_worlds(schema).index(world)]), np.array([label])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("examples", SIZES)
def test_the_advantage_equals_enumeration_of_all_models(examples, objective):
    """From the table with the row, and from the one without it; by the file or by all that the model says."""

    @settings(max_examples=examples)
    @given(models(100, objective), st.data(), st.sampled_from(WEIGHTS))
    def same(found, data, weight):
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, classes = index(found.schema, world, label)
        item, other = (model_chances(found, table, weight) for table in (inside, without))
        expected = np.abs(item - other).sum() / 2
        logs = [found.log_probabilities(table, weight) for table in (inside, without)]
        ratio = max(abs(float(logs[0][model] - logs[1][model])) for model in logs[0])
        for table, is_member in ((inside, True), (without, False)):
            outcomes = DrawOutcomes.of(known(found, table, weight), patterns, classes, np.array([is_member]))
            there, away = outcomes.membership(classes)
            assert np.abs(there - away).sum(axis=1) / 2 == pytest.approx(expected, rel=1e-7, abs=1e-12)
            assert outcomes.largest_ratio(classes) == pytest.approx(ratio, rel=1e-7)
            assert ratio <= weight
            if objective == "errors":
                assert ratio >= weight / 2

    with coarse_grid():
        same()


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("examples", SIZES)
def test_label_advantage_equals_enumeration_of_all_models(examples, objective):
    @settings(max_examples=examples)
    @given(models(100, objective), st.data(), st.sampled_from(WEIGHTS))
    def same(found, data, weight):
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, classes = index(found.schema, world, label)
        outcomes = DrawOutcomes.of(known(found, inside, weight), patterns, classes, np.array([True]))
        for other in range(len(found.schema.classes)):
            item, two = (model_chances(found, without.plus(world, k), weight) for k in (label, other))
            seen = outcomes.label_distance(classes, other)
            assert seen == pytest.approx(np.abs(item - two).sum() / 2, rel=1e-7, abs=1e-12)

    with coarse_grid():
        same()


@pytest.mark.parametrize("counts_epsilon", [Fraction(1, 5), Fraction(1), Fraction(4)])
@pytest.mark.parametrize("examples", SIZES)
def test_a_noisy_count_composes_like_its_full_distribution(examples, counts_epsilon):
    """One bit of discrete Laplace noise is a sufficient statistic: nothing is lost by it."""

    @settings(max_examples=examples)
    @given(models(20), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, weight):
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, classes = index(found.schema, world, label)
        item, other = (model_chances(found, table, weight) for table in (inside, without))
        more, fewer = laplace(counts_epsilon, 1), laplace(counts_epsilon, 0)
        joint = np.abs(np.multiply.outer(item, more) - np.multiply.outer(other, fewer)).sum() / 2
        draw = known(found, inside, weight, counts_epsilon, np.eye(len(found.schema.classes), dtype=int))
        outcomes = DrawOutcomes.of(draw, patterns, classes, np.array([True]))
        there, away = outcomes.membership(classes)
        assert np.abs(there - away).sum() / 2 == pytest.approx(joint, rel=1e-7)
        loss = np.abs(np.log(item / other)).max() + float(counts_epsilon)
        assert outcomes.largest_ratio(classes) == pytest.approx(loss, rel=1e-7)

        swapped = [np.multiply.outer(more, fewer), np.multiply.outer(fewer, more)]
        for k in range(len(found.schema.classes)):
            if k != label:
                two = model_chances(found, without.plus(world, k), weight)
                parts = [np.multiply.outer(m, c) for m, c in zip((item, two), swapped, strict=True)]
                seen = outcomes.label_distance(classes, k)
                assert seen == pytest.approx(np.abs(parts[0] - parts[1]).sum() / 2, rel=1e-7)

    same()


def exact_noise(p, values, far=120):
    """The chances of noisy numbers that are `values` without noise, as fractions; what is beyond has p to the `far`."""
    grid = range(min(values) - far, max(values) + far + 1)
    return [[(1 - p) / (1 + p) * p ** abs(x - value) for value in values] for x in grid]


@pytest.mark.parametrize("p", [Fraction(3, 4), Fraction(1, 7)])
@pytest.mark.parametrize("values", [[0, 3], [2, 0], [1, 1], [0, 4, 1, 4], [5, 0, 2]])
def test_outcomes_of_noisy_numbers_merge_by_likelihood_ratio(values, p):
    """The whole distribution in fractions, summed where all ratios of the values are the same."""
    sums = {}
    for chances_of in exact_noise(p, values):
        ratios = tuple(chance / chances_of[0] for chance in chances_of)
        sums[ratios] = [a + b for a, b in zip(sums.get(ratios, [0] * len(values)), chances_of, strict=True)]
    expected = np.array(sorted([float(chance) for chance in each] for each in sums.values()))
    result = np.array(sorted(number_chances(np.array(values), -np.log(float(p))).tolist()))
    assert len(result) == max(values) - min(values) + 1
    assert result == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("one", "other"), [(3, 1), (0, 4), (4, 4), (2, 3)])
def test_ratios_of_two_sums_match_the_joint_distribution(one, other):
    """For two levels, and for a row that is not there: the distance of the pairs on the whole grid, in fractions."""
    p, sums = Fraction(1, 3), [[level, 4 - level] for level in range(5)]
    step = np.log(3)
    for two in (sums[other], [0, 0]):
        parts = [exact_noise(p, values, 30) for values in zip(sums[one], two, strict=True)]
        pairs = [(a[0] * b[0], a[1] * b[1]) for a in parts[0] for b in parts[1]]
        result = ratio_chances(np.array(sums[one]) - np.array(two), step)
        assert np.abs(result - result[::-1]).sum() / 2 == pytest.approx(float(sum(abs(a - b) for a, b in pairs) / 2))
        assert result.sum() == pytest.approx(1, rel=1e-14)
        logs = -step * (len(result) - 1), step * (len(result) - 1)
        assert np.exp(logs) == pytest.approx([float(least(a / b for a, b in pairs)) for least in (min, max)])
