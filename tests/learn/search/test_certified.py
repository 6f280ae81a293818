import itertools
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_wine

from hedgerow import Tally
from hedgerow.learn.search import branch_and_bound, certified, lattice
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.branch_and_bound import narrow_search, prune
from hedgerow.learn.search.certified import exhaust, find_optimum, rows_needed
from hedgerow.learn.search.cost import SearchShape, space_cost
from hedgerow.learn.search.lattice import LeafNode, PatternMatrix
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.optimum import Optimum, SearchSettings, best_leaf
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.schema import Boolean, Candidates, Integer, Label, Real, Schema
from tests.learn.best_models import as_given, check_model, clock, least, make_problem, problems, pruned
from tests.learn.objectives import ALL_OBJECTIVES

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 1.5, 3.0, 100.0])
SIZES = pytest.mark.parametrize("examples", [10, pytest.param(5000, marks=pytest.mark.slow)])
objectives = st.sampled_from(ALL_OBJECTIVES)
terms_of = st.builds(SearchSettings, st.integers(0, 4), st.integers(0, 5), PENALTIES, objectives)


def find(problem, settings, deadline=np.inf):
    """Return the optimum by branch and bound; for rule lists after a narrow search."""
    settings = as_given(problem, settings)
    loss = Loss.of(settings.objective, len(problem.schema.classes), FINE_STEPS)
    rows = PatternMatrix(problem.tally, problem.space, loss)
    known = best_leaf(rows.weights.sum(axis=1), rows.loss)
    if CAUGHT not in problem.space.branches and settings.depth:
        known = narrow_search(rows, settings, known, deadline)
    return prune(rows, settings, known, deadline, lambda *_: None)


@SIZES
@pytest.mark.parametrize("narrow", [False, True], ids=["as it is", "with a first search that finds little"])
def test_what_is_found_is_the_best_model_that_there_is(examples, narrow):
    @settings(max_examples=examples)
    @given(problems(), terms_of)
    def best(problem, settings):
        with pytest.MonkeyPatch.context() as patch:
            if narrow:
                patch.setattr(branch_and_bound, "_NARROW_STATES", 1)
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


@pytest.mark.parametrize(
    ("depth", "limit", "used"),
    [
        (3, None, ["exhaust 3"]),
        (3, 1e-3, ["prune 3"]),
        (9, None, ["prune 9"]),
    ],
)
def test_all_boxes_are_valued_if_there_is_time(monkeypatch, depth, limit, used):
    calls = []

    def noted(*given, name):
        calls.append(f"{name} {next(item for item in given if isinstance(item, SearchSettings)).depth}")
        return Optimum(LeafNode(0), 1e9, 0, 0)

    for name in ("exhaust", "prune"):
        monkeypatch.setattr(certified, name, partial(noted, name=name))
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 100, (1000, 6)), 2, axis=0)
    found = find_optimum(
        Tally.count(rows, rng.integers(0, 2, 2000), WIDE),
        Space.of_trees(WIDE),
        SearchSettings(depth, 20, 0.0),
        limit,
        lambda *_: None,
    )
    assert calls == used
    assert found.objective < 1e9  # better models that came first are kept


@pytest.mark.parametrize(("rows", "used"), [(300, "prune"), (30_000, "exhaust")])
def test_branch_and_bound_takes_trees_of_single_tests_if_patterns_are_few(monkeypatch, rows, used):
    calls = []
    for name in ("exhaust", "prune"):
        monkeypatch.setattr(
            certified, name, lambda *_, name=name: [calls.append(name), Optimum(LeafNode(0), 1e9, 0, 0)][1]
        )
    rng = np.random.default_rng(0)
    X = rng.random((rows, 40)) < 0.5
    schema = Schema({f"x{i}": Boolean() for i in range(40)}, Label("y", (0, 1)))
    tally = Tally.count(X, rng.integers(0, 2, rows), schema)
    find_optimum(tally, Space.of_trees(schema), SearchSettings(4, 1, 0.0), None, lambda *_: None)
    assert calls == [used]


@pytest.mark.parametrize(("patterns", "method"), [(10, "masks"), (10**4, "cubes")])
def test_the_way_is_chosen_by_the_patterns_that_there_are(patterns, method):
    schema = Schema({f"x{i}": Integer(0, 99, cuts=tuple(range(10, 18))) for i in range(10)}, Label("y", (0, 1)))
    assert space_cost(SearchShape.of(Space.of_trees(schema)), 2, patterns=patterns).method == method


@pytest.mark.parametrize("seed", [77, 141, 174, 185])  # tables on which ties with the best list were taken for better
def test_a_tie_with_the_best_list_is_not_taken_for_a_better_list(seed):
    rng = np.random.default_rng(seed)
    schema = Schema({f"x{i}": Boolean() for i in range(6)}, Label("y", (0, 1)))
    tally = Tally.count(rng.integers(0, 2, (60, 6)), rng.integers(0, 2, 60), schema)
    space = Space.of_lists(Candidates.of(schema, 1, negations=True))
    for penalty in (0.0, 3 / 8, 861_927 / 2**20):
        settings = SearchSettings(4, 1, penalty)
        matrix = PatternMatrix(tally, space, Loss.of("errors", 2, FINE_STEPS))
        found, other = pruned(matrix, settings), exhaust(tally, Boxes.of(space, 4), settings, lambda *_: None)
        assert found.objective == found.lower_bound == other.objective


@pytest.mark.parametrize(("rows", "method"), [(772, "masks"), (30_000, "cubes")])
def test_branch_and_bound_takes_deep_trees_if_patterns_are_few(rows, method):
    """Masks of this depth are beyond the limits of an enumeration. Boxes are not, but take longer for few patterns."""
    rng = np.random.default_rng(0)
    schema = Schema({f"x{i}": Boolean() for i in range(22)}, Label("y", (0, 1)))
    tally = Tally.count(rng.integers(0, 2, (rows, 22)), rng.integers(0, 2, rows), schema)
    search = certified._AnytimeSearch(tally, Space.of_trees(schema), SearchSettings(8, 39, 0.0), np.inf, print)
    assert search._cost(8).method == method


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
                patch.setattr(branch_and_bound, "_NARROW_STATES", 1)
            patch.setattr(branch_and_bound, "time", clock(ticks))
            result = find(problem, settings, deadline=1.0)
        check_model(problem, settings, result)
        assert result.lower_bound <= least(problem, settings) <= result.objective
        stopped.append(result.lower_bound < result.objective)

    bounded()
    assert any(stopped)
    assert not all(stopped)


@pytest.mark.parametrize(("kind", "deadlines"), [("list", [101.0]), ("tree", [])])
def test_the_narrow_search_of_lists_has_a_tenth_of_the_time(kind, deadlines, monkeypatch):
    problem, used = make_problem(1, kind), []
    monkeypatch.setattr(certified, "_QUICK", 0.0)
    monkeypatch.setattr(certified, "time", SimpleNamespace(monotonic=lambda: 100.0))
    monkeypatch.setattr(certified, "narrow_search", lambda *given: [used.append(given[3]), given[2]][1])
    find_optimum(problem.tally, problem.space, SearchSettings(3, 0, 0.0), 10.0, lambda *_: None)
    assert used == deadlines


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


def test_wider_lookahead_without_errors_ends_a_long_search(monkeypatch):
    X, y = load_wine(return_X_y=True)
    names, cuts = [f"x{i}" for i in range(X.shape[1])], [np.unique(column).tolist() for column in X.T]
    kinds = {name: Real(own[0], own[-1], own[:-1]) for name, own in zip(names, cuts, strict=True)}
    tally = Tally.count(pd.DataFrame(X, columns=names), y, Schema(kinds, Label("y", (0, 1, 2))))
    monkeypatch.setattr(certified, "prune", lambda *_: pytest.fail("searched"))
    found = find_optimum(tally, Space.of_trees(tally.schema), SearchSettings(3, 1, 0.0), None, lambda *_: None)
    assert found.objective == found.lower_bound == 0


@pytest.mark.parametrize(("limit", "trees"), [(4.5, 2), (3.5, 1), (None, 5)])
def test_lookahead_before_a_search_ends_before_the_time_limit(monkeypatch, limit, trees):
    """The first tree takes a second, and the next tree may take three."""
    problem, clock, widths = make_problem(1, "tree"), SimpleNamespace(now=0.0), list[int]()

    def look(search):
        clock.now += 1.0
        widths.append(1)
        search._next = 3.0

    monkeypatch.setattr(certified, "_QUICK", 0.0)
    monkeypatch.setattr(certified, "_WIDER", np.inf)
    monkeypatch.setattr(certified, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(certified._AnytimeSearch, "_look_ahead", look)
    monkeypatch.setattr(certified._AnytimeSearch, "_states", lambda *_: None)
    monkeypatch.setattr(certified, "prune", lambda *given: given[2])
    find_optimum(problem.tally, problem.space, SearchSettings(3, 0, 0.0), limit, lambda *_: None)
    assert len(widths) == trees
