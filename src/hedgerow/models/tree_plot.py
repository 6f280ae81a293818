"""Diagrams of trees: boxes from the root down, laid out in inches so that their text fits."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate, count
from typing import Any

from hedgerow.models.leaf import Split
from hedgerow.models.plot import (
    NO_BREAK,
    check_matplotlib,
    class_legend,
    class_patches,
    colour,
    drawable,
    legend_name,
    plain,
    shortened,
)
from hedgerow.schema.literals import Literal
from hedgerow.text.axes import Axes
from hedgerow.text.language import pgettext

_SIZE = 8.0  # the size of text, in points
_LINE = 1.35 * _SIZE / 72  # height of a line
_PAD = 0.07  # the space between a box and its text
_BAR = 0.07  # height of the shares in a leaf
_APART = 0.1  # the space between neighbouring boxes
_GAP = 0.42  # the space between levels, for the words "yes" and "no"
_LARGEST = 60.0  # pictures of more than 2^16 pixels cannot be written


@dataclass(frozen=True)
class DrawnLeaf:
    """The content of the box of a leaf or of a group of leaves: its prediction, a note on the counts, class shares."""

    predicted: int | None  # the number of the predicted class; None for several classes
    note: str
    shares: tuple[float, ...]
    several: str = ""  # the predictions as text, for several classes
    is_folded: bool = False


DrawnNode = Split[DrawnLeaf] | DrawnLeaf


@dataclass(frozen=True)
class _Box:
    """The box of a split or leaf: its lines of text, its position and size, and the boxes below it."""

    title: tuple[str, ...]
    x: float
    level: int
    leaf: DrawnLeaf | None = None
    note: tuple[str, ...] = ()
    below: "tuple[_Box, ...]" = ()

    @cached_property
    def width(self) -> float:
        bold = self.leaf is not None
        return max(*(_width(line, bold=bold) for line in self.title), *map(_width, self.note), 0.3) + 2 * _PAD

    @cached_property
    def height(self) -> float:
        bar = _BAR if self.leaf is not None and self.leaf.shares else 0.0
        return (len(self.title) + len(self.note)) * _LINE + 2 * _PAD + bar

    def walk(self) -> "Iterator[_Box]":
        yield self
        for box in self.below:
            yield from box.walk()


def tree_diagram(
    root: DrawnNode,
    classes: Sequence[str],
    caption: str,
    ax: Axes | None,
    colours: Sequence[str] | None = None,
    legend: str = "",
) -> Axes:
    """Draw a tree with true branches to the left; text is scaled down to fit given axes."""
    colours = [colour(k) for k in range(len(classes))] if colours is None else colours
    slot = min(max(6.5 / _n_leaves(root), 1.05), 1.8)  # the width of a leaf
    classes, caption = [" ".join(shortened(drawable(name)).split()) for name in classes], shortened(caption, 300)
    top = _lay_out(root, classes, slot)
    tops = _tops(top)
    width = _n_leaves(root) * slot
    columns = max(1, min(len(classes), int(width / (max(map(_width, classes), default=0) + 0.7))))
    rows = -(-len(classes) // columns) * max((legend_name(name).count("\n") + 1 for name in classes), default=0)
    height = tops[-1] + (rows + 1.5) * 1.25 * _LINE
    ax = _own_axes(max(width, 4.5), height, caption) if ax is None else ax
    unit = _show_inches(ax, width, height)
    for box in top.walk():
        _draw(ax, box, tops, unit, colours)
    ax.set_title("\n".join(map(plain, _wrapped(caption, max(width, 4.5) * unit))), fontsize=_SIZE, loc="center")
    below = {"loc": "upper center", "bbox_to_anchor": (width / 2, tops[-1]), "bbox_transform": ax.transData}
    small = {"ncols": columns, "borderaxespad": 0, "fontsize": _SIZE * unit, "title_fontsize": _SIZE * unit}
    if classes:
        class_legend(ax, class_patches(classes, colours), classes, title=legend, **below, **small)
    return ax


def _n_leaves(part: DrawnNode) -> int:
    return 1 if isinstance(part, DrawnLeaf) else _n_leaves(part.true) + _n_leaves(part.false)


def _lay_out(root: DrawnNode, classes: Sequence[str], slot: float) -> _Box:
    """Return the layout: each leaf has a slot, and each split is centred over its branches, two slots wide."""
    numbers = count()

    def place(part: DrawnNode, level: int) -> _Box:
        if isinstance(part, DrawnLeaf):
            width, x = slot - _APART - 2 * _PAD, (next(numbers) + 0.5) * slot
            title = shortened(drawable(part.several)) if part.predicted is None else classes[part.predicted]
            return _Box(_wrapped(title, width, bold=True), x, level, part, _wrapped(part.note, width))
        below = (place(part.true, level + 1), place(part.false, level + 1))
        lines = _wrapped(_held_together(part.literal), 2 * slot - _APART - 2 * _PAD)
        return _Box(lines, (below[0].x + below[1].x) / 2, level, below=below)

    return place(root, 0)


def _tops(top: _Box) -> list[float]:
    heights: dict[int, float] = {}
    for box in top.walk():
        heights[box.level] = max(heights.get(box.level, 0.0), box.height)
    gaps = [_GAP] * (len(heights) - 1) + [_APART]
    return list(accumulate((heights[level] + gap for level, gap in enumerate(gaps)), initial=_APART))


def _own_axes(width: float, height: float, caption: str) -> Axes:
    check_matplotlib()
    import matplotlib.pyplot as plt

    title = (len(_wrapped(caption, width)) + 1) * _LINE
    scale = min(1.0, _LARGEST / max(width, height))
    size = (scale * width + 0.3, scale * height + title + 0.2)
    place = (0.15 / size[0], 0.1 / size[1], scale * width / size[0], scale * height / size[1])
    return plt.figure(figsize=size).add_axes(place)


def _show_inches(ax: Axes, width: float, height: float) -> float:
    """Set the limits of the axes to a centred area of this size in inches, and return the scale on paper."""
    window = ax.get_window_extent()
    dpi = ax.get_figure(root=True).dpi  # type: ignore[union-attr] -- axes are on a figure
    paper = window.width / dpi, window.height / dpi
    unit = min(1.0, paper[0] / width, paper[1] / height)
    ax.set_xlim(width / 2 - paper[0] / unit / 2, width / 2 + paper[0] / unit / 2)
    ax.set_ylim(paper[1] / unit, 0.0)
    ax.set_axis_off()
    return unit


def _draw(ax: Axes, box: _Box, tops: Sequence[float], unit: float, colours: Sequence[str]) -> None:
    from matplotlib.patches import FancyBboxPatch

    top, leaf = tops[box.level], box.leaf
    edge = "0.4" if leaf is None or leaf.predicted is None else colours[leaf.predicted]
    style: dict[str, Any] = {"facecolor": "white" if leaf is None else (edge, 0.25), "edgecolor": edge}
    if leaf is not None and leaf.is_folded:
        style["linestyle"] = "--"
    shape = "round,pad=0,rounding_size=0.04"
    ax.add_patch(FancyBboxPatch((box.x - box.width / 2, top), box.width, box.height, boxstyle=shape, lw=unit, **style))
    for number, line in enumerate((*box.title, *box.note)):
        weight = "bold" if leaf is not None and number < len(box.title) else "normal"
        y = top + _PAD + (number + 0.5) * _LINE
        ax.text(box.x, y, line, ha="center", va="center", fontsize=_SIZE * unit, weight=weight, parse_math=False)
    if leaf is not None:
        _draw_shares(ax, box, leaf.shares, top + box.height - _PAD / 2 - _BAR)
    for child, word in zip(box.below, (pgettext("test", "yes"), pgettext("test", "no")), strict=False):
        start, end = (box.x, top + box.height), (child.x, tops[child.level])
        ax.plot(*zip(start, end, strict=True), color="0.6", linewidth=unit, zorder=0)
        middle = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
        patch = {"facecolor": "white", "edgecolor": "none", "pad": 1.5 * unit}
        ax.text(*middle, word, ha="center", va="center", fontsize=_SIZE * unit, color="0.3", bbox=patch)


def _draw_shares(ax: Axes, box: _Box, shares: Sequence[float], y: float) -> None:
    from matplotlib.patches import Rectangle

    length = box.width - 2 * _PAD
    for k, (start, share) in enumerate(zip(accumulate(shares, initial=0.0), shares, strict=False)):
        ax.add_patch(Rectangle((box.x - length / 2 + length * start, y), length * share, _BAR, color=colour(k), lw=0))


def _held_together(literal: Literal) -> str:
    """Return the text of a literal, with a non-breaking space between operator and value."""
    text = shortened(str(literal))
    for sign in ("<=", ">", "=", "!="):
        text = text.replace(f" {sign} ", f" {sign}{NO_BREAK}")
    return text


def _wrapped(text: str, width: float, *, bold: bool = False) -> tuple[str, ...]:
    """Break text into lines of a width in inches: at spaces, or after signs such as "_", or anywhere."""
    lines: list[str] = []
    for piece in _pieces(re.sub(rf"[^\S{NO_BREAK}]+", " ", drawable(text)).strip(), width, bold=bold):
        if lines and _width((lines[-1] + piece).rstrip(), bold=bold) <= width:
            lines[-1] += piece
        else:
            lines.append(piece)
    return tuple(line.rstrip() for line in lines)


def _pieces(text: str, width: float, *, bold: bool) -> Iterator[str]:
    for word in re.findall(r"[^ ]+ ?", text):
        if _width(word.rstrip(), bold=bold) <= width:
            yield word
            continue
        for part in re.findall(r"[^_./-]*[_./-]+ ?|[^_./-]+", word):
            yield from [part] if _width(part.rstrip(), bold=bold) <= width else part


def _width(line: str, *, bold: bool = False) -> float:
    from matplotlib import rcParams

    fonts = [rcParams[name] for name in ("font.family", "font.sans-serif", "font.serif", "font.monospace")]
    return _measured(line, bold, str(fonts))


@lru_cache(4096)
def _measured(line: str, bold: bool, _fonts: str) -> float:
    """Return the width of a line in inches, cached by the current fonts: most lines of a tree repeat."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=_SIZE, weight="bold" if bold else "normal")
    return text_to_path.get_text_width_height_descent(line, font, False)[0] / 72
