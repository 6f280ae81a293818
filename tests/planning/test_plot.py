"""Pictures of forecasts: a falling line for each size, or scores by epsilon on a public table."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learn.search import cost
from hedgerow.planning.wording import bound_name

SCHEMA = hr.Schema({"age": hr.Integer(18, 90, cuts=(40, 60)), "smoker": hr.Boolean()}, hr.Label("ill", ("no", "yes")))


def test_a_line_for_each_size_falls_as_the_bound_does():
    forecast = hr.plan(SCHEMA, 400, 1)
    axes = forecast.plot()
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    for bound in forecast.draws:
        points = lines[bound_name(bound)]
        assert np.all(np.diff(points[:, 1]) <= 1e-9)
        enough = bound.epsilon_for(0.05, 400)
        if enough < points[-1, 0]:
            assert np.interp(enough, points[:, 0], points[:, 1]) == pytest.approx(5, rel=0.05)
    assert axes.get_xscale() == "log"
    assert "400 rows" in axes.get_title(loc="left")


def test_without_bounds_there_is_a_picture_too(monkeypatch):
    monkeypatch.setattr(cost, "MOST_SECONDS", 0)
    assert hr.plan(SCHEMA, 400, 1).plot().get_legend() is None


def public_table(n=300):
    rng = np.random.default_rng(1)
    age, smoker = rng.integers(18, 91, n), rng.random(n) < 0.5
    labels = np.where((age > 60) & smoker | (rng.random(n) < 0.2), "yes", "no")
    return pd.DataFrame({"age": age, "smoker": smoker}), labels


def test_the_curve_has_the_means_and_bands_of_the_runs():
    forecast = hr.plan(SCHEMA, 100, 1, public=public_table(), runs=3)
    axes, curve = forecast.plot(), forecast.curve
    lines = {line.get_label().partition(":")[0]: line for line in axes.lines}
    bands = dict(zip(curve.models, axes.collections, strict=True))
    assert lines["the most frequent class"].get_ydata() == pytest.approx(
        [100 * curve.trial("constant", epsilon).mean for epsilon in curve.epsilons]
    )
    for model in curve.models:
        trials = [curve.trial(model, epsilon) for epsilon in curve.epsilons]
        assert lines[model].get_ydata() == pytest.approx([100 * trial.mean for trial in trials])
        assert lines[model].get_xdata() == pytest.approx([float(epsilon) for epsilon in curve.epsilons])
        corners = bands[model].get_paths()[0].vertices[:, 1]
        for end in np.ravel([trial.band for trial in trials]):
            assert np.abs(corners - 100 * end).min() < 1e-9
        start = curve.beats_constant_from(model)
        expected = "not better in every run" if start is None else f"better from epsilon = {float(start):g} on"
        assert expected in lines[model].get_label()
    title = axes.get_title(loc="left")
    assert "100 rows of a public table, 3 runs at each epsilon" in title
    assert "probability 50 %" in " ".join(title.split())
    assert Fraction(1) in curve.epsilons
