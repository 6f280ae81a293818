"""Cut points from private rows: private quantiles within declared bounds, charged to a budget."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any, ClassVar, Protocol, Self, TypeVar

import numpy as np

from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.arrays import Integers
from hedgerow.errors import ArgumentError, SchemaError, TooManyRowsError, WeakGuaranteeWarning
from hedgerow.privacy import exponential_mechanism as em
from hedgerow.privacy.amounts import Amount, guarantee_warning, total
from hedgerow.privacy.budget import Budget
from hedgerow.privacy.charge import Charge, check_total, reasons
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.gate import Gate, spend_share
from hedgerow.privacy.joint_quantiles import JointQuantiles
from hedgerow.privacy.noise import noise_source
from hedgerow.privacy.unit import Unit, rows_of
from hedgerow.schema.attributes import Attribute
from hedgerow.schema.contributions import counted_rows, draw_key
from hedgerow.schema.numbers import Numeric
from hedgerow.tables.columns import Column
from hedgerow.tables.frames import Table
from hedgerow.text.messages import describe_argument

MOST_CANDIDATES = 1_000
"""The largest number of public candidates for the cut points of a number, and the largest `bins`."""


class DeclaredTable(Protocol):
    """The interface of a schema that this module uses; a schema itself imports this module."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def attributes(self) -> Sequence[tuple[str, Attribute]]: ...

    @property
    def charges(self) -> Sequence[Charge]: ...

    @property
    def no_guarantee(self) -> tuple[Fact, ...]: ...

    @property
    def unit(self) -> Unit | None: ...

    def check_types(self, table: Table) -> None: ...

    def check_unit(self, table: Table) -> None: ...

    def column(self, table: Table, name: str) -> Column: ...


DeclaredSchema = TypeVar("DeclaredSchema", bound=DeclaredTable)


@dataclass(frozen=True)
class PlannedCuts:
    """The planned release of all cut points of one number; public, since it is made before a row is read."""

    name: str  # the attribute
    number: Numeric  # the number, cut at every candidate
    mechanism: JointQuantiles  # chooses among the candidates

    @classmethod
    def of(cls, name: str, declared: Numeric, epsilon: Fraction, bins: int) -> Self:
        """Return the planned release for `epsilon`; ValueError if it is below the supported minimum."""
        candidates = tuple(map(declared.scalar, _candidates(declared)))
        return cls(name, replace(declared, cuts=candidates), cut_mechanism(declared, epsilon, bins))

    def counts(self, column: Column) -> Integers:
        """Return the number of rows in each interval between candidates, for values inside the domain."""
        codes = self.number.encode(column)
        return np.bincount(codes[codes < self.number.n_known], minlength=self.number.n_known)


def cut_mechanism(declared: Numeric, epsilon: Fraction, bins: int) -> JointQuantiles:
    """Return the mechanism for the cut points of a number; ValueError if `epsilon` is below the supported minimum."""
    return JointQuantiles(epsilon, bins, len(_candidates(declared)))


def open_numbers(attributes: Mapping[str, Attribute], bins: int) -> dict[str, Numeric]:
    """Return the numbers without declared cut points, and check `bins`; both are public.

    A number has no declared cut points if they are the default grid, or if there are none.
    """
    if check_integer("bins", bins, 2) > MOST_CANDIDATES:
        raise ArgumentError(f"bins must be a whole number <= {MOST_CANDIDATES}, got {describe_argument(bins)}.")
    numbers = {name: attribute for name, attribute in attributes.items() if isinstance(attribute, Numeric)}
    undeclared = {name: number for name, number in numbers.items() if number.has_default_cuts or not number.cuts}
    if not numbers:
        raise SchemaError("cut points are learned for numbers and dates, but the schema has no such attribute.")
    if not undeclared:
        problem = "every number has declared cut points; remove `cuts` where cut points are to be learned."
        raise SchemaError(problem)
    return undeclared


def plan_cuts(attributes: Mapping[str, Attribute], epsilon: Fraction, bins: int) -> tuple[PlannedCuts, ...]:
    """Return a planned release for each number; they share `epsilon` equally. Nothing is charged, no row is read."""
    numbers = open_numbers(attributes, bins)
    return tuple(PlannedCuts.of(name, number, epsilon / len(numbers), int(bins)) for name, number in numbers.items())


def learn_cuts(
    column: Callable[[str], Column], planned: Sequence[PlannedCuts], gate: Gate
) -> dict[str, tuple[float, ...]]:
    """Return the increasing, distinct cut points of each number; rows are read after the first charge."""

    def places(plan: PlannedCuts) -> tuple[int, ...]:
        query = Fact("cut_points", attribute=plan.name)
        return gate.release(plan.mechanism, lambda: plan.counts(column(plan.name)), query=query)

    return {plan.name: tuple(plan.number.cuts[place] for place in sorted({*places(plan)})) for plan in planned}


def _candidates(number: Numeric) -> tuple[float, ...]:
    """Return the public candidates, evenly spaced within the declared bounds, ``low <= candidate < high``."""
    if number.whole and number.high - number.low <= MOST_CANDIDATES:
        return tuple(range(int(number.low), int(number.high)))
    places = np.linspace(number.low, number.high, MOST_CANDIDATES, endpoint=False)
    digits = 1 - math.floor(math.log10(number.high - number.low) - math.log10(MOST_CANDIDATES))
    places = np.round(places, max(digits, 0)) if digits <= 15 else places  # 140.6, not 140.60000000000002
    places = places[(number.low <= places) & (places < number.high)]  # rounded candidates may lie outside the domain
    return tuple(map(int, np.unique(np.floor(places)))) if number.whole else tuple(np.unique(places).tolist())


def with_private_cuts(
    declared: DeclaredSchema, table: Table, budget: Budget | None, epsilon: Amount, bins: int, random_state: Any
) -> DeclaredSchema:
    """Return a schema with cut points learned from a table and charged; see `Schema.learn`."""
    source, unit = noise_source(random_state), declared.unit
    declared.check_types(table)
    declared.check_unit(table)
    amount = Budget(epsilon).remaining  # raises an error if epsilon is not a valid amount
    if source.no_guarantee_reason is None and (too_weak := guarantee_warning(amount)):
        warnings.warn(too_weak, WeakGuaranteeWarning, stacklevel=3)
    planned = plan_cuts(dict(declared.attributes), amount / rows_of(unit), bins)
    for plan in planned:
        source.prepare(plan.mechanism)  # raises its errors before anything is charged
    of_bins = (charge.no_guarantee for charge in declared.charges)
    rho = total(plan.mechanism.rho for plan in planned) * rows_of(unit) ** 2
    why = reasons(declared.no_guarantee, *of_bins, source.no_guarantee_reason)
    charge = Charge(Fact("schema_cut_points"), amount, no_guarantee=why, rho=rho, unit=unit)
    check_total((*declared.charges, charge))  # raises its errors before the charge
    counted = cache(lambda: counted_rows(table, unit, draw_key(random_state)))
    if len(table) >= em.MOST_ROWS and len(counted()) >= em.MOST_ROWS:
        problem = f"Cut points can be learned from fewer than {em.MOST_ROWS:,} rows; the table has at least that many"
        raise TooManyRowsError(f"{problem}. Nothing was charged.")

    def learned(gate: Gate) -> DeclaredSchema:
        cuts = learn_cuts(lambda name: declared.column(counted(), name), planned, gate)
        kinds = [(name, replace(kind, cuts=cuts[name]) if name in cuts else kind) for name, kind in declared.attributes]
        return replace(declared, attributes=tuple(kinds), charges=(*declared.charges, *gate.budget.charges))

    return spend_share(budget, charge, source, learned)
