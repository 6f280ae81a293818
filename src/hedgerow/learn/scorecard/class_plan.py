"""The plan and the fit of a private scorecard for classification: log-odds by bin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import sqrt

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.learned import BuildModel, scorecard_model
from hedgerow.learn.releases import Branch, PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.scorecard import counts as queries
from hedgerow.learn.scorecard.calibration import EDGES, EXPECTED, calibrated, midpoints
from hedgerow.learn.scorecard.counts import FEATURE, IN_PART, STEPS, Residuals, in_features, whole_log_odds
from hedgerow.learn.scorecard.fit import Fit, Residual, evidence_by_bin
from hedgerow.learn.scorecard.plan import ScorecardPlan
from hedgerow.learn.scorecard.rounding import coarsest, rounding_loss, to_points
from hedgerow.learn.scorecard.smoothing import (
    LEAST_SLOPE,
    Evidence,
    Part,
    SmoothedValues,
    newton_step,
    smoothed,
)
from hedgerow.learn.scorecard.spending import (
    CALIBRATION,
    FIRST_SHARE,
    MOST_TO_WEIGH,
    PARTS,
    TOTALS,
    WEIGHTS,
    Spending,
)
from hedgerow.learn.search.sampler import Progress
from hedgerow.privacy.facts import Fact
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

# These constants were chosen on COMPAS, German, HMDA, Adult and DoctorVisits; benchmarks/scorecards.py has details.
PASSES = {125: 1, 1500: 2, 4500: 4, 10_000: 8}
"""Passes of residuals, by the smallest number of rows outside the majority class times ε for an attribute."""
ENOUGH_PASSES = 4  # from this number of passes on, probabilities need no calibration
ENOUGH_TO_CALIBRATE = 32
_NEWTON_STEPS, _LARGEST_NEWTON_STEP = 8, 1.0  # on the histogram of an attribute, in log-odds
_NEWTON_PRECISION = 2.0  # of the prior, relative to a linear step, unless narrower priors are averaged over
_UNITS = (0.15, 1.0)  # the range of the prior's estimated unit
ENOUGH_FOR_WIDE, NARROWEST = 8, 0.5  # rows times ε for an attribute below which the prior is narrower; smallest factor
ENOUGH_TO_TRUST = 60  # with fewer rows times ε for an attribute, the prior allows for independence of the class
ENOUGH_TO_WEIGH, ENOUGH_TO_WEIGH_WITH_DELTA = 100, 9
MOST_ROWS_TO_WEIGH = 2**37  # a row adds at most 2^24 to a sum, so the sums of twice as many rows fit in 64 bits
_WEIGHT, _WEIGHTS = 0.5, (0.3, 2.0)  # the prior standard deviation of a weight around 1, and its range
_LEAST_SPREAD = 1e-3
_CUT_OFF = 0.45  # bound on a row's contribution, times the number of attributes (pure ε) or its square root (with δ)


@dataclass(frozen=True, kw_only=True)
class ClassPlan(ScorecardPlan):
    """Plan of a scorecard for classification."""

    @property
    def _first_release(self) -> PlannedRelease:
        return PlannedRelease("class_totals", self.spending.counts(TOTALS, 1))

    def _last_releases(self, number: int, way: Spending) -> Branch:
        """Return the releases about this number of attributes."""
        may_weigh = self.schema.target.n_levels == 2 and 1 < number <= MOST_TO_WEIGH
        passes = (0, *PASSES.values())
        decisions = tuple(product((False, True) if may_weigh else (False,), passes, (False, True)))
        return Branch(decisions, partial(self._releases_of, number, way))

    def _values_parts(self, number: int, decision: tuple[bool, int, bool]) -> Fraction:
        """Return the thousandths of the budget for histograms and residuals together."""
        weighs, _, calibrates = decision
        return self._left(number) - (WEIGHTS if weighs else 0) - (CALIBRATION if calibrates else 0)

    def histogram_parts(self, number: int, decision: tuple[bool, int, bool]) -> Fraction:
        left, (_, passes, _) = self._values_parts(number, decision), decision
        return left * FIRST_SHARE if passes else left

    def _releases_of(self, number: int, way: Spending, decision: tuple[bool, int, bool]) -> PlannedReleases:
        """Return the releases for a decision: whether to weigh attributes, how many passes, whether to calibrate."""
        weighs, passes, calibrates = decision
        counts, schema = way.continued.counts, self.schema
        left, first = self._values_parts(number, decision), self.histogram_parts(number, decision)
        releases = [*self._histograms(number, way, first)]
        if weighs:
            releases.append(
                PlannedRelease("attribute_residuals", counts(WEIGHTS, 1, most_by_features(way, number) * IN_PART))
            )
        if passes:
            residuals = counts((left - first) / passes / number, _residual_sensitivity(schema), STEPS)
            releases.append(PlannedRelease(self.residuals, residuals, times=passes * number))
        if calibrates:
            releases.append(PlannedRelease("calibration", counts(CALIBRATION, 1)))
        return tuple(releases)

    @property
    def refined_from(self) -> float:
        return 2 * min(PASSES) * len(self.schema)  # for two balanced classes

    @property
    def residuals(self) -> str:
        """The code of a query for the residuals of an attribute."""
        return "bin_residuals" if self.schema.target.n_levels == 2 else "class_residuals"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        return ClassFit(self, tally, runner).fit()


def passes_of(strength: float) -> int:
    """Return the number of passes, given the number of rows outside the majority class times ε for an attribute."""
    return max((passes for least, passes in PASSES.items() if strength >= least), default=0)


def reach(spending: Spending, number: int) -> float:
    """Return the largest contribution of a row if this number of attributes is weighed."""
    return _CUT_OFF * (number if spending.is_pure else sqrt(number))


def most_by_features(spending: Spending, number: int) -> int:
    return int(reach(spending, number) * STEPS * FEATURE**2)


def _residual_sensitivity(schema: Schema) -> int:
    """Return the ℓ1 and ℓ2² sensitivity of residuals in steps: 1 for two classes, otherwise 2."""
    return 1 if schema.target.n_levels == 2 else 2


class ClassFit(Fit):
    """Fit of a scorecard for classification: log-odds by bin."""

    _expected_factor = EXPECTED

    def fit(self) -> BuildModel:
        counts, variance = self._counts(self._tally.total, Fact("class_totals"))
        self._count_rows(counts, variance)
        n = len(self._schema)
        strength = self._strength(Fraction(PARTS), n)
        self._unit = min(max(strength / ENOUGH_FOR_WIDE, NARROWEST), 1.0)
        self._may_be_irrelevant = strength < ENOUGH_TO_TRUST
        chosen = self._choose()
        least = ENOUGH_TO_WEIGH if self._spending.is_pure else ENOUGH_TO_WEIGH_WITH_DELTA
        fits = 1 < len(chosen) <= MOST_TO_WEIGH and self._rows < MOST_ROWS_TO_WEIGH
        weighs = self._binary and fits and self._is_enough(WEIGHTS, len(chosen), least)
        passes = self._passes_over(len(chosen))
        calibrates = passes < ENOUGH_PASSES and self._is_enough(CALIBRATION, 1, ENOUGH_TO_CALIBRATE)
        decision = weighs, passes, calibrates
        self._runner.decide(decision)
        parts = self._histograms(chosen, self._plan.histogram_parts(len(chosen), decision), counts, variance)
        base = np.log(self._shares[1:] / self._shares[0]) if self._binary else np.log(self._shares)
        if weighs:
            self._weigh(parts, base)
        if passes:
            self._together_by_residuals(parts, base, passes)
        return self._finish(parts, self._together(parts, base), calibrates=calibrates)

    def _passes_over(self, number: int) -> int:
        """Return the number of passes of residuals; a single attribute needs no pass."""
        minority = float(1 - self._shares.max())
        return passes_of(self._strength(Fraction(PARTS), number) * minority) if number > 1 else 0

    def _together_by_residuals(self, parts: Sequence[Part], base: Floats, passes: int) -> None:
        """Fit the log-odds of all attributes jointly, by passes of residuals."""
        residuals = Residuals(self._tally, base)
        changes: Mapping[int, Integers] = {part.attribute: whole_log_odds(part.values) for part in parts}
        for completed in range(passes):
            # With more than two classes, slopes are upper bounds, which are loose for large log-odds.
            if self._binary or not completed:
                self._unit = self._unit_of(parts, base)
            changes = self._refine(parts, residuals, changes)
        self._expected_factor = 1.0 if passes > 1 else EXPECTED

    def _unit_of(self, parts: Sequence[Part], base: Floats) -> float:
        """Return the unit of the prior that fits the size of the log-odds (MacKay 1992)."""
        # The root of the size over the effective number of parameters. The log-odds of K classes add up to 0, so K − 1
        # of K are free, and each has more information.
        free = 1.0 if self._binary else 1 - 1 / len(self._shares)
        slopes = list[Floats]()
        for part in parts:
            weights = self._weights(part, base)
            information = weights if self._binary else weights * (1 - weights) / free
            slopes.append(np.maximum(part.rows[:, None] * information, LEAST_SLOPE))
        sizes, determined = self._effective(parts, slopes)
        return float(np.clip(np.sqrt(sizes.sum() / max(free * determined.sum(), 1.0)), *_UNITS))

    def _weigh(self, parts: Sequence[Part], base: Floats) -> None:
        """Multiply the log-odds of each attribute by a weight that allows for its correlation with other attributes."""
        pure, k, largest = self._spending.is_pure, len(parts), reach(self._spending, len(parts))
        spreads = np.array([max(part.spread(), _LEAST_SPREAD) for part in parts])
        features = {part.attribute: in_features(part.values[:, 0], by) for part, by in zip(parts, spreads, strict=True)}
        most = most_by_features(self._spending, k)
        values = {part.attribute: whole_log_odds(part.values) for part in parts}
        query = partial(Residuals(self._tally, base).by_feature, features, values, most, pure=pure)
        sums, variance = self._counts(query, Fact("attribute_residuals", attributes=k), most * IN_PART)
        step = newton_step(sums * largest, variance * largest**2, 1 / (_WEIGHT * spreads) ** 2)
        for part, weight in zip(parts, np.clip(1 + step / spreads, *_WEIGHTS), strict=True):
            part.weigh(weight)

    def _weights(self, part: Part, base: Floats) -> Floats:
        from scipy.special import expit, softmax  # takes long to import

        if not self._binary:
            return softmax(base + part.values, axis=1)  # an upper bound on the second derivative
        chances = expit(base + part.values)
        return chances * (1 - chances)

    def _growth(self, share: float, rows: Floats) -> tuple[Floats, Floats]:
        spread = share * (1 - share) * rows
        return (spread if self._binary else share * rows), spread

    def _by_histogram(
        self, share: float, own: Floats, released: Floats, variance: float, priors: Sequence[Floats], nothing: float
    ) -> tuple[SmoothedValues, Evidence]:
        """Improve the linear step by Newton steps, because it is a poor approximation in almost pure bins."""
        linear, evidence = super()._by_histogram(share, own, released, variance, priors, nothing)
        if not self._binary:
            return linear, evidence
        from scipy.special import expit, logit  # takes long to import

        posterior, rows = linear, np.maximum(released, 0)
        narrow = priors if self._may_be_irrelevant else [prior * _NEWTON_PRECISION for prior in priors]
        values = np.clip(linear.values, -_LARGEST_NEWTON_STEP, _LARGEST_NEWTON_STEP)
        for _ in range(_NEWTON_STEPS):
            chances = expit(logit(share) + values)
            slopes, sums = rows * chances * (1 - chances), own - chances * released
            noise = variance * ((1 - chances) ** 2 + chances**2)
            evidence = Evidence.of(values, sums, slopes, noise)
            posterior = smoothed(sums + slopes * values, slopes, slopes, noise, narrow, nothing)
            values = values + np.clip(posterior.values - values, -_LARGEST_NEWTON_STEP, _LARGEST_NEWTON_STEP)
        # The value of larger size is used, because smaller linear values make models worse if many attributes are
        # correlated.
        larger = np.abs(linear.values) > np.abs(values)
        return replace(posterior, values=np.where(larger, linear.values, values)), evidence

    def _residuals(self, state: Residuals, part: Part, changes: Mapping[int, Integers]) -> tuple[list[Residual], float]:
        if not self._binary:
            return self._residuals_by_class(state, part, changes)
        query = Fact("bin_residuals", attribute=self._schema.names[part.attribute])  # with their variances
        sums, variance = self._counts(partial(state.by_bin, part.attribute, changes), query, STEPS)
        errors, spreads = sums.reshape(2, -1)
        slopes = np.maximum(spreads, 0)
        return [(errors, slopes, slopes)], variance

    def _residuals_by_class(
        self, state: Residuals, part: Part, changes: Mapping[int, Integers]
    ) -> tuple[list[Residual], float]:
        from scipy.special import softmax  # takes long to import

        # Residuals add up to 0 in each bin, so the mean of the noise is removed. The slope is at most a bin's rows
        # times the probabilities from its own log-odds; both were released.
        fact = Fact("class_residuals", attribute=self._schema.names[part.attribute])
        query = partial(state.by_bin_and_class, part.attribute, changes)
        sums, variance = self._counts(query, fact, STEPS)
        errors = sums.reshape(part.values.shape)
        errors -= errors.mean(axis=1, keepdims=True)
        chances = softmax(np.log(self._shares) + part.values, axis=1)
        slopes = (part.rows[:, None] * chances).T
        # With spreads equal to slopes, passes without noise converge to the maximum of the penalised likelihood.
        return list(zip(errors.T, slopes, slopes, strict=True)), variance * (1 - 1 / len(self._shares))

    def _finish(self, parts: Sequence[Part], base: Floats, *, calibrates: bool) -> BuildModel:
        """Merge bins, round to integer points, calibrate if requested, and return the scorecard."""
        allowance, weights = self._merge(parts, base)
        unit = coarsest(parts, self._plan.points, partial(rounding_loss, parts, weights), allowance)
        points = to_points(parts, unit)
        evidence = evidence_by_bin(parts, unit)
        shift, factor = 0.0, 1.0
        if calibrates:
            shift, factor = self._calibrate(points, unit, base, sum(part.spread() for part in parts))
        error = factor * sqrt(sum(part.error() for part in parts))
        unit *= factor
        start = np.rint((base + shift) / unit).astype(np.int64)
        return scorecard_model(points, start, unit, error, evidence)

    def _calibrate(
        self, points: Mapping[int, Integers], unit: float, base: Floats, spread: float
    ) -> tuple[float, float]:
        edges = np.rint(np.array(EDGES) * spread / unit).astype(np.int64)
        if self._binary:
            by_attribute = {attribute: by_class[:, 0] for attribute, by_class in points.items()}
            query, fact = partial(queries.outcomes, self._tally, by_attribute, edges), Fact("calibration", by="total")
        else:
            start = np.rint(base / unit).astype(np.int64)
            query, fact = partial(queries.leads, self._tally, start, points, edges), Fact("calibration", by="lead")
        counts, variance = self._counts(query, fact)
        misses, hits = counts.reshape(-1, 2).T
        start, expected = (float(base[0]) if self._binary else 0.0), self._expected_factor
        totals = midpoints(spread)
        return calibrated(totals, misses, hits, variance, shift=self._binary, start=start, expected=expected)
