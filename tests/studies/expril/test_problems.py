import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import hedgerow as hr
from hedgerow.marginals.expril import network
from studies.expril.problems import PROBLEMS, Problem, Setting, problem
from studies.expril.problems import _mixture as mixture
from studies.expril.problems import _network as random_network
from studies.expril.tables import PAPER

SIMULATED = ("A", "B", "C", "D", "E")


def whole_target(made):
    labels = np.concatenate([made.target_labels, made.test_labels])
    return np.vstack([made.target, made.test]).astype(float), labels


@pytest.mark.parametrize(("name", "d", "n"), [("A", 2, 2500), ("B", 4, 2500), ("C", 10, 5000), ("D", 15, 5000)])
def test_sizes_are_those_of_table_1(name, d, n):
    made = problem(name, 0)
    assert made.source.shape == made.target.shape == made.test.shape == (n, d)
    assert made.source.dtype == np.float32
    assert set(made.target_labels) == set(made.test_labels) == {0, 1}


def test_settings_are_those_of_table_1():
    big, small = (16, 256, 256, 16), (32, 32)
    result = {name: (s.n_target, s.queries, s.reweight, s.hidden) for name, s in PROBLEMS.items()}
    assert result == {
        "A": (2500, 2, False, big),
        "B": (2500, 2, False, big),
        "C": (5000, 3, True, small),
        "D": (5000, 3, True, small),
        "E": (5000, 3, True, small),
        "CTG-A": (700, 2, False, big),
        "CTG-B": (700, 3, True, big),
    }


@pytest.mark.parametrize("name", ["A", "C"])
def test_a_run_has_a_problem_of_its_own_and_always_the_same(name):
    item, again, other = problem(name, 3), problem(name, 3), problem(name, 4)
    for part in ("source", "target", "target_labels", "test", "test_labels"):
        np.testing.assert_array_equal(getattr(item, part), getattr(again, part))
        assert not np.array_equal(getattr(item, part), getattr(other, part))


@pytest.mark.parametrize(("name", "least"), [("A", 0.94), ("B", 0.75)])
def test_only_labels_of_the_middle_third_are_flipped(name, least):
    """Flipped back, they are those of clusters: a row's nearest neighbour has its label, but where clusters meet."""
    rows, labels = whole_target(problem(name, 1))
    assert rows.min() >= 0
    assert rows.max() <= 1
    off = np.abs(rows.sum(axis=1) - rows.shape[1] / 2)

    def like_the_neighbour(share):
        y = np.where(off <= np.quantile(off, share), 1 - labels, labels)
        half = len(y) // 2
        return KNeighborsClassifier(1).fit(rows[:half], y[:half]).score(rows[half:], y[half:])

    third, others = like_the_neighbour(1 / 3), [like_the_neighbour(share) for share in (0, 0.2, 0.5, 1)]
    assert third > least
    assert third > max(others) + 0.01


@pytest.mark.parametrize("name", ["A", "B"])
def test_half_of_the_clusters_have_each_label(name):
    shares = []
    for seed in range(20):
        rows, labels = whole_target(problem(name, seed))
        off = np.abs(rows.sum(axis=1) - rows.shape[1] / 2)
        shares.append(np.mean(labels ^ (off <= np.quantile(off, 1 / 3))))
    assert np.mean(shares) == pytest.approx({"A": 7 / 15, "B": 1 / 2}[name], abs=0.02)
    assert np.std(shares) < 0.08


@pytest.mark.parametrize("name", ["C", "D", "E"])
def test_source_and_target_differ_and_overlap(name):
    scores = []
    for seed in range(5):
        made = problem(name, seed)
        rows, side = np.vstack([made.source, made.target]), np.repeat([0, 1], len(made.source))
        odd = np.arange(len(rows)) % 2 == 1
        model = LogisticRegression(max_iter=2000).fit(rows[odd], side[odd])
        scores.append(roc_auc_score(side[~odd], model.decision_function(rows[~odd])))
    assert 0.6 < np.mean(scores) < 0.9
    assert max(scores) < 0.97


@pytest.mark.parametrize("d", [3, 10])
def test_mixtures_have_unit_variance_about_centres_on_the_unit_sphere(d):
    """The mean squared length is d + 1: standard deviation of the mean about .03."""
    points = mixture(40_000, d, np.random.default_rng(0))
    assert np.mean(np.sum(points**2, axis=1)) == pytest.approx(d + 1, abs=0.15)
    assert 0.2 < np.linalg.norm(points.mean(axis=0)) < 1


def test_random_networks_are_tanh_layers_below_a_linear_layer():
    points = np.random.default_rng(1).normal(size=(50, 3))
    rng = np.random.default_rng(0)
    w, b = rng.normal(size=(3, 4)) * 2 / 3**0.5, rng.normal(size=4)
    v, c = rng.normal(size=(4, 4)) * 2 / 4**0.5, rng.normal(size=4)
    out = rng.normal(size=(4, 1)) / 4**0.5
    expected = np.tanh(np.tanh(points @ w + b) @ v + c) @ out
    np.testing.assert_allclose(random_network((3, 4, 4, 1), np.random.default_rng(0))(points), expected)


@pytest.mark.parametrize("name", ["C", "E"])
def test_about_half_of_the_labels_are_positive(name):
    shares = [problem(name, seed).target_labels.mean() for seed in range(10)]
    assert np.mean(shares) == pytest.approx(0.5, abs=0.06)
    assert np.std(shares) > 0.005  # the threshold is not the target's own median


def test_ctg_a_is_the_data_split_at_random():
    made, data = problem("CTG-A", 0), hr.datasets.load("ctg")
    assert (len(made.source), len(made.target), len(made.test)) == (1063, 700, 363)
    rows = np.vstack([made.source, made.target, made.test])
    order = np.lexsort(rows.T)
    expected = data.frame.to_numpy(dtype=np.float32)
    np.testing.assert_array_equal(rows[order], expected[np.lexsort(expected.T)])
    normal = {tuple(row): label == 1 for row, label in zip(expected, data.labels, strict=True)}
    agree = [normal[tuple(row)] == label for row, label in zip(made.target, made.target_labels, strict=True)]
    assert np.mean(agree) > 0.99  # a few rows repeat an earlier one with another label
    assert np.mean([problem("CTG-A", seed).test_labels.mean() for seed in range(30)]) == pytest.approx(0.7785, abs=0.01)


def test_a_column_with_one_value_in_the_source_is_left_out():
    """Severe decelerations, five in all: in this run none of them is in the source."""
    whole, made = problem("CTG-A", 0), problem("CTG-A", 48)
    assert made.source.shape[1] == made.target.shape[1] == made.test.shape[1] == whole.source.shape[1] - 1
    assert (np.ptp(made.source, axis=0) > 0).all()


def test_ctg_b_sends_low_heart_rates_to_the_source():
    """The share of the target that is normal is .755 ± .014 in EXPRIL's Table 2."""
    every = [problem("CTG-B", seed) for seed in range(30)]
    assert all(len(made.source) == len(made.target) + len(made.test) for made in every)
    assert np.mean([whole_target(made)[1].mean() for made in every]) == pytest.approx(0.755, abs=0.014)
    assert len({len(made.source) for made in every}) > 10  # no row is left out but for the sizes to be the same
    source = np.concatenate([made.source[:, 0] for made in every])
    target = np.concatenate([whole_target(made)[0][:, 0] for made in every])
    low, high = source.min(), source.max()
    for beats in (110, 120, 133, 145, 155):
        chance = 0.9 - 0.8 * (beats - low) / (high - low)
        near = np.sum(np.abs(source - beats) <= 2), np.sum(np.abs(target - beats) <= 2)
        assert near[0] / sum(near) == pytest.approx(chance, abs=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_about_as_hard_as_in_table_2(name):
    best, majority = [], []
    for seed in range(5):
        made = problem(name, seed)
        model = network(made.target, seed, PROBLEMS[name].hidden).fit(made.target, made.target_labels)
        best.append(100 * model.score(made.test, made.test_labels))
        majority.append(100 * max(made.target_labels.mean(), 1 - made.target_labels.mean()))
    assert np.mean(best) == pytest.approx(PAPER[name][0][0], abs=4)
    assert np.mean(majority) == pytest.approx(PAPER[name][-1][0], abs=6)


def test_unknown_problems_are_refused():
    with pytest.raises(ValueError, match=r"problem .*CTG-A, CTG-B, got 'F'"):
        problem("F", 0)


def test_a_simulated_problem_has_its_settings():
    for name in SIMULATED:
        assert isinstance(PROBLEMS[name], Setting)
        assert isinstance(problem(name, 0), Problem)
