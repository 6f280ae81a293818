"""HTML that escapes by construction: elements, and templates of pages, whose missing values are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.text.language import language, local_text, translations
from hedgerow.text.values import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import EvalContext

_EMPTY = ("meta", "link", "br", "hr")  # elements without content
_CELL = "text-align:left;vertical-align:top;overflow-wrap:anywhere;min-width:5.5em"  # notebooks put text to the right
_MOST_ROWS = 200


class Html(str):
    """Markup. A plain `str` is text, and is escaped where it is put into an element."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return it as it is, so that templates do not escape it again."""
        return self


def text(content: str) -> Html:
    """Return text as markup: special characters escaped, control characters and marks of direction shown."""
    return content if isinstance(content, Html) else Html(escape(printable(content, keep="\n")))


def element(name: str, /, *content: str, **attributes: str) -> Html:
    """Return an element; underlines at the end of attributes' names are dropped, others become hyphens."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{text(value)}"' for key, value in attributes.items())
    if name in _EMPTY:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{''.join(map(text, content))}</{name}>")


def joined(*parts: Html) -> Html:
    return Html("\n".join(parts))


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str = "") -> Html:
    """Return a table for a notebook: each row begins with its heading; of more than 200, how many more there are."""
    titles = element("tr", *(element("th", name, scope="col", style=_CELL) for name in columns))
    lines = [
        element(
            "tr",
            element("th", printable(first), scope="row", style=_CELL),
            *(element("td", printable(entry), style=_CELL) for entry in others),
        )
        for first, *others in rows[:_MOST_ROWS]
    ]
    head = [element("caption", caption, style=_CELL)] if caption else []
    head += [element("thead", titles)] if columns else []
    found = element("table", *head, element("tbody", *lines))
    more = len(rows) - _MOST_ROWS
    return joined(found, element("p", f"… and {more:,} more.")) if more > 0 else found


_SHARED = Path(__file__).with_name("templates")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""The policy of a page that is a file: a browser loads its own style and an empty icon, and nothing else."""


def templates(folder: Path, **functions: Any) -> Environment:
    """Return the templates of a folder, which may call these functions, and `page.html`, which all pages extend."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_eval_context, select_autoescape
    from markupsafe import Markup

    found = Environment(
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
    found.globals.update(shared)
    found.globals.update({name: pass_eval_context(_translating(name)) for name in _TRANSLATIONS})
    vars(found)["newstyle_gettext"] = True  # ``{% trans %}`` then passes its values to these functions
    found.policies["ext.i18n.trimmed"] = True  # messages are one line, however the template is wrapped
    return found


_TRANSLATIONS = ("gettext", "ngettext", "pgettext", "npgettext")


def _translating(name: str) -> Callable[..., str]:
    """Return what ``{% trans %}`` calls: unlike Jinja's own function, it shows values as other text of the page."""
    from markupsafe import Markup

    def translate(context: EvalContext, /, *arguments: Any, **values: Any) -> str:
        message = getattr(translations(), name)(*arguments)
        shown = {key: _shown(context, _local(value)) for key, value in {"num": arguments[-1], **values}.items()}
        return (Markup(message) if context.autoescape else message) % shown

    return translate


def _local(value: Any) -> Any:
    return value if hasattr(value, "__html__") else local_text(value)


def _shown(context: EvalContext, value: Any) -> Any:
    """Show control characters and marks of direction of text that is put into HTML; markup stays as it is."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, keep="\n") if is_text and context.autoescape else value
