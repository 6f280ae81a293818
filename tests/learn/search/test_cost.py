import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search import cost
from hedgerow.learn.search.cost import Cost, masks_cost
from hedgerow.learn.search.exhaustive import exhaustive_levels
from hedgerow.learn.search.lattice import PatternMatrix, Search
from hedgerow.learn.search.semirings import all_models
from tests.learn.enumerate_models import Table, all_worlds, spaces


@given(spaces, st.integers(0, 4))
def test_the_cost_is_the_number_of_states_that_are_enumerated(space, depth):
    found = masks_cost(options=space.n_options, sides=space.n_sides, depth=depth, classes=2)
    states = sum(len(level.states) for level in exhaustive_levels(space, depth))
    assert (found.options, found.states, found.classes) == (space.n_options, states, 2)
    assert found.evaluations == states * space.n_options


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
    Counted(PatternMatrix(table.tally, space), exhaustive_levels(space, depth), all_models(1.0, 0.5)).sweep(
        progress=done.append
    )
    told = masks_cost(options=space.n_options, sides=space.n_sides, depth=depth, classes=len(schema.classes))
    assert sum(weighed) <= told.evaluations
    assert sum(done) == told.states


def test_the_cost_is_told_in_words():
    """40 options, 4 rules: 1 + 40 + C(40, 2) + C(40, 3) = 10,701 states."""
    told = masks_cost(options=40, sides=40, depth=4, classes=2)
    assert told.states == 1 + 40 + 780 + 9880
    assert str(told).startswith("40 options, 10,701 states, 428,040 evaluations; about ")


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("MOST_OPTIONS", Cost(10, 1, 1, 2)),
        ("MOST_STATES", Cost(1, 10, 1, 2)),
        ("MOST_EVALUATIONS", Cost(1, 1, 10, 2)),
    ],
)
def test_each_limit_refuses_what_is_beyond_it_and_says_what_to_change(monkeypatch, name, allowed):
    monkeypatch.setattr(cost, name, 10)
    allowed.check("Use less.")
    assert allowed.is_sensible
    monkeypatch.setattr(cost, name, 9)
    assert not allowed.is_sensible
    with pytest.raises(
        SearchTooLargeError, match=r"^Expected an exact search of at most .*, got .* evaluations\. Use less\.$"
    ) as caught:
        allowed.check("Use less.")
    assert (caught.value.states, caught.value.evaluations) == (allowed.states, allowed.evaluations)


def test_more_patterns_more_classes_and_more_states_take_longer():
    one = masks_cost(options=40, sides=40, depth=3, classes=2)
    assert 0 < one.seconds(0) < one.seconds(100) < one.seconds(1000)
    assert one.seconds(100) < masks_cost(options=40, sides=40, depth=3, classes=3).seconds(100)
    assert one.seconds(100) < masks_cost(options=40, sides=40, depth=4, classes=2).seconds(100)
