"""Chances of a draw: what holds by either method, and the parts that both share."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.outside import LeafShares, last_choices, size_chances
from hedgerow.learn.search.sampler import ModelSampler
from hedgerow.learn.search.space import Space
from hedgerow.schema import Boolean, Categorical, Integer
from hedgerow.tally import Tally
from tests.learn.draws import plan_of, quiet
from tests.learn.enumerate_models import Models, all_worlds, list_space, schema_of

WIDE = schema_of(Integer(0, 9, (2, 5, 7)), Boolean(), Categorical(("a", "b", "c")))
THREE = schema_of(Integer(0, 9, (2, 5, 7)), Boolean(), Categorical(("a", "b", "c")), classes=3)
WEIGHT = 0.75
SPACES = {
    "trees": Space.of_trees(WIDE),
    "trees, every second cut point": Space.of_trees(schema_of(Integer(0, 9, tuple(range(6))), Boolean()), 2),
    "lists": list_space(WIDE),
    "trees, three classes": Space.of_trees(THREE),
    "lists, three classes": list_space(THREE),
}


def some_rows(schema, seed=0, most=4):
    worlds = np.array(all_worlds(schema), dtype=np.uint8)
    rng = np.random.default_rng(seed)
    return worlds, rng.integers(0, most, (len(worlds), len(schema.classes)))


def log_normaliser(plan, worlds, counts, weight=WEIGHT):
    """ln Z, over all sizes that can be drawn."""
    states = exhaustive_levels(plan.space, plan.depth)
    models = ModelSampler(Tally(plan.space.candidates.schema, worlds, counts), plan, states, quiet)._models(weight)
    return np.logaddexp.reduce([models.total(size) for size in plan.sizes]) - np.log(len(plan.sizes))


@pytest.mark.parametrize("draws_size", [False, True])
@pytest.mark.parametrize("objective", ["errors", "brier"])
@pytest.mark.parametrize("name", SPACES)
def test_both_methods_agree_on_the_effect_of_an_added_row(name, objective, draws_size):
    space = SPACES[name]
    schema = space.candidates.schema
    plan = replace(plan_of(Models(space, 3, Fraction(1, 4), objective)), draws_size=draws_size)
    worlds, counts = some_rows(schema)
    tally = Tally(schema, worlds, counts)
    item, other = (
        ModelSampler(tally, plan, states, quiet).chances(WEIGHT)
        for states in (Boxes.of(space, 3), exhaustive_levels(space, 3))
    )
    for attribute in ("values", "sizes", "first", "uses"):
        np.testing.assert_allclose(getattr(item, attribute), getattr(other, attribute), rtol=1e-10)
    assert item.first.sum() == pytest.approx(1)
    np.testing.assert_allclose(item.values.sum(axis=1), 1)
    before, factors = log_normaliser(plan, worlds, counts), np.exp(-WEIGHT / plan.loss.steps * plan.loss.by_value)
    for place, label in ((0, 0), (7, 1), (len(worlds) - 1, len(schema.classes) - 1)):
        more = counts.copy()
        more[place, label] += 1
        ratio = np.exp(log_normaliser(plan, worlds, more) - before)
        assert item.values[place] @ factors[:, label] == pytest.approx(ratio, rel=1e-10)


@pytest.mark.parametrize("weight", [WEIGHT, 1 - 2**-21])
def test_states_that_are_hardly_come_to_change_nothing_that_matters(weight):
    """With so many rows most states are left out; both methods leave out others.

    A weight of 21 digits, as draws have, times a count is exact in float64, in which all of it is, and not in float32.
    """
    space = SPACES["trees"]
    worlds, counts = some_rows(WIDE, most=2000)
    plan, tally = plan_of(Models(space, 3, Fraction(1, 4))), Tally(WIDE, worlds, counts)
    item, other = (
        ModelSampler(tally, plan, states, quiet).chances(weight)
        for states in (Boxes.of(space, 3), exhaustive_levels(space, 3))
    )
    np.testing.assert_allclose(item.values, other.values, rtol=1e-9, atol=1e-40)
    np.testing.assert_allclose(item.values.sum(axis=1), 1, rtol=1e-9)


@pytest.mark.parametrize("objective", ["errors", "brier"])
@pytest.mark.parametrize("name", SPACES)
def test_models_that_one_row_less_makes_likely_are_not_left_out(name, objective):
    """With weight 150 they have a chance of e^-150 at most."""
    space = SPACES[name]
    schema = space.candidates.schema
    plan = plan_of(Models(space, 2, Fraction(1, 4), objective))
    worlds, counts = some_rows(schema)
    before, factors = log_normaliser(plan, worlds, counts, 150), np.exp(150 / plan.loss.steps * plan.loss.by_value)
    for states in (Boxes.of(space, 2), exhaustive_levels(space, 2)):
        values = ModelSampler(Tally(schema, worlds, counts), plan, states, quiet).chances(150).values
        for place, label in np.argwhere(counts)[::5]:
            fewer = counts.copy()
            fewer[place, label] -= 1
            ratio = log_normaliser(plan, worlds, fewer, 150) - before
            assert np.log(values[place] @ factors[:, label]) == pytest.approx(ratio, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("objective", "classes"), [("errors", 2), ("errors", 3), ("brier", 2), ("mixed", 3)])
def test_values_of_a_leaf_are_drawn_by_its_losses(objective, classes):
    loss, counts = Loss.of(objective, classes), np.array([[3, 0], [1, 0], [7, 0]][:classes])
    losses = [sum(int(n) * loss.table[k][v] for k, n in enumerate(counts[:, 0])) for v in range(len(loss.values))]
    weights = np.exp(-0.3 * np.array(losses) / loss.steps)
    shares = LeafShares(loss, 0.3)(counts)
    np.testing.assert_allclose(shares[:, 0], weights / weights.sum())
    np.testing.assert_allclose(shares[:, 1], 1 / len(losses))  # without rows


def test_last_choices_are_weighed_by_the_errors_of_both_leaves():
    totals, caught = np.array([[5.0, 1.0], [3.0, 4.0]]), np.array([[[2, 0], [1, 1]], [[3, 1], [0, 2]]])
    more = 2.0 * (caught[0] - caught[1]) - (totals[0] - totals[1])[:, None]
    log_each = np.array([-1.0, -2.0])
    alike, unlike = last_choices(log_each, WEIGHT, totals, more)
    for state, option, yes, no in product(range(2), repeat=4):
        errors = caught[1 - yes, state, option] + totals[1 - no, state] - caught[1 - no, state, option]
        expected = np.exp(log_each[state] - WEIGHT * errors) / 4
        assert (alike[yes, state] if yes == no else unlike[yes, state, option]) == pytest.approx(expected)


def test_sizes_are_drawn_by_the_weights_of_all_their_models():
    np.testing.assert_allclose(size_chances(np.array([-1000.0, -1000.0 + np.log(3)])), [0.25, 0.75])
