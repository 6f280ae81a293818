"""PostgreSQL: a table or view on a server, read in a read-only session."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hedgerow.engines import engine
from hedgerow.engines.engine import Engine, Expression, Settings
from hedgerow.engines.files import shown
from hedgerow.engines.packages import ibis
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import ArgumentError

_OPTIONS = "-c default_transaction_read_only=on -c standard_conforming_strings=on"
"""Options of the PostgreSQL session; they are passed last, so that options of the address cannot override them."""
_TABLES = """
SELECT current_database()::text, n.nspname::text, c.relname::text
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
  AND (n.nspname || '.' || c.relname = %s OR (n.nspname = current_schema() AND c.relname = %s))
"""
_COLUMNS = """
SELECT a.attname, t.typtype::text, format_type(CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END, NULL),
  NOT (a.attnotnull OR t.typnotnull), col_description(a.attrelid, a.attnum),
  ARRAY(SELECT e.enumlabel::text FROM pg_enum e
        WHERE e.enumtypid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END ORDER BY e.enumsortorder),
  ARRAY(SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c
        WHERE c.conrelid = a.attrelid AND c.contype = 'c' AND a.attnum = ANY (c.conkey)),
  ARRAY(SELECT pg_get_constraintdef(c.oid) FROM pg_constraint c WHERE c.contypid = t.oid AND t.typtype = 'd'),
  EXISTS (SELECT 1 FROM pg_index i WHERE i.indrelid = a.attrelid AND i.indisunique AND i.indpred IS NULL
          AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)
FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
"""
_ALL = 2**62  # rows


class Postgres(Engine):
    """PostgreSQL, on a server."""

    title = "PostgreSQL"
    schemes = ("postgresql", "postgres")
    has_catalogue = True
    setting = ("standard_conforming_strings", "on")
    loggers = ("psycopg",)

    def fault_of(self, error: BaseException) -> engine.Fault:
        """Return the fault for the longest known prefix of the SQLSTATE, or for the class of the exception."""
        state: str | None = getattr(error, "sqlstate", None)
        if state is None:
            return super().fault_of(error)
        faults = (_FAULTS.get(state[:length]) for length in range(len(state), 1, -1))
        return next((fault for fault in faults if fault is not None), engine.Fault("its own log has the reason"))

    @contextmanager
    def open(self, address: str, settings: Settings) -> Generator[Expression]:
        where, name = engine.split_address(address)
        parts = None
        with suppress(ValueError):  # its text can contain the password
            parts = urlsplit(where)
        if parts is None:
            raise ArgumentError(f"{shown(where)}: not a valid address; expected postgresql://user@host/database.")
        query = dict(parse_qsl(parts.query))
        options = query if settings.limits is None else settings.limits.postgres_settings(query)
        options["options"] = f"{options.get('options', '')} {_OPTIONS}".strip()
        engine.require_package("psycopg", "postgres", "reading a table in PostgreSQL")
        plain = parts._replace(query="", scheme="postgresql").geturl()
        connection = self.answered(lambda: _connected(plain, options, settings.limits))
        try:
            yield engine.named_table(self, connection, where, name, _TABLES)
        finally:
            connection.disconnect()

    def read_setting(self, connection: Any, name: str) -> Any:
        """Return the value of a setting; the server reports every change of it."""
        return connection.con.info.parameter_status(name)

    def declared_columns(self, table: Expression) -> list[engine.DeclaredColumn]:
        _, schema, name = engine.place_of(table)
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (schema, name) if part)
        with table.get_backend().con.cursor() as cursor:
            rows: Sequence[Any] = cursor.execute(_COLUMNS, [quoted]).fetchall()
        return [
            engine.DeclaredColumn(column, kind, nullable, comment, tuple(labels), tuple(checks), tuple(domain), unique)
            for column, _, kind, nullable, comment, labels, checks, domain, unique in rows
        ]

    def plain_text(self, values: Expression) -> Expression:
        """Return a column of text as text; concatenation converts an enumeration."""
        return values + ibis.literal("")

    def as_bytes(self, text: Expression) -> Expression:
        return _convert_to(text, "UTF8")

    def exact_text(self, number: Expression) -> Expression:
        """Return the bits of float64 as text, since a conversion of the number may round it, depending on a setting."""
        return _hexadecimal(_bits(number), "hex")

    def computed_once(self, rows: Expression) -> Expression:
        """Return rows with a limit, which keeps PostgreSQL from inlining computed columns."""
        return rows.limit(_ALL)


def _connected(address: str, options: Mapping[str, str], limits: TimeLimits | None) -> Any:
    if limits is None:
        return ibis.connect(address, **options)
    from hedgerow.engines.postgres_connection import LimitedConnection

    connection = LimitedConnection.opened(limits, conninfo=address, autocommit=True, **options)
    try:
        return ibis.postgres.from_connection(connection)
    except BaseException:
        connection.close()
        raise


_NO_RIGHT = engine.Fault("the user needs the SELECT privilege on the table or view", "table")
_NO_LOCK = engine.Fault("another transaction holds a lock on the table", "lock")
_NO_DISK = engine.Fault("its disk is full or failed, or its limit on temporary files is exceeded", "disk")
_FAULTS: Mapping[str, engine.Fault] = {
    "08": engine.NO_CONNECTION,
    "22": engine.NO_TYPE,
    "25P": engine.STOPPED,  # a transaction that was idle, or took too long
    "28": engine.NO_CONNECTION,
    "3D": engine.NO_CONNECTION,
    "3F": engine.NO_TABLE,
    "40": _NO_LOCK,  # a deadlock, or a conflict with recovery on a replica
    "42501": _NO_RIGHT,
    "42703": engine.NO_TABLE,
    "42P01": engine.NO_TABLE,
    "53": engine.NO_MEMORY,
    "53100": _NO_DISK,
    "53300": engine.NO_CONNECTION,  # too many connections
    "53400": _NO_DISK,
    "55": _NO_LOCK,
    "57": engine.NO_CONNECTION,  # the server shuts down or starts
    "57014": engine.STOPPED,
    "58": _NO_DISK,
    "HV00N": engine.NO_CONNECTION,  # no connection to the server of a foreign table
    "XX": _NO_DISK,  # broken pages or indexes
}
_convert_to = engine.engine_function("convert_to", "string", "string", "binary")
_bits = engine.engine_function("float8send", "float64", "binary")
_hexadecimal = engine.engine_function("encode", "binary", "string", "string")
