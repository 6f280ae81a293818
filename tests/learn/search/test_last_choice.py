"""Values of states with one choice left against the weights of their leaves, one option after the other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search import semirings
from hedgerow.learn.search.losses import Loss
from hedgerow.learn.search.semirings import CLOSED, LastChoice, all_models, least_loss
from hedgerow.privacy.stop_prior import StopPrior
from tests.learn.enumerate_models import constant

DEPTH = 2
counts = st.tuples(st.integers(0, 400), st.integers(0, 400))
SEMIRINGS = [
    all_models(0.01, constant(0.3)),
    all_models(2.0, constant(0.3)),
    all_models(20.0, StopPrior(-2.0, 3.0)),
    least_loss(0.5),
]


@st.composite
def states(draw):
    """Some states as rows of each class that each option catches and leaves, the same numbers for all options."""
    n_options = draw(st.integers(1, 4))
    totals = draw(st.lists(counts, min_size=1, max_size=4))
    caught = [
        [[draw(st.integers(0, rows)) for _ in range(n_options)] for rows in total] for total in totals
    ]  # shape (n, 2, n_options)
    is_open = [[draw(st.booleans()) for _ in range(n_options)] for _ in totals]
    times = [draw(st.integers(1, 3)) for _ in range(n_options)]
    return np.array(totals, dtype=float), np.array(caught, dtype=float), np.array(is_open), np.array(times, dtype=float)


def one_by_one(semiring, total, caught, is_open, times):
    """Return the value of one state from its leaves."""
    n_open = np.array(int(times[is_open].sum()))
    leaves = semiring.leaf(caught) + semiring.leaf(total[:, None] - caught)
    options = np.where(is_open, semiring.go(n_open, DEPTH) + leaves, semiring.zero)
    stop = semiring.leaf(total) + semiring.stop(n_open, DEPTH)
    return float(semiring.plus(np.reshape(stop, 1), options[None], times)[0])


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("numbers", [1, 2**16])
@given(found=states())
def test_values_are_those_of_all_leaves(semiring, numbers, found):
    totals, caught, is_open, times = found
    expected = [one_by_one(semiring, *item, times) for item in zip(totals, caught, is_open, strict=True)]
    sides = 2 * caught - totals[..., None]
    differences = np.where(is_open, np.abs(sides[:, 0] - sides[:, 1]), CLOSED)
    n_open = (is_open * times).sum(axis=1).astype(np.intp)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semirings, "_BLOCK_NUMBERS", numbers)
        values = LastChoice.of(semiring, totals.sum(axis=0), DEPTH).values(totals.T, n_open, differences, times)
    assert values.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def test_a_state_that_no_option_divides_is_a_leaf():
    for semiring in SEMIRINGS:
        totals = np.array([[5.0], [2.0]])
        result = LastChoice.of(semiring, totals[:, 0], DEPTH).values(
            totals, np.array([0]), np.full((1, 3), CLOSED, dtype=np.float32), np.ones(3)
        )
        assert result == pytest.approx(semiring.leaf(totals), rel=1e-14)


@pytest.mark.parametrize("semiring", SEMIRINGS)
@pytest.mark.parametrize("most", [5, 2**20])
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.integers(CLOSED, 7), min_size=n, max_size=n), min_size=1, max_size=3)
    ),
    st.data(),
)
def test_spreads_are_summed_one_by_one(semiring, most, found, data):
    """Looked up where there are few rows, or computed."""
    times = np.array([data.draw(st.integers(1, 3)) for _ in found[0]], dtype=float)
    each = [
        [semiring.zero if d == CLOSED else float(semiring.spread(np.array([d]))[0]) for d in item] for item in found
    ]
    nothing = np.array([semiring.zero])
    expected = [
        float(semiring.plus(nothing, np.array([item]), times)[0]) if set(item) != {semiring.zero} else semiring.zero
        for item in each
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(semirings, "_MOST_TABULATED", most)
        values = semiring.spreads(7)(np.array(found, dtype=np.float32), times)
    assert values.tolist() == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_large_differences_neither_overflow_nor_vanish():
    """Weights of e^±10^6: the largest decides, wherever it stands."""
    differences = np.array([[10**6, 0, 10**6], [0, 0, 5], [CLOSED, CLOSED, CLOSED]])
    values = all_models(2.0, constant(0.5)).spreads(10**6)(differences, np.array([1.0, 1.0, 2.0]))
    of_five = 5 + np.log((1 + np.exp(-10.0)) / 2 * 2 + 2 * np.exp(-5.0))
    assert values.tolist() == pytest.approx([10**6 + np.log(3 / 2), of_five, -np.inf])


def test_where_differences_are_not_enough_there_is_nothing_to_look_up():
    assert LastChoice.of(all_models(1.0, constant(0.5)), np.ones(3), DEPTH) is None
    assert LastChoice.of(all_models(1.0, constant(0.5), Loss.of("mixed", 2)), np.ones(2), DEPTH) is None
    errors = Loss.of("errors", 2)  # as any other table of losses
    assert LastChoice.of(all_models(1.0, constant(0.5), errors), np.ones(2), DEPTH) is None
