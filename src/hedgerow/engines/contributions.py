"""Contribution bounding in an engine: a window function selects the rows of each unit that are counted."""

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

_md5 = engine_function("md5", "string", "string")  # returns hexadecimal digits


def counted_table(table: Expression, unit: Unit, names: Sequence[str]) -> Expression:
    """Return the rows that are counted, without the unit's column; DomainError if a row has no unit."""
    rows, absent = counted_rows(table, unit, [name for name in names if name != unit.column])
    if ask(rows.aggregate(n=rows[absent].max()))["n"][0].as_py():
        raise no_unit(unit.column)
    return rows.drop(absent)


def counted_rows(table: Expression, unit: Unit, names: Sequence[str]) -> tuple[Expression, str]:
    """Return the rows that are counted, and the name of a new column that is 1 for rows without a unit, else 0.

    The rows of a unit are numbered in the order of the columns. They are selected in the order of a hash of unit and
    number under a new secret key. The selected rows of a unit do not depend on rows of other units, up to rows that are
    equal in all columns. Every value identifies a unit of its own, even if the column's collation considers two values
    equal. All rows without a unit form one unit.
    """
    used = {name.lower() for name in table.columns}
    absent, unit_key, number, place = (
        next(name for name in (f"{word}{n}" for n in count()) if name not in used)
        for word in ("absent", "unit", "number", "place")
    )
    column = EngineColumn.of(table, unit.column)
    if not has_exact_keys(table, unit):
        problem = "times cannot identify the unit of privacy; expected numbers, dates or text"
        raise DomainError(f"{problem}. Cast the column in a view or in the file.", column=unit.column)
    words = ibis.cases((column.is_absent, ""), else_=_words(column, table[unit.column]))
    rows = table.select(*dict.fromkeys(names), **{absent: ibis.cases((column.is_absent, 1), else_=0), unit_key: words})
    columns = [_exact_key(EngineColumn.of(rows, name).values) for name in dict.fromkeys(names)]
    of_unit = ibis.window(group_by=_exact_key(rows[unit_key]), order_by=columns)
    rows = rows.mutate(**{number: ibis.row_number().over(of_unit)})
    key = ibis.literal(secrets.token_hex(32))
    hashed = _md5(key + rows[number].cast("string") + ibis.literal("/") + rows[unit_key])
    drawn = ibis.window(group_by=_exact_key(rows[unit_key]), order_by=[hashed])
    rows = rows.mutate(**{place: ibis.row_number().over(drawn)})
    return rows.filter(rows[place] < unit.max_rows).drop(unit_key, number, place), absent


def has_exact_keys(table: Expression, unit: Unit) -> bool:
    """Return whether the type of the unit's column distinguishes all values; times do not, as they become dates."""
    return not table[unit.column].type().is_timestamp()


def _words(column: EngineColumn, stored: Expression) -> Expression:
    """Return the unit of each row as text, distinct for distinct values; `column.values` would round some values."""
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


def _exact_key(value: Expression) -> Expression:
    """Return a value, or the bytes of a text, whose equality does not depend on a collation."""
    return engine_of(value).as_bytes(value) if value.type().is_string() else value
