"""Released models: rule lists, trees and scorecards, with their exports. No learning code."""

from hedgerow.models.caveats import Caveat
from hedgerow.models.files import load_model, read_model
from hedgerow.models.leaf import Leaf, Split
from hedgerow.models.point_scale import PointScale
from hedgerow.models.points import AttributePoints
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.models.tree import Tree

__all__ = ["AttributePoints", "Caveat", "Leaf", "PointScale", "Rule", "RuleList", "Scorecard", "Split", "Tree"]
__all__ += ["load_model", "read_model"]
