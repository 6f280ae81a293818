"""The recursion over pairs of rules against that by masks, and against all lists one by one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn.search import cost
from hedgerow.learn.search import pairs as module
from hedgerow.learn.search import sampler as sampling
from hedgerow.learn.search.cost import SearchShape, pairs_cost, space_cost
from hedgerow.learn.search.lattice import Masks, PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.losses import OBJECTIVES, Loss
from hedgerow.learn.search.pairs import Pairs, PairValues
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.semirings import all_models
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Candidates, Categorical, Integer
from tests.learn.enumerate_models import (
    Models,
    Table,
    constant,
    exact_chance,
    executions,
    list_space,
    log_sum,
    schema_of,
    schemas,
    tables,
)

SIZES = [6, pytest.param(300, marks=pytest.mark.slow)]
TWO = schema_of(Boolean(), Boolean(missing="bin"))
SPACES = {
    "booleans": list_space(TWO, 2, negations=False),
    "a number": list_space(schema_of(Integer(0, 9, (3, 5)), Boolean()), 2, negations=False),
    "three classes": list_space(schema_of(Boolean(), Boolean(), classes=3), 2, negations=False),
}
wide = schemas.map(lambda schema: list_space(schema, 2)).filter(lambda space: not space.has_boxes)


def values(table, space, depth, semiring):
    return PairValues(table.tally, Pairs.of(space, depth), semiring)


def by_masks(table, space, depth, semiring):
    return Masks(Search(PatternMatrix(table.tally, space), exhaustive_levels(space, depth), semiring), range(depth + 1))


@pytest.mark.parametrize("examples", SIZES)
def test_values_are_those_by_masks(examples):
    @settings(max_examples=examples)
    @given(wide, st.integers(1, 2), st.data(), st.sampled_from([1, 2**22]), st.sampled_from(OBJECTIVES))
    def same(space, depth, data, scale, objective):
        loss = None if objective == "errors" else Loss.of(objective, len(space.candidates.schema.classes))
        table = data.draw(tables(space.candidates.schema))
        table = replace(table, rows=tuple((bins, label, times * scale) for bins, label, times in table.rows))
        semiring = all_models(0.7 / scale, constant(0.3), loss)
        item, other = (make(table, space, depth, semiring) for make in (values, by_masks))
        for size in range(depth + 1):
            assert item.total(size) == pytest.approx(other.total(size), rel=1e-12, abs=1e-12)

    same()


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("depth", [1, 2])
def test_a_walk_offers_what_a_walk_by_masks_offers(space, depth):
    worlds = [world for world in Models(space, 0).worlds if sum(world)]
    table = Table(
        space.candidates.schema, tuple((w, y, 1 + (3 * sum(w) + y) % 4) for w in sorted(worlds) for y in (0, 1))
    )
    semiring = all_models(1.5, constant(0.25))
    item, other = (make(table, space, depth, semiring) for make in (values, by_masks))
    for size in range(depth + 1):
        ways = [dict(executions(lambda choose, s=size, w=w: w.walk(s, choose, choose))) for w in (item, other)]
        assert ways[0].keys() == ways[1].keys() == Models(space, size).priors.keys()
        for model, draws in ways[0].items():
            assert [place for _, place in draws] == [place for _, place in ways[1][model]]
            for (offered, _), (expected, _) in zip(draws, ways[1][model], strict=True):
                np.testing.assert_allclose(offered, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
@pytest.mark.parametrize("weight", [0.01, 2.0])
def test_the_value_of_each_size_is_the_sum_over_all_lists_of_that_size(space, weight):
    table = Table(space.candidates.schema, tuple((w, y, 2 + y) for w in Models(space, 0).worlds for y in (0, 1)))
    searched = values(table, space, 2, all_models(weight, constant(0.5)))
    for size in range(3):
        expected = float(log_sum(Models(space, size).log_weights(table, weight).values()))
        assert searched.total(size) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_after_chosen_rules_the_options_are_those_that_imply_none_of_them():
    candidates = Candidates.of(schema_of(Boolean(), Integer(0, 9, (3, 5)), Boolean()), 2)
    chosen = (candidates[0], candidates[20])
    space = Space.of_lists(candidates, chosen)
    implies = candidates.implications
    kept = ~(implies[:, 0] | implies[:, 20])
    assert space.options.tolist() == np.flatnonzero(kept).tolist()
    pairs = Pairs.of(space, 2)
    assert (pairs.open(np.arange(space.n_options)) == ~space.closed).all()
    assert sorted(np.concatenate([group.options for group in pairs.groups]).tolist()) == list(range(space.n_options))
    assert {group.cells.shape[1] for group in pairs.groups} <= {cells for _, cells, _ in SearchShape.of(space).pairs}


@pytest.mark.parametrize(
    ("space", "depth"),
    [
        (list_space(TWO, 2), 3),
        (list_space(TWO, 2), 0),
        (list_space(TWO), 2),
        (Space.of_trees(TWO), 2),
        (list_space(schema_of(Boolean(), Boolean(), Boolean()), 3), 2),
    ],
)
def test_other_searches_are_not_of_pairs(space, depth):
    assert Pairs.of(space, depth) is None


def only(monkeypatch, place):
    """Let a unit of one kind of work take a second, and any other none."""
    monkeypatch.setattr(cost, "_START", 0)
    monkeypatch.setattr(cost, "_SECONDS", {("pairs", True): tuple(float(i == place) for i in range(7))})


def test_the_cost_of_pairs_follows_from_the_schema(monkeypatch):
    space = list_space(schema_of(Categorical(tuple("abcd")), Integer(0, 9, (3, 5)), Boolean()), 2)
    told = pairs_cost(SearchShape.of(space), 2)
    n = space.n_options
    assert (told.options, told.states, told.evaluations) == (n, 1 + n, n + n * n)
    assert told.largest == 4 * 3 * n
    assert space_cost(SearchShape.of(space), 2).method in {"masks", "pairs"}
    for place, work in ((3, (4 + 3 + 2 + 4 * 3 + 4 * 2 + 3 * 2) * n), (4, 6**2)):  # numbers, and tables
        only(monkeypatch, place)
        assert pairs_cost(SearchShape.of(space), 2).fixed == work


@pytest.mark.parametrize("depth", [1, 2])
def test_the_cost_tells_every_multiplication(monkeypatch, depth):
    done, product = [], module._product

    def counted(cells, counts):
        done.append(cells.size * (counts.shape[1] if counts.ndim == 2 else 0))  # the first counts: hardly any
        return product(cells, counts)

    monkeypatch.setattr(module, "_product", counted)
    space = list_space(schema_of(Categorical(tuple("abcd")), Integer(0, 9, (3, 5)), Boolean(missing="bin")), 2)
    values(Table(space.candidates.schema, (((0, 0, 0), 1, 5),)), space, depth, all_models(1.0, constant(0.5)))
    only(monkeypatch, 2)
    assert pairs_cost(SearchShape.of(space), depth).fixed == sum(done)
    assert (sum(done) > 0) == (depth > 1)


def test_pairs_of_wide_attributes_have_a_longer_expected_duration():
    """Measured on one core: 37 s for two attributes of 95 values, 9,215 candidates; 1.3 s for 8,226 narrow ones."""
    wide, narrow = (
        pairs_cost(SearchShape.of_lists(schema_of(*kinds), 2, negations=negations), 2)
        for kinds, negations in (
            ([Categorical(tuple(range(95)))] * 2, False),
            ([Integer(0, 99, (10, 20, 30, 40, 50, 60))] * 4 + [Categorical(tuple("abcdefgh"))] * 2, True),
        )
    )
    assert (wide.options, narrow.options) == (9215, 8226)
    assert 37 / 2 < wide.seconds(6000) < 2 * 37
    assert not wide.is_quick
    assert 1.3 / 2 < narrow.seconds(10_000) < 2 * 1.3
    assert narrow.is_quick


def test_pairs_on_many_narrow_attributes_are_told_the_time_they_take():
    """Measured on one core: 2.2 s for 1,000 patterns and 5.2 s for 10,000 of 25 numbers of two cut points."""
    told = space_cost(SearchShape.of(list_space(schema_of(*[Integer(0, 99, (30, 60))] * 25), 2)), 2)
    assert (told.method, told.options, told.is_quick) == ("pairs", 7625, True)
    assert 2.2 / 2 < told.seconds(1000) < 2 * 2.2
    assert 5.2 / 2 < told.seconds(10_000) < 2 * 5.2


@pytest.mark.parametrize("classes", [2, 3])
def test_rounding_takes_no_more_than_is_kept_for_it(monkeypatch, classes):
    """Against 60 digits, with nearly 2^32 rows: twice the error of a log-probability, for the two tables."""
    result = Models(
        list_space(schema_of(Boolean(), Boolean(), classes=classes), 2, negations=False), 2, Fraction(1, 10)
    )
    rows = [((i // 2, i % 2), y, (2**32 - 9) // (5 * classes) + 7 * i - y) for i in range(4) for y in range(classes)]
    table, plan = Table(result.schema, tuple(rows)), Draw(result.space, 2, constant(0.1))
    for epsilon in (Fraction(1, 1000), Fraction(1)):
        weight = plan.mechanism(epsilon).weight
        expected = result.log_probabilities(table, weight)
        searched = values(table, result.space, 2, all_models(float(weight), constant(0.1)))
        sampler = ModelSampler(table.tally, plan, Pairs.of(result.space, 2), lambda _: None)
        monkeypatch.setattr(sampling, "PairValues", lambda *_, once=searched: once)
        ways = executions(lambda choose, sampler=sampler, weight=weight: sampler.sample(float(weight), choose))
        errors = {model: float(abs(exact_chance(draws) - expected[model])) for model, draws in ways}
        assert errors.keys() == expected.keys()
        assert 0 < 2 * max(errors.values()) <= epsilon - weight
