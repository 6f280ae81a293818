"""SQL conditions on columns of the declared types: plain comparisons without casts."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from sqlglot import exp

from hedgerow.models.dialects import Dialect, among
from hedgerow.schema import Literal
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.dates import date_format
from hedgerow.schema.numbers import Numeric, as_number
from hedgerow.text.days import Day, as_day
from hedgerow.text.values import Value, plain_word, spelled_number


def typed_condition(literal: Literal, attribute: Attribute, dialect: Dialect) -> exp.Condition | None:
    """Return the condition on a column of the declared type, or None if the declaration does not imply a type.

    Derived attributes, dates with a format, and lists of both text and numbers do not imply a type.
    """
    if attribute.derived is not None or date_format(attribute) is not None:
        return None
    number = as_number(attribute)
    if number is not None:
        return _NumberColumn(literal.attribute, attribute, dialect, number).condition(literal)
    if attribute.cell_type is CellType.TRUTH:
        return _TruthColumn(literal.attribute, attribute, dialect).condition(literal)
    are_text = {isinstance(value, str) for value, _ in attribute.spellings}
    if len(are_text) > 1:
        return None
    return _ListedColumn(literal.attribute, attribute, dialect, are_text.pop()).condition(literal)


@dataclass(frozen=True)
class _Column(ABC):
    """A column of the declared type."""

    name: str
    attribute: Attribute
    dialect: Dialect

    @property
    def column(self) -> exp.Condition:
        return exp.column(exp.to_identifier(self.name, quoted=True))

    @property
    def has_nan(self) -> bool:
        """True if the column may contain NaN."""
        return False

    @property
    def missing_values(self) -> list[Any]:
        """The values other than NULL and NaN that count as missing, in the type of the column."""
        return []

    @abstractmethod
    def comparison(self, literal: Literal) -> exp.Condition:
        """Return the condition of an operator that depends on the attribute; no missing value satisfies it."""

    def condition(self, literal: Literal) -> exp.Condition:
        absent = [self.dialect.is_nan(self.column)] if self.has_nan else []
        absent += [self.one_of(self.missing_values)] if self.missing_values else []
        match literal.operator:
            case "missing":
                return exp.or_(self.column.is_(exp.null()), *absent)
            case "known":
                return exp.and_(exp.not_(self.column.is_(exp.null())), *map(exp.not_, absent))
            case "outside":
                return exp.and_(self.outside(), *map(exp.not_, absent))
            case _:
                return self.comparison(literal)

    def outside(self) -> exp.Condition:
        return self.none_of([value for value, _ in self.attribute.spellings])

    def one_of(self, values: Sequence[Value]) -> exp.Condition:
        return among(self.column, [self.dialect.typed_literal(value) for value in values])

    def none_of(self, values: Sequence[Value]) -> exp.Condition:
        if len(values) > 1:
            return exp.not_(self.one_of(values))
        return self.column.neq(self.dialect.typed_literal(values[0]))


class _TruthColumn(_Column):
    """A column of booleans."""

    def comparison(self, literal: Literal) -> exp.Condition:
        return self.column if literal.operator == "true" else exp.not_(self.column)


@dataclass(frozen=True)
class _ListedColumn(_Column):
    """A column of text, or of whole numbers in any numeric type, with values that the schema lists."""

    is_text: bool

    @property
    def has_nan(self) -> bool:
        return not self.is_text

    @property
    def missing_values(self) -> list[Any]:
        words = self.attribute.missing_values
        return list(dict.fromkeys(["", *map(plain_word, words)])) if self.is_text else _numbers(words)

    def comparison(self, literal: Literal) -> exp.Condition:
        values = self.attribute.values_of(literal)
        if literal.operator != "!=":
            return self.one_of(values)
        nan = [exp.not_(self.dialect.is_nan(self.column))] if self.has_nan else []
        return exp.and_(self.none_of([*values, *self.missing_values]), *nan)


@dataclass(frozen=True)
class _NumberColumn(_Column):
    """A column of any numeric type, or of dates."""

    number: Numeric

    @property
    def has_nan(self) -> bool:
        return self.attribute.cell_type is CellType.NUMBER

    @property
    def missing_values(self) -> list[Any]:
        words = self.attribute.missing_words
        return _numbers(words) if self.attribute.cell_type is CellType.NUMBER else _days(words)

    def outside(self) -> exp.Condition:
        low, high = map(self.dialect.typed_literal, (self.number.low, self.number.high))
        return exp.or_(self.column < low, self.column > high, *map(exp.not_, self._whole()))

    def comparison(self, literal: Literal) -> exp.Condition:
        low, high = self._ends(literal)
        parts: list[exp.Condition] = []
        if low is not None:
            parts.append(self.column > self.dialect.typed_literal(low))
        elif self.attribute.outside == "bin":
            parts.append(self.column >= self.dialect.typed_literal(self.number.low))
        if high is not None:
            parts.append(self.column <= self.dialect.typed_literal(high))
        elif self.has_nan:
            parts.append(exp.not_(self.dialect.is_nan(self.column)))
        missing = [x for x in self.missing_values if (low is None or x > low) and (high is None or x <= high)]
        parts += [self.none_of(missing)] if missing else []
        return exp.and_(*parts, *(self._whole() if self.attribute.outside == "bin" else []))

    def _ends(self, literal: Literal) -> tuple[float | None, float | None]:
        """Return the exclusive lower and the inclusive upper limit of a literal; None for an open end.

        Engines sort NaN above all numbers, so an interval that ends at the upper bound does not contain NaN.
        """
        operands: tuple[Any, ...] = literal.operands
        match literal.operator:
            case "<=":
                return None, operands[0]
            case "between":
                return operands[0], operands[1]
            case _:
                return operands[0], None if self.attribute.outside == "clip" else self.number.high

    def _whole(self) -> list[exp.Condition]:
        """Return the condition that a number is whole, because fractions are outside the domain of integers."""
        is_whole = self.number.whole and self.attribute.cell_type is CellType.NUMBER
        return [self.column.eq(exp.Floor(this=self.column))] if is_whole else []


def _numbers(words: Sequence[Value]) -> list[float]:
    numbers = map(spelled_number, words)
    return list(dict.fromkeys(number for number in numbers if number is not None and not isnan(number)))


def _days(words: Sequence[Value]) -> list[Day]:
    return [day for day in map(as_day, words) if isinstance(day, Day)]
