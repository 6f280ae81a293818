"""DDI codebooks 2.x, read as a draft: what they declare of variables, not the statistics of rows that they hold too."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any
from xml.parsers import expat

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, bounded_column, values_of
from hedgerow.values import LONGEST_TEXT

ORIGIN = "DDI codebook"
LARGEST_CODEBOOK = 2**25
"""The most bytes of a codebook: those of surveys with thousands of variables have some 10 MB."""
_DEEPEST, _MOST_VARIABLES = 100, 20_000
_TEXTS = ("labl", "catValu")


@dataclass
class _Variable:
    """One variable while its element is read."""

    name: str
    is_discrete: bool
    unit: str | None = None
    label: str = ""
    is_text: bool = False
    limits: tuple[str | None, str | None] = (None, None)
    is_whole: bool = False
    categories: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    missing: list[str] = field(default_factory=list[str])


def codebook_draft(path: str | PathLike[str]) -> Draft:
    """Return the draft of a codebook's variables.

    Declared are categories, those of missing values, valid ranges, formats, labels and units. Statistics (``sumStat``,
    ``catStat``) are of rows, and not read. Documents with a DOCTYPE are refused: no entity is ever expanded.

    Raises
    ------
    SchemaError
        If it is no codebook, too large, or has a DOCTYPE; it quotes nothing of it.
    """
    with Path(path).open("rb") as file:
        content = file.read(LARGEST_CODEBOOK + 1)
    if len(content) > LARGEST_CODEBOOK:
        raise SchemaError(f"{path}: expected a codebook of at most {LARGEST_CODEBOOK:,} bytes, got a larger file.")
    variables, problem = _read(content)
    if problem is None and not variables:
        problem = "expected a DDI codebook 2.x with variables (var), got none"
    if problem:
        raise SchemaError(f"{path}: {problem}.")
    return Draft(tuple(map(_column, variables)), (), ORIGIN)


class _RefusedError(Exception):
    pass


def _read(content: bytes) -> tuple[list[_Variable], str | None]:
    """Return the variables, or why the document is refused."""
    reader, parser = _Reader(), expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse_doctype
    problem = None
    try:
        parser.Parse(content, True)
    except _RefusedError as error:
        problem = str(error)
    except expat.ExpatError as error:
        problem = f"expected XML, found a document that is not well formed (line {error.lineno})"
    except (ValueError, LookupError):  # of an encoding that Python does not know
        problem = "expected XML in UTF-8, found another encoding"
    return reader.variables, problem


def _refuse_doctype(*_: object) -> None:
    raise _RefusedError("expected a document without DOCTYPE, which could define entities; delete the DOCTYPE line")


class _Reader:
    """What the parser calls: keeps the variables, and of all other elements nothing."""

    def __init__(self) -> None:
        self.variables: list[_Variable] = []
        self._open: list[str] = []
        self._words: list[str] = []
        self._category: dict[str, str] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        self._open.append(name)
        self._words = []
        if len(self._open) > _DEEPEST or len(self.variables) > _MOST_VARIABLES:
            raise _RefusedError("expected a DDI codebook, found elements nested too deep, or too many variables")
        if name == "var":
            given = attributes.get("name") or attributes.get("ID") or ""
            self.variables.append(_Variable(given, attributes.get("intrvl") != "contin", attributes.get("measUnit")))
        elif "var" in self._open and self.variables:
            self._within(name, attributes, self.variables[-1])

    def _within(self, name: str, attributes: dict[str, str], variable: _Variable) -> None:
        if name == "varFormat":
            variable.is_text = attributes.get("type") == "character"
        elif name == "range" and "valrng" in self._open:
            variable.limits = (attributes.get("min"), attributes.get("max"))
            variable.is_whole = attributes.get("UNITS", "INT") == "INT"
        elif name == "item" and "invalrng" in self._open:
            variable.missing.append(attributes.get("VALUE", ""))
        elif name == "catgry":
            self._category = {"missing": attributes.get("missing", "N")}

    def text(self, text: str) -> None:
        if self._open and self._open[-1] in _TEXTS and sum(map(len, self._words)) < LONGEST_TEXT:
            self._words.append(text)

    def end(self, _: str) -> None:
        name = self._open.pop()
        text, above = "".join(self._words).strip(), self._open[-1] if self._open else ""
        if self.variables and "var" in self._open:
            variable = self.variables[-1]
            if name == "labl" and above == "var":
                variable.label = variable.label or text
            elif name in _TEXTS and above == "catgry":
                self._category.setdefault(name, text)
            elif name == "catgry" and self._category.get("catValu"):
                variable.categories.append((self._category["catValu"], self._category.get("labl", "")))
                if self._category["missing"].upper().startswith("Y"):
                    variable.missing.append(self._category["catValu"])
        self._words = []


def _column(variable: _Variable) -> DraftColumn:
    tokens = values_of(map(_number, variable.missing))
    valid = [(code, label) for code, label in variable.categories if _number(code) not in tokens]
    told = "; ".join(f"{code} = {label}" if label else code for code, label in valid)
    label = " ".join(variable.label.split())
    common: dict[str, Any] = {
        "missing_values": tokens,
        "unit": variable.unit,
        "source": ORIGIN,
        "description": f"{label} ({told})".strip() if told and any(text for _, text in valid) else label,
    }
    if variable.is_discrete and valid:
        values = tuple(_number(code) for code, _ in valid)
        return DraftColumn(name=variable.name, kind="categorical", values=values, **common)
    if variable.is_text:
        return DraftColumn(name=variable.name, kind="categorical", **common)
    if not variable.is_discrete or any(variable.limits):
        whole = variable.is_whole and all(limit is None or "." not in limit for limit in variable.limits)
        whole = whole and any(variable.limits)
        common["description"] = label
        return bounded_column(variable.name, "integer" if whole else "real", *variable.limits, **common)
    return DraftColumn(name=variable.name, **common)


def _number(code: str) -> str | int:
    plain = code.strip()
    return int(plain) if plain.lstrip("-").isdigit() and plain.isascii() and str(int(plain)) == plain else plain
