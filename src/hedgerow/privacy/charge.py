"""Charges: what was released, and what it cost in ε, δ and ρ."""

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

_ROUNDED = 1 + Fraction(1, 10**9)  # of ρ: what the noise of a series may be short of it by rounding
MOST_STEPS = 255  # of a weight: a row is counted as so many rows at most


@dataclass(frozen=True)
class Charge:
    """One entry of a budget's record: what was released, by which mechanism, and what it cost.

    Text as `query`, `mechanism` or `no_guarantee` is your own words, and kept as a fact of the code ``text``.

    Attributes
    ----------
    query : Fact
        What was released.
    epsilon, delta : Fraction
        The privacy loss charged: ε >= 0 and finite, δ in [0, 1).
    mechanism : Fact or None
        The mechanism with its sensitivity and scale; None for a share handed on to another budget.
    no_guarantee : tuple of Fact
        Why the release has no guarantee; empty if it has one.
    declared : bool
        Whether the charge is known from a schema's file only. Charges that differ in nothing else are equal.
    rho : Fraction or None
        The loss ρ in zero-concentrated differential privacy, where it is not what follows from ε; see `zcdp`.
    unit : Unit or None
        What the loss is that of: all rows of one unit; None for one row.

    Raises
    ------
    ValueError
        If an amount is out of range, or `query`, `mechanism` or `no_guarantee` is neither text nor such a fact.
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
            raise ArgumentError("epsilon must be what the mechanism costs a unit, got another amount.")
        if not self._fits_series:
            raise ArgumentError(
                "epsilon, delta, rho and the unit must match the noise of the series; one of them does not."
            )
        if not self._fits_attributes:
            raise ArgumentError("groups and alone must match the numbers of attributes and bins; one of them does not.")

    @property
    def _fits_mechanism(self) -> bool:
        """Whether ε is what the mechanism costs, times the rows of a unit, times the steps of a weight."""
        loss = None if self.mechanism is None else row_loss(self.mechanism)
        if loss is None or not self.epsilon:  # nothing was charged: a release without a guarantee
            return True
        steps = self.epsilon / (loss * rows_of(self.unit)) if loss else Fraction(0)
        return steps.denominator == 1 and 1 <= steps <= MOST_STEPS

    @property
    def _fits_series(self) -> bool:
        """Whether ε, δ, ρ, the noise and the unit are those of a series of releases, if the mechanism is of one."""
        how = self.mechanism
        if how is None or how.code not in ("discrete_gaussian", "gumbel_peeling") or not self.epsilon:
            return True  # all is charged with the first release
        if how["number"] != 1 or not 0 < how["parts"] <= how["answers"] or how["rows"] != rows_of(self.unit):
            return False
        mu, draws = how.get("mu"), how.get("draws")
        squares = how["answers"] * how["changes"] * how["rows"] ** 2 * (1 if draws is None else draws)
        allowed = Fraction(how["scale"]) ** 2 * how["parts"]
        if mu is None:
            return squares > 0 and (self.rho is None or squares <= 2 * self.rho * _ROUNDED * allowed)
        squares *= 1 if draws is None else PER_DRAW
        is_noise = 0 < squares <= mu**2 * allowed
        return is_noise and self.rho == mu**2 / 2 and certifies(mu, self.epsilon, self.delta)

    @property
    def _fits_attributes(self) -> bool:
        """Whether the attributes of shared noise are those of its groups, and those that are alone."""
        how = self.mechanism
        if how is None or how.code != "shared_histograms":
            return True
        groups, alone = how.get("groups", 2), how.get("alone", 1)
        in_groups = how["attributes"] - how.get("alone", 0)
        return groups >= 2 and alone >= 1 and how.get("groups", 1) <= in_groups <= how["bins"]

    @property
    def purpose(self) -> str:
        """What was released, in words."""
        return self.query.words

    @property
    def no_guarantee_reason(self) -> str | None:
        """Why the release has no guarantee, in words; None if it has one."""
        return wording.of_reasons(self.no_guarantee)

    @property
    def zcdp(self) -> Fraction | None:
        """The loss ρ: the least of `rho` and what follows from ε; None where it is not known, as δ is not 0."""
        known = [] if self.rho is None else [self.rho]
        return min([*known, *([] if self.delta else [pure_rho(self.epsilon)])], default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the charge as JSON-ready data; ``*_exact`` are the fractions that add up."""
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
        """Return the charge as data that have one text: amounts as fractions, and no float."""
        data = self.to_dict()
        return {key.removesuffix("_exact"): value for key, value in data.items() if not isinstance(value, float)}

    @classmethod
    def parsed(cls, data: Mapping[str, Any], suffix: str = "") -> Self:
        """Return the charge of data whose amounts are text, under the names of the fields with a suffix; unchecked."""
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
        how = f" ({self.mechanism.words})" if mechanism and self.mechanism is not None else ""
        more = [_("declared by the schema's file")] if self.declared else []
        more += [_("no guarantee: {reason}", reason=self.no_guarantee_reason)] if self.no_guarantee else []
        return number(amount_text(self.epsilon, digits=4)), "; ".join([self.purpose + how, *more])

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Mapping[int, Any]) -> Self:
        return self


class Reserve(Charge):
    """What may still be charged, or would have been for other answers: its ρ is what is said, whatever its ε."""

    @property
    def zcdp(self) -> Fraction | None:
        return super().zcdp if self.rho is None else self.rho


def charges_html(charges: Sequence[Charge], *, mechanism: bool = True) -> str:
    lines = [charge.entries(mechanism=mechanism) for charge in charges]
    return table((_("epsilon"), _("charged for")), lines) if lines else ""


def reasons(*given: Any) -> tuple[Fact, ...]:
    """Return why there is no guarantee, each reason once, from text, facts, sequences of them or None."""
    found = tuple(dict.fromkeys(one for part in given for one in facts(part, "reason", "no_guarantee")))
    if any(one.code == "text" and not one["text"] for one in found):
        raise ArgumentError("no_guarantee must be None, or text or facts that say why there is no guarantee.")
    return found


def row_loss(mechanism: Fact) -> Fraction | None:
    """Return the ε that a mechanism costs one row, by its scale or weight; 0 if these state no bound.

    None for a mechanism whose ε is not exactly that: of series of answers, and of mechanisms as they were published.
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
        case _:
            return None
    return changed / mechanism["scale"] if mechanism["scale"] else Fraction(0)


def amounts_of(charge: Charge) -> Charge:
    """Return a charge without its unit and its mechanism, for an account whose unit is checked elsewhere."""
    return replace(charge, unit=None, mechanism=None)


def renewed(charge: Charge, *, no_guarantee: Iterable[Fact] | Fact | str | None = None) -> Charge:
    """Return a new, equal charge that no caller holds, with more reasons why it has no guarantee, if given."""
    if type(charge) not in (Charge, Reserve):
        raise ArgumentError(f"expected a Charge, got {type(charge).__name__}.")
    why, unit = reasons(charge.no_guarantee, no_guarantee), charge.unit
    return replace(charge, no_guarantee=why, unit=None if unit is None else replace(unit))


def unit_of(charges: Sequence[Charge]) -> Unit | None:
    """Return the unit of privacy of charges, None for one row."""
    units = {charge.unit for charge in charges}
    if len(units) > 1:
        raise ArgumentError(
            "expected charges of one unit of privacy, got charges of different ones, which do not add up: "
            f"{'; and '.join(sorted(wording.all_rows(None) if unit is None else unit.name for unit in units))}."
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
