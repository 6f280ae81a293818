"""Attributes that are numbers: their bounds, and the cut points that divide them into bins."""

import math
import typing
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import Field, dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Array, Floats, Mask
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import MOST_SHOWN, OUTSIDE, Attribute, CellType, Codes, Direction
from hedgerow.schema.derivation import Derivation
from hedgerow.schema.grid import SCHEMA_VERSION, check_bounds, check_numbers, default_cuts, spaced_cuts
from hedgerow.schema.literals import Extent, Literal
from hedgerow.tables.columns import Column
from hedgerow.text.days import Day
from hedgerow.text.language import _
from hedgerow.text.messages import number_of, shown
from hedgerow.text.values import Value, listed, spelled_number, value_text

MOST_ENDS = 10
"""Numbers with more cut points have no literals with two bounds, such as ``30 < age <= 45``, as there are too many."""
_MOST_OF_GRID = 6  # the printed cut points of a grid before its last cut point


@dataclass(frozen=True, init=False)
class Numeric(Attribute):
    """Base class of integers, reals and dates, with bounds and the cut points that divide them into bins."""

    low: float
    high: float
    cuts: tuple[float, ...]
    operators: ClassVar[tuple[str, ...]] = ("<=", ">", "between")
    ordered: ClassVar[bool] = True
    required: ClassVar[tuple[str, ...]] = ("low", "high")
    outside_policies: ClassVar[tuple[str, ...]] = ("error", "clip", "bin")
    whole: ClassVar[bool]  # whether the values are whole numbers
    scalar: ClassVar[type[float]]  # the type of bounds and cut points

    def __init__(  # noqa: PLR0913 -- a parameter for each key of the file
        self,
        low: float,
        high: float,
        cuts: Sequence[float] | int | str = "auto",
        *,
        missing: typing.Literal["error", "bin"] = "error",
        missing_values: tuple[Value, ...] = (),
        outside: typing.Literal["error", "clip", "bin"] = "error",
        monotone: Direction | None = None,
        description: str | None = None,
        unit: str | None = None,
        source: str | None = None,
        derived: Derivation | None = None,
    ) -> None:
        if isinstance(cuts, str) and cuts == "auto":
            points = default_cuts(low, high, whole=self.whole)
            vars(self)["has_default_cuts"] = bool(points)  # cached, so that it is not computed again
        else:
            make: Any = spaced_cuts if isinstance(cuts, (int, str)) else _declared_cuts
            points = make(low, high, cuts, whole=self.whole)
        values = {"low": low, "high": high, "cuts": points}
        values |= {"missing": missing, "missing_values": missing_values, "outside": outside}
        values |= {"monotone": monotone, "description": description, "unit": unit, "source": source, "derived": derived}
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    @cached_property
    def has_default_cuts(self) -> bool:
        """True if the cut points are the default grid of a version of the schema format, declared or not."""
        return any(map(self.has_grid_of, range(1, SCHEMA_VERSION + 1)))

    def has_grid_of(self, version: int) -> bool:
        """Return whether the cut points are the default grid of this version of the schema format."""
        return bool(self.cuts) and self.cuts == self._default_cuts(version)

    def _default_cuts(self, version: int) -> tuple[float, ...]:
        return default_cuts(self.low, self.high, whole=self.whole, version=version)

    @property
    def cell_type(self) -> CellType:
        return CellType.NUMBER

    @property
    def span(self) -> tuple[float, float]:
        """The bounds; infinite if values outside the bounds are clipped."""
        return (-np.inf, np.inf) if self.outside == "clip" else (self.low, self.high)

    @property
    def examples(self) -> tuple[Value, ...]:
        return self.edges

    @property
    def indicators(self) -> tuple[tuple[str, Value | None], ...]:
        return tuple(("<=", cut) for cut in self.cuts)

    @property
    def n_known(self) -> int:
        return len(self.cuts) + 1

    @cached_property
    def _places(self) -> dict[float, int]:
        return {cut: place for place, cut in enumerate(self.cuts)}

    @property
    def known_bins(self) -> tuple[str, ...]:
        return tuple(self.interval(place, place + 1) for place in range(self.n_known))

    @cached_property
    def edges(self) -> tuple[float, ...]:
        """The bounds and the cut points between them; bin i goes from edge i to edge i + 1."""
        return (self.low, *self.cuts, self.high)

    def interval(self, start: int, stop: int) -> str:
        """Return the name of the interval of the bins in ``range(start, stop)``, such as ``(30, 45]``."""
        return f"{'(' if start else '['}{value_text(self.edges[start])}, {value_text(self.edges[stop])}]"

    @property
    def domain(self) -> str:
        return _("{low} to {high}", low=value_text(self.low), high=value_text(self.high))

    @property
    def details(self) -> str:
        return self._cuts_text() + super().details

    def _cuts_text(self) -> str:
        if not self.cuts:
            return ", no cut points"
        if not self.has_default_cuts:
            return f", cut at {listed(self.cuts, MOST_SHOWN)}"
        *others, last = self.cuts
        printed = [*others[:_MOST_OF_GRID], *(["…"] if len(others) > _MOST_OF_GRID else []), last]
        points = ", ".join(map(value_text, printed))
        return f", cut at the default grid ({number_of(len(self.cuts), 'cut point')}: {points})"

    def run_name(self, start: int, stop: int) -> str:
        return self.interval(start, stop) if start < self.n_known else super().run_name(start, stop)

    def run_words(self, start: int, stop: int) -> str:
        if start >= self.n_known:
            return super().run_words(start, stop)
        low, high = value_text(self.edges[start]), value_text(self.edges[stop])
        if start == 0:
            return _("{low} to {high}", low=low, high=high) if stop == self.n_known else _("up to {high}", high=high)
        return _("over {low}", low=low) if stop == self.n_known else _("over {low}, up to {high}", low=low, high=high)

    def run_literal(self, name: str, start: int, stop: int) -> Literal:
        if stop < self.n_known:
            return Literal(name, "<=", (self.cuts[stop - 1],))
        return Literal(name, ">", (self.cuts[start - 1],)) if start else Literal(name, "known")

    def refined_by(self, literal: Literal) -> Self:
        for value in literal.operands:
            if isinstance(value, str) or not self.low <= value < self.high:
                problem = f"the model compares it with {value!r}, which is outside the declared domain ({self.domain})"
                raise SchemaError(f"{problem}; declare wider bounds.", attribute=literal.attribute)
        return replace(self, cuts=tuple(sorted({*self.cuts, *literal.operands}))) if literal.operands else self

    def coarse_bins(self, refined: Attribute) -> list[int]:
        finer = as_number(refined)
        if finer is None:
            return super().coarse_bins(refined)
        return [bisect_left(self.cuts, edge) for edge in finer.edges[1:]] + list(range(self.n_known, self.n_bins))

    def reads(self, column: Column) -> Mask:
        return super().reads(column) & column.are_numbers()

    def typed(self, column: Column) -> pa.Array:
        present = self.prepared(column)
        return pa.array(present.numbers(), pa.float64(), mask=present.missing)

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        return rng.uniform(self.low, self.high, size).tolist()

    def number_in(self, value: Value) -> float | None:
        """Return the number that a text or number stands for in such a column, or None."""
        return spelled_number(value)

    def _is_default(self, field: Field[Any]) -> bool:
        return super()._is_default(field) or (field.name == "cuts" and self.has_grid_of(SCHEMA_VERSION))

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:  # noqa: ARG002 -- none is a negation
        single = [Literal(name, operator, (cut,)) for operator in ("<=", ">") for cut in self.cuts]
        return single + [Literal(name, "between", pair) for pair in combinations(self._ends, 2)]

    def _n_own_literals(self, *, negations: bool) -> int:  # noqa: ARG002 -- none is a negation
        return 2 * len(self.cuts) + math.comb(len(self._ends), 2)

    def literal_truth(self, kind: Attribute, *, negations: bool) -> Mask:
        if self._ends or not self.cuts:
            return super().literal_truth(kind, negations=negations)
        below = np.tri(len(self.cuts), self.n_bins, dtype=bool)
        above = (np.arange(self.n_bins) < self.n_known) & ~below
        return np.vstack([below, above, *map(self.truth, kind._policy_literals("", negations))])

    @property
    def _ends(self) -> tuple[float, ...]:
        """The cut points at which literals with two bounds can begin and end; empty if there are too many."""
        return self.cuts if len(self.cuts) <= MOST_ENDS else ()

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        above, below = extent.start > 0, extent.stop < self.n_known
        if extent.inverted or extent.start == extent.stop or not (above or below):
            return []
        edges = tuple(self.cuts[edge - 1] for edge in (extent.start, extent.stop) if 0 < edge < self.n_known)
        return [Literal(name, "between" if above and below else ">" if above else "<=", edges)]

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        places = [self._places[number] for number in self._compared(literal) if number in self._places]
        if len(places) == len(literal.operands):
            start = 0 if literal.operator == "<=" else places[0] + 1
            return start, self.n_known if literal.operator == ">" else places[-1] + 1, False
        problem = f"literals must compare with the cut points {shown(list(self.cuts))}; got {literal.brief}."
        raise SchemaError(problem, attribute=literal.attribute)

    @staticmethod
    def _compared(literal: Literal) -> list[float]:
        """Return the operands without dates, which would equal numbers of days."""
        return [value for value in literal.operands if not isinstance(value, (str, bool, Day))]

    def _code(self, column: Column) -> Codes:
        values = self.numbers_in(column)
        codes = np.searchsorted(np.array(self.cuts, dtype=np.float64), values, side="left").astype(np.int32)
        return codes if self.outside == "clip" else np.where(self._inside(values), codes, OUTSIDE)

    def numbers_in(self, column: Column) -> Floats:
        """Return the values of a column as numbers, 0 for missing values; DomainError if a value is not a number."""
        return column.numbers()

    def _inside(self, values: Array) -> Mask:
        return (values >= self.low) & (values <= self.high)


def as_number(attribute: Attribute | None) -> Numeric | None:
    """Return the attribute if it is a number or date with bounds and cut points, else None."""
    return attribute if isinstance(attribute, Numeric) else None


def _declared_cuts(low: float, high: float, cuts: object, *, whole: bool) -> tuple[float, ...]:
    check_bounds(low, high, whole=whole)
    if not isinstance(cuts, Sequence):
        problem = f"expected a list of cut points, auto, a number such as 5, or log 5; got {shown(cuts)}."
        raise SchemaError(problem, key="cuts")
    points: tuple[float, ...] = tuple(cuts)
    check_numbers("cuts", points, whole=whole)
    if any(not cut < following for cut, following in pairwise(points)):
        raise SchemaError(f"cut points must increase, got {shown(points)}.", key="cuts")
    if wrong := [cut for cut in points if not low <= cut < high]:
        problem = f"cut points must be >= {value_text(low)} and < {value_text(high)}, got {shown(wrong[0])}."
        raise SchemaError(problem, key="cuts")
    return points


@dataclass(frozen=True, init=False)
class WholeNumber(Numeric):
    """Base class of numbers that are whole: integers, and dates as days."""

    whole: ClassVar[bool] = True

    def run_label(self, start: int, stop: int) -> str:
        return self.run_words(start, stop) if start < self.n_known else self.run_name(start, stop)

    def run_words(self, start: int, stop: int) -> str:
        """Return the first and the last number of the bins, such as ``31 to 45``; open ends if values are clipped."""
        if start >= self.n_known:
            return self.run_name(start, stop)
        edge, last = self.edges[start], value_text(self.edges[stop])
        first = value_text(self.scalar(edge + (start > 0)))
        is_open = self.outside == "clip" and stop - start < self.n_known
        if is_open and start == 0 and not first == last == "0":  # a count cannot be below 0
            return _("up to {high}", high=last)
        if is_open and stop == self.n_known:
            return _("{low} and more", low=first)
        return first if first == last else _("{low} to {high}", low=first, high=last)

    def normalised(self, literal: Literal) -> Literal:
        """Return the literal with whole numbers, such as ``age <= 30`` for 30.5."""
        if literal.operator not in self.operators:
            return literal
        return Literal(literal.attribute, literal.operator, tuple(map(self._floor, literal.operands)))

    def _floor(self, value: Value) -> Value:
        return self.scalar(math.floor(value)) if not isinstance(value, str) and math.isfinite(value) else value


@dataclass(frozen=True, init=False)
class Integer(WholeNumber):
    """A whole number from `low` to `high`, cut into intervals ``(cut, next cut]``.

    Attributes
    ----------
    low, high : int
        The bounds, both inside the domain. They are public: take them from the meaning of the attribute, never from
        private rows.
    cuts : tuple of int
        The increasing cut points, each ``low <= cut < high``. The default, ``"auto"``, is the grid of `default_cuts`,
        which depends on the bounds alone. A number such as ``5`` requests five cut points at equal distances,
        ``"log 5"`` five at equal ratios. A number with ``cuts=()`` has no literals.

    Examples
    --------
    >>> age = Integer(17, 90, cuts=(30, 45))
    >>> age.bins
    ('[17, 30]', '(30, 45]', '(45, 90]')
    >>> [str(literal) for literal in age.literals("age", negations=True)]
    ['age <= 30', 'age <= 45', 'age > 30', 'age > 45', '30 < age <= 45']
    >>> Integer(1950, 2000).cuts
    (1950, 1955, 1960, 1965, 1970, 1975, 1980, 1985, 1990, 1995)
    """

    kind: ClassVar[str] = "integer"
    scalar: ClassVar[type[float]] = int

    @property
    def is_bit(self) -> bool:
        return (self.low, self.high) == (0, 1)

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        return [int(value) for value in np.rint(super().drawn(size, rng))]

    def _inside(self, values: Array) -> Mask:
        inside = super()._inside(values)
        return inside & (values == np.floor(values))


@dataclass(frozen=True, init=False)
class Real(Numeric):
    """A real number from `low` to `high`, cut into intervals ``(cut, next cut]``; same parameters as `Integer`."""

    kind: ClassVar[str] = "real"
    whole: ClassVar[bool] = False
    scalar: ClassVar[type[float]] = float

    def __post_init__(self) -> None:
        super().__post_init__()
        # 0, 0.0 and -0.0 are equal, so their digests must be equal, too.
        object.__setattr__(self, "low", float(self.low) + 0.0)
        object.__setattr__(self, "high", float(self.high) + 0.0)
        object.__setattr__(self, "cuts", tuple(float(cut) + 0.0 for cut in self.cuts))
