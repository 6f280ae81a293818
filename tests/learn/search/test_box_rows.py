"""Contingency tables against counting row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.search import box_rows
from hedgerow.learn.search.box_rows import BoxRows, summed
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Integer
from tests.learn.enumerate_models import Models, Table, schema_of, schemas, tables


@st.composite
def some_rows(draw):
    schema = draw(schemas)
    boxes = Boxes.of(Space.of_trees(schema), 3)
    table = draw(tables(schema))
    return table, boxes, BoxRows.of(table.tally, boxes)


def counted(table, boxes, group, places, label, worlds=None):
    """How many rows of a class are in a cell of a group, of all or of some worlds."""
    columns = [boxes.axes[axis].column for axis in group]
    return sum(
        times
        for bins, y, times in table.rows
        if y == label and [bins[column] for column in columns] == list(places) and (worlds is None or bins in worlds)
    )


@given(some_rows())
def test_cells_and_what_options_catch_in_them_are_counted(found):
    table, boxes, rows = found
    catches = Models(boxes.space, 0).catches
    for group in boxes.groups(2):
        cells, caught = rows.cells(group.axes), rows.table(group.axes, rows.classes, rows.caught_bins)
        assert caught.shape == (*cells.shape, boxes.space.n_options)
        for label, *places in np.ndindex(cells.shape):
            assert cells[label, *places] == counted(table, boxes, group.axes, places, label)
            for option, worlds in enumerate(catches):
                expected = counted(table, boxes, group.axes, places, label, worlds)
                assert caught[label, *places, option] == expected
        sides = rows.table(group.axes, rows.classes, rows.sides)
        assert np.array_equal(sides, 2 * caught - cells[..., None])


@given(some_rows(), st.integers(1, 200))
def test_counts_do_not_depend_on_which_axes_are_merged(found, most):
    table, boxes, rows = found
    for group in boxes.groups(2):
        separate = [rows.table(group.axes, rows.classes, factors) for factors in (rows.caught_bins, rows.sides)]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(box_rows, "LEAST_CELLS", most)
            merged = BoxRows.of(table.tally, boxes)
            for factors, expected in zip((rows.caught_bins, rows.sides), separate, strict=True):
                assert np.array_equal(merged.table(group.axes, rows.classes, factors), expected)


@given(st.lists(st.sampled_from([2, 3, 4]), min_size=1, max_size=6), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_merged_axes_contain_each_bin_of_each_pattern_once(sizes, digits, seed):
    rows = rows_of_axes(sizes, seed)
    bins = np.hstack([np.eye(size)[own] for size, own in zip(sizes, rows.bins, strict=True)])
    assert np.array_equal(np.hstack([each.members[each.code] for each in rows._merged(digits)]), bins)
    assert [place for each in rows._merged(digits) for place in range(sum(sizes))[each.bins]] == list(range(sum(sizes)))


def rows_of_axes(sizes, seed=0):
    """Thirty rows of numbers with so many bins each."""
    schema = schema_of(*(Integer(0, size - 1, tuple(range(size - 1))) for size in sizes))
    bins = np.random.default_rng(seed).integers(sizes, size=(30, len(sizes)))
    return BoxRows.of(hr.Tally(schema, bins, np.ones((30, 2), dtype=int)), Boxes.of(Space.of_trees(schema), 1))


def test_consecutive_axes_are_merged_up_to_a_number_of_cells():
    rows = rows_of_axes([2, 2, 3, 4, 2, 2])
    for digits, cells in ((0, [2, 2, 3, 4, 2, 2]), (2, [4, 3, 4, 4]), (3, [4, 3, 8, 2]), (4, [12, 16]), (8, [192])):
        assert [each.n_cells for each in rows._merged(digits)] == cells


@given(some_rows(), st.data())
def test_an_option_catches_the_patterns_whose_worlds_it_catches(found, data):
    table, boxes, rows = found
    option = data.draw(st.integers(0, boxes.space.n_options - 1))
    axis, caught = rows.caught(option)
    assert axis == boxes.axis_of(option)
    worlds = Models(boxes.space, 0).catches[option]
    patterns = [tuple(bins) for bins in table.tally.bins_and_counts()[0].tolist()]
    assert caught.tolist() == [bins in worlds for bins in patterns]
    assert rows.classes[:, caught].sum() == sum(times for bins, _, times in table.rows if bins in worlds)


def test_a_table_is_summed_axis_by_axis():
    table = np.arange(24.0).reshape(2, 3, 4)
    sets = [np.array([[True, True, False]]), np.array([[False, True, False, True], [True] * 4])]
    result = summed(table, sets)
    assert result.shape == (2, 1, 2)
    assert result[1, 0].tolist() == [table[1, :2][:, [1, 3]].sum(), table[1, :2].sum()]
    assert summed(table, sets[1:], first=2).shape == (2, 3, 2)
    wide, other = np.arange(120.0).reshape(2, 3, 4, 5), np.eye(5, dtype=bool)[[4, 1]]
    expected = np.einsum("xijk,ai,bj,ck->xabc", wide, *(np.float64(each) for each in (*sets, other)))
    assert np.array_equal(summed(wide, [*sets, other]), expected)


@pytest.mark.parametrize(("rows", "kind"), [(2**24 - 1, np.float32), (2**24, np.float64)])
def test_counts_are_in_a_type_that_holds_them_exactly(rows, kind):
    schema = schema_of(Boolean())
    table = Table(schema, (((1,), 0, rows - 1), ((0,), 1, 1)))
    result = BoxRows.of(table.tally, Boxes.of(Space.of_trees(schema), 1))
    caught = result.table((), result.classes, result.caught_bins)
    assert caught.dtype == kind
    assert caught.ravel().tolist() == [rows - 1, 0]
