"""What is measured of a model: means over rows, of values that the cell of a row says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import log, sqrt
from typing import Any

import numpy as np
from scipy.special import rel_entr
from scipy.stats import beta

from hedgerow.boundary.arrays import Floats, Index, Integers, Mask
from hedgerow.models.count_noise import CountNoise
from hedgerow.schema.targets import Number, Target
from hedgerow.text.values import shown_text

Interval = tuple[float, float]
MISSES = 0.05  # how often an interval misses, at most
_OF_NOISE, _OF_ROWS, _OF_SAMPLE = 0.45, 0.05, 0.5  # shares of that in an interval for other rows
_GRID = np.concatenate([np.geomspace(1e-4, 0.5, 48), 1 - np.geomspace(0.5, 1e-3, 24)[1:]])
_HALVINGS, _CLOSE = 30, 1e-6
_WIDEST_SHARE, _WIDEST_NUMBER = 0.5, 0.25  # of an interval that says something: of all, of the bounds' distance


@dataclass(frozen=True)
class Estimate:
    """A figure of a model, by noisy counts, with two intervals that contain it in 95 % of cases at least.

    Attributes
    ----------
    name : str
        What it is.
    value : float or None
        The figure by the noisy counts; None where they give none that is possible.
    on_rows : (float, float)
        For the figure on the very rows that were counted: the noise alone.
    of_others : (float, float) or None
        For other rows from where these were drawn independently: noise and sampling. None where a person has several.
    widest : float
        The width from which an interval says nothing.
    is_share : bool
        Whether it is a share of rows.
    """

    name: str
    value: float | None
    on_rows: Interval
    of_others: Interval | None
    widest: float
    is_share: bool = True

    @property
    def says_something(self) -> bool:
        """False where it is too noisy to say."""
        return self.value is not None and self.on_rows[1] - self.on_rows[0] < self.widest

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "name": self.name,
            "value": self.value,
            "on_rows": list(self.on_rows),
            "of_others": None if self.of_others is None else list(self.of_others),
            "says_something": self.says_something,
        }

    def __str__(self) -> str:
        if self.value is None or not self.says_something:
            return "too noisy to say"
        others = "" if self.of_others is None else f"; of others like them {self._span(self.of_others)}"
        value = f"{100 * self.value:.1f} %" if self.is_share else f"{self.value:.4g}"
        return f"{value} (on these rows {self._span(self.on_rows)}{others})"

    def _span(self, ends: Interval) -> str:
        low, high = ends
        return f"{100 * low:.1f} to {100 * high:.1f} %" if self.is_share else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True, eq=False)
class Measure:
    """A mean over the rows of some cells, of values known up to bounds where a cell has several."""

    name: str
    inside: Mask  # the cells whose rows count
    low: Floats
    middle: Floats
    high: Floats
    widest: float = _WIDEST_SHARE
    is_share: bool = True
    is_root: bool = False

    @classmethod
    def share(cls, name: str, hits: Mask, inside: Mask | None = None) -> Measure:
        """Return the share of the rows of some cells that are in these."""
        values = hits.ravel().astype(np.float64)
        return cls(name, np.ones(hits.size, dtype=bool) if inside is None else inside.ravel(), values, values, values)

    @classmethod
    def mean(cls, name: str, values: Floats, widest: float) -> Measure:
        return cls(name, np.ones(values.size, dtype=bool), *[values.ravel()] * 3, widest=widest, is_share=False)

    def repeated(self, times: int) -> Measure:
        over = {name: np.tile(getattr(self, name), times) for name in ("inside", "low", "middle", "high")}
        return replace(self, **over)

    def estimate(self, counts: Integers, noise: CountNoise, *, has_others: bool) -> Estimate:
        own = counts[self.inside]
        low, middle, high = (values[self.inside] for values in (self.low, self.middle, self.high))
        total = sum_of(own)
        value = float(own @ middle) / total if total > 0 else None
        value = None if value is None or not low.min() <= value <= high.max() else value
        if self.is_share:
            found = [of(own, low > 0, noise) for of in (share_on_rows, share_of_others)[: 1 + has_others]]
        else:
            found = [of(own, low, high, noise) for of in (mean_on_rows, mean_of_others)[: 1 + has_others]]
        if self.is_root:
            value = None if value is None else sqrt(value)
            found = [(sqrt(max(one, 0.0)), sqrt(max(other, 0.0))) for one, other in found]
        return Estimate(self.name, value, found[0], found[1] if has_others else None, self.widest, self.is_share)


@dataclass(frozen=True)
class ErrorBins:
    """Public bins of the error of a predicted number, by levels; a row has one."""

    number: Number
    outcomes: tuple[float, ...]  # all that the model may predict

    @cached_property
    def _width(self) -> float:
        return (self.number.high - self.number.low) / self.number.n_levels

    @cached_property
    def places(self) -> Integers:
        """The level of each outcome, beyond the first or the last where it is beyond a bound."""
        return np.rint(self._between).astype(np.int64)

    @cached_property
    def _between(self) -> Floats:
        return (np.array(self.outcomes, dtype=np.float64) - self.number.low) / self._width - 0.5

    @cached_property
    def _starts(self) -> Integers:
        """The first of each bin, in levels too many or too few: each is half as wide as what it begins with."""
        farthest = max(self.number.n_levels - 1 - int(self.places.min()), int(self.places.max()), 1)
        starts = [0, 1]
        while starts[-1] <= farthest:
            starts.append(starts[-1] + max(starts[-1] // 2, 1))
        return np.array(starts, dtype=np.int64)

    def __len__(self) -> int:
        return 2 * len(self._starts) - 3

    def of(self, levels: Integers, outcomes: Index) -> Integers:
        off = levels - self.places[outcomes]
        size = np.searchsorted(self._starts, np.abs(off), side="right") - 1
        return len(self._starts) - 2 + np.sign(off) * size

    @cached_property
    def ends(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest error, true less predicted number, of each bin."""
        slack = 0.5 + float(np.abs(self._between - self.places).max())  # of the level, and of the outcome beside its
        sizes = list(zip(self._starts[:-1].tolist(), (self._starts[1:] - 1).tolist(), strict=True))
        above = [((first - slack) * self._width, (last + slack) * self._width) for first, last in sizes]
        return (*((-last, -first) for first, last in above[:0:-1]), *above)


def measures_of(target: Target, ends: tuple[Interval, ...]) -> Iterator[Measure]:
    """Yield what is measured: of classes from true by predicted, of a number from bins of the error with such ends."""
    number = target.as_number
    if number is not None:
        yield from _of_errors(np.array(ends), _WIDEST_NUMBER * (number.high - number.low))
        return
    right = np.eye(target.n_levels, dtype=bool)
    yield Measure.share("accuracy", right)
    for place, value in enumerate(target.values):
        own = np.zeros_like(right)
        own[place] = True
        yield Measure.share(f"errors among true {shown_text(value)}", ~right, own)
    if target.ordered and target.n_levels > 2:
        order, widest = np.arange(target.n_levels, dtype=np.float64), _WIDEST_SHARE * (target.n_levels - 1)
        yield Measure.mean("mean places off", np.abs(order[:, np.newaxis] - order), widest)


def _of_errors(ends: Floats, widest: float) -> Iterator[Measure]:
    low, high = ends.T
    least, most = np.maximum(np.maximum(low, -high), 0), np.maximum(-low, high)
    middle, everywhere = (low + high) / 2, np.ones(len(low), dtype=bool)
    more: dict[str, Any] = {"widest": widest, "is_share": False}
    yield Measure("mean absolute error", everywhere, least, np.abs(middle), most, **more)
    yield Measure("root mean squared error", everywhere, least**2, middle**2, most**2, **more, is_root=True)
    yield Measure("true less predicted", everywhere, low, middle, high, **more)


# Intervals of means over rows of which only noisy counts are known: docs/mathematics.md, fact 10


def share_on_rows(own: Integers, hits: Mask, noise: CountNoise, misses: float = MISSES) -> Interval:
    """Return an interval for the share of the rows counted in some cells, `hits`, by the noise of both sums."""
    (few, many), (least, most) = (_sum(own[one], noise, misses / 2) for one in (hits, ~hits))
    return few / max(few + most, 1), many / (many + least) if many + least else 1.0


def share_of_others(own: Integers, hits: Mask, noise: CountNoise) -> Interval:
    """Return an interval for the chance of a row to be in some cells, where the rows were drawn independently."""
    (few, many), (least, most) = (_sum(own[one], noise, MISSES / 4) for one in (hits, ~hits))
    low = beta.ppf(MISSES / 4, float(few), float(most + 1)) if few else 0.0
    return float(low), float(beta.ppf(1 - MISSES / 4, float(many + 1), float(least))) if least else 1.0


def _sum(counts: Integers, noise: CountNoise, misses: float) -> tuple[int, int]:
    return noise.interval(sum_of(counts), len(counts), 1 - misses)


def sum_of(counts: Integers) -> int:
    """Return a sum that does not wrap around."""
    return sum(counts.ravel().tolist())


def mean_on_rows(own: Integers, low: Floats, high: Floats, noise: CountNoise, misses: float = MISSES) -> Interval:
    """Return an interval for the mean of values, between `low` and `high` in each cell, over the rows counted."""
    ends = -_most(own, -low, noise.scale, misses / 2), _most(own, high, noise.scale, misses / 2)
    return min(ends), max(ends)


def mean_of_others(own: Integers, low: Floats, high: Floats, noise: CountNoise) -> Interval:
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


def _most(own: Integers, values: Floats, scale: float, misses: float) -> float:
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
