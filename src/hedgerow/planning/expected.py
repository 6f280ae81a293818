"""Bounds that are known of each kind and size of model beforehand: average loss, noise and seconds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, sqrt
from typing import Literal

import numpy as np

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn.learned import LEAF_SHARE
from hedgerow.learn.plans import DrawPlan
from hedgerow.learn.rule_lists import PrivateRuleListClassifier
from hedgerow.learn.scorecard.plan import TOTALS
from hedgerow.learn.scorecard.spending import PARTS, Spending
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT
from hedgerow.learn.searches import SearchEstimator
from hedgerow.learn.trees import PrivateTreeClassifier
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.unit import rows_of
from hedgerow.schema.private_cuts import plan_cuts
from hedgerow.schema.schema import Schema

Kind = Literal["tree", "rule list"]
PARTS_OF: dict[Kind, str] = {"tree": "levels", "rule list": "rules"}
CONFIDENCE = 0.95
LEAF = 0.05
"""The share of the rows of the leaf that is to be told from noise."""
CUT_BINS = 5
"""The number of bins that `Schema.learn` aims at by default."""
_TYPICAL_PATTERNS = 10_000
_SEED, _DRAWS = 20261123, 4
_ESTIMATORS: dict[Kind, type[PrivateTreeClassifier | PrivateRuleListClassifier]] = {
    "tree": PrivateTreeClassifier,
    "rule list": PrivateRuleListClassifier,
}


@dataclass(frozen=True)
class Expected:
    """Average loss, at most, of a drawn tree or rule list beside the best one of its size.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    size : int
        Levels, or rules besides the default.
    excess_times_epsilon : float
        The bound on the mean excess errors, in rows, times ε: it falls as 1/ε.
    seconds : float
        About how long the draw takes on one core, all sizes up to the largest at once.
    """

    kind: Kind
    size: int
    excess_times_epsilon: float
    seconds: float

    def excess(self, epsilon: Fraction) -> float:
        """Return the bound in rows."""
        return self.excess_times_epsilon / float(epsilon)

    def epsilon_for(self, loss: float, rows: int) -> float:
        """Return the ε from which the bound is at most a share of the rows."""
        return self.excess_times_epsilon / (loss * rows)

    @property
    def name(self) -> str:
        """The model with its size in words."""
        parts = PARTS_OF[self.kind] if self.size != 1 else PARTS_OF[self.kind].removesuffix("s")
        return f"{self.kind}, {self.size} {parts}"


def expected_draws(schema: Schema, epsilon: Fraction) -> list[Expected]:
    """Return what default trees and rule lists lose at most, by size; none of a kind that is greedy or not monotone."""
    found: list[Expected] = []
    for kind, make in _ESTIMATORS.items() if not schema.monotone else ():
        estimator = make(epsilon)
        try:
            cost, bounds = estimator.search_cost(schema), excess_bounds(estimator, schema)
        except SearchTooLargeError:
            continue
        seconds = 0.0 if cost is None else cost.seconds(_TYPICAL_PATTERNS)
        for size, most in enumerate(bounds[1:], start=1):
            found.append(Expected(kind, size, most * float(epsilon), seconds))
    return found


def rows_needed(estimator: SearchEstimator, schema: Schema, loss: float) -> float | None:
    """Return with how many rows the smallest model that an estimator may draw loses a share of them at most.

    On average, beside the best one of its size; None where errors are not what is drawn by, or the search is greedy.
    """
    if not estimator.has_default_objective:
        return None
    bounds = excess_bounds(estimator, schema)
    return round_up(bounds[:2][-1] / loss) if bounds else None


def leaf_noise(epsilon: float) -> int:
    """Return the half width in rows of the 95 % interval of a leaf's count, released beside a draw.

    A count has discrete Laplace noise of a fifth of ε: P(|noise| > k) = 2·α^(k+1)/(1 + α), α = exp(-ε/5).
    """
    share = epsilon * float(LEAF_SHARE)
    least = log((1 - CONFIDENCE) * (1 + exp(-share)) / 2) / -share
    return max(0, int(np.ceil(least - 1e-12)) - 1)


def least_epsilon(rows: int) -> float:
    """Return the smallest ε, to two digits, at which a leaf of 5 % of the rows can be told from an empty one."""
    low, high = 1e-9, 1e9
    if leaf_noise(high) >= LEAF * rows:
        return inf
    while high / low > 1.001:
        middle = sqrt(low * high)
        low, high = (low, middle) if leaf_noise(middle) < LEAF * rows else (middle, high)
    return round_up(high)


def round_up(value: float) -> float:
    """Return a number with two digits, no less than a positive one."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.2g}")


def bin_noise(schema: Schema, epsilon: Fraction, delta: Fraction) -> float:
    """Return the half width of the 95 % interval of the rows of a class in a bin, as a scorecard of all asks them."""
    share, rows = PARTS - TOTALS, rows_of(schema.unit)
    spending = Spending(epsilon, delta, rows) if delta else Spending(epsilon / rows, delta)
    return 1.96 * sqrt(spending.counts(share, len(schema)).variance)


def rows_in_a_bin(schema: Schema, rows: int) -> float:
    """Return how many rows of a class a bin has, if all had as many; the mean over the attributes."""
    shares = [1 / attribute.n_bins for _, attribute in schema.attributes]
    return rows * float(np.mean(shares)) / schema.target.n_levels


def cut_points_noise(schema: Schema, epsilon: Fraction, rows: int) -> tuple[int, float] | None:
    """Return of how many numbers cut points can be learned, and by how many rows the bins of one are off, in all.

    As the mechanism draws them of made-up rows that are spread evenly; of the number where this is most. None if no
    number is without cut points, or ε is too small.
    """
    try:
        planned = plan_cuts(dict(schema.attributes), epsilon / rows_of(schema.unit), CUT_BINS)
    except ValueError:
        return None
    return len(planned), max(
        _rows_off(one, rows) for one in {plan.mechanism.candidates: plan.mechanism for plan in planned}.values()
    )


def _rows_off(mechanism: JointQuantiles, rows: int) -> float:
    """Return the mean sum of ``|rows of a bin - rows/bins|`` of some draws, less that of the best cut points."""
    places = mechanism.candidates + 1
    counts = np.diff(np.linspace(0, rows, places + 1).round().astype(np.int64))
    cumulated = np.concatenate([[0], np.cumsum(counts)])
    rng = np.random.default_rng(_SEED)
    off = list[float]()
    for _ in range(_DRAWS):
        ends = [0, *(place + 1 for place in mechanism.simulate(counts, rng)), places]
        off.append(float(np.abs(np.diff(cumulated[ends]) - rows / mechanism.bins).sum()))
    return float(np.mean(off))


def excess_bounds(estimator: SearchEstimator, schema: Schema) -> tuple[float, ...]:
    """Return, by size, how much more than the best model up to that size a draw loses, on average, at most.

    A draw has probability π(m)·exp(−w·loss(m))/Z. Of all distributions it is the one that minimises the mean loss plus
    1/w of the divergence from the prior (the variational formula of Donsker and Varadhan), so that for every model m,
    whatever the rows: mean loss ≤ loss(m) + ln(1/π(m))/w.

    Examples
    --------
    >>> from hedgerow.learn import PrivateTreeClassifier
    >>> from hedgerow.schema import Boolean, Label
    >>> schema = Schema({"smoker": Boolean(), "fever": Boolean()}, Label("ill", ("no", "yes")))
    >>> [round(most, 1) for most in excess_bounds(PrivateTreeClassifier(epsilon=1, max_depth=1), schema)]
    [2.2]
    """
    estimator.check_public()
    plan = estimator._plan(schema)  # pyright: ignore[reportPrivateUsage] -- for this room, not for users
    if not isinstance(plan, DrawPlan) or len(plan.draw.blocks) > 1:
        return ()
    draw = plan.draw.block(0)
    weight = float(plan.mechanism.weight)
    return tuple(surprise(draw, size) / weight for size in draw.sizes)


def surprise(draw: Draw, size: int) -> float:
    """Return ``ln(1/π)`` at most, of some model that predicts as any one of up to `size` does.

    Any model becomes one of the full size where tests whose leaves agree, or rules with the label of the default, are
    added; where the schema leaves no option open, the model ends at no cost.
    """
    values, options = len(draw.loss.values), max(draw.space.n_options, 1)
    positions, leaves = (2**size - 1, 2**size) if CAUGHT in draw.space.branches else (size, size + 1)
    of_size = log(len(draw.sizes))
    return of_size + positions * (log(options) - log(1 - draw.stop_probability)) + leaves * log(values)
