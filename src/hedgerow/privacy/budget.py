"""Privacy budgets: a cap on (ε, δ) or on ρ, and the record of what was charged against it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hedgerow.errors import ArgumentError
from hedgerow.privacy.account import Account, Accounting
from hedgerow.privacy.amounts import Amount, amount_text, exact
from hedgerow.privacy.charge import Charge, charges_html, reasons, unit_of
from hedgerow.privacy.facts import Fact, fact
from hedgerow.privacy.process import OfOneProcess, read_only
from hedgerow.privacy.unit import Unit
from hedgerow.text.markup import element
from hedgerow.text.messages import ChargeNote, add_charge_note

_PARTS = 10**20
"""An allocated amount divided by this must still be an exact amount, so that parts of it can be charged."""


class Budget(OfOneProcess):
    """A cap on the privacy loss of all that is released under it, and the record of what was charged.

    Neighbouring tables differ by adding or removing one row, or all rows of a `Unit`, the same for all charges. Charges
    compose by addition of ε and δ (basic composition, adaptively chosen); with a cap on ρ, or ``accounting="zcdp"``, by
    addition of ρ (zero-concentrated differential privacy), in which ten draws of ε = 0.5 cost ρ = 0.3115, that is
    ε = 4.01 at δ = 10⁻⁶.

    A budget has identity: copying it gives the same budget, so that scikit-learn's `clone` cannot multiply it; it
    cannot be pickled, nor charged in a forked copy of its process. It may be charged from several threads. A release
    without a guarantee is charged as if it had one, and the charge is void: the cap does not cover it.

    Parameters
    ----------
    epsilon : float, Fraction, Decimal or str, optional
        The cap on ε, > 0, as it is written: 0.1 is a tenth, and so are ``"0.1"`` and ``"1/10"``. May be left out if
        there is a cap on ρ.
    delta : float, Fraction, Decimal or str, default=0
        The cap on δ, in [0, 1).
    rho : float, Fraction, Decimal or str, optional
        A cap on ρ, > 0: alone, or beside that on ε; then both hold.
    accounting : {"basic", "zcdp"}, default="basic"
        ``"zcdp"`` needs a δ > 0: a charge is accepted if the sum of all ρ implies (ε, δ) by OpenDP's conversion, or if
        no charge has a δ and the sum of all ε is at most ε. What was charged then is (ε, δ)-differentially private.

    Raises
    ------
    ValueError
        If `epsilon`, `delta` or `rho` is out of range, or there is no cap.

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
    epsilon: Fraction | None = read_only("_now.epsilon", "The cap on ε; None where only ρ has one.")
    delta: Fraction = read_only("_now.delta", "The cap on δ.")
    rho: Fraction | None = read_only("_now.rho", "The cap on ρ; None where there is none.")
    accounting: Accounting = read_only("_now.accounting", 'The composition of charges: ``"basic"`` or ``"zcdp"``.')
    charges: tuple[Charge, ...] = read_only("_now.charges", "Every charge so far, in order.")
    spent: Fraction = read_only("_now.spent", "ε charged so far, by addition.")
    remaining: Fraction = read_only("_now.remaining", "The largest ε that can still be charged without δ.")
    remaining_delta: Fraction = read_only("_now.remaining_delta", "The largest δ that can still be charged.")
    remaining_with_delta: Fraction = read_only(
        "_now.remaining_with_delta", "The largest ε that can still be charged together with `remaining_delta`."
    )
    spent_rho: Fraction | None = read_only(
        "_now.spent_rho", "ρ charged so far; None where that of a charge is not known."
    )
    remaining_rho: Fraction | None = read_only("_now.remaining_rho", "ρ left; None where it has no cap.")
    no_guarantee_reason: str | None = read_only(
        "_now.no_guarantee_reason", "Why some of what was charged has no guarantee; None where all of it has."
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
        # The budget that this one was allocated from, and the index of the charge there.
        self._parent: tuple[Budget, int] | None = None
        self._allocated: Charge | None = None  # that charge, as it was made
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
        """Charge (ε, δ) for one release, and its ρ where that is not what follows from ε. Never refunded.

        `purpose` is what is released, and `mechanism` how, in your own words; releases of hedgerow's state facts. Give
        `no_guarantee` if the release has no guarantee, to say why; then ε may be 0, if an earlier charge paid. `unit`
        is what the loss is that of; None for one row. All charges of a budget are of the same.

        Raises
        ------
        BudgetExceededError
            If the charge would overdraw the budget; nothing is charged then.
        RuntimeError
            If the process was forked since the budget was made.
        ValueError
            If ε is not > 0 (or 0, with `no_guarantee`), δ is not in [0, 1), or earlier charges are of another
            unit.
        """
        why = reasons(no_guarantee)
        self._enter(_charge(purpose, epsilon, delta, rho, mechanism=mechanism, no_guarantee=why, unit=unit))

    def check(self, epsilon: Amount, delta: Amount = 0, *, rho: Amount | None = None, unit: Unit | None = None) -> None:
        """Check that (ε, δ), with this ρ, could be charged now; BudgetExceededError if not. Nothing is charged."""
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

        `rho` is the most that will be spent in ρ, a second cap on the new budget; by default it has none, and what
        follows from ε is charged. With a δ, where this budget adds up ρ, it is what (ε, δ) allows.

        `no_guarantee` says why releases under the new budget have no guarantee, if that is known. A charge to it
        that is void marks the charge to this budget as void, too. `unit` is what all charges to the new budget are for;
        None for one row. Raises BudgetExceededError if this budget has less left; nothing is charged then.
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
        """Return the ε at δ that the cap guarantees for all that is ever charged, whenever one stops.

        What was charged so far would imply less, but is no bound for who stops by the answers. ValueError if δ is not
        in (0, 1), or less than the cap's own without a cap on ρ.

        Examples
        --------
        >>> round(float(Budget(rho=0.5).epsilon_at(1e-6)), 2)
        5.22
        """
        return self._now.epsilon_at(exact(delta, "delta"))

    def _enter(self, charge: Charge) -> int:
        """Record a charge, if it fits, and return its place in the record."""
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
        """Check the process, and that a charge is of the unit that this budget was allocated for."""
        self.check_process()
        if self._allocated is not None:
            unit_of((self._allocated, charge))

    def _mark_parent(self, no_guarantee: tuple[Fact, ...]) -> None:
        """Mark the charge by which this budget was allocated as void, and so on upwards."""
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
            self._account, self._here.spent = after, spent  # no call between them: interrupts come with calls
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
    """Add a note to an error of what this thread has charged to a budget, beyond `before`: it stays charged."""
    # Callers use `try` and not a context manager, whose exit is a call in which an interrupt would not be noted.
    charged = budget.spent_here - before
    if charged > 0:
        to = budget._charged_to  # pyright: ignore[reportPrivateUsage] -- of this module
        add_charge_note(error, ChargeNote(f"The epsilon of {amount_text(charged)} stays charged{to}."))


def account_of(epsilon: Amount | None, delta: Amount, rho: Amount | None, accounting: Accounting) -> Account:
    return Account(
        None if epsilon is None else exact(epsilon, "epsilon"),
        exact(delta, "delta"),
        rho=None if rho is None else exact(rho, "rho"),
        accounting=accounting,
    )


def _charge(purpose: Fact | str, epsilon: Amount, delta: Amount, rho: Amount | None, **more: Any) -> Charge:
    amounts: Any = {"epsilon": epsilon, "delta": delta, "rho": rho}  # a charge makes them exact
    return Charge(fact(purpose, "query", "purpose"), **amounts, **more)
