"""Private rows of a command: a file read into memory, or a table that an engine counts."""

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Annotated, Any, TypeVar

import narwhals as nw
import pyarrow as pa

from hedgerow.cli.options import TableOptions, option
from hedgerow.cli.output import stage
from hedgerow.engines.files import is_address, shown
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.privacy.unit import Unit
from hedgerow.schema import Schema
from hedgerow.schema.booleans import advise, all_boolean, default_classes
from hedgerow.schema.contributions import check_units
from hedgerow.schema.fits import TableFit, fit_of
from hedgerow.tables.columns import Column
from hedgerow.tables.csv_files import DELIMITERS, lines_of_rows, read_header
from hedgerow.tables.frames import Table, column_of
from hedgerow.tables.layout import BLOCK, line_with, read_with
from hedgerow.tables.table_files import TextFormat, check_no_spreadsheet, read_table, source_of
from hedgerow.tally import Tally

ONLY_TEXT = "--encoding, --decimal, --skip-rows and similar options apply to a single text file; leave them out."
_PANEL = "Several rows per person"


class FileRows:
    """Rows of a file or of standard input, read into memory."""

    def __init__(self, path: str, text_format: TextFormat) -> None:
        self.path, self._format = path, text_format
        self._source = source_of(path, text_format)
        self._header = read_header(self._source, text_format.delimiter, skip_rows=text_format.skip_rows)
        self.columns = self._header.names

    def counted(self, schema: Schema | None) -> Any:
        return read_table(self.path, self._format, self._source, () if schema is None else schema.number_columns)

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> Any:
        """Read the file, check public arguments and every row, then fit.

        A row outside the schema raises an error before the charge. `quietly` is for learners with their own progress.
        """
        classifier.check_public()
        _leave_out_pandas()
        with stage(f"reading {self.path}"):
            table = nw.from_native(self.counted(classifier.schema), eager_only=True)
        X, y = table.drop(label).to_native(), table.get_column(label)
        _check_rows(Table.of(X), column_of(y, label), classifier.schema)
        with nullcontext() if quietly else stage("learning"):
            return classifier.fit(X, y)

    def tally(self, schema: Schema, label: str) -> Tally:
        return Tally.count(self.counted(schema), label, schema)

    def fit(self, schema: Schema) -> TableFit:
        """Compare the rows with a schema; the exact counts are private."""
        with stage(f"reading {self.path}"):
            fit = fit_of(Table.of(self.counted(schema)), schema)
        # With declared marks the text is converted already, so suggestions about marks would be wrong.
        return replace(fit, number_marks=()) if self._format.has_marks else fit

    def lines_above(self, name: str) -> int:
        """Return the number of lines above the first line with a field of this name, or 0."""
        with self._source.open("rb") as file:
            return line_with(name, file.read(BLOCK), DELIMITERS)

    def lines(self, fit: TableFit) -> Mapping[int, int] | None:
        """Return the line numbers of rows that do not fit, or None if the file has changed since."""
        rows = {row for column in fit.columns for row in column.rows}
        lines = lines_of_rows(self._source, rows, self._header)
        return lines if len(lines) == len(rows) else None


@contextmanager
def _advising(rows: FileRows) -> Generator[FileRows]:
    """Add to an error about an absent column the line that contains its name."""
    try:
        yield rows
    except DomainError as error:
        above = rows.lines_above(error.column) if error.is_absent and error.column is not None else 0
        if not above:
            raise
        problem = DomainError(f"{error} Line {above + 1} contains this name: {read_with('skip_rows', above)}.")
    else:
        return
    raise problem


class _HidePandas(MetaPathFinder):
    """Finder that reports pandas as absent."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:  # noqa: ARG002 -- protocol
        """Raise ModuleNotFoundError for pandas; leave other modules to the next finder."""
        if fullname == "pandas":
            raise ModuleNotFoundError(name=fullname)


def _leave_out_pandas() -> None:
    """Keep Arrow from importing pandas, which takes 0.3 of the 1.3 seconds of such a command.

    Arrow has no option for this. It tries to import pandas once, when it first converts a value from or to Python or
    NumPy. None in `sys.modules` does not help: Arrow's compiled import takes it for the module.
    """
    if "pandas" in sys.modules:
        return
    finder = _HidePandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.scalar(0)
    finally:
        sys.meta_path.remove(finder)


def _check_rows(table: Table, labels: Column, declared: Schema | None) -> None:
    """Raise `DomainError` if a row does not fit the schema, or is not boolean if there is none."""
    schema = declared or all_boolean(table.column_names, labels.name, default_classes(False))
    schema.check_columns(table)
    schema.check_unit(table)
    try:
        if schema.label is not None:
            schema.label.encode(labels)
        check_values(table, schema)
        if schema.weight is not None:
            schema.weight.encode(table)
    except DomainError as error:
        problem = DomainError(f"{error} `hedgerow schema check` lists the lines.") if declared else advise(error)
    else:
        return
    raise problem


def check_values(table: Table, schema: Schema, names: Sequence[str] | None = None) -> None:
    """Raise `DomainError` if a value of the named attributes (default: all) or a unit's identifier is invalid."""
    schema.encode(table, names)
    if schema.unit is not None:
        check_units(schema.unit, table)


class EngineRows:
    """Rows of an open table, counted by its engine."""

    def __init__(self, table: Any, address: str, of_tally: Schema | None = None) -> None:
        self.table, self.address, self._is_tally = table, address, of_tally is not None
        self.columns = table.columns if of_tally is None else (*of_tally.columns(), of_tally.target.name)

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> Any:
        """Check public arguments and the budget, count the rows, then fit; a failing engine costs no budget."""
        schema = classifier.schema or all_boolean(self.columns, label, default_classes(False))
        classifier.check_public()
        classifier.check_budget(schema)
        tally = self.tally(classifier.schema, label)
        with nullcontext() if quietly else stage("learning"):
            return classifier.fit_tally(tally)

    def counted(self, schema: Schema) -> Tally:
        return self.tally(schema)

    def tally(self, schema: Schema, label: str | None = None) -> Tally:
        with stage(f"counting {shown(self.address)}"):
            if self._is_tally:
                return Tally.load(self.table, schema)
            return Tally.from_table(self.table, schema, label=label)

    def fit(self, schema: Schema) -> TableFit:
        from hedgerow.engines.count import engine_fit  # Ibis takes long to import

        with stage(f"counting {shown(self.address)}"):
            return engine_fit(self.table, schema)

    def lines(self, fit: TableFit) -> None:
        """Return None: rows of a table have no line numbers."""


CommandRows = FileRows | EngineRows  # private rows that are not read before they are counted or learned from


@contextmanager
def open_rows(data: str, options: TableOptions, of_tally: Schema | None = None) -> Generator[CommandRows]:
    """Open the table of a command, or a tally that was counted with a schema, without reading rows."""
    check_no_spreadsheet(data)
    engine: Any = options.engine
    if of_tally is None and not is_address(data) and engine is None and options.master is None:
        if options.memory is not None:
            raise ArgumentError(
                "--memory requires DuckDB, which does not count this file by default; add --engine duckdb."
            )
        with _advising(FileRows(data, options.text_format)) as rows:
            yield rows
    else:
        text_format = options.text_format
        if not replace(text_format, delimiter=None, skip_rows=None).is_usual:
            names = "--encoding, --decimal, --thousands and --skip-footer"
            raise ArgumentError(f"{names} are not supported for a table that an engine counts; leave them out.")
        from hedgerow.engines.sources import open_table  # Ibis takes long to import

        settings: dict[str, Any] = {"master": options.master, "memory": options.memory}
        settings |= {"delimiter": text_format.delimiter, "skip_rows": text_format.skip_rows}
        with open_table(data, engine=engine, **settings) as table:
            yield EngineRows(table, data, of_tally)


def read_labelled(path: Path | None, text_format: TextFormat, schema: Schema) -> tuple[Any, Any] | None:
    if path is None:
        return None
    table = nw.from_native(read_table(str(path), text_format, numbers=schema.number_columns), eager_only=True)
    label = target_name(table.columns, None, schema)
    return table.drop(label).to_native(), table.get_column(label).to_native()


def target_name(columns: Sequence[str], target: str | None, schema: Schema | None) -> str:
    declared = None if schema is None or schema.label is None else schema.label.name
    if target is None and declared is None:
        raise ArgumentError("the column to predict is missing; add --target COLUMN, or declare a label in the schema.")
    if target is not None and declared is not None and target != declared:
        problem = f"expected --target {declared!r}, the label of the schema, got {target!r}"
        raise ArgumentError(f"{problem}; leave --target out, or change the label in the schema.")
    name = target or declared or ""
    if name not in columns:
        raise DomainError.absent(name, columns)
    return name


S = TypeVar("S", Schema, Schema | None)


@dataclass(frozen=True)
class UnitOptions:
    """Options that declare the unit of privacy, such as a person with several rows."""

    unit: Annotated[
        str | None,
        option(
            "Column that identifies a person; all rows of a person are protected together.  "
            "\\[default: from the schema]",
            metavar="COLUMN",
            rich_help_panel=_PANEL,
        ),
    ] = None
    max_rows: Annotated[
        int | None,
        option(
            "Maximum number of rows per person; more rows of a person are not used. A larger maximum needs more "
            "noise. Requires --unit.",
            metavar="N",
            rich_help_panel=_PANEL,
        ),
    ] = None

    def applied(self, schema: S) -> S:
        if self.unit is None and self.max_rows is None:
            return schema
        if self.unit is None or self.max_rows is None:
            missing, given = ("--unit", "--max-rows") if self.unit is None else ("--max-rows", "--unit")
            raise ArgumentError(f"{given} requires {missing}, which is missing.")
        if schema is None:
            raise ArgumentError("--unit requires --schema; without a schema, every column is an attribute.")
        unit = Unit(self.unit, self.max_rows)
        if schema.unit not in (None, unit):
            raise ArgumentError("--unit and --max-rows differ from the unit that the schema declares; leave them out.")
        return replace(schema, unit=unit)
