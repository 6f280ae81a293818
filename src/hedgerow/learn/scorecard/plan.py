"""The plan of a private scorecard: its releases in order, and their shares of the budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import Any

from hedgerow.learn.chosen_attributes import LEAST, AttributeChoice, default_parts, least_noise
from hedgerow.learn.plans import Plan
from hedgerow.learn.releases import Branch, Nested, PlannedRelease, PlannedReleases, rho_of
from hedgerow.learn.scorecard.counts import STEPS
from hedgerow.learn.scorecard.smoothing import (
    ACROSS,
    EACH,
    Direction,
)
from hedgerow.learn.scorecard.spending import (
    MOST_TO_WEIGH,
    PARTS,
    TOTALS,
    Spending,
)
from hedgerow.privacy.noise import TwoSidedGumbelChoice, TwoSidedPermuteAndFlip
from hedgerow.privacy.zcdp import pure_rho
from hedgerow.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class ScorecardPlan(Plan):
    """Base class of plans of scorecards from noisy histograms."""

    schema: Schema
    rows: int = 1  # with δ: the maximum number of rows of a protected unit
    most: int | None = None  # the maximum number of attributes; None if the noise decides
    points: int = 40  # the largest absolute points of a bin
    across: float = ACROSS  # the prior standard deviation from one end of a number to the other
    each: float = EACH  # the prior standard deviation of other bins
    monotone: Mapping[str, Direction]  # attributes with monotone points
    adds_up_rho: bool = False  # whether a shared budget accounts in ρ
    model = "scorecard"

    @property
    def releases(self) -> PlannedReleases:
        return self._first_release, self._rest(self.ways)

    def _rest(self, ways: Sequence[Spending]) -> Branch:
        """Return the releases after the first, for these kinds of noise."""
        n = len(self.schema)
        most = min(self.most or n, n)
        least = min(LEAST, most)
        numbers = range(least, most + 1)
        # With fewer attributes, each has a larger share. The share is smallest if n − 1 attributes are chosen, or with
        # the largest number that can be weighed, because weights have a share of their own.
        worst = sorted({least, max(most - 1, least), most} | {MOST_TO_WEIGH}.intersection(numbers))
        return Branch([*product(numbers, ways)], self._releases_with, [*product(worst, ways)])

    @cached_property
    def rho(self) -> Fraction | None:
        if len(self.ways) == 1 or self.rows == 1:
            return super().rho
        # For a unit of several rows, Gaussian noise is calibrated to the unit, and noise without δ to a single row.
        pure, gaussian = (self._rest([way]).rho for way in self.ways)
        rounded = self.rows**2 * (1 + Fraction(1, 2**40))
        return rho_of(self._first_release.mechanism) * rounded + max(pure * rounded, gaussian)

    @property
    def _first_release(self) -> PlannedRelease:
        """The first release, from which the number of rows is estimated."""
        raise NotImplementedError

    def _releases_with(self, decision: tuple[int, Spending]) -> PlannedReleases:
        """Return the releases after the first, for a number of attributes and a kind of noise."""
        number, way = decision
        n = len(self.schema)
        if number == n:
            return (self._last_releases(number, way),)
        parts, sensitivity = default_parts(n), 2 * STEPS * self.row
        if way.is_pure:
            choose = TwoSidedGumbelChoice if self.adds_up_rho else TwoSidedPermuteAndFlip
            choice = PlannedRelease(
                "attribute_choice", choose(way.epsilon * parts / way.of / number, sensitivity), times=number
            )
        else:
            choice = PlannedRelease("attribute_choices", way.peeling(parts, number, sensitivity))
        return choice, self._last_releases(number, way.continued)

    def _left(self, number: int) -> Fraction:
        """Return the thousandths of the budget that remain for releases about this number of attributes."""
        n = len(self.schema)
        return PARTS - TOTALS - (default_parts(n) if number < n else 0)

    def _last_releases(self, number: int, way: Spending) -> Branch:
        """Return the releases about this number of attributes, for a kind of noise."""
        raise NotImplementedError

    def histogram_parts(self, number: int, decision: Any) -> Fraction:
        """Return the thousandths of the budget for histograms, given the decision about later releases."""
        raise NotImplementedError

    @property
    def row(self) -> int:
        """The weight of a row in histograms."""
        return 1

    @property
    def spending(self) -> Spending:
        """The noise of the first release: without δ, unless the budget accounts in ρ, which favours Gaussian noise."""
        if self.delta and not self.adds_up_rho:
            return Spending(self.epsilon / self.rows, Fraction(0))
        return Spending(self.epsilon, self.delta, self.rows, self.adds_up_rho)

    @cached_property
    def ways(self) -> tuple[Spending, ...]:
        """The options for the noise of later releases: with δ, noise without δ or a series of Gaussian answers."""
        first = self.spending.continued
        if self.delta and first.is_pure:
            return first, first.after(TOTALS, self.delta, self.rows)
        return (first,)

    @property
    def refined_from(self) -> float:
        """The number of rows times ε from which on values are refined by residuals."""
        raise NotImplementedError

    def choice(self, rows: float) -> AttributeChoice:
        """Return the number of attributes, and the noise of their choice and of later releases, for this many rows."""
        return AttributeChoice.of(self.ways, self.schema, rows, self.most, refined_from=self.refined_from)

    @property
    def may_use_delta(self) -> bool:
        """Whether noise with δ may be smaller than noise without δ, for some number of rows."""
        number = min(self.most or len(self.schema), len(self.schema))
        noises = (least_noise(self.ways, self.schema, number, refines=refines) for refines in (False, True))
        return any(not noise.is_pure for noise in noises)

    def histograms(self, way: Spending, parts: Fraction, sizes: Sequence[int]) -> PlannedReleases:
        """Return the releases of histograms with these numbers of bins."""
        mechanisms = way.histograms(parts, sizes, self.row)
        return tuple(PlannedRelease("histograms", mechanism) for _, mechanism in mechanisms)

    def _histograms(self, number: int, way: Spending, parts: Fraction) -> PlannedReleases:
        """Return the releases of the histograms of this number of attributes."""
        sizes = sorted(attribute.n_bins for _, attribute in self.schema.attributes)
        if number == len(sizes):
            return self.histograms(way, parts, [attribute.n_bins for _, attribute in self.schema.attributes])
        if not way.shares_noise:
            return self.histograms(way, parts, sizes[:number])
        # The groups depend on the chosen attributes. The ρ of a group is at most the ρ of its pure ε, which is largest
        # if all attributes are in one group. A single attribute has the smallest ε.
        bound = pure_rho(way.epsilon * parts / way.of)
        single = PlannedRelease("histograms", way.counts(parts / number, 1, self.row))
        extremes = sizes[:number], sizes[-number:]
        examples = (release for part in extremes for release in self.histograms(way, parts, part))
        return (Nested(bound, (single, *examples)),)
