"""Sets of trees: what drawing one charges, refuses and returns; the law of the draws is in test_search.py."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.errors import ArgumentError, BudgetExceededError, SchemaError, SearchTooLargeError
from hedgerow.learn.search.space import Space
from hedgerow.models import Leaf, Split, Tree
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.noise import SecureNoise
from hedgerow.privacy.stop_prior import STOP_RULE
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from hedgerow.tally import Tally
from lab.tree_sets import differences, draw_trees
from lab.tree_sets.draw import set_search
from lab.tree_sets.search import SetSearch, TreeSampler
from tests.learn.enumerate_models import constant

SCHEMA = Schema({name: Boolean() for name in "abc"}, Label("y", (0, 1)))
X = np.array([[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 1]] * 50)
Y = X[:, 0]


def drawn(epsilon=2.0, n_models=3, schema=SCHEMA, **more):
    return draw_trees(Tally.count(X, Y, schema), epsilon, n_models, **{"max_depth": 2, "random_state": 0} | more)


def test_the_charges_of_a_set_add_up_to_epsilon_and_its_rho_to_that_of_its_draws():
    budget = hr.Budget(3)
    trees = drawn(2, 4, budget=budget, random_state=None)
    card = trees[0].privacy
    assert budget.spent == card.epsilon == 2
    assert [charge.epsilon for charge in card.charges] == [Fraction(1, 2)] * 4
    assert card.is_private
    assert 0.124 < float(card.rho) < 0.1255  # about ε²/8k, as each draw has ε/k
    assert all(tree.privacy == card for tree in trees)
    with pytest.raises(BudgetExceededError):
        drawn(2, 4, budget=budget)
    assert budget.spent == 2


def test_the_prior_of_a_set_follows_the_epsilon_of_one_draw():
    assert set_search(SCHEMA, 6, 3, 2).prior == STOP_RULE.prior(Fraction(2))


def test_the_trees_are_different_and_as_many_as_requested():
    trees = drawn(200.0, 12)
    assert len({str(tree) for tree in trees}) == 12
    assert all(isinstance(tree, Tree) and not tree.has_counts for tree in trees)


def test_all_trees_can_be_drawn_and_no_more_which_is_refused_before_the_charge():
    schema, budget = Schema({"a": Boolean()}, Label("y", (0, 1))), hr.Budget(9)
    tally = Tally.count(X[:, :1], Y, schema)
    every = draw_trees(tally, 1, 4, max_depth=1, budget=budget, random_state=0)
    assert sorted(len(tree) for tree in every) == [1, 1, 2, 2]
    with pytest.raises(ArgumentError, match="n_models=5 exceeds the number of trees of this depth, 4"):
        draw_trees(tally, 1, 5, max_depth=1, budget=budget, random_state=0)
    assert budget.spent == 1


def test_a_set_of_as_many_trees_as_have_one_test_is_not_counted_and_larger_ones_are():
    search = SetSearch(Space.of_trees(Schema({"a": Boolean(), "b": Boolean()}, Label("y", (0, 1)))), 2, constant(0.1))
    assert [search.has(n) for n in (6, 7, 30, 31)] == [True, True, True, False]
    assert [replace(search, depth=0).has(n) for n in (2, 3)] == [True, False]


def test_a_search_whose_open_options_take_gigabytes_is_refused():
    wide = Schema({f"a{i}": Boolean() for i in range(400)}, Label("y", (0, 1)))
    with pytest.raises(SearchTooLargeError, match="Use a smaller max_depth"):
        set_search(wide, 1, 5, 3)


def test_the_weights_of_the_table_are_summed_once():
    steps, search = [], set_search(SCHEMA, 2, 3, 3)
    sampler = TreeSampler(Tally.count(X, Y, SCHEMA), search, steps.append)
    for _ in range(2):
        sampler.sample(1.0, lambda weights: int(weights.argmax()))
    assert sum(steps) == search.cost.states
    assert len(steps) == 3


def test_equal_seeds_give_equal_sets_and_different_seeds_different_ones():
    item, same, other = (drawn(0.5, 5, random_state=seed) for seed in (1, 1, 2))
    assert item == same != other


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"n_models": 0}, ArgumentError, "n_models must be a whole number >= 1"),
        ({"n_models": 101}, ArgumentError, r"n_models must be a whole number <= 100, got 101\."),
        ({"max_depth": 65}, ArgumentError, r"max_depth must be a whole number <= 64, got 65\."),
        ({"epsilon": 1e-12}, ValueError, "epsilon for one draw must be"),
        ({"schema": replace(SCHEMA, label=hr.Number("y", 0, 1))}, SchemaError, "y"),
    ],
)
def test_invalid_arguments_are_refused_before_the_charge(more, error, words):
    budget = hr.Budget(9)
    with pytest.raises(error, match=words):
        drawn(**{"budget": budget} | more)
    assert not budget.charges


@pytest.mark.parametrize("more", [{"unit": hr.Unit("who", 2)}, {"weight": hr.Weight("w", 1, levels=4)}])
def test_a_schema_with_a_unit_or_a_weight_is_refused(more):
    with pytest.raises(ArgumentError, match="without a unit and without a weight"):
        set_search(replace(SCHEMA, **more), 1, 2, 1)


def test_a_search_that_is_too_large_is_refused_before_the_charge():
    budget, wide = hr.Budget(9), Schema({f"a{i}": Integer(0, 99) for i in range(30)}, Label("y", (0, 1)))
    tally = Tally.count(np.zeros((4, 30), dtype=int), [0, 1, 0, 1], wide)
    with pytest.raises(SearchTooLargeError, match="Use a smaller max_depth"):
        draw_trees(tally, 1.0, max_depth=9, budget=budget)
    assert not budget.charges


def test_one_tree_of_a_set_predicts_the_label_exactly_if_all_rows_agree():
    trees = drawn(Fraction(3), 3, max_depth=1)
    assert [(tree.predict(X) == Y).all() for tree in trees].count(True) == 1


class Recorded:
    """A source of noise that keeps what each draw was asked and answered, or gives the answers of another run."""

    no_guarantee_reason = None
    description = "recorded"

    def __init__(self, answers=None):
        self.draws, self.answers = [], answers

    def prepare(self, mechanism):
        run = SecureNoise().prepare(mechanism)

        def answer(sampler):
            place = len(self.draws)
            part = run(sampler) if self.answers is None else self.answers[place]
            self.draws.append((mechanism, sampler, part))
            return part

        return answer


def test_with_the_draws_frozen_a_neighbouring_table_gives_the_same_set():
    rng = np.random.default_rng(0)
    for n_models, max_depth in product((1, 2, 3), (0, 1)):
        if n_models > 2 and not max_depth:
            continue
        rows = rng.integers(0, 2, (20, 4))
        tables = [Tally.count(part[:, :3], part[:, 3], SCHEMA) for part in (rows, rows[1:])]
        first = Recorded()
        trees = draw_trees(tables[0], 1, n_models, max_depth=max_depth, random_state=first)
        again = Recorded([part for *_, part in first.draws])
        assert draw_trees(tables[1], 1, n_models, max_depth=max_depth, random_state=again) == trees
        assert [draw[0] for draw in first.draws] == [draw[0] for draw in again.draws]
        assert sum(mechanism.epsilon for mechanism, *_ in first.draws) == 1
        for (mechanism, draw, _), (_, other, _) in zip(first.draws, again.draws, strict=True):
            assert mechanism.distance(draw, other) <= mechanism.sensitivity


MIXED = Schema(
    {"age": Integer(0, 89, cuts=(30, 60)), "smoker": Boolean(), "hue": Categorical(("x", "y"))},
    Label("y", ("no", "yes")),
)
CARD = PrivacyCard.none("example", software="hedgerow")
NO, YES = Leaf(label="no"), Leaf(label="yes")
YOUNG, SMOKER = Literal("age", "<=", (30,)), Literal("smoker", "true")
ROOTS = [
    Split(YOUNG, NO, Split(SMOKER, YES, NO)),
    Split(SMOKER, YES, NO),
    Split(SMOKER, Split(YOUNG, NO, YES), NO),
    Split(Literal("hue", "=", ("x",)), YES, NO),
]


def test_differences_are_shares_of_all_combinations_of_bins():
    trees = [Tree(MIXED, root, CARD) for root in ROOTS]
    bins = [range(MIXED[name].n_bins) for name in MIXED]
    columns = dict(zip(MIXED.names, np.array(list(product(*bins))).T, strict=True))
    said = [[tree.outcomes[i] for i in tree.outcomes_of(columns, len(columns["age"]))] for tree in trees]
    expected = [[np.mean([a != b for a, b in zip(mine, theirs, strict=True)]) for theirs in said] for mine in said]
    assert np.allclose(differences(trees), expected)
    assert differences(trees)[0, 2] == 0  # different tests, the same predictions
    assert not differences([Tree(MIXED, NO, CARD)] * 2).any()  # trees without a test
