"""Objectives of estimators: the loss of a row, of classes and of numbers, as a public table."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from hedgerow.boundary.arguments import check_choice, check_flag, check_probability
from hedgerow.errors import ArgumentError
from hedgerow.learn.learned import LEAF_COUNTS, LEAF_SUMS, LeafNumbers
from hedgerow.learn.search.losses import LossTable, Objective
from hedgerow.models.decisions import ClassWeight, Costs, CostTable, cost_matrix, cost_table
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.stop_prior import STOP_RULE, STOP_RULE_OF_SHARES, StopRule
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Number
from hedgerow.text.messages import describe_argument

ClassObjective = Literal["errors", "brier", "mixed", "absolute"]
CLASS_OBJECTIVES: tuple[ClassObjective, ...] = ("errors", "brier", "mixed", "absolute")
NumberObjective = Literal["squared", "absolute", "quantile"]
NUMBER_OBJECTIVES: tuple[NumberObjective, ...] = ("squared", "absolute", "quantile")
OBJECTIVE: ClassObjective = "errors"  # the default loss of classes; docs/exact.md says how it was chosen
CLIP = 0.5  # the share of a number's range beyond which a squared loss grows no more, if nobody chose another


class RowLoss:
    """The loss of a row, and what is released about the leaves of a drawn model; the base of two kinds."""

    @property
    def is_default(self) -> bool:
        """True if it is the number of errors, each of which costs the same."""
        return False

    @property
    def predicts_means(self) -> bool:
        """True if leaves predict the mean of their rows, so far as what is released about these has it."""
        return False

    def table(self, schema: Schema) -> Objective:
        """Return the loss by its name, or as a table of levels and predictions; ValueError if the schema has none."""
        raise NotImplementedError

    def costs_by_class(self, schema: Schema) -> CostTable | None:  # noqa: ARG002 -- of classes
        """Return the costs that the loss has, by actual class, then by predicted class; None if it has none."""
        return None

    @property
    def stop_rule(self) -> StopRule:
        """The rule that makes the default prior of trees."""
        return STOP_RULE if self.is_default else STOP_RULE_OF_SHARES

    def released(self, *, counts: bool) -> LeafNumbers | None:
        """Return what is released about the rows of leaves, with counts or without; None for nothing."""
        return LEAF_COUNTS if counts else None


@dataclass(frozen=True)
class ClassificationLoss(RowLoss):
    """The loss of a classifier: errors, Brier's score, half of each, costs, or how far apart ordered classes are."""

    objective: ClassObjective = OBJECTIVE
    costs: Costs | None = None
    class_weight: ClassWeight | None = None

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, CLASS_OBJECTIVES)
        if isinstance(self.class_weight, str):
            raise ArgumentError(
                "class_weight must be a mapping from classes, such as {'yes': 5}, got "
                f"{describe_argument(self.class_weight)}: weights by the classes' shares would read the rows."
            )
        if self.costs is not None and self.class_weight is not None:
            raise ArgumentError("expected costs or class_weight, got both: class_weight is a shorthand of costs.")
        if self.objective != OBJECTIVE and self._has_costs:
            raise ArgumentError(f"expected objective={OBJECTIVE!r} with costs or class_weight, got {self.objective!r}.")

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
            problem = "expected ordered classes with objective='absolute', got others; declare OrderedLabel"
            raise ArgumentError(f"{problem}, or `ordered: true` in a file.")
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
    """The loss of a regressor: squared up to a bound, absolute, or that of a quantile."""

    objective: NumberObjective = "squared"
    quantile: float = 0.5
    clip: float = CLIP

    def __post_init__(self) -> None:
        check_choice("objective", self.objective, NUMBER_OBJECTIVES)
        check_probability("quantile", self.quantile)
        if self.objective != "quantile" and self.quantile != 0.5:
            raise ArgumentError(f"expected objective='quantile' with quantile, got {self.objective!r}.")
        if isinstance(self.clip, bool) or not isinstance(self.clip, (int, float)) or not 0 < self.clip <= 1:
            raise ArgumentError(f"clip must be a number > 0 and <= 1, got {describe_argument(self.clip)}.")
        if self.objective != "squared" and self.clip != CLIP:
            raise ArgumentError(f"expected objective='squared' with clip, got {self.objective!r}.")

    def table(self, schema: Schema) -> Objective:
        number = schema.target.as_number
        assert number is not None  # checked before
        return LossTable.of_distances(number.values, *self._loss_of_distance(number))

    def largest(self, number: Number) -> float:
        """Return the loss that counts as 1, in units of the target, or, if it is squared, in their squares."""
        of, _ = self._loss_of_distance(number)
        most = Fraction(number.values[-1]) - Fraction(number.values[0])
        return float(max(of(most), of(-most)))

    def _loss_of_distance(self, number: Number) -> tuple[Callable[[Fraction], Fraction], Fact]:
        most = Fraction(number.values[-1]) - Fraction(number.values[0])
        if self.objective == "absolute":
            return abs, Fact("absolute", range=most)
        if self.objective == "squared":
            bound = min(Fraction(self.clip) * (Fraction(number.high) - Fraction(number.low)), most)
            return lambda off: min(abs(off), bound) ** 2, Fact("squared", bound=bound)
        share = Fraction(self.quantile)
        return (
            lambda off: share * off if off > 0 else (share - 1) * off,
            Fact("quantile", range=most, weight=max(share, 1 - share)),
        )


@dataclass(frozen=True)
class PrivateRegressionLoss(RegressionLoss):
    """The loss of a private regressor, and whether the means of its leaves are released, too."""

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
