"""The fit of a private scorecard: values by bin from what was released, merged and rounded to points."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.chosen_attributes import Choice, most_moved
from hedgerow.learn.learned import BuildModel, scorecard_model
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.scorecard import counts as queries
from hedgerow.learn.scorecard.calibration import EDGES, calibrated, midpoints
from hedgerow.learn.scorecard.counts import IN_PART, STEPS, Residuals, in_features, in_steps, whole_log_odds
from hedgerow.learn.scorecard.rounding import coarsest, rounding_loss, to_points
from hedgerow.learn.scorecard.segments import merge
from hedgerow.learn.scorecard.smoothing import (
    NOTHING,
    WIDTHS,
    Part,
    Prior,
    Smoothed,
    newton_step,
    smoothed,
)
from hedgerow.learn.scorecard.spending import (
    CALIBRATION,
    MOST_TO_WEIGH,
    PARTS,
    WEIGHTS,
    CountsMechanism,
    narrowed,
    variance_of,
)
from hedgerow.privacy.facts import Fact
from hedgerow.tally import Tally

if TYPE_CHECKING:
    from hedgerow.learn.scorecard.plan import ScorecardPlan

# benchmarks/scorecards.py says how these were chosen.
ENOUGH_FOR_RESIDUALS = 5000  # times attributes: the more there are, the more of them say the same
ENOUGH_TO_CALIBRATE = 32
ENOUGH_FOR_WIDE, NARROWEST = 8, 0.5  # rows times ε for an attribute, below which the prior is narrower; times its width
ENOUGH_TO_TRUST = 60  # rows times ε for an attribute, below which it may tell nothing
ENOUGH_TO_WEIGH, ENOUGH_TO_WEIGH_WITH_DELTA = 100, 9
MOST_ROWS_TO_WEIGH = 2**37  # a row adds up to 2^24 to a sum, and twice as many rows still fit in 64 bits
_WEIGHT, _WEIGHTS = 0.5, (0.3, 2.0)  # the prior's standard deviation of a weight around 1, and the ends
_OF_RESIDUALS_OF_WEIGHED, _LEAST_SPREAD = 0.15, 1e-3
_LARGEST_STEP = 2.0


class Fit:
    """One fit: the private table is asked by releases only; all else is made of what they returned.

    Of classes, or of a number, whose two ends are as two classes: a row is in part in each.
    """

    redundancy: ClassVar[float] = 0.25  # values are times how many attributes tell something to the power of minus this
    of_residuals = 0.25  # of the prior's standard deviations: what the residuals may still change
    least_share: ClassVar[float] = 0.01  # of a class
    histograms_of: ClassVar[str] = "classes"  # what histograms are of, on the card

    def __init__(self, plan: "ScorecardPlan", tally: Tally, runner: ReleaseRunner) -> None:
        self._plan, self._tally, self._runner = plan, tally, runner
        self._spending, self._schema = plan.spending, plan.schema
        self._binary = self._schema.target.n_levels == 2  # one column of values
        self._shares = np.zeros(0)
        self._rows = 0.0
        self._unit = 1.0  # of the prior's standard deviations
        self._doubts = False  # whether an attribute may tell nothing

    @cached_property
    def _by_class(self) -> Tally:
        """The tally by class: private, read in queries only."""
        return self._tally

    def _growth(self, share: float, rows: Floats) -> tuple[Floats, Floats]:
        """Return how fast a bin's sum grows with its value, and its variance by the rows."""
        raise NotImplementedError

    def _weights(self, part: Part, base: Floats) -> Floats:
        """Return how fast the slope of a row's loss grows with each value of a part, by bin and column."""
        raise NotImplementedError

    def _step(self, kept: Any, part: Part, changes: Mapping[int, Integers], precision: Floats) -> list[Smoothed]:
        """Ask for the residuals of an attribute, and return the step of each column."""
        raise NotImplementedError

    def _prior(self, shrunk: float = 1.0) -> Prior:
        return Prior(self._plan.across * self._unit * shrunk, self._plan.each * self._unit * shrunk)

    def _counts(
        self,
        answer: Callable[[], Any],
        query: Fact,
        steps: int = 1,
        mechanism: CountsMechanism | None = None,
    ) -> tuple[Floats, float]:
        """Release counts in steps, and return them as whole ones with the variance of their noise."""
        used: CountsMechanism = mechanism or self._runner.mechanism(query.code)
        found = self._runner.release(answer, query, used)
        return np.array(found, dtype=np.float64) / steps, variance_of(used) / steps**2

    def _strength(self, parts: Fraction, changes: int) -> float:
        """Return the rows over the noise of counts of this sensitivity, at this share: in pure ε, times ε."""
        return self._rows * sqrt(2 / variance_of(self._spending.counts(parts, changes)))

    def _is_enough(self, parts: Fraction, changes: int, least: float) -> bool:
        return self._strength(parts, changes) >= least

    def _count_rows(self, counts: Floats, variance: float) -> None:
        positive, k = np.maximum(counts, 1), len(counts)
        self._rows = float(positive.sum())
        # The mean of all shares that are as likely beforehand, as if these and the noise were Gaussian.
        trust = 1 / (1 + k * (k + 1) * variance / self._rows**2)
        shares = np.maximum(trust * positive / self._rows + (1 - trust) / k, self.least_share)
        self._shares = shares / shares.sum()

    def _choose(self) -> Sequence[int]:
        """Return the attributes that are used: all, or those that tell most about the class."""
        choice = Choice.of(self._spending, self._schema, self._rows, self._plan.most)
        self._runner.decide(choice.number)
        if choice.number == choice.all:
            return range(choice.all)
        shares = in_steps(self._shares)
        moved = most_moved(shares) * self._plan.row

        def ask() -> Integers:
            return queries.associations(self._by_class, shares)

        if self._spending.is_pure:
            return choice.draw(ask, moved, self._runner)
        mechanism = narrowed(self._runner.mechanism("associations"), choice.all, moved)
        scores, _ = self._counts(ask, Fact("associations"), moved, mechanism)
        return sorted(np.argsort(-scores, kind="stable")[: choice.number].tolist())

    def _histograms(self, chosen: Sequence[int], known: Floats, known_variance: float) -> list[Part]:
        """Release the rows by bin and class of each attribute, and return values by bin."""
        query = Fact("histograms", of=self.histograms_of, attributes=len(chosen))
        counts, variance = self._counts(lambda: queries.histograms(self._by_class, chosen), query, self._plan.row)
        k, sizes = len(self._shares), [self._schema.attributes[i][1].n_bins for i in chosen]
        tables = [table.reshape(-1, k) for table in np.split(counts, np.cumsum(sizes)[:-1] * k)]
        weights = np.array([1 / known_variance, *(1 / (size * variance) for size in sizes)])
        agreed = weights @ np.array([known, *(table.sum(axis=0) for table in tables)]) / weights.sum()
        self._count_rows(agreed, 1 / weights.sum())
        found = [
            self._part(i, table + (agreed - table.sum(axis=0)) / len(table), variance)
            for i, table in zip(chosen, tables, strict=True)
        ]
        for part, _ in found:  # what noise has made small says too little to say the same
            part.weigh(max(sum(trust for _, trust in found), 1.0) ** -self.redundancy)
        return [part for part, _ in found]

    def _part(self, place: int, table: Floats, variance: float) -> tuple[Part, float]:
        """Return values by bin, and how true ones enter them, between 0 and 1."""
        rows = np.maximum(table.sum(axis=1), 0)
        widths, nothing = (WIDTHS, NOTHING) if self._doubts else ((1.0,), 0.0)
        priors = [self._prior(width).of(self._schema.attributes[place][1]) for width in widths]
        shares = self._shares[1:] if self._binary else self._shares
        own = table[:, 1:] if self._binary else table
        found: list[Smoothed] = []
        for share, column in zip(shares, own.T, strict=True):
            noise = variance * ((1 - share) ** 2 + (len(self._shares) - 1) * share**2)
            slopes, spread = self._growth(share, rows)
            found.append(smoothed(column - share * table.sum(axis=1), slopes, spread, noise, priors, nothing))
        values, covariances = np.column_stack([one.values for one in found]), [one.covariance for one in found]
        noise = sqrt(len(self._shares) * variance)
        part = Part(place, values, covariances, table.sum(axis=1), noise)
        part.centred()
        return part, float(np.mean([part.mean(np.diag(one.trust)) for one in found]))

    def _refine(self, parts: Sequence[Part], kept: Any, changes: Mapping[int, Integers]) -> Mapping[int, Integers]:
        """Correct the values attribute by attribute, by the residuals that the others leave.

        Changes of values that `kept` has not yet come and go.
        """
        prior = self._prior(self.of_residuals)
        for part in parts:
            before = whole_log_odds(part.values)
            steps = self._step(kept, part, changes, prior.of(self._schema.attributes[part.attribute][1]))
            values = np.column_stack([step.values for step in steps])
            part.values += np.clip(values, -_LARGEST_STEP, _LARGEST_STEP)
            part.covariances = [step.after(one) for step, one in zip(steps, part.covariances, strict=True)]
            changes = {part.attribute: whole_log_odds(part.values) - before}
        return changes

    def _together(self, parts: Sequence[Part], base: Floats) -> Floats:
        """Make values monotone where they shall be and 0 on average, and return what every row starts with."""
        for part in parts:
            name, attribute = self._schema.attributes[part.attribute]
            if name in self._plan.monotone:
                part.make_monotone(self._plan.monotone[name], attribute.n_known)
            base = base + part.centred()
        return base

    def _merge(self, parts: Sequence[Part], base: Floats) -> tuple[float, list[Floats]]:
        """Merge bins; return the loss that rounding may cost, and how fast that grows with each value, by part."""
        attributes = [self._schema.attributes[part.attribute][1] for part in parts]
        weights = [part.likely_rows()[:, None] * self._weights(part, base) for part in parts]
        return merge(parts, attributes, weights), weights


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
        self._runner.decide((weighs, refines, calibrates))
        parts = self._histograms(chosen, counts, variance)
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
        pure, k, reach = self._spending.is_pure, len(parts), self._plan.reach(len(parts))
        spreads = np.array([max(part.spread(), _LEAST_SPREAD) for part in parts])
        features = {part.attribute: in_features(part.values[:, 0], by) for part, by in zip(parts, spreads, strict=True)}
        most = self._plan.most_by_features(k)
        values = {each.attribute: whole_log_odds(each.values) for each in parts}
        query = partial(Residuals(self._tally, base).by_feature, features, values, most, pure=pure)
        found, variance = self._counts(query, Fact("attribute_residuals", attributes=k), most * IN_PART)
        step = newton_step(found * reach, variance * reach**2, 1 / (_WEIGHT * spreads) ** 2)
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


def unsupported_bins(parts: Sequence[Part]) -> dict[int, list[int]]:
    return {part.attribute: part.unsupported() for part in parts}
