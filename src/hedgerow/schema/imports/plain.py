"""Plain data of descriptions from elsewhere, read with the types that their formats promise or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from os import PathLike
from typing import Any

from hedgerow.boundary.untrusted_text import parse_json, read_text
from hedgerow.errors import SchemaError, UnreadableError
from hedgerow.schema.files import LARGEST_SCHEMA


def json_of(path: str | PathLike[str]) -> Any:
    """Return the data of a JSON file within bounds; raises SchemaError, which quotes nothing of it."""
    problem = None
    try:
        return parse_json(read_text(path, LARGEST_SCHEMA))
    except UnreadableError as error:
        problem = str(error)
    raise SchemaError(f"{path}: {problem}.")


def mapping_in(data: object, key: str) -> Mapping[str, Any]:
    """Return the mapping under a key; an empty one if there is none."""
    found: Any = data.get(key) if isinstance(data, Mapping) else None  # type: ignore[reportUnknownVariableType]
    return found if isinstance(found, Mapping) else {}


def list_in(data: object, key: str) -> list[Any]:
    """Return the list under a key, one value as a list of it; an empty one if there is none."""
    found: Any = data.get(key) if isinstance(data, Mapping) else None  # type: ignore[reportUnknownVariableType]
    return found if isinstance(found, list) else [] if found is None else [found]


def text_in(data: object, *keys: str) -> str | None:
    """Return the first text under one of some keys, or of a mapping of languages to texts there; None for none."""
    for key in keys:
        for found in list_in(data, key):
            one = next(iter(found.values()), None) if isinstance(found, Mapping) else found
            one = one[0] if isinstance(one, list) and one else one
            if isinstance(one, str) and one.strip():
                return one.strip()
    return None


def mappings_in(data: object, key: str) -> list[Mapping[str, Any]]:
    """Return the mappings in the list under a key."""
    return [one for one in list_in(data, key) if isinstance(one, Mapping)]


_WORD = r"[\w .,'/+-]{1,100}"
_LIST = re.compile(rf"\^?\(?(?:\?:)?({_WORD}(?:\|{_WORD})+)\)?\$?")
_SPECIAL = re.compile(r"[.+]")


def listed_values(pattern: object) -> tuple[str, ...]:
    """Return the words of a pattern that is nothing but a list of words, as ``^(red|green)$``; none of any other."""
    found = _LIST.fullmatch(pattern) if isinstance(pattern, str) and len(pattern) < 10_000 else None
    words = found[1].split("|") if found else []
    return () if any(_SPECIAL.search(word) for word in words) else tuple(words)
