"""Outlines of trees: as many tests as fit a page, and below them groups of leaves."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hedgerow.models.leaf import Leaf
from hedgerow.models.leaf_groups import LeafGroup, ReleasedRows
from hedgerow.schema import Literal

if TYPE_CHECKING:
    from hedgerow.models.tree import Node


@dataclass(frozen=True)
class OutlineSplit:
    """A test that is shown, and what is shown of its branches."""

    literal: Literal
    true: "Outline"
    false: "Outline"


Outline = OutlineSplit | LeafGroup


def tree_outline(root: "Node", rows: ReleasedRows, most_splits: int | None) -> Outline:
    """Return what a page shows of a tree, or all of it if `most_splits` is None.

    A subtree folds into one group if it may have no rows. If more splits remain, the deepest are left out, and
    of those at one depth the ones of fewest released rows; without released rows, of fewest leaves.
    """
    sizes = dict[int, int]()
    n_leaves = _measure(root, sizes)
    shown = None if most_splits is None else _shown_splits(root, n_leaves, rows, most_splits, sizes)

    def walk(node: "Node", first: int) -> Outline:
        stop = first + sizes.get(id(node), 1)
        if isinstance(node, Leaf) or (shown is not None and (first, stop) not in shown):
            return LeafGroup(first, stop, stop - first > 1 and rows.may_fold(first, stop))
        true = walk(node.true, first)
        return OutlineSplit(node.literal, true, walk(node.false, first + sizes.get(id(node.true), 1)))

    return walk(root, 0)


def _measure(node: "Node", sizes: dict[int, int]) -> int:
    """Return the leaves below a node, and keep those of each split by its identity."""
    if isinstance(node, Leaf):
        return 1
    sizes[id(node)] = _measure(node.true, sizes) + _measure(node.false, sizes)
    return sizes[id(node)]


def _shown_splits(
    root: "Node", n_leaves: int, rows: ReleasedRows, most: int, sizes: dict[int, int]
) -> set[tuple[int, int]]:
    """Return the first and last leaf of each split that is shown: level by level, those of most rows first."""

    def order(one: tuple[int, int, "Node"]) -> tuple[int, int, int]:
        size, first, _ = one
        return -(rows.support(first, first + size).rows or 0), -size, first

    shown = set[tuple[int, int]]()
    level = [(n_leaves, 0, root)]
    while level:
        below: list[tuple[int, int, Node]] = []
        for size, first, node in sorted(level, key=order):
            if isinstance(node, Leaf) or rows.may_fold(first, first + size):
                continue
            if len(shown) == most:
                return shown
            shown.add((first, first + size))
            n_true = sizes.get(id(node.true), 1)
            below += [(n_true, first, node.true), (size - n_true, first + n_true, node.false)]
        level = below
    return shown


def groups_of(outline: Outline) -> list[LeafGroup]:
    """Return the groups of an outline, in the order of the leaves."""
    if isinstance(outline, LeafGroup):
        return [outline]
    return groups_of(outline.true) + groups_of(outline.false)
