"""Counts of rows in the leaves of a PMML tree, which exporters write as rows or as shares of rows."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from hedgerow.models.readers.documents import Element

_WHOLE_TO = Fraction(1, 10**6)  # by which a number of rows that a share gives may be off a whole number
_MOST = 10**18


def leaf_counts(nodes: Sequence[Element], spelled: Callable[[str, Element], str]) -> Mapping[Element, dict[str, int]]:
    """Return the rows of each class in each leaf; empty if the document does not say rows, or not of which.

    ``ScoreDistribution@recordCount`` is the number of rows by the specification. Nyoka writes shares there, with the
    rows in ``Node@recordCount``; sklearn2pmml writes shares, with 1 in ``Node@recordCount``.
    """
    given = {node: _distribution(node, spelled) for node in nodes}
    leaves = {node: rows for node, rows in given.items() if rows and not node.all("Node")}
    if any(count < 0 or count > _MOST for rows in given.values() for count in rows.values()):
        return {}
    has_shares = any(count.denominator != 1 for rows in given.values() for count in rows.values())
    has_shares = has_shares or any(_size(node) not in (None, sum(rows.values())) for node, rows in leaves.items())
    found = {node: _as_rows(rows, _size(node) if has_shares else Fraction(1)) for node, rows in leaves.items()}
    read = {node: rows for node, rows in found.items() if rows is not None}
    if len(read) < len(leaves) or _may_be_shares(read) or not _is_consistent(nodes, read):
        return {}
    return read


def _may_be_shares(leaves: Mapping[Element, Mapping[str, int]]) -> bool:
    """Return whether all leaves have 1, which can be one row or all rows, or all have 100, without a number of rows."""
    sums = {sum(rows.values()) for rows in leaves.values()}
    return sums <= {1} or (sums == {100} and not any("recordCount" in node.given for node in leaves))


def _is_consistent(nodes: Sequence[Element], leaves: Mapping[Element, Mapping[str, int]]) -> bool:
    """Return whether the leaves below each node have as many rows as the node, if it states a number."""
    sums = {node: sum(rows.values()) for node, rows in leaves.items()}
    for node in reversed(nodes):  # children come after their parents
        children = node.all("Node")
        if children and all(child in sums for child in children):
            sums[node] = sum(sums[child] for child in children)
            if _size(node) not in (None, sums[node]):
                return False
    return True


def _distribution(node: Element, spelled: Callable[[str, Element], str]) -> dict[str, Fraction]:
    found = dict[str, Fraction]()
    if not all("recordCount" in one.given for one in node.all("ScoreDistribution")):
        return found  # shares alone
    for one in node.all("ScoreDistribution"):
        value = spelled(one.need("value"), one)
        if value in found:
            one.refuse("expected one ScoreDistribution for each class, got a second")
        found[value] = Fraction(one.need("recordCount"))
    return found


def _size(node: Element) -> Fraction | None:
    return Fraction(node.given["recordCount"]) if "recordCount" in node.given else None


def _as_rows(counts: Mapping[str, Fraction], times: Fraction | None) -> dict[str, int] | None:
    """Return counts times a number as whole numbers; None if they are not whole, or are no shares of the number."""
    if times is None:
        return None
    rows = {value: count * times for value, count in counts.items()}
    is_sum = times == 1 or (times > 0 and abs(sum(counts.values()) - 1) <= _WHOLE_TO)
    whole = {value: round(count) for value, count in rows.items()}
    is_whole = all(abs(rows[value] - count) <= _WHOLE_TO for value, count in whole.items())
    return whole if is_whole and is_sum else None
