"""Which search a private fit makes: everything jointly, in blocks, or greedily. Public numbers alone decide."""

from __future__ import annotations

from dataclasses import dataclass

from hedgerow.learn.blocks import CostOf, equal_blocks
from hedgerow.learn.search.cost import Cost, largest_size

SEARCHES = ("auto", "exact", "greedy")
_MOST_JOINTLY = 12


@dataclass(frozen=True)
class SearchPlan:
    """The search of a private fit."""

    blocks: tuple[int, ...] = ()  # how many rules, or levels, each exact draw may add; empty where the search is greedy
    draws_size: bool = False  # whether the size is drawn, too
    cost: Cost | None = None  # the cost of an exact search

    def describe(self, parts: str) -> str:
        """Return the search in words, of "rules" or of "levels"."""
        if not self.blocks:
            return "greedy: no exact search is within the limits and ten seconds"
        if len(self.blocks) == 1:
            return f"exact: up to {self.blocks[0]} {parts} jointly{', their number drawn too' * self.draws_size}"
        return f"exact: up to {sum(self.blocks)} {parts}, {self.blocks[0]} jointly at a time"


def choose_search(
    search: str, size: int | None, lookahead: int | None, largest: int, cost_of: CostOf, parts: str, advice: str
) -> SearchPlan:
    """Return the search of a fit."""
    if search == "greedy":
        return SearchPlan()
    if size is None:
        return _of_any_size(search, largest, cost_of, advice)
    if search == "auto" and lookahead is None:
        return _most_joint(size, cost_of)
    blocks = equal_blocks(size, lookahead)
    cost = cost_of(blocks, False)
    if not cost.is_sensible:
        fewer = _largest_lookahead(size, blocks[0] - 1, cost_of)
        cost.check(f"Draw fewer {parts} at a time (lookahead={fewer}). {advice}" if fewer else advice)
    return SearchPlan(blocks, cost=cost)


def _of_any_size(search: str, largest: int, cost_of: CostOf, advice: str) -> SearchPlan:
    size = largest_size(lambda most: cost_of((most,), True), largest)
    if largest and not size:
        if search == "auto":
            return SearchPlan()
        cost_of((1,), True).check(advice)
        size = 1
    return SearchPlan((size,), True, cost_of((size,), True))


def _most_joint(size: int, cost_of: CostOf) -> SearchPlan:
    for jointly in range(min(max(size, 1), _MOST_JOINTLY), 0, -1):
        blocks = equal_blocks(size, jointly)
        cost = cost_of(blocks, False)
        if cost.is_quick:
            return SearchPlan(blocks, cost=cost)
    return SearchPlan()


def _largest_lookahead(size: int, most: int, cost_of: CostOf) -> int:
    """Return the most rules, or levels, at a time that are within the limits; 0 if there are none."""
    return next(
        (n for n in range(min(most, _MOST_JOINTLY), 0, -1) if cost_of(equal_blocks(size, n), False).is_sensible), 0
    )
