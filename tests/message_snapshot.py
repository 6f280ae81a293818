"""The snapshot of all messages, `messages.txt`: one example of each, by module and function, and what no test makes."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.message_log import Made
from tests.message_templates import CUT, Template

SNAPSHOT = Path(__file__).parent / "messages.txt"
_TITLE = "# Every message of an error or warning: one example each, as tests make it. `make messages` writes this file."
_UNMADE = "# not raised by a test"
_WIDTH = 200
_FOLDER = re.escape(tempfile.gettempdir())


@dataclass(frozen=True, order=True)
class Line:
    """A line of the snapshot: the place that makes a message, and an example of it, or its template."""

    module: str
    function: str
    text: str

    @classmethod
    def of(cls, module: str, function: str, text: str) -> Self:
        """Return the line of a text, cut to the width of the file."""
        width = _WIDTH - len(str(cls(module, function, "")))
        return cls(module, function, text if len(text) <= width else text[: width - 1] + CUT)

    def __str__(self) -> str:
        return f"    {self.function}: {self.text}"


def snapshot(log: Iterable[Made], found: Iterable[Template]) -> str:
    """Return the text of the snapshot of a log of messages."""
    examples: dict[tuple[str, ...], str] = {}
    known = defaultdict(list)
    for template in found:
        known[template.module, template.function, template.line].append(template)
    for module, function, line, message in log:
        text = plain(message)
        template = next((one for one in known[module, function, line] if one.fits(text)), None)
        kind = template.text if template and template.is_constant else _without_values(text)
        key = (module, function, kind)
        examples[key] = min(examples.get(key, text), text, key=lambda one: (len(one), one))
    lines = {Line.of(module, function, text) for (module, function, _), text in examples.items()}
    unmade = {line_of(template) for template in unmatched(found, lines)}
    return "\n".join([_TITLE, *_by_module(lines), "", _UNMADE, *_by_module(unmade), ""])


def read_snapshot(text: str) -> tuple[set[Line], set[Line]]:
    """Return the lines of a snapshot: the messages, and the templates that no test makes."""
    made, _, unmade = text.partition(_UNMADE)
    return _lines(made), _lines(unmade)


def unmatched(found: Iterable[Template], lines: Iterable[Line]) -> set[Template]:
    """Return the templates of which no line is an example."""
    texts = _by_place(lines)
    return {one for one in found if not any(map(one.fits, texts[one.module, one.function]))}


def unknown(lines: Iterable[Line], found: Iterable[Template]) -> set[Line]:
    """Return the lines that are an example of no template."""
    known = defaultdict(list)
    for template in found:
        known[template.module, template.function].append(template)
    return {line for line in lines if not any(one.fits(line.text) for one in known[line.module, line.function])}


def line_of(template: Template) -> Line:
    """Return the line of a template that no test makes."""
    return Line.of(template.module, template.function, plain(template.text))


def plain(message: str) -> str:
    """Return a message on one line, with nothing in it that differs from run to run."""
    text = re.sub(rf"'{_FOLDER}/[^']*'{CUT}", "'TMP'", message)  # cut within the path
    text = re.sub(rf"{_FOLDER}/(?:[^\s'\":,/]+/)*", "TMP/", text)
    return re.sub(r"TMP/tmp\w{8}\b", "TMP", text).replace("\n", r"\n").strip()


def _without_values(text: str) -> str:
    """Return what stays of a message whose template is unknown when quoted words and numbers are left out."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|\d[\d.,e+-]*", "", text)


def _by_place(lines: Iterable[Line]) -> defaultdict[tuple[str, str], list[str]]:
    texts = defaultdict(list)
    for line in lines:
        texts[line.module, line.function].append(line.text)
    return texts


def _by_module(lines: Iterable[Line]) -> list[str]:
    """Return lines under headings, the modules."""
    listed: list[str] = []
    module = None
    for line in sorted(lines):
        if line.module != module:
            module = line.module
            listed += ["", module]
        listed.append(str(line))
    return listed


def _lines(text: str) -> set[Line]:
    found: set[Line] = set()
    module = ""
    for line in text.splitlines():
        if line.startswith("    "):
            function, _, message = line.strip().partition(": ")
            found.add(Line(module, function, message))
        elif not line.startswith("#"):
            module = line or module
    return found
