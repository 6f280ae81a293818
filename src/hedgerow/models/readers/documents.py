"""Documents of XML from others: elements with their lines, of bounded number and depth, and no DOCTYPE."""

import re
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from hedgerow.errors import ModelFormatError
from hedgerow.text.messages import shown

_DEEPEST, _MOST_ELEMENTS = 150, 400_000
SILENT = ("Header", "Extension", "Output", "ModelStats", "ModelExplanation", "ModelVerification", "Timestamp")
SILENT += ("MiningBuildTask", "Partition", "ScoreDistribution", "MiningSchema", "RuleSelectionMethod")
"""Elements of PMML that do not change what is predicted, or are read where they matter."""


@dataclass
class Element:
    """An element of the document."""

    tag: str
    given: dict[str, str]
    line: int
    children: "list[Element]" = field(default_factory=list["Element"])
    text: str = ""

    def all(self, *tags: str) -> "list[Element]":
        return [one for one in self.children if one.tag in tags]

    def first(self, *tags: str) -> "Element | None":
        return next(iter(self.all(*tags)), None)

    def refuse(self, text: str) -> NoReturn:
        raise ModelFormatError(f"line {self.line}: {text}.")

    def need(self, name: str) -> str:
        if name not in self.given:
            self.refuse(f"expected {self.tag} with {name}, got one without")
        return self.given[name]

    def only(self, *tags: str) -> None:
        """Refuse children that could change the meaning."""
        for one in self.children:
            if one.tag not in (*tags, *SILENT):
                one.refuse(f"{shown(one.tag)} in {self.tag} is not supported; export the model without it")

    def one_of(self, name: str, default: str, *allowed: str) -> str:
        found = self.given.get(name, default)
        if found not in allowed:
            self.refuse(f'{name}="{found[:40]}" of {self.tag} is not supported; supported: {", ".join(allowed)}')
        return found


class _Refused(Exception):  # noqa: N818 -- the reason of the parser's end
    pass


class _Reader:
    """The parser's target: the elements of a document of bounded size and depth."""

    def __init__(self, parser: Any) -> None:
        self.parser, self.count = parser, 0
        self.open = [Element("", {}, 0)]

    def start(self, tag: str, given: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) > _DEEPEST or self.count > _MOST_ELEMENTS:
            raise _Refused(f"expected at most {_MOST_ELEMENTS:,} elements, nested {_DEEPEST} deep, found more")
        one = Element(tag.rpartition(" ")[2], given, self.parser.CurrentLineNumber)
        self.open[-1].children.append(one)
        self.open.append(one)

    def end(self, _: str) -> None:
        self.open.pop()

    def words(self, text: str) -> None:
        if self.open[-1].tag == "Array":
            self.open[-1].text += text

    def refuse_doctype(self, *_: object) -> None:
        raise _Refused("expected a document without DOCTYPE, which could define entities; delete the DOCTYPE line")


def document(text: str) -> Element:
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    reader = _Reader(parser)
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.words
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = reader.refuse_doctype
    problem = None
    try:
        parser.Parse(re.sub(r"^\s*<\?xml[^>]{0,200}\?>", "", text), True)
    except _Refused as error:
        problem = f"line {parser.CurrentLineNumber}: {error}"
    except expat.ExpatError as error:
        problem = f"line {error.lineno}: expected XML, found a document that is not well formed"
    if problem:
        raise ModelFormatError(f"{problem}.")
    return reader.open[0].children[0]
