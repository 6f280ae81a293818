"""Privacy budgets: a cap on (ε, δ), and the record of what was charged against it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NoReturn, Self

from hedgerow.errors import ArgumentError, NotPicklableError, StateError
from hedgerow.privacy.account import Account
from hedgerow.privacy.amounts import amount_text, exact
from hedgerow.privacy.card import Charge

_PARTS = 10**20
"""An allocated amount divided by this must still be an exact amount, so that parts of it can be charged."""


class Budget:
    """A cap on the privacy loss of all that is released under it, and the record of what was charged.

    Neighbouring tables differ by adding or removing one row. Charges compose by addition (basic composition
    of (ε, δ)-differential privacy, adaptively chosen). A budget has identity: copying it gives the same budget, so that
    scikit-learn's `clone` cannot multiply it; it cannot be pickled, nor charged in a forked copy of its process. It may
    be charged from several threads. A release without a guarantee is charged as if it had one, and the charge
    is void: the cap does not cover it.

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
    void : str or None
        Why some of what was charged has no guarantee, so that the cap says nothing about it; None where all has one.

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
        self._account = Account(exact(epsilon, "epsilon"), exact(delta, "delta"))
        # The budget that this one was allocated from, and the index of the charge there.
        self._parent: tuple[Budget, int] | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    @property
    def epsilon(self) -> Fraction:
        """The cap on ε."""
        return self._read().epsilon

    @property
    def delta(self) -> Fraction:
        """The cap on δ."""
        return self._read().delta

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge so far, in order."""
        return self._read().charges

    @property
    def spent(self) -> Fraction:
        """ε charged so far."""
        return self._read().spent

    @property
    def remaining(self) -> Fraction:
        """ε left."""
        return self._read().remaining

    @property
    def remaining_delta(self) -> Fraction:
        """δ left."""
        return self._read().remaining_delta

    @property
    def void(self) -> str | None:
        """Why some of what was charged has no guarantee; None where all of it has."""
        return self._read().void

    def charge(
        self,
        epsilon: float | Fraction,
        delta: float | Fraction = 0,
        *,
        purpose: str,
        mechanism: str = "",
        void: str | None = None,
    ) -> None:
        """Charge (ε, δ) for one release. Never refunded.

        `void` says why the release has no guarantee, if it has none; then ε may be 0, where an earlier charge paid.

        Raises
        ------
        BudgetExceededError
            If the charge would overdraw the budget; nothing is charged then.
        RuntimeError
            If the process was forked since the budget was made.
        ValueError
            If ε is not > 0 (or 0, with `void`), or δ is not in [0, 1).
        """
        self._enter(Charge(purpose, exact(epsilon, "epsilon"), exact(delta, "delta"), mechanism, void))

    def check(self, epsilon: float | Fraction, delta: float | Fraction = 0) -> None:
        """Check that (ε, δ) could be charged now, and charge nothing.

        Raises
        ------
        BudgetExceededError
            If there is less left.
        """
        self._read().check(exact(epsilon, "epsilon"), exact(delta, "delta"))

    def allocate(
        self, epsilon: float | Fraction, delta: float | Fraction = 0, *, purpose: str, void: str | None = None
    ) -> Budget:
        """Charge (ε, δ) at once and return a new budget of that size to spend in parts.

        `void` says why releases under the new budget have no guarantee, if that is known. A charge to it that is void
        marks the charge to this budget as void, too.

        Raises
        ------
        BudgetExceededError
            If this budget has less left; nothing is charged then.
        """
        share = Budget(epsilon, delta)
        for amount in (share.epsilon, share.delta):
            exact(amount / _PARTS, "an allocated amount divided by 10^20")
        share._parent = self, self._enter(Charge(purpose, share.epsilon, share.delta, void=void))
        return share

    def _enter(self, charge: Charge) -> int:
        """Record a charge, if it fits, and return its place in the record."""
        if charge.epsilon == 0 and not charge.void:
            raise ArgumentError("epsilon must be a number > 0, got 0.")

        def change(account: Account) -> Account:
            after = account.charged(charge)
            if charge.void:
                self._void_parent(charge.void)
            return after

        return len(self._update(change).charges) - 1

    def _void_parent(self, void: str) -> None:
        """Mark the charge by which this budget was allocated as void, and so on upwards."""
        if self._parent is not None:
            parent, place = self._parent
            parent._void_parent(void)
            parent._update(lambda account: account.marked(place, void))

    def _read(self) -> Account:
        """Return the current account."""
        return self._account

    def _update(self, change: Callable[[Account], Account]) -> Account:
        """Replace the account under a lock, unless `change` raises."""
        if os.getpid() != self._process:
            raise StateError(
                "This Budget was made in another process; a charge in this forked copy would not count there. "
                "Keep fits that share a budget in one process, or use a budget file."
            )
        with self._lock:
            self._account = change(self._account)
            return self._account

    def __str__(self) -> str:
        return str(self._read())

    def __repr__(self) -> str:
        account = self._read()
        return f"<Budget epsilon={amount_text(account.epsilon, left=True)} spent={amount_text(account.spent)}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise NotPicklableError(
            "A Budget cannot be pickled: a copy would be a second budget. "
            "Keep fits that share a budget in one process (n_jobs=1, or threads)."
        )
