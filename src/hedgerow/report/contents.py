"""Contents of a report: facts, grids and sections as plain data, their sentences from templates, and their page."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from hedgerow.errors import ArgumentError
from hedgerow.report.appetite import DEFAULT, Appetite
from hedgerow.report.checks import STATUSES, Check, Interval, SheetKind, Status, interval_dict
from hedgerow.text.language import N_, Language, _, decimal, enumerated, in_language, long_date, ngettext, number
from hedgerow.text.language import language as current_language
from hedgerow.text.markup import templates
from hedgerow.text.messages import describe_argument
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from jinja2 import Environment

Value = str | int | float | None  # a number, a flag, a code, an ISO date or a digest; never prose
MOST_SHOWN = 10
"""The default of the most rows of a table on a page; the JSON of a sheet has all rows."""
_MOST_GRIDS, _MOST_COLUMNS, _LONGEST = 4, 8, 320  # on a page: grids, columns of a grid, characters of a cell
FORMAT = "hedgerow/report"  # the format of the JSON of a sheet


@dataclass(frozen=True)
class SheetLine:
    """A line of a section: a stable id, a name and a text for people, and a value for programs.

    Attributes
    ----------
    key : str
        The id, unique in its section and the same in every language.
    name, text : str
        The text for readers.
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
        """Return the line as JSON-ready data."""
        interval = interval_dict(self.interval, self.confidence)
        return {"id": self.key, "name": self.name, "value": self.value, "interval": interval, "text": self.text}


class Column(NamedTuple):
    """A column of a table: its stable id, and its name for people. Its cells are values, or texts such as names."""

    key: str
    name: str
    is_text: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell of a table whose text for people differs from its value for programs."""

    text: str
    value: Value = None
    interval: Interval | None = None

    def to_dict(self) -> dict[str, Any] | Value:
        """Return the cell as JSON-ready data: the value, with its interval if there is one."""
        return self.value if self.interval is None else {"value": self.value, "interval": interval_dict(self.interval)}


GridValue = Value | Cell


@dataclass(frozen=True)
class Grid:
    """A table of a section: its id and title, its columns, and its rows. The first cell of a row names it.

    A page has the first `shown` rows (all rows if it would leave out only one), and no table with `shown` = 0.
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
        names, cells = zip(*columns, strict=True)
        rows = list(zip(*cells, strict=True))
        return cls(key, title, names, tuple(rows[place] for place in order), shown)

    @property
    def caption(self) -> str:
        """The title, with the number of shown rows if a page shows only the first rows."""
        shown, rows = len(self.first), len(self.rows)
        return (
            self.title
            if shown == rows
            else _("{title} (first {shown} of {rows} rows)", title=self.title, shown=shown, rows=rows)
        )

    @property
    def filled(self) -> tuple[int, ...]:
        """The columns that have an entry on a page, counted from 0; of many columns, the first few and the last."""
        places = range(len(self.columns))
        filled = [place for place in places if any(text_of(row[place]) for row in self.first)]
        return tuple(filled if len(filled) <= _MOST_COLUMNS else [*filled[: _MOST_COLUMNS - 1], filled[-1]])

    @property
    def is_narrow(self) -> bool:
        """True if the rows are many and short, so that a printed page has two next to each other."""
        lengths = (sum(len(text_of(row[place])) for place in self.filled) for row in self.first)
        return len(self.first) > _FEW and max(lengths) <= _WIDE and len(self.filled) <= _FEW

    @property
    def first(self) -> tuple[tuple[GridValue, ...], ...]:
        """The rows that are on a page, which never leaves out a single row."""
        return self.rows if len(self.rows) == self.shown + 1 > 1 else self.rows[: self.shown]

    @property
    def numeric(self) -> tuple[int, ...]:
        """The columns that contain only numbers, counted from 0; the first column is a name."""
        places = range(1, len(self.columns))
        return tuple(place for place in places if all(_is_number(row[place]) for row in self.rows))

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON-ready data."""
        columns = [
            {"id": column.key, "name": column.name, "type": "text" if column.is_text else "value"}
            for column in self.columns
        ]
        rows = [[cell.to_dict() if isinstance(cell, Cell) else cell for cell in row] for row in self.rows]
        return {"id": self.key, "title": self.title, "columns": columns, "rows": rows}


def text_of(cell: GridValue) -> str:
    """Return a cell as text; empty if it has no entry."""
    if isinstance(cell, Cell):
        return cell.text
    return "" if cell is None else str(cell)


_NUMBER = re.compile("[0-9][0-9.,\u202f]*(e[+-]?[0-9]+)?([ \u00a0\u202f]%)?")  # in any language


def _is_number(cell: GridValue) -> bool:
    text = cell.text if isinstance(cell, Cell) else cell
    return isinstance(text, (int, float)) or (isinstance(text, str) and _NUMBER.fullmatch(text) is not None)


@dataclass(frozen=True)
class Section:
    """A question of a report, with the answer in a plain sentence before any number.

    `key` is its name in JSON and in addresses of the page. Facts and grids are followed by `notes`, which are
    paragraphs, and `words`, the definitions of terms. `measure` states how to obtain missing measurements or
    statements; it is empty if nothing is missing.
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
        """The tables that are on a page; of many tables, only the last few."""
        return tuple(grid for grid in self.grids if grid.first)[-_MOST_GRIDS:]

    @property
    def is_cut(self) -> bool:
        """True if a page leaves out part of its tables."""
        wide = any(len(grid.columns) > _MOST_COLUMNS for grid in self.shown)
        return (
            wide or any(len(grid.rows) > len(grid.first) > 0 for grid in self.grids) or len(self.shown) == _MOST_GRIDS
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the section as JSON-ready data."""
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
    """A sheet of a report: the public sheet, or the board's sheet, which is **private**.

    It has the subject of the report (`title`), its date and the software that made it, then checks and sections.
    For a model with a guarantee the public sheet `decides`: exact functions of the rows, which the board's sheet adds,
    are informative. Without a guarantee the board's sheet decides, and the public sheet examines nothing that is
    stored. `appetite` has the thresholds of the checks, and `language` is the language of all texts.
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
        """Return the checks of one status; ValueError for an unknown status."""
        if status not in STATUSES:
            raise ArgumentError(f"status must be one of {', '.join(STATUSES)}, got {describe_argument(status)}.")
        return tuple(check for check in self.checks if check.status == status)

    @property
    def status(self) -> Status:
        """The most severe status of usable checks; "not_run" counts for essential checks, or without another status.

        A public sheet that does not decide has not examined the model, and never passes.
        """
        usable = [check for check in self.checks if not check.informative]
        known = {check.status for check in usable if check.status != "not_run" or check.essential}
        known |= {"not_run"} if self._leaves_decision else set[Status]()
        severest: list[Status] = [status for status in STATUSES[:-1] if status in known]
        return severest[0] if severest else "not_run"

    @property
    def _leaves_decision(self) -> bool:
        """True for a public sheet if the board's sheet decides."""
        return not self.decides and not self.is_private

    @property
    def not_examined(self) -> tuple[str, ...]:
        """The titles of the checks that were not run, essential checks first."""
        with in_language(self.language):
            return self._titles("not_run")

    def _titles(self, status: Status) -> tuple[str, ...]:
        """Return the titles of the checks of a status that a decision may use, essential checks first."""
        checks = sorted(self.by_status(status), key=lambda check: not check.essential)
        return tuple(dict.fromkeys(check.title for check in checks if not check.informative))

    @property
    def leaves(self) -> Grid | None:
        """All leaves of the model, if the page shows only some of them."""
        grids = [grid for section in self.sections if section.key == "leaves" for grid in section.grids]
        leaves = next((grid for grid in grids if grid.columns[0].key == "leaf"), None)
        return leaves if leaves is not None and len(leaves.rows) > MOST_SHOWN else None

    @property
    def verdict(self) -> str:
        """The headline: which checks failed, need review or were not run, and whether to decide by this sheet."""
        with in_language(self.language):
            if self._leaves_decision:
                return " ".join((_(_BOARD_DECIDES), *self._missing()))
            results = self._results() if self.decides else (_(_PUBLIC_DECIDES), *self._results())
            return " ".join((*self.contradictions, *results))

    def _results(self) -> Iterator[str]:
        """Yield the sentences on the results of the checks that a decision may use."""
        failed, review = self._titles("fail"), self._titles("review")
        if failed:
            yield ngettext(
                "{count} check failed: {checks}.",
                "{count} checks failed: {checks}.",
                len(failed),
                **_named(failed),
            )
            yield _("Do not release the model as it is.")
        elif not review:
            yield _("All checks that were run passed.")
        else:
            yield _("No check failed.")
        if review:
            yield ngettext(
                "{count} check needs review: {checks}.",
                "{count} checks need review: {checks}.",
                len(review),
                **_named(review),
            )
        yield from self._missing()

    def _missing(self) -> Iterator[str]:
        """Yield the sentences on the checks that were not run."""
        missing = self._titles("not_run")
        if missing:
            yield ngettext(
                "{count} check was not run: {checks}.",
                "{count} checks were not run: {checks}.",
                len(missing),
                **_named(missing),
            )
        if self.decides and self.status == "not_run":
            yield _("An essential check was not run, so this sheet does not support a release.")

    @property
    def contradictions(self) -> tuple[str, ...]:
        """Contradictions between rows and the public sheet of a model with a guarantee. **Private**."""
        informative = {(check.key, check.status) for check in self.checks if check.informative}
        with in_language(self.language):
            return tuple(_(sentence) for case, sentence in _CONTRADICTIONS.items() if case in informative)

    def section(self, key: str) -> Section:
        """Return the section with this key; KeyError if there is none."""
        return {section.key: section for section in self.sections}[key]

    def number(self, key: str) -> int:
        """Return the number of the question of a section, counted from 1."""
        return [section.key for section in self.sections].index(key) + 1

    def to_dict(self) -> dict[str, Any]:
        """Return the whole sheet as JSON-ready data."""
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
            "not_examined": [check.key for check in self.by_status("not_run")],
            "checks": [check.to_dict() for check in self.checks],
            "sections": [section.to_dict() for section in self.sections],
        }


def _named(titles: Sequence[str]) -> dict[str, str]:
    """Return the titles of checks as a value of a message, at most four of them."""
    rest = len(titles) - _NAMED
    more = [ngettext("{count} more", "{count} more", rest)] if rest > 0 else []
    return {"checks": enumerated([*titles[:_NAMED], *more])}


_PUBLIC_DECIDES = N_(
    "Decide by the public sheet. The guarantee does not cover a decision, such as a release or a choice between "
    "models, that depends on the exact numbers of this sheet. Results of the public sheet:"
)
_BOARD_DECIDES = N_(
    "This sheet does not support a release: the model has no guarantee, and this sheet does not examine what the model "
    "discloses. The measurements are on the board's sheet."
)
_CONTRADICTIONS: dict[tuple[str, Status], str] = {
    ("counts", "fail"): N_(
        "The given rows are not the training rows of this model, so the numbers about rows on this sheet do not "
        "describe it."
    ),
    ("declared-values", "review"): N_(
        "Bounds or cut points of the schema were probably computed from the rows, and the guarantee does not cover "
        "them. First find out where they come from."
    ),
    ("identifiers", "fail"): N_(
        "The form is wrong: a person has more rows than it states. Correct the form and make the public sheet again."
    ),
    ("identifiers", "review"): N_(
        "A column looks like an identifier of persons with several rows. First settle how many rows a person can have, "
        "because the public sheet depends on it."
    ),
}
_NAMED = 4  # checks of a status that a headline names
_WIDE = 45  # characters of a fact that takes up the width of a printed page
_FEW = 5  # rows and columns of a table that is not printed in two columns
_LONGEST_WORD = 24  # characters of a word that a column has room for; longer words may be broken
_PARTS = ("question", "answer", "notes", "words", "measure")


def page(sheet: Sheet) -> str:
    with in_language(sheet.language):
        return rendered("sheet.html", sheet=sheet)


def json_text(data: Mapping[str, Any]) -> str:
    """Return JSON-ready data as the text of a file."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def rendered(template: str, **values: Any) -> str:
    """Return a template with inserted values, which HTML templates escape."""
    return _templates().get_template(template).render(values)


def section(
    key: str, facts: Iterable[SheetLine] = (), grids: Iterable[Grid] = (), *, template: str = "", **values: Any
) -> Section:
    """Return a section with the sentences of its template; an empty line separates paragraphs."""
    module = _templates().get_template(f"{template or key}.txt").make_module(values)
    question, answer, notes, words, measure = (_paragraphs(getattr(module, part, "")) for part in _PARTS)
    return Section(
        key, " ".join(question), " ".join(answer), tuple(facts), tuple(grids), notes, words, " ".join(measure)
    )


def _paragraphs(text: str) -> tuple[str, ...]:
    # `str.split` would remove the spaces before percent signs that must not break a line.
    words = (re.findall(r"[^ \n]+", paragraph) for paragraph in text.split("\n\n"))
    return tuple(" ".join(paragraph) for paragraph in words if paragraph)


@cache
def _templates() -> "Environment":
    folder = Path(__file__).with_name("templates")
    return templates(
        folder,
        cell_text=_cell_text,
        day=long_date,
        enumerated=enumerated,
        text_of=text_of,
        line=_line,
        is_long=_is_long,
        wide=_WIDE,
    )


def _cell_text(cell: GridValue) -> str:
    if isinstance(cell, (int, float)):
        return number(cell) if isinstance(cell, int) else decimal(cell, 3)
    return shortened(text_of(cell)) or "–"


def _line(text: str) -> str:
    """Return text as one printable line of a file of plain text."""
    return printable(" ".join(text.split()))


def shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_long(cell: GridValue) -> bool:
    return not isinstance(cell, (int, float)) and any(len(word) > _LONGEST_WORD for word in text_of(cell).split())
