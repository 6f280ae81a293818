"""Sets of trees that were drawn together: their chances, by listing all trees and all orders of them; small spaces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from math import perm

import numpy as np
from numpy.typing import NDArray

from hedgerow.audit.exact.outcomes import Cells, Floats, Index
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search.sets import SetSearch
from hedgerow.learn.search.space import CAUGHT, LEFT, Bins
from hedgerow.learn.tree_sets import PrivateTreeSet
from hedgerow.tally import Tally

_MOST_SETS = 5_000_000


def set_chances(learner: PrivateTreeSet, cells: Cells) -> tuple[Floats, Floats]:
    """Return the share of trees of each set that errs on each candidate, and the chances of all sets.

    Shapes ``(n_sets, n_candidates)`` and ``(n_sets, n_candidates + 1)``, the last without any: exact, private.
    """
    plan = learner._plan(cells.tally.schema)  # pyright: ignore[reportPrivateUsage] -- for audits, not for users
    sets, n = perm(int(plan.search.n_trees), plan.n_models), plan.n_models
    if sets * (len(cells.levels) - cells.n_members + 1) > _MOST_SETS:
        raise SearchTooLargeError(
            f"Expected {_MOST_SETS:,} chances of sets in all orders at most, got more: {sets:,} sets. Use fewer trees, "
            "a smaller max_depth, or fewer attributes, values or cut points.",
            states=sets,
            evaluations=sets,
        )
    priors, values = all_trees(plan.search, cells.tally)
    levels = np.arange(plan.search.n_values)
    _, counts = cells.tally.bins_and_counts()
    lost = (values[:, :, None] != levels).reshape(len(priors), -1) @ counts.reshape(-1).astype(np.float64)
    who = slice(cells.n_members, None)
    errs = np.column_stack([values[:, cells.patterns[who]] != cells.levels[who], np.zeros(len(priors))])
    logs = priors[:, None] - float(plan.mechanism.each.weight) * (lost[:, None] + errs)
    trees, chances = sequences(np.exp(logs - logs.max(axis=0)), n)
    return errs[trees].mean(axis=1)[:, :-1], chances


def sequences(weights: Floats, n: int) -> tuple[Index, Floats]:
    """Return all orders of n different things, and their chances if each is drawn by its weight from what is left.

    From weights of shape ``(n_things, n_cases)``; shapes ``(n_orders, n)`` and ``(n_orders, n_cases)``.
    """
    found, chances = np.empty((1, 0), dtype=np.intp), np.ones((1, weights.shape[1]))
    for _ in range(n):
        left = np.ones((len(found), len(weights)), dtype=bool)
        np.put_along_axis(left, found, values=False, axis=1)
        before, things = np.nonzero(left)
        chances = (chances / (left @ weights))[before] * weights[things]
        found = np.column_stack([found[before], things])
    return found, chances


def all_trees(search: SetSearch, tally: Tally) -> tuple[Floats, NDArray[np.intp]]:
    """Return the logarithm of the prior of each tree, and what it says of each pattern, ``(n_trees, n_patterns)``."""
    space, n_values = search.space, search.n_values
    caught = tally.patterns(space.candidates)[0][:, space.options]
    stop, go = math.log(search.stop_probability), math.log1p(-search.stop_probability)

    def below(depth: int, box: Bins) -> Iterator[tuple[float, NDArray[np.intp], int | None]]:
        options = np.flatnonzero(space.divided(box[None])[0]) if depth else []
        for value in range(n_values):
            yield (stop if len(options) else 0.0) - math.log(n_values), np.full(len(caught), value), value
        for option in options:
            sides = (box & space.side_bins[space.sides(branch)[option]] for branch in (CAUGHT, LEFT))
            yes, no = (list(below(depth - 1, side)) for side in sides)
            for prior, said, leaf in yes:
                for other, says, also in no:
                    if leaf is None or leaf != also:
                        both = go - math.log(len(options)) + prior + other
                        yield both, np.where(caught[:, option], said, says), None

    trees = list(below(search.depth, space.root))
    return np.array([prior for prior, _, _ in trees]), np.array([said for _, said, _ in trees], dtype=np.intp)
