"""Numbers of a page of the docs, held against the committed files that they come from.

A page's test says what the page must say, with values computed from files: ``page.says("by {} points", short(x, 1))``.
What it says in this way, or what the test calls a setting or another's number with ``given``, is *covered*.
`Page.uncovered` lists the numbers that nobody covers, so that a number cannot come into a page without its source.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "docs"))
writer = importlib.import_module("write_numbers")
_SKIPPED = re.compile(r"```.*?```|`[^`\n]*`|<!--.*?-->|\]\([^)\n]*\)|https?://\S+|^#[^\n]*", re.DOTALL | re.MULTILINE)
_ESCAPE = re.compile(r"\\(?=[*_+)\[\]])")
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?|(?<![\w.])\.\d+")
_UNIT = re.compile(
    r"\s?(?:%|points?\b|ms\b|s\b|seconds?\b|minutes?\b|hours?\b|times\b|GB\b|GiB\b|MB\b|bits?\b|standard\b)"
)


class Page:
    """A page, and which of its characters are covered.

    A number is anything in digits outside code, links, comments and headings. Whole numbers below 13 that no unit
    follows ("Figure 4", "at most 2 literals", "ε = 1") are taken as settings and need no source.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        text = _SKIPPED.sub(_blank, (ROOT / name).read_text(encoding="utf-8"))
        self.text = " ".join(_ESCAPE.sub("", text).split())
        self._covered = bytearray(len(self.text))

    def says(self, text: str, *values: str) -> None:
        """Assert that the page has this text, with the values in its braces, and cover all its occurrences."""
        wanted = " ".join(text.format(*values).split())
        result = [match.span() for match in re.finditer(re.escape(wanted), self.text)]
        assert result, f"{self.name} does not say: {wanted}"
        for start, end in result:
            self._covered[start:end] = b"\1" * (end - start)

    def row(self, *cells: str) -> None:
        """Assert that a table of the page has a row that begins with these cells, and cover it."""
        self.says("| {}", " | ".join(cells))

    def given(self, *texts: str) -> None:
        """Cover what is a setting, a definition or a number that others print: it has no file of ours."""
        for text in texts:
            self.says(text.replace("{", "{{").replace("}", "}}"))

    def uncovered(self) -> list[str]:
        """Return the numbers that nothing covers, each with the words around it."""
        return [
            self.text[max(match.start() - 40, 0) : match.end() + 20]
            for match in _NUMBER.finditer(self.text)
            if not all(self._covered[match.start() : match.end()]) and not self._setting(match)
        ]

    def _setting(self, match: re.Match[str]) -> bool:
        number = match.group().rstrip(",")
        return number.isdigit() and int(number) < 13 and not _UNIT.match(self.text, match.end())


def _blank(match: re.Match[str]) -> str:
    """Return a link's end as it is needed to tell it from text, and nothing of what is skipped."""
    return "] " if match.group().startswith("](") else " "


def short(value: float, digits: int, *, sign: bool = False) -> str:
    """Return a number as the pages write it: no zero before the point, a real minus; with `sign` also a plus.

    >>> short(0.0441, 3), short(-0.0441, 3), short(0.0441, 3, sign=True), short(1.26, 1), short(-0.0004, 3)
    ('.044', '−.044', '+.044', '1.3', '.000')
    """
    text = f"{abs(value):.{digits}f}"
    text = text[1:] if text.startswith("0.") else text
    below = value < 0 and float(text) > 0  # a zero has no minus
    return ("−" if below else "+" if sign else "") + text
