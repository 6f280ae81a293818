"""The mechanisms of SSRL that are proven, replayed on neighbouring tables with the noisy answers frozen."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow.learn.ssrl import greedy as published
from hedgerow.privacy.noise import SecureNoise, SeededNoise
from tests.learn.replay import Recorder, Replayer
from tests.learn.tables import ROW, SCHEMA, frame

TWO = hr.Schema(SCHEMA.attributes, hr.Label("risk", ("high", "low")))
PATIENT = ROW.filter(lambda row: row["risk"] != "mid")
PROVEN = ["exponential", "noisy-counts"]


def fit(mechanism, table, source, **parameters):
    clf = hr.DPGreedyRLClassifier(1.0, mechanism=mechanism, schema=TWO, random_state=source, **parameters)
    return clf.fit(table, table["risk"])


def check(mechanism, rows, row, source, **parameters):
    """Record on one table, replay on the other, both ways: the same noisy answers must make the same model."""
    item, other = frame(rows), frame([*rows, row])
    for table, neighbour in ((item, other), (other, item)):
        recorder = Recorder(source)
        result = fit(mechanism, table, recorder, **parameters)
        charged = sum((mechanism.epsilon for mechanism, _, _ in recorder.trace), Fraction(0))
        unused = sum(charge.epsilon for charge in result.privacy_.charges if charge.purpose == "reserved, not used")
        assert charged + unused == result.privacy_.epsilon == 1
        replayer = Replayer(recorder.trace)
        again = fit(mechanism, neighbour, replayer, **parameters)
        assert again.rule_list_.rules == result.rule_list_.rules, "the neighbouring table changed the model"
        assert again.privacy_.charges == result.privacy_.charges
        replayer.finish(1)


@pytest.mark.parametrize("mechanism", PROVEN)
@pytest.mark.parametrize("examples", [3, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.claim("hedgerow never drops candidates, with the `smooth-*` mechanisms neither")
def test_they_do_the_same_on_neighbouring_tables(examples, mechanism):
    @settings(max_examples=examples)
    @given(st.lists(PATIENT, max_size=30), PATIENT, st.integers(1, 4), st.integers(0, 2**32))
    def same(rows, row, max_rules, seed):
        check(mechanism, rows, row, SeededNoise(np.random.default_rng(seed)), max_rules=max_rules)

    same()


@pytest.mark.parametrize("mechanism", PROVEN)
@given(rows=st.lists(PATIENT, max_size=30), row=PATIENT)
@pytest.mark.claim("the choice is made of noisy counts only")
def test_they_do_the_same_under_secure_noise(mechanism, rows, row):
    check(mechanism, rows, row, SecureNoise(), max_literals=1)


ROWS = [
    {"smoker": bool(i % 2), "sex": "F", "age": 20 + i, "dose": 0.3, "risk": ["high", "low"][i % 2]} for i in range(20)
]
NEW = {"smoker": True, "sex": "M", "age": 90, "dose": None, "risk": "high"}
SEEDED = SeededNoise(np.random.default_rng(1))


@pytest.mark.claim("which no ε covers")
def test_the_replay_catches_candidates_filtered_by_their_support(monkeypatch):
    """What SSRL's released code does (docs/privacy.md): the candidates that are left depend on the rows."""

    def filtered(caught, total, scores=published.gini_scores):
        return scores(caught[caught.sum(axis=1) > 0], total)

    monkeypatch.setattr(published, "gini_scores", filtered)
    with pytest.raises(AssertionError, match="question"):
        check("exponential", ROWS, NEW, SEEDED)


def test_the_replay_catches_a_sensitivity_declared_too_small(monkeypatch):
    monkeypatch.setattr(published, "Exponential", lambda epsilon, make=published.Exponential: make(epsilon, 0.01))
    with pytest.raises(AssertionError, match="further than declared"):
        check("exponential", ROWS, NEW, SEEDED)
    laplace = published.DiscreteLaplace
    monkeypatch.setattr(published, "DiscreteLaplace", lambda epsilon, _=1: laplace(epsilon))
    with pytest.raises(AssertionError, match="further than declared"):
        check("noisy-counts", ROWS, NEW, SEEDED)


@pytest.mark.parametrize("mechanism", PROVEN)
def test_the_replay_catches_a_stop_that_looks_at_the_rows(mechanism, monkeypatch):
    def stopping(tally, candidates, most, choose, grow=published.grow):
        return grow(tally, candidates, most if tally.total().sum() > 20 else 0, choose)

    monkeypatch.setattr(published, "grow", stopping)
    with pytest.raises(AssertionError, match=r"neighbouring table"):
        check(mechanism, ROWS, NEW, SEEDED)
