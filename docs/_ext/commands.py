"""The reference of the command line, generated from the ``--help`` of each command."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from hedgerow.cli import app as command_line


class Commands(SphinxDirective):
    """``{commands}``: one section a command, with its arguments and options."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        root = typer.main.get_command(command_line)
        return [self._section(context) for context in _contexts(root, "hedgerow", None)]

    def _section(self, context: Any) -> nodes.section:
        name, command = context.command_path, context.command
        usage = " ".join([name, *command.collect_usage_pieces(context)])
        section = nodes.section("", nodes.title(name, name), _code(usage), *_help(command.help), names=[name])
        records = [parameter.get_help_record(context) for parameter in command.params]
        section += nodes.definition_list("", *(_option(*record) for record in records if record), classes=["options"])
        self.state.document.note_implicit_target(section, section)
        return section


def _contexts(command: Any, name: str, parent: Any) -> Iterator[Any]:
    """Yield a context for each command that runs something, in the order of ``--help``."""
    context = command.context_class(command, info_name=name, parent=parent)
    commands = getattr(command, "commands", None)
    if commands is None:
        yield context
    else:
        for inner, item in commands.items():
            yield from _contexts(item, inner, context)


def _help(text: str) -> Iterable[nodes.Node]:
    """Yield the paragraphs of a command's help; its examples are code, together."""
    paragraphs = re.sub(r"\[/?bold\]", "", text).split("\n\n")
    examples = [paragraph for paragraph in paragraphs if paragraph.startswith("hedgerow ")]
    yield from (_paragraph(paragraph) for paragraph in paragraphs if paragraph not in examples)
    if examples:
        yield _code("\n".join(examples))


def _option(names: str, meaning: str) -> nodes.definition_list_item:
    term = nodes.term("", "", nodes.literal(names, names))
    return nodes.definition_list_item("", term, nodes.definition("", _paragraph(meaning)))


def _paragraph(text: str) -> nodes.paragraph:
    """Return a paragraph; text between backticks is code."""
    parts = enumerate(" ".join(text.split()).split("`"))
    return nodes.paragraph("", "", *(nodes.literal(part, part) if i % 2 else nodes.Text(part) for i, part in parts))


def _code(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="text")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
