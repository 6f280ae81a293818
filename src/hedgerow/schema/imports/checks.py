"""Check constraints, as catalogues of databases write them: the bounds and values that they declare of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from hedgerow.days import FIRST, LAST, Day, as_day
from hedgerow.schema.imports.draft import bound

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:[.][0-9]+)?(?:[eE][-+]?[0-9]+)?)|'(?P<text>(?:[^']|'')*)'|\"(?P<quoted>(?:[^\"]|\"\")+)\""
    r"|(?P<word>[^\W\d]\w*)|(?P<mark>::|<=|>=|<>|[-<>=(),\[\]]))"
)
_TYPE_WORDS = {"varying", "precision", "without", "with", "time", "zone"}  # of types of more than one word
_LONGEST, _DEEPEST = 100_000, 50
_TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "="}

Token = tuple[str, str]


@dataclass
class Limits:
    """What constraints declare of one column.

    Attributes
    ----------
    lows, highs : list of (number, bool)
        Bounds, each with whether the bound itself is allowed.
    values : list or None
        The values allowed; None where no constraint lists them.
    """

    lows: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    highs: list[tuple[float, bool]] = field(default_factory=list[tuple[float, bool]])
    values: list[Any] | None = None

    def low(self, *, whole: bool) -> float | None:
        """Return the largest lower bound; of whole numbers, the first that is allowed."""
        found = [_inside(value, allowed, whole, 1) for value, allowed in self.lows]
        return max(found, default=None)

    def high(self, *, whole: bool) -> float | None:
        """Return the smallest upper bound; of whole numbers, the last that is allowed."""
        found = [_inside(value, allowed, whole, -1) for value, allowed in self.highs]
        return min(found, default=None)


def _inside(value: float, allowed: bool, whole: bool, step: int) -> float:
    if not whole:
        return value
    nearest = int(-(-value // 1)) if step > 0 else int(value // 1)
    nearest = nearest if allowed or nearest != value else nearest + step
    return Day(min(max(nearest, FIRST), LAST)) if isinstance(value, Day) else nearest


def limits_of(column: str, constraints: Iterable[str]) -> Limits:
    """Return what check constraints declare of a column: comparisons with constants, joined by AND, and lists.

    A constraint that says anything else, such as OR or a function, says nothing here.

    Examples
    --------
    >>> found = limits_of("age", ["CHECK (((age >= 0) AND (age < 120)))"])
    >>> found.low(whole=True), found.high(whole=True)
    (0, 119)
    """
    found = Limits()
    for text in constraints:
        one = Limits()
        try:
            _Parser(text, column, one).read()
        except _OtherConstraintError:
            continue
        found.lows += one.lows
        found.highs += one.highs
        if one.values is not None:
            kept = one.values if found.values is None else [value for value in found.values if value in one.values]
            found.values = kept
    return found


class _OtherConstraintError(Exception):
    """A constraint is none of those that are read."""


class _Parser:
    """A parser of conjunctions; raises _OtherConstraintError for all else."""

    def __init__(self, text: str, column: str, limits: Limits) -> None:
        self._tokens = _without_casts(_tokens(re.sub(r"^\s*CHECK\b", "", text[:_LONGEST], flags=re.IGNORECASE)))
        self._column, self._limits, self._place = column, limits, 0

    def read(self) -> None:
        self._conjunction(0)
        if self._place < len(self._tokens):
            raise _OtherConstraintError

    def _next(self) -> Token:
        token = self._peek()
        self._place += 1
        return token

    def _peek(self) -> Token:
        return self._tokens[self._place] if self._place < len(self._tokens) else ("end", "")

    def _taken(self, *words: str) -> bool:
        kind, text = self._peek()
        found = kind in ("word", "mark") and text.upper() in words
        self._place += found
        return found

    def _expect(self, *words: str) -> None:
        for word in words:
            if not self._taken(word):
                raise _OtherConstraintError

    def _conjunction(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise _OtherConstraintError
        self._term(depth)
        while self._taken("AND"):
            self._term(depth)

    def _term(self, depth: int) -> None:
        start = self._place
        try:
            self._comparison()
        except _OtherConstraintError:
            self._place = start
            self._expect("(")
            self._conjunction(depth + 1)
            self._expect(")")

    def _comparison(self) -> None:
        left = self._operand(0)
        if self._taken("BETWEEN"):
            low = self._operand(0)
            self._expect("AND")
            self._compare(left, ">=", low)
            self._compare(left, "<=", self._operand(0))
        elif self._taken("IN"):
            self._expect("(")
            self._among(left, self._list(")"))
        elif self._taken("IS"):
            self._expect("NOT", "NULL")
        else:
            kind, operator = self._next()
            if kind != "mark" or operator not in _TURNED:
                raise _OtherConstraintError
            if operator == "=" and self._taken("ANY"):
                self._among(left, self._array(0))
            else:
                self._compare(left, operator, self._operand(0))

    def _array(self, depth: int) -> list[Any]:
        if self._taken("("):
            found = self._array(depth + 1) if depth < _DEEPEST else []
            self._expect(")")
            return found
        self._expect("ARRAY", "[")
        return self._list("]")

    def _list(self, end: str) -> list[Any]:
        found = [self._constant()]
        while self._taken(","):
            found.append(self._constant())
        self._expect(end)
        return found

    def _constant(self) -> Any:
        kind, value = self._operand(0)
        if kind != "constant":
            raise _OtherConstraintError
        return value

    def _operand(self, depth: int) -> tuple[str, Any]:
        if depth <= _DEEPEST and self._taken("("):
            found = self._operand(depth + 1)
            self._expect(")")
            return found
        if self._taken("-"):
            kind, text = self._next()
            if kind != "number":
                raise _OtherConstraintError
            return "constant", bound(f"-{text}", whole=False)
        kind, text = self._next()
        if kind == "number":
            return "constant", bound(text, whole=False)
        if kind == "text":
            return "constant", text
        if kind == "quoted" or (kind == "word" and text.upper() not in ("AND", "OR", "NOT", "ARRAY", "NULL", "CASE")):
            return "column", text
        raise _OtherConstraintError

    def _compare(self, left: tuple[str, Any], operator: str, right: tuple[str, Any]) -> None:
        if left[0] == "constant":
            left, right, operator = right, left, _TURNED[operator]
        if left[0] != "column" or right[0] != "constant":
            raise _OtherConstraintError
        value = as_day(right[1])
        value = value if isinstance(value, (int, float)) else bound(value, whole=False)
        if left[1] != self._column or (value is None and operator != "="):
            return
        if operator == "=":
            self._among(left, [right[1]])
        elif value is not None:
            limits = self._limits.lows if operator[0] == ">" else self._limits.highs
            limits.append((value, operator.endswith("=")))

    def _among(self, left: tuple[str, Any], values: list[Any]) -> None:
        if left[0] != "column":
            raise _OtherConstraintError
        if left[1] == self._column:
            self._limits.values = values


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    place, text = 0, text.strip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _OtherConstraintError
        kind = match.lastgroup or ""
        doubled = {"text": "'", "quoted": '"'}.get(kind, "")
        found.append((kind, match[kind].replace(2 * doubled, doubled) if doubled else match[kind]))
        place = match.end()
    return found


def _without_casts(tokens: list[Token]) -> list[Token]:
    """Return the tokens without casts such as ``::character varying(20)[]``."""
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        if tokens[place] != ("mark", "::"):
            found.append(tokens[place])
            place += 1
            continue
        place += 2
        while place < len(tokens) and tokens[place][0] == "word" and tokens[place][1].lower() in _TYPE_WORDS:
            place += 1
        if tokens[place : place + 1] == [("mark", "(")]:
            place = tokens.index(("mark", ")"), place) + 1 if ("mark", ")") in tokens[place:] else len(tokens)
        if tokens[place : place + 2] == [("mark", "["), ("mark", "]")]:
            place += 2
    return found
