"""The bound that the end-to-end draws are judged by: it must not cry wolf, and must see a wolf."""

import numpy as np
import pytest
from scipy.stats import binom

from tests.adversarial.refute import lower_bound, refuted

ALARM = 1e-6


@pytest.mark.parametrize(("p", "q", "delta"), [(0.5, 0.1, 0.0), (0.9, 0.7, 0.1), (0.4, 0.2, 0.05), (0.3, 0.3, 0.0)])
@pytest.mark.claim("for any two neighbouring tables D and D′, including the table without rows")
def test_the_bound_exceeds_the_loss_no_oftener_than_stated(p, q, delta):
    """The exact chance, over everything that 30 draws a side can show."""
    draws, alarm, loss = 30, 0.2, np.log((p - delta) / q)
    hits = range(draws + 1)
    wrong = sum(
        binom.pmf(hit, draws, p) * binom.pmf(other, draws, q)
        for hit in hits
        for other in hits
        if lower_bound(hit, other, draws, delta, alarm) > loss
    )
    assert 1e-3 < wrong <= alarm


def response(rng, epsilon, delta, draws):
    """Answer truthfully, about 0 and about 1, with odds of e^ε, and with chance δ tell which it was."""
    lies = rng.random((2, draws)) < 1 / (1 + np.exp(epsilon))
    told = np.where(lies, [[1], [0]], [[0], [1]]).astype(object)
    told[rng.random((2, draws)) < delta] = "told"
    told[1][told[1] == "told"] = "told too"
    return told[0].tolist(), told[1].tolist()


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_randomised_response_is_not_refuted_at_its_loss_and_is_at_less(delta):
    outputs = response(np.random.default_rng(0), 2.0, delta, 20_000)
    result = refuted(*outputs, delta=delta, alarm=ALARM)
    assert 2.0 / 1.3 < result.bound <= 2.0


def test_disclosure_with_probability_delta_is_refuted_without_delta():
    outputs = response(np.random.default_rng(1), 0.5, 0.1, 20_000)
    assert refuted(*outputs, delta=0.0, alarm=ALARM).bound > 4


def test_the_same_outputs_refute_nothing():
    same = np.random.default_rng(2).integers(0, 50, (2, 5_000)).tolist()
    assert refuted(*same, delta=0.0, alarm=ALARM).bound < 0


def test_the_draws_that_choose_the_event_are_not_those_that_test_it():
    """What is new in every draw is the best event on the draws that choose, and tells nothing on the others."""
    fresh = [[f"{side} {i}" for i in range(2_000)] for side in "ab"]
    assert refuted(*fresh, delta=0.0, alarm=ALARM).bound < 0
    told = [["a"] * 250 + ["c"] * 1_750, ["b"] * 250 + ["c"] * 1_750]  # differ where the event is chosen only
    assert refuted(*told, delta=0.0, alarm=ALARM).bound < 0
