"""Attributes whose bins are listed values: booleans, categories and ordered categories."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Attribute, CellType, Codes, check_values
from hedgerow.schema.literals import Extent, Literal
from hedgerow.schema.numbers import MOST_ENDS
from hedgerow.schema.spellings import KEY, Spellings, check_spellings, domain_text, spelled, split
from hedgerow.tables.columns import Column
from hedgerow.text.days import as_day
from hedgerow.text.language import _
from hedgerow.text.messages import repeated, shown
from hedgerow.text.values import Value, listed, plain_word


@dataclass(frozen=True, kw_only=True)
class Boolean(Attribute):
    """True or false: booleans, the numbers 0 and 1, the texts "true" and "false" in any case, or declared words.

    Attributes
    ----------
    true_values, false_values : tuple of str or int
        The values that stand for true and for false, such as ``("yes", "Y")`` and ``("no", "N")``, or ``(1,)`` and
        ``(2,)``. Declare both or neither. If they are declared, all other values are outside the domain, and a column
        of type bool is read as the words ``"true"`` and ``"false"``.

    Examples
    --------
    >>> [str(literal) for literal in Boolean().literals("smoker", negations=True)]
    ['smoker', 'not smoker']
    """

    true_values: tuple[str | int, ...] = ()
    false_values: tuple[str | int, ...] = ()
    kind: ClassVar[str] = "boolean"
    operators: ClassVar[tuple[str, ...]] = ("true", "false")
    outside_policies: ClassVar[tuple[str, ...]] = ("error",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.true_values != () or self.false_values != ():
            self._check_words()
        elif {plain_word(value).lower() for value in self.missing_values} & {"0", "1", "false", "true"}:
            problem = "0, 1, true and false are values of a boolean and cannot be missing_values"
            raise SchemaError(f"{problem}; got {shown(self.missing_values)}.", key="missing_values")

    def _check_words(self) -> None:
        for key in ("true_values", "false_values"):
            values = getattr(self, key)
            check_values(key, values)
            if any(isinstance(value, float) for value in values):
                raise SchemaError(f"expected a list of text or whole numbers, got {shown(values)}.", key=key)
            if not values:
                raise SchemaError("declare both true_values and false_values, or neither.", key=key)
        words = [plain_word(value) for value in (*self.true_values, *self.false_values, *self.missing_values)]
        if twice := repeated(words):
            problem = (
                f"{shown(twice[0])} is listed twice in true_values, false_values and missing_values; list it once."
            )
            raise SchemaError(problem, key="true_values")

    @property
    def cell_type(self) -> CellType:
        return CellType.WORD if self.true_values else CellType.TRUTH

    @property
    def listed(self) -> tuple[Value, ...]:
        return (self.false_values[0], self.true_values[0]) if self.true_values else (False, True)

    @property
    def spellings(self) -> tuple[tuple[Value, int], ...]:
        return tuple((word, code) for code, words in enumerate((self.false_values, self.true_values)) for word in words)

    @property
    def number_codes(self) -> tuple[int | None, ...]:
        return (0, 1)

    @property
    def is_bit(self) -> bool:
        return True

    @property
    def indicators(self) -> tuple[tuple[str, Value | None], ...]:
        return (("true", None),)

    @property
    def known_bins(self) -> tuple[str, ...]:
        return ("false", "true")

    @property
    def domain(self) -> str:
        if not self.true_values:
            return _("true or false, 0 or 1")
        return f"true ({listed(self.true_values)}) or false ({listed(self.false_values)})"

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        return [Literal(name, "true")] + [Literal(name, "false")] * negations

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:  # noqa: ARG002 -- there are only two
        return self._own_literals(name, negations=True)

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        return (1, 2, False) if literal.operator == "true" else (0, 1, False)

    def values_of(self, literal: Literal) -> Sequence[Value]:
        return {"true": self.true_values, "false": self.false_values}.get(literal.operator, ())

    def queried(self, literal: Literal) -> Sequence[Value]:
        """Return the words, and also true or false if unambiguous, since DuckDB reads yes and no as booleans."""
        words, own = self.values_of(literal), (*self.true_values, *self.false_values, *self.missing_values)
        return words if not words or {"true", "false"} & {*map(plain_word, own)} else (*words, literal.operator)

    def run_words(self, start: int, stop: int) -> str:
        return ("no", "yes")[start] if start < 2 else super().run_words(start, stop)

    def run_literal(self, name: str, start: int, stop: int) -> Literal:  # noqa: ARG002 -- a run is one bin
        return Literal(name, self.known_bins[start])

    def reads(self, column: Column) -> Mask:
        return np.full(len(column), not self.mistakes_dates(column))

    def typed(self, column: Column) -> pa.Array:
        """Return booleans; text if words are declared."""
        if self.true_values:
            return super().typed(column)
        bins = self.encode(column)
        return pa.array(bins == 1, pa.bool_(), mask=bins > 1)

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        return [self.listed[int(is_true)] for is_true in rng.random(size) < 0.5]

    def _code(self, column: Column) -> Codes:
        if not self.true_values:
            return column.codes_of(_TRUTHS if column.is_text else ((0, 0), (1, 1)), ignore_case=True)
        if column.is_text or column.values.dtype.kind != "b":
            return column.codes_of(self.spellings)
        return column.codes_of((word == "true", code) for word, code in self.spellings if word in ("false", "true"))


_TRUTHS = (("false", 0), ("true", 1), ("0", 0), ("1", 1))
# Text in any letter case that DuckDB's read_csv reads as booleans if a column has no other values
_READ_AS = {"no": "false", "f": "false", "false": "false", "yes": "true", "t": "true", "true": "true"}


@dataclass(frozen=True)
class Categorical(Attribute):
    """A category: one of a fixed set of `values`, each text or a whole number.

    Attributes
    ----------
    values : tuple of str or int, or mapping
        The values, or a mapping of each value to the other spellings that cells may hold instead.
    other_spellings : tuple of tuple of str or int
        The other spellings of each value, in the order of the values. Empty if there are none.

    Examples
    --------
    >>> Categorical({"yes": ["yes", "ja", 1], "no": ["nein", 0]}).spellings
    (('yes', 0), ('no', 1), ('ja', 0), (1, 0), ('nein', 1), (0, 1))
    >>> [str(literal) for literal in Categorical(("red", "green", "blue")).literals("hue", negations=True)][:4]
    ['hue = red', 'hue = green', 'hue = blue', 'hue != red']
    """

    values: tuple[str | int, ...]
    other_spellings: Spellings = field(default=(), kw_only=True)
    kind: ClassVar[str] = "categorical"
    operators: ClassVar[tuple[str, ...]] = ("=", "!=")
    required: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        values, spellings = split(self.values, self.other_spellings, "values")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "other_spellings", spellings)
        super().__post_init__()
        check_values("values", self.values)
        if any(isinstance(value, float) for value in self.values):
            raise SchemaError(f"values must be text or whole numbers, got {shown(self.values)}.", key="values")
        if not self.values:
            raise SchemaError("expected a list of at least one value, got an empty list.", key="values")
        words = [plain_word(value) for value in self.values]
        if twice := repeated(words):
            raise SchemaError(f"every value must be listed once, got {shown(twice[0])} twice.", key="values")
        if both := [value for value in self.missing_values if plain_word(value) in words]:
            problem = f"{shown(both[0])} is listed under values and under missing_values; remove it from one list."
            raise SchemaError(problem, key="missing_values")
        if self.other_spellings:
            check_spellings(self.values, self.other_spellings, self.missing_values)
            if self.derived is not None:
                problem = "derived values are computed and cannot have other spellings; remove them."
                raise SchemaError(problem, key=KEY)

    @property
    def cell_type(self) -> CellType:
        return CellType.VALUE

    @property
    def listed(self) -> tuple[Value, ...]:
        return self.values

    @property
    def spellings(self) -> tuple[tuple[Value, int], ...]:
        return spelled(self.values, self.other_spellings)

    @property
    def number_codes(self) -> tuple[int | None, ...]:
        words = map(str, self.values)
        return tuple(int(word) if re.fullmatch("0|-?[1-9][0-9]*", word) else None for word in words)

    @property
    def is_bit(self) -> bool:
        return {*self.known_bins} == {"0", "1"}

    @property
    def known_bins(self) -> tuple[str, ...]:
        return tuple(map(str, self.values))

    @property
    def n_known(self) -> int:
        return len(self.values)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(value): place for place, value in enumerate(self.values)}

    def place(self, literal: Literal, position: int = 0) -> int:
        """Return the index of the value that an operand of a literal equals as text; SchemaError if there is none."""
        place = self._places.get(str(literal.operands[position]))
        if place is None:
            problem = f"literals must compare with one of the values {self.domain}; got {literal.brief}."
            raise SchemaError(problem, attribute=literal.attribute)
        return place

    @property
    def domain(self) -> str:
        return domain_text(self.values, self.other_spellings, 12)

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        operators = ("=", "!=") if negations else ("=",)
        return [Literal(name, operator, (value,)) for operator in operators for value in self.values]

    def _n_own_literals(self, *, negations: bool) -> int:
        return len(self.values) * (1 + negations)

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        equal = [("=", extent.only_known), ("!=", extent.complement().only_known)]
        return [Literal(name, operator, (self.values[place],)) for operator, place in equal if place is not None]

    def values_of(self, literal: Literal) -> Sequence[Value]:
        """Return the declared value that a literal compares with, and its other spellings."""
        if literal.operator not in self.operators:
            return ()
        place = self.place(literal)
        return self._spelled(slice(place, place + 1))

    def _spelled(self, places: slice) -> tuple[Value, ...]:
        """Return values, followed by their other spellings."""
        return (*self.values[places], *(word for group in self.other_spellings[places] for word in group))

    def queried(self, literal: Literal) -> Sequence[Value]:
        """Return the values, and the booleans as which DuckDB's ``read_csv`` reads them, if these are unambiguous."""
        own = [*self.spellings, *((value, ~place) for place, value in enumerate(self.missing_values))]
        codes = defaultdict[str, set[int]](set)
        for word, code in own:
            codes[_READ_AS.get(str(word).lower(), "")].add(code)
        is_clear = self.outside != "bin" and all(len(codes[truth]) < 2 for truth in ("false", "true"))
        values = self.values_of(literal)
        truths = [_READ_AS[str(value).lower()] for value in values if str(value).lower() in _READ_AS]
        return (*values, *dict.fromkeys(truths)) if is_clear else values

    def run_literal(self, name: str, start: int, stop: int) -> Literal:  # noqa: ARG002 -- a run is one bin
        return Literal(name, "=", (self.values[start],))

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        place = self.place(literal)
        return place, place + 1, literal.operator == "!="

    def _code(self, column: Column) -> Codes:
        column.check_not_boolean()
        return column.codes_of(self.spellings)

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | ({KEY: list(map(list, self.other_spellings))} if self.other_spellings else {})


@dataclass(frozen=True)
class Ordered(Categorical):
    """An ordered category: one of two or more `values`, listed from the first to the last, each text or a whole number.

    Cells are read as for `Categorical`. Literals compare along the order, as in ``stage <= II``. The literal for
    a single inner value is ``stage = II``, which trees do not use as a test. Scorecards smooth their points along the
    order.

    Examples
    --------
    >>> stage = Ordered(("I", "II", "III", "IV"))
    >>> [str(literal) for literal in stage.literals("stage", negations=True)][:4]
    ['stage <= I', 'stage <= II', 'stage <= III', 'stage > I']
    >>> [str(literal) for literal in stage.literals("stage", negations=True)][6:]
    ['stage = II', 'stage = III', 'I < stage <= III']
    """

    kind: ClassVar[str] = "ordered"
    operators: ClassVar[tuple[str, ...]] = ("=", "!=", "<=", ">", "between")
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.values) < 2:
            problem = f"an ordered attribute needs at least two values, got {shown(self.values)}."
            raise SchemaError(problem, key="values")

    @property
    def indicators(self) -> tuple[tuple[str, Value | None], ...]:
        return tuple(("<=", as_day(value)) for value in self.values[:-1])

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:  # noqa: ARG002 -- none is a negation
        below, n = self.values[:-1], self.n_known
        single = [Literal(name, operator, (value,)) for operator in ("<=", ">") for value in below]
        single += [Literal(name, "=", (value,)) for value in below[1:]]
        wide = [pair for pair in combinations(range(n - 1), 2) if pair[1] - pair[0] > 1] if n - 1 <= MOST_ENDS else []
        return single + [Literal(name, "between", (self.values[low], self.values[high])) for low, high in wide]

    def _n_own_literals(self, *, negations: bool) -> int:  # noqa: ARG002 -- none is a negation
        n = self.n_known
        return 2 * (n - 1) + (n - 2) + (comb(n - 2, 2) if n - 1 <= MOST_ENDS else 0)

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        start, stop = extent.start, extent.stop
        if extent.inverted or start == stop or stop - start == self.n_known:
            return []
        only = extent.only_known
        inner = start > 0 and stop < self.n_known
        return [Literal(name, "=", (self.values[start],)) if inner and only else self._along(name, start, stop)]

    def _along(self, name: str, start: int, stop: int) -> Literal:
        """Return the comparison that is true on exactly the values in ``range(start, stop)``."""
        if start == 0:
            return Literal(name, "<=", (self.values[stop - 1],))
        if stop == self.n_known:
            return Literal(name, ">", (self.values[start - 1],))
        return Literal(name, "between", (self.values[start - 1], self.values[stop - 1]))

    def _run_of(self, literal: Literal) -> tuple[int, int]:
        """Return start and stop of the values with which a literal compares."""
        places = [self.place(literal, position) for position in range(len(literal.operands))]
        match literal.operator:
            case "<=":
                return 0, places[0] + 1
            case ">":
                return places[0] + 1, self.n_known
            case "between":
                return places[0] + 1, places[1] + 1
            case _:
                return places[0], places[0] + 1

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        return *self._run_of(literal), literal.operator == "!="

    def values_of(self, literal: Literal) -> Sequence[Value]:
        """Return the declared values on which a literal is true, or with which ``!=`` compares."""
        return self._spelled(slice(*self._run_of(literal))) if literal.operator in self.operators else ()

    def normalised(self, literal: Literal) -> Literal:
        """Return an equivalent comparison along the order; a literal with ``!=`` is returned unchanged."""
        if literal.operator not in self.operators or literal.operator == "!=":
            return literal
        start, stop = self._run_of(literal)
        return self._along(literal.attribute, start, stop) if start < stop else literal

    def run_name(self, start: int, stop: int) -> str:
        if start >= self.n_known or stop - start == 1:
            return super().run_name(start, stop)
        return _("{low} to {high}", low=str(self.values[start]), high=str(self.values[stop - 1]))

    def run_literal(self, name: str, start: int, stop: int) -> Literal:
        literals = self._own_literals_on(name, Extent(self.n_known, start, stop))
        return literals[0] if literals else Literal(name, "known")
