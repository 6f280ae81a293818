"""Bounds and values that the check constraints of a database declare for a column."""

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from hedgerow.schema.imports.draft import Limits, bound
from hedgerow.text.days import DATE, as_day

Node = Any  # a node of sqlglot's tree, whose classes change between versions
_LONGEST, _MOST_BRACKETS = 100_000, 500
_TURNED: dict[Any, str] = {exp.GTE: "<=", exp.LTE: ">=", exp.GT: "<", exp.LT: ">"}
_KIND = exp.DataType.Type
_TEXTS = {_KIND.TEXT, _KIND.VARCHAR, _KIND.CHAR, _KIND.BPCHAR, _KIND.USERDEFINED}
_NUMBERS = {_KIND.DOUBLE, _KIND.DECIMAL}
_WHOLE = {_KIND.TINYINT, _KIND.SMALLINT, _KIND.INT, _KIND.BIGINT}
_TIMES = {_KIND.DATE, _KIND.TIMESTAMP, _KIND.TIMESTAMPNTZ}
_TIME = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})[ T](?P<time>([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?)"
)


def limits_of(column: str, constraints: Iterable[str]) -> Limits:
    """Return the limits that check constraints declare for a column.

    Comparisons with constants and lists are read, and their combinations by AND and OR.
    """
    return reduce(and_, (_read(text, column) for text in constraints), Limits())


def _read(text: str, column: str) -> Limits:
    text = re.sub(r"^\s*CHECK\b", "", text, flags=re.IGNORECASE)
    if len(text) > _LONGEST or text.count("(") > _MOST_BRACKETS:
        return Limits()
    try:
        return _limits(sqlglot.parse_one(text, dialect="postgres"), column)
    except (SqlglotError, RecursionError):
        return Limits()


def _limits(node: Node, column: str) -> Limits:
    node = node.unnest()
    if isinstance(node, exp.And):
        return _limits(node.left, column) & _limits(node.right, column)
    if isinstance(node, exp.Or):
        sides = [_limits(side, column) for side in (node.left, node.right) if not _is_null(side, column)]
        return reduce(or_, sides) if sides else Limits()
    return _comparison(node, column)


def _comparison(node: Node, column: str) -> Limits:
    if isinstance(node, exp.Between) and not node.args.get("symmetric"):
        low, high = node.args["low"], node.args["high"]
        return _compared(node.this, ">=", low, column) & _compared(node.this, "<=", high, column)
    if isinstance(node, exp.In):
        return _among(node.this, node.expressions, column)
    if isinstance(node, exp.EQ):
        listed = _array(node.right)
        if listed is None and _is_column(node.right, column, _TEXTS | _NUMBERS | _TIMES):
            return _among(node.right, [node.left], column)
        return _among(node.left, [node.right] if listed is None else listed, column)
    turned = _TURNED.get(type(node))
    if turned is None or not isinstance(node, exp.Binary):
        return Limits()
    usual = turned.translate(str.maketrans("<>", "><"))
    return _compared(node.left, usual, node.right, column) & _compared(node.right, turned, node.left, column)


def _is_null(node: Node, column: str) -> bool:
    node = node.unnest()
    is_null = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and not node.args.get("negate")
    return is_null and _is_column(node.this, column, _TEXTS | _NUMBERS | _TIMES | _WHOLE)


def _array(node: Node) -> Sequence[Node] | None:
    if not isinstance(node, exp.Any):
        return None
    inner = node.this.unnest()
    while isinstance(inner, exp.Cast):
        inner = inner.this.unnest()
    return inner.expressions if isinstance(inner, exp.Array) else [node]


def _is_column(node: Node, column: str, kinds: set[Any]) -> bool:
    """Return whether a node is the column, possibly cast to types that do not change the comparison."""
    node = node.unnest()
    while isinstance(node, exp.Cast):
        if node.to.this not in kinds or node.to.expressions:
            return False
        node = node.this.unnest()
    return isinstance(node, exp.Column) and node.name == column and not node.table


def _compared(left: Node, operator: str, right: Node, column: str) -> Limits:
    value = _constant(right)
    if value is None or not _is_column(left, column, _NUMBERS | _TIMES):
        return Limits()
    time = _TIME.fullmatch(value) if isinstance(value, str) else None
    number = as_day(time["day"] if time else value)
    number = bound(number, whole=False) if isinstance(number, str) else number
    if number is None:
        return Limits()
    at_midnight = time is None or not time["time"].strip("0:.")
    if operator[0] == ">":
        return Limits(lows=((number, operator == ">=" and at_midnight),))
    return Limits(highs=((number, operator == "<=" or not at_midnight),))


def _among(left: Node, nodes: Sequence[Node], column: str) -> Limits:
    values = [_constant(node) for node in nodes]
    kinds = _NUMBERS | _TIMES
    if all(isinstance(value, str) for value in values):  # compared with a number, text is converted to a number
        kinds = kinds | _TEXTS
    if not values or None in values or not _is_column(left, column, kinds):
        return Limits()
    return Limits(values=tuple(values))


def _constant(node: Node) -> Any:
    """Return the text or number of a constant; None for any other node, and if a cast changes the constant."""
    node = node.unnest()
    if isinstance(node, exp.Cast):
        return _cast(_constant(node.this), node.to)
    if isinstance(node, exp.Neg):
        value = _constant(node.this)
        return None if value is None or isinstance(value, str) else -value
    if not isinstance(node, exp.Literal):
        return None
    return node.this if node.is_string else bound(node.this, whole=False)


def _cast(value: Any, to: exp.DataType) -> Any:
    if to.this in _TEXTS and isinstance(value, str):
        longest = to.expressions[0].name if to.expressions else ""
        return value if not longest or (longest.isdigit() and len(value) <= int(longest)) else None
    if to.this in _TIMES and isinstance(value, str) and not to.expressions:
        is_time = re.fullmatch(DATE, value) or (to.this != _KIND.DATE and _TIME.fullmatch(value))
        return value if is_time else None
    if to.this in _NUMBERS | _WHOLE and not to.expressions:
        return bound(value, whole=to.this in _WHOLE)
    return None
