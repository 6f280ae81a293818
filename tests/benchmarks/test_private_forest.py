"""Labels of Fletcher and Islam's private forest: their probabilities, and what one row costs, by enumeration."""

from __future__ import annotations

import importlib.util
from collections import defaultdict
from decimal import Decimal, getcontext
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from tests.docs.page import ROOT

spec = importlib.util.spec_from_file_location("forest_labels", ROOT / "benchmarks" / "forest_labels.py")
assert spec is not None
assert spec.loader is not None
forest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(forest)

getcontext().prec = 60
EPSILONS = ("0.1", "0.5", "1", "2")


def leaves(rows):
    """Return all class counts of leaves with at most so many rows."""
    return [(a, b) for a in range(rows + 1) for b in range(rows + 1 - a)]


def neighbours(counts):
    """Return the counts after one row is added or removed."""
    a, b = counts
    return [pair for pair in ((a + 1, b), (a - 1, b), (a, b + 1), (a, b - 1)) if min(pair) >= 0]


def scores(counts):
    """Return 1 for the labels with most rows and 0 for the others."""
    return [int(count == max(counts)) for count in counts]


def published(counts, epsilon):
    """Return the probability of each label as the paper defines it, with 60 digits."""
    sensitivity = (-abs(counts[0] - counts[1]) * Decimal(epsilon)).exp()
    weights = [(Decimal(epsilon) * score / (2 * sensitivity)).exp() for score in scores(counts)]
    return [weight / sum(weights) for weight in weights]


def flipped(counts, epsilon):
    """Return the probability of each label by permute-and-flip, from its two orders."""
    result = [Decimal(0), Decimal(0)]
    for first, second in ((0, 1), (1, 0)):
        accepted = (Decimal(epsilon) * (counts[first] - max(counts))).exp()
        result[first] += accepted / 2
        result[second] += (1 - accepted) / 2 if counts[second] == max(counts) else 0
    return result


def by_counts(counts, epsilon):
    """Return the probability of each label by the exponential mechanism on counts."""
    weights = [(Decimal(epsilon) * count).exp() for count in counts]
    return [weight / sum(weights) for weight in weights]


def ratios(rule, epsilon, rows):
    """Return the log-ratio of each label on all pairs of neighbouring leaves."""
    pairs = ((x, y, label) for x in leaves(rows) for y in neighbours(x) for label in (0, 1))
    return {(x, y, label): (rule(x, epsilon)[label] / rule(y, epsilon)[label]).ln() for x, y, label in pairs}


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("slow", "quick"),
    [(published, forest.published), (flipped, forest.permute_and_flip), (by_counts, forest.exponential)],
)
def test_probabilities_of_labels_follow_the_definition(slow, quick, epsilon):
    for counts in leaves(5):
        minority = min(slow(counts, epsilon))
        assert float(minority.ln()) == pytest.approx(quick(abs(counts[0] - counts[1]), float(epsilon)), rel=1e-12)


def test_one_row_and_two_rows_of_a_class_refute_the_published_claim_of_one():
    losses = ratios(published, "1", 2)
    assert max(abs(loss) for (x, y, _), loss in losses.items() if sum(x) + sum(y) < 3) < 1
    assert float(losses[(0, 1), (0, 2), 0]) == pytest.approx(2.1313088, abs=1e-7)
    one, two = published((0, 1), "1")[0], published((0, 2), "1")[0]
    assert [round(float(p), 5) for p in (one, two)] == [0.20438, 0.02426]
    assert float(one - Decimal(1).exp() * two) == pytest.approx(forest.delta(forest.published, 1, 1))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_losses_and_deltas_are_those_of_all_pairs_of_leaves(epsilon):
    for slow, quick in ((published, forest.published), (flipped, forest.permute_and_flip)):
        losses = ratios(slow, epsilon, 5)
        most = max(abs(loss) for (x, y, _), loss in losses.items() if max(abs(x[0] - x[1]), abs(y[0] - y[1])) <= 5)
        assert forest.loss(quick, float(epsilon), 5) == pytest.approx(float(most), rel=1e-9)
        for claim in (float(epsilon), 3.0):
            bound = Decimal(claim).exp()
            excess = max(
                slow(x, epsilon)[k] - bound * slow(y, epsilon)[k] for x, y, k in losses if abs(y[0] - y[1]) < 6
            )
            assert forest.delta(quick, float(epsilon), claim, 5) == pytest.approx(max(0, float(excess)), abs=1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_published_loss_grows_without_bound_with_the_gap(epsilon):
    ratio = forest.log_ratios(forest.published, float(epsilon), 12)
    gaps = np.arange(1, 13)
    power = float(epsilon) / 2 * np.exp(gaps * float(epsilon))
    growth = power * np.expm1(float(epsilon))
    assert (np.abs(ratio[1:] - growth) < np.log(2)).all()
    ratio = forest.log_ratios(forest.published, float(epsilon), 50)
    first = forest.smallest_counterexample(float(epsilon))
    assert (ratio[:first] <= float(epsilon)).all()
    assert (ratio[first:] > float(epsilon)).all()


def test_the_released_code_bounds_the_loss_at_twenty_two_for_one():
    one = Decimal(1)
    weights = {gap: min(Decimal(50), (gap * one).exp() / 2).exp() for gap in range(1, 8)}
    losses = [((1 + weights[gap + 1]) / (1 + weights[gap])).ln() for gap in range(1, 7)]
    assert forest.loss(forest.as_released, 1, 100) == pytest.approx(float(max(losses)))
    assert float(max(losses)) == pytest.approx(22.7, abs=0.01)


@pytest.mark.parametrize("target", [1e-2, 3e-5, 1e-6])
def test_the_least_epsilon_of_a_delta_is_the_edge(target):
    least = forest.loss_at(forest.published, 1, target)
    assert (
        forest.delta(forest.published, 1, least * 1.0001) <= target < forest.delta(forest.published, 1, least * 0.999)
    )


def test_the_published_sensitivity_is_below_the_smooth_sensitivity():
    rows, beta = 12, 0.5

    def local(counts):
        return max(
            abs(u - v) for other in neighbours(counts) for u, v in zip(scores(counts), scores(other), strict=True)
        )

    for counts in leaves(4):
        gap, ball, smooth = abs(counts[0] - counts[1]), {counts}, 0.0
        for distance in range(rows):
            smooth = max([smooth] + [np.exp(-beta * distance) * local(pair) for pair in ball])
            ball |= {other for pair in ball for other in neighbours(pair)}
        assert smooth == pytest.approx(np.exp(-beta * max(gap - 1, 0)))
        assert (np.exp(-beta * gap) >= smooth - 1e-12) == (gap == 0)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_permute_and_flip_costs_epsilon_and_twice_that_for_a_replaced_row(epsilon):
    losses = ratios(flipped, epsilon, 12)
    assert float(max(map(abs, losses.values()))) == pytest.approx(float(epsilon))
    replaced = (flipped((1, 1), epsilon)[0] / flipped((0, 2), epsilon)[0]).ln()
    assert float(replaced) == pytest.approx(2 * float(epsilon))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
def test_no_private_rule_labels_better_than_permute_and_flip(epsilon):
    tables = {counts: place for place, counts in enumerate(leaves(6))}
    rows = []
    for x in tables:
        for y in neighbours(x):
            if y in tables:
                row = np.zeros(len(tables))
                row[tables[x]], row[tables[y]] = 1, -np.exp(epsilon)
                other = np.zeros(len(tables))
                other[tables[x]], other[tables[y]] = -1, np.exp(epsilon)
                rows += [(row, 0), (other, np.exp(epsilon) - 1)]
    for gap in range(6):  # The variables are the probabilities of the first label.
        cost = np.zeros(len(tables))
        cost[tables[0, gap]] += 1
        cost[tables[gap, 0]] -= 1
        solved = linprog(cost, A_ub=np.array([row for row, _ in rows]), b_ub=[b for _, b in rows], bounds=(0, 1))
        assert (solved.fun + 1) / 2 == pytest.approx(np.exp(forest.permute_and_flip(gap, epsilon)), abs=1e-7)


def outcomes(table, parts_of, epsilon):
    """Return the law of all labels of two trees of one split each, over the laws of parts and labels."""
    law = defaultdict(Decimal)
    for chance, parts in parts_of(len(table)):
        counts = [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]
        for (row, label), tree in zip(table, parts, strict=True):
            if tree >= 0:
                counts[tree][row[tree]][label] += 1
        probabilities = [flipped(counts[tree][side], epsilon) for tree in (0, 1) for side in (0, 1)]
        for labels in product((0, 1), repeat=4):
            weight = chance
            for probability, label in zip(probabilities, labels, strict=True):
                weight *= probability[label]
            law[labels] += weight
    return law


def chosen_alone(rows):
    parts = list(product((0, 1), repeat=rows))
    return [(Decimal(1) / len(parts), part) for part in parts]


def shuffled(rows):
    orders = list(permutations(range(rows)))
    size = rows // 2
    return [
        (
            Decimal(1) / len(orders),
            [order.index(row) // size if order.index(row) < 2 * size else -1 for row in range(rows)],
        )
        for order in orders
    ]


def most(one, other):
    return max(abs(float((one[key] / other[key]).ln())) for key in one)


def test_a_forest_of_independent_parts_costs_epsilon():
    kinds = [(row, label) for row in product((0, 1), repeat=2) for label in (0, 1)]
    losses = [
        most(outcomes([*table, row], chosen_alone, "1"), outcomes(table, chosen_alone, "1"))
        for size in (0, 1, 2)
        for table in product(kinds, repeat=size)
        for row in kinds[:3]
    ]
    assert max(losses) <= 1 + 1e-9
    assert max(losses) > 0.4


def test_equal_parts_of_a_table_with_one_row_more_cost_every_tree():
    row = ((0, 0), 1)
    assert most(outcomes([row] * 4, shuffled, "1"), outcomes([row] * 3, shuffled, "1")) == pytest.approx(2)


def test_trees_split_every_path_on_different_columns():
    cube = pd.DataFrame(product((0, 1), repeat=5), columns=list("abcde"))
    columns, places = forest.Columns.of(cube)
    assert (columns.table[places] == cube).all(axis=None)
    for seed in range(20):
        leaf = forest.grow(columns, 3, np.random.default_rng(seed))
        assert (np.bincount(leaf) == np.full(8, 4)).all()
        for place in range(8):
            assert (np.ptp(columns.table[leaf == place], axis=0) == 0).sum() == 3
        assert len(set(forest.grow(columns, 9, np.random.default_rng(seed)))) == 32
    roots = [forest.grow(columns, 1, np.random.default_rng(seed)) for seed in range(600)]
    shares = [np.mean([len(set(zip(columns.table[:, c], root, strict=True))) == 2 for root in roots]) for c in range(5)]
    assert np.abs(np.array(shares) - 0.2).max() < 0.075  # 4.6 standard errors


def test_numbers_are_cut_uniformly_in_the_range_that_is_left():
    columns, _ = forest.Columns.of(pd.DataFrame({"x": np.arange(0, 101)}))
    first = [forest.grow(columns, 1, np.random.default_rng(seed)) for seed in range(400)]
    sizes = np.array([np.flatnonzero(np.diff(leaf))[0] + 1 for leaf in first])  # rows below the cut
    assert all(len(np.flatnonzero(np.diff(leaf))) == 1 for leaf in first)
    assert np.mean(sizes) == pytest.approx(50.5, abs=6.5)  # 4.5 standard errors
    assert np.mean(sizes <= 25) == pytest.approx(0.25, abs=0.1)
    for seed in range(50):  # A path never cuts outside the range that earlier cuts leave: two more leaves a level.
        counts = [len(set(forest.grow(columns, depth, np.random.default_rng(seed)))) for depth in (1, 2, 3)]
        assert counts[0] == 2
        assert counts[1] <= 4
        assert counts[2] <= 8
    twice = [len(set(forest.grow(columns, 2, np.random.default_rng(seed)))) for seed in range(200)]
    assert np.mean(np.array(twice) == 4) > 0.85  # cuts of the whole range leave a child whole in half of the cases


def test_categories_have_a_branch_each_and_are_not_tested_twice():
    frame = pd.DataFrame({"colour": list("rgbrgb"), "size": ["s", "s", "s", "l", "l", "l"]})
    columns, _ = forest.Columns.of(frame)
    assert list(columns.arities) == [3, 2]
    assert {len(set(forest.grow(columns, 1, np.random.default_rng(seed)))) for seed in range(20)} == {2, 3}
    assert {len(set(forest.grow(columns, 4, np.random.default_rng(seed)))) for seed in range(20)} == {6}


def test_parts_are_of_one_size_or_independent():
    rng = np.random.default_rng(0)
    assert sorted(np.bincount(forest.subsets(23, 5, rng) + 1)) == [3, 4, 4, 4, 4, 4]
    assert np.bincount(forest.independent(10_000, 4, rng)) == pytest.approx(np.full(4, 2500), abs=220)


def test_drawn_labels_have_the_probabilities_of_the_rule():
    counts = np.repeat([[3, 1], [0, 1], [0, 0]], 20_000, axis=0)
    for rule in (forest.published, forest.permute_and_flip, forest.majority):
        drawn = forest.label(counts, rule, 0.5, np.random.default_rng(1)).reshape(3, -1).mean(axis=1)
        expected = np.exp(rule(np.array([2, 1, 0]), 0.5))
        assert drawn == pytest.approx([expected[0], 1 - expected[1], 0.5], abs=0.016)  # 4.5 standard errors


@pytest.mark.parametrize(
    ("numbers", "categories", "depth"), [(0, 12, 6), (0, 7, 3), (0, 60, 15), (1, 0, 2), (4, 1, 4), (6, 11, 10)]
)
def test_depth_is_half_the_categories_and_tests_for_half_the_numbers(numbers, categories, depth):
    frame = pd.DataFrame({f"n{i}": [0.5, 1.5] for i in range(numbers)} | {f"c{i}": [0, 1] for i in range(categories)})
    columns, _ = forest.Columns.of(frame)
    assert columns.depth == depth
    if numbers > 1:  # Balls in bins: half of the numbers occur on a path, on average, for the first time.
        rest = [numbers * (1 - 1 / numbers) ** tests for tests in range(depth)]
        needed = next(tests for tests, left in enumerate(rest) if left <= numbers / 2)
        assert columns.depth == int(needed + 1 + categories / 2)
