"""The outside pass over sets of sides, by masks over the patterns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hedgerow.learn.search.lattice import Chosen, Masks, Search
from hedgerow.learn.search.outside import DrawChances, LeafShares, last_choices, size_chances
from hedgerow.learn.search.semirings import Floats
from hedgerow.learn.search.space import CAUGHT, LEFT


class OutsideMasks:
    """The chances of a draw over the sets of sides of one table: exact, private."""

    def __init__(self, masks: Masks, shares: LeafShares) -> None:
        self._shares, rows = shares, next(iter(masks.searches.values())).rows
        self._is_two = len(rows.space.candidates.schema.classes) == 2
        self._values = np.zeros((len(shares.loss.values), len(rows)))
        self._first, self._uses = np.zeros(1 + rows.space.n_options), np.zeros(rows.space.n_options)
        self._sizes = size_chances(np.array([masks.total(size) for size in masks.searches]))
        for (size, search), chance in zip(masks.searches.items(), self._sizes, strict=True):
            if search.levels:
                self._sweep(search, masks.values[size], chance)
            else:
                self._first[0] += chance
                self._values += chance * shares(rows.totals(np.ones((1, len(rows)), dtype=bool)))

    @property
    def chances(self) -> DrawChances:
        """What was found."""
        return DrawChances(self._values.T, self._sizes, self._first, self._uses)

    def _sweep(self, search: Search, values: list[Floats], chance: float) -> None:
        """Pass the chance of a search on, level by level."""
        come = np.array([chance])
        for depth in range(len(search.levels)):
            below = np.zeros(len(values[depth + 1]) if depth + 1 < len(values) else 0)
            live = np.flatnonzero(come > self._shares.negligible)
            is_last = depth + 1 == len(search.levels) and search.semiring.spread is not None and self._is_two
            for block in search.rows.blocks(len(live)):
                if is_last:
                    self._pass_on_last(search, depth, live[block], values[depth], come[live[block]])
                else:
                    self._pass_on(search, depth, live[block], values, come[live[block]], below)
            come = below

    def _pass_on(
        self, search: Search, depth: int, chosen: Chosen, values: list[Floats], come: Floats, below: Floats
    ) -> None:
        """Pass the chances to come to some states of a level on to their leaves, and to the states `below`."""
        matrix, catches = search.rows, search.rows.catches
        rows = matrix.on(search.levels[depth].states[chosen])
        following = values[depth + 1] if depth + 1 < len(values) else None
        stop, options = search.weigh(depth, chosen, rows, following)
        value = values[depth][chosen]
        caught, total = matrix.counts(rows)
        stopped = come * np.exp(stop - value)
        taken = come[:, None] * np.exp(options - value[:, None])
        self._values += (stopped * self._shares(total)) @ rows
        for branch, part in ((CAUGHT, caught), (LEFT, total[..., None] - caught)):
            children = None if following is None else search.levels[depth].children(chosen, branch)
            if children is None:
                self._values += _given(rows, self._shares(part) * taken, catches if branch == CAUGHT else ~catches)
            else:
                places = np.clip(children.ravel(), 0, len(below) - 1)
                below += np.bincount(places, taken.ravel(), minlength=len(below))
        self._tell(depth, stopped, taken)

    def _pass_on_last(self, search: Search, depth: int, chosen: Chosen, value: Floats, come: Floats) -> None:
        """Pass the chances on where one choice is left, of errors of two classes: by differences of counts."""
        matrix, semiring, states = search.rows, search.semiring, search.levels[depth].states[chosen]
        rows, is_open = matrix.on(states), matrix.space.open(states)
        n_open, value = is_open.sum(axis=1), value[chosen]
        caught, totals = matrix.differences(rows)
        stopped = come * np.exp(semiring.leaf(totals) + semiring.stop(n_open) - value)
        log_each = np.log(come) + semiring.go(n_open) - value
        more = 2 * caught - (totals[0] - totals[1])[:, None]
        alike, unlike = last_choices(log_each, self._shares.weight, totals, more)
        unlike *= is_open
        self._values += (stopped * self._shares(totals) + n_open * alike) @ rows
        (one, other), catches = _summed(rows, unlike), matrix.catches
        self._values[0] += np.where(catches, one, other).sum(axis=1)
        self._values[1] += np.where(catches, other, one).sum(axis=1)
        self._tell(depth, stopped, alike.sum(axis=0)[:, None] * is_open + unlike.sum(axis=0))

    def _tell(self, depth: int, stopped: Floats, taken: Floats) -> None:
        """Add what is known of the options, from shape ``(n_states, n_options)``."""
        each = taken.sum(axis=0)
        self._uses += each
        if not depth:
            self._first += np.append(stopped.sum(), each)


def _summed(rows: NDArray[np.bool_], chances: Floats) -> Floats:
    """Return chances summed over the states that each pattern is in, shape ``(n_values, n_patterns, n_options)``.

    From masks of shape ``(n_states, n_patterns)`` and chances of shape ``(n_values, n_states, n_options)``.
    """
    flat = np.moveaxis(chances, 0, 1).reshape(len(rows), -1)
    return np.moveaxis((rows.T.astype(np.float64) @ flat).reshape(rows.shape[1], len(chances), -1), 1, 0)


def _given(rows: NDArray[np.bool_], chances: Floats, sides: NDArray[np.bool_]) -> Floats:
    """Return the chances that patterns on one side of options are given, shape ``(n_values, n_patterns)``."""
    return (_summed(rows, chances) * sides).sum(axis=2)
