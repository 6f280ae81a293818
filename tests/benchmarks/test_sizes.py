"""Sizes of models that were made by hand, counted by hand."""

from __future__ import annotations

import importlib.util
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Split, Tree
from hedgerow.privacy import PrivacyCard
from hedgerow.schema import Boolean, Categorical, Integer, Label, Literal, Schema
from tests.docs.page import ROOT

spec = importlib.util.spec_from_file_location("sizes", ROOT / "benchmarks" / "sizes.py")
assert spec is not None
assert spec.loader is not None
sizes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sizes)

ILL = Label("ill", ("no", "yes"))
SCHEMA = Schema({"age": Integer(17, 90, cuts=(20, 30, 45, 60)), "smoker": Boolean()}, ILL)
CARD = PrivacyCard.none("example", software="hedgerow")
YES, NO = Leaf(label="yes"), Leaf(label="no")


def rows(**numbers):
    """Return rows of young smokers, of others that are young, and of the old."""
    counts = {(25, True): numbers["smokers"], (25, False): numbers["young"], (70, False): numbers["old"]}
    held = [row for row, count in counts.items() for _ in range(count)]
    return pd.DataFrame(held, columns=["age", "smoker"])


def test_a_leaf_of_fewer_than_one_percent_of_the_rows_has_no_support():
    tree = Tree(SCHEMA, Split(Literal("age", "<=", (30,)), Split(Literal("smoker", "true"), YES, NO), NO), CARD)
    result = sizes.of_model(tree, rows(smokers=9, young=10, old=981))
    assert result == {
        "leaves": 3,
        "supported leaves": 2,
        "share of small leaves": pytest.approx(1 / 3),
        "tests a row passes": pytest.approx((9 * 2 + 10 * 2 + 981) / 1000),
    }


def test_a_tree_without_tests_has_one_leaf():
    result = sizes.of_model(Tree(SCHEMA, NO, CARD), rows(smokers=1, young=1, old=1))
    assert list(result.values()) == [1, 1, 0.0, 0.0]


def test_a_row_passes_the_literals_of_all_rules_up_to_its_own():
    antecedents = (Literal("age", "<=", (30,)), Literal("smoker", "true")), (Literal("age", "<=", (30,)),), ()
    rule_list = RuleList(SCHEMA, tuple(map(Rule.of, antecedents, (YES, NO, NO))), CARD)
    result = sizes.of_model(rule_list, rows(smokers=50, young=50, old=100))
    assert list(result.values()) == [3, 3, 0.0, pytest.approx((50 * 2 + 50 * 3 + 100 * 3) / 200)]


def test_sizes_of_a_scikit_learn_tree_are_counted_in_the_same_way():
    X = np.array([[0, 0]] * 40 + [[0, 1]] * 40 + [[1, 0]] * 20)
    y = np.array([0] * 40 + [1] * 40 + [2] * 20)
    cart = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(X, y)
    result = sizes.of_cart(cart, X)
    assert list(result.values()) == [3, 3, 0.0, pytest.approx((40 * 1 + 60 * 2) / 100)]
    assert sizes.of_cart(cart, X[:40])["supported leaves"] == 1


def test_a_leaf_that_no_row_reaches_is_counted():
    X = np.array([[0.0], [1.0]] * 50)
    cart = DecisionTreeClassifier(random_state=0).fit(X, X[:, 0])
    result = sizes.of_cart(cart, X[::2])
    assert (result["leaves"], result["supported leaves"], result["share of small leaves"]) == (2, 1, 0.5)


def card(age, smoker=((0,), (1,)), label=ILL):
    schema = Schema({"age": Integer(17, 90, cuts=(20, 30, 45, 60)), "smoker": Categorical(("no", "yes"))}, label)
    width = len(age[0])
    parts = (
        (AttributePoints("age", age), AttributePoints("smoker", smoker)) if smoker else (AttributePoints("age", age),)
    )
    return Scorecard(schema, (0,) * width, parts, 0.1, None, CARD)


@pytest.mark.parametrize(
    ("age", "bins", "turns"),
    [
        ((1, 1, 1, 1, 1), 1, 0),
        ((1, 2, 3, 4, 5), 5, 0),
        ((1, 2, 2, 2, 1), 3, 1),
        ((0, 3, 1, 4, 2), 5, 3),
        ((5, 5, 2, 2, 7), 3, 1),
    ],
)
def test_equal_neighbouring_bins_merge_and_turns_are_changes_of_direction(age, bins, turns):
    result = sizes.of_card(card(tuple((item,) for item in age)))
    assert result == {"attributes": 2, "bins of a number": bins, "turns": turns, "largest points": max(age)}


def test_turns_of_several_classes_are_means_over_these():
    three = Label("ill", ("no", "somewhat", "yes"))
    age = ((0, 1, 0), (1, 1, 0), (0, 1, 0), (1, -9, 0), (0, 1, 0))
    result = sizes.of_card(card(age, smoker=None, label=three))
    assert list(result.values()) == [1, 5, pytest.approx((3 + 1 + 0) / 3), 9]


def test_a_card_without_numbers_has_neither_bins_of_a_number_nor_turns():
    schema = Schema({"smoker": Boolean()}, ILL)
    item = Scorecard(schema, (0,), (AttributePoints("smoker", ((0,), (4,))),), 0.1, None, CARD)
    result = list(sizes.of_card(item).values())
    assert result[0] == 1
    assert all(map(math.isnan, result[1:3]))
    assert result[3] == 4
