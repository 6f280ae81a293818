"""The lower bound of paper/paper.typ: trees shatter as many points as it says, and no draw errs less than any may."""

from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, floor, log2

import pytest

from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean
from tests.learn.enumerate_models import Models, Table, schema_of


def shattered(booleans, depth):
    """Return the points of the lemma: cells by the first depth − 1 booleans, one dichotomy for each of the others."""
    each = 1 + floor(log2(booleans - depth + 2))
    splits = [bits for bits in product((0, 1), repeat=each) if bits[0] == 0 and any(bits)]
    others = [*splits, *[(0,) * each] * (booleans - depth + 1 - len(splits))]
    return [
        (*cell, *(split[point] for split in others))
        for cell in product((0, 1), repeat=depth - 1)
        for point in range(each)
    ]


def fits(points, labels, depth):
    """Is there a tree of this depth without an error? By trying every test at every node."""

    @cache
    def possible(chosen, left):
        if len({labels[i] for i in chosen}) <= 1:
            return True
        return left > 0 and any(
            all(possible(tuple(i for i in chosen if points[i][test] == side), left - 1) for side in (0, 1))
            for test in range(len(points[0]))
        )

    return possible(tuple(range(len(points))), depth)


@pytest.mark.parametrize(
    ("booleans", "depth", "size"), [(1, 1, 2), (3, 1, 3), (3, 2, 4), (4, 2, 6), (8, 2, 8), (4, 3, 8)]
)
def test_trees_shatter_as_many_points_as_the_lemma_says(booleans, depth, size):
    points = shattered(booleans, depth)
    assert len(set(points)) == len(points) == size
    assert all(fits(points, labels, depth) for labels in product((0, 1), repeat=size))
    assert not all(fits(points, labels, depth - 1) for labels in product((0, 1), repeat=size))


def bound(size, copies, epsilon):
    return size * copies * exp(-copies * epsilon) / 2


def test_the_best_number_of_copies_by_hand():
    least = max(bound(1, copies / 1000, 1.0) for copies in range(1, 3000))
    assert least == pytest.approx(0.1839, abs=1e-4)


def mean_errors(weight, points, copies):
    """Return the exact mean errors of a draw, over all labellings of the points."""
    result = Models(Space.of_trees(schema_of(Boolean(), Boolean(), Boolean())), 1)
    errors = []
    for labels in product((0, 1), repeat=len(points)):
        rows = tuple((point, label, copies) for point, label in zip(points, labels, strict=True))
        table = Table(result.schema, rows)
        assert min(result.loss(model, table) for model in result.priors) == 0
        chances = result.log_probabilities(table, weight)
        errors.append(sum(exp(chance) * float(result.loss(model, table)) for model, chance in chances.items()))
    return sum(errors) / len(errors)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)])
def test_no_draw_errs_less_than_any_private_learner_must(epsilon):
    points, copies = shattered(3, 1), 2
    least = bound(len(points), copies, float(epsilon))
    assert least <= mean_errors(epsilon, points, copies) < 3 * least
    assert mean_errors(20 * epsilon, points, copies) < least  # which loses more than epsilon
