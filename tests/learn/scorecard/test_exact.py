"""Rounding of a regression: what of its log-loss is lost."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.learn.scorecard.exact import LogOdds, Regression, centred, log_loss, rounded_card
from tests.learn.patients import PATIENTS, patients
from tests.learn.tables import SCHEMA, people


def fitted(data, label, schema):
    regression = Regression(schema, *hr.Tally.count(data, label, schema).bins_and_counts())
    return centred(regression.fit(range(len(schema)), 1.0), regression, {}), regression


def loss_of(card, regression):
    points, base, unit = card
    odds = LogOdds(base * unit, {i: each * unit for i, each in points.items()})
    return log_loss(odds.log_odds(regression.bins), regression.counts) / regression.counts.sum()


def plainly(log_odds, points):
    """Return log-odds rounded to the nearest point, the largest being `points`."""
    unit = max(np.abs(each).max() for each in log_odds.values.values()) / points
    return LogOdds(
        np.rint(log_odds.base / unit) * unit, {i: np.rint(each / unit) * unit for i, each in log_odds.values.items()}
    )


def test_centred_log_odds_are_0_on_average_and_their_sums_are_the_same():
    for case in ((patients(500), "ill", PATIENTS), (people(), "risk", SCHEMA)):
        result, regression = fitted(*case)
        before = regression.fit(range(len(case[2])), 1.0)
        np.testing.assert_allclose(result.log_odds(regression.bins), before.log_odds(regression.bins), atol=1e-9)
        rows = regression.counts.sum(axis=1)
        for i, each in result.values.items():
            np.testing.assert_allclose(rows @ each[regression.bins[:, i]] / rows.sum(), 0, atol=1e-9)


@pytest.mark.parametrize(
    ("points", "lost"),
    [(20, 0.0005), (5, 0.005), (2, 0.02)],
)
def test_little_of_the_log_loss_is_lost(points, lost):
    for case in ((patients(5000), "ill", PATIENTS), (people(3000), "risk", SCHEMA)):
        result, regression = fitted(*case)
        card = whole, _, _ = rounded_card(result, regression, points, {})
        assert max(np.abs(each).max() for each in whole.values()) <= points
        before = log_loss(result.log_odds(regression.bins), regression.counts) / regression.counts.sum()
        assert loss_of(card, regression) < before + lost


def test_rounded_well_is_better_than_to_the_nearest_point():
    mine, nearest = [], []
    for seed in range(20):
        result, regression = fitted(patients(1000, seed), "ill", PATIENTS)
        mine.append(loss_of(rounded_card(result, regression, 3, {}), regression))
        odds = plainly(result, 3).log_odds(regression.bins)
        nearest.append(log_loss(odds, regression.counts) / regression.counts.sum())
    assert np.mean(mine) < np.mean(nearest) - 0.005
