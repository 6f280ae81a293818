"""Trade-off curves, against the best of all tests by enumeration."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.audit import TradeOff

WEIGHTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6).filter(
    lambda pairs: any(a for a, _ in pairs) and any(b for _, b in pairs)
)


def test_the_curve_of_a_coin_has_two_linear_parts():
    curve = TradeOff.of(np.array([0.3, 0.7]), np.array([0.2, 0.8]))
    np.testing.assert_allclose([curve.fpr, curve.tpr], [[0, 0.2, 1], [0, 0.3, 1]])
    assert [curve.tpr_at(0.1), curve.tpr_at(0.2), curve.tpr_at(0.6)] == pytest.approx([0.15, 0.3, 0.65])
    assert curve.advantage == pytest.approx(0.1)


def test_randomised_response_is_on_the_line_of_its_epsilon():
    """Pure ε allows TPR ≤ e^ε·FPR, which randomised response reaches up to its corner."""
    epsilon = 0.7
    truth = np.exp(epsilon) / (1 + np.exp(epsilon))
    curve = TradeOff.of(np.array([truth, 1 - truth]), np.array([1 - truth, truth]))
    assert curve.tpr_at(0.1) == pytest.approx(np.exp(epsilon) * 0.1)
    assert curve.advantage == pytest.approx(np.tanh(epsilon / 2))


@settings(max_examples=4 * settings.default.max_examples)
@given(WEIGHTS)
def test_no_test_beats_the_curve(pairs):
    item, other = (np.array(column, dtype=float) / sum(column) for column in zip(*pairs, strict=True))
    curve = TradeOff.of(item, other)
    assert (curve.fpr[0], curve.tpr[-1], curve.fpr[-1]) == (0, 1, 1)
    for taken in product([False, True], repeat=len(item)):
        fpr, tpr = other[list(taken)].sum(), item[list(taken)].sum()
        assert curve.tpr_at(min(fpr, 1)) >= tpr - 1e-12
    assert curve.advantage == pytest.approx(np.abs(item - other).sum() / 2)


def test_outcomes_of_one_distribution_alone_have_no_false_positives():
    curve = TradeOff.of(np.array([0.4, 0.6, 0]), np.array([0, 0.5, 0.5]))
    assert curve.tpr_at(0) == pytest.approx(0.4)
    assert curve.tpr_at(0.5) == pytest.approx(1)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1", None, True])
def test_a_false_positive_rate_outside_0_and_1_raises(rate):
    with pytest.raises(ValueError, match="fpr"):
        TradeOff.of(np.ones(1), np.ones(1)).tpr_at(rate)


def test_the_repr_has_only_the_number_of_corners():
    assert repr(TradeOff.of(np.array([0.3, 0.7]), np.array([0.2, 0.8]))) == (
        "<TradeOff of 3 corners; private if its distributions are>"
    )
