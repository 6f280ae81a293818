"""Scorecards as text, and as forms to print and to fill in by hand: as a figure, and as HTML."""

import re
from collections.abc import Mapping, Sequence
from textwrap import TextWrapper, wrap
from typing import Any

import numpy as np

from hedgerow.boundary.arrays import Whole
from hedgerow.errors import ArgumentError
from hedgerow.models.plot import check_matplotlib, plain, shortened
from hedgerow.models.point_lines import BY_NOISE, TOO_FEW, PointLine
from hedgerow.models.point_totals import PointTotals
from hedgerow.text.axes import Axes
from hedgerow.text.markup import Html, element
from hedgerow.text.messages import aligned
from hedgerow.text.values import printable

_WIDEST = 40  # characters to which a column of text is aligned; longer names and classes stand out
_MOST_BINS, _MOST_CLASSES = 150, 6
_MOST_WITH_INTERVALS, _BESIDE = 3, 0.18  # columns of points that leave room for intervals, and where these begin
_WIDTH, _LINE, _SMALL = 8.0, 0.27, 0.19  # inches: the form, a line, a line below it
_PAGE = 10.6  # inches from top to bottom for which A4 and US letter have room
_SCALES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5)  # of text and lines; the first with which the form is on one page
_CHARACTERS, _TINY, _LEAST = 28, 7.5, 6.0  # in a line for the names of bins; points of small, and of scaled text
_RISKS, _BIN, _FIRST, _LAST = 2.05, 2.3, 4.7, 7.8  # from the left: risks, bins, columns of points, the right margin
_BREAKS = re.compile(r"(\s+)|(?<=[_-])")  # where a name that is too long may be broken
_INK, _FAINT, _SHADE = "0.1", "0.45", "0.95"


def card_text(totals: PointTotals) -> str:
    table = totals.table
    titles = table.titles(totals.columns)
    blank = [""] * len(titles)
    rows = [["attribute", "bin", *titles]]
    for lines in table.lines:
        for place, one in enumerate(lines):
            first, *others = wrap(one.label(), _WIDEST, break_on_hyphens=False) if len(one.bins) > 1 else [one.label()]
            rows.append(["" if place else printable(one.attribute), first, *table.cells(one)])
            rows += [["", other, *blank] for other in others]
    rows.append(["base", "", *table.base_cells(totals.base)])
    below = [*totals.lead, ""] if totals.lead else []
    notes = [] if totals.has_one_total else totals.notes
    if totals.has_one_total:
        below += aligned(risk_lines(totals), 0, _WIDEST)
        notes = ["", *found] if (found := table.notes(has_interval=totals.has_intervals)) else []
    return "\n".join([*aligned(rows, 2, _WIDEST), "", *below, *notes])


def risk_lines(totals: PointTotals) -> list[list[str]]:
    titles = ["total", totals.meaning, *([BY_NOISE] if totals.has_intervals else [])]
    rows = ([str(x.total), x.shown, *([" to ".join(x.ends)] if totals.has_intervals else [])] for x in totals.risks)
    return [titles, *rows]


def row_texts(totals: PointTotals, codes: Mapping[str, Whole], classes: Whole) -> list[str]:
    """Return how the total of each row comes about: the base, then the points of its bin of each attribute."""
    texts = [np.array([f"base: {points:+d}" for points in totals.base], dtype=object)[classes]]
    for bins in totals.bins:
        by_bin = list[list[str]]()
        for one in bins:
            said = [f"{printable(one.attribute)} {printable(one.words)}: {points:+d}" for points in one.points]
            by_bin += [said] * (one.stop - one.start)
        texts.append(np.array(by_bin, dtype=object)[codes[bins[0].attribute], classes])
    return ["; ".join(row) for row in zip(*texts, strict=True)]


def draw_form(totals: PointTotals, caption: str, ax: Axes | None) -> Axes:
    """Draw the points with a box to fill in for each attribute, the total, and the probabilities of totals."""
    check_matplotlib()
    import matplotlib.pyplot as plt

    n_bins = sum(map(len, totals.table.lines))
    if n_bins > _MOST_BINS or len(totals.base) > _MOST_CLASSES:
        expected = f"expected at most {_MOST_BINS} bins, and {_MOST_CLASSES} classes, on a form to fill in by hand"
        got = f"got {n_bins:,} with {len(totals.classes):,} classes"
        advice = "declare fewer cut points or values, or export the model as HTML, SQL or Python"
        raise ArgumentError(f"{expected}, {got}; {advice}.")
    forms = (_Form(totals, caption, scale) for scale in (_SCALES if ax is None else _SCALES[:1]))
    form = next((one for one in forms if one.height * one.scale <= _PAGE), _Form(totals, caption, _SCALES[-1]))
    if ax is None:
        _, ax = plt.subplots(figsize=(_WIDTH, form.height * form.scale))
        ax.set_position((0, 0, 1, 1))
    ax.set_xlim(0, _WIDTH)
    ax.set_ylim(form.height, 0)
    ax.set_axis_off()
    form.draw(ax)
    return ax


class _Form:
    """A form that is drawn from top to bottom. Places are in inches; those from the top are before scaling."""

    ax: Axes

    def __init__(self, totals: PointTotals, caption: str, scale: float) -> None:
        self.totals, self.scale = totals, scale
        notes = [shortened(note, 400) for note in [*totals.notes, caption]]
        self.below = [text for note in notes for text in wrap(note, int(105 / scale))]
        strip = 0.7 + len(_strip(totals)) if totals.has_one_total else 0
        lines = sum(self._height(one) for lines in totals.table.lines for one in lines)
        self.height = 0.5 + lines + _LINE * (strip + 5) + _SMALL * len(self.below)
        n_columns = len(totals.base)
        first = _FIRST if n_columns == 1 else _FIRST - 0.3
        step = (_LAST - first) / (2 * n_columns)
        self.points = [first + step * (k + 0.5) for k in range(n_columns)]
        self.boxes = [first + step * (n_columns + k) + 0.06 for k in range(n_columns)]
        self.box = step - 0.06
        self.y = 0.3

    def _wrapped(self, text: str, width: float, most: int) -> list[str]:
        return _wrapped(text, int(width / self.scale), most)

    def _words(self, line: PointLine) -> list[str]:
        """Return the lines of text that name the bins of a line of the form."""
        if len(line.bins) == 1:
            return [shortened(line.words, int(_CHARACTERS / self.scale))]
        return wrap(line.words, int(_CHARACTERS / self.scale), break_on_hyphens=False)

    def _height(self, line: PointLine) -> float:
        return _LINE + _SMALL * (len(self._words(line)) - 1)

    def draw(self, ax: Axes) -> None:
        self.ax = ax
        self._heads()
        for number, lines in enumerate(self.totals.table.lines):
            self._attribute(lines, shaded=number % 2 == 0)
        self._sum("base", list(map(str, self.totals.base)))
        self._rule(self.y)
        self._sum("total", [""] * len(self.totals.base), strong=True)
        if self.totals.has_one_total:
            self._risks()
        self.y += 0.5 * _LINE
        for line in self.below:
            self._text(0.2, line, size=8, color=_FAINT)
            self.y += _SMALL

    def _text(self, x: float, text: str, *, size: float = 10, color: str = _INK, **style: Any) -> None:
        self.ax.text(
            x,
            self.y,
            plain(text),
            fontsize=max(size * self.scale, min(size, _LEAST)),
            color=color,
            va="center",
            **style,
        )

    def _rule(self, y: float) -> None:
        self.ax.plot([0.2, _LAST], [y, y], color=_INK, lw=0.8 * self.scale)

    def _box(self, x: float, y: float, width: float, height: float, *, strong: bool = False) -> None:
        from matplotlib.patches import Rectangle

        weight = (1.8 if strong else 0.8) * self.scale
        self.ax.add_patch(Rectangle((x, y), width, height, facecolor="white", edgecolor=_INK, lw=weight, zorder=2))

    def _heads(self) -> None:
        self._text(0.2, shortened(self.totals.title, 60), size=14, weight="bold")
        self.y += 1.5 * _LINE
        titles = ["\n".join(self._wrapped(one, self.box / 0.055, 2)) for one in self.totals.columns]
        for x, one in zip(self.points, titles, strict=True):
            self._text(x, one, size=_TINY, color=_FAINT, ha="center")
        for x, one in zip(self.boxes, ["your points"] if self.totals.has_one_total else titles, strict=True):
            self._text(x + self.box / 2, one, size=_TINY, color=_FAINT, ha="center")
        self.y += 0.6 * _LINE
        self._rule(self.y)

    def _attribute(self, lines: Sequence[PointLine], *, shaded: bool) -> None:
        top, height = self.y, sum(map(self._height, lines))
        if shaded:
            self.ax.fill_between([0.2, _LAST], top, top + height, color=_SHADE, lw=0, zorder=0)
        name = self._wrapped(printable(lines[0].attribute), 22, max(int((height - _LINE) / _SMALL) + 1, 1))
        for place, text in enumerate(name):
            self.y = top + 0.5 * _LINE + place * (_LINE if len(name) <= len(lines) else _SMALL)
            self._text(0.28, text, weight="bold")
        self.y = top
        for one in lines:
            self._line(one)
        tall = min(height, 1.4 * _LINE) - 0.06
        for x in self.boxes:
            self._box(x, top + (height - tall) / 2, self.box - 0.06, tall)
        self.y = top + height

    def _line(self, line: PointLine) -> None:
        top = self.y
        for place, text in enumerate(self._words(line)):
            self.y = top + 0.5 * _LINE + place * _SMALL
            self._text(_BIN, text)
        self.y = top + self._height(line) / 2
        for x, number in zip(self.points, line.points, strict=True):
            self._text(x, f"{number:+d}" if number else "0", ha="center")
        if len(self.points) <= _MOST_WITH_INTERVALS:
            for x, text in zip(self.points, line.intervals, strict=True):
                is_short = text != TOO_FEW
                shown = text if is_short or len(self.points) == 1 else "*"
                self._text(x + self.box * _BESIDE, shown, size=_TINY if is_short else _LEAST, color=_FAINT)
        self.y = top + self._height(line)

    def _sum(self, name: str, entries: Sequence[str], *, strong: bool = False) -> None:
        tall = (1.4 if strong else 1.0) * _LINE
        top, self.y = self.y + 0.04, self.y + 0.04 + tall / 2
        self._text(0.28, name, size=12 if strong else 10, weight="bold")
        for x, entry in zip(self.boxes, entries, strict=True):
            self._box(x, top, self.box - 0.06, tall - 0.05, strong=strong)
            self._text(x + self.box / 2 - 0.03, entry, ha="center")
        self.y = top + tall

    def _risks(self) -> None:
        lines = _strip(self.totals)
        self.y += 0.7 * _LINE
        top, step = self.y, (_LAST - _RISKS) / len(self.totals.risks)
        self.ax.fill_between([0.2, _LAST], top, top + _LINE, color=_SHADE, lw=0, zorder=0)
        for number, (name, entries) in enumerate(lines):
            self.y = top + (number + 0.5) * _LINE
            weight = "bold" if number < 2 else "normal"
            self._text(0.28, shortened(name, int(24 / self.scale)), size=8, weight=weight)
            for place, entry in enumerate(entries):
                self._text(_RISKS + step * (place + 0.5), entry, size=7.5, ha="center", weight=weight)
        self.y = top + len(lines) * _LINE
        self._rule(self.y)


def _strip(totals: PointTotals) -> list[tuple[str, list[str]]]:
    risks = totals.risks
    lines = [("total", [str(one.total) for one in risks]), (totals.meaning, [one.shown for one in risks])]
    if totals.has_intervals:
        lines.append((f"{BY_NOISE}, from", [one.ends[0] for one in risks]))
        lines.append(("to", [one.ends[1] for one in risks]))
    return lines


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """Return text in at most so many lines, broken between words and after _, the rest cut off."""
    wrapper = TextWrapper(width)
    wrapper.wordsep_re = _BREAKS
    lines = wrapper.wrap(shortened(text, 200))
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][: width - 1]}…"]


_TABLE = "border-collapse:collapse;margin:1em 0"
_GROUP = "border-top:1px solid silver"
_LEFT = "text-align:left;vertical-align:top;padding:0.15em 1em 0.15em 0"
_NUMBER = "text-align:right;padding:0.15em 1em"
_BOX = "border:2px solid;min-width:4em;height:1.6em;text-align:center"


def form_html(totals: PointTotals) -> Html:
    boxes = ["your points"] if totals.has_one_total else totals.columns
    titles = [element("th", name, style=_LEFT) for name in ("attribute", "bin")]
    titles += [element("th", title, style=_NUMBER) for title in totals.table.titles(totals.columns)]
    rows = [row for lines in totals.table.lines for row in _rows(lines, totals)]
    blank = [element("td")] * (len(titles) - 1)
    base = [element("td", str(points), style=_BOX) for points in totals.base]
    rows.append(element("tr", element("th", "base", style=_LEFT), *blank, *base, style=_GROUP))
    rows.append(element("tr", element("th", "total", style=_LEFT), *blank, *_boxes(1, len(totals.base))))
    points = _table(element("tr", *titles, *(element("th", title) for title in boxes)), rows)
    notes = [element("p", note) for note in totals.notes]
    parts = [element("h3", totals.title), points, *([_risks(totals)] if totals.has_one_total else []), *notes]
    return Html("".join(parts))


def _rows(lines: Sequence[PointLine], totals: PointTotals) -> list[Html]:
    found = list[Html]()
    for place, one in enumerate(lines):
        cells = [element("td", one.words, style=_LEFT)]
        cells += [element("td", text, style=_NUMBER) for text in totals.table.cells(one)]
        if place == 0:
            name = element("th", printable(one.attribute), style=_LEFT, rowspan=str(len(lines)))
            cells = [name, *cells, *_boxes(len(lines), len(totals.base))]
        found.append(element("tr", *cells, **({} if place else {"style": _GROUP})))
    return found


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
