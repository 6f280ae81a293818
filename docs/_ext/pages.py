"""Markdown that reads well on GitHub, as pages of the site.

`pages_outside` names the pages whose text stands elsewhere in the repository: what is in docs/ is one line with a
link to it, and its table of contents if there is one. Links to such a text become links to its page, and those to a
folder its path. `pages_titles` has titles for tables that a study wrote without one. A link in a heading moves below
it: headings are entries of contents.
"""

import os
import re
from pathlib import Path

from sphinx.application import Sphinx

_LINK = re.compile(r"\[([^\[\]]*)\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_CONTENTS = re.compile(r"^```\{toctree\}$.*?^```$", re.MULTILINE | re.DOTALL)
_LINKED_HEADING = re.compile(r"^(#+ .*?) \((.*\]\(.*)\)$", re.MULTILINE)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    page = Path(app.env.doc2path(docname))
    if page.suffix != ".md":
        return
    repository = Path(app.srcdir).parent
    outside = {repository / file: Path(app.env.doc2path(name)) for name, file in app.config.pages_outside.items()}
    text = page
    if docname in app.config.pages_outside:
        text = repository / app.config.pages_outside[docname]
        app.env.note_dependency(text)
        contents = _CONTENTS.findall(source[0])
        source[0] = "\n\n".join([text.read_text(encoding="utf-8"), *contents])
    if docname in app.config.pages_titles:
        source[0] = f"# {app.config.pages_titles[docname]}\n\n{source[0]}"

    def moved(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(text.parent / link[2]))
        if target.is_dir():
            return f"`{target.relative_to(repository)}/`"
        return f"[{link[1]}]({os.path.relpath(outside.get(target, target), page.parent)}{link[3] or ''})"

    source[0] = _LINKED_HEADING.sub(r"\1\n\n\2", _LINK.sub(moved, source[0]))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the settings, and the transformation of pages when they are read."""
    app.add_config_value("pages_outside", {}, "env")
    app.add_config_value("pages_titles", {}, "env")
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
