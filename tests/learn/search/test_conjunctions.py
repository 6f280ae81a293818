"""Trees of single tests by conjunctions, against counting row by row, masks, and all models one by one."""

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.search import conjunctions
from hedgerow.learn.search.certified import exhaust
from hedgerow.learn.search.conjunctions import (
    OutcomeCounts,
    Outcomes,
    OutcomeValues,
    count_conjunctions,
    count_states,
)
from hedgerow.learn.search.cost import SearchShape, conjunctions_cost
from hedgerow.learn.search.lattice import Masks, PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.semirings import all_models, all_models_of_many_rows, least_loss
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Categorical, Integer
from tests.learn.best_models import pruned
from tests.learn.draws import EPSILONS, plan_of, quiet
from tests.learn.enumerate_models import (
    ANY_TABLE,
    BY_DEPTH,
    TABLES,
    Models,
    all_worlds,
    chance,
    coarse_grid,
    constant,
    executions,
    list_space,
    log_sum,
    neighbours,
    schema_of,
    tables,
)
from tests.learn.objectives import KINDS_OF_LOSS

SIZES = [8, pytest.param(300, marks=pytest.mark.slow)]
SINGLE = [Boolean(), Integer(0, 9, (4,)), Categorical(("a", "b"))]


def schemas(most):
    kinds = st.lists(st.sampled_from(SINGLE), min_size=1, max_size=most)
    return st.builds(lambda kinds, classes: schema_of(*kinds, classes=classes), kinds, st.integers(2, 3))


spaces = schemas(5).map(Space.of_trees)


@st.composite
def single_tests(draw, objective, most=1500):
    """Spaces with a depth of up to 3, less if there would be more than so many models."""
    objective = draw(st.sampled_from(TABLES)) if objective == ANY_TABLE else objective
    space, stop = Space.of_trees(draw(schemas(3))), Fraction(draw(st.sampled_from([0.25, 0.5])))
    depth = draw(st.integers(1, space.n_options))
    while Models(space, depth, stop, objective).count > most:
        depth -= 1
    return Models(space, depth, stop, objective, draw(BY_DEPTH))


def valued(table, space, depth, semiring, min_rows=0.0, *, relaxed=False):
    depth = min(depth, space.n_options)
    return OutcomeValues(table.tally, Outcomes.of(space, depth), semiring, range(depth + 1), min_rows, relaxed=relaxed)


def by_masks(table, space, depth, semiring, min_rows=0.0):
    search = Search(PatternMatrix(table.tally, space), exhaustive_levels(space, depth), semiring, min_rows)
    return Masks(search, range(depth + 1))


def booleans(seed, n, patterns, classes=2, most=2):
    rng = np.random.default_rng(seed)
    schema = schema_of(*[Boolean()] * n, classes=classes)
    return hr.Tally(schema, rng.integers(2, size=(patterns, n)), rng.integers(most, size=(patterns, classes)))


# States


@pytest.mark.parametrize(("n_tests", "depth"), [(1, 1), (4, 4), (7, 3), (6, 5)])
def test_states_are_all_sets_of_tests_with_all_outcomes(n_tests, depth):
    states = Outcomes.of(Space.of_trees(schema_of(*[Boolean()] * n_tests)), depth)
    assert states.n_states == count_states(n_tests, depth) == sum(len(sets) << s for s, sets in enumerate(states.sets))
    for size, sets in enumerate(states.sets):
        assert sets.tolist() == sorted(map(list, combinations(range(n_tests), size)), key=lambda s: s[::-1])
        assert states.places(sets).tolist() == list(range(len(sets)))
        index, smaller = states.children(sets)
        longer = sorted(map(list, combinations(range(n_tests), size + 1)), key=lambda s: s[::-1])
        for place, tests in enumerate(sets.tolist()):
            for test in set(range(n_tests)) - set(tests):
                assert longer[index[place, test]] == sorted([*tests, test])
                assert smaller[place, test] == sum(other < test for other in tests)
        assert ((index >= 0) & (index < len(longer))).all()


def test_states_are_outcomes_only_of_trees_of_single_tests():
    single = schema_of(*SINGLE)
    for space, depth, is_single in (
        (Space.of_trees(single), 2, True),
        (Space.of_trees(single), 0, False),
        (Space.of_trees(single), 4, False),
        (Space.of_trees(schema_of(Boolean(), Integer(0, 9, (3, 5)))), 2, False),
        (Space.of_trees(schema_of(Boolean(missing="bin"))), 1, False),
        (list_space(single), 2, False),
        (list_space(schema_of(Boolean(), Boolean()), 2), 2, False),
    ):
        assert (Outcomes.of(space, depth) is not None) == is_single
        if 0 < depth <= space.n_options:
            assert SearchShape.of(space).has_single_tests == is_single
    assert SearchShape.of_trees(single).has_single_tests


# Counts


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(0, 6), st.integers(0, 9))
def test_conjunctions_are_counted_as_row_by_row(seed, n_tests, size, n_patterns):
    rng = np.random.default_rng(seed)
    passed, weights = rng.integers(2, size=(n_patterns, n_tests)), rng.integers(-5, 6, size=(2, n_patterns))
    sets = sorted(map(list, combinations(range(n_tests), size)), key=lambda s: s[::-1])
    expected = [[weight[passed[:, tests].all(axis=1)].sum() for tests in sets] for weight in weights]
    result = count_conjunctions(passed.astype(np.float64), weights.astype(np.float64), size)
    assert result.tolist() == expected


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("numbers", [1, 30, 2**18])
def test_counts_by_outcome_are_those_of_the_rows(monkeypatch, numbers, kind):
    """Also of weights whose sums are as large as the type holds exactly, and of tests that the set contains."""
    monkeypatch.setattr(conjunctions, "_BLOCK_NUMBERS", numbers)
    rng, states = np.random.default_rng(0), Outcomes.of(Space.of_trees(schema_of(*[Boolean()] * 5)), 4)
    passed, weights = rng.integers(2, size=(40, 5)).astype(bool), rng.integers(-5, 6, size=(2, 40))
    weights[0, :20] += (2**24 if kind == np.float32 else 2**53) // 40
    counts = OutcomeCounts(
        states, [count_conjunctions(passed.astype(kind), weights.astype(kind), size) for size in range(5)]
    )
    for size, sets in enumerate(states.sets):
        caught, totals = counts.caught(sets), counts.totals(sets)
        assert caught.dtype == kind
        for place, outcome in np.ndindex(len(sets), 2**size):
            here = np.ones(40, dtype=bool)
            for bit, test in enumerate(sets[place].tolist()):
                here &= passed[:, test] == (outcome >> bit & 1)
            assert totals[:, place, outcome].tolist() == weights[:, here].sum(axis=1).tolist()
            expected = weights[:, here] @ passed[here]
            assert caught[:, place, outcome].tolist() == expected.tolist()


# Values


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_every_model_is_drawn_with_its_exact_probability(examples, objective):
    @settings(max_examples=examples)
    @given(single_tests(objective), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, epsilon):
        table, plan = data.draw(tables(found.schema)), plan_of(found)
        weight = plan.mechanism(epsilon).weight
        sampler, drawn = ModelSampler(table.tally, plan, Outcomes.of(plan.space, plan.depth), quiet), {}
        sampler._models = cache(sampler._models)
        for model, draws in executions(lambda choose: sampler.sample(float(weight), choose)):
            drawn[model] = drawn.get(model, 0.0) + np.exp(chance(draws))
        expected = found.log_probabilities(table, weight)
        assert drawn.keys() == expected.keys()
        for model, value in expected.items():
            assert drawn[model] == pytest.approx(float(value.exp()), abs=1e-9)

    with coarse_grid():
        same()


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_the_value_of_each_size_is_the_sum_over_all_models_of_that_size(examples, objective):
    @settings(max_examples=examples)
    @given(single_tests(objective), st.data(), st.sampled_from([0.01, 0.5, 2.0, 10.0]))
    def same(found, data, weight):
        table, loss = data.draw(tables(found.schema)), None if objective == "errors" else found.row_loss
        searched = valued(table, found.space, found.depth, all_models(weight, found.stop_prior, loss))
        for size in range(found.depth + 1):
            weights = replace(found, depth=size).log_weights(table, weight)
            assert searched.total(size) == pytest.approx(float(log_sum(weights.values())), rel=1e-9, abs=1e-12)

    with coarse_grid():
        same()


@pytest.mark.parametrize("examples", SIZES)
def test_values_and_offers_are_those_by_masks(examples):
    @settings(max_examples=examples)
    @given(spaces, st.integers(1, 4), st.data())
    def same(space, depth, data):
        table, depth = data.draw(tables(space.candidates.schema)), min(depth, space.n_options)
        loss = Loss.of("mixed", len(space.candidates.schema.classes)) if data.draw(st.booleans()) else None
        is_least = data.draw(st.booleans())
        semiring = least_loss(0.5, loss) if is_least else all_models(0.7, constant(0.3), loss)
        min_rows = data.draw(st.sampled_from([0, 1, 2, 5])) if is_least else 0
        item = valued(table, space, depth, semiring, min_rows)
        other = by_masks(table, space, depth, semiring, min_rows)
        for size in range(depth + 1):
            assert item.total(size) == pytest.approx(other.total(size), rel=1e-12, abs=1e-12)
            path = [[*walked] for walked in (followed(item, size), followed(other, size))]
            assert len(path[0]) == len(path[1])
            for offered, expected in zip(*path, strict=True):
                np.testing.assert_allclose(offered, expected, rtol=1e-11, atol=1e-11)

    same()


def followed(values, size):
    """The weights that a walk offers if it takes the last option everywhere, and the counts of its leaves."""
    offers = []
    values.walk(
        size,
        lambda weights: (offers.append(weights), len(weights) - 1)[1],
        lambda counts: (offers.append(counts), 0)[1],
    )
    return offers


@pytest.mark.parametrize("scale", [1, 2**17, 2**40])
@pytest.mark.parametrize("classes", [2, 3])
def test_deep_searches_agree(classes, scale):
    """Also of more rows than single precision holds, and than float64 holds logarithms of."""
    tally, space = booleans(0, 7, 60, classes), Space.of_trees(schema_of(*[Boolean()] * 7, classes=classes))
    tally = hr.Tally(tally.schema, tally._bins, tally._counts * scale)
    mixed = Loss.of("mixed", classes)
    semirings = [(all_models_of_many_rows(0.5, constant(0.1), mixed), 0), (least_loss(1.0), 3 * scale)]
    if scale < 2**32:
        semirings += [(all_models(0.5, constant(0.1)), 0), (all_models(0.5, constant(0.1), mixed), 0)]
    for semiring, min_rows in semirings:
        item = OutcomeValues(tally, Outcomes.of(space, 4), semiring, range(5), min_rows)
        search = Search(PatternMatrix(tally, space), exhaustive_levels(space, 4), semiring, min_rows)
        other = Masks(search, range(5))
        assert [item.total(d) for d in range(5)] == pytest.approx([other.total(d) for d in range(5)], rel=1e-12)


@pytest.mark.parametrize("numbers", [1, 200])
def test_blocks_of_states_change_nothing(monkeypatch, numbers):
    tally, states = booleans(1, 6, 50), Outcomes.of(Space.of_trees(schema_of(*[Boolean()] * 6)), 4)
    whole = OutcomeValues(tally, states, all_models(0.5, constant(0.1)), range(5))
    monkeypatch.setattr(conjunctions, "_BLOCK_NUMBERS", numbers)
    parts = OutcomeValues(tally, states, all_models(0.5, constant(0.1)), range(5))
    for size in range(1, 5):
        for value, other in zip(whole._values[size], parts._values[size], strict=True):
            np.testing.assert_allclose(other, value, rtol=1e-14)


@pytest.mark.parametrize("examples", SIZES)
def test_one_row_lowers_no_value_by_more_than_the_weight_and_raises_none(examples):
    @settings(max_examples=examples)
    @given(spaces, st.data(), st.sampled_from([0.01, 1.0, 10.0]))
    def within(space, data, weight):
        item, other = data.draw(neighbours(space.candidates.schema))
        few, more = (valued(table, space, 3, all_models(weight, constant(0.1))) for table in (item, other))
        for size in range(min(3, space.n_options) + 1):
            assert -1e-9 <= few.total(size) - more.total(size) <= weight + 1e-9

    within()


# Privacy and memory


def steps(tally, semiring, monkeypatch):
    """What is done, in order, with the shapes and types of all arrays."""
    seen = []

    def noting(name, real):
        def noted(*args):
            seen.append((name, *(arg.shape for arg in args if isinstance(arg, np.ndarray))))
            return real(*args)

        return noted

    semiring = replace(semiring, **{x: noting(x, getattr(semiring, x)) for x in ("leaf", "plus", "stop", "go")})
    with monkeypatch.context() as patch:
        for name in ("product", "count_conjunctions"):
            patch.setattr(conjunctions, name, noting(name, getattr(conjunctions, name)))
        patch.setattr(OutcomeCounts, "_by_outcome", noting("by_outcome", OutcomeCounts._by_outcome))
        OutcomeValues(
            tally, Outcomes.of(Space.of_trees(tally.schema), 4), semiring, range(5), 0.0, lambda n: seen.append(n)
        )
    return seen


@pytest.mark.parametrize("loss", [None, Loss.of("mixed", 2)], ids=["errors", "mixed"])
def test_what_is_done_does_not_depend_on_labels(monkeypatch, loss):
    """Of the same patterns with as many rows, as many and as large arrays are computed with, in the same order."""
    tally, semiring = booleans(2, 6, 50, most=5), all_models(0.5, constant(0.1), loss)
    rows = tally._counts.sum(axis=1)
    one_class, halves = np.stack([rows, 0 * rows], axis=1), np.stack([rows // 2, rows - rows // 2], axis=1)
    first = steps(tally, semiring, monkeypatch)
    assert {"product", "count_conjunctions", "by_outcome"} < {
        name for name, *_ in (s for s in first if type(s) is tuple)
    }
    for counts in (one_class, halves):
        assert steps(hr.Tally(tally.schema, tally._bins, counts), semiring, monkeypatch) == first


def test_progress_adds_up_to_all_states():
    tally, seen = booleans(3, 6, 50), []
    states = Outcomes.of(Space.of_trees(tally.schema), 3)
    OutcomeValues(tally, states, all_models(1.0, constant(0.5)), range(4), progress=seen.append)
    assert sum(seen) == sum(count_states(6, size) for size in range(4))
    told = []
    plan = Draw(Space.of_trees(tally.schema), 3, constant(0.5), draws_size=True)
    ModelSampler(tally, plan, states, told.append).sample(1.0, lambda *_: 0)
    assert sum(told) == sum(seen)


def test_memory_is_bounded_by_the_largest_table_and_the_states():
    """The counts of the sets with one more test, the values, and a few blocks, but no mask for each state."""
    tally = booleans(4, 24, 3000)
    space = Space.of_trees(tally.schema)
    states, told = Outcomes.of(space, 4), conjunctions_cost(SearchShape.of(space), 4)
    tracemalloc.start()
    OutcomeValues(tally, states, all_models(1.0, constant(0.5)), range(4, 5))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert told.largest == 2024 * 24
    patterns, block = 3000 * 24 * 32, conjunctions._BLOCK_NUMBERS * 100
    assert peak < 8 * (4 * told.largest + 2 * told.states) + patterns + block


# Certified


@pytest.mark.parametrize("examples", SIZES)
def test_the_best_tree_has_the_objective_of_branch_and_bound(examples):
    @settings(max_examples=examples, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([1, 2, 4]), st.sampled_from([0.0, 1.0, 2.5]))
    def best(seed, depth, min_rows, penalty):
        tally = booleans(seed, 5, 25)
        space, terms = Space.of_trees(tally.schema), SearchSettings(depth, min_rows, penalty)
        result = exhaust(tally, Outcomes.of(space, depth), terms, lambda *_: None)
        expected = pruned(PatternMatrix(tally, space), terms)
        assert result.objective == result.lower_bound == expected.objective == expected.lower_bound

    best()


def test_relaxed_values_are_lower_bounds():
    tally, space = booleans(5, 6, 25), Space.of_trees(schema_of(*[Boolean()] * 6))
    states, sizes, few = Outcomes.of(space, 3), range(4), 8
    strict, relaxed = (
        OutcomeValues(tally, states, least_loss(0.0), sizes, few, relaxed=is_relaxed) for is_relaxed in (False, True)
    )
    assert all(relaxed.total(size) <= strict.total(size) for size in sizes)
    assert any(relaxed.total(size) < strict.total(size) for size in sizes)


# Costs and fits


def test_the_cost_counts_states_and_the_largest_table():
    shape = SearchShape.of_trees(schema_of(*[Boolean()] * 10))
    told = conjunctions_cost(shape, 3)
    assert (told.states, told.evaluations) == (1 + 20 + 180, 2010)
    assert (told.method, told.largest) == ("conjunctions", 45 * 10)
    assert conjunctions_cost(shape, 3, "mixed").largest == 2 * 45 * 10
    assert conjunctions_cost(shape, 0).states == 0
    assert conjunctions_cost(shape, 20) == conjunctions_cost(shape, 10)
    assert told.seconds(1000) < told.seconds(100_000)


def test_an_interaction_of_three_of_many_booleans_is_found():
    rng = np.random.default_rng(7)
    X = rng.integers(2, size=(6000, 40))
    y = X[:, [3, 17, 31]].sum(axis=1) % 2
    schema = schema_of(*[Boolean()] * 40)
    learner = hr.PrivateTreeClassifier(1.0, search="exact", max_depth=3, schema=schema)
    assert learner.search_cost(schema).method == "conjunctions"
    learner.fit(X[:3000], y[:3000])
    assert (learner.predict(X[3000:]) == y[3000:]).mean() > 0.99


def test_worlds_without_rows_are_states_too():
    found = Models(Space.of_trees(schema_of(Boolean(), Boolean())), 2)
    assert len(all_worlds(found.schema)) == 4
    empty = hr.Tally(found.schema, np.zeros((0, 2), dtype=int), np.zeros((0, 2), dtype=int))
    searched = OutcomeValues(empty, Outcomes.of(found.space, 2), all_models(2.0, StopPrior.constant(0.3)), range(3))
    assert [searched.total(size) for size in range(3)] == pytest.approx([0] * 3, abs=1e-12)
