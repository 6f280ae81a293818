"""Exceptions and warnings. Each carries its data as attributes, never a private value.

Each exception is also one of Python's, in parentheses, so that ``except ValueError`` finds it.

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

_MOST_TOLD = 10  # faults in one message
_MOST_NAMED = 50  # columns in one message
_LONGEST = 1000  # characters of a message that quotes names or values of others


def _line(message: str) -> str:
    """Return a message on one line, control characters escaped, and cut to a readable length."""
    line = printable(message)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _named(name: object) -> str:
    """Return a name for a message; an object that is not text may be a table passed by mistake, and is not quoted."""
    return shown(str(name)) if isinstance(name, str) else describe_argument(name)


class HedgerowError(Exception):
    """Base class of hedgerow's exceptions. Each is also a `ValueError`, `TypeError`, `OSError` or another built-in."""


class ArgumentError(HedgerowError, ValueError):
    """An argument, option or parameter is out of range."""


class ArgumentTypeError(HedgerowError, TypeError):
    """An argument has another type than expected."""


class FileError(HedgerowError, OSError):
    """A file or folder cannot be read or written."""

    @staticmethod
    def of(number: int | None, reason: str | None, path: str) -> FileError:
        """Return the error for an errno: a `MissingFileError`, a `FileAccessError` or a plain `FileError`."""
        kinds = {errno.ENOENT: MissingFileError, errno.EACCES: FileAccessError, errno.EPERM: FileAccessError}
        return kinds.get(number or 0, FileError)(number, reason, path)


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder does not exist."""


class FileAccessError(FileError, PermissionError):
    """Permission to read or write a file or folder is missing."""


class MissingPackageError(HedgerowError, ImportError):
    """An optional package is not installed."""


class StateError(HedgerowError, RuntimeError):
    """An operation is not possible in this state, such as a charge in a forked process."""


class TooManyRowsError(HedgerowError, OverflowError):
    """A table has more rows than the bound on rounding holds for."""


class UnreadableError(HedgerowError, ValueError):
    """A text is malformed or too large. The message quotes nothing of the text."""


class SchemaError(HedgerowError, ValueError):
    """A schema, or a file that holds one, is not well formed.

    Attributes
    ----------
    attribute : str or None
        The attribute at fault.
    key : str or None
        The key of that attribute at fault.
    line : int or None
        Where in the file it is.
    path : str or None
        The file.
    faults : tuple of SchemaError
        Each fault where there are several, of which `attribute`, `key` and `line` are the first's; else this one alone.
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
        self._said, self._faults = message, tuple(faults)
        named = [f"{word} {_named(name)}" for word, name in (("attribute", attribute), ("key", key)) if name]
        place = [] if faults else [*([f"line {line}"] if line else []), *named]
        super().__init__(_line(": ".join([*([path] if path else []), *place, message])))

    @property
    def faults(self) -> tuple[SchemaError, ...]:
        """Each fault, of which there may be one."""
        return self._faults or (self,)

    @property
    def heading(self) -> str:
        """The first line of a message that lists each fault on a line of its own."""
        file = f"{self.path}: " if self.path else ""
        return _line(f"{file}{len(self.faults)} faults:" if self._faults else str(self))

    def in_file(self, path: str) -> SchemaError:
        """Return the error of the same faults, with the file if it has none."""
        file = self.path or path
        return SchemaError(
            self._said, attribute=self.attribute, key=self.key, line=self.line, path=file, faults=self._faults
        )

    def placed(self, *, attribute: str | None = None, line: int | None = None) -> SchemaError:
        """Return the error of the same faults, with the attribute and the line of each that has none."""
        if self._faults:
            return SchemaError.of([fault.placed(attribute=attribute, line=line) for fault in self._faults])
        named, at = self.attribute or attribute, self.line or line
        return SchemaError(self._said, attribute=named, key=self.key, line=at, path=self.path)

    @staticmethod
    def of(faults: Sequence[SchemaError]) -> SchemaError:
        """Return the one error of one or more faults."""
        first = faults[0]
        if len(faults) == 1:
            return first
        told = "; ".join(f"({number}) {fault}" for number, fault in enumerate(faults[:_MOST_TOLD], 1))
        more = f"; … {len(faults) - _MOST_TOLD} more" if len(faults) > _MOST_TOLD else ""
        message = f"{len(faults)} faults: {told}{more}"
        return SchemaError(message, attribute=first.attribute, key=first.key, line=first.line, faults=faults)


class DomainError(HedgerowError, ValueError):
    """Rows do not fit the declared schema. Names the `column` at fault and what is allowed, never a value."""

    is_absent = False  # whether the table has no such column

    def __init__(self, message: str, *, column: str | None = None) -> None:
        self.column = column
        super().__init__(_line(f"column {_named(column)}: {message}" if column is not None else message))

    @classmethod
    def absent(cls, name: str, columns: Iterable[str]) -> Self:
        """Return the error of a column that a table does not have; which it has is public."""
        found = sorted(columns)
        expected = f"expected this column, found: {listed(found, _MOST_NAMED)}.{near_miss(name, found)}"
        error = cls(expected, column=name)
        error.is_absent = True
        return error


class BudgetExceededError(HedgerowError, ValueError):
    """A charge would overdraw a budget; nothing was charged.

    Attributes
    ----------
    requested, remaining : Fraction
        Epsilon requested, and epsilon left.
    requested_delta, remaining_delta : Fraction
        The same for delta.
    requested_rho, remaining_rho : Fraction or None
        The same for rho (zCDP); None where it is not known, or has no cap.
    cap : {"dataset", "analyst"} or None
        Which cap of a ledger it is; None for a budget.
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
        asked, left = f"{float(requested):.6g}", f"{float(remaining):.6g}"
        if asked == left:
            asked, left = (str(one) if len(str(one)) < 50 else repr(float(one)) for one in (requested, remaining))
        if requested_delta:
            asked = f"{asked} and delta={float(requested_delta):g}"
            left = f"{left} and delta={float(remaining_delta):g}"
        if remaining_rho is not None:
            asked = f"{asked} with {'no known rho' if requested_rho is None else f'rho={float(requested_rho):.6g}'}"
            left = f"{left} or rho={float(remaining_rho):.6g}"
        told = f"The budget has epsilon={left} left, and epsilon={asked} was requested. Nothing was charged."
        super().__init__(f"{told} Request less, or release under a new Budget if you may spend more.")


class LedgerError(HedgerowError, RuntimeError):
    """A ledger cannot be opened, is broken, or does not know what is asked of it."""


class LedgerMissingError(LedgerError):
    """A database has no ledger, and the caller did not ask for a new one."""


class LedgerUnavailableError(HedgerowError, RuntimeError):
    """A ledger's database cannot be read or written now. The same request, sent again later, is charged once."""

    charged: bool | None = None  # whether the question was charged; None if that is unknown


class RequestConflictError(HedgerowError, ValueError):
    """A request has the idempotency key of an earlier one of another body; nothing was charged."""


class RequestRunningError(HedgerowError, RuntimeError):
    """The same request is still being answered; nothing more was charged. Ask again later."""


class RequestFailedError(HedgerowError, RuntimeError):
    """The request was charged and has failed, which is final: it is not evaluated again, and nothing is refunded."""


class RefusalError(HedgerowError, RuntimeError):
    """A curator's service refuses a request before it charges anything.

    Attributes
    ----------
    charged : bool or None
        Whether the question was charged earlier, under the same idempotency key; None if that is unknown.
    """

    def __init__(self, message: str, *, charged: bool | None = False) -> None:
        self.charged = charged
        super().__init__(_line(message))


class AccessError(RefusalError):
    """The caller is not known to the curator's service, or may not ask this."""


class ApprovalError(RefusalError):
    """A curator is to approve a question before it is charged, or has `refused` it; nothing was charged."""

    def __init__(self, message: str, *, refused: bool) -> None:
        self.refused = refused
        super().__init__(message)


class QuestionError(RefusalError, ValueError):
    """A question to a curator's service cannot be asked, as its form and the public schema show; nothing was charged.

    The message is made before a row is touched, of the question and of what is public, and may be sent back.
    """


class QuotaExceededError(RefusalError, ValueError):
    """A question would exceed what an analyst may store in a curator's service; nothing was charged.

    Attributes
    ----------
    quota : {"questions", "stored_bytes"}
        Which limit.
    limit, used, requested : int
        The limit, what is used of it, and what the question could need at most.
    """

    def __init__(
        self, quota: Literal["questions", "stored_bytes"], *, limit: int, used: int, requested: int = 1
    ) -> None:
        self.quota, self.limit, self.used, self.requested = quota, limit, used, requested
        unit = "questions" if quota == "questions" else "bytes of stored answers"
        problem = f"your quota is {limit:,} {unit}; {used:,} are used, and this question needs up to {requested:,}"
        super().__init__(f"{problem}. Ask for fewer bins, or ask the curator to raise the quota.")


class ServiceBusyError(RefusalError):
    """A curator's service cannot take a request now; the request itself added no charge."""


class ServiceUnavailableError(HedgerowError, RuntimeError):
    """A curator's service cannot evaluate a question now, because of a fault of the service or of its environment.

    The question is not refused: sent again later, with the same key, it is charged once.

    Attributes
    ----------
    charged : bool
        Whether the question was charged. If so, it is pending under that charge.
    retry_after : int
        Seconds after which to ask again.
    """

    def __init__(self, *, charged: bool, retry_after: int) -> None:
        self.charged, self.retry_after = charged, retry_after
        charge = "The charge stays, and is for this question: it is pending." if charged else "Nothing was charged."
        advice = f"Ask again in {retry_after} seconds, with the same idempotency key."
        super().__init__(f"the rows cannot be read, or the service lacks resources, at the moment. {charge} {advice}")


class ServiceError(HedgerowError, RuntimeError):
    """A curator's service refused a request, or cannot be reached.

    Attributes
    ----------
    status : int or None
        The HTTP status; None where there was no answer.
    kind : str or None
        The last part of the problem's type, such as ``budget-exceeded``.
    charged : bool or None
        Whether the question was charged, now or earlier under the same key, as the service states; None if that is
        unknown.
    retry_after : int or None
        Seconds after which the service asks for the same request again; None if it does not.
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
    """A receipt is not signed with a curator's key, or is not that of this answer or model."""


class OracleExhaustedError(HedgerowError, ValueError):
    """An oracle has answered its `max_queries` questions; nothing was charged."""

    def __init__(self, max_queries: int) -> None:
        self.max_queries = max_queries
        told = f"the oracle has answered all {max_queries} questions it was set up for. Nothing was charged."
        super().__init__(f"{told} Ask its curator for a new one.")


class HypothesisError(HedgerowError, ValueError):
    """A hypothesis that an oracle was asked about does not predict one class for each row by itself."""


class SearchTooLargeError(HedgerowError, ValueError):
    """A search would take too long or too much memory; known from public parameters, before any row is read.

    It would visit so many `states`, with so many `evaluations` of an option in a state.
    """

    def __init__(self, message: str, *, states: int, evaluations: int) -> None:
        self.states, self.evaluations = states, evaluations
        super().__init__(message)


class ModelFormatError(HedgerowError, ValueError):
    """A model file is truncated, edited, or of an unknown format or version."""

    def __init__(self, message: str) -> None:
        super().__init__(_line(message))


class EngineError(HedgerowError, ValueError):
    """A database or file with the rows did not answer. The engine's own message, which can quote values, is dropped."""


Cause = Literal["connection", "lock", "timeout", "memory", "disk", "file", "table", "process", "package"]
"""Cause of a failure that lies in the environment of a question, not in the question or in the values of rows."""


class SourceUnavailableError(EngineError):
    """The database or the files with the rows cannot be used now. The same query may succeed later.

    Attributes
    ----------
    cause : str
        What failed: ``connection``, ``lock``, ``timeout``, ``memory``, ``disk``, ``file``, ``table`` (missing, changed
        or not permitted), ``process`` (threads or file descriptors) or ``package``.
    """

    def __init__(self, message: str, *, cause: Cause) -> None:
        self.cause: Cause = cause
        super().__init__(message)


class TooManyPatternsError(HedgerowError, ValueError):
    """A table has more distinct patterns than are fetched from an engine, `limit`; their number is not disclosed.

    This is itself a fact about private rows.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        told = f"expected at most {limit:,} distinct patterns of bins with their classes, found more; none was fetched."
        super().__init__(f"{told} Declare fewer attributes, or coarser ones: fewer cut points, grouped categories.")


class NotPicklableError(HedgerowError, TypeError):
    """An object that holds private rows or an identity must not be copied to disk or to another process."""


class OverlapWarning(UserWarning):
    """Source and target overlap little: what is learned from the source may not hold for the target."""


class PreparationWarning(UserWarning):
    """A step of a pipeline, or a search by scores, learns from the rows what is in no charge."""


class NoiseWarning(UserWarning):
    """The ε of a fit is so small that what is released says nearly nothing of a table of any usual size."""


class UnitWarning(UserWarning):
    """A column has the name of one that says whose row each is, and the schema declares no unit of privacy."""


class SeededNoiseWarning(UserWarning):
    """The noise comes from `random_state`, so that what is released has no guarantee; leave it out."""


class UselessModelWarning(UserWarning):
    """A fitted model predicts the same for every row, or is right no more often than the commonest class."""


class SearchLimitWarning(UserWarning):
    """A search without privacy reached a limit of time or memory before it proved that its model is optimal."""


class LabelsOnlyWarning(UserWarning):
    """Probabilities are asked of a model of which labels alone were released: each is 0 or 1, which no row says."""
