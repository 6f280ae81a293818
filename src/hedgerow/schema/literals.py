"""Literals: statements about one attribute, such as `age <= 30`; extents: the bins on which they are true."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import ArgumentError
from hedgerow.text.days import as_day, as_plain
from hedgerow.text.messages import shown
from hedgerow.text.values import LONGEST_TEXT, Value, printable, quoted_text

_TEMPLATES = {
    "true": "{a}",
    "false": "not {a}",
    "=": "{a} = {0}",
    "!=": "{a} != {0}",
    "<=": "{a} <= {0}",
    ">": "{a} > {0}",
    "between": "{0} < {a} <= {1}",
    "missing": "{a} is missing",
    "known": "{a} is not missing",
    "outside": "{a} is outside its domain",
}
_LONGEST_BRIEF = 120
_ORDERED = ("<=", ">", "between")
_OPERANDS = {"=": 1, "!=": 1, "<=": 1, ">": 1, "between": 2}


@dataclass(frozen=True)
class Literal:
    """A statement on one attribute that a row satisfies or not.

    A missing value satisfies only ``missing``; a value outside the domain, where the schema has a bin for those,
    satisfies only ``outside``, ``!=`` and ``known``.

    Attributes
    ----------
    attribute : str
        The attribute's name.
    operator : str
        One of ``true``, ``false``, ``=``, ``!=``, ``<=``, ``>``, ``between`` (first operand < value <= second),
        ``missing``, ``known``, ``outside``.
    operands : tuple
        The values compared with: text, finite numbers or booleans; as many as the operator takes, else ValueError. Of
        ``<=``, ``>`` and ``between``, a date and text that spells one, ``YYYY-MM-DD``, are a `Day`.

    Examples
    --------
    >>> print(Literal("age", "between", (30, 45)))
    30 < age <= 45
    """

    attribute: str
    operator: str
    operands: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        plain = tuple(value.item() if isinstance(value, np.generic) else value for value in self.operands)
        if self.operator in _ORDERED:
            plain = tuple(map(as_day, plain))
        object.__setattr__(self, "operands", plain)
        if not isinstance(self.attribute, str):
            raise ArgumentError(f"expected text for a literal's attribute, got {shown(self.attribute)}.")
        if not isinstance(self.operator, str) or self.operator not in _TEMPLATES:
            raise ArgumentError(f"operator must be one of {', '.join(sorted(_TEMPLATES))}, got {shown(self.operator)}.")
        expected = _OPERANDS.get(self.operator, 0)
        if len(plain) != expected:
            raise ArgumentError(f"operator {self.operator!r} takes {expected} operands, got {len(plain)}.")
        for value in plain:
            if not (isinstance(value, (str, bool)) or is_number(value)):
                raise ArgumentError(f"expected text, booleans or finite numbers as operands, got {shown(value)}.")

    def __str__(self) -> str:
        return _TEMPLATES[self.operator].format(*map(quoted_text, self.operands), a=printable(self.attribute))

    @property
    def brief(self) -> str:
        """The literal as text for a message, cut where names or values are long."""
        text = str(self)
        return text if len(text) <= _LONGEST_BRIEF else f"{text[:_LONGEST_BRIEF]}…"

    def to_dict(self) -> dict[str, Any]:
        """Return the literal as JSON-ready data."""
        return {"attribute": self.attribute, "operator": self.operator, "operands": list(map(as_plain, self.operands))}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
        return cls(data["attribute"], data["operator"], tuple(data["operands"]))


@dataclass(frozen=True)
class Extent:
    """A set of an attribute's bins; equal sets are equal extents.

    Attributes
    ----------
    n_known : int
        How many bins there are of values inside the domain.
    start, stop, inverted : int, int, bool
        The run of known bins from `start` up to and without `stop`; if inverted, all known bins but these.
    missing, outside : bool or None
        Whether the set has the bin of missing values, and that of values outside the domain. None: there is none.

    Examples
    --------
    >>> Extent(4, 0, 3).complement() == Extent(4, 3, 4)
    True
    >>> Extent(3, 1, 2, inverted=True, missing=False).truth()
    array([ True, False,  True, False])
    """

    n_known: int
    start: int
    stop: int
    inverted: bool = False
    missing: bool | None = None
    outside: bool | None = None

    def __post_init__(self) -> None:
        start, stop = self.start, self.stop
        if start >= stop:
            start = stop = 0
        flipped = self.inverted and (start == 0 or stop == self.n_known)
        if flipped:  # the complement of a run at an end is a run
            start, stop = (stop, self.n_known) if start == 0 else (0, start)
        if start >= stop:
            start = stop = 0
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "inverted", self.inverted and not flipped)

    @property
    def only_known(self) -> int | None:
        """The one known bin in the set; None if there are more, or none."""
        return self.start if self.stop - self.start == 1 and not self.inverted else None

    @property
    def is_trivial(self) -> bool:
        """True if the set is empty, or has all bins."""
        others = {flag for flag in (self.missing, self.outside) if flag is not None}
        size = self.stop - self.start
        return not self.inverted and size in (0, self.n_known) and others <= {size > 0}

    def complement(self) -> "Extent":
        """Return the set of all other bins."""
        missing, outside = (None if flag is None else not flag for flag in (self.missing, self.outside))
        return Extent(self.n_known, self.start, self.stop, not self.inverted, missing, outside)

    def truth(self) -> Mask:
        """Return for each bin whether it is in the set, those of missing and outside values last."""
        known = np.full(self.n_known, self.inverted)
        known[self.start : self.stop] = not self.inverted
        return np.append(known, [flag for flag in (self.missing, self.outside) if flag is not None]).astype(bool)


_LARGEST = 10**300  # any of these is a float64 too


def name_problem(name: object) -> str | None:
    """Return why this cannot be the name of a column; None if it can."""
    if not isinstance(name, str) or not name:
        return f"expected text for a name, got {shown(name)}."
    return _text_problem(name)


def values_problem(values: Iterable[object]) -> str | None:
    for text in values:
        if isinstance(text, str) and (not text or text != text.strip()):
            expected = "expected text that is not blank and has no surrounding spaces, which are trimmed off the data"
            return f"{expected}; got {shown(text)}."
        problem = _text_problem(text) if isinstance(text, str) else None
        if problem:
            return problem
    return None


def is_number(value: object) -> bool:
    """Return whether a value is a number that a float64 can hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value)


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "expected text without NUL characters, which databases cannot hold."
    if len(text) > LONGEST_TEXT:
        return f"expected text of at most {LONGEST_TEXT:,} characters, got {shown(text)}."
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        return f"expected Unicode text, got {shown(text)}, which has one half of a surrogate pair."
    return None
