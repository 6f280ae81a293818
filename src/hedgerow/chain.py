"""Hash chains: entries as canonical JSON, each with the SHA-256 of the one before."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from hedgerow.errors import LedgerError

FIRST = ""
"""The hash before the first entry."""


def canonical(data: Any) -> str:
    """Return data as the one JSON text that is hashed and signed: sorted keys, no spaces, no floats.

    Raises
    ------
    LedgerError
        If it holds a float, whose text is not one.

    Examples
    --------
    >>> canonical({"b": [1, None], "a": "ε"})
    '{"a":"ε","b":[1,null]}'
    """
    _refuse_floats(data)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _refuse_floats(data: Any) -> None:
    if isinstance(data, float):
        raise LedgerError("expected exact amounts, got a float.")
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ():
        _refuse_floats(part)


def digest(text: str | bytes) -> str:
    """Return the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()
