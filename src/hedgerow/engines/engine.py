"""Engines: a class for each Ibis backend that counts rows, with its particularities.

`Engine` itself stands for any backend and assumes only Ibis and standard SQL. The messages and log records of an engine
can quote values and are dropped. `engines.sources` lists the engines.
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
Expression = Any  # an Ibis expression, whose methods Ibis's types do not declare


@dataclass(frozen=True)
class DeclaredColumn:
    """A column as declared in the catalogue of a database."""

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
    """A failure of an engine, with advice for the curator."""

    advice: str
    cause: Cause | None = None  # the part of the environment that failed; None for a fault of the query or of a row


NO_CONNECTION = Fault("the connection failed or was lost; check host, database, user and password", "connection")
NO_MEMORY = Fault("it ran out of memory; increase the memory limit, or declare coarser cut points", "memory")
NO_TABLE = Fault("the table does not exist, or its columns changed after it was opened", "table")
NO_TYPE = Fault("a value does not suit the type of its column, or a type such as money is not supported; use a view")
NO_FILE = Fault("a file is missing, truncated, or in use by another process", "file")
NO_LINE = Fault("a file is truncated or has a line of more than 2 MB, or a view fails on a row")
STOPPED = Fault("the query was cancelled or exceeded its time limit", "timeout")
_UNREADABLE = Fault("Ibis does not support the type of a column of this table; cast it in a view")


@dataclass(frozen=True)
class Settings:
    """Options of `open_table`; an engine uses the options that it supports."""

    memory: str  # memory limit, such as 4GB
    master: str | None  # the Spark master
    text_format: TextFormat  # the delimiter of CSV files, and the lines above their headers
    limits: TimeLimits | None  # time limits


class Engine:
    """Ibis backend without known particularities; subclasses override its attributes and methods."""

    title: ClassVar[str] = ""  # name for people
    backend: ClassVar[str] = ""  # name in Ibis, if it differs from the engine's name
    schemes: ClassVar[tuple[str, ...]] = ()  # schemes of its addresses; empty text stands for files
    options: ClassVar[tuple[str, ...]] = ()  # supported options of `open_table`
    has_catalogue: ClassVar[bool] = False  # whether `declared_columns` is implemented
    # The setting that controls backslashes in constants, and the value that Ibis assumes. With another value, names and
    # categories of an untrusted schema could end their quotes and inject SQL.
    setting: ClassVar[tuple[str, str] | None] = None
    faults: ClassVar[Mapping[Fault, tuple[str, ...]]] = {}  # the faults, each with parts of the names of its exceptions
    loggers: ClassVar[tuple[str, ...]] = ()  # families of loggers whose records quote values
    group: ClassVar[str] = r"\1"  # the first group of a regular expression, in a replacement
    joins_constants: ClassVar[bool] = True  # whether many constants are joined as a table instead of compared in turn
    groups_arrays: ClassVar[bool] = False  # whether rows can be grouped by an array
    has_local_times: ClassVar[bool] = True  # whether a time without a time zone has a unique date

    def __init__(self, name: str) -> None:
        self.name = name

    def __init_subclass__(cls) -> None:
        _families.update(cls.loggers)

    def open(self, address: str, settings: Settings) -> AbstractContextManager[Expression]:
        raise NotImplementedError

    def check_settings(self, connection: Any) -> None:
        """Check that an Ibis connection reads constants literally; EngineError if not."""
        if self.setting is None:
            return
        name, expected = self.setting
        value = self.answered(lambda: self.read_setting(connection, name))
        if str(value).lower() != expected:
            problem = f"{self.name}: the connection must have {name} = {expected}, which protects against SQL injection"
            raise EngineError(f"{problem}; set it, or pass an address, for which hedgerow opens its own connection.")

    def read_setting(self, connection: Any, name: str) -> Any: ...

    def declared_columns(self, table: Expression) -> list[DeclaredColumn]:
        """Return the columns of a table as declared in the catalogue."""
        raise NotImplementedError

    def check_name(self, name: str) -> None:
        """Check that a query can contain this column name literally."""

    def plain_text(self, values: Expression) -> Expression:
        """Return a column of text or of an enumeration as text."""
        return values

    def as_bytes(self, text: Expression) -> Expression:
        """Return text as bytes, whose comparison and order do not depend on a collation."""
        return _encode_as(text, "UTF-8")

    def exact_text(self, number: Expression) -> Expression:
        """Return float64 as text, distinct for distinct numbers."""
        return number.cast("string")

    def computed_once(self, rows: Expression) -> Expression:
        """Return rows whose computed columns are evaluated only once."""
        return rows

    def word_code(self, key: Expression, codes: Mapping[str, int], otherwise: Any) -> Expression:
        """Return the code of a text among few words, which are compared in turn."""
        return key.cases(*((literal_text(word), code) for word, code in codes.items()), else_=otherwise)

    def fault_of(self, error: BaseException) -> Fault:
        """Return the fault for the class of an exception, whose text can quote a value."""
        known = [*self.faults.items(), *_FAULTS.items()]
        names = [base.__name__ for base in type(error).__mro__]
        faults = (fault for name in names for fault, parts in known if any(part in name for part in parts))
        return next(faults, Fault("its own log has the reason", environment_cause(error)))

    def answered(self, ask: Callable[[], T]) -> T:
        try:
            with muted():
                return ask()
        except (Exception, KeyboardInterrupt) as error:
            interrupted = KeyboardInterrupt in (type(error), type(error.__cause__))  # DuckDB: as the cause
            fault, kind = self.fault_of(error), type(error).__name__
        if interrupted:
            raise KeyboardInterrupt
        problem = f"{self.name} failed: {fault.advice} ({kind})."
        raise EngineError(problem) if fault.cause is None else SourceUnavailableError(problem, cause=fault.cause)


_FAULTS = {
    NO_CONNECTION: ("OperationalError",),
    NO_TABLE: ("TableNotFound",),
    NO_FILE: ("FileNotFound",),
    _UNREADABLE: ("ValueError", "AttributeError"),
}


def named_table(engine: Engine, connection: Any, address: str, name: str, tables: str) -> Expression:
    """Return the table or view of this name; the name of its schema may precede it, unless it is the default schema."""
    places = engine.answered(lambda: connection.con.execute(tables, [name, name]).fetchall())
    if len(places) != 1:
        number = "more than one table or view" if places else "no table or view"
        raise EngineError(f"{engine.name} failed: {shown(address)} has {number} named {printable(name)!r}.")
    ((*place, table),) = places
    return engine.answered(lambda: connection.table(table, database=tuple(place)))  # Ibis would split a text at dots


def split_address(address: str) -> tuple[str, str]:
    where, colons, name = address.rpartition("::")
    if not colons or not name:
        start = shown(address).rstrip(":")
        raise ArgumentError(f"{start}: add the name of the table after two colons, as in {start}::patients.")
    return where, name


def require_package(module: str, extra: str, purpose: str) -> None:
    if find_spec(module) is None:
        raise MissingPackageError.of(purpose, module, extra)


def place_of(table: Expression) -> tuple[str | None, str | None, str]:
    node: Any = table.op()
    return node.namespace.catalog, node.namespace.database, node.name


def literal_text(text: str) -> Expression:
    """Return a literal text, split at ``${``: Spark would replace ``${…}`` by the value of a setting or a variable."""
    first, *parts = re.split(r"(?<=\$)(?=\{)", text)
    return reduce(lambda joined, part: joined + ibis.literal(part), parts, cast(Expression, ibis.literal(first)))


def engine_function(name: str, *kinds: str) -> Callable[..., Expression]:
    """Return a function of an engine that Ibis lacks; `kinds` are the types of its arguments and of its value."""

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
    """Drop the records of engines' loggers during the block, in all threads; other loggers are not changed."""
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
