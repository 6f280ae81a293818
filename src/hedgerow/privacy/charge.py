"""Charges: what was released, and what it cost in ε, δ and ρ."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from numbers import Rational, Real
from typing import Any, Self

import numpy as np

from hedgerow.boundary.untrusted_text import LONGEST_AMOUNT, parse_amount
from hedgerow.errors import ArgumentError
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.zcdp import epsilon_at, pure_rho
from hedgerow.text.markup import table
from hedgerow.text.messages import describe_argument, shown
from hedgerow.text.values import printable


@dataclass(frozen=True)
class Charge:
    """One entry of a budget's record: what was released and what it cost.

    Attributes
    ----------
    purpose : str
        What was released, in words.
    epsilon, delta : Fraction
        The privacy loss charged: ε >= 0 and finite, δ in [0, 1).
    mechanism : str
        The mechanism with its sensitivity and scale; empty for a share handed on to another budget.
    no_guarantee_reason : str or None
        Why what was released has no guarantee; None where it has one.
    declared : bool
        Whether the charge is known from a schema's file only. Charges that differ in nothing else are equal.
    rho : Fraction or None
        The loss ρ in zero-concentrated differential privacy, where it is not what follows from ε; see `zcdp`.
    unit : Unit or None
        What the loss is that of: all rows of one unit; None for one row.

    Raises
    ------
    ValueError
        If an amount is out of range, or `purpose`, `mechanism` or `no_guarantee_reason` is not text.
    """

    purpose: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    mechanism: str = ""
    no_guarantee_reason: str | None = None
    declared: bool = field(default=False, compare=False)
    rho: Fraction | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", *(["rho"] if self.rho is not None else [])):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if self.delta >= 1:
            raise ArgumentError(f"delta must be in [0, 1), got {float(self.delta):g}.")
        for name in ("purpose", "mechanism"):
            if not isinstance(getattr(self, name), str):
                raise ArgumentError(f"{name} must be text, got a {type(getattr(self, name)).__name__}.")
        if not (
            self.no_guarantee_reason is None or (isinstance(self.no_guarantee_reason, str) and self.no_guarantee_reason)
        ):
            raise ArgumentError("no_guarantee_reason must be None, or text that says why there is no guarantee.")
        if not isinstance(self.declared, bool):
            raise ArgumentError(f"declared must be True or False, got a {type(self.declared).__name__}.")
        if not (self.unit is None or type(self.unit) is Unit):
            raise ArgumentError(f"unit must be a Unit or None, got a {type(self.unit).__name__}.")

    @property
    def zcdp(self) -> Fraction | None:
        """The loss ρ: the least of `rho` and what follows from ε; None where it is not known, as δ is not 0."""
        known = [] if self.rho is None else [self.rho]
        return min([*known, *([] if self.delta else [pure_rho(self.epsilon)])], default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the charge as JSON-ready data; ``*_exact`` are the fractions that add up."""
        data: dict[str, Any] = {"purpose": self.purpose, "mechanism": self.mechanism}
        data |= both_amounts("epsilon", self.epsilon) | both_amounts("delta", self.delta)
        if self.rho is not None:
            data |= both_amounts("rho", self.rho)
        if self.no_guarantee_reason is not None:
            data["void"] = self.no_guarantee_reason
        if self.declared:
            data["declared"] = True
        if self.unit is not None:
            data["unit"] = self.unit.to_dict()
        return data

    def exact_dict(self) -> dict[str, Any]:
        """Return the charge as data that have one text: amounts as fractions, and no float."""
        data = self.to_dict()
        return {key.removesuffix("_exact"): value for key, value in data.items() if not isinstance(value, float)}

    @classmethod
    def parsed(cls, data: Mapping[str, Any], suffix: str = "") -> Self:
        """Return the charge of data whose amounts are text, under the names of the fields with a suffix; unchecked."""
        rho = f"rho{suffix}"
        return cls(
            purpose=data["purpose"],
            epsilon=parse_amount(data[f"epsilon{suffix}"]),
            delta=parse_amount(data[f"delta{suffix}"]),
            mechanism=data["mechanism"],
            no_guarantee_reason=data.get("void"),
            declared=data.get("declared", False),
            rho=parse_amount(data[rho]) if rho in data else None,
            unit=Unit.from_dict(data["unit"]) if "unit" in data else None,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote; ValueError for anything else, or an amount out of range."""
        charge = cls.parsed(data, "_exact")
        if charge.to_dict() != data:
            raise ArgumentError("the entries of a charge contradict one another, or some are unknown")
        return charge

    def line(self, *, mechanism: bool = True) -> str:
        """Return the charge as one line of a record."""
        amount, words = self.entries(mechanism=mechanism)
        return printable(f"  {amount:<10}  {words}")

    def entries(self, *, mechanism: bool = True) -> tuple[str, str]:
        """Return ε, rounded up, and what was charged, in words."""
        how = f" ({self.mechanism})" if mechanism and self.mechanism else ""
        more = ["declared by the schema's file"] if self.declared else []
        more += [f"no guarantee: {self.no_guarantee_reason}"] if self.no_guarantee_reason else []
        return amount_text(self.epsilon, digits=4), "; ".join([self.purpose + how, *more])

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self


class Reserve(Charge):
    """What may still be charged, or would have been for other answers: its ρ is what is said, whatever its ε."""

    @property
    def zcdp(self) -> Fraction | None:
        return super().zcdp if self.rho is None else self.rho


def both_amounts(name: str, amount: Fraction | None) -> dict[str, float | str | None]:
    """Return an amount as JSON-ready data, as a float and exactly."""
    return {
        name: amount if amount is None else float(amount),
        f"{name}_exact": amount if amount is None else str(amount),
    }


def charges_html(charges: Sequence[Charge], *, mechanism: bool = True) -> str:
    lines = [charge.entries(mechanism=mechanism) for charge in charges]
    return table(("epsilon", "charged for"), lines) if lines else ""


def renewed(charge: Charge, *, no_guarantee_reason: str | None = None) -> Charge:
    """Return a new, equal charge that no caller holds, with one more reason why it is void, if given."""
    if type(charge) not in (Charge, Reserve):
        raise ArgumentError(f"expected a Charge, got {type(charge).__name__}.")
    text = (charge.purpose, charge.mechanism, charge.no_guarantee_reason or "", no_guarantee_reason or "")
    if any(type(part) is not str for part in text):
        raise ArgumentError("expected a charge whose purpose, mechanism and no_guarantee_reason are text.")
    reasons, unit = join_reasons(charge.no_guarantee_reason, no_guarantee_reason), charge.unit
    return replace(charge, no_guarantee_reason=reasons, unit=None if unit is None else replace(unit))


def unit_of(charges: Sequence[Charge]) -> Unit | None:
    """Return the unit of privacy of charges, None for one row."""
    units = {charge.unit for charge in charges}
    if len(units) > 1:
        raise ArgumentError(
            "expected charges of one unit of privacy, got charges of different ones, which do not add up: "
            f"{'; and '.join(sorted('one row' if unit is None else unit.name for unit in units))}."
        )
    return next(iter(units), None)


def check_total(charges: Sequence[Charge]) -> None:
    """Raise ArgumentError if charges do not add up: their units differ, or their sums have too many digits."""
    unit_of(charges)
    total(charge.epsilon for charge in charges)
    total(charge.delta for charge in charges)
    total_rho(charges)


def total_rho(charges: Sequence[Charge]) -> Fraction | None:
    """Return the ρ of charges together; None where that of one is not known."""
    known = [rho for charge in charges if (rho := charge.zcdp) is not None]
    return total(known) if len(known) == len(charges) else None


def least_epsilon(charges: Sequence[Charge], delta: Fraction) -> Fraction:
    """Return the least ε at which charges that were fixed beforehand are (ε, δ)-differentially private together."""
    # Of charges that an analyst chose by the answers, or stopped by them, it is a running figure and no bound.
    check_delta(delta)
    rho, basic = total_rho(charges), total(charge.delta for charge in charges) <= delta
    known = [total(charge.epsilon for charge in charges)] if basic else []
    if not known and rho is None:
        raise ArgumentError("expected a delta as large as that of the charges, whose rho is not known; got a smaller.")
    return min([*known, *([] if rho is None else [epsilon_at(rho, delta)])])


def check_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ArgumentError(f"delta must be in (0, 1), got {float(delta):g}.")


def join_reasons(*given: str | None) -> str | None:
    """Return why there is no guarantee, or None. A reason may hold several, between semicolons."""
    parts = dict.fromkeys(part for reason in given if reason for part in reason.split("; "))
    return ("; ".join(parts) or "; ") if parts else None


LARGEST = Fraction(10**300)  # the largest amount: a sum of such amounts still has a float
Amount = float | Fraction | Decimal | str  # the types of an amount in calls; `exact` gives its value
_WRITTEN = re.compile(r"[0-9]{1,400}/[0-9]{1,400}|([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,3})?")
_LONGEST = 10**LONGEST_AMOUNT
_LONGEST_SUM = 10**2500  # digits are written down, and Python writes 4,300 at most


def exact(value: object, name: str) -> Fraction:
    """Return `value` as the fraction that it is written as; a float is the shortest such decimal: 0.1 is a tenth."""
    fraction = _fraction(value, name)
    if fraction < 0 or fraction > LARGEST:
        size = f"{float(fraction):g}" if abs(fraction) <= LARGEST else f"one beyond {float(LARGEST):g}"
        raise ArgumentError(f"{name} must be a finite number >= 0, got {size}.")
    if max(fraction.numerator, fraction.denominator) >= _LONGEST:
        problem = f"{name} must have at most {LONGEST_AMOUNT:,} digits in numerator and denominator, got more."
        raise ArgumentError(problem)
    return fraction


def _fraction(value: object, name: str) -> Fraction:
    if isinstance(value, str):
        if not _WRITTEN.fullmatch(value):
            raise ArgumentError(f"{name} must be a number >= 0 such as 0.1 or 1/10, got {shown(value)}.")
        above, _, below = value.partition("/")
        if below and not int(below):
            raise ArgumentError(f"{name} must be a finite number >= 0, got {shown(value)}.")
        return Fraction(above) / int(below or 1)
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        problem = f"{name} must be a finite number >= 0, got {describe_argument(value)} of type {type(value).__name__}."
        raise ArgumentError(problem)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if not (value.is_finite() if isinstance(value, Decimal) else math.isfinite(value)):
        raise ArgumentError(f"{name} must be a finite number >= 0, got {shown(str(value))}.")
    if isinstance(value, Decimal):
        if value and abs(value.adjusted()) > LONGEST_AMOUNT:
            size = "one beyond" if value.adjusted() > 0 else "one closer to 0 than"
            raise ArgumentError(f"{name} must be a finite number >= 0, got {size} 1e{value.adjusted():+}.")
        return Fraction(value)
    return Fraction(str(value) if isinstance(value, np.floating) else repr(float(value)))


def total(amounts: Iterable[Fraction]) -> Fraction:
    result = Fraction(0)
    for amount in amounts:
        result += amount
        if max(result.numerator, result.denominator) >= _LONGEST_SUM:
            problem = "the sum of amounts must have at most 2,500 digits in numerator and denominator, got more."
            raise ArgumentError(problem)
    return result


def amount_text(amount: Fraction | float, *, digits: int = 6, left: bool = False) -> str:
    """Return an amount rounded to `digits`: up if it is spent, down if it is `left`."""
    # A decimal with so many digits, up to one rounding of float64 (a factor of 1 ± 2⁻⁵²), is shown as itself: 0.1 is
    # not shown as 0.100001.
    exactly = Fraction(amount)
    short = f"{float(exactly):.{digits}g}"
    if abs(Fraction(short) - exactly) * 2**52 <= exactly:
        return short
    rounding = Context(prec=digits, rounding=ROUND_FLOOR if left else ROUND_CEILING)
    rounded = rounding.divide(Decimal(exactly.numerator), Decimal(exactly.denominator))
    text = f"{float(rounded):.{digits}g}"
    return text if Fraction(text) == Fraction(rounded) else f"{rounded.normalize():e}"
