"""The recursion by data cubes against that by masks, and against all models one by one."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.learn.search import cubes
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.semirings import all_models, least_loss
from tests.learn.enumerate_models import (
    Table,
    coarse_grid,
    constant,
    executions,
    log_sum,
    models,
    neighbours,
    tables,
)
from tests.learn.objectives import KINDS_OF_LOSS
from tests.learn.search.box_searches import DEEP, by_masks, rows_of, wide

SIZES = [8, pytest.param(300, marks=pytest.mark.slow)]


def boxed(objective):
    return models(400, objective).filter(lambda found: found.depth and found.space.has_boxes)


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_the_value_of_each_size_is_the_sum_over_all_models_of_that_size(examples, objective):
    @settings(max_examples=examples)
    @given(boxed(objective), st.data(), st.sampled_from([0.01, 0.5, 2.0, 10.0]))
    def same(found, data, weight):
        table = data.draw(tables(found.schema))
        semiring = all_models(weight, found.stop_prior, None if objective == "errors" else found.row_loss)
        searched = Cubes(table.tally, Boxes.of(found.space, found.depth), semiring)
        for size in found.sizes:
            weights = replace(found, depth=size).log_weights(table, weight)
            expected = float(log_sum(weights.values()))
            assert searched.total(size) == pytest.approx(expected, rel=1e-9, abs=1e-12)

    with coarse_grid():
        same()


@pytest.mark.parametrize("examples", SIZES)
def test_values_are_those_by_masks(examples):
    @settings(max_examples=examples)
    @given(wide, st.integers(1, 3), st.data(), st.sampled_from([0, 2]), st.sampled_from(["errors", "mixed"]))
    def same(space, depth, data, min_rows, objective):
        table = data.draw(tables(space.candidates.schema))
        loss = Loss.of("mixed", len(space.candidates.schema.classes)) if objective == "mixed" else None
        is_least = data.draw(st.booleans())
        semiring = least_loss(0.5, loss) if is_least else all_models(0.7, constant(0.3), loss)
        min_rows = min_rows if is_least else 0
        item = Cubes(table.tally, Boxes.of(space, depth), semiring, min_rows)
        other = by_masks(table, space, depth, semiring, min_rows)
        for size in range(depth + 1):
            assert item.total(size) == pytest.approx(other.total(size), rel=1e-12, abs=1e-12)

    same()


@pytest.mark.parametrize("examples", SIZES)
def test_a_walk_offers_what_a_walk_by_masks_offers(examples):
    @settings(max_examples=examples)
    @given(models(150).filter(lambda found: found.depth and found.space.has_boxes), st.data())
    def same(found, data):
        table, semiring = data.draw(tables(found.schema)), all_models(1.5, found.stop_prior)
        item = Cubes(table.tally, Boxes.of(found.space, found.depth), semiring)
        other = by_masks(table, found.space, found.depth, semiring)
        for size in found.sizes:
            ways = [dict(executions(lambda choose, s=size, w=w: w.walk(s, choose, choose))) for w in (item, other)]
            assert ways[0].keys() == ways[1].keys() == replace(found, depth=size).priors.keys()
            for model, draws in ways[0].items():
                assert [place for _, place in draws] == [place for _, place in ways[1][model]]
                for (offered, _), (expected, _) in zip(draws, ways[1][model], strict=True):
                    np.testing.assert_allclose(offered, expected, rtol=1e-11, atol=1e-11)

    same()


@pytest.mark.parametrize("scale", [1, 2**20])
@pytest.mark.parametrize("space", DEEP.values(), ids=DEEP)
def test_deep_searches_agree(space, scale):
    """Also of more rows than the single precision holds, and than are looked up."""
    mixed = all_models(0.5, constant(0.1), Loss.of("mixed", len(space.candidates.schema.classes)))
    for semiring, min_rows in ((all_models(0.5, constant(0.1)), 0), (mixed, 0), (least_loss(1.0), 3 * scale)):
        table = rows_of(space, 1, scale)
        item = Cubes(table.tally, Boxes.of(space, 4), semiring, min_rows)
        other = by_masks(table, space, 4, semiring, min_rows)
        assert [item.total(d) for d in range(5)] == pytest.approx([other.total(d) for d in range(5)], rel=1e-12)


@pytest.mark.parametrize("numbers", [1, 40])
def test_blocks_of_boxes_change_nothing(monkeypatch, numbers):
    table, semiring = rows_of(DEEP["trees"], 2), all_models(0.5, constant(0.1))
    whole = Cubes(table.tally, Boxes.of(DEEP["trees"], 3), semiring).total(3)
    monkeypatch.setattr(cubes, "_BLOCK_NUMBERS", numbers)
    assert Cubes(table.tally, Boxes.of(DEEP["trees"], 3), semiring).total(3) == pytest.approx(whole, rel=1e-14)


def test_a_table_without_rows_has_the_value_one():
    for space in DEEP.values():
        searched = Cubes(Table(space.candidates.schema, ()).tally, Boxes.of(space, 3), all_models(2.0, constant(0.3)))
        assert [searched.total(size) for size in range(4)] == pytest.approx([0] * 4, abs=1e-12)


def test_progress_adds_up_to_all_boxes():
    boxes, seen = Boxes.of(DEEP["trees"], 3), []
    Cubes(rows_of(DEEP["trees"], 0).tally, boxes, all_models(1.0, constant(0.5)), progress=seen.append)
    assert sum(seen) == sum(boxes.sizes.count(choices) for choices in range(3))


@pytest.mark.parametrize("examples", SIZES)
def test_one_row_lowers_no_value_by_more_than_the_weight_and_raises_none(examples):
    """Of neighbouring tables, also where the row is in bins without rows, or all rows are in one bin."""

    @settings(max_examples=examples)
    @given(wide, st.data(), st.sampled_from([0.01, 1.0, 10.0]))
    def within(space, data, weight):
        item, other = data.draw(neighbours(space.candidates.schema))
        few, more = (Cubes(t.tally, Boxes.of(space, 3), all_models(weight, constant(0.1))) for t in (item, other))
        for size in range(4):
            assert -1e-9 <= few.total(size) - more.total(size) <= weight + 1e-9

    within()


def steps(table, space, depth):
    """What is done, in order, with the shapes of all arrays that leaves and sums are computed from."""
    seen, semiring = [], all_models(0.5, constant(0.1))

    def noting(name, real):
        return lambda *args: (seen.append((name, *(np.shape(arg) for arg in args))), real(*args))[1]

    semiring = replace(semiring, **{x: noting(x, getattr(semiring, x)) for x in ("leaf", "plus", "stop", "go")})
    Cubes(table.tally, Boxes.of(space, depth), semiring, progress=lambda done: seen.append(done))
    return seen


@pytest.mark.parametrize("space", DEEP.values(), ids=DEEP)
def test_what_is_done_depends_on_no_row(space):
    """Whatever the rows are, as many and as large arrays are computed with, in the same order."""
    some = rows_of(space, 0)
    one_class = replace(some, rows=tuple((bins, 0, times) for bins, _, times in some.rows))
    none, item = replace(some, rows=()), replace(some, rows=some.rows[:1])
    first = steps(some, space, 3)
    assert {name for name, *_ in (s for s in first if isinstance(s, tuple))} == {"leaf", "plus", "stop", "go"}
    assert all(steps(other, space, 3) == first for other in (one_class, none, item))


def test_the_weight_of_a_leaf_of_two_classes_is_by_rows_and_difference():
    for semiring in (all_models(0.7, constant(0.3)), least_loss(1.0)):
        for counts in ([0, 0], [3, 0], [2, 5], [40, 1000]):
            n, difference = sum(counts), abs(counts[0] - counts[1])
            result = semiring.per_row * n / 2 + semiring.spread(np.array([float(difference)]))[0]
            assert result == pytest.approx(float(semiring.leaf(np.array(counts, dtype=float))), rel=1e-12)


def test_a_fraction_of_a_penalty_is_kept():
    table = rows_of(DEEP["trees"], 3)
    result = Cubes(table.tally, Boxes.of(DEEP["trees"], 2), least_loss(float(Fraction(1, 8)))).total(2)
    assert result % 1 in {0.0, 0.125, 0.25, 0.375}
