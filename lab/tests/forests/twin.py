"""All tables of a few rows, one by one: the slow twin of the search for the most likely one."""

from collections import Counter
from collections.abc import Iterator
from itertools import combinations_with_replacement, product
from math import factorial, log

import numpy as np

from hedgerow.schema import Boolean, Label, Schema

NAMES = ("a", "b", "c")
SCHEMA = Schema({name: Boolean() for name in NAMES}, Label("y", (0, 1)))
CELLS = list(product((0, 1), repeat=len(NAMES) + 1))
"""All patterns of three bits, each with a class."""


def tables(n_rows: int) -> Iterator[Counter]:
    """Yield all tables of so many rows, whatever the order of these, as numbers of rows of each pattern."""
    return map(Counter, combinations_with_replacement(CELLS, n_rows))


def table_of(guess) -> Counter:
    """Return the rows of a guess as numbers of rows of each pattern."""
    return Counter(
        (*map(int, row), int(label)) for row, label in zip(guess.bins.tolist(), guess.labels.tolist(), strict=True)
    )


def drawn(rng, n_rows):
    """Return rows of three bits, and labels that mostly follow the first."""
    X = rng.integers(0, 2, (n_rows, len(NAMES)))
    return X, np.where(rng.random(n_rows) < 0.8, X[:, 0], 1 - X[:, 0])


def counts_of(table: Counter, apply, n_leaves: int) -> np.ndarray:
    """Return the rows of each class in each leaf, shape (n_leaves, 2), by a function of the bits of a row."""
    result = np.zeros((n_leaves, 2), dtype=int)
    for (*bits, label), n in table.items():
        result[apply(bits), label] += n
    return result


def orders(table: Counter) -> float:
    """Return in how many orders the rows of a table come."""
    result = factorial(sum(table.values()))
    for n in table.values():
        result //= factorial(n)
    return result


def laplace(counts, seen, scale) -> float:
    """Return the log-likelihood of noisy counts, up to a constant."""
    return -float(np.abs(np.asarray(counts) - np.asarray(seen)).sum()) / scale


def bootstrap(counts, draws, distinct) -> float:
    """Return the log-likelihood of a bootstrap sample's draws; of leaves of one class also of the different rows."""
    total = 0.0
    for own, drawn_here, different in zip(counts.tolist(), draws.tolist(), distinct.tolist(), strict=True):
        if any(k and not n for n, k in zip(own, drawn_here, strict=True)):
            return -np.inf
        drawn_from = [(n, k) for n, k in zip(own, drawn_here, strict=True) if k]
        if sum(n for n, _ in drawn_from) < different:
            return -np.inf
        for n, k in drawn_from:
            # which of a class of a leaf with several are different is not known: d of this class at least
            if n < different - sum(drawn_here) + k:
                return -np.inf
            total += k * log(n) if len(drawn_from) > 1 else sum(log(n - i) for i in range(different))
    return total


def chance_of(apply, n_leaves, table: Counter, draws, distinct) -> float:
    """Return the chance that a bootstrap sample of a table has these draws and different rows, by all samples."""
    rows = [row for row, n in table.items() for _ in range(n)]
    hits = 0
    for sample in product(range(len(rows)), repeat=len(rows)):
        result = counts_of(Counter(rows[i] for i in sample), apply, n_leaves)
        different = counts_of(Counter(rows[i] for i in set(sample)), apply, n_leaves).sum(axis=1)
        hits += bool((result == draws).all() and (different == distinct).all())
    return hits / len(rows) ** len(rows)
