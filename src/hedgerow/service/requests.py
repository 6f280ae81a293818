"""Requests: who asks which question about which dataset, under which idempotency key."""

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
    """Analyst, auditor or curator who asks."""

    name: str  # the name by which the ledger knows them
    role: Role  # what they may ask: questions; the whole ledger; both and the caps of all


@dataclass(frozen=True)
class Request:
    """A charged question as it arrives. Its body is not parsed yet.

    Raises QuestionError if no request can have this idempotency key.
    """

    caller: Caller
    dataset: str
    kind: QuestionKind
    key: str  # the idempotency key, which the caller chooses anew for each question
    body: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not is_key(self.key):
            problem = "expected an idempotency key of 1 to 200 printable ASCII characters, got another."
            raise QuestionError(problem)

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of what is asked."""
        return question_digest(self.kind, self.body)


def is_key(key: str) -> bool:
    """Return whether a request can have this idempotency key."""
    return 0 < len(key) <= 200 and key.isprintable() and key.isascii()
