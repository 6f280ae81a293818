"""Search spaces: the rules or tests that are available at a position. They depend on the schema only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from hedgerow.boundary.arrays import Array, Index, Integers, Mask, Whole
from hedgerow.schema.candidates import Antecedent, Candidates, literal_shapes
from hedgerow.schema.schema import Schema

CAUGHT, LEFT = 0, 1  # the two branches of an option: the rows that satisfy it and those that do not


@dataclass(frozen=True, eq=False)
class Space:
    """Space of all rule lists over some candidates, or of all trees over some tests.

    A *side* is a branch of an option that may be searched further: for a rule, the rows that do not satisfy it; for a
    test, both branches. A state of the search is a set of sides, and represents the rows on all of them. If all options
    are single literals, sides and states are *boxes*: products of sets of bins.
    """

    candidates: Candidates
    options: Index  # the indices of the candidates that are options
    branches: tuple[int, ...]  # the branches that are searched further: `LEFT` for lists, `CAUGHT` and `LEFT` for trees
    root: Mask  # the box at which the search begins

    @classmethod
    def of_lists(cls, candidates: Candidates, chosen: Sequence[Antecedent] = ()) -> Self:
        """Return the space of the rule lists that may follow the rules in `chosen`."""
        # Single literals are options if they divide the rest of the domain. With several literals, candidates that
        # imply a chosen rule hold no remaining rows and are closed.
        position = {antecedent: index for index, antecedent in enumerate(candidates)} if chosen else {}
        taken = np.array([position[antecedent] for antecedent in chosen], dtype=np.intp)
        everything = np.ones(sum(attribute.n_bins for _, attribute in candidates.schema.attributes), dtype=bool)
        if len(candidates.members) > 1:
            closed = np.zeros(len(candidates), dtype=bool)
            for index in taken:
                closed |= candidates.implying(int(index))
            options = np.flatnonzero(~closed)
            return cls(candidates, options, (LEFT,), everything)
        whole = cls(candidates, np.arange(len(candidates)), (LEFT,), everything)
        return whole.below(np.logical_and.reduce(whole.side_bins[taken])) if chosen else whole

    @classmethod
    def of_trees(cls, schema: Schema, every: int = 1) -> Self:
        """Return the space of the trees over a schema's tests ``x``, ``x = v``, ``x <= c``, without duplicates.

        Attributes with many cut points have tests at every `every`-th only (`LiteralShape.coarse_divisions`).
        """
        candidates = Candidates.of(schema, 1, negations=False)
        shapes = literal_shapes(schema).items()
        divisions = {form: np.array([*shape.coarse_divisions(every)], dtype=np.intp) for form, shape in shapes}
        starts = np.cumsum(candidates.sizes) - candidates.sizes
        attributes = [attribute for _, attribute in schema.attributes]
        options = [divisions[attribute.form] + start for attribute, start in zip(attributes, starts, strict=True)]
        everything = np.ones(sum(attribute.n_bins for attribute in attributes), dtype=bool)
        return cls(candidates, np.concatenate(options), (CAUGHT, LEFT), everything)

    def below(self, root: Mask) -> Self:
        """Return the space that begins at a box, with the options that divide it."""
        sizes = [len(attribute.bins) for _, attribute in self.candidates.schema.attributes]
        has_rows = np.logical_or.reduceat(root, np.cumsum([0, *sizes[:-1]])).all()
        options = self.options[self.divided(root[None])[0] & has_rows]
        return type(self)(self.candidates, options, self.branches, root)

    @property
    def n_options(self) -> int:
        return len(self.options)

    @property
    def n_sides(self) -> int:
        return len(self.branches) * self.n_options

    @property
    def has_boxes(self) -> bool:
        return len(self.candidates.members) == 1

    @cached_property
    def closed(self) -> Mask | None:
        """The options that by the schema hold no rows on a side, shape ``(n_sides, n_options)``; None for boxes."""
        # Sides are ordered by branch, then by option.
        return None if self.has_boxes else self.candidates.implications[np.ix_(self.options, self.options)].T

    @property
    def attributes(self) -> Integers:
        """The index of each option's attribute, if options are single literals; shape ``(n_options,)``."""
        return self.candidates.attribute_of[self.options]

    def antecedent(self, option: int) -> Antecedent:
        return self.candidates[int(self.options[option])]

    @cached_property
    def antecedents(self) -> tuple[Antecedent, ...]:
        return tuple(map(self.antecedent, range(self.n_options)))

    @cached_property
    def caught(self) -> Mask:
        """The bins of its attribute that each option catches, if states are boxes; shape ``(n_options, n_bins)``."""
        return self.candidates.truth[self.options]

    @cached_property
    def left(self) -> Mask:
        """The bins of its attribute that each option leaves, if states are boxes; shape ``(n_options, n_bins)``."""
        return self.candidates.own_bins[self.options] & ~self.caught

    @cached_property
    def side_bins(self) -> Mask:
        """The bins of each side, including other attributes, if states are boxes; shape ``(n_sides, n_bins)``."""
        other_bins = ~self.candidates.own_bins[self.options]
        return np.vstack([{CAUGHT: self.caught, LEFT: self.left}[branch] | other_bins for branch in self.branches])

    def sides(self, branch: int) -> Index:
        """Return the side of each option's branch, shape ``(n_options,)``."""
        return self.branches.index(branch) * self.n_options + np.arange(self.n_options)

    def divided(self, boxes: Mask) -> Mask:
        """Return which options divide each box by the schema, shape ``(n_boxes, n_options)``."""
        return meet(boxes, self.caught) & meet(boxes, self.left)

    def open(self, states: Whole) -> Mask:
        """Return which options may still be taken in each state, shape ``(n_states, n_options)``."""
        if self.closed is None:
            within = np.repeat(self.root[None], len(states), axis=0)
            for side in states.T:
                within &= self.side_bins[side]
            return self.divided(within)
        closed = np.zeros((len(states), self.n_options), dtype=bool)
        for side in states.T:
            closed |= self.closed[side]
        return ~closed


def product(left: Array, right: Array) -> Array:
    """Return a matrix product, ignoring the flag of invalid numbers that unused SIMD lanes may raise."""
    with np.errstate(invalid="ignore"):
        return left @ right


def meet(sets: Mask, parts: Mask) -> Mask:
    """Return which sets share a bin with each part, shape ``(n_sets, n_parts)``."""
    return product(sets.astype(np.float32), parts.T.astype(np.float32)) > 0
