"""Weighted rows: the draw by its definition in fractions, neighbours that differ by a weighted row, and refusals."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.errors import ArgumentError, DomainError, SchemaError
from hedgerow.learn import plans
from hedgerow.learn.contract import specification_of
from hedgerow.learn.private_base import PrivateSpecification
from hedgerow.privacy.noise import SecureNoise
from hedgerow.service.curator import HostedDataset
from hedgerow.service.rows import FrameRows
from hedgerow.tables.frames import Table as Frame
from tests.adversarial.refute import refuted
from tests.learn.enumerate_models import all_worlds
from tests.learn.learners import LEARNERS, given_to, released
from tests.learn.replay import Recorder, Replayer
from tests.learn.tables import ROW, SCHEMA, frame
from tests.learn.weights import KINDS, STEPS, TINY, WEIGHED, WEIGHT, by_definition, by_fits, table_of, weight_of_a_row

WORLDS = np.array(all_worlds(TINY))
PRIVATE = {name: one for name, one in LEARNERS.items() if not name.startswith(("scorecards", "sets"))}


ALL_KINDS = [(kind, 1 + place % STEPS) for place, kind in enumerate(KINDS)]


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("tables", [st.just(ALL_KINDS), pytest.param(WEIGHED, marks=pytest.mark.slow)])
def test_the_draw_is_the_one_of_weighted_losses(tables, depth):
    parameters = {"max_depth": depth, "search": "exact"}

    @settings(max_examples=settings.default.max_examples // 3)
    @given(tables)
    def same(rows):
        expected, result = by_definition(rows, weight_of_a_row(**parameters), depth=depth), by_fits(rows, **parameters)
        assert result.keys() == expected.keys()
        for model, value in expected.items():
            assert result[model] == pytest.approx(value, abs=1e-9)

    same()


@pytest.mark.parametrize("examples", [15, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.claim("This is the loss of each row times its share k/S ≤ 1")
def test_a_weighted_row_changes_log_probabilities_by_its_share_of_epsilon(examples):
    """By definition, and exactly: so at most by ε, which a row of the largest weight nearly takes."""
    furthest = []

    @settings(max_examples=examples)
    @given(WEIGHED, st.sampled_from(KINDS), st.integers(0, STEPS), st.sampled_from(["errors", "mixed"]))
    def private(rows, row, steps, objective):
        item, other = (by_definition(these, 1, objective) for these in (rows, [*rows, (row, steps)]))
        loss = max(abs(np.log(item[model] / other[model])) for model in item)
        assert loss <= steps / STEPS + 1e-9
        furthest.append(loss)

    private()
    clear = [((True, True, True), STEPS)] * 30 + [((False, True, False), STEPS)] * 30
    item, other = (by_definition(these, 1) for these in (clear, [*clear, ((True, True, False), STEPS)]))
    assert 0.9 < max(abs(np.log(item[model] / other[model])) for model in item) <= 1
    assert weight_of_a_row(max_depth=1) <= 1


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("examples", [2, pytest.param(500, marks=pytest.mark.slow)])
def test_private_learners_do_the_same_with_a_weighted_row_more(examples, name):
    estimator, choices = PRIVATE[name]
    schema = replace(SCHEMA, weight=WEIGHT)
    parameters = {key: values for key, values in choices.items() if key != "release_counts"}
    weights = st.floats(-1, 5)

    @settings(max_examples=examples)
    @given(st.lists(st.tuples(ROW, weights), max_size=20), ROW, weights, st.fixed_dictionaries(
        {key: st.sampled_from(values) for key, values in parameters.items()}))  # fmt: skip
    def same(rows, row, weight, parameters):
        def learn(table, source):
            made = {**given_to(estimator), "schema": schema, "random_state": source, **parameters}
            return type(estimator)(**made).fit(table, table["risk"])

        epsilon = parameters.get("epsilon", 1)
        item, other = (
            frame([row for row, _ in these]).assign(w=np.array([weight for _, weight in these], dtype=float))
            for these in (rows, [*rows, (row, weight)])
        )
        for table, neighbour in ((item, other), (other, item)):
            recorder = Recorder(SecureNoise())
            result = learn(table, recorder)
            replayer = Replayer(recorder.trace, rows=STEPS)
            assert released(learn(neighbour, replayer)) == released(result), "the neighbouring table changed the model"
            replayer.finish(epsilon)
            assert sum(charge.epsilon for charge in result.privacy_.charges) == epsilon

    same()


@pytest.mark.statistics
@pytest.mark.parametrize("steps", [1, STEPS])
def test_draws_of_the_real_path_refute_no_more_than_epsilon(monkeypatch, steps):
    """One false alarm in a million. Mechanisms at ε in place of ε/4 are caught, on a row of the largest weight."""
    estimator = hr.PrivateTreeClassifier(1, max_depth=1, schema=TINY)
    if steps == 1:
        monkeypatch.setattr(PrivateSpecification, "epsilon_of_a_row", lambda self, _: self.exact_epsilon)
        monkeypatch.setattr("hedgerow.learn.private_base.group_loss", lambda *loss: loss[:3])
        monkeypatch.setattr("hedgerow.privacy.gate.loss_of", lambda one, _: (one.epsilon, one.delta, one.rho))
    rows = [((True, False, True), STEPS)]
    numbers, result = {}, []
    for table in (table_of([]), table_of(rows)):
        tally = hr.Tally.count(table, "y", TINY)
        trees = (estimator.fit_tally(tally).tree_ for _ in range(800))
        result.append([numbers.setdefault(tuple(tree.predict(WORLDS).tolist()), len(numbers)) for tree in trees])
    assert (refuted(*result, delta=0, alarm=1e-6).bound > 1) == (steps == 1)


def test_a_row_is_counted_as_often_as_its_weight_has_steps():
    rows = [((True, False, True), 3), ((True, False, True), 1), ((True, False, False), 2), ((False, True, True), 0)]
    repeated = pd.concat([table_of([(row, STEPS)] * steps) for row, steps in rows])
    plain = hr.Tally.count(repeated, "y", replace(TINY, weight=None))
    weighed = hr.Tally.count(table_of(rows), "y", TINY)
    for count, other in zip(weighed.bins_and_counts(), plain.bins_and_counts(), strict=True):
        assert count.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("weights", "steps"),
    [
        ([-3, 0, 0.24, 0.26, 0.74, 1, 1.74, 2, 1e300], [0, 0, 0, 1, 1, 2, 3, 4, 4]),
        (["1", " 2.0 ", "1e0"], [2, 4, 2]),
        ([1, 7], [2, 4]),
    ],
)
def test_weights_are_clipped_and_rounded_to_the_nearest_step(weights, steps):
    table = table_of([((True, True, True), 1)] * len(weights)).assign(w=weights)
    result = hr.Tally.count(table, "y", TINY).total().tolist()
    assert result == [0, sum(steps)]
    assert WEIGHT.encode(Frame.of(table)).tolist() == steps


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"w": [1.0, np.nan]}, "column 'w': some weights are missing"),
        ({"w": [1.0, np.inf]}, "column 'w': some numbers are infinite"),
        ({"w": ["1", "much"]}, "column 'w': some cells are text that is not a number"),
    ],
)
def test_weights_that_are_none_are_refused_and_not_quoted(change, error):
    table = table_of([(row, 2) for row in KINDS[:2]]).assign(**change)
    with pytest.raises(DomainError, match=error) as result:
        hr.Tally.count(table, "y", TINY)
    assert "much" not in str(result.value)


TABLE = table_of([(row, 1 + place % STEPS) for place, row in enumerate(KINDS * 30)])
REFUSED = {
    "scorecards": (hr.PrivateScorecardClassifier(1), SchemaError, "weight of rows, which only trees and rule lists"),
    "SSRL": (
        hr.DPGreedyRLClassifier(1, mechanism="exponential"),
        SchemaError,
        "weight of rows, which only trees and rule lists support",
    ),
    "counts": (hr.PrivateTreeClassifier(1, release_counts=True), ArgumentError, "release_counts is not supported"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_takes_no_weights_refuses_them_before_any_charge(name):
    estimator, error, text = REFUSED[name]
    estimator.set_params(schema=TINY, budget=hr.Budget(1))
    with pytest.raises(error, match=text):
        estimator.fit(TABLE, TABLE.y)
    with pytest.raises(error, match=text):
        estimator.fit_tally(hr.Tally.count(TABLE, "y", TINY))
    assert estimator.budget.spent == 0


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        (TABLE.drop(columns="w"), "'w': the table has no such column"),
        (TABLE.assign(w=True), "'w': weights must be numbers, got a column of booleans"),
        (TABLE.assign(w=pd.Timestamp("2024-05-06")), "'w': weights must be numbers, got a column of dates"),
        (TABLE[["a", "b"]].to_numpy(), "expected a frame with the weight column 'w', got an array"),
    ],
)
def test_a_table_without_a_column_of_weights_is_refused_before_any_charge(rows, error):
    budget = hr.Budget(1)
    with pytest.raises(DomainError, match=error):
        hr.PrivateTreeClassifier(1, schema=TINY, budget=budget).fit(rows, TABLE.y)
    assert budget.spent == 0


@pytest.mark.parametrize(
    "estimator",
    [
        hr.PrivateTreeClassifier(5, search="greedy"),
        hr.PrivateTreeClassifier(5, objective="mixed"),
        hr.PrivateRuleListClassifier(5, search="greedy"),
        hr.OptimalTreeClassifier(max_depth=2),
        hr.OptimalRuleListClassifier(),
        hr.GreedyRuleListClassifier(),
    ],
)
def test_models_show_no_sum_of_weights_and_follow_the_heavy_rows(estimator):
    """Where a holds most rows have y, and the heavy ones have not."""
    rows = [((True, False, True), 1)] * 300 + [((True, False, False), STEPS)] * 200 + [((False, True, True), 2)] * 200
    table = table_of(rows)
    fitted = estimator.set_params(schema=TINY).fit(table, table.y)
    assert fitted.predict(table).tolist() == [row == (False, True, True) for row, _ in rows]
    model = fitted.model if hasattr(fitted, "model") else fitted._model
    assert not model.has_counts
    assert "rows" not in str(model)
    assert type(model).from_dict(model.to_dict()) == model
    plain = type(estimator)(**{**estimator.get_params(), "schema": replace(TINY, weight=None)}).fit(table, table.y)
    assert plain.predict(table[:1]).tolist() == [True]


def test_no_rule_of_a_greedy_list_repeats_what_the_rules_after_it_predict():
    """Labels are all that is shown of sums of weights."""
    rows = table_of([(kind, 1 + place % STEPS) for place, kind in enumerate(KINDS * 20)])
    sizes = set()
    for seed in range(12):
        clf = hr.PrivateRuleListClassifier(0.5, schema=TINY, search="greedy", random_state=seed).fit(rows, rows.y)
        labels = [rule.label for rule in clf.rule_list_.rules]
        assert labels[-2:-1] != labels[-1:]
        sizes.add(len(labels))
    assert len(sizes) > 1


def test_labels_follow_the_rules_of_a_greedy_list_that_are_left(monkeypatch):
    rows = table_of([(kind, 1 + place % STEPS) for place, kind in enumerate(KINDS * 20)])

    def predicted():
        made = (
            hr.PrivateRuleListClassifier(0.5, schema=TINY, search="greedy", random_state=seed) for seed in range(16)
        )
        return [clf.fit(rows, rows.y).predict(rows).tolist() for clf in made]

    result, simplified = predicted(), plans.simplified_list
    monkeypatch.setattr(plans, "simplified_list", lambda schema, rules, *_: simplified(schema, rules))
    assert result == predicted()


def test_numbers_are_weighed_too():
    table = table_of([((True, False, True), 1)] * 400 + [((True, False, True), STEPS)] * 400)
    y = np.repeat([0.0, 30.0], 400)
    schema = hr.Schema(TINY.attributes, hr.Number("z", 0, 32), weight=WEIGHT)
    for parameters in ({}, {"search": "greedy"}):
        tree = hr.PrivateTreeRegressor(10, max_depth=1, schema=schema, **parameters).fit(table, y)
        assert tree.predict(table[:1])[0] == pytest.approx((0 + 4 * 30) / 5, abs=1)
        assert tree.tree_.leaves[0].sums is None


def test_cards_say_what_a_weight_counts_and_whose_weights_are_covered():
    card = hr.PrivateTreeClassifier(1, schema=TINY).fit(TABLE, TABLE.y).privacy_
    notes = [note.words for note in card.notes]
    assert "rows are weighted by w, at most 2: a row of weight w counts as w/2 of a row, in 4 steps; mechanisms " \
        "run at epsilon/4 for each step" in notes  # fmt: skip
    assert any("raked, calibrated or adjusted" in note and "not covered" in note for note in notes)


def test_units_and_weights_go_together():
    schema = replace(SCHEMA, weight=WEIGHT, unit=hr.Unit("who", 3))
    rows = frame([{"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"}] * 60)
    rows = rows.assign(who=np.repeat(["ann", "ben", "cy"], 20), w=2.0)
    assert hr.Tally.count(rows, "risk", schema).total().tolist() == [0, 9 * STEPS, 0]
    clf = hr.PrivateTreeClassifier(1, schema=schema, max_depth=1).fit(rows, rows.risk)
    assert clf.privacy_.epsilon == 1
    assert specification_of(clf).plan(schema).epsilon == Fraction(1, 3 * STEPS)


def test_what_counts_rows_as_one_refuses_a_schema_with_weights():
    with pytest.raises(ArgumentError, match="multiply epsilon by the usual weight"):
        hr.plan(TINY, rows=1000, epsilon=1)
    oracle = hr.Oracle(TABLE[["a", "b"]], TABLE.y, hr.Budget(1), 1, classes=(False, True))
    with pytest.raises(ArgumentError, match="without a weight"):
        hr.MarginalLogisticClassifier(bins=TINY).fit(TABLE[["a", "b"]], oracle=oracle)
    with pytest.raises(ArgumentError, match="weights of rows"):
        HostedDataset(TINY, FrameRows.of(TABLE, TABLE.y, replace(TINY, weight=None)))
    with pytest.raises(ArgumentError, match="a tally of weights"):
        hr.Tally.count(TABLE, "y", TINY).rows()


def test_weights_that_depend_on_other_rows_are_not_covered():
    """Post-stratified: four times the largest weight over the rows of a stratum, which are four or five."""
    yes, no = (True, True, True), (True, True, False)
    elsewhere = [(no, STEPS)] * 40
    four, five = [(yes, STEPS)] * 4, [*[(yes, 3)] * 4, (no, 3)]  # 4/5 of the largest is 3 steps of 4
    item, other = (by_definition([*elsewhere, *rows], 1) for rows in (four, five))
    assert max(abs(np.log(item[model] / other[model])) for model in item) > 1.7
