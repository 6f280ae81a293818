"""Spaces against the slow way: list all combinations of bins, and see which rows an option can still divide."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.schema import Boolean, Candidates, Categorical, Integer, Literal, Real
from tests.learn.enumerate_models import Models, all_worlds, holds, list_space, schema_of, schemas, spaces
from tests.schema.values import attributes


def side_worlds(space):
    """The worlds on each side."""
    result = Models(space, 0)
    return [
        caught if branch == CAUGHT else result.worlds - caught for branch in space.branches for caught in result.catches
    ]


@given(spaces)
def test_an_option_of_literals_is_closed_on_a_side_that_catches_nothing(space):
    result, sides = Models(space, 0), side_worlds(space)
    assert space.n_sides == len(sides) == len(space.branches) * space.n_options
    assert space.has_boxes == (space.closed is None)
    for side, row in zip(sides, [] if space.closed is None else space.closed, strict=False):
        assert row.tolist() == [not (caught & side) for caught in result.catches]


@given(spaces)
def test_sides_of_single_literals_are_boxes(space):
    """Each is all worlds whose bins are among its own."""
    if not space.has_boxes:
        return
    schema = space.candidates.schema
    starts = np.cumsum([0, *(len(schema[name].bins) for name in schema)])[:-1]
    for side, bins in zip(side_worlds(space), space.side_bins, strict=True):
        assert side == {w for w in all_worlds(schema) if bins[starts + np.array(w)].all()}


@given(spaces, st.data())
def test_open_options_are_those_that_divide_the_worlds_of_a_state(space, data):
    sides, result = side_worlds(space), Models(space, 0)
    taken = data.draw(st.integers(0, min(3, space.n_sides)))
    state = st.lists(st.integers(0, space.n_sides - 1), min_size=taken, max_size=taken)
    drawn = data.draw(st.lists(state, min_size=1, max_size=5))
    states = np.array(drawn, dtype=int).reshape(len(drawn), taken)
    for chosen, row in zip(states.tolist(), space.open(states), strict=True):
        here = frozenset.intersection(result.begin, *(sides[side] for side in chosen))
        if here or not space.has_boxes:  # no search reaches a state without worlds
            assert np.flatnonzero(row).tolist() == result.open([sides[side] for side in chosen])


@given(spaces)
def test_an_option_is_closed_on_its_own_sides(space):
    for branch in space.branches:
        states = space.sides(branch)[:, None]
        assert not space.open(states)[np.arange(space.n_options), np.arange(space.n_options)].any()


@given(schemas, st.data())
def test_below_a_box_the_tests_are_those_that_divide_it(schema, data):
    whole = Space.of_trees(schema)
    side = data.draw(st.integers(0, whole.n_sides - 1))
    below = whole.below(whole.side_bins[side])
    here = side_worlds(whole)[side]
    expected = [a for a, c in zip(whole.antecedents, Models(whole, 0).catches, strict=True) if here & c and here - c]
    assert list(below.antecedents) == expected
    assert below.open(np.zeros((1, 0), dtype=int)).all()


def test_sides_go_by_branch_then_by_option():
    schema = schema_of(Boolean(), Boolean())
    tree, rules = Space.of_trees(schema), list_space(schema)
    assert tree.branches == (CAUGHT, LEFT)
    assert (tree.sides(CAUGHT).tolist(), tree.sides(LEFT).tolist()) == ([0, 1], [2, 3])
    assert rules.branches == (LEFT,)
    assert rules.sides(LEFT).tolist() == [0, 1, 2, 3]


def divisions(schema):
    """Every way to divide the worlds by a literal that is no negation and no interval, as the set of both parts."""
    worlds = frozenset(all_worlds(schema))
    literals = [x for name in schema for x in schema[name].literals(name, negations=False) if x.operator != "between"]
    caught = [frozenset(w for w in worlds if holds(schema, (literal,), w)) for literal in literals]
    return {frozenset({part, worlds - part}) for part in caught}


@given(schemas)
def test_tests_of_a_tree_cover_every_split_once_without_intervals(schema):
    space = Space.of_trees(schema)
    worlds = frozenset(all_worlds(schema))
    ways = [frozenset({caught, worlds - caught}) for caught in Models(space, 0).catches]
    assert len(ways) == len(set(ways))
    assert all(len(antecedent) == 1 for antecedent in space.antecedents)
    assert "between" not in {antecedent[0].operator for antecedent in space.antecedents}
    assert set(ways) == divisions(schema)


def test_the_tests_of_a_tree_by_hand():
    schema = schema_of(
        Boolean(), Categorical(("a", "b")), Categorical(("a", "b", "c")), Integer(0, 9, (3, 5)), Boolean(missing="bin")
    )
    assert [str(*antecedent) for antecedent in Space.of_trees(schema).antecedents] == [
        "x0",
        "x1 = a",  # x1 = b is the other branch
        "x2 = a",
        "x2 = b",
        "x2 = c",
        "x3 <= 3",
        "x3 <= 5",
        "x4",
        "x4 is missing",
    ]


@st.composite
def long_grids(draw):
    cuts = tuple(sorted(draw(st.sets(st.integers(0, 19), min_size=6, max_size=9))))
    kind, policies = draw(st.sampled_from([Integer, Real])), st.sampled_from(["error", "bin"])
    return kind(0, 20, cuts, missing=draw(policies), outside=draw(policies))


@given(st.lists(st.one_of(attributes, long_grids()), min_size=1, max_size=3), st.integers(1, 3))
def test_a_coarse_tree_has_the_tests_of_a_schema_with_fewer_cut_points(kinds, every):
    def coarse(kind):
        cuts = getattr(kind, "cuts", None) or ()
        return replace(kind, cuts=cuts[::every]) if len(cuts) > 5 else kind

    whole, fewer = schema_of(Boolean(), *kinds), schema_of(Boolean(), *map(coarse, kinds))
    assert Space.of_trees(whole, every).antecedents == Space.of_trees(fewer).antecedents


def test_attributes_with_few_cut_points_keep_them_all():
    schema = schema_of(Integer(0, 9, (1, 2, 3, 4, 5)), Integer(0, 9, (1, 2, 3, 4, 5, 6)), Real(0, 10))
    names = [str(*antecedent) for antecedent in Space.of_trees(schema, 3).antecedents]
    assert names[:7] == [*(f"x0 <= {cut}" for cut in (1, 2, 3, 4, 5)), "x1 <= 1", "x1 <= 4"]
    assert names[7:] == [f"x2 <= {cut:g}" for cut in Real(0, 10).cuts[::3]]


def test_numbers_with_missing_or_outside_bins_can_be_asked_from_both_ends():
    """``x <= c`` and ``x > c`` are not each other's complement where a value can be neither."""
    schema = schema_of(Real(0.0, 1.0, (0.5,), missing="bin", outside="bin"))
    assert [str(*antecedent) for antecedent in Space.of_trees(schema).antecedents] == [
        "x0 <= 0.5",
        "x0 > 0.5",
        "x0 is missing",
        "x0 is outside its domain",
    ]


@given(schemas, st.integers(1, 2), st.booleans(), st.data())
def test_options_after_rules_can_still_catch_rows(schema, max_literals, negations, data):
    """Of one literal: those that divide what the rules leave. Of several: those that imply none of the rules."""
    candidates = Candidates.of(schema, max_literals, negations=negations)
    chosen = tuple(
        candidates[i] for i in data.draw(st.lists(st.integers(0, len(candidates) - 1), max_size=3, unique=True))
    )
    worlds = frozenset(all_worlds(schema))

    def catches(antecedent):
        return frozenset(world for world in worlds if holds(schema, antecedent, world))

    space, left = Space.of_lists(candidates, chosen), worlds.difference(*map(catches, chosen))
    if space.has_boxes:
        expected = [a for a in candidates if left & catches(a) and left - catches(a)]
    else:
        expected = [a for a in candidates if not any(catches(a) <= catches(rule) for rule in chosen)]
    assert list(space.antecedents) == expected
    assert [candidates[i] for i in space.options] == expected


def test_a_space_may_have_no_options_left():
    candidates = Candidates.of(schema_of(Boolean()), 1)
    space = Space.of_lists(candidates, tuple(candidates))
    assert (space.n_options, space.n_sides) == (0, 0)
    assert space.open(np.zeros((1, 0), dtype=int)).shape == (1, 0)


def test_a_rule_must_be_a_candidate_to_come_before_others():
    candidates = Candidates.of(schema_of(Boolean()), 1, negations=False)
    with pytest.raises(KeyError, match="x0"):
        Space.of_lists(candidates, ((Literal("x0", "false"),),))
