"""The gate that every release passes: charge, query, noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import join_reasons
from hedgerow.privacy.noise import Mechanism, NoiseSource


@dataclass(frozen=True)
class Gate:
    """The only place where a budget is charged, then a query evaluated on private counts, then noise added.

    Every mechanism call of every learner goes through `release`. A noise source that records its inputs therefore sees
    every private answer before noise is added.

    Attributes
    ----------
    budget : Budget
        The budget that is charged.
    noise : NoiseSource
        The source that runs the mechanism.
    """

    budget: Budget
    noise: NoiseSource

    def release(self, mechanism: Mechanism, query: Callable[[], Any], *, purpose: str, void: str | None = None) -> Any:
        """Charge what `mechanism` costs, evaluate `query` on the private counts, and return the noised answer.

        The loss is exactly what is charged or less: OpenDP's privacy map, which rounds up, is at most
        `mechanism.epsilon` at the declared sensitivity (for `ModelDraw`, `JointQuantiles` and those in `privacy.ssrl`,
        see there).
        A failure after the charge is not refunded. `void` says why the release has no guarantee, if it has none; the
        charge carries it, and the reason of a noise source that voids every guarantee.

        Raises
        ------
        BudgetExceededError
            If the budget has too little left; nothing is charged and no row is touched.
        ValueError
            If the mechanism cannot be built; nothing is charged and no row is touched.
        """
        run = self.noise.prepare(mechanism)
        reasons = join_reasons(void, self.noise.void)
        # Later releases of a series were charged with the first (`GaussianCounts`); why one has no guarantee was not.
        if mechanism.epsilon or mechanism.delta or reasons:
            self.budget.charge(
                mechanism.epsilon,
                mechanism.delta,
                rho=mechanism.rho,
                purpose=purpose,
                mechanism=str(mechanism),
                void=reasons,
            )
        with np.errstate(all="ignore"):  # a warning, or an error made of one, would disclose a number
            return run(query())
