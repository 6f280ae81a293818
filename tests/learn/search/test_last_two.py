"""Values of states with two choices left against all trees of depth 2, row by row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search import last_two
from hedgerow.learn.search.last_two import LastTwo
from hedgerow.learn.search.lattice import PatternMatrix, exhaustive_levels
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Candidates, Label, Schema
from tests.learn.best_models import problems

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 3.0])


@pytest.mark.parametrize("numbers", [1, 2**15], ids=["a state a block", "many"])
@pytest.mark.parametrize("examples", [10, pytest.param(1000, marks=pytest.mark.slow)])
def test_values_are_those_of_the_best_trees_of_depth_two(numbers, examples):
    @settings(max_examples=examples)
    @given(problems("tree"), st.integers(0, 5), PENALTIES, st.integers(0, 2))
    def are_best(problem, min_rows, penalty, taken):
        rows, done = PatternMatrix(problem.tally, problem.space), []
        levels = exhaustive_levels(problem.space, taken + 1)
        states = levels[min(taken, len(levels) - 1)].states
        states = states[np.random.default_rng(0).permutation(len(states))[:20]]
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(last_two, "_BLOCK_NUMBERS", numbers)
            two, live, result = LastTwo.of(rows, 2, penalty, min_rows), rows.on(states), np.empty(len(states))
            for block in two.blocks(rows.totals(live).sum(axis=0), states.min(axis=1, initial=0)):
                result[block] = two.values(live[block])
                done.extend(block.tolist())
        sides = [*problem.facts, *(set(range(len(problem.rows))) - fact for fact in problem.facts)]
        for state, value in zip(states, result, strict=True):
            held = set(range(len(problem.rows))).intersection(*(sides[side] for side in state))
            part = replace(problem, rows=tuple(problem.rows[i] for i in sorted(held)))
            assert value == part.least(2, max(min_rows, 1), penalty)
        assert sorted(done) == list(range(len(states)))

    are_best()


SCHEMA = Schema({name: Boolean() for name in "abc"}, Label("y", (0, 1)))


@pytest.mark.parametrize("times", [1, 200, 2_000, 10**6, 10**10])
@pytest.mark.parametrize("share", [0, 0.125])
def test_counts_are_exact_whatever_their_size(times, share):
    """Exclusive or of a and b but for a share of the rows, which c tells apart: all widths of whole numbers."""
    X = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 2, dtype=bool)
    y = (X[:, 0] ^ X[:, 1]).astype(int)
    y[8] ^= 1
    bins, counts = Tally.count(X, y, SCHEMA).bins_and_counts()
    rows = PatternMatrix(Tally(SCHEMA, bins, counts.astype(np.int64) * times), Space.of_trees(SCHEMA))
    value = LastTwo.of(rows, 2, 0.0, share * 16 * times).values(np.ones((1, len(rows)), dtype=bool))
    assert value == [times]
    missing = LastTwo.of(rows, 2, 0.0, 5 * times).values(np.ones((1, len(rows)), dtype=bool))
    assert missing == [7 * times]


def test_it_is_for_trees_by_errors_of_depth_two_or_more():
    space = Space.of_trees(SCHEMA)
    tally = Tally.count(np.zeros((4, 3), dtype=bool), np.zeros(4, dtype=int), SCHEMA)
    assert LastTwo.of(PatternMatrix(tally, space), 2, 0.0, 0).min_rows == 1
    assert LastTwo.of(PatternMatrix(tally, space), 1, 0.0, 0) is None
    assert LastTwo.of(PatternMatrix(tally, space, Loss.of("brier", 2, FINE_STEPS)), 3, 0.0, 0) is None
    assert LastTwo.of(PatternMatrix(tally, Space.of_lists(Candidates.of(SCHEMA, 1))), 3, 0.0, 0) is None
