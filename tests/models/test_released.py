import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.tree import DecisionTreeClassifier

import hedgerow as hr
from hedgerow.learn.rule_lists import GreedyRuleListClassifier
from hedgerow.models import AttributePoints, Leaf, Rule, RuleList, Scorecard, Tree
from hedgerow.models.released import leaf_model, released_leaf_model, released_model, released_models
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Schema

SCHEMA = Schema({"a": Boolean()}, Label("ill", (0, 1)))
CARD = PrivacyCard.none("an example", software="hedgerow")
RULES, TREE = RuleList(SCHEMA, (Rule((), (3, 4)),), CARD), Tree(SCHEMA, Leaf((3, 4)), CARD)


POINTS = Scorecard(SCHEMA, (-1,), (AttributePoints("a", ((0,), (2,))),), 1.0, None, CARD)


class Adds(BaseEstimator):
    """An estimator whose model is a scorecard."""

    def fit(self, X, y):  # noqa: ARG002 -- it is fitted to nothing
        self.scorecard_, self.classes_ = POINTS, np.array([0, 1])
        return self

    def predict(self, X):
        return self.scorecard_.predict(X)


class Both:
    """An estimator with two models."""

    def __init__(self) -> None:
        vars(self)["tree_"], vars(self)["rule_list_"] = TREE, RULES


class Property:
    """A hypothesis whose class has code to run."""

    @property
    def rule_list_(self) -> RuleList:
        raise AssertionError("code of a hypothesis was run")


def test_a_model_is_its_own():
    assert released_models(RULES) == (RULES,)
    assert released_model(TREE) is TREE


def test_an_estimator_has_its_models_once_it_is_fitted():
    X, y = pd.DataFrame({"a": [False, True]}), pd.Series([False, True], name="ill")
    learner = GreedyRuleListClassifier()
    assert released_model(learner) is None
    assert released_model(learner.fit(X, y)) is learner.rule_list_


def test_all_models_of_an_object_count():
    assert released_models(Both()) == (RULES, TREE)


def test_no_code_of_the_object_is_run():
    assert released_models(Property()) == ()


def test_other_trees_are_none():
    assert released_models(DecisionTreeClassifier().fit([[0], [1]], [0, 1])) == ()
    assert released_model(None) is None


def test_a_scorecard_is_a_model_without_leaves():
    estimator = Adds().fit(None, None)
    assert released_models(estimator) == (POINTS,)
    assert released_leaf_model(RULES) is leaf_model(RULES) is RULES
    assert released_leaf_model(DecisionTreeClassifier()) is None
    for refuse in (lambda: leaf_model(POINTS), lambda: released_leaf_model(estimator)):
        with pytest.raises(TypeError, match="leaves, got a scorecard"):
            refuse()


def test_membership_inference_takes_the_estimator_of_a_scorecard():
    X = pd.DataFrame({"a": [False, True] * 40})
    result = hr.audit.membership(Adds(), X, np.array([0, 1] * 40), repeats=2, random_state=0)
    assert 0.3 < result.auc < 0.7  # it is fitted to nothing, and remembers nothing
