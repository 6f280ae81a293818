"""What is released: models a person reads, with their exports. No learning code."""

from hedgerow.models.rule_list import Rule, RuleList

__all__ = ["Rule", "RuleList"]
