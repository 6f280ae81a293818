import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.audit import Membership
from hedgerow.audit.inference.membership import FPR, curve

SCORES = st.lists(st.integers(0, 5), min_size=1, max_size=8)


def by_thresholds(members, others, rate):
    """Return the best true positive rate at a rate of false ones, of thresholds and of coins between two of them."""
    points = [(0.0, 0.0)] + [
        tuple(float(np.mean(np.array(scores) >= t)) for scores in (others, members)) for t in range(5, -1, -1)
    ]
    reached = [tpr for fpr, tpr in points if fpr == rate]
    for (x, low), (x2, high) in pairwise(points):
        if x < rate < x2:
            reached.append(low + (high - low) * (rate - x) / (x2 - x))
    return max(reached)


@given(SCORES, SCORES)
def test_the_curve_interpolates_between_thresholds(members, others):
    result, auc = curve(np.array(members, dtype=float), np.array(others, dtype=float))
    for place in (0, 50, 100, 137, 200):
        assert result[place] == pytest.approx(by_thresholds(members, others, FPR[place]), abs=1e-12)
    higher = np.mean([(a > b) + (a == b) / 2 for a in members for b in others])
    assert auc == pytest.approx(higher)


def test_rates_are_even_in_logarithm_and_hold_the_decades():
    np.testing.assert_allclose(FPR[[0, 50, 100, 150, 200]], [1e-4, 1e-3, 1e-2, 1e-1, 1])
    assert not FPR.flags.writeable


def test_means_intervals_and_errors():
    aucs, levels = np.linspace(0.4, 0.6, 21), np.linspace(0, 1, 21)
    result = Membership("Tree", "guess", (7, 8, 3, 4), np.repeat(levels[:, None], len(FPR), axis=1), aucs)
    assert result.repeats == 21
    assert result.auc == pytest.approx(0.5)
    assert result.auc_interval == pytest.approx((0.41, 0.59))
    assert result.auc_standard_error == pytest.approx(aucs.std(ddof=1) / 21**0.5)
    np.testing.assert_allclose(result.tpr, 0.5)
    np.testing.assert_allclose(result.tpr_band[0], 0.05)
    np.testing.assert_allclose(result.tpr_band[1], 0.95)
    assert result.finest_fpr == 0.25
    assert result.tpr_at(0.25) == pytest.approx(0.5)


def test_the_text_explains_its_numbers_and_is_marked_private():
    result = Membership("Tree", "guess", (7, 8, 3, 1000), FPR[None], np.array([0.5]))
    text = str(result)
    assert "0.5: random guessing" in text
    assert text.count(" at FPR ") == 3
    assert "cannot be measured" not in text
    assert "10 members and 1008 non-members" in text
    assert "eyes only" in text
    assert repr(result) == "<Membership of Tree by guess: AUC 0.500 over 1 splits>"


@pytest.mark.parametrize(
    ("others", "seen", "finest"),
    [
        (150, ["1 %", "10 %"], "0.667 %"),
        (99, ["10 %"], "1.01 %"),
        (1, [], "100 %"),
    ],
)
def test_rates_below_a_single_row_are_not_printed(others, seen, finest):
    result = Membership("Tree", "guess", (7, 8, 3, others), FPR[None], np.array([0.5]))
    text = str(result)
    assert re.findall(r"% at FPR ([0-9.]+ %)", text) == seen
    assert f"FPR below {finest} cannot be measured with {others} non-members" in text
    with pytest.raises(ValueError, match=r"fpr .* 0\.001"):
        result.tpr_at(0.001)
    assert result.tpr_at(1) == 1


def test_bad_values_are_refused():
    result = Membership("Tree", "guess", (7, 8, 3, 4), FPR[None], np.array([0.5]))
    with pytest.raises(ValueError, match=r"0\.25"):
        result.tpr_at(0)
    with pytest.raises(ValueError, match="curve"):
        Membership("Tree", "guess", (7, 8, 3, 4), FPR[None], np.array([0.5, 0.5]))
