"""The gate that every release passes: charge, query, noise; and the only way to open one: `spend` or `spend_share`."""

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
    """The only place where a budget is charged, then a query evaluated on private counts, then noise added."""

    # So a noise source that records its inputs sees every private answer before noise is added.

    budget: Budget  # the budget that is charged
    noise: NoiseSource  # the source that runs the mechanism
    unit: Unit | None = None  # what is protected; None for one row. A mechanism is charged what it costs for a unit.
    steps: int = 1  # of a weight: a row is counted as so many rows at most

    @property
    def rows(self) -> int:
        """The most rows that are counted of a protected unit."""
        return rows_of(self.unit) * self.steps

    @property
    def remaining(self) -> Fraction:
        """The largest ε at which a mechanism without δ can still run: what is left, over the rows of a unit."""
        return self.budget.remaining / self.rows

    def release(
        self,
        mechanism: Mechanism,
        answer: Callable[[], Any],
        *,
        query: Fact | str,
        no_guarantee: Sequence[Fact] = (),
    ) -> Any:
        """Charge what `mechanism` costs a unit, evaluate `answer` on the private counts, and return it with noise.

        The loss is what is charged or less: OpenDP's privacy map, which rounds up, is at most `mechanism.epsilon` at
        the declared sensitivity (`ModelDraw`, `JointQuantiles`, `SharedHistograms` and those in `learn.ssrl` account
        for themselves). A failure after the charge is not refunded. `query` states what is released, and
        `no_guarantee` why the release has no guarantee, if it has none.
        """
        self.budget.check_process()  # a later release of a series charges nothing
        run = self.noise.prepare(mechanism)
        epsilon, delta, rho = loss_of(mechanism, self.rows)
        why = reasons(no_guarantee, self.noise.no_guarantee_reason)
        # Later releases of a series were charged with the first (`GaussianCounts`); why one has no guarantee was not.
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
        with np.errstate(all="ignore"):  # a warning, or an error made of one, would disclose a number
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
    """Return the finished result that `build` makes of releases through a gate, each charged to the budget.

    An error of any class that is raised from the first charge until the result is returned has one note, which states
    the total that stays charged. `build` therefore does all of the work on the released values: it returns the object
    that the caller receives, and issues its warnings. A small chance may underflow to 0 in it, which is no error,
    whatever the caller has set by `np.seterr`.
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
    """Set a planned charge aside, and return the finished result that `build` makes of it; see `spend`.

    The releases are charged to the share, `Gate.budget`, which is allocated from the budget, or made for them if there
    is none.
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
