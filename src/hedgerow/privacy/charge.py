"""Charges: what was released, and what it cost in ε, δ and ρ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from hedgerow.errors import ArgumentError
from hedgerow.markup import table
from hedgerow.privacy.amounts import amount_text, exact, total
from hedgerow.privacy.unit import Unit
from hedgerow.privacy.zcdp import epsilon_at, pure_rho
from hedgerow.untrusted_text import parse_amount
from hedgerow.values import printable


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
    void : str or None
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
        If an amount is out of range, or `purpose`, `mechanism` or `void` is not text.
    """

    purpose: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    mechanism: str = ""
    void: str | None = None
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
        if not (self.void is None or (isinstance(self.void, str) and self.void)):
            raise ArgumentError("void must be None, or text that says why there is no guarantee.")
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
        data: dict[str, Any] = {
            "purpose": self.purpose,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "epsilon_exact": str(self.epsilon),
            "delta": float(self.delta),
            "delta_exact": str(self.delta),
        }
        if self.rho is not None:
            data |= {"rho": float(self.rho), "rho_exact": str(self.rho)}
        if self.void is not None:
            data["void"] = self.void
        if self.declared:
            data["declared"] = True
        if self.unit is not None:
            data["unit"] = self.unit.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises
        ------
        ValueError
            If an amount is out of range, or `to_dict` would have written something else.
        """
        charge = cls(
            purpose=data["purpose"],
            epsilon=parse_amount(data["epsilon_exact"]),
            delta=parse_amount(data["delta_exact"]),
            mechanism=data["mechanism"],
            void=data.get("void"),
            declared=data.get("declared", False),
            rho=parse_amount(data["rho_exact"]) if "rho_exact" in data else None,
            unit=Unit.from_dict(data["unit"]) if "unit" in data else None,
        )
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
        more += [f"no guarantee: {self.void}"] if self.void else []
        return amount_text(self.epsilon, digits=4), "; ".join([self.purpose + how, *more])

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self


def charges_html(charges: Sequence[Charge], *, mechanism: bool = True) -> str:
    """Return charges as an HTML table, escaped; nothing where there are none."""
    lines = [charge.entries(mechanism=mechanism) for charge in charges]
    return table(("epsilon", "charged for"), lines) if lines else ""


def renewed(charge: Charge, *, void: str | None = None) -> Charge:
    """Return a new, equal charge that no caller holds, with one more reason why it is void, if given."""
    if type(charge) is not Charge:
        raise ArgumentError(f"expected a Charge, got {type(charge).__name__}.")
    text = (charge.purpose, charge.mechanism, charge.void or "", void or "")
    if any(type(part) is not str for part in text):
        raise ArgumentError("expected a charge whose purpose, mechanism and void are text.")
    return Charge(
        charge.purpose,
        charge.epsilon,
        charge.delta,
        charge.mechanism,
        join_reasons(charge.void, void),
        declared=charge.declared,
        rho=charge.rho,
        unit=None if charge.unit is None else Unit(charge.unit.column, charge.unit.max_rows),
    )


def unit_of(charges: Sequence[Charge]) -> Unit | None:
    """Return the unit of privacy of charges, None for one row."""
    units = {charge.unit for charge in charges}
    if len(units) > 1:
        raise ArgumentError(
            "expected charges of one unit of privacy, got charges of different ones, which do not add up: "
            f"{'; and '.join(sorted('one row' if unit is None else unit.name for unit in units))}."
        )
    return next(iter(units), None)


def total_rho(charges: Sequence[Charge]) -> Fraction | None:
    """Return the ρ of charges together; None where that of one is not known."""
    known = [rho for charge in charges if (rho := charge.zcdp) is not None]
    return total(known) if len(known) == len(charges) else None


def least_epsilon(charges: Sequence[Charge], delta: Fraction) -> Fraction:
    """Return the least ε at which charges that were fixed beforehand are (ε, δ)-differentially private together.

    Of charges that an analyst chose by the answers, or stopped by them, it is a running figure and no bound.
    """
    check_delta(delta)
    rho, basic = total_rho(charges), total(charge.delta for charge in charges) <= delta
    known = [total(charge.epsilon for charge in charges)] if basic else []
    if not known and rho is None:
        raise ArgumentError("expected a delta as large as that of the charges, whose rho is not known; got a smaller.")
    return min([*known, *([] if rho is None else [epsilon_at(rho, delta)])])


def check_delta(delta: Fraction) -> None:
    """Check that a δ at which ρ is expressed as ε is in (0, 1)."""
    if not 0 < delta < 1:
        raise ArgumentError(f"delta must be in (0, 1), got {float(delta):g}.")


def join_reasons(*given: str | None) -> str | None:
    """Return why there is no guarantee, or None. A reason may hold several, between semicolons; duplicates are dropped.

    Examples
    --------
    >>> join_reasons("seeded", None, "domain taken from the data; seeded")
    'seeded; domain taken from the data'
    """
    parts = dict.fromkeys(part for reason in given if reason for part in reason.split("; "))
    return ("; ".join(parts) or "; ") if parts else None
