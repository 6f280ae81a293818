"""Minimum-cost matching of reconstructed rows with the rows of a table (PDR, Section II-B)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import optimize, sparse

from hedgerow.audit.counting.bin_values import Floats
from hedgerow.audit.entropy.values import Index
from hedgerow.audit.probabilistic.dataset import ProbabilisticDataset, labels_in, value_bins
from hedgerow.errors import ArgumentError, StateError
from hedgerow.tables.frames import Table

_LARGEST = 2_000_000
"""Maximum number of variables of a linear program: distinct row distributions times distinct columns of costs."""


def align(known: ProbabilisticDataset, data: Any) -> Index:
    """Match the rows of a probabilistic dataset with those of a table at minimum cost, as the Hungarian algorithm does.

    The matching has the fewest pairs in which the row is impossible under the distribution (its label included), and
    among these matchings the least sum of distances. The distance of a pair is the sum over attributes of the expected
    distance of the row's value from the distribution's: the difference of numbers as a share of the domain's length,
    and 0 or 1 for other values.

    Rows with the same distribution, and rows of the same costs, are matched together, as in a transportation problem.
    It has the minimum of the assignment problem, and takes a second where that, with its many ties, takes a minute.

    Parameters
    ----------
    known : ProbabilisticDataset
        The distribution of each row.
    data : frame or array
        As many rows, else ValueError, with the attributes as columns, else DomainError; labels are compared if there is
        a column of their name.

    Returns
    -------
    ndarray of int, shape (n_rows,)
        For each row of `known`, the index of its partner in `data`: ``data.iloc[order]`` is aligned with it.

    References
    ----------
    Kuhn, *The Hungarian Method for the Assignment Problem*, 1955; Crouse, *On Implementing 2D Rectangular Assignment
    Algorithms*, IEEE Transactions on Aerospace and Electronic Systems 52(4), 2016, for the algorithm that SciPy has.

    Examples
    --------
    >>> import pandas as pd
    >>> known = ProbabilisticDataset({"a": range(10)}, [{"a": {7, 8, 9}}, {"a": {0, 1, 2, 3, 7}}])
    >>> align(known, pd.DataFrame({"a": [7, 9]}))
    array([1, 0])
    """
    table = Table.of(data)
    if len(table) != known.n_rows:
        raise ArgumentError(f"expected a table of {known.n_rows} rows, got {len(table)}.")
    costs, kinds = _costs(known, table)
    different, places, counts = np.unique(costs.T, axis=0, return_inverse=True, return_counts=True)
    if different.size > _LARGEST:
        return optimize.linear_sum_assignment(costs[kinds])[1].astype(np.intp)
    moved = _transported(different.T, np.bincount(kinds), counts)
    partner = np.empty(len(table), dtype=np.intp)  # the kind of known row that each row is matched with
    partner[np.argsort(places.reshape(-1), kind="stable")] = np.repeat(
        np.tile(np.arange(len(costs)), len(counts)), moved.T.ravel()
    )
    order = np.empty_like(partner)
    order[np.argsort(kinds, kind="stable")] = np.argsort(partner, kind="stable")
    return order


def _transported(costs: Floats, supply: Index, demand: Index) -> Index:
    """Solve a transportation problem, shape ``(n_sources, n_sinks)``; a vertex, where the simplex ends, is whole."""
    n_from, n_to = costs.shape
    out = sparse.kron(sparse.eye(n_from), np.ones((1, n_to)))
    into = sparse.kron(np.ones((1, n_from)), sparse.eye(n_to))
    limits = np.concatenate([supply, demand])
    found = optimize.linprog(
        costs.ravel() / costs.max(initial=1.0), A_eq=sparse.vstack([out, into]).tocsr(), b_eq=limits, method="highs-ds"
    )
    if not found.success:
        raise StateError(f"expected SciPy to find a matching, got a failure: {found.message}")
    return np.rint(found.x).astype(np.intp).reshape(costs.shape)


def _costs(known: ProbabilisticDataset, table: Table) -> tuple[Floats, Index]:
    """Return the cost of each row of a table for each kind of row distribution, and the kind of each distribution."""
    codes, labels = value_bins(known, table), labels_in(known, table)
    distances = [values.distances(table, k) for k, values in enumerate(known.domains)]
    kinds = np.empty(known.n_rows, dtype=np.intp)
    known_labels = np.array(known.labels, dtype=object) if known.labels is not None and labels is not None else None
    rows: list[Floats] = []
    for row, where in known.groups:
        cost = np.sum([distances[k] @ np.array(chances, dtype=np.float64) for k, chances in row.marginals()], axis=0)
        possible = row.allows(codes)
        for label in [None] if known_labels is None else dict.fromkeys(known_labels[where].tolist()):
            own = where if known_labels is None else where[known_labels[where] == label]
            fits = possible if labels is None or known_labels is None else possible & (labels == label)
            # More than all distances together, so that no sum of them outweighs one more impossible pair.
            rows.append(cost + ~fits * (len(table) * len(known.domains) + 1.0))
            kinds[own] = len(rows) - 1
    return np.array(rows), kinds
