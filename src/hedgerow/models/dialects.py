"""SQL dialects: a table of the differences between engines that sqlglot does not cover."""

import math
import re
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import sqlglot
from sqlglot import exp, parse_one
from sqlglot.generator import Generator

from hedgerow.boundary.arguments import check_choice
from hedgerow.errors import ArgumentError
from hedgerow.text.date_formats import DateFormat
from hedgerow.text.days import Day
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import LONGEST_NUMBER, NUMBER, Value

_EXACT_DIGITS = 15  # every engine converts decimals of up to this number of digits to the nearest double
# PostgreSQL and DuckDB have no escape for the vertical tab, and no escapes at all in plain strings.
_E_STRING = r"E' \t\n\r\x0B\f'"
_SPELLED = f"CASE WHEN LENGTH(t) <= {LONGEST_NUMBER} AND t ~ '{NUMBER}' THEN CAST(t AS DOUBLE PRECISION) END"
# A number of any length. PostgreSQL raises an error if a cast to float64 would round a number to 0 or to infinity.
_NUMERIC = """
CASE WHEN ABS(CAST(t AS NUMERIC)) < 2.4703282292062328e-324 THEN 0
  WHEN ABS(CAST(t AS NUMERIC)) < 1.7976931348623158e308 THEN CAST(t AS DOUBLE PRECISION) END
"""
# Floating-point columns are not compared as text: the number of digits that PostgreSQL writes is a setting.
_POSTGRES_NUMBER = f"""
CASE CAST(PG_TYPEOF(x) AS TEXT) WHEN 'real' THEN CAST(x AS DOUBLE PRECISION)
  WHEN 'double precision' THEN CAST(x AS DOUBLE PRECISION) WHEN 'numeric' THEN {_NUMERIC} ELSE {_SPELLED} END
"""
_POSTGRES_FRACTIONAL = """
CAST(PG_TYPEOF(x) AS TEXT) IN ('real', 'double precision')
OR CAST(PG_TYPEOF(x) AS TEXT) = 'numeric' AND NOT t ~ '^-?[0-9]+$'
"""
# Booleans and enumerations cannot be cast to numbers; comparing rows of one value works for all types.
_POSTGRES_EQUAL = """
CASE CAST(PG_TYPEOF(x) AS TEXT) WHEN 'double precision' THEN doubles WHEN 'real' THEN singles ELSE spelled END
"""
# Engines may convert a decimal of many digits to a neighbour of the nearest double.
_NUMBER = "CASE WHEN TYPEOF(x) LIKE '{}%' THEN TRY_CAST(t AS DOUBLE) ELSE TRY_CAST(x AS DOUBLE) END"


@dataclass(frozen=True)
class Dialect:
    """The SQL of an engine, as far as engines differ."""

    name: str  # the name of the dialect in sqlglot
    title: str  # the name of the engine
    number: str  # the number in a column ``x`` or in its trimmed text ``t``; NULL without a number, never an error
    fractional: str  # whether the type of ``x`` allows fractions, so that its text is not unique
    nan: tuple[str, ...] = ("NaN",)  # NaN as text
    white: str = ""  # ASCII white space as a literal; default: as sqlglot writes it
    flags: str = ""  # the prefix of regular expressions with which ``$`` matches only the end
    # Whether a fractional ``x`` equals one of some numbers. ``spelled`` compares `number` or the text; ``doubles`` and
    # ``singles`` compare rows of one value in this precision.
    equal: str = "spelled"
    # The text of the day that is ``n`` days after ``zero``, the start of serial days
    serial: str = "TO_CHAR(CAST(zero AS DATE) + n, 'YYYY-MM-DD')"
    spelled: str = ""  # like `number`, for an ``x`` that is fractional but not floating point
    types: Literal["any", "declared"] = "any"  # the types of the columns: any, or the types that the schema implies

    def text(self, column: exp.Condition) -> exp.Trim:
        white = exp.var(self.white) if self.white else exp.Literal.string(" \t\n\r\v\f")
        return exp.Trim(this=exp.cast(column.copy(), "text"), expression=white)

    def equals(self, column: exp.Condition, numbers: Sequence[float]) -> exp.Condition:
        literals = [self.literal(float(number)) for number in numbers]
        in_rows = [_row_equals(column, exp.cast(literal.copy(), "double")) for literal in literals]
        single = [self.literal(float(number)) for number in numbers if _is_single(number)]
        in_single = [_row_equals(column, exp.cast(literal, "real")) for literal in single]
        spelled = among(self.filled(self.spelled or self.number, column), literals)
        singles = exp.or_(*in_single) if in_single else exp.false()
        return self.filled(self.equal, column, spelled=spelled, doubles=exp.or_(*in_rows), singles=singles)

    def matches(self, text: exp.Condition, *patterns: str) -> exp.Condition:
        """Return the condition that a whole text matches a regular expression; patterns must not have backslashes."""
        return exp.RegexpLike(this=text, expression=exp.Literal.string(f"{self.flags}^({'|'.join(patterns)})$"))

    def plain_date(self, column: exp.Condition, form: DateFormat | None) -> exp.Condition:
        text: Any = self.text(column)
        if form is None:
            return text
        group = "$" if self.name == "spark" else "\\"
        for pattern, replacement in form.steps:
            text = self._replaced(text, pattern, replacement.replace("\\", group))
        if form.serials is None:
            return text
        pattern, zero = form.serials.pattern, exp.Literal.string(form.serials.zero)
        digits = exp.cast(self._replaced(text, pattern, f"{group}1"), "int")
        days = self.filled(self.serial, column, n=digits, zero=zero)
        return exp.Case().when(self.matches(text.copy(), pattern[1:-1]), days).else_(text.copy())

    def _replaced(self, text: exp.Condition, pattern: str, replacement: str) -> exp.Condition:
        parts = [text.copy(), exp.Literal.string(f"{self.flags}{pattern}"), self.literal(replacement)]
        return exp.Anonymous(this="REGEXP_REPLACE", expressions=parts)

    def literal(self, value: Value) -> Any:
        """Return a value as SQL, with all digits of a number and all characters of a text."""
        if isinstance(value, str):
            return exp.var(_QUOTED.get(self.name, lambda text: self.written(exp.Literal.string(text)))(value))
        if isinstance(value, float) and math.isinf(value):
            return exp.cast(exp.Literal.string("Infinity" if value > 0 else "-Infinity"), "double")
        digits = repr(value)
        if isinstance(value, float) and ("e" in digits or sum(map(str.isdigit, digits)) > _EXACT_DIGITS):
            return exp.cast(exp.Literal.string(digits), "double")
        return exp.convert(value)

    def typed_literal(self, value: Value) -> Any:
        """Return a value as SQL for comparisons with a column of the declared type."""
        if isinstance(value, Day):
            return exp.cast(exp.Literal.string(str(value)), "date")
        if isinstance(value, float) and self.name == "duckdb" and not _is_single(value):
            return exp.Literal.number(_double(value))  # DuckDB rounds decimals to the precision of the column
        return self.literal(value)

    def is_nan(self, column: exp.Condition) -> exp.Condition:
        if self.name in ("duckdb", "spark", "bigquery"):
            return exp.IsNan(this=column)
        return column.eq(exp.cast(exp.Literal.string("NaN"), "double"))

    def written(self, tree: exp.Expr) -> str:
        return _generator(self.name)(dialect=self.name).generate(tree)

    def prewritten(self, tree: exp.Condition) -> exp.Condition:
        """Return an expression whose text is generated once; AND and OR are put in parentheses."""
        text: Any = exp.var(self.written(tree))
        return exp.paren(text) if isinstance(tree, exp.Connector) else text

    def filled(self, template: str, column: exp.Condition, **parameters: exp.Condition) -> exp.Condition:
        """Return a template, such as `number`, applied to a column."""
        parts = {"x": column, "t": self.text(column), **parameters}
        tree: Any = _parsed(template, self.name).transform(
            lambda node: parts[node.name].copy() if isinstance(node, exp.Column) and node.name in parts else node
        )
        return exp.paren(tree) if isinstance(tree, exp.Or) else tree


@cache
def _generator(dialect: str) -> type[Generator]:
    """Return our own generator class for a dialect, because Ibis modifies sqlglot's classes when it is imported."""
    return type("Own", (sqlglot.Dialect.get_or_raise(dialect).generator_class,), {})


@cache
def _parsed(template: str, dialect: str) -> exp.Expr:
    return parse_one(template, read=dialect)


def among(column: exp.Condition, literals: Sequence[Any]) -> exp.Condition:
    return column.eq(literals[0]) if len(literals) == 1 else column.isin(*literals)


def _row_equals(column: exp.Condition, literal: exp.Condition) -> exp.Condition:
    rows = (exp.Anonymous(this="ROW", expressions=[value.copy()]) for value in (column, literal))
    return exp.Anonymous(this="RECORD_EQ", expressions=list(rows))


def _double(number: float) -> str:
    """Return a number with an exponent, which DuckDB reads as a double."""
    digits = repr(number)
    return digits if "e" in digits else f"{digits}e0"


def _is_single(number: float) -> bool:
    with suppress(OverflowError):
        return struct.unpack("f", struct.pack("f", number))[0] == number
    return False


def _postgres_text(text: str) -> str:
    """Return a text constant that does not depend on ``standard_conforming_strings``."""
    quoted = text.replace("'", "''")
    return "E'" + quoted.replace("\\", "\\\\") + "'" if "\\" in text else f"'{quoted}'"


def _spark_text(text: str) -> str:
    """Return a text constant without backslashes, which Spark reads in two ways, and ``${``, which it substitutes."""
    pieces = [piece for piece in re.split(rf"([{_SPARK_ESCAPED}])|(?<=\$)(?=\{{)", text) if piece]
    written = [f"CHAR({ord(piece)})" if piece in _SPARK_ESCAPED else f"'{piece}'" for piece in pieces]
    return f"CONCAT({', '.join(written)})" if len(written) > 1 else "".join(written) or "''"


_SPARK_ESCAPED = "'\\\\\t\n\r\v\f"
_QUOTED: Mapping[str, Callable[[str], str]] = {"postgres": _postgres_text, "spark": _spark_text}
DIALECTS = {
    dialect.name: dialect
    for dialect in (
        Dialect(
            name="duckdb",
            title="DuckDB",
            number=_NUMBER.format("DECIMAL"),
            fractional="TYPEOF(x) IN ('FLOAT', 'DOUBLE') OR TYPEOF(x) LIKE 'DECIMAL%' AND NOT TYPEOF(x) LIKE '%,0)'",
            nan=("nan", "-nan"),
            white=_E_STRING,
            serial="STRFTIME(CAST(zero AS DATE) + n, '%Y-%m-%d')",
        ),
        Dialect(
            name="postgres",
            title="PostgreSQL",
            number=_POSTGRES_NUMBER,
            fractional=_POSTGRES_FRACTIONAL,
            white=_E_STRING,
            equal=_POSTGRES_EQUAL,
            spelled=_NUMERIC,
        ),
        Dialect(
            name="spark",
            title="Spark",
            number=_NUMBER.format("decimal"),
            fractional="TYPEOF(x) IN ('float', 'double') OR TYPEOF(x) LIKE 'decimal%' AND NOT TYPEOF(x) LIKE '%,0)'",
            white=_spark_text(" \t\n\r\v\f"),
            flags="(?d)",
            serial="CAST(DATE_ADD(CAST(zero AS DATE), n) AS STRING)",
        ),
        Dialect(
            name="bigquery",
            title="BigQuery",
            number="SAFE_CAST(t AS FLOAT64)",
            fractional="JSON_TYPE(TO_JSON(x)) = 'number'",
            nan=("NaN", "nan"),
            serial="CAST(DATE_ADD(CAST(zero AS DATE), INTERVAL n DAY) AS STRING)",
        ),
        Dialect(
            name="snowflake",
            title="Snowflake",
            number="COALESCE(AS_DOUBLE(TO_VARIANT(x)), TRY_CAST(t AS DOUBLE))",
            fractional="TYPEOF(TO_VARIANT(x)) IN ('DECIMAL', 'DOUBLE', 'INTEGER')",
            serial="TO_CHAR(DATEADD(DAY, n, CAST(zero AS DATE)), 'YYYY-MM-DD')",
        ),
    )
}
"""The dialects by name. Tests parse the SQL for BigQuery and Snowflake but do not run it."""


def dialect_named(name: str, types: Literal["any", "declared"] = "any") -> Dialect:
    if name not in DIALECTS:
        raise ArgumentError(f"dialect must be one of {', '.join(sorted(DIALECTS))}, got {describe_argument(name)}.")
    check_choice("types", types, ("any", "declared"))
    return replace(DIALECTS[name], types=types)
