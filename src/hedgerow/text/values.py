"""Values of tables and schemas: the grammar of numbers, and the text of values in messages and files."""

import re
from collections.abc import Iterable
from contextlib import suppress

Value = str | int | float | bool
LONGEST_TEXT = 1000  # the most characters of a name, a value or a class
WHOLE = r"^(-?[0-9]+)[.]0+$"  # text that spells a whole number with zeros after its point
_PLAIN = "([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,2})?"
_LONG = "[1-9]([.][0-9]+)?[eE]([-+]?([12][0-9][0-9]|30[0-7])|-(30[89]|31[0-9]|32[0-3]))"
_LEAST = "[3-9]([.][0-9]+)?[eE]-324"
NUMBER = f"^[-+]?({_PLAIN}|{_LONG}|{_LEAST})$"
"""Text that spells a number, in at most `LONGEST_NUMBER` characters.

None is too large or too small for float64, on which some engines' casts would fail. These are all that programs write,
to 1e308: of exponents of three digits, those after one digit.
"""
LONGEST_NUMBER = 200
# Control characters (C0, delete, C1), halves of surrogate pairs, ends of lines and paragraphs, and what turns the
# direction of writing round.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_FORMULAS = (*"=+-@\t\r\n＝＋－＠",)  # the last four as East Asian keyboards write them


def printable(text: str, *, keep: str = "") -> str:
    """Return printable text: control characters escaped, but for those to `keep`."""
    return _UNSEEN.sub(lambda found: found[0] if found[0] in keep else ascii(found[0])[1:-1], text)


def quoted_text(value: Value) -> str:
    """Return a value for a sentence: in quotes if it holds a space, a comma or a quote."""
    text = shown_text(value)
    return f'"{text}"' if isinstance(value, str) and any(mark in text for mark in " ,\"'") else text


def listed(values: Iterable[Value], most: int = 12) -> str:
    """Return values for a sentence, such as ``0, 1, 2, … (100 values)``: only the first if there are many."""
    found = list(values)
    text = ", ".join(map(quoted_text, found[:most]))
    return text if len(found) <= most else f"{text}, … ({len(found)} values)"


def shown_text(value: Value) -> str:
    return printable(value_text(value))


def value_text(value: Value) -> str:
    """Return a value as a person writes it: whole numbers without a point."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value)


def plain_word(value: Value) -> str:
    """Return how a value is written, a whole number without a point: 1, 1.0, "1" and "1.0" are all "1"."""
    return re.sub(WHOLE, r"\1", value_text(value))


def spelled_number(value: Value) -> float | None:
    """Return the number a value is or spells just as numbers are written ("1", not "01"), in every digit, or None."""
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
    """Return whether a float64 is this number, in every digit: 2^53 + 1 and NaN are not."""
    with suppress(OverflowError):
        return float(number) == number
    return False


def inert(value: Value) -> Value:
    """Return a value as a spreadsheet takes it for what it is: an apostrophe before text that looks like a formula.

    >>> print(inert("=1+1"), inert("-7.5"), inert("- none"), inert("a=b"))
    '=1+1 -7.5 '- none a=b
    """
    looks_so = isinstance(value, str) and value.startswith(_FORMULAS) and not re.fullmatch(NUMBER, value)
    return f"'{value}" if looks_so else value
