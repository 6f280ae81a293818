"""Which splits of a tree are shown, by hand."""

from hedgerow.models import Leaf, Split
from hedgerow.models.count_noise import CountNoise
from hedgerow.models.leaf_groups import LeafGroup, ReleasedRows
from hedgerow.models.tree_outline import OutlineSplit, groups_of, tree_outline
from hedgerow.schema import Literal

LEAF = Leaf(label="no")


def split(name: str, true: Split | Leaf, false: Split | Leaf) -> Split:
    return Split(Literal(name, "true"), true, false)


def outline(root: Split | Leaf, most: int | None, rows: list[int] | None = None) -> list[LeafGroup]:
    n_leaves = len(groups_of(tree_outline(root, ReleasedRows([None] * 9, [0] * 9, None), None)))
    released = ReleasedRows(rows or [None] * n_leaves, [1] * n_leaves, CountNoise(5.0) if rows else None)
    return groups_of(tree_outline(root, released, most))


SMALL, LARGE = split("b", LEAF, LEAF), split("c", split("d", LEAF, LEAF), LEAF)
ROOT = split("a", SMALL, LARGE)


def test_the_deepest_splits_are_left_out_first_and_of_one_depth_the_smallest() -> None:
    assert [group[:2] for group in outline(ROOT, None)] == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    assert [group[:2] for group in outline(ROOT, 3)] == [(0, 1), (1, 2), (2, 4), (4, 5)]
    assert [group[:2] for group in outline(ROOT, 2)] == [(0, 2), (2, 4), (4, 5)]
    assert [group[:2] for group in outline(ROOT, 1)] == [(0, 2), (2, 5)]
    assert not any(group.is_unsupported for group in outline(ROOT, 1))
    assert outline(LEAF, 1) == [LeafGroup(0, 1)]


def test_a_subtree_folds_if_none_of_its_leaves_nor_all_of_them_have_rows_by_the_noise() -> None:
    """Noise of scale 5 is at most 15 at 95 %, and the sum of two at most 21."""
    assert (CountNoise(5.0).spread(1), CountNoise(5.0).spread(2)) == (15, 21)
    assert outline(ROOT, 30, [12, 9, 90, 0, 0])[0] == LeafGroup(0, 2, is_unsupported=True)
    assert outline(ROOT, 30, [12, 10, 90, 0, 0])[0] == LeafGroup(0, 1)  # 22 together
    assert outline(ROOT, 30, [-90, 16, 90, 0, 0])[0] == LeafGroup(0, 1)  # one leaf has rows
    assert outline(ROOT, None, [12, 9, 90, 0, 0])[0] == LeafGroup(0, 1)  # all is shown
    assert len(outline(ROOT, 30, [0, 0, 0, 0, 0])) == 5  # nothing is known of any leaf: all are shown


def test_a_subtree_that_stands_twice_in_a_tree_is_shown_twice() -> None:
    found = tree_outline(split("a", SMALL, SMALL), ReleasedRows([None] * 4, [0] * 4, None), 3)
    assert isinstance(found, OutlineSplit)
    assert [group[:2] for group in groups_of(found)] == [(0, 1), (1, 2), (2, 3), (3, 4)]
