"""Check of the grammar of CSV files (RFC 4180), over every byte, before a row is read.

CSV readers disagree on files that violate the grammar: on quotes inside fields, on lines with additional fields, and on
line endings. The rows of a file must not depend on the reader, and a row must not depend on other lines. Therefore a
file that violates the grammar is an error.
"""

import codecs
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Array
from hedgerow.errors import DomainError

_BLOCK = 2**18  # bytes, few enough to stay in the processor's cache
_QUOTE, _RETURN, _FEED, _SPACE = b'"\r\n '
_MARK = codecs.BOM_UTF8
_ROW_NAMES = (
    " If every line begins with a row name that the header lacks, as written by R's write.table, add a name for this "
    "column to the header, or write the table with row.names = FALSE."
)


def not_text(shown: str, line: int) -> DomainError:
    return DomainError(
        f"{shown}: line {line} is not text in UTF-8; declare the encoding with --encoding, or save the file as CSV in "
        "UTF-8."
    )


@dataclass(frozen=True)
class InQuotes:
    """Characters within quoted fields that CSV readers treat differently."""

    breaks: bool  # whether there are line breaks, so that a row may have several lines
    returns: bool  # whether there are carriage returns


def check_grammar(path: Any, fields: int, delimiter: str, *, shown: str, skipped: int = 0) -> InQuotes:
    """Check that every line of a file, except skipped lines, is empty or a row with this number of fields.

    The file is read once, block by block. A field has no quotes, or it begins and ends with a quote and doubles the
    quotes within it. All lines end in a line feed, or all end in a carriage return and a line feed. The text is UTF-8
    without NUL. Then adding, removing or changing a line changes one row and no other, or makes the file invalid: a
    line with an unpaired quote leaves an odd number of quotes.
    """
    scan = _Scan(shown, fields, ord(delimiter))
    with path.open("rb") as file:
        if file.read(len(_MARK)) != _MARK:
            file.seek(0)
        for _ in range(skipped):
            scan.skip(file.readline())
        while block := file.read(_BLOCK):
            scan.feed(block)
    scan.end()
    return InQuotes(scan.breaks, scan.returns)


class _Scan:
    """State of the check after some bytes of a file."""

    def __init__(self, shown: str, fields: int, delimiter: int) -> None:
        self.shown, self.fields, self.delimiter = shown, fields, delimiter
        self.breaks = self.returns = False
        self.decoder = codecs.getincrementaldecoder("utf-8")()
        self.last = _FEED
        self.inside = 0  # 1 within quotes
        self.skipped = 0  # lines above the header
        self.feeds = 0  # lines that ended, also within quotes
        self.ending: bool | None = None  # whether lines end in a carriage return and a line feed
        self.delimiters = self.visible = self.length = 0  # of the row that has begun

    def skip(self, line: bytes) -> None:
        """Count a line above the header, whose line ending applies to all lines."""
        if b"\r" in line.removesuffix(b"\r\n"):
            raise self._unlike_endings(0, np.zeros(0, np.uint8))
        self.ending = line.endswith(b"\r\n")
        self.skipped += 1
        self.feeds += 1

    def feed(self, block: bytes) -> None:
        self._check_text(block)
        before = np.frombuffer(bytes([self.last]) + block, np.uint8)
        here = before[1:]
        quotes = _places(b'"', block)
        self._check_quotes(before, here, quotes)
        self._check_returns(here, quotes, _places(b"\r", block))
        self._check_rows(before, here, quotes)
        self.inside = (self.inside + len(quotes)) % 2
        self.feeds += block.count(b"\n")
        self.last = block[-1]

    def end(self) -> None:
        """End the last line, if it has no line break."""
        if self.inside:
            raise DomainError(f"{self.shown}: a quoted field is not closed at the end of the file.")
        if self.last == _RETURN:
            raise self._unlike_endings(0, np.zeros(0, np.uint8))
        if self.last != _FEED:
            self.feed(b"\r\n" if self.ending else b"\n")
        self._check_text(b"", final=True)

    def _check_text(self, block: bytes, *, final: bool = False) -> None:
        held, wrong = self.decoder.getstate()[0], block.find(b"\0")
        try:
            if final or held or not block.isascii():
                self.decoder.decode(block, final)
        except UnicodeDecodeError as error:  # contains the block, so it must not be chained
            place = max(error.start - len(held), 0)
            wrong = place if wrong < 0 else min(place, wrong)
        if wrong >= 0:
            raise not_text(self.shown, self.feeds + block.count(b"\n", 0, wrong) + 1)

    def _check_quotes(self, before: Array, here: Array, quotes: Array) -> None:
        """Check the characters before opening and after closing quotes; a doubled quote closes and opens."""
        follows = [self.delimiter, _FEED, _RETURN, _QUOTE]
        opening, closing = quotes[self.inside :: 2], quotes[1 - self.inside :: 2]
        wrong = opening[~np.isin(before[opening], [self.delimiter, _FEED, _QUOTE])]
        ends = closing[closing < len(here) - 1] + 1
        wrong = np.concatenate([wrong, ends[~np.isin(here[ends], follows)]])
        if self.last == _QUOTE and not self.inside and here[0] not in follows:
            wrong = np.zeros(1, np.int64)
        if len(wrong):
            problem = f"{self.shown}: line {self._line(wrong.min(), here)} has a quote inside a field"
            raise DomainError(f"{problem}; put quotes around the whole field, and double the quotes within it.")

    def _check_returns(self, here: Array, quotes: Array, returns: Array) -> None:
        """Check that a line feed follows every carriage return outside quotes."""
        if self.last == _RETURN and not self.inside and here[0] != _FEED:
            raise self._unlike_endings(0, here)
        outside = self._outside(returns, quotes)
        self.returns |= not outside.all()
        returns = returns[outside & (returns < len(here) - 1)]
        alone = returns[here[returns + 1] != _FEED]
        if len(alone):
            raise self._unlike_endings(alone[0], here)

    def _check_rows(self, before: Array, here: Array, quotes: Array) -> None:
        marks = np.flatnonzero((here == self.delimiter) | (here == _FEED))
        if self.inside or len(quotes):
            outside = self._outside(marks, quotes)
            self.breaks |= self.returns or bool((here[marks[~outside]] == _FEED).any())
            marks = marks[outside]
        places = np.flatnonzero(here[marks] == _FEED)
        ends = marks[places]
        delimiters, self.delimiters = _since(places, len(marks), self.delimiters)
        length, self.length = _since(ends, len(here), self.length)
        returned = before[ends] == _RETURN
        if len(ends) and self.ending is None:
            self.ending = bool(returned[0])
        if (returned != self.ending).any():
            raise self._unlike_endings(ends[np.argmax(returned != self.ending)], here)
        wrong = (delimiters != self.fields - 1) & (length > returned)
        if self.fields == 1:
            wrong |= self._blank(here, ends)
        if wrong.any():
            place = np.argmax(wrong)
            problem = f"{self.shown}: line {self._line(ends[place], here)} does not have {self.fields} fields"
            has_row_names = self.feeds == self.skipped and place == 1 and delimiters[place] == self.fields
            raise DomainError(f"{problem} like the header.{_ROW_NAMES if has_row_names else ''}")

    def _blank(self, here: Array, ends: Array) -> Array:
        """Return which lines have only white space, which some readers read as rows and others skip."""
        visible = np.flatnonzero(here > _SPACE)
        before = np.searchsorted(visible, ends)
        counts = np.diff(before, prepend=-self.visible)
        self.visible = len(visible) - int(before[-1]) if len(ends) else self.visible + len(visible)
        return counts == 0

    def _outside(self, places: Array, quotes: Array) -> Array:
        return (np.searchsorted(quotes, places) + self.inside) % 2 == 0

    def _unlike_endings(self, place: Any, here: Array) -> DomainError:
        expected = "all lines must end in a line feed, or all in a carriage return and a line feed"
        return DomainError(
            f"{self.shown}: {expected}; line {self._line(place, here)} ends differently. `tr '\\r' '\\n'` replaces "
            "carriage returns by line feeds."
        )

    def _line(self, place: Any, here: Array) -> int:
        return self.feeds + int(np.count_nonzero(here[:place] == _FEED)) + 1


def _places(byte: bytes, block: bytes) -> Array:
    return np.flatnonzero(np.frombuffer(block, np.uint8) == byte[0]) if byte in block else np.zeros(0, np.int64)


def _since(places: Array, end: int, carried: int) -> tuple[Array, int]:
    """Return the number of positions between consecutive places, and the number after the last place."""
    if not len(places):
        return places, carried + end
    between = np.diff(places, prepend=-1) - 1
    between[0] += carried
    return between, end - 1 - int(places[-1])
