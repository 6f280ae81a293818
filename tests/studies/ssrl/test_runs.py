from fractions import Fraction

import numpy as np
import pytest
from scipy import stats
from sklearn.model_selection import train_test_split

import hedgerow as hr
from studies.ssrl.runs import (
    DATASETS,
    EXACT,
    GREEDY,
    GREEDY_AS_AUTHORS,
    Learning,
    Overfitting,
    TrainTest,
    learner,
    load,
    noise_seed,
)


@pytest.mark.parametrize("method", [GREEDY, "smooth-laplace", "noisy-counts", "permute-and-flip", EXACT])
def test_a_record_equals_fitting_and_scoring_the_rows(method):
    data = load("compas")
    X, X_test, y, y_test = train_test_split(data.frame, data.labels, test_size=0.3, random_state=3)
    clf = learner("compas", method, 0.5, None if method == GREEDY else noise_seed("compas", 3, method, 0.5), len(X))
    clf.fit(X, y)
    private = () if method == GREEDY else (method,)
    record = Overfitting("compas", private, (0.5,))(3)[-1]
    assert record["accuracy"] == pytest.approx(clf.score(X_test, y_test), abs=1e-12)
    assert record["rules"] == len(clf.rule_list_)
    for suffix, as_released_code in (("", False), (" as released", True)):
        result = hr.audit.overfit(clf, (X, y), (X_test, y_test), as_released_code=as_released_code)
        assert record[f"vulnerability{suffix}"] == result.vulnerability
        assert record[f"by chance{suffix}"] == result.vulnerability_by_chance


def test_no_sensitive_column_is_left():
    assert not set(load("compas").schema.names) & set(hr.datasets.SENSITIVE["compas_binary"])


def test_parameters_are_those_of_the_paper():
    clf = learner("compas", "smooth-laplace", 1.0, 0, 100)
    assert (clf.max_rules, clf.max_literals, clf.min_remaining, clf.confidence, clf.delta) == (
        5,
        2,
        0.05,
        0.99,
        Fraction(1, 10000),
    )
    assert {name: setting.min_support for name, setting in DATASETS.items()} == {
        "compas": 0.05,
        "german": 0.12,
        "adult": 0.05,
    }
    assert learner("compas", GREEDY, np.inf, None, 9).max_rules == 5
    assert learner("compas", GREEDY_AS_AUTHORS, np.inf, None, 9).max_rules == 6


def test_every_fit_has_noise_of_its_own():
    cells = [
        (dataset, run, method, epsilon)
        for dataset in DATASETS
        for run in range(100)
        for method in ("smooth-laplace", "exponential")
        for epsilon in (0.01, 0.1, 1.0)
    ]
    seeds = {noise_seed(*cell) for cell in cells}
    assert len(seeds) == len(cells)
    assert not seeds & set(range(100))  # the seeds of the splits
    assert noise_seed("compas", 3, "smooth-laplace", 0.1) == noise_seed("compas", 3, "smooth-laplace", 0.1)


def test_a_method_finds_the_same_whatever_else_is_studied():
    few = Learning("compas", ("exponential",), (1.0,))(2)
    many = Learning("compas", ("smooth-cauchy", "exponential"), (0.5, 1.0))(2)
    assert few[1] in many
    assert few[0] == many[0]


def test_unknown_methods_are_refused():
    with pytest.raises(ValueError, match=r"'compas' .*\(smooth-gauss"):
        Learning("compas", ("smooth-gauss",), (1.0,))


@pytest.mark.slow
@pytest.mark.parametrize("method", ["smooth-laplace", "permute-and-flip"])
def test_seeded_noise_agrees_with_secure_noise_in_distribution(method):
    """Accuracies and lengths on one split at ε = 1, 1,500 fits each way; false alarms once in 5,000 runs of each."""
    split, fits = TrainTest.of(load("compas"), 0), 1500

    def measured(seed):
        model = split.fit("compas", method, 1.0, seed)
        return split.accuracy(model), len(model.rules), str(model.rules[0].condition)

    seeded = [measured(noise_seed("compas", run, method, 1.0)) for run in range(fits)]
    secure = [measured(None) for _ in range(fits)]
    assert stats.ks_2samp(*([item[0] for item in both] for both in (seeded, secure))).pvalue > 1e-4
    for part in (1, 2):
        values = sorted({item[part] for item in seeded + secure}, key=str)
        counts = np.array(
            [[sum(item[part] == value for item in both) for value in values] for both in (seeded, secure)]
        )
        rare = counts.sum(axis=0) < 20
        counts = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
        counts = counts[:, counts.sum(axis=0) > 0]
        assert counts.shape[1] == 1 or stats.chi2_contingency(counts).pvalue > 1e-4
