"""What a row's outcomes say, against lists of all models with and without the row, and counts by convolution."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.audit.exact.outcomes import Outcomes, distance
from hedgerow.learn.plans import DrawProbabilities
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.losses import OBJECTIVES
from tests.learn.draws import EPSILONS, SIZES, plan_of
from tests.learn.enumerate_models import all_worlds, coarse_grid, models, neighbours
from tests.learn.search.known_chances import chances

WEIGHTS = [*EPSILONS, Fraction(150)]
FAR = 120  # noise beyond has a chance of e^(-24) at the smallest epsilon here


def known(found, table, weight, for_counts=Fraction(0)):
    seen = chances(found, table, weight, exhaustive_levels(found.space, found.depth))
    return DrawProbabilities(seen, plan_of(found).loss, weight, "a loss", for_counts, found.space.antecedents)


def model_chances(found, table, weight):
    return np.array([float(value.exp()) for value in found.log_probabilities(table, weight).values()])


def laplace(epsilon, centre):
    chance = np.exp(-float(epsilon) * np.abs(np.arange(-FAR, FAR + 1) - centre))
    return chance / chance.sum()


def index(schema, world, label):
    return np.array([all_worlds(schema).index(world)]), np.array([label])


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("examples", SIZES)
def test_the_distance_is_that_of_all_models(examples, objective):
    """From the table with the row, and from the one without it; by the file or by all that the model says."""

    @settings(max_examples=examples)
    @given(models(100, objective), st.data(), st.sampled_from(WEIGHTS))
    def same(found, data, weight):
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, classes = index(found.schema, world, label)
        one, other = (model_chances(found, table, weight) for table in (inside, without))
        expected = np.abs(one - other).sum() / 2
        logs = [found.log_probabilities(table, weight) for table in (inside, without)]
        ratio = max(abs(float(logs[0][model] - logs[1][model])) for model in logs[0])
        for table, is_member in ((inside, True), (without, False)):
            outcomes = Outcomes.of(known(found, table, weight), patterns, classes, np.array([is_member]))
            there, away = outcomes.membership(classes)
            assert distance(there, away) == pytest.approx(expected, rel=1e-7, abs=1e-12)
            assert outcomes.largest_ratio(classes) == pytest.approx(ratio, rel=1e-7)
            assert ratio <= weight
            if objective == "errors":
                assert ratio >= weight / 2

    with coarse_grid():
        same()


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_labels_are_told_apart_as_by_all_models(objective):
    @settings(max_examples=12)
    @given(models(100, objective), st.data(), st.sampled_from(WEIGHTS))
    def same(found, data, weight):
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, classes = index(found.schema, world, label)
        outcomes = Outcomes.of(known(found, inside, weight), patterns, classes, np.array([True]))
        for other in range(len(found.schema.classes)):
            one, two = (model_chances(found, without.plus(world, k), weight) for k in (label, other))
            seen = outcomes.label_distance(classes, np.array([other]))
            assert seen == pytest.approx(np.abs(one - two).sum() / 2, rel=1e-7, abs=1e-12)

    with coarse_grid():
        same()


@pytest.mark.parametrize("for_counts", [Fraction(1, 5), Fraction(1), Fraction(4)])
def test_a_noisy_count_composes_as_its_whole_distribution_does(for_counts):
    """One bit of discrete Laplace noise is a sufficient statistic: nothing is lost by it."""

    @settings(max_examples=8)
    @given(models(20), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, weight):
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, classes = index(found.schema, world, label)
        one, other = (model_chances(found, table, weight) for table in (inside, without))
        more, fewer = laplace(for_counts, 1), laplace(for_counts, 0)
        joint = np.abs(np.multiply.outer(one, more) - np.multiply.outer(other, fewer)).sum() / 2
        draw = known(found, inside, weight, for_counts)
        outcomes = Outcomes.of(draw, patterns, classes, np.array([True]))
        assert distance(*outcomes.membership(classes)) == pytest.approx(joint, rel=1e-7)
        loss = np.abs(np.log(one / other)).max() + float(for_counts)
        assert outcomes.largest_ratio(classes) == pytest.approx(loss, rel=1e-7)

        swapped = [np.multiply.outer(more, fewer), np.multiply.outer(fewer, more)]
        for k in range(len(found.schema.classes)):
            if k != label:
                two = model_chances(found, without.plus(world, k), weight)
                parts = [np.multiply.outer(m, c) for m, c in zip((one, two), swapped, strict=True)]
                seen = outcomes.label_distance(classes, np.array([k]))
                assert seen == pytest.approx(np.abs(parts[0] - parts[1]).sum() / 2, rel=1e-7)

    same()
