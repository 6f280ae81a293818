"""Decisions by what errors cost, held against a sum over all classes that is too slow and simple to be wrong."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

import hedgerow as hr
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.models import Leaf, Rule, RuleList, Split, Tree
from hedgerow.models.decisions import cost_matrix, decisions
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Integer, Label, Literal, Schema
from tests.models.scorecards import THREE, TWO

CLASSES = ("a", "b", "c")
NONE = PrivacyCard.none("example", software="hedgerow")
SCHEMA = Schema({"age": Integer(17, 90, cuts=(30,)), "smoker": Boolean()}, Label("ill", ("no", "yes")))
YOUNG = Literal("age", "<=", (30,))
LIST = RuleList(SCHEMA, (Rule((YOUNG,), (90, 10)), Rule((), (60, 40))), NONE)
ROWS = pd.DataFrame({"age": [20, 80], "smoker": [True, False]})


def slow(shares, predicted, costs):
    """Return the class of the least expected cost in exact arithmetic; of equals the predicted one, else the first."""
    expected = [sum(share * costs[i][j] for i, share in enumerate(shares)) for j in range(len(shares))]
    return predicted if expected[predicted] == min(expected) else expected.index(min(expected))


counts = st.lists(st.integers(0, 6), min_size=3, max_size=3).filter(any)
matrices = st.lists(st.lists(st.integers(-2, 9), min_size=3, max_size=3), min_size=3, max_size=3)


@given(st.lists(st.tuples(counts, st.integers(0, 2)), min_size=1, max_size=5), matrices)
def test_the_class_of_the_least_expected_cost_is_decided(rows, costs):
    shares = [[Fraction(count, sum(row)) for count in row] for row, _ in rows]
    predicted = [place for _, place in rows]
    result = decisions(np.array(shares, dtype=float), np.array(predicted), np.array(costs, dtype=float))
    assert result.tolist() == [slow(*both, costs) for both in zip(shares, predicted, strict=True)]


def test_no_rows_are_no_decisions():
    assert decisions(np.zeros((0, 3)), np.zeros(0, dtype=int), np.ones((3, 3))).tolist() == []


def test_large_costs_do_not_hide_small_ones():
    shares, costs = np.array([[1 - 1e-15, 1e-15]]), np.array([[0, 1.0], [1e13, 0]])
    assert decisions(shares, np.array([1]), costs).tolist() == [0]


def test_weights_are_the_cost_of_any_error_about_a_class():
    result = cost_matrix(CLASSES, class_weight={"b": 5}, costs=None)
    assert result.tolist() == [[0, 1, 1], [5, 0, 5], [1, 1, 0]]
    given_ = {"a": {"b": 1, "c": 2}, "b": {"a": 3, "c": 4}, "c": {"a": 5, "b": 6, "c": -1}}
    assert cost_matrix(CLASSES, class_weight=None, costs=given_).tolist() == [[0, 1, 2], [3, 0, 4], [5, 6, -1]]


@pytest.mark.parametrize(
    ("given_", "error", "match"),
    [
        ({}, ArgumentError, "class_weight or costs, got neither"),
        ({"class_weight": {}, "costs": {}}, ArgumentError, "got both"),
        ({"class_weight": "balanced"}, ArgumentTypeError, "class_weight must be a mapping from classes, got str"),
        ({"class_weight": {"d": 1}}, ArgumentError, "class_weight: expected classes among a, b, c, got 'd'"),
        ({"class_weight": {"a": 0}}, ArgumentError, "finite number > 0, got 0"),
        ({"class_weight": {"a": True}}, ArgumentError, "finite number > 0"),
        ({"class_weight": {"a": float("inf")}}, ArgumentError, "finite number > 0"),
        ({"costs": {"a": 3}}, ArgumentTypeError, "costs of a must be a mapping from classes, got int"),
        ({"costs": {"a": {"b": "x"}}}, ArgumentError, "costs must be finite numbers, got 'x'"),
        ({"costs": {"a": {"b": 1, "c": 1}}}, ArgumentError, "rows of class b decided as a have no cost"),
    ],
)
def test_costs_that_are_none_are_refused(given_, error, match):
    with pytest.raises(error, match=match):
        cost_matrix(CLASSES, **{"class_weight": None, "costs": None} | given_)


def test_a_model_decides_by_its_released_probabilities():
    assert LIST.predict(ROWS).tolist() == ["no", "no"]
    assert LIST.decide(ROWS, class_weight={"yes": 2}).tolist() == ["no", "yes"]
    assert LIST.decide(ROWS, costs={"yes": {"no": 10}, "no": {"yes": 1}}).tolist() == ["yes", "yes"]
    assert LIST.decide(ROWS.iloc[:0], class_weight={"yes": 2}).tolist() == []


@pytest.mark.parametrize("model", [TWO, THREE], ids=["two", "three"])
def test_equal_costs_decide_as_predict_does(model):
    rng = np.random.default_rng(0)
    names = rng.choice(["surgery", "day clinic"], 200)
    rows = pd.DataFrame({"age": rng.integers(17, 91, 200), "ward": names, "dose": rng.random(200)})
    rows["smoker"] = rng.random(200) < 0.5
    equal = dict.fromkeys(model.schema.classes, 3)
    assert model.decide(rows, class_weight=equal).tolist() == model.predict(rows).tolist()
    first = model.schema.classes[0]
    assert set(model.decide(rows, class_weight={first: 1e9})) == {first}


def test_decisions_follow_shares_if_the_label_contradicts_the_counts():
    tree = Tree(SCHEMA, Split(YOUNG, Leaf((60, 40), "yes"), Leaf((3, 1))), NONE)
    assert tree.predict_proba(ROWS).tolist() == [[0.6, 0.4], [0.75, 0.25]]
    assert tree.predict(ROWS).tolist() == ["yes", "no"]
    assert tree.decide(ROWS, class_weight={"no": 1}).tolist() == ["no", "no"]


def test_labels_alone_are_refused_since_no_cost_can_change_them():
    labels = Tree(SCHEMA, Split(YOUNG, Leaf(label="no"), Leaf(label="yes")), NONE)
    with pytest.raises(ArgumentTypeError, match="labels only"):
        labels.decide(ROWS, class_weight={"yes": 2})


@pytest.mark.parametrize(
    "learner",
    [
        hr.PrivateTreeClassifier(1, max_depth=1),
        hr.PrivateRuleListClassifier(1, max_rules=2),
        hr.OptimalTreeClassifier(max_depth=1),
        hr.OptimalRuleListClassifier(max_rules=2),
    ],
)
def test_a_model_file_has_the_costs_that_the_fit_minimised(learner):
    data = hr.datasets.load("breast_cancer")
    first, second = data.schema.classes
    for given_, table in (
        ({}, None),
        ({"class_weight": {second: 5}}, ((0.0, 1.0), (5.0, 0.0))),
        ({"costs": {first: {second: 2}, second: {first: 7}}}, ((0.0, 2.0), (7.0, 0.0))),
    ):
        fitted = clone(learner).set_params(schema=data.schema, **given_).fit(data.frame, data.labels)
        model = fitted.tree_ if hasattr(fitted, "tree_") else fitted.rule_list_
        assert model.costs == table
        assert type(model).from_json(model.to_json()) == model
        assert ("costs" in model.to_dict()) == (table is not None)


@pytest.mark.parametrize("costs", [((0.0, 1.0),), ((0, 1), (True, 0)), ((0, 1), (float("inf"), 0)), 3, "costs"])
def test_costs_of_a_model_that_do_not_fit_are_refused(costs):
    schema = hr.Schema({"a": hr.Boolean()}, hr.Label("y", ("no", "yes")))
    with pytest.raises(ValueError, match=r"costs .*2 lists of 2"):
        Tree(schema, Leaf(label="no"), PrivacyCard.none("example", software="hedgerow"), costs)
    number = hr.Schema({"a": hr.Boolean()}, hr.Number("y", 0, 1))
    with pytest.raises(ValueError, match="but the label is a number"):
        Tree(number, Leaf(label=number.target.values[0]), PrivacyCard.none("example", software="hedgerow"), costs)
