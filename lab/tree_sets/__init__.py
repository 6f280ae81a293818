"""Several private trees of one table, drawn for one epsilon, and what they disclose together."""

from lab.tree_sets.draw import differences, draw_trees
from lab.tree_sets.inference import inference_from_set

__all__ = ["differences", "draw_trees", "inference_from_set"]
