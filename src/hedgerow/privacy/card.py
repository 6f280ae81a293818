"""The privacy card: what a released model says of its own privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

NEIGHBOURS = "tables that differ by adding or removing one row that fits the schema"


@dataclass(frozen=True)
class Charge:
    """One entry of a budget's record: what was released and what it cost.

    Attributes
    ----------
    purpose : str
        What was released, in words.
    epsilon, delta : Fraction
        The privacy loss charged.
    mechanism : str
        The mechanism with its sensitivity and scale; empty for a share handed on to another budget.
    """

    purpose: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    mechanism: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the charge as JSON-ready data; ``*_exact`` are the fractions that add up."""
        return {
            "purpose": self.purpose,
            "mechanism": self.mechanism,
            "epsilon": float(self.epsilon),
            "epsilon_exact": str(self.epsilon),
            "delta": float(self.delta),
            "delta_exact": str(self.delta),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
        return cls(
            purpose=str(data["purpose"]),
            epsilon=Fraction(data["epsilon_exact"]),
            delta=Fraction(data["delta_exact"]),
            mechanism=str(data["mechanism"]),
        )


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
        Why there is no guarantee; None where there is one.
    notes : tuple of str
        What the guarantee does not cover.
    neighbours : str
        The neighbouring relation the guarantee speaks of.

    Raises
    ------
    ValueError
        If there are no charges and yet no reason why the guarantee is void.

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
        if not self.charges and not self.void:
            raise ValueError("a card without a charge has no guarantee; say why it is void.")

    @classmethod
    def none(cls, reason: str, *, software: str) -> Self:
        """Make the card of a model learned without privacy."""
        return cls((), noise="none", software=software, void=reason)

    @property
    def epsilon(self) -> Fraction | None:
        """The ε of all charges together; None for a model learned without privacy."""
        return sum((charge.epsilon for charge in self.charges), Fraction(0)) if self.charges else None

    @property
    def delta(self) -> Fraction | None:
        """The δ of all charges together; None for a model learned without privacy."""
        return sum((charge.delta for charge in self.charges), Fraction(0)) if self.charges else None

    @property
    def is_private(self) -> bool:
        """Whether the card carries a guarantee."""
        return self.void is None

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence; ``none`` with the reason where there is none."""
        if self.epsilon is None or self.void is not None:
            return f"none ({self.void})"
        more = f", plus {_shown(self.delta)}" if self.delta else ""
        return (
            f"{self.headline}: adding or removing any one row that fits the schema changes the probability of any "
            f"model by a factor of at most e^{_shown(self.epsilon)}{more}"
        )

    @property
    def headline(self) -> str:
        """The guarantee in a few words."""
        if self.epsilon is None or self.void is not None:
            return self.guarantee
        if self.delta:
            return f"(epsilon, delta)-differential privacy with ({_shown(self.epsilon)}, {_shown(self.delta)})"
        return f"epsilon-differential privacy with epsilon = {_shown(self.epsilon)}"

    def __str__(self) -> str:
        lines = [f"guarantee   {self.guarantee}", f"neighbours  {self.neighbours}"]
        if self.epsilon is not None and self.delta is not None:
            lines.append(f"spent       epsilon = {_shown(self.epsilon)}, delta = {_shown(self.delta)}")
            lines += [
                f"  {float(charge.epsilon):<10.4g}  {charge.purpose}"
                + (f" ({charge.mechanism})" if charge.mechanism else "")
                for charge in self.charges
            ]
        lines += [f"noise       {self.noise}", f"software    {self.software}"]
        lines += [f"note        {note}" for note in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PrivacyCard {self.headline}>"

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
            If the guarantee or the total is not what the charges give.
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
                raise ValueError(f"the card's {key} is not what its charges give.")
        return card


def _shown(amount: Fraction) -> str:
    """Return an amount in digits, never less than it is."""
    short = f"{float(amount):.6g}"
    if Fraction(short) == amount or float(short) == float(amount):
        return short
    rounded = float(amount)
    return repr(rounded if Fraction(rounded) >= amount else math.nextafter(rounded, math.inf))
