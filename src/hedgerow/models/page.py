"""The page of a model: one HTML file that loads nothing and runs nothing, to be read and printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hedgerow.errors import HedgerowError
from hedgerow.markup import Html, element, joined
from hedgerow.models.picture import svg_of
from hedgerow.values import printable

if TYPE_CHECKING:
    from hedgerow.models.model import Model

_STYLE = Path(__file__).with_name("page.css")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def page_of(model: Model, body: Html, card: Html) -> str:
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


def _picture(model: Model) -> Html:
    try:
        return _scrolled(svg_of(model.plot, f"Picture of the {model.kind}, whose parts are below in words"), "Picture")
    except HedgerowError as error:
        return element("p", f"There is no picture: {error}")


def _scrolled(content: Html, name: str) -> Html:
    """Return content that is scrolled where it is wider than the page, also by keys."""
    return element("div", content, class_="wide", tabindex="0", role="region", aria_label=name)


def _foot(model: Model) -> Html:
    return element(
        "footer",
        element("p", f"SHA-256 of the model's file: {model.to_dict()['digest']}"),
        element("p", "This page loads nothing and runs no script: it is whole as it is, on a screen and on paper."),
    )
