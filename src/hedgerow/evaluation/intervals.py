"""Intervals for means over rows of which only noisy counts are known. Proofs: docs/mathematics.md, fact 10."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr
from scipy.stats import beta

from hedgerow.models.count_noise import CountNoise

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]
Interval = tuple[float, float]
MISSES = 0.05
"""How often an interval misses, at most."""
_OF_NOISE, _OF_ROWS, _OF_SAMPLE = 0.45, 0.05, 0.5  # shares of that in an interval for other rows
_GRID = np.concatenate([np.geomspace(1e-4, 0.5, 48), 1 - np.geomspace(0.5, 1e-3, 24)[1:]])
_HALVINGS, _CLOSE = 30, 1e-6


def share_on_rows(own: Counts, hits: NDArray[np.bool_], noise: CountNoise, misses: float = MISSES) -> Interval:
    """Return an interval for the share of the rows counted in some cells, `hits`, by the noise of both sums."""
    (few, many), (least, most) = (_sum(own[one], noise, misses / 2) for one in (hits, ~hits))
    return few / max(few + most, 1), many / (many + least) if many + least else 1.0


def share_of_others(own: Counts, hits: NDArray[np.bool_], noise: CountNoise) -> Interval:
    """Return an interval for the chance of a row to be in some cells, where the rows were drawn independently."""
    (few, many), (least, most) = (_sum(own[one], noise, MISSES / 4) for one in (hits, ~hits))
    low = beta.ppf(MISSES / 4, few, most + 1) if few else 0.0
    return float(low), float(beta.ppf(1 - MISSES / 4, many + 1, least)) if least else 1.0


def _sum(counts: Counts, noise: CountNoise, misses: float) -> tuple[int, int]:
    """Return the ends of an interval for the exact number of rows in some cells."""
    return noise.interval(int(counts.sum()), len(counts), 1 - misses)


def mean_on_rows(own: Counts, low: Floats, high: Floats, noise: CountNoise, misses: float = MISSES) -> Interval:
    """Return an interval for the mean of values, between `low` and `high` in each cell, over the rows counted."""
    ends = -_most(own, -low, noise.scale, misses / 2), _most(own, high, noise.scale, misses / 2)
    return min(ends), max(ends)


def mean_of_others(own: Counts, low: Floats, high: Floats, noise: CountNoise) -> Interval:
    """Return an interval for the expected value of a row, where the rows counted were drawn independently."""
    least, most = float(low.min()), float(high.max())
    rows, _ = _sum(own, noise, 2 * _OF_ROWS * MISSES)  # of which one end may miss
    if rows < 1 or least == most:
        return least, most
    first, last = mean_on_rows(own, low, high, noise, _OF_NOISE * MISSES)
    far = log(2 / (_OF_SAMPLE * MISSES)) / rows
    shares = [min(max((end - least) / (most - least), 0.0), 1.0) for end in (first, last)]
    ends = 1 - _farthest(1 - shares[0], far), _farthest(shares[1], far)
    return least + (most - least) * ends[0], least + (most - least) * ends[1]


def _farthest(share: float, far: float) -> float:
    """Return the largest p whose relative entropy to a share is at most `far`."""
    inside, outside = share, 1.0
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        is_far = rel_entr(share, middle) + rel_entr(1 - share, 1 - middle) > far
        inside, outside = (inside, middle) if is_far else (middle, outside)
    return outside


def _log_moments(steps: Floats, scale: float) -> Floats:
    """Return log E exp(step·noise); infinite from a step of 1/scale on."""
    rate, size = 1 / scale, np.minimum(np.abs(steps), 1 / scale)
    with np.errstate(divide="ignore"):
        return 2 * np.log(-np.expm1(-rate)) - np.log(-np.expm1(size - rate)) - np.log(-np.expm1(-size - rate))


def _most(own: Counts, values: Floats, scale: float, misses: float) -> float:
    """Return what the mean of values over the rows exceeds with a chance of `misses` at most."""
    kinds, places = np.unique(values, return_inverse=True)
    sums, cells = np.bincount(places, own), np.bincount(places).astype(np.float64)

    def heights(mean: float, steps: Floats) -> Floats:
        # Of each step convex in the mean; below 0 at the mean over the rows with a chance of `misses` at most
        moments = _log_moments(steps[:, np.newaxis] * (kinds - mean), scale) @ cells
        return (kinds - mean) @ sums + (moments - log(misses)) / steps

    first, top = float(kinds[0]), float(kinds[-1])
    width = top - first
    while top > first:
        steps = _GRID / (scale * max(top - first, float(kinds[-1]) - top))
        found = heights(top, steps)
        step = steps[[int(found.argmin())]]
        if found.min() >= 0:
            return top
        if heights(first, step)[0] < 0:
            return first
        inside, outside = first, top
        for _ in range(_HALVINGS):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if heights(middle, step)[0] >= 0 else (inside, middle)
        if top - outside <= _CLOSE * width:
            return outside
        top = outside
    return top
