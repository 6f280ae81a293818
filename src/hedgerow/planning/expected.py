"""Public facts about each kind and size of model: bounds on the loss, noise, run time, risk of a constant model."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from math import exp, log, sqrt
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Floats
from hedgerow.errors import SearchTooLargeError
from hedgerow.learn import learners
from hedgerow.learn.blocks import DrawPlan
from hedgerow.learn.chosen_attributes import ChosenAttributesPlan, number_chosen
from hedgerow.learn.inputs import check_learnable
from hedgerow.learn.releases import PlannedRelease
from hedgerow.learn.scorecard.spending import PARTS, TOTALS, typical_sizes
from hedgerow.learn.search.cost import TYPICAL_PATTERNS
from hedgerow.learn.searches import SearchSpecification
from hedgerow.models.decisions import Costs, cost_matrix
from hedgerow.planning.bounds import Bound, WholeDraw
from hedgerow.planning.constant import PURE, ConstantRisk, DrawnKind, constant_probabilities, purities
from hedgerow.privacy.exponential_mechanism import seeded_choice
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import DiscreteLaplace
from hedgerow.privacy.unit import rows_of
from hedgerow.schema import Number, Schema
from hedgerow.schema.private_cuts import cut_mechanism, open_numbers
from hedgerow.text.values import Value

CONFIDENCE = 0.95
CUT_BINS = 5  # the number of bins that `Schema.learn` aims at by default
MORE_EPSILON = 4  # times ε, for which the risk of a constant model is computed, too
_SEED, _DRAWS = 20261123, 4
_RULES = (1, 2, 4, 8)  # sizes of rule lists that are forecast
_CLASSIFIERS: dict[DrawnKind, type[Any]] = {
    "tree": learners.CLASSIFIERS["tree"],
    "rule list": learners.CLASSIFIERS["rule-list"],
}
_REGRESSORS: dict[DrawnKind, type[Any]] = {
    "tree": learners.REGRESSORS["tree"],
    "rule list": learners.REGRESSORS["rule-list"],
}


@dataclass(frozen=True)
class RareClass:
    """A class that is rare, with its share among the rows as a public guess.

    Attributes
    ----------
    value : str, int or bool
        The class.
    share : float
        Its share among the rows, between 0 and 1.
    """

    value: Value
    share: float

    @property
    def balanced_weight(self) -> float:
        """The class weight with which errors about the class cost as much in all as errors about the rest."""
        return float(f"{(1 - self.share) / self.share:.2g}")


@dataclass(frozen=True)
class Expected:
    """Bounds on the loss of a drawn tree or rule list beyond the loss of the best model of its size.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    size : int
        Levels of a tree, or rules besides the default.
    seconds : float
        The estimated run time of a draw of all sizes on one core, for as many different rows as there are, at most
        10,000.
    bound : Bound
        The bound in rows, or in costs if errors have costs. Of a number, squared errors in units of its variance: as a
        share of the rows it is the reduction of R².
    absolute : Bound, optional
        Of a number, the excess of the sum of absolute errors, in units of the target, of a model that is drawn by
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
        """Return the smallest ε at which the mean is at most a share of the rows; infinite if it is more than 100."""
        return self.bound.epsilon_for(loss * rows)

    @property
    def leaves(self) -> int:
        """The largest number of leaves, or of rules with the default rule."""
        return 2**self.size if self.kind == "tree" else self.size + 1


@dataclass(frozen=True)
class DefaultDraws:
    """The draws of default trees and rule lists that are drawn as a whole.

    Attributes
    ----------
    schema : Schema
        The schema.
    by_kind : mapping of str to tuple of WholeDraw
        By kind, the draw by errors or costs; of a number the draw by squared errors, and by absolute errors. A kind
        that is greedy or chooses attributes first is left out, and all are if the schema declares a monotone attribute.
    costs : mapping, optional
        The costs of errors, as learners take them.
    """

    schema: Schema
    by_kind: Mapping[DrawnKind, tuple[WholeDraw, ...]]
    costs: Costs | None = None

    @classmethod
    def of(cls, schema: Schema, costs: Costs | None = None) -> Self:
        """Return the draws for a schema; SchemaError if no model can be learned with it."""
        draws = dict[DrawnKind, tuple[WholeDraw, ...]]()
        for kind in _CLASSIFIERS if not schema.monotone else ():
            with suppress(SearchTooLargeError):
                if schema.target.as_number is None:
                    learners_of_kind = [_CLASSIFIERS[kind](1, costs=costs)]
                else:
                    learners_of_kind = [_REGRESSORS[kind](1, objective=name) for name in ("squared", "absolute")]
                whole = [WholeDraw.of(learner, schema) for learner in learners_of_kind]
                check_learnable(learners_of_kind[0], schema)
                if drawn := tuple(draw for draw in whole if draw is not None):
                    draws[kind] = drawn
        return cls(schema, draws, costs)

    def expected(self, spread: float | None = None, rows: int = TYPICAL_PATTERNS) -> tuple[Expected, ...]:
        """Return bounds on the loss of default trees and rule lists, by size."""
        number, bounds = self.schema.target.as_number, list[Expected]()
        for kind, (draw, *others) in self.by_kind.items():
            cost = draw.cost
            seconds = 0.0 if cost is None else cost.seconds(min(rows, TYPICAL_PATTERNS))
            if number is None:
                matrix = None if self.costs is None else cost_matrix(self.schema.classes, None, self.costs)
                scale = 1.0 if matrix is None else float(matrix.max())
                bounds += [Expected(kind, bound.size, seconds, bound) for bound in draw.bounds(scale)]
                continue
            squared, absolute = (_REGRESSORS[kind](1, objective=name) for name in ("squared", "absolute"))
            variance = (spread or even_spread(number)) ** 2
            pairs = zip(
                draw.bounds(squared.loss.largest(number) / variance),
                others[0].bounds(absolute.loss.largest(number)),
                strict=True,
            )
            bounds += [Expected(kind, bound.size, seconds, bound, other) for bound, other in pairs]
        return tuple(bound for bound in bounds if bound.kind == "tree" or bound.size in _RULES)

    def risks(self, rows: int, epsilon: Fraction, rare: RareClass) -> tuple[ConstantRisk, ...]:
        """Return the probability of one class for every row: as it is, with a larger ε, and with a class weight."""
        risks, weight = list[ConstantRisk](), rare.balanced_weight
        for kind, (draw, *_) in self.by_kind.items():
            options = [(draw, epsilon, None), (draw, MORE_EPSILON * epsilon, None)]
            if self.costs is None:
                weighted = WholeDraw.of(_CLASSIFIERS[kind](1, class_weight={rare.value: weight}), self.schema)
                options += [] if weighted is None else [(weighted, epsilon, weight)]
            for whole, spent, class_weight in options:
                purity = np.array(purities(rare.share))
                chances = self._constant(whole, spent, rows, np.full_like(purity, rare.share), purity, rare.value)
                risks += [
                    ConstantRisk(kind, spent, class_weight, rare.share, *case)
                    for case in zip(purity.tolist(), chances.tolist(), strict=True)
                ]
        return tuple(risks)

    def rare_limit(self, rows: int, epsilon: Fraction) -> float | None:
        """Return the share of a class below which a default tree or list likely predicts one class for every row.

        At this share the probability is one half, if a test finds half of the class in a group of rows of which three
        in four are of the class. It is the smaller of both kinds; None if nothing is drawn as a whole, or of a number.
        """
        if self.schema.target.as_number is not None or not self.by_kind or self.costs is not None:
            return None
        shares = np.geomspace(1e-5, 0.5, 95)
        limits = list[float]()
        for draw, *_ in self.by_kind.values():
            chances = self._constant(draw, epsilon, rows, shares, np.full_like(shares, PURE), self.schema.classes[0])
            limits.append(float(shares[chances >= 0.5].max(initial=0.0)))
        return min(limits)

    def _constant(
        self, draw: WholeDraw, epsilon: Fraction, rows: int, share: Floats, purity: Floats, rare: Value
    ) -> Floats:
        plan, mechanism = draw.at(epsilon)
        place = self.schema.classes.index(rare)
        return constant_probabilities(plan, float(mechanism.weight), rows, share, purity, place)


def even_spread(number: Number) -> float:
    return (number.high - number.low) / sqrt(12)


def rows_needed(learner: SearchSpecification, schema: Schema, loss: float) -> float | None:
    """Return the number of rows with which the smallest model drawn by errors loses at most a share of them."""
    if not learner.loss.is_default:
        return None
    whole, epsilon = WholeDraw.of(learner, schema), learner.exact_epsilon
    smallest = () if whole is None else whole.bounds()[:1]
    return round_up(smallest[0].excess(epsilon) / loss) if smallest else None


def leaf_noise(plan: DrawPlan) -> int | None:
    """Return the half width in rows of the 95 % interval of a leaf's count, if the plan releases counts.

    A count has discrete Laplace noise: P(|noise| > k) = 2·α^(k+1)/(1 + α), with α = exp(-1/scale).
    """
    if plan.leaf_numbers is None or plan.leaf_numbers.kind != "counts":
        return None
    release = plan.releases[-1]
    assert isinstance(release, PlannedRelease)
    assert isinstance(release.mechanism, DiscreteLaplace)
    mechanism = release.mechanism
    share = float(mechanism.epsilon / mechanism.sensitivity)
    least = log((1 - CONFIDENCE) * (1 + exp(-share)) / 2) / -share
    return max(0, int(np.ceil(least - 1e-12)) - 1)


def round_up(value: float) -> float:
    """Return a number with two digits, no less than a positive one."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.2g}")


def bin_noise(schema: Schema, epsilon: Fraction, delta: Fraction, rows: int) -> tuple[int, float]:
    """Return the number of attributes of a default scorecard, and the 95 % half width of a class's rows in a bin."""
    plan = learners.learners_of(schema.target)["scorecard"](epsilon, delta=delta or None).plan(schema)
    choice = plan.choice(rows)
    sizes = typical_sizes([attribute.n_bins for _, attribute in schema.attributes], choice.number)
    return choice.number, 1.96 * sqrt(choice.spending.histogram_variance(PARTS - TOTALS - choice.parts, sizes))


def chosen_first(schema: Schema, epsilon: Fraction, rows: int) -> int | None:
    """Return the number of attributes that a default tree or list chooses first; None if it chooses none first.

    The number is that for two classes with the same number of rows.
    """
    kinds = _CLASSIFIERS if schema.target.as_number is None else _REGRESSORS
    if any(isinstance(make(epsilon).plan(schema), ChosenAttributesPlan) for make in kinds.values()):
        return number_chosen(rows, rows / 2, float(epsilon) / rows_of(schema.unit))
    return None


def rows_in_a_bin(schema: Schema, rows: int) -> float:
    """Return the average number of rows of one class in a bin, if all bins and classes have the same number of rows."""
    shares = [1 / attribute.n_bins for _, attribute in schema.attributes]
    return rows * float(np.mean(shares)) / schema.target.n_levels


def cut_points_noise(schema: Schema, epsilon: Fraction, rows: int) -> tuple[int, float] | None:
    """Return the number of attributes whose cut points can be learned, and the deviation of their bins in rows.

    The deviation is the sum over the bins of one attribute, averaged over draws of the mechanism for evenly spread
    values, of the attribute for which it is largest. None if every attribute has cut points, or ε is too small.
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
