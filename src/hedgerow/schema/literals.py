"""Literals: what can be said of one attribute, in words a person reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from hedgerow.values import Value, quoted_text

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
_OPERANDS = {"=": 1, "!=": 1, "<=": 1, ">": 1, "between": 2}


@dataclass(frozen=True)
class Literal:
    """A statement on one attribute that a row satisfies or not.

    A missing value satisfies only ``missing``; a value outside the domain, where the schema keeps those in a cell of
    their own, satisfies only ``outside``, ``!=`` and ``known``.

    Attributes
    ----------
    attribute : str
        The attribute's name.
    operator : str
        One of ``true``, ``false``, ``=``, ``!=``, ``<=``, ``>``, ``between`` (first operand < value <= second),
        ``missing``, ``known``, ``outside``.
    operands : tuple
        The values compared with.

    Examples
    --------
    >>> print(Literal("age", "between", (30, 45)))
    30 < age <= 45
    """

    attribute: str
    operator: str
    operands: tuple[Value, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "operands", tuple(self.operands))
        if self.operator not in _TEMPLATES:
            raise ValueError(f"operator must be one of {', '.join(sorted(_TEMPLATES))}, got {self.operator!r}.")
        expected = _OPERANDS.get(self.operator, 0)
        if len(self.operands) != expected:
            raise ValueError(f"operator {self.operator!r} takes {expected} operands, got {len(self.operands)}.")

    def __str__(self) -> str:
        return _TEMPLATES[self.operator].format(*map(quoted_text, self.operands), a=self.attribute)

    def to_dict(self) -> dict[str, Any]:
        """Return the literal as JSON-ready data."""
        return {"attribute": self.attribute, "operator": self.operator, "operands": list(self.operands)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read back what `to_dict` wrote."""
        return cls(str(data["attribute"]), str(data["operator"]), tuple(data["operands"]))
