"""What is known of each kind and size of model beforehand: average loss, noise, seconds, the chance of a constant."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import exp, inf, log, sqrt
from typing import Any, Self

import numpy as np

from hedgerow.errors import SearchTooLargeError
from hedgerow.learn import learners
from hedgerow.learn.chosen_attributes import ChosenPlan, number_chosen
from hedgerow.learn.inputs import check_learnable
from hedgerow.learn.learned import LEAF_SHARE
from hedgerow.learn.scorecard.spending import PARTS, TOTALS, typical_sizes
from hedgerow.learn.search.cost import TYPICAL_PATTERNS
from hedgerow.learn.searches import SearchSpecification
from hedgerow.planning.bounds import Bound, WholeDraw
from hedgerow.planning.constant import SAVED, SHARES, Constant, DrawnKind, chances_of_constant
from hedgerow.privacy.exponential_mechanism import seeded_choice
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.unit import rows_of
from hedgerow.schema import Number, Schema
from hedgerow.schema.private_cuts import cut_mechanism, open_numbers

PARTS_OF: dict[DrawnKind, str] = {"tree": "leaves", "rule list": "rules"}
CONFIDENCE = 0.95
LEAF = 0.05  # the share of the rows of the leaf that is to be told from noise
CUT_BINS = 5  # the number of bins that `Schema.learn` aims at by default
_SEED, _DRAWS = 20261123, 4
_CLASSIFIERS: dict[DrawnKind, type[Any]] = {kind: learners.CLASSIFIERS[kind.replace(" ", "-")] for kind in PARTS_OF}
_REGRESSORS: dict[DrawnKind, type[Any]] = {kind: learners.REGRESSORS[kind.replace(" ", "-")] for kind in PARTS_OF}


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

    kind: DrawnKind
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


@dataclass(frozen=True)
class DefaultDraws:
    """The draws of default trees and rule lists that are drawn as a whole, and what they can be expected to do.

    Attributes
    ----------
    schema : Schema
        The schema.
    by_kind : mapping of str to tuple of WholeDraw
        For each kind, the draw by errors; of a number the draw by squared errors, and by absolute errors. A kind that
        is greedy or chooses attributes first is left out, and all are if the schema declares a monotone attribute.
    """

    schema: Schema
    by_kind: Mapping[DrawnKind, tuple[WholeDraw, ...]]

    @classmethod
    def of(cls, schema: Schema) -> Self:
        """Return the draws for a schema; SchemaError if no model can be learned with it."""
        found = dict[DrawnKind, tuple[WholeDraw, ...]]()
        for kind in PARTS_OF if not schema.monotone else ():
            with suppress(SearchTooLargeError):
                if schema.target.as_number is None:
                    specifications = [_CLASSIFIERS[kind](1)]
                else:
                    specifications = [_REGRESSORS[kind](1, objective=name) for name in ("squared", "absolute")]
                draws = [WholeDraw.of(one, schema) for one in specifications]
                check_learnable(specifications[0], schema)
                if whole := tuple(one for one in draws if one is not None):
                    found[kind] = whole
        return cls(schema, found)

    def expected(
        self, epsilon: Fraction, spread: float | None = None, rows: int = TYPICAL_PATTERNS
    ) -> tuple[Expected, ...]:
        """Return what default trees and rule lists lose at most, by size."""
        number, found = self.schema.target.as_number, list[Expected]()
        for kind, (draw, *others) in self.by_kind.items():
            cost = draw.plan.cost
            seconds = 0.0 if cost is None else cost.seconds(min(rows, TYPICAL_PATTERNS))
            if number is None:
                found += [Expected(kind, bound.size, seconds, bound) for bound in draw.bounds(epsilon)]
                continue
            squared, absolute = (_REGRESSORS[kind](1, objective=name) for name in ("squared", "absolute"))
            variance = (spread or even_spread(number)) ** 2
            pairs = zip(
                draw.bounds(epsilon, squared.loss.largest(number) / variance),
                others[0].bounds(epsilon, absolute.loss.largest(number)),
                strict=True,
            )
            found += [Expected(kind, bound.size, seconds, bound, each) for bound, each in pairs]
        return tuple(found)

    def constants(self, rows: int, epsilon: Fraction) -> tuple[Constant, ...]:
        """Return the chance of a constant model, by the share of the rarer class; none of numbers."""
        found = list[Constant]()
        for kind, (whole, *_) in self.by_kind.items() if self.schema.target.as_number is None else ():
            draw, mechanism = whole.at(epsilon)
            cases = list(product(SHARES, SAVED))
            shares, saved = np.array(cases).T
            chances = chances_of_constant(draw, float(mechanism.weight), rows, shares, saved)
            found += [Constant(kind, *case, chance) for case, chance in zip(cases, chances.tolist(), strict=True)]
        return tuple(found)


def even_spread(number: Number) -> float:
    return (number.high - number.low) / sqrt(12)


def rows_needed(learner: SearchSpecification, schema: Schema, loss: float) -> float | None:
    """Return with how many rows the smallest model drawn by errors loses a share of them at most, on average."""
    if not learner.loss.is_default:
        return None
    whole, epsilon = WholeDraw.of(learner, schema), learner.exact_epsilon
    smallest = () if whole is None else whole.bounds(epsilon)[:1]
    return round_up(smallest[0].excess(epsilon) / loss) if smallest else None


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
    plan = learners.learners_of(schema.target)["scorecard"](epsilon, delta=delta or None).plan(schema)
    choice = plan.choice(rows)
    sizes = typical_sizes([attribute.n_bins for _, attribute in schema.attributes], choice.number)
    return choice.number, 1.96 * sqrt(choice.spending.histogram_variance(PARTS - TOTALS - choice.parts, sizes))


def chosen_first(schema: Schema, epsilon: Fraction, rows: int) -> int | None:
    """Return how many attributes a default tree or list chooses first, if classes are alike; None where it does not."""
    kinds = _CLASSIFIERS if schema.target.as_number is None else _REGRESSORS
    if any(isinstance(make(epsilon).plan(schema), ChosenPlan) for make in kinds.values()):
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
        numbers = open_numbers(dict(schema.attributes), CUT_BINS)
        each = epsilon / rows_of(schema.unit) / len(numbers)
        mechanisms = {cut_mechanism(number, each, CUT_BINS) for number in numbers.values()}
    except ValueError:
        return None
    return len(numbers), max(_rows_off(one, rows) for one in mechanisms)


def _rows_off(mechanism: JointQuantiles, rows: int) -> float:
    """Return the mean sum of ``|rows of a bin - rows/bins|`` of some draws, less that of the best cut points."""
    places = mechanism.candidates + 1
    counts = np.diff(np.linspace(0, rows, places + 1).round().astype(np.int64))
    cumulated = np.concatenate([[0], np.cumsum(counts)])
    draw = mechanism.sampler(counts, seeded_choice(np.random.default_rng(_SEED)))
    off = list[float]()
    for _ in range(_DRAWS):
        ends = [0, *(place + 1 for place in mechanism.places(draw())), places]
        off.append(float(np.abs(np.diff(cumulated[ends]) - rows / mechanism.bins).sum()))
    return float(np.mean(off))
