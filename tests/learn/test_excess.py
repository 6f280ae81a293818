"""The bound on what a draw loses, against the exact mean loss of all models of small spaces."""

from fractions import Fraction
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search.lattice import InnerNode
from hedgerow.planning.bounds import WholeDraw, models_of
from hedgerow.privacy.stop_prior import STOP_RULE
from hedgerow.schema import Boolean, Categorical
from tests.learn.draws import plan_of
from tests.learn.enumerate_models import coarse_grid, models, schema_of, tables

TWO = schema_of(Boolean(), Boolean())
MORE = schema_of(Boolean(), Categorical(("a", "b", "c")))


def largest_surprise(draw):
    """Return the bound for all models of a draw: as many levels as the depth allows, or as many rules."""
    return models_of(draw).surprise(draw.prior, draw.depth)


def size(model, models_):
    """Return how many rules, or levels, a model has."""
    if not isinstance(model, InnerNode):
        return 0
    below = size(model.left, models_), size(model.caught, models_) if models_.is_tree else 0
    return 1 + max(below)


@given(st.data(), st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(10)]), st.sampled_from(["errors", "brier"]))
def test_the_mean_loss_is_at_most_that_of_the_best_model_and_the_bound(data, weight, objective):
    with coarse_grid():
        result = data.draw(models(most=300, objective=objective))
        table, drawn = data.draw(tables(result.schema)), plan_of(result)
        losses = {model: float(result.loss(model, table)) for model in result.priors}
        mean = sum(exp(p) * losses[model] for model, p in result.log_probabilities(table, weight).items())
        assert mean <= min(losses.values()) + largest_surprise(drawn) / float(weight) + 1e-9


@given(st.data())
def test_the_models_that_predict_as_any_model_does_are_that_likely(data):
    result = data.draw(models(most=300))
    drawn, worlds = plan_of(result), sorted(result.worlds)
    alike = {}
    for model, prior in result.priors.items():
        does = tuple(result.value_of(model, world) for world in worlds)
        alike[does] = alike.get(does, 0) + prior
    assert all(-log(prior) <= largest_surprise(drawn) + 1e-9 for prior in alike.values())


def excesses(estimator, schema=TWO):
    return [bound.excess(Fraction(estimator.epsilon)) for bound in bounds(estimator, schema)]


def bounds(estimator, schema):
    return WholeDraw.of(specification_of(estimator), schema).bounds()


def test_the_bound_by_hand():
    """Of two tests, one is taken with a chance of .9; each of two leaves has one of two labels."""
    item = log(2 / 0.9) + 2 * log(2)
    constant = {"epsilon": 10, "stop_probability": 0.1}
    labels = hr.PrivateTreeClassifier(max_depth=1, release_counts=False, **constant)
    assert excesses(labels) == [pytest.approx(item / 10, rel=1e-4)]
    assert excesses(hr.PrivateTreeClassifier(max_depth=1, **constant)) == [pytest.approx(item / 9.5, rel=1e-4)]
    released = hr.PrivateTreeClassifier(max_depth=1, release_counts=True, **constant)
    assert excesses(released) == [pytest.approx(item / 8, rel=1e-4)]
    labels = hr.PrivateRuleListClassifier(epsilon=10, release_counts=False)
    first, *_ = excesses(labels)  # of 0 to 4 rules, each number as likely
    assert first == pytest.approx((log(5) + log(4 / 0.9) + 2 * log(2)) / 10, rel=1e-3)


def test_the_bound_of_the_default_prior_by_hand():
    """The root has a test; a node at depth 1 is a leaf by itself, or by a test between two leaves that agree."""
    go, stop = (lambda x: -log(1 + exp(x))), (lambda x: -log(1 + exp(-x)))
    estimator = hr.PrivateTreeClassifier(epsilon=1, release_counts=False)
    root, below = (STOP_RULE.prior(Fraction(1)).log_odds(depth) for depth in (0, 1))
    leaf = -log(exp(stop(below)) / 2 + exp(go(below)) / 4)
    two, four = excesses(estimator)
    assert two == pytest.approx(log(2) - go(root) + 2 * leaf, rel=1e-3)
    assert four == pytest.approx(log(2) - go(root) + 2 * (log(2) - go(below) + 2 * log(2)), rel=1e-3)


@pytest.mark.parametrize("make", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_larger_models_lose_more_and_greedy_ones_have_no_bound(make):
    drawn = excesses(make(epsilon=1), MORE)
    assert len(drawn) > 1
    assert sorted(drawn) == drawn
    twice = [bound.excess(Fraction(2)) for bound in bounds(make(epsilon=1), MORE)]
    assert twice == pytest.approx(excesses(make(epsilon=2), MORE), rel=0.01)
    assert WholeDraw.of(specification_of(make(epsilon=1, search="greedy")), MORE) is None
    blocks = (
        make(1, max_depth=2, lookahead=1) if make is hr.PrivateTreeClassifier else make(1, max_rules=3, lookahead=1)
    )
    assert WholeDraw.of(specification_of(blocks), MORE) is None


def test_a_search_that_is_too_large_is_refused():
    wide = hr.Schema({f"x{n}": hr.Boolean() for n in range(400)}, TWO.label)
    with pytest.raises(SearchTooLargeError):
        WholeDraw.of(specification_of(hr.PrivateTreeClassifier(epsilon=1, max_depth=6, search="exact")), wide)
