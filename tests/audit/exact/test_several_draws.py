"""What independent draws from one table give away together: by all combinations of models, one by one."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.audit import exact_inference, exact_membership
from hedgerow.audit.exact.outcomes import repeated
from hedgerow.errors import ArgumentError
from hedgerow.learn.search.space import Space
from hedgerow.privacy.stop_prior import STOP_RULE
from tests.learn.enumerate_models import Models, Table

SCHEMA = hr.Schema({"a": hr.Boolean(), "b": hr.Boolean()}, hr.Label("y", (0, 1)))
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
Y = np.array([0, 1, 1, 1, 0])
ROW = np.array([[1, 0]]), [0]


def table(*more):
    rows = [*zip(X.tolist(), Y.tolist(), strict=True), *more]
    return Table(SCHEMA, tuple((tuple(bins), label, 1) for bins, label in rows))


def total_variation(one, other):
    return sum(abs(one[key] - other[key]) for key in one) / 2


@pytest.mark.parametrize("n", [1, 2, 3])
def test_joint_advantage_equals_enumeration_of_models(n):
    learner = hr.PrivateTreeClassifier(2.0, release_counts=False, max_depth=1, schema=SCHEMA, search="exact")
    result = exact_membership(learner, X, Y, others=ROW)
    models = Models(Space.of_trees(SCHEMA), 1, by_depth=STOP_RULE.prior(Fraction(2)))
    weight = Fraction(result.weight)
    item, other = (
        {tree: float(value.exp()) for tree, value in models.log_probabilities(of, weight).items()}
        for of in (table(), table(([1, 0], 0)))
    )
    several = [
        {key: np.prod([each[tree] for tree in key]) for key in product(each, repeat=n)} for each in (item, other)
    ]
    expected = total_variation(*several)
    assert result.joint_advantage(n)[-1] == pytest.approx(expected, rel=1e-6)
    assert result.trade_off(5, n).advantage == pytest.approx(expected, rel=1e-6)
    guess = exact_inference(learner, X, Y, candidates=ROW, absent=0.5, n_models=n)
    assert guess.advantage == pytest.approx(expected, rel=1e-6)


def test_inference_from_several_models_equals_enumeration():
    learner = hr.PrivateTreeClassifier(2.0, release_counts=False, max_depth=1, schema=SCHEMA, search="exact")
    rows = [([1, 0], 0), ([0, 1], 0), ([0, 0], 1)]
    candidates, prior = (np.array([bins for bins, _ in rows]), [label for _, label in rows]), [0.5, 0.3, 0.2]
    result = exact_inference(learner, X, Y, candidates=candidates, prior=prior, n_models=2)
    models = Models(Space.of_trees(SCHEMA), 1, by_depth=STOP_RULE.prior(Fraction(2)))
    weight = Fraction(exact_membership(learner, X, Y).weight)
    each = [
        {tree: float(value.exp()) for tree, value in models.log_probabilities(table(row), weight).items()}
        for row in rows
    ]
    pairs = product(each[0], repeat=2)
    assert result.success == pytest.approx(
        sum(max(p * of[a] * of[b] for p, of in zip(prior, each, strict=True)) for a, b in pairs), rel=1e-6
    )


def test_outcomes_below_the_smallest_float_are_left_out():
    result = repeated(np.array([[1.0, 0.5], [1e-200, 0.5], [0.0, 1e-300]]), 2)
    assert np.isfinite(result).all()
    assert result.sum(axis=0) == pytest.approx([1, 1])


def test_fewer_than_one_model_raises():
    learner = hr.PrivateTreeClassifier(1.0, release_counts=False, max_depth=1, schema=SCHEMA)
    with pytest.raises(ArgumentError, match="n_models"):
        exact_membership(learner, X, Y).joint_advantage(0)
