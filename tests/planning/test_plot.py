"""The picture of a forecast: a line falls for each size, and crosses the loss where the table says."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.search import cost

SCHEMA = hr.Schema({"age": hr.Integer(18, 90, cuts=(40, 60)), "smoker": hr.Boolean()}, hr.Label("ill", ("no", "yes")))


def test_a_line_for_each_size_falls_as_the_bound_does():
    forecast = hr.plan(SCHEMA, 400, 1)
    axes = forecast.plot()
    lines = {line.get_label(): line.get_xydata() for line in axes.lines}
    shown = [one for one in forecast.draws if one.size <= 4]
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
