"""Groups of leaves that a reader is shown together, so that a model of any size fits a page."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from hedgerow.models.count_noise import CountNoise
from hedgerow.models.support import Support

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


class ReleasedRows:
    """The released rows of all leaves of a model, None for a leaf without them, and the sums of neighbouring leaves."""

    def __init__(self, rows: Sequence[int | None], numbers: Sequence[int], noise: CountNoise | None) -> None:
        self.noise = noise
        self._n_leaves = len(rows)
        self._rows = _sums([number or 0 for number in rows])
        self._numbers = _sums(numbers)
        self._unknown = _sums([number is None for number in rows])
        few = [noise is not None and r is not None and r <= noise.spread(n) for r, n in zip(rows, numbers, strict=True)]
        self._supported = _sums([not one for one in few])

    def support(self, first: int, stop: int) -> Support:
        """Return the rows of neighbouring leaves together, without a share."""
        if _between(self._unknown, first, stop):
            return Support()
        return Support(_between(self._rows, first, stop), _between(self._numbers, first, stop), self.noise)

    def may_fold(self, first: int, stop: int) -> bool:
        """Return whether there may be no rows in any of these leaves, nor in all of them, but are in the model."""
        return self._are_too_few(first, stop) and not self._is_nothing_known

    def _are_too_few(self, first: int, stop: int) -> bool:
        return not _between(self._supported, first, stop) and self.support(first, stop).is_too_few

    @cached_property
    def _is_nothing_known(self) -> bool:
        return self._are_too_few(0, self._n_leaves)


def _sums(numbers: Sequence[int]) -> list[int]:
    return list(accumulate(numbers, initial=0))


def _between(sums: Sequence[int], first: int, stop: int) -> int:
    return sums[stop] - sums[first]


def list_groups(n_rules: int, rows: ReleasedRows, most: int | None) -> list[LeafGroup]:
    """Return the groups of a rule list: runs of rules that may have no rows, and what is too much for so many lines.

    The default rule is never folded.
    """
    groups = list[LeafGroup]()
    for place in range(n_rules - 1):
        first = groups[-1].first if groups else place
        if groups and rows.may_fold(first, place + 1):
            groups[-1] = LeafGroup(first, place + 1, is_unsupported=True)
        else:
            groups.append(LeafGroup(place, place + 1))
    if most is not None and len(groups) >= most:
        first = groups[most - 2].first
        groups[most - 2 :] = [LeafGroup(first, n_rules - 1, rows.may_fold(first, n_rules - 1))]
    return [*groups, LeafGroup(n_rules - 1, n_rules)]
