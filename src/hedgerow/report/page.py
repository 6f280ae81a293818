"""The page of a sheet, to be read, printed and signed."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.report.contents import Cell, Sheet
from hedgerow.text.pages import templates

if TYPE_CHECKING:
    from jinja2 import Environment

_LONGEST_WORD = 24  # characters of a word that a column has room for; others may be broken


def page(sheet: Sheet) -> str:
    """Return a sheet as a page."""
    return environment().get_template("sheet.html").render(sheet=sheet)


@cache
def environment() -> Environment:
    """Return the templates of reports: the page, and the sentences of each section."""
    found = templates(Path(__file__).with_name("templates"))
    found.filters["cell"] = _cell
    found.tests["long"] = _is_long
    return found


def _cell(cell: Cell) -> str:
    if cell is None or cell == "":
        return "–"
    if isinstance(cell, (bool, str)):
        return str(cell)
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.3f}"


def _is_long(cell: Cell) -> bool:
    return isinstance(cell, str) and any(len(word) > _LONGEST_WORD for word in cell.split())
