"""Contents of a report: facts, grids and sections, as plain data that every form of the report is made of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, Self

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
    """One line of a section.

    Attributes
    ----------
    name : str
        What it is.
    text : str
        What a person reads.
    value : str, int, float or None
        What a program reads, where it is not the text.
    """

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

    Attributes
    ----------
    key : str
        Its name in JSON and in addresses of the page.
    question, answer : str
        What is asked, and the answer.
    facts : tuple of Fact
        Single values.
    grids : tuple of Grid
        Tables.
    notes : tuple of str
        Paragraphs below them.
    words : tuple of str
        What the terms mean, for readers who ask.
    measure : str
        What to call or to give where something is not measured or not stated; empty where all is there.
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
    """One reason for or against a release.

    Attributes
    ----------
    key : str
        Its name in JSON.
    section : str
        The key of the section that has the numbers.
    bucket : {"reject", "look", "supports"}
        What it says.
    sentence : str
        The finding in a plain sentence.
    threshold : str
        The rule that put it into its bucket.
    source : str
        Where the rule comes from.
    value : int, float or None
        The number that the rule was applied to.
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

    Attributes
    ----------
    kind : {"public", "board"}
        Which sheet it is.
    title : str
        What is reported on.
    date : date
        When the report was made.
    software : str
        What made it.
    findings : tuple of Finding
        What speaks for and against a release.
    sections : tuple of Section
        The questions and answers.
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
