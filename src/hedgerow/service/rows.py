"""Private rows of a curator, in memory or in a database, opened for a charged question."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from hedgerow.boundary.environment import environment_cause
from hedgerow.engines.files import check_readable, is_address
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import ArgumentError, SourceUnavailableError
from hedgerow.oracle.frame_rows import OracleFrame, OracleRows
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.tables.frames import Labels, Table
from hedgerow.tables.table_files import DEFAULT_FORMAT, TextFormat, check_no_spreadsheet, read_table
from hedgerow.tally import Tally

if TYPE_CHECKING:
    from hedgerow.oracle.table_rows import OracleTable

DEFAULT_LIMITS = TimeLimits()


@dataclass(frozen=True, repr=False, eq=False)
class FrameRows:
    """Rows in memory. `opened` and `tally` must be used only after the charge of a question."""

    frame: Any  # the rows, with the attributes of the schema as columns
    labels: Any
    target: OracleFrame  # rows and labels for an oracle; its checks of questions read no row

    @classmethod
    def of(cls, frame: Any, labels: Any, schema: Schema) -> Self:
        """Check rows when the service starts; errors are shown to the curator only."""
        label = schema.target
        table = Table.of(frame)
        schema.check_columns(table)
        schema.check_unit(table)
        whose = [] if schema.unit is None else [schema.unit.column]
        frame = table.data.select([*schema.names, *whose]).to_native()
        rows = cls(frame, labels, OracleFrame.of(Table.of(frame), Labels.of(labels, frame), label, schema.unit))
        rows.tally(schema)
        return rows

    @classmethod
    def read(cls, path: str | Path, schema: Schema, text_format: TextFormat = DEFAULT_FORMAT) -> Self:
        table = Table.of(read_table(str(path), text_format, numbers=schema.number_columns))
        label = schema.target
        table.require([*schema.columns(), label.name])
        schema.encode(table, list(schema.derivations))  # raises an error for cells outside the domain
        typed = {name: attribute.typed(schema.column(table, name)) for name, attribute in schema.attributes}
        if schema.unit is not None:
            schema.check_unit(table)
            typed[schema.unit.column] = table.column(schema.unit.column, 0).arrow_text()
        return cls.of(pa.table(typed), label.typed(table.column(label.name, 0)), schema.without_derivations)

    def probe(self) -> None:
        """Do nothing: rows in memory can always be read."""

    @contextmanager
    def opened(self) -> Generator[OracleRows]:
        yield self.target

    def tally(self, schema: Schema) -> Tally:
        return Tally.count(self.frame, self.labels, schema)


@dataclass(frozen=True, repr=False, eq=False)
class TableRows:
    """Rows that an engine counts. `opened` and `tally` must be used only after the charge of a question."""

    address: str  # see `open_table`
    label: Target
    schema: Schema  # public schema, with the unit of privacy
    target: OracleTable  # public facts about the table; its connection is closed
    limits: TimeLimits  # the time limits of the database

    @classmethod
    def of(cls, address: str, schema: Schema, limits: TimeLimits = DEFAULT_LIMITS) -> Self:
        """Open a table and check every row when the service starts; errors are shown to the curator only."""
        from hedgerow.oracle.table_rows import OracleTable  # Ibis takes long to import

        label = schema.target
        with _open(address, limits) as table:
            target = OracleTable.of(_selected(table, schema), label.name, label, schema.unit)
            Tally.from_table(table, schema)
        return cls(address, label, schema, target, limits)

    def probe(self) -> None:
        """Raise `SourceUnavailableError` unless the table can be queried and has the columns of the schema.

        No row is read. Text files are not opened, since their lines would have to be read; they only have to exist.
        """
        if "://" not in self.address and self.address.lower().endswith(".csv"):
            check_readable(self.address)
            return
        from hedgerow.engines.sources import ask  # Ibis takes long to import

        with self._kept() as table:
            ask(table.limit(0).select(one=1))  # needs the permission to read, and waits for no lock

    @contextmanager
    def opened(self) -> Generator[OracleRows]:
        from hedgerow.engines.contributions import counted_table  # Ibis takes long to import

        with self._kept() as table:
            kept = table
            if self.schema.unit is not None:
                kept = counted_table(table, self.schema.unit, [*self.schema.names, self.label.name])
            yield self.target.reopened(kept)

    def tally(self, schema: Schema) -> Tally:
        with self._kept() as table:
            return Tally.from_table(table, schema)

    @contextmanager
    def _kept(self) -> Generator[Any]:
        """Open the table again; any failure is a fault of the environment, since it was checked at the start."""
        with ExitStack() as opened:
            cause = None
            try:
                table = _selected(opened.enter_context(_open(self.address, self.limits)), self.schema)
                if not self.target.kinds.items() <= self.target.reopened(table).kinds.items():
                    cause = "table"
            except Exception as error:  # its text could name a value
                table, cause = None, environment_cause(error) or "table"
            if cause is not None:
                problem = "the table cannot be opened, or differs from the table that was checked at the start"
                raise SourceUnavailableError(f"{problem}.", cause=cause)
            yield table


HostedRows = FrameRows | TableRows


def open_rows(
    table: str, schema: Schema, text_format: TextFormat = DEFAULT_FORMAT, limits: TimeLimits = DEFAULT_LIMITS
) -> HostedRows:
    """Open the rows of a text file in `text_format`, or at an address, and check all of them."""
    check_no_spreadsheet(table)
    if not is_address(table):
        return FrameRows.read(table, schema, text_format)
    if not text_format.is_usual:
        names = "encoding, decimal, delimiter, thousands, skip_rows and skip_footer"
        raise ArgumentError(f"{names} apply to a single text file only; leave them out.")
    return TableRows.of(table, schema, limits)


def _open(address: str, limits: TimeLimits) -> AbstractContextManager[Any]:
    from hedgerow.engines.sources import open_table  # Ibis takes long to import

    return open_table(address, limits=limits)


def _selected(table: Any, schema: Schema) -> Any:
    from hedgerow.engines.derived import with_derived  # Ibis takes long to import

    table = with_derived(table, schema)
    whose = [] if schema.unit is None else [schema.unit.column]
    return table.select(*schema.names, schema.target.name, *whose)
