"""Plots of released models: bars for rule lists and points, elements shared by all plots, and SVG output."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from importlib.util import find_spec
from io import StringIO
from textwrap import fill
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter
from xml.etree import ElementTree

import numpy as np

from hedgerow.boundary.arrays import Array
from hedgerow.errors import ArgumentError, MissingPackageError
from hedgerow.models.point_lines import TOO_FEW, PointLine, span_of
from hedgerow.text.axes import Axes
from hedgerow.text.language import _
from hedgerow.text.markup import Html, element, joined
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.container import BarContainer


NO_BREAK = "\u00a0"
_BOX = "\u25a1"
_SEVERAL = "0.85"  # the colour of leaves that predict several classes
# Distinguishable for colour-blind readers
_COLOURS = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377", "#BBBBBB")
MOST_DRAWN, _MOST_SHARES = 500, 10_000
_BESIDE: Mapping[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1)}  # our own figures reserve space for it


def check_matplotlib() -> None:
    if find_spec("matplotlib") is None:
        raise MissingPackageError.of("drawing a plot", "matplotlib", "plots")


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or the axes of a new figure of this size in inches."""
    check_matplotlib()
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1] if ax is None else ax


def check_drawable(n_leaves: int, n_classes: int) -> None:
    if n_leaves > MOST_DRAWN or n_leaves * n_classes > _MOST_SHARES:
        limit = f"at most {MOST_DRAWN} leaves or rules and {_MOST_SHARES:,} class shares can be drawn"
        got = f"got {n_leaves:,} with {n_classes:,} classes; print or export the model."
        raise ArgumentError(f"{limit}, {got}")


def shortened(text: str, longest: int = 80) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"


def leaf_bars(
    leaves: Sequence[str],
    counts: Array,
    classes: Sequence[str],
    caption: str,
    ax: Axes | None,
    unit: str = "",
) -> Axes:
    """Draw a horizontal bar for each leaf, stacked by class; counts that are negative or NaN have no bar."""
    axes = _named_lines(leaves, classes, caption, ax)
    left = np.zeros(len(leaves))
    bars: list[BarContainer] = []
    for k, name in enumerate(classes):
        width = np.nan_to_num(np.maximum(counts[:, k], 0))
        bars.append(axes.barh(range(len(leaves)), width, left=left, color=colour(k), label=plain(name)))
        left += width
    axes.set_xlabel(unit or _("released rows"))
    class_legend(axes, bars, classes, **(_BESIDE if ax is None else {}))
    return axes


def number_bars(
    leaves: Sequence[str], ends: Sequence[tuple[float, float]], low: float, unit: str, caption: str, ax: Axes | None
) -> Axes:
    """Draw a horizontal bar for each leaf up to its number; a group of leaves has a paler bar over its range."""
    axes = _named_lines(leaves, (), caption, ax)
    places, (smallest, largest) = range(len(leaves)), np.array(ends, dtype=np.float64).T
    axes.barh(places, smallest - low, left=low, height=0.5, color=colour(0))
    axes.barh(places, largest - smallest, left=smallest, height=0.5, color=colour(0), alpha=0.4)
    axes.set_xlabel(plain(unit))
    return axes


def class_bars(
    leaves: Sequence[str], predicted: Sequence[int | None], classes: Sequence[str], caption: str, ax: Axes | None
) -> Axes:
    """Draw bars of equal length in the colours of the predicted classes, gray for several classes."""
    axes = _named_lines(leaves, classes, caption, ax)
    axes.barh(range(len(leaves)), 1, height=0.5, color=[_SEVERAL if k is None else colour(k) for k in predicted])
    axes.set_xlim(0, 1.3 if ax is None else 2.5)  # the legend needs space inside given axes
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
    class_legend(axes, class_patches(classes), classes, **(_BESIDE if ax is None else {"loc": "center right"}))
    return axes


def _named_lines(leaves: Sequence[str], classes: Sequence[str], caption: str, ax: Axes | None) -> Axes:
    names = [plain(fill(leaf, 60)) for leaf in leaves]
    lines, entries = sum(name.count("\n") for name in names), sum(legend_name(name).count("\n") + 1 for name in classes)
    ax = axes_of(ax, 9, 1.2 + max(0.45 * len(names) + 0.2 * lines, 0.25 * entries))
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_title(plain(fill(shortened(caption, 300), 80)), fontsize="small", loc="right")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def class_patches(classes: Sequence[str], colours: Sequence[str] | None = None) -> "list[Artist]":
    from matplotlib.patches import Patch

    return [Patch(color=colour(k) if colours is None else colours[k]) for k in range(len(classes))]


def class_legend(
    ax: Axes, handles: "Sequence[Artist | BarContainer]", classes: Sequence[str], *, title: str = "", **layout: Any
) -> None:
    """Add a legend of the classes; it has explicit handles, because matplotlib omits names that start with "_"."""
    names = [plain(legend_name(name)) for name in classes]
    ax.legend(handles, names, title=plain(legend_name(title or _("class"))), frameon=False, **layout)


def legend_name(name: str) -> str:
    return fill(shortened(name), 30)


def colour(k: int) -> str:
    return _COLOURS[k % len(_COLOURS)]


def shade(share: float) -> str:
    """Return the colour of a number, given its position between the bounds, from 0 (dark) to 1."""
    import matplotlib as mpl
    from matplotlib.colors import to_hex

    return to_hex(mpl.colormaps["cividis"](share))


def plain(text: str) -> str:
    """Escape dollar signs, which matplotlib uses for mathematics, and replace characters that fonts cannot draw."""
    return drawable(text).replace("$", r"\$")


def drawable(text: str) -> str:
    """Replace characters that the plot fonts lack, such as most emoji, to avoid warnings of matplotlib."""
    import matplotlib as mpl

    if text.isascii():
        return text
    known = _drawn_by(tuple(mpl.rcParams["font.family"]))
    return "".join(sign if sign in known or sign == "\n" else _BOX for sign in text)


@lru_cache(maxsize=16)
def _drawn_by(families: tuple[str, ...]) -> frozenset[str]:
    """Return the characters that these font families have, both plain and bold."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    def drawn(weight: str) -> set[str]:
        fonts = [FontProperties(family=family, weight=weight) for family in families]
        return {chr(code) for font in fonts for code in get_font(findfont(font)).get_charmap()}

    return frozenset(drawn("normal") & drawn("bold"))


_MOST_ATTRIBUTES, _MOST_BINS = 12, 60  # in a plot of one column of points, whose height is then at most 15 inches
_LONGEST = 40  # characters of a name
_BAND, _NO_ROWS = 0.25, "0.85"  # the opacity of intervals, and the shade of bins with too few rows


def most_drawn(n_columns: int) -> tuple[int, int]:
    """Return the largest numbers of bins and of attributes in a plot with this many columns of points."""
    return int(_MOST_BINS / _thickness(n_columns)), _MOST_ATTRIBUTES


def _thickness(n_columns: int) -> float:
    """Return the height of a bin, compared with a bin with one column of points."""
    return 1 + 0.25 * (n_columns - 1)


def points_plot(
    attributes: Sequence[Sequence[PointLine]], names: Sequence[str], title: str, caption: str, ax: Axes | None = None
) -> Axes:
    """Draw points by bin: steps for ordered bins, bars for other bins, each with its interval.

    `names` are the names of the columns of points, for more than two classes. The attributes are drawn in descending
    order of the ranges of their points.
    """
    ranked = sorted(attributes, key=lambda lines: -span_of(lines))
    lines = [line for attribute in ranked for line in attribute]
    n_columns = max((len(line.points) for line in lines), default=1)
    if len(lines) * n_columns > MOST_DRAWN:
        got = f"got {len(lines) * n_columns:,}; print or export the model."
        raise ArgumentError(f"at most {MOST_DRAWN} bars can be drawn, {got}")
    labels = [label for attribute in ranked for label in _labels(attribute)]
    n_names = len(names) * (n_columns > 1)
    height = 1.3 + max(0.22 * len(lines) * _thickness(n_columns), 0.25 * (n_names + 1) * (n_names > 0))
    ax = axes_of(ax, max(8, 5.5 + 0.07 * max((len(label) for label in labels), default=0)), height)
    _label(ax, ranked, labels)
    ax.set_title(plain(fill(shortened(caption, 300), 85)), fontsize="small", loc="left")
    first = 0
    for attribute in ranked:
        for column in range(n_columns):
            _draw(ax, attribute, first, column, n_columns)
        first += len(attribute)
    ax.axvline(0, color="0.3", lw=1)
    if n_names:
        shown = [shortened(name, 20) for name in names]
        class_legend(ax, class_patches(shown), shown, **_BESIDE)
    ax.set_xlabel(plain(fill(shortened(title, 120), 70)))
    return ax


def _draw(ax: Axes, attribute: Sequence[PointLine], first: int, column: int, n_columns: int) -> None:
    """Draw one column of the points of an attribute, starting at line `first`."""
    n_ordered = sum(line.is_ordered for line in attribute)
    n = n_ordered if n_ordered > 1 else 0
    if n:
        _draw_steps(ax, attribute[:n], first, column, "0.2" if n_columns == 1 else colour(column))
    bars = attribute[n:]
    thickness = 0.8 / n_columns
    places = first + n + np.arange(len(bars)) - 0.4 + thickness * (column + 0.5)
    points = [line.points[column] for line in bars]
    colours = [colour(int(value > 0)) if n_columns == 1 else colour(column) for value in points]
    ax.barh(places, points, height=0.9 * thickness, color=colours)
    for place, line in zip(places, bars, strict=True):
        if line.margins is not None:
            ax.errorbar(line.points[column], place, xerr=line.margins[column], color="0.2", lw=1, capsize=2)


def _draw_steps(ax: Axes, lines: Sequence[PointLine], first: int, column: int, color: str) -> None:
    """Draw the points of ordered bins as steps, with a band for their intervals."""
    from matplotlib.patches import Rectangle

    for place, line in enumerate(lines, first):
        if line.margins is not None:
            low, margin = line.points[column] - line.margins[column], line.margins[column]
            band = colour(0) if color == "0.2" else color
            ax.add_patch(Rectangle((low, place - 0.5), 2 * margin, 1, color=band, alpha=_BAND, lw=0))
    values, edges = [line.points[column] for line in lines], np.arange(first, first + len(lines) + 1) - 0.5
    ax.stairs(values, edges, orientation="horizontal", baseline=None, color=color, lw=1.5)


def _labels(attribute: Sequence[PointLine]) -> list[str]:
    """Return the labels of the lines of an attribute; the first label begins with the name of the attribute."""
    marks = ["" if line.is_supported else f" ({_(TOO_FEW)})" for line in attribute]
    labels = [shortened(line.label(_LONGEST), _LONGEST) + mark for line, mark in zip(attribute, marks, strict=True)]
    return [f"{shortened(printable(attribute[0].attribute), _LONGEST)}: {labels[0]}", *labels[1:]]


def _label(ax: Axes, attributes: Sequence[Sequence[PointLine]], labels: Sequence[str]) -> None:
    first = 0
    for number, attribute in enumerate(attributes):
        if number % 2 == 0:
            ax.axhspan(first - 0.5, first + len(attribute) - 0.5, color="0.95", lw=0, zorder=0)
        for place, line in enumerate(attribute, first):
            if not line.is_supported:
                ax.axhspan(place - 0.5, place + 0.5, color=_NO_ROWS, lw=0, zorder=0)
        first += len(attribute)
    ax.set_yticks(range(len(labels)), list(map(plain, labels)), fontsize="small")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    ax.spines[["top", "right", "left"]].set_visible(False)


_SHAPES = frozenset(("svg", "g", "defs", "path", "use", "rect", "clipPath"))  # text is drawn as paths
_ATTRIBUTES = frozenset(("clip-path", "d", "height", "href", "id", "style", "transform", "viewBox", "width", "x", "y"))


def svg_of(plot: Callable[[], Axes], title: str) -> Html:
    """Return a plot as an SVG element with a title for screen readers; its figure is closed."""
    check_matplotlib()
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    written = StringIO()
    changed: dict[Any, Any] = {"svg.fonttype": "path", "svg.hashsalt": "hedgerow", "text.usetex": False}
    # No rc_context: the first figure in a notebook makes figures visible, and leaving the context would undo this.
    before: dict[Any, Any] = {key: mpl.rcParams[key] for key in changed}
    mpl.rcParams.update(changed)
    try:
        with catch_warnings():
            simplefilter("ignore")  # warnings about characters that the font lacks
            figure = plot().get_figure(root=True)
            assert figure is not None
            try:
                figure.savefig(written, format="svg", facecolor="none")
            finally:
                plt.close(figure)
    finally:
        mpl.rcParams.update(before)
    root = ElementTree.fromstring(written.getvalue())
    return element("svg", joined(*map(_shape, _shapes(root))), role="img", aria_label=title, **_attributes(root))


def _shape(node: ElementTree.Element) -> Html:
    return element(_name(node.tag), *map(_shape, _shapes(node)), **_attributes(node))


def _shapes(node: ElementTree.Element) -> list[ElementTree.Element]:
    return [child for child in node if _name(child.tag) in _SHAPES]


def _attributes(node: ElementTree.Element) -> dict[str, str]:
    named = ((_name(key), value) for key, value in node.attrib.items())
    return {key.replace("-", "_"): value for key, value in named if key in _ATTRIBUTES}


def _name(qualified: str) -> str:
    return qualified.rpartition("}")[2]
