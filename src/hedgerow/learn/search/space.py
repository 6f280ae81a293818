"""Search spaces: the rules or tests that can be taken at a position; public, like the schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from hedgerow.boundary.arrays import Array, Index, Mask, Whole
from hedgerow.schema.candidates import Antecedent, Candidates, literal_shapes
from hedgerow.schema.schema import Schema

CAUGHT, LEFT = 0, 1  # the two branches of an option: the rows that satisfy it and those that do not


@dataclass(frozen=True, eq=False)
class Space:
    """All rule lists over some candidates, or all trees over some tests.

    A *side* is one branch of an option that may be searched further: what each rule leaves, or both branches of each
    test. A state of the search is a set of sides and stands for the rows on all of them. Where options have one literal
    each, a side is a *box*, some bins of one attribute and all bins of the others; and so is a state.
    """

    candidates: Candidates  # where the options come from
    options: Index  # which of the candidates are options
    branches: tuple[int, ...]  # the branches that are searched further: `LEFT` for lists, `CAUGHT` and `LEFT` for trees
    root: Mask  # the box where the search begins

    @classmethod
    def of_lists(cls, candidates: Candidates, chosen: Sequence[Antecedent] = ()) -> Self:
        """Return the space of the rule lists that may follow the rules in `chosen`."""
        # Candidates of one literal are options if they divide what the chosen rules leave. Of several, a candidate that
        # implies a chosen one can catch nothing more: it is closed.
        position = {antecedent: index for index, antecedent in enumerate(candidates)} if chosen else {}
        taken = np.array([position[antecedent] for antecedent in chosen], dtype=np.intp)
        everything = np.ones(sum(one.n_bins for _, one in candidates.schema.attributes), dtype=bool)
        if len(candidates.members) > 1:
            closed = np.zeros(len(candidates), dtype=bool)
            for index in taken:
                closed |= candidates.implying(int(index))
            options = np.flatnonzero(~closed)
            return cls(candidates, options, (LEFT,), everything)
        whole = cls(candidates, np.arange(len(candidates)), (LEFT,), everything)
        return whole.below(np.logical_and.reduce(whole.side_bins[taken])) if chosen else whole

    @classmethod
    def of_trees(cls, schema: Schema) -> Self:
        """Return the space of the trees over a schema's tests ``x``, ``x = v``, ``x <= c``, each division once."""
        candidates = Candidates.of(schema, 1, negations=False)
        shapes = literal_shapes(schema).items()
        divisions = {form: np.array([*shape.divisions], dtype=np.intp) for form, shape in shapes}
        sizes = Counter(literal.attribute for literal in candidates.literals)
        starts = np.cumsum([sizes[name] for name in schema]) - [sizes[name] for name in schema]
        each = [divisions[one.form] + start for (_, one), start in zip(schema.attributes, starts, strict=True)]
        everything = np.ones(sum(one.n_bins for _, one in schema.attributes), dtype=bool)
        return cls(candidates, np.concatenate(each), (CAUGHT, LEFT), everything)

    def below(self, root: Mask) -> Self:
        """Return the space that begins at a box: the options that divide it; none if it is empty."""
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
        """The options of several literals that by the schema catch nothing on a side, ``(n_sides, n_options)``."""
        # Sides go by branch, then by option. None where states are boxes.
        return None if self.has_boxes else self.candidates.implications[np.ix_(self.options, self.options)].T

    @cached_property
    def antecedents(self) -> tuple[Antecedent, ...]:
        return tuple(self.candidates[int(index)] for index in self.options)

    @cached_property
    def caught(self) -> Mask:
        """The bins of its attribute that each option catches, where states are boxes; shape ``(n_options, n_bins)``."""
        return self.candidates.truth[self.options]

    @cached_property
    def left(self) -> Mask:
        """The bins of its attribute that each option leaves, where states are boxes; shape ``(n_options, n_bins)``."""
        return self.candidates.own_bins[self.options] & ~self.caught

    @cached_property
    def side_bins(self) -> Mask:
        """The bins of each side, all of the other attributes, where states are boxes; shape ``(n_sides, n_bins)``."""
        others = ~self.candidates.own_bins[self.options]
        return np.vstack([{CAUGHT: self.caught, LEFT: self.left}[branch] | others for branch in self.branches])

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


def product(one: Array, other: Array) -> Array:
    """Return a product of matrices, which may raise the flag of invalid numbers for lanes that it does not use."""
    with np.errstate(invalid="ignore"):
        return one @ other


def meet(sets: Mask, parts: Mask) -> Mask:
    """Return which sets have bins in common with each of some others."""
    return product(sets.astype(np.float32), parts.T.astype(np.float32)) > 0
