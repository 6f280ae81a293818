"""Estimators that learn rule lists, trees and scorecards from a tally, with and without differential privacy."""

from hedgerow.learn.optimal import OptimalRuleListClassifier, OptimalTreeClassifier
from hedgerow.learn.rule_lists import GreedyRuleListClassifier, PrivateRuleListClassifier
from hedgerow.learn.scorecards import PrivateScorecardClassifier, ScorecardClassifier
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.ssrl.classifier import DPGreedyRLClassifier
from hedgerow.learn.trees import PrivateTreeClassifier

__all__ = [
    "Cost",
    "DPGreedyRLClassifier",
    "GreedyRuleListClassifier",
    "OptimalRuleListClassifier",
    "OptimalTreeClassifier",
    "PrivateRuleListClassifier",
    "PrivateScorecardClassifier",
    "PrivateTreeClassifier",
    "ScorecardClassifier",
]
