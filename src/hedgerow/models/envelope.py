"""The envelope of model files: format, version, and a digest that shows damage and careless edits (not a signature)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from hedgerow.errors import ModelFormatError


def seal(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with the SHA-256 of its compact JSON added as ``digest``."""
    return {**data, "digest": _digest(data)}


def parse(text: str) -> Any:
    """Return the data of a JSON text.

    Raises
    ------
    ModelFormatError
        If it is not JSON.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: a thousand nested brackets
        place = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise ModelFormatError(
            f"expected a hedgerow model in JSON, found text that is truncated or no JSON ({place})."
        ) from None


def format_of(data: object) -> object:
    """Return what data say they are, or of what type they are if they say nothing."""
    return data.get("format") if isinstance(data, dict) else type(data).__name__


def unseal(text: str, *, format: str, version: int) -> dict[str, Any]:  # noqa: A002 -- the word in the file
    """Return the data of a sealed JSON text.

    Raises
    ------
    ModelFormatError
        If it is not JSON, not of this format and version, or not what was sealed.
    """
    data = parse(text)
    if not isinstance(data, dict) or format_of(data) != format:
        raise ModelFormatError(f"expected the format {format!r}, found {format_of(data)!r}.")
    if data.get("version") != version:
        raise ModelFormatError(
            f"expected version {version} of {format}, found {data.get('version')!r}: it was written by another release "
            "of hedgerow; read it with that one."
        )
    try:
        digest = _digest({key: value for key, value in data.items() if key != "digest"})
    except RecursionError:  # what is read without one may be too deep to be written
        raise ModelFormatError("expected a hedgerow model, found brackets nested too deeply.") from None
    if data.get("digest") != digest:
        raise ModelFormatError("the file was changed after it was written: its digest does not fit its content.")
    return data


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a model file.

    Raises
    ------
    ModelFormatError
        If it is not text.
    """
    try:
        return Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise ModelFormatError(f"{path}: expected a hedgerow model in JSON, found a file that is not text.") from None


def _digest(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)  # keys in order: that of the columns counts
    return hashlib.sha256(text.encode()).hexdigest()
