"""Contents of a report: facts, grids and sections as plain data, their sentences from templates, and their page."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from hedgerow.errors import ArgumentError
from hedgerow.report.appetite import DEFAULT, Appetite
from hedgerow.report.checks import STATUSES, Check, Interval, SheetKind, Status, interval_dict
from hedgerow.text.language import Language, in_language
from hedgerow.text.language import language as current_language
from hedgerow.text.markup import templates
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from jinja2 import Environment

Value = str | int | float | None  # a number, a flag, a code, an ISO date or a digest; never prose
MOST_SHOWN = 10
"""The most rows of a table on a page, unless it says another number; the JSON of a sheet has all of them."""
_MOST_GRIDS, _MOST_COLUMNS, _LONGEST = 4, 8, 320  # of a section, of a table, and of a cell, that a page shows
FORMAT = "hedgerow/report"  # the format of the JSON of a sheet


@dataclass(frozen=True)
class SheetLine:
    """One line of a section: a stable id, a name and a text for people, and a value for programs.

    Attributes
    ----------
    key : str
        The id, unique in its section and the same in every language.
    name, text : str
        What people read.
    value : int, float, bool, str or None
        A number, a flag, a code, an ISO date or a digest; None if there is only text.
    interval : tuple of (float, float), optional
        The interval of the value, with its `confidence`.
    confidence : float, default=0.95
        The confidence of the interval.
    """

    key: str
    name: str
    text: str
    value: Value = None
    interval: Interval | None = None
    confidence: float = 0.95

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        interval = interval_dict(self.interval, self.confidence)
        return {"id": self.key, "name": self.name, "value": self.value, "interval": interval, "text": self.text}


class Column(NamedTuple):
    """A column of a table: its stable id, and its name for people. Its cells are values, or texts such as names."""

    key: str
    name: str
    is_text: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a table that people read in another form than programs."""

    text: str
    value: Value = None
    interval: Interval | None = None

    def to_dict(self) -> dict[str, Any] | Value:
        """Return it as JSON-ready data: the value, with its interval if there is one."""
        return self.value if self.interval is None else {"value": self.value, "interval": interval_dict(self.interval)}


GridValue = Value | Cell


@dataclass(frozen=True)
class Grid:
    """A table of a section: its id and title, its columns, and its rows. The first cell of a row names it.

    A page has the first rows, at most `shown`, and none of a table of which 0 are shown.
    """

    key: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[GridValue, ...], ...]
    shown: int = MOST_SHOWN

    @classmethod
    def of_columns(
        cls,
        key: str,
        title: str,
        columns: Sequence[tuple[Column, Sequence[GridValue]]],
        order: Iterable[int],
        shown: int = MOST_SHOWN,
    ) -> Self:
        """Return a table by its columns, each with its cells; `order` has the places of the rows."""
        rows = list(zip(*(cells for _, cells in columns), strict=True))
        return cls(key, title, tuple(column for column, _ in columns), tuple(rows[place] for place in order), shown)

    @property
    def caption(self) -> str:
        """The title, with how many of the rows are on a page."""
        return self.title + (f"; the first {self.shown} of {len(self.rows):,}" if len(self.rows) > self.shown else "")

    @property
    def filled(self) -> tuple[int, ...]:
        """The columns that have an entry on a page, counted from 0; the first and the last of many."""
        places = range(len(self.columns))
        found = [place for place in places if any(text_of(row[place]) for row in self.first)]
        return tuple(found if len(found) <= _MOST_COLUMNS else [*found[: _MOST_COLUMNS - 1], found[-1]])

    @property
    def is_narrow(self) -> bool:
        """True if the rows are many and short, so that a printed page has two of them beside one another."""
        lengths = (sum(len(text_of(row[place])) for place in self.filled) for row in self.first)
        return len(self.first) > _FEW and max(lengths) <= _WIDE and len(self.filled) <= _FEW

    @property
    def first(self) -> tuple[tuple[GridValue, ...], ...]:
        """The rows that are on a page."""
        return self.rows[: self.shown]

    @property
    def numeric(self) -> tuple[int, ...]:
        """The columns of numbers alone, counted from 0; the first is a name."""
        places = range(1, len(self.columns))
        return tuple(place for place in places if all(_is_number(row[place]) for row in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        columns = [
            {"id": one.key, "name": one.name, "type": "text" if one.is_text else "value"} for one in self.columns
        ]
        rows = [[cell.to_dict() if isinstance(cell, Cell) else cell for cell in row] for row in self.rows]
        return {"id": self.key, "title": self.title, "columns": columns, "rows": rows}


def text_of(cell: GridValue) -> str:
    """Return a cell as text; empty if it has no entry."""
    if isinstance(cell, Cell):
        return cell.text
    return "" if cell is None else str(cell)


_NUMBER = re.compile(r"[0-9][0-9.,]*(e[+-]?[0-9]+)?( %)?")


def _is_number(cell: GridValue) -> bool:
    text = cell.text if isinstance(cell, Cell) else cell
    return isinstance(text, (int, float)) or (isinstance(text, str) and _NUMBER.fullmatch(text) is not None)


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
    facts: tuple[SheetLine, ...] = ()
    grids: tuple[Grid, ...] = ()
    notes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    measure: str = ""

    @property
    def shown(self) -> tuple[Grid, ...]:
        """The tables that are on a page, the last of them where there are many."""
        return tuple(grid for grid in self.grids if grid.first)[-_MOST_GRIDS:]

    @property
    def is_cut(self) -> bool:
        """True if a page has not all that its tables hold."""
        wide = any(len(grid.columns) > _MOST_COLUMNS for grid in self.shown)
        return wide or any(len(grid.rows) > grid.shown > 0 for grid in self.grids) or len(self.shown) == _MOST_GRIDS

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-ready data."""
        return {
            "id": self.key,
            "question": self.question,
            "answer": self.answer,
            "facts": [fact.to_dict() for fact in self.facts],
            "tables": [grid.to_dict() for grid in self.grids],
            "notes": list(self.notes),
            "words": list(self.words),
            "how_to_measure": self.measure or None,
        }


@dataclass(frozen=True)
class Sheet:
    """One sheet of a report: the public one, or that for the board, which is **private**.

    It says what is reported on (`title`), when the report was made, and by which software; then checks and sections.
    For a model with a guarantee the public sheet `decides`: exact functions of the rows, which the board's sheet adds,
    are informative. For one without, the board's sheet decides, and the public one examines nothing that is stored.
    `appetite` has the thresholds of the checks. `language` is the language of all text; keys, statuses and values are
    the same in every language.
    """

    kind: SheetKind
    title: str
    date: date
    software: str
    checks: tuple[Check, ...]
    sections: tuple[Section, ...]
    decides: bool = True
    appetite: Appetite = DEFAULT
    language: Language = field(default_factory=current_language)

    @property
    def is_private(self) -> bool:
        """True if it has exact functions of the rows."""
        return self.kind == "board"

    def by_status(self, status: Status) -> tuple[Check, ...]:
        """Return the checks of one status; ValueError for a name that is none."""
        if status not in STATUSES:
            raise ArgumentError(f"status must be one of {', '.join(STATUSES)}, got another value.")
        return tuple(check for check in self.checks if check.status == status)

    @property
    def status(self) -> Status:
        """The gravest status of the checks that a decision may use; "not_run" if only essential ones were not run.

        A public sheet that does not decide has not examined the model, and never passes.
        """
        usable = [one for one in self.checks if not one.informative]
        known = {one.status for one in usable if one.status != "not_run" or one.essential}
        known |= {"not_run"} if self._leaves_decision else set[Status]()
        found: list[Status] = [status for status in STATUSES[:-1] if status in known]
        return found[0] if found else "not_run"

    @property
    def _leaves_decision(self) -> bool:
        """True for a public sheet if the board's decides."""
        return not self.decides and not self.is_private

    @property
    def not_examined(self) -> tuple[str, ...]:
        """What was not examined, in a few words each; what is essential comes first."""
        with in_language(self.language):
            return self._titles("not_run")

    def _titles(self, status: Status) -> tuple[str, ...]:
        """Return what the checks of a status that a decision may use are about, the essential ones first."""
        checks = sorted(self.by_status(status), key=lambda one: not one.essential)
        return tuple(dict.fromkeys(one.title for one in checks if not one.informative))

    @property
    def leaves(self) -> Grid | None:
        """All leaves of the model, where the page has only some."""
        grids = [grid for section in self.sections if section.key == "leaves" for grid in section.grids]
        found = [grid for grid in grids if grid.columns[0].key == "leaf"]
        return found[0] if found and len(found[0].rows) > MOST_SHOWN else None

    @property
    def verdict(self) -> str:
        """What the checks say together, what a person has to review, and what was not examined."""
        with in_language(self.language):
            return self._verdict()

    def _verdict(self) -> str:
        missing = self.not_examined
        without = f" Not examined: {_listed(missing)}." if missing else ""
        if self._leaves_decision:
            return _BOARD_DECIDES + without
        to_review = f" {_listed(self._titles('review'))}." if self.status == "review" else ""
        verdict = _VERDICTS[self.status] + to_review + without
        return " ".join((*self._contradictions, verdict if self.decides else f"{_PUBLIC_DECIDES} {verdict}"))

    @property
    def _contradictions(self) -> list[str]:
        """What the rows show to be false in what the public sheet of a model with a guarantee rests on."""
        found = {(one.key, one.status) for one in self.checks if one.informative}
        return [sentence for case, sentence in _CONTRADICTIONS.items() if case in found]

    def section(self, key: str) -> Section:
        """Return the section with this key; KeyError where there is none."""
        return {section.key: section for section in self.sections}[key]

    def number(self, key: str) -> int:
        """Return the number of the question of a section, counted from 1."""
        return [section.key for section in self.sections].index(key) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-ready data."""
        return {
            "format": FORMAT,
            "version": 3,
            "sheet": self.kind,
            "private": self.is_private,
            "title": self.title,
            "date": self.date.isoformat(),
            "software": self.software,
            "language": self.language,
            "decides": self.decides,
            "status": self.status,
            "verdict": self.verdict,
            "appetite": self.appetite.stated(),
            "not_examined": [one.key for one in self.by_status("not_run")],
            "checks": [check.to_dict() for check in self.checks],
            "sections": [section.to_dict() for section in self.sections],
        }


def _listed(titles: Sequence[str]) -> str:
    more = [f"{len(titles) - _NAMED} more"] if len(titles) > _NAMED else []
    return "; ".join([*titles[:_NAMED], *more])


_VERDICTS: dict[Status, str] = {
    "fail": "A check fails: do not release the model as it is.",
    "not_run": "No check fails, but essential ones were not run: this sheet cannot support a release.",
    "review": "No check fails. A person has to review:",
    "pass": "All checks that were run pass.",
}
_PUBLIC_DECIDES = (
    "The public sheet decides; the guarantee does not cover a release, or a choice of a model, that depends on the "
    "exact numbers of this sheet. The public sheet says:"
)
_BOARD_DECIDES = (
    "This sheet has not examined what the model discloses, and cannot support a release: the model has no guarantee. "
    "The sheet for the board has what was measured."
)
_CONTRADICTIONS: dict[tuple[str, Status], str] = {
    ("counts", "fail"): (
        "The rows given are not those that the model was learned from: what this sheet says of rows is of others."
    ),
    ("identifiers", "fail"): (
        "The form is wrong: a person has more rows than it states. Correct it, and make the public sheet again."
    ),
    ("identifiers", "review"): (
        "A column looks like an identifier of persons with several rows: settle first how many rows a person can have, "
        "since the public sheet rests on it."
    ),
}
_NAMED = 4  # checks of a status that a verdict names
_WIDE = 45  # characters of a fact that takes up the width of a printed page
_FEW = 5  # rows, and columns, of a table that is not set in two columns
_LONGEST_WORD = 24  # characters of a word that a column has room for; others may be broken
_PARTS = ("question", "answer", "notes", "words", "measure")


def page(sheet: Sheet) -> str:
    with in_language(sheet.language):
        return rendered("sheet.html", sheet=sheet)


def json_text(data: Mapping[str, Any]) -> str:
    """Return JSON-ready data as the text of a file."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def rendered(template: str, **values: Any) -> str:
    """Return a template with values; those of HTML escape them."""
    return _templates().get_template(template).render(values)


def section(
    key: str, facts: Iterable[SheetLine] = (), grids: Iterable[Grid] = (), *, template: str = "", **values: Any
) -> Section:
    """Return a section whose sentences are those of its template with values; paragraphs have an empty line between."""
    module = _templates().get_template(f"{template or key}.txt").make_module(values)
    question, answer, notes, words, measure = (_paragraphs(getattr(module, part, "")) for part in _PARTS)
    return Section(
        key, " ".join(question), " ".join(answer), tuple(facts), tuple(grids), notes, words, " ".join(measure)
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    return tuple(" ".join(one.split()) for one in text.split("\n\n") if one.strip())


@cache
def _templates() -> "Environment":
    folder = Path(__file__).with_name("templates")
    return templates(
        folder, number_of=number_of, cell_text=_cell_text, text_of=text_of, line=_line, is_long=_is_long, wide=_WIDE
    )


def _cell_text(cell: GridValue) -> str:
    if isinstance(cell, (int, float)):
        return f"{cell:,}" if isinstance(cell, int) else f"{cell:.3f}"
    return shortened(text_of(cell)) or "–"


def _line(text: str) -> str:
    """Return text as one printable line of a file of plain text."""
    return printable(" ".join(text.split()))


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_long(cell: GridValue) -> bool:
    return not isinstance(cell, (int, float)) and any(len(word) > _LONGEST_WORD for word in text_of(cell).split())
