"""Estimators that learn rule lists, trees and scorecards from a tally, with and without differential privacy."""

from hedgerow.learn.optimal import (
    OptimalRuleListClassifier,
    OptimalRuleListRegressor,
    OptimalTreeClassifier,
    OptimalTreeRegressor,
)
from hedgerow.learn.rule_lists import GreedyRuleListClassifier, PrivateRuleListClassifier, PrivateRuleListRegressor
from hedgerow.learn.scorecards import PrivateScorecardClassifier, PrivateScorecardRegressor, ScorecardClassifier
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.ssrl.classifier import DPGreedyRLClassifier
from hedgerow.learn.trees import PrivateTreeClassifier, PrivateTreeRegressor

__all__ = [
    "Cost",
    "DPGreedyRLClassifier",
    "GreedyRuleListClassifier",
    "OptimalRuleListClassifier",
    "OptimalRuleListRegressor",
    "OptimalTreeClassifier",
    "OptimalTreeRegressor",
    "PrivateRuleListClassifier",
    "PrivateRuleListRegressor",
    "PrivateScorecardClassifier",
    "PrivateScorecardRegressor",
    "PrivateTreeClassifier",
    "PrivateTreeRegressor",
    "ScorecardClassifier",
]
