"""Accounts: the caps on the privacy loss and the charges against them, as a frozen value."""

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, Self, get_args

from hedgerow.boundary.arguments import check_choice
from hedgerow.errors import ArgumentError, BudgetExceededError
from hedgerow.privacy import wording
from hedgerow.privacy.amounts import amount_text, amounts_data, exact, read_amounts, total
from hedgerow.privacy.charge import Charge, check_delta, reasons, unit_of
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.zcdp import epsilon_at, largest_pure, largest_rho

Accounting = Literal["basic", "zcdp"]


@dataclass(frozen=True)
class Totals:
    """Exact sums of charges, to which one more charge is added without looking at the earlier ones.

    Attributes
    ----------
    epsilon, delta : Fraction
        The sums of ε and of δ.
    known_rho : Fraction
        The sum of ρ of the charges whose ρ is known.
    without_rho : int
        The number of charges whose ρ is not known.
    without_guarantee : int
        The number of charges that have no guarantee.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    known_rho: Fraction = Fraction(0)
    without_rho: int = 0
    without_guarantee: int = 0

    def plus(self, charge: Charge) -> Self:
        """Return the sums with one more charge; ValueError if a sum has too many digits."""
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
        The cap on ε, > 0; None where only ρ has one.
    delta : Fraction
        The cap on δ, in [0, 1).
    charges : tuple of Charge
        Every charge, in order.
    rho : Fraction or None
        The cap on ρ, > 0; None where there is none.
    accounting : {"basic", "zcdp"}
        How charges compose to (ε, δ): by addition, or also by addition of ρ.

    Raises
    ------
    ValueError
        If a cap is out of range or missing, or the charges have no sum within bounds (see `amounts.total`).
    """

    epsilon: Fraction | None
    delta: Fraction = Fraction(0)
    charges: tuple[Charge, ...] = ()
    rho: Fraction | None = None
    accounting: Accounting = "basic"

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "rho"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, exact(getattr(self, name), name))
        for name in ("epsilon", "rho"):
            if getattr(self, name) == 0:
                raise ArgumentError(f"{name} must be a number > 0, got 0.")
        if self.delta >= 1:
            raise ArgumentError(f"delta must be in [0, 1), got {float(self.delta):g}.")
        check_choice("accounting", self.accounting, get_args(Accounting))
        self._check_caps()
        _ = self._totals  # raises if a sum has too many digits
        unit_of(self.charges)

    def _check_caps(self) -> None:
        if self.epsilon is None and (self.rho is None or self.delta):
            got = "neither" if self.rho is None else "rho with delta, which is a cap beside epsilon only"
            raise ArgumentError(f"expected a cap: epsilon, with delta or without, or rho alone; got {got}.")
        if self.accounting == "zcdp" and not self.delta:
            raise ArgumentError("accounting='zcdp' needs epsilon and a delta > 0, or use rho alone; got no delta.")
        _ = self.largest_rho  # raises if (ε, δ) allows none

    @classmethod
    def of_caps(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `caps_dict` wrote, without charges; ValueError, KeyError or TypeError for anything else."""
        caps = read_amounts(data)
        return cls(caps["epsilon"], caps["delta"] or Fraction(0), (), caps["rho"], data["accounting"])

    def caps_dict(self) -> dict[str, Any]:
        """Return the caps as JSON-ready data: exact amounts as text, None for a cap that is not there."""
        return {**amounts_data(self.epsilon, self.delta, self.rho), "accounting": self.accounting}

    @cached_property
    def _totals(self) -> Totals:
        """The sums of all charges. `charged` and `marked` carry them over to the account that they return."""
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
        """The cap on ρ, or what (ε, δ) allows if charges are added in ρ; None without."""
        allowed = largest_rho(self.epsilon, self.delta) if self.epsilon and self.accounting == "zcdp" else None
        return min((rho for rho in (self.rho, allowed) if rho is not None), default=None)

    @property
    def remaining_rho(self) -> Fraction | None:
        """ρ left; None without a cap on it, and 0 after a charge whose ρ is not known."""
        most = self.largest_rho
        if most is None:
            return None
        return Fraction(0) if self.spent_rho is None else max(most - self.spent_rho, Fraction(0))

    @property
    def _either(self) -> bool:
        """True if a charge must fit one of two caps, on ε and on ρ, and not both of them."""
        return self.accounting == "zcdp" and self.rho is None

    @property
    def _remaining_sum(self) -> Fraction | None:
        """ε left by addition; None where it has no cap. Beside a sum of ρ, only charges without δ are added."""
        if self.epsilon is None or (self.accounting == "zcdp" and self.rho is not None):
            return None
        return Fraction(0) if self._either and self.spent_delta else self.epsilon - self.spent

    @property
    def remaining(self) -> Fraction:
        """The largest ε that can be charged without δ."""
        by_rho = None if self.remaining_rho is None else largest_pure(self.remaining_rho)
        left = [most for most in (self._remaining_sum, by_rho) if most is not None]
        return max(left) if self._either else min(left)

    @property
    def remaining_delta(self) -> Fraction:
        """The largest δ that can be charged; all of the cap where charges are added in ρ, which does not use it up."""
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
        """Why some of what was charged has no guarantee, in words; None where all of it has."""
        return wording.of_reasons(reasons(*(charge.no_guarantee for charge in self.charges)))

    @property
    def warning(self) -> str | None:
        """The charges that the cap does not cover, in a sentence; None where it covers all."""
        number = self._totals.without_guarantee
        if not number:
            return None
        return f"no guarantee for {number} of {len(self.charges)} charges: the cap does not bound what they released"

    def epsilon_at(self, delta: Fraction) -> Fraction:
        """Return the ε at δ that the caps guarantee for all that is ever charged; ValueError if δ is too small."""
        check_delta(delta)
        known = [] if self.largest_rho is None else [epsilon_at(self.largest_rho, delta)]
        if self.epsilon is not None and (self._either or (self.accounting == "basic" and self.delta <= delta)):
            known.append(self.epsilon)
        if not known:
            raise ArgumentError("expected a delta as large as the cap's, without a cap on rho; got a smaller one.")
        return max(known) if self._either else min(known)

    def check(self, charge: Charge) -> None:
        """Check that a charge fits; raises BudgetExceededError, or ValueError if it is of another unit of privacy.

        Under ``accounting='zcdp'`` it fits if all ρ together is within what (ε, δ) allows, or if no charge has a δ and
        all ε together is within ε; else within every cap there is.
        """
        unit_of((*self.charges[:1], charge))  # earlier charges are all of the same unit
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
        """Return the account with one charge more; raises BudgetExceededError if it has too little left."""
        self.check(charge)
        return self._holding((*self.charges, charge), self._totals.plus(charge))

    def marked(self, place: int, no_guarantee: tuple[Fact, ...]) -> "Account":
        """Return the account with one of its charges marked as void, for these reasons."""
        if place >= len(self.charges):
            raise ArgumentError("expected a budget whose charges are only added to, found fewer charges than before.")
        charge = self.charges[place]
        marked = replace(charge, no_guarantee=reasons(charge.no_guarantee, no_guarantee))
        without = self._totals.without_guarantee + (not charge.no_guarantee)
        totals = replace(self._totals, without_guarantee=without)
        return self._holding((*self.charges[:place], marked, *self.charges[place + 1 :]), totals)

    def _holding(self, charges: tuple[Charge, ...], totals: Totals) -> "Account":
        """Return the account with these charges, whose sums are known; caps and charges have been checked."""
        account = copy(self)
        vars(account).update(charges=charges, _totals=totals)
        return account

    @property
    def guarantee(self) -> str | None:
        """The guarantee of a cap on (ε, δ) that is kept by ρ, in words; None where caps speak for themselves."""
        if self.accounting != "zcdp" or self.epsilon is None:
            return None
        cap = f"{amount_text(self.epsilon)} at delta {amount_text(self.delta)}"
        return f"guarantee: epsilon at most {cap} for all that is charged, whenever one stops"

    @property
    def caps(self) -> list[str]:
        """A line for each cap: what of it is spent, and what is left; and whose losses these are, if not of a row."""
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
        return lines if unit is None else [*lines, f"losses of {unit.name}"]

    def __str__(self) -> str:
        charges = [charge.line(mechanism=False) for charge in self.charges]
        return "\n".join([*self.caps, *charges, *([self.warning] if self.warning else [])])


def _line(name: str, cap: Fraction, spent: Fraction | None, left: Fraction) -> str:
    so_far = "an unknown part" if spent is None else amount_text(spent)
    return f"{name}: {so_far} of {amount_text(cap, left=True)} spent, {amount_text(left, left=True)} left"
