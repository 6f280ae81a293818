import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import exact_membership, lira
from tests.audit.inference.attempts import noisy_bits
from tests.learn.tables import SCHEMA, people

X, Y = noisy_bits(150, 6)


class Unlearned(DecisionTreeClassifier):
    """Probabilities by a random direction: a fit that ignores its rows."""

    def fit(self, X, y):
        self.direction_ = np.random.default_rng(self.random_state).normal(size=X.shape[1])
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        chance = 1 / (1 + np.exp(-X @ self.direction_))
        return np.column_stack([1 - chance, chance])


class Memory(DecisionTreeClassifier):
    """A tree whose probabilities are noisy ones of its training labels."""

    def predict_proba(self, X):
        noise = np.random.default_rng(self.random_state).normal(size=len(X))
        chance = 1 / (1 + np.exp(-4 * (super().predict_proba(X)[:, 1] - 0.5) - noise / 4))
        return np.column_stack([1 - chance, chance])


def same(one, other):
    return np.array_equal(one.shadows.inside, other.shadows.inside) and one.auc == other.auc


@pytest.mark.statistics
@pytest.mark.parametrize("attack", ["online", "offline", "rmia", "rmia-offline"])
def test_a_memorising_tree_is_detected_and_a_constant_is_not(attack):
    rows = np.random.default_rng(0).normal(size=(150, 4))
    labels = np.random.default_rng(1).integers(2, size=150)
    caught = lira(Memory(), rows, labels, attack=attack, repeats=8, random_state=0)
    assert caught.auc_interval[0] > 0.65
    assert caught.tpr_interval(0.1)[0] > 0.15
    low, high = lira(Unlearned(), rows, Y, attack=attack, repeats=8, random_state=0).auc_interval
    assert low <= 0.5 <= high


@pytest.mark.statistics
def test_the_gain_of_rows_is_the_exact_advantage():
    """Fits are draws, so the rows' mean gain is the mean exact advantage over random halves: within 4 errors."""
    rows, labels = noisy_bits(20, 2, noise=0.5)
    learner = hr.PrivateTreeClassifier(4.0, max_depth=1, release_counts=False)
    result = lira(learner, rows, labels, repeats=60, random_state=0)
    each = (result.shadows.inside - result.shadows.outside).mean(axis=1)
    exact = []
    for first in result.shadows.first:
        others = rows[~first], labels[~first]
        exact.append(exact_membership(learner, rows[first], labels[first], others=others).advantage.mean())
    error = (np.var(each) / len(each) + np.var(exact) / len(exact)) ** 0.5
    assert abs(each.mean() - np.mean(exact)) < 4 * error
    assert each.mean() > 4 * error  # and it is not nothing


@pytest.mark.xdist_group("processes")
@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_seed_repeats_for_all_numbers_of_processes_and_frames(n_jobs):
    table = people(60)
    learner = hr.PrivateRuleListClassifier(epsilon=1.0, max_rules=2, search="greedy", schema=SCHEMA)
    result = lira(learner, table, table["risk"], repeats=5, random_state=5)
    frame = pl.from_pandas(table)
    assert same(result, lira(learner, frame, frame["risk"], repeats=5, random_state=5, n_jobs=n_jobs))
    assert same(
        result, lira(lambda: clone(learner), table, table["risk"], repeats=5, random_state=np.random.default_rng(5))
    )
    assert not same(result, lira(learner, table, table["risk"], repeats=5, random_state=6))
    assert result.target == "PrivateRuleListClassifier"


def test_progress_is_shown_on_stderr_only_if_verbose(capsys):
    lira(DecisionTreeClassifier(), X, Y, repeats=5, random_state=0)
    assert capsys.readouterr() == ("", "")
    lira(DecisionTreeClassifier(), X, Y, repeats=5, random_state=0, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "membership inference" in err


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"repeats": 4}, ValueError, "repeats"),
        ({"y": np.ones(150)}, ValueError, "classes"),
        ({"X": X[:19], "y": Y[:19]}, ValueError, "20 rows"),
        ({"y": Y[:-1]}, ValueError, "labels"),
        ({"attack": "guess"}, ValueError, "offline, online, rmia, rmia-offline"),
        ({"target": StandardScaler()}, TypeError, "target"),
    ],
)
def test_invalid_input_raises_a_single_error(change, error, match):
    given = {"target": DecisionTreeClassifier(), "X": X, "y": Y} | change
    with pytest.raises(error, match=match):
        lira(given.pop("target"), given.pop("X"), given.pop("y"), **given)
