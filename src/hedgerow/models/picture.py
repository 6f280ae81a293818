"""Pictures of models within a page: the shapes of a plot as SVG, and nothing else of it."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter
from xml.etree import ElementTree

from hedgerow.markup import Html, element, joined
from hedgerow.models.plot import check_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHAPES = frozenset(("svg", "g", "defs", "path", "use", "rect", "clipPath"))  # text is drawn as paths
_ATTRIBUTES = frozenset(("clip-path", "d", "height", "href", "id", "style", "transform", "viewBox", "width", "x", "y"))


def svg_of(plot: Callable[[], Axes], title: str) -> Html:
    """Draw a plot, and return it as an SVG element with a title for who cannot see it; no figure stays open."""
    check_matplotlib()
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    written = StringIO()
    with catch_warnings(), mpl.rc_context({"svg.fonttype": "path", "svg.hashsalt": "hedgerow"}):
        simplefilter("ignore")  # of characters that the font lacks
        figure = plot().get_figure(root=True)
        assert figure is not None
        try:
            figure.savefig(written, format="svg", facecolor="none")
        finally:
            plt.close(figure)
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
    """Return a name without its namespace."""
    return qualified.rpartition("}")[2]
