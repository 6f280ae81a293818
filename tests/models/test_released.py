import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from hedgerow.learn.baseline import GreedyRuleListClassifier
from hedgerow.models import Leaf, Rule, RuleList, Tree
from hedgerow.models.released import released_model, released_models
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema import Boolean, Label, Schema

SCHEMA = Schema({"a": Boolean()}, Label("ill", (0, 1)))
CARD = PrivacyCard.none("an example", software="hedgerow")
RULES, TREE = RuleList(SCHEMA, (Rule((), (3, 4)),), CARD), Tree(SCHEMA, Leaf((3, 4)), CARD)


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
