"""The exact risk under any public table of losses: lists of all models on both tables, with 60 digits, and controls."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.audit import exact_inference, exact_membership
from hedgerow.audit.exact import inference, outcomes
from hedgerow.audit.exact.outcomes import DrawOutcomes
from hedgerow.errors import ArgumentError, SchemaError
from hedgerow.learn.blocks import DrawProbabilities
from hedgerow.learn.contract import specification_of
from hedgerow.learn.search.lattice import exhaustive_levels
from hedgerow.learn.search.losses import LossTable
from hedgerow.learn.search.space import Space
from hedgerow.learn.searches import draw_probabilities
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Boolean, Candidates, Integer, Label, Number, OrderedLabel, Schema
from tests.learn.draws import FACTORS, SIZES, plan_of
from tests.learn.enumerate_models import Models, Table, all_worlds, models, neighbours
from tests.learn.search.known_chances import chances

WEIGHTS = [Fraction(1, 100), Fraction(1), Fraction(10), Fraction(150)]


@st.composite
def loss_tables(draw, n):
    """Any losses, the same in a line or a column at times, some of which do not depend on what is predicted."""
    entry = st.fractions(0, 1, max_denominator=30)
    return LossTable(
        Fact("absolute_classes", classes=1),
        draw(
            st.lists(st.tuples(*[entry] * n), min_size=n, max_size=n)
            .map(tuple)
            .filter(lambda rows: any(len({*row}) > 1 for row in rows))
        ),
    )


def of_models(found, table, weight):
    return np.array([float(value.exp()) for value in found.log_probabilities(table, weight).values()])


@pytest.mark.parametrize("factor", [Fraction(1), *FACTORS])
@pytest.mark.parametrize("examples", SIZES)
def test_risk_equals_enumeration_and_detects_a_wrong_weight(examples, factor):
    is_right = factor == 1
    agreed = []

    @settings(max_examples=examples if is_right else 12)
    @given(models(100), st.data(), st.sampled_from(WEIGHTS[1:3]) if not is_right else st.sampled_from(WEIGHTS))
    def same(found, data, weight):
        found = Models(found.space, found.depth, found.stop, data.draw(loss_tables(len(found.schema.classes))))
        without, inside = data.draw(neighbours(found.schema))
        world, label, _ = inside.rows[-1]
        patterns, levels = (np.array([item]) for item in (all_worlds(found.schema).index(world), label))
        item, other = (of_models(found, table, weight) for table in (inside, without))
        logs = [found.log_probabilities(table, weight) for table in (inside, without)]
        ratio = max(abs(float(logs[0][model] - logs[1][model])) for model in logs[0])
        used = weight * factor
        seen = chances(found, inside, used, exhaustive_levels(found.space, found.depth))
        loss, added = plan_of(found).loss, np.zeros((len(found.schema.classes), 0), dtype=int)
        draw = DrawProbabilities(seen, loss, used, "any loss", Fraction(0), added, found.space.antecedents)
        outcomes = DrawOutcomes.of(draw, patterns, levels, np.array([True]))
        there, away = outcomes.membership(levels)
        told = np.abs(there - away).sum(axis=1) / 2, outcomes.largest_ratio(levels)
        expected = np.abs(item - other).sum() / 2, ratio
        close = told == (pytest.approx(expected[0], rel=1e-7, abs=1e-12), pytest.approx(ratio, rel=1e-7, abs=1e-12))
        agreed.append(close)
        if is_right:
            assert close
            assert ratio <= weight
            for k in range(len(found.schema.classes)):
                two = of_models(found, without.plus(world, k), weight)
                told_label = outcomes.label_distance(levels, k)
                assert told_label == pytest.approx(np.abs(item - two).sum() / 2, rel=1e-7, abs=1e-12)

    same()
    assert is_right or not all(agreed)


ATTRIBUTES = {"a": Boolean(), "b": Integer(0, 9, cuts=(4,))}
NUMBERS = Schema(ATTRIBUTES, Number("y", 0, 40, 5))
ORDERED = Schema(ATTRIBUTES, OrderedLabel("y", ("low", "mid", "high")))
CLASSES = Schema(ATTRIBUTES, Label("y", ("low", "mid", "high")))
COSTS = {"low": {"mid": 1, "high": 5}, "mid": {"low": 2, "high": 1}, "high": {"low": 0.5, "mid": 3}}
TREE, LIST = {"max_depth": 1}, {"max_rules": 2}
LEARNERS = [
    hr.PrivateTreeRegressor(2.0, schema=NUMBERS, release_means=False, **TREE),
    hr.PrivateTreeRegressor(2.0, schema=NUMBERS, objective="quantile", quantile=0.9, **TREE),
    hr.PrivateRuleListRegressor(2.0, schema=NUMBERS, objective="absolute", **LIST),
    hr.PrivateTreeClassifier(2.0, schema=ORDERED, objective="absolute", **TREE),
    hr.PrivateTreeClassifier(2.0, schema=CLASSES, costs=COSTS, **TREE),
    hr.PrivateRuleListClassifier(2.0, schema=CLASSES, class_weight={"mid": 4}, **LIST),
    hr.PrivateRuleListClassifier(2.0, release_counts=False, schema=CLASSES, **LIST),
]
IDS = [f"{type(learner).__name__} {number}" for number, learner in enumerate(LEARNERS)]
BINS = [(a, b) for a in (0, 1) for b in (0, 1)]
VALUES = {0: 2, 1: 7}  # of the second attribute


def listed(learner):
    """All models of a learner, by its parameters."""
    is_list = hasattr(learner, "max_rules")
    candidates = Candidates.of(learner.schema, 1, negations=True) if is_list else None
    space = Space.of_trees(learner.schema) if candidates is None else Space.of_lists(candidates)
    prior = specification_of(learner).plan(learner.schema).prior
    return Models(space, 1, objective=specification_of(learner).loss.table(learner.schema), by_depth=prior)


def as_rows(learner, rows):
    """Rows of bins and level as a learner takes them."""
    frame = pd.DataFrame([(bool(a), VALUES[b]) for (a, b), _ in rows], columns=["a", "b"])
    return frame, np.array([learner.schema.target.values[level] for _, level in rows])


def rows_of(n, low=0):
    return st.lists(st.tuples(st.sampled_from(BINS), st.integers(0, n - 1)), min_size=low, max_size=6)


@pytest.mark.parametrize("examples", [3, pytest.param(150, marks=pytest.mark.slow)])
@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_inference_success_equals_enumeration_of_all_models(learner, examples):
    """By the definition: for every model, the candidate with the largest chance times likelihood."""
    outcome, n = listed(learner), learner.schema.target.n_levels

    @settings(max_examples=examples)
    @given(rows_of(n, 1), rows_of(n, 1).map(lambda rows: rows[:3]), st.sampled_from([0.0, 0.25, 0.5]))
    def same(rows, others, absent):
        table = Table(learner.schema, tuple((bins, level, 1) for bins, level in rows))
        if len(others) == 1 and not absent:
            absent = 0.5
        result = exact_inference(learner, *as_rows(learner, rows), candidates=as_rows(learner, others), absent=absent)
        weight = exact_membership(learner, *as_rows(learner, rows)).weight
        each = [of_models(outcome, table.plus(*other), weight) for other in others] + [
            of_models(outcome, table, weight)
        ]
        prior = [(1 - absent) / len(others)] * len(others) + [absent]
        success = (np.array(each) * np.array(prior)[:, None]).max(axis=0).sum()
        assert result.success == pytest.approx(float(success), rel=1e-9)
        assert result.joint.sum() == pytest.approx(1)
        assert ((result.losses >= 0) & (result.losses <= 1)).all()

    same()


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_label_inference_of_all_levels_takes_one_pass(learner, monkeypatch):
    """With all levels of a row as candidates; and with two of them, it is the label advantage of the worst one."""
    rows = [((0, 0), 0), ((0, 1), 1), ((1, 0), 2), ((1, 1), 2), ((1, 1), 0)]
    n, result = learner.schema.target.n_levels, listed(learner)
    given = as_rows(learner, rows)
    passes = []
    monkeypatch.setattr(inference, "draw_probabilities", lambda *those: passes.append(1) or draw_probabilities(*those))
    every = exact_inference(learner, *given, candidates=as_rows(learner, [((1, 1), k) for k in range(n)]))
    assert len(passes) == 1
    table = Table(learner.schema, tuple((bins, level, 1) for bins, level in rows))
    weight = exact_membership(learner, *given).weight
    each = np.array([of_models(result, table.plus((1, 1), k), weight) for k in range(n)])
    assert every.success == pytest.approx(each.max(axis=0).sum() / n, rel=1e-9)
    own = exact_membership(learner, *given, others=as_rows(learner, [((1, 1), 0)]))
    two = [
        exact_inference(learner, *given, candidates=as_rows(learner, [((1, 1), 0), ((1, 1), k)])).advantage
        for k in range(1, n)
    ]
    assert own.label_advantage[-1] == pytest.approx(max(two), rel=1e-9)


@pytest.mark.parametrize("learner", LEARNERS, ids=IDS)
def test_expected_loss_equals_enumeration_of_all_models(learner):
    rows = [((0, 0), 0), ((0, 1), 1), ((1, 0), 2), ((1, 1), 2), ((1, 1), 0)]
    outcome, table = listed(learner), Table(learner.schema, tuple((bins, level, 1) for bins, level in rows))
    result = exact_membership(learner, *as_rows(learner, rows))
    shares = outcome.log_probabilities(table, result.weight)
    expected = sum(float(value.exp()) * float(outcome.loss(model, table)) for model, value in shares.items()) / len(
        rows
    )
    assert result.expected_loss == pytest.approx(expected, rel=1e-9)
    is_number = learner.schema.target.as_number is not None
    assert np.isnan(result.expected_accuracy) == is_number
    if result.is_errors:
        assert result.expected_accuracy == pytest.approx(1 - expected)
        assert "accuracy   0." in str(result)
    else:
        assert f"mean loss  {expected:.4f} expected on the training rows" in str(result)


def test_advantage_at_a_tiny_epsilon_is_about_half_of_it():
    """Digits are not lost at a small weight: one level against the farthest one, at an even prior."""
    learner = hr.PrivateTreeRegressor(1e-3, schema=NUMBERS, objective="absolute", max_depth=0)
    rows = as_rows(learner, [((0, 0), 2)])
    result = exact_inference(learner, *rows, candidates=as_rows(learner, [((0, 0), 0), ((1, 1), 4)]))
    models = listed(learner)
    models = replace(models, depth=0)
    table = Table(NUMBERS, (((0, 0), 2, 1),))
    weight = exact_membership(learner, *rows).weight
    item, other = (of_models(models, table.plus(bins, k), weight) for bins, k in (((0, 0), 0), ((1, 1), 4)))
    assert result.advantage == pytest.approx(np.abs(item - other).sum() / 2, rel=1e-9)


def test_numbers_beyond_the_bounds_are_at_the_bounds():
    learner = hr.PrivateTreeRegressor(1.0, schema=NUMBERS, release_means=False, max_depth=1)
    frame, _ = as_rows(learner, [((0, 0), 0)] * 3)
    result = exact_membership(learner, frame, [0.0, -7.0, -1e300])
    assert len(set(result.advantage.tolist())) == 1


@pytest.mark.parametrize(
    ("learner", "arguments", "message"),
    [
        (
            hr.PrivateTreeRegressor(1.0, schema=NUMBERS, release_counts=True, max_depth=1),
            {},
            "release_counts",
        ),
        (
            hr.PrivateTreeRegressor(1.0, schema=NUMBERS, **TREE),
            {},
            "release_means",
        ),
        (
            hr.PrivateTreeRegressor(
                1.0, schema=Schema(ATTRIBUTES, Number("y", 0, 40, 30)), release_counts=True, **TREE
            ),
            {"candidates": (np.zeros((30, 2), dtype=int), np.arange(30) * 4 / 3 + 0.5)},
            "33,285,996,544",
        ),
        (
            hr.PrivateTreeRegressor(1e-6, schema=NUMBERS, release_means=False, max_depth=1),
            {},
            "epsilon",
        ),
        (
            hr.PrivateTreeRegressor(
                1.0, schema=Schema({f"x{i}": Boolean() for i in range(6)}, NUMBERS.label), objective="absolute", **TREE
            ),
            {"candidates": (np.eye(6, dtype=int), [4.0, 36.0] * 3)},
            "3,906",
        ),
    ],
)
def test_candidates_beyond_the_limits_raise(learner, arguments, message):
    n = len(learner.schema)
    with pytest.raises(ArgumentError, match=message):
        exact_inference(
            learner,
            np.zeros((2, n), dtype=int),
            [4.0, 20.0],
            **{"candidates": (np.eye(n, dtype=int)[:2], [4.0, 36.0]), **arguments},
        )


@pytest.mark.parametrize("audit", [exact_membership, exact_inference])
def test_a_regressor_needs_a_schema_with_a_number(audit):
    more = {"candidates": (np.zeros((1, 2)), [1.0]), "absent": 0.5} if audit is exact_inference else {}
    for schema, y in ((None, [0, 1]), (CLASSES, ["low", "mid"])):
        with pytest.raises(SchemaError, match="classes"):
            audit(hr.PrivateTreeRegressor(1.0, schema=schema), np.zeros((2, 2)), y, **more)


def released_pairs(learner, found, table, weight, bins, level, far=45):
    """The chance of each model with each pair of noisy sums, or of all counts, of the leaf of those bins. Exact."""
    top = learner.schema.target.n_levels - 1
    adds = np.eye(top + 1, dtype=int) if learner.release_counts else np.array([[k, top - k] for k in range(top + 1)])
    step = learner.epsilon * (0.2 if learner.release_counts else 0.1) / adds[0].sum()
    table, added = (table, 0 * adds[0]) if level is None else (table.plus(bins, level), adds[level])
    grid = np.arange(-far, top + far + 1)
    noise = [np.tanh(step / 2) * np.exp(-step * np.abs(grid - value)) for value in added]
    joint = of_models(found, table, weight)
    for each in noise:
        joint = np.multiply.outer(joint, each)
    return joint


WITH_NUMBERS = [
    hr.PrivateTreeRegressor(40.0, schema=NUMBERS, **TREE),
    hr.PrivateRuleListRegressor(30.0, schema=NUMBERS, **LIST),
    hr.PrivateTreeRegressor(20.0, schema=Schema(ATTRIBUTES, Number("y", 0, 40, 2)), release_counts=True, **TREE),
]


@pytest.mark.parametrize("learner", WITH_NUMBERS, ids=["tree", "list", "counts"])
def test_noisy_leaf_sums_compose_with_the_draw(learner):
    """By the definition: all models, each with the noisy numbers of the row's leaf on a grid, for each level."""
    rows = [((0, 0), 0), ((0, 1), 1), ((1, 0), 1), ((1, 1), 0), ((1, 1), 1)]
    n, outcome, bins = learner.schema.target.n_levels, listed(learner), (1, 1)
    table = Table(learner.schema, tuple((bins, level, 1) for bins, level in rows))
    own = exact_membership(learner, *as_rows(learner, rows), others=as_rows(learner, [(bins, k) for k in range(n)]))
    assert own.epsilon_of_counts == pytest.approx(learner.epsilon * (0.2 if learner.release_counts else 0.1))
    assert (own.advantage <= own.draw_bound).all()
    assert (own.realised_loss <= learner.epsilon).all()
    assert own.inside.sum(axis=1) == pytest.approx(1)
    assert own.outside.sum(axis=1) == pytest.approx(1)
    pairs = [released_pairs(learner, outcome, table, own.weight, bins, k) for k in [*range(n), None]]
    for k in range(n):
        row = len(rows) + k
        assert own.advantage[row] == pytest.approx(np.abs(pairs[k] - pairs[-1]).sum() / 2, rel=1e-9)
        assert own.trade_off(row).advantage == pytest.approx(own.advantage[row], rel=1e-9)
        distances = [np.abs(pairs[k] - each).sum() / 2 for each in pairs[:-1]]
        assert own.label_advantage[row] == pytest.approx(max(distances), rel=1e-9)
        logs = np.log(pairs[k]) - np.log(pairs[-1])
        assert own.realised_loss[row] == pytest.approx(np.abs(logs).max(), rel=1e-9)
    for levels, absent in ((range(n), 0.0), (range(n), 0.3), ([0, n - 1, 0], 0.1), ([1], 0.5)):
        prior = [(1 - absent) / len(levels)] * len(levels) + [absent]
        given = as_rows(learner, [(bins, k) for k in levels])
        result = exact_inference(learner, *as_rows(learner, rows), candidates=given, absent=absent)
        likelihoods = [chance * pairs[k] for chance, k in zip(prior, [*levels, -1], strict=True)]
        assert result.success == pytest.approx(np.max(likelihoods, axis=0).sum(), rel=1e-9)


def test_released_means_distinguish_more_levels_than_the_draw():
    """A release of both is no safer than one of the draw alone with the same share of epsilon."""
    rows = as_rows(WITH_NUMBERS[0], [((0, 0), 0), ((1, 1), 4)])
    both = exact_membership(hr.PrivateTreeRegressor(10.0, schema=NUMBERS, **TREE), *rows)
    alone = exact_membership(hr.PrivateTreeRegressor(9.0, schema=NUMBERS, release_means=False, **TREE), *rows)
    assert both.weight == pytest.approx(alone.weight)
    assert (both.advantage > alone.advantage + 1e-3).all()
    assert (both.label_advantage > alone.label_advantage).all()
    assert both.realised_loss == pytest.approx(alone.realised_loss + 1)


def test_too_many_outcomes_raise(monkeypatch):
    monkeypatch.setattr(outcomes, "_MOST_OUTCOMES", 49)
    learner = hr.PrivateTreeRegressor(1.0, schema=NUMBERS, **TREE)
    with pytest.raises(ArgumentError, match=r"50 outcomes .* 49"):
        exact_membership(learner, *as_rows(learner, [((0, 0), 0), ((1, 1), 4)]))
