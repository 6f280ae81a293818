"""What is known of each kind and size of model beforehand: average loss, noise, seconds, the chance of a constant."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from math import exp, inf, log, sqrt
from typing import Any, Literal

import numpy as np

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn import learners
from hedgerow.learn.chosen_attributes import Choice, ChosenPlan, number_chosen
from hedgerow.learn.learned import LEAF_SHARE
from hedgerow.learn.scorecard.spending import PARTS, TOTALS, Spending
from hedgerow.learn.search.cost import TYPICAL_PATTERNS
from hedgerow.learn.search.sampler import Draw
from hedgerow.learn.search.space import CAUGHT
from hedgerow.learn.searches import SearchEstimator
from hedgerow.planning.bounds import Bound, bounds, whole_draw
from hedgerow.privacy.charge import exact
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.unit import rows_of
from hedgerow.schema import Number, Schema
from hedgerow.schema.private_cuts import plan_cuts

Kind = Literal["tree", "rule list"]
PARTS_OF: dict[Kind, str] = {"tree": "leaves", "rule list": "rules"}
CONFIDENCE = 0.95
LEAF = 0.05  # the share of the rows of the leaf that is to be told from noise
CUT_BINS = 5  # the number of bins that `Schema.learn` aims at by default
_SEED, _DRAWS = 20261123, 4
_CLASSIFIERS: dict[Kind, type[Any]] = {kind: learners.CLASSIFIERS[kind.replace(" ", "-")] for kind in PARTS_OF}
_REGRESSORS: dict[Kind, type[Any]] = {kind: learners.REGRESSORS[kind.replace(" ", "-")] for kind in PARTS_OF}


@dataclass(frozen=True)
class Expected:
    """Bounds on the loss of a drawn tree or rule list beyond the loss of the best one of its size.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    size : int
        Leaves of a tree, or rules besides the default.
    seconds : float
        About how long a draw of all sizes takes on one core, of as many different rows as there are, or 10,000.
    bound : Bound
        The bound in rows. Of a number, squared errors in units of its variance: as a share of the rows it is by how
        much R² may be lower.
    absolute : Bound, optional
        Of a number, by how much more the rows are missed in all, in units of the target, by a model that is drawn by
        absolute errors; None of classes.
    """

    kind: Kind
    size: int
    seconds: float
    bound: Bound
    absolute: Bound | None = None

    def excess(self, epsilon: Fraction, missed: float | None = None) -> float:
        """Return the bound in rows: on average, or except for a share `missed` of the draws."""
        return self.bound.excess(epsilon, missed)

    def epsilon_for(self, loss: float, rows: int) -> float:
        """Return the ε from which the mean is at most a share of the rows; infinite if it is more than 100."""
        return self.bound.epsilon_for(loss * rows)

    @property
    def name(self) -> str:
        """The model with its size in words."""
        parts = PARTS_OF[self.kind] if self.size != 1 else PARTS_OF[self.kind].removesuffix("s")
        return f"{self.kind}, {self.size} {parts}"


def expected_draws(
    schema: Schema, epsilon: Fraction, spread: float | None = None, rows: int = TYPICAL_PATTERNS
) -> list[Expected]:
    """Return what default trees and rule lists lose at most, by size; none of a greedy kind or a monotone schema."""
    number, found = schema.target.as_number, list[Expected]()
    for kind in PARTS_OF if not schema.monotone else ():
        with suppress(SearchTooLargeError):
            if number is None:
                estimator = _CLASSIFIERS[kind](epsilon)
                of_sizes = [(bound, None) for bound in bounds(estimator, schema)]
            else:
                estimator = _REGRESSORS[kind](epsilon)
                of_sizes = _bounds_of_number(kind, epsilon, schema, (spread or even_spread(number)) ** 2)
            cost = estimator.search_cost(schema)
            seconds = 0.0 if cost is None else cost.seconds(min(rows, TYPICAL_PATTERNS))
            found += [Expected(kind, bound.size, seconds, bound, absolute) for bound, absolute in of_sizes]
    return found


def _bounds_of_number(kind: Kind, epsilon: Fraction, schema: Schema, variance: float) -> list[tuple[Bound, Bound]]:
    squared, absolute = _REGRESSORS[kind](epsilon), _REGRESSORS[kind](epsilon, objective="absolute")
    most = [estimator.largest_loss(schema.target.as_number) for estimator in (squared, absolute)]
    pairs = bounds(squared, schema, most[0] / variance), bounds(absolute, schema, most[1])
    return list(zip(*pairs, strict=True))


def even_spread(number: Number) -> float:
    return (number.high - number.low) / sqrt(12)


def rows_needed(estimator: SearchEstimator, schema: Schema, loss: float) -> float | None:
    """Return with how many rows the smallest model drawn by errors loses a share of them at most, on average."""
    if not estimator.has_default_objective:
        return None
    smallest = next(iter(bounds(estimator, schema)), None)
    return None if smallest is None else round_up(smallest.excess(exact(estimator.epsilon or 0, "epsilon")) / loss)


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


def bin_noise(schema: Schema, epsilon: Fraction, delta: Fraction, rows: int) -> tuple[int, float]:
    """Return how many attributes a default scorecard uses, and the 95 % half width of the rows of a class in a bin."""
    unit = rows_of(schema.unit)
    spending = Spending(epsilon, delta, unit) if delta else Spending(epsilon / unit, delta)
    choice = Choice.of(spending, schema, rows, None)
    share = PARTS - TOTALS - choice.parts
    return choice.number, 1.96 * sqrt(spending.counts(share, choice.number).variance)


def chosen_first(schema: Schema, epsilon: Fraction, rows: int) -> int | None:
    """Return how many attributes a default tree or list chooses first, if classes are alike; None where it does not."""
    kinds = _CLASSIFIERS if schema.target.as_number is None else _REGRESSORS
    if any(isinstance(make(epsilon)._plan(schema), ChosenPlan) for make in kinds.values()):
        return number_chosen(rows, rows / 2, float(epsilon) / rows_of(schema.unit))
    return None


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
    mechanisms = {plan.mechanism.candidates: plan.mechanism for plan in planned}
    return len(planned), max(_rows_off(one, rows) for one in mechanisms.values())


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


SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
"""The shares of the rarer class for which the chance of a constant model is forecast."""
SAVED = (0.1, 0.25, 0.5)
"""The shares of the rarer class's rows that the one informative test saves from error, in these forecasts."""
_PURITY = 0.75  # of the rarer class where that test finds it


@dataclass(frozen=True)
class Constant:
    """Chance that a default model predicts one class for every row.

    It is exact for a table where one test finds rows of which three in four are of the rarer class, so that a model
    with this test saves the share `saved` of the rarer class's rows from error, every other test tells nothing and
    halves the rows, and each attribute has as many tests. With several good tests the chance is less.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    share : float
        The share of the rarer class among the rows.
    saved : float
        The share of its rows that the best test saves from error.
    chance : float
        The probability.
    """

    kind: Kind
    share: float
    saved: float
    chance: float


def constants(schema: Schema, rows: int, epsilon: Fraction) -> list[Constant]:
    """Return the chance of a constant model, by the share of the rarer class; none of numbers, or of greedy models."""
    found = list[Constant]()
    known = _CLASSIFIERS if schema.target.as_number is None and not schema.monotone else {}
    for kind, make in known.items():
        with suppress(SearchTooLargeError):
            if planned := whole_draw(make(epsilon), schema):
                draw, weight = planned[0], float(planned[1].weight)
                cases = product(SHARES, SAVED)
                found += [Constant(kind, *case, chance_of_constant(draw, weight, rows, *case)) for case in cases]
    return found


def chance_of_constant(draw: Draw, weight: float, rows: float, share: float, saved: float) -> float:
    """Return the chance that a draw predicts one class for every row; see `Constant` for the rows."""
    # `weigh` is the recursion of all draws over three kinds of rows: those that the informative test finds, those that
    # it leaves, and both, in which its attribute is `open`. `agreed` is the prior of models whose leaves agree.
    space, prior = draw.space, draw.prior  # if the size is drawn, the prior is constant
    is_tree, attributes = CAUGHT in space.branches, len(space.candidates.schema)
    each = space.n_options / attributes  # options of an attribute, of which none is open once one is taken
    classes, found = len(draw.loss.values), saved * share / (2 * _PURITY - 1)
    rarer = {"found": _PURITY, "left": (share - found * _PURITY) / (1 - found), "open": share}
    ways = [("found", "left", found), *([] if is_tree else [("left", "found", 1 - found)])]  # a list has its complement

    def leaf(rows_of: str, size: float) -> float:
        missed = [rarer[rows_of], 1 - rarer[rows_of], *[1.0] * (classes - 2)]
        return float(np.logaddexp.reduce([-weight * size * one for one in missed])) - log(classes)

    @cache
    def weigh(rows_of: str, depth: int, size: float, unused: int) -> float:
        if not depth or not unused:
            return leaf(rows_of, size)

        def taken(caught: str, left: str, part: float) -> float:
            first = weigh(caught, depth - 1, part * size, unused - 1) if is_tree else leaf(caught, part * size)
            return first + weigh(left, depth - 1, size - part * size, unused - 1)

        informative = ways if rows_of == "open" else []
        log_stop, log_go = prior.log_stop(draw.depth - depth), prior.log_go(draw.depth - depth)
        useless, log_each = each * unused - len(informative), log_go - log(each * unused)
        weights = [log_stop + leaf(rows_of, size), *(log_each + taken(*way) for way in informative)]
        weights += [log_each + log(useless) + taken(rows_of, rows_of, 0.5)] if useless > 0 else []
        return float(np.logaddexp.reduce(weights))

    def agreed(depth: int, unused: int) -> float:
        if not depth or not unused:
            return -log(classes)
        log_stop, log_go = prior.log_stop(draw.depth - depth), prior.log_go(draw.depth - depth)
        below = agreed(depth - 1, unused - 1)
        return float(np.logaddexp(log_stop - log(classes), log_go + below + (below if is_tree else -log(classes))))

    whole = np.logaddexp.reduce([weigh("open", depth, float(rows), attributes) for depth in draw.sizes])
    same = np.logaddexp.reduce([agreed(depth, attributes) for depth in draw.sizes])
    return min(1.0, exp(same + leaf("open", float(rows)) + log(classes) - whole))


_LEAST_CHANCE = 0.01


def constant_lines(found: Sequence[Constant]) -> list[str]:
    """Return the chances of constant models as a table by the share of the rarer class, where there is any."""
    if not found:
        return []

    def text(chance: float) -> str:
        return "< 1 %" if chance < _LEAST_CHANCE else "> 99 %" if chance > 0.99 else f"{100 * chance:.0f} %"

    chances = {(one.kind, one.share, one.saved): one.chance for one in found}
    columns = [(kind, saved) for kind in dict.fromkeys(one.kind for one in found) for saved in SAVED]
    heads = ["rarer class", *(f"{kind}: {100 * saved:g} %" for kind, saved in columns)]
    rows = [
        [f"{100 * share:g} %", *(text(chances[kind, share, saved]) for kind, saved in columns)]
        for share in SHARES
        if max(chances[kind, share, saved] for kind, saved in columns) >= _LEAST_CHANCE
    ]
    what = "chance of one class for every row, if one test saves so much of the rarer class from error"
    if not rows:
        what = f"one class for every row is unlikely if one test saves {100 * min(SAVED):g} % of the rarer class"
    lines = ["  ".join(cell.rjust(len(head)) for cell, head in zip(row, heads, strict=True)) for row in [heads, *rows]]
    last = "if none saves any, one class is the best answer by errors: declare what these cost"
    return ["", what, *(lines if rows else []), last]
