"""Hash chains: entries as canonical JSON with the SHA-256 hash of the previous entry."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from hedgerow.boundary.untrusted_text import parse_json
from hedgerow.errors import LedgerError

FIRST = ""  # the hash before the first entry


def canonical(data: Any) -> str:
    """Return the unique JSON text of data for hashes and signatures: sorted keys, no spaces, no floats."""
    _check_no_floats(data)
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _check_no_floats(data: Any) -> None:
    if isinstance(data, float):
        raise LedgerError(f"expected exact amounts as text, got the float {data!r}.")
    for part in data.values() if isinstance(data, dict) else data if isinstance(data, (list, tuple)) else ():
        _check_no_floats(part)


def link_hash(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry, whose `previous` is the hash of the previous entry."""
    return digest(canonical(entry))


def broken_link(entries: Iterable[tuple[Mapping[str, Any], str]], previous: str = FIRST) -> int | None:
    """Return the number, from 1, of the first entry that breaks the hash chain, or None.

    Entries come in pairs with their stated hash. `previous` is the hash before the first entry.
    """
    for number, (entry, stated) in enumerate(entries, 1):
        if entry["previous"] != previous or link_hash(entry) != stated:
            return number
        previous = stated
    return None


def exported(content: str, hashed: str) -> str:
    """Return an entry with its hash as a line of an export."""
    return canonical({**json.loads(content), "hash": hashed})


def imported(line: str) -> tuple[dict[str, Any], str, str]:
    """Return the entry on a line of an export: its data, its canonical text, and its stated hash."""
    data = parse_json(line)
    hashed = data.pop("hash")
    return data, canonical(data), hashed


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def question_digest(kind: str, body: bytes) -> str:
    """Return the SHA-256 hash that identifies a question to a curator's service in ledgers and receipts."""
    return digest(kind.encode() + b"\n" + body)
