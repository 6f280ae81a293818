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


def test_a_coin_has_two_straight_parts():
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
def test_no_test_is_better(pairs):
    one, other = (np.array(column, dtype=float) / sum(column) for column in zip(*pairs, strict=True))
    curve = TradeOff.of(one, other)
    assert (curve.fpr[0], curve.tpr[-1], curve.fpr[-1]) == (0, 1, 1)
    for taken in product([False, True], repeat=len(one)):
        fpr, tpr = other[list(taken)].sum(), one[list(taken)].sum()
        assert curve.tpr_at(min(fpr, 1)) >= tpr - 1e-12
    assert curve.advantage == pytest.approx(np.abs(one - other).sum() / 2)


def test_outcomes_that_one_side_alone_has_are_told_at_no_cost():
    curve = TradeOff.of(np.array([0.4, 0.6, 0]), np.array([0, 0.5, 0.5]))
    assert curve.tpr_at(0) == pytest.approx(0.4)
    assert curve.tpr_at(0.5) == pytest.approx(1)


@pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan"), "0.1", None, True])
def test_a_rate_is_between_0_and_1(rate):
    with pytest.raises(ValueError, match="fpr must be between 0 and 1"):
        TradeOff.of(np.ones(1), np.ones(1)).tpr_at(rate)


def test_its_repr_tells_no_number_but_its_size():
    assert repr(TradeOff.of(np.array([0.3, 0.7]), np.array([0.2, 0.8]))) == (
        "<TradeOff of 3 corners; private where its distributions are>"
    )
