"""Pages and sentences of reports, made of templates: `templates/sheet.html` is the page, a text has each section."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.report.contents import Cell, Fact, Grid, Section, Sheet
from hedgerow.text.messages import number_of
from hedgerow.text.pages import templates

if TYPE_CHECKING:
    from jinja2 import Environment

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
