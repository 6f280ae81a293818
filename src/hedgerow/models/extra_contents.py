"""What a model's file holds in addition to the model: rows, statistics of rows, lists of values, free text."""

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
    """Data in a model's file, or in an estimator, apart from what the model predicts. **Private**: it quotes no value.

    Attributes
    ----------
    kind : {"rows", "extremes", "statistics", "bounds", "values", "counts", "text", "unread"}
        Rows, or parts of rows; least and largest values of rows; other statistics of rows; bounds that a file declares,
        which may be such values; values or names that the schema does not list; numbers of rows that are not read as
        counts of leaves; free text; objects that were not looked into.
    place : str
        Where it is: the path of an element, of an attribute or of an estimator's attribute.
    amount : int
        How many: rows, numbers, attributes, values, counts, characters or objects.
    line : int
        The line of the file; 0 if it has none.
    smallest : int, optional
        The smallest of numbers of rows of leaves, if the file shows that the numbers are rows.

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
        """Return the content as JSON-ready data, without what is not known."""
        return {name: value for name, value in vars(self).items() if value is not None}

    @property
    def where(self) -> str:
        """The place, with the line if there is one."""
        return f"{self.place}, line {self.line}" if self.line else self.place


NOUNS: dict[ContentKind, tuple[str, str]] = {
    "rows": ("row of data", "rows of data"),
    "extremes": ("least or largest value of rows", "least or largest values of rows"),
    "statistics": ("statistic of rows", "statistics of rows"),
    "bounds": ("declared interval", "declared intervals"),
    "values": ("name or value that the schema does not list", "names or values that the schema does not list"),
    "counts": ("number of rows outside the counts of leaves", "numbers of rows outside the counts of leaves"),
    "text": ("character of free text", "characters of free text"),
    "unread": ("object that was not looked into", "objects that were not looked into"),
}
"""What the amount of a content counts, for one and for several."""


def content_text(kind: ContentKind, amount: int) -> str:
    return f"{amount:,} {NOUNS[kind][amount != 1]}"


_NUMBER = re.compile(r"(.*[(\[{:=\"'])?\s*[-+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][-+]?[0-9]+)?[\s)\]}\"']*")
_AMOUNT = re.compile(r"[0-9]{1,8}(?:[.][0-9]{1,12})?(?:e[+-]?[0-9]{1,3})?")
_LONGEST_GUARANTEE, _MOST_AMOUNTS = 200, 3  # characters of a line with a guarantee, and amounts in it
_MOST_RECORDS, _MOST_CELLS = 100_000, 1_000


def guarantee_line(card: PrivacyCard) -> str:
    """Return the line about the guarantee with which exports begin, in English."""
    with in_language("en"):
        return _guarantee_line(card.headline)


def _guarantee_line(headline: str) -> str:
    return f"guarantee: {printable(headline)}"


def is_amount(text: str) -> bool:
    """Return whether text is an amount as exports write it: six digits, and thus not a row in disguise."""
    return bool(_AMOUNT.fullmatch(text)) and text == amount_text(Fraction(text))


def _is_guarantee(text: str) -> bool:
    """Return whether text is `guarantee_line` for some ε and δ, found by rendering it again: it holds nothing else."""
    if len(text) > _LONGEST_GUARANTEE:
        return False
    amounts = [Fraction(0), *map(Fraction, _AMOUNT.findall(text)[:_MOST_AMOUNTS])]
    with in_language("en"):
        return any(
            text == _guarantee_line(headline(epsilon, delta, ())) for epsilon, delta in product(amounts, repeat=2)
        )


def comments_content(comments: Sequence[tuple[int, str]]) -> tuple[Content, ...]:
    """Return what all comments of a file hold together, with the line of the first; empty if they are blank."""
    found = text_content("\n".join(text for _, text in comments), "comment", comments[0][0]) if comments else None
    return () if found is None else (found,)


def text_content(text: str, place: str, line: int = 0) -> Content | None:
    """Return what free text holds: rows if some of it has cells with numbers, else text; None if it is blank."""
    if not text.strip() or _is_guarantee(text.strip()):
        return None
    parts = (part[0] for part in re.finditer(r"[^\n;|]+", text))
    rows = sum(map(_is_record, islice(parts, _MOST_RECORDS)))
    rows += sum(_is_record_by_bars(line[0]) for line in islice(re.finditer(r"[^\n]+", text), _MOST_RECORDS))
    rows = rows or (1 if next(parts, None) is not None else 0)  # more than anybody writes as a comment
    return Content("rows", place, rows, line) if rows else Content("text", place, len(text.strip()), line)


def _is_record(part: str) -> bool:
    """Return whether text has cells, by commas or tabs, of which one is a number, or is numbers by spaces alone."""
    cells, words = re.split(r"[,\t]", part, maxsplit=_MOST_CELLS), part.split(None, _MOST_CELLS)[:_MOST_CELLS]
    has_cells = len(cells) > 1 and any(map(_NUMBER.fullmatch, cells))
    return has_cells or (len(words) > 1 and all(map(_NUMBER.fullmatch, words)))


def _is_record_by_bars(line: str) -> bool:
    cells = re.split(r"[;|]", line, maxsplit=_MOST_CELLS)
    is_flat = not any(map(_is_record, cells))  # else its parts are records themselves
    return len(cells) > 1 and is_flat and any(map(_NUMBER.fullmatch, cells))
