"""Lookups of values among constants: few constants are compared in turn, many are joined as a table."""

import re
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from hedgerow.engines.columns import double
from hedgerow.engines.engine import Expression, literal_text
from hedgerow.engines.packages import ibis, ops
from hedgerow.engines.sources import engine_of

FEW = 32  # up to this number, constants are compared in turn, in linear time; more are joined, in constant time per row

LookupCodes = Mapping[Any, int]  # the code of each constant; all are text, or whole numbers, or float64, or booleans

_WIDTH = 6  # the width of a code as text


class Lookups:
    """Values that are computed once per row, before the codes: expensive expressions and joins."""

    # Constants are distinct (text as bytes), so a row matches at most one of them, and a left join keeps all rows once.

    def __init__(self, table: Expression, names: Sequence[str]) -> None:
        self._table = table.select(*dict.fromkeys(names))
        self._joins: list[tuple[Expression, Expression]] = []
        self._computed: dict[Any, Expression] = {}
        used = {name.lower() for name in names}
        self._numbers = (number for number in count() if not {f"key{number}", f"code{number}"} & used)

    def once(self, value: Expression) -> Expression:
        """Return an expression that is evaluated once for each row, even if it is used repeatedly."""
        if not isinstance(value.op(), ops.Field) and value.op() not in self._computed:
            name = f"key{next(self._numbers)}"
            self._table = self._table.mutate(**{name: value})
            self._computed[value.op()] = self._table[name]
        return self._computed.get(value.op(), value)

    def code(self, steps: Sequence[tuple[Expression, LookupCodes]], otherwise: Expression | int) -> Expression | int:
        """Return the code of the first expression that equals one of its constants, else `otherwise`."""
        code = otherwise
        many = any(len(codes) > FEW and not key.type().is_boolean() for key, codes in steps)
        if many and engine_of(steps[0][0]).joins_constants:
            codes = self._joined(steps)
            return ibis.cases(*((code.notnull(), code) for code in codes), else_=otherwise)
        for key, codes in reversed(steps):
            if key.type().is_string():
                code = engine_of(key).word_code(key, codes, code)
            else:
                code = key.cases(*((_literal(value, key), number) for value, number in codes.items()), else_=code)
        return code

    def rows(self) -> Expression:
        """Return the table with its joins, from which the codes can be selected."""
        rows = self._table
        if self._computed:
            rows = engine_of(rows).computed_once(rows)
        for constants, equal in self._joins:
            rows = rows.left_join(constants, [equal])
        return rows

    def _joined(self, steps: Sequence[tuple[Expression, LookupCodes]]) -> list[Expression]:
        joined: list[Expression] = []
        for key, codes in steps:
            number = next(self._numbers)
            constants = _table_of(codes, key, number)
            comparable = _comparable(key, key)
            if joined:
                comparable = ibis.cases((joined[-1].isnull(), comparable), else_=ibis.null(comparable.type()))
            self._joins.append((constants, comparable == constants[f"key{number}"]))
            joined.append(constants[f"code{number}"])
        return joined


def _literal(value: Any, key: Expression) -> Expression:
    if key.type().is_boolean():
        return ibis.literal(value)
    return double(value) if key.type().is_floating() else ibis.literal(value, type=_widest(key))


def _widest(key: Expression) -> str:
    """Return the type in which a number is compared, which can represent it and the constants."""
    return "float64" if key.type().is_floating() else "uint64" if key.type().is_uint64() else "int64"


def _table_of(codes: LookupCodes, key: Expression, number: int) -> Expression:
    """Return a table of constants, comparable with a key, and their codes, in columns of this number."""
    # One text with a line for each constant is faster than many literals. No constant begins or ends with a line break,
    # so lines are separated by more line breaks than any constant has in a row. No two tables share a part, to which
    # Ibis would give a name that the table of the rows may have, too.
    constants = [repr(value) if isinstance(value, float) else str(value) for value in codes]
    parting = "\n" * (1 + max(len(breaks) for text in constants for breaks in re.findall("\n*", text)))
    lines = [f"{code:0{_WIDTH}d}{text}" for code, text in zip(codes.values(), constants, strict=True)]
    table = literal_text(parting.join(lines)).split(parting).unnest().name(f"line{number}").as_table()
    line = table[f"line{number}"]
    constant, code = _comparable(line.substr(_WIDTH), key), line.left(_WIDTH).cast("int32")
    return table.group_by(**{f"key{number}": constant}).agg(**{f"code{number}": code.min()})


def _comparable(value: Expression, key: Expression) -> Expression:
    """Return a value in the type in which a join compares `key`; text becomes bytes, so no collation applies."""
    if not key.type().is_string():
        return value.cast(_widest(key))
    return engine_of(key).as_bytes(value)
