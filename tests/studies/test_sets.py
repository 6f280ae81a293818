"""The Rashomon set of the study: the trees of two tests with the fewest errors, and what they leave to guess."""

import math
from collections import Counter
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.audit import joint_reconstruction, reconstruction
from studies import sets
from studies.sets import rashomon


def test_the_trees_are_those_with_the_fewest_errors_and_have_their_counts():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 2, (60, 3)) == 1, columns=list("abc"))
    labels = pd.Series(np.where(frame["a"] ^ (rng.random(60) < 0.2), "yes", "no"), name="y")
    schema = hr.Schema(dict.fromkeys("abc", hr.Boolean()), hr.Label("y", ("no", "yes")))
    trees = rashomon(frame, labels, schema, 4)

    def fewest(one, other):
        cells = (frame[one], ~frame[one] & frame[other], ~frame[one] & ~frame[other])
        return sum(labels[rows].value_counts().reindex(["no", "yes"], fill_value=0).min() for rows in cells)

    expected = sorted(fewest(one, other) for one, other in permutations("abc", 2))[:4]
    assert [int((tree.predict(frame) != labels).sum()) for tree in trees] == expected
    together = joint_reconstruction(trees, frame).uncertainty
    assert together < min(reconstruction(tree).uncertainty for tree in trees)
    assert all(sum(sum(leaf.counts) for leaf in tree.leaves) == 60 for tree in trees)


def errors_of_all(rows, labels, depth, used=()):
    """Every tree by its errors on some rows, with the label if it is a leaf: slow, and from the definition."""
    for label in (0, 1):
        yield sum(y != label for y in labels), label
    for test in [] if not depth else [place for place in range(3) if place not in used]:
        sides = [[(x, y) for x, y in zip(rows, labels, strict=True) if x[test] == value] for value in (0, 1)]
        parts = [
            list(errors_of_all(*(zip(*side, strict=True) if side else ((), ())), depth - 1, (*used, test)))
            for side in sides
        ]
        for (item, label), (other, second) in product(*parts):
            if label is None or label != second:
                yield item + other, None


def test_trees_are_counted_by_their_errors():
    rng = np.random.default_rng(1)
    rows, labels = rng.integers(0, 2, (30, 3)), rng.integers(0, 2, 30)
    schema = hr.Schema(dict.fromkeys("abc", hr.Boolean()), hr.Label("y", (0, 1)))
    result = sets.trees_by_errors(pd.DataFrame(rows == 1, columns=list("abc")), labels, schema)
    slow = Counter(errors for errors, _ in errors_of_all(rows.tolist(), labels.tolist(), 2))
    assert {errors: count for errors, count in enumerate(result.tolist()) if count} == slow


COUNTS = np.array([1, 2, 0, 3])  # trees by their errors
TREES = [errors for errors, count in enumerate(COUNTS) for _ in range(count)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_both_laws_are_those_of_the_list_of_all_sets(k):
    """10,000 draws; the largest of the deviations, in standard deviations, is below 4.5 but in 1 of 10,000 runs."""
    weights = {}, {}
    for chosen in permutations(range(len(TREES)), k):
        left, chance = list(range(len(TREES))), 1.0
        for tree in chosen:
            whole = sum(math.exp(-TREES[item] / k) for item in left)
            chance *= math.exp(-TREES[tree] / k) / whole
            left.remove(tree)
        errors = tuple(sorted(TREES[tree] for tree in chosen))
        weights[0][errors] = weights[0].get(errors, 0) + chance
        weights[1][errors] = weights[1].get(errors, 0) + math.exp(-max(errors))
    for weight, draw in zip(weights, (sets.drawn_one_by_one, sets.drawn_by_the_largest), strict=True):
        rng, n = np.random.default_rng(0), 10_000
        drawn = Counter(tuple(sorted(draw(COUNTS, k, 1.0, rng).tolist())) for _ in range(n))
        assert set(drawn) <= set(weight)
        for errors, each in weight.items():
            chance = each / sum(weight.values())
            assert abs(drawn[errors] - n * chance) < 4.5 * math.sqrt(n * chance * (1 - chance)) + 1e-9


def test_a_set_drawn_by_its_worst_tree_is_epsilon_private():
    """All sets of three of the trees with one test, on 200 random pairs of neighbouring tables."""
    rng, epsilon, worst = np.random.default_rng(0), 1.0, 0.0
    trees = [(test, label) for test in (0, 1) for label in (0, 1)] + [(None, 0), (None, 1)]

    def chances(rows):
        errors = [sum(y != (label if test is None else x[test] ^ label) for *x, y in rows) for test, label in trees]
        weights = [math.exp(-epsilon * max(errors[tree] for tree in each)) for each in combinations(range(6), 3)]
        return np.array(weights) / sum(weights)

    for _ in range(200):
        rows = rng.integers(0, 2, (rng.integers(1, 8), 3)).tolist()
        worst = max(worst, np.abs(np.log(chances(rows) / chances(rows[1:]))).max())
    assert 0.5 < worst <= epsilon
