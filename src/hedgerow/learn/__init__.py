"""Learners: from a tally, through the budget, to a released model."""

from hedgerow.learn.greedy_lists import GreedyRuleListClassifier
from hedgerow.learn.optimal import OptimalRuleListClassifier, OptimalTreeClassifier
from hedgerow.learn.rule_lists import PrivateRuleListClassifier
from hedgerow.learn.trees import PrivateTreeClassifier

__all__ = [
    "GreedyRuleListClassifier",
    "OptimalRuleListClassifier",
    "OptimalTreeClassifier",
    "PrivateRuleListClassifier",
    "PrivateTreeClassifier",
]
