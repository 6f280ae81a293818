"""Private rows of a command: a CSV file, or a table that an engine counts."""

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

ONLY_TEXT = "Options of text files (--encoding, --decimal, --skip-rows …) are for one file of text; leave them out."


class FileRows:
    """The rows of a file of text, or of standard input, read into memory."""

    def __init__(self, path: str, text_format: TextFormat) -> None:
        self.path, self._format = path, text_format
        self._source = source_of(path, text_format)
        self._header = read_header(self._source, text_format.delimiter, skip_rows=text_format.skip_rows)
        self.columns = self._header.names

    def counted(self, schema: Schema | None) -> Any:
        return read_table(self.path, self._format, self._source, () if schema is None else schema.number_columns)

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> Any:  # quietly: it shows its own progress
        """Read the file, and fit once what is public and each row is checked: one that does not fit costs nothing."""
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
        """Read the file and compare its rows: exact counts, for the curator's eyes only."""
        with stage(f"reading {self.path}"):
            fit = fit_of(Table.of(self.counted(schema)), schema)
        # Text is read with the declared marks; those that it seems to have now are not the file's.
        return replace(fit, number_marks=()) if self._format.has_marks else fit

    def lines_above(self, name: str) -> int:
        """Return how many lines are above the first one with a field that is this name; 0 if no line has it."""
        with self._source.open("rb") as file:
            return line_with(name, file.read(BLOCK), DELIMITERS)

    def lines(self, found: TableFit) -> Mapping[int, int] | None:
        """Return the lines of rows that do not fit, read again up to the last of them; None where it has changed."""
        rows = {row for column in found.columns for row in column.rows}
        lines = lines_of_rows(self._source, rows, self._header)
        return lines if len(lines) == len(rows) else None


@contextmanager
def _advising(rows: FileRows) -> Generator[FileRows]:
    """Add to the error about an absent column which line has its name, if one of the first lines does."""
    try:
        yield rows
    except DomainError as error:
        above = rows.lines_above(error.column) if error.is_absent and error.column is not None else 0
        if not above:
            raise
        problem = DomainError(f"{error} Line {above + 1} has this name: {read_with('skip_rows', above)}.")
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
    """Have Arrow work without pandas, whose import takes 0.3 of the 1.3 seconds of such a command.

    Arrow has no option for it. It imports pandas, if that is found, at the first value that it converts from or to
    Python or NumPy, and does not look again. None in `sys.modules` does not stop it: its compiled import takes that
    for the module.
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
    """Check that every row fits the schema, or that of booleans; raises DomainError as a fit does after its charge."""
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
        problem = error
    else:
        return
    raise problem if declared else advise(problem)


def check_values(table: Table, schema: Schema, names: Sequence[str] | None = None) -> None:
    """Check the values of the named attributes (default: all), and whose each row is; raises DomainError."""
    schema.encode(table, names)
    if schema.unit is not None:
        check_units(schema.unit, table)


class EngineRows:
    """The rows of an open table, counted by its engine."""

    def __init__(self, table: Any, address: str, of_tally: Schema | None = None) -> None:
        self.table, self.address, self._is_tally = table, address, of_tally is not None
        self.columns = table.columns if of_tally is None else (*of_tally.columns(), of_tally.target.name)

    def learn(self, classifier: Any, label: str, *, quietly: bool) -> Any:
        """Count, once what is public is checked and the budget has enough left, and fit on the tally.

        An engine that fails costs nothing.
        """
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

    def lines(self, found: TableFit) -> None:
        """Rows of a table have no lines."""


CommandRows = FileRows | EngineRows  # Private rows, none of which is read before they are learned from or counted


@contextmanager
def open_rows(data: str, options: TableOptions, of_tally: Schema | None = None) -> Generator[CommandRows]:
    """Open the rows that a command is given, or a tally that was counted by a schema; none is looked at yet."""
    check_no_spreadsheet(data)
    engine: Any = options.engine
    if of_tally is None and not is_address(data) and engine is None and options.master is None:
        if options.memory is not None:
            raise ArgumentError("--memory is for DuckDB, and this file is counted without it; add --engine duckdb.")
        with _advising(FileRows(data, options.text_format)) as rows:
            yield rows
    else:
        text_format = options.text_format
        if not replace(text_format, delimiter=None, skip_rows=None).is_usual:
            names = "--encoding, --decimal, --thousands and --skip-footer"
            raise ArgumentError(f"{names} are for one file of text that no engine counts; leave them out.")
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
        raise ArgumentError("expected a column to predict, got none; add --target COLUMN, or a label in the schema.")
    if target is not None and declared is not None and target != declared:
        raise ArgumentError(f"expected --target to be the schema's label {declared!r}, got {target!r}.")
    name = target or declared or ""
    if name not in columns:
        raise DomainError.absent(name, columns)
    return name


S = TypeVar("S", Schema, Schema | None)


@dataclass(frozen=True)
class UnitOptions:
    """Options that declare whose rows are protected."""

    unit: Annotated[str | None, option("Whose row it is: protects all of one.  \\[schema's]", metavar="COLUMN")] = None
    max_rows: Annotated[int | None, option("With --unit: rows of each, at most; noise grows with it.")] = None

    def applied(self, schema: S) -> S:
        if self.unit is None and self.max_rows is None:
            return schema
        if self.unit is None or self.max_rows is None:
            raise ArgumentError("--unit and --max-rows go together; add the other one.")
        if schema is None:
            raise ArgumentError("--unit needs --schema; without one, every column is an attribute.")
        unit = Unit(self.unit, self.max_rows)
        if schema.unit not in (None, unit):
            raise ArgumentError("--unit and --max-rows differ from the unit of the schema; leave them out.")
        return replace(schema, unit=unit)
