"""Lines of printed scorecards: bins with the same points share a line, with the noise interval of the points."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil

from hedgerow.models.leaf_release import Support
from hedgerow.models.points import NORMAL_95, AttributePoints, PointBin, PointErrors, Points
from hedgerow.text.language import _, gettext_noop
from hedgerow.text.values import printable, quoted_text

TOO_FEW = gettext_noop("too few rows")
ROWS = gettext_noop("rows")
BY_NOISE = gettext_noop("95 % (noise only)")  # the title of a column of intervals
INTERVAL_NOTE = gettext_noop(
    "95 % (noise only): interval expected to contain the result of the same fit without noise."
)
_NOTES = (
    INTERVAL_NOTE,
    gettext_noop("It includes neither sampling error nor the division of points among correlated attributes."),
)
_ROWS_NOTE = gettext_noop("rows: released number of rows, rounded to the precision that the noise allows (95 %).")
_TOO_FEW_NOTE = gettext_noop(
    "too few rows or *: noise alone can produce this number of rows; the points come from other bins, or are 0."
)


@dataclass(frozen=True)
class PointLine:
    """A line of a printed scorecard: a bin, neighbouring intervals, or categories with the same points.

    Attributes
    ----------
    bins : tuple of PointBin
        The bins; several only if they are categories.
    errors : tuple of float or None
        The standard errors of the points: the largest among the bins with enough rows. None if they are unknown.
    has_rows : tuple of bool
        For each of `bins`, False if no part of it has enough rows for its own points.
    support : Support
        The released rows of all bins together.
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
        """True if the bins are intervals, or values of an ordered attribute."""
        return self.bins[0].stop <= self.bins[0].declared.n_ordered

    @property
    def is_supported(self) -> bool:
        """True if some of its bins have enough rows for their own points."""
        return any(self.has_rows)

    @property
    def labels(self) -> list[str]:
        """The names of its bins in a printed table; bins with too few rows are marked with an asterisk."""
        return [self._marked(run.label, has) for run, has in zip(self.bins, self.has_rows, strict=True)]

    @property
    def words(self) -> str:
        """The names of its bins in a form to fill in."""
        return ", ".join(self._marked(run.words, has) for run, has in zip(self.bins, self.has_rows, strict=True))

    def _marked(self, name: str, has_rows: bool) -> str:
        text = printable(quoted_text(name) if "," in name and len(self.bins) > 1 else name)
        return f"{text}{'' if has_rows or not self.is_supported else '*'}"

    def label(self, longest: int | None = None) -> str:
        """Return the names of its bins, shortened to `longest` characters."""
        names = self.labels
        for shown in range(len(names), 1, -1):
            text = ", ".join(names[:shown])
            text = _and_more(text, len(names) - shown)
            if longest is None or len(text) <= longest:
                return text
        return _and_more(names[0], len(names) - 1)

    @property
    def margins(self) -> tuple[int, ...] | None:
        """Half the width of the 95 % noise interval of each number of points, in points, rounded up."""
        if self.errors is None or not self.is_supported:
            return None
        return tuple(ceil(NORMAL_95 * error) for error in self.errors)

    @property
    def may_be_noise(self) -> bool:
        """True if every interval of its points includes 0, or its bins have too few rows."""
        if self.margins is None:
            return not self.is_supported
        return all(abs(points) <= margin for points, margin in zip(self.points, self.margins, strict=True))

    @property
    def intervals(self) -> list[str]:
        """The interval of each number of points as text."""
        if not self.is_supported:
            return [_(TOO_FEW)] * len(self.points)
        return [""] * len(self.points) if self.margins is None else [f"±{margin}" for margin in self.margins]


def _and_more(names: str, count: int) -> str:
    return _("{names} and {count} more", names=names, count=count) if count else names


def point_lines(part: AttributePoints, bins: Sequence[PointBin]) -> tuple[PointLine, ...]:
    """Return the lines of an attribute; known categories with the same points share a line."""
    groups = dict[object, list[PointBin]]()
    for place, run in enumerate(bins):
        is_category = run.is_known and run.start >= run.declared.n_ordered
        groups.setdefault(run.points if is_category else place, []).append(run)
    return tuple(_line(part, tuple(group)) for group in groups.values())


def _line(part: AttributePoints, bins: tuple[PointBin, ...]) -> PointLine:
    places = [place for run in bins for place in range(run.start, run.stop)]
    supported = [place for place in places if place not in part.unsupported] or places
    errors = None
    if part.errors is not None:
        errors = tuple(map(max, zip(*(part.errors[place] for place in supported), strict=True)))
    return PointLine(bins, errors, tuple(map(part.has_support, bins)), part.support(places))


def span_of(lines: Sequence[PointLine]) -> int:
    """Return the range of an attribute's points, the largest of its columns."""
    return max(max(column) - min(column) for column in zip(*(line.points for line in lines), strict=True))


@dataclass(frozen=True)
class Folding:
    """The attributes that a text or plot shows; the other attributes are folded.

    Attributes
    ----------
    shown : tuple of tuple of PointLine
        The lines of each displayed attribute, in the order of the scorecard.
    n_folded : int
        The number of folded attributes.
    is_noise : bool
        True if the intervals of all folded attributes include 0.
    """

    shown: tuple[tuple[PointLine, ...], ...]
    n_folded: int = 0
    is_noise: bool = False

    @property
    def remarks(self) -> list[str]:
        """The sentence about the folded attributes; empty if there are none."""
        if not self.n_folded:
            return []
        message = (
            gettext_noop(
                "{folded} of {all} attributes are folded, since all of their intervals include 0; they count in each "
                "total; to_text() and `hedgerow show --full` show every attribute"
            )
            if self.is_noise
            else gettext_noop(
                "{folded} of {all} attributes are folded, first attributes whose intervals all include 0, then those "
                "with the smallest ranges of points; they count in each total; to_text() and `hedgerow show --full` "
                "show every attribute"
            )
        )
        return [_(message, folded=self.n_folded, all=self.n_folded + len(self.shown))]


@dataclass(frozen=True)
class PointTable:
    """All lines of a scorecard.

    Attributes
    ----------
    lines : tuple of tuple of PointLine
        The lines of each attribute.
    """

    lines: tuple[tuple[PointLine, ...], ...]

    @property
    def all_lines(self) -> tuple[PointLine, ...]:
        """The lines of all attributes, one attribute after the other."""
        return tuple(line for lines in self.lines for line in lines)

    def folded(self, most_lines: int, most_attributes: int | None = None) -> Folding:
        """Return which attributes to show, if the table has more than `most_lines` lines or `most_attributes`.

        Attributes whose points may be noise are folded first. Then the attributes with the smallest ranges of points
        are folded. At least one attribute is shown.
        """
        most = len(self.lines) if most_attributes is None else most_attributes
        if len(self.all_lines) <= most_lines and len(self.lines) <= most:
            return Folding(self.lines)
        noise = {place for place, lines in enumerate(self.lines) if all(line.may_be_noise for line in lines)}
        ranked = sorted(range(len(self.lines)), key=lambda place: (place in noise, -span_of(self.lines[place])))
        kept, n_lines = set[int](), 0
        for place in ranked[: max(len(ranked) - len(noise), 1)]:
            n_lines += len(self.lines[place])
            if kept and (len(kept) == most or n_lines > most_lines):
                break
            kept.add(place)
        folded = set(ranked) - kept
        return Folding(tuple(self.lines[place] for place in sorted(kept)), len(folded), folded <= noise)

    @cached_property
    def has_intervals(self) -> bool:
        """True if the noise on some points is known, or some bins have too few rows."""
        return any(line.errors is not None for line in self.all_lines) or self._has_too_few

    @cached_property
    def has_rows(self) -> bool:
        """True if rows of some bins were released."""
        return any(line.support.rows is not None for line in self.all_lines)

    @property
    def _has_noisy_rows(self) -> bool:
        supports = (line.support for line in self.all_lines)
        return any(support.rows is not None and not support.is_exact for support in supports)

    @property
    def _has_too_few(self) -> bool:
        return not all(has for line in self.all_lines for has in line.has_rows)

    def notes(self, *, has_interval: bool) -> list[str]:
        """Return the notes that explain intervals and rows; `has_interval` states whether totals have intervals."""
        notes = [
            *(_NOTES if has_interval or any(line.margins for line in self.all_lines) else ()),
            *([_ROWS_NOTE] if self._has_noisy_rows else []),
            *([_TOO_FEW_NOTE] if self._has_too_few else []),
        ]
        return list(map(_, notes))

    def cells(self, line: PointLine) -> list[str]:
        """Return the cells of a line as text: each number of points, its interval if there are intervals, the rows."""
        return self._with([str(points) for points in line.points], line.intervals, line.support.cell)

    def base_cells(self, base: Points) -> list[str]:
        """Return the cells of the base, in the columns of `cells`."""
        return self._with([str(points) for points in base], [""] * len(base), "")

    def titles(self, columns: Sequence[str]) -> list[str]:
        """Return the titles of `cells`."""
        return self._with(columns, [_(BY_NOISE) if len(columns) == 1 else "±"] * len(columns), _(ROWS))

    def _with(self, cells: Sequence[str], intervals: Sequence[str], rows: str) -> list[str]:
        last = [rows] if self.has_rows else []
        if not self.has_intervals:
            return [*cells, *last]
        return [*(text for pair in zip(cells, intervals, strict=True) for text in pair), *last]
