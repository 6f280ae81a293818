"""The picture of a forecast: a line falls for each size, or accuracy by epsilon has the forecasts' points."""

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learn.search import cost

SCHEMA = hr.Schema({"age": hr.Integer(18, 90, cuts=(40, 60)), "smoker": hr.Boolean()}, hr.Label("ill", ("no", "yes")))


def test_a_line_for_each_size_falls_as_the_bound_does():
    forecast = hr.plan(SCHEMA, 400, 1)
    axes = forecast.plot()
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    shown = [one for kind in ("tree", "rule list") for one in [x for x in forecast.draws if x.kind == kind][:4]]
    assert len(shown) > 4
    for one in shown:
        points = lines[one.name]
        assert np.all(np.diff(points[:, 1]) <= 0)
        at = np.interp(one.epsilon_for(0.05, 400), points[:, 0], points[:, 1])
        assert at == pytest.approx(5, rel=0.02)
    assert axes.get_xscale() == "log"
    assert "400 rows" in axes.get_title(loc="left")


def test_without_bounds_there_is_a_picture_too(monkeypatch):
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert hr.plan(SCHEMA, 400, 1).plot().get_legend() is None


def a_table(n=300):
    rng = np.random.default_rng(1)
    age, smoker = rng.integers(18, 91, n), rng.random(n) < 0.5
    labels = np.where((age > 60) & smoker | (rng.random(n) < 0.2), "yes", "no")
    return pd.DataFrame({"age": age, "smoker": smoker}), labels


def first_above(points, name):
    """The slow obvious way: the least epsilon such that at it and at all above it the lower end is above."""
    good = {}
    for epsilon, found in points.items():
        by_name = {one.name: one.accuracies[:2] for one in found}
        constant = sum(by_name["most frequent"]) / 2
        good[epsilon] = np.quantile(by_name[name], 0.05) > constant
    return min((e for e in good if all(good[other] for other in good if other >= e)), default=None)


@pytest.mark.parametrize("rows", [100, pytest.param(10, marks=pytest.mark.slow)])
def test_the_points_drawn_are_the_forecasts_at_each_epsilon(rows):
    forecast = hr.plan(SCHEMA, rows, 1, public=a_table(), runs=3, curve_runs=2)
    tried = {Fraction(1): 3} | dict.fromkeys(map(Fraction, ("1/20", "1/5", "1/2", "2", "8")), 2)
    points = {e: hr.plan(SCHEMA, rows, e, public=a_table(), runs=n).simulated for e, n in sorted(tried.items())}
    assert dict(forecast.by_epsilon) == points
    assert json.loads(json.dumps(forecast.to_dict()))["by_epsilon"][0]["epsilon"] == "1/20"
    axes = forecast.plot()
    lines = {line.get_label().partition(":")[0]: line for line in axes.lines}
    bands = dict(zip(("rule list", "tree", "scorecard"), axes.collections, strict=True))
    for place, name in enumerate(("the most frequent class for every row", *bands)):
        expected = [100 * np.mean(found[place].accuracies[:2]) for found in points.values()]
        assert lines[name].get_ydata() == pytest.approx(expected)
        assert lines[name].get_xdata() == pytest.approx([float(e) for e in points])
    for place, (name, band) in enumerate(bands.items(), start=1):
        corners = band.get_paths()[0].vertices[:, 1]
        for found in points.values():
            for end in np.quantile(found[place].accuracies[:2], [0.05, 0.95]):
                assert np.abs(corners - 100 * end).min() < 1e-9
        start = first_above(points, name)
        told = "does not beat it" if start is None else f"beats it from epsilon = {float(start):g} on"
        assert lines[name].get_label() == f"{name}: {told}"
    assert f"{rows:,} rows drawn from a public table, 2 runs for each epsilon" in axes.get_title(loc="left")


def test_other_epsilons_are_tried_on_public_rows_only():
    with pytest.raises(ValueError, match="curve_runs needs public"):
        hr.plan(SCHEMA, 400, 1, curve_runs=2)
