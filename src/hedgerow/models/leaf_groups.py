"""Groups of leaves that a reader is shown together, so that a model of any size fits a page."""

from typing import NamedTuple

from hedgerow.models.leaf import Leaf, Split, TreeNode
from hedgerow.models.leaf_release import LeafRelease

MOST_LINES = 60
"""Lines of the leaves, or rules, of a model that are printed: about a page."""
MOST_BOXES = 12
"""Leaves of a tree that are drawn: their text is legible on a page in landscape."""
MOST_BARS = 20
"""Rules that are drawn."""


class LeafGroup(NamedTuple):
    """Neighbouring leaves that share a line, a box or a bar: leaf `first` up to, but without, leaf `stop`."""

    first: int
    stop: int
    is_unsupported: bool = False  # folded since there may be no rows in these leaves; otherwise, to save room

    @property
    def size(self) -> int:
        """The number of leaves. A group of one leaf is not folded."""
        return self.stop - self.first


def list_groups(n_rules: int, release: LeafRelease, most: int | None) -> list[LeafGroup]:
    """Return the groups of a rule list: runs of rules that may have no rows, and what is too much for so many lines.

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
"""The tests of a tree that are shown, and below them groups of leaves."""


def tree_outline(root: TreeNode, release: LeafRelease, most_splits: int | None) -> ShownNode:
    """Return what a page shows of a tree, or all of it if `most_splits` is None.

    A subtree folds into one group if it may have no rows. If more splits remain, the deepest are left out, and
    of those at one depth the ones of fewest released rows; without released rows, of fewest leaves.
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
    """Return the leaves below a node, and keep those of each split by its identity."""
    if isinstance(node, Leaf):
        return 1
    sizes[id(node)] = _measure(node.true, sizes) + _measure(node.false, sizes)
    return sizes[id(node)]


def _shown_splits(
    root: TreeNode, n_leaves: int, release: LeafRelease, most: int, sizes: dict[int, int]
) -> set[tuple[int, int]]:
    """Return the first and last leaf of each split that is shown: level by level, those of most rows first."""

    def order(one: tuple[int, int, TreeNode]) -> tuple[int, int, int]:
        size, first, _ = one
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
