"""Merging of bins with similar values, which makes scorecards easier to read; post-processing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Index
from hedgerow.learn.scorecard.smoothing import Part
from hedgerow.schema.attributes import Attribute

# The allowance for merging is the sum of the first three terms, at most the fourth; benchmarks/segments.py has details.
MERGING = 7e-4  # expected loss for each row
OF_NOISE = 0.015  # share of the expected loss from noise
OF_BINS = 0.01  # loss for each value, which has a sampling error
OF_GAIN = 0.005  # share of the loss that the values save, less if they are noisy
OF_SUPPORT = 0.03  # the maximum loss from requiring support for every segment, as a share of the same loss
ROUNDING = 0.5  # the allowance of rounding, relative to the allowance of merging
_STEPS = 16  # of the bisection
_KEPT = 400  # bins, up to which the loss of every segment is kept for all steps
_LEAST_WEIGHT = 1e-6  # the smallest weight of a bin, relative to the mean weight


@dataclass(frozen=True, eq=False)
class Chain:
    """Ordered bins of an attribute. Neighbours may be merged."""

    part: Part
    order: Index  # the bins
    weights: Floats  # the second derivative of the loss by each value, by bin and column

    @cached_property
    def _sums(self) -> Floats:
        """Sums of weights, and of weighted values and squares, up to each bin, shape ``(3, bins + 1, columns)``."""
        weights, values = self.weights[self.order], self.part.values[self.order]
        sums = np.cumsum([weights, weights * values, weights * values**2], axis=1)
        return np.concatenate([np.zeros((3, 1, weights.shape[1])), sums], axis=1)

    def _costs(self, stop: int) -> Floats:
        """Return the loss of merging the bins from each place to `stop`: half their weighted squared deviations.

        It is infinite for segments without support.
        """
        weights, values, squares = self._sums[:, stop, None] - self._sums[:, :stop]
        costs = np.maximum(squares - values**2 / weights, 0.0).sum(axis=1) / 2
        return np.where(self._allowed(stop), costs, np.inf)

    @cached_property
    def _kept_costs(self) -> list[Floats]:
        return [self._costs(stop + 1) for stop in range(len(self.order))]

    @cached_property
    def _support(self) -> Floats:
        """Released rows up to each bin, and the number of bins with more rows than noise, shape ``(2, bins + 1)``."""
        released = self.part.released[self.order]
        return np.cumsum([[0.0, *released], [0.0, *(released >= self.part.least_rows)]], axis=1)

    def _allowed(self, stop: int) -> Array:
        """Return at which places a segment up to `stop` may start: if it has support, or consists of all bins."""
        rows, supported = self._support[:, stop, None] - self._support[:, :stop]
        allowed_starts = (supported > 0) | (rows >= self.part.least_rows * np.sqrt(np.arange(stop, 0, -1)))
        allowed_starts[0] |= stop == len(self.order)
        return allowed_starts

    def segments(self, price: float) -> tuple[list[Index], float]:
        """Return the segments that minimise the loss plus a penalty for each segment, and their loss.

        Every segment has support (more released rows than noise), unless it consists of all bins.
        """
        n = len(self.order)
        least, start = np.zeros(n + 1), np.zeros(n + 1, dtype=np.int64)
        loss = np.zeros(n + 1)
        for stop in range(1, n + 1):
            costs = self._kept_costs[stop - 1] if n <= _KEPT else self._costs(stop)
            start[stop] = np.argmin(least[:stop] + costs)
            least[stop] = least[start[stop]] + costs[start[stop]] + price
            loss[stop] = loss[start[stop]] + costs[start[stop]]
        segments_from_end: list[Index] = []
        stop = n
        while stop:
            segments_from_end.append(self.order[start[stop] : stop])
            stop = int(start[stop])
        return segments_from_end[::-1], float(loss[n])

    def clear(self) -> None:
        """Set values without support to 0: of all known bins together, and of each missing or outside bin."""
        special = np.setdiff1d(np.arange(len(self.part.values)), self.order)
        for places in [self.order, *special[:, None]]:
            if not self.part.is_supported(places):
                self.part.values[places] = 0.0

    @property
    def gain(self) -> float:
        """The reduction of the loss by the values, compared with values of 0."""
        return float((self.weights * self.part.values**2).sum()) / 2

    @property
    def noise(self) -> float:
        """The expected loss from the noise in the values."""
        return float((self.weights * self.part.variances()).sum()) / 2


def chain_of(part: Part, attribute: Attribute, weights: Floats) -> Chain:
    """Return the chain of the bins of known values. Categories are ordered by their fitted values."""
    places = np.arange(attribute.n_known)
    if not attribute.n_ordered:
        values = part.values[places] - part.values[places].mean(axis=0)
        axis = np.linalg.svd(values, full_matrices=False)[2][0]
        places = places[np.argsort(values @ axis, kind="stable")]
    return Chain(part, places, np.maximum(weights, _LEAST_WEIGHT * max(float(weights.mean()), 1.0)))


def merge(parts: Sequence[Part], attributes: Sequence[Attribute], weights: Sequence[Floats]) -> float:
    """Merge the bins of all parts, and return the loss allowed for rounding.

    The penalty for a segment is the same for all attributes, and the largest for which the expected loss is within the
    allowance. `weights` are the second derivatives of the loss by each value, by bin and column.
    """
    chains = [chain_of(*arguments) for arguments in zip(parts, attributes, weights, strict=True)]
    if sum(chain.segments(0.0)[1] for chain in chains) > OF_SUPPORT * sum(chain.gain for chain in chains):
        for part in parts:  # with large noise, requiring support would lose much of the gain
            part.needs_support = False
        chains = [chain_of(*arguments) for arguments in zip(parts, attributes, weights, strict=True)]
    allowance = allowed(chains, max(float(part.released.sum()) for part in parts))
    for chain, segments in zip(chains, cheapest(chains, allowance), strict=True):
        chain.part.average(segments, chain.weights)
        chain.part.centred()
        chain.clear()
    return ROUNDING * allowance


def allowed(chains: Sequence[Chain], rows: float) -> float:
    """Return the allowed loss of merging, summed over rows."""
    gain, noise = sum(chain.gain for chain in chains), sum(chain.noise for chain in chains)
    bins = sum(chain.weights.size for chain in chains)
    by_gain = OF_GAIN * gain * gain / max(gain + noise, 1e-9)  # the gain of mostly noisy values is overestimated
    return min(MERGING * max(rows, 1.0) + OF_NOISE * noise + OF_BINS * bins, by_gain)


def cheapest(chains: Sequence[Chain], allowance: float) -> list[list[Index]]:
    """Return the segments at the largest penalty with a loss within the allowance, else at the smallest penalty."""
    low, high = -30.0, np.log2(max(sum(chain.gain for chain in chains), 1e-6)) + 1  # logarithms of the penalty
    best = [chain.segments(2**low)[0] for chain in chains]
    for _ in range(_STEPS):
        middle = (low + high) / 2
        segments, losses = zip(*(chain.segments(2**middle) for chain in chains), strict=True)
        if sum(losses) <= allowance:
            low, best = middle, list(segments)
        else:
            high = middle
    return best
