"""CSV files, read with every field as text; the schema defines what a field means.

The first line, the column names, is public; no error quotes a line below it.
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

DELIMITERS = (",", ";", "\t", "|")  # those that are recognised in a header
_OTHERS = re.compile("[ :^~]")  # may delimit the fields of a header in which no delimiter is recognised
_DECLARED = re.compile(r'("?)sep=(.)\1', re.IGNORECASE)  # Excel reads such a first line as the delimiter of the file
_FORBIDDEN = re.compile(r"""[A-Za-z0-9"'\r\n.+_-]|[^ -~\t]""")
_BLOCK = 2**26  # bytes read at a time; the longest line
_LONGEST_HEADER = 2**20
_UNREADABLE = "a line that is too long"


class Source(Protocol):
    """A source of bytes that can be opened as often as one likes: a path, or bytes in memory."""

    def open(self, mode: Any, /) -> Any: ...


@dataclass(frozen=True)
class Header:
    """The columns of a CSV file and the delimiter of its fields."""

    # Every column in its order, each name once. A column whose name is blank, or is the name of several columns, gets a
    # name with its position, such as ``(column 1)`` or ``age (column 3)``.
    names: tuple[str, ...]
    delimiter: str  # the delimiter of fields
    lines: int  # the lines up to and including the header: 1, unless lines such as a title or ``sep=;`` are above it
    has_rows: bool  # whether the header's line ends: if it does not, there is nothing below it


_GENERATED = re.compile(r"(.+ )?\(column [1-9][0-9]*\)", re.DOTALL)


def is_generated(name: str) -> bool:
    """Return whether a column has no name of its own, but one with its position, as `Header` has it."""
    return _GENERATED.fullmatch(name) is not None


def check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or _FORBIDDEN.search(delimiter):
        expected = "delimiter must be one character such as , ; | : or a tab, and no letter, digit, quote or . + - _"
        raise ArgumentError(f"{expected}; got {describe_argument(delimiter)}.")


def read_header(
    path: str | PathLike[str] | Source,
    delimiter: str | None = None,
    *,
    skip_rows: int | None = None,
    shown: str | None = None,
) -> Header:
    """Return the header of a CSV file, with the delimiter if it is declared; DomainError if it is ambiguous.

    The header is below `skip_rows` lines. If this is None, no line is skipped, and a first line that names few columns
    is refused when a line below it looks like the header.
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
        problem = f"{name}: expected a name for each column, found {n_named} names of {len(header.names)} columns."
        advice += " If most columns have no name, declare --skip-rows 0."
    raise DomainError(f"{problem}{advice}")


def _is_mostly_unnamed(header: Header) -> bool:
    return sum(map(is_generated, header.names)) > len(header.names) / 2


def _advice_on_header(source: Source, delimiter: str | None) -> str:
    """Return a sentence on the line that looks like the header, by the numbers of fields; empty if none does."""
    with source.open("rb") as file:
        above = header_line(file.read(BLOCK), DELIMITERS if delimiter is None else (delimiter,))
    if not above:
        return ""
    return f" Line {above + 1} looks like the header: {read_with('skip_rows', above)}."


def _header(path: Source, name: str, delimiter: str | None, skip_rows: int) -> Header:
    line, lines, has_rows, declared = _header_line(path, name, delimiter, skip_rows)
    quotes = f"{name}: expected a CSV file with a header, found a first line whose quotes do not match"
    problem = DomainError(f"{quotes}; names of columns must not hold quotes or line breaks. {_HOW}")
    mark = _delimiter(line, name) if declared is None else declared

    def fields() -> list[str]:
        return next(csv.reader([line], delimiter=mark, strict=True), [])

    names = [column.strip() for column in guarded(fields, problem)]
    if not any(names):
        raise DomainError(f"{name}: expected a CSV file with a header, found an empty file or line.")
    if any('"' in column for column in names):
        raise problem
    if len(names) == 1 and declared is None and _OTHERS.search(re.sub('"[^"]*"', "", line)):
        raise DomainError(f"{name}: expected a header with a delimiter that is , ; | or a tab, found none. {_HOW}")
    return Header(_own_names(names, name), mark, lines, has_rows)


_HOW = "Declare the delimiter: --delimiter on the command line, `delimiter` in the configuration of a service."


def _own_names(names: list[str], shown: str) -> tuple[str, ...]:
    counts = Counter(names)
    own = [
        name if name and counts[name] == 1 else f"{name} (column {place})".strip()
        for place, name in enumerate(names, start=1)
    ]
    if found := repeated(own):
        raise DomainError(f"{shown}: expected each column once, found these more than once: {listed(found)}.")
    return tuple(own)


def check_rows(path: str | PathLike[str] | Source, header: Header, *, shown: str) -> InQuotes:
    """Check the grammar of a CSV file; an error says which last lines are no rows, by their numbers of fields."""
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
        advice = f" The last {lines} another number of fields; if not rows, {read_with('skip_footer', n_lines)}."
    raise DomainError(f"{problem}{advice}")


def read_csv(
    path: str | PathLike[str] | Source, delimiter: str | None = None, *, skip_rows: int | None = None
) -> pa.Table:
    """Return a CSV file as a table of text, without rows if nothing is below its header; empty lines are not rows."""
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
    with _source(path).open("rb") as file:  # by its name, Arrow would decompress some
        problem = DomainError(f"{path}: expected a CSV file, found {_UNREADABLE}.")
        return guarded(lambda: pacsv.read_csv(file, *options), problem)


def lines_of_rows(path: str | PathLike[str] | Source, rows: Iterable[int], header: Header) -> dict[int, int]:
    """Return the line, from 1, on which each of some rows, from 0, begins; none beyond a field too long to parse."""
    wanted, found = set(rows), dict[int, int]()
    with _source(path).open("rb") as raw, suppress(csv.Error):
        for _ in range(header.lines):
            raw.readline()
        file = io.TextIOWrapper(raw, encoding="utf-8", errors="replace", newline="")
        reader = csv.reader(file, delimiter=header.delimiter)
        row, line = 0, header.lines + 1
        for fields in reader:
            if fields:
                found |= {row: line} if row in wanted else {}
                row += 1
            line = header.lines + reader.line_num + 1
            if len(found) == len(wanted):
                break
    return found


def starts_with_mark(path: str | PathLike[str]) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _source(path: str | PathLike[str] | Source) -> Source:
    return Path(path) if isinstance(path, (str, PathLike)) else path


def _header_line(path: Source, shown: str, declared: str | None, skip: int) -> tuple[str, int, bool, str | None]:
    """Return the header's line, its number, whether it ends, and the delimiter that is declared for the file."""
    with path.open("rb") as file:
        for _ in range(skip):
            if not file.readline().endswith(b"\n"):
                raise DomainError(f"{shown}: expected a header below {skip} lines (skip_rows), found fewer lines.")
        raw = file.readline(_LONGEST_HEADER)
        line, ends = _line(raw, shown)
        own = _DECLARED.fullmatch(line)
        if own is None:
            return line, skip + 1, ends, declared
        below = b"".join(raw.splitlines(keepends=True)[1:])  # if a carriage return alone ends the first line
        line, ends = _line(below or file.readline(_LONGEST_HEADER), shown)
    if _FORBIDDEN.search(own[2]) or declared not in (None, own[2]):
        problem = f"{shown}: expected a delimiter in the first line, sep={own[2]}"
        raise DomainError(f"{problem}, and no other one declared; remove the line, or declare the same delimiter.")
    return line, skip + 2, ends, own[2]


def _line(raw: bytes, shown: str) -> tuple[str, bool]:
    """Return a line of public text, and whether it ends.

    A line ends as Arrow has it, with a carriage return alone, too: else what is below it would count as public.
    """
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
    """Return the delimiter of a header: a tab in .tsv, else the character that it has most of outside quotes."""
    bare = re.sub(r'"[^"]*"', "", header)
    if "\t" in bare and name.lower().removesuffix(".gz").endswith(".tsv"):
        return "\t"
    most = max(map(bare.count, DELIMITERS))
    found = [mark for mark in DELIMITERS if bare.count(mark) == most]
    if most and len(found) > 1:
        both = " as of ".join(json.dumps(mark) for mark in found)
        raise DomainError(f"{name}: expected one delimiter in the header, found as many of {both}. {_HOW}")
    return found[0]
