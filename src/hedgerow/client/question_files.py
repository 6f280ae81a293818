"""Question files, for curators without a network service."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any
from uuid import uuid4

from hedgerow.boundary.canonical import question_digest
from hedgerow.boundary.untrusted_text import parse_json, read_text
from hedgerow.errors import ReceiptError, UnreadableError
from hedgerow.privacy.amounts import exact

_FORMAT, _VERSION = "hedgerow/question", 1
_LARGEST = 2**24


def body_of(question: Mapping[str, Any]) -> bytes:
    return json.dumps(question, separators=(",", ":")).encode()


@dataclass(frozen=True)
class QuestionFile:
    """Question with its idempotency key."""

    dataset: str
    kind: str  # the last part of the path of the request, such as ``marginals``
    key: str  # the idempotency key
    question: Mapping[str, Any]  # the body of the request

    @classmethod
    def new(cls, dataset: str, kind: str, question: Mapping[str, Any]) -> "QuestionFile":
        return cls(dataset, kind, str(uuid4()), question)

    @property
    def text(self) -> str:
        head = {"format": _FORMAT, "version": _VERSION, "dataset": self.dataset, "kind": self.kind, "key": self.key}
        return json.dumps({**head, "question": self.question}, indent=1) + "\n"

    @property
    def body(self) -> bytes:
        return body_of(self.question)

    def check_receipt(self, statement: Mapping[str, Any]) -> None:
        cost = [str(exact(self.question.get(name, 0), name)) for name in ("epsilon", "delta")]
        expected = [self.dataset, question_digest(self.kind, self.body), *cost]
        if [statement[name] for name in ("dataset", "question", "epsilon", "delta")] != expected:
            raise ReceiptError("the receipt belongs to the answer of a different question.")

    @classmethod
    def read(cls, path: str | PathLike[str]) -> "QuestionFile":
        data = parse_json(read_text(Path(path), _LARGEST))
        keys = {"format", "version", "dataset", "kind", "key", "question"}
        if not isinstance(data, dict) or set(data) != keys or (data["format"], data["version"]) != (_FORMAT, _VERSION):
            raise UnreadableError(f"{path} is not a question file; write it with `hedgerow ask --to`.")
        texts = all(isinstance(data[name], str) for name in ("dataset", "kind", "key"))
        if not (texts and isinstance(data["question"], dict)):
            raise UnreadableError(f"{path}: dataset, kind and key must be text, and question must be a mapping.")
        return cls(data["dataset"], data["kind"], data["key"], data["question"])
