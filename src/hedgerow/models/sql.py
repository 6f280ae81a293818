"""Literals as SQL conditions, by sqlglot: names and values quoted, NULL satisfying nothing but "is missing"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sqlglot import exp

from hedgerow.columns import plain_word
from hedgerow.schema.attributes import Attribute, Categorical
from hedgerow.schema.literals import Literal
from hedgerow.schema.numbers import Integer, Real
from hedgerow.values import Value, value_text

_DIALECT = "duckdb"
_NAN = ("nan", "-nan")  # how DuckDB writes NaN
Cases = Sequence[tuple[Sequence[tuple[Literal, Attribute]], Value]]
"""What a model says, first match first: literals with their attributes, and the class. The last has no literals."""


def case_expression(cases: Cases, comment: str) -> str:
    """Return ``CASE WHEN … THEN … ELSE … END`` after a comment; the last case, without conditions, is the ELSE."""
    *conditional, (_, default) = cases
    if not conditional:
        return expression([constant(default)], comment)
    lines = ["CASE"]
    for literals, value in conditional:
        holds = exp.and_(*(condition(literal, kind) for literal, kind in literals))
        lines.append(f"  WHEN {holds.sql(_DIALECT)} THEN {constant(value)}")
    return expression([*lines, f"  ELSE {constant(default)}", "END"], comment)


def choice(literal: Literal, attribute: Attribute, true: Sequence[str], false: Sequence[str]) -> list[str]:
    """Return the lines of ``CASE WHEN … THEN … ELSE … END`` around those of two branches.

    Whatever is not true, NULL too, goes to the ELSE. Only what begins an element is indented: a line break within a
    quoted name or value is part of it.
    """
    return [
        f"CASE WHEN {condition(literal, attribute).sql(_DIALECT)}",
        f"  THEN {true[0]}",
        *(f"  {line}" for line in true[1:]),
        f"  ELSE {false[0]}",
        *(f"  {line}" for line in false[1:]),
        "END",
    ]


def constant(value: Value) -> str:
    """Return a class as SQL."""
    return exp.convert(value).sql(_DIALECT)


def expression(lines: Sequence[str], comment: str) -> str:
    """Return the lines of an expression after a comment."""
    return f"/* DuckDB; {comment.replace('*/', '* /').replace('/*', '/ *')} */ " + "\n".join(lines)


def condition(literal: Literal, attribute: Attribute) -> exp.Condition:
    """Return the SQL condition of one literal on the raw column."""
    column = exp.column(exp.to_identifier(literal.attribute, quoted=True))
    declared = attribute.values if isinstance(attribute, Categorical) else ()
    absent = ["", *(nan for nan in _NAN if nan not in declared), *attribute.missing_values]
    known = exp.not_(_one_of(absent, attribute, column))
    match literal.operator:
        case "missing":
            return exp.or_(column.is_(exp.null()), _one_of(absent, attribute, column))
        case "known":
            return known
        case "true" | "false":
            number = int(literal.operator == "true")
            return exp.Lower(this=_text(column)).isin(literal.operator, str(number), str(float(number)))
        case "=":
            return _one_of(literal.operands, attribute, column)
        case "!=":
            return exp.not_(_one_of([*absent, *literal.operands], attribute, column))
        case "outside":
            return exp.and_(exp.not_(_inside(attribute, column)), known)
        case _:
            inside = [_inside(attribute, column)] if attribute.outside == "cell" else []
            return exp.and_(*_comparison(literal, _number(column)), known, *inside)


def _comparison(literal: Literal, number: exp.Condition) -> list[exp.Condition]:
    operands = literal.operands
    if literal.operator == "between":
        return [number > operands[0], number <= operands[1]]
    return [number <= operands[0] if literal.operator == "<=" else number > operands[0]]


def _inside(attribute: Attribute, column: exp.Condition) -> exp.Condition:
    if isinstance(attribute, Categorical):
        return _one_of(attribute.values, attribute, column)
    assert isinstance(attribute, (Integer, Real))
    number = _number(column)
    inside = number.between(attribute.low, attribute.high)
    return exp.and_(inside, number.eq(exp.Floor(this=number))) if isinstance(attribute, Integer) else inside


def _one_of(values: Sequence[Value], attribute: Attribute, column: exp.Condition) -> exp.Condition:
    """Return whether the column holds one of these values: text as text, numbers as numbers. NULL only if it is."""
    words = [spelling for value in values if isinstance(value, str) for spelling in _spellings(value, attribute)]
    numbers = [value for value in values if not isinstance(value, str)]
    found = [_among(_text(column), list(dict.fromkeys(words)))] if words else []
    if numbers:
        found.append(exp.func("COALESCE", _among(_number(column), numbers), exp.false()))
    return exp.or_(*found)


def _among(found: exp.Condition, values: Sequence[Value]) -> exp.Condition:
    return found.eq(values[0]) if len(values) == 1 else found.isin(*values)


def _text(column: exp.Condition) -> exp.Condition:
    return exp.Trim(this=exp.cast(column, "text"))


def _number(column: exp.Condition) -> exp.Condition:
    return exp.TryCast(this=column, to=exp.DataType.build("double"))


def _spellings(value: str, attribute: Attribute) -> list[str]:
    """Return how a word reads when a column of numbers is cast to text: "1" may be "1.0", if that is no other value."""
    try:
        number = float(value)
    except ValueError:
        return [value]
    if plain_word(number) != plain_word(value):
        return [value]
    declared: tuple[Any, ...] = attribute.values if isinstance(attribute, Categorical) else ()
    taken = {value_text(other) for other in (*declared, *attribute.missing_values)}
    others = [value_text(number), str(number)] if math.isfinite(number) else []
    return [value, *(other for other in others if other not in taken)]
