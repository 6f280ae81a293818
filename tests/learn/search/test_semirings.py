import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search import semirings
from hedgerow.learn.search.losses import OBJECTIVES, Loss
from hedgerow.learn.search.semirings import all_models, least_loss
from tests.learn.enumerate_models import constant

COUNTS = st.lists(st.lists(st.integers(0, 40), min_size=2, max_size=4), min_size=1, max_size=5).filter(
    lambda rows: len(set(map(len, rows))) == 1
)
WEIGHTS = st.sampled_from([0.01, 0.5, 3.0])


@given(COUNTS, WEIGHTS)
def test_a_leafs_weight_is_the_mean_exponential_of_its_errors_over_labels(counts, weight):
    result = all_models(weight, constant(0.5)).leaf(np.array(counts, dtype=float).T)
    for item, value in zip(counts, result, strict=True):
        mean = sum(math.exp(-weight * (sum(item) - count)) for count in item) / len(item)
        assert value == pytest.approx(math.log(mean), rel=1e-12, abs=1e-14)


@given(COUNTS, WEIGHTS, st.sampled_from(OBJECTIVES))
def test_a_leaf_weighs_the_mean_over_values_of_the_exponential_of_its_loss(counts, weight, objective):
    loss = Loss.of(objective, len(counts[0]))
    result = all_models(weight, constant(0.5), loss).leaf(np.array(counts, dtype=float).T)
    for count, value in zip(counts, result, strict=True):
        losses = [sum(n * row[v] for n, row in zip(count, loss.table, strict=True)) for v in range(len(loss.values))]
        mean = math.fsum(math.exp(-weight * total / loss.steps) for total in losses) / len(losses)
        assert value == pytest.approx(math.log(mean), rel=1e-12, abs=1e-14)


@given(COUNTS, WEIGHTS)
def test_errors_are_the_same_by_the_table_of_their_loss(counts, weight):
    counts = np.array(counts, dtype=float).T
    table = all_models(weight, constant(0.5), Loss.of("errors", len(counts)))
    assert table.leaf(counts).tolist() == all_models(weight, constant(0.5)).leaf(counts).tolist()
    assert table.spread is None


def test_leaves_of_any_shape_are_weighed_block_by_block(monkeypatch):
    """Also where all but one value underflow."""
    counts = np.random.default_rng(3).integers(0, 3000, (2, 7, 1, 13)).astype(float)
    semiring = all_models(1.0, constant(0.5), Loss.of("mixed", 2))
    whole = semiring.leaf(counts)
    assert whole.shape == (7, 1, 13)
    monkeypatch.setattr(semirings, "BLOCK", 5)
    np.testing.assert_array_equal(semiring.leaf(counts), whole)
    monkeypatch.setattr(semirings, "_LEAST_LOG", -np.inf)
    np.testing.assert_array_equal(semiring.leaf(counts), whole)


@given(COUNTS)
def test_a_leaf_costs_the_rows_outside_its_majority(counts):
    result = least_loss(1.0).leaf(np.array(counts, dtype=float).T)
    assert result.tolist() == [sum(count) - max(count) for count in counts]


@given(COUNTS, st.sampled_from(OBJECTIVES))
def test_a_leaf_costs_the_loss_of_its_best_value(counts, objective):
    loss = Loss.of(objective, len(counts[0]))
    result = least_loss(1.0, loss).leaf(np.array(counts, dtype=float).T)
    for count, value in zip(counts, result, strict=True):
        losses = [sum(n * row[v] for n, row in zip(count, loss.table, strict=True)) for v in range(len(loss.values))]
        assert value * loss.steps == min(losses)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_differences_are_enough_for_errors_only(objective):
    assert (least_loss(1.0, Loss.of(objective, 2)).spread is None) == (objective != "errors")


@pytest.mark.parametrize("kind", ["errors", "mixed", "least"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_leaf_without_rows_is_the_one_of_the_semiring(kind, n_classes):
    mixed = all_models(0.7, constant(0.3), Loss.of("mixed", n_classes))
    semiring = {"errors": all_models(0.7, constant(0.3)), "mixed": mixed, "least": least_loss(0.5)}[kind]
    assert semiring.leaf(np.zeros((n_classes, 4))) == pytest.approx(0, abs=1e-15)


@given(
    st.lists(st.floats(-900, 0), min_size=1, max_size=4),
    st.integers(0, 5),
    st.data(),
)
def test_sums_of_weights_are_those_of_their_exponentials(stops, n_options, data):
    entry = st.one_of(st.floats(-900, 0), st.just(-math.inf))
    options = np.array([[data.draw(entry) for _ in range(n_options)] for _ in stops]).reshape(len(stops), n_options)
    times = [data.draw(st.sampled_from([1, 2, 3, 4])) for _ in range(n_options)]
    sums = all_models(1.0, constant(0.5)).plus(np.array(stops), options, np.array(times, dtype=float))
    least = least_loss(0.0).plus(-np.array(stops), -options, np.array(times, dtype=float))
    for stop, row, total, low in zip(stops, options, sums, least, strict=True):
        most, each = max([stop, *row]), [stop, *(x for x, n in zip(row, times, strict=True) for _ in range(n))]
        assert low == -most
        assert total == pytest.approx(most + math.log(math.fsum(math.exp(x - most) for x in each)), rel=1e-12)


@given(st.lists(st.integers(0, 1000), min_size=1), st.fractions(Fraction(1, 1000), Fraction(999, 1000)))
def test_stopping_and_all_open_options_together_have_chance_one(n_open, stop):
    semiring, n_open = all_models(1.0, constant(float(stop))), np.array(n_open)
    together = np.exp(semiring.stop(n_open, 0)) + np.where(n_open > 0, n_open * np.exp(semiring.go(n_open, 0)), 0)
    assert together == pytest.approx(1, rel=1e-12)
    assert np.exp(semiring.stop(np.array([0, 1]), 0)) == pytest.approx([1, float(stop)], rel=1e-12)


def test_each_option_of_the_optimum_costs_the_penalty_and_stopping_nothing():
    semiring = least_loss(2.5)
    assert semiring.stop(np.array([0, 3]), 0).tolist() == [0, 0]
    assert semiring.go(np.array([0, 3]), 0).tolist() == [2.5, 2.5]


@pytest.mark.parametrize("semiring", [all_models(0.7, constant(0.3)), least_loss(0.5)])
def test_what_cannot_be_chosen_adds_nothing(semiring):
    stop, options = np.array([-1.5]), np.array([[-2.0, -1.0]])
    closed = np.hstack([options, [[semiring.zero]]])
    assert semiring.plus(stop, closed, np.ones(3)) == pytest.approx(semiring.plus(stop, options, np.ones(2)))
    assert semiring.plus(stop, np.array([[semiring.zero]]), np.ones(1)) == pytest.approx(stop)
    assert semiring.plus(stop, np.zeros((1, 0)), np.zeros(0)) == pytest.approx(stop)


@pytest.mark.parametrize("rows", [2**31, 2**32 - 1])
def test_the_weight_of_a_large_leaf_neither_overflows_nor_loses_its_digits(rows):
    counts = np.array([[rows], [rows - 3]], dtype=float)
    assert all_models(10.0, constant(0.5)).leaf(counts)[0] == -10.0 * (rows - 3) + math.log1p(math.exp(-30)) - math.log(
        2
    )


@pytest.mark.parametrize("semiring", [all_models(0.7, constant(0.3)), least_loss(0.5)])
def test_the_weight_of_two_leaves_follows_from_sum_and_difference(semiring):
    for item, other in ((0, 0), (3, 5), (7, -2), (-400, 100)):
        pair = np.abs(np.array([item, other, item + other, item - other], dtype=float))
        leaves = semiring.spread(pair[:2]).sum()
        both = semiring.plus(semiring.spread(pair[2:3]), semiring.spread(pair[3:])[:, None], np.ones(1))
        assert leaves == pytest.approx(semiring.half + float(both[0]), rel=1e-12, abs=1e-12)


@given(st.integers(1, 1000))
def test_any_one_option_as_often_as_options_are_open_is_that_of_one(n_open):
    for semiring in (all_models(0.7, constant(0.3)), least_loss(0.5)):
        each = np.full((1, n_open), semiring.go(np.array(n_open), 0))
        together = semiring.plus(np.array([semiring.zero]), each, np.ones(n_open))
        assert together == pytest.approx(semiring.go(np.array([1]), 0), rel=1e-12)


def test_shares_too_small_to_count_are_lost_without_warning():
    plus = all_models(1.0, constant(0.5)).plus
    assert plus(np.array([-3.0]), np.array([[-703.5, -5000.0, -np.inf]]), np.ones(3)).tolist() == [-3.0]
    assert all_models(1.0, constant(0.5)).leaf(np.array([[5000.0], [3.0]])).tolist() == [-3.0 - math.log(2)]
