"""The plan and the fit of a private scorecard of classes: log-odds by bin."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import sqrt

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.learned import BuildModel, scorecard_model
from hedgerow.learn.releases import Branch, PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.scorecard import counts as queries
from hedgerow.learn.scorecard.calibration import EDGES, calibrated, midpoints
from hedgerow.learn.scorecard.counts import FEATURE, IN_PART, STEPS, Residuals, in_features, whole_log_odds
from hedgerow.learn.scorecard.fit import Fit, unsupported_bins
from hedgerow.learn.scorecard.plan import ScorecardPlan
from hedgerow.learn.scorecard.rounding import coarsest, rounding_loss, to_points
from hedgerow.learn.scorecard.smoothing import (
    Part,
    Smoothed,
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

# benchmarks/scorecards.py says how these were chosen.
ENOUGH_FOR_RESIDUALS = 5000  # times attributes: the more there are, the more of them say the same
ENOUGH_TO_CALIBRATE = 32
ENOUGH_FOR_WIDE, NARROWEST = 8, 0.5  # rows times ε for an attribute, below which the prior is narrower; times its width
ENOUGH_TO_TRUST = 60  # rows times ε for an attribute, below which it may tell nothing
ENOUGH_TO_WEIGH, ENOUGH_TO_WEIGH_WITH_DELTA = 100, 9
MOST_ROWS_TO_WEIGH = 2**37  # a row adds up to 2^24 to a sum, and twice as many rows still fit in 64 bits
_WEIGHT, _WEIGHTS = 0.5, (0.3, 2.0)  # the prior's standard deviation of a weight around 1, and the ends
_OF_RESIDUALS_OF_WEIGHED, _LEAST_SPREAD = 0.15, 1e-3
_CUT_OFF = 0.45  # how much a row counts at most: times attributes, with δ their root


@dataclass(frozen=True, kw_only=True)
class ClassPlan(ScorecardPlan):
    """A scorecard of classes from noisy histograms."""

    @property
    def _first_release(self) -> PlannedRelease:
        return PlannedRelease("class_totals", self.spending.counts(TOTALS, 1, first=True))

    def _last_releases(self, number: int) -> Branch:
        """Return the releases about this number of attributes."""
        may_weigh = self.schema.target.n_levels == 2 and 1 < number <= MOST_TO_WEIGH
        decisions = tuple(product((False, True) if may_weigh else (False,), (False, True), (False, True)))
        return Branch(decisions, partial(self._releases_of, number))

    def _values_parts(self, number: int, decision: tuple[bool, bool, bool]) -> Fraction:
        """Return the parts of histograms and residuals together."""
        weighs, _, calibrates = decision
        return self._left(number) - (WEIGHTS if weighs else 0) - (CALIBRATION if calibrates else 0)

    def histogram_parts(self, number: int, decision: tuple[bool, bool, bool]) -> Fraction:
        left, (_, refines, _) = self._values_parts(number, decision), decision
        return left * FIRST_SHARE if refines else left

    def _releases_of(self, number: int, decision: tuple[bool, bool, bool]) -> PlannedReleases:
        """Return the releases by whether attributes are weighed, values refined, and probabilities calibrated."""
        weighs, refines, calibrates = decision
        counts, schema = self.spending.counts, self.schema
        left, first = self._values_parts(number, decision), self.histogram_parts(number, decision)
        found = [*self._histograms(number, first)]
        if weighs:
            found.append(
                PlannedRelease(
                    "attribute_residuals", counts(WEIGHTS, 1, most_by_features(self.spending, number) * IN_PART)
                )
            )
        if refines:
            residuals = counts((left - first) / number, _moved_by_residuals(schema), STEPS)
            found.append(PlannedRelease(self.residuals, residuals, times=number))
        if calibrates:
            found.append(PlannedRelease("calibration", counts(CALIBRATION, 1)))
        return tuple(found)

    @property
    def residuals(self) -> str:
        """The code of a query for the residuals of an attribute."""
        return "bin_residuals" if self.schema.target.n_levels == 2 else "class_residuals"

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        return ClassFit(self, tally, runner).fit()


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

    def fit(self) -> BuildModel:
        query = Fact("class_totals", series=None if self._spending.is_pure else True)
        counts, variance = self._counts(self._tally.total, query)
        self._count_rows(counts, variance)
        calibrates = self._is_enough(CALIBRATION, 1, ENOUGH_TO_CALIBRATE)
        n = len(self._schema)
        strength = self._strength(Fraction(PARTS), n)
        self._unit = min(max(strength / ENOUGH_FOR_WIDE, NARROWEST), 1.0)
        self._doubts = strength < ENOUGH_TO_TRUST
        refines = self._is_enough(Fraction(PARTS), n, ENOUGH_FOR_RESIDUALS / n)
        chosen = self._choose()
        least = ENOUGH_TO_WEIGH if self._spending.is_pure else ENOUGH_TO_WEIGH_WITH_DELTA
        fits = 1 < len(chosen) <= MOST_TO_WEIGH and self._rows < MOST_ROWS_TO_WEIGH
        weighs = self._binary and fits and self._is_enough(WEIGHTS, len(chosen), least)
        decision = weighs, refines, calibrates
        self._runner.decide(decision)
        parts = self._histograms(chosen, self._plan.histogram_parts(len(chosen), decision), counts, variance)
        base = np.log(self._shares[1:] / self._shares[0]) if self._binary else np.log(self._shares)
        if weighs:
            self._weigh(parts, base)
        if refines:
            changes = {each.attribute: whole_log_odds(each.values) for each in parts}
            self._refine(parts, Residuals(self._tally, base), changes)
        return self._finish(parts, self._together(parts, base), calibrates=calibrates)

    def _weigh(self, parts: Sequence[Part], base: Floats) -> None:
        """Multiply the log-odds of each attribute by a weight, by how far others say the same."""
        self.of_residuals = _OF_RESIDUALS_OF_WEIGHED
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

    def _step(self, kept: Residuals, part: Part, changes: Mapping[int, Integers], precision: Floats) -> list[Smoothed]:
        if not self._binary:
            return self._steps(kept, part, changes, precision)
        query = Fact("bin_residuals", attribute=self._schema.names[part.attribute])  # with their variances
        found, variance = self._counts(partial(kept.by_bin, part.attribute, changes), query, STEPS)
        errors, spreads = found.reshape(2, -1)
        slopes = np.maximum(spreads, 0)
        return [smoothed(errors, slopes, slopes, variance, [precision])]

    def _steps(self, kept: Residuals, part: Part, changes: Mapping[int, Integers], precision: Floats) -> list[Smoothed]:
        """Ask for the residuals of an attribute by class, and return the step of each class."""
        from scipy.special import softmax  # takes long to import

        # Residuals add up to 0 in each bin: so does what is taken of the noise. How fast they grow with the log-odds
        # follows from a bin's rows and the chances that its log-odds alone give: both were released.
        what = Fact("class_residuals", attribute=self._schema.names[part.attribute])
        query = partial(kept.by_bin_and_class, part.attribute, changes)
        found, variance = self._counts(query, what, STEPS)
        errors = found.reshape(part.values.shape)
        errors -= errors.mean(axis=1, keepdims=True)
        chances = softmax(np.log(self._shares) + part.values, axis=1)
        noise = variance * (1 - 1 / len(self._shares))
        return [
            smoothed(error, part.rows * chance, part.rows * chance * (1 - chance), noise, [precision])
            for error, chance in zip(errors.T, chances.T, strict=True)
        ]

    def _finish(self, parts: Sequence[Part], base: Floats, *, calibrates: bool) -> BuildModel:
        """Merge bins, round to whole points, fit the map from totals to probabilities, and return the scorecard."""
        allowance, weights = self._merge(parts, base)
        unit = coarsest(parts, self._plan.points, partial(rounding_loss, parts, weights), allowance)
        points = to_points(parts, unit)
        errors = {part.attribute: part.standard_errors() / unit for part in parts}
        shift, factor = 0.0, 1.0
        if calibrates:
            shift, factor = self._calibrate(points, unit, base, sum(part.spread() for part in parts))
        error = factor * sqrt(sum(part.error() for part in parts))
        unit *= factor
        start = np.rint((base + shift) / unit).astype(np.int64)
        return scorecard_model(points, start, unit, error, errors, unsupported_bins(parts))

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
        middle = float(base[0]) if self._binary else 0.0
        return calibrated(midpoints(spread), misses, hits, variance, shift=self._binary, start=middle)
