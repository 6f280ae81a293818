"""The bound on what a draw loses, against the exact mean loss of all models of small spaces."""

from fractions import Fraction
from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search.lattice import Take
from hedgerow.planning.expected import excess_bounds, surprise
from hedgerow.schema import Boolean, Categorical
from tests.learn.draws import plan_of
from tests.learn.enumerate_models import coarse_grid, models, schema_of, tables

TWO = schema_of(Boolean(), Boolean())
MORE = schema_of(Boolean(), Categorical(("a", "b", "c")))


def surprise_of(draw, size):
    fixed, tests, stopped = surprise(draw, size)
    taken = sum(n * draw.prior.log_go(depth) for depth, n in enumerate(tests))
    return fixed - taken - (stopped and stopped * draw.prior.log_stop(size))


def size(model, found):
    """Return how many rules, or levels, a model has."""
    if not isinstance(model, Take):
        return 0
    below = size(model.left, found), size(model.caught, found) if found.is_tree else 0
    return 1 + max(below)


@given(st.data(), st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(10)]), st.sampled_from(["errors", "brier"]))
def test_the_mean_loss_is_at_most_that_of_the_best_model_and_the_bound(data, weight, objective):
    with coarse_grid():
        found = data.draw(models(most=300, objective=objective))
        table, drawn = data.draw(tables(found.schema)), plan_of(found)
        losses = {model: float(found.loss(model, table)) for model in found.priors}
        mean = sum(exp(p) * losses[model] for model, p in found.log_probabilities(table, weight).items())
        assert mean <= min(losses.values()) + surprise_of(drawn, drawn.depth) / float(weight) + 1e-9


@given(st.data())
def test_some_model_that_predicts_as_any_smaller_one_is_that_likely(data):
    found = data.draw(models(most=300))
    drawn, worlds = plan_of(found), sorted(found.worlds)
    likeliest = {}
    for model, prior in found.priors.items():
        does = tuple(found.value_of(model, world) for world in worlds)
        likeliest[does] = max(likeliest.get(does, 0), prior)
    assert all(-log(prior) <= surprise_of(drawn, drawn.depth) + 1e-9 for prior in likeliest.values())


def test_the_bound_by_hand():
    """Of two tests, one is taken with a chance of .9; each of two leaves has one of two labels."""
    one, given = log(2 / 0.9) + 2 * log(2), {"epsilon": 10, "stop_probability": 0.1}
    leaf, first = excess_bounds(hr.PrivateTreeClassifier(max_depth=1, **given), TWO)
    assert (leaf, first) == pytest.approx(((-log(0.1) + log(2)) / 10, one / 10), rel=1e-4)
    none, first, *_ = excess_bounds(hr.PrivateTreeClassifier(**given), TWO)  # of 0, 1 or 2 levels
    assert (none, first) == pytest.approx(((log(3) + log(2)) / 10, (log(3) + one) / 10), rel=1e-4)
    released = hr.PrivateTreeClassifier(max_depth=1, release_counts=True, **given)
    assert excess_bounds(released, TWO)[-1] == pytest.approx(one / 8, rel=1e-4)
    *_, rules = excess_bounds(hr.PrivateRuleListClassifier(epsilon=10, max_rules=3), TWO)  # two of four and a default
    assert rules == pytest.approx((2 * log(4 / 0.9) + 3 * log(2)) / 10, rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_bound_of_the_default_prior_by_hand(epsilon):
    """At the root a test has log-odds of 2; below it both leaves stop, with log-odds of -1 + 2ε."""
    taken, stopped = log(1 + exp(-2)), log(1 + exp(1 - 2 * epsilon))
    none, one, two = excess_bounds(hr.PrivateTreeClassifier(epsilon=epsilon), TWO)
    assert none == pytest.approx((log(1 + exp(2)) + log(2)) / epsilon, rel=1e-3)
    assert one == pytest.approx((taken + log(2) + 2 * stopped + 2 * log(2)) / epsilon, rel=1e-3)
    below = log(1 + exp(2 * epsilon - 1))
    assert two == pytest.approx((taken + 2 * below + 3 * log(2) + 4 * log(2)) / epsilon, rel=1e-3)


@pytest.mark.parametrize("make", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_larger_models_lose_more_and_greedy_ones_have_no_bound(make):
    drawn = excess_bounds(make(epsilon=1), MORE)
    assert len(drawn) > 2
    assert sorted(drawn) == list(drawn)
    more = excess_bounds(make(epsilon=2), MORE)
    if make is hr.PrivateRuleListClassifier:
        assert drawn == pytest.approx([2 * most for most in more], rel=0.01)
    else:  # the bounds fall more slowly: a test has to save rows at any epsilon
        assert all(less < most for most, less in zip(drawn, more, strict=True))
        assert drawn[-1] < 1.8 * more[-1]
    assert excess_bounds(make(epsilon=1, search="greedy"), MORE) == ()
    blocks = (
        make(1, max_depth=2, lookahead=1) if make is hr.PrivateTreeClassifier else make(1, max_rules=3, lookahead=1)
    )
    assert excess_bounds(blocks, MORE) == ()


def test_a_search_that_is_too_large_is_refused():
    wide = hr.Schema({f"x{n}": hr.Boolean() for n in range(400)}, TWO.label)
    with pytest.raises(SearchTooLargeError):
        excess_bounds(hr.PrivateTreeClassifier(epsilon=1, max_depth=6, search="exact"), wide)
