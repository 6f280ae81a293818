"""Decimal commas and thousands separators in numbers that are text."""

import re
from typing import Any

from hedgerow.tables.columns import Column, pc

THOUSANDS = {",": ",", ".": ".", "'": "'\u2019", "_": "_", " ": " \u00a0\u2009\u202f"}
"""The thousands separators with the characters that stand for them."""
_DECIMAL = r"^\s*([-+]?[0-9]*){}([0-9]+([eE][-+]?[0-9]+)?)\s*$"
_CONVENTIONS = ((",", None), (".", ","), (".", " "), (".", "'"), (".", "_"), (",", "."), (",", " "), (",", "'"))


def with_points(column: Any, decimal: str, thousands: str | None) -> Any:
    """Return Arrow text in which numbers have a decimal point and no thousands separators.

    Separators are removed from numbers that have a separator before each group of three digits. Other text is
    unchanged, except that a number with a point becomes non-numeric text if the decimal mark is a comma.
    """
    if thousands is not None:
        mark = f"[{re.escape(THOUSANDS[thousands])}]"
        grouped = rf"^\s*[-+]?[1-9][0-9]{{0,2}}({mark}[0-9]{{3}})+([{decimal}][0-9]+)?\s*$"
        is_grouped = pc.match_substring_regex(column, grouped)
        column = pc.if_else(is_grouped, pc.replace_substring_regex(column, mark, ""), column)
    if decimal == ",":
        is_other = pc.match_substring_regex(column, _DECIMAL.format("[.]"))
        pointed = pc.replace_substring_regex(column, _DECIMAL.format(","), r"\1.\2")
        column = pc.if_else(is_other, pc.replace_substring(column, ".", ","), pointed)
    return column


def recognised_marks(column: Column) -> tuple[str, ...]:
    """Return the options, in backticks, that read the most cells of a text column as numbers; empty if none helps.

    There are several if the text is ambiguous: ``1,234`` has a decimal comma or a thousands separator.
    """
    if not column.is_text:
        return ()
    n_plain = int(column.are_numbers().sum())
    counts = {marks: _count(column, *marks) for marks in _CONVENTIONS}
    most = max(counts.values())
    if most <= n_plain:
        return ()
    best = [marks for marks, count in counts.items() if count == most]
    simple = {decimal for decimal, thousands in best if thousands is None}
    return tuple(_options_of(*marks) for marks in best if marks[1] is None or marks[0] not in simple)


def _options_of(decimal: str, thousands: str | None) -> str:
    """Return the options of the command line that declare these marks, in backticks."""
    mark = {" ": "space", "'": '"\'"'}.get(thousands or "", thousands)
    options = [f"--decimal {decimal}"] * (decimal != ".") + [f"--thousands {mark}"] * (thousands is not None)
    return f"`{' '.join(options)}`"


def _count(column: Column, decimal: str, thousands: str | None) -> int:
    read = with_points(column.values, decimal, thousands)
    return int(Column(column.name, read, column.missing).are_numbers().sum())
