"""Private sets of trees: what a fit charges, refuses and keeps; the law of the draws is in search/test_sets.py."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, BudgetExceededError, SchemaError, SearchTooLargeError
from hedgerow.learn.objectives import STOP_RULE
from hedgerow.learn.search.sets import SetSearch, TreeSampler
from hedgerow.learn.search.space import Space
from hedgerow.models import Tree, TreeSet
from hedgerow.schema import Boolean, Integer, Label, Schema
from hedgerow.tally import Tally
from tests.learn.enumerate_models import constant

X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]] * 50)
Y = X[:, 0]


def fitted(epsilon=2.0, n_models=3, **more):
    return hr.PrivateTreeSet(epsilon, n_models, **{"max_depth": 2, "random_state": 0} | more).fit(X, Y)


def test_a_set_is_one_charge_of_epsilon_with_the_rho_of_its_draws():
    budget = hr.Budget(3)
    found = fitted(2, 4, budget=budget, random_state=None)
    (charge,) = budget.charges
    (own,) = found.privacy_.charges
    assert budget.spent == charge.epsilon == own.epsilon == found.privacy_.epsilon == 2
    assert 0.124 < float(found.privacy_.rho) < 0.1255  # about ε²/8k, as each draw has ε/k
    assert found.planned_charge(found.set_.schema).epsilon == 2
    with pytest.raises(BudgetExceededError):
        fitted(2, 4, budget=budget)
    assert budget.spent == 2


@pytest.mark.parametrize(("unit", "each"), [(None, 2), (hr.Unit("who", 4), Fraction(1, 2))])
def test_the_prior_of_a_set_follows_the_epsilon_of_one_draw(unit, each):
    schema = Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)), unit=unit)
    assert hr.PrivateTreeSet(6, 3, schema=schema)._plan(schema).search.prior == STOP_RULE.prior(Fraction(each))


def test_the_trees_are_different_and_as_many_as_asked_for():
    found = fitted(200.0, 12)
    texts = {str(one) for one in found.models_}
    assert len(texts) == len(found.set_) == 12
    assert all(isinstance(one, Tree) and not one.has_counts for one in found.models_)


def test_all_trees_there_are_can_be_drawn_and_no_more_which_is_refused_before_the_charge():
    schema, budget = Schema({"a": Boolean()}, Label("y", (0, 1))), hr.Budget(9)
    ask = {"max_depth": 1, "schema": schema, "budget": budget, "random_state": 0}
    every = hr.PrivateTreeSet(1, 4, **ask).fit(X[:, :1], Y).models_
    assert sorted(len(one) for one in every) == [1, 1, 2, 2]
    with pytest.raises(ArgumentError, match="n_models of 4 at most, which is how many trees of this depth there are"):
        hr.PrivateTreeSet(1, 5, **ask).fit(X[:, :1], Y)
    assert budget.spent == 1


def test_a_set_of_as_many_trees_as_have_one_test_is_not_counted_and_larger_ones_are():
    search = SetSearch(Space.of_trees(Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))), 2, constant(0.1))
    assert [search.has(n) for n in (6, 7, 30, 31)] == [True, True, True, False]
    assert [replace(search, depth=0).has(n) for n in (2, 3)] == [True, False]


def test_a_search_whose_open_options_take_gigabytes_is_refused():
    wide = Schema({f"a{i}": Boolean() for i in range(400)}, Label("y", (0, 1)))
    with pytest.raises(SearchTooLargeError, match="Use a smaller max_depth"):
        hr.PrivateTreeSet(1.0, schema=wide).planned_charge(wide)


def test_the_cost_of_the_search_is_told_and_its_progress_adds_up(capsys):
    learner = hr.PrivateTreeSet(2.0, 3, max_depth=3, verbose=True, random_state=0)
    schema, told = learner.fit(X, Y).set_.schema, []
    assert "exact search" in capsys.readouterr().err
    cost = learner.search_cost(schema)
    plan = learner._plan(schema)
    sampler = TreeSampler(Tally.count(X, Y, schema), plan.search, told.append)
    for _ in range(2):  # the weights of the table are summed once
        sampler.sample(1.0, lambda weights: int(weights.argmax()))
    assert sum(told) == plan.cost.states == cost.states
    assert len(told) == 3


def test_equal_seeds_give_equal_sets_and_others_other_ones():
    one, same, other = (fitted(0.5, 5, random_state=seed).set_ for seed in (1, 1, 2))
    assert one == same != other


def test_a_unit_of_several_rows_costs_its_epsilon():
    schema = Schema({"a": Boolean()}, Label("y", (0, 1)), unit=hr.Unit("who", max_rows=2))
    frame = pd.DataFrame({"a": X[:, 0], "who": np.arange(len(X)) // 2, "y": Y})
    found = hr.PrivateTreeSet(1.0, 2, max_depth=1, schema=schema, random_state=0).fit(frame, frame["y"])
    assert found.privacy_.epsilon == 1
    assert "weight exp(-0.24" in found.privacy_.charges[0].mechanism  # ε over trees and rows


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"n_models": 0}, ArgumentError, "n_models must be a whole number >= 1"),
        ({"n_models": 101}, ArgumentError, r"n_models must be a whole number <= 100, got 101\."),
        ({"n_models": 10**5000}, ArgumentError, "n_models must be a whole number <= 100"),
        ({"max_depth": 65}, ArgumentError, r"max_depth must be a whole number <= 64, got 65\."),
        ({"epsilon": 1e-12}, ValueError, "epsilon for one draw must be"),
    ],
)
def test_what_is_no_set_is_refused_before_the_charge(more, error, words):
    budget = hr.Budget(9)
    with pytest.raises(error, match=words):
        fitted(**{"budget": budget} | more)
    assert not budget.charges


def test_a_search_that_is_too_large_and_a_number_are_refused_before_the_charge():
    budget, wide = hr.Budget(9), Schema({f"a{i}": Integer(0, 99) for i in range(30)}, Label("y", (0, 1)))
    learner = hr.PrivateTreeSet(1.0, max_depth=9, schema=wide, budget=budget)
    with pytest.raises(SearchTooLargeError, match="Use a smaller max_depth"):
        learner.planned_charge(wide)
    number = Schema({"a": Boolean()}, hr.Number("y", 0, 1))
    with pytest.raises(SchemaError, match="y"):
        hr.PrivateTreeSet(1.0, max_depth=1, schema=number, budget=budget).fit(X[:, :1], Y)
    assert not budget.charges


def test_what_each_tree_predicts_is_a_column():
    found = fitted(50.0, 3)
    assert found.predict(X).shape == (200, 3)
    assert np.array_equal(found.predict(X)[:, 1], found.models_[1].predict(X))
    assert isinstance(found.set_, TreeSet)


def test_the_best_of_a_set_is_as_good_as_a_tree_drawn_for_its_share():
    found = hr.PrivateTreeSet(Fraction(3), 3, max_depth=1, random_state=0).fit(X, Y)
    assert [(one.predict(X) == Y).all() for one in found.models_].count(True) == 1  # the others are none of all trees


def test_a_set_whose_trees_all_have_no_test_is_warned_of():
    with pytest.warns(hr.errors.NoiseWarning):
        found = hr.PrivateTreeSet(1e-7, 1, max_depth=0, schema=None).fit(X, Y)
    assert found.caveats == ()  # it was asked for
