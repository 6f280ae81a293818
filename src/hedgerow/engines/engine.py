"""Engines: what differs between the backends of Ibis that count rows, a class each.

`Engine` itself is a backend that nothing is known of beyond what Ibis and standard SQL say. An engine's own message can
quote values and is dropped; what it logs meanwhile, too. `engines.sources` lists them.
"""

import logging
import re
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import reduce
from importlib.util import find_spec
from inspect import Parameter, Signature
from typing import Any, ClassVar, TypeVar, cast

from hedgerow.boundary.environment import environment_cause
from hedgerow.engines.files import shown
from hedgerow.engines.packages import ibis
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import ArgumentError, Cause, EngineError, MissingPackageError, SourceUnavailableError
from hedgerow.tables.table_files import TextFormat
from hedgerow.text.values import printable

T = TypeVar("T")
Expression = Any  # Ibis's value expressions, whose methods its types do not declare


@dataclass(frozen=True)
class DeclaredColumn:
    """A column as the catalogue of a database declares it."""

    name: str
    type: str
    nullable: bool
    comment: str | None
    labels: tuple[str, ...]
    checks: tuple[str, ...]
    domain_checks: tuple[str, ...]
    is_unique: bool


@dataclass(frozen=True)
class Fault:
    """A failure of an engine."""

    advice: str  # for the curator
    cause: Cause | None = None  # what of the environment failed; None for a fault of the query, or of a row


NO_CONNECTION = Fault("no connection, or it was lost; check host, database, user and password", "connection")
NO_MEMORY = Fault("it ran out of memory; allow more, or declare coarser cut points", "memory")
NO_TABLE = Fault("the table does not exist, or its columns changed since it was opened", "table")
NO_TYPE = Fault("a value does not have its column's type, or the type is no number, as money is not; cast it in a view")
NO_FILE = Fault("a file is missing, truncated, or in use by another process", "file")
NO_LINE = Fault("a file is truncated or has a line of more than 2 MB, or a view fails on a row")
STOPPED = Fault("the query was cancelled, or took longer than its time limit", "timeout")
_UNREADABLE = Fault("Ibis cannot read the type of a column of this table; cast it in a view")


@dataclass(frozen=True)
class Settings:
    """What `open_table` was asked for; an engine uses those that it has."""

    memory: str  # the most memory, as in 4GB
    master: str | None  # the Spark master
    text_format: TextFormat  # the delimiter of CSV files, and the lines above their headers
    limits: TimeLimits | None  # of time


class Engine:
    """A backend of Ibis, by default one of which nothing else is known."""

    title: ClassVar[str] = ""  # for people
    backend: ClassVar[str] = ""  # its name in Ibis, if that is another
    schemes: ClassVar[tuple[str, ...]] = ()  # of the addresses that it opens; that of files is empty
    options: ClassVar[tuple[str, ...]] = ()  # of `open_table`
    has_catalogue: ClassVar[bool] = False  # whether `declared_columns` is there
    # The setting by which it reads a backslash in a constant, and the value that Ibis assumes. By another, names and
    # categories of a schema from others could end their quotes, and be SQL.
    setting: ClassVar[tuple[str, str] | None] = None
    faults: ClassVar[Mapping[Fault, tuple[str, ...]]] = {}  # by parts of the names of its exceptions
    loggers: ClassVar[tuple[str, ...]] = ()  # families of loggers whose records quote values
    group: ClassVar[str] = r"\1"  # the first group of a regular expression, in a replacement
    joins_constants: ClassVar[bool] = True  # whether many constants are joined as a table, not compared in turn
    groups_arrays: ClassVar[bool] = False  # whether an array can be what rows are grouped by
    has_local_times: ClassVar[bool] = True  # whether a time without a time zone has one date

    def __init__(self, name: str) -> None:
        self.name = name

    def __init_subclass__(cls) -> None:
        _families.update(cls.loggers)

    def open(self, address: str, settings: Settings) -> AbstractContextManager[Expression]:
        raise NotImplementedError

    def check_settings(self, connection: Any) -> None:
        """Check that a connection of Ibis reads constants literally."""
        if self.setting is None:
            return
        name, expected = self.setting
        found = self.answered(lambda: self.read_setting(connection, name))
        if str(found).lower() != expected:
            problem = f"{self.name}: expected a connection with {name} = {expected}, found another value"
            raise EngineError(f"{problem}; set it, or give an address, for a connection of hedgerow's own.")

    def read_setting(self, connection: Any, name: str) -> Any: ...

    def declared_columns(self, table: Expression) -> list[DeclaredColumn]:
        """Return what the catalogue says of a table's columns."""
        raise NotImplementedError

    def check_name(self, name: str) -> None:
        """Check that a column's name means itself in a query."""

    def plain_text(self, values: Expression) -> Expression:
        """Return a column of text as text, not as an enumeration."""
        return values

    def as_bytes(self, text: Expression) -> Expression:
        """Return text as bytes: compared and ordered independently of its collation."""
        return _encode_as(text, "UTF-8")

    def exact_text(self, number: Expression) -> Expression:
        """Return float64 as text, another for any two numbers."""
        return number.cast("string")

    def computed_once(self, rows: Expression) -> Expression:
        """Return rows whose computed columns are evaluated once, however often they are referred to."""
        return rows

    def word_code(self, key: Expression, codes: Mapping[str, int], otherwise: Any) -> Expression:
        """Return the code of a text that is one of a few words, compared in turn."""
        return key.cases(*((literal_text(word), code) for word, code in codes.items()), else_=otherwise)

    def fault_of(self, error: BaseException) -> Fault:
        """Return what failed, by the class of an exception: its text can quote a value."""
        known = [*self.faults.items(), *_FAULTS.items()]
        names = [base.__name__ for base in type(error).__mro__]
        found = (fault for name in names for fault, parts in known if any(part in name for part in parts))
        return next(found, Fault("see its own log for the reason", environment_cause(error)))

    def answered(self, ask: Callable[[], T]) -> T:
        try:
            with muted():
                return ask()
        except (Exception, KeyboardInterrupt) as error:
            interrupted = KeyboardInterrupt in (type(error), type(error.__cause__))  # the latter in DuckDB
            fault, kind = self.fault_of(error), type(error).__name__
        if interrupted:
            raise KeyboardInterrupt
        problem = f"{self.name} did not answer: {fault.advice} ({kind})."
        raise EngineError(problem) if fault.cause is None else SourceUnavailableError(problem, cause=fault.cause)


_FAULTS = {
    NO_CONNECTION: ("OperationalError",),
    NO_TABLE: ("TableNotFound",),
    NO_FILE: ("FileNotFound",),
    _UNREADABLE: ("ValueError", "AttributeError"),
}


def named_table(engine: Engine, connection: Any, address: str, name: str, tables: str) -> Expression:
    """Return the table or view that a name means, with its schema or, in the usual one, without; both may hold dots."""
    places = engine.answered(lambda: connection.con.execute(tables, [name, name]).fetchall())
    if len(places) != 1:
        found = "more than one table or view" if places else "no table and no view"
        raise EngineError(f"{engine.name} did not answer: {shown(address)} has {found} named {printable(name)!r}.")
    ((*place, table),) = places
    return engine.answered(lambda: connection.table(table, database=tuple(place)))  # in one text, cut at each dot


def split_address(address: str) -> tuple[str, str]:
    where, colons, name = address.rpartition("::")
    if not colons or not name:
        start = shown(address).rstrip(":")
        raise ArgumentError(f"{start}: expected the table after two colons, as in {start}::patients.")
    return where, name


def require_package(module: str, extra: str, purpose: str) -> None:
    if find_spec(module) is None:
        raise MissingPackageError.of(purpose, module, extra)


def place_of(table: Expression) -> tuple[str | None, str | None, str]:
    node: Any = table.op()
    return node.namespace.catalog, node.namespace.database, node.name


def literal_text(text: str) -> Expression:
    """Return text as it is: in a ``${…}`` in one piece Spark would put the value of a setting or a variable."""
    first, *others = re.split(r"(?<=\$)(?=\{)", text)
    return reduce(lambda one, other: one + ibis.literal(other), others, cast(Expression, ibis.literal(first)))


def engine_function(name: str, *kinds: str) -> Callable[..., Expression]:
    """Return a function that an engine has and Ibis does not: the types of its arguments and, last, of its value."""

    def declared() -> None: ...

    arguments = [Parameter(f"x{i}", Parameter.POSITIONAL_OR_KEYWORD) for i in range(len(kinds) - 1)]
    vars(declared)["__signature__"] = Signature(arguments)
    return ibis.udf.scalar.builtin(name=name, signature=(kinds[:-1], kinds[-1]))(declared)


_encode_as = engine_function("encode", "string", "string", "binary")


_families = {"ibis", "pyarrow", "sqlglot"}
_lock = threading.Lock()
_inside = 0
_muted: set[logging.Logger] = set()


@contextmanager
def muted() -> Generator[None]:
    """Drop the records of engines' loggers meanwhile, in any thread; other loggers are not changed."""
    global _inside
    with _lock:
        _inside += 1
        for name, logger in list(logging.root.manager.loggerDict.items()):
            if isinstance(logger, logging.Logger) and name.partition(".")[0] in _families:
                logger.addFilter(_drop)
                _muted.add(logger)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if not _inside:
                for logger in _muted:
                    logger.removeFilter(_drop)
                _muted.clear()


def _drop(_record: logging.LogRecord) -> bool:
    return False
