"""Private learners where a person has many rows: on tables that differ by all rows of one unit."""

from fractions import Fraction
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hedgerow as hr
from hedgerow import tally
from hedgerow.learn.contract import specification_of
from hedgerow.privacy.noise import SecureNoise
from hedgerow.privacy.unit import Unit
from hedgerow.schema import private_cuts
from tests.learn.learners import LEARNERS, PATIENT, TWO, given_to, released
from tests.learn.replay import Recorder, Replayer
from tests.learn.tables import ROW, SCHEMA, frame

UNIT = Unit("who", 3)
WHOSE = st.sampled_from(["ann", "ben", "cy"])


def visits(rows):
    """Return rows, given as (who, row), as a frame."""
    return frame([row for _, row in rows]).assign(who=np.array([who for who, _ in rows], dtype=object))


@pytest.fixture
def _one_key(monkeypatch):
    """The choice of rows is coupled: fact 7 of docs/mathematics.md compares tables under one key."""
    for module in (tally, private_cuts):
        monkeypatch.setattr(module, "draw_key", lambda _: b"a key")


def check(learn, rows, more, source, epsilon=1):
    """Record on one table, replay on that with all rows of one person more, both ways."""
    item, other = visits(rows), visits([*rows, *(("zoe", row) for row in more)])
    for table, neighbour in ((item, other), (other, item)):
        recorder = Recorder(source)
        result = learn(table, recorder)
        replayer = Replayer(recorder.trace, rows=UNIT.max_rows)
        assert released(learn(neighbour, replayer)) == released(result), "the neighbouring table changed the model"
        replayer.finish(epsilon)
        charges = result.charges if isinstance(result, hr.Schema) else result.privacy_.charges
        assert sum(charge.epsilon for charge in charges) == epsilon
        assert {charge.unit for charge in charges} == {UNIT}


@pytest.mark.usefixtures("_one_key")
@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("examples", [2, pytest.param(500, marks=pytest.mark.slow)])
@pytest.mark.claim("and no release relies on it")
def test_private_learners_do_the_same_with_a_person_more(examples, name):
    estimator, choices = LEARNERS[name]
    declared, row = (TWO, PATIENT) if name.endswith("of two classes") else (SCHEMA, ROW)
    schema = hr.Schema(declared.attributes, declared.label, unit=UNIT)
    parameters = st.fixed_dictionaries({key: st.sampled_from(values) for key, values in choices.items()})

    @settings(max_examples=examples)
    @given(st.lists(st.tuples(WHOSE, row), max_size=20), st.lists(row, min_size=1, max_size=6), parameters)
    def same(rows, more, parameters):
        def learn(table, source):
            made = {**given_to(estimator), "schema": schema, "random_state": source, **parameters}
            return type(estimator)(**made).fit(table, table["risk"])

        check(learn, rows, more, SecureNoise(), parameters.get("epsilon", 1))

    same()


@pytest.mark.usefixtures("_one_key")
@pytest.mark.parametrize("examples", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_learning_cut_points_does_the_same_with_a_person_more(examples):
    declared = hr.Schema({"age": hr.Integer(0, 120), "dose": hr.Real(0, 1, missing="bin", outside="clip")}, unit=UNIT)

    def learn(table, source):
        return hr.Schema.learn(table, declared, epsilon=1, bins=3, random_state=source)

    @settings(max_examples=examples)
    @given(st.lists(st.tuples(WHOSE, ROW), max_size=20), st.lists(ROW, min_size=1, max_size=6))
    def same(rows, more):
        check(learn, rows, more, SecureNoise())
        assert learn(visits([("ann", row) for row in more]), SecureNoise()).unit == UNIT

    same()


def log_chances(rows, weight):
    """Return the log-probability of each stump with its labels, and of each label alone: the draw of fact 3, by hand.

    One boolean attribute, so that a stump has one test; half of the prior is on each size, and labels are as likely.
    """
    errors = [sum(y != label for _, y in rows) for label in (0, 1)]
    errors += [sum(y != (right if x else left) for x, y in rows) for left, right in product((0, 1), repeat=2)]
    prior = [1 / 4] * 2 + [1 / 8] * 4
    result = [log(p) - weight * e for p, e in zip(prior, errors, strict=True)]
    return np.array(result) - log(sum(map(exp, result)))


@pytest.mark.parametrize("most", [1, 2, 3])
def test_log_probabilities_differ_by_at_most_epsilon_between_units(most):
    """Exactly, for all rows that the counted ones of a person can be; at ε for a row it would be `most` times that."""
    schema = hr.Schema({"x": hr.Boolean()}, hr.Label("y", (0, 1)), unit=Unit("who", most))
    estimator = hr.PrivateTreeClassifier(epsilon=1, max_depth=1, schema=schema)
    weight = float(specification_of(estimator).plan(schema).mechanism.weight)
    kinds, furthest = list(product((0, 1), repeat=2)), 0.0
    for others in ([], kinds, [(0, 0)] * 40, [(0, 0)] * 40 + [(1, 1)] * 40):
        for person in product(kinds, repeat=most):
            item, other = (log_chances(rows, weight) for rows in (others, [*others, *person]))
            furthest = max(furthest, np.abs(item - other).max())
    assert 0.7 < furthest <= 1


def test_a_seed_counts_the_same_rows_again_and_secure_noise_others():
    rng = np.random.default_rng(0)
    table = visits([("ann", row) for row in [{"smoker": bool(rng.integers(2)), "sex": "F", "age": 40, "dose": 0.3,
                                               "risk": "low"} for _ in range(60)]])  # fmt: skip
    schema = hr.Schema(SCHEMA.attributes, SCHEMA.label, unit=Unit("who", 30))

    def counts(seed):
        fitted = hr.PrivateRuleListClassifier(1000, schema=schema, search="greedy", max_rules=2, random_state=seed)
        return [rule.counts for rule in fitted.fit(table, table["risk"]).rule_list_.rules]

    assert counts(0) == counts(0)
    tallies = [hr.Tally.count(table, "risk", schema).bins_and_counts()[1].sum(axis=1).tolist() for _ in range(10)]
    assert len({tuple(item) for item in tallies}) > 1


def test_the_budget_is_checked_and_charged_for_the_unit():
    budget = hr.Budget(1)
    schema = hr.Schema(SCHEMA.attributes, SCHEMA.label, unit=UNIT)
    table = visits([("ann", {"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"})])
    clf = hr.PrivateTreeClassifier(0.5, schema=schema, budget=budget).fit(table, table["risk"])
    assert budget.charges[0].unit == UNIT
    assert budget.spent == Fraction(1, 2)
    assert clf.privacy_.unit == UNIT
    assert clf.planned_charge(schema).epsilon == Fraction(1, 2)
    with pytest.raises(ValueError, match="unit"):
        hr.PrivateTreeClassifier(0.1, schema=SCHEMA, budget=budget).fit(table, table["risk"])
    assert budget.spent == Fraction(1, 2)
    of_rows = hr.Schema(SCHEMA.attributes, SCHEMA.label, (hr.privacy.Charge("cut points", Fraction(1)),), unit=UNIT)
    with pytest.raises(ValueError, match="unit"):
        hr.PrivateTreeClassifier(0.1, schema=of_rows, budget=budget).fit(table, table["risk"])
    with pytest.raises(ValueError, match="unit"):  # a service asks this before its charge
        hr.PrivateTreeClassifier(0.1).planned_charge(of_rows)
    assert budget.spent == Fraction(1, 2)


def test_noise_for_persons_is_told_of_that_drowns_any_usual_table():
    """A mechanism at ε/3 for each row, of a million of which the odds change by e^(ε·10⁶/3) at most."""
    table = visits([("ann", {"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"})])
    schema = hr.Schema(SCHEMA.attributes, SCHEMA.label, unit=UNIT)
    hr.PrivateTreeClassifier("3e-6", schema=schema).fit(table, table["risk"])
    with pytest.warns(hr.errors.NoiseWarning, match="epsilon = 2e-06 is so small"):
        hr.PrivateTreeClassifier("2e-6", schema=schema).fit(table, table["risk"])


@pytest.mark.claim("and no release relies on it")
def test_what_was_proven_for_single_rows_is_refused():
    schema = hr.Schema(TWO.attributes, TWO.label, unit=UNIT)
    table = visits([("ann", {"smoker": True, "sex": "F", "age": 40, "dose": 0.3, "risk": "low"})] * 5)
    for mechanism in ("smooth-laplace", "global-laplace", "exponential"):
        delta = 1e-6 if mechanism == "smooth-laplace" else None
        clf = hr.DPGreedyRLClassifier(1, delta=delta, mechanism=mechanism, schema=schema)
        with pytest.raises(ValueError, match="SSRL's proofs protect single rows"):
            clf.fit(table, table["risk"])


def test_an_array_has_no_units():
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", (0, 1)), unit=UNIT)
    with pytest.raises(hr.errors.DomainError, match="column who"):
        hr.PrivateTreeClassifier(1, schema=schema).fit(np.zeros((4, 1)), np.zeros(4))
