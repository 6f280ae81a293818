"""What a set of trees gives away: by all sequences of different trees, one by one."""

from fractions import Fraction

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import exact_membership
from hedgerow.errors import ArgumentError, SearchTooLargeError
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import STOP_RULE
from lab.tree_sets import inference_from_set
from lab.tree_sets.draw import set_search
from tests.learn.enumerate_models import Models, Table, sets_one_by_one

SCHEMA = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (0, 1)))
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
Y = np.array([0, 1, 1, 1, 0])
ROW = np.array([[1, 0]]), [0]


def table(*more):
    rows = [*zip(X.tolist(), Y.tolist(), strict=True), *more]
    return Table(SCHEMA, tuple((tuple(bins), label, 1) for bins, label in rows))


def total_variation(one, other):
    return sum(abs(one[key] - other[key]) for key in one) / 2


def inference(epsilon, n_models, max_depth, **more):
    given = {"candidates": ROW, "absent": 0.5} | more
    return inference_from_set(SCHEMA, X, Y, epsilon=epsilon, n_models=n_models, max_depth=max_depth, **given)


@pytest.mark.parametrize(("depth", "n"), [(1, 1), (1, 2), (1, 3), (2, 2)])
def test_the_advantage_is_that_of_all_sequences_of_trees(depth, n):
    result = inference(3.0, n, depth)
    weight = set_search(SCHEMA, 3, n, depth).draw(Fraction(3, n)).weight
    models = Models(Space.of_trees(SCHEMA), depth, by_depth=STOP_RULE.prior(Fraction(3, n)))
    item, other = (
        {key: float(value.exp()) for key, value in sets_one_by_one(models, of, n, weight).items()}
        for of in (table(), table(([1, 0], 0)))
    )
    assert result.advantage == pytest.approx(total_variation(item, other), rel=1e-7)
    assert result.likelihoods.sum(axis=0) == pytest.approx([1, 1])
    assert result.losses.shape == (len(item), 1)


def test_a_set_of_one_tree_discloses_about_as_much_as_a_single_draw():
    alone = exact_membership(hr.PrivateTreeClassifier(1.0, max_depth=1, schema=SCHEMA), X, Y, others=ROW).advantage[-1]
    of = [inference(1.0, n, 1) for n in (1, 2, 3)]
    assert of[0].advantage == pytest.approx(alone, rel=0.2)
    assert of[0].advantage > of[1].advantage > of[2].advantage > 0


def test_several_candidates_are_equally_likely_and_a_prior_outside_0_and_1_is_refused():
    candidates = np.array([[1, 0], [0, 0]]), [0, 1]
    assert inference(1.0, 1, 1, candidates=candidates, absent=0.5).prior.tolist() == [0.25, 0.25, 0.5]
    with pytest.raises(ArgumentError, match="absent"):
        inference(1.0, 1, 1, absent=1.5)


def test_a_space_with_too_many_sets_is_refused():
    with pytest.raises(SearchTooLargeError, match="Use fewer trees"):
        inference(3.0, 5, 2)
