"""The one recursion against all models one by one (`enumerate_models`), and what it may look at."""

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn.search import lattice
from hedgerow.learn.search.lattice import InnerNode, LeafNode, PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.losses import FINE_STEPS, OBJECTIVES, Loss
from hedgerow.learn.search.semirings import all_models, least_loss
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.schema import Boolean, Categorical, Integer
from tests.learn.enumerate_models import (
    Models,
    Table,
    all_worlds,
    constant,
    executions,
    list_space,
    log_sum,
    models,
    narrow,
    schema_of,
    spaces_over,
    tables,
)

THREE = schema_of(Boolean(), Boolean(missing="bin"), Boolean(), classes=3)
SIZES = [8, pytest.param(600, marks=pytest.mark.slow)]


def search(table, found, semiring, min_rows=0.0):
    return Search(
        PatternMatrix(table.tally, found.space), exhaustive_levels(found.space, found.depth), semiring, min_rows
    )


def root(searched):
    """The value of the root; of a search without levels, that of the one leaf."""
    if searched.levels:
        return float(searched.sweep()[0][0])
    return float(searched.semiring.leaf(searched.rows.totals(np.ones((1, len(searched.rows)), dtype=bool)))[0])


def in_support(found, model, table, min_rows):
    """Whether every option catches, in a tree also leaves, so many rows where it stands."""

    def rows(worlds):
        return sum(times for bins, _, times in table.rows if bins in worlds)

    return all(
        rows(caught) >= min_rows and (not found.is_tree or rows(left) >= min_rows)
        for caught, left in found.support(model)
    )


def options_in(model):
    return 1 + options_in(model.caught) + options_in(model.left) if isinstance(model, InnerNode) else 0


@pytest.mark.parametrize("examples", SIZES)
def test_the_prior_over_all_models_is_a_probability(examples):
    @settings(max_examples=examples)
    @given(models())
    def exactly(found):
        assert len(found.priors) == found.count
        assert sum(found.priors.values()) == 1
        assert all(prior > 0 for prior in found.priors.values())

    exactly()


DEEP = {
    "trees of depth 3": Models(Space.of_trees(schema_of(Boolean(), Boolean())), 3, Fraction(1, 4)),
    "trees on missing bins": Models(Space.of_trees(schema_of(Boolean(), Boolean(missing="bin"))), 2),
    "trees of 3 classes": Models(Space.of_trees(schema_of(Categorical(("a", "b", "c")), classes=3)), 3),
    "trees on cut points": Models(Space.of_trees(schema_of(Boolean(), Integer(0, 9, (3, 5)))), 3),
    "lists of 3 rules": Models(list_space(schema_of(Boolean(), Categorical(("a", "b", "c"))), negations=False), 3),
    "lists of 2 literals": Models(list_space(schema_of(Boolean(), Integer(0, 9, (4,))), 2), 2, Fraction(3, 4)),
}


def some_table(schema, seed):
    rng = np.random.default_rng(seed)
    worlds = all_worlds(schema)
    picked = rng.permutation(len(worlds))[: rng.integers(1, len(worlds) + 1)]
    return Table(
        schema, tuple((worlds[rng.choice(picked)], int(rng.integers(len(schema.classes))), 1) for _ in range(20))
    )


def check_sum(found, table, weight):
    value = root(search(table, found, all_models(weight, found.stop_prior)))
    assert value == pytest.approx(float(log_sum(found.log_weights(table, weight).values())), rel=1e-9, abs=1e-12)


def check_least(found, table, penalty, min_rows):
    searched = search(table, found, least_loss(penalty), min_rows)
    best = min(
        found.loss(model, table) + penalty * options_in(model)
        for model in found.priors
        if in_support(found, model, table, min_rows)
    )
    assert root(searched) == best
    values = searched.sweep()
    model = searched.walk(values, lambda w: int(w.argmin()), lambda counts: int(counts.argmax()))
    assert found.loss(model, table) + penalty * options_in(model) == best
    assert in_support(found, model, table, min_rows)


@pytest.mark.parametrize("examples", SIZES)
def test_the_sum_over_states_is_the_sum_over_all_models(examples):
    @settings(max_examples=examples)
    @given(models(), st.data(), st.sampled_from([0.01, 0.5, 2.0, 10.0]))
    def same(found, data, weight):
        check_sum(found, data.draw(tables(found.schema)), weight)

    same()


@pytest.mark.parametrize("examples", SIZES)
def test_the_least_over_states_is_the_least_over_all_models(examples):
    @settings(max_examples=examples)
    @given(models(), st.data(), st.sampled_from([0.0, 0.5, 1.0, 2.25]), st.sampled_from([0, 1, 2, 4]))
    def same(found, data, penalty, min_rows):
        check_least(found, data.draw(tables(found.schema)), penalty, min_rows)

    same()


@pytest.mark.parametrize("found", DEEP.values(), ids=DEEP)
def test_the_sum_and_the_least_are_those_of_all_models_where_they_are_deep(found):
    for seed in range(3):
        table = some_table(found.schema, seed)
        check_sum(found, table, 0.5)
        check_least(found, table, 0.5, seed)


@pytest.mark.parametrize("examples", SIZES)
def test_a_walk_can_build_every_model_and_no_other(examples):
    @settings(max_examples=examples)
    @given(models(200), st.data())
    def each(found, data):
        table = data.draw(tables(found.schema))
        searched = search(table, found, all_models(1.0, found.stop_prior))
        values = searched.sweep()
        built = set()
        for model, _ in executions(lambda choose: searched.walk(values, choose, choose)):
            assert model in found.priors
            assert model not in built
            built.add(model)
        assert len(built) == len(found.priors)

    each()


def test_a_single_leaf_is_the_model_of_depth_zero():
    result = Models(Space.of_trees(THREE), 0)
    table = Table(THREE, (((0, 0, 0), 1, 2), ((1, 2, 0), 0, 1)))
    walked = search(table, result, least_loss(0.0)).walk([], pytest.fail, lambda counts: int(counts.argmax()))
    assert walked == LeafNode(1)


def test_the_normaliser_of_one_rule_is_what_the_formula_says():
    """One boolean and one rule, 2 rows x of class 1, 1 row not x of class 0: the design's Z(S, 1) by hand."""
    schema = schema_of(Boolean())
    result = Models(list_space(schema, negations=False), 1)
    table = Table(schema, (((1,), 1, 2), ((0,), 0, 1)))
    w = 0.7

    def leaf(*counts):
        return sum(math.exp(-w * (sum(counts) - count)) for count in counts) / len(counts)

    expected = 0.5 * leaf(1, 2) + 0.5 * leaf(0, 2) * leaf(1, 0)
    assert root(search(table, result, all_models(w, constant(0.5)))) == pytest.approx(math.log(expected), rel=1e-12)


@given(models(), st.sampled_from([0.3, 4.0]))
def test_a_table_without_rows_has_the_normaliser_one(found, weight):
    semiring = all_models(weight, found.stop_prior)
    assert root(search(Table(found.schema, ()), found, semiring)) == pytest.approx(0, abs=1e-12)


@given(models(), st.data())
def test_where_no_rows_are_left_the_value_is_that_of_a_search_that_goes_on(found, data):
    """Leaving states without rows out is exact: with them visited all the same, every value is the same."""
    table = data.draw(tables(found.schema))
    searched = search(table, found, all_models(1.5, found.stop_prior))
    values = searched.sweep()
    for depth, level in enumerate(searched.levels):
        following = values[depth + 1] if depth + 1 < len(values) else None
        everything = np.arange(len(level.states))
        on = searched.rows.on(level.states)
        visited = searched.semiring.plus(
            *searched.weigh(depth, everything, on, following), np.ones(found.space.n_options)
        )
        np.testing.assert_allclose(visited, values[depth], atol=1e-12)


@pytest.mark.parametrize("scale", [1, 2**10, 2**24 // 7, 2**31 // 7])
@given(st.data())
def test_counts_are_exact_whatever_their_size(scale, data):
    """In float32 below 2^24 rows, in float64 from there on; odd counts, so that a lost digit shows."""
    space = data.draw(st.sampled_from([Space.of_trees(THREE), list_space(THREE, 2)]))
    some = data.draw(tables(THREE, 7))
    table = replace(some, rows=tuple((c, y, scale - 2 * i - (scale > 1)) for i, (c, y, _) in enumerate(some.rows)))
    table = replace(table, rows=tuple(row for row in table.rows if row[2] > 0))
    result = Models(space, 2)
    rows = PatternMatrix(table.tally, space)
    states = exhaustive_levels(space, 2)[1].states
    live = rows.on(states)
    caught, totals = rows.counts(live)
    assert np.array_equal(rows.totals(live), totals)
    n = space.n_options
    for index, (side,) in enumerate(states.tolist()):
        branch, option = space.branches[side // n], side % n
        here = result.catches[option] if branch == CAUGHT else result.worlds - result.catches[option]
        for label in range(3):
            mine = [(bins, times) for bins, y, times in table.rows if y == label and bins in here]
            assert totals[label, index] == sum(times for _, times in mine)
            for other, worlds in enumerate(result.catches):
                assert caught[label, index, other] == sum(times for bins, times in mine if bins in worlds)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("scale", [1, 2**15 // 7 - 16, 2**15, 2**24 // 7, 2**31 // 7])
@given(st.data())
def test_what_no_model_avoids_is_exact_whatever_the_number_of_rows(scale, objective, data):
    """A loss has 512 steps a row, so that float32 is exact below 2^15 rows only."""
    space, loss = Space.of_trees(THREE), Loss.of(objective, 3, FINE_STEPS)
    table = replace(
        some := data.draw(tables(THREE, 7)), rows=tuple((c, y, scale + 2 * i) for i, (c, y, _) in enumerate(some.rows))
    )
    rows, result = PatternMatrix(table.tally, space, loss), Models(space, 1)
    caught, whole = rows.floors(np.ones((1, len(rows)), dtype=bool))

    def floor(worlds):
        of = {
            bins: [sum(n for b, y, n in table.rows if (b, y) == (bins, label)) for label in range(3)] for bins in worlds
        }
        values = range(len(loss.values))
        each = (min(sum(n * row[v] for n, row in zip(of[b], loss.table, strict=True)) for v in values) for b in worlds)
        return sum(each)

    assert whole[0] * loss.steps == floor(result.worlds)
    assert [item * loss.steps for item in caught[0].tolist()] == [floor(worlds) for worlds in result.catches]


@given(models(), st.data())
def test_states_hold_the_rows_on_all_their_sides(found, data):
    table = data.draw(tables(found.schema))
    rows = PatternMatrix(table.tally, found.space)
    patterns = [tuple(bins) for bins in table.tally._bins.tolist()]
    assert len(rows) == len(patterns)
    for option, worlds in enumerate(found.catches):
        assert rows.caught(option).tolist() == [bins in worlds for bins in patterns]
    for level in exhaustive_levels(found.space, found.depth):
        for state, mask in zip(level.states.tolist(), rows.on(level.states), strict=True):
            kept = set(patterns)
            for side in state:
                branch = found.space.branches[side // found.space.n_options]
                caught = found.catches[side % found.space.n_options]
                kept = {bins for bins in kept if (bins in caught) == (branch == CAUGHT)}
            assert {bins for bins, on in zip(patterns, mask, strict=True) if on} == kept


def test_blocks_of_states_change_nothing(monkeypatch):
    """Also where one state is a block of its own."""
    schema = schema_of(Boolean(), Boolean(), Boolean())
    result = Models(Space.of_trees(schema), 3)
    table = Table(schema, tuple((world, i % 2, i + 1) for i, world in enumerate(all_worlds(schema))))
    whole = search(table, result, all_models(0.5, constant(0.5)))
    values, n_states = whole.sweep(), [len(level.states) for level in whole.levels]
    assert [len(list(whole.rows.blocks(n))) for n in n_states] == [1, 1, 1]
    monkeypatch.setattr(lattice, "_BLOCK_BYTES", 1)
    seen = []
    for value, other in zip(values, whole.sweep(progress=seen.append), strict=True):
        np.testing.assert_allclose(value, other, rtol=1e-14)
    assert sum(seen) == sum(n_states)


@pytest.mark.parametrize("semiring", [all_models(0.5, constant(0.3)), all_models(8.0, constant(0.3)), least_loss(0.5)])
@pytest.mark.parametrize("n_bytes", [1, 2**24], ids=["a state a block", "many"])
@pytest.mark.parametrize("examples", SIZES)
def test_last_choices_are_valued_as_one_state_after_the_other(semiring, n_bytes, examples):
    """Also of sets that hold both sides of an option, and no row: by one product for both sides, or counts by class."""

    @settings(max_examples=examples)
    @given(spaces_over(narrow), st.integers(2, 3), st.data())
    def alike(space, depth, data):
        table = data.draw(tables(space.candidates.schema))
        searched = search(table, SimpleNamespace(space=space, depth=depth), semiring)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "_BLOCK_BYTES", n_bytes)
            last = searched.sweep()[-1]
        states, once = searched.levels[-1].states, np.ones(space.n_options)
        for index, state in enumerate(states):
            rows = searched.rows.on(state[None])
            weighed = searched.weigh(len(searched.levels) - 1, np.array([index]), rows, None)
            expected = semiring.plus(*weighed, once) if rows.any() else 0
            assert last[index] == pytest.approx(expected, rel=1e-13, abs=1e-13)

    alike()


def test_progress_adds_up_to_all_states():
    result = Models(list_space(THREE), 3)
    searched, seen = search(Table(THREE, (((0, 0, 0), 0, 1),)), result, all_models(1.0, constant(0.5))), []
    searched.sweep(progress=seen.append)
    assert sum(seen) == sum(len(level.states) for level in searched.levels)


def trace(tally, found, block_bytes):
    """Every step of a sweep with all that it is given but numbers: states, blocks, masks, and shapes of matrices."""
    seen = []

    def noting(name, real):
        def called(*args):
            seen.append((name, *map(_without_numbers, args)))
            return real(*args)

        return called

    semiring = all_models(0.5, found.stop_prior)
    semiring = replace(semiring, **{x: noting(x, getattr(semiring, x)) for x in ("leaf", "plus", "stop", "go")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lattice, "_BLOCK_BYTES", block_bytes)
        for owner, name in (
            (PatternMatrix, "on"),
            (PatternMatrix, "counts"),
            (PatternMatrix, "_weighted"),
            (PatternMatrix, "differences"),
            (Search, "weigh"),
        ):
            patch.setattr(owner, name, noting(name, getattr(owner, name)))
        search = Search(PatternMatrix(tally, found.space), exhaustive_levels(found.space, found.depth), semiring)
        search.sweep(progress=lambda done: seen.append(("progress", done)))
    return seen


def _without_numbers(part):
    if isinstance(part, np.ndarray):
        return part.shape, part.dtype.str, None if part.dtype.kind == "f" else part.tolist()
    return part if isinstance(part, int) else type(part)


@given(models(), st.data(), st.sampled_from([1, 2**10, 2**24]))
def test_a_sweep_does_the_same_whatever_the_labels_are(found, data, block_bytes):
    """Same patterns, same rows, other labels: the same states in the same blocks, masks and shapes, step by step."""
    item, last = data.draw(tables(found.schema)), len(found.schema.classes) - 1
    others = [
        replace(item, rows=tuple((bins, last - label, times) for bins, label, times in item.rows)),
        replace(item, rows=tuple((bins, 0, times) for bins, _, times in item.rows)),
        replace(item, rows=tuple((bins, i % (last + 1), times) for i, (bins, _, times) in enumerate(item.rows))),
    ]
    first = trace(item.tally, found, block_bytes)
    steps = {"on", "counts", "_weighted", "weigh", "leaf", "plus", "stop", "go", "progress"}
    assert {name for name, *_ in first} - {"differences"} == (steps if found.depth else set())
    for other in others:
        assert trace(other.tally, found, block_bytes) == first


def test_the_trace_of_a_sweep_shows_skipped_states_without_errors(monkeypatch):
    table = Table(THREE, tuple((world, i % 3, 1) for i, world in enumerate(all_worlds(THREE))))
    result = Models(list_space(THREE), 3)
    one_class = replace(table, rows=tuple((bins, 0, times) for bins, _, times in table.rows))
    assert trace(table.tally, result, 2**24) == trace(one_class.tally, result, 2**24)

    def pruned(self, depth, chosen, rows, following, weigh=Search.weigh):
        mixed = (self.rows.totals(rows) > 0).sum(axis=0) > 1
        stop, options = np.zeros(len(chosen)), np.zeros((len(chosen), self.rows.space.n_options))
        stop[mixed], options[mixed] = weigh(self, depth, chosen[mixed], rows[mixed], following)
        return stop, options

    monkeypatch.setattr(Search, "weigh", pruned)
    assert trace(table.tally, result, 2**24) != trace(one_class.tally, result, 2**24)


def sets(states):
    return [frozenset(state) for state in states.tolist()]


@given(models(), st.data())
def test_a_sweep_goes_through_every_state_once_whatever_the_rows_are(found, data):
    table, seen, last = data.draw(tables(found.schema)), set(), []
    searched = search(table, found, all_models(1.0, constant(0.5)))
    sizes = [len(level.states) for level in searched.levels]
    with pytest.MonkeyPatch.context() as patch:
        on, last_of = PatternMatrix.on, Search._last_of
        patch.setattr(PatternMatrix, "on", lambda self, states: seen.update(sets(states)) or on(self, states))
        patch.setattr(Search, "_last_of", lambda self, *of: last.extend(sets(of[1])) or last_of(self, *of))
        values = searched.sweep()
    assert [len(value) for value in values] == sizes
    known = {state for level in searched.levels for state in sets(level.states)}
    if len(sizes) > 1 and len(found.schema.classes) == 2:  # the last ones by the product, those without rows apart
        known = {state for level in searched.levels[:-1] for state in sets(level.states)}
        held = searched.rows.on(searched.levels[-1].states).any(axis=1)
        assert Counter(last) == Counter(sets(searched.levels[-1].states[held]))
    assert seen == known


def test_both_branches_of_a_test_and_each_rule_need_support():
    caught, left = np.array([[[3.0, 1.0]], [[1.0, 0.0]]]), np.array([[[1.0, 5.0]], [[0.0, 1.0]]])
    assert lattice.enough(2, caught, left, list_space(THREE)).tolist() == [[True, False]]
    assert lattice.enough(2, caught, left, Space.of_trees(THREE)).tolist() == [[False, False]]
    assert lattice.enough(1, caught, left, Space.of_trees(THREE)).tolist() == [[True, True]]


def test_the_branches_have_the_names_that_models_give_them():
    schema = schema_of(Boolean())
    table = Table(schema, (((1,), 1, 1), ((0,), 0, 1)))
    result = Models(Space.of_trees(schema), 1)
    searched = search(table, result, least_loss(0.0))
    walked = searched.walk(searched.sweep(), lambda w: int(w.argmin()), lambda counts: int(counts.argmax()))
    assert walked == InnerNode(0, caught=LeafNode(1), left=LeafNode(0))
    assert (CAUGHT, LEFT) == (0, 1)
