import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import LabelOnlyAttack, Membership, RandomForestAttack, membership
from hedgerow.errors import DomainError
from tests.learn.tables import SCHEMA, people

X = np.random.default_rng(0).integers(0, 2, (120, 4))
Y = X[:, 0] ^ (np.random.default_rng(1).random(120) < 0.3)
FEW_TREES = RandomForestAttack(10)


class Recorder:
    """A target, or an attack, that writes down what it is given; not one of scikit-learn's."""

    def __init__(self):
        self.fitted, self.attempts = [], []

    def __deepcopy__(self, memo):
        return self

    def fit(self, X, y):
        self.fitted.append((X, y))

    def predict(self, X):
        return np.zeros(len(X), dtype=int)

    def scores(self, attempt):
        self.attempts.append(attempt)
        return np.zeros(len(attempt.suspects))

    def __str__(self):
        return "a recorder"


def same(one, other):
    return np.array_equal(one.curves, other.curves) and np.array_equal(one.aucs, other.aucs)


def test_the_split_sizes_of_figure_5():
    recorder = Recorder()
    rows = np.arange(101)[:, None]
    result = membership(recorder, rows, rows[:, 0] % 2, attack=recorder, repeats=3, random_state=0)
    assert result.sizes == (35, 35, 15, 16)  # 50 members and 51 others, 70 % of each known
    splits = set()
    for (fitted, labels), made in zip(recorder.fitted, recorder.attempts, strict=True):
        members = set(made.members) | set(made.suspects[:15])
        assert set(fitted[:, 0]) == members
        assert np.array_equal(labels, fitted[:, 0] % 2)
        parts = [*made.members, *made.non_members, *made.suspects]
        assert sorted(parts) == list(range(101))
        splits.add(tuple(sorted(members)))
    assert len(splits) == 3
    assert result.auc == 0.5
    np.testing.assert_allclose(result.tpr, result.fpr)


@pytest.mark.xdist_group("processes")
def test_a_seed_repeats_for_all_numbers_of_processes():
    target = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_features=1))
    options = {"repeats": 2, "attack": FEW_TREES}
    result = membership(target, X, Y, random_state=5, **options)
    assert same(result, membership(target, X, Y, random_state=5, n_jobs=2, **options))
    assert same(result, membership(target, X, Y, random_state=np.random.default_rng(5), **options))
    assert not same(result, membership(target, X, Y, random_state=6, **options))
    assert target.get_params()["decisiontreeclassifier__random_state"] is None


@pytest.mark.xdist_group("processes")
@pytest.mark.parametrize("kind", [pd.DataFrame, lambda frame: pl.from_pandas(frame)], ids=["pandas", "polars"])
@pytest.mark.parametrize("attack", [FEW_TREES, LabelOnlyAttack(draws=2)], ids=["forest", "label-only"])
def test_frames_go_to_other_processes_and_all_kinds_agree(kind, attack):
    table = people(120)
    frame = kind(table)
    target = hr.PrivateRuleListClassifier(epsilon=1.0, max_rules=3, search="greedy", schema=SCHEMA)
    options = {"attack": attack, "repeats": 2, "random_state": 0}
    result = membership(target, frame, frame["risk"], n_jobs=2, **options)
    assert same(result, membership(target, table, table["risk"], **options))


def test_a_factory_a_class_and_an_estimator_agree():
    options = {"repeats": 2, "random_state": 0, "attack": FEW_TREES}
    by_estimator = membership(GaussianNB(), X, Y, **options)
    assert same(by_estimator, membership(GaussianNB, X, Y, **options))
    assert same(by_estimator, membership(lambda: GaussianNB(), X, Y, **options))
    assert by_estimator.target == "GaussianNB"
    assert isinstance(by_estimator, Membership)


def test_the_seed_of_a_target_is_kept():
    seeds = []

    class AttackTarget(DecisionTreeClassifier):
        def fit(self, X, y):
            seeds.append(self.random_state)
            return super().fit(X, y)

    membership(lambda: AttackTarget(random_state=7), X, Y, repeats=2, attack=FEW_TREES, random_state=0)
    assert seeds == [7, 7]
    membership(lambda: AttackTarget(), X, Y, repeats=2, attack=FEW_TREES)
    assert seeds[2:] == [None, None]
    membership(lambda: AttackTarget(), X, Y, repeats=2, attack=FEW_TREES, random_state=0)
    assert len({None, *seeds[4:]}) == 3


def test_noise_stays_secure_without_a_seed():
    noise = []

    class AttackTarget(hr.PrivateRuleListClassifier):
        def fit(self, X, y):
            noise.append(self.random_state)
            return super().fit(X, y)

    membership(lambda: AttackTarget(1.0, max_rules=2), X, Y, repeats=1)
    assert noise == [None]


def test_text_labels_with_spaces_and_many_classes():
    names = np.array([" a", "b ", "c"], dtype=object)[np.random.default_rng(0).integers(3, size=120)]
    result = membership(DecisionTreeClassifier(), X + np.arange(120)[:, None], names, repeats=2, random_state=0)
    assert result.auc > 0.6


def test_progress_is_shown_on_stderr_only_if_verbose(capsys):
    membership(GaussianNB(), X, Y, repeats=2, attack=FEW_TREES, random_state=0)
    assert capsys.readouterr() == ("", "")
    membership(GaussianNB(), X, Y, repeats=2, attack=FEW_TREES, random_state=0, verbose=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "membership inference" in err


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"y": Y[:-1]}, ValueError, "labels"),
        ({"y": np.ones(120)}, ValueError, "classes"),
        ({"y": [None, *Y[1:].tolist()]}, DomainError, "missing"),
        ({"y": "label"}, TypeError, "y"),
        ({"X": X[:3], "y": [0, 1, 0]}, ValueError, "split"),
        ({"repeats": 0}, ValueError, "repeats"),
        ({"repeats": 2.0}, ValueError, "repeats"),
        (
            {"target": 3},
            TypeError,
            "target must be or return an estimator with fit and predict, got int",
        ),
        ({"target": StandardScaler()}, TypeError, "target"),
        ({"target": lambda: None}, TypeError, "NoneType"),
        ({"attack": "guess"}, ValueError, "label-only, random-forest"),
        ({"attack": LabelOnlyAttack}, TypeError, "attack"),
        (
            {"target": Recorder(), "y": np.where(Y, "yes", "no")},
            ValueError,
            "labels in y",
        ),
        (
            {"target": hr.GreedyRuleListClassifier(schema=SCHEMA)},
            DomainError,
            "a column of numbers cannot hold the classes high, low, mid",
        ),
    ],
)
def test_invalid_input_raises_a_single_error(change, error, match):
    given = {"target": LogisticRegression(), "X": X, "y": Y} | change
    with pytest.raises(error, match=match):
        membership(given.pop("target"), given.pop("X"), given.pop("y"), **given)
