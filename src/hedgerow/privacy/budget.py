"""The budget: the only door between private counts and what is released."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Mapping
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, NoReturn, Self

from hedgerow.errors import BudgetExceededError, NotPicklableError
from hedgerow.privacy.card import Charge

_LARGEST = Fraction(sys.float_info.max)


def exact(value: object, name: str) -> Fraction:
    """Return `value` as the exact fraction it is; a float is converted by its exact binary value.

    Raises
    ------
    ValueError
        If `value` is not a finite, non-negative number.
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r} of type {type(value).__name__}.")
    if not isinstance(value, Rational) and not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    if isinstance(value, Rational):
        fraction = Fraction(int(value.numerator), int(value.denominator))
    else:
        fraction = Fraction(float(value))
    if fraction < 0 or fraction > _LARGEST:
        raise ValueError(f"{name} must be a finite number >= 0, got {value!r}.")
    return fraction


class Budget:
    """A cap on the privacy loss of all that is released under it, and the record of what was charged.

    Neighbouring tables differ by adding or removing one row. Charges compose by addition (basic composition
    of (ε, δ)-differential privacy, adaptively chosen). A budget has identity: copying it gives the same budget, so that
    scikit-learn's `clone` cannot multiply it; it cannot be pickled, nor charged in a forked copy of its process. It may
    be charged from several threads.

    Parameters
    ----------
    epsilon : float or Fraction
        The cap on ε, > 0. A float is taken by its exact binary value.
    delta : float or Fraction, default=0
        The cap on δ, in [0, 1).

    Attributes
    ----------
    spent, remaining : Fraction
        ε charged so far, and ε left.
    charges : tuple of Charge
        Every charge, in order.

    Raises
    ------
    ValueError
        If `epsilon` or `delta` is out of range.

    References
    ----------
    Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014, Theorem 3.16.

    Examples
    --------
    >>> budget = Budget(epsilon=1)
    >>> budget.charge(0.25, purpose="row count")
    >>> print(budget)
    epsilon: 0.25 of 1 spent, 0.75 left
      0.25        row count
    """

    def __init__(self, epsilon: float | Fraction, delta: float | Fraction = 0) -> None:
        self._epsilon = exact(epsilon, "epsilon")
        self._delta = exact(delta, "delta")
        if self._epsilon == 0:
            raise ValueError("epsilon must be a number > 0, got 0.")
        if self._delta >= 1:
            raise ValueError(f"delta must be in [0, 1), got {delta!r}.")
        self._charges: list[Charge] = []
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def epsilon(self) -> Fraction:
        """The cap on ε."""
        return self._epsilon

    @property
    def delta(self) -> Fraction:
        """The cap on δ."""
        return self._delta

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge so far, in order."""
        return tuple(self._charges)

    @property
    def spent(self) -> Fraction:
        """ε charged so far."""
        return sum((charge.epsilon for charge in self._charges), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """ε left."""
        return self._epsilon - self.spent

    @property
    def remaining_delta(self) -> Fraction:
        """δ left."""
        return self._delta - sum((charge.delta for charge in self._charges), Fraction(0))

    def charge(
        self, epsilon: float | Fraction, delta: float | Fraction = 0, *, purpose: str, mechanism: str = ""
    ) -> None:
        """Charge (ε, δ) for one release. Never refunded.

        Raises
        ------
        BudgetExceededError
            If the charge would overdraw the budget; nothing is charged then.
        RuntimeError
            If the process was forked since the budget was made.
        ValueError
            If ε is not > 0 or δ is not in [0, 1).
        """
        if os.getpid() != self._process:
            raise RuntimeError(
                "This Budget was made in another process, of which this one is a copy: a charge here would not count "
                "there. Keep fits that share a budget in one process, or use a budget file."
            )
        charge = Charge(purpose, exact(epsilon, "epsilon"), exact(delta, "delta"), mechanism)
        if charge.epsilon == 0:
            raise ValueError("epsilon must be a number > 0, got 0.")
        with self._lock:
            self.check(charge.epsilon, charge.delta)
            self._charges.append(charge)

    def check(self, epsilon: float | Fraction, delta: float | Fraction = 0) -> None:
        """Check that (ε, δ) could be charged now, and charge nothing.

        Raises
        ------
        BudgetExceededError
            If there is less left.
        """
        asked, asked_delta = exact(epsilon, "epsilon"), exact(delta, "delta")
        if asked > self.remaining or asked_delta > self.remaining_delta:
            raise BudgetExceededError(
                requested=asked,
                remaining=self.remaining,
                requested_delta=asked_delta,
                remaining_delta=self.remaining_delta,
            )

    def allocate(self, epsilon: float | Fraction, delta: float | Fraction = 0, *, purpose: str) -> Budget:
        """Charge (ε, δ) at once and return a new budget of that size to spend in parts.

        Raises
        ------
        BudgetExceededError
            If this budget has less left; nothing is charged then.
        """
        share = Budget(epsilon, delta)
        self.charge(share.epsilon, share.delta, purpose=purpose)
        return share

    def __str__(self) -> str:
        lines = [
            f"epsilon: {float(self.spent):.6g} of {float(self._epsilon):.6g} spent, {float(self.remaining):.6g} left"
        ]
        lines += [f"  {float(charge.epsilon):<10.4g}  {charge.purpose}" for charge in self._charges]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Budget epsilon={float(self._epsilon):.6g} spent={float(self.spent):.6g}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError(
            "A Budget cannot be pickled: a copy would be a second budget. "
            "Keep fits that share a budget in one process (n_jobs=1, or threads)."
        )
