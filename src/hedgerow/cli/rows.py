"""Private rows of a command: a CSV file, or a table that an engine counts."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any, Protocol

import narwhals as nw
import typer

from hedgerow.cli.output import stage
from hedgerow.columns import Table
from hedgerow.csv_files import read_csv, read_header
from hedgerow.engines.addresses import is_address, shown
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.messages import near_miss
from hedgerow.schema import Schema
from hedgerow.tally import Tally

DATA = (
    "CSV file with a header; or data.parquet, 'folder/*.parquet', a folder of Parquet files, "
    "duckdb:///FILE::TABLE, postgresql://USER@HOST/DATABASE::TABLE"
)
Engine = Annotated[
    str | None,
    typer.Option(help="Engine that counts the rows: duckdb or spark. Default: PostgreSQL for its tables, else DuckDB."),
]
Master = Annotated[str | None, typer.Option(help="With --engine spark: its master.  [local[*]]")]
Memory = Annotated[str, typer.Option(help="How much memory DuckDB may take.")]


class Rows(Protocol):
    """Private rows, none of which is read before they are learned from or counted."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns."""
        ...

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> None:
        """Fit a classifier; quietly where it shows its own progress."""
        ...

    def counted(self, schema: Schema) -> Any:
        """Return the rows, or their tally, as an audit takes them."""
        ...

    def check(self, schema: Schema) -> None:
        """Check that every row fits a schema; raises DomainError where one does not."""
        ...


class FileRows:
    """The rows of a CSV file, read into memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.columns = read_header(path)

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> None:
        """Read the file and fit."""
        with stage(f"reading {self.path}"):
            table = nw.from_native(read_csv(self.path), eager_only=True)
        with nullcontext() if quietly else stage("learning"):
            classifier.fit(table.drop(label).to_native(), table.get_column(label))

    def counted(self, schema: Schema) -> Any:  # noqa: ARG002 -- an audit reads what it needs
        """Read the file."""
        return read_csv(self.path)

    def check(self, schema: Schema) -> None:
        """Read the file and encode its rows."""
        with stage(f"reading {self.path}"):
            table = Table.of(read_csv(self.path))
        schema.encode(table)
        if schema.label is not None:
            schema.label.encode(table.column(schema.label.name, 0))


class TableRows:
    """The rows of a table, counted where they are."""

    def __init__(self, table: Any, address: str) -> None:
        self.table, self.address = table, address
        self.columns = table.columns

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> None:
        """Count, once what is public is checked and the budget has enough left, and fit on the tally.

        An engine that fails costs nothing.
        """
        schema = classifier.schema
        classifier.check_public()
        classifier.check_budget(schema)
        with stage(f"counting {shown(self.address)}"):
            tally = Tally.from_table(self.table, schema, label=label)
        with nullcontext() if quietly else stage("learning"):
            classifier.fit_tally(tally)

    def counted(self, schema: Schema) -> Tally:
        """Count."""
        with stage(f"counting {shown(self.address)}"):
            return Tally.from_table(self.table, schema)

    def check(self, schema: Schema) -> None:
        """Count, which looks at every row."""
        self.counted(schema)


@contextmanager
def open_rows(data: str, engine: Any, master: str | None, memory: str) -> Generator[Rows]:
    """Open the rows that a command is given; none is read yet."""
    if not is_address(data) and engine is None and master is None:
        yield FileRows(Path(data))
    else:
        from hedgerow.engines.sources import open_table  # Ibis takes long to import

        with open_table(data, engine=engine, master=master, memory=memory) as table:
            yield TableRows(table, data)


def target_name(columns: Sequence[str], target: str | None, schema: Schema | None) -> str:
    """Return the label's column, checked against the columns and the schema before a row is read."""
    declared = None if schema is None or schema.label is None else schema.label.name
    if target is None and declared is None:
        raise ArgumentError("expected a column to predict, got none; add --target COLUMN, or a label in the schema.")
    if target is not None and declared is not None and target != declared:
        raise ArgumentError(f"expected --target to be the schema's label {declared!r}, got {target!r}.")
    name = target or declared or ""
    if name not in columns:
        near = near_miss(name, columns)
        raise DomainError(f"expected this column to predict, got {', '.join(sorted(columns))}.{near}", column=name)
    return name
