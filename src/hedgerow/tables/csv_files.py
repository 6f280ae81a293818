"""CSV files, in which every field is read as text; the schema defines its meaning.

The header with the column names is public. No error quotes a line below it.
"""

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv as pacsv

from hedgerow.boundary.foreign_code import guarded
from hedgerow.errors import ArgumentError, DomainError
from hedgerow.tables.csv_grammar import InQuotes, check_grammar, not_text
from hedgerow.tables.layout import BLOCK, footer_lines, header_line, read_with
from hedgerow.text.messages import describe_argument, repeated
from hedgerow.text.values import listed

DELIMITERS = (",", ";", "\t", "|")  # recognised in a header
_POSSIBLE = re.compile("[ :^~]")  # possible delimiters of a header without a recognised delimiter
_DECLARED = re.compile(r'("?)sep=(.)\1', re.IGNORECASE)  # Excel reads such a first line as a declaration
_FORBIDDEN = re.compile(r"""[A-Za-z0-9"'\r\n.+_-]|[^ -~\t]""")
_BLOCK = 2**26  # bytes read at a time, and the longest line
_LONGEST_HEADER = 2**20


class Source(Protocol):
    """Source of bytes that can be opened repeatedly: a path, or bytes in memory."""

    def open(self, mode: Any, /) -> Any: ...


@dataclass(frozen=True)
class Header:
    """The columns of a CSV file and the delimiter of its fields."""

    # The columns in order, with unique names. A column with a blank or repeated name gets a name with its position,
    # such as ``(column 1)`` or ``age (column 3)``.
    names: tuple[str, ...]
    delimiter: str  # the delimiter of fields
    lines: int  # the lines up to and including the header: 1, unless there is a title or ``sep=;`` above it
    has_rows: bool  # whether the header's line ends with a line break; if not, nothing is below it


_GENERATED = re.compile(r"(.+ )?\(column [1-9][0-9]*\)", re.DOTALL)


def is_generated(name: str) -> bool:
    """Return whether the name of a column was generated from its position; see `Header`."""
    return _GENERATED.fullmatch(name) is not None


def check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or _FORBIDDEN.search(delimiter):
        expected = "delimiter must be a single character such as , ; | : or a tab; letters, digits, quotes and . + - _"
        raise ArgumentError(f"{expected} are not allowed. Got {describe_argument(delimiter)}.")


def read_header(
    path: str | PathLike[str] | Source,
    delimiter: str | None = None,
    *,
    skip_rows: int | None = None,
    shown: str | None = None,
) -> Header:
    """Return the header of a CSV file; DomainError if its delimiter is neither declared nor clear.

    The header is below `skip_rows` lines. If `skip_rows` is None, no line is skipped, and DomainError is raised if the
    first line names few columns and a later line looks like the header.
    """
    name, problem = str(path) if shown is None else shown, ""
    try:
        header = _header(_source(path), name, delimiter, skip_rows or 0)
    except DomainError as error:
        problem, header = str(error), None
    if header is not None and not (skip_rows is None and _is_mostly_unnamed(header)):
        return header
    advice = _advice_on_header(_source(path), delimiter)
    if header is not None and not advice:
        return header
    if header is not None:
        n_named = sum(not is_generated(column) for column in header.names)
        problem = f"{name}: the first line names {n_named} of {len(header.names)} columns."
        advice += " If the first line is the header, declare --skip-rows 0."
    raise DomainError(f"{problem}{advice}")


def _is_mostly_unnamed(header: Header) -> bool:
    return sum(map(is_generated, header.names)) > len(header.names) / 2


def _advice_on_header(source: Source, delimiter: str | None) -> str:
    """Return a sentence on the line that looks like the header by its number of fields, or empty text."""
    with source.open("rb") as file:
        above = header_line(file.read(BLOCK), DELIMITERS if delimiter is None else (delimiter,))
    if not above:
        return ""
    return f" Line {above + 1} looks like the header: {read_with('skip_rows', above)}."


def _header(path: Source, name: str, delimiter: str | None, skip_rows: int) -> Header:
    line, lines, has_rows, declared = _header_line(path, name, delimiter, skip_rows)
    quotes = f"{name}: the quotes in the header do not match"
    problem = DomainError(f"{quotes}; column names must not contain quotes or line breaks. {_HOW}")
    mark = _delimiter(line, name) if declared is None else declared

    def fields() -> list[str]:
        return next(csv.reader([line], delimiter=mark, strict=True), [])

    names = [column.strip() for column in guarded(fields, problem)]
    if not any(names):
        raise DomainError(f"{name}: expected a CSV file with a header, but the file or its first line is empty.")
    if any('"' in column for column in names):
        raise problem
    if len(names) == 1 and declared is None and _POSSIBLE.search(re.sub('"[^"]*"', "", line)):
        raise DomainError(f"{name}: the header contains none of the delimiters , ; | and tab. {_HOW}")
    return Header(_own_names(names, name), mark, lines, has_rows)


_HOW = "If it has another delimiter, declare it (--delimiter, or `delimiter` in the configuration of a service)."


def _own_names(names: list[str], shown: str) -> tuple[str, ...]:
    counts = Counter(names)
    own = [
        name if name and counts[name] == 1 else f"{name} (column {place})".strip()
        for place, name in enumerate(names, start=1)
    ]
    if twice := repeated(own):
        raise DomainError(f"{shown}: these column names occur more than once: {listed(twice)}.")
    return tuple(own)


def check_rows(path: str | PathLike[str] | Source, header: Header, *, shown: str) -> InQuotes:
    """Check the grammar of a CSV file; the error names last lines that are not rows by their numbers of fields."""
    source, problem = _source(path), ""
    try:
        return check_grammar(source, len(header.names), header.delimiter, shown=shown, skipped=header.lines - 1)
    except DomainError as error:
        problem = str(error)
    advice = "" if header.lines > 1 else _advice_on_header(source, header.delimiter)
    with source.open("rb") as file:
        n_lines = 0 if advice else footer_lines(file, len(header.names), header.delimiter)
    if n_lines:
        lines = "line has" if n_lines == 1 else f"{n_lines} lines have"
        verb = "it is not a row" if n_lines == 1 else "they are not rows"
        advice = f" The last {lines} a different number of fields; if {verb}, {read_with('skip_footer', n_lines)}."
    raise DomainError(f"{problem}{advice}")


def read_csv(
    path: str | PathLike[str] | Source, delimiter: str | None = None, *, skip_rows: int | None = None
) -> pa.Table:
    """Return the rows of a CSV file as a table of text; empty lines are not rows."""
    header = read_header(path, delimiter, skip_rows=skip_rows)
    check_rows(path, header, shown=str(path))
    columns = pa.schema([(name, pa.large_string()) for name in header.names])
    if not header.has_rows:
        return columns.empty_table()
    options = (
        pacsv.ReadOptions(
            column_names=list(header.names), skip_rows=header.lines, use_threads=False, block_size=_BLOCK
        ),
        pacsv.ParseOptions(delimiter=header.delimiter, newlines_in_values=True),
        pacsv.ConvertOptions(column_types=columns, check_utf8=False),
    )
    with _source(path).open("rb") as file:  # given the name, Arrow would decompress some files
        problem = DomainError(f"{path}: a line of the CSV file is longer than {_BLOCK:,} bytes.")
        return guarded(lambda: pacsv.read_csv(file, *options), problem)


def lines_of_rows(path: str | PathLike[str] | Source, rows: Iterable[int], header: Header) -> dict[int, int]:
    """Return the line, counted from 1, on which each of these rows, counted from 0, begins.

    Rows after a field that is too long to parse are omitted.
    """
    numbers, lines = set(rows), dict[int, int]()
    with _source(path).open("rb") as raw, suppress(csv.Error):
        for _ in range(header.lines):
            raw.readline()
        file = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(file, delimiter=header.delimiter)
        row, line = 0, header.lines + 1
        for fields in reader:
            if fields:
                lines |= {row: line} if row in numbers else {}
                row += 1
            line = header.lines + reader.line_num + 1
            if len(lines) == len(numbers):
                break
    return lines


def starts_with_mark(path: str | PathLike[str]) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _source(path: str | PathLike[str] | Source) -> Source:
    return Path(path) if isinstance(path, (str, PathLike)) else path


def _header_line(path: Source, shown: str, declared: str | None, skip: int) -> tuple[str, int, bool, str | None]:
    """Return the header's line, its number, whether it ends with a line break, and the declared delimiter."""
    with path.open("rb") as file:
        for _ in range(skip):
            if not file.readline().endswith(b"\n"):
                raise DomainError(f"{shown}: the file has no header below {skip} lines; decrease skip_rows.")
        raw = file.readline(_LONGEST_HEADER)
        line, ends = _line(raw, shown)
        own = _DECLARED.fullmatch(line)
        if own is None:
            return line, skip + 1, ends, declared
        below = b"".join(raw.splitlines(keepends=True)[1:])  # if a carriage return alone ends the first line
        line, ends = _line(below or file.readline(_LONGEST_HEADER), shown)
    if _FORBIDDEN.search(own[2]) or declared not in (None, own[2]):
        problem = f"{shown}: the first line declares the delimiter {own[2]!r}"
        if declared not in (None, own[2]):
            raise DomainError(f"{problem}, but {declared!r} was declared; remove the line, or declare {own[2]!r}.")
        raise DomainError(f"{problem}, which is not allowed; use another delimiter.")
    return line, skip + 2, ends, own[2]


def _line(raw: bytes, shown: str) -> tuple[str, bool]:
    """Return a line of public text, and whether it ends with a line break.

    As in Arrow, a carriage return alone ends a line. Otherwise the text below it would count as public.
    """
    line = raw.splitlines()[0] if raw else b""
    if len(raw) == _LONGEST_HEADER and len(line) == len(raw):
        raise DomainError(f"{shown}: the header is longer than {_LONGEST_HEADER:,} bytes.")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if any(character < " " and character != "\t" for character in text):
        raise not_text(shown, 1)
    return text, len(line) < len(raw)


def _delimiter(header: str, name: str) -> str:
    """Return the delimiter of a header: a tab in a .tsv file, else the most frequent delimiter outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    if "\t" in bare and name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    most = max(map(bare.count, DELIMITERS))
    marks = [mark for mark in DELIMITERS if bare.count(mark) == most]
    if most and len(marks) > 1:
        both = " and ".join(json.dumps(mark) for mark in marks)
        ways = "--delimiter, or `delimiter` in the configuration of a service"
        raise DomainError(f"{name}: the characters {both} are equally frequent in the header; declare one ({ways}).")
    return marks[0]
