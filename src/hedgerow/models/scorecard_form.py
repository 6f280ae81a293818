"""Scorecards as text and as HTML."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

import numpy as np

from hedgerow.boundary.arrays import Whole
from hedgerow.models.point_lines import BY_NOISE, Folding, PointLine
from hedgerow.models.point_totals import ListedTotal, PointTotals
from hedgerow.text.language import _, ngettext, pgettext
from hedgerow.text.markup import Html, element
from hedgerow.text.messages import aligned
from hedgerow.text.values import printable

_WIDEST = 40  # the width in characters to which a column of text is aligned; longer names and classes exceed it


def card_text(totals: PointTotals, folding: Folding) -> str:
    """Return the points of the displayed attributes, the base, and the meaning of totals as text."""
    table = totals.table
    titles = table.titles(totals.columns)
    blank = [""] * len(titles)
    rows = [[_("attribute"), _("bin"), *titles]]
    for lines in folding.shown:
        for place, line in enumerate(lines):
            label = line.label()
            first, *rest = wrap(label, _WIDEST, break_on_hyphens=False) if len(line.bins) > 1 else [label]
            rows.append(["" if place else printable(line.attribute), first, *table.cells(line)])
            rows += [["", part, *blank] for part in rest]
    if folding.n_folded:
        rows.append([ngettext("{count} more", "{count} more", folding.n_folded), _("(folded)"), *blank])
    rows.append([pgettext("scorecard", "base"), "", *table.base_cells(totals.base)])
    below = [*totals.lead, ""] if totals.lead else []
    notes = [] if totals.has_one_total else totals.notes
    if totals.has_one_total:
        below += aligned(risk_lines(totals), 0, _WIDEST)
        notes = ["", *table_notes] if (table_notes := table.notes(has_interval=totals.has_intervals)) else []
    return "\n".join([*aligned(rows, 2, _WIDEST), "", *below, *notes])


def risk_lines(totals: PointTotals) -> list[list[str]]:
    titles = [pgettext("scorecard", "total"), totals.meaning, *([_(BY_NOISE)] if totals.has_intervals else [])]
    rows = (
        [str(risk.total), risk.shown, *([_interval(risk)] if totals.has_intervals else [])] for risk in totals.risks
    )
    return [titles, *rows]


def _interval(risk: ListedTotal) -> str:
    low, high = risk.ends
    return _("{low} to {high}", low=low, high=high)


def row_texts(totals: PointTotals, codes: Mapping[str, Whole], classes: Whole) -> list[str]:
    """Return the terms of each row's total: the base, then the points of the row's bin for each attribute."""
    texts = [np.array([f"base: {points:+d}" for points in totals.base], dtype=object)[classes]]
    for bins in totals.bins:
        by_bin = list[list[str]]()
        for part in bins:
            words = f"{printable(part.attribute)} {printable(part.words)}"
            by_bin += [[f"{words}: {points:+d}" for points in part.points]] * (part.stop - part.start)
        texts.append(np.array(by_bin, dtype=object)[codes[bins[0].attribute], classes])
    return ["; ".join(row) for row in zip(*texts, strict=True)]


_TABLE = "border-collapse:collapse;margin:1em 0"
_GROUP = "border-top:1px solid silver"
_LEFT = "text-align:left;vertical-align:top;padding:0.15em 1em 0.15em 0"
_NUMBER = "text-align:right;padding:0.15em 1em"
_BOX = "border:2px solid;min-width:4em;height:1.6em;text-align:center"


def form_html(totals: PointTotals) -> Html:
    boxes = [_("your points")] if totals.has_one_total else totals.columns
    titles = [element("th", name, style=_LEFT) for name in (_("attribute"), _("bin"))]
    titles += [element("th", title, style=_NUMBER) for title in totals.table.titles(totals.columns)]
    rows = [row for lines in totals.table.lines for row in _rows(lines, totals)]
    blank = [element("td")] * (len(titles) - 1)
    base = [element("td", str(points), style=_BOX) for points in totals.base]
    rows.append(element("tr", element("th", pgettext("scorecard", "base"), style=_LEFT), *blank, *base, style=_GROUP))
    rows.append(
        element("tr", element("th", pgettext("scorecard", "total"), style=_LEFT), *blank, *_boxes(1, len(totals.base)))
    )
    points = _table(element("tr", *titles, *(element("th", title) for title in boxes)), rows)
    notes = [element("p", note) for note in totals.notes]
    parts = [element("h3", totals.title), points, *([_risks(totals)] if totals.has_one_total else []), *notes]
    return Html("".join(parts))


def _rows(lines: Sequence[PointLine], totals: PointTotals) -> list[Html]:
    rows = list[Html]()
    for place, line in enumerate(lines):
        cells = [element("td", line.words, style=_LEFT)]
        cells += [element("td", text, style=_NUMBER) for text in totals.table.cells(line)]
        if place == 0:
            name = element("th", printable(line.attribute), style=_LEFT, rowspan=str(len(lines)))
            cells = [name, *cells, *_boxes(len(lines), len(totals.base))]
        rows.append(element("tr", *cells, **({} if place else {"style": _GROUP})))
    return rows


def _boxes(n_rows: int, n_columns: int) -> list[Html]:
    return [element("td", rowspan=str(n_rows), style=_BOX)] * n_columns


def _risks(totals: PointTotals) -> Html:
    head, *rows = (
        element("tr", *(element("td" if place else "th", entry, style=_NUMBER) for entry in line))
        for place, line in enumerate(risk_lines(totals))
    )
    return _table(head, rows)


def _table(head: Html, rows: Sequence[Html]) -> Html:
    return element("table", element("thead", head), element("tbody", *rows), style=_TABLE)
