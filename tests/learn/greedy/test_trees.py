from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.greedy import grow_tree, private_tests
from hedgerow.learn.learned import leaf_totals, release_tree_counts
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.search.lattice import InnerNode, LeafNode
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.space import Space
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.gini import Gini
from hedgerow.privacy.noise import DiscreteLaplace, PermuteAndFlip, Siblings
from hedgerow.schema import Boolean, Label, Schema
from tests.learn.best_models import problems
from tests.learn.greedy.scores import divides, impurity, least_loss
from tests.learn.objectives import objective_of

THREE = Schema({"a": Boolean(), "b": Boolean(), "c": Boolean()}, Label("y", (0, 1)))


def score_of(name, n_classes):
    """A score, and the same by going through the rows."""
    if name == "gini":
        return Gini(), impurity
    loss = Loss.of(objective_of(name, n_classes), n_classes)
    return loss, least_loss(loss)


SOME_SCORES = pytest.mark.parametrize("name", ["gini", "brier", "costs"])


def naive_tree(problem, most, impurity):
    """Return the greedy tree by going through the rows, node by node: the first test of least score, or a leaf."""
    facts = problem.facts

    def grow(rows, path):
        options = [o for o in range(len(facts)) if len(path) < most and divides(problem, path, o)]
        scores = [impurity(problem, rows & facts[o]) + impurity(problem, rows - facts[o]) for o in options]
        if not options or impurity(problem, rows) < min(scores):
            return LeafNode(None)
        best = options[scores.index(min(scores))]
        caught, left = rows & facts[best], rows - facts[best]
        return InnerNode(best, grow(caught, (*path, (best, True))), grow(left, (*path, (best, False))))

    return grow(frozenset(range(len(problem.rows))), ())


@SOME_SCORES
@pytest.mark.parametrize("examples", [15, pytest.param(3000, marks=pytest.mark.slow)])
def test_growth_by_the_smallest_score_is_the_naive_greedy_algorithm(examples, name):
    @settings(max_examples=examples)
    @given(problems("tree", most_rows=40), st.integers(0, 4))
    def same(problem, most):
        score, by_row = score_of(name, len(problem.schema.classes))

        def smallest(query, _):
            return [int(np.argmin(score.split_scores(*node))) for node in query()]

        assert grow_tree(problem.tally, problem.space, most, smallest) == naive_tree(problem, most, by_row)

    same()


def tally_of(rows):
    X = np.array(rows, dtype=bool).reshape(-1, 4)
    return hr.Tally.count(X[:, :3], X[:, 3].astype(int), THREE)


def test_nodes_of_a_level_are_chosen_together_from_their_own_options():
    asked = []

    def first_open(query, level):
        nodes = query()
        asked.append((level, [len(caught) for caught, _ in nodes]))
        return [0] * len(nodes)

    grown = grow_tree(tally_of([[1, 1, 1, 1]]), Space.of_trees(THREE), 9, first_open)
    assert asked == [(0, [3]), (1, [2, 2]), (2, [1, 1, 1, 1])]  # rows or not; then none is left
    leaf = LeafNode(None)
    assert grown == InnerNode(0, *[InnerNode(1, *[InnerNode(2, leaf, leaf)] * 2)] * 2)


def test_choosing_to_stop_makes_a_leaf_and_no_further_question_of_it():
    asked = []

    def choose(query, level):
        asked.append(len(query()))
        return [[1], [3 - 1, 0], [0, 1]][level]  # the second test; stop at its first branch; then any

    grown = grow_tree(tally_of([[1, 1, 1, 1]]), Space.of_trees(THREE), 3, choose)
    assert asked == [1, 2, 2]
    leaf = LeafNode(None)
    assert grown == InnerNode(1, leaf, InnerNode(0, InnerNode(2, leaf, leaf), leaf))


def test_no_question_is_asked_where_every_node_has_stopped():
    asked = []

    def stop(query, level):
        asked.append(level)
        return [len(caught) for caught, _ in query()]

    assert grow_tree(tally_of([]), Space.of_trees(THREE), 5, stop) == LeafNode(None)
    assert asked == [0]
    assert grow_tree(tally_of([]), Space.of_trees(THREE), 0, stop) == LeafNode(None)
    assert asked == [0]


def test_each_level_is_one_charge_before_any_row_is_counted():
    budget = hr.Budget(1)
    seen = []

    def prepare(mechanism):
        return lambda values: seen.append((mechanism, values)) or [7]

    def count():
        assert budget.spent == Fraction(1, 4)
        return [("caught", "total")]

    score = SimpleNamespace(sensitivity=3, split_scores=lambda caught, total: f"scores of {caught} and {total}")
    gate = Gate(budget, SimpleNamespace(prepare=prepare, no_guarantee_reason=None))
    mechanism = Siblings(PermuteAndFlip(Fraction(1, 4), 3))
    runner = ReleaseRunner((PlannedRelease("level_choice", mechanism),), gate)
    assert private_tests(runner, score)(count, 2) == [7]
    assert seen == [(mechanism, ["scores of caught and total"])]
    (charge,) = budget.charges
    assert (charge.purpose, charge.epsilon) == ("choice of the tests of level 3", Fraction(1, 4))


def trees(space, draw, depth, sides=()):
    """A tree drawn among those whose options the schema leaves open."""
    options = np.flatnonzero(space.open(np.array([sides], dtype=np.intp))[0])
    if depth == 0 or not len(options) or draw(st.booleans()):
        return LeafNode(None)
    option = int(draw(st.sampled_from(options.tolist())))
    parts = [trees(space, draw, depth - 1, (*sides, int(space.sides(branch)[option]))) for branch in space.branches]
    return InnerNode(option, *parts)


def leaf_rows(problem, tree, rows):  # reference: the caught before the left
    if isinstance(tree, LeafNode):
        return [rows]
    fact = problem.facts[tree.option]
    return leaf_rows(problem, tree.caught, rows & fact) + leaf_rows(problem, tree.left, rows - fact)


@given(problems("tree"), st.data())
def test_leaves_hold_the_rows_that_come_to_them_one_by_one(problem, data):
    tree = trees(problem.space, data.draw, 3)
    parts = leaf_rows(problem, tree, frozenset(range(len(problem.rows))))
    expected = [[sum(problem.labels[i] == label for i in rows) for label in problem.schema.classes] for rows in parts]
    assert [counts.tolist() for counts in leaf_totals(problem.tally, problem.space, tree)] == expected
    seen = []

    def prepare(mechanism):
        return lambda values: (seen.append((mechanism, values.tolist())), values.tolist())[1]

    budget = hr.Budget(1)
    gate = Gate(budget, SimpleNamespace(prepare=prepare, no_guarantee_reason=None))
    runner = ReleaseRunner((PlannedRelease("leaf_counts", DiscreteLaplace(Fraction(1, 3))),), gate)
    counts = release_tree_counts(problem.tally, problem.space, tree, runner)
    assert counts.tolist() == expected
    assert seen == [(DiscreteLaplace(Fraction(1, 3)), [n for row in expected for n in row])]
    assert budget.spent == Fraction(1, 3)


@given(problems("tree"), st.data())
def test_adding_a_row_changes_one_leaf_by_one(problem, data):
    tree = trees(problem.space, data.draw, 3)
    less = type(problem)(problem.schema, problem.rows[1:], problem.space)
    before, after = (np.array(list(leaf_totals(item.tally, item.space, tree))) for item in (less, problem))
    assert sorted((after - before).ravel().tolist()) == [0] * (after.size - 1) + [1]


@SOME_SCORES
@given(problem=problems("tree"), most=st.integers(1, 3), data=st.data())
def test_an_added_row_changes_one_node_by_at_most_the_sensitivity(name, problem, most, data):
    """docs/mathematics.md, facts 1 and 2: at one node no score falls and none rises by more; the other nodes' stay."""
    less = type(problem)(problem.schema, problem.rows[1:], problem.space)
    picks = {}

    score, _ = score_of(name, len(problem.schema.classes))

    def scores_of(query):
        return [score.split_scores(*node) for node in query()]

    def record(query, level):
        scores = scores_of(query)
        picks[level] = scores, [data.draw(st.integers(0, len(item) - 1)) for item in scores]
        return picks[level][1]

    def compare(query, level):
        scores, chosen = picks[level]
        before = scores_of(query)
        moved = [after - item for item, after in zip(before, scores, strict=True)]
        assert sum(bool(change.any()) for change in moved) <= 1
        assert all(change.min() >= 0 and change.max() <= score.sensitivity for change in moved)
        assert Siblings(PermuteAndFlip(Fraction(1), score.sensitivity)).distance(before, scores) <= score.sensitivity
        return chosen

    grown = grow_tree(problem.tally, problem.space, most, record)
    assert grow_tree(less.tally, less.space, most, compare) == grown
