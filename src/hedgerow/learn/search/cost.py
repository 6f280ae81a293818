"""Cost of an exact search, estimated from public parameters before any row is read: from an outline of its space."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from math import comb, prod
from typing import Literal, Self

import numpy as np

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search.boxes import MOST_WORK, Line, Sizes, lines_of, sets_of
from hedgerow.learn.search.losses import Objective, n_values
from hedgerow.learn.search.pairs import MOST_LITERALS, MOST_PAIRED, MOST_RULES
from hedgerow.learn.search.space import CAUGHT, LEFT, Space, divisions
from hedgerow.schema.candidates import Form, by_form, check_candidates, count_candidates, longest_candidate
from hedgerow.schema.literals import Extent
from hedgerow.schema.schema import Schema

MOST_OPTIONS = 10_000  # of a search but one by pairs of rules
MOST_STATES, MOST_EVALUATIONS, MOST_NUMBERS = 20_000_000, 2_000_000_000, 100_000_000  # minutes, or gigabytes
MOST_SECONDS = 10.0
"""The longest that a search is expected to take if nobody chose it: its size is drawn, or ``search="auto"``."""

# Seconds on one core of an x86-64 server (benchmarks/exact.py). By masks: for any search; for each evaluation of an
# option and class; for each of those and each pattern; for each state, pattern and class; for each option and pattern.
# By cubes: for each evaluation of two classes, or else for each and class; each of those and each bin of the widest
# attribute; for each table; for each number of a table; for each table, attribute and pattern. By any, for each
# evaluation and value of a leaf.
_ANY, _WEIGH, _COUNT, _MASK, _BUILD = 4.5e-4, 1.35e-8, 1.6e-11, 1.1e-9, 1.5e-8
_LOOK_UP, _EVALUATE, _SUM, _TABLE, _NUMBER, _ADD = 4.5e-9, 1.4e-8, 6e-11, 4e-4, 6e-9, 4e-9
_COUNTED = 0.6  # of each class, if there are more than two: of two, their difference is counted where it matters
# By pairs of rules: for each of them and class; for each multiplication; for each table.
_PAIR, _MULTIPLY, _PAIR_TABLE = 1.1e-8, 2.3e-11, 1e-5
_LOSS = 3.5e-9
_TYPICAL_PATTERNS = 10_000
_MOST_CHOICES = 8  # of a search by contingency tables: deeper ones have too many of them
_SUMMED = ("states", "evaluations", "tables", "numbers", "additions", "products")


@dataclass(frozen=True)
class Outline:
    """Sizes of all rule lists over some candidates, or all trees over some tests: equal to that of the space itself."""

    schema: Schema
    branches: tuple[int, ...]  # the branches that are searched further
    n_options: int  # options at the first position
    longest: int  # the most literals of an option
    lines: Mapping[Line, int] | None  # how many attributes are divided alike; None where states are no boxes, or large
    literals: Mapping[tuple[int, int], int]  # how many attributes have so many literals and bins

    @classmethod
    def of(cls, space: Space) -> Self:
        candidates = space.candidates
        of_each = Counter(literal.attribute for literal in candidates.literals)
        literals = Counter((of_each[name], a.n_bins) for name, a in candidates.schema.attributes if of_each[name])
        lines = Counter(line for *_, line in lines_of(space)) if space.has_boxes else None
        return cls(candidates.schema, space.branches, space.n_options, len(candidates.members), lines, literals)

    @classmethod
    def of_trees(cls, schema: Schema) -> Self:
        """Return that of all trees over a schema's tests."""
        check_candidates(schema, 1, negations=False)
        tests = [(form, list(divisions(form).values())) for form in by_form(schema).values()]
        n_options = sum(form.times * len(extents) for form, extents in tests)
        literals = _literals(schema, negations=False)
        return cls(schema, (CAUGHT, LEFT), n_options, 1, _lines(tests, n_options), literals)

    @classmethod
    def of_lists(cls, schema: Schema, max_literals: int, *, negations: bool) -> Self:
        """Return that of all rule lists over a schema's candidates."""
        n = count_candidates(schema, max_literals, negations=negations)
        if not n:
            check_candidates(schema, max_literals, negations=negations)
        longest = longest_candidate(schema, max_literals, negations=negations)
        lines = None
        if longest == 1 and n <= MOST_OPTIONS:
            rules = [(form, form.reachable.literals("", negations=negations)) for form in by_form(schema).values()]
            lines = _lines([(form, list(map(form.attribute.extent, some))) for form, some in rules], n)
        return cls(schema, (LEFT,), n, longest, lines, _literals(schema, negations=negations))

    def sizes(self, depth: int) -> Sizes | None:
        """Return the sizes of a search through boxes; None where states are no boxes, or are too many."""
        axes = Counter[tuple[int, int, tuple[int, ...]]]()
        for line, times in (self.lines or {}).items():
            found = sets_of(line, self.branches, depth - 1)
            if found is None:
                return None
            axes[len(line.caught) // line.n_bins, line.n_bins, found[1]] += times
        return Sizes(depth, tuple(axes.items())) if axes else None

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """The most options of rules about one attribute, and about each two, their cells, and of how many they are."""
        one = [(own, bins, times) for (own, bins), times in self.literals.items()]
        alike = [(own**2, bins**2, comb(times, 2)) for own, bins, times in one if times > 1]
        both = [(m * n, size * other, a * b) for (m, size, a), (n, other, b) in combinations(one, 2)]
        return [*one, *alike, *both]


def _literals(schema: Schema, *, negations: bool) -> Counter[tuple[int, int]]:
    found = Counter[tuple[int, int]]()
    for form in by_form(schema).values():
        own = form.reachable.count_literals(negations=negations)
        if own:
            found[own, form.attribute.n_bins] += form.times
    return found


def _lines(divided: list[tuple[Form, list[Extent]]], n_options: int) -> Counter[Line] | None:
    """Return the lines of some attributes by the extents of their options; None if they are too many or too wide."""
    lines = Counter[Line]()
    if n_options > MOST_OPTIONS:
        return None
    for form, extents in divided:
        n_bins = form.attribute.n_bins
        if len(extents) * n_bins > MOST_WORK:
            return None
        if extents:
            caught = np.array([extent.truth() for extent in extents])
            lines[Line.of(caught, np.ones(n_bins, dtype=bool))] += form.times
    return lines


@dataclass(frozen=True)
class Cost:
    """Cost of an exact search, from public parameters alone.

    Attributes
    ----------
    options : int
        Rules or tests to choose from.
    states : int
        Sets of choices, or boxes, to be visited.
    evaluations : int
        Pairs of a state and an option to be evaluated.
    classes : int
        Classes of the label.
    method : {"masks", "cubes", "pairs"}
        How rows are counted: by masks over the patterns, or by contingency tables, whose cost grows little with the
        number of patterns: of boxes, or of pairs of rules.
    tables, numbers, additions, largest, bins : int
        By cubes: contingency tables to be counted, the numbers in all of them, how often each pattern is added to one,
        the numbers that the largest takes, summed and for all classes, and the most bins of an attribute.
    products : int
        By pairs: the multiplications in the products of matrices, which are more the wider the attributes are.
    losses : int
        Values of a leaf whose losses are summed; 0 where the loss is errors, which need no sum over values.
    """

    options: int
    states: int
    evaluations: int
    classes: int
    method: Literal["masks", "cubes", "pairs"] = "masks"
    tables: int = 0
    numbers: int = 0
    additions: int = 0
    largest: int = 0
    bins: int = 0
    products: int = 0
    losses: int = 0

    @property
    def is_sensible(self) -> bool:
        """True where the search is within the limits."""
        is_held = self.options <= self._most_options and self.largest <= MOST_NUMBERS
        return is_held and self.states <= MOST_STATES and self.evaluations <= MOST_EVALUATIONS

    @property
    def _most_options(self) -> int:
        return MOST_PAIRED if self.method == "pairs" else MOST_OPTIONS

    def seconds(self, patterns: int) -> float:
        """Return about how long the search takes on one core for a table of so many distinct patterns.

        An upper estimate for small tables, where many states hold no rows. The number of patterns is private.
        """
        leaves = _ANY + self.evaluations * self.losses * _LOSS
        is_two = self.classes == 2 and not self.losses  # then differences are enough
        if self.method == "masks":
            counting = self.classes * (self.evaluations * _COUNT + self.states * _MASK) + self.options * _BUILD
            return leaves + self.classes * self.evaluations * _WEIGH + patterns * counting
        if self.method == "pairs":
            each = self.evaluations * _PAIR + self.products * _MULTIPLY + self.numbers * _NUMBER
            each += patterns * self.additions * _ADD
            return leaves + self.tables * _PAIR_TABLE + (1 if is_two else 2 * self.classes) * each
        evaluating = (_LOOK_UP if is_two else _EVALUATE) + self.bins * _SUM
        counting = self.numbers * _NUMBER + patterns * self.additions * _ADD
        kinds, counted = (1, 1) if is_two else (self.classes, _COUNTED * self.classes)
        return leaves + self.tables * _TABLE + kinds * self.evaluations * evaluating + counted * counting

    @property
    def is_quick(self) -> bool:
        """True where the search is within the limits, and by public numbers takes ten seconds or less, about."""
        return self.is_sensible and self.seconds(_TYPICAL_PATTERNS) <= MOST_SECONDS

    @property
    def is_noticeable(self) -> bool:
        """True where the search may take a second or more, by public numbers alone."""
        return self.seconds(_TYPICAL_PATTERNS) >= 1

    def times(self, count: int) -> Cost:
        """Return the cost of so many searches like this one, one after the other."""
        return replace(self, **{name: count * getattr(self, name) for name in _SUMMED})

    def check(self, advice: str) -> None:
        """Refuse a search that would take too long or too much memory: SearchTooLargeError, with `advice`."""
        if self.is_sensible:
            return
        raise SearchTooLargeError(
            f"Expected an exact search of at most {self._most_options:,} options, {MOST_STATES:,} states, "
            f"{MOST_NUMBERS:,} numbers in a table and {MOST_EVALUATIONS:,} evaluations of an option in a state, "
            f"got {self.options:,} options, {self.states:,} states, {self.largest:,} numbers "
            f"and {self.evaluations:,} evaluations. {advice}",
            states=self.states,
            evaluations=self.evaluations,
        )

    def __str__(self) -> str:
        return (
            f"{self.options:,} options, {self.states:,} states, {self.evaluations:,} evaluations; "
            f"about {self.seconds(1000):.1g} s for 1,000 distinct patterns of rows"
        )


def masks_cost(*, options: int, sides: int, depth: int, classes: int, objective: Objective = "errors") -> Cost:
    """Return the cost of all sets of fewer than `depth` sides, counted by masks."""
    states = sum(comb(sides, taken) for taken in range(min(depth, sides + 1)))
    return Cost(options, states, states * options, classes, losses=_losses(objective, classes))


def _losses(objective: Objective, classes: int) -> int:
    return 0 if objective == "errors" else n_values(objective, classes)


def cubes_cost(outline: Outline, sizes: Sizes, objective: Objective = "errors") -> Cost:
    """Return the cost of all boxes within fewer choices than the depth, counted by contingency tables."""
    choices, options, classes = range(sizes.depth), outline.n_options, outline.schema.target.n_levels
    states = sum(map(sizes.count, choices))
    tables = sum(map(sizes.count_tables, choices))
    return Cost(
        options,
        states,
        states * options,
        classes,
        "cubes",
        tables,
        numbers=sum(map(sizes.count_cells, choices)) * sum(bins * times for bins, times in sizes.bins),
        additions=tables * sum(times for _, times in sizes.bins),
        largest=(2 if classes == 2 else classes) * sizes.largest_table(options),
        bins=max(bins for bins, _ in sizes.bins),
        losses=_losses(objective, classes),
    )


def pairs_cost(outline: Outline, depth: int, objective: Objective = "errors") -> Cost:
    """Return the cost of all lists of up to two rules of up to two literals, counted by contingency tables."""
    n, classes, groups = outline.n_options, outline.schema.target.n_levels, outline.pairs
    tables = sum(times for *_, times in groups) ** (2 if depth > 1 else 1)
    cells = sum(cells * times for _, cells, times in groups)
    states = 1 + n * (depth > 1)
    return Cost(
        n,
        states,
        states * n,
        classes,
        "pairs",
        tables,
        numbers=cells * n * (depth > 1),
        additions=tables,
        largest=max(cells for _, cells, _ in groups) * n * (1 if classes == 2 and objective == "errors" else classes),
        losses=_losses(objective, classes),
        # For one class, of all cells' tables, and of them, by the cells that each option catches; there may be fewer
        # options after chosen rules.
        products=sum(own * cells * times for own, cells, times in groups) * (n + cells) * (depth > 1),
    )


def space_cost(outline: Outline, depth: int, objective: Objective = "errors") -> Cost:
    """Return the cost of all models of a space with up to `depth` choices, by the method that costs less."""
    schema, n, is_tree = outline.schema, outline.n_options, CAUGHT in outline.branches
    sides = n * len(outline.branches)
    masks = masks_cost(options=n, sides=sides, depth=depth, classes=schema.target.n_levels, objective=objective)
    patterns = min(prod(attribute.n_bins for _, attribute in schema.attributes), _TYPICAL_PATTERNS)
    if not is_tree and 1 < outline.longest <= MOST_LITERALS and 0 < depth <= MOST_RULES and n <= MOST_PAIRED:
        other = pairs_cost(outline, depth, objective)
    elif 0 < depth <= _MOST_CHOICES and 0 < n <= MOST_OPTIONS and (sizes := outline.sizes(depth)) is not None:
        other = cubes_cost(outline, sizes, objective)
    else:
        return masks
    return min(masks, other, key=lambda cost: (not cost.is_sensible, cost.seconds(patterns)))


def draw_cost(outline: Outline, depth: int, objective: Objective, *, draws_size: bool) -> Cost:
    """Return the cost of one draw; by masks, each size that is drawn is searched anew."""
    cost = space_cost(outline, depth, objective)
    if cost.method != "masks" or not draws_size:
        return cost
    n, sides = outline.n_options, outline.n_options * len(outline.branches)
    of = partial(masks_cost, options=n, sides=sides, classes=cost.classes, objective=objective)
    return total_cost([of(depth=size) for size in range(depth + 1)])


def total_cost(costs: Sequence[Cost]) -> Cost:
    """Return the cost of several searches, one after the other; its method is that of the largest."""
    sums = {name: sum(getattr(cost, name) for cost in costs) for name in _SUMMED}
    largest = max(cost.largest for cost in costs)
    return replace(max(costs, key=lambda cost: cost.evaluations), largest=largest, **sums)


def largest_size(cost_of: Callable[[int], Cost], most: int) -> int:
    """Return the largest size up to `most` whose search is expected to take ten seconds or less."""
    size = 0
    while size < most and cost_of(size + 1).is_quick:
        size += 1
    return size
