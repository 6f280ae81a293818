"""Lines of printed scorecards: bins with the same points in one line, with the interval of the points by the noise."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from hedgerow.models.leaf_release import Support
from hedgerow.models.points import NORMAL_95, AttributePoints, PointBin, PointErrors, Points
from hedgerow.text.values import printable, quoted_text

TOO_FEW = "too few rows"
ROWS = "rows"
BY_NOISE = "95 % by noise"  # the title of a column of intervals
_NOTES = (
    f"{BY_NOISE}: where a fit of the same rows without noise is expected.",
    "These intervals count neither sampling nor how related attributes share points.",
)
_ROWS_NOTE = f"{ROWS}: the released number of rows, rounded to the digits that its noise leaves (95 %)."
_TOO_FEW_NOTE = f"{TOO_FEW}, or *: the released rows are within noise of none; the points are of other bins, or 0."


@dataclass(frozen=True)
class PointLine:
    """A line of a printed scorecard: a bin, neighbouring intervals, or categories that have the same points.

    Attributes
    ----------
    bins : tuple of PointBin
        The bins; several if they are categories.
    errors : tuple of float or None
        The standard errors of the points, the largest of its bins that have enough rows. None if they are unknown.
    has_rows : tuple of bool
        For each of `bins`, False if no part of it has enough rows for points of its own.
    support : Support
        The released rows of all of them together.
    """

    bins: tuple[PointBin, ...]
    errors: PointErrors | None
    has_rows: tuple[bool, ...]
    support: Support

    @property
    def attribute(self) -> str:
        """The attribute's name."""
        return self.bins[0].attribute

    @property
    def points(self) -> Points:
        """The points."""
        return self.bins[0].points

    @property
    def is_ordered(self) -> bool:
        """True if it is an interval, or values in an order."""
        return self.bins[0].stop <= self.bins[0].declared.n_ordered

    @property
    def is_supported(self) -> bool:
        """True if some of its bins have enough rows for points of their own."""
        return any(self.has_rows)

    @property
    def labels(self) -> list[str]:
        """The names of its bins as a printed table has them; those with too few rows are marked."""
        return [self._marked(one.label, has) for one, has in zip(self.bins, self.has_rows, strict=True)]

    @property
    def words(self) -> str:
        """The names of its bins as a form to fill in has them."""
        return ", ".join(self._marked(one.words, has) for one, has in zip(self.bins, self.has_rows, strict=True))

    def _marked(self, name: str, has_rows: bool) -> str:
        text = printable(quoted_text(name) if "," in name and len(self.bins) > 1 else name)
        return f"{text}{'' if has_rows or not self.is_supported else '*'}"

    def label(self, longest: int | None = None) -> str:
        """Return the names of its bins, as many as have room in `longest` characters."""
        names = self.labels
        for shown in range(len(names), 1, -1):
            more = f" and {len(names) - shown} more" if shown < len(names) else ""
            text = ", ".join(names[:shown]) + more
            if longest is None or len(text) <= longest:
                return text
        return names[0] + (f" and {len(names) - 1} more" if len(names) > 1 else "")

    @property
    def margins(self) -> tuple[int, ...] | None:
        """Half the length of the 95 % interval of each of the points by the noise, in whole points, rounded up."""
        if self.errors is None or not self.is_supported:
            return None
        return tuple(ceil(NORMAL_95 * error) for error in self.errors)

    @property
    def intervals(self) -> list[str]:
        """The intervals as text, one for each of the points; the only place that decides how they are written."""
        if not self.is_supported:
            return [TOO_FEW] * len(self.points)
        return [""] * len(self.points) if self.margins is None else [f"±{margin}" for margin in self.margins]


def point_lines(part: AttributePoints, bins: Sequence[PointBin]) -> tuple[PointLine, ...]:
    """Return the lines of an attribute; known categories with the same points are one line."""
    together = dict[object, list[PointBin]]()
    for place, one in enumerate(bins):
        is_category = one.is_known and one.start >= one.declared.n_ordered
        together.setdefault(one.points if is_category else place, []).append(one)
    return tuple(_line(part, tuple(ones)) for ones in together.values())


def _line(part: AttributePoints, bins: tuple[PointBin, ...]) -> PointLine:
    without = set(part.unsupported)
    places = [place for one in bins for place in range(one.start, one.stop)]
    held = [place for place in places if place not in without] or places
    errors = None if part.errors is None else tuple(map(max, zip(*(part.errors[place] for place in held), strict=True)))
    return PointLine(bins, errors, tuple(map(part.has_support, bins)), part.support(places))


@dataclass(frozen=True)
class PointTable:
    """All lines of a scorecard.

    Attributes
    ----------
    lines : tuple of tuple of PointLine
        The lines of each attribute.
    """

    lines: tuple[tuple[PointLine, ...], ...]

    @cached_property
    def has_intervals(self) -> bool:
        """True if the noise on some points is known, or some bins have too few rows."""
        return any(one.errors is not None for lines in self.lines for one in lines) or self._has_too_few

    @cached_property
    def has_rows(self) -> bool:
        """True if rows of some bins were released."""
        return any(one.support.rows is not None for lines in self.lines for one in lines)

    @property
    def _has_noisy_rows(self) -> bool:
        supports = (one.support for lines in self.lines for one in lines)
        return any(one.rows is not None and not one.is_exact for one in supports)

    @property
    def _has_too_few(self) -> bool:
        return not all(has for lines in self.lines for one in lines for has in one.has_rows)

    def notes(self, *, has_interval: bool) -> list[str]:
        """Return what intervals mean, if there are any; `has_interval` says that totals have them."""
        found = _NOTES if has_interval or any(one.margins for lines in self.lines for one in lines) else ()
        return [
            *found,
            *([_ROWS_NOTE] if self._has_noisy_rows else []),
            *([_TOO_FEW_NOTE] if self._has_too_few else []),
        ]

    def cells(self, line: PointLine) -> list[str]:
        """Return the points of a line as text, each followed by its interval, if there are intervals; then its rows."""
        return self._with([str(points) for points in line.points], line.intervals, line.support.cell)

    def base_cells(self, base: Points) -> list[str]:
        """Return the points that every row starts with, in the columns of `cells`."""
        return self._with([str(points) for points in base], [""] * len(base), "")

    def titles(self, columns: Sequence[str]) -> list[str]:
        """Return the titles of `cells`."""
        return self._with(columns, [BY_NOISE if len(columns) == 1 else "±"] * len(columns), ROWS)

    def _with(self, cells: Sequence[str], intervals: Sequence[str], rows: str) -> list[str]:
        last = [rows] if self.has_rows else []
        if not self.has_intervals:
            return [*cells, *last]
        return [*(text for pair in zip(cells, intervals, strict=True) for text in pair), *last]
