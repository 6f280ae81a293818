"""Attributes along which predictions may only rise, or only fall, as a schema declares it."""

import numpy as np
import pandas as pd
import pytest

import hedgerow as hr
from hedgerow.errors import SchemaError
from hedgerow.learn.base import directions
from hedgerow.oracle import choose_bins
from hedgerow.privacy import Budget

LABEL = hr.Label("ill", ("no", "yes"))
STAGE = hr.Ordered(("I", "II", "III", "IV", "V"), monotone="increasing", missing="bin")
DOSE = hr.Real(0, 1, (0.25, 0.5, 0.75), monotone="decreasing", outside="clip")
SCHEMA = hr.Schema({"stage": STAGE, "dose": DOSE, "sex": hr.Categorical(("F", "M"))}, LABEL)
FREE = hr.Schema(
    {"stage": hr.Ordered(STAGE.values, missing="bin"), "dose": hr.Real(0, 1, DOSE.cuts, outside="clip")}, LABEL
)
TREES = {
    "tree": hr.PrivateTreeClassifier(1.0, max_depth=2),
    "rule list": hr.PrivateRuleListClassifier(1.0, max_rules=2, max_literals=1),
    "greedy tree": hr.PrivateTreeClassifier(1.0, max_depth=2, search="greedy"),
    "optimal tree": hr.OptimalTreeClassifier(max_depth=2),
    "optimal list": hr.OptimalRuleListClassifier(max_rules=2, max_literals=1),
    "greedy list": hr.GreedyRuleListClassifier(),
    "published list": hr.DPGreedyRLClassifier(1.0, delta=1e-9),
}


def rows(n=300, seed=0):
    """Return rows whose labels have little to do with their values."""
    rng = np.random.default_rng(seed)
    stage = np.array([*STAGE.values, None], dtype=object)[rng.integers(0, 6, n)]
    table = pd.DataFrame({"stage": stage, "dose": rng.random(n), "sex": np.array(["F", "M"])[rng.integers(0, 2, n)]})
    return table, pd.Series(np.where(rng.random(n) < 0.4, "yes", "no"), name="ill")


def rises(card, name, known):
    """Return whether the points of an attribute's known bins rise, and whether they fall."""
    points = next((part.points for part in card.parts if part.attribute == name), ((0,),) * known)
    steps = np.diff([item for (item,) in points[:known]])
    return bool((steps >= 0).all()), bool((steps <= 0).all())


@pytest.mark.parametrize(
    "attribute",
    [
        STAGE,
        DOSE,
        hr.Integer(0, 9, monotone="increasing"),
        hr.Integer(0, 9, (3,), monotone="decreasing", missing="bin"),
        hr.Date("2000-01-01", "2009-12-31", monotone="increasing"),
    ],
)
def test_it_is_read_back_from_files_and_part_of_the_digest(attribute, tmp_path):
    for name in ("schema.yaml", "schema.json"):
        schema = hr.Schema({"x": attribute}, LABEL)
        schema.save(tmp_path / name)
        loaded = hr.Schema.load(tmp_path / name)
        assert loaded == schema
        assert loaded.monotone == {"x": attribute.monotone}
        assert f", monotone: {attribute.monotone}" in str(loaded)
        assert loaded.digest == schema.digest


def test_a_schema_that_declares_nothing_has_the_digest_that_it_had():
    plain = hr.Schema({"age": hr.Integer(0, 9, (3,)), "sex": hr.Boolean()}, LABEL)
    assert "monotone" not in str(plain.to_dict())
    declared = hr.Schema({"age": hr.Integer(0, 9, (3,), monotone="increasing"), "sex": hr.Boolean()}, LABEL)
    assert declared.digest != plain.digest
    assert declared != plain


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            {"kind": "boolean", "monotone": "increasing"},
            "`monotone` needs values in an order",
        ),
        ({"kind": "categorical", "values": ["a", "b"], "monotone": "increasing"}, ".* categorical attribute"),
        (
            {"kind": "integer", "low": 0, "high": 9, "monotone": "up"},
            "expected one of increasing, decreasing, got 'up'",
        ),
        (
            {"kind": "ordered", "values": ["a", "b"], "monotone": True},
            "expected one of increasing, decreasing, got True",
        ),
    ],
)
def test_monotone_needs_an_order(data, message):
    with pytest.raises(SchemaError, match=f"attribute 'x': key 'monotone': {message}"):
        hr.Schema.from_dict({"attributes": {"x": data}})


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 20.0])
def test_points_of_a_private_scorecard_keep_it(epsilon):
    for seed in range(5):
        card = hr.PrivateScorecardClassifier(epsilon, schema=SCHEMA, random_state=seed).fit(*rows(seed=seed)).scorecard_
        assert rises(card, "stage", 5)[0]
        assert rises(card, "dose", 4)[1]


def test_without_the_declaration_they_would_not():
    cards = [hr.PrivateScorecardClassifier(1.0, schema=FREE, random_state=k).fit(*rows()).scorecard_ for k in range(5)]
    assert not all(rises(card, "stage", 5)[0] and rises(card, "dose", 4)[1] for card in cards)


def test_points_of_a_scorecard_without_privacy_keep_it():
    card = hr.ScorecardClassifier(schema=SCHEMA, C=100).fit(*rows()).scorecard_
    assert rises(card, "stage", 5)[0]
    assert rises(card, "dose", 4)[1]
    free = hr.ScorecardClassifier(schema=FREE, C=100).fit(*rows()).scorecard_
    assert not rises(free, "stage", 5)[0]


def test_the_parameter_overrides_the_declaration():
    clf = hr.ScorecardClassifier(schema=SCHEMA, C=100, monotone={"stage": "decreasing", "dose": None})
    card = clf.fit(*rows()).scorecard_
    assert rises(card, "stage", 5)[1]
    assert rises(card, "dose", 4) == rises(
        hr.ScorecardClassifier(schema=FREE, C=100, monotone={"stage": "decreasing"}).fit(*rows()).scorecard_, "dose", 4
    )
    assert directions(SCHEMA, clf.monotone) == {"stage": "decreasing"}


def test_more_than_two_classes_have_no_direction():
    schema = hr.Schema(SCHEMA.attributes, hr.Label("ill", ("a", "b", "c")))
    budget = Budget(1)
    with pytest.raises(ValueError, match="label with two classes, got 3"):
        hr.PrivateScorecardClassifier(1.0, schema=schema, budget=budget).fit(*rows())
    assert budget.spent == 0


@pytest.mark.parametrize("kind", TREES)
def test_models_that_do_not_keep_it_are_refused_before_any_charge(kind):
    clf, budget = TREES[kind], Budget(1)
    given = clf.get_params() | {"schema": SCHEMA} | ({"budget": budget} if "budget" in clf.get_params() else {})
    clf = type(clf)(**given)
    X, y = rows()
    tally = hr.Tally.count(X, y, SCHEMA)
    void = hr.Tally.count(X, y, hr.Schema(SCHEMA.attributes, LABEL, no_guarantee="made up"))
    fits = (lambda: clf.fit(*rows()), lambda: clf.fit_tally(tally), lambda: clf.fit_tally(void), clf.check_public)
    for fit in fits:
        with pytest.raises(SchemaError, match=r"attribute 'stage': is declared as monotone"):
            fit()
    assert budget.spent == 0
    assert not hasattr(clf, "privacy_")


def test_forecasts_are_of_models_that_keep_it():
    forecast = hr.plan(SCHEMA, 5000, 1)
    assert not forecast.draws
    assert "trees and rule lists do not support the monotone attributes" in str(forecast)
    assert "Fit a scorecard" in forecast.recommendation
    curve = hr.plan(SCHEMA, 200, 1, public=rows(), runs=1).curve
    assert curve.models == ("scorecard",)


def test_bins_of_models_of_marginals_declare_none():
    X, y = rows()
    source = X[["dose", "sex"]]
    bins = choose_bins(source, 3)
    dose = hr.Real(0, 1, (0.5,), missing="bin", outside="clip", monotone="increasing")
    declared = hr.Schema({"dose": dose, "sex": bins["sex"]})
    oracle = hr.Oracle(source, y, Budget(1), 1, classes=("no", "yes"))
    with pytest.raises(SchemaError, match=r"'dose': .*`monotone`"):
        hr.MarginalLogisticClassifier(bins=declared).fit(source, oracle=oracle)
    assert oracle.queries_left == 1
