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
from hedgerow.text.language import N_, _
from hedgerow.text.messages import number_of, shown
from hedgerow.text.values import LONGEST_TEXT, Value, printable, quoted_text

_TEMPLATES = {
    "true": "{attribute}",
    "false": N_("not {attribute}"),
    "=": "{attribute} = {first}",
    "!=": "{attribute} != {first}",
    "<=": "{attribute} <= {first}",
    ">": "{attribute} > {first}",
    "between": "{first} < {attribute} <= {second}",
    "missing": N_("{attribute} is missing"),
    "known": N_("{attribute} is not missing"),
    "outside": N_("{attribute} is outside its domain"),
}
_LONGEST_BRIEF = 120
_ORDERED = ("<=", ">", "between")
_OPERANDS = {"=": 1, "!=": 1, "<=": 1, ">": 1, "between": 2}


@dataclass(frozen=True)
class Literal:
    """A statement about one attribute that is true or false for each row.

    A missing value satisfies only ``missing``. A value outside the domain, if the schema has a bin for such values,
    satisfies only ``outside``, ``!=`` and ``known``.

    Attributes
    ----------
    attribute : str
        The attribute's name.
    operator : str
        One of ``true``, ``false``, ``=``, ``!=``, ``<=``, ``>``, ``between`` (first operand < value <= second),
        ``missing``, ``known``, ``outside``.
    operands : tuple
        The values to compare with: text, finite numbers or booleans; ValueError if their number does not suit the
        operator. ``<=``, ``>`` and ``between`` store dates, and text such as ``2020-01-31``, as a `Day`.

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
            raise ArgumentError(f"attribute must be text, got {shown(self.attribute)}.")
        if not isinstance(self.operator, str) or self.operator not in _TEMPLATES:
            raise ArgumentError(f"operator must be one of {', '.join(sorted(_TEMPLATES))}, got {shown(self.operator)}.")
        expected = _OPERANDS.get(self.operator, 0)
        if len(plain) != expected:
            raise ArgumentError(f"operator {self.operator!r} takes {number_of(expected, 'operand')}, got {len(plain)}.")
        for value in plain:
            if not (isinstance(value, (str, bool)) or is_number(value)):
                raise ArgumentError(f"operands must be text, booleans or finite numbers, got {shown(value)}.")

    def __str__(self) -> str:
        operands = dict(zip(("first", "second"), map(quoted_text, self.operands), strict=False))
        return _(_TEMPLATES[self.operator], attribute=printable(self.attribute), **operands)

    @property
    def brief(self) -> str:
        """The literal as text for a message, shortened if names or values are long."""
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
    """A set of an attribute's bins; extents of equal sets compare equal.

    Attributes
    ----------
    n_known : int
        Number of bins of values inside the domain.
    start, stop, inverted : int, int, bool
        The known bins in ``range(start, stop)``; if inverted, all other known bins.
    missing, outside : bool or None
        Whether the set contains the bin of missing values, and the bin of values outside the domain. None if the
        attribute has no such bin.

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
        if flipped:  # the complement of a run that starts or ends the bins is a run
            start, stop = (stop, self.n_known) if start == 0 else (0, start)
        if start >= stop:
            start = stop = 0
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "stop", stop)
        object.__setattr__(self, "inverted", self.inverted and not flipped)

    @property
    def only_known(self) -> int | None:
        """The known bin, if the set contains exactly one; else None."""
        return self.start if self.stop - self.start == 1 and not self.inverted else None

    @property
    def is_trivial(self) -> bool:
        """True if the set is empty or contains all bins."""
        policies = {flag for flag in (self.missing, self.outside) if flag is not None}
        size = self.stop - self.start
        return not self.inverted and size in (0, self.n_known) and policies <= {size > 0}

    def complement(self) -> "Extent":
        """Return the set of all other bins."""
        missing, outside = (None if flag is None else not flag for flag in (self.missing, self.outside))
        return Extent(self.n_known, self.start, self.stop, not self.inverted, missing, outside)

    def truth(self) -> Mask:
        """Return whether each bin is in the set; the bins of missing and outside values come last."""
        known = np.full(self.n_known, self.inverted)
        known[self.start : self.stop] = not self.inverted
        return np.append(known, [flag for flag in (self.missing, self.outside) if flag is not None]).astype(bool)


_LARGEST = 10**300  # every smaller whole number can be converted to float64


def name_problem(name: object) -> str | None:
    """Return the reason why an object cannot be the name of a column, or None."""
    if not isinstance(name, str) or not name:
        return f"a name must be non-empty text, got {shown(name)}."
    return _text_problem(name)


def values_problem(values: Iterable[object]) -> str | None:
    for text in values:
        if isinstance(text, str) and (not text or text != text.strip()):
            expected = "text must not be blank, and must not begin or end with spaces, since cells are trimmed"
            return f"{expected}; got {shown(text)}."
        problem = _text_problem(text) if isinstance(text, str) else None
        if problem:
            return problem
    return None


def is_number(value: object) -> bool:
    """Return whether a value is a finite number that can be converted to float64."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return abs(value) < _LARGEST if isinstance(value, int) else math.isfinite(value)


def _text_problem(text: str) -> str | None:
    if "\0" in text:
        return "text must not contain NUL characters, which databases cannot store."
    if len(text) > LONGEST_TEXT:
        return f"text must have at most {LONGEST_TEXT:,} characters, got {len(text):,}: {shown(text)}."
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        return f"text must be valid Unicode, got {shown(text)}, which contains an unpaired surrogate."
    return None
