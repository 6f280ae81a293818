"""Charges: releases with their cost in ε, δ and ρ."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

from hedgerow.boundary.untrusted_text import parse_amount
from hedgerow.errors import ArgumentError
from hedgerow.privacy import wording
from hedgerow.privacy.amounts import amount_text, both_amounts, exact, total
from hedgerow.privacy.facts import Fact, fact, facts, facts_from_list
from hedgerow.privacy.gdp import PER_DRAW, certifies
from hedgerow.privacy.unit import Unit, rows_of
from hedgerow.privacy.zcdp import epsilon_at, pure_rho
from hedgerow.text.language import _, number
from hedgerow.text.markup import table
from hedgerow.text.values import printable

_ROUNDED = 1 + Fraction(1, 10**9)  # the factor by which the ρ of rounded noise may exceed the ρ of a series
MOST_STEPS = 255  # the largest weight of a row in steps: a row counts as at most 255 rows


@dataclass(frozen=True)
class Charge:
    """An entry of a budget: a release, its mechanism and its privacy loss.

    Text is accepted as `query`, `mechanism` and `no_guarantee`, and is stored as a fact with the code ``text``.

    Attributes
    ----------
    query : Fact
        The release.
    epsilon, delta : Fraction
        The privacy loss charged: ε >= 0 and finite, δ in [0, 1).
    mechanism : Fact or None
        The mechanism with its sensitivity and scale; None for an amount that was allocated to another budget.
    no_guarantee : tuple of Fact
        The reasons why the release has no guarantee; empty if it has a guarantee.
    declared : bool
        Whether the charge is known only from a schema file. Equality of charges ignores this field.
    rho : Fraction or None
        The loss ρ in zero-concentrated differential privacy, if it is less than the ρ that follows from ε; see `zcdp`.
    unit : Unit or None
        The unit of privacy of the loss; None for one row.

    Raises
    ------
    ValueError
        If an amount is out of range, or if the amounts contradict the mechanism. If `query`, `mechanism` or
        `no_guarantee` is neither text nor a fact of this kind.
    """

    query: Fact
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    mechanism: Fact | None = None
    no_guarantee: tuple[Fact, ...] = ()
    declared: bool = field(default=False, compare=False)
    rho: Fraction | None = None
    unit: Unit | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", *(["rho"] if self.rho is not None else [])):
            object.__setattr__(self, name, exact(getattr(self, name), name))
        if self.delta >= 1:
            raise ArgumentError(f"delta must be in [0, 1), got {float(self.delta):g}.")
        object.__setattr__(self, "query", fact(self.query, "query", "query"))
        how: Any = self.mechanism
        object.__setattr__(self, "mechanism", None if how is None or how == "" else fact(how, "mechanism", "mechanism"))
        object.__setattr__(self, "no_guarantee", reasons(self.no_guarantee))
        if not isinstance(self.declared, bool):
            raise ArgumentError(f"declared must be True or False, got a {type(self.declared).__name__}.")
        if not (self.unit is None or type(self.unit) is Unit):
            raise ArgumentError(f"unit must be a Unit or None, got a {type(self.unit).__name__}.")
        if not self._fits_mechanism:
            raise ArgumentError(f"epsilon={float(self.epsilon):.6g} is not the loss of the mechanism for a unit.")
        if not self._fits_series:
            raise ArgumentError("epsilon, delta, rho and unit must match the noise of the series.")
        if not self._fits_attributes:
            raise ArgumentError("groups and alone must match the numbers of attributes and bins.")

    @property
    def _fits_mechanism(self) -> bool:
        """Whether ε is the loss of the mechanism times the rows of a unit times the steps of a weight."""
        loss = None if self.mechanism is None else row_loss(self.mechanism)
        if self.mechanism is None or loss is None or not self.epsilon:
            return True  # a release without a guarantee may have been charged nothing
        if self.mechanism.code == "exponential_choice":  # its weight is a float, which is rounded down
            return loss * rows_of(self.unit) <= self.epsilon
        steps = self.epsilon / (loss * rows_of(self.unit)) if loss else Fraction(0)
        return steps.denominator == 1 and 1 <= steps <= MOST_STEPS

    @property
    def _fits_series(self) -> bool:
        """Whether ε, δ, ρ, the noise and the unit match, if the mechanism belongs to a series of releases."""
        fact = self.mechanism
        if fact is None or fact.code not in ("discrete_gaussian", "gumbel_peeling") or not self.epsilon:
            return True  # the first release is charged for the whole series
        if fact["number"] != 1 or not 0 < fact["parts"] <= fact["answers"] or fact["rows"] != rows_of(self.unit):
            return False
        mu, draws = fact.get("mu"), fact.get("draws")
        squares = fact["answers"] * fact["changes"] * fact["rows"] ** 2 * (1 if draws is None else draws)
        allowed = Fraction(fact["scale"]) ** 2 * fact["parts"]
        if mu is None:
            return squares > 0 and (self.rho is None or squares <= 2 * self.rho * _ROUNDED * allowed)
        squares *= 1 if draws is None else PER_DRAW
        is_noise = 0 < squares <= mu**2 * allowed
        return is_noise and self.rho == mu**2 / 2 and certifies(mu, self.epsilon, self.delta)

    @property
    def _fits_attributes(self) -> bool:
        """Whether the numbers of attributes, groups and bins of shared noise match."""
        fact = self.mechanism
        if fact is None or fact.code != "shared_histograms":
            return True
        groups, alone = fact.get("groups", 2), fact.get("alone", 1)
        in_groups = fact["attributes"] - fact.get("alone", 0)
        return groups >= 2 and alone >= 1 and fact.get("groups", 1) <= in_groups <= fact["bins"]

    @property
    def purpose(self) -> str:
        """The release, in words."""
        return self.query.words

    @property
    def no_guarantee_reason(self) -> str | None:
        """The reasons why the release has no guarantee, in words; None if it has a guarantee."""
        return wording.of_reasons(self.no_guarantee)

    @property
    def zcdp(self) -> Fraction | None:
        """The loss ρ: `rho` or the ρ that follows from ε, whichever is less; None if neither is known (δ > 0)."""
        known = [] if self.rho is None else [self.rho]
        return min([*known, *([] if self.delta else [pure_rho(self.epsilon)])], default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the charge as JSON-ready data; ``*_exact`` are the exact fractions."""
        data: dict[str, Any] = {"query": self.query.to_dict()}
        if self.mechanism is not None:
            data["mechanism"] = self.mechanism.to_dict()
        data |= both_amounts("epsilon", self.epsilon) | both_amounts("delta", self.delta)
        if self.rho is not None:
            data |= both_amounts("rho", self.rho)
        if self.no_guarantee:
            data["void"] = [reason.to_dict() for reason in self.no_guarantee]
        if self.declared:
            data["declared"] = True
        if self.unit is not None:
            data["unit"] = self.unit.to_dict()
        return data

    def exact_dict(self) -> dict[str, Any]:
        """Return the charge as data without floats, which have a unique text."""
        data = self.to_dict()
        return {key.removesuffix("_exact"): value for key, value in data.items() if not isinstance(value, float)}

    @classmethod
    def parsed(cls, data: Mapping[str, Any], suffix: str = "") -> Self:
        """Return the charge described by `data`, in which the keys of amounts have a suffix; other keys are ignored."""
        rho = f"rho{suffix}"
        return cls(
            query=Fact.from_dict(data["query"], "query"),
            epsilon=parse_amount(data[f"epsilon{suffix}"]),
            delta=parse_amount(data[f"delta{suffix}"]),
            mechanism=Fact.from_dict(data["mechanism"], "mechanism") if "mechanism" in data else None,
            no_guarantee=facts_from_list(data["void"], "reason") if "void" in data else (),
            declared=data.get("declared", False),
            rho=None if data.get(rho) is None else parse_amount(data[rho]),
            unit=Unit.from_dict(data["unit"]) if "unit" in data else None,
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read a charge that `to_dict` wrote; ValueError for other data or amounts that are out of range."""
        charge = cls.parsed(data, "_exact")
        if charge.to_dict() != data:
            raise ArgumentError("the entries of a charge contradict each other, or some are unknown")
        return charge

    def line(self, *, mechanism: bool = True) -> str:
        """Return the charge as a line of text."""
        amount, words = self.entries(mechanism=mechanism)
        return printable(f"  {amount:<10}  {words}")

    def entries(self, *, mechanism: bool = True) -> tuple[str, str]:
        """Return ε, rounded up, and the release in words, with its mechanism if requested."""
        details = f" ({self.mechanism.words})" if mechanism and self.mechanism is not None else ""
        more = [_("declared by the schema's file")] if self.declared else []
        more += [_("no guarantee: {reason}", reason=self.no_guarantee_reason)] if self.no_guarantee else []
        return number(amount_text(self.epsilon, digits=4)), "; ".join([self.purpose + details, *more])

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self


class Reserve(Charge):
    """A planned charge that was not made, or not yet made. Its ρ is the stated ρ, even if ε implies less."""

    @property
    def zcdp(self) -> Fraction | None:
        return super().zcdp if self.rho is None else self.rho


def charges_html(charges: Sequence[Charge], *, mechanism: bool = True) -> str:
    lines = [charge.entries(mechanism=mechanism) for charge in charges]
    return table((_("epsilon"), _("charged for")), lines) if lines else ""


def reasons(*parts: Any) -> tuple[Fact, ...]:
    """Return the reasons why there is no guarantee without duplicates, from text, facts, sequences of facts or None."""
    unique = tuple(dict.fromkeys(reason for part in parts for reason in facts(part, "reason", "no_guarantee")))
    if any(reason.code == "text" and not reason["text"] for reason in unique):
        raise ArgumentError("no_guarantee must be None, or give the reasons as text or facts; got an empty text.")
    return unique


def row_loss(mechanism: Fact) -> Fraction | None:
    """Return the loss ε of a mechanism for one row, from its scale or weight; 0 if it states no bound.

    The result is None for a mechanism whose ε does not follow from its fields. Such a mechanism belongs to a series of
    answers, or is run as it was published.
    """
    match mechanism.code:
        case "permute_and_flip" | "gumbel_choice":
            changed = mechanism["directions"]
        case "discrete_laplace" | "shared_histograms":
            changed = mechanism["sensitivity"]
        case "model_draw":
            return mechanism["weight"] + mechanism["kept"]
        case "joint_quantiles":
            return 2 * mechanism["sensitivity"] * mechanism["weight"] + mechanism["kept"]
        case "exponential_choice":
            return 2 * Fraction(mechanism["sensitivity"]) * Fraction(mechanism["weight"])
        case _:
            return None
    return changed / mechanism["scale"] if mechanism["scale"] else Fraction(0)


def amounts_of(charge: Charge) -> Charge:
    """Return a charge without unit and mechanism, for an account whose unit is checked elsewhere."""
    return replace(charge, unit=None, mechanism=None)


def renewed(charge: Charge, *, no_guarantee: Iterable[Fact] | Fact | str | None = None) -> Charge:
    """Return a copy of a charge, with further reasons why it has no guarantee."""
    if type(charge) not in (Charge, Reserve):
        raise ArgumentError(f"expected a Charge, got {type(charge).__name__}.")
    why, unit = reasons(charge.no_guarantee, no_guarantee), charge.unit
    return replace(charge, no_guarantee=why, unit=None if unit is None else replace(unit))


def unit_of(charges: Sequence[Charge]) -> Unit | None:
    """Return the common unit of privacy of charges, None for one row; ArgumentError if units differ."""
    units = {charge.unit for charge in charges}
    if len(units) > 1:
        raise ArgumentError(
            "charges must have the same unit of privacy, since losses of different units do not add up; got "
            f"{'; and '.join(sorted(wording.all_rows(None) if unit is None else unit.name for unit in units))}."
        )
    return next(iter(units), None)


def check_total(charges: Sequence[Charge]) -> None:
    """Raise ArgumentError if charges have different units, or their sums have too many digits."""
    unit_of(charges)
    total(charge.epsilon for charge in charges)
    total(charge.delta for charge in charges)
    total_rho(charges)


def total_rho(charges: Sequence[Charge]) -> Fraction | None:
    """Return the sum of the ρ of charges; None if the ρ of a charge is not known."""
    known = [rho for charge in charges if (rho := charge.zcdp) is not None]
    return total(known) if len(known) == len(charges) else None


def least_epsilon(charges: Sequence[Charge], delta: Fraction) -> Fraction:
    """Return the smallest proven ε at which charges that were fixed beforehand are together (ε, δ)-private."""
    # It is no bound for charges that an analyst chose, or ended, depending on the answers.
    check_delta(delta)
    rho, basic = total_rho(charges), total(charge.delta for charge in charges) <= delta
    known = [total(charge.epsilon for charge in charges)] if basic else []
    if not known and rho is None:
        least, given = amount_text(total(charge.delta for charge in charges)), amount_text(delta)
        raise ArgumentError(f"delta must be at least {least}, the sum of the charges without a known rho, got {given}.")
    return min([*known, *([] if rho is None else [epsilon_at(rho, delta)])])


def check_delta(delta: Fraction) -> None:
    if not 0 < delta < 1:
        raise ArgumentError(f"delta must be in (0, 1), got {float(delta):g}.")
