"""Both learners: what they charge and when, what they keep, and that they learn."""

import inspect
import pickle
import warnings
from itertools import product

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.errors import DomainError, HypothesisError, OverlapWarning
from hedgerow.hypotheses.hypothesis import Always
from hedgerow.oracle.answers import ErrorCounts

mpl.use("Agg")
SECRET, VALUE = "zebra-fish", 98765.4321


def numbers(n, seed):
    """Return numbers and labels that follow from them, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=n) > 0


def people(n, seed):
    """Return a frame of every type, with gaps, and labels that follow from it."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "age": rng.integers(18, 90, n),
            "smoker": rng.random(n) < 0.4,
            "town": pd.Series(rng.choice(["Aix", "Bern", None], n), dtype=object),
        }
    )
    return frame, pd.Series(np.where((frame["age"] > 50) | frame["smoker"], "ill", "well"), name="state")


SOURCE, _ = numbers(400, 1)
TARGET, LABELS = numbers(3000, 2)
TEST, TRUTH = numbers(1000, 3)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
MIXED = make_pipeline(
    make_column_transformer(
        (SimpleImputer(), ["size", "age", "smoker"]),
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore")),
            ["town"],
        ),
    ),
    DecisionTreeClassifier(max_depth=3, random_state=0),
)


def oracle(budget=None, questions=3, **parameters):
    return hr.Oracle(TARGET, LABELS, budget, questions, **parameters)


BOTH = {"expril": hr.ExprilClassifier(TREE), "logistic": hr.MarginalLogisticClassifier()}


@pytest.mark.parametrize("name", BOTH)
def test_they_are_scikit_learn_estimators(name):
    learner = BOTH[name]
    parameters = learner.get_params(deep=False)
    assert list(parameters) == sorted(set(inspect.signature(type(learner)).parameters))
    assert clone(learner).get_params(deep=False).keys() == parameters.keys()
    changed = clone(learner).set_params(bins=4, reweight=False)
    assert (changed.bins, changed.reweight, learner.bins) == (4, False, "auto")
    assert repr(changed).startswith(type(learner).__name__ + "(")
    assert "bins=4" in repr(changed)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        clone(learner).set_params(colour=1)
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError, match=type(learner).__name__):
            getattr(clone(learner), method)(SOURCE)
    before = changed.get_params(deep=False)
    changed.fit(SOURCE, oracle=oracle())
    assert changed.get_params(deep=False) == before
    with pytest.raises(NotFittedError, match=type(learner).__name__):
        clone(changed).predict(SOURCE)


CASES = [*product(("counts", "gaussian", "ratio"), ("cumulative", "instantaneous"), (False, True))]
SOONER = (0, 3, 5, 6, 8, 11)  # each two of the three


@pytest.mark.parametrize(
    ("release", "variant", "reweight"),
    [pytest.param(*each, marks=() if place in SOONER else pytest.mark.slow) for place, each in enumerate(CASES)],
)
def test_expril_learns_from_exact_and_from_noisy_answers(release, variant, reweight):
    learner = hr.ExprilClassifier(TREE, variant=variant, reweight=reweight)
    assert learner.fit(SOURCE, oracle=oracle(release=release)).score(TEST, TRUTH) > 0.8
    budget = hr.Budget(20, 1e-6)
    noisy = oracle(budget, release=release, random_state=1)
    assert learner.fit(SOURCE, oracle=noisy).score(TEST, TRUTH) > 0.75
    assert budget.spent == learner.privacy_.epsilon == 20
    assert noisy.queries_left == 0
    proba = learner.predict_proba(TEST)
    assert proba.shape == (1000, 2)
    assert proba.sum(axis=1) == pytest.approx(1)
    assert (learner.classes_[proba.argmax(axis=1)] == learner.predict(TEST)).all()
    questions = 2 if reweight and release == "ratio" else 3
    assert [record["question"] for record in learner.history_] == list(range(1, questions + 1))
    for record in learner.history_:
        assert len(record["bins"]) == 3
        assert record["noise_scale"] == noisy.noise_scale(record["bins"])
        assert 0 <= record["positive"] <= 1
        assert (record["rows"] is None) == (release == "ratio")
        assert 1 <= record["effective_sample_size"] <= 400 + 1e-6
    if release != "ratio":
        assert learner.history_[0]["rows"] == pytest.approx(3000, rel=0.05)
        assert learner.history_[0]["error_rate"] == pytest.approx(1 - LABELS.mean(), abs=0.05)  # h_0 is always true


def test_weights_match_the_marginals_of_a_shifted_target():
    rng = np.random.default_rng(4)
    shifted = TARGET[rng.random(3000) < 1 / (1 + np.exp(-2 * TARGET[:, 2]))]
    labels = shifted[:, 0] > 0
    learner = hr.ExprilClassifier(TREE, queries=1).fit(SOURCE, oracle=hr.Oracle(shifted, labels, None))
    synthetic = learner.synthetic_
    assert SOURCE[:, 2].mean() < 0.1
    assert synthetic.weights @ SOURCE[:, 2] == pytest.approx(shifted[:, 2].mean(), abs=0.1)
    assert synthetic.weights.sum() == pytest.approx(1)
    assert learner.history_[0]["misfit"] < 0.02
    unweighted = hr.ExprilClassifier(TREE, queries=1, reweight=False).fit(
        SOURCE, oracle=hr.Oracle(shifted, labels, None)
    )
    assert set(unweighted.synthetic_.weights.tolist()) == {1 / 400}


def test_synthetic_rows_are_the_source_with_the_targets_labels():
    learner = hr.ExprilClassifier(TREE).fit(pd.DataFrame(SOURCE, columns=list("abc")), oracle=named_oracle())
    synthetic = learner.synthetic_
    assert len(synthetic) == 400
    assert repr(synthetic) == "<Synthetic of 400 weighted rows>"
    assert (synthetic.labels == (synthetic.soft >= 0.5)).all()
    frame, labels = synthetic.sample(5000, random_state=0)
    assert list(frame.columns) == ["a", "b", "c"]
    assert frame.shape == (5000, 3)
    drawn = frame.groupby(frame.index).size() / 5000
    assert drawn.to_numpy() == pytest.approx(synthetic.weights[drawn.index], abs=0.005)
    assert (labels == synthetic.labels[frame.index]).all()
    again, _ = synthetic.sample(5000, random_state=0)
    assert frame.equals(again)
    for wrong in (0, -1, 2.5, True, "3"):
        with pytest.raises(ValueError, match="n must be a whole number >= 1"):
            synthetic.sample(wrong)


@pytest.mark.parametrize(("left", "asked"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_by_default_all_questions_left_are_asked_but_at_most_three(left, asked):
    owner = oracle(hr.Budget(20), left, random_state=0)
    learner = hr.ExprilClassifier(TREE).fit(SOURCE, oracle=owner)
    explicit = hr.ExprilClassifier(TREE, queries=asked)
    explicit.fit(SOURCE, oracle=oracle(hr.Budget(20), left, random_state=0))
    assert len(learner.history_) == asked
    assert owner.queries_left == left - asked
    assert learner.synthetic_.soft.tolist() == explicit.synthetic_.soft.tolist()


def test_the_default_needs_a_question_and_ratios_need_two():
    budget = hr.Budget(1)
    with pytest.raises(ValueError, match=r"queries must be at least 2 .* got 1"):
        hr.ExprilClassifier(TREE).fit(SOURCE, oracle=oracle(budget, 1, release="ratio"))
    assert budget.spent == 0
    used = oracle(budget, 1)
    hr.ExprilClassifier(TREE).fit(SOURCE, oracle=used)
    for learner in (hr.ExprilClassifier(TREE), hr.ExprilClassifier(TREE, queries=1)):
        with pytest.raises(ValueError, match="no questions left"):
            learner.fit(SOURCE, oracle=used)


def named_oracle(budget=None, **parameters):
    return hr.Oracle(pd.DataFrame(TARGET, columns=list("abc")), LABELS, budget, **parameters)


CONSTANT = np.column_stack([SOURCE[:, :2], np.ones(400)])
GAPS = np.where(np.arange(1200).reshape(400, 3) % 50 == 0, np.nan, SOURCE)
BAD_EXPRIL = {
    "variant": (
        {"variant": "both"},
        SOURCE,
        ValueError,
        "variant must be one of cumulative, instantaneous, got 'both'",
    ),
    "no queries": ({"queries": 0}, SOURCE, ValueError, "queries must be a whole number >= 1, got 0"),
    "queries true": ({"queries": True}, SOURCE, ValueError, "queries must be a whole number >= 1, got True"),
    "too many queries": (
        {"queries": 4},
        SOURCE,
        ValueError,
        "queries must be at most 3, .*, got 4",
    ),
    "bins": (
        {"bins": 1},
        SOURCE,
        ValueError,
        "bins must be 'auto', 'published', a whole number >= 2 or a Schema, got 1",
    ),
    "bins in words": ({"bins": "few"}, SOURCE, ValueError, "bins must be 'auto'"),
    "weights": ({"estimator": KNeighborsClassifier()}, SOURCE, TypeError, "sample_weight"),
    "gaps": ({"estimator": LogisticRegression()}, GAPS, ValueError, "Input X contains NaN"),
    "no estimator": ({"estimator": 3}, SOURCE, TypeError, "estimator must be a classifier or None, got int"),
    "no seed": (
        {"random_state": "seed"},
        SOURCE,
        ValueError,
        "random_state must be None, a whole number or a RandomState, got 'seed'",
    ),
    "columns": ({}, SOURCE[:, :2], DomainError, "target's columns x0, x1, x2, got x0, x1"),
    "names": (
        {},
        pd.DataFrame(SOURCE, columns=list("abd")),
        DomainError,
        "the target's columns x0, x1, x2, got a, b, d",
    ),
    "constant": ({}, CONSTANT, DomainError, "column 'x2': the source has fewer than two values"),
    "one row": ({}, SOURCE[:1], DomainError, "the source has fewer than two values"),
    "infinity": ({}, np.where(SOURCE > 2, np.inf, SOURCE), (DomainError, ValueError), "finite|infinity"),
    "no table": ({}, [1.0, 2.0], TypeError, "Expected a frame or a two-dimensional array"),
}


@pytest.mark.parametrize("name", BAD_EXPRIL)
def test_unsuitable_input_of_expril_raises_before_a_charge(name):
    parameters, X, error, match = BAD_EXPRIL[name]
    budget = hr.Budget(1)
    asked = oracle(budget)
    with pytest.raises(error, match=match):
        hr.ExprilClassifier(**{"estimator": TREE, **parameters}).fit(X, oracle=asked)
    assert budget.charges == ()
    assert asked.queries_left == 3


def test_expril_learns_from_two_classes_only():
    budget = hr.Budget(1)
    asked = hr.Oracle(TARGET, LABELS.astype(int), budget, classes=(0, 1, 2))
    with pytest.raises(ValueError, match="two classes, got 3"):
        hr.ExprilClassifier(TREE).fit(SOURCE, oracle=asked)
    assert budget.charges == ()


@pytest.mark.parametrize("name", BOTH)
def test_labels_in_place_of_an_oracle_are_refused(name):
    with pytest.raises(TypeError, match="y must be None"):
        clone(BOTH[name]).fit(SOURCE, np.ones(400), oracle=oracle())
    with pytest.raises(TypeError, match=r"oracle .*got ndarray"):
        clone(BOTH[name]).fit(SOURCE, oracle=np.ones(400))


def test_ratios_are_refused_where_they_do_not_tell_enough():
    budget = hr.Budget(1)
    with pytest.raises(ValueError, match="expected an oracle with release='counts'"):
        hr.MarginalLogisticClassifier().fit(SOURCE, oracle=oracle(budget, release="ratio"))
    with pytest.raises(ValueError, match=r"queries .*2"):
        hr.ExprilClassifier(TREE, queries=1).fit(SOURCE, oracle=oracle(budget, release="ratio"))
    assert budget.spent == 0


@pytest.mark.parametrize(
    "estimator", [TREE, GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())], ids=["tree", "nb", "pipe"]
)
def test_any_classifier_that_takes_weights_is_learned(estimator):
    learner = hr.ExprilClassifier(estimator, queries=2).fit(SOURCE, oracle=oracle())
    assert learner.score(TEST, TRUTH) > 0.8
    assert type(learner.hypothesis_) is type(estimator)
    assert learner.hypothesis_ is not estimator


def test_the_weights_reach_the_estimator():
    seen = []

    class Seeing(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append((len(X), sample_weight))
            return super().fit(X, y, sample_weight)

    learner = hr.ExprilClassifier(Seeing(max_depth=2), queries=1).fit(SOURCE, oracle=oracle())
    rows, weights = seen[-1]
    kept = learner.synthetic_.weights[learner.synthetic_.weights > 0]
    assert rows == len(kept)
    assert weights == pytest.approx(kept * rows)
    assert len(seen) == 2  # once on made-up labels, before anything is charged


def test_labels_that_are_all_alike_make_a_constant_hypothesis():
    learner = hr.ExprilClassifier(TREE, queries=2).fit(
        SOURCE, oracle=hr.Oracle(TARGET, np.zeros(3000, dtype=int), None)
    )
    assert isinstance(learner.hypothesis_, Always)
    assert set(learner.predict(TEST).tolist()) == {0}
    assert learner.predict_proba(TEST)[0].tolist() == [1.0, 0.0]


@pytest.mark.filterwarnings("ignore::hedgerow.errors.OverlapWarning")
@pytest.mark.parametrize("name", ["expril", "logistic"])
@pytest.mark.parametrize("epsilon", [None, 1])
def test_tables_of_every_type_with_gaps_and_words_are_learned_from(name, epsilon):
    source, target, test = people(300, 1), people(2000, 2), people(500, 3)
    learner = hr.ExprilClassifier(MIXED) if name == "expril" else hr.MarginalLogisticClassifier()
    budget = None if epsilon is None else hr.Budget(30)
    asked = hr.Oracle(*target, budget, classes=("well", "ill"), random_state=None if epsilon is None else 0)
    learner.fit(source[0], oracle=asked)
    assert learner.classes_.tolist() == ["ill", "well"]
    assert learner.score(*test) > 0.8
    unseen = test[0].assign(town="Chur", size=1e9)
    assert learner.predict(unseen).shape == (500,)


def test_polars_frames_are_learned_from():
    make = lambda X: pl.DataFrame(X, schema=list("abc"))  # noqa: E731
    for learner in (hr.ExprilClassifier(TREE, queries=2), hr.MarginalLogisticClassifier()):
        learner.fit(make(SOURCE), oracle=hr.Oracle(make(TARGET), pl.Series(LABELS), None))
        assert learner.score(make(TEST), TRUTH) > 0.8


def test_the_default_is_the_papers_network_and_fits_a_numeric_frame():
    """scikit-learn leaves a part of a ColumnTransformer without columns unfitted; it is read as nothing."""
    source, target, test = (pd.DataFrame(rows, columns=list("abc")) for rows in (SOURCE, TARGET, TEST))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        asked = hr.Oracle(target, LABELS, None, 2)
        learner = hr.ExprilClassifier(queries=2, random_state=0).fit(source, oracle=asked)
    assert asked.queries_left == 0
    assert learner.score(test, TRUTH) > 0.8
    assert learner.hypothesis_.steps[-1][1].hidden_layer_sizes == (16, 256, 256, 16)


@pytest.mark.filterwarnings("ignore::hedgerow.errors.OverlapWarning")
def test_a_fitted_model_holds_nothing_of_the_private_rows():
    frame, labels = people(1500, 2)
    frame.loc[7, ["size", "town"]] = VALUE, SECRET
    source, _ = people(300, 1)
    for learner in (hr.ExprilClassifier(MIXED), hr.MarginalLogisticClassifier()):
        budget = hr.Budget(3)
        learner.fit(source, oracle=hr.Oracle(frame, labels, budget, classes=("ill", "well"), random_state=0))
        written = pickle.dumps(learner)
        assert SECRET.encode() not in written
        assert np.float64(VALUE).tobytes() not in written
        assert str(1500).encode() not in written
        assert len(written) < 200_000
        again = pickle.loads(written)
        assert again.predict(source).tolist() == learner.predict(source).tolist()
        assert again.privacy_ == learner.privacy_
        assert learner.privacy_.epsilon == budget.spent > 0
        assert not any(isinstance(value, (hr.Oracle, hr.Budget)) for value in vars(learner).values())


def test_a_source_that_hardly_overlaps_is_warned_about():
    with pytest.warns(OverlapWarning, match="source and target hardly overlap"):
        hr.ExprilClassifier(TREE, queries=1).fit(SOURCE, oracle=hr.Oracle(TARGET + 4, LABELS, None))


@pytest.mark.parametrize(("variant", "used"), [("cumulative", [0, 0, 1, 0, 1, 2]), ("instantaneous", [0, 1, 2])])
def test_labels_explain_all_answers_or_the_last(variant, used, monkeypatch):
    answers = []

    def errors(self, source, errors=ErrorCounts.errors):
        answers.append(self)
        return errors(self, source)

    monkeypatch.setattr(ErrorCounts, "errors", errors)
    hr.ExprilClassifier(TREE, variant=variant).fit(SOURCE, oracle=oracle())
    asked = list(dict.fromkeys(map(id, answers)))
    assert [asked.index(id(answer)) for answer in answers] == used


def test_an_unreadable_estimator_is_refused_before_a_charge():
    budget = hr.Budget(1)
    asked = oracle(budget)
    with pytest.raises(HypothesisError, match="GaussianNB"):
        hr.ExprilClassifier(GaussianNB(), queries=2).fit(SOURCE, oracle=asked)
    assert (budget.spent, asked.queries_left) == (0, 3)
    hr.ExprilClassifier(GaussianNB(), queries=1).fit(SOURCE, oracle=asked)  # the one question is on a constant
    assert asked.queries_left == 2
