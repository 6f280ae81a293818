"""The automatic choice between a tree and a scorecard: what is drawn, what that costs, and how the choice is made."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import hedgerow as hr
from hedgerow.errors import ArgumentError
from hedgerow.learn import auto
from hedgerow.learn.search.sampler import Alternative, ModelSampler
from hedgerow.models import load_model
from hedgerow.privacy.exponential_mechanism import MOST_ROWS
from hedgerow.privacy.noise import SeededNoise
from hedgerow.schema import Boolean, Integer, Label, Number, Schema, Unit
from tests.learn.draws import EPSILONS, SIZES, loss, plan_of, probabilities, quiet
from tests.learn.enumerate_models import (
    PRECISE,
    Models,
    Space,
    Table,
    all_worlds,
    chance,
    coarse_grid,
    decimal,
    executions,
    log_sum,
    models,
    neighbours,
    schema_of,
    tables,
)
from tests.learn.objectives import KINDS_OF_LOSS
from tests.privacy.renyi import rho_of

# One draw from all trees and a scorecard


@st.composite
def competitions(draw, objective):
    """All models of a small space, and another one: what it predicts for each combination of bins, and its handicap."""
    space = draw(models(60, objective))
    worlds = all_worlds(space.schema)
    values = draw(st.lists(st.integers(0, space.n_values - 1), min_size=len(worlds), max_size=len(worlds)))
    return space, dict(zip(worlds, values, strict=True)), draw(st.integers(0, 8))


def competing(space, values, handicap):
    """The plan of a draw from all of these models and one that predicts these values."""

    def predicted(tally):
        return np.array([values[tuple(bins)] for bins in tally.bins_and_counts()[0].tolist()], dtype=np.int64)

    return replace(plan_of(space), alternative=Alternative(predicted, handicap))


def enumerated(space, values, handicap, table, weight):
    """The exact log-probability of every model, one by one; None is the other one."""
    errors = sum(Fraction(space.row_loss.table[label][values[bins]] * n) for bins, label, n in table.rows)
    weights = space.log_weights(table, weight)
    weights[None] = decimal(-handicap - Fraction(weight) * errors / space.row_loss.steps)
    total = log_sum(weights.values())
    return {model: PRECISE.subtract(value, total) for model, value in weights.items()}


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_trees_and_the_scorecard_have_exact_draw_probabilities(examples, objective):
    @settings(max_examples=examples)
    @given(competitions(objective), st.data(), st.sampled_from(EPSILONS))
    def same(competition, data, epsilon):
        table, plan = data.draw(tables(competition[0].schema)), competing(*competition)
        expected = enumerated(*competition, table, plan.mechanism(epsilon).weight)
        drawn = probabilities(table, plan, epsilon)
        assert drawn.keys() == expected.keys()
        for model, value in expected.items():
            assert drawn[model] == pytest.approx(float(value), abs=1e-9)

    with coarse_grid():
        same()


@pytest.mark.parametrize("objective", KINDS_OF_LOSS)
@pytest.mark.parametrize("examples", SIZES)
def test_a_row_changes_no_probability_by_more_than_epsilon(examples, objective):
    @settings(max_examples=examples)
    @given(competitions(objective), st.data(), st.sampled_from(EPSILONS))
    def private(competition, data, epsilon):
        plan = competing(*competition)
        drawn = [probabilities(table, plan, epsilon) for table in data.draw(neighbours(competition[0].schema))]
        assert loss(*drawn) <= epsilon
        assert rho_of(*drawn) <= float(plan.mechanism(epsilon).rho) * (1 + 1e-9) + 1e-13

    with coarse_grid():
        private()


TREES = Models(Space.of_trees(schema_of(Boolean())), 1)
RIGHT, WRONG = {(0,): 0, (1,): 1}, {(0,): 1, (1,): 0}


@pytest.mark.parametrize("values", [RIGHT, WRONG])
def test_nearly_all_of_epsilon_is_used(values):
    """So a test of privacy would notice a draw with a larger weight."""
    table = Table(TREES.schema, (((0,), 0, 40), ((1,), 1, 40)))
    drawn = [probabilities(each, competing(TREES, values, 0), Fraction(1)) for each in (table, table.plus((0,), 1))]
    assert 0.9 < loss(*drawn) <= 1


def test_many_rows_keep_the_exact_probabilities():
    rows = 2 * MOST_ROWS
    table = Table(TREES.schema, (((0,), 0, rows), ((0,), 1, rows - 3), ((1,), 1, rows), ((1,), 0, 1)))
    for values in (RIGHT, WRONG):
        plan = competing(TREES, values, 2)
        expected = enumerated(TREES, values, 2, table, plan.mechanism(Fraction(1)).weight)
        sampler, weight = (
            ModelSampler(table.tally, plan, plan.states(), quiet),
            float(plan.mechanism(Fraction(1)).weight),
        )

        def run(choose, sampler=sampler, weight=weight):
            def scaled(log_weights, parts=1.0):
                return choose(np.asarray(log_weights, dtype=np.float64) / parts)

            return sampler.sample(weight, scaled)

        drawn = {model: chance(draws) for model, draws in executions(run)}
        for model, value in expected.items():
            assert np.exp(drawn[model]) == pytest.approx(float(value.exp()), abs=1e-6)


def test_a_drawn_size_leaves_no_room_for_another_model():
    plan = plan_of(TREES)
    with pytest.raises(ArgumentError, match="draws_size"):
        replace(plan, draws_size=True, alternative=Alternative(lambda tally: tally, 6))


# The choice


ILL = Label("ill", ("no", "yes"))
SCHEMA = Schema({"age": Integer(0, 99, (20, 40, 60)), "smoker": Boolean()}, ILL)
RISING = Schema({"age": Integer(0, 99, (20, 40, 60), monotone="increasing"), "smoker": Boolean()}, ILL)


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.integers(0, 100, n), "smoker": rng.random(n) < 0.5})
    return frame, np.where(frame["age"] + 30 * frame["smoker"] + rng.normal(0, 20, n) > 65, "yes", "no")


def fitted(epsilon=1, seed=0, **parameters):
    source = SeededNoise(np.random.default_rng(seed))
    return hr.PrivateAutoClassifier(epsilon, random_state=source, **{"schema": SCHEMA, **parameters}).fit(*rows())


@pytest.mark.parametrize(
    ("parameters", "model", "because"),
    [
        ({}, "tree", "few_rows"),
        ({"n_rows": 400}, "tree", "few_rows"),
        ({"scoring": "roc_auc"}, "scorecard", "ranking"),
        ({"class_weight": {"yes": 3}}, "tree", "costs"),
        ({"costs": {"yes": {"no": 3}, "no": {"yes": 1}}}, "tree", "costs"),
        ({"schema": RISING}, "scorecard", "monotone"),
    ],
)
def test_the_choice_and_its_reason_are_on_the_card(parameters, model, because):
    result = fitted(**parameters)
    assert (result.choice_["model"], result.choice_["because"]) == (model, because)
    assert result.model_.kind == model
    assert (result.model_.costs is not None) == (because == "costs")
    assert result.choice_ in result.privacy_.notes
    assert result.choice_.words in str(result.privacy_)
    assert result.privacy_.epsilon == 1


@pytest.mark.parametrize("known", [True, False])
def test_with_many_rows_a_scorecard_competes_with_the_trees(monkeypatch, known):
    monkeypatch.setattr(auto, "DRAW_SHARES", {100: Fraction(1, 2)})
    monkeypatch.setattr(auto, "HANDICAP", 6)  # so that both are drawn
    parameters = {"n_rows": 400} if known else {}
    chosen = {seed: fitted(2, seed, **parameters) for seed in range(12)}
    assert {result.model_.kind for result in chosen.values()} == {"tree", "scorecard"}
    for result in chosen.values():
        assert result.choice_["because"] == "drawn"
        assert result.choice_["model"] == result.model_.kind
        assert result.choice_.get("is_noisy") == (None if known else True)
        assert result.privacy_.epsilon == 2
        (draw,) = [charge for charge in result.privacy_.charges if charge.query.code == "tree_draw"]
        assert draw.query["or_scorecard"]
        assert draw.mechanism["handicap"] == auto.HANDICAP
        assert draw.epsilon == Fraction(19, 20) * (1 if known else Fraction(99, 100))


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("levels", "share"), [({100: "1/2", 5000: "1/4"}, "1/2"), ({100: "1/2", 1600: "1/4"}, "1/4")])
def test_with_more_rows_the_scorecard_has_more_of_epsilon(monkeypatch, levels, share, known):
    monkeypatch.setattr(auto, "DRAW_SHARES", {least: Fraction(of) for least, of in levels.items()})
    result = fitted(8, n_rows=400) if known else fitted(8)
    left = 8 * (1 if known else Fraction(99, 100))
    codes = [charge.query.code for charge in result.privacy_.charges]
    of_card = [charge.epsilon for charge in result.privacy_.charges[: codes.index("tree_draw")]]
    assert sum(of_card) - (8 - left) == left * (1 - Fraction(share))


def test_the_scorecard_competes_by_the_rows_that_it_misclassifies(monkeypatch):
    monkeypatch.setattr(auto, "DRAW_SHARES", {100: Fraction(1, 2)})
    losses, own = [], Alternative.loss
    monkeypatch.setattr(Alternative, "loss", lambda *given: losses.append(own(*given)) or losses[-1])
    monkeypatch.setattr(auto, "HANDICAP", 0)
    cards = [result for seed in range(12) if (result := fitted(2, seed, n_rows=400)).model_.kind == "scorecard"]
    wrong = {float((result.predict(rows()[0]) != rows()[1]).sum()) for result in cards}
    assert cards
    assert wrong <= set(losses)


def test_a_count_of_no_rows_takes_a_tree():
    frame, labels = rows()
    sources = (SeededNoise(np.random.default_rng(seed)) for seed in range(4))
    learners = [hr.PrivateAutoClassifier(1, schema=SCHEMA, random_state=source) for source in sources]
    choices = [learner.fit(frame[:0], labels[:0]).choice_ for learner in learners]
    assert {choice["because"] for choice in choices} == {"few_rows"}
    assert 0 in {choice["rows"] for choice in choices}


def test_trees_that_are_not_drawn_at_once_do_not_compete():
    wide = Schema({f"x{i}": Integer(0, 99, tuple(range(2, 99, 2))) for i in range(40)}, Label("y", (0, 1)))
    learner = auto.PrivateAutoClassification(1, schema=wide, n_rows=10**6)
    choice = learner.choice(wide, 10**6)
    assert (choice["model"], choice["because"]) == ("scorecard", "many_rows")
    assert learner.plan(wide).model == "scorecard"


@pytest.mark.parametrize(("rows", "model"), [(2_999, "tree"), (3_000, "either"), (10**7, "either")])
def test_a_plan_can_tell_the_choice_from_public_numbers(rows, model):
    assert auto.automatic_choice(SCHEMA, rows, 1)["model"] == model
    assert auto.automatic_choice(SCHEMA, 10 * rows, "0.1")["model"] == model
    assert auto.automatic_choice(SCHEMA, rows, 1, scoring="roc_auc")["model"] == "scorecard"
    assert auto.automatic_choice(SCHEMA, rows, 1, class_weight={"yes": 2})["model"] == "tree"


def test_a_unit_of_several_rows_needs_as_many_times_the_rows():
    persons = replace(SCHEMA, unit=Unit("person", 3))
    learner = auto.PrivateAutoClassification(3, schema=persons)
    assert [learner.choice(persons, n)["model"] for n in (2_999, 3_000)] == ["tree", "either"]
    assert learner.planned_charge(persons).epsilon == 3


@pytest.mark.parametrize("parameters", [{}, {"n_rows": 10}, {"n_rows": 10**6}, {"scoring": "roc_auc"}])
def test_what_is_charged_does_not_depend_on_the_answers(parameters):
    spent = set()
    for seed in range(4):
        budget = hr.Budget(rho=5)
        result = fitted(1, seed, budget=budget, **parameters)
        spent.add((result.privacy_.epsilon, budget.remaining_rho))
        assert result.privacy_.rho <= 5 - budget.remaining_rho
    assert len(spent) == 1


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"scoring": "auc"}, "scoring"),
        ({"n_rows": 0}, "n_rows"),
        ({"n_rows": 2.5}, "n_rows"),
        ({"n_rows": 2**63}, r"n_rows must be below 2\^63, got 9223372036854775808"),
        ({"epsilon": "1e-20", "n_rows": 400}, "epsilon for one draw must be > "),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"class_weight": {"yes": 2}, "scoring": "roc_auc"}, "scoring='roc_auc'.*costs or class_weight"),
        (
            {"class_weight": {"yes": 2}, "schema": RISING},
            "monotone.*costs or class_weight",
        ),
    ],
)
def test_wrong_parameters_are_refused_before_the_charge(parameters, problem):
    budget = hr.Budget(1)
    with pytest.raises((ArgumentError, TypeError), match=problem):
        hr.PrivateAutoClassifier(**{"epsilon": 1, "schema": SCHEMA, "budget": budget, **parameters}).fit(*rows())
    assert budget.spent == 0


def test_a_number_is_refused_with_advice():
    with pytest.raises(ValueError, match="classes"):
        hr.PrivateAutoClassifier(1, schema=Schema(SCHEMA.attributes, Number("y", 0, 1))).fit(rows()[0], np.zeros(400))


def test_several_classes_are_chosen_for(monkeypatch):
    monkeypatch.setattr(auto, "DRAW_SHARES", {100: Fraction(1, 2)})
    frame, _ = rows()
    labels = np.digitize(frame["age"], [30, 60])
    schema = replace(SCHEMA, label=Label("group", (0, 1, 2)))
    source = SeededNoise(np.random.default_rng(0))
    result = hr.PrivateAutoClassifier(4, schema=schema, random_state=source).fit(frame, labels)
    assert result.choice_["because"] == "drawn"
    assert result.predict_proba(frame).shape == (400, 3)


def test_the_model_is_saved_and_read_as_any_other(tmp_path):
    result = fitted()
    result.model_.save(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json") == result.model_
    assert "CASE" in result.to_sql()


def test_no_choice_is_shown_before_a_fit():
    with pytest.raises(NotFittedError, match="not fitted"):
        _ = hr.PrivateAutoClassifier(1).choice_
