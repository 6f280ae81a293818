"""Forecasts say what their numbers say, of public values alone; bad values get one clear error."""

import json
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learn.search import cost

LABEL = hr.Label("ill", ("no", "yes"))
SCHEMA = hr.Schema({"age": hr.Integer(18, 90, cuts=(40, 60)), "smoker": hr.Boolean()}, LABEL)


def public(rows=300):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(18, 91, rows), "smoker": rng.random(rows) < 0.3})
    return frame, np.where((frame.age > 60) | frame.smoker, "yes", "no")


def test_what_is_within_the_loss_is_recommended():
    forecast = hr.plan(SCHEMA, 5000, 1)
    assert not forecast.is_hopeless
    assert {one.kind for one in forecast.largest} == {"tree", "rule list"}
    for one in forecast.draws:
        within = one.excess(forecast.epsilon) <= 250
        assert within <= any(one.kind == best.kind and one.size <= best.size for best in forecast.largest)
    assert "A private tree misclassifies, on average, at most 5 % of the rows more than the best tree" in str(forecast)
    assert repr(forecast) == "<Forecast for 5,000 rows, epsilon=1>"


def test_a_hopeless_plan_says_so_and_what_would_do():
    forecast = hr.plan(SCHEMA, 30, "0.1")
    assert forecast.is_hopeless
    assert forecast.recommendation.startswith("Too little for any model: expect no more than the most frequent class.")
    assert "too noisy" in str(forecast)
    enough = forecast.enough_epsilon
    assert hr.plan(SCHEMA, 30, enough).largest
    assert not hr.plan(SCHEMA, 30, 0.8 * enough).largest


def test_a_draw_on_few_rows_takes_less_time():
    schema = hr.Schema({f"x{n}": hr.Boolean() for n in range(20)}, LABEL)
    tree = hr.PrivateTreeClassifier(epsilon=1.0).search_cost(schema)
    for rows, patterns in ((300, 300), (10_000, 10_000), (40_000, 10_000)):
        told = {one.seconds for one in hr.plan(schema, rows, 1).draws if one.kind == "tree"}
        assert told == {tree.fixed + patterns * tree.each}


def test_without_an_epsilon_the_least_is_found():
    for loss in (0.02, 0.2):
        forecast = hr.plan(SCHEMA, 1000, accuracy_loss=loss)
        assert forecast.epsilon == Fraction(str(forecast.enough_epsilon))
        assert min(one.excess(forecast.epsilon) for one in forecast.draws) <= loss * 1000


def test_where_models_are_greedy_there_is_no_bound_and_an_epsilon_is_needed(monkeypatch):
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    forecast = hr.plan(SCHEMA, 30, "0.01")
    assert forecast.enough_epsilon is None
    assert "no tree or rule list is drawn as a whole" in str(forecast)
    assert "Ask for fewer attributes" in forecast.recommendation
    assert "Fit a scorecard" in hr.plan(SCHEMA, 10_000, 1).recommendation
    with pytest.raises(ValueError, match="give epsilon"):
        hr.plan(SCHEMA, 30)


def test_cut_points_are_told_where_there_are_some_to_learn():
    open_numbers = hr.Schema({"age": hr.Integer(18, 90), "bmi": hr.Integer(10, 60)}, LABEL)
    assert "cut points of 2 numbers, for a fifth of epsilon: 5 bins of 80 rows" in str(hr.plan(open_numbers, 400, 1))
    assert "cut points" not in str(hr.plan(SCHEMA, 400, 1))
    assert "no epsilon tells it" not in str(hr.plan(SCHEMA, 400, 1))


def test_a_public_table_is_fitted_to(capsys):
    forecast = hr.plan(SCHEMA, 400, 4, public=public(), runs=3)
    assert [one.name for one in forecast.simulated] == ["most frequent", "rule list", "tree", "scorecard"]
    assert all(len(one.accuracies) == 3 for one in forecast.simulated)
    baseline, *models = (one.mean for one in forecast.simulated)
    assert max(models) > baseline
    assert [len(one.sizes) for one in forecast.simulated] == [0, 3, 3, 3]
    leaves = [size.leaves for size in forecast.simulated[2].sizes]
    assert f"{np.mean(leaves):.1f} leaves ({min(leaves)} to {max(leaves)})" in forecast.simulated[2].text()
    assert forecast.simulated[3].to_dict()["sizes"][0].keys() == {"attributes", "bins", "lowest", "highest"}
    assert "on the public table" in str(forecast)
    assert forecast == hr.plan(SCHEMA, 400, 4, public=public(), runs=3)
    arrays = hr.plan(SCHEMA, 400, 4, public=(public()[0].to_numpy(dtype=object), public()[1]), runs=3)
    assert arrays.simulated == forecast.simulated
    assert capsys.readouterr().err == ""


def test_the_data_are_json_and_the_same_numbers():
    forecast = hr.plan(SCHEMA, 400, "1/2", delta="1e-6", public=public(), runs=2)
    data = json.loads(json.dumps(forecast.to_dict()))
    assert (data["rows"], data["epsilon"], data["delta"]) == (400, "1/2", "1/1000000")
    assert [one["excess_errors"] for one in data["draws"]] == [one.excess(Fraction(1, 2)) for one in forecast.draws]
    assert data["recommendation"] == forecast.recommendation
    assert len(data["simulated"]) == 4


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"schema": "s.yaml"}, "schema must be a Schema"),
        ({"schema": hr.Schema({"age": hr.Integer(0, 9)})}, "a schema with attributes and a label"),
        ({"rows": 0}, "rows must be"),
        ({"rows": 1.5}, "rows must be"),
        ({"rows": 2**42}, "rows must be below 4,398,046,511,104"),
        ({"rows": 10**23}, "rows must be below 4,398,046,511,104"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": "much"}, "epsilon"),
        ({"delta": 1}, "delta must be"),
        ({"accuracy_loss": 0}, "accuracy_loss must be between 0 and 1"),
        ({"runs": 0}, "runs must be"),
        ({"public": 3}, "public must be a pair"),
        ({"public": (public()[0], public()[1][:5])}, "at least ten rows"),
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
    assert [one.excess(Fraction(3)) for one in person.draws] == pytest.approx(
        [one.excess(Fraction(1)) for one in row.draws]
    )
    assert (person.leaf_noise, person.bin_noise) == (row.leaf_noise, pytest.approx(row.bin_noise))
    assert person.least_epsilon == pytest.approx(3 * row.least_epsilon)
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
        (one,) = (one for one in forecast.draws if (one.kind, one.size) == ("tree", 2))
        return one.excess(forecast.epsilon) / forecast.rows

    assert promised(replace(schema, unit=None), None) < mean - 4 * error
    assert mean + 4 * error < promised(schema, PERSONS)


@pytest.mark.parametrize(("max_rows", "units", "counted"), [(1, 500, 500), (3, 500, 1500), (10, 500, 4000)])
def test_at_most_max_rows_of_each_unit_are_counted(max_rows, units, counted):
    schema = replace(SCHEMA, unit=hr.Unit("patient", max_rows))
    forecast = hr.plan(schema, 4000, 1, units=units)
    assert (forecast.rows, forecast.table_rows, forecast.units) == (counted, 4000, 500)
    assert f"{counted:,} rows are counted, at most {max_rows} of each of about 500 units (patient)" in str(forecast)
    assert ("if units have very different numbers of rows" in str(forecast)) == (max_rows > 1)
    assert forecast.to_dict()["rows_counted"] == counted


@pytest.mark.parametrize(
    ("schema", "units", "problem"),
    [
        (SCHEMA, 10, "units is for a schema with a unit"),
        (replace(SCHEMA, unit=hr.Unit("patient", 1)), None, "give units .* At most 1 row of each unit"),
        (replace(SCHEMA, unit=hr.Unit("patient", 1)), 401, "units must be at most rows"),
        (replace(SCHEMA, unit=hr.Unit("patient", 1)), 0, "units must be"),
    ],
)
def test_units_are_asked_for_with_a_unit_only(schema, units, problem):
    with pytest.raises(ValueError, match=problem):
        hr.plan(schema, 400, 1, units=units)


def test_units_are_drawn_whole_from_a_public_table():
    """A table of one row each of as many units as are drawn is fitted and tried alike, whatever rows they have more."""
    frame, ill = persons(np.random.default_rng(2))
    one_each = frame.patient.drop_duplicates().index
    schema = hr.Schema(
        {name: hr.Boolean() for name in frame.columns[:-1]}, hr.Label("ill", (False, True)), unit=hr.Unit("patient", 1)
    )
    tables = (frame, ill), (frame.loc[one_each], ill[one_each])
    many, single = (hr.plan(schema, 4000, 4, units=500, public=table, runs=2).simulated for table in tables)
    for ours, theirs in zip(many, single, strict=True):
        assert ours.accuracies == pytest.approx(theirs.accuracies)
