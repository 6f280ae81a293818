"""The plan of a private scorecard: its releases, one after the other, and their shares of the budget."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hedgerow.learn.chosen_attributes import LEAST, default_parts
from hedgerow.learn.plans import Plan
from hedgerow.learn.releases import Branch, Nested, PlannedRelease, PlannedReleases
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
    rows: int = 1  # how many rows (ε, δ) are that of; without δ, ε is that of one
    most: int | None = None  # the most attributes; None for as many as the noise allows
    points: int = 40  # the largest points of a bin, in size
    across: float = ACROSS  # the prior's standard deviation from one end of a number to the other
    each: float = EACH  # that of other bins
    monotone: Mapping[str, Direction]  # numbers whose points only rise, or only fall
    adds_up_rho: bool = False  # whether a shared budget adds up ρ
    model = "scorecard"

    @property
    def releases(self) -> PlannedReleases:
        n = len(self.schema)
        most = min(self.most or n, n)
        least = min(LEAST, most)
        numbers = range(least, most + 1)
        # With fewer attributes each takes more; each takes least of all but one if they are chosen, or of the most that
        # are weighed, which is for a share of its own.
        worst = sorted({least, max(most - 1, least), most} | {MOST_TO_WEIGH}.intersection(numbers))
        return self._first_release, Branch(numbers, self._releases_with, worst)

    @property
    def _first_release(self) -> PlannedRelease:
        """The first release, from which the number of rows follows."""
        raise NotImplementedError

    def _releases_with(self, number: int) -> PlannedReleases:
        """Return the releases of a scorecard of this number of attributes, after the first."""
        n = len(self.schema)
        if number == n:
            return (self._last_releases(number),)
        parts, moved = default_parts(n), 2 * STEPS * self.row
        if self.spending.is_pure:
            choose = TwoSidedGumbelChoice if self.adds_up_rho else TwoSidedPermuteAndFlip
            chooser = choose(self.epsilon * parts / PARTS / number, moved)
            choice = PlannedRelease("attribute_choice", chooser, times=number)
        else:
            choice = PlannedRelease("associations", self.spending.counts(parts, n, moved))
        return choice, self._last_releases(number)

    def _left(self, number: int) -> Fraction:
        """Return the parts of the releases about this number of attributes."""
        n = len(self.schema)
        return PARTS - TOTALS - (default_parts(n) if number < n else 0)

    def _last_releases(self, number: int) -> Branch:
        """Return the releases about this number of attributes."""
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
        return Spending(self.epsilon, self.delta, self.rows, self.adds_up_rho)

    def histograms(self, parts: Fraction, sizes: Sequence[int]) -> PlannedReleases:
        """Return the releases of the histograms of attributes with these numbers of bins."""
        mechanisms = self.spending.histograms(parts, sizes, self.row)
        return tuple(PlannedRelease("histograms", mechanism) for _, mechanism in mechanisms)

    def _histograms(self, number: int, parts: Fraction) -> PlannedReleases:
        """Return the releases of the histograms of this number of attributes."""
        sizes = sorted(attribute.n_bins for _, attribute in self.schema.attributes)
        if number == len(sizes):
            return self.histograms(parts, [attribute.n_bins for _, attribute in self.schema.attributes])
        if not self.spending.shares_noise:
            return self.histograms(parts, sizes[:number])
        # The groups depend on which attributes are chosen. The loss ρ of a group is at most that of pure ε, which is
        # largest where all attributes are in one group; an attribute by itself has the least ε.
        most = pure_rho(self.epsilon * parts / PARTS)
        alone = PlannedRelease("histograms", self.spending.counts(parts / number, 1, self.row))
        ends = sizes[:number], sizes[-number:]
        return (Nested(most, (alone, *(release for one in ends for release in self.histograms(parts, one)))),)
