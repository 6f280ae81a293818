"""Groups of leaves that are displayed together, so that models of any size fit a page."""

from typing import NamedTuple

from hedgerow.models.leaf import Leaf, Split, TreeNode
from hedgerow.models.leaf_release import LeafRelease

MOST_LINES = 60
"""The number of printed lines for the leaves or rules of a model: about a page."""
MOST_BOXES = 12
"""The number of leaves in the plot of a tree, whose text is legible on a page in landscape format."""
MOST_BARS = 20
"""The number of rules in a plot."""


class LeafGroup(NamedTuple):
    """Neighbouring leaves that share a line, a box or a bar: leaf `first` up to, but not including, leaf `stop`."""

    first: int
    stop: int
    is_unsupported: bool = False  # True if folded because these leaves may have no rows; otherwise folded to save space

    @property
    def size(self) -> int:
        """The number of leaves. A group of a single leaf is not folded."""
        return self.stop - self.first


def list_groups(n_rules: int, release: LeafRelease, most: int | None) -> list[LeafGroup]:
    """Return at most `most` groups of a rule list; runs of rules that may have no rows are folded first.

    The default rule is never folded.
    """
    groups = list[LeafGroup]()
    for place in range(n_rules - 1):
        first = groups[-1].first if groups else place
        if groups and release.may_fold(first, place + 1):
            groups[-1] = LeafGroup(first, place + 1, is_unsupported=True)
        else:
            groups.append(LeafGroup(place, place + 1))
    if most is not None and len(groups) >= most:
        first = groups[most - 2].first
        groups[most - 2 :] = [LeafGroup(first, n_rules - 1, release.may_fold(first, n_rules - 1))]
    return [*groups, LeafGroup(n_rules - 1, n_rules)]


ShownNode = Split[LeafGroup] | LeafGroup
"""The displayed splits of a tree, with groups of leaves below them."""


def tree_outline(root: TreeNode, release: LeafRelease, most_splits: int | None) -> ShownNode:
    """Return the displayed part of a tree, or the whole tree if `most_splits` is None.

    A subtree that may have no rows folds into one group. If more than `most_splits` splits remain, the deepest are
    folded. At the same depth, splits with the fewest released rows are folded first; without released rows, splits with
    the fewest leaves.
    """
    sizes = dict[int, int]()
    n_leaves = _measure(root, sizes)
    shown = None if most_splits is None else _shown_splits(root, n_leaves, release, most_splits, sizes)

    def walk(node: TreeNode, first: int) -> ShownNode:
        stop = first + sizes.get(id(node), 1)
        if isinstance(node, Leaf) or (shown is not None and (first, stop) not in shown):
            return LeafGroup(first, stop, stop - first > 1 and release.may_fold(first, stop))
        true = walk(node.true, first)
        return Split(node.literal, true, walk(node.false, first + sizes.get(id(node.true), 1)))

    return walk(root, 0)


def _measure(node: TreeNode, sizes: dict[int, int]) -> int:
    """Return the number of leaves below a node, and store it for each split by its identity."""
    if isinstance(node, Leaf):
        return 1
    sizes[id(node)] = _measure(node.true, sizes) + _measure(node.false, sizes)
    return sizes[id(node)]


def _shown_splits(
    root: TreeNode, n_leaves: int, release: LeafRelease, most: int, sizes: dict[int, int]
) -> set[tuple[int, int]]:
    """Return the leaf range of each displayed split, chosen level by level in descending order of rows."""

    def order(node: tuple[int, int, TreeNode]) -> tuple[int, int, int]:
        size, first, _ = node
        return -(release.support(first, first + size).rows or 0), -size, first

    shown = set[tuple[int, int]]()
    level = [(n_leaves, 0, root)]
    while level:
        below: list[tuple[int, int, TreeNode]] = []
        for size, first, node in sorted(level, key=order):
            if isinstance(node, Leaf) or release.may_fold(first, first + size):
                continue
            if len(shown) == most:
                return shown
            shown.add((first, first + size))
            n_true = sizes.get(id(node.true), 1)
            below += [(n_true, first, node.true), (size - n_true, first + n_true, node.false)]
        level = below
    return shown


def groups_of(outline: ShownNode) -> list[LeafGroup]:
    """Return the groups of an outline, in the order of the leaves."""
    if isinstance(outline, LeafGroup):
        return [outline]
    return groups_of(outline.true) + groups_of(outline.false)
