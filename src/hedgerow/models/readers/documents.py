"""Untrusted XML documents: elements with lines and paths, bounded in number and depth, without DOCTYPE."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from hedgerow.errors import ModelFormatError
from hedgerow.text.messages import shown

_DEEPEST, _MOST_ELEMENTS = 150, 400_000
ADDRESS = re.compile("(https?|urn):[A-Za-z0-9_./:#-]{1,100}")
_DECLARATION = re.compile(
    r"""^\s*<\?xml(\s+(version|encoding|standalone)\s*=\s*("[\w.-]{1,40}"|'[\w.-]{1,40}')){1,3}\s*\?>"""
)
_SHOWN_PATH = 4  # the number of elements of a path in messages


@dataclass(eq=False)
class Element:
    """An element of the document."""

    tag: str
    given: dict[str, str]
    line: int
    space: str = ""  # its namespace
    parent: "Element | None" = field(default=None, repr=False)
    children: "list[Element]" = field(default_factory=list["Element"])
    text: str = ""

    @property
    def path(self) -> str:
        """The names of the elements from the root to this one; only the last names of a long path."""
        names, element = [self.tag], self.parent
        while element is not None and element.tag and len(names) <= _SHOWN_PATH:
            names.append(element.tag)
            element = element.parent
        names = [*names[:_SHOWN_PATH], "…"] if len(names) > _SHOWN_PATH else names
        return "/".join(shown(name).strip("'") for name in reversed(names))

    def walk(self) -> "Iterator[Element]":
        """Yield this element and all elements in it, in the order of the document."""
        waiting: list[Element] = [self]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.children)

    def all(self, *tags: str) -> "list[Element]":
        return [child for child in self.children if child.tag in tags]

    def first(self, *tags: str) -> "Element | None":
        return next(iter(self.all(*tags)), None)

    def refuse(self, text: str) -> NoReturn:
        raise ModelFormatError(f"line {self.line}: {text}.")

    def need(self, name: str) -> str:
        if name not in self.given:
            self.refuse(f"{self.path} has no attribute {name}")
        return self.given[name]

    def one_of(self, name: str, default: str, *allowed: str) -> str:
        value = self.given.get(name, default)
        if value not in allowed:
            supported = ", ".join(allowed)
            self.refuse(f'{name}="{value[:40]}" of {self.path} is not supported; supported: {supported}')
        return value


@dataclass(frozen=True)
class Document:
    """The root element of a document, with its comments and unusual namespace names, each with its line."""

    root: Element
    comments: tuple[tuple[int, str], ...]


class _Refused(Exception):  # noqa: N818 -- stops the parser
    pass


class _XmlReader:
    """The parser target, which builds the elements of a document of bounded size and depth."""

    def __init__(self, parser: Any) -> None:
        self.parser, self.count = parser, 0
        self.open = [Element("", {}, 0)]
        self.comments: list[tuple[int, str]] = []

    def start(self, tag: str, given: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) > _DEEPEST or self.count > _MOST_ELEMENTS:
            raise _Refused(f"the document exceeds {_MOST_ELEMENTS:,} elements or a depth of {_DEEPEST}")
        space, _, name = tag.rpartition(" ")
        element = Element(name, given, self.parser.CurrentLineNumber, space, self.open[-1])
        self.open[-1].children.append(element)
        self.open.append(element)

    def end(self, _: str) -> None:
        self.open.pop()

    def words(self, text: str) -> None:
        self.open[-1].text += text

    def comment(self, text: str) -> None:
        self.comments.append((self.parser.CurrentLineNumber, text))

    def namespace(self, _: str | None, name: str | None) -> None:
        if not ADDRESS.fullmatch(name or ""):
            self.comment(name or "")

    def refuse_instruction(self, *_: object) -> None:
        raise _Refused("processing instructions are not allowed; delete the line that begins with <?")

    def refuse_doctype(self, *_: object) -> None:
        raise _Refused("a DOCTYPE is not allowed, because it could define entities; delete the DOCTYPE line")


def document(text: str) -> Document:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    reader = _XmlReader(parser)
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.CommentHandler = reader.words, reader.comment
    parser.StartNamespaceDeclHandler = reader.namespace
    parser.ProcessingInstructionHandler = reader.refuse_instruction
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = reader.refuse_doctype
    problem = None
    try:
        parser.Parse(_DECLARATION.sub(_blank_lines, text), True)
    except _Refused as error:
        problem = f"line {parser.CurrentLineNumber}: {error}"
    except expat.ExpatError as error:
        problem = f"line {error.lineno}: the document is not well-formed XML"
    if problem:
        raise ModelFormatError(f"{problem}.")
    return Document(reader.open[0].children[0], tuple(reader.comments))


def _blank_lines(declaration: re.Match[str]) -> str:
    """Return the line breaks of an XML declaration, so that later lines keep their numbers."""
    return "\n" * declaration[0].count("\n")
