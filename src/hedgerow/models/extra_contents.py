"""Additional contents of model files: rows, statistics of rows, lists of values, free text."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, product
from typing import Literal

from hedgerow.privacy.amounts import amount_text
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.wording import headline
from hedgerow.text.language import in_language
from hedgerow.text.values import printable

ContentKind = Literal["rows", "extremes", "statistics", "bounds", "values", "counts", "text", "unread"]


@dataclass(frozen=True)
class Content:
    """Data in a model file or an estimator that predictions do not need. **Private**: values are not quoted.

    Attributes
    ----------
    kind : {"rows", "extremes", "statistics", "bounds", "values", "counts", "text", "unread"}
        The kind of data.

        - "rows": rows, or parts of rows.
        - "extremes": smallest and largest values of rows.
        - "statistics": other statistics of rows.
        - "bounds": intervals that a file declares, whose ends may be extreme values of rows.
        - "values": values or names that the schema does not list.
        - "counts": numbers of rows that are not read as counts of leaves.
        - "text": free text.
        - "unread": objects that were not inspected.
    place : str
        The path of the XML element or attribute, or of the attribute of an estimator.
    amount : int
        The number of rows, numbers, attributes, values, counts, characters or objects.
    line : int
        The line in the file; 0 if it is unknown.
    smallest : int, optional
        The smallest number of rows of a leaf, if the file shows that its numbers are rows.

    Examples
    --------
    >>> print(Content("rows", "PMML/TreeModel/ModelVerification/InlineTable", 2, line=7))
    2 rows of data (PMML/TreeModel/ModelVerification/InlineTable, line 7)
    """

    kind: ContentKind
    place: str
    amount: int
    line: int = 0
    smallest: int | None = None

    def __str__(self) -> str:
        return f"{content_text(self.kind, self.amount)} ({self.where})"

    def to_dict(self) -> dict[str, str | int]:
        """Return the content as JSON-ready data; unknown fields are omitted."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def where(self) -> str:
        """The place, with the line if it is known."""
        return f"{self.place}, line {self.line}" if self.line else self.place


NOUNS: dict[ContentKind, tuple[str, str]] = {
    "rows": ("row of data", "rows of data"),
    "extremes": ("smallest or largest value of rows", "smallest or largest values of rows"),
    "statistics": ("statistic of rows", "statistics of rows"),
    "bounds": ("declared interval", "declared intervals"),
    "values": ("name or value that the schema does not list", "names or values that the schema does not list"),
    "counts": ("number of rows outside the counts of leaves", "numbers of rows outside the counts of leaves"),
    "text": ("character of free text", "characters of free text"),
    "unread": ("object that was not inspected", "objects that were not inspected"),
}
"""The singular and plural noun for the amount of a content."""


def content_text(kind: ContentKind, amount: int) -> str:
    return f"{amount:,} {NOUNS[kind][amount != 1]}"


_NUMBER = re.compile(r"(.*[(\[{:=\"'])?\s*[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?[\s)\]}\"']*")
_AMOUNT = re.compile(r"[0-9]{1,8}(?:[.][0-9]{1,12})?(?:e[+-]?[0-9]{1,3})?")
_LONGEST_GUARANTEE, _MOST_AMOUNTS = 200, 3  # the characters of a line that states a guarantee, and its amounts
_MOST_RECORDS, _MOST_CELLS = 100_000, 1_000


def guarantee_line(card: PrivacyCard) -> str:
    """Return the first line of exports, which states the guarantee in English."""
    with in_language("en"):
        return _guarantee_line(card.headline)


def _guarantee_line(headline: str) -> str:
    return f"guarantee: {printable(headline)}"


def is_amount(text: str) -> bool:
    """Return whether text is an amount as exports write it; its at most six digits are too short to encode a row."""
    return bool(_AMOUNT.fullmatch(text)) and text == amount_text(Fraction(text))


def _is_guarantee(text: str) -> bool:
    """Return whether text is exactly `guarantee_line` for some ε and δ, so that it contains nothing else."""
    if len(text) > _LONGEST_GUARANTEE:
        return False
    amounts = [Fraction(0), *map(Fraction, _AMOUNT.findall(text)[:_MOST_AMOUNTS])]
    with in_language("en"):
        return any(
            text == _guarantee_line(headline(epsilon, delta, ())) for epsilon, delta in product(amounts, repeat=2)
        )


def comments_content(comments: Sequence[tuple[int, str]]) -> tuple[Content, ...]:
    """Return the content of all comments of a file together, at the line of the first; empty if they are blank."""
    content = text_content("\n".join(text for _, text in comments), "comment", comments[0][0]) if comments else None
    return () if content is None else (content,)


def text_content(text: str, place: str, line: int = 0) -> Content | None:
    """Return the content of free text: "rows" if parts of it look like records, else "text"; None if it is blank."""
    if not text.strip() or _is_guarantee(text.strip()):
        return None
    parts = (part[0] for part in re.finditer(r"[^\n;|]+", text))
    rows = sum(map(_is_record, islice(parts, _MOST_RECORDS)))
    rows += sum(_is_record_by_bars(line[0]) for line in islice(re.finditer(r"[^\n]+", text), _MOST_RECORDS))
    rows = rows or (1 if next(parts, None) is not None else 0)  # too many parts for a comment
    return Content("rows", place, rows, line) if rows else Content("text", place, len(text.strip()), line)


def _is_record(part: str) -> bool:
    """Return whether text has cells separated by commas or tabs, including a number, or only numbers and spaces."""
    cells, words = re.split(r"[,\t]", part, maxsplit=_MOST_CELLS), part.split(None, _MOST_CELLS)[:_MOST_CELLS]
    has_cells = len(cells) > 1 and any(map(_NUMBER.fullmatch, cells))
    return has_cells or (len(words) > 1 and all(map(_NUMBER.fullmatch, words)))


def _is_record_by_bars(line: str) -> bool:
    cells = re.split(r"[;|]", line, maxsplit=_MOST_CELLS)
    is_flat = not any(map(_is_record, cells))  # otherwise its parts are records themselves
    return len(cells) > 1 and is_flat and any(map(_NUMBER.fullmatch, cells))
