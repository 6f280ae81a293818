"""The exact private draw: what it draws, what that costs, and what it does before anything is charged.

Probabilities are computed wherever they can be: `executions` goes every way a draw can go and reads the log-weights
that it offers at each choice. `ALARM` is the false-alarm rate of the tests that draw.
"""

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.search import sampler as exact
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.conjunctions import Outcomes
from hedgerow.learn.search.lattice import Search, exhaustive_levels
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.sampler import Draw, ModelSampler, draw_model
from hedgerow.learn.search.semirings import all_models
from hedgerow.learn.search.space import Space
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from hedgerow.schema import Boolean, Categorical
from hedgerow.tally import Tally
from tests.learn.draws import (
    A_DRAW,
    ALARM,
    DRAWS,
    EPSILONS,
    FACTORS,
    MIXED_ROWS,
    SIZES,
    TWO,
    draw,
    drawing,
    frequencies,
    in_floats,
    loss,
    plan_of,
    probabilities,
    quiet,
    reweighted,
    valued_once,
)
from tests.learn.enumerate_models import (
    Models,
    Table,
    all_worlds,
    chance,
    coarse_grid,
    constant,
    executions,
    list_space,
    log_sum,
    models,
    neighbours,
    schema_of,
    tables,
)
from tests.learn.objectives import ALL_OBJECTIVES, KINDS_OF_LOSS
from tests.privacy.chances import p_value
from tests.privacy.renyi import rho_of

# What is drawn


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_every_model_is_drawn_with_its_exact_probability(examples, objective):
    @settings(max_examples=examples)
    @given(models(150, objective), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, epsilon):
        table, plan = data.draw(tables(found.schema)), plan_of(found)
        expected = found.log_probabilities(table, plan.mechanism(epsilon).weight)
        drawn = probabilities(table, plan, epsilon)
        assert drawn.keys() == expected.keys()
        assert np.exp(list(drawn.values())).sum() == pytest.approx(1, abs=1e-9)
        for model, value in expected.items():
            assert drawn[model] == pytest.approx(float(value), abs=1e-9)

    with coarse_grid():
        same()


@pytest.mark.parametrize("space", [Space.of_trees(schema_of(Boolean(), classes=3)), list_space(TWO, negations=False)])
@pytest.mark.parametrize("objective", ["brier", "mixed"])
def test_every_grid_probability_is_drawn_with_its_exact_probability(space, objective):
    result, epsilon = Models(space, 1, Fraction(1, 4), objective), Fraction(1)
    table = Table(
        space.candidates.schema, tuple((w, i % 2, 3 * i + 1) for i, w in enumerate(all_worlds(result.schema)))
    )
    expected = result.log_probabilities(table, plan_of(result).mechanism(epsilon).weight)
    drawn = probabilities(table, plan_of(result), epsilon)
    assert drawn.keys() == expected.keys()
    for model, value in expected.items():
        assert drawn[model] == pytest.approx(float(value), abs=1e-9)


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_a_drawn_size_has_the_same_prior_as_any_other(examples, objective):
    """By every method: P(size d) = 1/(D + 1), then today's prior of that depth, all weighed by their errors."""

    @settings(max_examples=examples)
    @given(models(60, objective, by_depth=False), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, epsilon):
        table, plan = data.draw(tables(found.schema)), replace(plan_of(found), draws_size=True)
        weight, expected = plan.mechanism(epsilon).weight, defaultdict(list)
        for size in plan.sizes:
            for model, value in replace(found, depth=size).log_weights(table, weight).items():
                expected[model].append(value)
        total = log_sum(value for values in expected.values() for value in values)
        boxes = Boxes.of(plan.space, plan.depth) if plan.depth else None
        pairs = Pairs.of(plan.space, plan.depth)
        outcomes = Outcomes.of(plan.space, plan.depth)
        for states in filter(None, (exhaustive_levels(plan.space, plan.depth), boxes, pairs, outcomes)):
            sampler, drawn = ModelSampler(table.tally, plan, states, quiet), defaultdict(float)
            sampler._models = cache(sampler._models)
            for model, draws in executions(lambda choose, s=sampler: s.sample(float(weight), choose)):
                drawn[model] += np.exp(chance(draws))
            assert drawn.keys() == expected.keys()
            for model, values in expected.items():
                assert drawn[model] == pytest.approx(float((log_sum(values) - total).exp()), abs=1e-9)

    with coarse_grid():
        same()


def test_a_size_that_is_given_is_the_size_of_the_prior():
    plan = Draw(Space.of_trees(schema_of(Boolean(), Boolean())), 2, constant(0.5))
    assert (list(plan.sizes), list(replace(plan, draws_size=True).sizes)) == ([2], [0, 1, 2])
    assert Draw(plan.space, 9, constant(0.5)).depth == 2  # each option is taken once at most


KINDS = [Models(list_space(TWO, negations=False), 2), Models(Space.of_trees(schema_of(Boolean(), Boolean())), 2)]


def small(found):
    """The rows on which a space of this test is searched."""
    rows = tuple((bins[: len(found.schema)], label, times) for bins, label, times in MIXED_ROWS.rows)
    return Table(found.schema, tuple(row for row in rows if found.schema == TWO or max(row[0]) < 2))


@pytest.mark.statistics
@pytest.mark.parametrize("found", [KINDS[0], pytest.param(KINDS[1], marks=pytest.mark.slow)], ids=["lists", "trees"])
@pytest.mark.parametrize("draws", DRAWS)
def test_models_are_drawn_as_often_as_their_probability_says(draws, found):
    """Seeded. The test rejects a weight 30 % too small or too large and a prior that stops 30 % too seldom or often."""
    table, plan, epsilon = small(found), plan_of(found), Fraction(3, 4)
    source = SeededNoise(np.random.default_rng(20261121))
    with valued_once():
        drawn = [draw(table, plan, epsilon, source) for _ in range(draws)]

    def compared(found, factor=1):
        weight = plan.mechanism(epsilon).weight * factor
        return p_value(*frequencies(drawn, in_floats(found.log_probabilities(table, weight))))

    assert compared(found) > ALARM
    for stop in (Fraction(7, 20), Fraction(13, 20)):
        assert compared(replace(found, stop=stop)) < ALARM
    for factor in FACTORS:
        assert compared(found, factor) < ALARM


@pytest.mark.statistics
@pytest.mark.parametrize("draws", [1000, pytest.param(8_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("found", [pytest.param(KINDS[0], marks=pytest.mark.slow), KINDS[1]], ids=["lists", "trees"])
def test_secure_noise_draws_models_with_their_exact_probabilities(draws, found):
    """OpenDP's randomness cannot be seeded: the false-alarm rate is 1e-9. What is 30 % off is rejected as well."""
    table, plan, epsilon = small(found), plan_of(found), Fraction(3, 4)
    weight = plan.mechanism(epsilon).weight
    with valued_once():
        models = [draw(table, plan, epsilon, SecureNoise()) for _ in range(draws)]
    assert p_value(*frequencies(models, in_floats(found.log_probabilities(table, weight)))) > 1e-9
    for factor in FACTORS:
        assert p_value(*frequencies(models, in_floats(found.log_probabilities(table, weight * factor)))) < 1e-9


# What it costs


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
@pytest.mark.claim("The factor 2 for scores without a fixed direction is not needed")
@pytest.mark.claim("for every order α > 1 and any two neighbouring tables")
def test_one_row_changes_every_log_probability_by_at_most_epsilon(examples, objective):
    """Differential privacy itself, of the log-weights as computed in floating point: every model, both directions."""

    @settings(max_examples=examples)
    @given(models(120, objective), st.data(), st.sampled_from(EPSILONS))
    def private(found, data, epsilon):
        drawn = [probabilities(table, plan_of(found), epsilon) for table in data.draw(neighbours(found.schema))]
        assert loss(*drawn) <= epsilon
        assert rho_of(*drawn) <= float(plan_of(found).mechanism(epsilon).rho) * (1 + 1e-9) + 1e-13

    with coarse_grid():
        private()


NARROW = Table(schema_of(Boolean()), (((0,), 0, 40), ((1,), 1, 40))), ((0,), 1)
CLEAR = Table(TWO, (((0, 0), 0, 40), ((1, 0), 1, 40)))
CASES = [
    (CLEAR, ((0, 0), 1)),  # a row against the majority: nearly all of epsilon is used
    (CLEAR, ((1, 2), 0)),  # a row where no row was
    (Table(TWO, ()), ((0, 1), 1)),
]


def largest_loss(found, objective, cases=CASES):
    """The privacy loss of these neighbours at an epsilon of 1, of small models on a coarse grid."""
    with coarse_grid():
        plan = plan_of(replace(found, objective=objective))
        cases = cases if found.schema == TWO else [NARROW]
        return max(loss(*(probabilities(t, plan, Fraction(1)) for t in (item, item.plus(*row)))) for item, row in cases)


@pytest.mark.parametrize("objective", ALL_OBJECTIVES)
@pytest.mark.parametrize("found", [Models(list_space(TWO), 1), Models(Space.of_trees(TWO), 1)], ids=["lists", "trees"])
@pytest.mark.claim("The factor 2 for scores without a fixed direction is not needed")
def test_most_of_epsilon_is_used(found, objective):
    """So that the tests of privacy have power: the largest loss of these neighbours is above 0.8 of epsilon."""
    assert 0.8 < largest_loss(found, objective) <= 1


@pytest.mark.parametrize("found", [Models(list_space(TWO), 1), Models(Space.of_trees(TWO), 1)], ids=["lists", "trees"])
def test_most_of_rho_is_used(found):
    """By the first row of a table, which half of the models get wrong."""
    item, (row, label) = CASES[-1]
    with coarse_grid():
        plan = plan_of(found)
        spent = rho_of(*(probabilities(table, plan, Fraction(1, 10)) for table in (item, item.plus(row, label))))
        assert 0.99 < spent / float(plan.mechanism(Fraction(1, 10)).rho) <= 1


@pytest.mark.statistics
@pytest.mark.parametrize("objective", ALL_OBJECTIVES)
@pytest.mark.parametrize("found", [Models(list_space(TWO), 1), Models(Space.of_trees(TWO), 1)], ids=["lists", "trees"])
def test_a_weight_30_percent_above_epsilon_is_caught(monkeypatch, found, objective):
    reweighted(monkeypatch, Fraction(13, 10))
    assert largest_loss(found, objective, CASES[:1]) > 1


@pytest.mark.parametrize("objective", ["brier", "mixed"])
@pytest.mark.claim("the difference may depend on ℓ")
def test_a_row_that_can_lose_more_than_1_is_caught(monkeypatch, objective):
    """A loss whose steps are half of its range: `Loss` refuses it, so it is made without the check."""
    monkeypatch.setattr(Loss, "__post_init__", lambda _: None)
    fair = Draw.loss.func
    monkeypatch.setattr(Draw, "loss", property(lambda plan: replace(fair(plan), steps=32)))
    assert largest_loss(Models(Space.of_trees(schema_of(Boolean())), 1), objective) > 1


@pytest.mark.statistics
@pytest.mark.parametrize("found", [Models(list_space(TWO), 2), Models(Space.of_trees(TWO), 2)], ids=["lists", "trees"])
@pytest.mark.claim("if no rows are left, the prior's total of 1 stands")
def test_a_prior_that_counts_models_and_leaves_empty_states_out_is_caught(monkeypatch, found):
    """Every model weighs alike, and states without rows are not visited: one row there makes many models possible."""

    def counting(*given):
        nothing = dict.fromkeys(("stop", "go"), lambda n_open, _: np.zeros(len(n_open)))
        return replace(all_models(*given), **nothing)

    monkeypatch.setattr(exact, "all_models", counting)
    item, row = CASES[1]
    assert loss(*(probabilities(t, plan_of(found), Fraction(1)) for t in (item, item.plus(*row)))) > 1


@pytest.mark.parametrize("found", [Models(list_space(TWO), 2), Models(Space.of_trees(TWO), 2)], ids=["lists", "trees"])
def test_options_that_are_open_only_where_they_divide_rows_are_caught(monkeypatch, found):
    monkeypatch.setattr(exact, "Search", lambda *parts: Search(*parts, min_rows=1.0))
    item, row = CASES[1]
    with pytest.raises(AssertionError, match="keys"):  # the neighbour has models that the table has not
        loss(*(probabilities(t, plan_of(found), Fraction(1)) for t in (item, item.plus(*row))))


@given(st.data(), st.sampled_from([schema_of(Boolean(), Categorical(("a", "b"), missing="bin")), TWO]))
@pytest.mark.claim("An added row raises the number of errors of every ℓ by 0 or 1")
def test_samplers_are_as_far_apart_as_their_tables(data, schema):
    item, other = data.draw(neighbours(schema))
    plan = Draw(Space.of_trees(schema), 0, constant(0.5))
    first, second = (ModelSampler(table.tally, plan, [], quiet) for table in (item, other))
    mechanism = plan.mechanism(Fraction(1))
    assert mechanism.distance(first, second) == mechanism.distance(second, first) == 1 == mechanism.sensitivity
    assert mechanism.distance(first, first) == 0
    moved = Table(schema, other.rows[1:])
    if item.rows and other.rows[0] != other.rows[-1]:
        assert ModelSampler(moved.tally, plan, [], quiet).distance(first) == np.inf


# Before anything is charged


def test_states_are_built_before_the_charge_and_the_charge_before_the_rows(monkeypatch):
    log = []

    class Diary(hr.Budget):
        def charge(self, *args, **kwargs):
            super().charge(*args, **kwargs)
            log.append("charge")

    def noting(owner, name, word):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: (log.append(word), real(*a, **k))[1])

    gate, plan = Gate(Diary(1), SeededNoise(np.random.default_rng(0))), plan_of(KINDS[0])
    runner = drawing(plan, Fraction(1), gate)
    noting(exact, "exhaustive_levels", "states")
    noting(Draw, "mechanism", "mechanism")
    noting(Tally, "total", "rows")
    noting(Tally, "patterns", "rows")
    draw_model(MIXED_ROWS.tally, plan, runner, A_DRAW, quiet)
    assert [item for item, _ in pairwise([*log, ""]) if item != "rows"] == ["states", "mechanism", "charge"]
    assert log[3:] == ["rows", "rows"]


@pytest.mark.parametrize("owner", [exact, Draw])
def test_a_draw_that_cannot_be_prepared_costs_nothing(monkeypatch, owner):
    def failing(*_):
        raise MemoryError("no room for states")

    gate, plan = Gate(hr.Budget(1), SecureNoise()), plan_of(KINDS[0])
    runner = drawing(plan, Fraction(1), gate)
    monkeypatch.setattr(owner, "exhaustive_levels" if owner is exact else "mechanism", failing)
    for method in ("total", "patterns"):
        monkeypatch.setattr(Tally, method, lambda *_: pytest.fail("rows were touched"))
    with pytest.raises(MemoryError, match="no room"):
        draw_model(MIXED_ROWS.tally, plan, runner, A_DRAW, quiet)
    assert gate.budget.spent == 0


@pytest.mark.parametrize(
    ("space", "depth", "leaves"),
    [(list_space(TWO), 3, 4), (Space.of_trees(TWO), 3, 8), (list_space(TWO), 0, 1), (Space.of_trees(TWO), 0, 1)],
)
def test_the_mechanism_of_a_plan_knows_how_large_the_search_is(monkeypatch, space, depth, leaves):
    seen, real = [], exact.Rounding
    monkeypatch.setattr(exact, "Rounding", lambda *size: seen.append(size) or real(*size))
    mechanism = Draw(space, depth, constant(0.25)).mechanism(Fraction(1, 2))
    assert seen == [(depth, leaves, space.n_options, 2, constant(0.25), 1, 1)]
    assert isinstance(mechanism, ModelDraw)
    assert mechanism.epsilon == Fraction(1, 2)
    assert mechanism.weight == real(*seen[0]).weight(Fraction(1, 2))
