"""Points in the making, against loops, and isotonic regression against pooling by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.scorecard.rounding import rounded
from hedgerow.learn.scorecard.smoothing import Part

ODDS = st.floats(-8, 8)


@st.composite
def parts(draw, columns=None):
    n, k = draw(st.integers(1, 7)), columns or draw(st.integers(1, 3))
    values = draw(st.lists(ODDS, min_size=n * k, max_size=n * k))
    rows = draw(st.lists(st.floats(0, 1000) | st.just(0.0), min_size=n, max_size=n))
    roots = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(k, n, n))
    covariances = [a @ a.T for a in roots]
    place, own = draw(st.integers(0, 99)), np.array(values).reshape(n, k)
    return Part(place, own, covariances, np.array(rows), gaps=covariances)


@given(parts())
def test_means_are_over_rows(part):
    """Spread and error are means over rows, and over columns."""
    total = max(part.rows.sum(), 1e-9)
    squares = [r * v**2 for r, row in zip(part.rows, part.values, strict=True) for v in row]
    assert part.spread() == pytest.approx(np.sqrt(sum(squares) / total / part.values.shape[1]))
    variances = [r * c[i, i] for c in part.covariances for i, r in enumerate(part.rows)]
    assert part.error() == pytest.approx(sum(variances) / total / len(part.covariances))


@given(parts())
def test_the_mean_over_rows_is_taken_off_and_returned(part):
    before = part.values.copy()
    mean = part.centred()
    np.testing.assert_allclose(part.values + mean, before, atol=1e-12)
    if part.rows.sum() > 1e-3:
        np.testing.assert_allclose(part.mean(part.values), 0, atol=1e-6)


def pooled(values, weights):
    """Pool neighbours that fall, the oldest way: the nearest rising values by weighted squares."""
    blocks = []
    for value, weight in zip(values, weights, strict=True):
        blocks.append([value, weight, 1])
        while len(blocks) > 1 and blocks[-2][0] >= blocks[-1][0]:
            v, w, n = blocks.pop()
            u, x, m = blocks.pop()
            blocks.append([(u * x + v * w) / (x + w), x + w, m + n])
    return [value for value, _, n in blocks for _ in range(n)]


@given(parts(columns=1), st.data())
def test_monotone_log_odds_are_the_nearest_ones_and_other_bins_stay(part, data):
    n, before = data.draw(st.integers(1, len(part.rows))), part.values[:, 0].copy()
    weights = np.maximum(part.rows[:n], 1)
    for direction, sign in (("increasing", 1), ("decreasing", -1)):
        part.values[:, 0] = before
        part.make_monotone(direction, n)
        result = part.values[:, 0]
        assert (np.diff(result[:n]) * sign >= 0).all()
        np.testing.assert_allclose(result[:n], sign * np.array(pooled(sign * before[:n], weights)), atol=1e-9)
        assert result[n:].tolist() == before[n:].tolist()


@given(st.lists(parts(), min_size=1, max_size=4), st.integers(1, 1000))
def test_points_are_integers_within_half_a_unit_and_reach_the_maximum(parts_, most):
    points, unit = rounded(parts_, most)
    for part in parts_[::-1]:  # of two with one number the last counts
        if part is {candidate.attribute: candidate for candidate in parts_}[part.attribute]:
            assert points[part.attribute].dtype == np.int64
            assert np.abs(points[part.attribute] * unit - part.values).max() <= unit / 2 * (1 + 1e-9)
    largest = max(np.abs(part.values).max() for part in parts_)
    assert unit == max(largest / most, 0.005)
    assert max(np.abs(each).max() for each in points.values()) <= most


def test_the_largest_log_odds_have_the_most_points():
    points, unit = rounded([Part(3, np.array([[-2.0], [0.51], [1.0]]), [np.eye(3)], np.ones(3))], 20)
    assert ({key: each.tolist() for key, each in points.items()}, unit) == ({3: [[-20], [5], [10]]}, 0.1)


def test_where_nothing_was_learned_all_points_are_0():
    points, unit = rounded([Part(0, np.array([[1e-3], [-2e-3]]), [np.eye(2)], np.ones(2))], 20)
    assert (points[0].tolist(), unit) == ([[0], [0]], 0.005)
    assert rounded([], 20) == ({}, 0.005)
