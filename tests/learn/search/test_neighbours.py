"""Bounds by neighbouring thresholds against the best trees of both branches, row by row."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search.branch_and_bound import BranchAndBound
from hedgerow.learn.search.lattice import PatternMatrix
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.neighbours import Neighbours
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.space import Space
from hedgerow.schema import Integer, Label, Schema
from tests.learn.best_models import Problem, pruned

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 3.0])
SIZES = pytest.mark.parametrize("examples", [20, pytest.param(500, marks=pytest.mark.slow)])


def thresholds(seed):
    """Return a problem of one or two attributes with many cut points."""
    rng = np.random.default_rng(seed)
    names, top = ["a", "b"][: rng.integers(1, 3)], int(rng.integers(3, 40))
    schema = Schema({name: Integer(0, top, tuple(range(top))) for name in names}, Label("y", (0, 1, 2)))
    label = rng.integers(0, 3, size=top + 1)
    rows = [{name: int(rng.integers(0, top + 1)) for name in names} for _ in range(rng.integers(1, 15))]
    rows = tuple(row | {"y": int(label[row["a"]] if rng.random() < 0.7 else rng.integers(3))} for row in rows)
    return Problem(schema, rows, Space.of_trees(schema))


problems = st.integers(0, 2**32 - 1).map(thresholds)


def both_sides(problem, depth, penalty):
    """Return the sum for both branches of each test, and the number of rows that the test catches."""
    everything, sums, sizes = frozenset(range(len(problem.rows))), [], []
    for fact in problem.facts:
        parts = [
            replace(problem, rows=tuple(problem.rows[i] for i in sorted(side))) for side in (fact, everything - fact)
        ]
        sums.append(float(sum(part.least(depth, 1, penalty) if part.rows else 0 for part in parts)))
        sizes.append(float(len(fact)))
    return np.array([sums]), np.array([sizes])


@SIZES
def test_no_bound_is_above_the_best_trees_of_both_branches(examples):
    @settings(max_examples=examples)
    @given(problems, st.integers(0, 2), PENALTIES, st.integers(0, 2**32 - 1))
    def holds(problem, depth, penalty, seed):
        exact, sizes = both_sides(problem, depth, penalty)
        neighbours = Neighbours(PatternMatrix(problem.tally, problem.space).catches)
        known = np.random.default_rng(seed).random(exact.shape) < 0.3
        bounds = neighbours.bounds(np.where(known, exact, -np.inf), sizes)
        assert (bounds <= exact).all()
        assert (bounds[known] == exact[known]).all()
        for place in range(exact.shape[1]):  # the first test of the same attribute that is known, by its own account
            same = [i for i in range(exact.shape[1]) if attribute(problem, i) == attribute(problem, place)]
            by_each = [exact[0, i] - abs(sizes[0, i] - sizes[0, place]) for i in same if known[0, i]]
            assert bounds[0, place] >= max(by_each, default=-np.inf)

    holds()


def attribute(problem, option):
    return problem.space.antecedents[option][0].attribute


@given(problems)
def test_every_test_is_in_one_round(problem):
    neighbours = Neighbours(PatternMatrix(problem.tally, problem.space).catches)
    assert sorted(np.concatenate(neighbours.rounds()).tolist()) == list(range(problem.space.n_options))


def test_the_first_round_has_few_tests_of_a_long_run():
    caught = np.arange(100)[:, None] <= np.arange(99)
    sizes = [len(part) for part in Neighbours(caught).rounds()]
    assert sizes == [7, 6, 12, 25, 49]
    assert [len(part) for part in Neighbours(caught[:, :8]).rounds()] == [8]
    assert [len(part) for part in Neighbours(np.eye(20, dtype=bool)).rounds()] == [20]
    assert Neighbours(np.zeros((3, 0), dtype=bool)).rounds()[0].tolist() == []


@SIZES
def test_the_best_tree_is_found_with_the_bounds_and_without(examples):
    @settings(max_examples=examples)
    @given(problems, st.integers(1, 3), st.integers(0, 3), PENALTIES, st.booleans())
    def is_best(problem, depth, min_rows, penalty, has_bounds):
        terms, rows = SearchSettings(depth, min_rows, penalty), PatternMatrix(problem.tally, problem.space)
        with pytest.MonkeyPatch.context() as patch:
            if not has_bounds:
                patch.setattr(Neighbours, "bounds", lambda _, totals, sizes: totals)  # noqa: ARG005
            found = pruned(rows, terms)
        assert found.objective == found.lower_bound == problem.least(depth, max(min_rows, 1), penalty)

    is_best()


def test_the_bounds_are_for_trees_by_errors_with_leaves_of_a_row():
    problem = thresholds(0)
    rows = PatternMatrix(problem.tally, problem.space)
    brier = PatternMatrix(problem.tally, problem.space, Loss.of("brier", 3, FINE_STEPS))
    assert BranchAndBound(rows, SearchSettings(2, 1, 0.0)).similar is not None
    assert BranchAndBound(rows, SearchSettings(2, 2, 0.0)).similar is None
    assert BranchAndBound(rows, SearchSettings(2, 1, 0.0), width=3).similar is None
    assert BranchAndBound(brier, SearchSettings(2, 1, 0.0)).similar is None


def test_a_threshold_that_divides_no_rows_bounds_no_other():
    """The first thresholds catch no row; the one that has to come first is in the last round."""
    schema = Schema({"a": Integer(0, 39, tuple(range(39)))}, Label("y", (0, 1)))
    rows = tuple({"a": a, "y": int(11 < a <= 21 or a > 31)} for a in range(5, 40))
    problem = Problem(schema, rows, Space.of_trees(schema))
    found = pruned(PatternMatrix(problem.tally, problem.space), SearchSettings(2, 1, 0.0))
    assert found.objective == problem.least(2) == 0


def test_most_thresholds_are_never_taken():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 300, (300, 2))
    schema = Schema({name: Integer(0, 299, tuple(range(299))) for name in "ab"}, Label("y", (0, 1)))
    tally = Tally.count(X, ((X[:, 0] > 100) ^ (X[:, 1] > 220)).astype(int), schema)
    found = pruned(PatternMatrix(tally, Space.of_trees(schema)), SearchSettings(2, 1, 0.0))
    assert found.objective == 0
    assert found.n_states < 200  # of two for each of 598 thresholds
