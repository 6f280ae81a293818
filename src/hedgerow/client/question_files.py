"""Questions as files, carried by hand to a curator who answers no network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4

from hedgerow.errors import UnreadableError
from hedgerow.untrusted_text import parse_json, read_text

_FORMAT, _VERSION = "hedgerow/question", 1
_LARGEST = 2**24


@dataclass(frozen=True)
class QuestionFile:
    """A question, with the idempotency key under which it is charged once.

    Attributes
    ----------
    dataset : str
        Which dataset is asked.
    kind : str
        ``marginals``, ``error-marginals`` or ``fits``.
    key : str
        The idempotency key.
    question : dict
        The question, as the service takes it.
    """

    dataset: str
    kind: str
    key: str
    question: Mapping[str, Any]

    @classmethod
    def new(cls, dataset: str, kind: str, question: Mapping[str, Any]) -> QuestionFile:
        """Return a question under a new key."""
        return cls(dataset, kind, str(uuid4()), question)

    @property
    def text(self) -> str:
        """The text of the file."""
        head = {"format": _FORMAT, "version": _VERSION, "dataset": self.dataset, "kind": self.kind, "key": self.key}
        return json.dumps({**head, "question": self.question}, indent=1) + "\n"

    @property
    def body(self) -> bytes:
        """The question alone, as the service takes it."""
        return json.dumps(self.question, separators=(",", ":")).encode()

    @classmethod
    def read(cls, path: str | PathLike[str]) -> QuestionFile:
        """Read a file.

        Raises
        ------
        UnreadableError
            If it is too large, or no question.
        OSError
            If it cannot be read.
        """
        data = parse_json(read_text(Path(path), _LARGEST))
        wanted = {"format", "version", "dataset", "kind", "key", "question"}
        if (
            not isinstance(data, dict)
            or set(data) != wanted
            or (data["format"], data["version"]) != (_FORMAT, _VERSION)
        ):
            raise UnreadableError(f"{path}: expected a question, as `hedgerow ask --to` writes it, got another file.")
        if not all(isinstance(data[name], str) for name in ("dataset", "kind", "key")):
            raise UnreadableError(f"{path}: expected text for dataset, kind and key, got something else.")
        return cls(data["dataset"], data["kind"], data["key"], data["question"])
