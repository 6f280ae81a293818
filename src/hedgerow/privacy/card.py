"""Privacy cards: the charges for a model and its privacy guarantee."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from hedgerow._version import __version__
from hedgerow.errors import ArgumentError
from hedgerow.privacy import wording
from hedgerow.privacy.amounts import Amount, both_amounts, exact, total
from hedgerow.privacy.charge import Charge, Reserve, charges_html, least_epsilon, reasons, total_rho, unit_of
from hedgerow.privacy.facts import Fact, fact, facts, facts_from_list
from hedgerow.privacy.unit import Unit
from hedgerow.text.language import _
from hedgerow.text.markup import table
from hedgerow.text.values import printable

_DERIVED_KEYS = ("guarantee", "unit", "epsilon", "epsilon_exact", "delta", "delta_exact", "void")  # from the charges
NO_NOISE = Fact("no_noise")  # the noise source of models learned without privacy
UNKNOWN_NOISE = Fact("unknown_noise")  # the noise source of models that were read from other formats
_OPERATING_SYSTEM = Fact("operating_system")
SOFTWARE = Fact("hedgerow", version=__version__)


def noise_fact(description: Fact | str, charges: Sequence[Charge]) -> Fact:
    """Return the source of the noise of charges, given the description of their noise source.

    Secure K-norm noise and Cauchy noise use the operating system's generator. OpenDP draws all other secure noise,
    including the noise of attributes that are `alone` next to groups with K-norm noise.
    """
    source = fact(description, "noise", "description")
    mechanisms = [charge.mechanism for charge in charges if charge.mechanism is not None]
    own = [
        mechanism
        for mechanism in mechanisms
        if mechanism.code == "shared_histograms" or mechanism.get("noise") == "cauchy"
    ]
    if source.code != "opendp" or not own:
        return source
    is_all = len(own) == len(mechanisms) and not any(mechanism.get("alone") for mechanism in own)
    return _OPERATING_SYSTEM if is_all else Fact("several", sources=(source, _OPERATING_SYSTEM))


@dataclass(frozen=True)
class PrivacyCard:
    """The charges for a model, its releases and its guarantee. Totals and guarantee follow from the fields.

    A field that holds a fact also accepts text, which is stored as a fact with the code ``text``.

    Attributes
    ----------
    charges : tuple of Charge
        The releases and their cost; empty for a model learned without privacy.
    noise : Fact
        The source of randomness.
    software : Fact
        The software that made the model.
    no_guarantee : tuple of Fact
        The reasons why there is no guarantee, including the reasons of the charges; empty if there is a guarantee.
    notes : tuple of Fact
        The limits of the guarantee.
    reserve : Charge or None
        The part of the budget that was fixed beforehand but is not among the charges. It consists of the charges for
        the remaining questions of an oracle, and of the ρ that omitted steps could have cost. None if there is no such
        part.

    Raises
    ------
    ValueError
        If there are neither charges nor reasons in `no_guarantee`, or if charges have different units of privacy. If a
        sum of charges has too many digits (see `amounts.total`).

    Examples
    --------
    >>> from fractions import Fraction
    >>> print(PrivacyCard((Charge("counts", Fraction(1)),), noise="OpenDP", software="hedgerow"))
    guarantee   epsilon-differential privacy with epsilon = 1: adding or removing any one row that fits the schema
                changes the probability of any set of outputs by a factor of at most e^1
    neighbours  tables that differ by adding or removing one row that fits the schema
    spent       epsilon = 1, delta = 0, rho = 0.462122
      1           counts
    noise       OpenDP
    software    hedgerow
    """

    charges: tuple[Charge, ...]
    noise: Fact
    software: Fact
    no_guarantee: tuple[Fact, ...] = ()
    notes: tuple[Fact, ...] = ()
    reserve: Charge | None = None

    def __post_init__(self) -> None:
        all_reasons = reasons(self.no_guarantee, *(charge.no_guarantee for charge in self.charges))
        object.__setattr__(self, "no_guarantee", all_reasons)
        object.__setattr__(self, "noise", fact(self.noise, "noise", "noise"))
        object.__setattr__(self, "software", fact(self.software, "software", "software"))
        object.__setattr__(self, "notes", facts(self.notes, "note", "notes"))
        if type(self.reserve) is Charge:
            object.__setattr__(self, "reserve", Reserve(**vars(self.reserve)))
        _sums = self.epsilon, self.delta, self.rho, unit_of(self.planned)  # raises an error if they do not add up
        if not self.charges and not self.no_guarantee:
            raise ArgumentError("A card without charges needs a reason in `no_guarantee`, got none.")

    @classmethod
    def none(cls, reason: Fact | str, *, software: Fact | str = SOFTWARE) -> Self:
        """Return the card of a model learned without privacy."""
        return cls((), NO_NOISE, fact(software, "software", "software"), reasons(reason))

    @property
    def epsilon(self) -> Fraction | None:
        """The sum of all ε; None for a model learned without privacy."""
        return total(charge.epsilon for charge in self.charges) if self.charges else None

    @property
    def delta(self) -> Fraction | None:
        """The sum of all δ; None for a model learned without privacy."""
        return total(charge.delta for charge in self.charges) if self.charges else None

    @property
    def unit(self) -> Unit | None:
        """The unit of privacy; None if it is a row."""
        return unit_of(self.charges)

    @property
    def neighbours(self) -> str:
        """The neighbouring relation of the guarantee, in words."""
        return wording.neighbours(self.unit)

    @property
    def no_guarantee_reason(self) -> str | None:
        """The reasons why there is no guarantee, in words; None if there is a guarantee."""
        return wording.of_reasons(self.no_guarantee)

    @property
    def rho(self) -> Fraction | None:
        """The sum of all ρ (zCDP); None if the ρ of a charge is not known, or there are no charges."""
        return total_rho(self.charges) if self.charges else None

    @property
    def planned(self) -> tuple[Charge, ...]:
        """The charges and the reserve, which were fixed before the first answer."""
        return (*self.charges, *([] if self.reserve is None else [self.reserve]))

    def epsilon_at(self, delta: Amount) -> Fraction | None:
        """Return the smallest proven ε at which the charges and the reserve are (ε, δ)-differentially private.

        This is the sum of all ε or the ε that follows from the sum of all ρ, whichever is less, including the reserve.
        It is a bound only for releases that were fixed beforehand. If answers decided which releases came next, use
        `Budget.epsilon_at`, which applies to the cap. Raises ValueError if δ is not in (0, 1).

        Examples
        --------
        >>> card = PrivacyCard((Charge("draw", Fraction(1, 2), rho=Fraction(1, 32)),) * 10, "OpenDP", "hedgerow")
        >>> float(card.epsilon), float(card.rho), round(float(card.epsilon_at(1e-6)), 2)
        (5.0, 0.3125, 4.01)
        """
        return least_epsilon(self.planned, exact(delta, "delta")) if self.charges else None

    @property
    def is_private(self) -> bool:
        """True if the card has a guarantee."""
        return not self.no_guarantee

    @property
    def has_noise(self) -> bool:
        """True if the card states a source of noise."""
        return self.noise not in (NO_NOISE, UNKNOWN_NOISE)

    @property
    def guarantee(self) -> str:
        """The guarantee in one sentence, or ``none`` with the reason."""
        if self.epsilon is None or self.no_guarantee:
            return self.headline
        return wording.guarantee(self.epsilon, self.delta, self.unit)

    @property
    def headline(self) -> str:
        """The guarantee in a few words."""
        return wording.headline(self.epsilon, self.delta, self.no_guarantee)

    def __str__(self) -> str:
        head, foot = ([f"{name:<10}  {text}" for name, text in facts] for facts in self._facts)
        return "\n".join(map(printable, [*head, *(charge.line() for charge in self.charges), *foot]))

    @property
    def _facts(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        head = [(_("guarantee"), self.guarantee), (_("neighbours"), self.neighbours)]
        if self.epsilon is not None and self.delta is not None:
            head.append((_("spent"), wording.spent(self.epsilon, self.delta, self.rho)))
        if self.reserve is not None:
            text = wording.reserve(self.reserve.query, self.reserve.epsilon, self.reserve.zcdp)
            head.append((_("reserve"), text))
        notes = [(_("note"), note.words) for note in self.notes]
        return head, [(_("noise"), self.noise.words), (_("software"), self.software.words), *notes]

    def to_html(self) -> str:
        """Return the card as an HTML fragment, escaped."""
        head, foot = self._facts
        caption = _("Privacy card")
        return f"{table((), head, caption=caption)}{charges_html(self.charges)}{table((), foot)}"

    def _repr_html_(self) -> str:
        return self.to_html()

    def __repr__(self) -> str:
        return f"<PrivacyCard {printable(self.headline)}>"

    def contradiction(self, charges: Sequence[Charge], no_guarantee: Sequence[Fact]) -> str | None:
        """Return a description of a contradiction between the card and its schema's charges; None if they agree."""
        if self.no_guarantee:
            return None
        if no_guarantee:
            return "its card claims a guarantee, but its schema has none"
        if self.epsilon is None or self.delta is None or not charges:
            return None
        if unit_of(charges) != self.unit:
            return "its card has another unit of privacy than the charges for the cut points of its schema"
        epsilon = total(charge.epsilon for charge in charges)
        delta = total(charge.delta for charge in charges)
        rho = total_rho(charges)
        less_rho = self.rho is not None and (rho is None or self.rho < rho)  # an unknown loss may be larger
        if self.epsilon < epsilon or self.delta < delta or less_rho:
            return "its card claims less privacy loss than the cut points of its schema cost"
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return the card as JSON-ready data."""
        in_rho = any(charge.rho is not None for charge in self.charges)  # otherwise ρ follows from the charges' ε
        kind = "none" if self.no_guarantee or self.epsilon is None else "approximate" if self.delta else "pure"
        return {
            "guarantee": kind,
            "unit": None if self.unit is None else self.unit.to_dict(),
            **both_amounts("epsilon", self.epsilon),
            **both_amounts("delta", self.delta),
            **(both_amounts("rho", self.rho) if in_rho else {}),
            "charges": [charge.to_dict() for charge in self.charges],
            **({} if self.reserve is None else {"reserve": self.reserve.to_dict()}),
            "noise": self.noise.to_dict(),
            "software": self.software.to_dict(),
            "void": [reason.to_dict() for reason in self.no_guarantee],
            "notes": [note.to_dict() for note in self.notes],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a card that `to_dict` wrote.

        Raises ValueError if the guarantee or a total does not follow from the charges, or a fact has no known form.
        """
        card = cls(
            charges=tuple(Charge.from_dict(charge) for charge in data["charges"]),
            noise=Fact.from_dict(data["noise"], "noise"),
            software=Fact.from_dict(data["software"], "software"),
            no_guarantee=facts_from_list(data["void"], "reason"),
            notes=facts_from_list(data["notes"], "note"),
            reserve=Reserve.from_dict(data["reserve"]) if "reserve" in data else None,
        )
        written = card.to_dict()
        for key in (*_DERIVED_KEYS, *(key for key in ("rho", "rho_exact") if key in written or key in data)):
            if data[key] != written.get(key):
                raise ArgumentError(f"the card's {key} does not follow from its charges.")
        return card
