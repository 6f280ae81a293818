"""Files of a table: Parquet, workbooks, data files, and text in any encoding, which may be compressed or piped.

Files are read in memory; nothing is written. No error quotes a byte below the header.
"""

import codecs
import gzip
import io
import sys
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.tables.csv_files import check_delimiter, read_csv, read_header
from hedgerow.tables.frames import DATE_SYSTEM
from hedgerow.tables.layout import without_footer
from hedgerow.tables.number_marks import THOUSANDS, with_points
from hedgerow.tables.spreadsheets import is_workbook, sheet_as_csv
from hedgerow.tables.statistical_files import SUFFIXES, is_statistical, statistical_as_csv
from hedgerow.text.messages import describe_argument, repeated
from hedgerow.text.values import listed

PIPE = "-"  # the name of standard input
TEXTS = (".csv", ".tsv", ".txt")
LARGEST = 2**30  # the most bytes of a file that is read completely: compressed, piped, or not in UTF-8
_SPREADSHEETS = (".xls", ".xlsm", ".xlsb", ".ods", ".numbers")
MOST_SKIPPED = 10_000  # the most lines above a header or below the rows
_BLOCK = 2**22
_HEAD = 2**20  # bytes that contain the header
_NO_FILES = ("idna", "punycode", "raw-unicode-escape", "unicode-escape")  # not encodings of files


@dataclass(frozen=True)
class TextFormat:
    """Encoding, decimal mark, delimiter and layout of a text file."""

    encoding: str = "utf-8"  # name of the encoding in Python; a byte order mark is skipped
    decimal: str = "."  # decimal mark of numbers
    delimiter: str | None = None  # delimiter of fields; None to recognise it in the header
    thousands: str | None = None  # thousands separator of numbers; a space also stands for U+00A0
    skip_rows: int | None = None  # number of lines above the header; None if not declared
    skip_footer: int = 0  # number of lines below the last row, not counting empty lines

    def __post_init__(self) -> None:
        expected = "encoding must be the name of an encoding in Python, such as utf-8, cp1252 or utf-16"
        problem = ArgumentError(f"{expected}, got {describe_argument(self.encoding)}.")
        guarded(lambda: "".encode(self.encoding), problem)
        if codecs.lookup(self.encoding).name.replace("_", "-") in _NO_FILES:
            raise problem
        if self.decimal not in (".", ","):
            raise ArgumentError(f"decimal must be '.' or ',', got {describe_argument(self.decimal)}.")
        if self.delimiter is not None:
            check_delimiter(self.delimiter)
        if self.thousands is not None and (self.thousands not in THOUSANDS or self.thousands == self.decimal):
            expected = "thousands must be one of , . ' _ or a space, and differ from the decimal mark"
            raise ArgumentError(f"{expected} {self.decimal!r}; got {describe_argument(self.thousands)}.")
        for name in ("skip_rows", "skip_footer"):
            count = getattr(self, name)
            if count is not None and (type(count) is not int or not 0 <= count <= MOST_SKIPPED):
                expected = f"{name} must be a whole number from 0 to {MOST_SKIPPED:,}"
                raise ArgumentError(f"{expected}, got {describe_argument(count)}.")

    @property
    def is_usual(self) -> bool:
        """True for the default format: CSV in UTF-8 with decimal points, and no lines above or below the table."""
        return self.is_utf8 and self == TextFormat(self.encoding)

    @property
    def layout(self) -> "TextFormat":
        """The format reduced to the skipped lines, which a workbook may have, too."""
        return TextFormat(skip_rows=self.skip_rows, skip_footer=self.skip_footer)

    @property
    def has_marks(self) -> bool:
        """True if numbers are not written as Python writes them."""
        return self.decimal != "." or self.thousands is not None

    @property
    def is_utf8(self) -> bool:
        return codecs.lookup(self.encoding).name in ("utf-8", "utf-8-sig")

    def pointed(self, table: pa.Table, names: Iterable[str]) -> pa.Table:
        """Return a table in which numbers of these columns have a decimal point and no thousands separators.

        With a decimal comma, 1.234 is not a number unless the point is the thousands separator.
        """
        if not self.has_marks:
            return table
        for name in set(names).intersection(table.column_names):
            column = with_points(table[name], self.decimal, self.thousands)
            table = table.set_column(table.column_names.index(name), name, column)
        return table


DEFAULT_FORMAT = TextFormat()


@dataclass(frozen=True, repr=False)
class InMemoryFile:
    """CSV file in UTF-8 whose bytes are in memory."""

    name: str  # its name in errors
    content: bytes
    date_system: str | None = None  # format of its serial days, if a workbook states it

    def open(self, mode: str = "rb", /) -> BinaryIO:  # noqa: ARG002 -- same signature as a path
        return io.BytesIO(self.content)

    def __str__(self) -> str:
        return self.name


def is_text(data: str) -> bool:
    """Return whether a name belongs to a file that is read in memory as text, not to Parquet or a database."""
    return is_workbook(data) or is_statistical(data) or data == PIPE or data.lower().removesuffix(".gz").endswith(TEXTS)


def check_no_spreadsheet(data: str) -> None:
    """Raise ArgumentError with advice for named pipes, and for spreadsheets that cannot be read."""
    if Path(data).is_fifo():  # a table is opened more than once
        raise ArgumentError(f"{data}: named pipes are not supported; use - and pipe the rows to standard input.")
    if data.lower().endswith(_SPREADSHEETS):
        kind = Path(data).suffix.lower()
        problem = f"{data}: spreadsheets of type {kind} are not supported"
        raise ArgumentError(f"{problem}; save it as .xlsx, or its sheet as CSV in UTF-8.")


def check_table_name(data: str) -> None:
    check_no_spreadsheet(data)
    if not is_text(data) and not data.lower().endswith(".parquet"):
        endings = f"{', '.join(TEXTS)} (also followed by .gz), .xlsx, .parquet, {', '.join(SUFFIXES)}"
        raise ArgumentError(f"{data}: the name of a table's file must end in {endings}, or be - for standard input.")


def source_of(data: str, text_format: TextFormat = DEFAULT_FORMAT) -> Path | InMemoryFile:
    """Return a file that is read as text: the path if it is CSV in UTF-8, else its conversion in memory."""
    path = Path(data)
    if is_workbook(data):
        if replace(text_format, thousands=None) != text_format.layout:
            raise ArgumentError(f"{data}: a workbook has no encoding, decimal mark or delimiter; remove these options.")
        return InMemoryFile(data, *sheet_as_csv(data, text_format.skip_rows, text_format.skip_footer))
    if is_statistical(data):
        if not text_format.is_usual:
            raise ArgumentError(f"{data}: this file states its own format; remove the options for text files.")
        return InMemoryFile(data, statistical_as_csv(data))
    is_read_whole = data == PIPE or data.lower().endswith(".gz") or text_format.skip_footer or not text_format.is_utf8
    if not is_read_whole and not _has_returns_alone(path):
        return path
    name = "standard input" if data == PIPE else data
    content = _as_usual(name, _bytes(data, name), text_format)
    return InMemoryFile(name, without_footer(content, text_format.skip_footer))


def read_table(
    data: str,
    text_format: TextFormat = DEFAULT_FORMAT,
    source: Path | InMemoryFile | None = None,
    numbers: Iterable[str] = (),
) -> pa.Table:
    """Return the rows of a file: Parquet with its types, other files as text, `numbers` with a decimal point."""
    check_table_name(data)
    if is_text(data):
        source = source_of(data, text_format) if source is None else source
        rows = read_csv(source, text_format.delimiter, skip_rows=text_format.skip_rows)
        table = text_format.pointed(rows, numbers)
        system = source.date_system if isinstance(source, InMemoryFile) else None
        return table.replace_schema_metadata({DATE_SYSTEM: system.encode()}) if system else table
    if not text_format.is_usual:
        raise ArgumentError(f"{data}: Parquet states its own format; remove the options for text files.")
    from pyarrow import parquet  # takes long to import

    _parquet_names(data)
    with Path(data).open("rb") as file:
        problem = DomainError(f"{data}: not a Parquet file.")
        # By default, 96-bit times of Spark and Hive would be read as nanoseconds, which wrap around after 2262.
        return guarded(lambda: parquet.read_table(file, coerce_int96_timestamp_unit="us"), problem)


def columns_of(data: str, text_format: TextFormat = DEFAULT_FORMAT) -> list[str]:
    """Return the names of a file's columns; no row is parsed, but a file other than CSV in UTF-8 is read completely."""
    check_table_name(data)
    if not is_text(data):
        return _parquet_names(data)
    source = source_of(data, text_format)
    return list(read_header(source, text_format.delimiter, skip_rows=text_format.skip_rows).names)


def _parquet_names(data: str) -> list[str]:
    from pyarrow import parquet

    with Path(data).open("rb") as file:
        problem = DomainError(f"{data}: not a Parquet file.")
        names = list(guarded(lambda: parquet.read_schema(file), problem).names)
    if twice := repeated(names):
        raise DomainError(f"{data}: these column names occur more than once: {listed(twice)}.")
    return names


def _has_returns_alone(path: Path) -> bool:
    """Return whether the first line of a file ends in a carriage return without a line feed."""
    with path.open("rb") as file:
        head = file.read(_HEAD)
    first = head.find(b"\r")
    return first >= 0 and b"\n" not in head[: first + 2]


def _bytes(data: str, name: str) -> bytes:
    """Return all bytes of a file, or of standard input, uncompressed."""
    if data == PIPE:
        if sys.stdin.isatty():
            problem = "standard input is a terminal; pipe the rows to it, as in `cat FILE | hedgerow …`."
            raise ArgumentError(problem)
        return _all_of(sys.stdin.buffer, name)
    if not data.lower().endswith(".gz"):
        with Path(data).open("rb") as file:
            return _all_of(file, name)
    problem = None
    with Path(data).open("rb") as file:
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _all_of(unpacked, name)
        except (gzip.BadGzipFile, EOFError, zlib.error):
            problem = f"{name}: not a gzip file, or a truncated one."
    raise DomainError(problem)


def _all_of(file: Any, name: str) -> bytes:
    content = bytearray()
    while block := file.read(_BLOCK):
        content += block
        if len(content) > LARGEST:
            kinds = "a file that is compressed, piped, not in UTF-8 or read with skip_footer"
            problem = f"{name}: {kinds} can have at most {LARGEST:,} bytes"
            raise DomainError(f"{problem}; save it as CSV in UTF-8, or as Parquet.")
    return bytes(content)


def _as_usual(name: str, content: bytes, text_format: TextFormat) -> bytes:
    """Return text in UTF-8 without carriage returns as the only line breaks."""
    line = 0
    if not text_format.is_utf8:
        try:
            content = content.decode(text_format.encoding).removeprefix("\ufeff").encode()
        except UnicodeError as error:
            before = content[: getattr(error, "start", 0)].decode(text_format.encoding, "ignore")
            line = max(before.count("\n"), before.count("\r")) + 1
    if line:
        problem = f"{name}: line {line} is not valid text in {text_format.encoding}"
        raise DomainError(f"{problem}; declare the right encoding with --encoding, or save the file as CSV in UTF-8.")
    return content.replace(b"\r", b"\n") if b"\n" not in content else content
