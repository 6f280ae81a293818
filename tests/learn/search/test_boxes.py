"""Boxes against the slow way: take options one after the other, and keep the worlds that are left."""

import time
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search import boxes as module
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.schema import Boolean, Categorical, Integer
from tests.learn.enumerate_models import Models, list_space, schema_of, schemas

coarse = Space.of_trees(schema_of(Integer(0, 9, tuple(range(6))), Boolean()), 2)
boxed = st.one_of(
    schemas.map(Space.of_trees),
    st.just(coarse),
    st.builds(lambda s, n: list_space(s, negations=n), schemas, st.booleans()),
)


def reached(space, choices):
    """All sets of worlds that so many choices can lead to, each with the fewest choices that it needs."""
    result = Models(space, 0)
    first = {result.begin: 0}
    frontier = [result.begin]
    for taken in range(1, choices + 1):
        following = []
        for here in frontier:
            for caught in result.catches:
                if here & caught and here - caught:
                    parts = [here & caught, here - caught] if CAUGHT in space.branches else [here - caught]
                    following += [part for part in parts if part not in first]
                    first |= {part: taken for part in parts if part not in first}
        frontier = list(dict.fromkeys(following))
    return first


def all_boxes(boxes, choices):
    """Every box of every group, as (group, places of its sets, its worlds)."""
    schema = boxes.space.candidates.schema
    worlds = Models(boxes.space, 0).begin
    for group in boxes.groups(choices):
        for places in np.ndindex(group.shape):
            axes = zip([boxes.axes[a] for a in group.axes], places, strict=True)
            sets = [(axis.column, axis.sets[1 + place][axis.bin_of]) for axis, place in axes]
            yield group, places, frozenset(w for w in worlds if all(bins[w[column]] for column, bins in sets))
    assert len(schema) >= len(boxes.axes)


@given(boxed, st.integers(1, 4))
def test_every_state_that_choices_lead_to_is_a_box_of_one_group_and_once(space, depth):
    boxes = Boxes.of(space, depth)
    worlds = [here for _, _, here in all_boxes(boxes, depth - 1)]
    assert len(worlds) == len(set(worlds)) == boxes.sizes.count(depth - 1)
    assert set(reached(space, depth - 1)) <= set(worlds)
    assert frozenset() not in worlds


@given(boxed, st.integers(1, 3))
def test_the_options_that_divide_a_box_are_those_that_divide_its_worlds(space, depth):
    boxes, catches = Boxes.of(space, depth), Models(space, 0).catches
    for group, places, here in all_boxes(boxes, depth - 1):
        is_open = [bool(here & caught and here - caught) for caught in catches]
        assert group.n_open[places] == sum(is_open)
        told = [True] * len(catches)
        for options, closed in group.closed(tuple(slice(None) for _ in group.axes[:1]), None):
            whole = np.broadcast_to(closed, (*group.shape, closed.shape[-1]))
            told[options] = (~whole[places]).tolist()
        for axis in boxes.axes:
            if axis not in [boxes.axes[a] for a in group.axes]:
                told[axis.options] = axis.divides[0].tolist()
        assert told == is_open


@given(boxed, st.integers(2, 4))
def test_a_child_is_what_an_option_catches_or_leaves_of_a_set(space, depth):
    for axis in Boxes.of(space, depth).axes:
        for branch in space.branches:
            kept = axis.caught if branch == CAUGHT else ~axis.caught
            for place in range(axis.within[depth - 2]):
                for option in np.flatnonzero(axis.divides[place]):
                    child = axis.children[branch][place, option]
                    assert axis.sets[child].tolist() == (axis.sets[place] & kept[option]).tolist()


def test_sets_of_a_number_are_intervals_and_of_a_category_the_remainder():
    """Three cut points have four bins: 3 + 3 intervals from an end, and 3 inside after a second choice."""
    number, category = Boxes.of(Space.of_trees(schema_of(Integer(0, 9, (1, 3, 5)), Categorical(tuple("abcd")))), 4).axes
    assert number.within == (1, 7, 10, 10)
    assert category.within == (1, 9, 15, 15)  # a value, or all but one; then all but two; one value was there already
    assert [axis.column for axis in (number, category)] == [0, 1]
    assert [axis.options for axis in (number, category)] == [slice(0, 3), slice(3, 7)]


def test_boxes_are_counted_without_listing_them():
    boxes = Boxes.of(Space.of_trees(schema_of(*[Integer(0, 9, (1, 3, 5)), Categorical(tuple("abcd"))] * 2)), 4)
    for choices in range(4):
        assert boxes.sizes.count(choices) == sum(prod(group.shape) for group in boxes.groups(choices))
        cells = [prod(boxes.axes[a].n_bins for a in group.axes) for group in boxes.groups(choices)]
        assert boxes.sizes.count_cells(choices) == sum(cells)


def test_blocks_of_a_group_are_disjoint_and_contain_all_of_its_boxes():
    boxes = Boxes.of(Space.of_trees(schema_of(Integer(0, 9, (1, 3, 5)), Boolean())), 3)
    for group in boxes.groups(2):
        for numbers in (1, 3, 17, 40, 1000):
            result = np.zeros(group.shape)
            for others in group.blocks(numbers):
                result[(slice(None), *others)[: len(group.axes)]] += 1
            assert (result == 1).all()


def test_neighbouring_bins_that_no_option_divides_are_counted_together():
    """Of the cut points 0, …, 5, a coarse search has 0, 2 and 4."""
    number, _ = Boxes.of(coarse, 3).axes
    assert number.bin_of.tolist() == [0, 1, 1, 2, 2, 3, 3]
    fewer = Space.of_trees(schema_of(Integer(0, 9, (0, 2, 4)), Boolean()))
    assert Boxes.of(coarse, 3).sizes == Boxes.of(fewer, 3).sizes


def test_an_attribute_without_options_has_no_axis():
    space = Space.of_trees(schema_of(Boolean(), Boolean())).below(np.array([True, False, True, True]))
    assert [axis.column for axis in Boxes.of(space, 2).axes] == [1]


def test_there_are_no_boxes_where_rules_have_several_literals():
    assert Boxes.of(list_space(schema_of(Boolean(), Boolean()), 2), 2) is None


def test_too_many_sets_of_bins_are_not_listed(monkeypatch):
    space = Space.of_trees(schema_of(Categorical(tuple("abcdef"))))
    assert Boxes.of(space, 4) is not None
    monkeypatch.setattr(module, "MOST_SETS", 20)
    assert Boxes.of(space, 4) is None
    assert Boxes.of(space, 2) is not None


@pytest.mark.parametrize("depth", [1, 2])
def test_an_option_is_found_by_its_axis(depth):
    boxes = Boxes.of(Space.of_trees(schema_of(Boolean(), Integer(0, 9, (1, 3)), Boolean())), depth)
    assert [boxes.axis_of(option) for option in range(4)] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("schema", "depth"),
    [
        (schema_of(Integer(0, 999, tuple(range(300)))), 4),
        (schema_of(Categorical(tuple(f"v{i}" for i in range(1000)))), 3),
    ],
)
def test_sets_that_would_take_gigabytes_to_list_are_not_looked_for(schema, depth):
    start = time.process_time()
    assert Boxes.of(Space.of_trees(schema), depth) is None
    assert time.process_time() - start < 10  # less than one; 300 cut points took 13, and 1,000 categories 5 GB


def test_no_table_of_a_group_is_larger_than_the_bound():
    """Tables of cells times bins, a few numbers for each last box, and numbers for each option of the boxes before."""
    boxes = Boxes.of(Space.of_trees(schema_of(Integer(0, 9, (1, 3, 5)), Categorical(tuple("abcd")), Boolean())), 4)
    width, largest = sum(axis.n_bins for axis in boxes.axes), boxes.sizes.largest_table(boxes.space.n_options, 2)
    for choices in range(4):
        for group in boxes.groups(choices):
            assert 2 * prod(boxes.axes[axis].n_bins for axis in group.axes) * width <= largest
            assert 6 * prod(group.shape) <= largest
            assert choices == 3 or 3 * prod(group.shape) * boxes.space.n_options <= largest


@pytest.mark.parametrize("negations", [False, True])
def test_divisions_are_the_different_pairs_of_parts(negations):
    schema = schema_of(
        Integer(0, 9, (1, 3)), Categorical(tuple("ab")), Categorical(tuple("abc"), missing="bin"), Boolean()
    )
    boxes = Boxes.of(list_space(schema, negations=negations), 3)
    places = boxes.divisions
    parts = [
        frozenset({tuple(c), tuple(~c & own)}) for c, own in zip(boxes.space.caught, owned(boxes.space), strict=True)
    ]
    assert len(set(parts)) == len(places.options)
    assert [parts.index(parts[option]) for option in places.options] == places.options.tolist()
    assert places.times.tolist() == [parts.count(parts[option]) for option in places.options]
    for axis, some in zip(boxes.axes, places.within, strict=True):
        assert all(axis.options.start <= option < axis.options.stop for option in places.options[some])


def owned(space):
    return space.candidates.own_bins[space.options]
