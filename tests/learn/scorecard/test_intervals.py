"""Intervals of points: they cover what the same rows give without noise."""

from collections import namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.boundary.arrays import Floats
from hedgerow.learn.scorecard import class_plan
from hedgerow.learn.scorecard.fit import Fit
from hedgerow.learn.scorecard.smoothing import Evidence, smoothed
from hedgerow.models import AttributePoints, Scorecard
from hedgerow.schema import Label, Schema

Table = namedtuple("Table", ["frame", "labels", "schema"])
QUIET = 1000.0  # an epsilon at which noise is next to none


def fits(data: Any, epsilon: float, draws: int) -> Iterator[tuple[Scorecard, Scorecard]]:
    """Yield scorecards with noise, each with that of the same rows, and the same decisions, without.

    Neither is calibrated: that changes the worth of a point, for all points alike.
    """
    used: dict[str, Any] = {"schema": data.schema, "max_attributes": len(data.schema)}
    strength = Fit._strength
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_plan, "calibrated", lambda *_, **__: (0.0, 1.0))
        for seed in range(draws):
            loud = hr.PrivateScorecardClassifier(epsilon, random_state=seed, **used).fit(data.frame, data.labels)
            patch.setattr(Fit, "_strength", lambda self, *changes: strength(self, *changes) * epsilon / QUIET)
            quiet = hr.PrivateScorecardClassifier(QUIET, random_state=seed, **used).fit(data.frame, data.labels)
            patch.setattr(Fit, "_strength", strength)
            yield loud.scorecard_, quiet.scorecard_


def log_odds(part: AttributePoints, unit: float) -> Floats:
    return np.array(part.points)[:, 0] * unit


def distances(loud: Scorecard, quiet: Scorecard) -> Iterator[tuple[float, float]]:
    """Yield for each bin that has enough rows how far its log-odds are from those without noise, and the error."""
    without = {part.attribute: part for part in quiet.parts}
    for part in loud.parts:
        if part.attribute not in without:
            continue
        twin = without[part.attribute]
        assert part.errors is not None
        assert twin.rows is not None
        rows = np.maximum(np.array(twin.rows), 0.5)
        own, theirs = log_odds(part, loud.unit), log_odds(twin, quiet.unit)
        for value in np.unique(own):  # bins that were merged are meant together
            places = own == value
            theirs[places] = np.average(theirs[places], weights=rows[places])
        off = own - theirs - np.average(own - theirs, weights=rows)
        for place, (error,) in enumerate(part.errors):
            if place not in part.unsupported:
                yield abs(float(off[place])), error * loud.unit


@pytest.mark.statistics
@pytest.mark.parametrize(("table", "epsilon"), [("german", 0.5), ("german", 2), ("compas_binary", 0.3)])
def test_intervals_cover_the_points_without_noise(table: str, epsilon: float) -> None:
    result = np.array([pair for cards in fits(hr.datasets.load(table), epsilon, 12) for pair in distances(*cards)])
    ratios = result[:, 0] / result[:, 1]
    assert len(ratios) > 100
    assert np.mean(ratios <= 1.96) >= 0.93
    assert np.mean(ratios <= 1.96 * 0.5) < 0.93  # intervals that are much too short fail
    assert np.mean(ratios <= 1.96 * 0.25) < 0.7  # and intervals that are much too long: as for a normal, 0.38


def test_intervals_cover_the_noiseless_points_of_two_attributes() -> None:
    """The reduced form: 2,000 rows, and 8 draws."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 8, 2000), "b": rng.integers(0, 2, 2000)})
    labels = pd.Series((rng.random(2000) < 0.2 + 0.05 * frame["a"] + 0.2 * frame["b"]).astype(int), name="y")
    schema = Schema({"a": hr.Integer(0, 7, cuts=tuple(range(7))), "b": hr.Boolean()}, Label("y", (0, 1)))
    data = Table(frame, labels, schema)
    ratios = np.array([off / error for cards in fits(data, 0.3, 8) for off, error in distances(*cards)])
    assert np.mean(ratios <= 1.96) >= 0.85
    assert np.mean(ratios <= 1.96 * 0.3) < 0.85


def test_the_covariance_of_differences_from_noiseless_values_is_exact() -> None:
    """By the gains with and without noise, for true log-odds from the prior: another form of what is computed."""
    rng = np.random.default_rng(1)
    root = rng.normal(size=(4, 4))
    prior, slopes, spreads = root @ root.T + np.eye(4), rng.uniform(1, 9, 4), rng.uniform(1, 9, 4)
    noise = 3.0
    sampling, of_noise = np.diag(spreads / slopes**2), np.diag(noise / slopes**2)
    covariance = np.linalg.inv(prior)

    def gain(error: Floats) -> Floats:
        return np.asarray(covariance @ np.linalg.inv(covariance + error), dtype=np.float64)

    with_noise, without = gain(sampling + of_noise), gain(sampling)
    apart = without - with_noise
    expected = apart @ (covariance + sampling) @ apart.T + with_noise @ of_noise @ with_noise.T
    sums = rng.normal(size=4)
    by_evidence = Evidence.of(np.zeros(4), sums, slopes, noise).smoothed(spreads / slopes**2, prior)
    for result in (by_evidence, smoothed(sums, slopes, spreads, noise, [prior])):
        np.testing.assert_allclose(result.gap, expected, atol=1e-12)
