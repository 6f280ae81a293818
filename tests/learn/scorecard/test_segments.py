"""Merging of bins after the release: exact, within its allowance, and a function of released numbers alone."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.scorecard import fit, segments
from hedgerow.learn.scorecard.class_plan import ClassPlan
from hedgerow.learn.scorecard.rounding import coarsest, rounding_loss
from hedgerow.learn.scorecard.segments import allowed, chain_of, cheapest, merge
from hedgerow.learn.scorecard.smoothing import Part, likely_rows
from hedgerow.privacy.noise import TwoSidedPermuteAndFlip
from hedgerow.schema import Boolean, Categorical, Integer, Label, Schema
from tests.learn.draws import quiet
from tests.learn.patients import PATIENTS, patients

SEEDS = st.integers(0, 2**31 - 1)
WORDS = Categorical(tuple("abcdef"))
NUMBER = Integer(0, 99, cuts=(10, 20, 30, 40, 50), missing="bin", outside="bin")


def part_of(seed, n_bins, columns=1, noise=0.0, place=0):
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 200, n_bins).astype(float)
    part = Part(place, rng.normal(size=(n_bins, columns)), [np.eye(n_bins) * 0.01] * columns, rows, noise)
    part.centred()
    return part, np.repeat(rows[:, None], columns, axis=1) * rng.uniform(0.05, 0.25, (n_bins, columns))


def loss_of(values, weights, places):
    means = (weights[places] * values[places]).sum(axis=0) / weights[places].sum(axis=0)
    return float((weights[places] * (values[places] - means) ** 2).sum() / 2)


@given(SEEDS, st.integers(1, 7), st.integers(1, 3), st.floats(-8, 5))
def test_segments_are_the_cheapest_of_all(seed, n_bins, columns, price):
    part, weights = part_of(seed, n_bins, columns)
    chain = segments.Chain(part, np.random.default_rng(seed).permutation(n_bins), weights)
    result, loss = chain.segments(2.0**price)
    assert np.concatenate(result).tolist() == chain.order.tolist()
    assert loss == pytest.approx(sum(loss_of(part.values, weights, places) for places in result), abs=1e-7)
    every = [
        np.split(chain.order, ends) for k in range(n_bins) for ends in combinations(range(1, n_bins), k)
    ]  # reference: too simple to be wrong
    best = min(sum(loss_of(part.values, weights, x) for x in item) + 2.0**price * len(item) for item in every)
    assert loss + 2.0**price * len(result) == pytest.approx(best, abs=1e-6)


@given(SEEDS, st.integers(1, 3), st.sampled_from([WORDS, NUMBER]))
def test_merging_costs_no_more_than_its_allowance(seed, columns, attribute):
    parts, weights = zip(*(part_of(seed + k, attribute.n_bins, columns, place=k) for k in range(3)), strict=True)
    chains = [chain_of(part, attribute, weight) for part, weight in zip(parts, weights, strict=True)]
    allowance = allowed(chains, sum(part.released.sum() for part in parts))
    before = [part.values.copy() for part in parts]
    result = cheapest(chains, allowance)
    losses = [loss_of(v, w, places) for v, w, item in zip(before, weights, result, strict=True) for places in item]
    assert sum(losses) <= allowance + 1e-7
    assert all(len(item) <= attribute.n_known for item in result)


@given(SEEDS, st.floats(0, 100))
def test_merged_values_are_means_and_merging_is_idempotent(seed, allowance):
    part, weights = part_of(seed, 8)
    before = part.values.copy()
    (result,) = cheapest([chain_of(part, Integer(0, 99, cuts=(1, 2, 3, 4, 5, 6, 7)), weights)], allowance)
    part.average(result, weights)
    for places in result:
        assert before[places].min() - 1e-9 <= part.values[places].min() <= before[places].max() + 1e-9
        assert np.ptp(part.values[places]) < 1e-9
        assert part.covariances[0][np.ix_(places, places)].max() <= 0.01 + 1e-9
    again = part.values.copy()
    part.average(result, weights)
    np.testing.assert_allclose(part.values, again, atol=1e-9)


@given(SEEDS, st.integers(1, 3), st.permutations(range(6)))
def test_the_order_of_categories_does_not_matter(seed, columns, order):
    part, weights = part_of(seed, 6, columns)
    twin = Part(0, part.values[order], list(part.covariances), part.released[order])
    merge([part], [WORDS], [weights])
    merge([twin], [WORDS], [weights[order]])
    np.testing.assert_allclose(twin.values, part.values[order], atol=1e-9)


@given(SEEDS, st.sampled_from(["increasing", "decreasing"]))
def test_values_that_rise_or_fall_still_do_once_merged(seed, direction):
    part, weights = part_of(seed, NUMBER.n_bins)
    part.make_monotone(direction, NUMBER.n_known)
    merge([part], [NUMBER], [weights])
    steps = np.diff(part.values[: NUMBER.n_known, 0])
    assert (steps >= -1e-12).all() if direction == "increasing" else (steps <= 1e-12).all()


@pytest.mark.parametrize(
    ("rows", "value", "marked"), [(300.0, 1.5, []), (8.0, None, [6])], ids=["supported", "within noise of none"]
)
def test_missing_values_are_not_merged_unless_they_lack_support(rows, value, marked):
    released = np.array([500.0] * 6 + [rows, 400.0])
    part = Part(0, np.array([[-1.0, -0.99, 0, 0, 1, 1.01, 1.5, 0.5]]).T, [np.eye(8) * 0.01], released, 10.0)
    merge([part], [NUMBER], [np.full((8, 1), 100.0)])
    shift = part.values[7, 0] - 0.5  # the mean row has 0
    assert part.values[6, 0] == pytest.approx(0.0 if value is None else value + shift)
    assert np.unique(part.values[:6].round(6)).size == 3
    assert part.unsupported() == marked


def test_bins_within_noise_of_no_rows_take_the_values_of_their_neighbours():
    released = np.array([400.0, 500, 8, -3, 5, 450])
    part = Part(0, np.array([[-1.0, -1, -0.6, -0.2, 0.5, 1]]).T, [np.eye(6) * 0.01], released, 10.0)
    merge([part], [Integer(0, 99, cuts=(1, 2, 3, 4, 5))], [part.likely_rows()[:, None] / 4])
    assert np.unique(part.values.round(6)).size == 2
    assert part.unsupported() == [2, 3, 4]


def test_support_is_not_demanded_if_it_would_cost_much_of_what_was_learned():
    """All bins have 30 rows where the noise has 40: with support for each segment, all would join others."""
    values, attribute = np.array([[-1.0, 1, -1, 1, -1, 1]]).T, Integer(0, 99, cuts=(1, 2, 3, 4, 5))
    for released, is_demanded in ((np.full(6, 30.0), False), (np.full(6, 100.0), True)):
        part = Part(0, values.copy(), [np.eye(6) * 1e-4], released, 40.0)
        merge([part], [attribute], [np.full((6, 1), 10.0)])
        assert part.needs_support == is_demanded
        np.testing.assert_allclose(part.values, values)
        assert part.unsupported() == []


def test_a_segment_of_small_bins_may_have_support_in_total():
    part = Part(0, np.zeros((4, 1)), [np.eye(4)], np.array([19.0, 19, 19, 100]), 10.0)
    assert part.unsupported() == [0, 1, 2]
    part.average([np.arange(3), np.array([3])], np.ones((4, 1)))
    assert part.unsupported() == []


@given(SEEDS, st.integers(1, 3), st.sampled_from([WORDS, NUMBER]), st.floats(0.1, 1000))
def test_bins_without_support_get_the_value_of_a_segment_or_0(seed, columns, attribute, noise):
    rng = np.random.default_rng(seed)
    parts, weights = zip(*(part_of(seed + k, attribute.n_bins, columns, noise, place=k) for k in range(3)), strict=True)
    for part in parts:
        part.released = part.released * rng.integers(0, 2, attribute.n_bins) + rng.laplace(0, noise, attribute.n_bins)
    merge(parts, [attribute] * 3, weights)
    for part in parts:
        marked, n_known = part.unsupported(), attribute.n_known
        kept = np.setdiff1d(np.arange(n_known), marked)
        for place in marked:
            values = part.values[kept] if place < n_known else part.values[:0]
            taken = (np.abs(values - part.values[place]) < 1e-9).all(axis=1).any()
            assert taken or not part.values[place].any()
        for segment in part.segments:
            assert part.is_supported(segment) or not part.values[segment].any()


def test_negligible_values_are_merged_into_a_single_segment_of_0():
    strong, weights = part_of(1, 6)
    weak = Part(1, 1e-4 * strong.values, [np.eye(6) * 1e-4], strong.released)
    merge([strong, weak], [WORDS, WORDS], [weights, weights])
    assert np.ptp(strong.values) > 1
    np.testing.assert_allclose(weak.values, 0, atol=1e-12)


@given(SEEDS, st.integers(2, 30), st.floats(0, 300))
def test_likely_rows_are_not_negative_and_have_the_released_total(seed, n_bins, noise):
    released = np.random.default_rng(seed).normal(100, 100, n_bins)
    rows = likely_rows(released, noise)
    assert (rows >= 0).all()
    if noise >= 0.5:
        assert rows.sum() == pytest.approx(max(released.sum(), 0), rel=1e-6, abs=1e-6)


def test_empty_bins_have_next_to_no_rows_where_noise_is_known_to_be_small():
    rng = np.random.default_rng(0)
    true = np.array([0.0] * 12 + [300, 500, 400, 200])
    rows = likely_rows(true + rng.normal(0, 40, 16), 40.0)
    assert rows[:12].sum() < 100  # the positive parts of the noise are about 190
    np.testing.assert_allclose(rows[12:], true[12:], atol=150)
    np.testing.assert_allclose(likely_rows(true, 0.0), true)


@given(SEEDS, st.integers(1, 40), st.floats(1e-6, 100))
def test_the_largest_points_are_the_fewest_that_cost_no_more_than_allowed(seed, points, allowance):
    part, weights = part_of(seed, 6)

    def loss(unit):
        return rounding_loss([part], [weights], unit)

    unit, largest = coarsest([part], points, loss, allowance), np.abs(part.values).max()
    assert round(largest / unit) <= points
    assert loss(unit) <= allowance or round(largest / unit) == points
    assert all(loss(largest / fewer) > allowance for fewer in range(1, min(round(largest / unit), 20)))


# --- a function of released numbers ----------------------------------------------------------------------------------


class Script:
    """A gate that answers whatever it is asked with numbers that were written beforehand."""

    def __init__(self, seed, scale):
        self._rng, self._scale, self.answers = np.random.default_rng(seed), scale, []

    def release(self, mechanism, answer, **_):
        if isinstance(mechanism, TwoSidedPermuteAndFlip):
            answer()
            return int(self._rng.integers(2))
        self.answers.append(self._rng.integers(-self._scale // 9, self._scale, np.shape(answer())).tolist())
        return self.answers[-1]


@pytest.mark.parametrize("classes", [2, 3])
@settings(max_examples=5)
@given(seed=SEEDS)
def test_the_same_released_numbers_make_the_same_card_whatever_the_rows(classes, seed):
    schema = Schema({"a": NUMBER, "b": WORDS, "c": Boolean()}, Label("y", tuple(range(classes))))
    the_plan, cards = ClassPlan(schema=schema, epsilon=1, delta=0, monotone={}), []
    for rows in (1, 500):
        rng = np.random.default_rng(rows)
        bins = np.column_stack([rng.integers(0, attribute.n_bins, rows) for _, attribute in schema.attributes])
        counts = np.eye(classes, dtype=np.int64)[rng.integers(0, classes, rows)]
        build = the_plan.learn(hr.Tally(schema, bins, counts), Script(seed, 4000), quiet)  # type: ignore[arg-type]
        cards.append(build(schema, hr.privacy.PrivacyCard.none("test", software="hedgerow")))
    assert cards[0] == cards[1]


def test_a_default_card_is_readable_and_loses_next_to_nothing(monkeypatch):
    schema = Schema({"age": Integer(0, 99), "dose": PATIENTS["dose"], "smoker": Boolean()}, PATIENTS.target)
    data, new = (patients(4000, seed).fillna(50.0) for seed in (0, 1))

    def lines_and_loss():
        result = []
        for seed in range(8):
            model = hr.PrivateScorecardClassifier(1.0, schema=schema, random_state=seed).fit(data, data["ill"])
            lines = sum(record["attribute"] == "age" for record in model.scorecard_.get_points())
            result.append((lines, -np.log(np.choose(new["ill"], model.predict_proba(new).T)).mean()))
        return np.mean(result, axis=0)

    merged = lines_and_loss()
    monkeypatch.setattr(fit, "merge", lambda *_: 0.0)
    apart = lines_and_loss()
    assert merged[0] <= 12 < 16 <= apart[0]
    assert merged[1] < apart[1] + 0.003
