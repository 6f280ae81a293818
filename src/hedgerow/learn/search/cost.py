"""Computational cost of an exact search, estimated from public parameters before any row is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations
from math import comb, log, log2
from operator import le, mul
from typing import Literal, Self

import numpy as np

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search.box_rows import LEAST_CELLS
from hedgerow.learn.search.boxes import MOST_WORK, Line, Sizes, lines_of, n_divisions, sets_of
from hedgerow.learn.search.compiled import is_compiled
from hedgerow.learn.search.conjunctions import count_states
from hedgerow.learn.search.losses import Objective, n_values
from hedgerow.learn.search.pairs import MOST_LITERALS, MOST_PAIRED, MOST_RULES
from hedgerow.learn.search.space import CAUGHT, LEFT, Space
from hedgerow.schema.candidates import (
    LiteralShape,
    check_candidates,
    count_candidates,
    literal_shapes,
    longest_candidate,
)
from hedgerow.schema.literals import Extent
from hedgerow.schema.schema import Schema

MOST_OPTIONS = 10_000  # except of a search by pairs of rules
MOST_STATES, MOST_EVALUATIONS, MOST_NUMBERS = 20_000_000, 2_000_000_000, 100_000_000  # minutes, or gigabytes
MOST_BOXES, MOST_BOX_EVALUATIONS = 200_000_000, 30_000_000_000
"""The limits of states and evaluations of a search through boxes, which takes about a number for each state."""
MOST_MINUTES = 10  # on one core
MOST_SECONDS = 8.0
"""The longest expected time of a search that is chosen automatically."""
TYPICAL_PATTERNS = 10_000
"""The assumed number of distinct patterns of a table."""
_COMPARED_PATTERNS = (500, 5_000, 50_000, 500_000)  # for which times of methods are compared if the number is private
_UNNOTICED = 0.05  # seconds that are added to a time that is compared
MOST_CELLS = 2**32
"""An upper bound on the number of rows of a table."""
_MOST_CHOICES = 8  # of a search by contingency tables: deeper searches need too many tables
_MOST_WORK = 10**30  # far beyond the limits
Method = Literal["masks", "cubes", "pairs", "conjunctions"]
_SUMMED = ("states", "evaluations", "fixed", "each", "saved")

# Processor seconds on one thread of an x86-64 server (benchmarks/costs.py), by method, and by whether differences of
# counts suffice, as for the errors of two classes.
# - masks: for each evaluation and class; evaluation and leaf value; and for each pattern: evaluation and class; state
#   and class; option.
# - cubes: for each last evaluation and class; other evaluation; multiplication; table; evaluation and leaf value; and
#   for each pattern: addition to a table of merged axes.
# - pairs: for each option; evaluation; multiplication; number; table; evaluation and leaf value; and for each pattern:
#   addition to a table.
# - conjunctions: for each last evaluation and class; other evaluation; set of tests whose patterns are selected;
#   evaluation and leaf value; and for each pattern: set of tests that it may pass.
# `_SAVED` is the part of a last evaluation by differences that compiled loops save.
_START = 0.02  # of any search
_SAVED = 5e-9
_SECONDS = {
    ("masks", True): (2.2e-8, 0.0, 1e-11, 1.1e-9, 8.8e-9),
    ("masks", False): (2.4e-8, 5.5e-9, 3.8e-11, 4e-10, 3e-9),
    ("cubes", True): (5.8e-9, 1.5e-7, 3.7e-11, 5.8e-4, 0.0, 3.2e-9),
    ("cubes", False): (2.9e-8, 0.0, 7e-11, 7e-4, 4e-9, 2.2e-9),
    ("conjunctions", True): (1.6e-8, 3e-8, 7e-5, 0.0, 7e-10),
    ("conjunctions", False): (4e-8, 3e-8, 8e-5, 4e-9, 5e-10),
    ("pairs", True): (1.9e-5, 9e-9, 2e-11, 1e-10, 1e-5, 0.0, 3.8e-9),
    ("pairs", False): (1.6e-5, 1e-8, 1e-13, 0.0, 1e-5, 8e-9, 2.6e-9),
}


@dataclass(frozen=True)
class SearchShape:
    """Sizes of a search space, computed from the schema without building the space."""

    schema: Schema
    branches: tuple[int, ...]  # the branches that are searched further
    n_options: int  # options at the first position
    longest: int  # the maximum number of literals of an option
    lines: Mapping[Line, int] | None  # the number of attributes by division; None if states are not boxes, or too many
    literals: Mapping[tuple[int, int], int]  # the number of attributes by number of literals and of bins
    _draw_costs: dict[tuple[int, Objective, bool], Cost] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, space: Space) -> Self:
        candidates = space.candidates
        attributes = zip(candidates.sizes, candidates.schema.attributes, strict=True)
        literals = Counter((own, attribute.n_bins) for own, (_, attribute) in attributes if own)
        lines = Counter(line for *_, line in lines_of(space)) if space.has_boxes else None
        return cls(candidates.schema, space.branches, space.n_options, len(candidates.members), lines, literals)

    @classmethod
    @lru_cache(maxsize=8)  # a fit or a plan needs it several times
    def of_trees(cls, schema: Schema, every: int = 1) -> Self:
        """Return the shape of all trees over a schema's tests, with every `every`-th cut point only."""
        check_candidates(schema, 1, negations=False)
        tests = [(shape, list(shape.coarse_divisions(every).values())) for shape in literal_shapes(schema).values()]
        n_options = sum(shape.times * len(extents) for shape, extents in tests)
        literals = _literals(schema, negations=False)
        return cls(schema, (CAUGHT, LEFT), n_options, 1, _lines(tests, n_options), literals)

    @classmethod
    @lru_cache(maxsize=4)
    def of_lists(cls, schema: Schema, max_literals: int, *, negations: bool) -> Self:
        """Return the shape of all rule lists over a schema's candidates."""
        n = count_candidates(schema, max_literals, negations=negations)
        if not n:
            check_candidates(schema, max_literals, negations=negations)
        longest = longest_candidate(schema, max_literals, negations=negations)
        lines = None
        if longest == 1 and n <= MOST_OPTIONS:
            rules = [(shape, shape.literals(negations=negations)) for shape in literal_shapes(schema).values()]
            lines = _lines([(shape, list(map(shape.attribute.extent, some))) for shape, some in rules], n)
        return cls(schema, (LEFT,), n, longest, lines, _literals(schema, negations=negations))

    def draw_cost(self, depth: int, objective: Objective, *, draws_size: bool) -> Cost:
        """Return the cost of one draw; a search by sets of choices is repeated for each size that may be drawn."""
        key = min(depth, self.n_options), objective, draws_size
        if key not in self._draw_costs:
            cost = space_cost(self, *key[:2])
            if cost.method in _COST_OF_SIZE and draws_size:
                cost_of = _COST_OF_SIZE[cost.method]
                cost = total_cost([cost_of(self, size, objective) for size in range(key[0] + 1)])
            self._draw_costs[key] = cost
        return self._draw_costs[key]

    def sizes(self, depth: int) -> Sizes | None:
        """Return the sizes of a search through boxes, or None if states are not boxes or are too many."""
        axes = Counter[tuple[int, int, tuple[int, ...]]]()
        for line, times in (self.lines or {}).items():
            within = _within(line, self.branches, depth - 1)
            if within is None:
                return None
            axes[n_divisions(line.bins[0]), line.n_bins, within] += times
        return Sizes(depth, tuple(axes.items())) if axes else None

    @cached_property
    def cells(self) -> int:
        """The number of possible patterns of bins, at most `MOST_CELLS`."""
        cells = 1
        for shape in literal_shapes(self.schema).values():
            cells = min(MOST_CELLS, cells * shape.attribute.n_bins ** min(shape.times, MOST_CELLS.bit_length()))
        return cells

    @property
    def has_single_tests(self) -> bool:
        """Whether the search is for trees, and each attribute has a single test."""
        return CAUGHT in self.branches and sum((self.lines or {}).values()) == self.n_options

    @property
    def pairs(self) -> list[tuple[int, int, int]]:
        """For rules about one or two attributes: the maximum number of rules, the cells, and how many such groups."""
        single = [(own, bins, times) for (own, bins), times in self.literals.items()]
        alike = [(own**2, bins**2, comb(times, 2)) for own, bins, times in single if times > 1]
        unlike = [(m * n, size * other, a * b) for (m, size, a), (n, other, b) in combinations(single, 2)]
        return [*single, *alike, *unlike]


def _within(line: Line, branches: tuple[int, ...], choices: int) -> tuple[int, ...] | None:
    """Return the number of sets of bins within 0, 1, … choices, or None if too many; small lines are cached."""
    count = _cached_count if len(line.caught) <= _LARGEST_CACHED else _count_sets
    return count(line, branches, choices)


def _count_sets(line: Line, branches: tuple[int, ...], choices: int) -> tuple[int, ...] | None:
    sets = sets_of(line, branches, choices)
    return None if sets is None else sets[1]


_LARGEST_CACHED = 2**16  # bytes of a line; all cached lines take at most 32 MiB
_cached_count = lru_cache(maxsize=512)(_count_sets)


def _literals(schema: Schema, *, negations: bool) -> Counter[tuple[int, int]]:
    literals = Counter[tuple[int, int]]()
    for shape in literal_shapes(schema).values():
        own = shape.count_literals(negations=negations)
        if own:
            literals[own, shape.attribute.n_bins] += shape.times
    return literals


def _lines(divided: list[tuple[LiteralShape, list[Extent]]], n_options: int) -> Counter[Line] | None:
    """Return the lines of attributes by the extents of their options, or None if they are too many or too wide."""
    lines = Counter[Line]()
    if n_options > MOST_OPTIONS:
        return None
    for shape, extents in divided:
        n_bins = shape.attribute.n_bins
        if len(extents) * n_bins > MOST_WORK:
            return None
        if extents:
            caught = np.array([extent.truth() for extent in extents])
            lines[Line.of(caught, np.ones(n_bins, dtype=bool))] += shape.times
    return lines


@dataclass(frozen=True)
class Cost:
    """Computational cost of an exact search, from public parameters only.

    Attributes
    ----------
    options : int
        The number of candidate rules or tests.
    states : int
        The number of states (sets of choices, or boxes) that the search visits.
    evaluations : int
        The number of pairs of a state and an option.
    classes : int
        The number of classes of the label.
    method : {"masks", "cubes", "pairs", "conjunctions"}
        How rows are counted: by masks over the distinct patterns of rows, by contingency tables of boxes or of pairs of
        rules, or by conjunctions of tests, if each attribute has a single test. The cost of contingency tables grows
        slowly with the number of patterns.
    largest : int
        The size of the largest table of counts, in numbers, for all classes.
    fixed : float
        Seconds on one core that do not depend on the number of patterns.
    each : float
        Seconds on one core for each distinct pattern of rows.
    cells : int
        The maximum number of distinct patterns by the schema, at most 2³².
    saved : float
        Seconds on one core that compiled loops save; 0 if Numba is not installed.
    """

    options: int
    states: int
    evaluations: int
    classes: int
    method: Method = "masks"
    largest: int = 0
    fixed: float = 0.0
    each: float = 0.0
    cells: int = MOST_CELLS
    saved: float = 0.0

    @property
    def is_sensible(self) -> bool:
        """Whether the search is within the limits of time and memory."""
        sizes = (self.options, self.states, self.largest, self.evaluations)
        return all(map(le, sizes, self._limits)) and self._numpy_seconds() <= 60 * MOST_MINUTES

    @property
    def _limits(self) -> tuple[int, int, int, int]:
        """The largest numbers of options, states, numbers in a table, and evaluations."""
        options = MOST_PAIRED if self.method == "pairs" else MOST_OPTIONS
        is_boxes = self.method == "cubes"
        states, evaluations = (MOST_BOXES, MOST_BOX_EVALUATIONS) if is_boxes else (MOST_STATES, MOST_EVALUATIONS)
        return options, states, MOST_NUMBERS, evaluations

    def seconds(self, patterns: int = TYPICAL_PATTERNS) -> float:
        """Return the approximate time of the search on one core, in seconds.

        Parameters
        ----------
        patterns : int, default=10_000
            The number of distinct patterns of rows in the table. It is private, and at most the number of rows.

        Returns
        -------
        float
            The time in seconds, for this number of patterns or, if that is smaller, for `cells` patterns.
        """
        return self._numpy_seconds(patterns) - self.saved

    def _numpy_seconds(self, patterns: int = TYPICAL_PATTERNS) -> float:
        return self.fixed + min(patterns, self.cells) * self.each

    @property
    def is_quick(self) -> bool:
        """Whether the search is within the limits and is expected to take at most eight seconds without Numba."""
        return self.is_sensible and self._numpy_seconds() <= MOST_SECONDS

    @property
    def is_noticeable(self) -> bool:
        """Whether the search is expected to take at least a second."""
        return self.seconds() >= 1

    def times(self, count: int) -> Cost:
        """Return the cost of `count` such searches.

        Parameters
        ----------
        count : int
            The number of searches.

        Returns
        -------
        Cost
            Their total cost.
        """
        return replace(self, **{name: count * getattr(self, name) for name in _SUMMED})

    def check(self, advice: str) -> None:
        """Check that the search is within the limits of time and memory.

        Parameters
        ----------
        advice : str
            What to change, for the message.

        Raises
        ------
        SearchTooLargeError
            If the search exceeds a limit.
        """
        if self.is_sensible:
            return
        options, states, numbers, evaluations = self._limits
        raise SearchTooLargeError(
            f"The exact search is too large: at most {options:,} options, {states:,} states, {numbers:,} numbers in a "
            f"table and {evaluations:,} evaluations of an option in a state that take {MOST_MINUTES} minutes are "
            f"supported, got {self.options:,} options, {self.states:,} states, {self.largest:,} numbers and "
            f"{self.evaluations:,} evaluations. {advice}",
            states=self.states,
            evaluations=self.evaluations,
        )

    def __str__(self) -> str:
        seconds, patterns = self.seconds(), min(self.cells, TYPICAL_PATTERNS)
        return (
            f"{self.options:,} options, {self.states:,} states, {self.evaluations:,} evaluations; about "
            f"{seconds:.{2 if seconds >= 1 else 1}g} s on one core for {patterns:,} distinct patterns of rows"
        )


def _seconds(method: tuple[str, bool], work: Sequence[float], pattern_work: Sequence[float]) -> tuple[float, float]:
    """Return the seconds of some work, in total and for each pattern."""
    units = (min(amount, _MOST_WORK) for amount in (*work, *pattern_work))
    seconds = list(map(mul, _SECONDS[method], units))
    return _START + sum(seconds[: len(work)]), sum(seconds[len(work) :])


def masks_cost(shape: SearchShape, depth: int, objective: Objective = "errors") -> Cost:
    """Return the cost of all sets of fewer than `depth` sides, counted by masks."""
    n, classes, values = shape.n_options, shape.schema.target.n_levels, _n_losses(shape, objective)
    sides = n * len(shape.branches)
    taken = range(min(depth, sides + 1))
    states = sum(comb(sides, size) for size in taken)
    # States with both sides of a Boolean hold no rows and are skipped.
    booleans = shape.literals.get((2 // len(shape.branches), 2), 0) if shape.longest == 1 else 0
    both = min(booleans, sides // 2)
    of_some = (comb(both, k) * 2**k * comb(sides - 2 * both, size - k) for size in taken for k in range(size + 1))
    weighed = sum(of_some) * n
    of_each = (weighed * classes, weighed * values), (weighed * classes, states * classes, n)
    fixed, each = _seconds(("masks", _has_differences(classes, values)), *of_each)
    return Cost(n, states, states * n, classes, fixed=fixed, each=each, cells=shape.cells)


def _has_differences(classes: int, values: int) -> bool:
    """Return whether the difference of two counts determines the loss, as for the errors of two classes."""
    return classes == 2 and not values


def _n_losses(shape: SearchShape, objective: Objective) -> int:
    """Return the number of leaf values whose losses are summed; errors need no sum."""
    return 0 if objective == "errors" else n_values(objective, shape.schema.target.n_levels)


def cubes_cost(shape: SearchShape, sizes: Sizes, objective: Objective = "errors") -> Cost:
    """Return the cost of all boxes within fewer choices than the depth, counted by contingency tables."""
    choices, n, classes = range(sizes.depth), shape.n_options, shape.schema.target.n_levels
    boxes, tables = list(map(sizes.count, choices)), list(map(sizes.count_tables, choices))
    values = _n_losses(shape, objective)
    is_two = _has_differences(classes, values)
    counted = 1 if is_two else classes
    numbers = sum(map(sizes.count_cells, choices)) * sum(bins * times for bins, times in sizes.bins)
    last, deeper = boxes[-1] * sizes.n_divisions, sum(boxes[:-1]) * n
    products = counted * (numbers * sizes.n_divisions + last * sizes.first_bins)
    work = (last * counted, deeper, products, sum(tables), (last + deeper) * values)
    added = sum(n_tables * (counted * _n_merged(sizes, size) + classes) for size, n_tables in enumerate(tables))
    fixed, each = _seconds(("cubes", is_two), work, (added,))
    saved = _SAVED * last if is_two and is_compiled(sum(boxes) * n) else 0.0
    largest = sizes.largest_table(n, classes)
    return Cost(n, sum(boxes), sum(boxes) * n, classes, "cubes", largest, fixed, each, shape.cells, saved)


def _n_merged(sizes: Sizes, size: int) -> float:
    """Return the approximate number of merged axes that are counted for each cell of a table of `size` attributes."""
    n_axes, digits = sum(times for _, times in sizes.bins), sum(log2(bins) * times for bins, times in sizes.bins)
    mean = digits / n_axes
    return max(1.0, digits / max(log2(LEAST_CELLS) - size * mean, mean))


def pairs_cost(shape: SearchShape, depth: int, objective: Objective = "errors") -> Cost:
    """Return the cost of all lists of up to two rules of up to two literals, counted by contingency tables."""
    n, classes, groups = shape.n_options, shape.schema.target.n_levels, shape.pairs
    single, cells = sum(times for *_, times in groups), sum(cells * times for _, cells, times in groups)
    states, is_deep, values = 1 + n * (depth > 1), depth > 1, _n_losses(shape, objective)
    is_two = _has_differences(classes, values)
    counted, tables = (1 if is_two else 2 * classes), single**2 if is_deep else single
    # For one class, of all cells' tables, and of them, by the cells that each option catches
    products = sum(own * cells * times for own, cells, times in groups) * (n + cells) * is_deep
    work = (n, counted * states * n, counted * products, counted * cells * n * is_deep, tables, states * n * values)
    fixed, each = _seconds(("pairs", is_two), work, (counted * tables * is_deep + single * (1 + 2 * classes),))
    largest = max(cells for _, cells, _ in groups) * n * (1 if is_two else classes)
    return Cost(n, states, states * n, classes, "pairs", largest, fixed, each, shape.cells)


def conjunctions_cost(shape: SearchShape, depth: int, objective: Objective = "errors") -> Cost:
    """Return the cost of all trees if each attribute has a single test, counted by conjunctions of tests."""
    n, classes, values = shape.n_options, shape.schema.target.n_levels, _n_losses(shape, objective)
    depth, is_two = min(depth, n), _has_differences(classes, values)
    counted, last = (1 if is_two else classes), comb(n, depth - 1) << depth - 1 if depth else 0
    states = count_states(n, depth)
    # A test is assumed to select half of the patterns. The sets of two tests are counted together.
    numbers = [comb(n, size) * (counted if size == depth else classes) for size in range(depth + 1)]
    selected = sum(numbers[size] / 2 ** max(0, size - 2) for size in range(depth + 1))
    selections = sum(comb(n, max(0, size - 2)) for size in range(depth + 1))
    work = (last * n * counted, (states - last) * n, selections, states * n * values)
    fixed, each = _seconds(("conjunctions", is_two), work, (selected,))
    largest = counted * comb(n, depth - 1) * n if depth else 0
    return Cost(n, states, states * n, classes, "conjunctions", largest, fixed, each, shape.cells)


_COST_OF_SIZE: dict[Method, Callable[[SearchShape, int, Objective], Cost]] = {
    "masks": masks_cost,
    "conjunctions": conjunctions_cost,
}


def space_cost(shape: SearchShape, depth: int, objective: Objective = "errors", patterns: int | None = None) -> Cost:
    """Return the cost of all models of a space with up to `depth` choices, by the method that costs less.

    The number of patterns is given only if nothing is private. By default, methods are compared by the geometric mean
    of their times for small and large tables; a method that is quick for typical tables is preferred.
    """
    n, costs = shape.n_options, [masks_cost(shape, depth, objective)]
    is_list = CAUGHT not in shape.branches
    if is_list and 1 < shape.longest <= MOST_LITERALS and 0 < depth <= MOST_RULES and n <= MOST_PAIRED:
        costs.append(pairs_cost(shape, depth, objective))
    elif 0 < depth <= _MOST_CHOICES and 0 < n <= MOST_OPTIONS and (sizes := shape.sizes(depth)) is not None:
        costs.append(cubes_cost(shape, sizes, objective))
    if shape.has_single_tests and depth:
        costs.append(conjunctions_cost(shape, depth, objective))

    compared = _COMPARED_PATTERNS if patterns is None else (patterns,)

    def rank(cost: Cost) -> tuple[bool, bool, float]:
        is_slow = patterns is None and not cost.is_quick
        return not cost.is_sensible, is_slow, sum(log(cost.seconds(n) + cost.saved + _UNNOTICED) for n in compared)

    return min(costs, key=rank)


def total_cost(costs: Sequence[Cost]) -> Cost:
    """Return the cost of several searches, one after the other; its method is that of the largest."""
    sums = {name: sum(getattr(cost, name) for cost in costs) for name in _SUMMED}
    largest = max(cost.largest for cost in costs)
    return replace(max(costs, key=lambda cost: cost.evaluations), largest=largest, **sums)


def largest_size(cost_of: Callable[[int], Cost], most: int) -> int:
    """Return the largest size up to `most` whose search is expected to take eight seconds or less."""
    size = 0
    while size < most and cost_of(size + 1).is_quick:
        size += 1
    return size
