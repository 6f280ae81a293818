"""Outline of a search space: what its cost follows from, counted by kinds of attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Self

import numpy as np

from hedgerow.learn.search.boxes import MOST_WORK, Line, Sizes, lines_of, sets_of
from hedgerow.learn.search.space import CAUGHT, LEFT, Space, divisions
from hedgerow.schema.candidates import Form, by_form, check_candidates, count_candidates, longest_candidate
from hedgerow.schema.literals import Extent
from hedgerow.schema.schema import Schema

MOST_OPTIONS = 10_000
"""The most options of a search but one by pairs of rules."""


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
        """Return the outline of a space."""
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
