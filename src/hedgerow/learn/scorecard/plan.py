"""The plan of a private scorecard: its releases, one after the other, and their shares of the budget."""

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
    """A scorecard from noisy histograms."""

    schema: Schema  # the schema
    rows: int = 1  # with δ: the most rows of a protected unit
    most: int | None = None  # the most attributes; None for as many as the noise allows
    points: int = 40  # the largest points of a bin, in size
    across: float = ACROSS  # the prior's standard deviation from one end of a number to the other
    each: float = EACH  # that of other bins
    monotone: Mapping[str, Direction]  # numbers whose points only rise, or only fall
    adds_up_rho: bool = False  # whether a shared budget adds up ρ
    model = "scorecard"

    @property
    def releases(self) -> PlannedReleases:
        return self._first_release, self._rest(self.ways)

    def _rest(self, ways: Sequence[Spending]) -> Branch:
        """Return the releases after the first, if the rest of the budget may be spent in these ways."""
        n = len(self.schema)
        most = min(self.most or n, n)
        least = min(LEAST, most)
        numbers = range(least, most + 1)
        # With fewer attributes each takes more; each takes least of all but one if they are chosen, or of the most that
        # are weighed, which is for a share of its own.
        worst = sorted({least, max(most - 1, least), most} | {MOST_TO_WEIGH}.intersection(numbers))
        return Branch([*product(numbers, ways)], self._releases_with, [*product(worst, ways)])

    @property
    def rho(self) -> Fraction | None:
        if len(self.ways) == 1 or self.rows == 1:
            return super().rho
        # For a unit of several rows: Gaussian noise was made for it, releases without δ for one row.
        pure, gaussian = (self._rest([way]).rho for way in self.ways)
        rounded = self.rows**2 * (1 + Fraction(1, 2**40))
        return rho_of(self._first_release.mechanism) * rounded + max(pure * rounded, gaussian)

    @property
    def _first_release(self) -> PlannedRelease:
        """The first release, from which the number of rows follows."""
        raise NotImplementedError

    def _releases_with(self, decision: tuple[int, Spending]) -> PlannedReleases:
        """Return the releases of a scorecard of this number of attributes, after the first, paid for in this way."""
        number, way = decision
        n = len(self.schema)
        if number == n:
            return (self._last_releases(number, way),)
        parts, moved = default_parts(n), 2 * STEPS * self.row
        if way.is_pure:
            choose = TwoSidedGumbelChoice if self.adds_up_rho else TwoSidedPermuteAndFlip
            choice = PlannedRelease(
                "attribute_choice", choose(way.epsilon * parts / way.of / number, moved), times=number
            )
        else:
            choice = PlannedRelease("attribute_choices", way.peeling(parts, number, moved))
        return choice, self._last_releases(number, way.continued)

    def _left(self, number: int) -> Fraction:
        """Return the parts of the releases about this number of attributes."""
        n = len(self.schema)
        return PARTS - TOTALS - (default_parts(n) if number < n else 0)

    def _last_releases(self, number: int, way: Spending) -> Branch:
        """Return the releases about this number of attributes, paid for in this way."""
        raise NotImplementedError

    def histogram_parts(self, number: int, decision: Any) -> Fraction:
        """Return the parts of the histograms of this number of attributes, by the decision about later releases."""
        raise NotImplementedError

    @property
    def row(self) -> int:
        """How much a row counts in histograms."""
        return 1

    @property
    def spending(self) -> Spending:
        """How the first release is paid for: without δ, unless ρ is added up, of which Gaussian noise costs less."""
        if self.delta and not self.adds_up_rho:
            return Spending(self.epsilon / self.rows, Fraction(0))
        return Spending(self.epsilon, self.delta, self.rows, self.adds_up_rho)

    @cached_property
    def ways(self) -> tuple[Spending, ...]:
        """The ways in which the rest may be spent; with δ as without, or as a series of Gaussian answers."""
        first = self.spending.continued
        if self.delta and first.is_pure:
            return first, first.after(TOTALS, self.delta, self.rows)
        return (first,)

    @property
    def refined_from(self) -> float:
        """The number of rows times ε from which values are refined by residuals."""
        raise NotImplementedError

    def choice(self, rows: float) -> AttributeChoice:
        """Return how many attributes are used, and how this and later releases are paid for, by a number of rows."""
        return AttributeChoice.of(self.ways, self.schema, rows, self.most, refined_from=self.refined_from)

    @property
    def may_use_delta(self) -> bool:
        """Whether noise with δ may be less than without, whatever the number of rows."""
        number = min(self.most or len(self.schema), len(self.schema))
        return any(not least_noise(self.ways, self.schema, number, refines=one).is_pure for one in (False, True))

    def histograms(self, way: Spending, parts: Fraction, sizes: Sequence[int]) -> PlannedReleases:
        """Return the releases of the histograms of attributes with these numbers of bins."""
        mechanisms = way.histograms(parts, sizes, self.row)
        return tuple(PlannedRelease("histograms", mechanism) for _, mechanism in mechanisms)

    def _histograms(self, number: int, way: Spending, parts: Fraction) -> PlannedReleases:
        """Return the releases of the histograms of this number of attributes."""
        sizes = sorted(attribute.n_bins for _, attribute in self.schema.attributes)
        if number == len(sizes):
            return self.histograms(way, parts, [attribute.n_bins for _, attribute in self.schema.attributes])
        if not way.shares_noise:
            return self.histograms(way, parts, sizes[:number])
        # The groups depend on which attributes are chosen. The loss ρ of a group is at most that of pure ε, which is
        # largest where all attributes are in one group; an attribute by itself has the least ε.
        most = pure_rho(way.epsilon * parts / way.of)
        alone = PlannedRelease("histograms", way.counts(parts / number, 1, self.row))
        ends = sizes[:number], sizes[-number:]
        return (Nested(most, (alone, *(release for one in ends for release in self.histograms(way, parts, one)))),)
