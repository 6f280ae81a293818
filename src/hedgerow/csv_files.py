"""CSV files in, every cell as text: what a cell means is for the schema to say.

The first line, the column names, is public; no error quotes a line below it.
"""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pacsv

from hedgerow.errors import DomainError

_DELIMITERS = (",", ";", "\t")
_BLOCK = 2**26  # bytes read at a time; the longest line
_NOT_TEXT = "a file that is not UTF-8 text; save it as CSV in UTF-8"
_UNREADABLE = "a line that is too long, or a quote that is not closed"


def read_header(path: str | PathLike[str]) -> list[str]:
    """Return the column names of a CSV file; reads its first line only.

    Raises
    ------
    DomainError
        If the file is empty, is not text, or names a column twice or not at all.
    OSError
        If it cannot be read.
    """
    line = _first_line(Path(path))
    names = [name.strip() for name in next(csv.reader([line], delimiter=_delimiter(line)), [])]
    if not any(names):
        raise DomainError(f"{path}: expected a CSV file with a header, found an empty file or line.")
    if not all(names):
        raise DomainError(f"{path}: expected every column to have a name, found a blank one in the header.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DomainError(f"{path}: expected each column once, found these more than once: {', '.join(repeated)}.")
    return names


def read_csv(path: str | PathLike[str]) -> pa.Table:
    """Return a CSV file as a table of text. Comma, semicolon or tab, whichever the header has most of.

    Raises
    ------
    DomainError
        If `read_header` does, there is no row under the header, or a line has too many or too few fields.
    OSError
        If it cannot be read.
    """
    names = read_header(path)
    _check_rows(Path(path))
    uneven: list[int] = []

    def note(row: pacsv.InvalidRow) -> str:
        uneven.append(row.number or 0)
        return "skip"

    try:
        table = pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(column_names=names, skip_rows=1, use_threads=False, block_size=_BLOCK),
            parse_options=pacsv.ParseOptions(
                delimiter=delimiter_of(path), newlines_in_values=True, invalid_row_handler=note
            ),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(names, pa.large_string())),
        )
    except pa.ArrowInvalid as error:  # its text may quote a row
        table, found = None, _NOT_TEXT if "UTF8" in str(error) else _UNREADABLE
    else:
        found = ""
    if table is None:
        raise DomainError(f"{path}: expected a CSV file, found {found}.")
    if uneven:
        raise DomainError(
            f"{path}: expected {len(names)} fields on every line, found more or fewer on line {uneven[0]}."
        )
    return table


def delimiter_of(path: str | PathLike[str]) -> str:
    """Return what separates the cells of a CSV file: comma, semicolon or tab, whichever its header has most of."""
    return _delimiter(_first_line(Path(path)))


def _first_line(path: Path) -> str:
    with path.open("rb") as file:
        raw = file.readline(_BLOCK)
    try:
        line = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        line = "\0"
    if "\0" in line:
        raise DomainError(f"{path}: expected a CSV file, found {_NOT_TEXT}.")
    return line.rstrip("\r\n")


def _check_rows(path: Path) -> None:
    with path.open("rb") as file:
        file.readline()
        blank = all(not line.strip() for line in file)
    if blank:
        raise DomainError(f"{path}: expected a CSV file with rows, found no row under the header.")


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)
