"""The page of a model: one HTML file that loads nothing and runs nothing, to be read and printed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter
from xml.etree import ElementTree

from hedgerow.errors import HedgerowError
from hedgerow.models.plot import check_matplotlib
from hedgerow.text.markup import Html, element, joined
from hedgerow.text.pages import templates
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from matplotlib.axes import Axes

    from hedgerow.models.model import Model


def page_of(model: Model, body: Html, card: Html) -> str:
    """Return the page of a model: its picture, its parts in words, and the privacy card."""
    title = model.kind.capitalize()
    title += "" if model.schema.label is None else f" for {printable(model.schema.label.name)}"
    picture, problem = "", ""
    try:
        picture = svg_of(model.plot, f"Picture of the {model.kind}, whose parts are below in words")
    except HedgerowError as error:
        problem = str(error)
    values = {"title": title, "body": body, "card": card, "picture": picture, "problem": problem}
    guarantee, digest = printable(model.privacy.headline), model.to_dict()["digest"]
    return _templates().get_template("model.html").render(values, guarantee=guarantee, digest=digest)


@cache
def _templates() -> Environment:
    return templates(Path(__file__).with_name("templates"))


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
