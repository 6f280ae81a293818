"""Contents of a report: facts, grids and sections as plain data, their sentences from templates, and their page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from hedgerow.text.markup import templates
from hedgerow.text.messages import number_of

if TYPE_CHECKING:
    from jinja2 import Environment

Kind = Literal["public", "board"]
"""Of which sheet something is: of the public one, or of that for the board."""
Cell = str | int | float | None
Bucket = Literal["reject", "look", "supports"]
"""The advice of a finding to a board: not as it is; look closer; it supports the release."""
BUCKETS: tuple[Bucket, ...] = ("reject", "look", "supports")
"""All buckets, the gravest first."""
MOST_ROWS = 300
"""The most rows of a table in a report."""
FORMAT = "hedgerow/report"
"""The format of the JSON of a sheet."""


@dataclass(frozen=True)
class Fact:
    """One line of a section: its name, the text for a person, and the value for a program, where it is not the text."""

    name: str
    text: str
    value: Cell = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"name": self.name, "text": self.text, "value": self.text if self.value is None else self.value}


@dataclass(frozen=True)
class Grid:
    """A table of a section: its title, the names of its columns, and its rows. The first cell of a row names it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]

    @classmethod
    def of_first(cls, title: str, columns: tuple[str, ...], rows: Sequence[tuple[Cell, ...]]) -> Self:
        """Return a table of the first of many rows, whose title says so where there are more."""
        cut = f"; the first {MOST_ROWS} of {len(rows):,}" if len(rows) > MOST_ROWS else ""
        return cls(title + cut, columns, tuple(rows[:MOST_ROWS]))

    @property
    def numeric(self) -> tuple[int, ...]:
        """The columns of numbers alone, counted from 0; the first is a name."""
        places = range(1, len(self.columns))
        return tuple(place for place in places if all(_is_number(row[place]) for row in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {"title": self.title, "columns": list(self.columns), "rows": [list(row) for row in self.rows]}


_NUMBER = re.compile(r"[0-9][0-9.,]*(e[+-]?[0-9]+)?( %)?")


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) or (isinstance(cell, str) and _NUMBER.fullmatch(cell) is not None)


@dataclass(frozen=True)
class Section:
    """One question of a report, with the answer in a plain sentence before any number.

    `key` is its name in JSON and in addresses of the page. Facts and grids are followed by `notes`, paragraphs, and
    `words`, the meaning of terms. `measure` is what to call or to give where something is not measured or not stated;
    it is empty where all is there.
    """

    key: str
    question: str
    answer: str
    facts: tuple[Fact, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    measure: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "key": self.key,
            "question": self.question,
            "answer": self.answer,
            "facts": [fact.to_dict() for fact in self.facts],
            "tables": [grid.to_dict() for grid in self.grids],
            "notes": list(self.notes),
            "words": list(self.words),
            "how_to_measure": self.measure or None,
        }


@dataclass(frozen=True)
class Finding:
    """One reason for or against a release, by a rule.

    `section` is the key of the section that has the numbers; `threshold`, the rule that put the finding into its
    bucket; `source`, where the rule comes from; `value`, the number that it was applied to.
    """

    key: str
    section: str
    bucket: Bucket
    sentence: str
    threshold: str
    source: str
    value: int | float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return dict(vars(self))


@dataclass(frozen=True)
class Sheet:
    """One sheet of a report: the public one, or that for the board, which is **private**.

    It says what is reported on (`title`), when the report was made, and by which software; then findings and sections.
    """

    kind: Kind
    title: str
    date: date
    software: str
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]

    @property
    def is_private(self) -> bool:
        """True if it has exact functions of the rows."""
        return self.kind == "board"

    def by_bucket(self, bucket: Bucket) -> tuple[Finding, ...]:
        """Return the findings of one bucket."""
        return tuple(finding for finding in self.findings if finding.bucket == bucket)

    @property
    def worst(self) -> Bucket:
        """The gravest bucket that has a finding; "look" where there is none at all."""
        found: list[Bucket] = [bucket for bucket in BUCKETS if self.by_bucket(bucket)]
        return found[0] if found else "look"

    def section(self, key: str) -> Section:
        """Return the section with this key; KeyError where there is none."""
        return {section.key: section for section in self.sections}[key]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-ready data."""
        return {
            "format": FORMAT,
            "version": 1,
            "sheet": self.kind,
            "private": self.is_private,
            "title": self.title,
            "date": self.date.isoformat(),
            "software": self.software,
            "worst": self.worst,
            "findings": [finding.to_dict() for finding in self.findings],
            "sections": [section.to_dict() for section in self.sections],
        }


NOT_STATED = "Not stated."
"""The answer where a form says nothing."""
_LONGEST_WORD = 24  # characters of a word that a column has room for; others may be broken
_PARTS = ("question", "answer", "notes", "words", "measure")


def page(sheet: Sheet) -> str:
    """Return a sheet as a page."""
    return _templates().get_template("sheet.html").render(sheet=sheet)


def section(
    key: str, facts: Iterable[Fact] = (), grids: Iterable[Grid] = (), *, template: str = "", **values: Any
) -> Section:
    """Return a section whose sentences are those of its template with values; paragraphs have an empty line between."""
    said = _templates().get_template(f"{template or key}.txt").make_module(values)
    question, answer, notes, words, measure = (_paragraphs(getattr(said, part, "")) for part in _PARTS)
    return Section(
        key, " ".join(question), " ".join(answer), tuple(facts), tuple(grids), notes, words, " ".join(measure)
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(one.split()) for one in text.split("\n\n") if one.strip())


@cache
def _templates() -> Environment:
    folder = Path(__file__).with_name("templates")
    return templates(folder, number_of=number_of, cell_text=_cell_text, is_long=_is_long)


def _cell_text(cell: Cell) -> str:
    if cell is None or cell == "":
        return "–"
    if isinstance(cell, (bool, str)):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.3f}"


def _is_long(cell: Cell) -> bool:
    return isinstance(cell, str) and any(len(word) > _LONGEST_WORD for word in cell.split())
