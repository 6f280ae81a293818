"""Recognition of lines above and below a table, such as titles, blank rows, totals and notes.

Errors propose options with line numbers to the holder of the file. No line is skipped without being declared, and no
cell is quoted.
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import BinaryIO

import numpy as np

from hedgerow.tables.columns import Column, pc
from hedgerow.text.values import NUMBER

BLOCK = 2**16  # bytes at the start or end of a file that are searched for a header or a footer
_MOST_LINES = 60  # the most lines at the start of a file that are compared
_MOST_FOOTER_ROWS = 1000
_TOTAL = (
    r"(?i)^\s*((grand|sub)[ -]?)?(totals?|sums?|average|mean|gesamt(summe)?|zwischensumme|summe|insgesamt|mittelwert|"
    r"durchschnitt|somme|moyenne|totale|media|suma)([ :(].*)?$"
)


def read_with(name: str, count: int) -> str:
    """Return advice to skip lines, on the command line and in a service's configuration."""
    option = f"--{name.replace('_', '-')} {count}"
    lines = "the lines above it" if name == "skip_rows" else "them" if count > 1 else "it"
    return f"skip {lines} with {option} (`{name}: {count}` in the configuration of a service)"


def header_line(head: bytes, delimiters: Sequence[str]) -> int:
    """Return the number of lines above the line that looks like the header; 0 if it is the first, or if none does.

    `head` is the start of a file. Most lines of a table have the same number of fields, two or more. The header is the
    first of these lines that is followed by another of them; most of its fields are names, and these differ.
    """
    lines = _first_lines(head)
    rows = [_fields(lines, delimiter) for delimiter in delimiters]
    widths = [_usual_width(fields) for fields in rows]
    (_, width), fields = max(zip(widths, rows, strict=True), key=lambda pair: pair[0][0])
    return next((i for i in range(len(fields) - 1) if _is_header(fields[i], fields[i + 1], width, is_first=i == 0)), 0)


def line_with(name: str, head: bytes, delimiters: Sequence[str]) -> int:
    """Return the number of lines above the first line that has a field with this text; 0 without such a line."""
    tables = [_fields(_first_lines(head), delimiter) for delimiter in delimiters]
    return min((i for rows in tables for i, row in enumerate(rows) if name in row), default=0)


def _first_lines(head: bytes) -> list[str]:
    lines = head.decode("utf-8-sig", "replace").splitlines()
    return (lines[:-1] if len(head) == BLOCK else lines)[:_MOST_LINES]


def _fields(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    rows: list[list[str]] = []
    for line in lines:
        row: list[str] = []
        with suppress(csv.Error):
            row = next(csv.reader([line], delimiter=delimiter), [])
        rows.append([field.strip() for field in row])
    return rows


def _usual_width(rows: Sequence[Sequence[str]]) -> tuple[int, int]:
    """Return the most frequent number of fields, at least two, preceded by the number of rows that have it."""
    counts = Counter(len(row) for row in rows if len(row) > 1)
    return max(((count, width) for width, count in counts.items()), default=(0, 0))


def _is_header(row: Sequence[str], below: Sequence[str], width: int, *, is_first: bool) -> bool:
    if width < 2 or len(row) != width or len(below) != width:
        return False
    names = [field for field in row if field]
    is_distinct = is_first or len({*names}) == len(names)
    return len(names) > width / 2 and is_distinct and not any(re.search(NUMBER, name) for name in names)


def footer_lines(file: BinaryIO, width: int, delimiter: str) -> int:
    """Return the number of last lines of a file, without empty lines, whose number of fields is not `width`."""
    end = file.seek(0, 2)
    start = file.seek(max(end - BLOCK, 0))
    lines = file.read(BLOCK).decode("utf-8", "replace").splitlines()
    rows = [row for row in _fields(lines[1:] if start else lines, delimiter) if row]
    return next((i for i, row in enumerate(reversed(rows)) if len(row) == width), 0)


def footer_rows(columns: Sequence[Column]) -> int:
    """Return the number of last rows of a table that look like totals, notes or blank rows.

    Such a row has a cell like ``Total``, or at most one cell that is not blank.
    """
    if not columns or len(columns[0]) < 2:
        return 0
    tails = [column[slice(-_MOST_FOOTER_ROWS, None)] for column in columns]
    n_filled = np.sum([~tail.is_missing for tail in tails], axis=0)
    looks = (n_filled <= 1) & (len(tails) > 2)
    for tail in tails:
        if tail.is_text:
            matches = pc.fill_null(pc.match_substring_regex(tail.values, _TOTAL), False)
            looks |= matches.to_numpy(zero_copy_only=False) & ~tail.is_missing
    rows = np.flatnonzero(~looks[::-1])
    return int(rows[0]) if len(rows) else 0


def without_footer(content: bytes, n_lines: int) -> bytes:
    """Return a text file without its last lines; empty lines do not count."""
    end = len(content)
    for _ in range(n_lines):
        while end and content[end - 1 : end] in (b"\n", b"\r"):
            end -= 1
        end = max(content.rfind(b"\n", 0, end), content.rfind(b"\r", 0, end)) + 1
    return content[:end]


def footer_sentence(n_rows: int) -> str:
    """Return a sentence on the last rows that `footer_rows` counts."""
    rows = "the last row looks" if n_rows == 1 else f"the last {n_rows} rows look"
    return f"{rows} like a total, a note or a blank row; if so, add --skip-footer {n_rows}"
