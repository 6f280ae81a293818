"""Requests: a question of a caller about a dataset, with its idempotency key."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from hedgerow.boundary.canonical import question_digest
from hedgerow.errors import QuestionError
from hedgerow.service.forms import QuestionKind

Role = Literal["analyst", "auditor", "curator"]
ROLES: tuple[Role, ...] = ("analyst", "auditor", "curator")


@dataclass(frozen=True)
class Caller:
    """Analyst, auditor or curator."""

    name: str  # name in the ledger
    role: Role


@dataclass(frozen=True)
class Request:
    """Charged question with its unparsed body.

    Raises `QuestionError` if the idempotency key is not valid.
    """

    caller: Caller
    dataset: str
    kind: QuestionKind
    key: str  # idempotency key, a new key for each question
    body: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not is_key(self.key):
            raise QuestionError("an idempotency key must have 1 to 200 printable ASCII characters.")

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the question."""
        return question_digest(self.kind, self.body)


def is_key(key: str) -> bool:
    """Return whether a text is a valid idempotency key."""
    return 0 < len(key) <= 200 and key.isprintable() and key.isascii()
