"""Class shares of leaves: posterior means by enumeration of true counts, and default fits that store them."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import hedgerow as hr
from hedgerow.learn.contract import specification_of
from hedgerow.learn.leaf_shares import leaf_shares, posteriors, rounded_shares, with_mode
from hedgerow.learn.learned import COUNTS_FOR_SHARES
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.files import load_model
from hedgerow.schema.weights import Weight
from tests.learn.tables import SCHEMA, conjunction, people

SEEDS = st.integers(0, 2**31 - 1)
LISTS, TREES = hr.PrivateRuleListClassifier, hr.PrivateTreeClassifier


def enumerated(counts, alpha, scale):
    """Return the log-evidence of a prior and the posterior means: the sum over all true counts within reach."""
    ranges = [np.arange(max(0, y - math.ceil(80 * scale)), max(y, 0) + math.ceil(80 * scale)) for y in counts]
    true = np.meshgrid(*ranges, indexing="ij")
    rows, strength = sum(true), sum(alpha)
    log_gamma = np.vectorize(math.lgamma, otypes=[float])
    totals = np.arange(rows.max() + 1)
    logs = (log_gamma(totals + 1) - log_gamma(totals + strength) + math.lgamma(strength))[rows]
    for place, (y, own, own_range) in enumerate(zip(counts, alpha, ranges, strict=True)):
        term = log_gamma(own_range + own) - math.lgamma(own) - log_gamma(own_range + 1) - abs(own_range - y) / scale
        logs = logs + term.reshape([-1 if axis == place else 1 for axis in range(len(counts))])
    weights = np.exp(logs - logs.max())
    means = [(weights * (own + each) / (strength + rows)).sum() for own, each in zip(alpha, true, strict=True)]
    return math.log(weights.sum()) + logs.max(), np.array(means) / weights.sum()


PRIORS = {
    2: np.array([[a * m, a * (1 - m)] for a in (2.0, 8.0, 32.0) for m in (0.53, 0.78, 0.97)]),
    3: np.array([[a * m, a * (1 - m) * 0.8, a * (1 - m) * 0.2] for a in (2.0, 16.0) for m in (0.4, 0.9)]),
}


@pytest.mark.parametrize("counts", [(0, 0), (5, -3), (-10, -12), (200, 80), (3, 200), (12, 0, -2), (4, 9, 20)])
@pytest.mark.parametrize("scale", [0.2, 1.0, 4.0, pytest.param(20.0, marks=pytest.mark.slow)])
def test_posteriors_are_those_of_all_true_counts(counts, scale):
    if len(counts) == 3:
        scale = min(scale, 0.5)
    priors = PRIORS[len(counts)]
    evidence, means = posteriors(counts, priors, scale)
    slow = [enumerated(counts, alpha, scale) for alpha in priors]
    off = evidence - [own for own, _ in slow]
    assert np.ptp(off) < (0.003 if scale > 8 else 5e-4)  # with more noise several true counts share a cell
    assert means == pytest.approx(np.array([own for _, own in slow]), abs=2e-4 if scale > 8 else 1e-5)


def test_shares_are_averaged_over_the_documented_priors():
    counts, total, sums = [(9, 4), (2, -1)], 0.0, np.zeros(2)
    for strength in (2, 4, 8, 16, 32):
        for j in range(1, 9):
            label = strength * (1 / 2 + (1 / 2) * (j - 1 / 2) / 8)
            logs, means = zip(*(enumerated(own, (label, strength - label), 0.5) for own in counts), strict=True)
            weight = (j - 1 / 2) * (8 + 1 / 2 - j) * math.exp(sum(logs))
            total += weight
            sums += weight * np.array([mean[0] for mean in means])
    shares = [own[0] for own in leaf_shares(np.array(counts), [0, 0], 0.5)]
    assert shares == pytest.approx(sums / total, abs=3e-5)


@given(
    st.integers(2, 5).flatmap(
        lambda k: st.lists(
            st.tuples(st.lists(st.integers(-3000, 10**6), min_size=k, max_size=k), st.integers(0, k - 1)),
            min_size=1,
            max_size=4,
        )
    ),
    st.floats(-200, 15).map(lambda exponent: 10**exponent) | st.floats(0.1, 200),
)
def test_shares_are_probabilities_whose_largest_is_the_label(leaves, scale):
    labels = [label for _, label in leaves]
    for shares, label in zip(leaf_shares(np.array([own for own, _ in leaves]), labels, scale), labels, strict=True):
        assert math.fsum(shares) == pytest.approx(1, abs=1e-12)
        assert min(shares) > 0
        assert all(share < shares[label] for place, share in enumerate(shares) if place != label)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 9, 10, 99, 101, 40_000])
def test_rounding_does_not_depend_on_the_last_bit_of_equal_shares(n_classes):
    equal = np.full(n_classes, 1 / n_classes)
    shares = rounded_shares(equal, 1)
    assert shares == rounded_shares(np.nextafter(equal, 0), 1) == rounded_shares(np.nextafter(equal, 1), 1)
    assert 0 < min(shares) < max(shares) == shares[1]
    assert math.fsum(shares) == pytest.approx(1, abs=1e-12)


def test_shares_are_those_of_the_rows_if_these_are_many_for_the_noise():
    counts = np.array([[9000, 1000], [2500, 7500], [60_000, 40_000]])
    shares = leaf_shares(counts, [0, 1, 0], 20.0)
    assert [own[0] for own in shares] == pytest.approx([0.9, 0.25, 0.6], abs=0.005)


def test_a_noisy_leaf_gets_about_the_share_of_leaves_with_its_label():
    many = np.array([[9000, 1000], [9100, 900], [8900, 1100], [9050, 950], [10, 30]])
    *_, few = leaf_shares(many, [0] * 5, 200.0)
    (alone,) = leaf_shares(many[-1:], [0], 200.0)
    assert 0.85 < few[0] < 0.95
    assert 0.7 < alone[0] < 0.8  # an unknown share above a half


def test_shares_do_not_depend_on_the_order_of_leaves_and_classes():
    counts, labels = np.array([[90, 12, 4], [3, 40, 25], [60, 70, -8], [700, 20, 30]]), [0, 1, 1, 0]
    shares = np.array(leaf_shares(counts, labels, 8.0))
    leaves, classes = np.array([2, 0, 3, 1]), np.array([1, 2, 0])
    moved = leaf_shares(counts[leaves][:, classes], [list(classes).index(labels[leaf]) for leaf in leaves], 8.0)
    assert np.array(moved) == pytest.approx(shares[leaves][:, classes], abs=2e-5)


@pytest.mark.parametrize(
    "learner",
    [TREES(1.0), TREES(1.0, max_depth=2, lookahead=1), TREES(1.0, release_counts=True), LISTS(1.0, max_rules=3)],
    ids=str,
)
def test_the_stored_shares_follow_from_the_released_counts_of_the_file(learner, tmp_path):
    data = people(3000)
    model = clone(learner).set_params(schema=SCHEMA).fit(data, data["risk"])._fitted_model
    model.save(tmp_path / "model.json")
    read = load_model(tmp_path / "model.json")
    noise = CountNoise.of(read.privacy)
    places = [SCHEMA.classes.index(leaf.label) for leaf in read.leaves]
    shares = leaf_shares(np.array([leaf.counts for leaf in read.leaves]), places, noise.scale)
    assert [leaf.probabilities for leaf in read.leaves] == shares
    assert read.predict_proba(data) == pytest.approx(np.array(shares)[read.apply(data)])


def released(clf, schema=SCHEMA):
    return specification_of(clf).plan(schema).leaf_numbers


@pytest.mark.parametrize("make", [LISTS, TREES])
def test_counts_get_a_twentieth_by_default_from_epsilon_a_tenth_on(make):
    assert released(make(Fraction(1, 10))) == COUNTS_FOR_SHARES
    assert released(make("0.0999")) is None
    assert released(make(1, release_counts=False)) is None


def test_the_least_epsilon_for_shares_is_that_of_a_row():
    persons = replace(SCHEMA, unit=hr.Unit("person", max_rows=4))
    assert released(TREES("0.4"), persons) == COUNTS_FOR_SHARES
    assert released(TREES("0.39"), persons) is None


@pytest.mark.parametrize(
    "parameters",
    [{"objective": "mixed"}, {"objective": "brier"}, {"class_weight": {"high": 3}}],
    ids=str,
)
def test_other_losses_than_errors_release_counts_only_if_asked(parameters):
    assert released(TREES(1, **parameters)) is None
    assert released(TREES(1, release_counts=True, **parameters)).share == Fraction(1, 5)


def test_labels_by_costs_are_no_most_probable_classes_and_get_no_shares():
    data = people(3000)
    clf = TREES(5.0, class_weight={"high": 20}, release_counts=True, schema=SCHEMA, random_state=0)
    assert all(leaf.probabilities is None for leaf in clf.fit(data, data["risk"]).tree_.leaves)


def test_weighted_rows_release_no_counts():
    weighted = replace(SCHEMA, weight=Weight("weight", 4.0))
    assert released(TREES(1), weighted) is None


def test_counts_of_many_classes_are_released_only_on_request():
    def named(n):
        return hr.Schema({"x": hr.Boolean()}, hr.Label("y", tuple(range(n))))

    assert released(TREES(1), named(20)) == COUNTS_FOR_SHARES
    assert released(TREES(1), named(21)) is None
    data = pd.DataFrame({"x": [True, False] * 300})
    clf = TREES(50, schema=named(21), release_counts=True, random_state=0).fit(data, [0, 20] * 300)
    assert all(leaf.probabilities is None and leaf.counts is not None for leaf in clf.tree_.leaves)


def test_a_greedy_default_spends_its_usual_fifth_and_has_no_posterior():
    clf = TREES(10.0, search="greedy", max_depth=2).fit(*conjunction(500))
    assert clf.privacy_.charges[-1].epsilon >= 2
    assert all(leaf.probabilities is None and leaf.label is None for leaf in clf.tree_.leaves)


@pytest.mark.parametrize("given_value", ["no", 1, None])
def test_release_counts_is_a_flag_or_auto(given_value):
    with pytest.raises(ValueError, match=r"release_counts .*'auto'"):
        TREES(1, release_counts=given_value, schema=SCHEMA).fit(people(), people()["risk"])


def test_regressors_take_no_automatic_counts():
    with pytest.raises(ValueError, match=r"release_counts .*got 'auto'"):
        hr.PrivateTreeRegressor(1, release_counts="auto").fit(*conjunction())


def nearest_with_mode(shares, mode):
    """Search all sets of classes to average with the mode: of the allowed results, the nearest by least squares."""
    outcome = []
    for chosen in product([False, True], repeat=len(shares)):
        pool = np.array(chosen) | (np.arange(len(shares)) == mode)
        result = np.where(pool, shares[pool].mean(), shares)
        if (result <= result[mode] + 1e-12).all():
            outcome.append(result)
    return min(outcome, key=lambda result: ((result - shares) ** 2).sum())


@given(st.lists(st.integers(0, 20), min_size=2, max_size=5), st.data())
def test_pooled_shares_are_the_nearest_with_the_label_as_a_mode(counts, data):
    shares, mode = np.array(counts, dtype=float), data.draw(st.integers(0, len(counts) - 1))
    assert with_mode(shares, mode) == pytest.approx(nearest_with_mode(shares, mode))


@given(st.lists(st.integers(0, 2**60), min_size=3, max_size=3), st.integers(0, 2))
def test_the_label_is_among_the_largest_shares_to_the_last_bit(counts, mode):
    result = with_mode(np.array(counts, dtype=float), mode)
    assert result[mode] == result.max()
