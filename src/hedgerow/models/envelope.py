"""The envelope of model files: format, version, and a digest that shows damage and careless edits (not a signature)."""

import hashlib
import json
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, TypeVar

from hedgerow.boundary import untrusted_text as bounded
from hedgerow.errors import ModelFormatError

LARGEST_MODEL = bounded.LARGEST_FILE  # Maximum size of a model file in bytes: 20,000 rules of two literals
OURS = "hedgerow/"  # the beginning of every format
T = TypeVar("T")


def seal(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with the SHA-256 of its compact JSON added as ``digest``."""
    return {**data, "digest": _digest(data)}


def parse(text: str) -> Any:
    if len(text) > LARGEST_MODEL:
        raise ModelFormatError(f"expected a hedgerow model of at most {LARGEST_MODEL:,} bytes, got a larger text.")
    return _within_bounds(lambda: bounded.parse_json(text))


def format_of(data: object) -> str:
    """Return the declared format of data in words; quote hedgerow's own formats only."""
    if not isinstance(data, dict):
        return f"a {type(data).__name__}"
    found = data.get("format")
    if found is None:
        return "a mapping without a format"
    return bounded.shown(found) if isinstance(found, str) and found.startswith(OURS) else "another one"


def unseal(data: Any, *, format: str, version: int) -> dict[str, Any]:  # noqa: A002 -- the word in the file
    _within_bounds(lambda: bounded.check_plain(data))
    if not isinstance(data, dict) or data.get("format") != format:
        raise ModelFormatError(f"expected the format {format!r}, got {format_of(data)}.")
    if data.get("version") != version:
        problem = f"expected version {version} of {format}, got {bounded.shown(data.get('version'))}"
        raise ModelFormatError(f"{problem}, which another release of hedgerow wrote; read it with that release.")
    if data.get("digest") != _digest({key: value for key, value in data.items() if key != "digest"}):
        raise ModelFormatError("the file was changed after it was written: its digest does not match its content.")
    return data


def read(path: str | PathLike[str], made: Callable[[str], T]) -> T:
    text = read_text(path)
    try:
        return made(text)
    except ModelFormatError as error:
        problem = str(error)
    raise ModelFormatError(f"{path}: {problem}")


def read_text(path: str | PathLike[str]) -> str:
    return _within_bounds(lambda: bounded.read_text(path, LARGEST_MODEL), f"{path}: ")


def _within_bounds(read: Callable[[], T], where: str = "") -> T:
    """Return what is read within bounds, or raise an error without the one that it is made of."""
    try:
        return read()
    except bounded.UnreadableError as error:
        problem = str(error)
    raise ModelFormatError(f"{where}not a hedgerow model: {problem}.")


def _digest(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)  # keys in order: the order of columns matters
    return hashlib.sha256(text.encode()).hexdigest()
