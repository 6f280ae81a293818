"""Attributes whose bins are listed values: booleans, and categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hedgerow.errors import SchemaError
from hedgerow.schema.attributes import Attribute, Cell, Codes, check_values
from hedgerow.schema.literals import Extent, Literal
from hedgerow.tables.columns import Column
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, listed, plain_word


@dataclass(frozen=True, kw_only=True)
class Boolean(Attribute):
    """True or false: bool, the numbers 0 and 1, or the texts "true" and "false" in any case; or else declared words.

    Attributes
    ----------
    true_values, false_values : tuple of str or int
        The values that stand for true and for false, as they are written, such as ``("yes", "Y")`` and ``("no", "N")``,
        or 1 and 2. Both or none. Other values are outside the domain then; a column of type bool holds the words
        ``"true"`` and ``"false"``.

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
            raise SchemaError(
                "expected missing_values other than 0, 1, true and false, got one of these.", key="missing_values"
            )

    def _check_words(self) -> None:
        both = {"true_values": self.true_values, "false_values": self.false_values}
        for key, values in both.items():
            check_values(key, values)
            if any(isinstance(value, float) for value in values):
                raise SchemaError(f"expected text or whole numbers, got {shown(values)}.", key=key)
            if not values:
                raise SchemaError("expected at least one value beside those of the other truth, got none.", key=key)
        words = [plain_word(value) for value in (*self.true_values, *self.false_values, *self.missing_values)]
        if len(set(words)) < len(words):
            problem = "expected distinct values, none of them missing_values or false_values; got one twice."
            raise SchemaError(problem, key="true_values")

    @property
    def cell(self) -> Cell:
        return Cell.WORD if self.true_values else Cell.TRUTH

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
            return "true or false, 0 or 1"
        return f"true ({listed(self.true_values)}) or false ({listed(self.false_values)})"

    @property
    def n_known(self) -> int:
        return 2

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        return [Literal(name, "true")] + [Literal(name, "false")] * negations

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:  # noqa: ARG002 -- there are only two
        return self._own_literals(name, negations=True)

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        return (1, 2, False) if literal.operator == "true" else (0, 1, False)

    def values_of(self, literal: Literal) -> Sequence[Value]:
        return {"true": self.true_values, "false": self.false_values}.get(literal.operator, ())

    def run_words(self, start: int, stop: int) -> str:
        return ("no", "yes")[start] if start < 2 else super().run_words(start, stop)

    def run_literal(self, name: str, start: int, stop: int) -> Literal:  # noqa: ARG002 -- bins come one by one
        return Literal(name, self.known_bins[start])

    def reads(self, column: Column) -> NDArray[np.bool_]:
        return np.ones(len(column), dtype=bool)

    def typed(self, column: Column) -> pa.Array:
        """Return booleans, or the text where words are declared."""
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


@dataclass(frozen=True)
class Categorical(Attribute):
    """One of a fixed set of values, each text or a whole number.

    Attributes
    ----------
    values : tuple of str or int
        The values.

    Examples
    --------
    >>> [str(literal) for literal in Categorical(("red", "green", "blue")).literals("hue", negations=True)][:4]
    ['hue = red', 'hue = green', 'hue = blue', 'hue != red']
    """

    values: tuple[str | int, ...]
    kind: ClassVar[str] = "categorical"
    operators: ClassVar[tuple[str, ...]] = ("=", "!=")
    required: ClassVar[tuple[str, ...]] = ("values",)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_values("values", self.values)
        if any(isinstance(value, float) for value in self.values):
            raise SchemaError(f"expected text or whole numbers, got {shown(self.values)}.", key="values")
        if not self.values:
            raise SchemaError("expected at least one value.", key="values")
        words = set(map(plain_word, self.values))
        if len(words) < len(self.values):
            raise SchemaError("expected distinct values, got one more than once.", key="values")
        if not words.isdisjoint(map(plain_word, self.missing_values)):
            raise SchemaError("expected missing_values that are not categories, got one that is.", key="missing_values")

    @property
    def cell(self) -> Cell:
        return Cell.VALUE

    @property
    def listed(self) -> tuple[Value, ...]:
        return self.values

    @property
    def number_codes(self) -> tuple[int | None, ...]:
        return tuple(map(_whole_number, self.values))

    @property
    def is_bit(self) -> bool:
        return {*self.known_bins} == {"0", "1"}

    @property
    def known_bins(self) -> tuple[str, ...]:
        return tuple(str(value) for value in self.values)

    @property
    def n_known(self) -> int:
        return len(self.values)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(value): place for place, value in enumerate(self.values)}

    def place(self, literal: Literal, position: int = 0) -> int:
        """Return the index of a value that a literal compares with, also as text; SchemaError if it is none."""
        place = self._places.get(str(literal.operands[position]))
        if place is None:
            problem = f"expected a literal on one of the values {self.domain}; got {literal.brief}."
            raise SchemaError(problem, attribute=literal.attribute)
        return place

    @property
    def domain(self) -> str:
        return listed(self.values)

    def _own_literals(self, name: str, *, negations: bool) -> list[Literal]:
        operators = ("=", "!=") if negations else ("=",)
        return [Literal(name, operator, (value,)) for operator in operators for value in self.values]

    def _n_own_literals(self, *, negations: bool) -> int:
        return len(self.values) * (1 + negations)

    def _own_literals_on(self, name: str, extent: Extent) -> list[Literal]:
        equal = [("=", extent.only_known), ("!=", extent.complement().only_known)]
        return [Literal(name, operator, (self.values[place],)) for operator, place in equal if place is not None]

    def values_of(self, literal: Literal) -> Sequence[Value]:
        """Return the declared value that a literal compares with, in the schema's type: 1 for a literal with "1"."""
        return (self.values[self.place(literal)],) if literal.operator in self.operators else ()

    def run_literal(self, name: str, start: int, stop: int) -> Literal:  # noqa: ARG002 -- bins come one by one
        return Literal(name, "=", (self.values[start],))

    def _known_extent(self, literal: Literal) -> tuple[int, int, bool]:
        place = self.place(literal)
        return place, place + 1, literal.operator == "!="

    def _code(self, column: Column) -> Codes:
        column.refuse_booleans()
        return column.codes_of(self.spellings)


def _whole_number(value: Value) -> int | None:
    text = str(value)
    try:
        return int(text) if str(int(text)) == text else None
    except ValueError:
        return None
