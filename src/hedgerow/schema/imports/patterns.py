"""Values that a regular expression lists, as descriptions of tables have it for want of a better key."""

from __future__ import annotations

import re

_WORD = r"[\w .,'/+-]{1,100}"
_LIST = re.compile(rf"\^?\(?(?:\?:)?({_WORD}(?:\|{_WORD})+)\)?\$?")
_SPECIAL = re.compile(r"[.+]")


def listed_values(pattern: object) -> tuple[str, ...]:
    """Return the words of a pattern that is nothing but a list of words; none of any other.

    Examples
    --------
    >>> listed_values("^(red|green)$"), listed_values("[a-z]+")
    (('red', 'green'), ())
    """
    found = _LIST.fullmatch(pattern) if isinstance(pattern, str) and len(pattern) < 10_000 else None
    words = found[1].split("|") if found else []
    return () if any(_SPECIAL.search(word) for word in words) else tuple(words)
