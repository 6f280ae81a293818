"""Compilation of schemas to Ibis expressions, with which an engine computes the bin of every row."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hedgerow.engines.columns import EngineColumn, constant_for, double
from hedgerow.engines.engine import Expression
from hedgerow.engines.lookups import Lookups
from hedgerow.engines.packages import ibis
from hedgerow.schema.attributes import MISSING, OUTSIDE, Attribute, CellType
from hedgerow.schema.dates import date_format
from hedgerow.schema.numbers import Numeric, as_number
from hedgerow.schema.targets import Target
from hedgerow.text.values import Value, plain_word

NO_NUMBER, INFINITE, BOOLEAN, NO_DATE = -3, -4, -5, -6
"""Codes of values that are errors under every policy: not a number, infinite, an undeclared boolean, not a date."""

_LARGEST = 1.7976931348623157e308
Branches = list[tuple[Expression, Any]]
Coded = tuple[Value, int]
_BLANK: Coded = ("", MISSING)
_TRUTHS: tuple[Coded, ...] = (("false", 0), ("0", 0), ("true", 1), ("1", 1), _BLANK)


def bin_code(attribute: Attribute, column: EngineColumn, lookups: Lookups) -> Expression:
    """Return the bin of each value of a column, or the code of a value without a bin.

    The expression is valid in a selection from ``lookups.rows()``.
    """
    number, missing = as_number(attribute), attribute.missing_words
    if form := date_format(attribute):
        plain = column.plain_dates(form)
        column = replace(plain, values=lookups.once(plain.values))
    if number is not None:
        unread = _of_another_type(number, column)
        return _among(column, (), missing, lookups, _interval(number, column, lookups) if unread is None else unread)
    if attribute.cell_type is CellType.TRUTH:
        truths = _TRUTHS if column.kind == "text" else ((0, 0), (1, 1))
        return _among(column, truths, missing, lookups, OUTSIDE, ignore_case=True)
    words = attribute.spellings
    if column.kind == "boolean":
        if attribute.cell_type is not CellType.WORD:
            return _among(column, (), missing, lookups, BOOLEAN)
        words = tuple((value == "true", code) for value, code in words if value in ("false", "true"))
    return _among(column, [*words, _BLANK], missing, lookups, OUTSIDE)


def _of_another_type(number: Numeric, column: EngineColumn) -> int | None:
    """Return the code for all values of a column whose type is unsuitable, or None if it is suitable."""
    if number.cell_type is CellType.DATE:
        return None if column.kind == "text" or column.holds_dates else NO_DATE
    return BOOLEAN if column.kind == "boolean" else None


def _interval(attribute: Numeric, column: EngineColumn, lookups: Lookups) -> Expression:
    """Return the interval of each number that is not missing, or the code of a value without a bin."""
    clipped, whole = attribute.outside == "clip", attribute.whole
    if attribute.cell_type is CellType.DATE:
        x = EngineColumn(column.name, lookups.once(column.days), "integer")
        outside = _coded(_unread(column, x, NO_DATE), OUTSIDE)
    else:
        x = EngineColumn(column.name, lookups.once(column.numbers), "float" if column.kind == "text" else column.kind)
        infinite = [(_beyond(x), INFINITE)] if x.kind == "float" else []  # NaN is missing
        outside = _coded([*_unread(column, x, NO_NUMBER), *infinite], OUTSIDE)
    low, high = (-_LARGEST, _LARGEST) if clipped else (attribute.low, attribute.high)
    branches: Branches = []
    if not (clipped and column.kind == "integer"):
        branches.append((x.values < constant_for(x, low), outside))
    if whole and not clipped and x.kind == "float":
        branches.append((x.values > double(high), outside))  # the floor of larger numbers may overflow in the engine
        branches.append((x.values != x.values.floor(), OUTSIDE))
    known = _nearest(x, attribute.cuts, 0)
    if clipped and column.kind == "integer":
        return _coded(branches, known)
    return _coded([*branches, (x.values <= constant_for(x, high), known)], outside)


def _nearest(x: EngineColumn, cuts: Sequence[float], first: int) -> Expression | int:
    """Return the index of the first cut point >= a number, counted from `first`, by bisection."""
    if not cuts:
        return first
    half = len(cuts) // 2
    below = x.values <= constant_for(x, cuts[half])
    return ibis.cases((below, _nearest(x, cuts[:half], first)), else_=_nearest(x, cuts[half + 1 :], first + half + 1))


def level_code(target: Target, column: EngineColumn, lookups: Lookups) -> Expression:
    """Return the level of each value of a column, or the code of a value without a level, like `bin_code`."""
    if target.as_number is not None:
        if column.holds_dates:
            return ibis.literal(NO_NUMBER)
        return bin_code(target.as_number.column_kind, column, lookups)
    values = target.spellings(is_text=column.kind == "text")
    return _among(column, [*values, _BLANK], (), lookups, OUTSIDE, ignore_case=target.ignores_case)


def final_bin(attribute: Attribute, column: EngineColumn, lookups: Lookups) -> Expression:
    """Return the bin of each value after the policies, or a negative number if they do not allow the value."""
    code, known = bin_code(attribute, column, lookups), len(attribute.known_bins)
    branches: Branches = [(code == MISSING, known)] if attribute.missing == "bin" else []
    branches += [(code == OUTSIDE, len(attribute.bins) - 1)] if attribute.outside == "bin" else []
    return ibis.cases(*branches, else_=code) if branches else code


def is_infinite(column: EngineColumn) -> Expression:
    return _beyond(column) & ~column.is_null


def _among(
    column: EngineColumn,
    values: Sequence[Coded],
    missing: Sequence[Value],
    lookups: Lookups,
    otherwise: Expression | int,
    *,
    ignore_case: bool = False,
) -> Expression:
    """Return the code of a listed value, `MISSING` if it is NULL, NaN or declared missing, else `otherwise`."""
    absent = [(value, MISSING) for value in missing]
    if column.kind == "text":  # first literally, then without white space and zeros after the decimal point
        known, gaps = ({plain_word(value): code for value, code in coded} for coded in (values, absent))
        folded = [(column.word, gaps), (column.word.lower(), known)]
        steps = [(column.values, known | gaps), *(folded if ignore_case else [(column.word, known | gaps)])]
    else:
        constants = [(column.constant(value), code) for value, code in [*values, *absent]]
        steps = [(lookups.once(column.values), {value: code for value, code in constants if value is not None})]
        column = replace(column, values=steps[0][0])
    code = lookups.code([(key, codes) for key, codes in steps if codes], otherwise)
    # No NaN may reach a comparison: engines decide ``x <= 1`` by a file's minimum and maximum, which ignore NaN.
    return _coded([(column.is_null, MISSING)], code)


def _unread(column: EngineColumn, x: EngineColumn, other: int) -> Branches:
    """Return the tests for text that is not a number or date: blank text is missing, other text has code `other`."""
    if column.kind != "text":
        return []
    return [(x.values.isnull() & (column.text == ""), MISSING), (x.values.isnull(), other)]


def _beyond(column: EngineColumn) -> Expression:
    return (column.values > double(_LARGEST)) | (column.values < double(-_LARGEST))


def _coded(branches: Branches, otherwise: Any) -> Expression:
    return ibis.cases(*branches, else_=otherwise) if branches else otherwise
