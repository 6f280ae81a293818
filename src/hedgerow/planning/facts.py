"""Facts of forecasts of private fits, and conclusions from them."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, isfinite
from typing import Any

from hedgerow.learn.learners import LARGEST_DEPTH
from hedgerow.learn.search.cost import SearchShape
from hedgerow.models.decisions import Costs, by_text
from hedgerow.planning.constant import ConstantRisk
from hedgerow.planning.curve import Curve
from hedgerow.planning.expected import CONFIDENCE, Expected, RareClass, round_up
from hedgerow.privacy.facts import Fact
from hedgerow.schema.schema import Schema


@dataclass(frozen=True, kw_only=True)
class ForecastFacts:
    """Facts of a forecast; `Forecast` describes them."""

    schema: Schema
    table_rows: int
    units: int | None
    rows: int
    epsilon: Fraction
    delta: Fraction
    accuracy_loss: float
    costs: Costs | None
    spread: float | None
    draws: tuple[Expected, ...]
    leaf_noise: int | None
    bin_noise: float | None
    rows_in_a_bin: float
    attributes: int
    chosen_first: int | None
    cut_points: tuple[int, float] | None
    rare: RareClass | None
    risks: tuple[ConstantRisk, ...]
    rare_limit: float | None
    curve: Curve | None
    choice: Fact | None

    @property
    def allowed(self) -> float:
        """The accepted loss in rows or costs; of a number, in the unit of `Expected.excess`."""
        return self.accuracy_loss * self.rows * self._largest_cost

    @property
    def largest(self) -> tuple[Expected, ...]:
        """The largest model of each kind that loses at most `accuracy_loss` on average."""
        within = {bound.kind: bound for bound in self.draws if bound.excess(self.epsilon) <= self.allowed}
        return tuple(within.values())

    @property
    def is_depth_limited(self) -> bool:
        """True if a default tree could have more levels, but their exact search is expected to take too long."""
        depths = [bound.size for bound in self.draws if bound.kind == "tree"]
        return bool(depths) and max(depths) < min(LARGEST_DEPTH, SearchShape.of_trees(self.schema).n_options)

    @property
    def leaves_out_cut_points(self) -> bool:
        """True if default trees use every second cut point only, to have more levels."""
        tests = {bound.bound.models.n_options for bound in self.draws if bound.kind == "tree"}
        return bool(tests) and max(tests) < SearchShape.of_trees(self.schema).n_options

    @property
    def is_scorecard_sensible(self) -> bool:
        """True if the noise in a bin of a scorecard is less than the average number of rows of a class in a bin."""
        return self.bin_noise is not None and self.bin_noise < self.rows_in_a_bin

    @property
    def is_hopeless(self) -> bool:
        """True if the noise is too large for the smallest tree, rule list and scorecard."""
        return not self.largest and not self.is_scorecard_sensible

    @property
    def enough_epsilon(self) -> float | None:
        """The smallest ε at which the smallest model loses at most `accuracy_loss`; None if no bound is known."""
        smallest = {bound.kind: bound for bound in reversed(self.draws)}
        return _least_epsilon(tuple(smallest.values()), self.allowed)

    @property
    def is_rare_class_learnable(self) -> bool:
        """True if noise adds fewer errors to the smallest model than the rare class has rows."""
        errors = min((bound.excess(self.epsilon) / bound.bound.scale for bound in self.draws), default=inf)
        return self.rare is not None and errors < self.rare.share * self.rows

    @property
    def _largest_cost(self) -> float:
        return self.draws[0].bound.scale if self.costs is not None and self.draws else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the facts as JSON-ready data."""
        return {
            "rows": self.table_rows,
            "units": self.units,
            "rows_counted": self.rows,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "accuracy_loss": self.accuracy_loss,
            "costs": None if self.costs is None else by_text(self.costs),
            "spread": self.spread,
            "draws": [self._bound_data(bound) for bound in self.draws],
            "leaf_noise": self.leaf_noise,
            "bin_noise": self.bin_noise,
            "rows_in_a_bin": self.rows_in_a_bin,
            "attributes": self.attributes,
            "chosen_first": self.chosen_first,
            "cut_points": None
            if self.cut_points is None
            else {"numbers": self.cut_points[0], "rows_off": self.cut_points[1]},
            "rare": None if self.rare is None else {"class": self.rare.value, "share": self.rare.share},
            "risks": [vars(risk) | {"epsilon": str(risk.epsilon)} for risk in self.risks],
            "rare_limit": self.rare_limit,
            "automatic_choice": None if self.choice is None else self._choice_data(self.choice),
            "curve": None if self.curve is None else self._curve_data(self.curve),
        }

    def _bound_data(self, bound: Expected) -> dict[str, Any]:
        excess = bound.excess(self.epsilon)
        needed = bound.bound.epsilon_for(self.allowed)
        data: dict[str, Any] = {
            "model": bound.kind,
            "size": bound.size,
            "excess": excess,
            "excess_share": excess / self.rows,
            "epsilon_for_accuracy_loss": needed if isfinite(needed) else None,
            "seconds": bound.seconds,
        }
        return data if self.spread is None else data | self.bounds_of_number(bound)

    def _choice_data(self, choice: Fact) -> dict[str, Any]:
        return {key: choice.get(key) for key in ("model", "because", "rows", "rows_needed")}

    def _curve_data(self, curve: Curve) -> dict[str, Any]:
        def thresholds(model: str) -> dict[str, Any]:
            first, settled = curve.beats_constant_from(model), curve.settles_from(model, self.accuracy_loss)
            return {
                "beats_constant_from": None if first is None else str(first),
                "settles_from": None if settled is None else str(settled),
            }

        return curve.to_dict() | {"thresholds": {model: thresholds(model) for model in curve.models}}

    def bounds_of_number(self, bound: Expected) -> dict[str, float]:
        """Return the loss of R², on average and in 95 of 100 draws, and the increase of the mean absolute error."""
        assert bound.absolute is not None
        return {
            "r2_below": bound.excess(self.epsilon) / self.rows,
            "r2_usually_below": bound.excess(self.epsilon, 1 - CONFIDENCE) / self.rows,
            "mae_above": bound.absolute.excess(self.epsilon) / self.rows,
        }


def _least_epsilon(bounds: Sequence[Expected], allowed: float) -> float | None:
    needed = min((bound.bound.epsilon_for(allowed) for bound in bounds), default=inf)
    return round_up(needed) if isfinite(needed) else None


def epsilon_for_two_levels(bounds: Sequence[Expected], allowed: float) -> float | None:
    """Return the smallest ε, to two digits, at which a tree of depth 2 loses at most an allowed loss.

    If the only attribute has a single test, the tree has depth 1; without trees, a rule list of two rules is used.
    None if no ε up to 100 is sufficient.
    """
    models = [bound for bound in bounds if bound.kind == "tree"] or bounds
    size = min(2, max((bound.size for bound in models), default=0))
    return _least_epsilon([bound for bound in models if bound.size == size], allowed)
