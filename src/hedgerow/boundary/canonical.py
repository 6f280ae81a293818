"""Hash chains: entries as canonical JSON, each with the SHA-256 of the one before."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hedgerow.boundary.untrusted_text import parse_json
from hedgerow.errors import LedgerError

FIRST = ""  # the hash before the first entry


def canonical(data: Any) -> str:
    """Return data as the one JSON text that is hashed and signed: sorted keys, no spaces, no floats."""
    _refuse_floats(data)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _refuse_floats(data: Any) -> None:
    if isinstance(data, float):
        raise LedgerError("expected exact amounts, got a float.")
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ():
        _refuse_floats(part)


def link_hash(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry, which has that of the entry before as `previous`."""
    return digest(canonical(entry))


def broken_link(entries: Iterable[tuple[Mapping[str, Any], str]], previous: str = FIRST) -> int | None:
    """Return the number, from 1, of the first entry that is not what was written after the one before; None if each is.

    Each entry comes with the hash that is stated for it. `previous` is the hash of the entry before the first.
    """
    for number, (entry, stated) in enumerate(entries, 1):
        if entry["previous"] != previous or link_hash(entry) != stated:
            return number
        previous = stated
    return None


def exported(content: str, hashed: str) -> str:
    """Return an entry as a line of an export: with its own hash, which its content does not hold."""
    return canonical({**json.loads(content), "hash": hashed})


def imported(line: str) -> tuple[dict[str, Any], str, str]:
    """Return what a line of an export holds, as data and as it is hashed, with the hash that is stated."""
    data = parse_json(line)
    hashed = data.pop("hash")
    return data, canonical(data), hashed


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def question_digest(kind: str, body: bytes) -> str:
    """Return the SHA-256 by which ledgers and receipts name a question to a curator's service."""
    return digest(kind.encode() + b"\n" + body)
