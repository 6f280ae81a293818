"""The fit of a private scorecard: values by bin from released counts."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any, ClassVar

import numpy as np

from hedgerow.boundary.arrays import Floats, Integers
from hedgerow.learn.chosen_attributes import association_sensitivity
from hedgerow.learn.learned import BinEvidence
from hedgerow.learn.releases import ReleaseRunner
from hedgerow.learn.scorecard import counts as queries
from hedgerow.learn.scorecard.counts import in_steps, whole_log_odds
from hedgerow.learn.scorecard.plan import ScorecardPlan
from hedgerow.learn.scorecard.segments import merge
from hedgerow.learn.scorecard.smoothing import (
    LEAST_SLOPE,
    NOTHING,
    WIDTHS,
    Evidence,
    Part,
    Prior,
    SmoothedValues,
    smoothed,
)
from hedgerow.learn.scorecard.spending import (
    CountsMechanism,
    histogram_variances,
    variance_of,
)
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import GaussianCounts
from hedgerow.privacy.shared_histograms import SharedHistograms
from hedgerow.tally import Tally

_LARGEST_STEP = 2.0
Residual = tuple[Floats, Floats, Floats]  # by bin: sums, their slopes by the values, their sampling variance


class Fit:
    """Fit of a scorecard: the private table is read by releases only; all else is post-processing.

    In regression, the two ends of the target take the place of two classes, and a row belongs partly to each.
    """

    redundancy: ClassVar[float] = 0.25  # values are scaled by the number of informative attributes to minus this power
    residual_prior_scale = 0.25  # of the prior standard deviations, for changes by residuals
    least_share: ClassVar[float] = 0.01  # of a class
    histograms_of: ClassVar[str] = "classes"  # a detail of the query

    def __init__(self, plan: ScorecardPlan, tally: Tally, runner: ReleaseRunner) -> None:
        self._plan, self._tally, self._runner = plan, tally, runner
        self._spending, self._schema = plan.spending, plan.schema
        self._binary = self._schema.target.n_levels == 2  # one column of values
        self._shares = np.zeros(0)
        self._rows = 0.0
        self._unit = 1.0  # of the prior's standard deviations
        self._doubts = False  # whether an attribute may be independent of the class

    @cached_property
    def _by_class(self) -> Tally:
        """The tally by class. Private: read in queries only."""
        return self._tally

    def _growth(self, share: float, rows: Floats) -> tuple[Floats, Floats]:
        """Return the slope of a bin's sum by its value, and its sampling variance."""
        raise NotImplementedError

    def _weights(self, part: Part, base: Floats) -> Floats:
        """Return the second derivative of a row's loss by each value of a part, by bin and column."""
        raise NotImplementedError

    def _residuals(self, kept: Any, part: Part, changes: Mapping[int, Integers]) -> tuple[list[Residual], float]:
        """Release the residuals of an attribute; return them for each column, with the variance of their noise."""
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
        """Release counts in steps, and return them in rows with the variance of their noise."""
        used: CountsMechanism = mechanism or self._runner.mechanism(query.code)
        starts = isinstance(used, GaussianCounts) and used.number == 1
        counts = self._runner.release(answer, query.having(series=True) if starts else query, used)
        return np.array(counts, dtype=np.float64) / steps, variance_of(used) / steps**2

    def _strength(self, parts: Fraction, changes: int) -> float:
        """Return the rows divided by the noise of counts with this sensitivity and share; with pure ε, rows times ε."""
        return self._rows * sqrt(2 / variance_of(self._spending.counts(parts, changes)))

    def _is_enough(self, parts: Fraction, changes: int, least: float) -> bool:
        return self._strength(parts, changes) >= least

    def _count_rows(self, counts: Floats, variance: float) -> None:
        positive, k = np.maximum(counts, 1), len(counts)
        self._rows = float(positive.sum())
        # The posterior mean under a uniform prior on shares, with Gaussian approximations of prior and noise.
        trust = 1 / (1 + k * (k + 1) * variance / self._rows**2)
        shares = np.maximum(trust * positive / self._rows + (1 - trust) / k, self.least_share)
        self._shares = shares / shares.sum()

    def _choose(self) -> Sequence[int]:
        """Return the attributes to use: all, or a private choice of those most associated with the class."""
        choice = self._plan.choice(self._rows)
        self._runner.decide((choice.number, choice.spending))
        self._spending = choice.spending
        if choice.number == choice.all:
            return range(choice.all)
        shares = in_steps(self._shares)
        sensitivity = association_sensitivity(shares) * self._plan.row

        def associations() -> Integers:
            return queries.associations(self._by_class, shares)

        return choice.draw(associations, sensitivity, self._runner)

    def _histograms(self, chosen: Sequence[int], parts: Fraction, known: Floats, known_variance: float) -> list[Part]:
        """Release the rows by bin and class of each attribute, and return values by bin."""
        released, totals = list[tuple[int, Floats, float]](), [(known, known_variance)]
        sizes = [self._schema.attributes[i][1].n_bins for i in chosen]
        if self._spending.shares_noise and len(chosen) < len(self._schema):
            self._runner.nest(self._plan.histograms(self._spending, parts, sizes))
        for places, _ in self._spending.histograms(parts, sizes):
            some, own_totals = self._release_histograms([chosen[place] for place in places])
            released += some
            totals += own_totals
        weights = np.array([1 / variance for _, variance in totals])
        agreed = weights @ np.array([total for total, _ in totals]) / weights.sum()
        self._count_rows(agreed, 1 / weights.sum())
        found = list[tuple[Part, float]]()
        for i, table, variance in sorted(released, key=lambda release: release[0]):
            # The noise on a histogram's own total, equal in all bins, is replaced by the noise on the mean total.
            n_bins, k = table.shape
            noise = sqrt(k * ((1 - 1 / n_bins) * variance + 1 / weights.sum() / n_bins**2))
            found.append(self._part(i, table + (agreed - table.sum(axis=0)) / n_bins, variance, noise))
        for part, _ in found:  # what noise has made small says too little to say the same
            part.weigh(max(sum(trust for _, trust in found), 1.0) ** -self.redundancy)
        return [part for part, _ in found]

    def _release_histograms(
        self, attributes: Sequence[int]
    ) -> tuple[list[tuple[int, Floats, float]], list[tuple[Floats, float]]]:
        """Release the histograms of attributes whose noise is drawn together.

        Return the counts of each with the variance of their noise, and the class totals that they have with theirs.
        """
        query = Fact("histograms", of=self.histograms_of, attributes=len(attributes))
        sizes, k = [self._schema.attributes[i][1].n_bins for i in attributes], len(self._shares)
        mechanism, row = self._runner.mechanism(query.code), self._plan.row
        if isinstance(mechanism, SharedHistograms):
            found = self._runner.release(lambda: queries.histograms(self._by_class, attributes).T, query)
            counts = np.array(found, dtype=np.float64).T / row
            variances = [variance / row**2 for variance in histogram_variances(mechanism, sizes)]
            tables = np.split(counts, np.cumsum(sizes)[:-1])
            totals = [(tables[0].sum(axis=0), mechanism.total_variance / row**2)]
        else:
            counts, variance = self._counts(lambda: queries.histograms(self._by_class, attributes).ravel(), query, row)
            variances = [variance] * len(sizes)
            tables = np.split(counts.reshape(-1, k), np.cumsum(sizes)[:-1])
            totals = [(table.sum(axis=0), len(table) * variance) for table in tables]
        return list(zip(attributes, tables, variances, strict=True)), totals

    def _part(self, place: int, table: Floats, variance: float, noise: float) -> tuple[Part, float]:
        """Return values by bin, and the weight of the true values in them; `noise` is the noise on a bin's rows."""
        widths, nothing = (WIDTHS, NOTHING) if self._doubts else ((1.0,), 0.0)
        priors = [self._prior(width).of(self._schema.attributes[place][1]) for width in widths]
        shares = self._shares[1:] if self._binary else self._shares
        own = table[:, 1:] if self._binary else table
        found: list[SmoothedValues] = []
        evidence: list[Evidence] = []
        for share, column in zip(shares, own.T, strict=True):
            one, said = self._by_histogram(share, column, table.sum(axis=1), variance, priors, nothing)
            found.append(one)
            evidence.append(said)
        values = np.column_stack([one.values for one in found])
        covariances, gaps = [one.covariance for one in found], [one.gap for one in found]
        part = Part(place, values, covariances, table.sum(axis=1), noise, evidence=evidence, alone=evidence, gaps=gaps)
        part.centred()
        return part, float(np.mean([part.mean(np.diag(one.trust)) for one in found]))

    def _by_histogram(
        self, share: float, own: Floats, released: Floats, variance: float, priors: Sequence[Floats], nothing: float
    ) -> tuple[SmoothedValues, Evidence]:
        """Return the values of a column and their evidence, from released rows by bin, of its class and in total."""
        noise = variance * ((1 - share) ** 2 + (len(self._shares) - 1) * share**2)
        slopes, spread = self._growth(share, np.maximum(released, 0))
        sums = own - share * released
        found = smoothed(sums, slopes, spread, noise, priors, nothing)
        return found, Evidence.of(np.zeros(len(sums)), sums, slopes, noise)

    def _refine(self, parts: Sequence[Part], kept: Any, changes: Mapping[int, Integers]) -> Mapping[int, Integers]:
        """Correct the values attribute by attribute, by the residuals that the other attributes leave.

        `changes` of values are not yet in `kept` when the call begins or ends. Evidence of earlier releases counts the
        less, the more the log-odds of a bin may have changed with other attributes (`residual_prior_scale`).
        """
        for part in parts:
            before = whole_log_odds(part.values)
            prior = self._prior().of(self._schema.attributes[part.attribute][1])
            changed: Floats = self.residual_prior_scale**2 * np.diag(np.linalg.inv(prior)).astype(np.float64)
            residuals, noise = self._residuals(kept, part, changes)
            for column, (sums, slopes, spreads) in enumerate(residuals):
                values = part.values[:, column]
                evidence = part.evidence[column].moved(changed).joined(Evidence.of(values, sums, slopes, noise))
                found = evidence.smoothed(spreads / np.maximum(slopes, LEAST_SLOPE) ** 2, prior)
                part.values[:, column] = values + np.clip(found.values - values, -_LARGEST_STEP, _LARGEST_STEP)
                part.evidence[column] = evidence
                part.covariances[column], part.gaps[column] = found.covariance, found.gap
            changes = {part.attribute: whole_log_odds(part.values) - before}
        return changes

    def _together(self, parts: Sequence[Part], base: Floats) -> Floats:
        """Make values monotone as declared and 0 on average, and return the base of every row."""
        for part in parts:
            name, attribute = self._schema.attributes[part.attribute]
            if name in self._plan.monotone:
                part.make_monotone(self._plan.monotone[name], attribute.n_known)
            base = base + part.centred()
        return base

    def _merge(self, parts: Sequence[Part], base: Floats) -> tuple[float, list[Floats]]:
        """Merge bins; return the loss that rounding may cost, and its second derivatives by each value, by part."""
        attributes = [self._schema.attributes[part.attribute][1] for part in parts]
        weights = [part.likely_rows()[:, None] * self._weights(part, base) for part in parts]
        return merge(parts, attributes, weights), weights


def evidence_by_bin(parts: Sequence[Part], unit: float) -> dict[int, BinEvidence]:
    """Return the evidence on the points of each attribute, given the value of a point."""
    return {
        part.attribute: BinEvidence(part.errors() / unit, part.unsupported(), part.released, part.noise)
        for part in parts
    }
