"""Problem details (RFC 9457): what a refused request is told. Fixed texts, exact amounts, and nothing of a row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hedgerow import errors
from hedgerow.service.ledger.accounts import amounts_data

TYPE = "application/problem+json"


@dataclass(eq=False)
class ProblemError(Exception):
    """Why a request was refused."""

    status: int  # the HTTP status
    kind: str  # the last part of the type
    title: str  # what it is, the same for all of the kind
    detail: str  # what to do
    charged: bool | None = False  # whether the request was charged, now or before; None where that is not known
    more: dict[str, Any] = field(default_factory=dict[str, Any])  # further entries

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": f"urn:hedgerow:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "charged": self.charged,
            **self.more,
        }


def problem_of(error: Exception) -> ProblemError:
    """Return the problem of an exception, with its text if hedgerow made it before a row was touched, else nothing."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, errors.BudgetExceededError):
        return _exceeded(error)
    for kind, (status, name, title, charged) in _KINDS.items():
        if isinstance(error, kind):
            return ProblemError(status, name, title, str(error), charged)
    return ProblemError(
        500, "internal", "The service failed", "Send the request again, with the same key: it is charged once.", None
    )


_KINDS: dict[type[errors.HedgerowError], tuple[int, str, str, bool | None]] = {
    errors.AccessError: (403, "not-allowed", "Not allowed", False),
    errors.ApprovalError: (403, "approval-needed", "The curator has not approved this, or has refused it", False),
    errors.QuestionError: (422, "question-refused", "The question cannot be asked", False),
    errors.RequestConflictError: (422, "key-reused", "The idempotency key is of another request", False),
    errors.RequestRunningError: (409, "still-running", "The same request is still being answered", True),
    errors.RequestFailedError: (424, "evaluation-failed", "The evaluation failed", True),
    errors.LedgerUnavailableError: (503, "ledger-unavailable", "The ledger cannot be read or written now", None),
    errors.ServiceBusyError: (503, "busy", "Too many questions are waiting", False),
}


def _exceeded(error: errors.BudgetExceededError) -> ProblemError:
    asked = amounts_data(error.requested, error.requested_delta, error.requested_rho)
    left = amounts_data(error.remaining, error.remaining_delta, error.remaining_rho)
    return ProblemError(
        403,
        "budget-exceeded",
        "Too little is left of the privacy budget",
        f"The cap of the {error.cap} does not allow this. Ask for less, or ask the curator.",
        more={"cap": error.cap, "asked": asked, "left": left},
    )
