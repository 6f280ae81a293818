"""The plan and the fit of a private scorecard for regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import ClassVar

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.learned import BuildModel, scorecard_model
from hedgerow.learn.releases import Branch, PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.scorecard.counts import STEPS, NumberResiduals, between_ends, moments, whole_log_odds
from hedgerow.learn.scorecard.fit import Fit, Residual, evidence_by_bin
from hedgerow.learn.scorecard.plan import ScorecardPlan
from hedgerow.learn.scorecard.rounding import coarsest, rounding_loss, to_points
from hedgerow.learn.scorecard.smoothing import LEAST_SLOPE, Evidence, Part, SmoothedValues
from hedgerow.learn.scorecard.spending import FIRST_SHARE, PARTS, TOTALS, Spending, narrowed
from hedgerow.learn.search.sampler import Progress
from hedgerow.privacy.facts import Fact
from hedgerow.tally import Tally

# benchmarks/outcomes.py explains these constants.
SIZES = Fraction(20)  # thousandths of the budget for the mean absolute residual, for each pass
ENOUGH = (120, 800, 4000, *3 * [10_000])  # rows times ε for an attribute that the next pass of residuals requires
ACROSS, EACH = 2.5, 1.0  # the prior standard deviations, in standard deviations of the target
REACH = 2.5  # the bound at which residuals are clipped, in mean absolute residuals
_MEAN_TO_SPREAD = 1.25  # the standard deviation of a normal distribution, in mean absolute deviations
_LEAST, _MOST = 0.005, 0.5  # the range of standard deviations and of mean absolute residuals, in target ranges
_WIDTHS = (0.3, 1.0)  # the range of the width of an attribute's prior, relative to the width from the residuals
_LEAST_PARAMETERS = 0.3  # the smallest effective number of parameters of an attribute
_MOST_MOVED = 4.0  # standard deviations of the noise by which the mean of predictions may differ from the released mean
_LEAST_UNIT = 1e-4  # the smallest value of a point, in target ranges


@dataclass(frozen=True, kw_only=True)
class NumberPlan(ScorecardPlan):
    """Plan of a scorecard for regression. Levels of the target are scaled from 0 (lowest) to 1 (highest)."""

    across: float = ACROSS
    each: float = EACH

    @property
    def refined_from(self) -> float:
        return ENOUGH[0] * len(self.schema)

    @property
    def row(self) -> int:
        """The weight of a row in histograms."""
        return self.schema.target.n_levels - 1

    @property
    def _first_release(self) -> PlannedRelease:
        return PlannedRelease("moments", self.spending.counts(TOTALS, 1, self.row**2))

    def _last_releases(self, number: int, way: Spending) -> Branch:
        return Branch(range(len(ENOUGH) + 1), partial(self._releases_of, number, way))

    def histogram_parts(self, number: int, decision: int) -> Fraction:
        left = self._left(number) - decision * SIZES
        return left * FIRST_SHARE if decision else left

    def _releases_of(self, number: int, way: Spending, decision: int) -> PlannedReleases:
        """Return the releases for this number of passes of residuals."""
        counts, left = way.continued.counts, self._left(number) - decision * SIZES
        first = self.histogram_parts(number, decision)
        histograms = self._histograms(number, way, first)
        if not decision:
            return histograms
        sizes = PlannedRelease("residual_sizes", counts(SIZES, 1, STEPS))
        residuals = PlannedRelease("bin_residuals", counts((left - first) / decision / number, 1, STEPS), times=number)
        return (*histograms, *((sizes, residuals) * decision))

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        return NumberFit(self, tally, runner).fit()


class NumberFit(Fit):
    """Fit of a scorecard for regression. Values are shares of the target's range."""

    redundancy: ClassVar[float] = 0.5
    residual_prior_scale = 0.35
    least_share: ClassVar[float] = 0.0
    histograms_of: ClassVar[str] = "number"

    def __init__(self, plan: NumberPlan, tally: Tally, runner: ReleaseRunner) -> None:
        super().__init__(plan, tally, runner)
        self._binary = True
        self._bound = STEPS
        self._spread = _MOST
        self._variance_of_mean = 0.0
        self._widths: Mapping[int, float] = {}

    @cached_property
    def _by_class(self) -> Tally:
        return between_ends(self._tally)

    def fit(self) -> BuildModel:
        sums, variance = self._counts(lambda: moments(self._tally), Fact("moments"), self._plan.row**2)
        self._describe(sums, variance)
        chosen = self._choose()
        passes = sum(self._is_enough(Fraction(PARTS), len(chosen), least) for least in ENOUGH)
        self._runner.decide(passes)
        ends = np.array([sums[2] + sums[1] / 2, sums[0] + sums[1] / 2])
        parts = self._histograms(chosen, self._plan.histogram_parts(len(chosen), passes), ends, 1.25 * variance)
        base = self._shares[1:]
        if passes:
            residuals = NumberResiduals(self._tally, base)
            changes: Mapping[int, Integers] = {part.attribute: whole_log_odds(part.values) for part in parts}
            for _ in range(passes):
                self._measure(residuals, changes)
                self._widths = self._widths_of(parts)
                changes = self._refine(parts, residuals, {})
        return self._finish(parts, self._together(parts, base))

    def _describe(self, sums: Floats, noise: float) -> None:
        high, both, low = np.maximum(sums, 1)
        self._count_rows(np.array([low + both / 2, high + both / 2]), 1.25 * noise)
        variance = high / self._rows - self._shares[1] ** 2
        self._unit = self._spread = min(max(sqrt(max(variance, 0)), _LEAST), _MOST)
        self._variance_of_mean = 1.25 * noise / self._rows**2

    def _together(self, parts: Sequence[Part], base: Floats) -> Floats:
        """Centre the values, and move the base by their means, as far as noise explains them.

        If a number is skewed, clipping reduces its residuals on one side, and the means become larger.
        """
        moved = super()._together(parts, base) - base
        of_centring = sum(part.noise**2 * float((part.values**2).sum()) for part in parts) / self._rows**2
        most = _MOST_MOVED * sqrt(self._variance_of_mean + of_centring)
        return base + np.clip(moved, -most, most)

    def _weights(self, part: Part, base: Floats) -> Floats:  # noqa: ARG002 -- of classes
        return np.full(part.values.shape, 2 / self._spread**2)  # of the squared loss, relative to the number's variance

    def _growth(self, share: float, rows: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 -- of classes
        return rows, rows * self._unit**2

    def _measure(self, residuals: NumberResiduals, changes: Mapping[int, Integers]) -> None:
        """Release the mean absolute residual, and derive the clipping bound and the prior from it."""
        (total,), _ = self._counts(lambda: residuals.sizes(changes), Fact("residual_sizes"), STEPS)
        mean = min(max(total / self._rows, _LEAST), _MOST)
        self._bound = min(int(np.ceil(STEPS * REACH * mean)), STEPS)
        self._unit = _MEAN_TO_SPREAD * mean

    def _widths_of(self, parts: Sequence[Part]) -> dict[int, float]:
        """Return the width of the prior of each attribute that fits the size of its values (MacKay 1992)."""
        slopes = [np.maximum(part.rows[:, None], LEAST_SLOPE) / self._unit**2 for part in parts]
        sizes, parameters = self._effective(parts, slopes)
        widths = np.sqrt(sizes / np.maximum(parameters, _LEAST_PARAMETERS)) / self._unit
        fitted = np.clip(widths, *_WIDTHS).tolist()
        return {part.attribute: width for part, width in zip(parts, fitted, strict=True)}

    def _prior_of(self, part: Part) -> Floats:
        return self._prior(self._widths[part.attribute]).of(self._schema.attributes[part.attribute][1])

    def _gap(self, part: Part, evidence: Evidence, sampling: Floats, posterior: SmoothedValues) -> Floats:  # noqa: ARG002
        # At the widest prior: without noise, the width would be fitted to other values.
        return evidence.smoothed(sampling, super()._prior_of(part)).gap

    def _residuals(
        self, state: NumberResiduals, part: Part, changes: Mapping[int, Integers]
    ) -> tuple[list[Residual], float]:
        fact = Fact("bin_residuals", attribute=self._schema.names[part.attribute])
        query = partial(state.by_bin_within, part.attribute, changes, self._bound)
        mechanism = narrowed(self._runner.mechanism("bin_residuals"), 1, self._bound)
        sums, variance = self._counts(query, fact, self._bound, mechanism)
        reach = self._bound / STEPS
        return [(sums * reach, *self._growth(0.0, part.rows))], variance * reach**2

    def _finish(self, parts: Sequence[Part], base: Floats) -> BuildModel:
        number = self._schema.target.as_number
        assert number is not None  # checked before
        low, span = number.values[0], number.values[-1] - number.values[0]
        for part in parts:  # a point is worth at most the range; predictions are clipped to the bounds
            part.values = np.clip(part.values, -self._plan.points, self._plan.points)
        allowance, weights = self._merge(parts, base)
        share = coarsest(parts, self._plan.points, partial(rounding_loss, parts, weights), allowance)
        unit = min(rounded_up(span * max(share, _LEAST_UNIT)), number.high - number.low)
        points = to_points(parts, unit / span)
        error_by_rounding = sum(part.mean(part.values - unit / span * points[part.attribute]) for part in parts)
        start = (low - number.low + span * (base + error_by_rounding)) / unit
        error = span * sqrt(sum(part.error() for part in parts))
        return scorecard_model(
            points, np.rint(start).astype(np.int64), unit, error, evidence_by_bin(parts, unit / span)
        )


def rounded_up(unit: float) -> float:
    """Return a number rounded up to two significant digits, so that the value of a point is easy to state."""
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(unit)))
