"""The privacy card: what a released model says of its own privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

NEIGHBOURS = "tables that differ by adding or removing one row"


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
    """What was spent on a model, on what, and what is guaranteed.

    Attributes
    ----------
    guarantee : str
        The guarantee in one sentence; starts with ``none`` where there is none, with the reason.
    epsilon, delta : Fraction or None
        The total charged. None for a model that was learned without privacy.
    charges : tuple of Charge
        What the total was charged for; their sum is the total.
    noise : str
        Where the randomness came from.
    software : str
        The versions that made the model.
    notes : tuple of str
        What the guarantee does not cover.
    neighbours : str
        The neighbouring relation the guarantee speaks of.

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(PrivacyCard.pure(Fraction(1), (Charge("counts", Fraction(1)),), noise="OpenDP", software="hedgerow"))
    guarantee   epsilon-differential privacy with epsilon = 1: adding or removing any one row changes the probability
                of any release by a factor of at most e^1
    neighbours  tables that differ by adding or removing one row
    spent       epsilon = 1, delta = 0
      1           counts
    noise       OpenDP
    software    hedgerow
    """

    guarantee: str
    epsilon: Fraction | None
    delta: Fraction | None
    charges: tuple[Charge, ...]
    noise: str
    software: str
    notes: tuple[str, ...] = ()
    neighbours: str = NEIGHBOURS

    @classmethod
    def pure(
        cls,
        epsilon: Fraction,
        charges: tuple[Charge, ...],
        *,
        noise: str,
        software: str,
        void: str | None = None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Make the card of a pure ε-DP release, or of one whose guarantee is void for the reason given."""
        shown = f"{float(epsilon):.6g}"
        guarantee = (
            f"epsilon-differential privacy with epsilon = {shown}: adding or removing any one row changes "
            f"the probability of any release by a factor of at most e^{shown}"
        )
        return cls(
            guarantee=f"none ({void})" if void else guarantee,
            epsilon=epsilon,
            delta=Fraction(0),
            charges=charges,
            noise=noise,
            software=software,
            notes=notes,
        )

    @classmethod
    def none(cls, reason: str, *, software: str) -> Self:
        """Make the card of a model learned without privacy."""
        return cls(f"none ({reason})", None, None, (), noise="none", software=software)

    @property
    def is_private(self) -> bool:
        """Whether the card carries a guarantee."""
        return not self.guarantee.startswith("none")

    @property
    def headline(self) -> str:
        """The guarantee in a few words."""
        return self.guarantee.split(":")[0] if self.is_private else self.guarantee

    def __str__(self) -> str:
        lines = [f"guarantee   {self.guarantee}", f"neighbours  {self.neighbours}"]
        if self.epsilon is not None and self.delta is not None:
            lines.append(f"spent       epsilon = {float(self.epsilon):.6g}, delta = {float(self.delta):.6g}")
            lines += [
                f"  {float(charge.epsilon):<10.4g}  {charge.purpose}"
                + (f" ({charge.mechanism})" if charge.mechanism else "")
                for charge in self.charges
            ]
        lines += [f"noise       {self.noise}", f"software    {self.software}"]
        lines += [f"note        {note}" for note in self.notes]
        return "\n".join(lines)

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
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""

        def exact(key: str) -> Fraction | None:
            return None if data[key] is None else Fraction(data[key])

        return cls(
            guarantee=str(data["guarantee"]),
            epsilon=exact("epsilon_exact"),
            delta=exact("delta_exact"),
            charges=tuple(Charge.from_dict(charge) for charge in data["charges"]),
            noise=str(data["noise"]),
            software=str(data["software"]),
            notes=tuple(str(note) for note in data["notes"]),
            neighbours=str(data["neighbours"]),
        )
