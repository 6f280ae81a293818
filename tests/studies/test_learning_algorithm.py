"""What the knowledge of the learner adds, against all tables of few rows and slow, obvious learners."""

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.learn import GreedyRuleListClassifier, OptimalRuleListClassifier, OptimalTreeClassifier
from studies.learning_algorithm import study
from studies.learning_algorithm.greedy import Ties, greedy_bits, largest_shift
from studies.learning_algorithm.nodes import Learner, Node, Rows, nodes_of
from studies.learning_algorithm.sampling import (
    Greedy,
    Optimal,
    by_population,
    by_shares,
    column_by_column,
    labels,
    random_tables,
    sampled_bits,
)

FOUR = Rows(np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]]) == 1, np.array([0, 0, 1, 0]) == 1)
KEYS = ("dataset", "kind", "learner", "support", "depth", "seed")
NAMES = ["a", "b", "c"]
EDGES = (((2, 0), False), ((0, 1), True))
SCHEMA = hr.Schema(dict.fromkeys(NAMES, hr.Boolean()), hr.Label("y", (0, 1)))


def worlds(root):
    """All tables whose rows, with their known classes, are in the leaves of the model."""

    def leaves(node):
        return [leaf for part in node.parts for leaf in leaves(part)] if node.parts else [node]

    choices = []
    for leaf in leaves(root):
        known = dict(leaf.path)
        rows = [row for row in product((False, True), repeat=3) if all(row[c] == v for c, v in known.items())]
        choices += [rows] * leaf.size
    y = np.concatenate([np.repeat([False, True], leaf.counts) for leaf in leaves(root)])
    for table in product(*choices):
        yield Rows(np.array(table), y)


def gini(rows):
    n0, n1 = rows.counts
    return 2 * n0 * n1 / (n0 + n1) if n0 + n1 else 0.0


def best_columns(rows, learner, left):
    """The columns that a greedy learner may choose, or [None] if it stops: from the definition."""
    if left == 0 or 0 in rows.counts:
        return [None]
    score = {}
    for column in range(3):
        parts = [rows.having(column, value) for value in (False, True)]
        sizes = [len(part.y) for part in parts]
        enough = min(sizes) if learner.is_tree else max(sizes)
        impurity = sum(gini(part) for part in parts)
        if enough >= learner.min_rows and (learner.is_tree or impurity < gini(rows) - 1e-9):
            score[column] = impurity
    return [column for column in score if score[column] < min(score.values()) + 1e-9] or [None]


def returns(node, rows, learner, *, always):
    """Whether a greedy learner returns the model on some rows, by some or by every rule for ties."""
    best = best_columns(rows, learner, node.left)
    if node.column not in best or (always and len(best) > 1):
        return False
    parts = [rows.having(node.column, value) for value in (False, True)] if node.parts else []
    return all(returns(part, own, learner, always=always) for part, own in zip(node.parts, parts, strict=True))


def grown(rows, learner, left, path=()):
    """A tree or list by a greedy learner, the first of the best columns."""
    column = best_columns(rows, learner, left)[0]
    if column is None:
        return Node(rows.counts, left, path)
    sides = [rows.having(column, value) for value in (False, True)]
    caught = None if learner.is_tree else int(len(sides[1].y) >= learner.min_rows)
    parts = tuple(
        grown(side, learner, 0 if value == caught else left - 1, (*path, (column, bool(value))))
        for value, side in enumerate(sides)
    )
    return Node(rows.counts, left, path, column, parts)


def tables(n_rows, number, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        yield Rows(rng.random((n_rows, 3)) < 0.5, rng.random(n_rows) < 0.5)


@pytest.mark.parametrize("is_tree", [True, False])
@pytest.mark.parametrize(("depth", "min_rows"), [(1, 1), (2, 1), (3, 2)])
def test_greedy_bits_are_those_of_all_tables(is_tree, depth, min_rows):
    learner, compared = Learner(is_tree, min_rows), 0
    for rows in tables(5, 3):
        root = grown(rows, learner, depth)
        if root.height == 0:
            continue
        compared += 1
        every = list(worlds(root))
        ends: tuple[tuple[Ties, bool], ...] = (("chosen", False), ("excluded", True))
        for ties, always in ends:
            count = sum(returns(root, table, learner, always=always) for table in every)
            bits = greedy_bits(root, learner, np.full(3, 0.5), ties)
            expected = math.inf if not count else -math.log2(count / len(every))
            assert bits == pytest.approx(expected, abs=1e-9)
    assert compared > 1


def test_a_leaf_that_stops_early_counts_as_all_tables_do():
    """Four rows, a support of two: no column may have two rows on both sides."""
    root, learner = Node((2, 2), 1, ()), Learner(True, 2)
    count = sum(returns(root, table, learner, always=False) for table in worlds(root))
    assert count == (16 - 6) ** 3
    assert greedy_bits(root, learner, np.full(3, 0.5), "chosen") == pytest.approx(-math.log2(count / 2**12))


@pytest.mark.parametrize("is_optimal", [False, True])
def test_columns_that_the_model_does_not_test_stay_uniform_in_each_row(is_optimal):
    """Only rows together are disclosed: each row alone has both values of such columns equally often."""
    learner, examined = Learner(True, 1), 0
    for rows in tables(4, 12, seed=4):
        root = grown(rows, learner, 1)
        if root.height == 0:
            continue
        value, every = root.objective(0), list(worlds(root))
        if is_optimal:
            fitting = [table.X for table in every if least(table, learner, 1) == value]
        else:
            fitting = [table.X for table in every if returns(root, table, learner, always=False)]
        free = [column for column in range(3) if column != root.column]
        for row in range(4):
            values = Counter(tuple(X[row, free].tolist()) for X in fitting)
            assert len(values) == 4
            assert len(set(values.values())) == 1
        examined += 0 < len(fitting) < len(every)
    assert examined > 2


def test_a_column_tested_elsewhere_may_disclose_a_single_cell():
    """Row 3 is in a leaf that does not test column 1. With 1 there, column 1 would be the better root."""
    inner = Node((2, 1), 1, ((0, False),), 1, tuple(Node(c, 0, ((0, False), (1, v))) for c, v in EDGES))
    root = Node((2, 2), 2, (), 0, (inner, Node((0, 1), 1, ((0, True),))))
    learner = Learner(True, 1)
    fitting = [table.X for table in worlds(root) if returns(root, table, learner, always=False)]
    assert fitting
    assert not any(X[3, 1] for X in fitting)
    assert largest_shift(root, learner) == 0.5


@pytest.mark.parametrize("is_tree", [True, False])
def test_the_shift_of_a_cell_is_that_of_all_tables(is_tree):
    learner, shifts = Learner(is_tree, 1), list[float]()
    for rows in tables(5, 6, seed=1):
        root = grown(rows, learner, 2)
        every = list(worlds(root))
        fitting = [table.X for table in every if returns(root, table, learner, always=False)]
        cells = np.mean([table.X for table in every], axis=0) == 0.5  # the others are known from the path
        shifts.append(float(np.abs(np.array(fitting).mean(axis=0) - 0.5)[cells].max(initial=0.0)))
        assert largest_shift(root, learner) == pytest.approx(shifts[-1], abs=1e-9)
    assert max(shifts) > 0.1


def test_shares_weigh_the_tables():
    learner, shares = Learner(True, 1), np.array([0.5, 0.2, 0.7])
    root = grown(next(tables(5, 1, seed=3)), learner, 2)
    assert root.height > 0
    total = fitting = 0.0
    for table in worlds(root):
        weight = np.where(table.X, shares, 1 - shares).prod()  # the values that the paths fix cancel
        total += weight
        fitting += weight * returns(root, table, learner, always=False)
    assert greedy_bits(root, learner, shares, "chosen") == pytest.approx(-math.log2(fitting / total))


def test_scikit_learn_returns_the_model_between_both_ends():
    """On all tables of a tree's leaves, for three of scikit-learn's orders of ties."""
    learner, rows = Learner(True, 1), FOUR
    root = grown(rows, learner, 1)
    checked = 0
    for table in worlds(root):
        equal = []
        for seed in range(3):
            model = DecisionTreeClassifier(max_depth=1, random_state=seed).fit(table.X, table.y)
            equal.append(nodes_of(model, table, NAMES, 1) == root)
        assert all(equal) or not returns(root, table, learner, always=True)
        assert returns(root, table, learner, always=False) or not any(equal)
        checked += any(equal)
    assert checked > 10


def test_the_greedy_list_is_the_learners():
    for rows in tables(12, 30, seed=1):
        learner = GreedyRuleListClassifier(max_rules=3, max_literals=1, min_support=2 / 12, schema=SCHEMA)
        model = learner.fit(rows.X, rows.y.astype(int)).rule_list_
        assert returns(nodes_of(model, rows, NAMES, 2), rows, Learner(False, 2), always=False)


def least(rows, learner, left):
    """The smallest objective of all trees or lists: from the definition."""
    values = [float(min(rows.counts))]
    for column in range(3) if left else ():
        sides = [rows.having(column, value) for value in (False, True)]
        if learner.is_tree:
            if min(len(side.y) for side in sides) >= learner.min_rows:
                values.append(learner.penalty + sum(least(side, learner, left - 1) for side in sides))
            continue
        for caught, other in (sides, sides[::-1]):
            if len(caught.y) >= learner.min_rows:
                values.append(learner.penalty + min(caught.counts) + least(other, learner, left - 1))
    return min(values)


def optimal_model(rows, learner, depth):
    options: Any = {"min_support": learner.min_rows / len(rows.y), "regularization": learner.penalty / len(rows.y)}
    if learner.is_tree:
        model = OptimalTreeClassifier(max_depth=depth, schema=SCHEMA, **options)
        return nodes_of(model.fit(rows.X, rows.y.astype(int)).tree_, rows, NAMES, depth)
    model = OptimalRuleListClassifier(max_rules=depth + 1, schema=SCHEMA, **options)
    return nodes_of(model.fit(rows.X, rows.y.astype(int)).rule_list_, rows, NAMES, depth)


class SlowOptimal:
    """`Optimal` from the definition."""

    def __init__(self, learner):
        self.learner = learner

    def is_certain(self, node):
        return node.left == 0

    def fits(self, node, tables):
        value, y = node.objective(self.learner.penalty), labels(node)
        return np.array([least(Rows(X, y), self.learner, node.left) > value - 1e-9 for X in tables])


@pytest.mark.parametrize("is_tree", [True, False])
def test_optimal_bits_are_those_of_all_tables(is_tree):
    """With 100 tables a node, the standard error is 5 to 10 % for each of three nodes; 4.5 of them are allowed."""
    learner, compared = Learner(is_tree, 1, 0.05), 0
    for rows in tables(4, 4, seed=2):
        root = optimal_model(rows, learner, 2)
        value = root.objective(learner.penalty)
        assert value == pytest.approx(least(rows, learner, 2))
        if root.height == 0:
            continue
        every = list(worlds(root))
        exact = np.mean([least(table, learner, 2) > value - 1e-9 for table in every])
        draw, rng = by_shares(np.full(3, 0.5)), np.random.default_rng(0)
        estimate = sampled_bits(root, SlowOptimal(learner), draw, 100, rng)
        assert estimate.is_complete
        assert 2**-estimate.bits == pytest.approx(exact, rel=0.5)
        in_turn = column_by_column(root, SlowOptimal(learner), draw, 100, rng)
        assert 2**-in_turn.bits == pytest.approx(exact, rel=0.5)
        compared += exact < 0.9
    assert compared > 0


@pytest.mark.parametrize("is_tree", [True, False])
def test_a_solved_table_has_the_smallest_objective_of_all_models(is_tree):
    learner, node = Learner(is_tree, 2, 0.05), Node((6, 2), 2, ())
    algorithm = Optimal(learner, SCHEMA, 2)
    drawn = random_tables(node, by_shares(np.full(3, 0.5)), 40, np.random.default_rng(0))
    slow = [least(Rows(table, labels(node)), learner, 2) for table in drawn]
    assert [algorithm.optimum(node, table) for table in drawn] == pytest.approx(slow)
    assert algorithm.fits(node, drawn).tolist() == SlowOptimal(learner).fits(node, drawn).tolist()
    assert 0 < algorithm.fits(node, drawn).mean() < 1


def test_a_lower_limit_of_height_is_a_lower_bound():
    """Three rows: one test leaves no error in a quarter of all columns, two tests in more."""
    learner, root = Learner(True, 1), Node((2, 1), 2, ())
    drawn = random_tables(root, by_shares(np.full(3, 0.5)), 60, np.random.default_rng(0))
    lower, full = (Optimal(learner, SCHEMA, height).fits(root, drawn) for height in (1, 2))
    assert not (full & ~lower).any()
    assert full.sum() < lower.sum() < 60


def test_too_rare_tables_give_a_lower_bound():
    """No column may divide 60 rows with a row on each side: all columns are constant, which is never drawn."""
    root = Node((60, 60), 2, (), 0, (Node((30, 30), 1, ((0, False),)), Node((30, 30), 1, ((0, True),))))
    learner, even = Learner(True, 1), np.full(3, 0.5)
    estimate = sampled_bits(root, Greedy(learner, "chosen"), by_shares(even), 10, np.random.default_rng(0))
    assert not estimate.is_complete
    assert 5 < estimate.bits < greedy_bits(root, learner, even, "chosen")


def test_sampling_greedy_choices_agrees_with_the_exact_bits():
    """300 tables at each node: the standard error of the probability is below 8 % for few nodes, 4.5 are allowed."""
    learner = Learner(True, 2)
    rng = np.random.default_rng(5)
    X = rng.random((40, 6)) < 0.4
    rows = Rows(X, X[:, 0] ^ (rng.random(40) < 0.3))
    model = DecisionTreeClassifier(max_depth=2, min_samples_leaf=2, random_state=0).fit(rows.X, rows.y)
    root, shares = nodes_of(model, rows, list("abcdef"), 2), np.array([0.5, 0.4, 0.3, 0.5, 0.6, 0.5])
    exact = greedy_bits(root, learner, shares, "chosen")
    estimate = sampled_bits(root, Greedy(learner, "chosen"), by_shares(shares), 300, rng)
    assert exact > 0.5
    assert 2**-estimate.bits == pytest.approx(2**-exact, rel=0.36)


def test_rows_of_the_population_are_rows_of_the_leaf():
    known = Rows(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1]]) == 1, np.zeros(3) == 1)
    drawn = by_population(known)(Node((2, 3), 0, ((0, False),)), 20, np.random.default_rng(0))
    assert drawn.shape == (20, 5, 3)
    assert not drawn[..., [0, 2]].any()
    assert 0 < drawn[..., 1].mean() < 1


def arranged(node, rows):
    """The rows of a node in the order of sampled tables."""
    if not node.parts:
        return rows.X[np.argsort(rows.y, kind="stable")]
    sides = [rows.having(node.column, value) for value in (False, True)]
    return np.concatenate([arranged(part, side) for part, side in zip(node.parts, sides, strict=True)])


@pytest.mark.parametrize(("kind", "depth"), [("trees", 6), ("lists", 6)])
def test_the_training_table_fits_its_own_model(kind, depth):
    """All choices of scikit-learn's tree and of the greedy list on COMPAS, and the leaves at which they stop."""
    root, learner, _ = study.fitted_nodes("compas", kind, "greedy", 0.01, depth, 0)
    data = study.split("compas", 0)
    rows = Rows(data.X.to_numpy() == 1, data.y.to_numpy() == 1)
    algorithm, examined = Greedy(learner, "chosen"), 0

    def check(node, own):
        nonlocal examined
        if not algorithm.is_certain(node):
            examined += 1
            assert algorithm.fits(node, arranged(node, own)[None]).all()
        for part, value in zip(node.parts, (False, True), strict=False):
            check(part, own.having(node.column, value))

    check(root, rows)
    assert examined > (20 if kind == "trees" else 4)


def test_comparisons_subtract_the_bits():
    runs = pd.DataFrame(
        [
            ("adult", "trees", learner, 0.01, depth, seed, 10, 4, accuracy, 20.0, bits)
            for seed in (0, 1)
            for learner, depth, accuracy, bits in (
                ("optimal", 1, 0.7, 0.0),
                ("optimal", 2, 0.8, 0.0),
                ("greedy", 2, 0.7, 2.0),
                ("greedy", 3, 0.9, 9.0),
            )
        ],
        columns=[
            "dataset",
            "kind",
            "learner",
            "support",
            "depth",
            "seed",
            "rows",
            "columns",
            "accuracy",
            "entropy",
            "uniform",
        ],
    )
    result = study.comparisons(runs).set_index("knowledge")
    assert result.loc["without", "mean"] == pytest.approx(0)
    assert result.loc["with", "mean"] == pytest.approx(2 / 40)
    assert result.loc["with", "above"] == 2
