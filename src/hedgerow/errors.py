"""Exceptions and warnings. They carry their data as attributes, never a private value.

The built-in exception in parentheses is also a base class, so that ``except ValueError`` works.

* HedgerowError
  * ArgumentError (ValueError)
  * ArgumentTypeError (TypeError)
  * StateError (RuntimeError)
  * NotPicklableError (TypeError)
  * MissingPackageError (ImportError)
  * FileError (OSError)
    * MissingFileError (FileNotFoundError)
    * FileAccessError (PermissionError)
  * UnreadableError (ValueError)
  * ModelFormatError (ValueError)
  * SchemaError (ValueError)
  * DomainError (ValueError)
  * TooManyRowsError (OverflowError)
  * EngineError (ValueError)
    * SourceUnavailableError
  * TooManyPatternsError (ValueError)
  * SearchTooLargeError (ValueError)
  * HypothesisError (ValueError)
  * BudgetExceededError (ValueError)
  * OracleExhaustedError (ValueError)
  * LedgerError (RuntimeError)
    * LedgerMissingError
  * LedgerUnavailableError (RuntimeError)
  * ServiceError (RuntimeError)
  * ServiceUnavailableError (RuntimeError)
  * RefusalError (RuntimeError)
    * ServiceBusyError
    * AccessError
    * ApprovalError
    * QuestionError (ValueError)
    * QuotaExceededError (ValueError)
  * ReceiptError (ValueError)
  * RequestConflictError (ValueError)
  * RequestRunningError (RuntimeError)
  * RequestFailedError (RuntimeError)
* UserWarning
  * NoiseWarning
  * WeakGuaranteeWarning
  * OverlapWarning
  * PreparationWarning
  * UselessModelWarning
  * LabelsOnlyWarning
  * SearchLimitWarning
  * UnitWarning
  * SeededNoiseWarning
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Literal, Self

from hedgerow.text.messages import describe_argument, near_miss, shown
from hedgerow.text.values import listed, printable

_MAX_FAULTS = 10  # faults in one message
_MAX_COLUMNS = 50  # columns in one message
_MAX_LENGTH = 1000  # characters of a message that quotes names or values from outside


def _line(message: str) -> str:
    """Return a message on one line, control characters escaped, and cut to a readable length."""
    line = printable(message)
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 1]}…"


def _quote_name(name: object) -> str:
    """Return a name for a message, or the type of an object that is not text, which may be a table."""
    return shown(str(name)) if isinstance(name, str) else describe_argument(name)


class HedgerowError(Exception):
    """Base class of hedgerow's exceptions. Subclasses also derive from a built-in exception such as `ValueError`."""


class ArgumentError(HedgerowError, ValueError):
    """An argument, option or parameter has a value that is not allowed."""


class ArgumentTypeError(HedgerowError, TypeError):
    """An argument does not have the expected type."""


class FileError(HedgerowError, OSError):
    """A file or folder cannot be read or written."""

    @staticmethod
    def of(number: int | None, reason: str | None, path: str) -> FileError:
        """Return a `MissingFileError`, `FileAccessError` or `FileError`, depending on the errno."""
        kinds = {errno.ENOENT: MissingFileError, errno.EACCES: FileAccessError, errno.EPERM: FileAccessError}
        return kinds.get(number or 0, FileError)(number, reason, path)


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder does not exist."""


class FileAccessError(FileError, PermissionError):
    """The process has no permission to read or write a file or folder."""


class MissingPackageError(HedgerowError, ImportError):
    """An optional package is not installed."""

    @classmethod
    def of(cls, purpose: str, package: str, extra: str) -> Self:
        """Return the error for a package that an extra of hedgerow installs."""
        # The name alone is not an address: hedgerow is not on PyPI, where anybody could register it.
        advice = f"Install hedgerow with its extra {extra}; in a clone of its repository: pip install '.[{extra}]'"
        return cls(f"{purpose} requires {package}. {advice}")


class StateError(HedgerowError, RuntimeError):
    """An operation is not possible in the current state, such as a charge in a forked process."""


class TooManyRowsError(HedgerowError, OverflowError):
    """A table has more rows than the proven bound on rounding errors covers."""


class UnreadableError(HedgerowError, ValueError):
    """A text is malformed or too large. The message never quotes the whole text."""


class SchemaError(HedgerowError, ValueError):
    """A schema or schema file is not valid.

    Attributes
    ----------
    attribute : str or None
        The attribute that is not valid.
    key : str or None
        The key of that attribute that is not valid.
    line : int or None
        The line in the file.
    path : str or None
        The file.
    faults : tuple of SchemaError
        All faults. If there are several, `attribute`, `key` and `line` belong to the first; otherwise only this error.
    """

    def __init__(
        self,
        message: str,
        *,
        attribute: str | None = None,
        key: str | None = None,
        line: int | None = None,
        path: str | None = None,
        faults: Sequence[SchemaError] = (),
    ) -> None:
        self.attribute, self.key, self.line, self.path = attribute, key, line, path
        self._problem, self._faults = message, tuple(faults)
        names = [f"{word} {_quote_name(name)}" for word, name in (("attribute", attribute), ("key", key)) if name]
        place = [] if faults else [*([f"line {line}"] if line else []), *names]
        super().__init__(_line(": ".join([*([path] if path else []), *place, message])))

    @property
    def faults(self) -> tuple[SchemaError, ...]:
        """All faults; only this error if there is a single fault."""
        return self._faults or (self,)

    @property
    def heading(self) -> str:
        """The first line of a message that lists every fault on its own line."""
        file = f"{self.path}: " if self.path else ""
        return _line(f"{file}{len(self.faults)} faults:" if self._faults else str(self))

    def in_file(self, path: str) -> SchemaError:
        """Return the same error with a file, unless it has one."""
        file = self.path or path
        return SchemaError(
            self._problem, attribute=self.attribute, key=self.key, line=self.line, path=file, faults=self._faults
        )

    def placed(self, *, attribute: str | None = None, line: int | None = None) -> SchemaError:
        """Return the same error, with this attribute and line for every fault that has none."""
        if self._faults:
            return SchemaError.of([fault.placed(attribute=attribute, line=line) for fault in self._faults])
        attribute, line = self.attribute or attribute, self.line or line
        return SchemaError(self._problem, attribute=attribute, key=self.key, line=line, path=self.path)

    @staticmethod
    def of(faults: Sequence[SchemaError]) -> SchemaError:
        """Return a single error that lists all faults."""
        first = faults[0]
        if len(faults) == 1:
            return first
        parts = "; ".join(f"({number}) {fault}" for number, fault in enumerate(faults[:_MAX_FAULTS], 1))
        more = f"; … {len(faults) - _MAX_FAULTS} more" if len(faults) > _MAX_FAULTS else ""
        message = f"{len(faults)} faults: {parts}{more}"
        return SchemaError(message, attribute=first.attribute, key=first.key, line=first.line, faults=faults)


class DomainError(HedgerowError, ValueError):
    """Rows do not fit the declared schema. The message names the `column` and the allowed values, never a cell."""

    is_absent = False  # True if the table does not have the column

    def __init__(self, message: str, *, column: str | None = None) -> None:
        self.column = column
        super().__init__(_line(f"column {_quote_name(column)}: {message}" if column is not None else message))

    @classmethod
    def absent(cls, name: str, columns: Iterable[str]) -> Self:
        """Return the error for a missing column. It lists the columns of the table, which are public."""
        names = sorted(columns)
        problem = f"the table has no such column. Its columns: {listed(names, _MAX_COLUMNS)}.{near_miss(name, names)}"
        error = cls(problem, column=name)
        error.is_absent = True
        return error


class BudgetExceededError(HedgerowError, ValueError):
    """A charge would exceed a budget. Nothing was charged.

    Attributes
    ----------
    requested, remaining : Fraction
        The epsilon requested and the epsilon left.
    requested_delta, remaining_delta : Fraction
        The delta requested and the delta left.
    requested_rho, remaining_rho : Fraction or None
        The rho (zCDP) requested and the rho left; None if it is not known or has no cap.
    cap : {"dataset", "analyst"} or None
        The cap of a ledger that would be exceeded; None for a budget.
    """

    cap: Literal["dataset", "analyst"] | None = None

    def __init__(
        self,
        *,
        requested: Fraction,
        remaining: Fraction,
        requested_delta: Fraction,
        remaining_delta: Fraction,
        requested_rho: Fraction | None = None,
        remaining_rho: Fraction | None = None,
    ) -> None:
        self.requested, self.remaining = requested, remaining
        self.requested_delta, self.remaining_delta = requested_delta, remaining_delta
        self.requested_rho, self.remaining_rho = requested_rho, remaining_rho
        request, left = f"{float(requested):.6g}", f"{float(remaining):.6g}"
        if request == left:
            request, left = (
                str(amount) if len(str(amount)) < 50 else repr(float(amount)) for amount in (requested, remaining)
            )
        if requested_delta:
            request = f"{request} and delta={float(requested_delta):g}"
            left = f"{left} and delta={float(remaining_delta):g}"
        if remaining_rho is not None:
            rho = "no known rho" if requested_rho is None else f"rho={float(requested_rho):.6g}"
            request = f"{request} with {rho}"
            left = f"{left} or rho={float(remaining_rho):.6g}"
        problem = f"The budget has epsilon={left} left, and epsilon={request} was requested. Nothing was charged."
        super().__init__(f"{problem} Request less, or use a new budget if you may spend more.")


class LedgerError(HedgerowError, RuntimeError):
    """A ledger cannot be opened, is damaged, or has no entry for a request."""


class LedgerMissingError(LedgerError):
    """A database contains no ledger, and the caller did not ask to create one."""


class LedgerUnavailableError(HedgerowError, RuntimeError):
    """A ledger's database cannot be read or written now. The same request, sent again later, is charged only once.

    Attributes
    ----------
    reason : str
        The reason for the operator, with the place of the database. It must not be sent to analysts.
    """

    charged: bool | None = None  # None if it is unknown whether the question was charged

    def __init__(self, message: str, reason: str = "") -> None:
        self.reason = reason or message
        super().__init__(message)


class RequestConflictError(HedgerowError, ValueError):
    """The idempotency key was already used with a different request body. Nothing was charged."""


class RequestRunningError(HedgerowError, RuntimeError):
    """The same request is still being answered. Nothing more was charged; ask again later."""


class RequestFailedError(HedgerowError, RuntimeError):
    """The request was charged and has failed. It is not evaluated again, and nothing is refunded."""


class RefusalError(HedgerowError, RuntimeError):
    """A curator's service refused a request before charging anything for it.

    Attributes
    ----------
    charged : bool or None
        Whether the question was charged earlier under the same idempotency key; None if that is unknown.
    """

    def __init__(self, message: str, *, charged: bool | None = False) -> None:
        self.charged = charged
        super().__init__(_line(message))


class AccessError(RefusalError):
    """The curator's service does not know the caller, or does not permit this request."""


class ApprovalError(RefusalError):
    """The question needs a curator's approval, or a curator has `refused` it. Nothing was charged."""

    def __init__(self, message: str, *, refused: bool) -> None:
        self.refused = refused
        super().__init__(message)


class QuestionError(RefusalError, ValueError):
    """A question to a curator's service is not valid for the public schema. Nothing was charged.

    The message depends only on the question and on public values, and may be sent to the caller.
    """


class QuotaExceededError(RefusalError, ValueError):
    """A question would exceed an analyst's storage quota in a curator's service. Nothing was charged.

    Attributes
    ----------
    quota : {"questions", "stored_bytes"}
        The quota that would be exceeded.
    limit, used, requested : int
        The quota, the part of it in use, and the most that the question could need.
    """

    def __init__(
        self, quota: Literal["questions", "stored_bytes"], *, limit: int, used: int, requested: int = 1
    ) -> None:
        self.quota, self.limit, self.used, self.requested = quota, limit, used, requested
        unit = "questions" if quota == "questions" else "bytes of stored answers"
        problem = f"your quota is {limit:,} {unit}; {used:,} are used, and this question needs up to {requested:,}"
        super().__init__(f"{problem}. Request fewer bins, or ask the curator to raise the quota.")


class ServiceBusyError(RefusalError):
    """A curator's service has no capacity for a request now. This request added no charge."""


class ServiceUnavailableError(HedgerowError, RuntimeError):
    """A curator's service cannot evaluate a question now because of a fault in the service or its environment.

    The question can be sent again later with the same idempotency key, and is then charged only once.

    Attributes
    ----------
    charged : bool
        Whether the question was charged. If so, it is pending under that charge.
    retry_after : int
        Seconds to wait before sending the question again.
    """

    def __init__(self, *, charged: bool, retry_after: int) -> None:
        self.charged, self.retry_after = charged, retry_after
        charge = "The question was charged and is pending." if charged else "Nothing was charged."
        advice = f"Send it again in {retry_after} seconds with the same idempotency key."
        problem = "the service cannot read the rows or has run out of resources at the moment"
        super().__init__(f"{problem}. {charge} {advice}")


class ServiceError(HedgerowError, RuntimeError):
    """A curator's service refused a request or cannot be reached.

    Attributes
    ----------
    status : int or None
        The HTTP status; None if there was no response.
    kind : str or None
        The last part of the problem's type, such as ``budget-exceeded``.
    charged : bool or None
        Whether the service reports that the question was charged, now or earlier under the same key; None if that is
        unknown.
    retry_after : int or None
        Seconds after which the service allows the same request again; None if it gives no time.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        kind: str | None = None,
        charged: bool | None = None,
        retry_after: int | None = None,
    ) -> None:
        self.status, self.kind, self.charged, self.retry_after = status, kind, charged, retry_after
        super().__init__(_line(message))


class ReceiptError(HedgerowError, ValueError):
    """A receipt is not signed with the curator's key, or does not belong to this answer or model."""


class OracleExhaustedError(HedgerowError, ValueError):
    """An oracle has answered all of its `max_queries` questions. Nothing was charged."""

    def __init__(self, max_queries: int) -> None:
        self.max_queries = max_queries
        problem = f"the oracle has answered all of its {max_queries} questions. Nothing was charged."
        super().__init__(f"{problem} Ask the curator for a new oracle.")


class HypothesisError(HedgerowError, ValueError):
    """A hypothesis submitted to an oracle does not predict one class per row, or depends on other rows."""


class SearchTooLargeError(HedgerowError, ValueError):
    """A search would take too long or need too much memory. This follows from public parameters, before rows are read.

    Attributes
    ----------
    states, evaluations : int
        The number of states that the search would visit, and the evaluations of an option in a state.
    """

    def __init__(self, message: str, *, states: int, evaluations: int) -> None:
        self.states, self.evaluations = states, evaluations
        super().__init__(message)


class ModelFormatError(HedgerowError, ValueError):
    """A model file is truncated, was edited, or has an unknown format or version."""

    def __init__(self, message: str) -> None:
        super().__init__(_line(message))


class EngineError(HedgerowError, ValueError):
    """A database or file that holds the rows failed. The engine's own message is dropped, since it can quote values."""


Cause = Literal["connection", "lock", "timeout", "memory", "disk", "file", "table", "process", "package"]
"""Cause of a failure of the environment, as opposed to a fault of the question or of the values of rows."""


class SourceUnavailableError(EngineError):
    """The database or the files that hold the rows cannot be used now. The same query may succeed later.

    Attributes
    ----------
    cause : str
        The part that failed: ``connection``, ``lock``, ``timeout``, ``memory``, ``disk``, ``file``, ``table`` (missing,
        changed or not permitted), ``process`` (threads or file descriptors) or ``package``.
    """

    def __init__(self, message: str, *, cause: Cause) -> None:
        self.cause: Cause = cause
        super().__init__(message)


class TooManyPatternsError(HedgerowError, ValueError):
    """A table has more distinct patterns than the `limit` for a query to an engine.

    The message does not state their number. That the limit is exceeded is itself a fact about private rows.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        problem = f"the table has more than {limit:,} distinct patterns of bins and classes; nothing was fetched."
        super().__init__(f"{problem} Declare fewer attributes, fewer cut points, or grouped categories.")


class NotPicklableError(HedgerowError, TypeError):
    """An object that holds private rows or has an identity must not be copied to disk or to another process."""


class OverlapWarning(UserWarning):
    """Source and target overlap little, so a model learned from the source may not be valid for the target."""


class PreparationWarning(UserWarning):
    """A pipeline step or a hyperparameter search learns from the rows without a charge to the budget."""


class NoiseWarning(UserWarning):
    """The ε of a fit is so small that its releases contain almost no information about a table of usual size."""


class WeakGuaranteeWarning(UserWarning):
    """The ε of a release is above 10, or its δ is above 1/10,000, so that its guarantee protects little."""


class UnitWarning(UserWarning):
    """A column seems to identify persons by its name, but the schema declares no unit of privacy."""


class SeededNoiseWarning(UserWarning):
    """The noise is seeded by `random_state`, so the releases have no privacy guarantee. Leave `random_state` out."""


class UselessModelWarning(UserWarning):
    """A fitted model predicts the same for every row, or is no more accurate than the majority class."""


class SearchLimitWarning(UserWarning):
    """A search without privacy reached its time limit or was interrupted before it proved that its model is optimal."""


class LabelsOnlyWarning(UserWarning):
    """Probabilities are requested from a model that has only class labels; they are 0 or 1 and not estimates."""
