from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import Tally
from hedgerow.learn.search import lookahead
from hedgerow.learn.search.lattice import PatternMatrix
from hedgerow.learn.search.lookahead import Lookahead
from hedgerow.learn.search.losses import FINE_STEPS, Loss
from hedgerow.learn.search.optimum import SearchSettings
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Integer, Label, Schema
from tests.learn.best_models import account, problems
from tests.learn.objectives import ALL_OBJECTIVES, objective_of

PENALTIES = st.sampled_from([0.0, 0.25, 1.0, 3.0, 100.0])
terms = st.builds(SearchSettings, st.integers(2, 4), st.integers(0, 5), PENALTIES, st.sampled_from(ALL_OBJECTIVES))


def search(problem, settings):
    n_classes = len(problem.schema.classes)
    objective = objective_of(settings.objective, n_classes)
    rows = PatternMatrix(problem.tally, problem.space, Loss.of(objective, n_classes, FINE_STEPS))
    return Lookahead(rows, replace(settings, objective=objective))


def check_tree(problem, settings, objective, tree):
    loss, options, depth, support = account(problem, tree, settings.objective)
    assert objective == loss + settings.penalty * options
    assert depth <= settings.depth
    assert not options or support >= max(settings.min_rows, 1)


@pytest.mark.parametrize("most", [2**20, 1], ids=["all tests are rated", "one test is rated"])
@given(problem=problems("tree"), settings=terms)
def test_trees_are_within_the_settings_and_know_their_objective(most, problem, settings):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lookahead, "_MOST_COUNTS", most)
        trees = list(search(problem, settings).trees())
    for objective, tree in trees:
        check_tree(problem, settings, objective, tree)
    assert settings.depth == 2 or 2 ** len(trees) >= problem.space.n_options


@given(problems("tree"), terms)
def test_trees_are_at_least_as_good_as_the_best_tree_of_two_levels(problem, settings):
    best = problem.least(2, settings.min_rows, settings.penalty, settings.objective)
    for objective, _ in search(problem, settings).trees():
        assert objective == best if settings.depth == 2 else objective <= best


def test_wider_lookahead_finds_parity():
    """The first test of a parity of three saves nothing, whichever it is; two more attributes mislead slightly."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 5)).astype(bool)
    y = X[:, 0] ^ X[:, 1] ^ X[:, 2]
    X[:, 3:] = np.where(rng.random((400, 2)) < 0.6, y[:, None], X[:, 3:])
    schema = Schema({name: Boolean() for name in "abcde"}, Label("y", (False, True)))
    rows = PatternMatrix(Tally.count(X, y, schema), Space.of_trees(schema))
    objectives = [objective for objective, _ in Lookahead(rows, SearchSettings(3, 1, 0.0)).trees()]
    assert objectives[0] > 0
    assert objectives[-1] == 0


def test_tests_of_all_attributes_come_before_second_tests_of_an_attribute():
    order = lookahead._in_turn(np.array([3.0, 1.0, 2.0, 4.0, 0.5]), np.array([0, 0, 1, 1, 0]))
    assert order.tolist() == [4, 2, 1, 3, 0]


def test_a_table_with_many_cut_points_is_divided_in_little_memory(monkeypatch):
    """Only some of the tests are rated, so that the pairs of 2 × 199 tests are not counted all at once."""
    monkeypatch.setattr(lookahead, "_MOST_COUNTS", 2**14)
    counted, stack = [], np.stack
    monkeypatch.setattr(np, "stack", lambda parts: counted.append(sum(p.size for p in parts)) or stack(parts))
    X = np.random.default_rng(0).integers(0, 200, (300, 2))
    schema = Schema({name: Integer(0, 199, tuple(range(199))) for name in "ab"}, Label("y", (0, 1)))
    y = ((X[:, 0] > 90) ^ (X[:, 1] > 120) ^ (X[:, 0] > 150)).astype(int)
    rows = PatternMatrix(Tally.count(X, y, schema), Space.of_trees(schema))
    first = next(Lookahead(rows, SearchSettings(3, 1, 0.0)).trees())
    assert first[0] < 30
    assert counted
    assert max(counted) <= 2**14
