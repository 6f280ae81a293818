"""A certified search that is stopped at any moment returns a valid model with a lower bound that holds."""

import itertools
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search import branch_and_bound, certified, lattice
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.certified import find_optimum, unavoidable
from hedgerow.learn.search.lattice import PatternMatrix
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Label, Schema
from tests.learn.best_models import as_given, check_model, clock, least, make_problem, problems
from tests.learn.objectives import ALL_OBJECTIVES, objective_of

SIZES = pytest.mark.parametrize("examples", [8, pytest.param(1000, marks=pytest.mark.slow)])
PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 3.0])
terms = st.builds(SearchSettings, st.integers(2, 4), st.integers(0, 3), PENALTIES, st.sampled_from(ALL_OBJECTIVES))
METHODS = pytest.mark.parametrize("method", ["exhaust", "prune"])
STARTS = pytest.mark.parametrize("is_long", [True, False], ids=["with first models", "without first models"])


@pytest.fixture
def search(monkeypatch):
    """Return a function that searches by a method, as if the search were long, or were short."""
    monkeypatch.setattr(lattice, "_BLOCK_BYTES", 1)  # a state a block, so that there are many moments to stop

    def find(problem, settings, method, *, is_long, limit=None, progress=lambda *_: None):
        monkeypatch.setattr(certified, "_QUICK", 0.0 if is_long else np.inf)
        monkeypatch.setattr(certified._AnytimeSearch, "_states", lambda *given: states_of(method, *given))
        return find_optimum(problem.tally, problem.space, as_given(problem, settings), limit, progress)

    return find


def states_of(method, search, depth, _):
    """Return the boxes or pairs of a search if it is to exhaust them."""
    kind = Boxes if search._space.has_boxes else Pairs
    return kind.of(search._space, depth) if method == "exhaust" and depth and (depth < 3 or kind is Boxes) else None


def check_stops(problem, settings, results):
    """Check all results of a search, stopped later and later; the last one was not stopped."""
    best = least(problem, settings)
    for result in results:
        check_model(problem, settings, result)
        assert result.lower_bound <= best <= result.objective
        assert result.stopped_by is None or result.n_states >= 1
    assert results[-1].objective == results[-1].lower_bound == best


def improve(results):
    """Return whether no result is worse than the one before it."""
    objectives = [result.objective for result in results]
    return objectives == sorted(objectives, reverse=True)


@SIZES
@STARTS
@METHODS
def test_an_interrupt_at_any_step_leaves_a_model_and_a_bound_that_hold(search, method, is_long, examples):
    @settings(max_examples=examples, derandomize=examples < 100)
    @given(problems(most_rows=12), terms)
    def holds(problem, settings):
        results = []
        for steps in itertools.count():
            left = itertools.chain(range(steps), itertools.repeat(None))

            def progress(*_, left=left):
                if next(left) is None:
                    raise KeyboardInterrupt

            results.append(search(problem, settings, method, is_long=is_long, progress=progress))
            assert results[-1].stopped_by in {"interrupt", None}
            if results[-1].stopped_by is None:
                break
        check_stops(problem, settings, results)
        assert improve(results)

    holds()


@SIZES
@STARTS
@METHODS
def test_a_deadline_at_any_look_leaves_a_model_and_a_bound_that_hold(search, monkeypatch, method, is_long, examples):
    @settings(max_examples=examples, derandomize=examples < 100)
    @given(problems(most_rows=12), terms)
    def holds(problem, settings):
        results = []
        for looks in itertools.count(1):
            late = clock(looks)
            monkeypatch.setattr(certified, "time", late)
            monkeypatch.setattr(branch_and_bound, "time", late)
            results.append(search(problem, settings, method, is_long=is_long, limit=1e6))
            assert results[-1].stopped_by in {"time", None}
            if next(iter([late.monotonic()])) == 0.0:  # the search was over before the deadline
                break
        if method == "exhaust" or is_long:
            check_stops(problem, settings, results)
            assert is_long or improve(results)  # by this clock, the last look has time for another tree by lookahead
        else:  # branch and bound has its own first models
            best = least(problem, settings)
            for result in results:
                check_model(problem, settings, result)
                assert result.lower_bound <= best <= result.objective

    holds()


@METHODS
@pytest.mark.parametrize("seed", [5, 28])
def test_the_best_model_does_not_depend_on_time(search, monkeypatch, method, seed):
    """Lookahead during the search finds another tree that is as good as the optimum of the complete search."""
    problem, terms = make_problem(seed, "tree"), SearchSettings(3 + seed % 2, 1, [0.0, 0.25, 1.0][seed % 3])
    found = []
    for share in (0.0, np.inf):
        monkeypatch.setattr(certified, "_AHEAD", share)
        found.append(search(problem, terms, method, is_long=True))
    assert found[0].model == found[1].model


@pytest.mark.parametrize("is_second", [False, True])
def test_a_second_interrupt_is_raised(search, monkeypatch, is_second):
    def interrupt(*_):
        raise KeyboardInterrupt

    if is_second:
        monkeypatch.setattr(certified._AnytimeSearch, "stop", interrupt)
    rows = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(bool)
    tally = Tally.count(rows, rows[:, 0] ^ rows[:, 1], Schema(dict.fromkeys("abc", Boolean()), Label("y", (0, 1))))
    problem = SimpleNamespace(tally=tally, space=Space.of_trees(tally.schema), schema=tally.schema)
    if is_second:
        with pytest.raises(KeyboardInterrupt, match=r"^$"):
            search(problem, SearchSettings(2, 1, 0.0), "exhaust", is_long=False, progress=interrupt)
    else:
        found = search(problem, SearchSettings(2, 1, 0.0), "exhaust", is_long=False, progress=interrupt)
        assert found.stopped_by == "interrupt"


def test_a_search_in_another_thread_finds_the_same(search):
    rows = np.random.default_rng(0).integers(0, 2, (50, 3)).astype(bool)
    tally = Tally.count(rows, rows[:, 0] ^ rows[:, 1], Schema(dict.fromkeys("abc", Boolean()), Label("y", (0, 1))))
    problem = SimpleNamespace(tally=tally, space=Space.of_trees(tally.schema), schema=tally.schema)
    found = []
    thread = threading.Thread(
        target=lambda: found.append(search(problem, SearchSettings(2, 1, 0.0), "exhaust", is_long=True))
    )
    thread.start()
    thread.join()
    assert found[0].objective == 0


@given(problems(), st.sampled_from(ALL_OBJECTIVES), st.data())
def test_rows_that_options_do_not_distinguish_have_an_unavoidable_loss(problem, objective, data):
    n_classes = len(problem.schema.classes)
    loss = Loss.of(objective_of(objective, n_classes), n_classes, FINE_STEPS)
    chosen = sorted(data.draw(st.sets(st.sampled_from(range(problem.space.n_options)))))
    space = Space(problem.space.candidates, problem.space.options[chosen], problem.space.branches, problem.space.root)
    facts = [problem.facts[option] for option in chosen] if problem.space.has_boxes else problem.facts
    groups = {}
    for row in range(len(problem.rows)):
        groups.setdefault(tuple(row in fact for fact in facts), set()).add(row)
    expected = sum(problem.cost(rows, objective) for rows in groups.values())
    found = unavoidable(problem.tally, space, loss)
    assert found == expected if problem.space.has_boxes else found <= expected


def test_the_bound_of_branch_and_bound_is_kept(monkeypatch):
    """If memory runs out, the lower bound of branch and bound is better than the unavoidable loss, or as good."""
    rows = np.random.default_rng(0).integers(0, 2, (200, 6)).astype(bool)
    y = rows[:, 0] ^ rows[:, 1] ^ (np.arange(200) % 3 == 0)
    tally = Tally.count(rows, y, Schema(dict.fromkeys("abcdef", Boolean()), Label("y", (0, 1))))
    space = Space.of_trees(tally.schema)
    monkeypatch.setattr(branch_and_bound, "MOST_BYTES", 2000)
    monkeypatch.setattr(certified._AnytimeSearch, "_states", lambda *_: None)
    found = find_optimum(tally, space, SearchSettings(4, 1, 0.0), None, lambda *_: None)
    assert found.lower_bound >= unavoidable(tally, space, PatternMatrix(tally, space).loss)
