"""Accounts: the cap on the privacy loss and the charges against it, as a frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from hedgerow.errors import ArgumentError, BudgetExceededError
from hedgerow.privacy.amounts import amount_text, exact, total
from hedgerow.privacy.card import Charge, join_reasons


@dataclass(frozen=True)
class Account:
    """Caps and charges of a budget at one moment.

    Attributes
    ----------
    epsilon, delta : Fraction
        The caps; ε > 0, δ in [0, 1).
    charges : tuple of Charge
        Every charge, in order.

    Raises
    ------
    ValueError
        If a cap is out of range, or the charges have no sum within bounds (see `amounts.total`).
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    charges: tuple[Charge, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, "epsilon"))
        object.__setattr__(self, "delta", exact(self.delta, "delta"))
        if self.epsilon == 0:
            raise ArgumentError("epsilon must be a number > 0, got 0.")
        if self.delta >= 1:
            raise ArgumentError(f"delta must be in [0, 1), got {float(self.delta):g}.")
        _ = self.spent, self.spent_delta  # raises if a sum has too many digits

    @cached_property
    def spent(self) -> Fraction:
        """ε of all charges."""
        return total(charge.epsilon for charge in self.charges)

    @cached_property
    def spent_delta(self) -> Fraction:
        """δ of all charges."""
        return total(charge.delta for charge in self.charges)

    @property
    def remaining(self) -> Fraction:
        """ε left."""
        return self.epsilon - self.spent

    @property
    def remaining_delta(self) -> Fraction:
        """δ left."""
        return self.delta - self.spent_delta

    @property
    def void(self) -> str | None:
        """Why some of what was charged has no guarantee; None where all of it has."""
        return join_reasons(*(charge.void for charge in self.charges))

    @property
    def warning(self) -> str | None:
        """The charges that the cap does not cover, in a sentence; None where it covers all."""
        void = sum(charge.void is not None for charge in self.charges)
        if not void:
            return None
        return (
            f"no guarantee for {void} of {len(self.charges)} charges: "
            "the cap says nothing about what was released under them"
        )

    def check(self, epsilon: Fraction, delta: Fraction) -> None:
        """Check that (ε, δ) is left; raises BudgetExceededError."""
        if epsilon > self.remaining or delta > self.remaining_delta:
            raise BudgetExceededError(
                requested=epsilon,
                remaining=self.remaining,
                requested_delta=delta,
                remaining_delta=self.remaining_delta,
            )

    def charged(self, charge: Charge) -> Account:
        """Return the account with one charge more; raises BudgetExceededError if it has too little left."""
        self.check(charge.epsilon, charge.delta)
        return replace(self, charges=(*self.charges, charge))

    def marked(self, place: int, void: str) -> Account:
        """Return the account with one of its charges marked as void, for this reason."""
        if place >= len(self.charges):
            raise ArgumentError("expected a budget whose charges are only added to, found fewer charges than before.")
        charge = self.charges[place]
        marked = replace(charge, void=join_reasons(charge.void, void))
        return replace(self, charges=(*self.charges[:place], marked, *self.charges[place + 1 :]))

    def __str__(self) -> str:
        lines = [_line("epsilon", self.epsilon, self.spent, self.remaining)]
        if self.delta:
            lines.append(_line("delta", self.delta, self.spent_delta, self.remaining_delta))
        lines += [charge.line(mechanism=False) for charge in self.charges]
        return "\n".join([*lines, self.warning] if self.warning else lines)


def _line(name: str, cap: Fraction, spent: Fraction, left: Fraction) -> str:
    return f"{name}: {amount_text(spent)} of {amount_text(cap, left=True)} spent, {amount_text(left, left=True)} left"
