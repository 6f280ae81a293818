"""XML documents of others: elements with their lines and paths, bounded in number and depth, without DOCTYPE."""

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
_SHOWN_PATH = 4  # the most elements of a path in a message


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
        """The names of the elements down to this one; of a deep one, the last."""
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
        return [one for one in self.children if one.tag in tags]

    def first(self, *tags: str) -> "Element | None":
        return next(iter(self.all(*tags)), None)

    def refuse(self, text: str) -> NoReturn:
        raise ModelFormatError(f"line {self.line}: {text}.")

    def need(self, name: str) -> str:
        if name not in self.given:
            self.refuse(f"expected {self.path} with the attribute {name}")
        return self.given[name]

    def one_of(self, name: str, default: str, *allowed: str) -> str:
        found = self.given.get(name, default)
        if found not in allowed:
            supported = ", ".join(allowed)
            self.refuse(f'{name}="{found[:40]}" of {self.path} is not supported; supported: {supported}')
        return found


@dataclass(frozen=True)
class Document:
    """The root element of a document, and its comments and odd names of namespaces, each with its line."""

    root: Element
    comments: tuple[tuple[int, str], ...]


class _Refused(Exception):  # noqa: N818 -- the reason of the parser's end
    pass


class _XmlReader:
    """The parser's target: the elements of a document of bounded size and depth."""

    def __init__(self, parser: Any) -> None:
        self.parser, self.count = parser, 0
        self.open = [Element("", {}, 0)]
        self.comments: list[tuple[int, str]] = []

    def start(self, tag: str, given: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) > _DEEPEST or self.count > _MOST_ELEMENTS:
            raise _Refused(f"expected at most {_MOST_ELEMENTS:,} elements, nested {_DEEPEST} deep, found more")
        space, _, name = tag.rpartition(" ")
        one = Element(name, given, self.parser.CurrentLineNumber, space, self.open[-1])
        self.open[-1].children.append(one)
        self.open.append(one)

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
        raise _Refused("expected a document without processing instructions; delete the line that begins with <?")

    def refuse_doctype(self, *_: object) -> None:
        raise _Refused("expected a document without DOCTYPE, which could define entities; delete the DOCTYPE line")


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
        problem = f"line {error.lineno}: expected XML, found a document that is not well formed"
    if problem:
        raise ModelFormatError(f"{problem}.")
    return Document(reader.open[0].children[0], tuple(reader.comments))


def _blank_lines(found: re.Match[str]) -> str:
    """Return the line breaks of a declaration, so that the lines after it keep their numbers."""
    return "\n" * found[0].count("\n")
