"""The exact private draw: what it draws, what that costs, and what it does before anything is charged.

Probabilities are computed wherever they can be: `executions` goes every way a draw can go and reads the log-weights
that it offers at each choice. `ALARM` is the false-alarm rate of the tests that draw.
"""

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import BudgetExceededError, SearchTooLargeError
from hedgerow.learn.search import cost
from hedgerow.learn.search import sampler as exact
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.exhaustive import exhaustive_levels
from hedgerow.learn.search.lattice import Search, Stop, Take
from hedgerow.learn.search.sampler import (
    Draw,
    ListDraw,
    ModelSampler,
    draw_list,
    draw_model,
    list_blocks,
    list_cost,
    simplified,
)
from hedgerow.learn.search.semirings import all_models
from hedgerow.learn.search.space import Space
from hedgerow.privacy.exponential_mechanism import ModelDraw
from hedgerow.privacy.gate import Gate
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from hedgerow.schema import Boolean, Candidates, Categorical, Integer
from hedgerow.tally import Tally
from tests.learn.enumerate_models import (
    STOPS,
    Models,
    Table,
    all_worlds,
    chance,
    executions,
    list_space,
    log_sum,
    models,
    narrow,
    neighbours,
    schema_of,
    tables,
)
from tests.privacy.chances import p_value

ALARM = 1e-6
FACTORS = [Fraction(7, 10), Fraction(13, 10)]
EPSILONS = [Fraction(1, 100), Fraction(1, 10), Fraction(1), Fraction(10)]
SIZES = [20, pytest.param(400, marks=pytest.mark.slow)]
DRAWS = [700, pytest.param(10_000, marks=pytest.mark.slow)]


class Scripted:
    """A noise source that leaves every choice to a function."""

    void, description = "scripted", "scripted"

    def __init__(self, choose):
        self.choose = choose

    def prepare(self, mechanism):
        return lambda sampler: sampler.sample(float(mechanism.weight), self.choose)


def quiet(_):
    """Progress that nobody looks at."""


def draw(table, plan, epsilon, source):
    return draw_model(table.tally, plan, Gate(hr.Budget(epsilon), source), epsilon, "a draw", quiet)


@contextmanager
def valued_once():
    """Keep the values of a search that is done many times over, on one table with one weight."""
    kept, sweep = {}, Search.sweep

    def once(self, **options):
        if len(self.levels) not in kept:
            kept[len(self.levels)] = sweep(self, **options)
        return kept[len(self.levels)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "sweep", once)
        yield


def probabilities(table, plan, epsilon):
    """The log-probability of every model as the implementation draws it."""
    found = {}
    with valued_once():
        for model, draws in executions(lambda choose: draw(table, plan, epsilon, Scripted(choose))):
            assert model not in found
            found[model] = chance(draws)
    return found


def plan_of(found):
    return Draw(found.space, found.depth, float(found.stop))


# What is drawn


@pytest.mark.parametrize("examples", SIZES)
def test_every_model_is_drawn_with_its_exact_probability(examples):
    @settings(max_examples=examples)
    @given(models(150), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, epsilon):
        table, plan = data.draw(tables(found.schema)), plan_of(found)
        expected = found.log_probabilities(table, plan.mechanism(epsilon).weight)
        drawn = probabilities(table, plan, epsilon)
        assert drawn.keys() == expected.keys()
        assert np.exp(list(drawn.values())).sum() == pytest.approx(1, abs=1e-9)
        for model, value in expected.items():
            assert drawn[model] == pytest.approx(float(value), abs=1e-9)

    same()


@pytest.mark.parametrize("examples", SIZES)
def test_a_drawn_size_has_the_same_prior_as_any_other(examples):
    """By either method: P(size d) = 1/(D + 1), then today's prior of that depth, all weighed by their errors."""

    @settings(max_examples=examples)
    @given(models(60), st.data(), st.sampled_from(EPSILONS))
    def same(found, data, epsilon):
        table, plan = data.draw(tables(found.schema)), replace(plan_of(found), draws_size=True)
        weight, expected = plan.mechanism(epsilon).weight, defaultdict(list)
        for size in plan.sizes:
            for model, value in replace(found, depth=size).log_weights(table, weight).items():
                expected[model].append(value)
        total = log_sum(value for values in expected.values() for value in values)
        boxes = Boxes.of(plan.space, plan.depth) if plan.depth else None
        for states in (exhaustive_levels(plan.space, plan.depth), *([boxes] if boxes else [])):
            sampler, drawn = ModelSampler(table.tally, plan, states, quiet), defaultdict(float)
            with valued_once():
                for model, draws in executions(lambda choose, s=sampler: s.sample(float(weight), choose)):
                    drawn[model] += np.exp(chance(draws))
            assert drawn.keys() == expected.keys()
            for model, values in expected.items():
                assert drawn[model] == pytest.approx(float((log_sum(values) - total).exp()), abs=1e-9)

    same()


def test_a_size_that_is_given_is_the_size_of_the_prior():
    plan = Draw(Space.of_trees(schema_of(Boolean(), Boolean())), 2, 0.5)
    assert (list(plan.sizes), list(replace(plan, draws_size=True).sizes)) == ([2], [0, 1, 2])
    assert Draw(plan.space, 9, 0.5).depth == 2  # each option is taken once at most


TWO = schema_of(Boolean(), Boolean(missing="bin"))
MIXED_ROWS = Table(
    TWO,
    (((0, 0), 0, 5), ((0, 1), 1, 4), ((0, 1), 0, 2), ((1, 0), 1, 3), ((1, 1), 0, 2), ((1, 2), 1, 1), ((0, 2), 0, 1)),
)
KINDS = [Models(list_space(TWO, negations=False), 2), Models(Space.of_trees(schema_of(Boolean(), Boolean())), 2)]


def small(found):
    """The rows on which a space of this test is searched."""
    rows = tuple((bins[: len(found.schema)], label, times) for bins, label, times in MIXED_ROWS.rows)
    return Table(found.schema, tuple(row for row in rows if found.schema == TWO or max(row[0]) < 2))


def frequencies(outcomes, expected):
    places = {outcome: place for place, outcome in enumerate(expected)}
    return np.bincount([places[outcome] for outcome in outcomes], minlength=len(places)), list(expected.values())


def in_floats(logarithms):
    chances = {model: float(value.exp()) for model, value in logarithms.items()}
    assert sum(chances.values()) == pytest.approx(1)
    return chances


def reweighted(monkeypatch, factor):
    mechanism = Draw.mechanism

    def heavier(self, epsilon):
        found = mechanism(self, epsilon)
        return replace(found, weight=found.weight * factor)

    monkeypatch.setattr(Draw, "mechanism", heavier)


@pytest.mark.parametrize("found", KINDS, ids=["lists", "trees"])
@pytest.mark.parametrize("draws", DRAWS)
def test_models_are_drawn_as_often_as_their_probability_says(monkeypatch, draws, found):
    """Seeded. The test rejects a weight 30 % too small or too large and a prior that stops 30 % too seldom or often."""
    table, plan, epsilon = small(found), plan_of(found), Fraction(3, 4)
    exactly = in_floats(found.log_probabilities(table, plan.mechanism(epsilon).weight))
    source = SeededNoise(np.random.default_rng(20261121))

    def drawn(plan):
        with valued_once():
            return p_value(*frequencies((draw(table, plan, epsilon, source) for _ in range(draws)), exactly))

    assert drawn(plan) > ALARM
    for stop in (0.35, 0.65):
        assert drawn(replace(plan, stop_probability=stop)) < ALARM
    for factor in FACTORS:
        with monkeypatch.context() as patch:
            reweighted(patch, factor)
            assert drawn(plan) < ALARM


@pytest.mark.parametrize("draws", [1000, pytest.param(8_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("found", KINDS, ids=["lists", "trees"])
def test_models_are_drawn_as_often_as_their_probability_says_by_secure_noise(draws, found):
    """OpenDP's randomness cannot be seeded: the false-alarm rate is 1e-9. What is 30 % off is rejected as well."""
    table, plan, epsilon = small(found), plan_of(found), Fraction(3, 4)
    weight = plan.mechanism(epsilon).weight
    with valued_once():
        models = [draw(table, plan, epsilon, SecureNoise()) for _ in range(draws)]
    assert p_value(*frequencies(models, in_floats(found.log_probabilities(table, weight)))) > 1e-9
    for factor in FACTORS:
        assert p_value(*frequencies(models, in_floats(found.log_probabilities(table, weight * factor)))) < 1e-9


# Lists in blocks


def shortest(rules, labels):
    """A list that predicts the same: without the last rules that say the same as the default rule."""
    *own, default = labels
    keep = max((i + 1 for i, label in enumerate(own) if label != default), default=0)
    return tuple(rules[:keep]), (*own[:keep], default)


def composed(plan, table, epsilon):
    """The exact probability of every list drawn in blocks: each block over all models on the rows that are left."""
    total = defaultdict(float)

    def follow(number, rules, labels, table, probability):
        if number == len(plan.blocks):
            total[shortest(rules, labels)] += probability
            return
        block = plan.block(number, rules)
        found = Models(Space.of_lists(plan.candidates, rules), plan.blocks[number], Fraction(plan.stop_probability))
        weight = block.mechanism(epsilon / len(plan.blocks)).weight
        for model, value in found.log_probabilities(table, weight).items():
            part, more, said, left = model, rules, labels[: len(rules)], table
            while isinstance(part, Take):
                more, said = (*more, found.space.antecedents[part.option]), (*said, part.caught.label)
                left = left.only(found.worlds - found.catches[part.option])
                part = part.left
            follow(number + 1, more, (*said, part.label), left, probability * float(value.exp()))

    follow(0, (), (), table, 1.0)
    return dict(total)


def listed(table, plan, epsilon, source):
    gate = Gate(hr.Budget(epsilon), source)
    found = draw_list(table.tally, plan, gate, epsilon, quiet)
    assert gate.budget.spent == epsilon
    return found


def released(table, plan, epsilon):
    """The probability of every list that can be released, and the log-probability of every way to it."""
    total, ways = defaultdict(float), []
    for outcome, draws in executions(lambda choose: listed(table, plan, epsilon, Scripted(choose))):
        ways.append((tuple(place for _, place in draws), chance(draws)))
        total[outcome] += np.exp(ways[-1][1])
    return dict(total), dict(ways)


BLOCKS = st.sampled_from([(1, 1), (2, 1), (1, 1, 1), (3,), (2, 2)])


@st.composite
def list_plans(draw, most=300):
    """Plans of lists in blocks, fewer where there would be more than so many ways to draw."""
    schema, negations = draw(narrow), draw(st.booleans())
    blocks, stop = draw(BLOCKS), draw(STOPS)
    candidates = Candidates.of(schema, draw(st.sampled_from([1, 1, 2])), negations=negations)

    def ways():
        classes = len(schema.classes)
        each = [sum(classes ** (k + 1) * len(candidates) ** k for k in range(depth + 1)) for depth in blocks]
        return np.prod([float(x) for x in each])

    while blocks and ways() > most:
        blocks = blocks[:-1] if blocks[-1] == 1 else (*blocks[:-1], blocks[-1] - 1)
    return ListDraw(candidates, blocks or (0,), stop)


PAIR = schema_of(Boolean(), Boolean())
PLANS = {
    "one and one": ListDraw(Candidates.of(TWO, 1, negations=False), (1, 1), 0.5),
    "three times one": ListDraw(Candidates.of(PAIR, 1, negations=False), (1, 1, 1), 0.25),
    "two and one": ListDraw(Candidates.of(PAIR, 1, negations=False), (2, 1), 0.5),
    "three classes": ListDraw(Candidates.of(schema_of(Boolean(), classes=3), 1), (1, 1), 0.75),
}


def some_rows(schema):
    """One to four rows of each class in some of the worlds."""
    worlds = all_worlds(schema)[:-1]
    return Table(schema, tuple((w, y, 1 + (i * 7 + y * 5) % 4) for i, w in enumerate(worlds) for y in (0, 1)))


def check_composed(plan, table, epsilon):
    expected = composed(plan, table, epsilon)
    drawn, _ = released(table, plan, epsilon)
    assert drawn.keys() == expected.keys()
    assert sum(drawn.values()) == pytest.approx(1, abs=1e-9)
    for outcome, value in expected.items():
        assert drawn[outcome] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_a_list_drawn_in_these_blocks_has_the_composed_probability(plan):
    check_composed(plan, some_rows(plan.candidates.schema), Fraction(3, 2))


@pytest.mark.parametrize("examples", [8, pytest.param(80, marks=pytest.mark.slow)])
def test_a_list_drawn_in_blocks_has_the_composed_probability(examples):
    @settings(max_examples=examples)
    @given(list_plans(), st.data(), st.sampled_from(EPSILONS))
    def same(plan, data, epsilon):
        check_composed(plan, data.draw(tables(plan.candidates.schema)), epsilon)

    same()


@pytest.mark.parametrize("lookahead", [1, 2, None])
@pytest.mark.parametrize("draws", [800, pytest.param(6_000, marks=pytest.mark.slow)])
def test_lists_are_drawn_as_often_as_their_composed_probability_says(monkeypatch, draws, lookahead):
    """Seeded; rejects a weight 30 % too small or too large, and blocks of another size."""
    epsilon = Fraction(2)
    plan = ListDraw(Candidates.of(TWO, 1, negations=False), list_blocks(3, lookahead), 0.5)
    source = SeededNoise(np.random.default_rng(7))
    lists = [listed(MIXED_ROWS, plan, epsilon, source) for _ in range(draws)]

    def compared(plan):
        chances = composed(plan, MIXED_ROWS, epsilon)
        assert sum(chances.values()) == pytest.approx(1)
        return p_value(*frequencies(lists, chances))

    assert compared(plan) > ALARM
    assert compared(replace(plan, blocks=list_blocks(3, {1: 2, 2: 1, None: 1}[lookahead]))) < ALARM
    for factor in FACTORS:
        with monkeypatch.context() as patch:
            reweighted(patch, factor)
            assert compared(plan) < ALARM


def test_a_list_ends_before_the_rules_that_say_the_same_as_the_default_rule():
    """Two rules with labels 1 and 0 and default 0: the second rule is left out, the first is not."""
    candidates = Candidates.of(schema_of(Boolean(), Boolean()), 1, negations=False)
    script = iter([1, 1, 1, 0, 0])  # take x0, label 1; take x1, label 0; default 0
    plan = ListDraw(candidates, (2,), 0.5)
    table = Table(candidates.schema, ())
    assert listed(table, plan, Fraction(1), Scripted(lambda _: next(script))) == ((candidates[0],), (1, 0))


@pytest.mark.parametrize(
    ("most", "lookahead", "blocks"),
    [
        (4, None, (4,)),
        (4, 1, (1, 1, 1, 1)),
        (4, 2, (2, 2)),
        (5, 2, (2, 2, 1)),
        (4, 3, (3, 1)),
        (4, 9, (4,)),
        (0, None, (0,)),
        (0, 1, (0,)),
    ],
)
def test_blocks_add_up_to_the_rules_of_a_list(most, lookahead, blocks):
    assert list_blocks(most, lookahead) == blocks


def test_the_cost_of_a_list_is_that_of_its_blocks_together():
    """Of two booleans, 4 literals and 4 pairs: in blocks of 2 and 1 rules, 1 + 8 states, and 1."""
    told = list_cost(schema_of(Boolean(), Boolean(), classes=3), 2, (2, 1), negations=True)
    assert (told.options, told.states, told.evaluations, told.classes) == (8, 10, 80, 3)


def test_a_list_whose_rules_close_all_others_is_drawn_to_its_end():
    """After one of a boolean's two candidates the other divides nothing: later blocks only choose a label."""
    candidates = Candidates.of(schema_of(Boolean()), 1)
    plan = ListDraw(candidates, (1, 1, 1), 0.5)
    table = Table(candidates.schema, (((0,), 0, 1),))
    drawn, _ = released(table, plan, Fraction(3))
    assert sum(drawn.values()) == pytest.approx(1, abs=1e-12)
    assert max(len(rules) for rules, _ in drawn) == 1


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("rows", [(), (((0,), 0, 1),), (((1,), 0, 1),)])
def test_a_list_may_be_allowed_more_rules_than_there_are_candidates(depth, rows):
    """Whatever the rows are: one candidate, and no state in which two have been taken."""
    found = Models(list_space(schema_of(Boolean()), negations=False), depth)
    drawn = probabilities(Table(found.schema, rows), plan_of(found), Fraction(1))
    assert drawn.keys() == Models(found.space, 1).priors.keys()
    assert np.exp(list(drawn.values())).sum() == pytest.approx(1, abs=1e-12)


# What it costs


def loss(one, other):
    """The largest difference of log-probabilities, either way."""
    assert one.keys() == other.keys()
    return max(abs(one[key] - other[key]) for key in one)


@pytest.mark.parametrize("examples", SIZES)
def test_one_row_changes_the_log_probability_of_no_model_by_more_than_epsilon(examples):
    """Differential privacy itself, of the log-weights as computed in floating point: every model, both directions."""

    @settings(max_examples=examples)
    @given(models(120), st.data(), st.sampled_from(EPSILONS))
    def private(found, data, epsilon):
        one, other = data.draw(neighbours(found.schema))
        assert loss(*(probabilities(table, plan_of(found), epsilon) for table in (one, other))) <= epsilon

    private()


def check_blocks(plan, one, other, epsilon):
    (lists, ways), (other_lists, other_ways) = (released(table, plan, epsilon) for table in (one, other))
    assert loss(ways, other_ways) <= epsilon
    assert loss(*({x: np.log(p) for x, p in part.items()} for part in (lists, other_lists))) <= epsilon


@pytest.mark.parametrize("plan", [PLANS["one and one"], PLANS["three classes"]], ids=["one and one", "three classes"])
def test_one_row_where_no_row_was_changes_no_list_in_blocks_by_more_than_epsilon(plan):
    table = some_rows(plan.candidates.schema)
    check_blocks(plan, table, table.plus(all_worlds(table.schema)[-1], 1), Fraction(1, 2))


@pytest.mark.parametrize("examples", [8, pytest.param(60, marks=pytest.mark.slow)])
def test_one_row_changes_no_list_in_blocks_by_more_than_epsilon(examples):
    """Of what is released, and of everything that is drawn on the way."""

    @settings(max_examples=examples)
    @given(list_plans(300), st.data(), st.sampled_from(EPSILONS))
    def private(plan, data, epsilon):
        check_blocks(plan, *data.draw(neighbours(plan.candidates.schema)), epsilon)

    private()


CLEAR = Table(TWO, (((0, 0), 0, 40), ((1, 0), 1, 40)))
CASES = [
    (CLEAR, ((0, 0), 1)),  # a row against the majority: nearly all of epsilon is used
    (CLEAR, ((1, 2), 0)),  # a row where no row was
    (Table(TWO, ()), ((0, 1), 1)),
]


@pytest.mark.parametrize("found", [Models(list_space(TWO), 2), Models(Space.of_trees(TWO), 2)], ids=["lists", "trees"])
def test_most_of_epsilon_is_used(found):
    """So that the tests of privacy have power: the largest loss of these neighbours is above 0.8 of epsilon."""
    epsilon = Fraction(1)
    losses = [loss(*(probabilities(t, plan_of(found), epsilon) for t in (one, one.plus(*row)))) for one, row in CASES]
    assert 0.8 * epsilon < max(losses) <= epsilon


@pytest.mark.parametrize("found", [Models(list_space(TWO), 2), Models(Space.of_trees(TWO), 2)], ids=["lists", "trees"])
def test_a_weight_30_percent_above_epsilon_is_caught(monkeypatch, found):
    reweighted(monkeypatch, Fraction(13, 10))
    epsilon = Fraction(1)
    losses = [loss(*(probabilities(t, plan_of(found), epsilon) for t in (one, one.plus(*row)))) for one, row in CASES]
    assert max(losses) > epsilon


@pytest.mark.parametrize("found", [Models(list_space(TWO), 2), Models(Space.of_trees(TWO), 2)], ids=["lists", "trees"])
def test_a_prior_that_counts_models_and_leaves_empty_states_out_is_caught(monkeypatch, found):
    """Every model weighs alike, and states without rows are not visited: one row there makes many models possible."""

    def counting(weight, stop_probability):
        nothing = {"stop": lambda n: np.zeros(len(n)), "go": lambda n: np.zeros(len(n))}
        return replace(all_models(weight, stop_probability), **nothing)

    monkeypatch.setattr(exact, "all_models", counting)
    one, row = CASES[1]
    assert loss(*(probabilities(t, plan_of(found), Fraction(1)) for t in (one, one.plus(*row)))) > 1


@pytest.mark.parametrize("found", [Models(list_space(TWO), 2), Models(Space.of_trees(TWO), 2)], ids=["lists", "trees"])
def test_options_that_are_open_only_where_they_divide_rows_are_caught(monkeypatch, found):
    monkeypatch.setattr(exact, "Search", lambda *parts: Search(*parts, min_rows=1.0))
    one, row = CASES[1]
    with pytest.raises(AssertionError, match="keys"):  # the neighbour has models that the table has not
        loss(*(probabilities(t, plan_of(found), Fraction(1)) for t in (one, one.plus(*row))))


@given(st.data(), st.sampled_from([schema_of(Boolean(), Categorical(("a", "b"), missing="bin")), TWO]))
def test_samplers_are_as_far_apart_as_their_tables(data, schema):
    one, other = data.draw(neighbours(schema))
    plan = Draw(Space.of_trees(schema), 0, 0.5)
    first, second = (ModelSampler(table.tally, plan, [], quiet) for table in (one, other))
    mechanism = plan.mechanism(Fraction(1))
    assert mechanism.distance(first, second) == mechanism.distance(second, first) == 1 == mechanism.sensitivity
    assert mechanism.distance(first, first) == 0
    moved = Table(schema, other.rows[1:])
    if one.rows and other.rows[0] != other.rows[-1]:
        assert ModelSampler(moved.tally, plan, [], quiet).distance(first) == np.inf


# Before anything is charged


def test_the_states_are_there_before_the_charge_and_the_charge_before_the_rows(monkeypatch):
    log = []

    class Diary(hr.Budget):
        def charge(self, *args, **kwargs):
            super().charge(*args, **kwargs)
            log.append("charge")

    def noting(owner, name, word):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, **k: (log.append(word), real(*a, **k))[1])

    noting(exact, "exhaustive_levels", "states")
    noting(Draw, "mechanism", "mechanism")
    noting(Tally, "total", "rows")
    noting(Tally, "patterns", "rows")
    gate = Gate(Diary(1), SeededNoise(np.random.default_rng(0)))
    draw_model(MIXED_ROWS.tally, plan_of(KINDS[0]), gate, Fraction(1), "a draw", quiet)
    assert [one for one, _ in pairwise([*log, ""]) if one != "rows"] == ["states", "mechanism", "charge"]
    assert log[3:] == ["rows", "rows"]


@pytest.mark.parametrize("owner", [exact, Draw])
def test_a_draw_that_cannot_be_prepared_costs_nothing(monkeypatch, owner):
    def failing(*_):
        raise MemoryError("no room for states")

    monkeypatch.setattr(owner, "exhaustive_levels" if owner is exact else "mechanism", failing)
    for method in ("total", "patterns"):
        monkeypatch.setattr(Tally, method, lambda *_: pytest.fail("rows were touched"))
    gate = Gate(hr.Budget(1), SecureNoise())
    with pytest.raises(MemoryError, match="no room"):
        draw_model(MIXED_ROWS.tally, plan_of(KINDS[0]), gate, Fraction(1), "a draw", quiet)
    assert gate.budget.spent == 0


@pytest.mark.parametrize("blocks", [(3,), (1, 1, 1), (2, 1)])
def test_blocks_are_charged_equal_shares_that_add_up_exactly(blocks):
    plan, epsilon = ListDraw(Candidates.of(TWO, 1), blocks, 0.5), Fraction(1, 7)
    budget = hr.Budget(epsilon)
    draw_list(MIXED_ROWS.tally, plan, Gate(budget, SeededNoise(np.random.default_rng(1))), epsilon, quiet)
    assert [charge.epsilon for charge in budget.charges] == [epsilon / len(blocks)] * len(blocks)
    assert budget.remaining == 0
    assert all(charge.purpose.startswith("draw of up to") for charge in budget.charges)


def test_a_budget_that_is_too_small_for_all_blocks_ends_the_draw():
    plan = ListDraw(Candidates.of(TWO, 1), (1, 1), 0.5)
    gate = Gate(hr.Budget(Fraction(3, 4)), SeededNoise(np.random.default_rng(1)))
    with pytest.raises(BudgetExceededError, match="Nothing was charged"):
        draw_list(MIXED_ROWS.tally, plan, gate, Fraction(1), quiet)
    assert gate.budget.spent == Fraction(1, 2)


WIDE = schema_of(*[Boolean()] * 6, Integer(0, 9, (3, 5)), classes=2)


@pytest.fixture
def untouched(monkeypatch):
    """A table whose rows must not be counted."""
    monkeypatch.setattr(Tally, "count", lambda *_: pytest.fail("rows were touched"))
    X = np.array([[i >> k & 1 for k in range(6)] + [i % 10] for i in range(60)])
    return X, X[:, 0]


def learners(epsilon, budget, **given):
    yield hr.PrivateRuleListClassifier(epsilon, search="exact", schema=WIDE, budget=budget, **given)
    yield hr.PrivateRuleListClassifier(epsilon, search="exact", lookahead=2, schema=WIDE, budget=budget, **given)
    yield hr.PrivateTreeClassifier(epsilon, schema=WIDE, budget=budget, **given)


@pytest.mark.parametrize("release_counts", [False, True])
def test_an_epsilon_too_small_leaves_a_shared_budget_unspent_and_the_rows_uncounted(untouched, release_counts):
    budget = hr.Budget(1)
    for learner in learners(1e-13, budget, release_counts=release_counts):
        with pytest.raises(ValueError, match=r"epsilon for one (draw|release) must be >"):
            learner.fit(*untouched)
    assert budget.charges == ()


def test_a_search_too_large_leaves_a_shared_budget_unspent_and_the_rows_uncounted(untouched, monkeypatch):
    monkeypatch.setattr(cost, "MOST_STATES", 10)
    budget = hr.Budget(1)
    for learner in learners(0.5, budget):
        with pytest.raises(SearchTooLargeError, match=r"at most .* 10 states"):
            learner.fit(*untouched)
    assert budget.charges == ()


def test_a_draw_takes_tables_of_fewer_than_two_to_the_32_rows(monkeypatch):
    plan = plan_of(Models(list_space(TWO, negations=False), 1))
    most = Table(TWO, (((0, 0), 0, 2**31), ((1, 1), 1, 2**31 - 1)))
    draw(most, plan, Fraction(1), SeededNoise(np.random.default_rng(0)))
    monkeypatch.setattr(Tally, "patterns", lambda *_: pytest.fail("rows were looked at"))
    with pytest.raises(OverflowError, match=r"fewer than 2\^32 rows"):
        draw(most.plus((0, 0), 1), plan, Fraction(1), SeededNoise(np.random.default_rng(0)))


# Trees without what says nothing


def nodes(model):
    yield model
    if isinstance(model, Take):
        yield from nodes(model.caught)
        yield from nodes(model.left)


@given(models(150), st.data())
def test_a_simplified_model_predicts_the_same_and_has_no_option_with_twice_the_same_label(found, data):
    model = data.draw(st.sampled_from(list(found.priors)))
    short = simplified(model)
    assert all(found.predict(short, world) == found.predict(model, world) for world in found.worlds)
    for node in nodes(short):
        assert not (isinstance(node, Take) and isinstance(node.caught, Stop) and node.caught == node.left)
    assert simplified(short) == short


@pytest.mark.parametrize(
    ("space", "depth", "leaves"),
    [(list_space(TWO), 3, 4), (Space.of_trees(TWO), 3, 8), (list_space(TWO), 0, 1), (Space.of_trees(TWO), 0, 1)],
)
def test_the_mechanism_of_a_plan_knows_how_large_the_search_is(monkeypatch, space, depth, leaves):
    seen, real = [], exact.Rounding
    monkeypatch.setattr(exact, "Rounding", lambda *size: seen.append(size) or real(*size))
    mechanism = Draw(space, depth, 0.25).mechanism(Fraction(1, 2))
    assert seen == [(depth, leaves, space.n_options, 2, 0.25)]
    assert isinstance(mechanism, ModelDraw)
    assert mechanism.epsilon == Fraction(1, 2)
    assert mechanism.weight == real(*seen[0]).weight(Fraction(1, 2))
