"""Exact counts of the rows of a box outside other boxes (PDR eq. 12), without inclusion-exclusion.

A row lies outside a box if one of its bins is *forbidden* there. An excluded box is therefore a clause, the set of its
forbidden bins. The rows with a bin in every clause are counted, which is weighted model counting with attributes as
variables. Boxes and clauses are single Python integers. Each attribute has a field with a bit for each bin and a flag
above these bits. A single addition therefore shows which fields are empty.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod

PerBin = tuple[tuple[int, ...], ...]
"""A whole number for each bin of each attribute, such as the number of values in the bin."""
BinMasks = tuple[int, ...]  # for each attribute, the mask of allowed bins
Clauses = frozenset[int]


class BoxCounter:
    """Counter of the rows of boxes outside other boxes in a domain; caches solved sub-problems."""

    def __init__(self, weights: PerBin, most: int) -> None:
        self._weights = weights
        self._bins = max(map(len, weights), default=0)
        self._width = self._bins + max(most.bit_length(), 1)  # flags can be added up
        self._packed: dict[BinMasks, int] = {}
        self._flags = self._pack((1 << self._bins,) * len(weights))
        self._full = self._bins_of(self._flags)
        self._values_of: dict[int, int] = {}
        self._solved: dict[tuple[int, Clauses], int] = {}

    def outside(self, box: BinMasks, others: Iterable[BinMasks]) -> int:
        """Count the rows of a box that lie in no other box."""
        packed = self._pack(box)
        if self._used(packed) != self._flags:
            return 0  # some attribute has no bin left
        clauses: set[int] = set()
        for other in map(self._pack, others):
            if not packed & ~other:
                return 0
            if self._used(packed & other) == self._flags:  # otherwise the boxes are disjoint
                clauses.add(packed & ~other)
        return self._narrow(packed, self._flags, {clause: self._used(clause) for clause in smallest(clauses)})

    def _pack(self, masks: BinMasks) -> int:
        if masks not in self._packed:
            self._packed[masks] = sum(mask << (i * self._width) for i, mask in enumerate(masks))
        return self._packed[masks]

    def _used(self, packed: int) -> int:
        return (packed + self._full) & self._flags

    def _bins_of(self, flags: int) -> int:
        return flags - (flags >> self._bins)

    def _narrow(self, box: int, active: int, supports: dict[int, int]) -> int:
        """Return the number of rows with a bin in every clause; `supports` has the flags of a clause's attributes."""
        while 0 not in supports:
            single = [(clause, flag) for clause, flag in supports.items() if not flag & (flag - 1)]
            if not single:
                return self._over_components(box, active, supports)
            for clause, flag in single:
                box &= clause | ~self._bins_of(flag)
            if self._used(box) != active:
                return 0
            # Every row satisfies a clause that contains all remaining bins of an attribute.
            left = {clause & box for clause in supports if self._used(box & ~clause) == active}
            supports = {clause: self._used(clause) for clause in left}
        return 0

    def _over_components(self, box: int, active: int, supports: dict[int, int]) -> int:
        """Return the product over components and over the attributes that no clause restricts."""
        groups = components(supports)
        rows = self._product(box, active & ~sum(groups))
        for attributes, clauses in groups.items():
            if not rows:
                return 0
            if len(clauses) == 1:
                rows *= self._product(box, attributes) - self._product(box & ~clauses[0], attributes)
                continue
            key = box & self._bins_of(attributes), frozenset(clauses)
            solved = self._solved.get(key)
            if solved is None:
                solved = self._branch(key[0], attributes, {clause: supports[clause] for clause in clauses})
                self._solved[key] = solved
            rows *= solved
        return rows

    def _branch(self, box: int, active: int, supports: dict[int, int]) -> int:
        """Return the sum over the bins of the most used attribute; bins that no clause distinguishes are merged."""
        flag = self._most_used(active, supports.values())
        field = self._bins_of(flag)
        groups = {box & field}
        for bins in {clause & field for clause in supports}:
            groups = {part for group in groups for part in (group & bins, group & ~bins) if part}
        rows = 0
        for group in groups:
            if values := self._product(group, flag):
                left = {c & ~field: support & ~flag for c, support in supports.items() if not c & group}
                rows += values * self._narrow(box & ~field, active & ~flag, left)
        return rows

    def _most_used(self, active: int, supports: Iterable[int]) -> int:
        """Return the flag of the attribute in most clauses; among ties the middle attribute, which halves a chain."""
        total, mask = sum(supports), (1 << (self._width - self._bins)) - 1
        uses = {flag: (total >> (flag.bit_length() - 1)) & mask for flag in bits(active)}
        most = max(uses.values())
        best = [flag for flag, times in uses.items() if times == most]
        return best[len(best) // 2]

    def _product(self, box: int, attributes: int) -> int:
        return prod(self._values(box & self._bins_of(flag)) for flag in bits(attributes))

    def _values(self, field: int) -> int:
        if not field:
            return 0
        if field not in self._values_of:
            index = (field.bit_length() - 1) // self._width
            mask = field >> (index * self._width)
            self._values_of[field] = sum(w for i, w in enumerate(self._weights[index]) if mask >> i & 1)
        return self._values_of[field]


def bits(flags: int) -> Iterator[int]:
    """Yield the bits that are set, lowest first."""
    while flags:
        yield flags & -flags
        flags &= flags - 1


def smallest(clauses: Collection[int]) -> Clauses:
    """Return the clauses that contain no other clause; rows that satisfy these satisfy all clauses."""
    by_lowest: dict[int, list[int]] = {}
    for clause in sorted(clauses, key=int.bit_count):
        if not any(other & ~clause == 0 for bit in bits(clause) for other in by_lowest.get(bit, ())):
            by_lowest.setdefault(clause & -clause, []).append(clause)
    return frozenset(clause for kept in by_lowest.values() for clause in kept)


def components(supports: Mapping[int, int]) -> dict[int, list[int]]:
    """Return the clauses by connected component; the keys are the flags of a component's attributes."""
    groups: dict[int, list[int]] = {}
    for clause, support in supports.items():
        joined, members = support, [clause]
        for other in [flags for flags in groups if flags & support]:
            members = groups.pop(other) + members
            joined |= other
        groups[joined] = members
    return groups
