"""Released models: rule lists and trees with their exports. No learning code."""

from hedgerow.models.files import load_model
from hedgerow.models.leaf import Leaf
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.tree import Split, Tree

__all__ = ["Leaf", "Rule", "RuleList", "Split", "Tree", "load_model"]
