"""The table of claims and the tests that are marked with them."""

import sys
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.claims import marked_claims


class Claims(SphinxDirective):
    """``{claims}``: each claim with its tests."""

    def run(self) -> list[nodes.Node]:
        """Return a list of definitions."""
        items = []
        for claim, tests in sorted(marked_claims().items()):
            result = nodes.bullet_list("", *(nodes.list_item("", _code(test)) for test in tests))
            term = nodes.term("", "", nodes.Text(claim.replace("`", "").replace("*", "")))
            items.append(nodes.definition_list_item("", term, nodes.definition("", result)))
        return [nodes.definition_list("", *items)]


def _code(text: str) -> nodes.paragraph:
    return nodes.paragraph("", "", nodes.literal(text, text))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("claims", Claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
