"""What is measured of a model: means over rows of values that follow from a row's cell, and how well scores rank."""

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
from hedgerow.text.values import shown_text

_WIDEST_SHARE, _WIDEST_NUMBER = 0.5, 0.25  # of an interval that says something: of all, of the bounds' distance
_CLIP = 0.5  # of a number's range: the largest error that is told from larger ones
_FINEST = 0.5  # levels: the width of the narrowest bin of an error
_WITHIN = (np.arange(100) + 0.5) / 100  # places within a bin or band
_LEAST_PROBABILITY = 1e-4  # in a logarithmic loss: smaller probabilities count as this one


@dataclass(frozen=True)
class Estimate:
    """A measure of a model by noisy counts, with two intervals, each of which contains it in 95 % of cases at least.

    Attributes
    ----------
    key : str
        The id of the measure, the same in every language, such as ``accuracy`` or ``errors_class_2``.
    name : str
        The measure in words.
    value : float or None
        Its value by the noisy counts, at most as far as values are possible; None if they count no rows.
    on_rows : (float, float)
        The interval for the rows that were counted: noise only.
    of_others : (float, float) or None
        The interval for other rows from the same population: noise and sampling. None if a person has several rows.
    widest : float
        The width from which an interval is too wide to be of use.
    is_share : bool
        Whether it is a share of rows.
    constant : Estimate, optional
        The same measure of the best constant prediction, from the same counts. None if there is none to compare with.
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
    def says_something(self) -> bool:
        """False if the interval is too wide to be of use."""
        return self.value is not None and self.on_rows[1] - self.on_rows[0] < self.widest

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "id": self.key,
            "name": self.name,
            "value": self.value,
            "on_rows": list(self.on_rows),
            "of_others": None if self.of_others is None else list(self.of_others),
            "says_something": self.says_something,
            "constant": None if self.constant is None else self.constant.to_dict(),
        }

    def __str__(self) -> str:
        if not self.says_something:
            return self.value_text
        others = "" if self.of_others is None else f"; noise and sampling {self.span_text(self.of_others)}"
        return f"{self.value_text} (noise only {self.span_text(self.on_rows)}{others})"

    @property
    def value_text(self) -> str:
        """The value, or that it is too noisy to say."""
        if self.value is None or not self.says_something:
            return "too noisy to say"
        return f"{100 * self.value:.1f} %" if self.is_share else f"{self.value:.4g}"

    def span_text(self, ends: Interval) -> str:
        """Return the ends of an interval in the unit of the measure."""
        low, high = ends
        return f"{100 * low:.1f} to {100 * high:.1f} %" if self.is_share else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True, eq=False)
class Mean:
    """A mean over the rows of some cells, of public values that follow from the cell; `key` is its id."""

    key: str
    name: str
    values: Floats
    inside: Mask  # the cells whose rows count
    widest: float = _WIDEST_SHARE
    is_share: bool = True  # shown in percent
    is_root: bool = False
    constant: Mean | None = None
    choices: int = 1  # the number of such means from which the counts chose this one

    @classmethod
    def share(cls, key: str, name: str, hits: Mask, inside: Mask | None = None, constant: Mean | None = None) -> Mean:
        """Return the share of the rows of some cells that are in these."""
        everywhere = np.ones(hits.size, dtype=bool) if inside is None else inside.ravel()
        return cls(key, name, hits.ravel().astype(np.float64), everywhere, constant=constant)

    @classmethod
    def of(cls, key: str, name: str, values: Floats, widest: float, constant: Mean | None = None, **more: bool) -> Mean:
        """Return the mean of values over all cells."""
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
        if own.total > 0:  # noise may leave a mean that no rows have: the nearest possible one is shown
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
    """Return the power of 2 by which values are divided, so that their squares neither overflow nor underflow."""
    return int(np.frexp(np.abs(values).max())[1])


@dataclass(frozen=True, eq=False)
class Ranking:
    """AUROC of two classes by score band: cells are the first class's bands, then the second's, of each group."""

    key: str
    name: str
    scores: Floats

    def repeated(self, times: int) -> Ranking:  # noqa: ARG002 -- counts of groups are added up
        return self

    def estimate(self, counts: NoisyCounts) -> Estimate:
        """Return the estimate from the noisy counts of the cells; the counts of groups are added up."""
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
    """The measures of predicted classes, from counts by true class and score band, shape ``(n_classes, n_bands)``."""

    target: Label
    bands: Sequence[ScoreBand]
    costs: CostTable | None
    totals: Floats  # the noisy rows of each true class, from which the best constants are taken
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
        """The cells of rows that get their own class."""
        return self.predicted == np.arange(self.target.n_levels)[:, np.newaxis]

    @cached_property
    def commonest(self) -> int:
        """The number of the most frequent true class by the noisy counts."""
        return int(self.totals.argmax())

    @property
    def accuracy(self) -> Mean:
        return Mean.share("accuracy", "accuracy", self.right, constant=self.always(self.commonest))

    def always(self, place: int) -> Mean:
        """Return the accuracy of predicting one class for every row, which the counts chose."""
        share = Mean.share("always_same", f"always {shown_text(self.target.values[place])}", self._of_class(place))
        return replace(share, choices=self._choices)

    @property
    def _choices(self) -> int:
        """The constants from which one is chosen; of two classes, both have the same error."""
        return self.target.n_levels if self.target.n_levels > 2 else 1

    def mean_cost(self, key: str, name: str, matrix: Floats) -> Mean:
        """Return the mean of costs by true and predicted class, next to the class whose prediction costs least."""
        exponent = _exponent(matrix) + 1  # differences of costs do not overflow, either
        scaled = np.ldexp(matrix, -exponent)
        least = int((self.totals @ scaled).argmin())
        widest = max(float(np.ldexp(np.ptp(scaled) * _WIDEST_SHARE, exponent)), 1e-300)
        always = self._by_class(f"always {shown_text(self.target.values[least])}", matrix[:, least], widest)
        return Mean.of(key, name, matrix[:, self.predicted], widest, replace(always, choices=self._choices))

    def _of_probabilities(self) -> Iterator[Measure]:
        shares = np.array([band.probabilities for band in self.bands])
        widest = _WIDEST_SHARE * np.log(self.target.n_levels) * 2
        known = np.maximum(self.totals, 0)
        losses = [-np.log(np.maximum(each, _LEAST_PROBABILITY)) for each in (shares.T, known / max(known.sum(), 1.0))]
        constant = self._by_class("always the shares of the classes", losses[1], widest)
        yield Mean.of("log_loss", "log-loss", losses[0], widest, constant)
        if self.target.n_levels == 2:
            observed = np.array([[0.0], [1.0]]) - shares[:, 1]
            name = f"observed less predicted share of {shown_text(self.target.values[1])}"
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
    """Public bins of the error of a predicted number, true less predicted, and bands of the true number.

    A true number counts as the middle of its level. Bins of the error are half as wide as a level around 0, and farther
    out in proportion to the error: `growth` is the ratio of their ends. Errors beyond half of the number's range are in
    the last bin, as the squared loss of fits is clipped there by default: few rows are, and the noise is half as large.
    """

    number: Number
    outcomes: tuple[float, ...]  # all predictions that the model can make
    growth: float
    most_bands: int

    @cached_property
    def _width(self) -> float:
        return (self.number.high - self.number.low) / self.number.n_levels

    @cached_property
    def _predicted(self) -> Floats:
        """The place of each outcome among the levels, which are numbered from 0."""
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
        """Return the bin of the error of each level and outcome."""
        off = levels - self._predicted[outcomes]
        size = np.minimum(np.searchsorted(self._edges, np.abs(off), side="right"), len(self._edges) - 1)
        return len(self._edges) - 1 + np.sign(off).astype(np.int64) * size

    @cached_property
    def ends(self) -> tuple[Interval, ...]:
        """The least and the largest error of each bin."""
        above = [(low * self._width, high * self._width) for low, high in pairwise(self._edges.tolist())]
        half = self._width * _FINEST / 2
        return (*((-high, -low) for low, high in above[::-1]), (-half, half), *above)

    @cached_property
    def bands(self) -> Integers:
        """The band of true numbers of each level: at most `most_bands` of about as many levels."""
        levels = self.number.n_levels
        return np.arange(levels) * min(levels, self.most_bands) // levels

    @cached_property
    def band_ends(self) -> tuple[Interval, ...]:
        """The least and the largest number of each band."""
        starts = [*np.unique(self.bands, return_index=True)[1].tolist(), self.number.n_levels]
        edges = [self.number.low + self._width * start for start in starts[:-1]] + [self.number.high]
        return tuple(pairwise(edges))


@dataclass(frozen=True, eq=False)
class NumberMeasures:
    """The measures of a predicted number, from counts by bin of the error, and by band of the true number.

    Numbers in a bin or band are taken as equally likely: intervals state the noise and sampling of counts, and not how
    far that is off, which is at most half of a bin. Evaluations of 0.2.0 have no counts by band: then there is no R²
    and no constant to compare with.
    """

    number: Number
    errors: tuple[Interval, ...]
    bands: tuple[Interval, ...]
    totals: Floats  # the noisy rows of each band, from which the constants are taken

    @cached_property
    def _widest(self) -> float:
        return _WIDEST_NUMBER * (self.number.high - self.number.low)

    def estimates(self, counts: NoisyCounts, bands: NoisyCounts | None) -> tuple[Estimate, ...]:
        """Return the estimates from the noisy counts of the bins, and of the bands if there are any."""
        low, high = np.array(self.errors).T
        distances, squares = _losses(low, high, 0.0, inf)
        means = [
            Mean.of("mae", "mean absolute error", distances, self._widest),
            Mean.of("rmse", "root mean squared error", squares, self._widest, is_root=True),
            Mean.of("true_less_predicted", "true less predicted", (low + high) / 2, self._widest),
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
        """True if errors may be larger than the bins."""
        return self.errors[-1][1] > _CLIP * (self.number.high - self.number.low)

    @property
    def _clip(self) -> float:
        """The error as which all larger errors count."""
        return sum(self.errors[-1]) / 2 if self.is_clipped else inf

    @property
    def _clipped(self) -> Mean:
        """The share of errors that may have been clipped."""
        hits = np.zeros(len(self.errors), dtype=bool)
        hits[[0, -1]] = True
        name = f"errors beyond {self.errors[-1][0]:.4g}, counted as {self._clip:.4g}"
        return Mean.share("clipped_errors", name, hits)

    def _ends(self, bands: NoisyCounts) -> Floats:
        """Return the ends of the band of each count, shape ``(2, n_counts)``."""
        return np.tile(np.array(self.bands).T, len(bands.own) // len(self.bands))

    def _constant(self, bands: NoisyCounts, value: float, *, is_root: bool = False) -> Estimate:
        low, high = self._ends(bands)
        losses = _losses(low, high, value, self._clip)
        name = f"always {value:.4g}"
        return Mean.of("always_same", name, losses[int(is_root)], self._widest, is_root=is_root).estimate(bands)

    def _r_squared(self, counts: NoisyCounts, bands: NoisyCounts, squares: Floats) -> Estimate:
        """Return R²: 1 less the mean squared error as a share of the mean squared error of the best constant."""
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
        name, zero = f"always {self._centre:.4g}", (0.0, 0.0)
        constant = Estimate("always_same", name, 0.0, zero, zero, 1.0, is_share=False)
        shown = (1 - others[1], 1 - others[0]) if counts.has_others else None
        on_rows, widest = (1 - on_rows[1], 1 - on_rows[0]), 2 * _WIDEST_SHARE
        return Estimate("r2", "R²", value, on_rows, shown, widest, is_share=False, constant=constant)

    @cached_property
    def _centre(self) -> float:
        """The constant with the least squared error: the mean, or the middle of a band if errors are clipped."""
        (low, high), held = np.array(self.bands).T, np.maximum(self.totals, 0)
        points = [self._mean, *((low + high) / 2).tolist()] if self.is_clipped else [self._mean]
        return min(points, key=lambda point: float(held @ _losses(low, high, point, self._clip)[1]))

    @property
    def _mean(self) -> float:
        low, high = np.array(self.bands).T
        held = np.maximum(self.totals, 0)
        return float(np.average((low + high) / 2, weights=held)) if held.any() else self._middle

    def _quantile(self, share: float) -> float:
        """Return a quantile of the true numbers by the noisy counts."""
        held = np.maximum(self.totals, 0)
        if not held.any():
            return self._middle
        below = np.concatenate([[0.0], np.cumsum(held)]) / held.sum()
        return float(np.interp(share, below, [self.bands[0][0], *(high for _, high in self.bands)]))

    @property
    def _middle(self) -> float:
        return (self.number.low + self.number.high) / 2


def _losses(low: Floats, high: Floats, point: float, clip: float) -> tuple[Floats, Floats]:
    """Return the mean distance and squared distance from a point of numbers that are equally likely between the ends.

    Distances beyond `clip` count as `clip`.
    """
    distances = np.minimum(np.abs(low + (high - low) * _WITHIN[:, np.newaxis] - point), clip)
    return distances.mean(axis=0), (distances**2).mean(axis=0)
