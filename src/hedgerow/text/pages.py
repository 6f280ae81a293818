"""Templates of pages and of their sentences: values are escaped where a template is HTML, and missing ones refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hedgerow.text.values import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.nodes import EvalContext

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
    )
    style = (_SHARED / "page.css").read_text(encoding="utf-8")
    shared: dict[str, Any] = {"policy": POLICY, "style": Markup(style), **functions}
    found.globals.update(shared)
    return found


def _shown(context: EvalContext, value: Any) -> Any:
    """Show control characters and marks of direction of text that is put into HTML; markup stays as it is."""
    is_text = isinstance(value, str) and not hasattr(value, "__html__")
    return printable(value, keep="\n") if is_text and context.autoescape else value
