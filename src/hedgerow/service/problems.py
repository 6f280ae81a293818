"""Problem responses (RFC 9457) for requests that are refused or fail.

They contain fixed texts and exact amounts, but no row data.
"""

from dataclasses import dataclass, field
from typing import Any

import pydantic
from starlette.responses import JSONResponse

from hedgerow import errors
from hedgerow.boundary.environment import environment_cause
from hedgerow.privacy.amounts import amounts_data

TYPE = "application/problem+json"
RETRY_AFTER = 5  # seconds
AGAIN = "Send the request again with the same idempotency key; it is charged only once."


@dataclass(eq=False)
class ProblemError(Exception):
    """Problem response as an exception."""

    status: int  # HTTP status
    kind: str  # last part of the problem type
    title: str  # the same for all problems of a kind
    detail: str  # the advice to the caller
    charged: bool | None = False  # whether the question was charged, now or earlier; None if unknown
    more: dict[str, Any] = field(default_factory=dict[str, Any])  # further entries
    retry_after: int | None = None  # seconds after which the same request may succeed

    def to_dict(self) -> dict[str, Any]:
        members = {name: getattr(self, name) for name in ("title", "status", "detail", "charged")}
        return {"type": f"urn:hedgerow:problem:{self.kind}", **members, **self.more}


def problem_of(error: Exception) -> ProblemError:
    """Return the problem response of an exception; only messages of hedgerow's own errors are included."""
    if isinstance(error, ProblemError):
        return error
    if isinstance(error, errors.BudgetExceededError):
        return _exceeded(error)
    if isinstance(error, errors.ServiceUnavailableError):
        return _unavailable(str(error), charged=error.charged, retry_after=error.retry_after)
    for kind, (status, name, title, charged) in _PROBLEMS.items():
        if isinstance(error, kind):
            charged = getattr(error, "charged", charged)
            detail = f"{error} {AGAIN}" if isinstance(error, errors.LedgerUnavailableError) else str(error)
            return ProblemError(status, name, title, detail, charged, retry_after=_seconds_after(status))
    if environment_cause(error) is not None:
        return _unavailable(AGAIN, charged=None, retry_after=RETRY_AFTER)
    return ProblemError(500, "internal", "The service failed", AGAIN, None)


def _seconds_after(status: int) -> int | None:
    return RETRY_AFTER if status in (409, 503) else None


def _unavailable(detail: str, *, charged: bool | None, retry_after: int) -> ProblemError:
    title = "The service cannot evaluate questions at present"
    return ProblemError(503, "unavailable", title, detail, charged, retry_after=retry_after)


_PROBLEMS: dict[type[errors.HedgerowError], tuple[int, str, str, bool | None]] = {
    errors.AccessError: (403, "not-allowed", "Not allowed", False),
    errors.ApprovalError: (403, "approval-needed", "The curator has not approved this question", False),
    errors.QuestionError: (422, "question-refused", "The question is not valid", False),
    errors.QuotaExceededError: (403, "quota-exceeded", "The quota does not allow another question", False),
    errors.RequestConflictError: (422, "key-reused", "The idempotency key was used for a different request", False),
    errors.RequestRunningError: (409, "still-running", "The same request is still being answered", True),
    errors.RequestFailedError: (424, "evaluation-failed", "The evaluation failed", True),
    errors.LedgerUnavailableError: (503, "ledger-unavailable", "The ledger is currently unavailable", None),
    errors.ServiceBusyError: (503, "busy", "The service cannot take this request at present", False),
}


def _exceeded(error: errors.BudgetExceededError) -> ProblemError:
    asked = amounts_data(error.requested, error.requested_delta, error.requested_rho)
    left = amounts_data(error.remaining, error.remaining_delta, error.remaining_rho)
    title, more = "The remaining privacy budget is too small", {"cap": error.cap, "asked": asked, "left": left}
    detail = f"The cap of the {error.cap} would be exceeded. Use a smaller epsilon, or contact the curator."
    return ProblemError(403, "budget-exceeded", title, detail, more=more)


def response_of(error: Exception) -> JSONResponse:
    problem = problem_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    headers |= {"Retry-After": str(problem.retry_after)} if problem.retry_after is not None else {}
    return JSONResponse(problem.to_dict(), problem.status, headers, media_type=TYPE)


class Problem(pydantic.BaseModel):
    """Problem details of a request that was refused or failed (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    charged: bool | None


_TEXTS = {
    400: "A part of the request is missing, such as the header Idempotency-Key.",
    401: "The header Authorization: Bearer KEY is missing or its key is not valid.",
    403: "The request is not allowed, or the remaining privacy budget is too small.",
    404: "You have no job with this name.",
    405: "The path does not support this method; the header Allow lists the supported methods.",
    409: "The same request is still being answered.",
    413: "The question is too large.",
    415: "The body is not JSON.",
    422: "The question is not valid.",
    424: "The evaluation failed. The charge stays.",
    500: "The service failed.",
    503: "Too many requests are waiting, the dataset has a new epoch, or the ledger is unavailable.",
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": text, "content": {TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, text in _TEXTS.items()
}
