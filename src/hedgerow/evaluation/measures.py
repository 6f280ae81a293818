"""Measures of a model, computed from noisy counts: means of a value for each cell, ratios of means, and AUROC."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import inf, ldexp, sqrt
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Floats, Index, Integers, Mask
from hedgerow.evaluation.intervals import Interval, NoisyCounts, RankedCounts, ratio_intervals
from hedgerow.models.decisions import CostTable
from hedgerow.models.score_bands import ScoreBand
from hedgerow.schema.targets import Label, Number
from hedgerow.text.values import rounded_text, shown_text

_WIDEST_SHARE, _WIDEST_NUMBER = 0.5, 0.25  # largest width of an informative interval: absolute; share of the range
_CLIP = 0.5  # errors beyond this share of the number's range are not distinguished
_FINEST = 0.5  # width of the narrowest error bin, in levels
_WITHIN = (np.arange(100) + 0.5) / 100  # positions within a bin or band, for numerical means
_LEAST_PROBABILITY = 1e-4  # smaller probabilities are raised to this one in the logarithmic loss


@dataclass(frozen=True)
class Estimate:
    """Estimate of a measure from noisy counts, with two intervals of at least 95 % confidence.

    Attributes
    ----------
    key : str
        The id of the measure, the same in every language, such as ``accuracy`` or ``errors_class_2``.
    name : str
        The name of the measure.
    value : float or None
        The value computed from the noisy counts, clipped to possible values; None if the counts have no rows.
    on_rows : (float, float)
        The interval for the rows that were counted (noise only).
    of_others : (float, float) or None
        The interval for new rows from the same population (noise and sampling). None if a person has several rows.
    widest : float
        The width from which on an interval is not informative.
    is_share : bool
        Whether the measure is a share of rows.
    constant : Estimate, optional
        The same measure of the best constant prediction, from the same counts. None if the measure has none.
    """

    key: str
    name: str
    value: float | None
    on_rows: Interval
    of_others: Interval | None
    widest: float
    is_share: bool = True
    constant: Estimate | None = None

    @property
    def is_informative(self) -> bool:
        """Whether the interval is narrow enough to be useful."""
        return self.value is not None and self.on_rows[1] - self.on_rows[0] < self.widest

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate as JSON-ready data."""
        return {
            "id": self.key,
            "name": self.name,
            "value": self.value,
            "on_rows": list(self.on_rows),
            "of_others": None if self.of_others is None else list(self.of_others),
            "says_something": self.is_informative,
            "constant": None if self.constant is None else self.constant.to_dict(),
        }

    def __str__(self) -> str:
        if not self.is_informative:
            return self.value_text
        others = "" if self.of_others is None else f"; noise and sampling {self.span_text(self.of_others)}"
        return f"{self.value_text} (noise only {self.span_text(self.on_rows)}{others})"

    @property
    def value_text(self) -> str:
        """The value as text, or "too noisy to say"."""
        if self.value is None or not self.is_informative:
            return "too noisy to say"
        return f"{100 * self.value:.1f} %" if self.is_share else rounded_text(self.value, 4)

    def span_text(self, ends: Interval) -> str:
        """Return the ends of an interval in the unit of the measure."""
        low, high = ends
        return (
            f"{100 * low:.1f} to {100 * high:.1f} %"
            if self.is_share
            else f"{rounded_text(low, 4)} to {rounded_text(high, 4)}"
        )


@dataclass(frozen=True, eq=False)
class Mean:
    """Mean of a public value of each cell over the rows of the cells in `inside`; `key` is its id."""

    key: str
    name: str
    values: Floats
    inside: Mask  # the cells whose rows are averaged
    widest: float = _WIDEST_SHARE
    is_share: bool = True  # whether it is shown in percent
    is_root: bool = False  # whether the measure is the square root of the mean
    constant: Mean | None = None
    choices: int = 1  # number of means from which the noisy counts selected this one

    @classmethod
    def share(cls, key: str, name: str, hits: Mask, inside: Mask | None = None, constant: Mean | None = None) -> Mean:
        """Return the share of the rows in `hits` among the rows in `inside`; by default among all rows."""
        everywhere = np.ones(hits.size, dtype=bool) if inside is None else inside.ravel()
        return cls(key, name, hits.ravel().astype(np.float64), everywhere, constant=constant)

    @classmethod
    def of(cls, key: str, name: str, values: Floats, widest: float, constant: Mean | None = None, **more: bool) -> Mean:
        """Return the mean of the values over all rows."""
        everywhere = np.ones(values.size, dtype=bool)
        return cls(key, name, values.ravel(), everywhere, widest, constant=constant, **{"is_share": False, **more})

    def repeated(self, times: int) -> Mean:
        constant = None if self.constant is None else self.constant.repeated(times)
        values, inside = np.tile(self.values, times), np.tile(self.inside, times)
        return replace(self, values=values, inside=inside, constant=constant)

    def estimate(self, counts: NoisyCounts) -> Estimate:
        """Return the estimate from the noisy counts of the cells."""
        own, values = counts.of(self.inside), self.values[self.inside]
        exponent = _exponent(values)
        values = np.ldexp(values, -exponent)
        value = None
        if own.total > 0:  # noise can lead to an impossible mean, which is replaced by the nearest possible mean
            value = self._shown(min(max(own.mean(values), values.min()), values.max()), exponent)
        on_rows, others = (
            (self._shown(low, exponent), self._shown(high, exponent))
            for low, high in own.mean_intervals(values, self.choices)
        )
        constant = self.constant and self.constant.estimate(counts)
        shown = others if counts.has_others else None
        return Estimate(self.key, self.name, value, on_rows, shown, self.widest, self.is_share, constant)

    def _shown(self, mean: float, exponent: int) -> float:
        mean = ldexp(mean, exponent)
        return sqrt(max(mean, 0.0)) if self.is_root else mean


def _exponent(values: Floats) -> int:
    """Return the power of 2 by which values are divided so that their squares neither overflow nor underflow."""
    return int(np.frexp(np.abs(values).max())[1])


@dataclass(frozen=True, eq=False)
class Ranking:
    """AUROC of two classes by score band; the cells of a group are the first class's bands, then the second's."""

    key: str
    name: str
    scores: Floats

    def repeated(self, times: int) -> Ranking:  # noqa: ARG002 -- `estimate` sums the counts of groups
        return self

    def estimate(self, counts: NoisyCounts) -> Estimate:
        """Return the estimate from the noisy counts of the cells, summed over groups."""
        cells = counts.own.astype(np.float64).reshape(-1, 2, len(self.scores))
        ranked = RankedCounts.of(cells.sum(axis=0), self.scores, counts.noise, len(cells))
        on_rows = ranked.interval(has_sampling=False)
        others = ranked.interval(has_sampling=True) if counts.has_others else None
        constant = Estimate("always_same", "always the same score", 0.5, (0.5, 0.5), (0.5, 0.5), 1.0, is_share=False)
        return Estimate(
            self.key, self.name, ranked.value, on_rows, others, _WIDEST_SHARE, is_share=False, constant=constant
        )


Measure = Mean | Ranking


@dataclass(frozen=True, eq=False)
class ClassMeasures:
    """Measures of a classifier, from counts by true class and score band, shape ``(n_classes, n_bands)``."""

    target: Label
    bands: Sequence[ScoreBand]
    costs: CostTable | None
    totals: Floats  # the noisy number of rows of each true class, from which the best constants are selected
    predicted: Index = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicted", np.array([band.predicted for band in self.bands], dtype=np.intp))

    def __iter__(self) -> Iterator[Measure]:
        yield self.accuracy
        for place, value in enumerate(self.target.values):
            name = f"errors among true {shown_text(value)}"
            yield Mean.share(f"errors_class_{place + 1}", name, ~self.right, self._of_class(place))
        if self.costs is not None:
            yield self.mean_cost("mean_cost", "mean cost", np.array(self.costs))
        if self.target.ordered and self.target.n_levels > 2:
            order = np.arange(self.target.n_levels, dtype=np.float64)
            yield self.mean_cost("mean_distance", "mean distance in classes", np.abs(order[:, np.newaxis] - order))
        if all(band.probabilities is not None for band in self.bands):
            yield from self._of_probabilities()

    @cached_property
    def right(self) -> Mask:
        """The cells of correctly predicted rows."""
        return self.predicted == np.arange(self.target.n_levels)[:, np.newaxis]

    @cached_property
    def commonest(self) -> int:
        """The index of the most frequent true class according to the noisy counts."""
        return int(self.totals.argmax())

    @property
    def accuracy(self) -> Mean:
        return Mean.share("accuracy", "accuracy", self.right, constant=self.always(self.commonest))

    def always(self, place: int) -> Mean:
        """Return the accuracy of a constant prediction that the noisy counts selected."""
        share = Mean.share("always_same", f"always {shown_text(self.target.values[place])}", self._of_class(place))
        return replace(share, choices=self._choices)

    @property
    def _choices(self) -> int:
        """The number of constants to select from; with two classes, both constants have the same error."""
        return self.target.n_levels if self.target.n_levels > 2 else 1

    def mean_cost(self, key: str, name: str, matrix: Floats) -> Mean:
        """Return the mean cost, compared with the constant prediction with the least cost."""
        exponent = _exponent(matrix) + 1  # so that differences of costs do not overflow either
        scaled = np.ldexp(matrix, -exponent)
        least = int((self.totals @ scaled).argmin())
        widest = max(float(np.ldexp(np.ptp(scaled) * _WIDEST_SHARE, exponent)), 1e-300)
        always = self._by_class(f"always {shown_text(self.target.values[least])}", matrix[:, least], widest)
        return Mean.of(key, name, matrix[:, self.predicted], widest, replace(always, choices=self._choices))

    def _of_probabilities(self) -> Iterator[Measure]:
        shares = np.array([band.probabilities for band in self.bands])
        widest = _WIDEST_SHARE * np.log(self.target.n_levels) * 2
        known = np.maximum(self.totals, 0)
        frequencies = known / max(known.sum(), 1.0)
        losses = [-np.log(np.maximum(p, _LEAST_PROBABILITY)) for p in (shares.T, frequencies)]
        constant = self._by_class("always the shares of the classes", losses[1], widest)
        yield Mean.of("log_loss", "log-loss", losses[0], widest, constant)
        if self.target.n_levels == 2:
            observed = np.array([[0.0], [1.0]]) - shares[:, 1]
            name = f"observed minus predicted share of {shown_text(self.target.values[1])}"
            yield Mean.of("observed_less_predicted", name, observed, _WIDEST_SHARE, is_share=True)
            if len({*shares[:, 1].tolist()}) > 1:
                yield Ranking("auroc", "AUROC", shares[:, 1])

    def _of_class(self, place: int) -> Mask:
        own = np.zeros_like(self.right)
        own[place] = True
        return own

    def _by_class(self, name: str, values: Floats, widest: float) -> Mean:
        return Mean.of("always_same", name, np.repeat(values[:, np.newaxis], len(self.bands), axis=1), widest)


@dataclass(frozen=True)
class ErrorBins:
    """Public bins of a regressor's error (true minus predicted), and bands of the true number.

    A true number counts as the midpoint of its level. The bin around 0 is half as wide as a level; other bins grow in
    proportion to the error, and `growth` is the ratio of their ends. The last bin has all errors beyond half of the
    number's range, at which the squared loss of fits is clipped by default: few rows have such errors, and the noise is
    half as large.
    """

    number: Number
    outcomes: tuple[float, ...]  # all possible predictions of the model
    growth: float
    most_bands: int

    @cached_property
    def _width(self) -> float:
        return (self.number.high - self.number.low) / self.number.n_levels

    @cached_property
    def _predicted(self) -> Floats:
        """The position of each outcome on the scale of levels, which are numbered from 0."""
        return (np.array(self.outcomes, dtype=np.float64) - self.number.low) / self._width - 0.5

    @cached_property
    def _edges(self) -> Floats:
        """The ends of the bins of positive errors, in levels."""
        farthest = max(self.number.n_levels - 1 - float(self._predicted.min()), float(self._predicted.max()), 1.0)
        farthest = min(farthest, self.number.n_levels * _CLIP)
        edges = [_FINEST / 2]
        while edges[-1] <= farthest:
            edges.append(edges[-1] + max((self.growth - 1) * edges[-1], _FINEST))
        return np.array(edges)

    def __len__(self) -> int:
        return 2 * len(self._edges) - 1

    def of(self, levels: Integers, outcomes: Index) -> Integers:
        """Return the error bin of each level and outcome."""
        off = levels - self._predicted[outcomes]
        size = np.minimum(np.searchsorted(self._edges, np.abs(off), side="right"), len(self._edges) - 1)
        return len(self._edges) - 1 + np.sign(off).astype(np.int64) * size

    @cached_property
    def ends(self) -> tuple[Interval, ...]:
        """The smallest and largest error of each bin."""
        above = [(low * self._width, high * self._width) for low, high in pairwise(self._edges.tolist())]
        half = self._width * _FINEST / 2
        return (*((-high, -low) for low, high in above[::-1]), (-half, half), *above)

    @cached_property
    def bands(self) -> Integers:
        """The band of each level; there are at most `most_bands`, with about equal numbers of levels."""
        levels = self.number.n_levels
        return np.arange(levels) * min(levels, self.most_bands) // levels

    @cached_property
    def band_ends(self) -> tuple[Interval, ...]:
        """The smallest and largest number of each band."""
        starts = [*np.unique(self.bands, return_index=True)[1].tolist(), self.number.n_levels]
        edges = [self.number.low + self._width * start for start in starts[:-1]] + [self.number.high]
        return tuple(pairwise(edges))


@dataclass(frozen=True, eq=False)
class NumberMeasures:
    """Measures of a regressor, from counts by error bin and by band of the true number.

    Numbers are assumed to be uniform within a bin or band. The intervals cover noise and sampling, but not the error of
    this assumption, which is at most half of a bin. Evaluations of version 0.2.0 have no counts by band, and so neither
    R² nor constants to compare with.
    """

    number: Number
    errors: tuple[Interval, ...]
    bands: tuple[Interval, ...]
    totals: Floats  # the noisy number of rows in each band, from which the constants are selected

    @cached_property
    def _widest(self) -> float:
        return _WIDEST_NUMBER * (self.number.high - self.number.low)

    def estimates(self, counts: NoisyCounts, bands: NoisyCounts | None) -> tuple[Estimate, ...]:
        """Return the estimates from the noisy counts by bin and, if there are any, by band."""
        low, high = np.array(self.errors).T
        distances, squares = _losses(low, high, 0.0, inf)
        means = [
            Mean.of("mae", "mean absolute error", distances, self._widest),
            Mean.of("rmse", "root mean squared error", squares, self._widest, is_root=True),
            Mean.of("true_less_predicted", "true minus predicted", (low + high) / 2, self._widest),
        ]
        times = len(counts.own) // len(self.errors)
        errors = [mean.repeated(times).estimate(counts) for mean in means]
        if bands is None:
            return tuple(errors)
        constants = [
            self._constant(bands, self._quantile(0.5)),
            self._constant(bands, self._centre, is_root=True),
            None,
        ]
        compared = [replace(error, constant=constant) for error, constant in zip(errors, constants, strict=True)]
        clipped = [self._clipped.repeated(times).estimate(counts)] if self.is_clipped else []
        return (*compared, self._r_squared(counts, bands, np.tile(squares, times)), *clipped)

    @property
    def is_clipped(self) -> bool:
        """Whether errors can lie beyond the last bins."""
        return self.errors[-1][1] > _CLIP * (self.number.high - self.number.low)

    @property
    def _clip(self) -> float:
        """The value at which larger errors are clipped."""
        return sum(self.errors[-1]) / 2 if self.is_clipped else inf

    @property
    def _clipped(self) -> Mean:
        """The share of errors in the last bins, which may have been clipped."""
        hits = np.zeros(len(self.errors), dtype=bool)
        hits[[0, -1]] = True
        name = f"errors beyond {rounded_text(self.errors[-1][0], 4)}, counted as {rounded_text(self._clip, 4)}"
        return Mean.share("clipped_errors", name, hits)

    def _ends(self, bands: NoisyCounts) -> Floats:
        """Return the ends of the band of each count, shape ``(2, n_counts)``."""
        return np.tile(np.array(self.bands).T, len(bands.own) // len(self.bands))

    def _constant(self, bands: NoisyCounts, value: float, *, is_root: bool = False) -> Estimate:
        low, high = self._ends(bands)
        losses = _losses(low, high, value, self._clip)
        name = f"always {rounded_text(value, 4)}"
        return Mean.of("always_same", name, losses[int(is_root)], self._widest, is_root=is_root).estimate(bands)

    def _r_squared(self, counts: NoisyCounts, bands: NoisyCounts, squares: Floats) -> Estimate:
        """Return R²: 1 minus the mean squared error of the model divided by the error of the best constant."""
        low, high = self._ends(bands)
        _, around = _losses(low, high, self._centre, self._clip)
        half = (_exponent(squares) + 1) // 2
        squares, around, middles = (
            np.ldexp(values, -times * half) for values, times in ((squares, 2), (around, 2), ((low + high) / 2, 1))
        )
        (on_rows, others), value = ratio_intervals(counts, squares, bands, around), None
        if counts.total > 0 and bands.total > 0:
            spread = bands.mean(around) - bands.mean_variance(middles)
            value = 1 - counts.mean(squares) / spread if spread > 0 else None
            value = None if value is None or not 1 - on_rows[1] <= value <= 1 - on_rows[0] else value
        name, zero = f"always {rounded_text(self._centre, 4)}", (0.0, 0.0)
        constant = Estimate("always_same", name, 0.0, zero, zero, 1.0, is_share=False)
        shown = (1 - others[1], 1 - others[0]) if counts.has_others else None
        on_rows, widest = (1 - on_rows[1], 1 - on_rows[0]), 2 * _WIDEST_SHARE
        return Estimate("r2", "R²", value, on_rows, shown, widest, is_share=False, constant=constant)

    @cached_property
    def _centre(self) -> float:
        """The constant with the smallest squared error: the mean, or the midpoint of a band if errors are clipped."""
        (low, high), rows = np.array(self.bands).T, np.maximum(self.totals, 0)
        points = [self._mean, *((low + high) / 2).tolist()] if self.is_clipped else [self._mean]
        return min(points, key=lambda point: float(rows @ _losses(low, high, point, self._clip)[1]))

    @property
    def _mean(self) -> float:
        low, high = np.array(self.bands).T
        rows = np.maximum(self.totals, 0)
        return float(np.average((low + high) / 2, weights=rows)) if rows.any() else self._middle

    def _quantile(self, share: float) -> float:
        """Return a quantile of the true numbers according to the noisy counts."""
        rows = np.maximum(self.totals, 0)
        if not rows.any():
            return self._middle
        below = np.concatenate([[0.0], np.cumsum(rows)]) / rows.sum()
        return float(np.interp(share, below, [self.bands[0][0], *(high for _, high in self.bands)]))

    @property
    def _middle(self) -> float:
        return (self.number.low + self.number.high) / 2


def _losses(low: Floats, high: Floats, point: float, clip: float) -> tuple[Floats, Floats]:
    """Return the mean distance and squared distance of uniform numbers between the ends from a point.

    Distances are clipped at `clip`.
    """
    distances = np.minimum(np.abs(low + (high - low) * _WITHIN[:, np.newaxis] - point), clip)
    return distances.mean(axis=0), (distances**2).mean(axis=0)
