"""Contribution bounding in an engine: the rows of a unit that are counted, by a window function that numbers them."""

import secrets
from collections.abc import Sequence
from itertools import count

from hedgerow.engines.columns import EngineColumn
from hedgerow.engines.engine import Expression, engine_function
from hedgerow.engines.packages import ibis
from hedgerow.engines.sources import ask, engine_of
from hedgerow.errors import DomainError
from hedgerow.schema import Unit
from hedgerow.schema.contributions import no_unit

_md5 = engine_function("md5", "string", "string")  # in hexadecimal digits


def counted_table(table: Expression, unit: Unit, names: Sequence[str]) -> Expression:
    """Return the rows that are counted, without the unit's column, once all rows are known to have a unit."""
    rows, absent = counted_rows(table, unit, [name for name in names if name != unit.column])
    if ask(rows.aggregate(n=rows[absent].max()))["n"][0].as_py():
        raise no_unit(unit.column)
    return rows.drop(absent)


def counted_rows(table: Expression, unit: Unit, names: Sequence[str]) -> tuple[Expression, str]:
    """Return the rows that are counted, and the name of a new column that is 1 where a row has no unit, else 0.

    A unit's rows are numbered in the order of the columns, and taken in that of a hash of unit and number under a new
    secret key: the rows of one unit that are taken depend on no row of another, up to rows equal in all columns. Every
    value is a unit of its own, whatever the column's collation takes for equal; rows without one are one unit together.
    """
    taken = {name.lower() for name in table.columns}
    absent, whose, number, place = (
        next(name for name in (f"{word}{n}" for n in count()) if name not in taken)
        for word in ("absent", "whose", "number", "place")
    )
    column = EngineColumn.of(table, unit.column)
    if not has_exact_keys(table, unit):
        problem = "expected numbers, dates or text that say whose row it is, found times"
        raise DomainError(f"{problem}; cast them in a view or the file.", column=unit.column)
    words = ibis.cases((column.is_absent, ""), else_=_words(column, table[unit.column]))
    rows = table.select(*dict.fromkeys(names), **{absent: ibis.cases((column.is_absent, 1), else_=0), whose: words})
    seen = [_told_apart(EngineColumn.of(rows, name).values) for name in dict.fromkeys(names)]
    of_unit = ibis.window(group_by=_told_apart(rows[whose]), order_by=seen)
    rows = rows.mutate(**{number: ibis.row_number().over(of_unit)})
    key = ibis.literal(secrets.token_hex(32))
    hashed = _md5(key + rows[number].cast("string") + ibis.literal("/") + rows[whose])
    drawn = ibis.window(group_by=_told_apart(rows[whose]), order_by=[hashed])
    rows = rows.mutate(**{place: ibis.row_number().over(drawn)})
    return rows.filter(rows[place] < unit.max_rows).drop(whose, number, place), absent


def has_exact_keys(table: Expression, unit: Unit) -> bool:
    """Return whether the unit's column is of a type whose values are all told apart; times are read as dates."""
    return not table[unit.column].type().is_timestamp()


def _words(column: EngineColumn, stored: Expression) -> Expression:
    """Return the unit of each row as text, another for any two values: `column.values` would round some."""
    if column.kind == "text":
        return column.word
    if stored.type().is_decimal():
        text = stored.cast("string")
        if stored.type().precision is not None:
            return text
        return ibis.cases((text.contains("."), text.re_replace("0+$", "").re_replace("[.]$", "")), else_=text)
    if column.kind == "float":
        text = engine_of(stored).exact_text(column.values)
        return ibis.cases((column.values == 0, "0"), else_=text)  # 0 may have a sign
    return stored.cast("string")


def _told_apart(value: Expression) -> Expression:
    """Return what tells rows apart: of text its bytes, of which a collation may take some for equal."""
    return engine_of(value).as_bytes(value) if value.type().is_string() else value
