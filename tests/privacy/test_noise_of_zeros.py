"""Noise does not depend on the data: it is the same at counts of zero, at equal, negative and large counts.

Replays freeze the noise, so they cannot see noise that leaves zeros alone. Here each value is drawn at often enough to
reject a scale that is 30 % off for that value alone. Secure noise cannot be seeded: `ALARM` is the false-alarm rate of
each comparison.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.learn.learned import LEAF_COUNTS, LEAF_SUMS
from hedgerow.learn.releases import PlannedRelease, ReleaseRunner
from hedgerow.learn.ssrl.mechanisms import Exponential, global_gaussian, global_laplace, smooth_cauchy, smooth_laplace
from hedgerow.oracle.release_forms import PublishedRatios
from hedgerow.privacy.gate import spend
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import (
    DiscreteLaplace,
    GaussianCounts,
    GumbelChoice,
    PermuteAndFlip,
    SecureNoise,
    SeededNoise,
    Siblings,
    TwoSidedGumbelChoice,
    TwoSidedPermuteAndFlip,
)
from hedgerow.privacy.peeling import GumbelPeeling
from hedgerow.privacy.shared_histograms import SharedHistograms
from tests.privacy.chances import ALARM, FACTORS, IDS, p_value
from tests.privacy.lattice import gauge_chances, gauges

DRAWS = 4000
REACH = 60
SOURCES = [SecureNoise(), SeededNoise(np.random.default_rng(4))]
LAPLACE, GAUSSIAN = DiscreteLaplace(Fraction(1, 2)), GaussianCounts(Fraction(2), Fraction("1e-6"), 1, 1, 1)
ADDED = {
    "Laplace": LAPLACE,
    "Laplace of several counts": DiscreteLaplace(Fraction(3, 2), sensitivity=3, each=1),
    "Gaussian": GAUSSIAN,
    "Gaussian, the second of a series": GaussianCounts(Fraction(3), Fraction("1e-6"), 2, 2, 1),
    "Gaussian, of unequal parts": GaussianCounts(Fraction(2), Fraction("1e-6"), 4, 2, 1, Fraction(5, 2)),
    "Gaussian of a unit": GaussianCounts(Fraction(8), Fraction("1e-6"), 2, 1, 2, rows=2),
}
VALUES = (0, 1, 7, -7, 2**40)
VECTORS = {
    "zeros": np.zeros(DRAWS, dtype=np.int64),
    "one nonzero": np.array([5] + [0] * DRAWS),
    "ones": np.ones(DRAWS, dtype=np.int64),
    "equal and mixed": np.tile(np.array(VALUES), DRAWS),
    "all different": np.arange(-DRAWS // 2, DRAWS // 2),
}


def chances(mechanism, factor=1):
    """Return the exact chances of noise of −REACH or less, …, REACH or more, by the definition of the mechanism."""
    wide = np.arange(-2000, 2001)
    if isinstance(mechanism, GaussianCounts):
        mass = np.exp(-((wide / (float(factor) * mechanism.scale)) ** 2) / 2)
    else:
        mass = np.exp(-np.abs(wide) / float(factor * mechanism.sensitivity / mechanism.epsilon))
    result = np.zeros(2 * REACH + 1)
    np.add.at(result, np.clip(wide, -REACH, REACH) + REACH, mass / mass.sum())
    return result


def counted(noise):
    return np.bincount(np.clip(noise, -REACH, REACH) + REACH, minlength=2 * REACH + 1)


def assert_exact(noise, mechanism):
    counts = counted(noise)
    assert p_value(counts, chances(mechanism)) > ALARM, "the noise depends on the data"
    assert all(p_value(counts, chances(mechanism, factor)) < ALARM for factor in FACTORS), "too few draws to tell"


@pytest.mark.parametrize("mechanism", ADDED.values(), ids=ADDED)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize("kind", VECTORS)
def test_noise_on_a_vector_is_the_same_for_each_of_its_values(source, kind, mechanism):
    vector = VECTORS[kind]
    noise = np.array(source.prepare(mechanism)(vector), dtype=np.int64) - vector
    repeated = [value for value, times in Counter(vector.tolist()).items() if times >= DRAWS]
    for value in repeated:
        assert_exact(noise[vector == value], mechanism)
    assert_exact(noise, mechanism)


@pytest.mark.parametrize("draws", [300, pytest.param(DRAWS, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mechanism", [LAPLACE, GAUSSIAN], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize("value", [0, -7])
def test_noise_on_a_single_count_is_the_same_for_each_value(source, value, mechanism, draws):
    """300 draws reject noise that is often left out, DRAWS also a scale that is 30 % off."""
    run, given = source.prepare(mechanism), np.array([value])
    noise = np.array([run(given)[0] for _ in range(draws)]) - value
    if draws == DRAWS:
        assert_exact(noise, mechanism)
    else:
        assert p_value(counted(noise), chances(mechanism)) > ALARM
        assert p_value(counted(np.where(np.arange(draws) % 2, noise, 0)), chances(mechanism)) < ALARM


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_noise_that_histograms_share_is_the_same_for_each_of_their_values(source):
    """The noise of 1,500 classes of each kind, by its gauge: empty, with an empty bin, equal, negative and large."""
    kinds = np.array([[0] * 5, [0, 7, 0, 7, 0], [2, 2, 2, 3, 3], [-9, 0, 0, -9, 0], [2**40, 0, 1, 2**40, 1]])
    histograms, mechanism = np.tile(kinds, (1500, 1)), SharedHistograms(Fraction(1), (3, 2))
    noise = (np.array(source.prepare(mechanism)(histograms)) - histograms) * mechanism.grid
    result, step = gauges(noise, mechanism.sizes).astype(np.int64), Fraction(1, mechanism.grid)
    exact = gauge_chances(mechanism.sizes, step)
    for place in range(len(kinds)):
        counts = np.bincount(result[place :: len(kinds)], minlength=len(exact))
        assert p_value(counts, exact) > ALARM, "the noise depends on the data"
        for factor in FACTORS:
            off = np.zeros(len(counts))
            chances = gauge_chances(mechanism.sizes, step / factor)[: len(counts)]
            off[: len(chances)] = chances
            assert p_value(counts, off) < ALARM, "too few draws to tell"


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize("numerator", [0, 50, 100])
def test_published_ratios_of_bins_with_rows_are_noised_at_zero_too(source, numerator):
    """Laplace noise on the numerator, clipped: of 0 and of all, half of the answers are at the end."""
    rows = np.full(DRAWS, 100)
    ratios = np.array(source.prepare(PublishedRatios(Fraction(1, 20), 1))((np.full(DRAWS, numerator), rows)))
    ends = np.array([(ratios == 0).sum(), ((ratios > 0) & (ratios < 1)).sum(), (ratios == 1).sum()])
    below, above = (np.exp(-size / 20) / 2 for size in (numerator, 100 - numerator))
    assert p_value(ends, [below, 1 - below - above, above]) > ALARM


# Choices


def permuted_and_flipped(scores, scale):
    """Return the chance of each index: in random order, take one with chance exp(−gap/scale)."""
    accept = np.exp(-(np.array(scores) - min(scores)) / scale)

    def chosen(left):
        result = np.zeros(len(scores))
        for place in left:
            result[place] += accept[place] / len(left)
            result += (1 - accept[place]) / len(left) * chosen(left - {place}) if accept[place] < 1 else 0
        return result

    return chosen(frozenset(range(len(scores))))


def drawn_exponentially(scores, scale):
    mass = np.exp(-(np.array(scores) - min(scores)) / scale)
    return mass / mass.sum()


CHOICES = {
    PermuteAndFlip: (permuted_and_flipped, 1),
    TwoSidedPermuteAndFlip: (permuted_and_flipped, 2),
    GumbelChoice: (drawn_exponentially, 1),
    TwoSidedGumbelChoice: (drawn_exponentially, 2),
}
SCORES = [(0, 0, 0, 0), (0, 0, 2, 4), (-2, -2, 0, 0)]


@pytest.mark.parametrize("kind", CHOICES)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_choices_are_exact_for_zero_and_for_equal_scores(source, kind):
    law, sides = CHOICES[kind]
    for scores in SCORES:
        run = source.prepare(kind(Fraction(1), 2))
        counts = np.bincount([run(np.array(scores)) for _ in range(200)], minlength=4)
        assert p_value(counts, law(scores, 2 * sides)) > ALARM, scores


DELTA = Fraction("1e-6")
PUBLISHED = {
    "smooth-laplace": smooth_laplace(Fraction(1), DELTA),
    "smooth-cauchy": smooth_cauchy(Fraction(1)),
    "global-laplace": global_laplace(Fraction(1)),
    "global-gaussian": global_gaussian(Fraction(1), DELTA),
    "exponential": Exponential(Fraction(1)),
}
EQUAL = [(0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5), (-0.5, -0.5, 0.0, 0.0)]


@pytest.mark.parametrize("mechanism", PUBLISHED.values(), ids=PUBLISHED)
@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_published_mechanisms_choose_evenly_among_zero_and_equal_scores(source, mechanism):
    """Without noise on equal scores the first of them would always be chosen before the others."""
    run = source.prepare(mechanism)
    for scores in EQUAL:
        # with a probability of 1 − 1e-6 each pair of equal scores has 20 draws, which the test needs
        counts = np.bincount([run(np.array(scores)) for _ in range(200)], minlength=4)
        for value in set(scores):
            equal = counts[np.array(scores) == value]
            assert p_value(equal, [1 / len(equal)] * len(equal)) > ALARM, scores


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
@pytest.mark.parametrize("score", [0, 7])
def test_sets_of_candidates_with_zero_or_equal_scores_are_as_likely(source, score):
    run = source.prepare(GumbelPeeling(Fraction(1), DELTA, 1, 1, 1, draws=2))
    result = Counter(tuple(sorted(run(np.full(4, score)))) for _ in range(600))
    assert p_value([result[pair] for pair in combinations(range(4), 2)], [1 / 6] * 6) > ALARM


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_choices_in_nodes_with_zero_scores_are_random_and_independent(source):
    run = source.prepare(Siblings(PermuteAndFlip(Fraction(1), 2)))
    zeros = [np.zeros(2, dtype=np.int64)] * 2
    result = Counter(tuple(map(int, run(zeros))) for _ in range(300))
    assert p_value([result[pair] for pair in ((0, 0), (0, 1), (1, 0), (1, 1))], [1 / 4] * 4) > ALARM


@pytest.mark.parametrize("source", SOURCES, ids=IDS)
def test_quantiles_of_a_column_without_rows_are_drawn_evenly(source):
    """Every tuple of positions has a score of 0; with one position a candidate, every pair of places is as likely."""
    mechanism = JointQuantiles(Fraction(4), 3, 4)
    order = list(combinations_with_replacement(range(4 * mechanism.parts), 2))
    even = Counter(mechanism.places(positions) for positions in order)
    run, zeros = source.prepare(mechanism), np.zeros(5, dtype=np.int64)
    result = Counter(run(zeros) for _ in range(300))
    assert set(result) <= set(even)
    assert p_value([result[pair] for pair in even], [*even.values()]) > ALARM


# Joint releases, as they are made: of tables in which nearly every count is zero


TARGETS = {LEAF_COUNTS: hr.Label("y", ("no", "yes")), LEAF_SUMS: hr.Number("y", 0, 10, 3)}


@pytest.mark.parametrize("of", TARGETS, ids=lambda of: type(of).__name__)
def test_counts_and_sums_of_empty_leaves_have_the_usual_noise(of):
    target, leaves = TARGETS[of], np.zeros((2 * DRAWS, TARGETS[of].n_levels), dtype=np.int64)
    leaves[::2, 0] = 9
    mechanism = of.mechanism(target, Fraction(1))
    planned = PlannedRelease(of.query_code, mechanism)
    result = spend(
        hr.Budget(1),
        SecureNoise(),
        lambda gate: of.release(target, lambda: leaves, {"of": "leaves"}, ReleaseRunner((planned,), gate)),
    )
    exact = leaves @ of.weights(target)
    for value in set(exact.ravel().tolist()):
        assert_exact((result - exact)[exact == value], mechanism)


def test_empty_cells_of_an_evaluation_have_the_usual_noise():
    schema = hr.Schema({"age": hr.Integer(0, 9, (4,))}, hr.Label("y", ("no", "yes")))
    frame = pd.DataFrame({"age": [3] * 50, "ward": ["w1"] * 50, "y": ["no"] * 50})
    tree = hr.PrivateTreeClassifier(1, schema=schema, max_depth=0).fit(frame, frame["y"])
    wards = [f"w{place}" for place in range(1000)]
    for rows in (frame, frame[:0]):
        result = hr.evaluate(tree, rows, epsilon="1/2", by={"ward": wards})
        noise = np.array(result.counts, dtype=np.int64)
        assert_exact(np.delete(noise, 1, axis=0).ravel(), LAPLACE)  # ward w1 has all rows


@pytest.mark.parametrize("form", ["counts", "gaussian"])
def test_empty_bins_of_an_oracle_have_the_usual_noise(form):
    bins = hr.Schema({"age": hr.Integer(0, DRAWS, range(DRAWS), outside="clip", missing="bin")})
    frame, budget = pd.DataFrame({"age": [3] * 50}), hr.Budget("1/2") if form == "counts" else hr.Budget(2, "1e-6")
    oracle = hr.Oracle(frame, np.arange(50) % 2, budget, 1, release=form)
    result = np.delete(oracle.marginals(bins).rows, 3)
    assert_exact(result, LAPLACE if form == "counts" else GAUSSIAN)


def test_a_model_of_a_table_without_rows_is_drawn_by_chance():
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", ("no", "yes")))
    empty = hr.Tally.count(pd.DataFrame({"a": np.zeros(0, dtype=bool), "y": np.zeros(0, dtype=object)}), "y", schema)
    clf = hr.PrivateTreeClassifier(1, schema=schema, max_depth=0)
    labels = Counter(clf.fit_tally(empty).tree_.predictions[0] for _ in range(60))
    assert p_value([labels["no"], labels["yes"]], [1 / 2, 1 / 2]) > ALARM


@pytest.mark.parametrize(
    "changed",
    [
        lambda vector, noise: np.where(vector == 0, 0, noise),
        lambda vector, noise: np.where(vector < 0, 0, noise),
        lambda vector, noise: np.where(vector == 0, noise // 2, noise),
        lambda vector, noise: np.where(vector == vector[-1], noise[-1], noise),
        lambda vector, noise: np.maximum(vector + noise, np.minimum(vector, 0)) - vector,
        lambda vector, noise: noise if vector.any() else np.zeros_like(noise),
    ],
    ids=["zeros", "negative", "half at zero", "equal share theirs", "clipped at zero", "zeros alone"],
)
def test_noise_that_depends_on_the_data_is_found(changed, monkeypatch):
    build = DiscreteLaplace.build

    def dependent(self):
        run = build(self)
        return lambda vector: vector + changed(vector, np.array(run(vector), dtype=np.int64) - vector)

    monkeypatch.setattr(DiscreteLaplace, "build", dependent)
    errors = []
    for kind in VECTORS:
        try:
            test_noise_on_a_vector_is_the_same_for_each_of_its_values(SOURCES[0], kind, LAPLACE)
        except AssertionError as error:
            errors.append(str(error).partition("\n")[0])
    assert "the noise depends on the data" in errors
