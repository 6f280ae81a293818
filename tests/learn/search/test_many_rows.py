"""Draws from 2^32 to 2^42 rows, against 60 digits: losses are whole numbers beside logarithms of weights."""

from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import TooManyRowsError
from hedgerow.learn.search.boxes import Boxes
from hedgerow.learn.search.conjunctions import Outcomes
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.losses import OBJECTIVES, Loss
from hedgerow.learn.search.pairs import Pairs
from hedgerow.learn.search.sampler import Draw, ModelSampler
from hedgerow.learn.search.semirings import all_models_of_many_rows, choice_of_many_rows
from hedgerow.learn.search.space import Space
from hedgerow.privacy.exponential_mechanism import MOST_ROWS, MOST_WHOLE, Rounding, gumbel_choice, seeded_choice
from hedgerow.privacy.noise import SecureNoise
from hedgerow.privacy.stop_prior import StopPrior
from hedgerow.schema import Boolean
from tests.learn.draws import draw, plan_of, quiet
from tests.learn.enumerate_models import (
    PRECISE,
    Models,
    Table,
    coarse_grid,
    constant,
    decimal,
    executions,
    list_space,
    log_sum,
    models,
    schema_of,
    tables,
)
from tests.privacy.chances import p_value

SIZES = [8, pytest.param(200, marks=pytest.mark.slow)]
TWO = schema_of(Boolean(), Boolean())


@st.composite
def many(data, schema):
    """A table of 2^32 to 2^42 - 1 rows: few patterns, also with hardly any difference between counts."""
    few = data(tables(schema, 6))
    assume(few.rows)
    most = (MOST_WHOLE - 1) // len(few.rows)
    count = st.one_of(st.integers(1, 3), st.integers(1, most), st.integers(most - 3, most), st.integers(2**31, 2**33))
    table = replace(few, rows=tuple((cells, label, data(count)) for cells, label, _ in few.rows))
    assume(sum(times for _, _, times in table.rows) >= MOST_ROWS)
    return table


def drawn(sampler, weight):
    """Return the log-probability of every model, from what is offered at each choice, to 60 digits."""
    sampler._models, result = cache(sampler._models), {}

    def sample(choose):
        def exactly(whole, parts):
            assert whole.dtype == np.int64
            return choose(np.array([PRECISE.divide(Decimal(int(x)), Decimal(parts)) for x in whole]))

        return sampler.sample(float(weight), exactly)

    for model, draws in executions(sample):
        chances = [PRECISE.subtract(offered[place], log_sum(offered.tolist())) for offered, place in draws]
        result[model] = PRECISE.add(result.get(model, Decimal(0)), sum(chances))
    return result


def samplers(table, plan):
    """Yield a sampler for each way to search."""
    boxes = Boxes.of(plan.space, plan.depth) if plan.depth else None
    others = Pairs.of(plan.space, plan.depth), Outcomes.of(plan.space, plan.depth)
    for states in (exhaustive_levels(plan.space, plan.depth), boxes, *others):
        if states is not None:
            yield ModelSampler(table.tally, plan, states, quiet)


def worst(found, table, weight):
    exactly = found.log_probabilities(table, weight)
    errors = list[Decimal]()
    for sampler in samplers(table, plan_of(found)):
        chances = drawn(sampler, weight)
        assert chances.keys() == exactly.keys()
        errors += [abs(PRECISE.subtract(chances[model], exactly[model])) for model in exactly]
    return max(errors)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("examples", SIZES)
def test_rounding_of_a_table_is_within_half_of_what_is_kept_for_two(examples, objective):
    @settings(max_examples=examples)
    @given(models(60, objective), st.data(), st.sampled_from([Fraction(1, 1000), Fraction(1), Fraction(100)]))
    def within(found, data, epsilon):
        plan = plan_of(found)
        mechanism, table = plan.mechanism(epsilon), data.draw(many(found.schema))
        assert plan.rounding.max_rows(float(mechanism.weight)) == MOST_WHOLE
        assert 2 * worst(found, table, mechanism.weight) <= decimal(epsilon - mechanism.weight)

    with coarse_grid():
        within()


@pytest.mark.parametrize("space", [Space.of_trees(TWO), list_space(TWO)], ids=["trees", "lists"])
def test_the_error_of_equally_good_models_does_not_grow_with_the_rows(space):
    """By halves of 2^42 rows, and by a number that is no multiple of anything: far below what float64 could hold."""
    result, n = Models(space, 2, by_depth=StopPrior(-1.0, 0.5, 1.25)), MOST_WHOLE // 8 - 11
    rows = [((i // 2, i % 2), y, n + 3 * i - (-1) ** y * (i % 2 + 1)) for i in range(4) for y in range(2)]
    table, mechanism = Table(TWO, tuple(rows)), plan_of(result).mechanism(Fraction(1))
    assert worst(result, table, mechanism.weight) < 1e-10
    assert MOST_WHOLE * float(mechanism.weight) * 2**-53 > 1e-4  # one rounding of a whole log-weight


def test_sizes_are_drawn_as_by_the_same_prior():
    result, rows = Models(Space.of_trees(TWO), 2), (((0, 0), 0, 2**40), ((0, 1), 1, 2**40 - 5), ((1, 1), 1, 7))
    table, plan = Table(TWO, rows), replace(plan_of(result), draws_size=True)
    weight = plan.mechanism(Fraction(1, 2)).weight
    expected = {}
    for size in plan.sizes:
        for model, value in replace(result, depth=size).log_weights(table, weight).items():
            expected.setdefault(model, []).append(value)
    total = log_sum(value for values in expected.values() for value in values)
    for sampler in samplers(table, plan):
        sampler._models, ways = cache(sampler._models), {}
        for model, way in by_way(sampler, weight):
            ways.setdefault(model, []).append(way)
        for model, values in expected.items():
            assert abs(log_sum(ways[model]) - PRECISE.subtract(log_sum(values), total)) < 1e-5


def by_way(sampler, weight):
    def sample(choose):
        return sampler.sample(
            float(weight),
            lambda whole, parts: choose(np.array([PRECISE.divide(Decimal(int(x)), Decimal(parts)) for x in whole])),
        )

    for model, draws in executions(sample):
        yield model, sum(PRECISE.subtract(offered[place], log_sum(offered.tolist())) for offered, place in draws)


@given(st.integers(0, 10), st.integers(1, 2**20 - 1), st.integers(-30, 40), st.data())
def test_differences_of_loss_are_exact_and_numbers_fit_in_64_bits(steps, whole, places, data):
    """Of any loss below 2^42 rows in steps, any weight that is not refused, and logarithms down to -2^16."""
    steps = 2**steps
    share = Fraction(whole >> (steps.bit_length() - 1) or 1)
    weight = share * Fraction(2) ** (places - share.numerator.bit_length())
    assume(weight >= Fraction(1, 2**24))
    losses = data.draw(st.lists(st.integers(0, MOST_WHOLE * steps - 1), min_size=1, max_size=5))
    logs = data.draw(st.lists(st.floats(-(2.0**16), 0), min_size=len(losses), max_size=len(losses)))
    seen = []
    choice_of_many_rows(lambda *given: seen.append(given) or 0, float(weight), steps)(
        np.array(losses) + 1j * np.array(logs)
    )
    ((offered, parts),) = seen
    error = max(Fraction(1, 2**46), weight * max(max(losses) - min(losses), 1) / steps / 2**62)
    for item, loss, log in zip(offered, losses, logs, strict=True):
        exactly = Fraction(log) - weight * (loss - min(losses)) / steps
        assert abs(Fraction(int(item)) / Fraction(parts) - exactly) <= error
    plain = []
    choice_of_many_rows(lambda *given: plain.append(given) or 0, float(weight), steps)(np.array(losses) + 0j)
    for item, loss in zip(plain[0][0], losses, strict=True):
        assert Fraction(int(item)) / Fraction(plain[0][1]) == -weight * (loss - min(losses)) / steps


def test_neighbours_on_both_sides_of_the_limit_are_drawn_alike():
    """Of 2^32 - 1 rows logarithms are float64, of 2^32 they are not: both are within what is kept."""
    result = Models(Space.of_trees(TWO), 2)
    few = Table(TWO, (((0, 0), 0, 2**31), ((0, 1), 1, 2**30), ((1, 1), 0, 2**30 - 1)))
    plan = plan_of(result)
    mechanism = plan.mechanism(Fraction(1))
    item, other = (result.log_probabilities(table, mechanism.weight) for table in (few, few.plus((1, 1), 0)))
    own = next(samplers(few, plan))
    own._models, narrow = cache(own._models), {}
    for model, draws in executions(lambda choose: own.sample(float(mechanism.weight), choose)):
        parts = [[Decimal(float(x)) for x in offered] for offered, _ in draws]
        narrow[model] = sum(values[place] - log_sum(values) for values, (_, place) in zip(parts, draws, strict=True))
    wide = drawn(next(samplers(few.plus((1, 1), 0), plan)), mechanism.weight)
    assert max(abs(narrow[model] - wide[model]) for model in item) <= 1
    assert max(abs(wide[model] - other[model]) for model in other) < 1e-9


def test_secure_draws_compare_whole_numbers_of_64_bits_exactly():
    """Of these, as float64, the first two would be equal, and either be drawn."""
    choose, whole = gumbel_choice(), np.array([-(2**62) - 1, -(2**62), 1 - 2**63], dtype=np.int64)
    assert {choose(whole, 2.0**-7) for _ in range(30)} == {1}


@pytest.mark.parametrize("choose", [gumbel_choice(), seeded_choice(np.random.default_rng(3))], ids=["secure", "seeded"])
def test_whole_numbers_are_drawn_as_their_quotients_say(choose):
    parts, chances = 2.0**45, np.array([0.5, 0.3, 0.2])
    whole = np.append(np.rint(np.log(chances) * parts), -(2.0**62)).astype(np.int64)
    result = np.bincount([choose(whole, parts) for _ in range(2000)], minlength=4)
    assert result[3] == 0
    assert p_value(result[:3], chances) > 1e-7


def test_a_draw_refuses_from_two_to_the_42_rows_on(monkeypatch):
    plan = plan_of(Models(list_space(TWO, negations=False), 1))
    most = Table(TWO, (((0, 0), 0, 2**41), ((1, 1), 1, 2**41 - 1)))
    draw(most, plan, Fraction(1), SecureNoise())
    monkeypatch.setattr(hr.Tally, "patterns", lambda *_: pytest.fail("rows were looked at"))
    with pytest.raises(OverflowError, match="fewer than 4,398,046,511,104 rows"):
        draw(most.plus((0, 0), 1), plan, Fraction(1), SecureNoise())


def test_a_small_weight_or_a_large_search_keeps_the_limit_of_float64():
    small, large = Rounding(2, 3, 10, 2, constant(0.5)), Rounding(12, 4096, 1000, 2, constant(0.5))
    assert small.max_rows(1e-3) == MOST_WHOLE
    assert small.max_rows(1e-8) == large.max_rows(1.0) == MOST_ROWS
    assert replace(small, siblings=2**20).max_rows(1.0) == MOST_ROWS
    table = Table(TWO, (((0, 0), 0, 2**31), ((1, 1), 1, 2**31)))
    with pytest.raises(OverflowError, match="fewer than 4,294,967,296 rows"):
        draw(table, plan_of(Models(Space.of_trees(TWO), 1)), Fraction(1, 10**7), SecureNoise())


SMALL, WIDE = (hr.Schema({f"x{i}": hr.Boolean() for i in range(n)}, hr.Label("y", (0, 1))) for n in (3, 500))


@pytest.mark.parametrize(
    ("learner", "schema", "most"),
    [
        (hr.PrivateTreeClassifier(1, max_depth=2), SMALL, MOST_WHOLE),
        (hr.PrivateTreeClassifier(Fraction(1, 10**7), max_depth=2), SMALL, MOST_ROWS),
        (hr.PrivateTreeClassifier(1, max_depth=2, search="greedy"), SMALL, 2**43),
        (hr.PrivateTreeClassifier(1, max_depth=4), WIDE, MOST_WHOLE),
        (hr.PrivateTreeClassifier(1, max_depth=12), WIDE, MOST_ROWS),
        (hr.PrivateRuleListClassifier(Fraction(1, 10**6), max_rules=4), WIDE, MOST_ROWS),
        (hr.PrivateScorecardClassifier(1), SMALL, None),
    ],
)
def test_a_fit_says_beforehand_as_of_how_many_rows_it_refuses(learner, schema, most):
    """Drawn as a whole, greedy, with attributes chosen first (few of them are drawn to depth 12), and a scorecard."""
    assert learner.max_rows(schema) == most


WEIGHTED = replace(SMALL, weight=hr.Weight("w", 1, levels=100))
NUMBER = replace(SMALL, label=hr.Number("y", 0, 10))


@pytest.mark.parametrize(
    ("learner", "schema", "limit"),
    [
        (hr.PrivateTreeClassifier(1, max_depth=2), SMALL, MOST_WHOLE),
        (hr.PrivateTreeClassifier(Fraction(1, 10**7), max_depth=2), SMALL, MOST_ROWS),
        (hr.PrivateTreeClassifier(Fraction(1, 10**7), max_depth=2), WEIGHTED, MOST_ROWS),
        (hr.PrivateRuleListClassifier(1, max_rules=2), SMALL, MOST_WHOLE),
        (hr.PrivateTreeRegressor(Fraction(1, 10**7), max_depth=1), NUMBER, MOST_ROWS),
        (hr.PrivateTreeClassifier(1, max_depth=12), WIDE, MOST_ROWS),
        (hr.PrivateTreeClassifier(1, max_depth=2, search="greedy"), SMALL, 2**43),
        (hr.PrivateRuleListClassifier(1, max_rules=2, search="greedy"), WEIGHTED, 2**43),
        (hr.PrivateTreeRegressor(1, max_depth=1, search="greedy"), NUMBER, 2**43),
    ],
)
@pytest.mark.filterwarnings("ignore::hedgerow.errors.NoiseWarning")
def test_a_tally_with_too_many_rows_is_refused_before_the_charge(learner, schema, limit):
    counts = np.zeros((1, schema.target.n_levels), dtype=np.int64)
    counts[0, 0] = limit
    budget = hr.Budget(5)
    learner = clone(learner).set_params(budget=budget)
    with pytest.raises(TooManyRowsError, match=f"fewer than {limit:,} rows.* Nothing was charged"):
        learner.fit_tally(hr.Tally(schema, np.zeros((1, len(schema)), dtype=np.int64), counts))
    assert budget.charges == ()


@pytest.mark.parametrize(("weights", "fits"), [([1.0] * 20, False), ([0.01] * 20, True)])
def test_frames_that_may_exceed_the_row_limit_are_counted_first(weights, fits, monkeypatch):
    monkeypatch.setattr("hedgerow.learn.blocks.DrawPlan.max_rows", 1000)
    frame = pd.DataFrame({name: [0] * 20 for name in WEIGHTED.names} | {"w": weights})
    budget = hr.Budget(5)
    learner = hr.PrivateTreeClassifier(1, max_depth=1, schema=WEIGHTED, budget=budget)
    with nullcontext() if fits else pytest.raises(TooManyRowsError, match="Nothing was charged"):
        learner.fit(frame, [0, 1] * 10)
    assert len(budget.charges) == fits


def test_the_exact_audit_of_a_draw_accepts_fewer_than_2_to_the_32_rows():
    table, plan = Table(TWO, (((0, 0), 0, 2**32),)), Draw(Space.of_trees(TWO), 1, constant(0.5))
    with pytest.raises(OverflowError, match="4,294,967,296 rows"):
        ModelSampler(table.tally, plan, exhaustive_levels(plan.space, 1), quiet).chances(1.0)


def test_weights_of_logarithms_that_float64_holds_are_the_same():
    loss = Loss.of("errors", 2)
    semiring = all_models_of_many_rows(1.0, 0.5, loss)
    leaf = semiring.leaf(np.array([[3.0, 0.0], [1.0, 0.0]]))
    assert leaf.real.tolist() == [1.0, 0.0]
    assert leaf.imag == pytest.approx([np.log((1 + np.exp(-2)) / 2), 0])


def test_a_tree_of_blocks_is_drawn_from_many_rows():
    """The subtrees of the second block have fewer than 2^32 rows each or more, and share one bound."""
    rng, schema = np.random.default_rng(5), hr.Schema({f"x{i}": hr.Boolean() for i in range(3)}, hr.Label("y", (0, 1)))
    bins = np.array(np.unravel_index(range(8), (2, 2, 2))).T
    counts = rng.integers(2**28, 2**31, (8, 2))
    counts[:, 1] = np.where(bins[:, 0] != bins[:, 2], 2**34, 5)
    model = hr.PrivateTreeClassifier(epsilon=1, max_depth=3, schema=schema, search="exact", lookahead=2)
    model.fit_tally(hr.Tally(schema, bins, counts))
    rows = pd.DataFrame(bins.astype(bool), columns=list(schema))
    assert model.predict(rows).tolist() == (bins[:, 0] != bins[:, 2]).tolist()
