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

_LARGEST_STEP, _LEAST_TOGETHER = 2.0, 0.05
Residual = tuple[Floats, Floats, Floats]  # by bin: sums, their slopes by the values, their sampling variance


class Fit:
    """Fit of a scorecard. Only releases read the private table; all other steps are post-processing.

    In regression, the two ends of the target's range take the place of two classes, and a row belongs partly to each.
    """

    redundancy: ClassVar[float] = 0.25  # values are divided by the number of informative attributes to this power
    residual_prior_scale = 0.25  # assumed change of values in a pass, in prior standard deviations
    least_share: ClassVar[float] = 0.01  # lower bound on the share of a class
    histograms_of: ClassVar[str] = "classes"  # recorded with the query

    def __init__(self, plan: ScorecardPlan, tally: Tally, runner: ReleaseRunner) -> None:
        self._plan, self._tally, self._runner = plan, tally, runner
        self._spending, self._schema = plan.spending, plan.schema
        self._binary = self._schema.target.n_levels == 2  # one column of values
        self._shares = np.zeros(0)
        self._rows = 0.0
        self._unit = 1.0  # of the prior's standard deviations
        self._may_be_irrelevant = False  # whether the prior allows for attributes independent of the class

    @cached_property
    def _by_class(self) -> Tally:
        """The private tally by class. Only queries may read it."""
        return self._tally

    def _growth(self, share: float, rows: Floats) -> tuple[Floats, Floats]:
        """Return the derivative of each bin's sum by its value, and the sum's sampling variance."""
        raise NotImplementedError

    def _weights(self, part: Part, base: Floats) -> Floats:
        """Return the second derivative of a row's loss by its value, for each bin and column of a part."""
        raise NotImplementedError

    def _residuals(self, state: Any, part: Part, changes: Mapping[int, Integers]) -> tuple[list[Residual], float]:
        """Release the residuals of an attribute, and return them for each column with the variance of their noise."""
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
        """Release counts in steps. Return them in rows, with the variance of their noise."""
        used: CountsMechanism = mechanism or self._runner.mechanism(query.code)
        starts = isinstance(used, GaussianCounts) and used.number == 1
        counts = self._runner.release(answer, query.having(series=True) if starts else query, used)
        return np.array(counts, dtype=np.float64) / steps, variance_of(used) / steps**2

    def _strength(self, parts: Fraction, changes: int) -> float:
        """Return √2 times the ratio of rows to the noise of counts with this share; with pure ε, it is rows times ε."""
        return self._rows * sqrt(2 / variance_of(self._spending.counts(parts, changes)))

    def _is_enough(self, parts: Fraction, changes: int, least: float) -> bool:
        return self._strength(parts, changes) >= least

    def _count_rows(self, counts: Floats, variance: float) -> None:
        positive, k = np.maximum(counts, 1), len(counts)
        self._rows = float(positive.sum())
        # Shares are posterior means under a uniform prior, with Gaussian approximations of prior and noise.
        trust = 1 / (1 + k * (k + 1) * variance / self._rows**2)
        shares = np.maximum(trust * positive / self._rows + (1 - trust) / k, self.least_share)
        self._shares = shares / shares.sum()

    def _choose(self) -> Sequence[int]:
        """Return the attributes to use: all, or those privately chosen by their association with the class."""
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
        """Release counts by bin and class for each attribute, and return values by bin."""
        released, totals = list[tuple[int, Floats, float]](), [(known, known_variance)]
        sizes = [self._schema.attributes[i][1].n_bins for i in chosen]
        if self._spending.shares_noise and len(chosen) < len(self._schema):
            self._runner.nest(self._plan.histograms(self._spending, parts, sizes))
        for places, _ in self._spending.histograms(parts, sizes):
            group, own_totals = self._release_histograms([chosen[place] for place in places])
            released += group
            totals += own_totals
        weights = np.array([1 / variance for _, variance in totals])
        agreed = weights @ np.array([total for total, _ in totals]) / weights.sum()
        self._count_rows(agreed, 1 / weights.sum())
        fitted = list[tuple[Part, float]]()
        for i, table, variance in sorted(released, key=lambda release: release[0]):
            # Every histogram is shifted to the weighted mean of all released totals, which has less noise.
            n_bins, k = table.shape
            noise = sqrt(k * ((1 - 1 / n_bins) * variance + 1 / weights.sum() / n_bins**2))
            fitted.append(self._part(i, table + (agreed - table.sum(axis=0)) / n_bins, variance, noise))
        for part, _ in fitted:  # an attribute that noise has shrunk adds little to the redundancy
            part.weigh(max(sum(trust for _, trust in fitted), 1.0) ** -self.redundancy)
        return [part for part, _ in fitted]

    def _release_histograms(
        self, attributes: Sequence[int]
    ) -> tuple[list[tuple[int, Floats, float]], list[tuple[Floats, float]]]:
        """Release the histograms of attributes that share a mechanism.

        Return the counts of each attribute, and the class totals, each with the variance of their noise.
        """
        query = Fact("histograms", of=self.histograms_of, attributes=len(attributes))
        sizes, k = [self._schema.attributes[i][1].n_bins for i in attributes], len(self._shares)
        mechanism, row = self._runner.mechanism(query.code), self._plan.row
        if isinstance(mechanism, SharedHistograms):
            released = self._runner.release(lambda: queries.histograms(self._by_class, attributes).T, query)
            counts = np.array(released, dtype=np.float64).T / row
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
        """Return values by bin and their mean shrinkage factor; `noise` is the deviation of a bin's row count."""
        widths, nothing = (WIDTHS, NOTHING) if self._may_be_irrelevant else ((1.0,), 0.0)
        priors = [self._prior(width).of(self._schema.attributes[place][1]) for width in widths]
        shares = self._shares[1:] if self._binary else self._shares
        own = table[:, 1:] if self._binary else table
        fits: list[SmoothedValues] = []
        evidence: list[Evidence] = []
        for share, column in zip(shares, own.T, strict=True):
            fit, column_evidence = self._by_histogram(share, column, table.sum(axis=1), variance, priors, nothing)
            fits.append(fit)
            evidence.append(column_evidence)
        values = np.column_stack([fit.values for fit in fits])
        covariances, gaps = [fit.covariance for fit in fits], [fit.gap for fit in fits]
        part = Part(place, values, covariances, table.sum(axis=1), noise, evidence=evidence, alone=evidence, gaps=gaps)
        part.centred()
        return part, float(np.mean([part.mean(np.diag(fit.trust)) for fit in fits]))

    def _by_histogram(
        self, share: float, own: Floats, released: Floats, variance: float, priors: Sequence[Floats], nothing: float
    ) -> tuple[SmoothedValues, Evidence]:
        """Return the values of a column and their evidence, from a class's and all rows released by bin."""
        noise = variance * ((1 - share) ** 2 + (len(self._shares) - 1) * share**2)
        slopes, spread = self._growth(share, np.maximum(released, 0))
        sums = own - share * released
        posterior = smoothed(sums, slopes, spread, noise, priors, nothing)
        return posterior, Evidence.of(np.zeros(len(sums)), sums, slopes, noise)

    def _refine(self, parts: Sequence[Part], state: Any, changes: Mapping[int, Integers]) -> Mapping[int, Integers]:
        """Update the values of one attribute after another by the residuals of the current model (backfitting).

        `changes` and the returned changes of values are not applied to `state` yet. Earlier evidence is discounted by
        how far the log-odds of a bin may have moved since, because other attributes changed (`residual_prior_scale`).
        """
        for part in parts:
            before = whole_log_odds(part.values)
            prior = self._prior_of(part)
            changed: Floats = self.residual_prior_scale**2 * np.diag(np.linalg.inv(prior)).astype(np.float64)
            residuals, noise = self._residuals(state, part, changes)
            for column, (sums, slopes, spreads) in enumerate(residuals):
                values = part.values[:, column]
                evidence = part.evidence[column].moved(changed).joined(Evidence.of(values, sums, slopes, noise))
                sampling = spreads / np.maximum(slopes, LEAST_SLOPE) ** 2
                posterior = evidence.smoothed(sampling, prior)
                part.values[:, column] = values + np.clip(posterior.values - values, -_LARGEST_STEP, _LARGEST_STEP)
                part.evidence[column] = evidence
                part.covariances[column] = posterior.covariance
                part.gaps[column] = self._gap(part, evidence, sampling, posterior)
            changes = {part.attribute: whole_log_odds(part.values) - before}
        return changes

    def _prior_of(self, part: Part) -> Floats:
        """Return the precision of the prior of a part in a pass of residuals."""
        return self._prior().of(self._schema.attributes[part.attribute][1])

    def _gap(self, part: Part, evidence: Evidence, sampling: Floats, posterior: SmoothedValues) -> Floats:  # noqa: ARG002
        """Return the covariance of the difference from the values that the same rows give without noise."""
        return posterior.gap

    def _effective(self, parts: Sequence[Part], slopes: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Return the size vᵀQv of each part's values, and its effective number of parameters (MacKay 1992).

        `slopes` are the inverse sampling variances, by bin and column.
        """
        # Correlated attributes determine fewer parameters jointly, so their number is scaled by the ratio of joint to
        # separate values.
        sizes, determined, together, alone = np.zeros(len(parts)), np.zeros(len(parts)), 0.0, 0.0
        for place, (part, weights) in enumerate(zip(parts, slopes, strict=True)):
            prior = Prior(self._plan.across, self._plan.each).of(self._schema.attributes[part.attribute][1])
            columns = zip(part.values.T, weights.T, part.evidence, part.alone, strict=True)
            for values, of_column, evidence, separate in columns:
                own_values = separate.smoothed(1 / of_column, prior / self._unit**2).values
                sizes[place] += values @ prior @ values
                determined[place] += np.trace(evidence.smoothed(1 / of_column, prior / self._unit**2).trust)
                together += float(of_column @ (own_values * values))
                alone += float(of_column @ own_values**2)
        return sizes, min(max(together / max(alone, LEAST_SLOPE), _LEAST_TOGETHER), 1.0) * determined

    def _together(self, parts: Sequence[Part], base: Floats) -> Floats:
        """Make values monotone as declared, centre them at 0, and return the base with the removed means."""
        for part in parts:
            name, attribute = self._schema.attributes[part.attribute]
            if name in self._plan.monotone:
                part.make_monotone(self._plan.monotone[name], attribute.n_known)
            base = base + part.centred()
        return base

    def _merge(self, parts: Sequence[Part], base: Floats) -> tuple[float, list[Floats]]:
        """Merge bins. Return the loss allowed for rounding, and its second derivatives by value, for each part."""
        attributes = [self._schema.attributes[part.attribute][1] for part in parts]
        weights = [part.likely_rows()[:, None] * self._weights(part, base) for part in parts]
        return merge(parts, attributes, weights), weights


def evidence_by_bin(parts: Sequence[Part], unit: float) -> dict[int, BinEvidence]:
    """Return the evidence on the points of each attribute, given the value of a point."""
    return {
        part.attribute: BinEvidence(part.errors() / unit, part.unsupported(), part.released, part.noise)
        for part in parts
    }
