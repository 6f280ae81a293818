"""The histograms of a scorecard: which attributes share noise, what it costs, and what is made of the answers."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

import hedgerow as hr
from hedgerow.learn.scorecard.class_plan import ClassFit, ClassPlan
from hedgerow.learn.scorecard.fit import Fit
from hedgerow.learn.scorecard.spending import PARTS, Spending, histogram_variances, typical_sizes, variance_of
from hedgerow.privacy.noise import DiscreteLaplace, GaussianCounts, SeededNoise
from hedgerow.privacy.shared_histograms import SharedHistograms, attribute_groups
from tests.learn.replay import Recorder

ATTRIBUTES = {
    **{f"b{i}": hr.Boolean() for i in range(5)},
    "color": hr.Categorical(("red", "green", "blue")),
    "shape": hr.Categorical(("round", "square", "flat", "none")),
    **{name: hr.Integer(0, 24, cuts=range(1, 24)) for name in ("day", "hour")},
    "age": hr.Integer(0, 99, cuts=range(1, 80)),  # more bins than share noise
}
TARGETS = {
    "two classes": hr.Label("y", (0, 1)),
    "three": hr.Label("y", tuple("abc")),
    "number": hr.Number("y", 0, 6, levels=7),
}


def table(kind, n=3000, seed=0):
    schema, rng = hr.Schema(ATTRIBUTES, TARGETS[kind]), np.random.default_rng(seed)
    bins = np.column_stack([rng.integers(0, attribute.n_bins, n) for _, attribute in schema.attributes])
    levels = schema.target.n_levels
    return hr.Tally(schema, bins, np.eye(levels, dtype=int)[np.minimum(bins[:, 0] + bins[:, 5], levels - 1)])


def fitted(kind, tally, **parameters):
    """Return a fitted scorecard, and the mechanism, the true and the noisy answer of each of its histograms."""
    recorder = Recorder(SeededNoise(np.random.default_rng(1)))
    estimator = hr.PrivateScorecardRegressor if kind == "number" else hr.PrivateScorecardClassifier
    clf = estimator(**{"epsilon": 30, "random_state": recorder, **parameters}).fit_tally(tally)
    charges = clf.privacy_.charges
    return clf, [
        item for item, charge in zip(recorder.trace, charges, strict=True) if charge.query.code == "histograms"
    ]


def row_of(kind):
    return TARGETS[kind].n_levels - 1 if kind == "number" else 1


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.claim("share noise")
def test_attributes_share_noise_in_public_groups_that_split_epsilon(kind):
    tally = table(kind)
    _, releases = fitted(kind, tally)
    sizes, row = [attribute.n_bins for _, attribute in tally.schema.attributes], row_of(kind)
    shared = [group for group in attribute_groups(sizes) if len(group) > 1]
    *of_groups, (alone, _, _) = releases
    assert [mechanism.sizes for mechanism, _, _ in of_groups] == [tuple(sizes[i] for i in item) for item in shared]
    assert {mechanism.sensitivity for mechanism, _, _ in of_groups} == {row}
    others = len(sizes) - sum(map(len, shared))
    assert isinstance(alone, DiscreteLaplace)
    assert alone.sensitivity == others * row
    whole = sum(mechanism.epsilon for mechanism, _, _ in releases)
    assert [mechanism.epsilon / whole for mechanism, _, _ in releases] == [
        Fraction(number, len(sizes)) for number in (*map(len, shared), others)
    ]


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("most", [None, 3])
def test_a_row_changes_each_histogram_by_the_declared_sensitivity(kind, most):
    tally = table(kind, 300)
    bins, counts = tally.bins_and_counts()
    _, releases = fitted(kind, tally, max_attributes=most)
    for level in {0, 1, tally.schema.target.n_levels - 1}:
        row = np.eye(tally.schema.target.n_levels, dtype=int)[[level]]
        more = hr.Tally(tally.schema, np.vstack([bins, bins[:1]]), np.vstack([counts, row]))
        _, after = fitted(kind, more, max_attributes=most)
        for (mechanism, values, _), (same, changed, _) in zip(releases, after, strict=True):
            assert type(same) is type(mechanism)
            assert mechanism.distance(values, changed) == mechanism.sensitivity


@pytest.mark.parametrize("kind", TARGETS)
def test_counts_are_released_histograms_shifted_to_the_mean_class_totals(kind, monkeypatch):
    """Reference: each release taken apart attribute by attribute, and each class total weighed by its variance."""
    result, part = {}, Fit._part
    monkeypatch.setattr(
        Fit,
        "_part",
        lambda fit, place, counts, *noise: result.update({place: (counts, *noise)}) or part(fit, place, counts, *noise),
    )
    tally, row = table(kind), row_of(kind)
    clf, releases = fitted(kind, tally)
    sizes = [attribute.n_bins for _, attribute in tally.schema.attributes]
    k = 2 if kind == "number" else tally.schema.target.n_levels
    places = [*(group for group in attribute_groups(sizes) if len(group) > 1), (9,)]
    tables, variances, totals = {}, {}, []
    for group, (mechanism, _, answer) in zip(places, releases, strict=True):
        if isinstance(mechanism, SharedHistograms):
            by_class = np.array(answer) / row
            totals.append((by_class[:, : sizes[group[0]]].sum(axis=1), mechanism.total_variance / row**2))
        else:
            by_class = np.array(answer).reshape(-1, k).T / row
            totals.append((by_class.sum(axis=1), sizes[group[0]] * variance_of(mechanism) / row**2))
        start = 0
        for place in group:
            tables[place] = by_class[:, start : start + sizes[place]].T
            start += sizes[place]
        of_group = [sizes[place] for place in group]
        variances |= dict(zip(group, histogram_variances(mechanism, of_group), strict=True))
    weights = np.array([1 / variance for _, variance in totals])
    for place, (counts, variance, noise) in result.items():
        own = tables[place].sum(axis=0)
        agreed = counts.sum(axis=0)
        assert counts == pytest.approx(tables[place] + (agreed - own) / sizes[place])
        assert variance == pytest.approx(variances[place] / row**2)
        of_bin, of_total = k * (1 - 1 / sizes[place]) * variance, k / weights.sum() / sizes[place] ** 2
        assert of_bin < noise**2 < of_bin + of_total  # another release of the totals lowers the noise on their mean
    assert len({tuple(np.round(counts.sum(axis=0), 6)) for counts, *_ in result.values()}) == 1
    of_histograms = weights @ np.array([total for total, _ in totals]) / weights.sum()
    first = clf.privacy_.charges[0].epsilon  # of another release of the totals, which has more noise
    assert np.abs(agreed - of_histograms).max() < 12 * 1.6 * k / float(first)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.claim("unless a budget adds up")
def test_noise_is_not_shared_with_a_delta_or_where_a_budget_adds_up_rho(kind):
    tally = table(kind)
    ((mechanism, _, _),) = fitted(kind, tally, budget=hr.Budget(rho=100))[1]
    assert isinstance(mechanism, DiscreteLaplace)
    assert Spending(Fraction(1), Fraction(0)).shares_noise
    assert not Spending(Fraction(1), Fraction(0), adds_up_rho=True).shares_noise
    assert not Spending(Fraction(1), Fraction(1, 10**6)).shares_noise
    ((places, gaussian),) = Spending(Fraction(1), Fraction(1, 10**6)).histograms(Fraction(PARTS), (2, 2, 3))
    assert (places, type(gaussian)) == ((0, 1, 2), GaussianCounts)


def test_the_card_lists_a_charge_for_each_group_and_the_largest_rho():
    charges = [
        item
        for item in fitted("two classes", table("two classes"))[0].privacy_.charges
        if "by bin and class" in item.purpose
    ]
    assert [charge.purpose for charge in charges] == [
        "rows by bin and class of 7 attributes",
        "rows by bin and class of 2 attributes",
        "rows by bin and class of 1 attribute",
    ]
    assert [charge.mechanism.code for charge in charges] == ["shared_histograms"] * 2 + ["discrete_laplace"]
    assert "its rho is the largest that this epsilon allows" in charges[0].mechanism.words


@pytest.mark.parametrize("target", ["two classes", "number"])
def test_a_unit_of_many_rows_gets_noise_for_each_of_them(target):
    tally = table(target)
    unit = hr.Unit("who", max_rows=4)
    schema = hr.Schema(ATTRIBUTES, TARGETS[target], unit=unit)
    mechanisms = [mechanism for mechanism, _, _ in fitted(target, hr.Tally(schema, *tally.bins_and_counts()))[1]]
    one_row = [mechanism for mechanism, _, _ in fitted(target, tally, epsilon=Fraction(30, 4))[1]]
    assert mechanisms == one_row


@pytest.mark.statistics
def test_variances_equal_independent_noise_with_the_same_differences():
    """Reference: independent noise of this variance, less the mean of each attribute."""
    sizes, rng = (2, 3, 5), np.random.default_rng(0)
    mechanism = SharedHistograms(Fraction(1, 3), sizes)
    draws = np.array([mechanism.simulate(np.zeros((1, 10), dtype=np.int64), rng)[0] for _ in range(4000)])
    for drawn, variance in zip(np.split(draws, [2, 5], axis=1), histogram_variances(mechanism, sizes), strict=True):
        differences = drawn[:, :-1] - drawn[:, 1:]
        assert differences.var() == pytest.approx(2 * variance, rel=0.1)


@pytest.mark.parametrize("sizes", [(2,), (2, 2, 2), (2,) * 10 + (7, 9), (80, 90), (1, 2, 3)])
def test_the_equal_laplace_variance_is_that_of_laplace_noise_or_less(sizes):
    shared, alone = Spending(Fraction(1, 2), Fraction(0)), Spending(Fraction(1, 2), Fraction(0), adds_up_rho=True)
    laplace = variance_of(alone.counts(Fraction(PARTS), len(sizes)))
    assert alone.histogram_variance(Fraction(PARTS), sizes) == pytest.approx(laplace)
    assert shared.histogram_variance(Fraction(PARTS), sizes) <= laplace * 1.0001
    gains = any(len(group) > 1 for group in attribute_groups(sizes))
    assert (shared.histogram_variance(Fraction(PARTS), sizes) < 0.95 * laplace) == gains


def test_typical_sizes_are_spread_over_those_of_all_attributes():
    assert typical_sizes([9, 2, 4], 3) == [2, 4, 9]
    assert typical_sizes([2] * 50 + [10] * 50, 4) == [2, 2, 10, 10]
    assert typical_sizes(range(1, 11), 1) == [6]


@pytest.mark.parametrize("variance", [1e-9, 10.0])
def test_log_odds_of_a_histogram_are_the_posterior_mode(variance):
    schema = hr.Schema({"a": hr.Categorical(("u", "v", "w"))}, hr.Label("y", (0, 1)))
    of_plan = ClassPlan(schema=schema, epsilon=1, delta=0, monotone={})
    fit = ClassFit(of_plan, None, None)  # type: ignore[arg-type]
    fit._shares = np.array([0.6, 0.4])
    own, released, prior = np.array([0.0, 30.0, 190.0]), np.array([500.0, 60.0, 200.0]), np.eye(3) / 4
    result, evidence = fit._by_histogram(0.4, own, released, variance, [prior], 0.0)
    chances = expit(logit(0.4) + result.values)
    slopes, noise = released * chances * (1 - chances), variance * ((1 - chances) ** 2 + chances**2)
    score = (own - chances * released) * slopes / (slopes + noise)
    np.testing.assert_allclose(score[0], (2 * prior @ result.values)[0], rtol=1e-2)
    np.testing.assert_allclose(evidence.information[0], (slopes**2 / noise)[0], rtol=0.05)
    assert (np.abs(result.values[1:]) > np.abs(logit(own / released) - logit(0.4))[1:] * 0.9).all()


def test_a_category_without_rows_of_a_class_says_more_than_any_share_of_it():
    schema = hr.Schema({"a": hr.Categorical(tuple("abcdefgh")), "b": hr.Boolean()}, hr.Label("y", (0, 1)))
    rng = np.random.default_rng(0)
    bins = np.column_stack([np.arange(4000) % schema.attributes[0][1].n_bins, rng.integers(0, 2, 4000)])
    counts = np.eye(2, dtype=np.int64)[np.where(bins[:, 0] == 0, 0, rng.integers(0, 2, 4000))]
    model = hr.PrivateScorecardClassifier(0.2, random_state=0).fit_tally(hr.Tally(schema, bins, counts))
    chances = model.predict_proba(pd.DataFrame({"a": ["a", "b"], "b": [True, True]}))[:, 1]
    assert chances[0] < 0.1
    assert 0.3 < chances[1] < 0.7
