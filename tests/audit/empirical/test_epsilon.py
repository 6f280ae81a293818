"""Empirical ε of learners whose loss is known, and of some that claim too little."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.audit import empirical_epsilon, worst_neighbours
from tests.learn.draws import reweighted

pytestmark = pytest.mark.statistics

SCHEMA = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (False, True)))
PAIR = (np.zeros((3, 1)), np.array([0, 1, 1])), (np.zeros((2, 1)), np.array([0, 1]))
SURE = 1 - 1e-6


class Count:
    """Adds Laplace noise of scale 1/ε to a count: ε-differentially private."""

    def __init__(self, epsilon):
        self.epsilon, self.rng = epsilon, np.random.default_rng(0)

    def __call__(self, _, y):
        return float(y.sum() + self.rng.laplace(scale=1 / self.epsilon))


def response(_, y):
    """Randomised response of ε = 1 on whether the last row is there."""
    return bool((len(y) == 3) ^ (RNG.random() < 1 / (1 + np.e)))


RNG = np.random.default_rng(1)


def test_randomised_response_shows_all_that_it_loses_and_no_more():
    result = empirical_epsilon(response, *PAIR, runs=8000, claim=1.0, confidence=SURE)
    assert 0.8 < result.epsilon <= 1
    assert not result.refutes
    assert result.power(1.3) > 0.9 > result.power(1.1)
    assert (result.tested, result.runs) == (6000, 8000)
    assert (result.trade_off["tpr"] <= np.minimum(np.e * result.trade_off["fpr"], 1) + 1e-9).all()


def test_noise_30_percent_too_small_is_refuted():
    honest = empirical_epsilon(Count(2.0), *PAIR, runs=8000, claim=2.0, confidence=SURE)
    assert 1.2 < honest.epsilon <= 2
    wrong = empirical_epsilon(Count(2.0 / 0.7), *PAIR, runs=8000, claim=2.0, confidence=SURE)
    assert wrong.refutes
    assert "epsilon = 2: refuted" in str(wrong)


def test_delta_is_granted():
    def tells_at_times(_, y):
        return "it is there" if len(y) == 3 and RNG.random() < 0.1 else "nothing"

    assert empirical_epsilon(tells_at_times, *PAIR, runs=3000, claim=1.0).refutes
    granted = empirical_epsilon(tells_at_times, *PAIR, runs=3000, claim=1.0, delta=0.15, confidence=SURE)
    assert granted.epsilon == 0


def test_gaussian_noise_shows_its_mu():
    rng = np.random.default_rng(3)
    result = empirical_epsilon(lambda _, y: float(y.sum() + rng.normal()), *PAIR, runs=20_000, confidence=SURE)
    assert 0.7 < result.mu <= 1


def test_vectors_are_reduced_to_a_separating_score():
    rng = np.random.default_rng(4)

    def hidden(_, y):
        item = rng.normal()
        return np.array([item, item * (1 if len(y) == 3 else -1)])

    assert empirical_epsilon(hidden, *PAIR, runs=2000).epsilon > 2


def test_a_private_draw_is_not_refuted_and_a_reweighted_draw_is(monkeypatch):
    """None and one row: all of ε is spent; weights six times as large must be seen."""
    learner = hr.PrivateTreeClassifier(1.0, max_depth=1, release_counts=False, schema=SCHEMA)
    pair = worst_neighbours(SCHEMA)["one row"]
    result = empirical_epsilon(learner, *pair, runs=120, claim=1.0, confidence=0.999, random_state=0)
    assert not result.refutes
    assert result.learner.startswith("PrivateTreeClassifier(epsilon=1.0")
    with monkeypatch.context() as patch:
        reweighted(patch, Fraction(6))
        wrong = empirical_epsilon(learner, *pair, runs=120, claim=1.0, confidence=0.999, random_state=0)
    assert wrong.refutes


def test_a_learner_without_privacy_is_seen():
    X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 0])
    result = empirical_epsilon(DecisionTreeClassifier(), (X, y), (X[:2], y[:2]), runs=400, claim=1.0)
    assert result.refutes
    assert result.epsilon > 3


def test_runs_are_kept_and_go_on(tmp_path):
    file, calls = tmp_path / "runs.jsonl", []

    def count(_, y):
        calls.append(len(y))
        return float(len(y))

    empirical_epsilon(count, *PAIR, runs=40, file=file)
    assert len(calls) == 80
    empirical_epsilon(count, *PAIR, runs=60, file=file)
    assert len(calls) == 120
    with pytest.raises(ValueError, match=r"runs[.]jsonl"):
        empirical_epsilon(count, PAIR[1], PAIR[0], runs=60, file=file)


def test_learners_with_the_same_short_repr_do_not_share_runs(tmp_path):
    def learner(weight):
        return DecisionTreeClassifier(class_weight={n: weight if n == 39 else 1.0 for n in range(40)})

    assert str(learner(1.0)) == str(learner(2.0))
    empirical_epsilon(learner(1.0), *PAIR, runs=40, file=tmp_path / "runs.jsonl")
    with pytest.raises(ValueError, match=r"runs[.]jsonl"):
        empirical_epsilon(learner(2.0), *PAIR, runs=40, file=tmp_path / "runs.jsonl")


def test_outcomes_can_be_reduced_by_the_user():
    result = empirical_epsilon(Count(1.0), *PAIR, runs=400, outcome=lambda value: value > 1.5)
    assert result.outcomes == 1


def test_the_text_has_the_bound_the_claim_and_the_power():
    result = empirical_epsilon(response, *PAIR, runs=2000, claim=1.0)
    text = str(result)
    assert "learner     response" in text
    assert "power       " in text
    assert repr(result) == f"<EmpiricalEpsilon of response: at least {result.epsilon:.4g}>"
    axes = result.plot()
    assert "false positive rate" in axes.get_xlabel()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"runs": 10}, ValueError, "runs"),
        ({"claim": 0}, ValueError, "claim"),
        ({"delta": 1.0}, ValueError, "delta"),
        ({"confidence": 1}, ValueError, "confidence"),
        ({"fit": DecisionTreeClassifier}, TypeError, "fit"),
        ({"fit": 3}, TypeError, "fit"),
        ({"fit": DecisionTreeClassifier(random_state=0)}, ValueError, "random_state"),
        (
            {"fit": hr.PrivateTreeClassifier(1.0, random_state=np.random.default_rng(0))},
            ValueError,
            "random_state",
        ),
        ({"table": np.zeros((3, 1))}, TypeError, "table"),
    ],
)
def test_invalid_audit_arguments_raise(options, kind, message):
    given = {"fit": response, "table": PAIR[0], "neighbour": PAIR[1]} | options
    with pytest.raises(kind, match=message):
        empirical_epsilon(**given)


def test_refutes_and_power_need_a_claim():
    result = empirical_epsilon(response, *PAIR, runs=100)
    with pytest.raises(ValueError, match="claim"):
        assert result.refutes
    with pytest.raises(ValueError, match="factor"):
        empirical_epsilon(response, *PAIR, runs=100, claim=1).power(1)


def test_other_reductions_or_column_names_do_not_share_runs(tmp_path):
    def total(_, y):
        return float(sum(y))

    frames = [pd.DataFrame({name: [0, 0]}) for name in "ab"]
    item, other = ((frame, [0, 1]) for frame in frames)
    settings = {"runs": 20, "file": tmp_path / "runs.jsonl"}
    empirical_epsilon(total, item, item, **settings)
    for sides, outcome in [((other, other), None), ((item, item), repr)]:
        with pytest.raises(ValueError, match=r"runs[.]jsonl"):
            empirical_epsilon(total, *sides, outcome=outcome, **settings)
