"""The values that tables and schemas hold, and how a person writes them."""

from __future__ import annotations

Value = str | int | float | bool


def quoted_text(value: Value) -> str:
    """Return a value as it stands in a sentence: in quotes if it holds a space, a comma or a quote.

    Examples
    --------
    >>> print(quoted_text("Day clinic"), quoted_text("surgery"), quoted_text(3.0))
    "Day clinic" surgery 3
    """
    text = value_text(value)
    return f'"{text}"' if isinstance(value, str) and any(mark in text for mark in " ,\"'") else text


def value_text(value: Value) -> str:
    """Return a value as a person writes it: whole numbers without a point.

    Examples
    --------
    >>> value_text(14.0), value_text(0.5), value_text("Female")
    ('14', '0.5', 'Female')
    """
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)
