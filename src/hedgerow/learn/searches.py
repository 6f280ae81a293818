"""The search of a private fit, joint, in blocks or greedy. The choice depends on public numbers only."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from hedgerow.boundary.arguments import check_choice, check_flag, check_integer, check_probability
from hedgerow.boundary.arrays import Mask
from hedgerow.errors import ArgumentError
from hedgerow.learn.blocks import CostOf, DrawPlan, DrawProbabilities, equal_blocks
from hedgerow.learn.chosen_attributes import MOST_CHOSEN, WIDE, ChosenAttributesPlan, ends, with_options
from hedgerow.learn.inputs import check_learnable
from hedgerow.learn.learned import COUNTS_FOR_SHARES, LEAF_COUNTS, LEAST_FOR_SHARES, MOST_FOR_SHARES, LeafNumbers
from hedgerow.learn.objectives import RowLoss
from hedgerow.learn.plans import GreedyPlan, Plan
from hedgerow.learn.private_base import PrivateSpecification, search_progress
from hedgerow.learn.search.cost import Cost, largest_size
from hedgerow.learn.search.losses import Loss
from hedgerow.models.decisions import CostTable
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gini import Gini
from hedgerow.privacy.noise import GumbelChoice, PermuteAndFlip, TwoSidedGumbelChoice, TwoSidedPermuteAndFlip
from hedgerow.privacy.stop_prior import STOP_PROBABILITY, StopRule
from hedgerow.schema.schema import Schema
from hedgerow.tally import Tally

_MOST_JOINTLY = 12


@dataclass(frozen=True)
class SearchPlan:
    """The search of a private fit."""

    blocks: tuple[int, ...] = ()  # the number of rules or levels of each exact draw; empty if the search is greedy
    draws_size: bool = False  # whether the size is drawn too
    cost: Cost | None = None  # of an exact search

    def note(self, parts: str) -> Fact:
        """Return the note of a privacy card on a search that was chosen by its cost."""
        if not self.blocks:
            return Fact("greedy_search")
        if len(self.blocks) == 1:
            return Fact("exact_search", size=self.blocks[0], parts=parts, draws_size=self.draws_size or None)
        return Fact("exact_search", size=sum(self.blocks), parts=parts, jointly=self.blocks[0])


def choose_search(
    search: str,
    size: int | None,
    lookahead: int | None,
    largest: int,
    cost_of: CostOf,
    parts: str,
    advice: str,
    *,
    draws_size: bool,  # whether an unspecified size is drawn; otherwise it is the largest that is quick to search
) -> SearchPlan:
    if search == "greedy":
        return SearchPlan()
    if size is None:
        size = largest_size(lambda most: cost_of((most,), draws_size), largest)
        if largest and not size:
            if search == "auto":
                return SearchPlan()
            cost_of((1,), draws_size).check(advice)
            size = 1
        return SearchPlan((size,), draws_size, cost_of((size,), draws_size))
    if search == "auto" and lookahead is None:
        for jointly in range(min(max(size, 1), _MOST_JOINTLY), 0, -1):
            blocks = equal_blocks(size, jointly)
            cost = cost_of(blocks, False)
            if cost.is_quick:
                return SearchPlan(blocks, cost=cost)
        return SearchPlan()
    blocks = equal_blocks(size, lookahead)
    cost = cost_of(blocks, False)
    if not cost.is_sensible:
        smaller = range(min(blocks[0] - 1, _MOST_JOINTLY), 0, -1)
        fewer = next((n for n in smaller if cost_of(equal_blocks(size, n), False).is_sensible), None)
        cost.check(f"Draw fewer {parts} at a time (lookahead={fewer}). {advice}" if fewer else advice)
    return SearchPlan(blocks, cost=cost)


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchSpecification(PrivateSpecification):
    """Parameters of a private learner that draws its model from all models, or grows it greedily."""

    search: Literal["auto", "exact", "greedy"] = "auto"
    lookahead: int | None = None
    release_counts: bool | Literal["auto"] = False
    stop_probability: float | Literal["auto"] = STOP_PROBABILITY
    verbose: bool = False
    model: ClassVar[str]  # the kind of model: "rule list" or "tree"
    parts: ClassVar[str]  # the unit of a size: "rules" or "levels"
    size_name: ClassVar[str]  # the parameter that limits the size
    too_large: ClassVar[str]  # what to change if an exact search is too large

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("search", self.search, ("auto", "exact", "greedy"))
        if self.release_counts != "auto" or self.predicts_number:
            expected = "True or False" if self.predicts_number else "True, False or 'auto'"
            check_flag("release_counts", self.release_counts, expected)
        self._check_stop_probability()
        loss = self.loss  # checks its own parameters
        if self.lookahead is not None:
            check_integer("lookahead", self.lookahead, 1)
        if self.search == "greedy":
            self._check_greedy("with search='greedy'", loss)
        if self.lookahead is not None and self.requested_size is None:
            problem = f"lookahead needs {self.size_name} to be a whole number, got None"
            raise ArgumentError(f"{problem}; set it, or remove lookahead.")

    def costs_by_class(self, schema: Schema) -> CostTable | None:
        return self.loss.costs_by_class(schema)

    # Subclasses define these.

    @property
    def loss(self) -> RowLoss:
        """The loss of a row."""
        raise NotImplementedError

    @property
    def requested_size(self) -> int | None:
        """The size parameter."""
        raise NotImplementedError

    def size(self, schema: Schema) -> int:
        """Return the maximum number of levels, or of rules without the default rule."""
        raise NotImplementedError

    def exact_costs(self, schema: Schema) -> tuple[CostOf, int]:
        """Return the cost function of an exact search, and the largest size that is drawn."""
        raise NotImplementedError

    def exact_plan(self, schema: Schema, common: dict[str, Any]) -> DrawPlan:
        raise NotImplementedError

    def greedy_plan(self, schema: Schema, common: dict[str, Any]) -> GreedyPlan:
        raise NotImplementedError

    # All kinds of models share these.

    def search_cost(self, schema: Schema) -> Cost | None:
        """Return the computational cost of the exact search of a fit with this schema, or None for a greedy search.

        The cost does not depend on the rows. If a fit chooses attributes first, the cost is an estimate for the slowest
        of several numbers of attributes, with a table of 10,000 distinct rows.

        Parameters
        ----------
        schema : Schema
            The schema of the table.

        Returns
        -------
        Cost or None
            The cost, or None if the search is greedy and therefore quick.

        Raises
        ------
        SearchTooLargeError
            If the search exceeds the limits; the message suggests what to change.
        ValueError
            If a parameter is out of range.
        """
        check_learnable(self, schema)
        return self._cost(schema)

    def _cost(self, schema: Schema) -> Cost | None:
        """Return the largest cost, of all attributes or of some that may be chosen first."""
        schemas = [schema, *(ends(schema) if self._chooses(schema) else ())]
        costs = [cost for part in schemas if (cost := self.search_plan(part).cost) is not None]
        return max(costs, key=Cost.seconds, default=None)

    def released(self, schema: Schema) -> LeafNumbers | None:
        """Return the numbers to release of the leaves of a drawn model, or None."""
        if not isinstance(self.release_counts, str):
            return self.loss.released(counts=bool(self.release_counts))
        if schema.weight is not None or schema.target.n_levels > MOST_FOR_SHARES:
            return None
        is_enough = self.epsilon_of_a_row(schema) >= LEAST_FOR_SHARES
        return COUNTS_FOR_SHARES if self.loss.is_default and is_enough else None

    def search_plan(self, schema: Schema) -> SearchPlan:
        """Return the search of a fit with this schema."""
        size = None if self.requested_size is None else self.size(schema)
        lookahead = None if self.lookahead is None else int(self.lookahead)
        cost_of, largest = self.exact_costs(schema)
        arguments = self.search, size, lookahead, largest, cost_of, self.parts, self.too_large
        return choose_search(*arguments, draws_size=not self._stops_by_depth)

    @property
    def _stops_by_depth(self) -> bool:
        """Whether the prior probability of stopping depends on the depth; the size is then not drawn."""
        return isinstance(self.stop_probability, str)

    @property
    def stop_rule(self) -> StopRule:
        """The rule that sets the prior of a draw, given its ε."""
        if isinstance(self.stop_probability, str):
            return self.loss.stop_rule
        return StopRule.constant(float(self.stop_probability))

    def _chooses(self, schema: Schema) -> bool:
        """Return whether attributes are chosen first, because they are too many for a full joint search."""
        if self.search != "auto" or self.lookahead is not None or len(with_options(schema)) < WIDE:
            return False
        plan, (_, largest) = self.search_plan(schema), self.exact_costs(schema)
        return len(plan.blocks) != 1 or (self.requested_size is None and plan.blocks[0] < largest)

    def plan(self, schema: Schema) -> Plan:
        epsilon = self.epsilon_of_a_row(schema)
        if not self._chooses(schema):
            return self._plan_of(schema, epsilon)
        note = Fact("attributes_chosen", attributes=len(schema), most=MOST_CHOSEN)
        return ChosenAttributesPlan(
            epsilon=epsilon,
            notes=(note,),
            cost=self._cost(schema),
            schema=schema,
            learner=self._plan_of,
            size=self.exact_costs(schema)[1] if self.requested_size is None else self.size(schema),
            choice=TwoSidedGumbelChoice if self.adds_up_rho else TwoSidedPermuteAndFlip,
            model=self.model,
        )

    def _plan_of(self, schema: Schema, epsilon: Fraction) -> Plan:
        chosen, loss, table = self.search_plan(schema), self.loss, self.loss.table(schema)
        notes = (chosen.note(self.parts),) if self.search == "auto" and self.lookahead is None else ()
        common: dict[str, Any] = {"epsilon": epsilon, "notes": notes, "target": schema.target}
        released = self.released(schema)
        common |= {"leaf_numbers": released, "predicts_means": loss.predicts_means}
        if chosen.cost is not None:
            for_leaves = Fraction(0) if released is None else epsilon * released.share
            prior = self.stop_rule.prior((epsilon - for_leaves) / len(chosen.blocks))
            draw = {"prior": prior, "objective": table, "blocks": chosen.blocks, "draws_size": chosen.draws_size}
            return self.exact_plan(schema, common | draw | {"cost": chosen.cost})
        self._check_greedy("if every exact search takes more than eight seconds", loss)
        greedy = LEAF_COUNTS if schema.target.as_number is None else released or LEAF_COUNTS
        common |= {"leaf_numbers": greedy, "most": self.size(schema)}
        score: Any = Gini() if loss.is_default else Loss.of(table, schema.target.n_levels)
        by_counts = loss.is_default or loss.predicts_means  # leaves predict their majority class, or their mean
        choice = GumbelChoice if self.adds_up_rho else PermuteAndFlip
        return self.greedy_plan(
            schema, common | {"score": score, "loss": None if by_counts else score, "choice": choice}
        )

    def _check_stop_probability(self) -> None:
        check_probability("stop_probability", self.stop_probability)

    def _check_greedy(self, when: str, loss: RowLoss) -> None:
        if self.lookahead is not None:
            problem = f"lookahead must be None {when}, got {self.lookahead!r}"
            raise ArgumentError(f"{problem}; use search='exact' to draw blocks jointly.")
        if self.search == "greedy" and self.release_counts not in ("auto", False) and not loss.predicts_means:
            raise ArgumentError(f"release_counts must be False {when}, got True: counts are always released.")
        default = type(self).stop_probability
        if self.stop_probability != default:
            problem = f"stop_probability must be {default!r} {when}, got {self.stop_probability!r}"
            raise ArgumentError(f"{problem}: only exact searches have a prior.")


def draw_probabilities(
    specification: SearchSpecification, tally: Tally, given: Mapping[int, Mask] | None = None
) -> DrawProbabilities:
    """Return the exact probabilities of the draw of a fit. **Private**: nothing is charged and no noise is added.

    For audits by the data holder. `given` restricts the values of some patterns' leaves; probabilities are then
    conditional on them.
    """
    specification.check_public()
    plan = specification.plan(tally.schema)
    if not isinstance(plan, DrawPlan):
        problem = "exact probabilities need a draw of the whole model, and this search is greedy or chooses attributes"
        raise ArgumentError(f"{problem}; use search='exact'.")
    with search_progress(plan.cost, verbose=bool(specification.verbose)) as progress:
        return plan.probabilities(tally, progress, given or {})
