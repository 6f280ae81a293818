"""Losses of a row as whole numbers: between 0 and 1, near what they are rounded from, and the same after a shift."""

from dataclasses import replace
from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.learn.search import losses
from hedgerow.learn.search.losses import FINE_STEPS, OBJECTIVES, STEPS, Loss, LossTable, n_values
from hedgerow.privacy.facts import Fact
from tests.learn.objectives import ALL_OBJECTIVES, objective_of

CLASSES = st.integers(2, 12)

objectives = pytest.mark.parametrize("objective", OBJECTIVES)


def exactly(objective, value, y, grid):
    """The loss of the design, in floating point."""
    score = [sum((p - (k == y)) ** 2 for k, p in enumerate(item)) for item in grid]
    own = sum((p - (k == y)) ** 2 for k, p in enumerate(value))
    share = {"errors": 1, "brier": 0, "mixed": 0.5}[objective]
    return share * (max(value) > value[y]) + (1 - share) * (own - min(score)) / (max(score) - min(score))


@objectives
@given(n_classes=CLASSES)
def test_losses_are_within_half_a_step_of_the_formula_and_between_0_and_1(objective, n_classes):
    loss = Loss.of(objective, n_classes)
    assert loss.steps == (1 if objective == "errors" else STEPS)
    for y, row in enumerate(loss.table):
        assert min(row) == 0  # what depends on the class alone is subtracted
        assert max(row) == loss.steps
        assert all(type(entry) is int and 0 <= entry <= loss.steps for entry in row)
        for value, entry in zip(loss.values, row, strict=True):
            assert abs(entry / loss.steps - exactly(objective, value, y, loss.values)) <= 0.5 / loss.steps + 1e-12


@objectives
@given(n_classes=CLASSES)
def test_values_are_probabilities_with_clear_labels_and_no_preferred_class(objective, n_classes):
    loss = Loss.of(objective, n_classes)
    assert len(set(loss.values)) == len(loss.values) == n_classes * (1 if objective == "errors" else 5)
    assert n_values(objective, n_classes) == len(loss.values)
    for value, label in zip(loss.values, loss.labels, strict=True):
        assert sum(value) == pytest.approx(1, abs=1e-12)
        assert sorted(value)[-2] < value[label]
    assert np.bincount(loss.labels).tolist() == [len(loss.values) // n_classes] * n_classes
    assert len({tuple(sorted(row)) for row in loss.table}) == 1
    assert loss.draws_probabilities == (objective != "errors")


@pytest.mark.parametrize("objective", ["brier", "mixed"])
def test_losses_of_a_hundred_classes_take_seconds_and_are_from_0_to_1(objective):
    """Summed class by class, the scores of 100 classes took a minute."""
    begun = process_time()
    loss = Loss.of(objective, 100)
    assert process_time() - begun < 5
    assert (min(map(min, loss.table)), max(map(max, loss.table))) == (0, STEPS)
    assert loss.labels == tuple(np.repeat(range(100), 5))
    for y, value in [(0, 0), (0, 499), (99, 0), (99, 499), (50, 252)]:
        assert abs(loss.table[y][value] / STEPS - exactly(objective, loss.values[value], y, loss.values)) <= 0.5 / STEPS


def test_two_classes_have_ten_probabilities_equally_spaced():
    loss = Loss.of("mixed", 2)
    assert [round(100 * second) for _, second in loss.values] == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    assert loss.labels == (0,) * 5 + (1,) * 5
    # ½·[error] + ½·(p² − .0025)/.90 for the first class, in 64ths
    assert loss.table[0] == (0, 1, 2, 4, 7, 43, 47, 52, 58, 64)
    assert loss.table[1] == loss.table[0][::-1]
    assert Loss.of("errors", 3).table == ((0, 1, 1), (1, 0, 1), (1, 1, 0))


@given(st.sampled_from(ALL_OBJECTIVES), st.integers(2, 5), st.data())
def test_the_loss_of_rows_is_the_sum_over_them_exactly(objective, n_classes, data):
    loss = Loss.of(objective_of(objective, n_classes), n_classes)
    count = st.one_of(st.integers(0, 5), st.integers(2**30, 2**31))
    counts = data.draw(st.lists(count, min_size=n_classes, max_size=n_classes))
    result = loss.totals(np.array(counts, dtype=float)[:, None])[:, 0]
    expected = [sum(n * row[v] for n, row in zip(counts, loss.table, strict=True)) for v in range(len(loss.values))]
    assert result.tolist() == expected


@given(st.sampled_from(ALL_OBJECTIVES), st.integers(2, 5), st.data())
@pytest.mark.claim("the difference may depend on ℓ")
def test_one_more_row_raises_the_loss_of_every_value_by_0_to_1(objective, n_classes, data):
    loss = Loss.of(objective_of(objective, n_classes), n_classes)
    counts = np.array(data.draw(st.lists(st.integers(0, 99), min_size=n_classes, max_size=n_classes)), dtype=float)
    more = counts + np.eye(n_classes)[data.draw(st.integers(0, n_classes - 1))]
    added = (loss.totals(more) - loss.totals(counts)) / loss.steps
    assert ((added >= 0) & (added <= 1)).all()


@given(st.sampled_from(["brier", "mixed"]), st.integers(2, 4), st.data())
@pytest.mark.claim("It multiplies the numerator and Z by the same factor and cancels")
def test_a_shift_by_class_changes_no_probability_of_a_value(objective, n_classes, data):
    loss = Loss.of(objective, n_classes)
    shifts = data.draw(st.lists(st.integers(0, 9), min_size=n_classes, max_size=n_classes))
    table = tuple(tuple(e + s for e in row) for row, s in zip(loss.table, shifts, strict=True))
    shifted = replace(loss, table=table, steps=2 * STEPS)  # in halves, so that it fits
    counts = np.array(data.draw(st.lists(st.integers(0, 20), min_size=n_classes, max_size=n_classes)), dtype=float)
    chances = []
    for item in (loss, shifted):
        weights = np.exp(-0.01 * (item.totals(counts) - item.totals(counts).min()))
        chances.append(weights / weights.sum())
    np.testing.assert_allclose(*chances, rtol=1e-9)


@given(st.integers(2, 4), st.data())
def test_more_rows_of_a_class_make_its_probability_no_smaller(n_classes, data):
    """Brier's score is proper: the best value is one near the shares of the rows."""
    loss = Loss.of("brier", n_classes)
    counts = np.array(data.draw(st.lists(st.integers(0, 500), min_size=n_classes, max_size=n_classes)), dtype=float)
    if not counts.sum():
        return
    shares, values = counts / counts.sum(), np.array(loss.values)
    distances = ((values - shares) ** 2).sum(axis=1)
    best = loss.totals(counts).argmin()
    spread = Fraction(1, STEPS) * 2  # of a step, as large as Brier's score at most
    assert distances[best] <= distances.min() + float(spread)


@pytest.mark.parametrize("entry", [-1, 3])
def test_a_table_with_a_loss_outside_0_and_1_is_refused(entry):
    with pytest.raises(ValueError, match="between 0 and 1"):
        Loss(((1.0, 0.0), (0.0, 1.0)), ((0, 1), (entry, 0)), 2)


@given(st.integers(2, 5), st.data())
def test_entries_of_a_table_are_shares_of_the_largest_after_the_shift(n, data):
    rows = data.draw(st.lists(st.lists(st.fractions(), min_size=n, max_size=n), min_size=n, max_size=n))
    largest = max(max(row) - min(row) for row in rows)
    if largest:
        table = LossTable(Fact("absolute_classes", classes=1), tuple(map(tuple, rows)))
        assert table.entries == tuple(tuple((entry - min(row)) / largest for entry in row) for row in rows)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=5, unique=True), st.sampled_from([abs, lambda off: off**2]))
def test_losses_of_distances_are_those_of_each_pair(values, of):
    pairs = tuple(tuple(of(Fraction(y) - Fraction(value)) for value in values) for y in values)
    fact = Fact("absolute_classes", classes=1)
    assert LossTable.of_distances(values, of, fact) == LossTable(fact, pairs)


def test_a_table_of_256_levels_takes_less_than_half_a_second():
    """By arithmetic on fractions, it took a second."""
    begun = process_time()
    Loss.of(LossTable.of_distances(range(256), abs, Fact("absolute_classes", classes=1)), 256)
    assert process_time() - begun < 0.5


@pytest.mark.parametrize("steps", [0, 3, 100])
def test_steps_are_a_power_of_two(steps):
    with pytest.raises(ValueError, match="must be a power of two"):
        Loss(((1.0, 0.0), (0.0, 1.0)), ((0, 1), (1, 0)), steps)


@objectives
@given(counts=st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_best_value_predicts_the_most_frequent_class_at_least_loss(objective, counts):
    loss = Loss.of(objective, 3)
    least = loss.least(np.array(counts, dtype=float).T)
    for count, cost in zip(counts, least, strict=True):
        totals = [
            sum(n * row[value] for n, row in zip(count, loss.table, strict=True)) for value in range(len(loss.values))
        ]
        best = loss.best(np.array(count, dtype=float))
        assert cost * loss.steps == totals[best] == min(totals)
        assert best == totals.index(min(totals))
        assert loss.labels[best] == count.index(max(count))


@pytest.mark.parametrize("objective", ["brier", "mixed"])
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_in_fine_steps_the_best_value_is_the_nearest_to_the_class_shares(objective, n_classes):
    """In steps of 1/64 "mixed" gives .25 where .14 of two classes are the second, and never .15."""
    fine, coarse = (Loss.of(objective, n_classes, steps) for steps in (FINE_STEPS, STEPS))
    chances = sorted({max(value) for value in fine.values})
    furthest = {fine.steps: 0.0, coarse.steps: 0.0}
    for share in range(1000 // n_classes + 1, 1001):
        counts = np.array([float(share)] + [(1000 - share) / (n_classes - 1)] * (n_classes - 1))
        for loss in (fine, coarse):
            chance = loss.values[loss.best(counts)][0]
            nearest = min(abs(item - share / 1000) for item in chances)
            furthest[loss.steps] = max(furthest[loss.steps], abs(chance - share / 1000) - nearest)
    assert furthest[fine.steps] < 0.02 < furthest[coarse.steps]


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_leaves_of_any_shape_are_valued_block_by_block(objective, monkeypatch):
    counts, loss = np.random.default_rng(3).integers(0, 3000, (2, 7, 1, 13)), Loss.of(objective, 2)
    whole = loss.least(counts)
    assert whole.shape == (7, 1, 13)
    monkeypatch.setattr(losses, "BLOCK", 5)
    np.testing.assert_array_equal(loss.least(counts), whole)
    assert loss.least(counts[..., :0]).shape == (7, 1, 0)


@pytest.mark.parametrize("objective", ALL_OBJECTIVES)
@given(n_classes=st.integers(2, 5), data=st.data())
def test_split_scores_are_least_losses_and_change_by_at_most_one_per_row(objective, n_classes, data):
    loss = Loss.of(objective_of(objective, n_classes), n_classes)
    rows = st.lists(st.integers(0, 10**6), min_size=n_classes, max_size=n_classes)
    caught = np.array(data.draw(st.lists(rows, min_size=1, max_size=5)))
    total = caught.max(axis=0) + np.array(data.draw(rows))

    def least(counts):
        return min(sum(n * row[v] for n, row in zip(counts, loss.table, strict=True)) for v in range(len(loss.values)))

    before = loss.split_scores(caught, total)
    splits = [
        least(side) + least(other) for side, other in zip(caught.tolist(), (total - caught).tolist(), strict=True)
    ]
    assert before.tolist() == [*splits, least(total.tolist())]
    k = data.draw(st.integers(0, n_classes - 1))
    catches = np.array(data.draw(st.lists(st.booleans(), min_size=len(caught), max_size=len(caught))))
    row = np.eye(n_classes, dtype=np.int64)[k]
    change = loss.split_scores(caught + catches[:, None] * row, total + row) - before
    assert change.min() >= 0
    assert change.max() <= loss.sensitivity
