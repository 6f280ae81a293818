"""HTML that is escaped by construction: elements, and templates that raise an error for a missing value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.text.language import _, language, local_text, translations
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import EvalContext

_EMPTY = ("meta", "link", "br", "hr")  # elements without content
_CELL = "text-align:left;vertical-align:top;overflow-wrap:anywhere;min-width:5.5em"  # notebooks put text to the right
_MOST_ROWS = 200


class Html(str):
    """Markup. A plain `str` is text: `element` escapes it."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return the markup itself, so that templates do not escape it again."""
        return self


def text(content: str) -> Html:
    """Return text as markup: special characters are escaped, control and direction characters are shown."""
    return content if isinstance(content, Html) else Html(escape(printable(content, keep="\n")))


def element(name: str, /, *content: str, **attributes: str) -> Html:
    """Return an element; in names of attributes, a trailing underscore is dropped, and inner ones become hyphens."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    if name in _EMPTY:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{''.join(map(text, content))}</{name}>")


def joined(*parts: Html) -> Html:
    return Html("\n".join(parts))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "") -> Html:
    """Return a table for a notebook, whose rows begin with their heading, with at most 200 rows."""
    titles = element("tr", *(element("th", name, scope="col", style=_CELL) for name in columns))
    lines = [
        element(
            "tr",
            element("th", printable(first), scope="row", style=_CELL),
            *(element("td", printable(entry), style=_CELL) for entry in entries),
        )
        for first, *entries in rows[:_MOST_ROWS]
    ]
    head = [element("caption", caption, style=_CELL)] if caption else []
    head += [element("thead", titles)] if columns else []
    shown = element("table", *head, element("tbody", *lines))
    more = len(rows) - _MOST_ROWS
    return joined(shown, element("p", _("… and {rows} more.", rows=more))) if more > 0 else shown


_SHARED = Path(__file__).with_name("templates")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The policy of a page that is a file: a browser loads its own style and an empty icon, and nothing else."""


def templates(folder: Path, **functions: Any) -> Environment:
    """Return the environment for the templates of a folder, with their functions and the shared `page.html`."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_eval_context, select_autoescape
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader([folder, _SHARED]),
        autoescape=select_autoescape(default=False),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=pass_eval_context(_shown),
        extensions=["jinja2.ext.i18n"],
    )
    style = (_SHARED / "page.css").read_text(encoding="utf-8")
    shared: dict[str, Any] = {"policy": POLICY, "style": Markup(style), "language": language, **functions}
    environment.globals.update(shared)
    environment.globals.update({name: pass_eval_context(_translating(name)) for name in _TRANSLATIONS})
    vars(environment)["newstyle_gettext"] = True  # ``{% trans %}`` then passes its values to these functions
    environment.policies["ext.i18n.trimmed"] = True  # messages are one line, however the template is wrapped
    return environment


_TRANSLATIONS = ("gettext", "ngettext", "pgettext", "npgettext")


def _translating(name: str) -> Callable[..., str]:
    """Return a function for ``{% trans %}`` that shows control characters of values, unlike Jinja's own function."""
    from markupsafe import Markup

    def translate(context: EvalContext, /, *arguments: Any, **values: Any) -> str:
        message = getattr(translations(), name)(*arguments)
        shown = {key: _shown(context, _local(value)) for key, value in {"num": arguments[-1], **values}.items()}
        return (Markup(message) if context.autoescape else message) % shown

    return translate


def _local(value: Any) -> Any:
    return value if hasattr(value, "__html__") else local_text(value)


def _shown(context: EvalContext, value: Any) -> Any:
    """Return text with control and direction characters shown, for HTML, and any other value unchanged."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, keep="\n") if is_text and context.autoescape else value
