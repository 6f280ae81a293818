"""Queries of a scorecard: integers with exact sensitivity (docs/mathematics.md, fact 5)."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from hedgerow.boundary.arithmetic import exponential, logistic
from hedgerow.boundary.arrays import Array, Floats, Integers, Whole
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Label
from hedgerow.tally import Tally

STEPS = 2**10  # the unit of residuals and class shares: public, the same for every table
GRID = 2**40  # steps of a unit of log-odds
FEATURE, IN_PART = 2**3, 2**4  # steps of a standard deviation, and of a row's weight
_FURTHEST = 8  # the bound of features, in standard deviations
_LARGEST = 100.0
_BLOCK, _ROWS = 128, 2**15  # columns, and patterns, at a time
LogOdds = Mapping[int, Array]


def histograms(tally: Tally, attributes: Sequence[int]) -> Integers:
    """Return the class counts in the bins of these attributes, concatenated, shape ``(n_bins, n_classes)``."""
    # An added row raises a single count of each attribute by 1, all for the same class: ℓ1 sensitivity
    # ``len(attributes)``, and ℓ2² the same; in the norm of `SharedHistograms` the sensitivity is 1.
    bins, counts = tally.bins_and_counts()
    sizes = [attribute.n_bins for _, attribute in tally.schema.attributes]
    return np.concatenate([_by_bin(bins[:, i], counts, sizes[i]) for i in attributes])


def in_steps(shares: Floats) -> Integers:
    """Return class shares, along the last axis, in steps: integers ≥ 0 that add up to `STEPS`."""
    # The sensitivity proofs of `associations` and of residuals by class need both properties. Rounding the cumulative
    # shares ensures them.
    ends = np.cumsum(shares, axis=-1)
    return np.diff(np.rint(STEPS * (ends / ends[..., -1:])).astype(np.int64), axis=-1, prepend=0)


def associations(tally: Tally, shares: Integers) -> Integers:
    """Return the association of each attribute with the class: ``Σ |STEPS·n_bc − s_c·n_b|`` over bins b and classes c.

    The shares s were released, in steps (`in_steps`). An added row of class y is in one bin of each attribute
    and changes each sum, up or down, by at most ``Σ_c |STEPS·[c = y] − s_c| = 2(STEPS − s_y) ≤ 2·STEPS``.
    """
    bins, counts = tally.bins_and_counts()
    scores: list[int] = []
    for column, (_, attribute) in zip(_columns(bins), tally.schema.attributes, strict=True):
        rows = _by_bin(column, counts, attribute.n_bins)
        scores.append(int(np.abs(STEPS * rows - rows.sum(axis=1, keepdims=True) * shares).sum()))
    return np.array(scores, dtype=np.int64)


class Residuals:
    """Residuals by bin, while log-odds change attribute by attribute.

    The log-odds of each pattern are sums of integers, so they do not depend on the order of additions. A row's residual
    depends only on this row and on released numbers.
    """

    def __init__(self, tally: Tally, base: Floats) -> None:
        self._tally = tally
        self._log_odds = whole_log_odds(base)

    def by_bin(self, attribute: int, changes: LogOdds) -> Integers:
        """Return the sums of residuals by bin of an attribute, then of their variances, in steps, for two classes.

        A row of class y has the residual ``STEPS·y − p`` and the variance ``⌊p(STEPS − p)/STEPS⌋``. Here p is the
        probability of the second class from released log-odds, between 0 and `STEPS`, a function of the row's bins.
        With ``u = |y − p/STEPS|`` an added row adds ``u`` and at most ``u(1 − u)``, in units of `STEPS`, to one bin:
        ℓ1 sensitivity ``STEPS·u(2 − u) ≤ STEPS``, and ℓ2² ``STEPS²·u²(1 + (1 − u)²) ≤ STEPS²``.
        """
        bins, counts = self._tally.bins_and_counts()
        chances, variances = self._chances(bins, changes)
        rows = counts.sum(axis=1)
        errors = STEPS * counts[:, 1] - chances * rows
        return self._summed(bins, attribute, np.column_stack([errors, variances * rows])).T.ravel()

    def by_feature(self, features: LogOdds, changes: LogOdds, most: int, *, pure: bool) -> Integers:
        """Return the sums of residuals times features, then of variances times pairs of features, for two classes.

        A row has an integer feature z for each attribute, which depends on its bin and on released numbers. It adds
        ``FEATURE·(STEPS·y − p)·z_i`` to k sums, and ``⌊p(STEPS − p)/STEPS⌋·z_i·z_j`` to a sum for each i ≤ j. These
        terms are multiplied by an integer from 0 to `IN_PART`, so that their norm, ℓ1 (pure) or ℓ2, is at most the
        sensitivity ``most·IN_PART``.
        """
        bins, counts = self._tally.bins_and_counts()
        chances, variances = self._chances(bins, changes)
        k = len(features)
        sums = np.zeros((1 + k, k), dtype=np.int64)
        for start in range(0, len(bins), _ROWS):
            block = slice(start, start + _ROWS)
            z = np.column_stack([values[bins[block, i]] for i, values in features.items()])
            errors, spread = STEPS * np.arange(2) - chances[block, None], variances[block, None]
            parts = counts[block] * _in_part(z, errors, spread, most, pure=pure)
            contributions = [FEATURE * (errors * parts).sum(axis=1), spread * parts.sum(axis=1, keepdims=True) * z]
            sums += np.column_stack(contributions).T @ z
        return np.concatenate([sums[0], sums[1:][np.triu_indices(k)]])

    def by_bin_and_class(self, attribute: int, changes: LogOdds) -> Integers:
        """Return the sums of residuals by bin of an attribute and class, in steps.

        A row of class y has the residuals ``STEPS·[c = y] − p_c``. Its probabilities p, from released log-odds, are not
        negative and add up to `STEPS` (`in_steps`); they are a function of the row's bins. An added row adds its
        residuals to one bin. They add up to 0, so the ℓ1 sensitivity is ``2(STEPS − p_y) ≤ 2·STEPS`` and ℓ2² is
        ``(STEPS − p_y)² + Σ_(c ≠ y) p_c² ≤ 2·STEPS²``.
        """
        bins, counts = self._tally.bins_and_counts()
        odds = self._moved(bins, changes) / GRID
        chances = in_steps(exponential(odds - odds.max(axis=1, keepdims=True)))
        errors = STEPS * counts - chances * counts.sum(axis=1, keepdims=True)
        return self._summed(bins, attribute, errors).ravel()

    def _summed(self, bins: Whole, attribute: int, values: Integers) -> Integers:
        return _by_bin(bins[:, attribute], values, self._tally.schema.attributes[attribute][1].n_bins)

    def _chances(self, bins: Whole, changes: LogOdds) -> tuple[Integers, Integers]:
        chances = np.rint(STEPS * logistic(self._moved(bins, changes)[:, 0] / GRID)).astype(np.int64)
        chances = np.clip(chances, 0, STEPS)  # the sensitivity depends on these bounds
        return chances, chances * (STEPS - chances) // STEPS

    def _moved(self, bins: Whole, changes: LogOdds) -> Integers:
        """Apply changes to the log-odds of each pattern, and return them."""
        if changes:
            self._log_odds = self._log_odds + added(changes, bins)
        return self._log_odds


class NumberResiduals(Residuals):
    """Residuals of a regression by bin, in shares of the target's range.

    A row at level k of K has the value ``⌊STEPS·k/(K − 1)⌉``. Its prediction is clipped to [0, `STEPS`] and is a
    function of the row's bins.
    """

    def sizes(self, changes: LogOdds) -> Integers:
        """Return the sum of absolute residuals, in steps; an added row adds at most `STEPS`."""
        bins, counts = self._tally.bins_and_counts()
        return np.array([(np.abs(self._away(bins, changes)) * counts).sum()], dtype=np.int64)

    def by_bin_within(self, attribute: int, changes: LogOdds, bound: int) -> Integers:
        """Return the sums of residuals by bin of an attribute, each residual clipped to ±`bound` steps.

        An added row adds its residual to one bin: ℓ1 sensitivity `bound`, and ℓ2² ``bound²``.
        """
        bins, counts = self._tally.bins_and_counts()
        away = np.clip(self._away(bins, changes), -bound, bound)
        return self._summed(bins, attribute, (away * counts).sum(axis=1, keepdims=True)).ravel()

    def _away(self, bins: Whole, changes: LogOdds) -> Integers:
        """Return the residual of each pattern and level, shape ``(n_patterns, n_levels)``."""
        n_levels = self._tally.schema.target.n_levels
        values = np.rint(STEPS * np.arange(n_levels) / (n_levels - 1)).astype(np.int64)
        predictions = np.rint(STEPS * (self._moved(bins, changes) / GRID)).astype(np.int64)
        return values - np.clip(predictions, 0, STEPS)  # the sensitivity depends on these bounds


def moments(tally: Tally) -> Integers:
    """Return the sums over rows of ``k²``, ``2k(K − 1 − k)`` and ``(K − 1 − k)²`` for levels k of K.

    They give the number of rows, and the mean and variance of their levels. An added row adds three numbers ≥ 0 whose
    sum is ``(K − 1)²``, which is the ℓ1 sensitivity; its square bounds ℓ2².
    """
    up, down = _ends(tally.schema)
    return tally.total() @ np.column_stack([up * up, 2 * up * down, down * down])


def between_ends(tally: Tally) -> Tally:
    """Return a tally with two classes, the lowest and the highest level of a number.

    A row at level k of K counts ``K − 1 − k`` times in the first class and k times in the second, K − 1 times in
    total. The sensitivities of `histograms` and `associations` are therefore K − 1 times as large, in ℓ1 and ℓ2.
    """
    bins, counts = tally.bins_and_counts()
    up, down = _ends(tally.schema)
    two = Schema(tally.schema.attributes, Label(tally.schema.target.name, (0, 1)))
    return Tally(two, bins, counts @ np.column_stack([down, up]))


def _ends(schema: Schema) -> tuple[Integers, Integers]:
    """Return the distance of each level from the lowest, and from the highest level."""
    up = np.arange(schema.target.n_levels, dtype=np.int64)
    return up, up[::-1]


def whole_log_odds(values: Floats | float) -> Integers:
    """Return log-odds as integers in steps of 2⁻⁴⁰, clipped to ±100; NaN becomes 0. Sums of integers are exact."""
    return np.rint(GRID * np.clip(np.nan_to_num(values), -_LARGEST, _LARGEST)).astype(np.int64)


def in_features(values: Floats, spread: float) -> Integers:
    clipped = np.clip(np.nan_to_num(values / spread), -_FURTHEST, _FURTHEST)
    return np.rint(FEATURE * clipped).astype(np.int64)


def _in_part(z: Integers, errors: Integers, variances: Integers, most: int, *, pure: bool) -> Integers:
    """Return the weight of a row, in steps, for each pattern and class."""
    absolutes, squares = np.abs(z).sum(axis=1)[:, None], (z**2).sum(axis=1)[:, None]
    if pure:
        sizes = FEATURE * np.abs(errors) * absolutes + variances * ((absolutes**2 + squares) // 2)
    else:
        pairs = (squares**2 + (z**4).sum(axis=1)[:, None]) // 2
        sizes = np.sqrt((FEATURE * errors) ** 2 * squares + variances**2 * pairs).astype(np.int64) + 1  # rounded up
    return np.minimum(most * IN_PART // np.maximum(sizes, 1), IN_PART)


def outcomes(tally: Tally, points: LogOdds, edges: Integers) -> Integers:
    """Return the counts of two classes by bucket of the total, ``(2·n_buckets,)``; a row changes one count by 1."""
    # A bucket includes its upper edge.
    bins, counts = tally.bins_and_counts()
    return _by_bin(np.searchsorted(edges, added(points, bins)), counts, len(edges) + 1).ravel()


def leads(tally: Tally, base: Integers, points: LogOdds, edges: Integers) -> Integers:
    """Return counts of misclassified and correct rows by margin of the largest total; a row changes one count by 1."""
    # `points` are by bin and class, shape ``(n_bins, n_classes)``; the result has shape ``(2·n_buckets,)``, with
    # `edges` as in `outcomes`.
    bins, counts = tally.bins_and_counts()
    totals = base + added(points, bins)
    ordered = np.sort(totals, axis=1)
    correct = counts[np.arange(len(counts)), totals.argmax(axis=1)]
    places = np.searchsorted(edges, ordered[:, -1] - ordered[:, -2])
    return _by_bin(places, np.column_stack([counts.sum(axis=1) - correct, correct]), len(edges) + 1).ravel()


def added(by_bin: LogOdds, bins: Whole) -> Array:
    """Return the sum of the values of each pattern's bins, shape ``(n_patterns, …)``."""
    shape = next(iter(by_bin.values())).shape[1:] if by_bin else ()
    totals = np.zeros((len(bins), *shape), dtype=np.int64)
    for attribute, values in by_bin.items():
        totals += values[bins[:, attribute]]
    return totals


def _columns(bins: Whole) -> Iterator[Whole]:
    """Yield the columns from contiguous blocks, which is twice as fast with thousands of columns."""
    for start in range(0, bins.shape[1], _BLOCK):
        yield from np.ascontiguousarray(bins[:, start : start + _BLOCK].T)


def _by_bin(bins: Whole, counts: Integers, size: int) -> Integers:
    """Return the rows of each class in each bin, shape ``(n_bins, n_classes)``."""
    by_class = np.zeros((counts.shape[1], size), dtype=np.int64)
    for column, rows in zip(by_class, counts.T, strict=True):  # faster than all classes at once
        np.add.at(column, bins, rows)
    return by_class.T
