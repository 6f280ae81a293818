"""Public facts about each kind and size of model: bounds on the loss, noise, run time and risk of a constant model."""

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
MORE_EPSILON = 4  # the risk of a constant prediction is also computed for this multiple of ε
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
    """Rare class, with its share of the rows as a public estimate.

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
        """The class weight at which errors on all rows of the class cost as much as errors on all other rows."""
        return float(f"{(1 - self.share) / self.share:.2g}")


@dataclass(frozen=True)
class Expected:
    """Bounds on the loss of a drawn tree or rule list beyond the loss of the best model of its size.

    Attributes
    ----------
    kind : {"tree", "rule list"}
        The model.
    size : int
        Levels of a tree, or rules without the default rule.
    seconds : float
        The estimated run time of a draw on a single core, for at most 10,000 different rows.
    bound : Bound
        The bound in rows, or in costs if errors have costs. Of a number, squared errors in units of its variance: as a
        share of the rows it is the reduction of R².
    absolute : Bound, optional
        For a number, the bound on the sum of absolute errors, in units of the target, of a model that is drawn by
        absolute errors; None for classes.
    """

    kind: DrawnKind
    size: int
    seconds: float
    bound: Bound
    absolute: Bound | None = None

    def excess(self, epsilon: Fraction, missed: float | None = None) -> float:
        """Return the bound in rows: on average or, with `missed`, a bound that fails with this probability."""
        return self.bound.excess(epsilon, missed)

    def epsilon_for(self, loss: float, rows: int) -> float:
        """Return the smallest ε at which the mean is at most a share of the rows; infinite if it exceeds 100."""
        return self.bound.epsilon_for(loss * rows)

    @property
    def leaves(self) -> int:
        """The largest number of leaves, or of rules with the default rule."""
        return 2**self.size if self.kind == "tree" else self.size + 1


@dataclass(frozen=True)
class DefaultDraws:
    """Draws of default trees and rule lists that are drawn as a whole.

    Attributes
    ----------
    schema : Schema
        The schema.
    by_kind : mapping of str to tuple of WholeDraw
        By kind, the draw by errors or costs; for a number, the draws by squared and by absolute errors. Kinds that are
        grown greedily or select attributes first are left out. Empty if the schema declares a monotone attribute.
    costs : mapping, optional
        The costs of errors, as for learners.
    """

    schema: Schema
    by_kind: Mapping[DrawnKind, tuple[WholeDraw, ...]]
    costs: Costs | None = None

    @classmethod
    def of(cls, schema: Schema, costs: Costs | None = None) -> Self:
        """Return the draws for a schema; raise `SchemaError` if no model can be learned with it."""
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
        for kind, (draw, *remaining) in self.by_kind.items():
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
                remaining[0].bounds(absolute.loss.largest(number)),
                strict=True,
            )
            bounds += [Expected(kind, bound.size, seconds, bound, other) for bound, other in pairs]
        return tuple(bound for bound in bounds if bound.kind == "tree" or bound.size in _RULES)

    def risks(self, rows: int, epsilon: Fraction, rare: RareClass) -> tuple[ConstantRisk, ...]:
        """Return the risks of a constant prediction: by default, with a larger ε, and with a class weight."""
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
        """Return the share of a class below which default models probably predict the other class for every row.

        At this share the probability is one half, if a test finds half of the class in a group of rows with 75 % of the
        class. The smaller share of trees and rule lists is returned; None for a number, with costs, or without draws.
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
    """Return the number of rows from which on the smallest model loses at most a share of the rows, or None."""
    if not learner.loss.is_default:
        return None
    whole, epsilon = WholeDraw.of(learner, schema), learner.exact_epsilon
    smallest = () if whole is None else whole.bounds()[:1]
    return round_up(smallest[0].excess(epsilon) / loss) if smallest else None


def leaf_noise(plan: DrawPlan) -> int | None:
    """Return half the width, in rows, of the 95 % interval of a leaf's count, or None without released counts.

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
    """Round a positive number up to two significant digits."""
    unit = 10.0 ** (np.floor(np.log10(value)) - 1)
    return float(f"{np.ceil(value / unit - 1e-9) * unit:.2g}")


def bin_noise(schema: Schema, epsilon: Fraction, delta: Fraction, rows: int) -> tuple[int, float]:
    """Return a default scorecard's number of attributes, and half the 95 % interval of a class's count in a bin."""
    plan = learners.learners_of(schema.target)["scorecard"](epsilon, delta=delta or None).plan(schema)
    choice = plan.choice(rows)
    sizes = typical_sizes([attribute.n_bins for _, attribute in schema.attributes], choice.number)
    return choice.number, 1.96 * sqrt(choice.spending.histogram_variance(PARTS - TOTALS - choice.parts, sizes))


def chosen_first(schema: Schema, epsilon: Fraction, rows: int) -> int | None:
    """Return the number of attributes that a default tree or rule list selects before its draw, or None.

    The number is computed for two classes with the same number of rows.
    """
    kinds = _CLASSIFIERS if schema.target.as_number is None else _REGRESSORS
    if any(isinstance(make(epsilon).plan(schema), ChosenAttributesPlan) for make in kinds.values()):
        return number_chosen(rows, rows / 2, float(epsilon) / rows_of(schema.unit))
    return None


def rows_in_a_bin(schema: Schema, rows: int) -> float:
    """Return the average number of rows of a class in a bin, if all bins and classes are equally frequent."""
    shares = [1 / attribute.n_bins for _, attribute in schema.attributes]
    return rows * float(np.mean(shares)) / schema.target.n_levels


def cut_points_noise(schema: Schema, epsilon: Fraction, rows: int) -> tuple[int, float] | None:
    """Return the number of attributes whose cut points can be learned, and the deviation of their bins in rows.

    The deviation is the sum over the bins of an attribute, averaged over draws for evenly spread values. It is the
    largest deviation of all attributes. None if every attribute has cut points, or if ε is too small.
    """
    try:
        numbers = open_numbers(dict(schema.attributes), CUT_BINS)
        share = epsilon / rows_of(schema.unit) / len(numbers)
        mechanisms = {cut_mechanism(number, share, CUT_BINS) for number in numbers.values()}
    except ValueError:
        return None
    return len(numbers), max(_deviation(mechanism, rows) for mechanism in mechanisms)


def _deviation(mechanism: JointQuantiles, rows: int) -> float:
    """Return the sum of ``|rows of a bin - rows/bins|`` over the bins, averaged over draws."""
    places = mechanism.candidates + 1
    counts = np.diff(np.linspace(0, rows, places + 1).round().astype(np.int64))
    cumulated = np.concatenate([[0], np.cumsum(counts)])
    draw = mechanism.sampler(counts, seeded_choice(np.random.default_rng(_SEED)))
    deviations = list[float]()
    for _ in range(_DRAWS):
        ends = [0, *(place + 1 for place in mechanism.places(draw())), places]
        deviations.append(float(np.abs(np.diff(cumulated[ends]) - rows / mechanism.bins).sum()))
    return float(np.mean(deviations))
