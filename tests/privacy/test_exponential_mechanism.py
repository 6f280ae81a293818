"""Rounding on the way to a draw, against 60 digits; and the draws themselves, against their exact probabilities."""

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.cubes import Cubes
from hedgerow.learn.search.lattice import Masks, PatternMatrix, Search, exhaustive_levels
from hedgerow.learn.search.losses import OBJECTIVES, Loss
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.semirings import LastChoice, all_models
from hedgerow.learn.search.space import CAUGHT, Space
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, ModelDraw, Rounding, check_functions
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean, Categorical
from tests.learn.draws import plan_of
from tests.learn.enumerate_models import (
    PRECISE,
    Models,
    Table,
    all_worlds,
    coarse_grid,
    constant,
    decimal,
    exact_chance,
    executions,
    list_space,
    log_sum,
    models,
    schema_of,
    tables,
)
from tests.learn.objectives import ALL_OBJECTIVES, objective_of
from tests.privacy.chances import p_value

SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(11))]
EPSILONS = [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(10)]
SIZES = [8, pytest.param(300, marks=pytest.mark.slow)]

DEEP = StopPrior(0.0, 3.0)
PRIORS = [*map(constant, (1e-9, 0.1, 0.5, 0.9, 1 - 1e-9)), StopPrior(-2.0, 3.0), StopPrior(-1.0, 1e9, 0.5, 3)]

sizes = st.builds(
    Rounding,
    depth=st.integers(0, 12),
    leaves=st.integers(1, 256),
    options=st.integers(0, 10_000),
    values=st.integers(2, 256),
    prior=st.sampled_from(
        [*map(constant, (1e-9, 0.1, 0.5, 0.9, 1 - 1e-9)), StopPrior(-2.0, 3.0), StopPrior(-1.0, 1e9, 0.5, 3)]
    ),
    steps=st.sampled_from([1, 64, 1024]),
    siblings=st.sampled_from([1, 2, 1024]),
)
epsilons = st.fractions(Fraction(1, 10**4), 10**5)  # above what rounding takes half of


# What is kept for rounding is enough


@st.composite
def large(draw, schema):
    """A table of up to 2^31 rows: few patterns with counts of any size, also with hardly any difference."""
    few = draw(tables(schema, 6))
    most = 2**31 // max(len(few.rows), 1) - 1
    count = st.one_of(st.integers(1, 3), st.integers(1, most), st.integers(most - 3, most))
    return replace(few, rows=tuple((cells, label, draw(count)) for cells, label, _ in few.rows))


def searches(found, table, weight):
    """Yield the searches of a table, by masks and, where states are boxes, by contingency tables."""
    loss, levels = found.row_loss, exhaustive_levels(found.space, found.depth)
    semiring = all_models(float(weight), found.stop_prior, loss if loss.draws_probabilities else None)
    yield Masks(Search(PatternMatrix(table.tally, found.space), levels, semiring), range(found.depth + 1))
    if found.space.has_boxes and found.depth:
        yield Cubes(table.tally, Boxes.of(found.space, found.depth), semiring)


def worst_rounding(found, table, weight):
    """The largest error of any model's log-probability as computed, in nats."""
    loss, exactly = found.row_loss, found.log_probabilities(table, weight)

    def draws(searched):
        def value(choose):
            return lambda counts: choose(-(float(weight) / loss.steps) * loss.totals(counts))

        return executions(lambda choose: searched.walk(found.depth, choose, value(choose)))

    return max(
        abs(PRECISE.subtract(exact_chance(path), exactly[model]))
        for searched in searches(found, table, weight)
        for model, path in draws(searched)
    )


def worst_rounding_of_sizes(found, table, weight):
    """The largest error of the log-probability of any size, in nats, if all sizes have the same prior."""
    sizes = found.sizes
    exactly = [log_sum(replace(found, depth=size).log_weights(table, weight).values()) for size in sizes]
    exactly = [PRECISE.subtract(search, log_sum(exactly)) for search in exactly]
    return max(
        abs(PRECISE.subtract(exact_chance([(np.array([search.total(size) for size in sizes]), place)]), exactly[place]))
        for search in searches(found, table, weight)
        for place in range(len(sizes))
    )


def room(value):
    return Decimal(float(value)) * Decimal(2) ** -53


def reserved(mechanism):
    return decimal(mechanism.epsilon - mechanism.weight)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("examples", SIZES)
def test_rounding_of_two_tables_is_within_its_allowance(examples, objective):
    """Of every model, on tables of up to 2^31 rows, against 60 digits."""

    @settings(max_examples=examples)
    @given(models(60, objective), st.data(), st.sampled_from(EPSILONS))
    def within(found, data, epsilon):
        mechanism = plan_of(found).mechanism(epsilon)
        item, other = data.draw(large(found.schema)), data.draw(large(found.schema))
        together = sum(
            worst_rounding(found, table, mechanism.weight) + worst_rounding_of_sizes(found, table, mechanism.weight)
            for table in (item, other)
        )
        assert together <= reserved(mechanism)

    with coarse_grid():
        within()


def counts_up_to(most):
    return st.one_of(st.integers(0, 3), st.integers(0, most), st.integers(most - 9, most))


counts_of_leaves = counts_up_to(2**31 - 1)


@given(st.sampled_from(ALL_OBJECTIVES), st.data(), st.sampled_from([2, 3, 20]), st.sampled_from(EPSILONS))
def test_a_leaf_rounds_its_rows_once(objective, data, classes, epsilon):
    """Of docs/mathematics.md, Leaves: ``w·n + v + 8 + 8·ln v``, and of differences ``w·d/2 + 11``."""
    counts = data.draw(st.lists(counts_up_to((2**32 - 1) // classes), min_size=classes, max_size=classes))
    loss = Loss.of(objective_of(objective, classes), classes)
    v, weight = len(loss.values), Rounding(3, 8, 40, 2, constant(0.1), loss.steps).weight(epsilon)
    semiring = all_models(float(weight), constant(0.1), None if loss.is_errors else loss)
    losses = [PRECISE.multiply(decimal(-weight / loss.steps), Decimal(int(x))) for x in loss.totals(np.array(counts))]
    expected = PRECISE.subtract(log_sum(losses), PRECISE.ln(Decimal(v)))
    result = semiring.leaf(np.array(counts, dtype=float)[:, None])[0]
    assert abs(PRECISE.subtract(Decimal(result), expected)) <= room(float(weight) * sum(counts) + v + 8 + 8 * np.log(v))
    if semiring.spread is not None:
        half = PRECISE.multiply(decimal(weight / 2), Decimal(abs(counts[0] - counts[1])))
        expected = PRECISE.subtract(log_sum([half, -half]), PRECISE.ln(Decimal(2)))
        result = semiring.spread(np.array([abs(counts[0] - counts[1])], dtype=float))[0]
        assert abs(PRECISE.subtract(Decimal(result), expected)) <= room(float(half) + 11)


@settings(max_examples=7 * settings.default.max_examples)
@given(st.data(), st.integers(0, 60), st.sampled_from([1.0, 40.0, 3000.0, 2.0**33]))
def test_a_sum_rounds_its_largest_distance_and_its_length(data, k, size):
    """Of docs/mathematics.md, Sums: of terms as they are given, ``|distance| + |sum| + k + 9 + 8·ln(k + 1)``."""
    near = st.floats(-1, 1).map(lambda x: x - size)
    terms = data.draw(st.lists(st.one_of(near, st.floats(-size, 0)), min_size=k + 1, max_size=k + 1))
    first, others = np.array(terms[:1]), np.array(terms[1:])
    result = all_models(1.0, constant(0.5)).plus(first, others[None], np.ones(k))[0]
    expected = log_sum([Decimal(x) for x in terms])
    allowed = room(max(terms) - min(terms) + abs(result) + k + 9 + 8 * np.log(k + 1))
    assert abs(PRECISE.subtract(Decimal(result), expected)) <= allowed


@settings(max_examples=7 * settings.default.max_examples)
@given(st.data(), st.tuples(counts_of_leaves, counts_of_leaves), st.integers(0, 5), st.sampled_from(EPSILONS))
def test_a_last_choice_by_differences_rounds_four_and_a_half_times(data, total, k, epsilon):
    """Of docs/mathematics.md, States, with one choice left: against the leaves of every option, as counted."""
    size, n = Rounding(1, 2, k, 2, constant(0.25)), sum(total)
    weight = size.weight(epsilon)
    caught = [[data.draw(st.integers(0, rows)) for rows in total] for _ in range(k)]

    def leaf(one, other):
        errors = [PRECISE.multiply(decimal(-weight), Decimal(rows)) for rows in (one, other)]
        return PRECISE.subtract(log_sum(errors), PRECISE.ln(Decimal(2)))

    stop, go = (Decimal("0.25"), Decimal("0.75") / k) if k else (Decimal(1), Decimal(1))
    with localcontext(PRECISE):
        options = [leaf(*one) + leaf(*np.subtract(total, one).tolist()) + go.ln() for one in caught]
        expected = log_sum([leaf(*total) + stop.ln(), *options])
    differences = np.array([abs((2 * a - total[0]) - (2 * b - total[1])) for a, b in caught], dtype=float)[None]
    last = LastChoice.of(all_models(float(weight), constant(0.25)), np.array(total, dtype=float), 0)
    result = last.values(np.array(total, dtype=float)[:, None], np.array([k]), differences, np.ones(k))[0]
    allowed = room(4.5 * float(weight) * n + size.constant)
    assert abs(PRECISE.subtract(Decimal(result), expected)) <= allowed


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("examples", SIZES)
def test_a_state_rounds_its_rows_five_times_a_level_and_once_more(examples, objective):
    """Of docs/mathematics.md, States: ``(5j + 1)·w·n + l·c``, by masks and by contingency tables, for every depth."""

    @settings(max_examples=examples)
    @given(models(60, objective), st.data(), st.sampled_from(EPSILONS))
    def within(found, data, epsilon):
        table, plan = data.draw(large(found.schema)), plan_of(found)
        weight, rows = plan.mechanism(epsilon).weight, sum(times for *_, times in table.rows)
        for size in found.sizes:
            leaves = 2**size if CAUGHT in found.space.branches else size + 1
            size_of = Rounding(size, leaves, found.space.n_options, len(found.row_loss.values), plan.prior)
            expected = log_sum(replace(found, depth=size).log_weights(table, weight).values())
            allowed = room(float(weight) * rows * (5 * size + 1) + leaves * size_of.constant)
            for searched in searches(found, table, weight):
                off = abs(PRECISE.subtract(Decimal(searched.total(size)), expected))
                assert off <= allowed

    with coarse_grid():
        within()


@pytest.mark.slow
def test_rounding_is_real_and_grows_with_the_rows():
    """So that the test above has power: a ten-thousandth of what is kept would not be enough."""
    schema = schema_of(Boolean(), Categorical(("a", "b", "c")))
    result = Models(Space.of_trees(schema), 2)
    mechanism = Draw(result.space, 2, constant(0.5)).mechanism(Fraction(10))
    few = Table(schema, tuple((world, i % 2, 3 * i + 1) for i, world in enumerate(all_worlds(schema))))
    many = replace(few, rows=tuple((cells, label, times * 2**25 + 7) for cells, label, times in few.rows))
    small, big = (worst_rounding(result, table, mechanism.weight) for table in (few, many))
    assert big > 1000 * small
    assert reserved(mechanism) / 10**4 < big < reserved(mechanism)
    assert small > 0


@settings(max_examples=3 * settings.default.max_examples)
@given(st.sampled_from(OBJECTIVES).flatmap(lambda objective: models(60, objective)), st.data())
def test_the_log_weights_of_values_are_exact_products(found, data):
    """What the few digits of a weight are for."""
    table, plan, loss = data.draw(large(found.schema)), plan_of(found), found.row_loss
    weight = plan.mechanism(Fraction(10)).weight
    offered = []

    def choose(log_weights):
        offered.append(log_weights)
        return 0  # the first choice is to stop wherever there is one

    ModelSampler(table.tally, plan, exhaustive_levels(plan.space, plan.depth), lambda _: None).sample(
        float(weight), choose
    )
    losses = [sum(times * loss.table[y][v] for _, y, times in table.rows) for v in range(len(loss.values))]
    expected = [-weight * total / loss.steps for total in losses]
    assert [Fraction(float(value)) for value in offered[-1]] == expected


# The weight


@given(sizes, epsilons)
def test_the_weight_is_below_epsilon_and_has_few_binary_digits(size, epsilon):
    weight = size.weight(epsilon)
    assert 0 < weight < epsilon
    numerator, denominator = weight.numerator, weight.denominator
    assert denominator & (denominator - 1) == 0  # a power of two
    while numerator % 2 == 0:
        numerator //= 2
    assert numerator.bit_length() <= 21 - size.steps.bit_length()
    assert Fraction(float(weight)) == weight


@given(sizes, epsilons, st.one_of(st.integers(0, MOST_ROWS - 1), st.integers(MOST_ROWS - 1000, MOST_ROWS - 1)))
def test_the_weight_times_any_loss_of_so_many_rows_is_exact(size, epsilon, rows):
    weight, losses = size.weight(epsilon), [rows * size.steps, max(rows * size.steps - 1, 0), rows]
    for loss in losses:
        assert Fraction(float(weight) / size.steps * float(loss)) == weight / size.steps * loss


@given(sizes, epsilons)
def test_hardly_anything_is_kept_beyond_what_the_bound_asks_for(size, epsilon):
    """The formula of the docstring, and at most steps·2^-19 of the weight for its few digits."""
    d, leaves, weight = size.depth, size.leaves, size.weight(epsilon)
    unit = Fraction(1, 2**53)
    odds = [size.prior.log_odds(depth) for depth in range(max(d, 1))]
    stop, go = (max(max(x, 0) + math.log1p(math.exp(-abs(x))) for x in each) for each in ([-x for x in odds], odds))
    prior = math.log(max(size.options, 1)) + stop + go
    fixed = Fraction(24 * prior + 8 * math.log(size.values) + size.options + size.values + 50)
    grows, each = (4 * unit * (d + 1) * part for part in ((5 * d + 1) * weight * MOST_ROWS, leaves * size.siblings))
    assert epsilon - weight >= grows + each * fixed * (1 - Fraction(1, 10**9))
    kept = grows + each * (fixed + 2)
    last = Fraction(size.steps, 2**19)
    assert epsilon - weight <= (kept + weight * last) * (1 + 2 * last)


@given(sizes)
def test_an_epsilon_of_which_rounding_would_take_half_is_refused(size):
    """The limit is found by halving; just above it, half is left for the weight but for what grows with the rows."""
    low, high = Fraction(1, 10**20), Fraction(1)
    for _ in range(90):
        middle = (low + high) / 2
        try:
            size.weight(middle)
        except ValueError:
            low = middle
        else:
            high = middle
    with pytest.raises(ValueError, match="epsilon for one draw must be > "):
        size.weight(low)
    grows = 1 + 4 * Fraction((size.depth + 1) * (5 * size.depth + 1) * MOST_ROWS, 2**53)
    assert size.weight(high) * grows == pytest.approx(high / 2, rel=1e-5 * size.steps)


def test_a_tiny_epsilon_is_refused_in_words():
    with pytest.raises(ValueError, match=r"epsilon .*> \S+, got 1e-14"):
        Rounding(4, 5, 40, 2, constant(0.5)).weight(Fraction(1, 10**14))


@pytest.mark.parametrize(
    "change",
    [
        {"depth": 5},
        {"leaves": 50},
        {"options": 10**6},
        {"values": 10**5},
        {"prior": constant(1e-9)},
        {"prior": StopPrior(0.0, 3.0)},
        {"siblings": 64},
    ],
)
def test_larger_searches_keep_more(change):
    size = Rounding(4, 5, 40, 2, constant(0.5))
    epsilon = Fraction(1, 10**7)
    assert replace(size, **change).weight(epsilon) < size.weight(epsilon)


@pytest.mark.parametrize("epsilon", [2**40, 10**305])
def test_log_weights_do_not_overflow_however_large_epsilon_is(epsilon):
    """A weight of 10^305 times a million rows would not be a number, and the draw fail where there are many rows."""
    schema = schema_of(Boolean(), Boolean())
    table = Table(schema, tuple((world, i % 2, 2**29) for i, world in enumerate(all_worlds(schema))))
    plan = Draw(Space.of_trees(schema), 2, constant(0.5))
    mechanism = plan.mechanism(Fraction(epsilon))
    assert 0 < mechanism.weight < mechanism.epsilon == epsilon
    sampler = ModelSampler(table.tally, plan, exhaustive_levels(plan.space, plan.depth), lambda _: None)
    for source in SOURCES:
        result = source.prepare(mechanism)(sampler)
        assert Models(plan.space, 2).loss(result, table) == 0  # x1 says the class


@pytest.mark.parametrize("stop", [5e-324, 1e-300, math.nextafter(1.0, 0.0)])
def test_any_chance_to_stop_between_0_and_1_has_a_weight(stop):
    assert 0.999 < Rounding(2, 3, 10, 2, constant(stop)).weight(Fraction(1)) < 1


# The functions of NumPy that the bound relies on


def ulps(found, exactly):
    """Return the largest error in units in the last place of the correctly rounded value."""
    worst = 0
    for value, right in zip(found.tolist(), exactly, strict=True):
        place = Decimal(math.ulp(float(right)))
        worst = max(worst, abs(Decimal(value) - right) / place)
    return float(worst)


@pytest.mark.parametrize("n", [3000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_numpys_exp_is_within_four_units_in_the_last_place(n):
    """Wherever its value is a normal number, whatever the length of the array: vector instructions have remainders."""
    rng = np.random.default_rng(5)
    grid = np.concatenate(
        [-np.linspace(0, 708, n // 3), -rng.exponential(1, n // 3), -(2.0 ** rng.uniform(-60, 9, n // 3))]
    )
    for size in (1, 2, 3, 5, 8, len(grid)):
        part = grid[:size] if size == len(grid) else grid[rng.integers(len(grid), size=size)]
        assert ulps(np.exp(part), [PRECISE.exp(Decimal(x)) for x in part.tolist()]) <= 4


@pytest.mark.parametrize("n", [3000, pytest.param(50_000, marks=pytest.mark.slow)])
def test_numpys_log_is_within_four_units_in_the_last_place(n):
    """Of shares below one, of sums up to the number of options, and close to one."""
    rng = np.random.default_rng(6)
    grid = np.concatenate(
        [
            np.linspace(1 / n, 1, n // 4),
            rng.uniform(1, 10_001, n // 4),
            1 + 2.0 ** rng.uniform(-52, -1, n // 4),
            1 - 2.0 ** rng.uniform(-53, -1, n // 4),
            np.arange(1, n // 4),
        ]
    )
    for size in (1, 2, 3, 5, 8, len(grid)):
        part = grid[:size] if size == len(grid) else grid[rng.integers(len(grid), size=size)]
        part = part[part != 1]
        assert ulps(np.log(part), [PRECISE.ln(Decimal(x)) for x in part.tolist()]) <= 4
    assert np.log(1.0) == 0


def off_at(real, where):
    """Return a function that is eight units in the last place off at some places of an array, or of some numbers."""

    def coarse(values):
        result = np.array(real(values))
        chosen = where(np.asarray(values))
        result.flat[chosen] += 8 * np.spacing(np.abs(result.flat[chosen]))
        return result

    return coarse


PLACES = {
    "everywhere": lambda size: slice(size),
    "at the end of an array": lambda size: slice(size - 1, size),
    "in the unrolled part of a long one": lambda size: slice(size - size % 128),
}


@pytest.mark.parametrize("name", ["exp", "log"])
@pytest.mark.parametrize("place", PLACES)
def test_a_function_that_is_less_accurate_is_refused_before_the_charge(monkeypatch, name, place):
    """Of all numbers, or where other instructions may compute them."""
    check_functions.cache_clear()
    monkeypatch.setattr(np, name, off_at(getattr(np, name), lambda values: PLACES[place](values.size)))
    budget = hr.Budget(2)
    clf = hr.PrivateTreeClassifier(1.0, max_depth=1, schema=None, budget=budget)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"4 units .* search='greedy'"):
            clf.fit(np.eye(2, dtype=int), [0, 1])
    assert budget.spent == 0
    monkeypatch.undo()
    clf.fit(np.eye(2, dtype=int), [0, 1])


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("exp", -high, -low) for low, high in pairwise((0.004, 0.03, 0.1, 0.4, 1, 2, 4, 7, 12, 20, 28, 40))]
    + [("exp", low, high) for low, high in pairwise((0.004, 0.1, 0.4, 1, 4, 12, 28, 64))]
    + [
        ("log", low, high)
        for low, high in pairwise((0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999, 1.001, 1.1, 1.4, 2, 7, 99, 999))
    ],
)
def test_a_function_that_is_inaccurate_at_some_numbers_is_refused(monkeypatch, name, low, high):
    """Exponentials of less than -40 are lost in the 1 that they are added to; those of up to 64 are tabulated.

    Logarithms are of sums of as many terms as there are options.
    """
    check_functions.cache_clear()
    monkeypatch.setattr(
        np, name, off_at(getattr(np, name), lambda values: np.flatnonzero((low < values) & (values < high)))
    )
    with pytest.raises(RuntimeError, match="within 4 units in the last place"):
        check_functions()
    monkeypatch.undo()
    check_functions()


@pytest.mark.parametrize("prior", [*map(constant, (1e-9, 0.1, 0.5, 0.75, 0.9, 1 - 1e-9)), StopPrior(-2.0, 1.0, 0.5, 4)])
@pytest.mark.parametrize("depth", [0, 2])
def test_the_logarithms_of_the_prior_are_rounded_once(prior, depth):
    semiring, item, odds = all_models(1.0, prior), np.array([1]), Decimal(prior.log_odds(depth))
    assert ulps(semiring.stop(item, depth), [-PRECISE.ln(1 + PRECISE.exp(-odds))]) <= 0.5
    assert ulps(semiring.go(item, depth), [-PRECISE.ln(1 + PRECISE.exp(odds))]) <= 0.5


# The draws


class OneChoice:
    """A sampler of one choice, whose log-weights are the weight times these."""

    def __init__(self, log_weights):
        self.log_weights = np.array(log_weights, dtype=float)

    def sample(self, weight, choose):
        return choose(weight * self.log_weights)

    def distance(self, other):
        return float(np.abs(self.log_weights - other.log_weights).max())


def softmax(log_weights):
    chances = np.exp(np.array(log_weights) - max(log_weights))
    return chances / chances.sum()


DRAWS = [8000, pytest.param(100_000, marks=pytest.mark.slow)]
LOG_WEIGHTS = [[0.0, -1.0, -0.3, -2.5, -40.0], [-4e9, -4e9 - 1, -4e9 - 0.25, -4e9 - 3]]


@pytest.mark.statistics
@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("source", SOURCES, ids=["secure", "seeded"])
@pytest.mark.parametrize("log_weights", LOG_WEIGHTS, ids=["small", "of many rows"])
def test_choices_are_drawn_with_exact_probabilities_of_their_log_weights(log_weights, source, draws):
    """False-alarm rate 1e-9; the test rejects log-weights 30 % too small or too large."""
    run = source.prepare(ModelDraw(Fraction(3, 2), Fraction(1)))
    counts = np.bincount([run(OneChoice(log_weights)) for _ in range(draws)], minlength=len(log_weights))
    assert p_value(counts, softmax(log_weights)) > 1e-9
    gaps = np.array(log_weights) - max(log_weights)
    for factor in (0.7, 1.3):
        assert p_value(counts, softmax(factor * gaps)) < 1e-9


@pytest.mark.parametrize("source", SOURCES, ids=["secure", "seeded"])
def test_the_cost_of_an_error_is_the_weight_and_not_epsilon(source):
    run = source.prepare(ModelDraw(Fraction(100), Fraction(1, 2)))
    counts = np.bincount([run(OneChoice([0.0, -2.0])) for _ in range(3000)], minlength=2)
    assert p_value(counts, softmax([0.0, -1.0])) > 1e-9
    assert p_value(counts, softmax([0.0, -2.0])) < 1e-9


@pytest.mark.statistics
def test_two_log_weights_are_drawn_as_measured():
    """P = .731 for log-weights 0 and 1 (the design's measurement): Gumbel noise; permute-and-flip would have .816."""
    run = SecureNoise().prepare(ModelDraw(Fraction(1), Fraction(1)))
    counts = np.bincount([run(OneChoice([1.0, 0.0])) for _ in range(4000)], minlength=2)
    assert p_value(counts, [0.731, 0.269]) > 1e-9
    assert p_value(counts, [0.816, 0.184]) < 1e-9


def test_a_draw_says_what_it_is_and_what_is_kept_for_rounding():
    mechanism = Draw(list_space(schema_of(Boolean())), 2, constant(0.5)).mechanism(Fraction(1, 2))
    assert mechanism.sensitivity == 1
    assert mechanism.record.words.startswith("exponential mechanism over all models, weight exp(-0.499")
    assert mechanism.record.words.endswith(
        "sensitivity 1; epsilon reserved for rounding: 3.1e-05"
    )  # 1/2 - 262135/2^19 = 9/2^19
