"""Scorecards as a printed form of one page that people fill in by hand."""

import re
from collections.abc import Sequence
from textwrap import TextWrapper, wrap
from typing import Any

import numpy as np

from hedgerow.errors import ArgumentError
from hedgerow.models.plot import check_matplotlib, plain, shortened
from hedgerow.models.point_lines import BY_NOISE, ROWS, PointLine
from hedgerow.models.point_totals import PointTotals
from hedgerow.text.axes import Axes
from hedgerow.text.language import _, gettext_noop, pgettext
from hedgerow.text.values import printable

_MOST_BINS, _MOST_CLASSES = 150, 6
_MOST_WITH_INTERVALS, _BESIDE = 3, 0.18  # columns of points that leave room for intervals; position of the intervals
_WIDTH, _LINE, _SMALL = 8.0, 0.27, 0.19  # inches: the form, a line, a line below it
_PAGE = 10.6  # inches from top to bottom for which A4 and US letter have room
_CHARACTERS, _CHARACTERS_IN_HALF = 28, 25  # characters of a line of bin names, with one or two columns of attributes
_TINY, _LEAST = 7.5, 6.0  # points of small, and of scaled text
_DIGIT = 0.0103  # inches for a digit, and its share of the gap, for each point of its size
_RISKS, _BIN, _FIRST, _LEFT, _LAST = 2.05, 2.3, 4.7, 0.2, 7.8  # inches: risks, bins, columns of points, both margins
_POINTS, _NOISE, _ROWS, _BOX = 4.45, 0.3, 6.5, 6.66  # inches, with released rows: points, interval, rows, box
_GAP = 0.2  # inches between two columns of attributes
_LAYOUTS = ((1, 1.0), (1, 0.9), (1, 0.8), (1, 0.7), (2, 0.8), (2, 0.7), (2, 0.6), (1, 0.6), (2, 0.5), (1, 0.5))
"""Columns of attributes, and the scale of text and lines; the first layout with which the form is on one page."""
_BREAKS = re.compile(r"(\s+)|(?<=[^\W\d][_-])")  # the places at which a long name may be broken, but no date or number
_INK, _FAINT, _SHADE = "0.1", "0.45", "0.95"
_BLANKS = (
    (0.2, gettext_noop("case"), 3.3),
    (3.5, gettext_noop("date"), 5.2),
    (5.4, gettext_noop("filled in by"), _LAST),
)
"""Blanks to fill in: place of the title, title, and end of the line to write on, in inches."""
_HOW = gettext_noop(
    "For each attribute, write the points of the line that applies into the box. Then add up the boxes and the base."
)


def draw_form(totals: PointTotals, captions: Sequence[str], ax: Axes | None) -> Axes:
    """Draw the points with a box to fill in for each attribute, the total, and the probability for each total."""
    check_matplotlib()
    import matplotlib.pyplot as plt

    n_bins = sum(map(len, totals.table.lines))
    if n_bins > _MOST_BINS or len(totals.base) > _MOST_CLASSES:
        most = f"a form to fill in by hand has room for {_MOST_BINS} bins and {_MOST_CLASSES} classes"
        got = f"the scorecard has {n_bins:,} bins and {len(totals.classes):,} classes"
        advice = "Declare fewer cut points or values, or export the model as HTML, SQL or Python."
        raise ArgumentError(f"{most}, but {got}. {advice}")
    layouts = [layout for layout in _LAYOUTS if layout[0] == 1 or totals.has_one_total] if ax is None else _LAYOUTS[:1]
    forms = [_Form(totals, captions, *layout) for layout in layouts]
    form = next((form for form in forms if form.page <= _PAGE), min(forms, key=lambda form: form.page))
    if ax is None:
        _figure, ax = plt.subplots(figsize=(_WIDTH, form.page))
        ax.set_position((0, 0, 1, 1))
    ax.set_xlim(0, _WIDTH)
    ax.set_ylim(form.height, 0)
    ax.set_axis_off()
    form.draw(ax)
    return ax


class _Form:
    """A form that is drawn from top to bottom.

    Positions are in inches; vertical positions are before scaling. Positions within an attribute are for a form with
    one column of attributes, and `_x` moves them into the column of the attribute.
    """

    ax: Axes
    size = 10.0  # the size of numbers, which is smaller if the columns of several classes are narrow

    def __init__(self, totals: PointTotals, captions: Sequence[str], n_columns: int, scale: float) -> None:
        self.totals, self.scale, self.n_columns = totals, scale, n_columns
        notes = [shortened(note, 400) for note in [*totals.notes, *captions]]
        self.below = [text for note in notes for text in wrap(note, int(105 / scale))]
        self.narrow = ((_LAST - _LEFT + _GAP) / n_columns - _GAP) / (_LAST - _LEFT)  # a column's share of the width
        self.left = _LEFT
        self.has_rows = totals.has_one_total and totals.table.has_rows
        self._place_columns(len(totals.base))
        strip = 0.7 + len(self._strip()) if totals.has_one_total else 0
        self.parts = self._divided()
        lines = max(sum(map(self._attribute_height, part)) for part in self.parts) if totals.table.lines else 0
        self.height = 0.5 + lines + _LINE * (strip + 7.2) + _SMALL * len(self.below)
        self.y = 0.3

    def _place_columns(self, n: int) -> None:
        if self.has_rows:
            self.points, self.boxes, self.box = [_POINTS], [_BOX], _LAST - _BOX
            return
        first = _FIRST if n == 1 else _FIRST - 0.3
        step = (_LAST - first) / (2 * n)
        self.points = [first + step * (k + 0.5) for k in range(n)]
        self.boxes = [first + step * (n + k) + 0.06 for k in range(n)]
        self.box = step - 0.06
        numbers = [self.totals.base, *(line.points for lines in self.totals.table.lines for line in lines)]
        longest = max(len(f"{number:+d}") for own in numbers for number in own)
        self.size = min(self.size, step / (_DIGIT * longest)) if n > 1 else self.size

    @property
    def page(self) -> float:
        """The height of the page, in inches."""
        return self.height * self.scale

    def _divided(self) -> list[list[Sequence[PointLine]]]:
        """Return the attributes of each column: of two columns, such that the longer column is as short as possible."""
        lines: list[Sequence[PointLine]] = list(self.totals.table.lines)
        if self.n_columns == 1:
            return [lines]
        heights = list(map(self._attribute_height, lines))
        places = range(len(lines) + 1)
        middle = min(places, key=lambda place: max(sum(heights[:place]), sum(heights[place:])))
        return [lines[:middle], lines[middle:]]

    def _x(self, x: float) -> float:
        return self.left + (x - _LEFT) * self.narrow

    def _wrapped(self, text: str, width: float, most: int) -> list[str]:
        return _wrapped(text, int(width * self.narrow / self.scale), most)

    def _words(self, line: PointLine) -> list[str]:
        """Return the lines of text that name the bins of a line of the form."""
        most = _CHARACTERS if self.n_columns == 1 else _CHARACTERS_IN_HALF
        if len(line.bins) == 1:
            return self._wrapped(line.words, most, self.n_columns)
        return wrap(line.words, int(most * self.narrow / self.scale), break_on_hyphens=False)

    def _height(self, line: PointLine) -> float:
        return _LINE + _SMALL * (len(self._words(line)) - 1)

    def _attribute_height(self, lines: Sequence[PointLine]) -> float:
        return sum(map(self._height, lines))

    def draw(self, ax: Axes) -> None:
        self.ax = ax
        self._heads()
        top, lowest = self.y, self.y
        for place, part in enumerate(self.parts):
            self.y, self.left = top, _LEFT + place * (self.narrow * (_LAST - _LEFT) + _GAP)
            if part:
                self._column_titles()
            for number, lines in enumerate(part):
                self._attribute(lines, shaded=number % 2 == 0)
            lowest = max(lowest, self.y)
        self.y, self.left, self.narrow = lowest, _LEFT, 1.0
        self._sum(pgettext("scorecard", "base"), list(map(str, self.totals.base)))
        self._rule(self.y)
        self._sum(pgettext("scorecard", "total"), [""] * len(self.totals.base), strong=True)
        if self.totals.has_one_total:
            self._risks()
        self.y += 0.5 * _LINE
        for line in self.below:
            self._text(_LEFT, line, size=8, color=_FAINT)
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

    def _rule(self, y: float, start: float = _LEFT, stop: float = _LAST) -> None:
        self.ax.plot([start, stop], [y, y], color=_INK, lw=0.8 * self.scale)

    def _box(self, x: float, y: float, width: float, height: float, *, strong: bool = False) -> None:
        from matplotlib.patches import Rectangle

        weight = (1.8 if strong else 0.8) * self.scale
        self.ax.add_patch(Rectangle((x, y), width, height, facecolor="white", edgecolor=_INK, lw=weight, zorder=2))

    def _heads(self) -> None:
        self._text(_LEFT, shortened(self.totals.title, 60), size=14, weight="bold")
        self.y += 1.3 * _LINE
        for x, title, stop in _BLANKS:
            text = _(title)
            self._text(x, text, size=8, color=_FAINT)
            self._rule(self.y + 0.09, x + 0.25 + 0.06 * len(text), stop)
        self.y += 1.1 * _LINE
        self._text(_LEFT, _(_HOW), size=8)
        self.y += 1.3 * _LINE

    def _column_titles(self) -> None:
        titles = ["\n".join(self._wrapped(title, self.box / 0.055, 2)) for title in self.totals.columns]
        for x, title in zip(self.points, titles, strict=True):
            self._text(self._x(x), title, size=_TINY, color=_FAINT, ha="center")
        if self.has_rows:
            self._text(self._x(_ROWS), _(ROWS), size=_TINY, color=_FAINT, ha="right")
        for x, title in zip(self.boxes, [_("your points")] if self.totals.has_one_total else titles, strict=True):
            self._text(self._x(x + self.box / 2), title, size=_TINY, color=_FAINT, ha="center")
        self.y += 0.6 * _LINE
        self._rule(self.y, self._x(_LEFT), self._x(_LAST))

    def _attribute(self, lines: Sequence[PointLine], *, shaded: bool) -> None:
        top, height = self.y, self._attribute_height(lines)
        if shaded:
            ends = [self._x(_LEFT), self._x(_LAST)]
            self.ax.fill_between(ends, top, top + height, color=_SHADE, lw=0, zorder=0)
        name = self._wrapped(printable(lines[0].attribute), 20, max(int((height - _LINE) / _SMALL) + 1, 1))
        for place, text in enumerate(name):
            self.y = top + 0.5 * _LINE + place * (_LINE if len(name) <= len(lines) else _SMALL)
            self._text(self._x(0.28), text, weight="bold")
        self.y = top
        for line in lines:
            self._line(line)
        tall = min(height, 1.4 * _LINE) - 0.06
        for x in self.boxes:
            self._box(self._x(x), top + (height - tall) / 2, (self.box - 0.06) * self.narrow, tall)
        self.y = top + height

    def _line(self, line: PointLine) -> None:
        top = self.y
        for place, text in enumerate(self._words(line)):
            self.y = top + 0.5 * _LINE + place * _SMALL
            self._text(self._x(_BIN), text)
        self.y = top + self._height(line) / 2
        for x, number in zip(self.points, line.points, strict=True):
            self._text(self._x(x), f"{number:+d}" if number else "0", size=self.size, ha="center")
        if len(self.points) <= _MOST_WITH_INTERVALS:
            for x, text in zip(self.points, line.intervals, strict=True):
                self._interval(x, text, is_short=line.is_supported)
        if self.has_rows:
            self._text(self._x(_ROWS), line.support.cell, size=_TINY, color=_FAINT, ha="right")
        self.y = top + self._height(line)

    def _interval(self, x: float, text: str, *, is_short: bool) -> None:
        has_room = is_short or (len(self.points) == 1 and self.n_columns == 1 and not self.has_rows)
        size, beside = _TINY if is_short else _LEAST, _NOISE if self.has_rows else self.box * _BESIDE
        self._text(self._x(x + beside), text if has_room else "*", size=size, color=_FAINT)

    def _sum(self, name: str, entries: Sequence[str], *, strong: bool = False) -> None:
        tall = (1.4 if strong else 1.0) * _LINE
        top, self.y = self.y + 0.04, self.y + 0.04 + tall / 2
        self._text(0.28, name, size=12 if strong else 10, weight="bold")
        for x, entry in zip(self.boxes, entries, strict=True):
            self._box(x, top, self.box - 0.06, tall - 0.05, strong=strong)
            self._text(x + self.box / 2 - 0.03, entry, size=self.size, ha="center")
        self.y = top + tall

    def _risks(self) -> None:
        lines = self._strip()
        self.y += 0.7 * _LINE
        top, step = self.y, (_LAST - _RISKS) / len(self.totals.risks)
        self.ax.fill_between([_LEFT, _LAST], top, top + _LINE, color=_SHADE, lw=0, zorder=0)
        for number, (name, entries) in enumerate(lines):
            self.y = top + (number + 0.5) * _LINE
            weight = "bold" if number < 2 else "normal"
            self._text(0.28, shortened(name, int(24 / self.scale)), size=8, weight=weight)
            for place, entry in enumerate(entries):
                self._text(_RISKS + step * (place + 0.5), entry, size=7.5, ha="center", weight=weight)
        self.y = top + len(lines) * _LINE
        self._rule(self.y)

    def _strip(self) -> list[tuple[str, list[str]]]:
        """Return the lines of the table of totals: probabilities, intervals, and classes if there is room for them."""
        totals, risks = self.totals, self.totals.risks
        lines = [
            (pgettext("scorecard", "total"), [str(risk.total) for risk in risks]),
            (totals.meaning, [risk.shown for risk in risks]),
        ]
        if totals.has_intervals:
            lines.append((_("{interval}, from", interval=_(BY_NOISE)), [risk.ends[0] for risk in risks]))
            lines.append((pgettext("end of an interval", "to"), [risk.ends[1] for risk in risks]))
        room = (_LAST - _RISKS) / len(risks) / (0.075 * max(self.scale, _LEAST / _TINY))
        if totals.classes and max(map(len, totals.classes)) <= room:
            places = totals.places(np.array([risk.total for risk in risks]))
            lines.append((pgettext("class", "predicted"), [totals.classes[place] for place in places]))
        return lines


def _wrapped(text: str, width: int, most: int) -> list[str]:
    """Return text in at most `most` lines, broken between words and after _ or -; longer text is truncated."""
    wrapper = TextWrapper(width)
    wrapper.wordsep_re = _BREAKS
    lines = wrapper.wrap(shortened(text, 200))
    return lines if len(lines) <= most else [*lines[: most - 1], f"{lines[most - 1][: width - 1]}…"]
