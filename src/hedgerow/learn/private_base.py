"""Base class of private specifications: plan, charge, fit and privacy card."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from hedgerow.boundary.arguments import RandomState
from hedgerow.errors import ArgumentError
from hedgerow.learn.base import Publish, Specification, T, TrainingRows
from hedgerow.learn.inputs import TrainingData
from hedgerow.learn.plans import Plan
from hedgerow.learn.search.cost import Cost
from hedgerow.learn.search.sampler import Progress, one_thread
from hedgerow.models.caveats import Caveat
from hedgerow.models.model import Model
from hedgerow.privacy.amounts import Amount, amount_text, exact, guarantee_warning, positive
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.card import SOFTWARE, PrivacyCard, noise_fact
from hedgerow.privacy.charge import Charge, Reserve, check_total, reasons, total_rho, unit_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate, spend_share
from hedgerow.privacy.noise import NoiseSource, noise_source
from hedgerow.privacy.unit import Loss, Unit, group_loss, rows_of
from hedgerow.schema.schema import Schema
from hedgerow.schema.weights import Weight
from hedgerow.text.progress import is_alone_on_terminal, progress_bar

USUAL_ROWS = 10**6  # few sensitive tables have more rows
_MAX_NAMED = 3  # attributes in a note
_WORTH_ONE_THREAD = 0.1  # seconds of a search: on busy cores, waiting threads make it ten times slower


def noise_warning(epsilon: Fraction, unit: Unit | None = None) -> str | None:
    """Return a warning if epsilon is too small for a table of usual size, else None."""
    # Group privacy: with n rows, no event is more than exp(n·ε) times as probable as without any row; with a unit of
    # k rows, than exp(n·ε/k).
    if epsilon * USUAL_ROWS >= rows_of(unit):
        return None
    return (
        f"epsilon = {amount_text(epsilon)} is so small that even {USUAL_ROWS:,} rows hardly change the model. Use a "
        "larger epsilon; `hedgerow.plan` suggests a value."
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateSpecification(Specification):
    """Parameters of a learner that spends a privacy budget; subclasses define the plan."""

    epsilon: Amount | None = field(default=None, kw_only=False)
    budget: Budget | None = None
    random_state: NoiseSource | RandomState = None
    verbose = False  # a parameter of searches alone

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None:
            raise ArgumentError("epsilon, the privacy budget of the model, has no default; set it, e.g. epsilon=1.0.")
        positive(self.epsilon, "epsilon")
        if not (self.budget is None or isinstance(self.budget, Budget)):
            raise ArgumentError(f"budget must be a Budget or None, got {type(self.budget).__name__}.")

    @property
    def exact_epsilon(self) -> Fraction:
        """The ε of the model for a unit of privacy."""
        return exact(self.epsilon or 0, "epsilon")

    @property
    def guarantee_warning(self) -> str | None:
        """A warning if ε or δ is so large that the guarantee protects little; None for noise without a guarantee."""
        if self.noise().no_guarantee_reason:
            return None
        return guarantee_warning(self.exact_epsilon, exact(getattr(self, "delta", None) or 0, "delta"))

    @property
    def adds_up_rho(self) -> bool:
        """Whether a shared budget accounts in ρ, for which choices use another mechanism."""
        return self.budget is not None and self.budget.remaining_rho is not None

    def epsilon_of_a_row(self, schema: Schema) -> Fraction:
        """Return the ε at which mechanisms run; a unit of k rows is charged k times this amount."""
        return self.exact_epsilon / (rows_of(schema.unit) * schema.steps)

    def noise(self) -> NoiseSource:
        """Return the source of noise, by default the secure source."""
        seed = self.random_state
        if isinstance(seed, (int, np.integer)) and 0 <= seed < 2**32:  # as in scikit-learn's estimators
            return noise_source(np.random.RandomState(int(seed)))
        return noise_source(seed)

    def plan(self, schema: Schema) -> Plan:
        """Return the plan; raise SearchTooLargeError for a search that is too large, before any row is read."""
        raise NotImplementedError

    def check_budget(self, schema: Schema) -> None:
        """Check that the shared budget has enough left for a fit with this schema. Nothing is charged.

        Raises
        ------
        BudgetExceededError
            If too little is left.
        """
        if self.budget is not None:
            epsilon, delta, rho = _loss(self.plan(schema), schema)
            self.budget.check(epsilon, delta, rho=rho, unit=schema.unit)

    def max_rows(self, schema: Schema) -> int | None:
        """Return the public row limit of a fit, or None. A fit takes fewer rows than this."""
        return self.plan(schema).max_rows

    def planned_charge(self, schema: Schema) -> Charge:
        """Return the charge of a fit with this schema. It does not depend on the rows, and nothing is charged yet.

        Parameters
        ----------
        schema : Schema
            The schema of the table.

        Returns
        -------
        Charge
            The privacy loss that a fit charges.

        Raises
        ------
        ValueError
            If a parameter is out of range, the search is too large, epsilon is below the supported minimum, or the
            schema's own charges have another unit of privacy.
        """
        plan, noise = self.plan(schema), self.noise()
        plan.prepare(noise)
        return self._charge(plan, schema, noise)

    def _charge(self, plan: Plan, schema: Schema, noise: NoiseSource) -> Charge:
        """Return the charge of a fit; raise ValueError if a card cannot add it to the charges of the schema."""
        epsilon, delta, rho = _loss(plan, schema)
        query, why = Fact("model", learner=self.estimator, model=plan.model), _no_guarantee(plan, schema, noise)
        charge = Charge(query, epsilon, delta, no_guarantee=why, rho=rho, unit=schema.unit)
        check_total((*schema.charges, charge))
        return charge

    def rows(self, data: TrainingData) -> TrainingRows:
        return replace(super().rows(data), count=lambda: data.count(self.random_state))

    def learn(self, schema: Schema, rows: TrainingRows, publish: Publish[T]) -> T:
        plan, noise = self.plan(schema), self.noise()
        plan.prepare(noise)
        charge = self._charge(plan, schema, noise)
        if self.budget is not None and charge.delta and charge.rho is None and self.budget.remaining_rho is not None:
            problem = "this mechanism has no zCDP proof, and the budget accounts in rho"
            raise ArgumentError(f"{problem}; use Budget(epsilon, delta) with accounting='basic'.")
        count = rows.within(plan.max_rows)

        def released(gate: Gate) -> T:
            with search_progress(plan.cost, verbose=bool(self.verbose)) as progress:
                build = plan.learn(count(), gate, progress)
            return publish(self.built(build, schema, _card(plan, schema, gate.budget, noise)))

        return spend_share(self.budget, charge, noise, released, steps=schema.steps)


def model_caveats(model: Model, learner: object) -> tuple[Caveat, ...]:
    """Return why a model is of little use; nothing if the learner's parameters asked for a constant model."""
    has_requested_size = any(getattr(learner, name, None) == size for name, size in model.sizes.items())
    is_requested = len(model.paths) == 1 and has_requested_size
    return tuple(caveat for caveat in model.caveats if caveat.is_useless and not is_requested)


def _card(plan: Plan, schema: Schema, share: Budget, noise: NoiseSource) -> PrivacyCard:
    """Return the card, with the unused part of the charge: its total does not depend on the releases."""
    epsilon, delta = _loss(plan, schema)[0] - share.spent, share.remaining_delta
    # No release is paid for by δ alone. The ρ of steps that were not taken is the reserve.
    rho = Fraction(0) if share.remaining_rho is None and not epsilon and plan.rho is not None else share.remaining_rho
    unused = Charge(Fact("unused"), epsilon, delta, rho=rho, unit=schema.unit)
    charges = (*share.charges, *([unused] if unused.epsilon or unused.delta else []))
    return PrivacyCard(
        (*schema.charges, *charges),
        noise=noise_fact(noise.description, charges),
        software=SOFTWARE,
        no_guarantee=_no_guarantee(plan, schema, noise),
        notes=(*unit_notes(schema.unit), *_weight_notes(schema.weight), *_grid_notes(schema), *plan.notes),
        reserve=None if plan.is_fixed or noise.no_guarantee_reason else _reserve(_loss(plan, schema), charges),
    )


def _reserve(loss: Loss, charges: Sequence[Charge]) -> Reserve | None:
    """Return the ρ that a fit could have spent in addition, if noisy answers had led to other releases."""
    epsilon, delta, rho = loss
    planned, spent = Charge(Fact("planned"), epsilon, delta, rho=rho).zcdp, total_rho(charges)
    if planned is None or spent is None or spent >= planned:
        return None
    return Reserve(Fact("other_answers"), Fraction(0), rho=planned - spent, unit=unit_of(charges))


def _loss(plan: Plan, schema: Schema) -> Loss:
    """Return the loss of a unit of privacy; plans without δ state the loss of one row."""
    rows = rows_of(schema.unit) * schema.steps
    epsilon, delta, rho = group_loss(plan.epsilon, plan.delta, plan.rho, rows)
    # The ρ of each release is rounded up separately, at the ε of a unit.
    return epsilon, delta, rho if rho is None or plan.delta or rows == 1 else rho * (1 + Fraction(1, 2**40))


def unit_notes(unit: Unit | None) -> tuple[Fact, ...]:
    """Return the notes of a card on the limits of the guarantee."""
    unit_facts = [Fact("row_is_unit")]
    if unit is not None:
        unit_facts = [Fact("rows_used", rows=unit.max_rows), Fact("unit_is_person", column=unit.column)]
    return Fact("columns_public"), *unit_facts, Fact("not_noised")


def _weight_notes(weight: Weight | None) -> tuple[Fact, ...]:
    if weight is None:
        return ()
    weighted = Fact("weighted", column=weight.name, largest=weight.high, levels=weight.levels)
    return weighted, Fact("own_weights")


def _grid_notes(schema: Schema) -> tuple[Fact, ...]:
    """Return a note on the numeric attributes with default cut points, if there are any."""
    names = [name for name, number in schema.numbers.items() if number.has_default_cuts]
    more = len(names) - _MAX_NAMED if len(names) > _MAX_NAMED else None
    return (Fact("default_grid", attributes=names[:_MAX_NAMED], more=more),) if names else ()


def _no_guarantee(plan: Plan, schema: Schema, noise: NoiseSource) -> tuple[Fact, ...]:
    """Return why a model has no guarantee; its card and the budget's record state the same reasons."""
    reasons_of_bins = (charge.no_guarantee for charge in schema.charges)
    return reasons(plan.no_guarantee, schema.no_guarantee, *reasons_of_bins, noise.no_guarantee_reason)


@contextmanager
def search_progress(cost: Cost | None, *, verbose: bool) -> Generator[Progress]:
    """Show the cost and progress of an exact search on stderr, if it is verbose; on a terminal also if it is long."""
    is_long = cost is not None and cost.is_noticeable
    heading = f"exact search: {cost}" if verbose and cost is not None else ""
    shown = bool(heading) or (is_long and is_alone_on_terminal())
    total = None if cost is None else cost.states
    limited = one_thread() if cost is not None and cost.seconds() >= _WORTH_ONE_THREAD else nullcontext()
    with limited, progress_bar("searching", total, verbose=shown, heading=heading) as update:
        yield lambda done: update(advance=done)
