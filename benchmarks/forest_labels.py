"""The private forest of Fletcher and Islam (2017) for two classes: its trees, labels and losses.

A rule for labels is a function of the gap between the two class counts of a leaf and of ε. It returns the logarithm of
the probability that the leaf gets the label with fewer rows; with a gap of 0 each label has probability ½.
"""

from dataclasses import dataclass
from itertools import count

import numpy as np
import pandas as pd

CAP = 50  # the authors' code bounds the exponent of a weight
MOST_DEPTH = 15  # and the depth


def published(gaps, epsilon):
    """Use the exponential mechanism, score 1 for the label with most rows and 0 otherwise, sensitivity exp(-gap·ε)."""
    with np.errstate(over="ignore"):
        powers = epsilon / 2 * np.exp(np.asarray(gaps) * epsilon)
    return np.where(np.asarray(gaps) == 0, np.log(0.5), -np.logaddexp(0, powers))


def as_released(gaps, epsilon):
    """Apply the published rule with the bound of the authors' code."""
    return np.maximum(published(gaps, epsilon), np.where(np.asarray(gaps) == 0, np.log(0.5), -np.logaddexp(0, CAP)))


def permute_and_flip(gaps, epsilon):
    """Use permute-and-flip on the counts, which are monotone with sensitivity 1."""
    return np.log(0.5) - epsilon * np.asarray(gaps)


def exponential(gaps, epsilon):
    """Use the exponential mechanism on the counts, which are monotone with sensitivity 1."""
    return -np.logaddexp(0, epsilon * np.asarray(gaps))


def majority(gaps, epsilon):  # noqa: ARG001 -- the signature of a rule
    """Choose the label with most rows, without privacy."""
    return np.where(np.asarray(gaps) == 0, np.log(0.5), -np.inf)


def log_ratios(rule, epsilon, most):
    """Return log P(minority | gap) - log P(minority | gap + 1) for gaps up to `most`: the loss on two such tables."""
    return -np.diff(rule(np.arange(most + 2), epsilon))


def loss(rule, epsilon, most):
    """Return the ε that a row added to a leaf or removed from it costs, with gaps of at most `most`."""
    minority = rule(np.arange(most + 1), epsilon)
    return max(np.abs(np.diff(log)).max() for log in (minority, np.log1p(-np.exp(minority))))


def delta(rule, epsilon, loss, most=200):
    """Return the least δ for which one row more or less in a leaf costs (`loss`, δ)."""
    minority = np.exp(rule(np.arange(most + 1), epsilon))
    pairs = ((p, q) for p in (minority, 1 - minority) for p, q in ((p[:-1], p[1:]), (p[1:], p[:-1])))
    return max(0.0, *(float((p - np.exp(loss) * q).max()) for p, q in pairs))


def loss_at(rule, epsilon, target, most=200):
    """Return the least ε for which one row more or less costs (ε, `target`)."""
    minority = rule(np.arange(most + 1), epsilon)
    result = 0.0
    for log in (minority, np.log1p(-np.exp(minority))):
        for p, q in ((log[:-1], log[1:]), (log[1:], log[:-1])):
            likely = p > np.log(target)
            rest = np.log(np.exp(p[likely]) - target)
            result = max(result, float((rest - q[likely]).max(initial=0)))
    return result


def smallest_counterexample(epsilon):
    """Return the least number of rows of a class in a leaf for which an added row of this class costs more than ε."""
    return next(gap for gap in count() if log_ratios(published, epsilon, gap)[gap] > epsilon)


@dataclass(frozen=True)
class Columns:
    """Distinct rows as codes of categories (with their number) and numbers (0 categories, with their range)."""

    table: np.ndarray
    arities: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, frame):
        """Return the distinct rows of a frame, and the place of each row among them; yes/no columns are categories."""
        is_number = [pd.api.types.is_numeric_dtype(frame[name]) and set(frame[name]) - {0, 1} for name in frame]
        codes = [
            frame[name].to_numpy(dtype=float) if number else pd.factorize(frame[name], use_na_sentinel=False)[0]
            for name, number in zip(frame, is_number, strict=True)
        ]
        table, places = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
        low, high = table.min(axis=0), table.max(axis=0)
        return cls(table, np.where(is_number, 0, high + 1).astype(int), low, high), places

    @property
    def depth(self):
        """Depth of the trees: half the categories, and tests until half of the numbers occur on average."""
        numbers, depth = int((self.arities == 0).sum()), 0
        left = numbers
        while numbers and left > numbers / 2:
            left = numbers * ((numbers - 1) / numbers) ** depth
            depth += 1
        return min(MOST_DEPTH, int(depth + (len(self.arities) - numbers) / 2))


def grow(columns, depth, rng):
    """Return the leaf of each row in a random tree.

    Each node tests a random column among the numbers, at a uniform cut in the range that is left, and the categories
    that its path has not tested, with a branch for each category. Nodes without a row are not made.
    """
    table, arities = columns.table, columns.arities
    places, most = np.arange(len(table)), max(2, arities.max())
    nodes, used = np.zeros(len(table), dtype=int), np.zeros((1, len(arities)), dtype=bool)
    low, high = columns.low[None], columns.high[None]
    for _ in range(depth):
        each = np.arange(len(used))
        tested, is_leaf = np.where(used, -1, rng.random(used.shape)).argmax(axis=1), used.all(axis=1)
        is_number, cuts = arities[tested] == 0, rng.uniform(low[each, tested], high[each, tested])
        values = table[places, tested[nodes]]
        branches = np.where(is_number[nodes], values >= cuts[nodes], values).astype(int)
        kept, nodes = np.unique(most * nodes + np.where(is_leaf[nodes], 0, branches), return_inverse=True)
        parents, branch, each = kept // most, kept % most, np.arange(len(kept))
        used, low, high = used[parents], low[parents], high[parents]
        tested, is_number, cuts = tested[parents], is_number[parents], cuts[parents]
        used[each, tested] |= ~is_number
        low[each, tested] = np.where(is_number & (branch == 1), cuts, low[each, tested])
        high[each, tested] = np.where(is_number & (branch == 0), cuts, high[each, tested])
    return nodes


def subsets(rows, trees, rng):
    """Return the tree of each row as the authors' code chooses it: shuffled, equal parts, the rest (-1) unused."""
    parts = np.full(rows, -1)
    used = rng.permutation(rows)[: rows // trees * trees]
    parts[used] = np.repeat(np.arange(trees), rows // trees)
    return parts


def independent(rows, trees, rng):
    """Return the tree of each row, chosen independently, so that an added row does not move any other row."""
    return rng.integers(trees, size=rows)


def label(counts, rule, epsilon, rng):
    """Return the label (0 or 1) of each leaf from its two counts."""
    gaps = counts[:, 1] - counts[:, 0]
    is_minority = rng.random(len(counts)) < np.exp(rule(np.abs(gaps), epsilon))
    return (gaps > 0) ^ is_minority
