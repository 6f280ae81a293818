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
        assert mean <= min(losses.values()) + surprise(drawn, drawn.depth) / float(weight) + 1e-9


@given(st.data())
def test_some_model_that_predicts_as_any_smaller_one_is_that_likely(data):
    found = data.draw(models(most=300))
    drawn, worlds = plan_of(found), sorted(found.worlds)
    likeliest = {}
    for model, prior in found.priors.items():
        does = tuple(found.value_of(model, world) for world in worlds)
        likeliest[does] = max(likeliest.get(does, 0), prior)
    assert all(-log(prior) <= surprise(drawn, drawn.depth) + 1e-9 for prior in likeliest.values())


def test_the_bound_by_hand():
    """Of two tests, one is taken with a chance of .9; each of two leaves has one of two labels."""
    one = log(2 / 0.9) + 2 * log(2)
    assert excess_bounds(hr.PrivateTreeClassifier(epsilon=10, max_depth=1), TWO) == (pytest.approx(one / 10, rel=1e-4),)
    none, first, *_ = excess_bounds(hr.PrivateTreeClassifier(epsilon=10), TWO)  # of 0, 1 or 2 levels
    assert (none, first) == pytest.approx(((log(3) + log(2)) / 10, (log(3) + one) / 10), rel=1e-4)
    released = hr.PrivateTreeClassifier(epsilon=10, max_depth=1, release_counts=True)
    assert excess_bounds(released, TWO) == (pytest.approx(one / 8, rel=1e-4),)
    (rules,) = excess_bounds(hr.PrivateRuleListClassifier(epsilon=10, max_rules=3), TWO)  # two of four and a default
    assert rules == pytest.approx((2 * log(4 / 0.9) + 3 * log(2)) / 10, rel=1e-4)


@pytest.mark.parametrize("make", [hr.PrivateTreeClassifier, hr.PrivateRuleListClassifier])
def test_larger_models_lose_more_and_greedy_ones_have_no_bound(make):
    drawn = excess_bounds(make(epsilon=1), MORE)
    assert len(drawn) > 2
    assert sorted(drawn) == list(drawn)
    assert drawn == pytest.approx([2 * most for most in excess_bounds(make(epsilon=2), MORE)], rel=0.01)
    assert excess_bounds(make(epsilon=1, search="greedy"), MORE) == ()
    blocks = (
        make(1, max_depth=2, lookahead=1) if make is hr.PrivateTreeClassifier else make(1, max_rules=3, lookahead=1)
    )
    assert excess_bounds(blocks, MORE) == ()


def test_a_search_that_is_too_large_is_refused():
    wide = hr.Schema({f"x{n}": hr.Boolean() for n in range(400)}, TWO.label)
    with pytest.raises(SearchTooLargeError):
        excess_bounds(hr.PrivateTreeClassifier(epsilon=1, max_depth=6, search="exact"), wide)
