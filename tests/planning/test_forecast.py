"""Forecasts: their text follows from their numbers, and bad arguments get one clear error."""

import json
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

import hedgerow as hr
from hedgerow.learn.auto import automatic_choice
from hedgerow.learn.search import cost
from hedgerow.planning import simulation
from hedgerow.planning.curve import Curve, Trial
from hedgerow.planning.simulation import Simulation
from hedgerow.text.messages import ChargeNote, add_charge_note, charge_notes

LABEL = hr.Label("ill", ("no", "yes"))
SCHEMA = hr.Schema({"age": hr.Integer(18, 90, cuts=(40, 60)), "smoker": hr.Boolean()}, LABEL)


def public(rows=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 91, rows), "smoker": rng.random(rows) < 0.3})
    return frame, np.where((frame.age > 60) | frame.smoker, "yes", "no")


def words(text):
    return " ".join(str(text).split())


def test_the_largest_model_within_the_loss_is_recommended():
    forecast = hr.plan(SCHEMA, 1000, 1)
    assert not forecast.is_hopeless
    assert {bound.kind for bound in forecast.largest} == {"tree", "rule list"}
    tree = forecast.largest[0]
    for bound in (bound for bound in forecast.draws if bound.kind == "tree"):
        assert (bound.size <= tree.size) is (bound.excess(forecast.epsilon) <= 50)
    lost = f"{tree.excess(forecast.epsilon):,.0f} of 1,000 rows"
    assert f"a tree of depth {tree.size} misclassifies on average at most {lost}" in words(forecast)
    assert repr(forecast) == "<Forecast for 1,000 rows, epsilon=1>"


def test_a_further_level_has_to_gain_what_it_can_lose():
    forecast = hr.plan(SCHEMA, 1000, 1)
    one_level, two, three, *_ = (bound.excess(forecast.epsilon) for bound in forecast.draws if bound.kind == "tree")
    assert f"level 2 more than {two - one_level:.0f}, level 3 more than {three - two:.0f}" in words(forecast)


def test_a_plan_states_that_the_search_time_limits_the_depth():
    numbers = hr.Schema({f"x{i}": hr.Real(0, 1) for i in range(12)}, hr.Number("y", 0, 12))
    forecast = hr.plan(numbers, 200_000, 1)
    depth, text = max(bound.size for bound in forecast.draws if bound.kind == "tree"), words(forecast)
    assert forecast.is_depth_limited
    assert f"at most {depth} levels, because an exact search of more is expected to take" in text
    assert "Even so, it uses only every second cut point of an attribute with more than 5" in text
    assert f"max_depth={depth + 1} (--max-depth {depth + 1}) draws its levels in blocks" in text
    assert "search='greedy' (--search greedy) with this max_depth" in text
    few = hr.plan(hr.Schema({f"x{i}": hr.Real(0, 1) for i in range(5)}, hr.Number("y", 0, 12)), 200_000, 1)
    assert few.is_depth_limited
    assert "cut point of an attribute with more" not in words(few)


@pytest.mark.parametrize("attributes", [1, 2, 9])
def test_a_plan_is_silent_about_time_if_the_whole_depth_is_searched(attributes):
    schema = hr.Schema({f"x{i}": hr.Boolean() for i in range(attributes)}, LABEL)
    forecast = hr.plan(schema, 2000, 1)
    assert max(bound.size for bound in forecast.draws if bound.kind == "tree") == min(attributes, 5)
    assert not forecast.is_depth_limited
    assert "seconds" not in words(forecast)


def test_a_hopeless_plan_recommends_a_sufficient_setting():
    forecast = hr.plan(SCHEMA, 30, "0.1")
    assert forecast.is_hopeless
    assert "noise may cost every tree and rule list more than 5 percentage points" in forecast.recommendation
    enough = forecast.enough_epsilon
    assert f"From epsilon = {enough:g} on" in forecast.recommendation
    assert hr.plan(SCHEMA, 30, enough).largest
    assert not hr.plan(SCHEMA, 30, 0.8 * enough).largest


def test_a_draw_on_few_rows_takes_less_time():
    schema = hr.Schema({f"x{n}": hr.Boolean() for n in range(20)}, LABEL)
    tree = hr.PrivateTreeClassifier(epsilon=1.0).search_cost(schema)
    for rows, patterns in ((300, 300), (10_000, 10_000), (40_000, 10_000)):
        seconds = {bound.seconds for bound in hr.plan(schema, rows, 1).draws if bound.kind == "tree"}
        assert seconds == {tree.fixed + patterns * tree.each}


def test_the_default_epsilon_is_the_least_for_a_tree_of_two_levels():
    booleans = hr.Schema({f"x{n}": hr.Boolean() for n in range(8)}, LABEL)  # a list of two rules needs less
    for schema, loss in ((SCHEMA, 0.02), (SCHEMA, 0.2), (booleans, 0.05)):
        forecast = hr.plan(schema, 1000, accuracy_loss=loss)
        (tree,) = (bound for bound in forecast.draws if (bound.kind, bound.size) == ("tree", 2))
        assert tree.excess(forecast.epsilon) <= loss * 1000
        assert tree.excess(forecast.epsilon * 9 / 10) > loss * 1000
        assert "a tree of depth 2 misclassifies on average at most" in words(forecast)


def test_greedy_models_have_no_bound_and_require_an_epsilon(monkeypatch):
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    forecast = hr.plan(SCHEMA, 30, "0.01")
    assert forecast.enough_epsilon is None
    assert "No bounds are available for trees and rule lists" in str(forecast)
    assert "Declare fewer attributes" in forecast.recommendation
    assert "Fit a scorecard" in hr.plan(SCHEMA, 10_000, 1).recommendation
    with pytest.raises(ValueError, match="epsilon is missing"):
        hr.plan(SCHEMA, 30)


def test_cut_points_are_forecast_if_there_are_some_to_learn():
    open_numbers = hr.Schema({"age": hr.Integer(18, 90), "bmi": hr.Integer(10, 60)}, LABEL)
    assert "Cut points of 2 attributes can be learned for a fifth of epsilon. The 5 bins, of 80 rows" in words(
        hr.plan(open_numbers, 400, 1)
    )
    assert "Cut points" not in str(hr.plan(SCHEMA, 400, 1))


def test_models_are_fitted_to_a_public_table(capsys):
    forecast = hr.plan(SCHEMA, 400, 4, public=public(), runs=3)
    curve, text = forecast.curve, words(forecast)
    assert curve.models == ("tree", "rule list", "scorecard")
    assert curve.epsilons == tuple(map(Fraction, ("1/5", "4/5", "2", "4", "8", "32")))
    assert all(len(trial.scores) == 3 for trial in curve.trials)
    assert curve.trial("tree", Fraction(4)).mean > curve.trial("constant", Fraction(4)).mean
    assert [len(curve.trial(model, Fraction(4)).sizes) for model in ("constant", "tree")] == [0, 3]
    assert [size.leaves for size in curve.trial("tree", Fraction(4)).sizes] == [3, 3, 3]
    assert "tree with 3 leaves, AUROC" in text
    bins = [size.bins for size in curve.trial("scorecard", Fraction(4)).sizes]
    assert f"scorecard with {np.mean(bins):.0f} bins ({min(bins)} to {max(bins)})" in text
    assert "accuracy (%) on held-out rows, mean of 3 runs" in text
    assert "Fit a " in forecast.recommendation
    arrays = hr.plan(SCHEMA, 400, 4, public=(public()[0].to_numpy(dtype=object), public()[1]), runs=3)
    assert arrays.curve == forecast.curve
    assert capsys.readouterr().err == ""


def test_public_rows_are_scored_as_scikit_learn_does():
    frame, ill = public()
    curve = hr.plan(SCHEMA, 200, 1, public=(frame, ill), runs=1).curve
    rng = np.random.default_rng([20261123, 0])
    order = rng.permutation(300)
    drawn, tried = rng.choice(order[:150], 200), order[150:]
    card = hr.PrivateScorecardClassifier(1, schema=SCHEMA, random_state=0)
    card.fit(frame.iloc[drawn].reset_index(drop=True), ill[drawn])
    trial, test = curve.trial("scorecard", Fraction(1)), frame.iloc[tried]
    assert trial.scores == (pytest.approx(np.mean(card.predict(test) == ill[tried])),)
    assert trial.auroc == (pytest.approx(roc_auc_score(ill[tried] == "yes", card.predict_proba(test)[:, 1])),)
    assert curve.trial("constant", Fraction(1)).auroc == ()


def test_the_constant_is_chosen_by_the_rows_of_the_fit(monkeypatch):
    monkeypatch.setattr(simulation, "FACTORS", (Fraction(1),))
    frame, _ = public()
    ill = np.where(np.random.default_rng(0).random(300) < 0.5, "yes", "no")
    scores, expected = (
        hr.plan(SCHEMA, 200, 1, public=(frame, ill), runs=8).curve.trial("constant", Fraction(1)).scores,
        [],
    )
    for run in range(8):
        rng = np.random.default_rng([20261123, run])
        order = rng.permutation(300)
        ill_of_fit = np.mean(ill[rng.choice(order[:150], 200)] == "yes") > 0.5
        expected.append(np.mean((ill[order[150:]] == "yes") == ill_of_fit))
    assert scores == pytest.approx(expected)
    assert min(expected) < 0.5  # the majority of the fit is not that of the test rows


def test_costs_are_scored_and_bounded():
    frame, ill = public()
    forecast = hr.plan(SCHEMA, 200, 2, class_weight={"yes": 4}, public=(frame, ill), runs=2)
    curve, plain = forecast.curve, hr.plan(SCHEMA, 200, 2)
    assert curve.metric == "cost"
    assert forecast.to_dict()["costs"] == {"no": {"yes": 1.0}, "yes": {"no": 4.0}}
    order = np.random.default_rng([20261123, 0]).permutation(300)
    assert curve.trial("constant", Fraction(2)).scores[0] == pytest.approx(np.mean(ill[order[150:]] == "no"))
    tree, plain_tree = forecast.draws[0], plain.draws[0]
    assert tree.excess(Fraction(2)) == pytest.approx(4 * plain_tree.excess(Fraction(2)), rel=0.5)
    assert "mean cost on held-out rows" in words(forecast)
    by_matrix = hr.plan(SCHEMA, 200, 2, costs={"no": {"yes": 1}, "yes": {"no": 4}})
    assert by_matrix.draws[0].excess(Fraction(2)) == tree.excess(Fraction(2))
    assert "Cost of errors because of noise" in str(by_matrix)


def test_the_forecast_of_a_rare_class_includes_advice():
    forecast = hr.plan(SCHEMA, 2000, "1/2", class_share={"yes": 0.05})
    text = words(forecast)
    assert "that 5.0 % of the rows have ill = yes" in text
    assert "tree, class_weight yes=19" in text
    assert "Always predicting the other class misclassifies 5.0 %" in text
    assert "class_weight={'yes': 19} (--class-weight yes=19) lowers this to" in forecast.recommendation
    assert [risk["class_weight"] for risk in forecast.to_dict()["risks"]] == 2 * [*6 * [None], *3 * [19.0]]
    assert "tends to predict the same class for everyone if the other class has fewer than" in words(
        hr.plan(SCHEMA, 400, "1/4")
    )
    assert "one class for everyone" not in words(hr.plan(SCHEMA, 400, "1e-6"))  # labels are noise, and rarely all equal


def test_no_class_weight_is_proposed_if_noise_exceeds_the_class_size():
    forecast = hr.plan(SCHEMA, 100, 1, class_share={"yes": 0.002})
    weighted = [risk.probability for risk in forecast.risks if risk.class_weight is not None]
    assert max(weighted) < 0.5  # as labels are noise
    assert not forecast.is_rare_class_learnable
    assert "class weights help little" in words(forecast.recommendation)


def test_a_model_is_ahead_for_ranking_only_if_the_difference_is_clear():
    forecast = hr.plan(SCHEMA, 300, 1)

    def text(*ranks):
        scores = {"constant": (0.5, 0.5), "tree": (0.8, 0.8), "scorecard": (0.7, 0.7)}
        auroc = {"constant": (), "tree": (0.7, 0.8), "scorecard": ranks}
        trials = [Trial(name, Fraction(1), scores[name], auroc[name]) for name in scores]
        sizes = Curve("accuracy", 2, (Fraction(1),), tuple(trials))
        return words(replace(forecast, curve=sizes).recommendation)

    assert "For ranking, the scorecard was better (AUROC 0.81, compared with 0.75)." in text(0.76, 0.86)
    assert "For ranking" not in text(0.704, 0.804)  # equal in two digits
    assert "For ranking" not in text(0.6, 0.99)  # within two standard errors


def test_a_single_run_has_no_band():
    forecast = hr.plan(SCHEMA, 200, 1, public=public(), runs=1)
    text = words(forecast)
    assert "band" not in forecast.plot().get_title(loc="left")
    assert "on held-out rows, a single run epsilon" in text
    assert "band" not in text
    assert " to " not in text.split("At epsilon")[0].split("epsilon constant")[1]


def test_an_interrupted_plan_states_no_charge(monkeypatch):
    """A fit states on an interrupt what it has charged, but a plan spends nothing."""
    from hedgerow.learn.auto import PrivateAutoClassification

    def interrupted(*_):
        error = KeyboardInterrupt()
        add_charge_note(error, ChargeNote("The epsilon of 1 stays charged."))
        raise error

    monkeypatch.setattr(PrivateAutoClassification, "fit", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        hr.plan(SCHEMA, 100_000, 1, public=public(), runs=1)
    assert charge_notes(caught.value) == []


def test_the_rarest_class_of_a_public_table_is_taken():
    frame, ill = public()
    ill = np.where(frame.age > 85, "yes", "no")
    forecast = hr.plan(SCHEMA, 200, 1, public=(frame, ill), runs=1)
    assert (forecast.rare.value, forecast.rare.share) == ("yes", pytest.approx(np.mean(ill == "yes")))
    assert hr.plan(SCHEMA, 200, 1, public=public(), runs=1).rare is None


def test_kinds_that_take_too_long_are_left_out_unless_runs_are_given(monkeypatch):
    seconds = hr.PrivateRuleListClassifier(1).search_cost(SCHEMA).seconds(200)
    monkeypatch.setattr(simulation, "_MOST_SECONDS", 54 * seconds - 1e-6)
    monkeypatch.setattr(simulation, "FACTORS", (Fraction(1),))
    monkeypatch.setattr(simulation, "DEFAULT_RUNS", 54)
    left = Simulation(schema=SCHEMA, number=200, rows=200, epsilon=Fraction(1), delta=Fraction(0)).left_out()
    assert "rule list" in {kind.model for kind in left}
    assert not Simulation(
        schema=SCHEMA, number=200, rows=200, epsilon=Fraction(1), delta=Fraction(0), runs=2
    ).left_out()
    monkeypatch.setattr(simulation, "DEFAULT_RUNS", 1)
    monkeypatch.setattr(simulation, "_MOST_SECONDS", 0.0)
    forecast = hr.plan(SCHEMA, 200, 1, public=public())
    assert forecast.curve.models == ("scorecard",)
    assert "set the number of runs (--runs 1)." in str(forecast)


@pytest.mark.parametrize(("rows", "model"), [(400, "tree"), (40_000, "either")])
def test_the_automatic_choice_is_named(rows, model):
    forecast = hr.plan(SCHEMA, rows, 1)
    assert forecast.choice == automatic_choice(SCHEMA, rows, 1)
    assert forecast.to_dict()["automatic_choice"]["model"] == model
    needed = forecast.choice["rows_needed"]
    text = " ".join(forecast.recommendation.split())
    assert f"with {needed:,} rows or more" in text
    assert ("fits a tree" in text) == (model == "tree")
    monotone = hr.Schema({"age": hr.Integer(18, 90, cuts=(40,), monotone="increasing")}, LABEL)
    assert "fits a scorecard." in hr.plan(monotone, rows, 1).recommendation
    assert hr.plan(monotone, rows, 1, class_weight={"yes": 2}).choice is None


def test_the_automatic_choice_is_tried_on_a_public_table():
    """Where it takes a tree, the fit is that of the tree; a joint draw is fitted by itself."""
    frame, ill = public()
    curve = hr.plan(SCHEMA, 300, 10, public=(frame, ill), runs=1).curve
    needed = automatic_choice(SCHEMA, 300, 80)["rows_needed"]
    assert needed <= 300
    assert curve.trial("automatic choice", Fraction(10)).scores == curve.trial("tree", Fraction(10)).scores
    drawn = hr.PrivateAutoClassifier(80, n_rows=300, schema=SCHEMA, random_state=0)
    order = np.random.default_rng([20261123, 0])
    places = order.permutation(300)
    rows, tried = order.choice(places[:150], 300), places[150:]
    drawn.fit(frame.iloc[rows].reset_index(drop=True), ill[rows])
    assert curve.trial("automatic choice", Fraction(80)).scores == (
        pytest.approx(np.mean(drawn.predict(frame.iloc[tried]) == ill[tried])),
    )
    assert "automatic choice" not in curve.models


@pytest.mark.parametrize("options", [{}, {"class_share": {"yes": 0.02}}, {"public": public(), "runs": 1}])
def test_a_plan_is_one_page_of_text(options):
    schema = hr.Schema({f"a{n}": hr.Integer(18, 90, cuts=(40, 60)) for n in range(8)} | {"b": hr.Real(0, 1)}, LABEL)
    if "public" in options:
        schema, options = SCHEMA, options
    lines = str(hr.plan(schema, 3000, 1, **options)).splitlines()
    assert len(lines) <= 44
    assert max(map(len, lines)) <= 120


def test_the_data_are_json_and_the_same_numbers():
    forecast = hr.plan(SCHEMA, 400, "1/2", delta="1e-6", public=public(), runs=2)
    data = json.loads(json.dumps(forecast.to_dict(), allow_nan=False))
    assert (data["rows"], data["epsilon"], data["delta"]) == (400, "1/2", "1/1000000")
    assert [bound["excess"] for bound in data["draws"]] == [bound.excess(Fraction(1, 2)) for bound in forecast.draws]
    assert data["recommendation"] == forecast.recommendation
    curve = data["curve"]
    assert (curve["metric"], curve["runs"], len(curve["trials"])) == ("accuracy", 2, 30)
    assert curve["thresholds"].keys() == {"tree", "rule list", "scorecard"}
    assert curve["trials"][6]["sizes"][0].keys() >= {"leaves", "depth"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"schema": "s.yaml"}, "schema must be a Schema"),
        ({"schema": hr.Schema({"age": hr.Integer(0, 9)})}, "attribute and a label"),
        ({"rows": 0}, "rows must be"),
        ({"rows": 1.5}, "rows must be"),
        ({"rows": 2**42}, "rows must be below 4,398,046,511,104"),
        ({"rows": 10**23}, "rows must be below 4,398,046,511,104"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": 1}, "delta must be"),
        ({"accuracy_loss": 0}, "accuracy_loss must be between 0 and 1"),
        ({"runs": 0, "public": public()}, "runs must be"),
        ({"runs": 2}, "runs requires public"),
        ({"class_share": {"maybe": 0.1}}, "class_share: expected a class .*got 'maybe'"),
        ({"class_share": {"yes": 0.7}}, "class_share must be a number > 0 and <= 0.5, got 0.7"),
        ({"class_share": {"yes": 0.1, "no": 0.2}}, "class_share must map a single class"),
        ({"class_weight": {"yes": -1}}, "class_weight of yes must be a finite number > 0"),
        ({"costs": {"yes": {"no": 5}}}, "costs must include every error"),
        ({"public": 3}, "public must be a tuple"),
        ({"public": (public()[0], public()[1][:5])}, "at least 10 rows"),
        ({"public": (public()[0], ["no"] * 300)}, "public labels must have at least two classes"),
    ],
)
def test_bad_values_are_refused(arguments, problem):
    with pytest.raises((ValueError, TypeError), match=problem):
        hr.plan(**{"schema": SCHEMA, "rows": 400, "epsilon": 1} | arguments)


def test_as_many_rows_are_forecast_as_draws_take():
    """Numbers without cut points are forecast by the drawing of these, whose own limit is lower."""
    open_numbers = hr.Schema({"age": hr.Integer(18, 90)}, LABEL)
    assert hr.plan(open_numbers, 2**32 - 1, 1).cut_points
    with pytest.raises(ValueError, match="rows must be below 4,294,967,296"):
        hr.plan(open_numbers, 2**32, 1)
    assert hr.plan(SCHEMA, 2**42 - 1, 1).draws


def test_a_person_with_three_rows_needs_three_times_epsilon():
    """Every mechanism without δ runs at a third of ε; noise with a δ is three times as large, but for its steps."""
    unit = hr.Schema(SCHEMA.attributes, LABEL, unit=hr.Unit("patient", 3))
    person, row = hr.plan(unit, 400, 3, units=134), hr.plan(SCHEMA, 400, 1)
    assert [draw.excess(Fraction(3)) for draw in person.draws] == pytest.approx(
        [draw.excess(Fraction(1)) for draw in row.draws]
    )
    assert (person.leaf_noise, person.bin_noise) == (row.leaf_noise, pytest.approx(row.bin_noise))
    with_delta = [
        hr.plan(schema, 4000, 1, units=units, delta="1e-6").bin_noise
        for schema, units in ((unit, 1334), (SCHEMA, None))
    ]
    assert with_delta[0] == pytest.approx(3 * with_delta[1], rel=0.01)


PERSONS, EACH = 500, 8


def persons(rng, attributes=8):
    """Return rows of persons who have the same values and label in each: the first attribute decides for most."""
    values = rng.random((PERSONS, attributes)) < 0.5
    ill = np.where(rng.random(PERSONS) < 0.9, values[:, 0], ~values[:, 0])
    frame = pd.DataFrame(values, columns=[f"x{k}" for k in range(attributes)]).assign(patient=np.arange(PERSONS))
    return frame.loc[np.repeat(np.arange(PERSONS), EACH)].reset_index(drop=True), np.repeat(ill, EACH)


def test_a_forecast_with_a_unit_holds_for_the_rows_that_are_counted():
    """500 persons with 8 rows each: at most one row of each is counted, so that 4,000 rows would promise too much."""
    frame, ill = persons(np.random.default_rng(1))
    schema = hr.Schema(
        {name: hr.Boolean() for name in frame.columns[:-1]}, hr.Label("ill", (False, True)), unit=hr.Unit("patient", 1)
    )
    losses = []
    for seed in range(100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            tree = hr.PrivateTreeClassifier("0.02", schema=schema, max_depth=1, random_state=seed).fit(frame, ill)
        losses.append((tree.predict(frame) != ill).mean() - (frame.x0 != ill).mean())
    mean, error = np.mean(losses), np.std(losses) / 10

    def promised(schema, units):
        forecast = hr.plan(schema, PERSONS * EACH, "0.02", units=units)
        (draw,) = (draw for draw in forecast.draws if (draw.kind, draw.size) == ("tree", 1))
        return draw.excess(forecast.epsilon) / forecast.rows

    assert promised(replace(schema, unit=None), None) < mean - 4 * error
    assert mean + 4 * error < promised(schema, PERSONS)


@pytest.mark.parametrize(("max_rows", "units", "counted"), [(1, 500, 500), (3, 500, 1500), (10, 500, 4000)])
def test_at_most_max_rows_of_each_unit_are_counted(max_rows, units, counted):
    schema = replace(SCHEMA, unit=hr.Unit("patient", max_rows))
    forecast = hr.plan(schema, 4000, 1, units=units)
    assert (forecast.rows, forecast.table_rows, forecast.units) == (counted, 4000, 500)
    text = words(forecast)
    assert "Plan for about 500 units (patient) with 4,000 rows" in text
    assert f"used, about {counted:,} rows in total" in text
    assert ("If units have very different numbers of rows" in text) == (max_rows > 1)
    tree = forecast.largest[0]
    units = tree.excess(forecast.epsilon) / counted * 500
    assert f"of {counted:,} rows" in forecast.recommendation
    assert f"the rows of {units:,.0f} units" in forecast.recommendation
    assert forecast.to_dict()["rows_counted"] == counted


@pytest.mark.parametrize(
    ("schema", "units", "problem"),
    [
        (SCHEMA, 10, "units requires a schema with a unit"),
        (
            replace(SCHEMA, unit=hr.Unit("patient", 1)),
            None,
            "units .* is missing: .* each unit contributes at most 1 row ",
        ),
        (replace(SCHEMA, unit=hr.Unit("patient", 1)), 401, "units must be at most rows"),
        (replace(SCHEMA, unit=hr.Unit("patient", 1)), 0, "units must be"),
    ],
)
def test_units_are_asked_for_with_a_unit_only(schema, units, problem):
    with pytest.raises(ValueError, match=problem):
        hr.plan(schema, 400, 1, units=units)


def test_units_are_drawn_whole_from_a_public_table():
    """A table of one row each of as many units as are drawn is fitted and tried alike, whatever rows they have more."""
    frame, ill = persons(np.random.default_rng(2), 2)
    one_each = frame.patient.drop_duplicates().index
    schema = hr.Schema(
        {name: hr.Boolean() for name in frame.columns[:-1]}, hr.Label("ill", (False, True)), unit=hr.Unit("patient", 1)
    )
    tables = (frame, ill), (frame.loc[one_each], ill[one_each])
    many, single = (hr.plan(schema, 4000, 4, units=500, public=table, runs=1).curve for table in tables)
    for ours, theirs in zip(many.trials, single.trials, strict=True):
        assert ours.scores == pytest.approx(theirs.scores)


def test_the_remaining_time_is_shown_after_the_first_run(monkeypatch, capsys):
    for shown in (False, True):
        monkeypatch.setattr("hedgerow.planning.simulation._LEAST_ANNOUNCED", 0.0 if shown else 1e9)
        hr.plan(SCHEMA, 30, 1, public=public(), runs=2, verbose=True)
        assert ("remain" in capsys.readouterr().err) is shown
