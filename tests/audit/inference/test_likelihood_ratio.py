import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logit
from scipy.stats import t as student

from hedgerow.audit import OfflineLira, OnlineLira
from tests.audit.inference.shadow_tables import ignoring, made_up

SOME = st.sampled_from([0.0, 0.25, 0.5, 0.500001, 0.7, 0.8, 0.9, 1.0])


@st.composite
def shadows(draw):
    n_splits, n_rows = draw(st.integers(4, 12)), draw(st.integers(1, 3))
    values = st.lists(SOME, min_size=n_rows, max_size=n_rows)
    sides = [draw(st.lists(values, min_size=n_splits, max_size=n_splits)) for _ in range(2)]
    return made_up(*sides)


def clipped(confidence):
    return float(logit(min(max(confidence, 1e-6), 1 - 1e-6)))


def log_density(value, sample, variance, degrees):
    scale = (variance * (1 + 1 / len(sample))) ** 0.5
    return student.logpdf(value, degrees, np.mean(sample), scale)


def online_by_hand(value, inside, outside, every):
    """Return the log-likelihood ratio of one confidence, by lists of those of shadow fits; `every` has the target's."""

    def common(confidence):
        return every.count(confidence) >= max(len(every) / 10, 3)

    if common(value):
        return np.log((inside.count(value) + 0.5) / (outside.count(value) + 0.5))
    rare = [[clipped(other) for other in side if not common(other)] for side in (inside, outside)]
    result = np.log((len(rare[0]) + 0.5) / (len(rare[1]) + 0.5))
    if min(map(len, rare)) < 3:
        return result
    degrees = len(rare[0]) + len(rare[1]) - 2
    variance = sum(np.var(side) * len(side) for side in rare) / degrees
    if variance < 1e-9:
        return result
    first, second = (log_density(clipped(value), side, variance, degrees) for side in rare)
    return result + first - second


def offline_by_hand(value, outside):
    logits = [clipped(other) for other in outside]
    if np.var(logits) < 1e-9:
        above = sum(1.0 if other > value else 0.5 if other == value else 0.0 for other in outside)
        return -np.log((above + 0.5) / (len(outside) + 1))
    scale = (np.var(logits, ddof=1) * (1 + 1 / len(logits))) ** 0.5
    return -student.logsf(clipped(value), len(logits) - 1, np.mean(logits), scale)


def by_hand(shadows, score):
    """Return the scores of members and non-members, one split and row at a time, by the fits of the other splits."""
    result = np.empty((2, *shadows.inside.shape))
    for split, row in np.ndindex(shadows.inside.shape):
        inside, outside = (side[:, row].tolist() for side in (shadows.inside, shadows.outside))
        every = inside + outside
        own = inside.pop(split), outside.pop(split)
        for side in (0, 1):
            result[side, split, row] = score(own[side], inside, outside, every)
    return result


@given(shadows())
def test_the_online_ratio_by_hand(shadows):
    np.testing.assert_allclose(OnlineLira().scores(shadows), by_hand(shadows, online_by_hand), atol=1e-6)


@pytest.mark.parametrize("kind", ["probabilities", "both"])
def test_so_it_is_for_continuous_confidences_and_mixtures(kind):
    shadows = ignoring(24, 12, kind=kind, seed=3)
    np.testing.assert_allclose(OnlineLira().scores(shadows), by_hand(shadows, online_by_hand), atol=1e-6)


@given(shadows())
def test_the_offline_score_by_hand(shadows):
    expected = by_hand(shadows, lambda value, _, outside, __: offline_by_hand(value, outside))
    np.testing.assert_allclose(OfflineLira().scores(shadows), expected, rtol=1e-5, atol=1e-5)


def test_hard_labels_are_two_binomial_shares():
    inside, outside = np.ones((10, 1)), np.zeros((10, 1))
    members, others = OnlineLira().scores(made_up(inside, outside))
    np.testing.assert_allclose(members, np.log(9.5 / 0.5))  # nine other splits: right with the row, wrong without it
    np.testing.assert_allclose(others, np.log(0.5 / 9.5))


@pytest.mark.parametrize("attack", [OnlineLira(), OfflineLira()], ids=str)
def test_equal_confidences_are_no_evidence(attack):
    members, others = attack.scores(made_up(np.full((6, 3), 0.7), np.full((6, 3), 0.7)))
    assert np.array_equal(members, others)
    assert len(np.unique(members)) == 1


@pytest.mark.parametrize("attack", [OnlineLira(), OfflineLira()], ids=str)
def test_scores_do_not_depend_on_the_fits_of_the_same_split(attack):
    shadows = ignoring(12, 8, kind="both", seed=0)
    members, others = attack.scores(shadows)
    inside, outside = shadows.inside.copy(), shadows.outside.copy()
    inside[3], outside[3] = shadows.outside[3], shadows.inside[3]
    swapped_members, swapped_others = attack.scores(made_up(inside, outside))
    np.testing.assert_allclose(members[3], swapped_others[3], atol=1e-8)
    np.testing.assert_allclose(others[3], swapped_members[3], atol=1e-8)
