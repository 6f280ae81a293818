from dataclasses import replace
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search import cost
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cost import Cost, SearchShape, cubes_cost, largest_size, masks_cost, space_cost, total_cost
from hedgerow.learn.search.lattice import PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.semirings import all_models
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Categorical, Integer
from tests.learn.enumerate_models import Table, all_worlds, constant, list_space, schema_of, schemas, spaces


@given(spaces, st.integers(0, 4))
def test_the_cost_is_the_number_of_states_that_are_enumerated(space, depth):
    result = masks_cost(SearchShape.of(space), depth)
    states = sum(len(level.states) for level in exhaustive_levels(space, depth))
    classes = len(space.candidates.schema.classes)
    assert (result.options, result.states, result.classes) == (space.n_options, states, classes)
    assert result.evaluations == states * space.n_options


@given(spaces, st.integers(0, 3))
def test_the_cost_is_what_a_sweep_weighs_where_every_world_has_a_row(space, depth):
    """Without closed or impossible states: no more is weighed than told, and all states are gone through."""
    schema = space.candidates.schema
    weighed, done = [], []

    class Counted(Search):
        def weigh(self, depth, chosen, rows, following):
            weighed.append(len(chosen) * space.n_options)
            return super().weigh(depth, chosen, rows, following)

    table = Table(schema, tuple((world, 0, 1) for world in all_worlds(schema)))
    Counted(PatternMatrix(table.tally, space), exhaustive_levels(space, depth), all_models(1.0, constant(0.5))).sweep(
        progress=done.append
    )
    told = masks_cost(SearchShape.of(space), depth)
    assert sum(weighed) <= told.evaluations
    assert sum(done) == told.states


def test_the_cost_is_told_in_words():
    """40 options, 4 rules: 1 + 40 + C(40, 2) + C(40, 3) = 10,701 states."""
    told = masks_cost(SearchShape.of_lists(BOOLEANS, 1, negations=True), 4)
    assert told.states == 1 + 40 + 780 + 9880
    assert str(told).startswith("40 options, 10,701 states, 428,040 evaluations; about ")
    assert str(told).endswith(f"{told.seconds():.1g} s on one core for 10,000 distinct patterns of rows")


def test_the_method_does_not_depend_on_whether_numba_is_installed(monkeypatch):
    """Otherwise a seed could draw another model on another installation."""
    shape = SearchShape.of_trees(schema_of(*[Integer(0, 9, (1, 3))] * 3))
    slower = replace(masks_cost(shape, 2), method="cubes", fixed=masks_cost(shape, 2).fixed + 1, saved=2.0)
    monkeypatch.setattr(cost, "cubes_cost", lambda *_: slower)
    assert space_cost(shape, 2).method == "masks"


def test_more_patterns_than_there_can_be_take_no_longer():
    told = space_cost(SearchShape.of_trees(schema_of(*[Boolean()] * 5)), 2)
    assert told.cells == 32
    assert told.seconds(31) < told.seconds(32) == told.seconds()
    assert str(told).endswith("for 32 distinct patterns of rows")
    assert SearchShape.of_trees(schema_of(*[Boolean()] * 10_000)).cells == cost.MOST_CELLS


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("MOST_OPTIONS", Cost(10, 1, 1, 2)),
        ("MOST_STATES", Cost(1, 10, 1, 2)),
        ("MOST_EVALUATIONS", Cost(1, 1, 10, 2)),
        ("MOST_BOXES", Cost(1, 10, 1, 2, "cubes")),
        ("MOST_BOX_EVALUATIONS", Cost(1, 1, 10, 2, "cubes")),
        ("MOST_NUMBERS", Cost(1, 1, 1, 2, "cubes", largest=10)),
        ("MOST_MINUTES", Cost(1, 1, 1, 2, fixed=600.0)),
    ],
)
def test_each_limit_refuses_what_is_beyond_it_and_says_what_to_change(monkeypatch, name, allowed):
    monkeypatch.setattr(cost, name, 10)
    allowed.check("Use less.")
    assert allowed.is_sensible
    monkeypatch.setattr(cost, name, 9)
    assert not allowed.is_sensible
    with pytest.raises(SearchTooLargeError, match=r"evaluations\. Use less\.$") as caught:
        allowed.check("Use less.")
    assert (caught.value.states, caught.value.evaluations) == (allowed.states, allowed.evaluations)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["masks", "cubes"])
def test_leaves_of_more_values_and_classes_take_longer(classes, method):
    shape = SearchShape.of_trees(schema_of(*[Integer(0, 99, tuple(range(5, 95, 5)))] * 6, classes=classes))
    errors, mixed = (
        masks_cost(shape, 3, objective) if method == "masks" else cubes_cost(shape, shape.sizes(3), objective)
        for objective in ("errors", "mixed")
    )
    alike = {"fixed": 0.0, "each": 0.0}
    assert replace(mixed, **alike) == replace(errors, **alike)
    assert mixed.seconds(1000) > errors.seconds(1000)


def test_states_with_both_sides_of_a_boolean_are_empty_and_not_weighed(monkeypatch):
    """Of six sides of three booleans there are 1 + 6 + 15 sets of up to two, three of them of complements."""
    monkeypatch.setattr(cost, "_SECONDS", {("masks", True): (1.0, 0.0, 0.0, 0.0, 0.0)})
    monkeypatch.setattr(cost, "_START", 0)
    three = schema_of(*[Boolean()] * 3)
    assert masks_cost(SearchShape.of_trees(three), 3).fixed == 2 * 3 * (1 + 6 + 15 - 3)
    assert masks_cost(SearchShape.of_lists(three, 1, negations=True), 3).fixed == 2 * 6 * (1 + 6 + 15 - 3)
    assert masks_cost(SearchShape.of_lists(three, 1, negations=False), 3).fixed == 2 * 3 * (1 + 3 + 3)


def test_pairs_are_refused_by_their_own_limit_of_options():
    """Of 45,000, not of 10,000: a search of 30,000 that has too large a table is not told to have too many options."""
    assert Cost(45_000, 1, 1, 2, "pairs").is_sensible
    assert not Cost(45_001, 1, 1, 2, "pairs").is_sensible
    with pytest.raises(
        SearchTooLargeError, match=r"at most 45,000 options, .* got 30,000 options, .* 200,000,000 numb"
    ):
        Cost(30_000, 1, 1, 2, "pairs", largest=200_000_000).check("Use less.")


def test_the_cost_of_another_loss_than_errors_needs_no_table_of_it(monkeypatch):
    """A plan asks for the costs of many searches, and tables of many classes are large."""
    monkeypatch.setattr(Loss, "of", lambda *_: pytest.fail("a table was made"))
    space = Space.of_trees(schema_of(*[Integer(0, 9, (1, 3, 5))] * 3, classes=200))
    assert space_cost(SearchShape.of(space), 2, "mixed").seconds() > space_cost(SearchShape.of(space), 2).seconds()


def test_more_patterns_more_classes_and_more_states_take_longer():
    two, three = (SearchShape.of_lists(schema_of(*[Boolean()] * 20, classes=n), 1, negations=True) for n in (2, 3))
    item = masks_cost(two, 3)
    assert 0 < item.seconds(0) < item.seconds(100) < item.seconds(1000)
    assert item.seconds(100) < masks_cost(three, 3).seconds(100)
    assert item.seconds(100) < masks_cost(two, 4).seconds(100)


NUMBERS = schema_of(*[Integer(0, 99, tuple(range(5, 95, 5)))] * 6)
WORDS = tuple(f"v{i}" for i in range(16))
BOOLEANS = schema_of(*[Boolean()] * 20)


@given(schemas.map(Space.of_trees), st.integers(1, 4))
def test_the_contingency_table_cost_counts_visited_boxes_and_tables(space, depth):
    boxes = Boxes.of(space, depth)
    told = cubes_cost(SearchShape.of(space), boxes.sizes)
    groups = [group for choices in range(depth) for group in boxes.groups(choices)]
    cells = [prod(boxes.axes[axis].n_bins for axis in group.axes) for group in groups]
    width = sum(axis.n_bins for axis in boxes.axes)
    assert told.states == sum(prod(group.shape) for group in groups)
    assert told.evaluations == told.states * space.n_options
    sizes, choices = boxes.sizes, range(depth)
    assert sum(map(sizes.count_tables, choices)) == len(groups)
    assert sum(map(sizes.count_cells, choices)) == sum(cells)
    assert sizes.n_divisions == len(boxes.divisions.options)
    assert told.largest >= max(cells) * width * len(space.candidates.schema.classes)


def test_conjunctions_count_booleans_and_tables_many_cut_points():
    assert space_cost(SearchShape.of(Space.of_trees(BOOLEANS)), 4).method == "conjunctions"
    assert space_cost(SearchShape.of(list_space(BOOLEANS, negations=False)), 4).method == "masks"
    assert space_cost(SearchShape.of(Space.of_trees(NUMBERS)), 3).method == "cubes"
    of_two_literals = list_space(schema_of(Boolean(), Boolean()), 2)  # what they leave is no box
    assert space_cost(SearchShape.of(of_two_literals), 2).method in {"masks", "pairs"}
    assert space_cost(SearchShape.of(Space.of_trees(NUMBERS)), 0).states == 0
    as_wide_as_adult = schema_of(*[Integer(0, 99, tuple(range(10, 60, 5)))] * 6, *[Categorical(WORDS)] * 2)
    told = space_cost(SearchShape.of_lists(as_wide_as_adult, 1, negations=True), 4)
    assert told.method == "cubes"  # by masks it would take half an hour


def test_for_no_number_of_patterns_another_method_is_much_faster():
    """Lists of five rules about twenty Booleans had been drawn 14 times as slowly as possible on small tables."""
    shape = SearchShape.of_lists(schema_of(*[Boolean()] * 20), 1, negations=True)
    for depth in (3, 4, 5):
        chosen = space_cost(shape, depth)
        for patterns in (500, 10_000, 500_000):
            best = space_cost(shape, depth, patterns=patterns)
            assert chosen.seconds(patterns) < 4 * best.seconds(patterns) + 0.1


def test_the_method_is_chosen_for_many_sizes_if_both_are_quick(monkeypatch):
    def choose(patterns=None):
        return space_cost(SearchShape.of_trees(NUMBERS), 2, patterns=patterns).method

    def weigh(tables, patterns):
        monkeypatch.setattr(cost, "cubes_cost", lambda *_: Cost(1, 1, 1, 2, "cubes", fixed=tables))
        monkeypatch.setattr(cost, "masks_cost", lambda *_: Cost(1, 1, 1, 2, each=patterns))

    weigh(tables=1.0, patterns=5e-5)  # masks take 0.5 s for 10,000 patterns, and 2.5 s for 50,000
    assert (choose(), choose(10_000), choose(50_000)) == ("cubes", "masks", "cubes")
    weigh(tables=cost.MOST_SECONDS + 1, patterns=5e-4)  # 5 s for 10,000 patterns
    assert (choose(), choose(50_000)) == ("masks", "cubes")


def test_the_cost_by_tables_hardly_grows_with_the_patterns():
    told = space_cost(SearchShape.of(Space.of_trees(NUMBERS)), 3)
    masks = masks_cost(SearchShape.of_trees(NUMBERS), 3)
    assert told.seconds(100_000) < 10 * told.seconds(1000)
    assert masks.seconds(100_000) > 40 * masks.seconds(1000)


def test_searches_one_after_the_other_cost_what_they_cost_together():
    item, other = Cost(10, 3, 30, 2, fixed=0.5, each=2.0), Cost(8, 5, 40, 2, "cubes", 7, 0.25, 0.5)
    assert total_cost([item, other]) == Cost(8, 8, 70, 2, "cubes", 7, 0.75, 2.5)
    assert item.times(3) == total_cost([item] * 3)


def test_the_largest_size_is_the_last_that_is_allowed_and_takes_no_longer(monkeypatch):
    def cost_of(size):
        return Cost(1, 10**size, 10**size, 2, fixed=1e-6 * 10**size)

    assert largest_size(cost_of, 3) == 3
    monkeypatch.setattr(cost, "MOST_SECONDS", 1e9)
    assert largest_size(cost_of, 20) == 7  # 10^7 states are allowed, 10^8 are not
    monkeypatch.setattr(cost, "MOST_SECONDS", cost_of(4).seconds(10_000))
    assert largest_size(cost_of, 20) == 4
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert largest_size(cost_of, 20) == 0
