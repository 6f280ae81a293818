"""Privacy budgets: caps on (ε, δ) or ρ with a record of the charges."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hedgerow.errors import ArgumentError
from hedgerow.privacy.account import Account, Accounting
from hedgerow.privacy.amounts import Amount, amount_text, exact, positive
from hedgerow.privacy.charge import Charge, charges_html, reasons, unit_of
from hedgerow.privacy.facts import Fact, fact
from hedgerow.privacy.process import ProcessBound, read_only
from hedgerow.privacy.unit import Unit
from hedgerow.text.markup import element
from hedgerow.text.messages import ChargeNote, add_charge_note

_PARTS = 10**20
"""An allocated amount divided by this must still be an exact amount, so that parts of the amount can be charged."""


class Budget(ProcessBound):
    """A cap on the privacy loss of a series of releases, and the record of their charges.

    Neighbouring tables differ by adding or removing one row, or all rows of a `Unit`, the same for all charges. Charges
    compose adaptively by addition of ε and δ (basic composition). With a cap on ρ, or ``accounting="zcdp"``, they
    compose by addition of ρ (zero-concentrated differential privacy). Ten draws of ε = 0.5, for example, cost
    ρ = 0.3115, which is ε = 4.01 at δ = 10⁻⁶.

    A budget has identity. Copying returns the same object, so scikit-learn's `clone` cannot multiply a budget. It
    cannot be pickled or charged in a fork of its process. Several threads may charge it. A release without a guarantee
    is charged as if it had a guarantee. Its charge is marked as void, since the cap does not cover it.

    Parameters
    ----------
    epsilon : float, Fraction, Decimal or str, optional
        The cap on ε, > 0. It is taken as written: 0.1, ``"0.1"`` and ``"1/10"`` are all a tenth. It may be left out if
        ρ has a cap.
    delta : float, Fraction, Decimal or str, default=0
        The cap on δ, in [0, 1).
    rho : float, Fraction, Decimal or str, optional
        The cap on ρ, > 0. If `epsilon` is given, too, both caps apply.
    accounting : {"basic", "zcdp"}, default="basic"
        ``"zcdp"`` needs δ > 0. A charge is accepted if the sum of all ρ implies (ε, δ) by OpenDP's conversion. It is
        also accepted if no charge has a δ and the sum of all ε is at most `epsilon`. All charges together are then (ε,
        δ)-differentially private.

    Raises
    ------
    ValueError
        If `epsilon`, `delta` or `rho` is out of range, or no cap is given.

    References
    ----------
    Dwork and Roth, *The Algorithmic Foundations of Differential Privacy*, 2014, Theorem 3.16; Bun and Steinke,
    *Concentrated Differential Privacy*, 2016, Lemma 1.7; Feldman and Zrnic, *Individual Privacy Accounting via a Rényi
    Filter*, 2021 (adaptive charges under a cap on ρ); ``docs/mathematics.md``, fact 6 (either of two caps).

    Examples
    --------
    >>> budget = Budget(epsilon=1)
    >>> budget.charge(0.25, purpose="row count")
    >>> print(budget)
    epsilon: 0.25 of 1 spent, 0.75 left
      0.25        row count
    >>> print(Budget(rho=0.5))
    rho: 0 of 0.5 spent, 0.5 left
    """

    _charged_to = ""  # where charges are recorded, for the note on an error
    epsilon: Fraction | None = read_only("_now.epsilon", "The cap on ε; None if only ρ is capped.")
    delta: Fraction = read_only("_now.delta", "The cap on δ.")
    rho: Fraction | None = read_only("_now.rho", "The cap on ρ; None if ρ is not capped.")
    accounting: Accounting = read_only("_now.accounting", 'The composition of charges: ``"basic"`` or ``"zcdp"``.')
    charges: tuple[Charge, ...] = read_only("_now.charges", "Every charge so far, in order.")
    spent: Fraction = read_only("_now.spent", "ε charged so far, by addition.")
    remaining: Fraction = read_only("_now.remaining", "The largest ε that can still be charged without δ.")
    remaining_delta: Fraction = read_only("_now.remaining_delta", "The largest δ that can still be charged.")
    remaining_with_delta: Fraction = read_only(
        "_now.remaining_with_delta", "The largest ε that can still be charged together with `remaining_delta`."
    )
    spent_rho: Fraction | None = read_only(
        "_now.spent_rho", "ρ charged so far; None if the ρ of a charge is not known."
    )
    remaining_rho: Fraction | None = read_only("_now.remaining_rho", "ρ left; None if ρ is not capped.")
    no_guarantee_reason: str | None = read_only(
        "_now.no_guarantee_reason", "The reasons why some charges have no guarantee; None if all have a guarantee."
    )

    def __init__(
        self,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        *,
        rho: Amount | None = None,
        accounting: Accounting = "basic",
    ) -> None:
        super().__init__()
        self._account = account_of(epsilon, delta, rho, accounting)
        # The budget that allocated this budget, and the index of the charge there.
        self._parent: tuple[Budget, int] | None = None
        self._allocated: Charge | None = None  # the charge for the allocation
        self._lock = threading.Lock()
        self._here = threading.local()

    @property
    def spent_here(self) -> Fraction:
        """ε charged through this object by this thread."""
        return getattr(self._here, "spent", Fraction(0))

    def charge(
        self,
        epsilon: Amount,
        delta: Amount = 0,
        *,
        rho: Amount | None = None,
        purpose: Fact | str,
        mechanism: Fact | str | None = None,
        no_guarantee: Sequence[Fact] | Fact | str | None = None,
        unit: Unit | None = None,
    ) -> None:
        """Charge (ε, δ) for a release. A charge is never refunded.

        Parameters
        ----------
        epsilon, delta : float, Fraction, Decimal or str
            The privacy loss of the release. `epsilon` may be 0 with `no_guarantee`, if an earlier charge covers the
            release.
        rho : float, Fraction, Decimal or str, optional
            The loss ρ, if it is less than the ρ that follows from ε.
        purpose : Fact or str
            A description of the release.
        mechanism : Fact or str, optional
            A description of the mechanism.
        no_guarantee : Fact, str or sequence of Fact, optional
            The reasons why the release has no guarantee, if it has none.
        unit : Unit, optional
            The unit of privacy of the loss; by default one row. All charges of a budget have the same unit.

        Raises
        ------
        BudgetExceededError
            If the charge would exceed the budget. Nothing is charged then.
        RuntimeError
            If the process is a fork of the process that made the budget.
        ValueError
            If ε is not > 0 (or 0, with `no_guarantee`), δ is not in [0, 1), or earlier charges have another unit.
        """
        why = reasons(no_guarantee)
        self._enter(_charge(purpose, epsilon, delta, rho, mechanism=mechanism, no_guarantee=why, unit=unit))

    def check(self, epsilon: Amount, delta: Amount = 0, *, rho: Amount | None = None, unit: Unit | None = None) -> None:
        """Raise BudgetExceededError if (ε, δ) with this ρ could not be charged now. Nothing is charged."""
        charge = _charge(Fact("planned"), epsilon, delta, rho, unit=unit)
        self._check_here(charge)
        self._now.check(charge)

    def allocate(
        self,
        epsilon: Amount,
        delta: Amount = 0,
        *,
        rho: Amount | None = None,
        purpose: Fact | str,
        no_guarantee: Sequence[Fact] | Fact | str | None = None,
        unit: Unit | None = None,
    ) -> "Budget":
        """Charge (ε, δ) at once and return a new budget of that size to spend in parts.

        A void charge to the new budget marks the charge to this budget as void, too.

        Parameters
        ----------
        epsilon, delta : float, Fraction, Decimal or str
            The charge to this budget, and the caps of the new budget.
        rho : float, Fraction, Decimal or str, optional
            The charge in ρ, and a second cap on the new budget. By default ρ follows from ε, without such a cap. If
            this budget caps ρ and `delta` is > 0, the default is the ρ that (ε, δ) allows.
        purpose : Fact or str
            A description of the releases.
        no_guarantee : Fact, str or sequence of Fact, optional
            The reasons why the releases have no guarantee, if they have none.
        unit : Unit, optional
            The unit of privacy of all charges to the new budget; by default one row.

        Raises
        ------
        BudgetExceededError
            If the charge would exceed this budget. Nothing is charged then.
        """
        in_rho = rho is None and exact(delta, "delta") > 0 and self._now.largest_rho is not None
        share = Budget(epsilon, delta, rho=rho, accounting="zcdp" if in_rho else "basic")
        assert share.epsilon is not None
        if in_rho:
            share._account = replace(share._account, rho=share._account.largest_rho)
        for amount in (share.epsilon, share.delta):
            exact(amount / _PARTS, "an allocated amount divided by 10^20")
        query, why = fact(purpose, "query", "purpose"), reasons(no_guarantee)
        charge = Charge(query, share.epsilon, share.delta, no_guarantee=why, rho=share.rho, unit=unit)
        share._parent, share._allocated = (self, self._enter(charge)), charge
        return share

    def epsilon_at(self, delta: Amount) -> Fraction:
        """Return the ε at δ that the cap guarantees for all charges, present and future.

        The ε of the charges so far would be smaller, but it is no bound if answers decide when releases stop. Raises
        ValueError if δ is not in (0, 1), or is less than the cap on δ and ρ has no cap.

        Examples
        --------
        >>> round(float(Budget(rho=0.5).epsilon_at(1e-6)), 2)
        5.22
        """
        return self._now.epsilon_at(exact(delta, "delta"))

    def _enter(self, charge: Charge) -> int:
        """Record a charge and return its place in the record."""
        if charge.epsilon == 0 and not charge.no_guarantee:
            raise ArgumentError("epsilon must be a number > 0, got 0.")
        self._check_here(charge)

        def change(account: Account) -> Account:
            after = account.charged(charge)
            if charge.no_guarantee:
                self._mark_parent(charge.no_guarantee)
            return after

        before = self.spent_here
        try:
            return len(self._update(change).charges) - 1
        except BaseException as error:
            note_charges(error, self, before)
            raise

    def _check_here(self, charge: Charge) -> None:
        """Check the process, and that the charge has the unit of privacy of the allocation."""
        self.check_process()
        if self._allocated is not None:
            unit_of((self._allocated, charge))

    def _mark_parent(self, no_guarantee: tuple[Fact, ...]) -> None:
        """Mark the charge that allocated this budget as void, in all budgets above it."""
        if self._parent is not None:
            parent, place = self._parent
            parent._mark_parent(no_guarantee)
            parent._update(lambda account: account.marked(place, no_guarantee))

    @property
    def _now(self) -> Account:
        return self._account

    def _update(self, change: Callable[[Account], Account]) -> Account:
        """Replace the account under a lock, unless `change` raises."""
        with self._lock:
            after = change(self._account)
            spent = self.spent_here + after.spent - self._account.spent
            self._account, self._here.spent = after, spent  # no call in between, since interrupts occur at calls
            return after

    def __str__(self) -> str:
        return str(self._now)

    def _repr_html_(self) -> str:
        account = self._now
        lines = [*account.caps, *([account.warning] if account.warning else [])]
        return "".join(element("p", line) for line in lines) + charges_html(account.charges, mechanism=False)

    def __repr__(self) -> str:
        account = self._now
        if account.epsilon is None and account.rho is not None:
            spent = "unknown" if account.spent_rho is None else amount_text(account.spent_rho)
            return f"<Budget rho={amount_text(account.rho, left=True)} spent={spent}>"
        return f"<Budget epsilon={amount_text(account.epsilon or 0, left=True)} spent={amount_text(account.spent)}>"


def note_charges(error: BaseException, budget: Budget, before: Fraction) -> None:
    """Add a note to an error with the ε that this thread has charged to a budget since `before`."""
    # Callers use `try` and not a context manager, because an interrupt in the call of its exit would have no note.
    charged = budget.spent_here - before
    if charged > 0:
        to = budget._charged_to  # pyright: ignore[reportPrivateUsage] -- of this module
        add_charge_note(error, ChargeNote(f"The epsilon of {amount_text(charged)} stays charged{to}."))


def account_of(epsilon: Amount | None, delta: Amount, rho: Amount | None, accounting: Accounting) -> Account:
    return Account(
        None if epsilon is None else positive(epsilon, "epsilon"),
        exact(delta, "delta"),
        rho=None if rho is None else positive(rho, "rho"),
        accounting=accounting,
    )


def _charge(purpose: Fact | str, epsilon: Amount, delta: Amount, rho: Amount | None, **more: Any) -> Charge:
    amounts: Any = {"epsilon": epsilon, "delta": delta, "rho": rho}  # `Charge` converts them to fractions
    return Charge(fact(purpose, "query", "purpose"), **amounts, **more)
