"""Accounts: caps on the privacy loss and the charges against them, as a frozen value."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self, get_args

from hedgerow.boundary.arguments import check_choice
from hedgerow.errors import ArgumentError, BudgetExceededError
from hedgerow.privacy import wording
from hedgerow.privacy.amounts import amount_text, amounts_data, exact, positive, read_amounts, total
from hedgerow.privacy.charge import Charge, check_delta, reasons, unit_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.zcdp import epsilon_at, largest_pure, largest_rho

Accounting = Literal["basic", "zcdp"]


@dataclass(frozen=True)
class Totals:
    """Exact sums of charges, which are updated without going through the earlier charges again.

    Attributes
    ----------
    epsilon, delta : Fraction
        The sums of ε and of δ.
    known_rho : Fraction
        The sum of ρ of the charges whose ρ is known.
    without_rho : int
        The number of charges whose ρ is not known.
    without_guarantee : int
        The number of charges without a guarantee.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    known_rho: Fraction = Fraction(0)
    without_rho: int = 0
    without_guarantee: int = 0

    def plus(self, charge: Charge) -> Self:
        """Return the sums with another charge; ValueError if a sum has too many digits."""
        rho = charge.zcdp
        return type(self)(
            total((self.epsilon, charge.epsilon)),
            total((self.delta, charge.delta)),
            self.known_rho if rho is None else total((self.known_rho, rho)),
            self.without_rho + (rho is None),
            self.without_guarantee + bool(charge.no_guarantee),
        )

    @classmethod
    def of(cls, charges: Iterable[Charge]) -> Self:
        """Return the sums of charges; ValueError if a sum has too many digits."""
        totals = cls()
        for charge in charges:
            totals = totals.plus(charge)
        return totals


@dataclass(frozen=True)
class Account:
    """Caps and charges of a budget at one moment.

    Attributes
    ----------
    epsilon : Fraction or None
        The cap on ε, > 0; None if only ρ is capped.
    delta : Fraction
        The cap on δ, in [0, 1).
    charges : tuple of Charge
        Every charge, in order.
    rho : Fraction or None
        The cap on ρ, > 0; None if ρ is not capped.
    accounting : {"basic", "zcdp"}
        How charges compose to (ε, δ): by addition of ε and δ, or also by addition of ρ.

    Raises
    ------
    ValueError
        If a cap is out of range or missing, or a sum of charges has too many digits (see `amounts.total`).
    """

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    charges: tuple[Charge, ...] = ()
    rho: Fraction | None = None
    accounting: Accounting = "basic"

    def __post_init__(self) -> None:
        for name, check in (("epsilon", positive), ("delta", exact), ("rho", positive)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(getattr(self, name), name))
        if self.delta >= 1:
            raise ArgumentError(f"delta must be in [0, 1), got {float(self.delta):g}.")
        check_choice("accounting", self.accounting, get_args(Accounting))
        self._check_caps()
        _ = self._totals  # raises an error if a sum has too many digits
        unit_of(self.charges)

    def _check_caps(self) -> None:
        if self.epsilon is None and (self.rho is None or self.delta):
            given = "neither" if self.rho is None else "rho and delta; delta needs epsilon"
            raise ArgumentError(f"a budget needs a cap: epsilon, with or without delta, or rho alone; got {given}.")
        if self.accounting == "zcdp" and not self.delta:
            raise ArgumentError("accounting='zcdp' needs epsilon and delta > 0, got delta=0. Or cap rho alone.")
        _ = self.largest_rho  # raises an error if (ε, δ) allows no ρ

    @classmethod
    def of_caps(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `caps_dict` wrote, without charges; ValueError, KeyError or TypeError for anything else."""
        caps = read_amounts(data)
        return cls(caps["epsilon"], caps["delta"] or Fraction(0), (), caps["rho"], data["accounting"])

    def caps_dict(self) -> dict[str, Any]:
        """Return the caps as JSON-ready data: exact amounts as text, None for a missing cap."""
        return {**amounts_data(self.epsilon, self.delta, self.rho), "accounting": self.accounting}

    @cached_property
    def _totals(self) -> Totals:
        """The sums of all charges, which `charged` and `marked` update instead of computing them again."""
        return Totals.of(self.charges)

    @property
    def spent(self) -> Fraction:
        """ε of all charges."""
        return self._totals.epsilon

    @property
    def spent_delta(self) -> Fraction:
        """δ of all charges."""
        return self._totals.delta

    @property
    def spent_rho(self) -> Fraction | None:
        """ρ of all charges; None if the ρ of a charge is not known."""
        return None if self._totals.without_rho else self._totals.known_rho

    @property
    def largest_rho(self) -> Fraction | None:
        """The cap on ρ: the declared cap or, with zCDP accounting, the ρ that (ε, δ) allows; None without a cap."""
        allowed = largest_rho(self.epsilon, self.delta) if self.epsilon and self.accounting == "zcdp" else None
        return min((rho for rho in (self.rho, allowed) if rho is not None), default=None)

    @property
    def remaining_rho(self) -> Fraction | None:
        """ρ left; None without a cap on ρ, and 0 after a charge whose ρ is not known."""
        most = self.largest_rho
        if most is None:
            return None
        return Fraction(0) if self.spent_rho is None else max(most - self.spent_rho, Fraction(0))

    @property
    def _either(self) -> bool:
        """True if a charge may fit either the cap on ε or the cap on ρ."""
        return self.accounting == "zcdp" and self.rho is None

    @property
    def _remaining_sum(self) -> Fraction | None:
        """The remaining ε by addition of ε; None without such a cap."""
        if self.epsilon is None or (self.accounting == "zcdp" and self.rho is not None):
            return None
        # With zCDP accounting, addition of ε is an alternative only as long as no charge has a δ.
        return Fraction(0) if self._either and self.spent_delta else self.epsilon - self.spent

    @property
    def remaining(self) -> Fraction:
        """The largest ε that can be charged without δ."""
        by_rho = None if self.remaining_rho is None else largest_pure(self.remaining_rho)
        left = [most for most in (self._remaining_sum, by_rho) if most is not None]
        return max(left) if self._either else min(left)

    @property
    def remaining_delta(self) -> Fraction:
        """The largest δ that can be charged; the cap on δ under accounting in ρ, which does not consume δ."""
        return self.delta if self.accounting == "zcdp" else self.delta - self.spent_delta

    @property
    def remaining_with_delta(self) -> Fraction:
        """The largest ε that can be charged with `remaining_delta`."""
        if self.accounting == "basic":
            return self.remaining
        rho = self.remaining_rho
        assert rho is not None
        assert self.epsilon is not None
        return self.epsilon if rho == self.largest_rho else epsilon_at(rho, self.delta)

    @property
    def no_guarantee_reason(self) -> str | None:
        """The reasons why some charges have no guarantee, in words; None if all have a guarantee."""
        return wording.of_reasons(reasons(*(charge.no_guarantee for charge in self.charges)))

    @property
    def warning(self) -> str | None:
        """A sentence about the charges that the cap does not cover; None if it covers all."""
        number = self._totals.without_guarantee
        if not number:
            return None
        # Budget files store this sentence, and a reader compares it: another wording would need a new version.
        return f"no guarantee for {number} of {len(self.charges)} charges: the cap does not bound what they released"

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """Return the ε at δ that the caps guarantee for all charges, present and future.

        Raises ValueError if δ is less than the cap on δ and ρ has no cap.
        """
        check_delta(delta)
        known = [] if self.largest_rho is None else [epsilon_at(self.largest_rho, delta)]
        if self.epsilon is not None and (self._either or (self.accounting == "basic" and self.delta <= delta)):
            known.append(self.epsilon)
        if not known:
            least, given = amount_text(self.delta), amount_text(delta)
            raise ArgumentError(f"delta must be at least the cap of {least} for a budget without rho, got {given}.")
        return max(known) if self._either else min(known)

    def check(self, charge: Charge) -> None:
        """Raise BudgetExceededError if a charge does not fit, or ValueError if its unit of privacy differs.

        Under ``accounting='zcdp'`` without a cap on ρ, a charge fits if the sum of all ρ is within the ρ that (ε, δ)
        allows. It also fits if no charge has a δ and the sum of all ε is within the cap. Under other accounting, or
        with a cap on ρ, a charge must fit every cap.
        """
        unit_of((*self.charges[:1], charge))  # earlier charges all have the same unit
        left, most, rho = self._remaining_sum, self.remaining_rho, charge.zcdp
        allowed = Fraction(0) if self._either else self.delta - self.spent_delta
        fits = [] if left is None else [charge.epsilon <= left and charge.delta <= allowed]
        fits += [] if most is None else [rho is not None and rho <= most]
        if not (any(fits) if self._either else all(fits)):
            raise self._exceeded(charge)

    def _exceeded(self, charge: Charge) -> BudgetExceededError:
        return BudgetExceededError(
            requested=charge.epsilon,
            remaining=self.remaining,
            requested_delta=charge.delta,
            remaining_delta=self.remaining_delta,
            requested_rho=charge.zcdp,
            remaining_rho=self.remaining_rho,
        )

    def charged(self, charge: Charge) -> "Account":
        """Return the account with another charge; raises BudgetExceededError if the charge does not fit."""
        self.check(charge)
        return self._with(charges=(*self.charges, charge), totals=self._totals.plus(charge))

    def marked(self, place: int, no_guarantee: tuple[Fact, ...]) -> "Account":
        """Return the account with a charge marked as void, for these reasons."""
        if place >= len(self.charges):
            problem = "the budget has fewer charges than before; charges must not be removed"
            raise ArgumentError(f"{problem}. Restore its file from a backup that has all charges.")
        charge = self.charges[place]
        marked = replace(charge, no_guarantee=reasons(charge.no_guarantee, no_guarantee))
        without = self._totals.without_guarantee + (not charge.no_guarantee)
        totals = replace(self._totals, without_guarantee=without)
        return self._with(charges=(*self.charges[:place], marked, *self.charges[place + 1 :]), totals=totals)

    def _with(self, *, charges: tuple[Charge, ...], totals: Totals) -> "Account":
        """Return the account with these charges and their sums, without checking them again."""
        account = copy(self)
        vars(account).update(charges=charges, _totals=totals)
        return account

    @property
    def guarantee(self) -> str | None:
        """The guarantee in words if zCDP accounting keeps a cap on (ε, δ); otherwise None."""
        if self.accounting != "zcdp" or self.epsilon is None:
            return None
        cap = f"{amount_text(self.epsilon)} at delta {amount_text(self.delta)}"
        return f"guarantee: epsilon at most {cap} for all charges together, whenever releases stop"

    @property
    def caps(self) -> list[str]:
        """The lines that show the spent and remaining part of each cap, and the unit of privacy unless it is a row."""
        guarantee = self.guarantee
        lines = [] if guarantee is None else [guarantee]
        if self.epsilon is not None and self.accounting == "basic":
            lines.append(_line("epsilon", self.epsilon, self.spent, self.epsilon - self.spent))
            if self.delta:
                lines.append(_line("delta", self.delta, self.spent_delta, self.remaining_delta))
        elif self.epsilon is not None and self._remaining_sum is not None:
            lines.append(_line("epsilon by addition", self.epsilon, self.spent, max(self._remaining_sum, Fraction(0))))
        if self.largest_rho is not None and self.remaining_rho is not None:
            lines.append(_line("rho", self.largest_rho, self.spent_rho, self.remaining_rho))
        unit = unit_of(self.charges[:1])
        return lines if unit is None else [*lines, f"unit of privacy: {unit.name}"]

    def __str__(self) -> str:
        charges = [charge.line(mechanism=False) for charge in self.charges]
        return "\n".join([*self.caps, *charges, *([self.warning] if self.warning else [])])


def _line(name: str, cap: Fraction, spent: Fraction | None, left: Fraction) -> str:
    so_far = "an unknown part" if spent is None else amount_text(spent)
    return f"{name}: {so_far} of {amount_text(cap, left=True)} spent, {amount_text(left, left=True)} left"
