"""The plan of a private scorecard: its releases, one after the other, and their shares of the budget."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import product
from math import sqrt
from typing import Any

from hedgerow.learn.chosen_attributes import LEAST, default_parts
from hedgerow.learn.learned import BuildModel
from hedgerow.learn.plans import Plan
from hedgerow.learn.releases import Branch, PlannedRelease, PlannedReleases, ReleaseRunner
from hedgerow.learn.scorecard.counts import FEATURE, IN_PART, STEPS
from hedgerow.learn.scorecard.fit import ClassFit
from hedgerow.learn.scorecard.smoothing import (
    ACROSS,
    EACH,
    Direction,
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
from hedgerow.privacy.noise import TwoSidedPermuteAndFlip
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

# benchmarks/scorecards.py says how these were chosen.
_CUT_OFF = 0.45  # how much a row counts at most: times attributes, with δ their root


@dataclass(frozen=True, kw_only=True)
class ScorecardPlan(Plan):
    """A scorecard from noisy histograms."""

    schema: Schema  # the schema
    rows: int = 1  # how many rows (ε, δ) are that of; without δ, ε is that of one
    most: int | None = None  # the most attributes; None for as many as the noise allows
    points: int = 20  # the largest points of a bin, in size
    across: float = ACROSS  # the prior's standard deviation from one end of a number to the other
    each: float = EACH  # that of other bins
    monotone: Mapping[str, Direction]  # numbers whose points only rise, or only fall
    choice: type[TwoSidedPermuteAndFlip] = TwoSidedPermuteAndFlip  # `TwoSidedGumbelChoice` where a budget adds up ρ
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
        return PlannedRelease("class_totals", self.spending.counts(TOTALS, 1, first=True))

    def _releases_with(self, number: int) -> PlannedReleases:
        """Return the releases of a scorecard of this number of attributes, after the first."""
        n = len(self.schema)
        if number == n:
            return (self._last_releases(number, PARTS - TOTALS),)
        parts, moved = default_parts(n), 2 * STEPS * self.row
        if self.spending.is_pure:
            chooser = self.choice(self.epsilon * parts / PARTS / number, moved)
            choice = PlannedRelease("attribute_choice", chooser, times=number)
        else:
            choice = PlannedRelease("associations", self.spending.counts(parts, n, moved))
        return choice, self._last_releases(number, PARTS - TOTALS - parts)

    def _last_releases(self, number: int, parts: Fraction) -> Branch:
        """Return the releases about this number of attributes, for these parts together."""
        may_weigh = self.schema.target.n_levels == 2 and 1 < number <= MOST_TO_WEIGH
        decisions = tuple(product((False, True) if may_weigh else (False,), (False, True), (False, True)))
        return Branch(decisions, partial(self._releases_of, number, parts))

    def _releases_of(self, number: int, parts: Fraction, decision: Any) -> PlannedReleases:
        """Return the releases by whether attributes are weighed, values refined, and probabilities calibrated."""
        weighs, refines, calibrates = decision
        counts, schema = self.spending.counts, self.schema
        left = parts - (WEIGHTS if weighs else 0) - (CALIBRATION if calibrates else 0)
        first = left * FIRST_SHARE if refines else left
        found = [PlannedRelease("histograms", counts(first, number, self.row))]
        if weighs:
            found.append(
                PlannedRelease("attribute_residuals", counts(WEIGHTS, 1, self.most_by_features(number) * IN_PART))
            )
        if refines:
            residuals = counts((left - first) / number, _moved_by_residuals(schema), STEPS)
            found.append(PlannedRelease(self.residuals, residuals, times=number))
        if calibrates:
            found.append(PlannedRelease("calibration", counts(CALIBRATION, 1)))
        return tuple(found)

    def reach(self, number: int) -> float:
        """Return how much a row counts at most where this number of attributes is weighed."""
        return _CUT_OFF * (number if self.spending.is_pure else sqrt(number))

    def most_by_features(self, number: int) -> int:
        return int(self.reach(number) * STEPS * FEATURE**2)

    @property
    def residuals(self) -> str:
        """The code of a query for the residuals of an attribute."""
        return "bin_residuals" if self.schema.target.n_levels == 2 else "class_residuals"

    @property
    def row(self) -> int:
        """How much a row counts in histograms."""
        return 1

    @property
    def spending(self) -> Spending:
        return Spending(self.epsilon, self.delta, self.rows)

    def run(self, tally: Tally, runner: ReleaseRunner, progress: Progress) -> BuildModel:  # noqa: ARG002
        return ClassFit(self, tally, runner).fit()


def _moved_by_residuals(schema: Schema) -> int:
    """Return by how much a row moves its residuals in ℓ1, and in ℓ2², in steps: 1; of more than two classes, 2."""
    return 1 if schema.target.n_levels == 2 else 2
