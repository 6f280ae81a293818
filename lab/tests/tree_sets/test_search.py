"""Several trees drawn without replacement: exact probabilities, by going every way that the draws can go."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Categorical, Integer
from lab.tree_sets.search import SetSearch, TreeSampler
from tests.learn.draws import ALARM, FACTORS
from tests.learn.enumerate_models import (
    Models,
    Table,
    all_worlds,
    chance,
    constant,
    exact_chance,
    executions,
    irreducible,
    neighbours,
    schema_of,
    sets_one_by_one,
    tables,
)
from tests.privacy.chances import p_value

WIDE = Integer(0, 2, cuts=(0, 1))
SPACES = [
    (schema_of(Boolean()), 1, 3),
    (schema_of(Boolean(), classes=3), 1, 2),
    (schema_of(Boolean(), Boolean()), 1, 3),
    (schema_of(WIDE), 2, 2),
    pytest.param(schema_of(WIDE), 2, 3, marks=pytest.mark.slow),
    (schema_of(Categorical(("a", "b", "c"))), 2, 2),
    pytest.param(schema_of(Boolean(), Boolean()), 2, 2, marks=pytest.mark.slow),
    pytest.param(schema_of(WIDE, Boolean()), 1, 3, marks=pytest.mark.slow),
]


def models_of(schema, depth):
    return Models(Space.of_trees(schema), depth, by_depth=StopPrior(-1.0, 0.5, 1.0))


def search_of(models):
    return SetSearch(models.space, models.depth, models.stop_prior)


def drawn(models, table, n, weight, measure=chance):
    """Every sequence of trees that can be drawn with its log-probability: each in one way alone."""
    sampler, result = TreeSampler(table.tally, search_of(models)), {}

    def run(choose):  # the weights of the table are kept
        sampler.drawn.clear()
        return tuple(sampler.sample(float(weight), choose) for _ in range(n))

    for several, draws in executions(run):
        assert several not in result
        result[several] = measure(draws)
    return result


@pytest.mark.parametrize(("schema", "depth", "n"), SPACES)
@pytest.mark.parametrize("weight", [Fraction(1, 8), Fraction(2)])
def test_every_sequence_of_trees_is_drawn_with_its_exact_probability(schema, depth, n, weight):
    models, classes = models_of(schema, depth), schema.target.n_levels
    table = Table(schema, tuple((w, i % classes, 2 * i + 1) for i, w in enumerate(all_worlds(schema))))
    expected, result = sets_one_by_one(models, table, n, weight), drawn(models, table, n, weight)
    assert result.keys() == expected.keys()
    assert np.allclose([result[item] for item in expected], list(map(float, expected.values())), rtol=0, atol=1e-10)


@pytest.mark.parametrize("examples", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_every_sequence_is_drawn_with_its_exact_probability_from_any_table(examples):
    @settings(max_examples=examples)
    @given(st.data())
    def same(data):
        models = models_of(*data.draw(st.sampled_from([(schema_of(WIDE), 2), (schema_of(Boolean(), Boolean()), 1)])))
        table, weight = data.draw(tables(models.schema)), Fraction(data.draw(st.integers(1, 64)), 16)
        expected, result = sets_one_by_one(models, table, 2, weight), drawn(models, table, 2, weight)
        assert result.keys() == expected.keys()
        assert max(abs(result[item] - float(value)) for item, value in expected.items()) < 1e-10

    same()


def test_what_is_left_is_exact_where_one_tree_has_all_but_nothing_of_the_weight():
    """After a tree of weight 1 − e⁻⁶⁰⁰ a difference of float64 would be 0: within the bound on rounding."""
    models, rows = models_of(schema_of(WIDE), 2), 1200
    table = Table(models.schema, tuple(((place,), place % 2, rows) for place in range(3)))
    weight, search = Fraction(1, 2), search_of(models)
    expected = sets_one_by_one(models, table, 2, weight)
    result = drawn(models, table, 2, weight, exact_chance)
    allowed = 2 * 4 * 2**-53 * 3 * (18 * 0.5 * 3 * rows + 8 * search.constant)
    assert max(result.values()) > -0.7
    assert max(abs(float(result[item] - value)) for item, value in expected.items()) <= allowed < 1e-9


@pytest.mark.parametrize(("schema", "depth", "_"), SPACES)
def test_the_number_of_trees_is_that_of_an_enumeration(schema, depth, _):
    models = models_of(schema, depth)
    assert search_of(models).n_trees == sum(map(irreducible, models.priors))


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("examples", [8, pytest.param(100, marks=pytest.mark.slow)])
def test_one_row_changes_the_log_probability_of_no_sequence_by_more_than_epsilon(examples, n):
    @settings(max_examples=examples)
    @given(st.data())
    def private(data):
        models = models_of(schema_of(WIDE), 1)
        epsilon = n * data.draw(st.sampled_from([Fraction(1, 10), Fraction(2)]))
        weight = search_of(models).draw(epsilon / n).weight
        item, other = (drawn(models, table, n, weight) for table in data.draw(neighbours(models.schema)))
        assert max(abs(item[several] - other[several]) for several in item) <= epsilon

    private()


def test_most_of_epsilon_is_used():
    """So that the test of privacy has power: at a weight 30 % above, this loss is above ε."""
    models = models_of(schema_of(Boolean()), 1)
    table = Table(models.schema, (((0,), 0, 40), ((1,), 1, 40)))

    def loss(weight):
        item, other = (drawn(models, each, 2, weight) for each in (table, table.plus((0,), 1)))
        return max(abs(item[several] - other[several]) for several in item)

    weight = search_of(models).draw(Fraction(1, 2)).weight
    assert 0.8 < loss(weight) <= 1 < loss(weight * Fraction(13, 10))


@pytest.mark.statistics
def test_sets_are_drawn_as_often_as_their_probability_says():
    """Seeded. The test rejects a weight 30 % too small or too large."""
    models = models_of(schema_of(Boolean()), 1)
    table = Table(models.schema, (((0,), 0, 7), ((1,), 1, 4), ((1,), 0, 2)))
    rng, sampler = np.random.default_rng(20261126), TreeSampler(table.tally, search_of(models))
    draw, several = search_of(models).draw(Fraction(1, 2)), []
    for _ in range(6000):
        sampler.drawn.clear()  # the weights of the table are kept
        several.append(tuple(draw.simulate(sampler, rng) for _ in range(2)))

    def compared(weight):
        shares = {item: float(value.exp()) for item, value in sets_one_by_one(models, table, 2, weight).items()}
        counts = [several.count(item) for item in shares]
        return p_value(counts, [len(several) * share for share in shares.values()])

    assert compared(draw.weight) > ALARM
    assert all(compared(draw.weight * factor) < ALARM for factor in FACTORS)


def test_most_of_the_epsilon_of_a_draw_is_its_weight():
    search = SetSearch(Space.of_trees(schema_of(Boolean(), Boolean())), 2, constant(0.1))
    draw = search.draw(Fraction(1, 5))
    assert (draw.epsilon, draw.delta, draw.sensitivity) == (Fraction(1, 5), 0, 1)
    assert 0 < Fraction(1, 5) - draw.weight < Fraction(1, 10**4)
