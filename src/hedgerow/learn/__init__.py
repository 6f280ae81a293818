"""Learners: from a tally, through the budget, to a released model."""

from hedgerow.learn.rule_lists import GreedyRuleListClassifier, PrivateRuleListClassifier

__all__ = ["GreedyRuleListClassifier", "PrivateRuleListClassifier"]
