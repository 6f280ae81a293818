"""The envelope of model files: format, version, and a digest that shows damage and careless edits (not a signature)."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, ClassVar, Self, TypeVar

from hedgerow.boundary import untrusted_text as bounded
from hedgerow.boundary.durable import write_whole
from hedgerow.errors import HedgerowError, ModelFormatError

LARGEST_MODEL = bounded.LARGEST_FILE  # Maximum size of a model file in bytes: 20,000 rules of two literals
OURS = "hedgerow/"  # the beginning of every format
T = TypeVar("T")


class SealedFile(ABC):
    """Base class of what is released in a JSON file of its own, sealed with a digest of its content."""

    format: ClassVar[str]  #: the format of its files
    version: ClassVar[int] = 2  #: the version of its files: no other version is read

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data, sealed with a digest of its content."""

    @classmethod
    @abstractmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        """Return what was sealed; any of Python's errors of values if that is not possible."""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read back what `to_dict` wrote; `ModelFormatError` if it was edited, or is of another format or version."""
        sealed = unseal(data, format=cls.format, version=cls.version)
        try:
            found = cls._opened(sealed)
            if found.to_dict()["digest"] == sealed["digest"]:
                return found
            problem = "its parts contradict one another"
        except HedgerowError as error:
            problem = str(error).rstrip(".")
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}".rstrip(".")
        raise ModelFormatError(f"not a valid {cls.format.removeprefix(OURS).replace('-', ' ')}: {problem}.")

    def to_json(self) -> str:
        """Return it as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read back what `to_json` wrote; raises as `from_dict` does, and where the text is truncated or too large."""
        return cls.from_dict(parse(text))

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to a JSON file, atomically; OSError if it cannot be written."""
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read it from a JSON file; raises as `from_json` does, and OSError."""
        return read(path, cls.from_json)


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
    if type(data.get("version")) is not int or data["version"] != version:
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
