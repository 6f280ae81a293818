"""Intervals of points: they cover what other draws of the noise make of the same rows."""

import numpy as np
import pytest

import hedgerow as hr
from hedgerow.models import Scorecard

DRAWS = 12
Rows = list[tuple[float, float, bool]]  # log-odds, their standard error, and whether the bin has enough rows


def log_odds_by_bin(card: Scorecard) -> dict[str, Rows]:
    """Return log-odds by bin with their standard errors: units of points differ between draws."""
    found = dict[str, Rows]()
    for part in card.parts:
        assert part.errors is not None
        values = zip(part.points, part.errors, strict=True)
        found[part.attribute] = [
            (points * card.unit, error * card.unit, place not in part.unsupported)
            for place, ((points,), (error,)) in enumerate(values)
        ]
    return found


@pytest.mark.statistics
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_intervals_cover_the_mean_over_draws_of_the_noise(epsilon: float) -> None:
    data = hr.datasets.load("german")
    draws = list[dict[str, Rows]]()
    for seed in range(DRAWS):
        learner = hr.PrivateScorecardClassifier(epsilon=epsilon, schema=data.schema, random_state=seed)
        draws.append(log_odds_by_bin(learner.fit(data.frame, data.labels).scorecard_))
    distances = list[float]()  # in standard errors
    for name in set.intersection(*map(set, draws)):
        for place in range(len(draws[0][name])):
            rows = [draw[name][place] for draw in draws]
            mean = np.mean([value for value, _, _ in rows])
            distances += [abs(value - mean) / error for value, error, has_rows in rows if has_rows]
    assert len(distances) > 100
    assert np.mean(np.array(distances) <= 1.96) >= 0.9
    assert np.mean(np.array(distances) <= 1.96 * 0.6) < 0.9  # intervals that are much too short fail
    assert np.mean(np.array(distances) <= 0.7) < 0.75  # and intervals that are much too long: as for a normal, 0.52
