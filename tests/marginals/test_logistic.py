"""Scorecards from one question: what they charge and when, what they are made of, and that they learn."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import hedgerow as hr
from hedgerow.errors import DomainError
from hedgerow.models.scorecard import Scorecard
from hedgerow.oracle.binning import bin_matrix
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Boolean, Categorical, Real, Schema

BINS = Schema(
    {
        "size": Real(-3.0, 3.0, (-0.5, 0.5), missing="bin", outside="clip"),
        "age": Real(0.0, 100.0, (30.0, 50.0, 70.0), missing="bin", outside="clip"),
        "smoker": Boolean(missing="bin"),
        "town": Categorical(("Aix",), missing="bin", outside="bin"),
    }
)
CLASSES = ("ill", "unsure", "well")


def people(n, seed):
    """Return a frame of every type, with gaps, and the log-odds that its columns add up to."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
            "age": rng.integers(18, 90, n),
            "smoker": rng.random(n) < 0.4,
            "town": pd.Series(rng.choice(["Aix", "Bern", None], n), dtype=object),
        }
    )
    return frame, 0.08 * (frame["age"] - 50) + 2 * frame["smoker"] + frame["size"].fillna(2) - 0.5


def two_classes(n, seed):
    frame, odds = people(n, seed)
    drawn = np.random.default_rng(seed + 1).random(n) < 1 / (1 + np.exp(-odds))
    return frame, pd.Series(drawn.astype(int), name="labelled")


def three_classes(n, seed):
    frame, odds = people(n, seed)
    scores = np.column_stack([odds, np.full(n, 0.5), -odds])
    return frame, pd.Series(np.array(CLASSES)[(scores + np.random.default_rng(seed).gumbel(size=(n, 3))).argmax(1)])


SOURCE, TEST = people(500, 1)[0], two_classes(2000, 2)
TARGET = two_classes(3000, 3)


def fit(oracle=None, source=SOURCE, **parameters):
    asked = oracle or hr.Oracle(*TARGET, hr.Budget(2), 1, random_state=0)
    return hr.MarginalLogisticClassifier(**{"reweight": False, **parameters}).fit(source, oracle=asked)


def test_the_model_is_a_scorecard_like_any_other(tmp_path):
    learner = fit()
    card = learner.model_
    assert type(card) is Scorecard
    assert card.schema.label == hr.Label("labelled", (0, 1))
    card.save(tmp_path / "card.json")
    again = hr.load_model(tmp_path / "card.json")
    assert again == card
    assert learner.predict(TEST[0]).tolist() == again.predict(TEST[0]).tolist()
    assert learner.predict_proba(TEST[0]) == pytest.approx(again.predict_proba(TEST[0]))
    assert learner.decision_function(TEST[0]).tolist() == card.decision_function(TEST[0]).tolist()
    assert max(abs(bin_) for part in card.parts for bins in part.points for bin_ in bins) == 20
    assert json.loads(card.to_json())["error"] == card.error > 0
    assert "CASE" in card.to_sql("duckdb")
    assert learner.privacy_ == card.privacy
    assert learner.score(*TEST) > 0.75


def test_python_and_sql_of_the_card_predict_what_the_learner_does():
    learner, scope = fit(), {}
    exec(learner.model_.to_python(), scope)
    rows = TEST[0][:100].astype(object).where(TEST[0][:100].notna(), None).to_dict("records")
    assert [scope["predict"](row) for row in rows] == learner.predict(TEST[0][:100]).tolist()


@pytest.mark.parametrize("epsilon", [None, 4])
@pytest.mark.parametrize("reweight", [False, True])
@pytest.mark.filterwarnings("ignore::hedgerow.errors.OverlapWarning")
def test_several_classes_are_learned_from_a_single_question(epsilon, reweight):
    frame, labels = three_classes(4000, 3)
    test, truth = three_classes(2000, 4)
    budget = None if epsilon is None else hr.Budget(epsilon)
    oracle = hr.Oracle(frame, labels, budget, 1, classes=CLASSES, random_state=None if epsilon is None else 0)
    learner = fit(oracle, reweight=reweight)
    with_rows = LogisticRegression(max_iter=2000).fit(bin_matrix(BINS, frame).T, labels)
    best = with_rows.score(bin_matrix(BINS, test).T, truth)
    assert learner.score(test, truth) > best - 0.03 > 0.6
    assert learner.classes_.tolist() == list(CLASSES)
    assert learner.predict_proba(test).shape == (2000, 3)
    assert len(learner.model_.base) == len(learner.smooth_) == 3
    if epsilon:
        (charge,) = learner.privacy_.charges
        assert charge.epsilon == epsilon
        assert "classes by bin of 4 attributes, question 1 of 1" in charge.purpose
        assert "4 attributes" in charge.mechanism.words
        assert "sensitivity 1" in charge.mechanism.words


def test_exact_answers_on_the_source_itself_make_the_logistic_model():
    frame, labels = TARGET
    learner = fit(hr.Oracle(frame, labels, None), frame, bins=BINS, points=1000)
    with_labels = LogisticRegression(C=1.0, max_iter=5000).fit(bin_matrix(BINS, frame).T, labels)
    expected = with_labels.predict_proba(bin_matrix(BINS, TEST[0]).T)
    assert np.abs(learner.predict_proba(TEST[0]) - expected).mean() < 0.02
    assert learner.model_.error is None


def test_the_number_of_bins_makes_little_difference():
    """At small epsilon, where 12 bins an attribute have few rows for their noise."""
    scores = []
    for bins in (3, 12, 24):
        of_bins = [
            fit(hr.Oracle(*TARGET, hr.Budget(0.3), 1, random_state=seed), bins=bins).score(*TEST) for seed in range(5)
        ]
        scores.append(np.mean(of_bins))
    assert max(scores) - min(scores) < 0.04
    assert min(scores) > 0.68


@pytest.mark.filterwarnings("ignore::hedgerow.errors.OverlapWarning")
@pytest.mark.parametrize("kind", ["numbers", "flags", "words", "missing"])
def test_a_constant_column_of_a_frame_is_left_out_with_a_note(kind):
    values = {"numbers": 3.0, "flags": True, "words": "x", "missing": np.nan}
    source, target = SOURCE.assign(same=values[kind]), TARGET[0].assign(same=values[kind])
    learner = fit(hr.Oracle(target, TARGET[1], hr.Budget(2), 1, random_state=0), source)
    note = Fact("columns_left_out", columns=("same",))
    assert note in learner.privacy_.notes
    assert "same" not in learner.model_.schema
    assert "of 4 attributes" in learner.privacy_.charges[0].purpose  # and no noise is spent on it
    assert learner.score(*TEST) > 0.75
    assert note not in fit().privacy_.notes


@pytest.mark.parametrize("same", [3.0, np.nan])
def test_a_constant_column_of_an_array_has_no_points(same):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 3)), rng.random(3000)
    X[:, 1] = same
    y = (X[:, 0] + X[:, 2] > 0).astype(int)
    learner = fit(hr.Oracle(X[500:], y[500:], hr.Budget(4), 1, random_state=0), X[:500])
    assert Fact("columns_left_out", columns=("x1",)) in learner.privacy_.notes
    assert [part.attribute for part in learner.model_.parts] == ["x0", "x2"]
    assert learner.score(X, y) > 0.85


def test_a_note_that_is_too_long_is_refused_before_a_charge():
    budget, longest = hr.Budget(1), {"x" * 10_001: 1}
    with pytest.raises(ValueError, match="as columns of 'columns_left_out'"):
        fit(hr.Oracle(TARGET[0].assign(**longest), TARGET[1], budget, 1), SOURCE.assign(**longest))
    assert budget.spent == 0


def test_columns_that_are_all_constant_are_refused_before_a_charge():
    budget = hr.Budget(1)
    with pytest.raises(DomainError, match="constant"):
        fit(hr.Oracle(np.ones((9, 2)), [0, 1, 1] * 3, budget, 1), np.ones((5, 2)))
    assert budget.charges == ()


BAD = {
    "points": ({"points": 0}, SOURCE, ValueError, "points must be a whole number >= 1, got 0"),
    "too many points": ({"points": 2000}, SOURCE, ValueError, "points must be a whole number <= 1000, got 2000"),
    "smooth": ({"smooth": 0}, SOURCE, ValueError, "smooth must be 'auto' or a number from 0.01 to 1000, got 0"),
    "smooth nan": ({"smooth": np.nan}, SOURCE, ValueError, "smooth must be"),
    "smooth true": ({"smooth": True}, SOURCE, ValueError, "smooth must be"),
    "smooth in words": ({"smooth": "very"}, SOURCE, ValueError, "smooth must be 'auto' or .*, got 'very'"),
    "bins": ({"bins": 1}, SOURCE, ValueError, "bins must be 'auto'"),
    "columns": ({}, SOURCE[["size"]], DomainError, "target's columns size, age, smoker, town, got size"),
    "infinity": ({}, SOURCE.replace({"age": 30}, np.inf), DomainError, "column 'age': expected finite numbers"),
}


@pytest.mark.parametrize("name", BAD)
def test_unsuitable_input_of_the_scorecard_raises_before_a_charge(name):
    parameters, source, error, match = BAD[name]
    budget = hr.Budget(1)
    oracle = hr.Oracle(*TARGET, budget)
    with pytest.raises(error, match=match):
        fit(oracle, source, **parameters)
    assert budget.charges == ()
    assert oracle.queries_left == 3


@pytest.mark.parametrize("name", ["predict", "predict_proba", "decision_function"])
def test_an_unfitted_learner_says_so(name):
    with pytest.raises(NotFittedError, match="MarginalLogisticClassifier"):
        getattr(hr.MarginalLogisticClassifier(), name)(SOURCE)
    with pytest.raises(NotFittedError, match="MarginalLogisticClassifier"):
        _ = hr.MarginalLogisticClassifier().privacy_
    for read in ("get_points", "to_sql", "plot"):
        with pytest.raises(NotFittedError, match="MarginalLogisticClassifier"):
            getattr(hr.MarginalLogisticClassifier(), read)()


def test_the_model_is_a_function_of_the_answer():
    """Another target with the same released answer, and other rows: the same model, bit by bit."""
    answers = []

    def fitted(rows, fixed=None):
        oracle = hr.Oracle(TARGET[0][:rows], TARGET[1][:rows], hr.Budget(2), 1, random_state=3)
        ask = oracle.class_marginals

        def asking(bins):
            answers.append(ask(bins))
            return fixed or answers[-1]

        oracle.class_marginals = asking
        return fit(oracle)

    item = fitted(3000)
    other = fitted(700, answers[0])
    assert item.model_ == other.model_
    assert item.smooth_ == other.smooth_


def test_less_noise_and_a_given_spread_are_obeyed():
    assert fit(smooth=0.7).smooth_ == (0.7,)
    errors = [fit(hr.Oracle(*TARGET, hr.Budget(e), 1, random_state=0), smooth=1.0).model_.error for e in (1, 10)]
    assert errors[0] > 2 * errors[1]
    flat = fit(smooth=0.01).model_
    assert np.ptp(flat.predict_proba(TEST[0])[:, 1]) < np.ptp(fit(smooth=1.0).predict_proba(TEST[0])[:, 1]) / 3


def test_bins_of_a_schema_are_those_of_the_card():
    card = fit(bins=BINS).model_
    assert card.schema.names == BINS.names
    assert card.explain(TEST[0][:1])["total"] == card.totals(TEST[0][:1])[0]
