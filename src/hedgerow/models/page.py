"""The page of a model: one HTML file that loads nothing and runs nothing, to be read and printed."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol
from warnings import catch_warnings, simplefilter
from xml.etree import ElementTree

from hedgerow.errors import HedgerowError
from hedgerow.models.plot import check_matplotlib
from hedgerow.privacy.card import PrivacyCard
from hedgerow.schema.schema import Schema
from hedgerow.text.markup import Html, element, joined
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class _Model(Protocol):
    """What a page shows of a model."""

    schema: Schema
    privacy: PrivacyCard
    kind: ClassVar[str]

    def plot(self) -> Axes: ...
    def to_dict(self) -> dict[str, Any]: ...


_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page_of(model: _Model, body: Html, card: Html) -> str:
    """Return the page of a model: its picture, its parts in words, and the privacy card."""
    title = model.kind.capitalize()
    title += "" if model.schema.label is None else f" for {printable(model.schema.label.name)}"
    head = element(
        "head",
        Html('\n<meta charset="utf-8">\n'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", title),
        element("style", Html(_STYLE.read_text(encoding="utf-8"))),
    )
    parts = joined(
        element("header", element("h1", title), element("p", f"Guarantee: {printable(model.privacy.headline)}.")),
        element("section", element("h2", "The model as a picture"), _picture(model)),
        element("section", element("h2", "The model in words"), _scrolled(body, "The model in words")),
        element("section", element("h2", "Privacy card"), card, class_="card"),
        _foot(model),
    )
    return f'<!doctype html>\n<html lang="en">\n{head}\n{element("body", parts)}\n</html>\n'


def _picture(model: _Model) -> Html:
    try:
        return _scrolled(svg_of(model.plot, f"Picture of the {model.kind}, whose parts are below in words"), "Picture")
    except HedgerowError as error:
        return element("p", f"There is no picture: {error}")


def _scrolled(content: Html, name: str) -> Html:
    """Return content that is scrolled where it is wider than the page, also by keys."""
    return element("div", content, class_="wide", tabindex="0", role="region", aria_label=name)


def _foot(model: _Model) -> Html:
    return element(
        "footer",
        element("p", f"SHA-256 of the model's file: {model.to_dict()['digest']}"),
        element("p", "This page loads nothing and runs no script: it is whole as it is, on a screen and on paper."),
    )


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
