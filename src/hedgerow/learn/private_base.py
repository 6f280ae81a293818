"""Base class of private specifications: a fit from the plan, through the charge, to the card."""

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
from hedgerow.privacy.amounts import Amount, amount_text, exact
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

USUAL_ROWS = 10**6  # a table of as many rows is large among those that need privacy
_MOST_NAMED = 3  # numbers of a note
_WORTH_ONE_THREAD = 0.1  # seconds of a search: where cores are busy, threads that wait take ten times as long


def noise_warning(epsilon: Fraction, unit: Unit | None = None) -> str | None:
    """Return what to know before a fit whose noise is more than any usual table; None where it need not be.

    Group privacy: with n rows, no event is more than exp(n·ε) times as probable as without any row; with a unit, than
    exp(n·ε/k), of n rows that count.
    """
    if epsilon * USUAL_ROWS >= rows_of(unit):
        return None
    return (
        f"epsilon = {amount_text(epsilon)} is so small that even {USUAL_ROWS:,} rows hardly change the model; choose a "
        "larger one (`hedgerow.plan` forecasts which)."
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class PrivateSpecification(Specification):
    """A learner that spends a privacy budget; subclasses define the plan."""

    epsilon: Amount | None = field(default=None, kw_only=False)
    budget: Budget | None = None
    random_state: NoiseSource | RandomState = None
    verbose = False  # a parameter of searches alone

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is None:
            raise ArgumentError("epsilon must be chosen: the privacy loss to spend on this model, such as epsilon=1.0.")
        if self.exact_epsilon == 0:
            raise ArgumentError("epsilon must be a number > 0, got 0.")
        if not (self.budget is None or isinstance(self.budget, Budget)):
            raise ArgumentError(f"budget must be a Budget or None, got {type(self.budget).__name__}.")

    @property
    def exact_epsilon(self) -> Fraction:
        """The privacy loss of the model, for a unit of privacy."""
        return exact(self.epsilon or 0, "epsilon")

    @property
    def adds_up_rho(self) -> bool:
        """Whether a shared budget adds up ρ, for which choices are made by other noise."""
        return self.budget is not None and self.budget.remaining_rho is not None

    def epsilon_of_a_row(self, schema: Schema) -> Fraction:
        """Return the ε at which mechanisms run: a unit of k rows is charged k times as much."""
        return self.exact_epsilon / (rows_of(schema.unit) * schema.steps)

    def noise(self) -> NoiseSource:
        """Return the source of noise: secure, if nobody gave another."""
        seed = self.random_state
        if isinstance(seed, (int, np.integer)) and 0 <= seed < 2**32:  # as scikit-learn's estimators seed theirs
            return noise_source(np.random.RandomState(int(seed)))
        return noise_source(seed)

    def plan(self, schema: Schema) -> Plan:
        """Return the plan; a search that is too large is refused here, before any row is read."""
        raise NotImplementedError

    def check_budget(self, schema: Schema) -> None:
        """Raise BudgetExceededError if a fit with this schema does not fit the shared budget now; charge nothing."""
        if self.budget is not None:
            epsilon, delta, rho = _loss(self.plan(schema), schema)
            self.budget.check(epsilon, delta, rho=rho, unit=schema.unit)

    def max_rows(self, schema: Schema) -> int | None:
        """Return the public row limit of the search of a fit, or None. A fit takes fewer rows than this."""
        return self.plan(schema).max_rows

    def planned_charge(self, schema: Schema) -> Charge:
        """Return what a fit with this schema charges, which does not depend on the rows; nothing is charged yet.

        Raises ValueError if a parameter is out of range, a search is too large, epsilon is below the supported minimum,
        or the schema's charges are of another unit of privacy.
        """
        plan, noise = self.plan(schema), self.noise()
        plan.prepare(noise)
        return self._charge(plan, schema, noise)

    def _charge(self, plan: Plan, schema: Schema, noise: NoiseSource) -> Charge:
        """Return what a fit charges; ValueError if the card could not add it up with what the schema cost."""
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
            problem = "the budget adds up rho, for which this mechanism has no proof"
            raise ArgumentError(f"{problem}; use Budget(epsilon, delta) with accounting='basic'.")
        count = rows.within(plan.max_rows)

        def released(gate: Gate) -> T:
            with search_progress(plan.cost, verbose=bool(self.verbose)) as progress:
                build = plan.learn(count(), gate, progress)
            return publish(self.built(build, schema, _card(plan, schema, gate.budget, noise)))

        return spend_share(self.budget, charge, noise, released, steps=schema.steps)


def model_caveats(model: Model, learner: object) -> tuple[Caveat, ...]:
    """Return why a model as a whole is of little use, unless the learner's size asked for a model without a choice."""
    asked = any(getattr(learner, name, None) == size for name, size in model.sizes.items())
    is_one = len(model.paths) == 1 and asked
    return tuple(caveat for caveat in model.caveats if caveat.is_useless and not is_one)


def _card(plan: Plan, schema: Schema, share: Budget, noise: NoiseSource) -> PrivacyCard:
    """Make the card: all that was charged, so that its amounts do not depend on the releases."""
    epsilon, delta = _loss(plan, schema)[0] - share.spent, share.remaining_delta
    # A δ alone pays for no release; the ρ of releases that other answers would have led to is the reserve.
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
    """Return by how much ρ a fit could have cost more than these charges, had its answers led it to other releases."""
    epsilon, delta, rho = loss
    most, spent = Charge(Fact("planned"), epsilon, delta, rho=rho).zcdp, total_rho(charges)
    if most is None or spent is None or spent >= most:
        return None
    return Reserve(Fact("other_answers"), Fraction(0), rho=most - spent, unit=unit_of(charges))


def _loss(plan: Plan, schema: Schema) -> Loss:
    """Return what a model costs for a unit of privacy: a plan without δ is made for one row."""
    rows = rows_of(schema.unit) * schema.steps
    epsilon, delta, rho = group_loss(plan.epsilon, plan.delta, plan.rho, rows)
    # Releases are rounded up one by one, at the ε of a unit.
    return epsilon, delta, rho if rho is None or plan.delta or rows == 1 else rho * (1 + Fraction(1, 2**40))


def unit_notes(unit: Unit | None) -> tuple[Fact, ...]:
    """Return notes of a card about what the guarantee to a unit leaves out."""
    whose = [Fact("row_is_unit")]
    if unit is not None:
        whose = [Fact("rows_used", rows=unit.max_rows), Fact("unit_is_person", column=unit.column)]
    return Fact("columns_public"), *whose, Fact("not_noised")


def _weight_notes(weight: Weight | None) -> tuple[Fact, ...]:
    if weight is None:
        return ()
    used = Fact("weighted", column=weight.name, largest=weight.high, levels=weight.levels)
    return used, Fact("own_weights")


def _grid_notes(schema: Schema) -> tuple[Fact, ...]:
    """Return a note that names the numbers whose cut points nobody chose; none if there are none."""
    names = [name for name, number in schema.numbers.items() if number.has_default_cuts]
    more = len(names) - _MOST_NAMED if len(names) > _MOST_NAMED else None
    return (Fact("default_grid", attributes=names[:_MOST_NAMED], more=more),) if names else ()


def _no_guarantee(plan: Plan, schema: Schema, noise: NoiseSource) -> tuple[Fact, ...]:
    """Return why a model has no guarantee: the same reasons on its card and in the budget's record."""
    of_bins = (charge.no_guarantee for charge in schema.charges)
    return reasons(plan.no_guarantee, schema.no_guarantee, *of_bins, noise.no_guarantee_reason)


@contextmanager
def search_progress(cost: Cost | None, *, verbose: bool) -> Generator[Progress]:
    """Show on stderr the cost of an exact search, if asked, then its progress: of a long one on any terminal."""
    is_long = cost is not None and cost.is_noticeable
    heading = f"exact search: {cost}" if verbose and cost is not None else ""
    shown = bool(heading) or (is_long and is_alone_on_terminal())
    total = None if cost is None else cost.states
    limited = one_thread() if cost is not None and cost.seconds() >= _WORTH_ONE_THREAD else nullcontext()
    with limited, progress_bar("searching", total, verbose=shown, heading=heading) as update:
        yield lambda done: update(advance=done)
