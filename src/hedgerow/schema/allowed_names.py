"""Bounds on declared names, values and classes, so that every table, file and engine can hold them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from hedgerow.messages import shown
from hedgerow.values import LONGEST_TEXT

_LARGEST = 10**300  # any of these is a float64 too


def name_problem(name: object) -> str | None:
    """Return why this cannot be the name of a column; None if it can."""
    if not isinstance(name, str) or not name:
        return f"expected text for a name, got {shown(name)}."
    return _text_problem(name)


def values_problem(values: Iterable[object]) -> str | None:
    """Return why one of these texts cannot be a value or a class; None if all can."""
    for text in values:
        if isinstance(text, str) and (not text or text != text.strip()):
            return (
                "expected text that is not blank and has no surrounding spaces, which are trimmed off the data; "
                f"got {shown(text)}."
            )
        problem = _text_problem(text) if isinstance(text, str) else None
        if problem:
            return problem
    return None


def is_number(value: object) -> bool:
    """Return whether a value is a number that a float64 can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value)


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "expected text without NUL characters, which databases cannot hold."
    if len(text) > LONGEST_TEXT:
        return f"expected text of at most {LONGEST_TEXT:,} characters, got {shown(text)}."
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        return f"expected Unicode text, got {shown(text)}, which has one half of a surrogate pair."
    return None
