"""The exact inference about one row from a private set of trees, by listing all sets of a small space."""

from collections.abc import Iterator
from math import log, perm
from typing import Any

import numpy as np

from hedgerow.audit import ExactInference
from hedgerow.audit.exact.outcomes import Cells
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.arguments import check_share
from hedgerow.boundary.arrays import Floats, Index, Mask
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.search.space import CAUGHT, LEFT
from hedgerow.privacy.amounts import Amount, exact
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally
from lab.tree_sets.draw import set_search
from lab.tree_sets.search import SetSearch

_MOST_SETS = 5_000_000


def inference_from_set(
    schema: Schema,
    X: Any,
    y: Any,
    *,
    epsilon: Amount,
    n_models: int,
    max_depth: int,
    candidates: tuple[Any, Any],
    absent: float = 0.0,
) -> ExactInference:
    """Compute how often the best attacker guesses which candidate is in a table, from a set of trees.

    The game is that of `hedgerow.audit.exact_inference`: the attacker knows all other rows, X and y, and sees all
    trees. The candidates are equally likely, and none of them is in the table with probability `absent`. All sets are
    listed in all orders, so the space of trees must be small. **The result is private.**
    """
    others = LabelledRows.of_pair("candidates", candidates)
    check_share("absent", absent)
    cells = Cells.of(LabelledRows.of(X, y), others, schema)
    search = set_search(schema, epsilon, n_models, max_depth)
    weight = float(search.draw(exact(epsilon, "epsilon") / n_models).weight)
    lost, each = set_chances(search, weight, n_models, cells)
    prior = np.array([(1 - absent) / len(others)] * len(others) + [absent])
    return ExactInference(lost, each[:, -1], prior, float((each * prior).max(axis=1).sum()), each)


def set_chances(search: SetSearch, weight: float, n: int, cells: Cells) -> tuple[Floats, Floats]:
    """Return the share of trees of each set that errs on each candidate, and the chances of all sets.

    Shapes ``(n_sets, n_candidates)`` and ``(n_sets, n_candidates + 1)``, the last without any: exact, private.
    """
    sets = perm(int(search.n_trees), n)
    if sets * (len(cells.levels) - cells.n_members + 1) > _MOST_SETS:
        raise SearchTooLargeError(
            f"Expected {_MOST_SETS:,} chances of sets in all orders at most, got more: {sets:,} sets. Use fewer trees, "
            "a smaller max_depth, or fewer attributes, values or cut points.",
            states=sets,
            evaluations=sets,
        )
    priors, values = all_trees(search, cells.tally)
    levels = np.arange(search.n_values)
    _, counts = cells.tally.bins_and_counts()
    lost = (values[:, :, None] != levels).reshape(len(priors), -1) @ counts.reshape(-1).astype(np.float64)
    who = slice(cells.n_members, None)
    errs = np.column_stack([values[:, cells.patterns[who]] != cells.levels[who], np.zeros(len(priors))])
    logs = priors[:, None] - weight * (lost[:, None] + errs)
    trees, chances = sequences(np.exp(logs - logs.max(axis=0)), n)
    return errs[trees].mean(axis=1)[:, :-1], chances


def sequences(weights: Floats, n: int) -> tuple[Index, Floats]:
    """Return all orders of n different things, and their chances if each is drawn by its weight from what is left.

    From weights of shape ``(n_things, n_cases)``; shapes ``(n_orders, n)`` and ``(n_orders, n_cases)``.
    """
    result, chances = np.empty((1, 0), dtype=np.intp), np.ones((1, weights.shape[1]))
    for _ in range(n):
        left = np.ones((len(result), len(weights)), dtype=bool)
        np.put_along_axis(left, result, values=False, axis=1)
        before, things = np.nonzero(left)
        chances = (chances / (left @ weights))[before] * weights[things]
        result = np.column_stack([result[before], things])
    return result, chances


def all_trees(search: SetSearch, tally: Tally) -> tuple[Floats, Index]:
    """Return the logarithm of the prior of each tree, and what it says of each pattern, ``(n_trees, n_patterns)``."""
    space, n_values = search.space, search.n_values
    caught = tally.patterns(space.candidates)[0][:, space.options]

    def below(depth: int, box: Mask) -> Iterator[tuple[float, Index, int | None]]:
        options = np.flatnonzero(space.divided(box[None])[0]) if depth < search.depth else []
        stop, go = search.prior.log_stop(depth), search.prior.log_go(depth)
        for value in range(n_values):
            yield (stop if len(options) else 0.0) - log(n_values), np.full(len(caught), value), value
        for option in options:
            sides = (box & space.side_bins[space.sides(branch)[option]] for branch in (CAUGHT, LEFT))
            yes, no = (list(below(depth + 1, side)) for side in sides)
            for prior, said, leaf in yes:
                for other, says, also in no:
                    if leaf is None or leaf != also:
                        both = go - log(len(options)) + prior + other
                        yield both, np.where(caught[:, option], said, says), None

    trees = list(below(0, space.root))
    return np.array([prior for prior, _, _ in trees]), np.array([said for _, said, _ in trees], dtype=np.intp)
