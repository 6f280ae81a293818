from itertools import combinations, pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search.lattice import ExhaustiveLevel, exhaustive_levels
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.schema import Boolean
from tests.learn.enumerate_models import list_space, schema_of, spaces


@given(spaces, st.integers(0, 4))
def test_the_states_of_a_level_are_all_sets_of_so_many_sides(space, depth):
    levels = exhaustive_levels(space, depth)
    assert len(levels) == min(depth, space.n_sides + 1)  # no set has more sides than there are
    for taken, level in enumerate(levels):
        expected = sorted(combinations(range(space.n_sides), taken), key=lambda state: state[::-1])
        assert level.states.shape == (comb(space.n_sides, taken), taken)
        assert [tuple(state) for state in level.states.tolist()] == expected  # colexicographic


@given(spaces, st.integers(2, 4), st.data())
def test_a_child_is_where_a_dictionary_finds_the_extended_set(space, depth, data):
    levels = exhaustive_levels(space, depth)
    for level, following in pairwise(levels):
        place = {frozenset(state): index for index, state in enumerate(following.states.tolist())}
        size = st.integers(0, len(level.states) - 1)
        chosen = np.array(sorted(data.draw(st.sets(size, max_size=20)))) if len(level.states) else np.array([], int)
        for branch in space.branches:
            children = level.children(chosen.astype(np.intp), branch)
            assert children.shape == (len(chosen), space.n_options)
            for state, row in zip(level.states[chosen.astype(np.intp)].tolist(), children.tolist(), strict=True):
                for side, child in zip(space.sides(branch).tolist(), row, strict=True):
                    if side not in state:
                        assert child == place[frozenset({*state, side})]


def test_what_a_rule_catches_is_not_searched_further():
    level = exhaustive_levels(list_space(schema_of(Boolean(), Boolean())), 1)[0]
    assert level.children(np.array([0]), CAUGHT) is None
    assert level.children(np.array([0]), LEFT).tolist() == [[0, 1, 2, 3]]


def test_both_branches_of_a_test_are_searched_further():
    level = exhaustive_levels(Space.of_trees(schema_of(Boolean(), Boolean())), 2)[1]
    assert level.children(np.array([0]), CAUGHT)[0, 1] == 0  # {0} and 1: {0, 1}, the first of all pairs
    assert level.children(np.array([0]), LEFT)[0].tolist() == [1, 3]  # {0, 2}, {0, 3}: after {0,1}; {1,2}


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_a_space_without_options_has_no_states_but_the_root(depth):
    schema = schema_of(Boolean())
    candidates = list_space(schema).candidates
    levels = exhaustive_levels(Space.of_lists(candidates, tuple(candidates)), depth)
    assert [level.states.shape for level in levels] == [(1, 0)][:depth]
    assert all(isinstance(level, ExhaustiveLevel) for level in levels)


def test_places_are_exact_where_they_are_beyond_32_bits():
    """The last set of 6 of 400 sides is the last of 5.5·10¹² in colexicographic order."""
    space = list_space(schema_of(*[Boolean()] * 200))
    level = ExhaustiveLevel(space, np.array([[395, 396, 397, 398, 399]], dtype=np.int32))
    assert int(level.children(np.array([0]), LEFT)[0, 394]) == comb(400, 6) - 1
