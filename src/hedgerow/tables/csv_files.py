"""CSV files, read with every field as text; the schema defines what a field means.

The first line, the column names, is public; no error quotes a line below it.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv as pacsv

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import DomainError
from hedgerow.tables.csv_grammar import check_grammar, not_text
from hedgerow.text.messages import repeated
from hedgerow.text.values import listed

_DELIMITERS = (",", ";", "\t")
_BLOCK = 2**26  # bytes read at a time; the longest line
_LONGEST_HEADER = 2**20
_UNREADABLE = "a line that is too long"


class Source(Protocol):
    """A source of bytes that can be opened as often as one likes: a path, or bytes in memory."""

    def open(self, mode: Any, /) -> Any: ...


def read_header(path: str | PathLike[str] | Source, *, shown: str | None = None) -> list[str]:
    name = str(path) if shown is None else shown
    line, _ = _first_line(_source(path), name)
    quotes = f"{name}: expected a CSV file with a header, found a first line whose quotes do not match"
    problem = DomainError(f"{quotes}; names of columns must not hold quotes or line breaks.")

    def fields() -> list[str]:
        return next(csv.reader([line], delimiter=_delimiter(line, str(path)), strict=True), [])

    names = [column.strip() for column in guarded(fields, problem)]
    if not any(names):
        raise DomainError(f"{name}: expected a CSV file with a header, found an empty file or line.")
    if not all(names):
        raise DomainError(f"{name}: expected every column to have a name, found a blank one in the header.")
    if any('"' in column for column in names):
        raise problem
    if found := repeated(names):
        raise DomainError(f"{name}: expected each column once, found these more than once: {listed(found)}.")
    return names


def read_csv(path: str | PathLike[str] | Source) -> pa.Table:
    """Return a CSV file as a table of text, without rows if nothing is below its header; empty lines are not rows."""
    names, delimiter = read_header(path), delimiter_of(path)
    check_grammar(_source(path), len(names), delimiter, shown=str(path))
    columns = pa.schema([(name, pa.large_string()) for name in names])
    if not _first_line(_source(path), str(path))[1]:
        return columns.empty_table()
    options = (
        pacsv.ReadOptions(column_names=names, skip_rows=1, use_threads=False, block_size=_BLOCK),
        pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        pacsv.ConvertOptions(column_types=columns, check_utf8=False),
    )
    with _source(path).open("rb") as file:  # by its name, Arrow would decompress some
        problem = DomainError(f"{path}: expected a CSV file, found {_UNREADABLE}.")
        return guarded(lambda: pacsv.read_csv(file, *options), problem)


def lines_of_rows(path: str | PathLike[str] | Source, rows: Iterable[int]) -> dict[int, int]:
    """Return the line, from 1, on which each of some rows, from 0, begins; none beyond a field too long to parse."""
    wanted, found = set(rows), dict[int, int]()
    with _source(path).open("rb") as raw, suppress(csv.Error):
        file = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace", newline="")
        reader = csv.reader(file, delimiter=delimiter_of(path))
        next(reader)
        row, line = 0, reader.line_num + 1
        for fields in reader:
            if fields:
                found |= {row: line} if row in wanted else {}
                row += 1
            line = reader.line_num + 1
            if len(found) == len(wanted):
                break
    return found


def delimiter_of(path: str | PathLike[str] | Source) -> str:
    """Return the delimiter of a CSV file: a tab in .tsv, else whichever its header has most of outside quotes."""
    return _delimiter(_first_line(_source(path), str(path))[0], str(path))


def starts_with_mark(path: str | PathLike[str]) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _source(path: str | PathLike[str] | Source) -> Source:
    return Path(path) if isinstance(path, (str, PathLike)) else path


def _first_line(path: Source, shown: str) -> tuple[str, bool]:
    """Return the first line, and whether it ends: if it does not, there is nothing below it.

    A line ends as Arrow has it, with a carriage return alone, too: else what is below it would count as public.
    """
    with path.open("rb") as file:
        raw = file.readline(_LONGEST_HEADER)
    line = raw.splitlines()[0] if raw else b""
    if len(raw) == _LONGEST_HEADER and len(line) == len(raw):
        raise DomainError(f"{shown}: expected a CSV file with a header, found a first line of more than 1 MB.")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if any(character < " " and character != "\t" for character in text):
        raise not_text(shown, 1)
    return text, len(line) < len(raw)


def _delimiter(header: str, name: str) -> str:
    bare = re.sub(r'"[^"]*"', "", header)
    if "\t" in bare and name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    return max(_DELIMITERS, key=bare.count)
