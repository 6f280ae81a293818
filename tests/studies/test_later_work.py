"""The noise of published forests, and the guess of an unknown row: against slow versions from the definition."""

from itertools import product
from math import exp, log

import numpy as np
import pytest
from scipy.stats import laplace

from hedgerow.audit import exact_membership
from studies import later_work as study


@pytest.mark.parametrize("scale", [0.3, 1.0, 10.0])
def test_cut_noise_is_laplace_noise_without_its_digits(scale):
    for value in range(-3, 4):
        low, high = {0: (-1, 1)}.get(value, (value, value + 1) if value > 0 else (value - 1, value))
        expected = laplace.cdf(high, scale=scale) - laplace.cdf(low, scale=scale)
        assert study.cut_noise(value, scale) == pytest.approx(expected)
    places = np.arange(-400, 401)
    assert study.cut_noise(places, scale).sum() == pytest.approx(1)
    assert study.whole_noise(places, scale).sum() == pytest.approx(1)


def outcomes(scale, trees):
    """Probabilities of all noisy counts of some trees, one count each, of a leaf with the row and without it."""
    places = np.arange(-40, 42)
    for counts in product(places, repeat=trees):
        yield tuple(float(np.prod(study.cut_noise(np.array(counts) - row, scale))) for row in (1, 0))


def test_one_leaf_of_one_row_refutes_the_claimed_epsilon():
    """With noise of scale 1, the count of a leaf with one row is 1 with chance .632, of an empty leaf with .116."""
    with_row, without = (float(study.cut_noise(1 - rows, 1.0)) for rows in (1, 0))
    assert with_row == pytest.approx(1 - exp(-1))
    assert log(with_row / without) == pytest.approx(1 + log(2))
    proper = study.whole_noise([0, 1], 1.0)
    assert log(proper[0] / proper[1]) == pytest.approx(1)


@pytest.mark.parametrize(("epsilon", "trees"), [(1.0, 1), (3.0, 1), (2.0, 2), (6.0, 2)])
def test_the_loss_of_a_forest_is_that_of_all_its_outcomes(epsilon, trees):
    pairs = list(outcomes(trees / epsilon, trees))
    assert study.forest_loss(epsilon, trees) == pytest.approx(max(log(p / q) for p, q in pairs))
    assert study.forest_loss(epsilon, trees) == pytest.approx(epsilon + trees * log(2))
    above, delta = study.forest_excess(epsilon, trees)
    assert above == pytest.approx(sum(p for p, q in pairs if log(p / q) > epsilon + 1e-9), abs=1e-9)
    assert delta == pytest.approx(sum(max(p - exp(epsilon) * q, 0) for p, q in pairs), abs=1e-9)
    assert delta > 0


def known_rows(rng, rows=60):
    counts = np.zeros((len(study.patterns()), study.CLASSES))
    np.add.at(counts, (rng.integers(0, len(counts), rows), rng.integers(0, 2, rows)), 1)
    return study.Known(counts)


def test_codes_are_places_of_patterns():
    assert study.codes(study.patterns()).tolist() == list(range(640))
    table, _ = study.compas()
    first = study.patterns().iloc[study.codes(table)].reset_index(drop=True)
    assert (first.to_numpy() == table.to_numpy()).all()


@pytest.mark.parametrize("kind", [0, 1])
def test_the_likelihood_of_a_row_is_that_of_all_counts_with_it(kind):
    rng = np.random.default_rng(1)
    known = known_rows(rng)
    rows = known.counts.copy()
    rows[5, 1] += 1
    forest = study.Forest.grown(rows, 8.0, rng)[kind]
    law = (study.cut_noise, study.whole_noise)[kind]
    fast, slow = forest.log_likelihood(known), []
    candidates = [(5, 1), (5, 0), (0, 0), (17, 1), (639, 0)]
    for place, label in candidates:
        table = known.counts.copy()
        table[place, label] += 1
        noise = forest.counts - study.sums(forest.leaves, table)
        slow.append(np.log(law(noise, forest.scale)).sum())
    relative = [fast[place, label] - fast[candidates[0]] for place, label in candidates]
    assert relative == pytest.approx(np.array(slow) - slow[0])


def test_forests_release_every_row_once_in_each_tree():
    rng = np.random.default_rng(2)
    known = known_rows(rng)
    forest, proper = study.Forest.grown(known.counts, 1e6, rng)  # noise of scale 10⁻⁵
    assert (forest.counts.sum(axis=(1, 2)) == 60).all()
    assert (forest.counts == proper.counts).all()
    assert len({tuple(leaves) for leaves in forest.leaves}) == study.TREES


def test_the_guess_has_the_least_expected_error():
    rng = np.random.default_rng(3)
    bits, weights = study.one_hot(study.patterns()), rng.random((640, 2)) ** 8
    expected = [float(((bits != row).mean(axis=1) * weights.sum(axis=1)).sum()) for row in bits]
    assert expected[study.guess(weights)] == pytest.approx(min(expected))


@pytest.mark.filterwarnings("ignore::hedgerow.errors.SeededNoiseWarning")
def test_the_likelihood_of_a_drawn_tree_is_an_exact_ratio_of_the_audit():
    table, labels = study.compas()
    table, labels = table.iloc[:300], labels[:300]
    known = np.zeros((640, 2))
    np.add.at(known, (study.codes(table), labels.astype(int)), 1)
    tree = study.DrawnTree.drawn(table, labels, 2.0, 0)
    logs = tree.log_likelihood(study.Known(known))
    some = study.patterns().iloc[::40]
    for label in (0, 1):
        risk = exact_membership(tree.learner, table, labels, others=(some, np.full(len(some), label == 1)))
        possible = np.log(risk.inside[300:] / risk.outside[300:])
        distance = np.abs(possible - logs[::40, label][:, None]).min(axis=1)
        assert distance == pytest.approx(0, abs=1e-9)
