"""The gate for releases: it charges a budget, evaluates a query and adds noise. `spend` and `spend_share` open it."""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from hedgerow.privacy.budget import Budget, note_charges
from hedgerow.privacy.charge import Charge, reasons
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.noise import Mechanism, NoiseSource
from hedgerow.privacy.unit import Unit, loss_of, rows_of

Result = TypeVar("Result")
_DRAWS = ContextVar[threading.Event | None]("draws", default=None)


@contextmanager
def watched_draws() -> Generator[threading.Event]:
    """Yield an event that is set once a release in this context has begun to draw noise."""
    token = _DRAWS.set(event := threading.Event())
    try:
        yield event
    finally:
        _DRAWS.reset(token)


@dataclass(frozen=True)
class Gate:
    """The only place that charges a budget, evaluates a query on private counts, and adds noise, in this order."""

    # A noise source that records its inputs therefore sees every private answer before noise is added.

    budget: Budget  # the budget that is charged
    noise: NoiseSource  # the source that runs the mechanism
    unit: Unit | None = None  # the unit of privacy; None for one row
    steps: int = 1  # the largest weight of a row in steps: a row counts as at most `steps` rows

    @property
    def rows(self) -> int:
        """The largest number of rows that a unit of privacy counts as."""
        return rows_of(self.unit) * self.steps

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which a mechanism without δ can still run: the budget left divided by the rows of a unit."""
        return self.budget.remaining / self.rows

    def release(
        self,
        mechanism: Mechanism,
        answer: Callable[[], Any],
        *,
        query: Fact | str,
        no_guarantee: Sequence[Fact] = (),
    ) -> Any:
        """Charge the loss of `mechanism` for a unit, evaluate `answer` on the private counts, and return it with noise.

        The loss is at most the charge, because OpenDP's privacy map, which rounds up, is at most `mechanism.epsilon` at
        the declared sensitivity. (`ModelDraw`, `JointQuantiles`, `SharedHistograms` and the mechanisms in `learn.ssrl`
        have their own proofs.) A failure after the charge is not refunded. `query` describes the release, and
        `no_guarantee` gives the reasons why it has no guarantee, if it has none.
        """
        self.budget.check_process()  # checked here, too, since later releases of a series charge nothing
        run = self.noise.prepare(mechanism)
        epsilon, delta, rho = loss_of(mechanism, self.rows)
        why = reasons(no_guarantee, self.noise.no_guarantee_reason)
        # The first release of a series was charged for all of them (`GaussianCounts`), without the reasons of this one.
        if epsilon or delta or why:
            self.budget.charge(
                epsilon,
                delta,
                rho=rho,
                purpose=query,
                mechanism=mechanism.record,
                no_guarantee=why,
                unit=self.unit,
            )
        with np.errstate(all="ignore"):  # a warning, or an error raised in its place, would disclose a number
            counts = answer()
            if (event := _DRAWS.get()) is not None:
                event.set()
            return run(counts)


def spend(
    budget: Budget,
    noise: NoiseSource,
    build: Callable[[Gate], Result],
    *,
    unit: Unit | None = None,
    steps: int = 1,
) -> Result:
    """Return the result that `build` makes of releases through a gate, each charged to the budget.

    Any error from the first charge until the result is returned has a note with the total that stays charged. `build`
    therefore does all work on the released values: it returns the object for the caller, and issues its warnings. Small
    probabilities may underflow to 0 in `build` without an error, regardless of the caller's `np.seterr`.
    """
    before = budget.spent_here
    try:
        with np.errstate(under="ignore"):
            return build(Gate(budget, noise, unit, steps))
    except BaseException as error:
        note_charges(error, budget, before)
        raise


def spend_share(
    budget: Budget | None,
    planned: Charge,
    noise: NoiseSource,
    build: Callable[[Gate], Result],
    *,
    steps: int = 1,
) -> Result:
    """Allocate a planned charge, and return the result that `build` makes of its releases; see `spend`.

    The releases are charged to `Gate.budget`. It is allocated from `budget` or, without a budget, newly created.
    """
    charged = Budget(planned.epsilon, planned.delta) if budget is None else budget
    before = charged.spent_here
    try:
        share = charged if budget is None else _allocated(budget, planned)
        with np.errstate(under="ignore"):
            return build(Gate(share, noise, planned.unit, steps))
    except BaseException as error:
        note_charges(error, charged, before)
        raise


def _allocated(budget: Budget, planned: Charge) -> Budget:
    return budget.allocate(
        planned.epsilon,
        planned.delta,
        rho=planned.rho,
        purpose=planned.query,
        no_guarantee=planned.no_guarantee,
        unit=planned.unit,
    )
