"""Privacy cards: what was spent on a model, on what, and what is guaranteed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

from hedgerow._version import __version__
from hedgerow.errors import ArgumentError
from hedgerow.privacy.amounts import amount_text, exact, total
from hedgerow.untrusted_text import parse_amount
from hedgerow.values import printable

NEIGHBOURS = "tables that differ by adding or removing one row that fits the schema"
SOFTWARE = f"hedgerow {__version__}"
"""What cards name as the software that made a model."""


@dataclass(frozen=True)
class Charge:
    """One entry of a budget's record: what was released and what it cost.

    Attributes
    ----------
    purpose : str
        What was released, in words.
    epsilon, delta : Fraction
        The privacy loss charged: ε >= 0 and finite, δ in [0, 1). A float is taken by its exact binary value.
    mechanism : str
        The mechanism with its sensitivity and scale; empty for a share handed on to another budget.
    void : str or None
        Why what was released has no guarantee; None where it has one.
    declared : bool
        Whether the charge is known from a schema's file only. Charges that differ in nothing else are equal.

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

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
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
        if self.void is not None:
            data["void"] = self.void
        if self.declared:
            data["declared"] = True
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
        )
        if charge.to_dict() != data:
            raise ArgumentError("the entries of a charge contradict one another, or some are unknown")
        return charge

    def line(self, *, mechanism: bool = True) -> str:
        """Return the charge as one line of a record."""
        how = f" ({self.mechanism})" if mechanism and self.mechanism else ""
        more = ["declared by the schema's file"] if self.declared else []
        more += [f"no guarantee: {self.void}"] if self.void else []
        return printable(f"  {amount_text(self.epsilon, digits=4):<10}  {'; '.join([self.purpose + how, *more])}")

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self


@dataclass(frozen=True)
class PrivacyCard:
    """What was spent on a model, on what, and what is guaranteed. The total and the guarantee follow from the fields.

    Attributes
    ----------
    charges : tuple of Charge
        What was released and what it cost; empty for a model learned without privacy.
    noise : str
        Where the randomness came from.
    software : str
        The version that made the model.
    void : str or None
        Why there is no guarantee; None where there is one. The reasons of the charges are added to it.
    notes : tuple of str
        What the guarantee does not cover.
    neighbours : str
        The neighbouring relation the guarantee speaks of.

    Raises
    ------
    ValueError
        If there are no charges and yet no reason why the guarantee is void, or they have no sum within
        bounds (see `amounts.total`).

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(PrivacyCard((Charge("counts", Fraction(1)),), noise="OpenDP", software="hedgerow"))
    guarantee   epsilon-differential privacy with epsilon = 1: adding or removing any one row that fits the schema
                changes the probability of any model by a factor of at most e^1
    neighbours  tables that differ by adding or removing one row that fits the schema
    spent       epsilon = 1, delta = 0
      1           counts
    noise       OpenDP
    software    hedgerow
    """

    charges: tuple[Charge, ...]
    noise: str
    software: str
    void: str | None = None
    notes: tuple[str, ...] = ()
    neighbours: str = NEIGHBOURS

    def __post_init__(self) -> None:
        object.__setattr__(self, "void", join_reasons(self.void, *(charge.void for charge in self.charges)))
        _ = self.epsilon, self.delta  # raises if a sum has too many digits
        if not self.charges and not self.void:
            raise ArgumentError("Expected a reason in `void` for a card without charges, got none.")

    @classmethod
    def none(cls, reason: str, *, software: str = SOFTWARE) -> Self:
        """Make the card of a model learned without privacy."""
        return cls((), noise="none", software=software, void=reason)

    @property
    def epsilon(self) -> Fraction | None:
        """The ε of all charges together; None for a model learned without privacy."""
        return total(charge.epsilon for charge in self.charges) if self.charges else None

    @property
    def delta(self) -> Fraction | None:
        """The δ of all charges together; None for a model learned without privacy."""
        return total(charge.delta for charge in self.charges) if self.charges else None

    @property
    def is_private(self) -> bool:
        """Whether the card carries a guarantee."""
        return self.void is None

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence; ``none`` with the reason where there is none."""
        if self.epsilon is None or self.void is not None:
            return f"none ({self.void})"
        more = f", plus {amount_text(self.delta)}" if self.delta else ""
        return (
            f"{self.headline}: adding or removing any one row that fits the schema changes the probability of any "
            f"model by a factor of at most e^{amount_text(self.epsilon)}{more}"
        )

    @property
    def headline(self) -> str:
        """The guarantee in a few words."""
        if self.epsilon is None or self.void is not None:
            return self.guarantee
        if self.delta:
            return (
                f"(epsilon, delta)-differential privacy with ({amount_text(self.epsilon)}, {amount_text(self.delta)})"
            )
        return f"epsilon-differential privacy with epsilon = {amount_text(self.epsilon)}"

    def __str__(self) -> str:
        lines = [f"guarantee   {self.guarantee}", f"neighbours  {self.neighbours}"]
        if self.epsilon is not None and self.delta is not None:
            lines.append(f"spent       epsilon = {amount_text(self.epsilon)}, delta = {amount_text(self.delta)}")
            lines += [charge.line() for charge in self.charges]
        lines += [f"noise       {self.noise}", f"software    {self.software}"]
        lines += [f"note        {note}" for note in self.notes]
        return "\n".join(map(printable, lines))

    def __repr__(self) -> str:
        return f"<PrivacyCard {printable(self.headline)}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON-ready data."""
        return {
            "guarantee": self.guarantee,
            "neighbours": self.neighbours,
            "epsilon": None if self.epsilon is None else float(self.epsilon),
            "epsilon_exact": None if self.epsilon is None else str(self.epsilon),
            "delta": None if self.delta is None else float(self.delta),
            "delta_exact": None if self.delta is None else str(self.delta),
            "charges": [charge.to_dict() for charge in self.charges],
            "noise": self.noise,
            "software": self.software,
            "void": self.void,
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote.

        Raises
        ------
        ValueError
            If the guarantee or the total does not follow from the charges.
        """
        card = cls(
            charges=tuple(Charge.from_dict(charge) for charge in data["charges"]),
            noise=str(data["noise"]),
            software=str(data["software"]),
            void=None if data["void"] is None else str(data["void"]),
            notes=tuple(str(note) for note in data["notes"]),
            neighbours=str(data["neighbours"]),
        )
        written = card.to_dict()
        for key in ("guarantee", "epsilon", "epsilon_exact", "delta", "delta_exact"):
            if data[key] != written[key]:
                raise ArgumentError(f"the card's {key} does not follow from its charges.")
        return card


def renewed(charge: Charge, *, void: str | None = None) -> Charge:
    """Return a new, equal charge that no caller holds, with one more reason why it is void, if given.

    Raises
    ------
    ValueError
        If it is not a valid `Charge`: the attributes of a frozen object can still be changed by force.
    """
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
    )


def join_reasons(*given: str | None) -> str | None:
    """Return why there is no guarantee, or None. A reason may hold several, between semicolons; duplicates are dropped.

    Examples
    --------
    >>> join_reasons("seeded", None, "domain taken from the data; seeded")
    'seeded; domain taken from the data'
    """
    parts = dict.fromkeys(part for reason in given if reason for part in reason.split("; "))
    return ("; ".join(parts) or "; ") if parts else None
