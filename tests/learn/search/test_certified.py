import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search import branch_and_bound, certified, lattice
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.branch_and_bound import prune
from hedgerow.learn.search.certified import exhaust, find_optimum, rows_needed
from hedgerow.learn.search.cost import SearchShape, space_cost
from hedgerow.learn.search.lattice import LeafNode, PatternMatrix
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.optimum import Optimum, SearchSettings
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Candidates, Integer, Label, Schema
from tests.learn.best_models import account, make_problem, problems
from tests.learn.objectives import ALL_OBJECTIVES, objective_of

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, 100.0])
SIZES = pytest.mark.parametrize("examples", [10, pytest.param(5000, marks=pytest.mark.slow)])
objectives = st.sampled_from(ALL_OBJECTIVES)
terms_of = st.builds(SearchSettings, st.integers(0, 4), st.integers(0, 5), PENALTIES, objectives)


def find(problem, settings, time_limit=None):
    settings = as_given(problem, settings)
    loss = Loss.of(settings.objective, len(problem.schema.classes), FINE_STEPS)
    return prune(PatternMatrix(problem.tally, problem.space, loss), settings, time_limit, lambda *_: None)


def as_given(problem, settings):
    """Return the settings as the search takes them: with tables in the place of their names."""
    return replace(settings, objective=objective_of(settings.objective, len(problem.schema.classes)))


def least(problem, settings):
    return problem.least(settings.depth, settings.min_rows, settings.penalty, settings.objective)


def check_model(problem, settings, found):
    """Check that the model is one within the terms, and that its objective is its own, all row by row."""
    loss, options, depth, support = account(problem, found.model, settings.objective)
    assert found.objective == loss + settings.penalty * options
    assert depth <= settings.depth
    assert not options or support >= max(settings.min_rows, 1)


@SIZES
@pytest.mark.parametrize("narrow", [False, True], ids=["as it is", "with a first search that finds little"])
def test_what_is_found_is_the_best_model_that_there_is(examples, narrow):
    @settings(max_examples=examples)
    @given(problems(), terms_of)
    def best(problem, settings):
        with pytest.MonkeyPatch.context() as patch:
            if narrow:
                patch.setattr(branch_and_bound, "_QUICK_STATES", 1)
            result = find(problem, settings)
        check_model(problem, settings, result)
        assert result.objective == result.lower_bound == least(problem, settings)

    best()


@SIZES
def test_all_boxes_hold_the_best_model_that_there_is(examples):
    @settings(max_examples=examples)
    @given(problems(), terms_of)
    def best(problem, settings):
        boxes = Boxes.of(problem.space, min(settings.depth, problem.space.n_options))
        if boxes is not None:
            told = []
            result = exhaust(problem.tally, boxes, as_given(problem, settings), lambda *step: told.append(step))
            check_model(problem, settings, result)
            assert result.objective == result.lower_bound == least(problem, settings)
            assert not told or told[-1] == (1, result.n_states, result.n_states)

    best()


@pytest.mark.parametrize(
    "make", [Space.of_trees, lambda schema: Space.of_lists(Candidates.of(schema, 1, negations=False))]
)
@pytest.mark.parametrize("rare", [4, 3, 1])
@pytest.mark.parametrize("min_rows", [4, 1])
def test_last_choices_need_support_if_the_best_choice_lacks_it(monkeypatch, make, rare, min_rows):
    """An option that catches `rare` rows saves all errors, the other one none. Of a tree it is asked at once."""
    used, cubes = [], certified.Cubes
    monkeypatch.setattr(certified, "Cubes", lambda *a, relaxed: used.append(relaxed) or cubes(*a, relaxed=relaxed))
    X = np.zeros((20, 2), dtype=bool)
    X[:rare, 0] = X[1 : rare + 3, 1] = True
    tally = Tally.count(X, X[:, 0].astype(int), Schema({name: Boolean() for name in "ab"}, Label("y", (0, 1))))
    boxes, has_support = Boxes.of(make(tally.schema), 1), rare >= min_rows
    result = exhaust(tally, boxes, SearchSettings(1, min_rows, 0.0), lambda *_: None)
    assert result.objective == (0 if has_support else rare)
    is_tree = len(boxes.space.branches) == 2
    assert used == ([False] if is_tree and min_rows > 1 else [True] if has_support else [True, False])


def of_pairs(seed):
    """Return the first problem of lists, from a seed on, with rules of two literals: a filter would reject too many."""
    made = (make_problem(seed + more, "list") for more in itertools.count())
    return next(problem for problem in made if not problem.space.has_boxes)


@SIZES
def test_all_pairs_of_rules_hold_the_best_list_that_there_is(examples):
    @settings(max_examples=examples)
    @given(st.integers(0, 2**32 - 1).map(of_pairs), terms_of, st.integers(1, 2))
    def best(problem, settings, depth):
        settings, told = as_given(problem, replace(settings, depth=depth)), []
        pairs = Pairs.of(problem.space, depth)
        result = exhaust(problem.tally, pairs, settings, lambda *step: told.append(step))
        check_model(problem, settings, result)
        assert result.objective == result.lower_bound == least(problem, settings)
        assert told[-1] == (1, result.n_states, result.n_states)
        assert told == sorted(told)  # valued once

    best()


@SIZES
def test_by_whichever_way_the_best_model_is_found(examples):
    @settings(max_examples=examples)
    @given(problems(), terms_of)
    def best(problem, settings):
        result = find_optimum(problem.tally, problem.space, as_given(problem, settings), None, lambda *_: None)
        check_model(problem, settings, result)
        assert result.objective == result.lower_bound == least(problem, settings)

    best()


WIDE = Schema({f"x{i}": Integer(0, 99, cuts=tuple(range(5, 95, 5))) for i in range(6)}, Label("y", (0, 1)))


@pytest.mark.parametrize(("depth", "limit", "way"), [(3, None, "exhaust"), (3, 1e-3, "prune"), (9, None, "prune")])
def test_all_boxes_are_valued_where_that_is_affordable(monkeypatch, depth, limit, way):
    used = []
    for name in ("exhaust", "prune"):
        monkeypatch.setattr(
            certified, name, lambda *_, name=name: [used.append(name), Optimum(LeafNode(0), 0, 0, 0)][1]
        )
    rows = np.random.default_rng(0).integers(0, 100, (50, 6))
    tally = Tally.count(rows, rows[:, 0] % 2, WIDE)
    assert space_cost(SearchShape.of(Space.of_trees(WIDE)), 3).method == "cubes"
    find_optimum(tally, Space.of_trees(WIDE), SearchSettings(depth, 1, 0.0), limit, lambda *_: None)
    assert used == [way]


@pytest.mark.parametrize(("patterns", "method"), [(10, "masks"), (10**4, "cubes")])
def test_the_way_is_chosen_by_the_patterns_that_there_are(patterns, method):
    schema = Schema({f"x{i}": Integer(0, 99, cuts=tuple(range(10, 18))) for i in range(10)}, Label("y", (0, 1)))
    assert space_cost(SearchShape.of(Space.of_trees(schema)), 2, patterns=patterns).method == method


def test_boxes_that_take_too_long_are_left_for_the_pruned_search(monkeypatch):
    rows = np.random.default_rng(0).integers(0, 100, (50, 6))
    tally, clock = Tally.count(rows, rows[:, 0] % 2, WIDE), itertools.count(0, 40.0)
    monkeypatch.setattr(certified, "prune", lambda *found: Optimum(LeafNode(0), found[2], 0, 0))
    monkeypatch.setattr(certified, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    left = find_optimum(tally, Space.of_trees(WIDE), SearchSettings(3, 1, 0.0), 60.0, lambda *_: None)
    assert left.objective < 60


@given(problems(), terms_of)
def test_the_best_model_has_no_option_that_saves_nothing(problem, settings):
    """Of equally good models the one that stops first: no split into leaves of one value, no last rule for nothing."""

    def check(part, is_tree):
        if isinstance(part, LeafNode):
            return
        both = (part.caught, part.left)
        if all(isinstance(item, LeafNode) for item in both):
            assert part.caught.value != part.left.value
        for item in both:
            check(item, is_tree)

    check(find(problem, settings).model, len(problem.space.branches) == 2)


def clock(ticks):
    """A clock that is early until it has been read so often, and then late."""
    readings = itertools.chain([0.0] * ticks, itertools.repeat(1e9))
    return SimpleNamespace(monotonic=lambda: next(readings))


@pytest.mark.parametrize("examples", [25, pytest.param(5000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("narrow", [False, True], ids=["as it is", "with a first search that finds little"])
def test_what_is_found_in_time_comes_with_a_bound_that_holds(examples, narrow):
    stopped = []

    # The usual ones are the same each time: some are stopped.
    @settings(max_examples=examples, derandomize=examples < 100)
    @given(
        problems(),
        st.builds(SearchSettings, st.integers(2, 4), st.integers(0, 3), PENALTIES, objectives),
        st.integers(0, 12),
    )
    def bounded(problem, settings, ticks):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lattice, "_BLOCK_BYTES", 1)
            patch.setattr(branch_and_bound, "MOST_BYTES", 1)  # the clock is read for each state
            if narrow:
                patch.setattr(branch_and_bound, "_QUICK_STATES", 1)
            patch.setattr(branch_and_bound, "time", clock(ticks))
            result = find(problem, settings, time_limit=1.0)
        check_model(problem, settings, result)
        assert result.lower_bound <= least(problem, settings) <= result.objective
        stopped.append(result.lower_bound < result.objective)

    bounded()
    assert any(stopped)
    assert not all(stopped)


@pytest.mark.parametrize(("kind", "expected"), [("list", [101.0, 109.0]), ("tree", [109.0])])
def test_the_quick_search_has_a_tenth_of_the_time_where_it_comes_first(kind, expected, monkeypatch):
    problem, full, deadlines = make_problem(3, kind), branch_and_bound.BranchAndBound, []
    monkeypatch.setattr(branch_and_bound, "time", SimpleNamespace(monotonic=lambda: 100.0))

    def noted(*given, **more):
        deadlines.append(more.get("deadline", np.inf))
        return full(*given, **more)

    monkeypatch.setattr(branch_and_bound, "BranchAndBound", noted)
    find(problem, SearchSettings(3, 0, 0.0), time_limit=10.0)
    assert deadlines == expected


@SIZES
def test_with_little_memory_the_best_model_is_found_part_by_part(examples):
    @settings(max_examples=examples)
    @given(problems(), terms_of, st.integers(1, 20_000), st.sampled_from([0, 1_000]))
    def best(problem, settings, most, few):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(branch_and_bound, "_FEW", few)
            patch.setattr(branch_and_bound, "MOST_BYTES", most)
            result = find(problem, settings)
        check_model(problem, settings, result)
        assert result.objective == result.lower_bound == least(problem, settings)

    best()


@given(problems(), st.integers(0, 4), PENALTIES, objectives)
def test_more_depth_is_never_worse_and_a_penalty_is_never_better(problem, depth, penalty, objective):
    def found(depth, min_rows, penalty):
        return find(problem, SearchSettings(depth, min_rows, penalty, objective)).objective

    item = found(depth, 0, penalty)
    assert found(depth + 1, 0, penalty) <= item
    assert found(depth, 0, penalty + 1) >= item
    assert found(depth, 1, penalty) == item  # an option that catches no row saves nothing


def test_the_first_search_is_small_whatever_the_depth():
    lists, trees = (SimpleNamespace(space=SimpleNamespace(branches=branches)) for branches in ((1,), (0, 1)))
    for depth, n_lists, n_trees in ((1, 20_000, 10_000), (2, 20_000, 10_000), (3, 141, 70), (5, 11, 5), (50, 1, 1)):
        settings = SearchSettings(depth, 0, 0.0)
        assert branch_and_bound._width(lists, settings) == n_lists
        assert branch_and_bound._width(trees, settings) == n_trees


@given(st.integers(0, 400), st.floats(0, 1, exclude_max=True))
def test_the_rows_needed_are_the_fewest_that_are_such_a_share(n, share):
    X = pd.DataFrame({"a": np.zeros(n, dtype=bool)})
    expected = next((k for k in range(n + 1) if n and k / n >= share), 0)
    assert rows_needed(Tally.count(X, np.zeros(n, dtype=bool)), share) == expected


@pytest.mark.parametrize(("n", "share", "rows"), [(100, 0.07, 7), (100, 0.29, 29), (7214, 73 / 7214, 73), (10, 0.0, 0)])
def test_a_share_that_floating_point_cannot_hold_needs_the_rows_it_says(n, share, rows):
    X = pd.DataFrame({"a": np.zeros(n, dtype=bool)})
    assert rows_needed(Tally.count(X, np.zeros(n, dtype=bool)), share) == rows
