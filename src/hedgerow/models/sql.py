"""Conditions, cases and constants in SQL, from which the models build their expressions.

sqlglot quotes names and values. NULL satisfies "is missing" only.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from sqlglot import exp

from hedgerow.errors import ArgumentError
from hedgerow.models.conditions import Cases, Pieces
from hedgerow.models.dialects import Dialect, among
from hedgerow.models.typed_sql import typed_condition
from hedgerow.schema import Literal, Schema
from hedgerow.schema.attributes import Attribute, CellType
from hedgerow.schema.dates import date_format
from hedgerow.schema.derived import LEAST, WHOLE_BELOW, Prefix, Ratio, Sum, YearsSince
from hedgerow.schema.numbers import as_number
from hedgerow.text.date_formats import SERIAL_DAYS
from hedgerow.text.days import as_plain
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, is_double, plain_word, printable, spelled_number

_WHOLE = re.compile("-?[0-9]+")
_LIKE_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
# The spellings of booleans as text, as numbers of any type (including minus zero), and as booleans.
_BOOLEANS = {"true": ("true", "1([.]0+)?"), "false": ("false", "-?0([.]0+|e-[0-9]+)?")}


def first_case(cases: Cases, schema: Schema, dialect: Dialect) -> list[str]:
    """Return the lines of ``CASE WHEN … THEN … ELSE … END``; the last case, which has no conditions, is the ELSE."""
    *conditional, (_, default) = cases
    if not conditional:
        return [constant(default, dialect)]
    written = conditions(schema, dialect)
    lines = ["CASE"]
    for literals, value in conditional:
        holds = " AND ".join(written((literal, len(literals) == 1)) for literal in literals)
        lines.append(f"  WHEN {holds} THEN {constant(value, dialect)}")
    return [*lines, f"  ELSE {constant(default, dialect)}", "END"]


def conditions(schema: Schema, dialect: Dialect) -> Pieces[tuple[Literal, bool]]:
    """Return a cache of the SQL of literals; the flag of a literal is True if it needs no parentheses."""
    columns: dict[str, _Raw] = {}

    def write(part: tuple[Literal, bool]) -> str:
        literal, alone = part
        for name in schema.columns([literal.attribute]):
            if dialect.name == "spark" and "${" in name:
                raise ArgumentError(f"Spark would substitute the ${{ in the column name {shown(name)}; rename it.")
        attribute = schema[literal.attribute]
        tree = typed_condition(literal, attribute, dialect) if dialect.types == "declared" else None
        if tree is None:
            if literal.attribute not in columns:
                kind = _Raw if attribute.derived is None else _Derived
                columns[literal.attribute] = kind(literal.attribute, attribute, dialect)
            tree = _condition(literal, columns[literal.attribute])
        return dialect.written(exp.paren(tree) if isinstance(tree, exp.Connector) and not alone else tree)

    return Pieces(write, "SQL")


def choice(condition: str, true: Sequence[str], false: Sequence[str]) -> list[str]:
    """Return the lines of ``CASE WHEN … THEN … ELSE … END`` for the lines of two branches; NULL goes to the ELSE."""
    # Only the first line of an element is indented, because line breaks inside quoted names and values are significant.
    return [
        f"CASE WHEN {condition}",
        f"  THEN {true[0]}",
        *(f"  {line}" for line in true[1:]),
        f"  ELSE {false[0]}",
        *(f"  {line}" for line in false[1:]),
        "END",
    ]


def constant(value: Value, dialect: Dialect) -> str:
    """Return a class, or a number in double precision, as SQL."""
    if isinstance(value, float):
        return dialect.written(exp.cast(exp.Literal.string(repr(value)), "double"))
    return dialect.written(dialect.literal(value))


def expression(lines: Sequence[str], dialect: Dialect, comment: str) -> str:
    # DuckDB reads a quotation mark in a comment as the start of text, and replaces Unicode spaces in texts after it.
    comment = printable(comment).translate({ord("'"): "\u2019", ord('"'): "\u201d"})
    comment = comment.replace("*/", "* /").replace("/*", "/ *").replace("${", "$ {")
    types = ", columns of the declared types" if dialect.types == "declared" else ""
    return f"/* {dialect.title}{types}; {comment} */ " + "\n".join(lines)


def _condition(literal: Literal, raw: "_Raw") -> exp.Condition:
    values = raw.attribute.queried(literal)
    match literal.operator:
        case "missing":
            return exp.or_(raw.column.is_(exp.null()), raw.absent)
        case "known":
            return exp.not_(raw.absent)
        case "outside":
            return exp.and_(exp.not_(raw.inside), exp.not_(raw.absent))
        case "!=":
            return exp.not_(exp.or_(raw.absent, raw.one_of(values)))
        case _ if values:
            return raw.one_of(values)
        case "true" | "false":
            return raw.dialect.matches(exp.Lower(this=raw.text), *_BOOLEANS[literal.operator])
        case _:
            inside = [raw.inside] if raw.attribute.outside == "bin" else []
            return exp.and_(*_comparison(literal, raw), exp.not_(raw.absent), *inside)


def _comparison(literal: Literal, raw: "_Raw") -> list[exp.Condition]:
    operands = [raw.dialect.literal(as_plain(value)) for value in literal.operands]
    if literal.operator == "between":
        return [raw.ordered > operands[0], raw.ordered <= operands[1]]
    return [raw.ordered <= operands[0] if literal.operator == "<=" else raw.ordered > operands[0]]


@dataclass(frozen=True)
class _Raw:
    """A raw column of any type with its declared attribute; each of its SQL expressions is generated once."""

    name: str
    attribute: Attribute
    dialect: Dialect

    @cached_property
    def column(self) -> exp.Condition:
        return exp.column(exp.to_identifier(self.name, quoted=True))

    @cached_property
    def text(self) -> exp.Condition:
        return self.dialect.prewritten(self.dialect.text(self.column))

    @cached_property
    def ordered(self) -> exp.Condition:
        """The compared value: a number, or the text of a date, which sorts like dates."""
        if self.attribute.cell_type is CellType.DATE:
            plain = self.dialect.plain_date(self.column, date_format(self.attribute))
            return self.dialect.prewritten(exp.Substring(this=plain, start=exp.convert(1), length=exp.convert(10)))
        return self.dialect.prewritten(self.dialect.filled(self.dialect.number, self.column))

    @cached_property
    def is_fractional(self) -> exp.Condition:
        return self.dialect.prewritten(self.dialect.filled(self.dialect.fractional, self.column))

    @cached_property
    def absent(self) -> exp.Condition:
        """The condition that a non-NULL value is missing. It is NULL only if the column is NULL."""
        if self.attribute.cell_type is CellType.DATE:
            tokens = [*map(plain_word, self.attribute.missing_words)]
            days = [token for token in tokens if _LIKE_DAY.fullmatch(token)]
            of_days = [self._among(self.ordered, days)] if days else []
            form = date_format(self.attribute)
            nan = [self._is_nan] if form is not None and form.text in SERIAL_DAYS else []
            return self.dialect.prewritten(exp.or_(self._spelled([*tokens, ""]), *of_days, *nan))
        if self.attribute.cell_type is not CellType.VALUE:  # `predict` raises an error for text NaN
            return self.dialect.prewritten(self.one_of(self.attribute.missing_values, "", *self.dialect.nan))
        return self.dialect.prewritten(exp.or_(self.one_of(self.attribute.missing_values, ""), self._is_nan))

    @property
    def _is_nan(self) -> exp.Condition:
        """The condition that the column has a fractional type and the value is NaN."""
        return exp.and_(self.is_fractional, self._among(self.text, self.dialect.nan))

    @cached_property
    def inside(self) -> exp.Condition:
        number = as_number(self.attribute)
        if number is None:
            return self.dialect.prewritten(self.one_of([value for value, _ in self.attribute.spellings]))
        low, high = (self.dialect.literal(as_plain(bound)) for bound in (number.low, number.high))
        inside = self.ordered.between(low, high)
        if number.whole and number.cell_type is CellType.NUMBER:
            inside = exp.and_(inside, self.ordered.eq(exp.Floor(this=self.ordered)))
        return self.dialect.prewritten(inside)

    def one_of(self, values: Sequence[Value], *words: str) -> exp.Condition:
        """Return the condition that the column has one of these values or words; NULL or false if it is NULL."""
        # As in `Column.equals`: text is compared as text, without a fraction of zeros. Floating point and decimals are
        # compared as numbers, because engines write different numbers as the same text.
        in_words = [self._among(self.text, words)] if words else []
        texts = list(dict.fromkeys(plain_word(value) for value in values))
        if not values:
            return exp.or_(*in_words)
        numbers = [number for number in map(spelled_number, values) if number is not None and is_double(number)]
        in_text = self._spelled(texts)
        if numbers:
            in_numbers = self.dialect.prewritten(self.dialect.equals(self.column, list(dict.fromkeys(numbers))))
            in_text = exp.Case().when(self.is_fractional, in_numbers).else_(in_text)
        elif any(map(_WHOLE.fullmatch, texts)):
            in_text = exp.and_(exp.not_(self.is_fractional), in_text)
        return exp.or_(*in_words, in_text)

    def _spelled(self, texts: Sequence[str]) -> exp.Condition:
        """Return the condition that the text of the column is one of these; a fraction of zeros is ignored."""
        whole = [text for text in texts if _WHOLE.fullmatch(text)]
        other = [text for text in texts if not _WHOLE.fullmatch(text)]
        parts: list[exp.Condition] = [self._among(self.text, other)] if other else []
        if whole:
            parts.append(self.dialect.matches(self.text, *(f"{text}([.]0+)?" for text in whole)))
        return exp.or_(*parts)

    def _among(self, expression: exp.Condition, values: Sequence[Value]) -> exp.Condition:
        return among(expression, [self.dialect.literal(value) for value in values])


@dataclass(frozen=True)
class _Derived(_Raw):
    """A derived column: an expression that is NULL for missing values."""

    @cached_property
    def column(self) -> exp.Condition:
        derived = self.attribute.derived
        assert derived is not None
        cells = [_Raw(name, derived.read_as, self.dialect) for name in derived.columns]
        return self.dialect.prewritten(exp.paren(derived.render(_SqlExpressions, cells)))

    @property
    def ordered(self) -> exp.Condition:  # pyright: ignore[reportIncompatibleVariableOverride] -- already a number
        return self.column

    @property
    def absent(self) -> exp.Condition:  # pyright: ignore[reportIncompatibleVariableOverride] -- nothing is spelled
        return self.column.is_(exp.null())

    def one_of(self, values: Sequence[Value], *words: str) -> exp.Condition:  # noqa: ARG002 -- nothing is spelled
        return self._spelled([plain_word(value) for value in values])


class _SqlExpressions:
    """Derivations of raw columns as SQL expressions; NULL if a cell is missing or not valid."""

    @staticmethod
    def years_since(derived: YearsSince, date: _Raw) -> exp.Condition:
        def part(first: int, length: int) -> exp.Condition:
            return exp.Substring(this=date.ordered, start=exp.convert(first), length=exp.convert(length))

        year, _, day = str(derived.until).partition("-")
        later = exp.Case().when(part(6, 5) > exp.Literal.string(day), exp.convert(1)).else_(exp.convert(0))
        years = exp.convert(int(year)) - exp.cast(part(1, 4), "int") - exp.paren(later)
        is_date = date.dialect.matches(date.ordered, "[0-9]{4}-[0-9]{2}-[0-9]{2}")
        return exp.Case().when(exp.and_(exp.not_(date.absent), is_date), exp.cast(years, "double"))

    @staticmethod
    def ratio(derived: Ratio, *cells: _Raw) -> exp.Condition:  # noqa: ARG004 -- two numbers are all
        zero, least = (cells[0].dialect.literal(number) for number in (0.0, LEAST))
        above, below = (
            exp.Case().when(exp.Abs(this=_number(cell)) < least, exp.cast(zero, "double")).else_(_number(cell))
            for cell in cells
        )
        return exp.Div(this=above, expression=exp.Nullif(this=below, expression=exp.cast(zero, "double")), typed=True)

    @staticmethod
    def sum(derived: Sum, *items: _Raw) -> exp.Condition:  # noqa: ARG004 -- the items are all
        return reduce(lambda left, right: left + right, map(_number, items))

    @staticmethod
    def prefix_of(derived: Prefix, code: _Raw) -> exp.Condition:
        text, dialect = code.text, code.dialect
        number = dialect.prewritten(dialect.filled(dialect.number, code.column))
        is_whole = exp.and_(number.eq(exp.Floor(this=number)), exp.Abs(this=number) < exp.convert(WHOLE_BELOW))
        digits = exp.Case().when(is_whole, exp.cast(exp.cast(number, "bigint"), "text")).else_(dialect.literal(""))
        point = exp.StrPosition(this=text, substr=exp.Literal.string("."))
        cut = exp.Substring(this=text, start=exp.convert(1), length=point - exp.convert(1))
        spelled = exp.Case().when(dialect.matches(text, "-?[0-9]+[.]0+"), cut).else_(text)
        word = dialect.prewritten(exp.paren(exp.Case().when(code.is_fractional, digits).else_(spelled)))

        def first(length: int) -> exp.Condition:
            return exp.Substring(this=word, start=exp.convert(1), length=exp.convert(length))

        prefixed: exp.Condition = dialect.literal("") if derived.length is None else first(derived.length)
        for length in reversed(derived.lengths):
            cases = exp.Case(this=first(length)).else_(prefixed)
            for prefix, value in derived.values_of.items():
                if len(prefix) == length:
                    cases = cases.when(dialect.literal(prefix), dialect.literal(value), copy=False)
            prefixed = cases
        return exp.Case().when(exp.not_(code.absent), prefixed)


def _number(cell: _Raw) -> exp.Condition:
    """Return the number in a cell; NULL if it is missing or outside the bounds."""
    bounds = as_number(cell.attribute)
    assert bounds is not None
    inside = cell.ordered.between(cell.dialect.literal(bounds.low), cell.dialect.literal(bounds.high))
    number = exp.Case().when(exp.and_(exp.not_(cell.absent), inside), cell.ordered)
    return cell.dialect.prewritten(exp.paren(number))
