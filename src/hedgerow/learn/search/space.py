"""Search spaces: the rules or tests that can be taken at a position; public, like the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hedgerow.schema.candidates import Antecedent, Candidates
from hedgerow.schema.literals import Literal
from hedgerow.schema.schema import Schema

CAUGHT, LEFT = 0, 1
"""The two branches of an option: the rows that satisfy it and those that do not."""


@dataclass(frozen=True, eq=False)
class Space:
    """All rule lists over some candidates, or all trees over some tests.

    A *side* is one branch of an option that may be searched further. A state of the search is a set of sides and stands
    for the rows on all of them. For a rule list the sides are what each rule leaves; for a tree both branches of each
    test.

    Attributes
    ----------
    candidates : Candidates
        Where the options come from.
    options : ndarray of int, shape (n_options,)
        Which of the candidates are options.
    branches : tuple of int
        The branches that are searched further: `LEFT` for lists, `CAUGHT` and `LEFT` for trees.
    closed : ndarray of bool, shape (n_sides, n_options)
        Whether, by the schema, an option cannot divide any rows of a side. Sides go by branch, then by option.
    """

    candidates: Candidates
    options: NDArray[np.intp]
    branches: tuple[int, ...]
    closed: NDArray[np.bool_]

    @classmethod
    def of_lists(cls, candidates: Candidates, chosen: Sequence[Antecedent] = ()) -> Self:
        """Return the space of the rule lists that may follow the rules in `chosen`.

        A candidate that implies a chosen one can catch nothing more: it is closed.
        """
        implies = candidates.implications
        position = {antecedent: index for index, antecedent in enumerate(candidates)} if chosen else {}
        taken = [position[antecedent] for antecedent in chosen]
        options = np.flatnonzero(~implies[:, taken].any(axis=1))
        return cls(candidates, options, (LEFT,), implies[np.ix_(options, options)].T)

    @classmethod
    def of_trees(cls, schema: Schema) -> Self:
        """Return the space of the trees over a schema's tests ``x``, ``x = v``, ``x <= c``, each division once."""
        candidates = Candidates.of(schema, 1, negations=False)
        options = np.array(_tests(candidates), dtype=np.intp)
        truth = candidates.truth[options]
        own = candidates.own_bins[options]
        caught, left = truth, own & ~truth

        def within(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> NDArray[np.bool_]:
            return one.astype(np.int64) @ (~other).T.astype(np.int64) == 0

        same = own.astype(np.int64) @ own.T.astype(np.int64) > 0
        closed = [same & (within(side, caught) | within(side, left)) for side in (caught, left)]
        return cls(candidates, options, (CAUGHT, LEFT), np.vstack(closed))

    @property
    def n_options(self) -> int:
        """Options at the first position."""
        return len(self.options)

    @property
    def n_sides(self) -> int:
        """Sides of all options."""
        return len(self.closed)

    @cached_property
    def antecedents(self) -> tuple[Antecedent, ...]:
        """Each option as an antecedent."""
        return tuple(self.candidates[int(index)] for index in self.options)

    def sides(self, branch: int) -> NDArray[np.intp]:
        """Return the side of each option's branch, shape ``(n_options,)``."""
        return self.branches.index(branch) * self.n_options + np.arange(self.n_options)

    def open(self, states: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which options may still be taken in each state, shape ``(n_states, n_options)``."""
        closed = np.zeros((len(states), self.n_options), dtype=bool)
        for side in states.T:
            closed |= self.closed[side]
        return ~closed


def _tests(candidates: Candidates) -> list[int]:
    """Return the literals that divide rows differently; of two complements the first."""
    tests: list[int] = []
    seen: set[bytes] = set()
    for index, literal in enumerate(candidates.literals):
        own = candidates.own_bins[index]
        caught = candidates.truth[index]
        divisions = {(own.tobytes() + caught.tobytes()), (own.tobytes() + (own & ~caught).tobytes())}
        if _is_interval(literal) or divisions & seen or not caught.any() or not (own & ~caught).any():
            continue
        seen |= divisions
        tests.append(index)
    return tests


def _is_interval(literal: Literal) -> bool:
    return literal.operator == "between"  # equivalent to two nested tests
