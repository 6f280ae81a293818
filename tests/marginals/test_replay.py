"""The whole protocol on neighbouring targets, with every noisy answer frozen: the same questions, in the same order."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.marginals import expril as learner
from hedgerow.oracle.release_forms import AnswerPlan
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.learn.replay import Recorder, Replayer

pytestmark = pytest.mark.filterwarnings("ignore::hedgerow.errors.OverlapWarning")

RNG = np.random.default_rng(5)
SOURCE = pd.DataFrame({"a": RNG.normal(size=60), "b": RNG.integers(0, 9, 60).astype(float), "c": RNG.random(60) < 0.4})
ROW = st.tuples(st.floats(-1e9, 1e9) | st.none(), st.integers(-5, 20) | st.none(), st.booleans(), st.booleans())
LEARNERS = {
    "cumulative": lambda: hr.ExprilClassifier(DecisionTreeClassifier(max_depth=2, random_state=0)),
    "instantaneous": lambda: hr.ExprilClassifier(
        DecisionTreeClassifier(max_depth=2, random_state=0), variant="instantaneous", reweight=False, queries=2, bins=3
    ),
    "logistic": lambda: hr.MarginalLogisticClassifier(),
    "logistic unweighted": lambda: hr.MarginalLogisticClassifier(smooth=0.5, reweight=False, bins=4),
    "logistic of three classes": lambda: hr.MarginalLogisticClassifier(),
}


def fit(name, rows, release, source, *, run_code=False):
    """Return what a learner made of a target, the oracle, and its budget."""
    target = pd.DataFrame(rows, columns=["a", "b", "c", "y"]).astype({"a": float, "b": float, "c": bool, "y": bool})
    budget = hr.Budget(1, 1e-6)
    options = {"release": release, "run_code": run_code, "random_state": source}
    labels = target["y"]
    if "three classes" in name:
        labels, options["classes"] = (target["b"].fillna(0).astype(int) % 3).rename("y"), (0, 1, 2)
    oracle = hr.Oracle(target[["a", "b", "c"]], labels, budget, **options)
    return LEARNERS[name]().fit(SOURCE, oracle=oracle), oracle, budget


def check(name, rows, row, release, noise, **options):
    """Record on one target, replay on the other, both ways: the same noisy answers must make the same model."""
    for target, neighbour in ((rows, [*rows, row]), ([*rows, row], rows)):
        recorder = Recorder(noise)
        result, oracle, budget = fit(name, target, release, recorder, **options)
        charged = sum((mechanism.epsilon for mechanism, _, _ in recorder.trace), Fraction(0))
        assert charged == result.privacy_.epsilon == budget.spent <= 1
        if not oracle.queries_left:
            assert budget.spent == 1
        replayer = Replayer(recorder.trace)
        again, _, _ = fit(name, neighbour, release, replayer, **options)
        replayer.finish(1)
        assert again.privacy_.charges == result.privacy_.charges
        assert again.predict(SOURCE).tolist() == result.predict(SOURCE).tolist()
        assert again.predict_proba(SOURCE).tolist() == result.predict_proba(SOURCE).tolist()


@pytest.mark.parametrize("release", ["counts", pytest.param("gaussian", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("examples", [2, pytest.param(200, marks=pytest.mark.slow)])
def test_neighbouring_targets_are_asked_the_same(examples, name, release):
    @settings(max_examples=examples)
    @given(st.lists(ROW, max_size=20), ROW, st.integers(0, 2**32))
    def same(rows, row, seed):
        check(name, rows, row, release, SeededNoise(np.random.default_rng(seed)))

    same()


@pytest.mark.parametrize(("name", "release"), [("cumulative", "counts"), *((name, "gaussian") for name in LEARNERS)])
def test_neighbouring_targets_are_asked_the_same_under_secure_noise(name, release):
    check(name, ROWS, NEW, release, SecureNoise())


ROWS = [(0.1 * i, i, i % 3 == 0, i % 2 == 0) for i in range(20)]
NEW = (None, 40, True, True)
SEEDED = SeededNoise(np.random.default_rng(1))


def test_the_replay_catches_a_learner_that_looks_at_the_rows(monkeypatch):
    def peeking(self, X, hypothesis, weights, asked, oracle, ask=hr.ExprilClassifier._ask):
        self.bins = 3 if len(oracle._target) > 20 else 2
        return ask(self, X, hypothesis, weights, asked, oracle)

    monkeypatch.setattr(hr.ExprilClassifier, "_ask", peeking)
    with pytest.raises(AssertionError, match="the neighbouring table changed a mechanism or its charge"):
        check("cumulative", ROWS, NEW, "counts", SEEDED)


def test_the_replay_catches_a_learner_that_stops_by_the_rows(monkeypatch):
    monkeypatch.setattr(learner.ExprilClassifier, "_error_questions", lambda _, oracle: 3 - (len(oracle._target) > 20))
    with pytest.raises(AssertionError, match=r"the neighbouring table caused"):
        check("cumulative", ROWS, NEW, "counts", SEEDED)


@pytest.mark.parametrize("release", ["counts", "gaussian"])
def test_the_replay_catches_a_sensitivity_declared_too_small(monkeypatch, release):
    monkeypatch.setattr(
        AnswerPlan, "mechanism", lambda self, number, *_, make=AnswerPlan.mechanism: make(self, number, (4,))
    )
    with pytest.raises(AssertionError, match="further than declared"):
        check("logistic", ROWS, NEW, release, SEEDED)


def test_the_replay_catches_a_hypothesis_that_ranks_rows(monkeypatch):
    """What a hypothesis that looks at the rows beside it would do, were it not refused."""

    class Ranking:
        def predict(self, X):
            return np.asarray(X["b"].rank(na_option="bottom") > len(X) / 2)

    monkeypatch.setattr("hedgerow.oracle.frame_rows._validate", lambda *_: None)
    monkeypatch.setattr(learner, "Always", lambda _: Ranking())
    rows, new = [(0.0, i, False, i % 2 == 0) for i in range(40)], (0.0, -5, False, True)
    with pytest.raises(AssertionError, match="further than declared"):
        check("cumulative", rows, new, "counts", SEEDED, run_code=True)
