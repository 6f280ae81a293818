"""Objectives of estimators: the loss of a row, as a public table."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from hedgerow.boundary.arguments import check_choice, check_flag, check_probability
from hedgerow.errors import ArgumentError
from hedgerow.learn.learned import LEAF_COUNTS, LEAF_SUMS, LeafNumbers
from hedgerow.learn.search.losses import LossTable, Objective
from hedgerow.learn.search.optimum import SearchProblem
from hedgerow.learn.search.squares import SquaredLoss
from hedgerow.models.decisions import ClassWeight, Costs, CostTable, cost_matrix, cost_table
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.stop_prior import STOP_RULE, STOP_RULE_OF_SHARES, StopRule
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Number
from hedgerow.tally import Tally
from hedgerow.text.messages import describe_argument

ClassObjective = Literal["errors", "brier", "mixed", "absolute"]
CLASS_OBJECTIVES: tuple[ClassObjective, ...] = ("errors", "brier", "mixed", "absolute")
NumberObjective = Literal["squared", "absolute", "quantile"]
NUMBER_OBJECTIVES: tuple[NumberObjective, ...] = ("squared", "absolute", "quantile")
OBJECTIVE: ClassObjective = "errors"  # the default of classifiers; docs/exact.md explains it
CLIP = 0.5  # the default share of the target's range beyond which a squared loss is constant


class RowLoss:
    """Loss of a row, and the numbers that are released of leaves; base class."""

    @property
    def is_default(self) -> bool:
        """Whether the loss is the number of errors, with equal costs."""
        return False

    @property
    def predicts_means(self) -> bool:
        """Whether leaves predict the mean of their rows, if the released numbers contain it."""
        return False

    def table(self, schema: Schema) -> Objective:
        """Return the name of the loss, or its table by level and prediction."""
        raise NotImplementedError

    def costs_by_class(self, schema: Schema) -> CostTable | None:  # noqa: ARG002 -- of classifiers
        """Return the costs by actual class, then by predicted class, or None."""
        return None

    def problem(self, tally: Tally) -> SearchProblem:
        """Return the problem of a certified search for the model with the smallest loss."""
        return SearchProblem(tally, self.table(tally.schema))

    @property
    def stop_rule(self) -> StopRule:
        """The rule that sets the default prior of trees."""
        return STOP_RULE if self.is_default else STOP_RULE_OF_SHARES

    def released(self, *, counts: bool) -> LeafNumbers | None:
        """Return the numbers to release of leaves, or None."""
        return LEAF_COUNTS if counts else None


@dataclass(frozen=True)
class ClassificationLoss(RowLoss):
    """Loss of a classifier: errors, Brier score, the mean of both, costs, or the distance of ordered classes."""

    objective: ClassObjective = OBJECTIVE
    costs: Costs | None = None
    class_weight: ClassWeight | None = None

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, CLASS_OBJECTIVES)
        if isinstance(self.class_weight, str):
            raise ArgumentError(
                "class_weight must be a mapping of classes to weights, such as {'yes': 5}, got "
                f"{describe_argument(self.class_weight)}: weights from class frequencies would depend on the rows."
            )
        if self.costs is not None and self.class_weight is not None:
            raise ArgumentError("costs and class_weight cannot be combined: class_weight is a shorthand for costs.")
        if self.objective != OBJECTIVE and self._has_costs:
            problem = f"objective must be {OBJECTIVE!r} with costs or class_weight"
            raise ArgumentError(f"{problem}, got {self.objective!r}.")

    def costs_by_class(self, schema: Schema) -> CostTable | None:
        if not self._has_costs:
            return None
        matrix = cost_matrix(schema.classes, class_weight=self.class_weight, costs=self.costs)
        return cost_table(matrix.tolist(), schema.target)

    def table(self, schema: Schema) -> Objective:
        if (costs := self.costs_by_class(schema)) is not None:
            return LossTable.of_costs(np.array(costs))
        if self.objective != "absolute":
            return self.objective
        if not schema.target.ordered:
            problem = "objective='absolute' needs ordered classes; declare an OrderedLabel"
            raise ArgumentError(f"{problem}, or `ordered: true` in a schema file.")
        places = range(len(schema.classes))
        return LossTable.of_distances(places, abs, Fact("absolute_classes", classes=len(places) - 1))

    @property
    def is_default(self) -> bool:
        return self.objective == OBJECTIVE and not self._has_costs

    @property
    def _has_costs(self) -> bool:
        return self.costs is not None or self.class_weight is not None


@dataclass(frozen=True)
class RegressionLoss(RowLoss):
    """Loss of a regressor: clipped squared error, absolute error, or pinball loss."""

    objective: NumberObjective = "squared"
    quantile: float = 0.5
    clip: float = CLIP

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, NUMBER_OBJECTIVES)
        check_probability("quantile", self.quantile)
        if self.objective != "quantile" and self.quantile != 0.5:
            raise ArgumentError(f"quantile needs objective='quantile', got {self.objective!r}.")
        if isinstance(self.clip, bool) or not isinstance(self.clip, (int, float)) or not 0 < self.clip <= 1:
            raise ArgumentError(f"clip must be a number > 0 and <= 1, got {describe_argument(self.clip)}.")
        if self.objective != "squared" and self.clip != CLIP:
            raise ArgumentError(f"clip needs objective='squared', got {self.objective!r}.")

    def table(self, schema: Schema) -> Objective:
        number = schema.target.as_number
        assert number is not None  # checked before
        return LossTable.of_distances(number.values, *self._loss_of_distance(number))

    def problem(self, tally: Tally) -> SearchProblem:
        # Levels have equal distances. No pair of a row and a best prediction is further apart than the rows' own
        # levels, so a clip beyond these changes nothing. Other losses need the counts of all levels. A clip below the
        # width of a level is left to them, too, because its square can round to 0.
        by_level, levels = tally.total(), tally.schema.target.n_levels
        present, bound = np.flatnonzero(by_level), min(Fraction(self.clip) * levels, Fraction(levels - 1))
        reach = max(1, int(present[-1] - present[0])) if len(present) else 1
        if self.objective != "squared" or reach > bound:
            return super().problem(tally)
        squares = SquaredLoss(levels)
        return SearchProblem(squares.tally(tally), squares, bound**2, squares.constant(by_level))

    def largest(self, number: Number) -> float:
        """Return the loss that counts as 1, in units of the target (squared units for the squared loss)."""
        loss, _ = self._loss_of_distance(number)
        span = Fraction(number.values[-1]) - Fraction(number.values[0])
        return float(max(loss(span), loss(-span)))

    def _loss_of_distance(self, number: Number) -> tuple[Callable[[Fraction], Fraction], Fact]:
        span = Fraction(number.values[-1]) - Fraction(number.values[0])
        if self.objective == "absolute":
            return abs, Fact("absolute", range=span)
        if self.objective == "squared":
            bound = min(Fraction(self.clip) * (Fraction(number.high) - Fraction(number.low)), span)
            return lambda error: min(abs(error), bound) ** 2, Fact("squared", bound=bound)
        share = Fraction(self.quantile)
        return (
            lambda error: share * error if error > 0 else (share - 1) * error,
            Fact("quantile", range=span, weight=max(share, 1 - share)),
        )


@dataclass(frozen=True)
class PrivateRegressionLoss(RegressionLoss):
    """Loss of a private regressor, which may release the means of its leaves."""

    release_means: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("release_means", self.release_means)

    @property
    def predicts_means(self) -> bool:
        return self.objective == "squared"

    def released(self, *, counts: bool) -> LeafNumbers | None:
        if counts:
            return LEAF_COUNTS
        return LEAF_SUMS if self.predicts_means and self.release_means else None
