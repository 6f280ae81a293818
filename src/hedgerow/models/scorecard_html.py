"""Scorecards as HTML: a form to fill in by hand, and the probabilities of totals."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from hedgerow.models.points import PointBin
from hedgerow.models.sheet import Sheet
from hedgerow.values import printable

_TABLE = "<table style='border-collapse:collapse;margin:1em 0'>"
_GROUP = "<tr style='border-top:1px solid silver'>"
_LEFT = " style='text-align:left;vertical-align:top;padding:0.15em 1em 0.15em 0'"
_NUMBER = " style='text-align:right;padding:0.15em 1em'"
_BOX = " style='border:2px solid;min-width:4em;height:1.6em;text-align:center'"


def form_html(sheet: Sheet) -> str:
    """Return the points with an empty box for each attribute and for the total, and the probabilities of totals."""
    boxes = [f"<th>{escape(title)}</th>" for title in (["your points"] if sheet.is_binary else sheet.columns)]
    titles = [f"<th{_NUMBER}>{escape(title)}</th>" for title in sheet.columns]
    head = f"<tr><th{_LEFT}>attribute</th><th{_LEFT}>bin</th>{''.join([*titles, *boxes])}</tr>"
    rows = [row for bins in sheet.bins for row in _rows(bins, len(sheet.base))]
    blank = f"<td></td>{'<td></td>' * len(sheet.base)}"
    base = "".join(f"<td{_BOX}>{points}</td>" for points in sheet.base)
    rows.append(f"{_GROUP}<th{_LEFT}>base</th>{blank}{base}</tr>")
    rows.append(f"<tr><th{_LEFT}>total</th>{blank}{_boxes(1, len(sheet.base))}</tr>")
    said = "".join(f"<p>{escape(note)}</p>" for note in sheet.notes)
    risks = _table(sheet.risk_lines) if sheet.is_binary else ""
    title = f"<h3>{escape(sheet.title)}</h3>"
    return f"{title}{_TABLE}<thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>{risks}{said}"


def _rows(bins: Sequence[PointBin], n_columns: int) -> list[str]:
    span, found = f" rowspan='{len(bins)}'" if len(bins) > 1 else "", list[str]()
    for place, one in enumerate(bins):
        points = "".join(f"<td{_NUMBER}>{number}</td>" for number in one.points)
        name = "" if place else f"<th{_LEFT}{span}>{escape(printable(one.attribute))}</th>"
        boxes = "" if place else _boxes(len(bins), n_columns)
        found.append(
            f"{'<tr>' if place else _GROUP}{name}<td{_LEFT}>{escape(printable(one.words))}</td>{points}{boxes}</tr>"
        )
    return found


def _boxes(n_rows: int, n_columns: int) -> str:
    return f"<td rowspan='{n_rows}'{_BOX}></td>" * n_columns


def _table(lines: Sequence[Sequence[str]]) -> str:
    head, *rows = [
        "".join(f"<{tag}{_NUMBER}>{escape(entry)}</{tag}>" for entry in line) for tag, line in _tagged(lines)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"{_TABLE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _tagged(lines: Sequence[Sequence[str]]) -> list[tuple[str, Sequence[str]]]:
    return [("td" if place else "th", line) for place, line in enumerate(lines)]
