"""Every exception hedgerow raises on purpose. Each carries its data as attributes, never a private value."""

from __future__ import annotations

import errno
from fractions import Fraction

from hedgerow.messages import shown, shown_argument
from hedgerow.values import printable

_LONGEST = 1000  # characters of a message that quotes names or values of others


def _line(message: str) -> str:
    """Return a message in one line, control characters as text, and cut where it is too long to be read."""
    line = printable(message)
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _named(name: object) -> str:
    """Return a name as it stands in a message; what is no text may be a table, given in its place."""
    return shown(str(name)) if isinstance(name, str) else shown_argument(name)


class HedgerowError(Exception):
    """The root of hedgerow's exceptions. Each is a `ValueError`, `TypeError`, `OSError` or another of Python's, too."""


class ArgumentError(HedgerowError, ValueError):
    """An argument, option or parameter is out of range."""


class ArgumentTypeError(HedgerowError, TypeError):
    """An argument is of another type than expected."""


class FileError(HedgerowError, OSError):
    """A file or folder cannot be read or written."""

    @staticmethod
    def of(number: int | None, reason: str | None, path: str) -> FileError:
        """Return the error of a system's error number: a `MissingFileError`, a `FileAccessError` or another one."""
        kinds = {errno.ENOENT: MissingFileError, errno.EACCES: FileAccessError, errno.EPERM: FileAccessError}
        return kinds.get(number or 0, FileError)(number, reason, path)


class MissingFileError(FileError, FileNotFoundError):
    """A file or folder is not there."""


class FileAccessError(FileError, PermissionError):
    """A file or folder must not be read, or written to."""


class MissingPackageError(HedgerowError, ImportError):
    """An optional package is not installed."""


class StateError(HedgerowError, RuntimeError):
    """Something cannot be done here or now, such as a charge in a copy of the process."""


class TooManyRowsError(HedgerowError, OverflowError):
    """A table has more rows than the bound on rounding holds for."""


class UnreadableError(HedgerowError, ValueError):
    """A text is not what it should be, or too large to be read. Its message quotes nothing of the text."""


class SchemaError(HedgerowError, ValueError):
    """A schema, or a file that holds one, is not well formed.

    Attributes
    ----------
    attribute : str or None
        The attribute at fault.
    key : str or None
        The key of that attribute at fault.
    """

    def __init__(self, message: str, *, attribute: str | None = None, key: str | None = None) -> None:
        self.attribute = attribute
        self.key = key
        place = ": ".join(f"{word} {_named(name)}" for word, name in (("attribute", attribute), ("key", key)) if name)
        super().__init__(_line(f"{place}: {message}" if place else message))


class DomainError(HedgerowError, ValueError):
    """Rows do not fit the declared schema. Names the column and what is allowed, never a value.

    Attributes
    ----------
    column : str or None
        The column at fault.
    """

    def __init__(self, message: str, *, column: str | None = None) -> None:
        self.column = column
        super().__init__(_line(f"column {_named(column)}: {message}" if column is not None else message))


class BudgetExceededError(HedgerowError, ValueError):
    """A charge would overdraw a budget; nothing was charged.

    Attributes
    ----------
    requested, remaining : Fraction
        Epsilon asked for, and epsilon left.
    requested_delta, remaining_delta : Fraction
        The same for delta.
    """

    def __init__(
        self,
        *,
        requested: Fraction,
        remaining: Fraction,
        requested_delta: Fraction,
        remaining_delta: Fraction,
    ) -> None:
        self.requested, self.remaining = requested, remaining
        self.requested_delta, self.remaining_delta = requested_delta, remaining_delta
        asked, left = f"{float(requested):.6g}", f"{float(remaining):.6g}"
        hint = ""
        if asked == left:
            asked, left = repr(float(requested)), repr(float(remaining))
            hint = " Floats count by their exact binary value; shares given as fractions.Fraction fit exactly."
        if requested_delta:
            asked, left = (
                f"{asked} and delta={float(requested_delta):g}",
                f"{left} and delta={float(remaining_delta):g}",
            )
        super().__init__(
            f"The budget has epsilon={left} left, and epsilon={asked} was asked for. Nothing was charged. "
            f"Ask for less, or release under a new Budget if you may spend more.{hint}"
        )


class OracleExhaustedError(HedgerowError, ValueError):
    """An oracle has answered as many questions as it was set up for; nothing was charged.

    Attributes
    ----------
    max_queries : int
        How many that were.
    """

    def __init__(self, max_queries: int) -> None:
        self.max_queries = max_queries
        super().__init__(
            f"the oracle has answered all {max_queries} questions it was set up for. Nothing was charged. "
            "Ask its curator for a new one."
        )


class HypothesisError(HedgerowError, ValueError):
    """A hypothesis that an oracle was asked about does not predict one class for each row by itself."""


class SearchTooLargeError(HedgerowError, ValueError):
    """An exact search would take too long or too much memory; told from public numbers, before any row is read.

    Attributes
    ----------
    states, evaluations : int
        States to visit, and pairs of a state and an option to weigh.
    """

    def __init__(self, message: str, *, states: int, evaluations: int) -> None:
        self.states, self.evaluations = states, evaluations
        super().__init__(message)


class ModelFormatError(HedgerowError, ValueError):
    """A model file is truncated, edited, or of an unknown format or version."""

    def __init__(self, message: str) -> None:
        super().__init__(_line(message))


class EngineError(HedgerowError, ValueError):
    """A database or file with the rows did not answer. The engine's own message, which can quote values, is gone."""


class TooManyPatternsError(HedgerowError, ValueError):
    """A table has more distinct patterns than are fetched from an engine. That it has is a fact about private rows.

    Attributes
    ----------
    limit : int
        How many are fetched. How many there are is not told.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(
            f"the table has more than {limit:,} distinct patterns of bins with their classes, more than is sensible; "
            "none was fetched. Declare fewer attributes, or coarser ones: fewer cut points, categories grouped."
        )


class DatasetUnavailableError(HedgerowError, ValueError):
    """A named dataset is neither in $HEDGEROW_DATA, nor in the cache, nor downloadable.

    Attributes
    ----------
    name : str
        The dataset asked for.
    """

    def __init__(self, name: str, message: str) -> None:
        self.name = name
        super().__init__(f"dataset {name!r}: {message}")


class NotPicklableError(HedgerowError, TypeError):
    """An object that holds private rows or an identity must not be copied to disk or to another process."""


class OverlapWarning(UserWarning):
    """Source and target have little in common: what is learned on the one may not hold for the other."""
