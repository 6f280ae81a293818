"""The plan and the fit of a private scorecard of classes: log-odds by bin."""

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
    Prior,
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

# These were chosen on COMPAS, German, HMDA, Adult and DoctorVisits; benchmarks/scorecards.py states the rest.
PASSES = {125: 1, 1500: 2, 4500: 4, 10_000: 8}
"""Passes of residuals, by the rows times ε for an attribute, outside the most frequent class, from which they pay."""
ENOUGH_PASSES = 4  # from which on probabilities need no calibration
ENOUGH_TO_CALIBRATE = 32
_NEWTON_STEPS, _LARGEST_NEWTON_STEP = 8, 1.0  # on the histogram of an attribute, in log-odds
_NEWTON_PRECISION = 2.0  # of their prior, times that of a linear step, if no narrower priors are averaged over, too
_UNITS = (0.15, 1.0)  # of the prior, where the values say how wide it is
ENOUGH_FOR_WIDE, NARROWEST = 8, 0.5  # rows times ε for an attribute, below which the prior is narrower; times its width
ENOUGH_TO_TRUST = 60  # rows times ε for an attribute, below which it may tell nothing
ENOUGH_TO_WEIGH, ENOUGH_TO_WEIGH_WITH_DELTA = 100, 9
MOST_ROWS_TO_WEIGH = 2**37  # a row adds up to 2^24 to a sum, and twice as many rows still fit in 64 bits
_WEIGHT, _WEIGHTS = 0.5, (0.3, 2.0)  # the prior's standard deviation of a weight around 1, and the ends
_LEAST_SPREAD, _LEAST_TOGETHER = 1e-3, 0.05
_CUT_OFF = 0.45  # how much a row counts at most: times attributes, with δ their root


@dataclass(frozen=True, kw_only=True)
class ClassPlan(ScorecardPlan):
    """A scorecard of classes from noisy histograms."""

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
        """Return the parts of histograms and residuals together."""
        weighs, _, calibrates = decision
        return self._left(number) - (WEIGHTS if weighs else 0) - (CALIBRATION if calibrates else 0)

    def histogram_parts(self, number: int, decision: tuple[bool, int, bool]) -> Fraction:
        left, (_, passes, _) = self._values_parts(number, decision), decision
        return left * FIRST_SHARE if passes else left

    def _releases_of(self, number: int, way: Spending, decision: tuple[bool, int, bool]) -> PlannedReleases:
        """Return the releases by whether attributes are weighed, passes of residuals, and whether it calibrates."""
        weighs, passes, calibrates = decision
        counts, schema = way.continued.counts, self.schema
        left, first = self._values_parts(number, decision), self.histogram_parts(number, decision)
        found = [*self._histograms(number, way, first)]
        if weighs:
            found.append(
                PlannedRelease("attribute_residuals", counts(WEIGHTS, 1, most_by_features(way, number) * IN_PART))
            )
        if passes:
            residuals = counts((left - first) / passes / number, _moved_by_residuals(schema), STEPS)
            found.append(PlannedRelease(self.residuals, residuals, times=passes * number))
        if calibrates:
            found.append(PlannedRelease("calibration", counts(CALIBRATION, 1)))
        return tuple(found)

    @property
    def refined_from(self) -> float:
        return 2 * min(PASSES) * len(self.schema)  # if two classes are alike

    @property
    def residuals(self) -> str:
        """The code of a query for the residuals of an attribute."""
        return "bin_residuals" if self.schema.target.n_levels == 2 else "class_residuals"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        return ClassFit(self, tally, runner).fit()


def passes_of(strength: float) -> int:
    """Return the passes of residuals, given the rows outside the most frequent class times ε for an attribute."""
    return max((passes for least, passes in PASSES.items() if strength >= least), default=0)


def reach(spending: Spending, number: int) -> float:
    """Return how much a row counts at most where this number of attributes is weighed."""
    return _CUT_OFF * (number if spending.is_pure else sqrt(number))


def most_by_features(spending: Spending, number: int) -> int:
    return int(reach(spending, number) * STEPS * FEATURE**2)


def _moved_by_residuals(schema: Schema) -> int:
    """Return by how much a row moves its residuals in ℓ1, and in ℓ2², in steps: 1; of more than two classes, 2."""
    return 1 if schema.target.n_levels == 2 else 2


class ClassFit(Fit):
    """One fit of classes: log-odds."""

    _expected_factor = EXPECTED

    def fit(self) -> BuildModel:
        counts, variance = self._counts(self._tally.total, Fact("class_totals"))
        self._count_rows(counts, variance)
        n = len(self._schema)
        strength = self._strength(Fraction(PARTS), n)
        self._unit = min(max(strength / ENOUGH_FOR_WIDE, NARROWEST), 1.0)
        self._doubts = strength < ENOUGH_TO_TRUST
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
        """Return the passes of residuals over this number of attributes: none over one alone, which has no others."""
        others = float(1 - self._shares.max())
        return passes_of(self._strength(Fraction(PARTS), number) * others) if number > 1 else 0

    def _together_by_residuals(self, parts: Sequence[Part], base: Floats, passes: int) -> None:
        """Fit the log-odds of all attributes together, by several passes of residuals."""
        kept = Residuals(self._tally, base)
        changes: Mapping[int, Integers] = {each.attribute: whole_log_odds(each.values) for each in parts}
        for done in range(passes):
            if self._binary or not done:  # of more classes slopes are but bounds, looser the larger the log-odds are
                self._unit = self._unit_of(parts, base)
            changes = self._refine(parts, kept, changes)
        self._expected_factor = 1.0 if passes > 1 else EXPECTED

    def _unit_of(self, parts: Sequence[Part], base: Floats) -> float:
        """Return the prior's unit for which log-odds are as large as their prior expects (MacKay 1992).

        For one attribute it is the root of vᵀQv over how many log-odds the rows determine. Attributes that say the same
        determine fewer together: in all, as much as values are smaller together than those that each has alone. The
        log-odds of K classes add up to 0: with one in K fewer to determine, each has as much more of the information.
        """
        size = determined = together = alone = 0.0
        free = 1.0 if self._binary else 1 - 1 / len(self._shares)
        for part in parts:
            prior = Prior(self._plan.across, self._plan.each).of(self._schema.attributes[part.attribute][1])
            weights = self._weights(part, base)
            information = weights if self._binary else weights * (1 - weights) / free
            growth = np.maximum(part.rows[:, None] * information, LEAST_SLOPE)
            columns = zip(part.values.T, growth.T, part.evidence, part.alone, strict=True)
            for values, slopes, evidence, of_one in columns:
                own = of_one.smoothed(1 / slopes, prior / self._unit**2).values
                size += values @ prior @ values
                determined += np.trace(evidence.smoothed(1 / slopes, prior / self._unit**2).trust)
                together += slopes @ (own * values)
                alone += slopes @ own**2
        share = min(max(together / max(alone, LEAST_SLOPE), _LEAST_TOGETHER), 1.0)
        return float(np.clip(np.sqrt(size / max(share * free * determined, 1.0)), *_UNITS))

    def _weigh(self, parts: Sequence[Part], base: Floats) -> None:
        """Multiply the log-odds of each attribute by a weight, by how far others say the same."""
        pure, k, most_of_row = self._spending.is_pure, len(parts), reach(self._spending, len(parts))
        spreads = np.array([max(part.spread(), _LEAST_SPREAD) for part in parts])
        features = {part.attribute: in_features(part.values[:, 0], by) for part, by in zip(parts, spreads, strict=True)}
        most = most_by_features(self._spending, k)
        values = {each.attribute: whole_log_odds(each.values) for each in parts}
        query = partial(Residuals(self._tally, base).by_feature, features, values, most, pure=pure)
        found, variance = self._counts(query, Fact("attribute_residuals", attributes=k), most * IN_PART)
        step = newton_step(found * most_of_row, variance * most_of_row**2, 1 / (_WEIGHT * spreads) ** 2)
        for part, weight in zip(parts, np.clip(1 + step / spreads, *_WEIGHTS), strict=True):
            part.weigh(weight)

    def _weights(self, part: Part, base: Floats) -> Floats:
        from scipy.special import expit, softmax  # takes long to import

        if not self._binary:
            return softmax(base + part.values, axis=1)  # no less than the second derivative
        chances = expit(base + part.values)
        return chances * (1 - chances)

    def _growth(self, share: float, rows: Floats) -> tuple[Floats, Floats]:
        spread = share * (1 - share) * rows
        return (spread if self._binary else share * rows), spread

    def _by_histogram(
        self, share: float, own: Floats, released: Floats, variance: float, priors: Sequence[Floats], nothing: float
    ) -> tuple[SmoothedValues, Evidence]:
        """Go on from the linear step with Newton's: log-odds of a class that is nearly alone are far from linear."""
        linear, evidence = super()._by_histogram(share, own, released, variance, priors, nothing)
        if not self._binary:
            return linear, evidence
        from scipy.special import expit, logit  # takes long to import

        found, rows = linear, np.maximum(released, 0)
        narrow = priors if self._doubts else [prior * _NEWTON_PRECISION for prior in priors]
        values = np.clip(linear.values, -_LARGEST_NEWTON_STEP, _LARGEST_NEWTON_STEP)
        for _ in range(_NEWTON_STEPS):
            chances = expit(logit(share) + values)
            slopes, sums = rows * chances * (1 - chances), own - chances * released
            noise = variance * ((1 - chances) ** 2 + chances**2)
            evidence = Evidence.of(values, sums, slopes, noise)
            found = smoothed(sums + slopes * values, slopes, slopes, noise, narrow, nothing)
            values = values + np.clip(found.values - values, -_LARGEST_NEWTON_STEP, _LARGEST_NEWTON_STEP)
        # The linear one stays where it is larger: where many attributes say the same, the other makes models worse.
        larger = np.abs(linear.values) > np.abs(values)
        return replace(found, values=np.where(larger, linear.values, values)), evidence

    def _residuals(self, kept: Residuals, part: Part, changes: Mapping[int, Integers]) -> tuple[list[Residual], float]:
        if not self._binary:
            return self._residuals_by_class(kept, part, changes)
        query = Fact("bin_residuals", attribute=self._schema.names[part.attribute])  # with their variances
        found, variance = self._counts(partial(kept.by_bin, part.attribute, changes), query, STEPS)
        errors, spreads = found.reshape(2, -1)
        slopes = np.maximum(spreads, 0)
        return [(errors, slopes, slopes)], variance

    def _residuals_by_class(
        self, kept: Residuals, part: Part, changes: Mapping[int, Integers]
    ) -> tuple[list[Residual], float]:
        from scipy.special import softmax  # takes long to import

        # Residuals add up to 0 in each bin: so does what is taken of the noise. How fast they grow with the log-odds is
        # bounded by a bin's rows times the chances that its log-odds alone give: both were released.
        what = Fact("class_residuals", attribute=self._schema.names[part.attribute])
        query = partial(kept.by_bin_and_class, part.attribute, changes)
        found, variance = self._counts(query, what, STEPS)
        errors = found.reshape(part.values.shape)
        errors -= errors.mean(axis=1, keepdims=True)
        chances = softmax(np.log(self._shares) + part.values, axis=1)
        slopes = (part.rows[:, None] * chances).T
        # With the same spreads as slopes, passes without noise end where the penalised likelihood is largest.
        return list(zip(errors.T, slopes, slopes, strict=True)), variance * (1 - 1 / len(self._shares))

    def _finish(self, parts: Sequence[Part], base: Floats, *, calibrates: bool) -> BuildModel:
        """Merge bins, round to whole points, fit the map from totals to probabilities, and return the scorecard."""
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
            of_one = {attribute: each[:, 0] for attribute, each in points.items()}
            query, what = partial(queries.outcomes, self._tally, of_one, edges), Fact("calibration", by="total")
        else:
            start = np.rint(base / unit).astype(np.int64)
            query, what = partial(queries.leads, self._tally, start, points, edges), Fact("calibration", by="lead")
        counts, variance = self._counts(query, what)
        misses, hits = counts.reshape(-1, 2).T
        start, expected = (float(base[0]) if self._binary else 0.0), self._expected_factor
        totals = midpoints(spread)
        return calibrated(totals, misses, hits, variance, shift=self._binary, start=start, expected=expected)
