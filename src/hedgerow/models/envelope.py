"""The envelope of model files: format, version, and a digest that detects damage and edits (it is not a signature)."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from hedgerow.boundary import untrusted_text as bounded
from hedgerow.boundary.durable import write_whole
from hedgerow.errors import HedgerowError, ModelFormatError

LARGEST_MODEL = bounded.LARGEST_FILE  # the maximum size of a model file in bytes: about 20,000 rules of two literals
OURS = "hedgerow/"  # the prefix of every format
T = TypeVar("T")


class SealedFile(ABC):
    """Base class of values that are released in JSON files with a digest of their content."""

    format: ClassVar[str]  #: the format of its files
    version: ClassVar[int] = 2  #: the version of its files; files of other versions are not read

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the content as JSON-ready data with a digest."""

    @classmethod
    @abstractmethod
    def _opened(cls, sealed: Mapping[str, Any]) -> Self:
        """Return the value in a mapping whose digest is correct; raises built-in errors if it is not valid."""

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Return the value that `to_dict` wrote.

        Raises
        ------
        ModelFormatError
            If the data were edited, are not valid, or have another format or version.
        """
        sealed = unseal(data, format=cls.format, version=cls.version)
        try:
            opened = cls._opened(sealed)
            if opened.to_dict()["digest"] == sealed["digest"]:
                return opened
            problem = "its parts are inconsistent"
        except HedgerowError as error:
            problem = str(error).rstrip(".")
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
            problem = f"{type(error).__name__}: {error}".rstrip(".")
        raise ModelFormatError(f"not a valid {cls.format.removeprefix(OURS).replace('-', ' ')}: {problem}.")

    def to_json(self) -> str:
        """Return the content as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the value that `to_json` wrote; ModelFormatError if the text is not valid, truncated or too large."""
        return cls.from_dict(parse(text))

    def save(self, path: str | PathLike[str]) -> None:
        """Write a JSON file atomically, which replaces an existing file; OSError if it cannot be written.

        ValueError if the existing file is a budget, whose record of charges would be lost.
        """
        from hedgerow.privacy.budget_file import check_no_budget  # loads OpenDP, which readers of models do not need

        check_no_budget(path)
        write_whole(path, self.to_json())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Return the value in a JSON file; ModelFormatError if it is not valid, OSError if it cannot be read."""
        return read(path, cls.from_json)


def seal(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return `data` with the SHA-256 of its compact JSON as ``digest``."""
    return {**data, "digest": _digest(data)}


def parse(text: str) -> Any:
    if len(text) > LARGEST_MODEL:
        raise ModelFormatError(f"a hedgerow model must have at most {LARGEST_MODEL:,} bytes, got {len(text):,}.")
    return _within_bounds(lambda: bounded.parse_json(text))


def format_of(data: object) -> str:
    """Return the declared format of data as text; only formats of hedgerow are quoted."""
    if not isinstance(data, dict):
        return f"a {type(data).__name__}"
    name = data.get("format")
    if name is None:
        return "a mapping without a format"
    return bounded.shown(name) if isinstance(name, str) and name.startswith(OURS) else "an unknown format"


def unseal(data: Any, *, format: str, version: int) -> dict[str, Any]:  # noqa: A002 -- the word in the file
    _within_bounds(lambda: bounded.check_plain(data))
    if not isinstance(data, dict) or data.get("format") != format:
        raise ModelFormatError(f"expected the format {format!r}, got {format_of(data)}.")
    if type(data.get("version")) is not int or data["version"] != version:
        problem = f"expected version {version} of {format}, got {bounded.shown(data.get('version'))}"
        raise ModelFormatError(f"{problem}; read it with the release of hedgerow that wrote it.")
    if data.get("digest") != _digest({key: value for key, value in data.items() if key != "digest"}):
        raise ModelFormatError(
            "the file was changed after it was written: its digest does not match its content. The digest does not "
            "depend on spaces and line breaks, so a value was edited or damaged; ask for the original file."
        )
    return data


def read(path: str | PathLike[str], parser: Callable[[str], T]) -> T:
    text = read_text(path)
    try:
        return parser(text)
    except ModelFormatError as error:
        problem = str(error)
    raise ModelFormatError(f"{path}: {problem}")


def read_text(path: str | PathLike[str]) -> str:
    advice = _PICKLE if Path(path).suffix.lower() in _PICKLES else ""
    return _within_bounds(lambda: bounded.read_text(path, LARGEST_MODEL), f"{path}: ", advice)


_PICKLES = (".joblib", ".pickle", ".pkl")
_PICKLE = (
    " Pickles are not read, because loading a pickle runs its code. Load a pickle in Python only if you trust its "
    "author, and pass the estimator to hedgerow.Report.of or to an audit; or ask for the model as PMML."
)


def _within_bounds(read: Callable[[], T], where: str = "", advice: str = "") -> T:
    """Return the result of `read`, or raise its error as a ModelFormatError without a cause."""
    try:
        return read()
    except bounded.UnreadableError as error:
        problem = str(error)
    raise ModelFormatError(f"{where}not a hedgerow model: {problem}.{advice}")


def _digest(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=True)  # unsorted: the order of columns matters
    return hashlib.sha256(text.encode()).hexdigest()
