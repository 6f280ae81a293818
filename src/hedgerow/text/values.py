"""Values of tables and schemas: the grammar of numbers, and the text of values in messages and files."""

import re
from collections.abc import Iterable
from contextlib import suppress

Value = str | int | float | bool
LONGEST_TEXT = 1000  # characters of a name, a value or a class
WHOLE = r"^(-?[0-9]+)[.]0+$"  # a whole number with zeros after its decimal point
_PLAIN = "([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,2})?"
_LONG = "[1-9]([.][0-9]+)?[eE]([-+]?([12][0-9][0-9]|30[0-7])|-(30[89]|31[0-9]|32[0-3]))"
_LEAST = "[3-9]([.][0-9]+)?[eE]-324"
NUMBER = f"^[-+]?({_PLAIN}|{_LONG}|{_LEAST})$"
"""A pattern for the text of a number of at most `LONGEST_NUMBER` characters.

It excludes numbers that are too large or too small for float64, since the casts of some engines would fail. It includes
every number that programs write, up to 1e308; an exponent of three digits follows a mantissa with one digit before its
point.
"""
LONGEST_NUMBER = 200
# Control characters (C0, delete, C1), halves of surrogate pairs, ends of lines and paragraphs, and characters that
# change the direction of writing.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_FORMULAS = (*"=+-@\t\r\n＝＋－＠",)  # the last four as East Asian keyboards write them


def rounded_text(value: float, digits: int) -> str:
    """Return a number rounded to significant digits: ``12,340``, which ``%.4g`` would write as ``1.234e+04``."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def printable(text: str, *, keep: str = "") -> str:
    """Return text with control characters escaped, except the characters in `keep`."""
    return _UNSEEN.sub(lambda match: match[0] if match[0] in keep else ascii(match[0])[1:-1], text)


def quoted_text(value: Value) -> str:
    """Return a value for a sentence, in quotes if it contains a space, a comma or a quote."""
    text = shown_text(value)
    return f'"{text}"' if isinstance(value, str) and any(mark in text for mark in " ,\"'") else text


def listed(values: Iterable[Value], most: int = 12) -> str:
    """Return values for a sentence, at most the first `most` of them, such as ``0, 1, 2, … (100 values)``."""
    items = list(values)
    text = ", ".join(map(quoted_text, items[:most]))
    return text if len(items) <= most else f"{text}, … ({len(items)} values)"


def shown_text(value: Value) -> str:
    return printable(value_text(value))


def value_text(value: Value) -> str:
    """Return the text of a value, with whole numbers written without a decimal point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


def plain_word(value: Value) -> str:
    """Return the text of a value, which is "1" for each of 1, 1.0, "1" and "1.0"."""
    return re.sub(WHOLE, r"\1", value_text(value))


def spelled_number(value: Value) -> float | None:
    """Return the number of a value, or of text that is written as numbers are ("1", not "01"), or None."""
    if not isinstance(value, str):
        return value
    if re.fullmatch("0|-?[1-9][0-9]*", plain_word(value)):
        return int(plain_word(value))
    try:
        number = float(value)
    except ValueError:
        return None
    return number if plain_word(number) == plain_word(value) else None


def is_double(number: float) -> bool:
    """Return whether float64 represents a number exactly, which is False for 2^53 + 1 and for NaN."""
    with suppress(OverflowError):
        return float(number) == number
    return False


def escape_formula(value: Value) -> Value:
    """Return a value for a spreadsheet, with an apostrophe before text that looks like a formula.

    >>> print(escape_formula("=1+1"), escape_formula("-7.5"), escape_formula("- none"), escape_formula("a=b"))
    '=1+1 -7.5 '- none a=b
    """
    is_formula = isinstance(value, str) and value.startswith(_FORMULAS) and not re.fullmatch(NUMBER, value)
    return f"'{value}" if is_formula else value
