"""Draft schemas from DDI codebooks 2.x: the declarations of variables, without the statistics of rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from os import PathLike
from pathlib import Path
from typing import Any
from xml.parsers import expat

from hedgerow.errors import SchemaError
from hedgerow.schema.imports.draft import Draft, DraftColumn, Limits, limits_between, typed_column, values_of
from hedgerow.text.values import LONGEST_TEXT

ORIGIN = "DDI codebook"
LARGEST_CODEBOOK = 2**25  # the maximum size in bytes; a codebook with thousands of variables needs about 10 MB
_DEEPEST, _MOST_VARIABLES = 100, 20_000
_TEXTS = ("labl", "catValu")
_RANGE = ("min", "minExclusive", "max", "maxExclusive")
_MOST_CODES = 1_000  # the maximum number of values in a range of invalid values


@dataclass
class _Variable:
    """State of a variable while its element is read."""

    name: str
    is_discrete: bool
    is_ordinal: bool
    unit: str | None = None
    label: str = ""
    is_text: bool = False
    decimals: str = ""
    ranges: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    invalid: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    categories: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    missing: list[str] = field(default_factory=list[str])


def codebook_draft(path: str | PathLike[str]) -> Draft:
    """Return the draft of a codebook's variables; statistics of rows are not read. SchemaError for a DOCTYPE."""
    with Path(path).open("rb") as file:
        content = file.read(LARGEST_CODEBOOK + 1)
    if len(content) > LARGEST_CODEBOOK:
        raise SchemaError(f"{path}: a codebook can have at most {LARGEST_CODEBOOK:,} bytes; this file is larger.")
    reader, parser = _CodebookReader(), expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse_doctype
    problem = None
    try:
        parser.Parse(content, True)
    except SchemaError as error:
        problem = str(error)
    except expat.ExpatError as error:
        problem = f"the document is not well-formed XML (line {error.lineno})"
    except (ValueError, LookupError):  # an encoding that Python does not know
        problem = "the encoding is not supported; save the document as UTF-8"
    if problem is None and not reader.variables:
        problem = "expected a DDI codebook 2.x, but the document has no variables (var elements)"
    if problem:
        raise SchemaError(f"{path}: {problem}.")
    return Draft.of(map(_column, reader.variables), ORIGIN, "codebook with a variable")


def _refuse_doctype(*_: object) -> None:
    raise SchemaError("a DOCTYPE is not allowed, since it could define entities; delete the DOCTYPE line")


class _CodebookReader:
    """Parser target that keeps the variables and ignores all other elements."""

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
            problem = f"elements can be nested at most {_DEEPEST} deep, and there can be at most {_MOST_VARIABLES:,}"
            raise SchemaError(f"{problem} variables")
        if name == "var":
            identifier = attributes.get("name") or attributes.get("ID") or ""
            discrete, ordinal = attributes.get("intrvl") != "contin", attributes.get("nature") == "ordinal"
            unit, decimals = attributes.get("measUnit"), attributes.get("dcml", "")
            self.variables.append(_Variable(identifier, discrete, ordinal, unit, decimals=decimals))
        elif "var" in self._open and self.variables:
            self._within(name, attributes, self.variables[-1])

    def _within(self, name: str, attributes: dict[str, str], variable: _Variable) -> None:
        if name == "varFormat":
            variable.is_text = attributes.get("type") == "character"
        elif name in ("range", "item") and {"valrng", "invalrng"} & set(self._open):
            value = attributes.get("VALUE", "")
            limits = attributes if name == "range" else {"min": value, "max": value} | attributes
            if "valrng" in self._open:
                variable.ranges.append(limits)
            elif name == "item":
                variable.missing.append(value)
            else:
                variable.invalid.append(limits)
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


def _column(variable: _Variable) -> DraftColumn | tuple[str, str]:
    invalid = [_invalid_codes(limits, variable) for limits in variable.invalid]
    if None in invalid:
        problem = f"its range of invalid values is not a range of at most {_MOST_CODES:,} whole numbers"
        return variable.name, f"{problem}; recode them as one value"
    tokens = values_of([*map(_number, variable.missing), *(code for codes in invalid for code in codes or ())])
    valid = [(code, label) for code, label in variable.categories if _number(code) not in tokens]
    legend = "; ".join(f"{code} = {label}" if label else code for code, label in valid)
    label = " ".join(variable.label.split())
    common: dict[str, Any] = {
        "missing_values": tokens,
        "unit": variable.unit,
        "source": ORIGIN,
        "description": f"{label} ({legend})".strip() if legend and any(text for _, text in valid) else label,
    }
    values = tuple(_number(code) for code, _ in valid)
    has_all = not variable.ranges or (
        _is_whole(variable) and all(set(_codes_within(part) or ("",)) <= {*values, *tokens} for part in variable.ranges)
    )
    if variable.is_discrete and has_all and (variable.ranges or len(values) > 1):
        kind = "ordered" if variable.is_ordinal else "categorical"
        return DraftColumn(name=variable.name, kind=kind, values=values, **common)
    if variable.is_text:
        return DraftColumn(name=variable.name, kind="categorical", **common)
    if variable.is_discrete and not variable.ranges:
        return DraftColumn(name=variable.name, **common)
    limits = reduce(or_, [limits_between(part, *_RANGE) for part in variable.ranges] or [Limits()])
    if variable.ranges and values:
        limits |= Limits(values=values)
    return typed_column(variable.name, "integer" if _is_whole(variable) else "real", (), limits, **common)


def _invalid_codes(limits: Mapping[str, str], variable: _Variable) -> range | None:
    """Return a range of invalid values; None unless they are at most `_MOST_CODES` whole numbers."""
    ends = [limits[key].strip() for key in _RANGE if key in limits]
    is_single = len(ends) == 2 and ends[0] == ends[1]
    has_fractions = not (is_single or _is_whole(variable)) or any("." in end for end in ends)
    return None if has_fractions else _codes_within(limits)


def _codes_within(given: Mapping[str, str]) -> range | None:
    """Return the whole numbers within limits; None unless there are at most `_MOST_CODES` and no fractions."""
    limits = limits_between(given, *_RANGE)
    low, high = limits.low(whole=True), limits.high(whole=True)
    if given.get("UNITS", "INT") != "INT" or low is None or high is None or high - low >= _MOST_CODES:
        return None
    return range(int(low), int(high) + 1)


def _is_whole(variable: _Variable) -> bool:
    """Return whether a variable is declared to have whole numbers, by its decimals and its ranges."""
    ends = [limits.get(key, "") for limits in variable.ranges for key in _RANGE]
    units = {limits.get("UNITS", "INT") for limits in variable.ranges}
    return variable.decimals.strip("0") == "" and units == {"INT"} and not any("." in end for end in ends)


def _number(code: str) -> str | int:
    plain = code.strip()
    return int(plain) if plain.lstrip("-").isdigit() and plain.isascii() and str(int(plain)) == plain else plain
