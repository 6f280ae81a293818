"""Every private learner, run on a table and replayed on its neighbours with the noisy answers frozen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn import greedy, rule_lists
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from hedgerow.schema import cuts
from tests.learn.replay import Recorder, Replayer
from tests.learn.tables import ROW, SCHEMA, frame


def fit_private(table, source, **parameters):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rule_lists, "SecureNoise", lambda: source)
        return hr.PrivateRuleListClassifier(1.0, schema=SCHEMA, **parameters).fit(table, table["risk"])


def learn_cuts(table, source):
    declared = hr.Schema({"age": hr.Integer(0, 120), "dose": hr.Real(0.0, 1.0, missing="cell", outside="clip")})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts, "SecureNoise", lambda: source)
        return hr.Schema.learn(table, declared, epsilon=1.0, bins=3)


def check(learn, rows, row, source):
    """Record on one table, replay on the other, both ways."""
    one, other = frame(rows), frame([*rows, row])
    for table, neighbour in ((one, other), (other, one)):
        recorder = Recorder(source)
        learn(table, recorder)
        replayer = Replayer(recorder.trace)
        learn(neighbour, replayer)
        replayer.finish()


@pytest.mark.parametrize("examples", [60, pytest.param(3000, marks=pytest.mark.slow)])
def test_private_rule_lists_do_the_same_on_neighbouring_tables(examples):
    @settings(max_examples=examples, deadline=None)
    @given(st.lists(ROW, max_size=30), ROW, st.integers(1, 4), st.integers(0, 2**32))
    def same(rows, row, max_rules, seed):
        source = SeededNoise(np.random.default_rng(seed))
        check(lambda t, s: fit_private(t, s, max_rules=max_rules), rows, row, source)

    same()


@settings(max_examples=20, deadline=None)
@given(st.lists(ROW, max_size=30), ROW)
def test_private_rule_lists_do_the_same_under_secure_noise(rows, row):
    check(fit_private, rows, row, SecureNoise())


@settings(max_examples=20, deadline=None)
@given(st.lists(ROW, max_size=30), ROW)
def test_learning_cut_points_does_the_same_on_neighbouring_tables(rows, row):
    one, other = frame(rows), frame([*rows, row])
    for table, neighbour in ((one, other), (other, one)):
        recorder = Recorder(SecureNoise())
        learn_cuts(table, recorder)
        replayer = Replayer(recorder.trace, one_value_a_row=True)
        learn_cuts(neighbour, replayer)
        replayer.finish()


ROWS = [
    {"smoker": bool(i % 2), "sex": "F", "age": 20 + i, "dose": 0.3, "risk": ["high", "low"][i % 2]} for i in range(20)
]
NEW = {"smoker": True, "sex": "M", "age": 90, "dose": None, "risk": "mid"}


def test_the_replay_catches_a_sensitivity_declared_too_small(monkeypatch):
    monkeypatch.setattr(greedy, "SENSITIVITY", 2**18)
    with pytest.raises(AssertionError, match="further than declared"):
        check(fit_private, ROWS, {**NEW, "smoker": True, "risk": "high"}, SeededNoise(np.random.default_rng(1)))


def test_the_replay_catches_candidates_filtered_by_their_support(monkeypatch):
    """What SSRL's released code does (docs/privacy.md): the candidates that are left depend on the rows."""

    def filtered(caught, total, scores=greedy.split_scores):
        return scores(caught[caught.sum(axis=1) > 0], total)

    monkeypatch.setattr(greedy, "split_scores", filtered)
    with pytest.raises(AssertionError, match="the question itself changed"):
        check(fit_private, ROWS, NEW, SeededNoise(np.random.default_rng(1)))


def test_the_replay_catches_a_stop_that_looks_at_the_rows(monkeypatch):
    def stopping(tally, candidates, most, choose, grow=greedy.grow):
        return grow(tally, candidates, most if tally.total().sum() > 20 else 1, choose)

    monkeypatch.setattr(rule_lists, "grow", stopping)
    with pytest.raises(AssertionError, match=r"the neighbouring table c(hang|aus)ed"):
        check(fit_private, ROWS, NEW, SeededNoise(np.random.default_rng(1)))
