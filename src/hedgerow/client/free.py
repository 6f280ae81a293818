"""Free answers of a curator's service, checked for their types and bounds: whoever answers may be an adversary."""

from __future__ import annotations

import re
from math import isfinite
from typing import Any

from hedgerow.errors import ServiceError

_AMOUNT = re.compile(r"[0-9]{1,500}(/[1-9][0-9]{0,499})?", re.ASCII)
_AMOUNTS = ("epsilon", "delta", "rho")
_LONGEST = 1000  # characters of a text
_LARGEST = 10**30  # of a number
_MOST = 100  # entries of a list or mapping
_DEEPEST = 3  # lists and mappings in one another


def read_budget(found: Any) -> dict[str, Any]:
    """Return caps, charges and what is left as exact text, and how they are accounted."""
    if _is_budget(found):
        return found
    raise ServiceError("expected exact amounts of the budget from the service, got another answer.")


def read_cost(found: Any, kind: str) -> dict[str, Any]:
    """Return the cost of a question: exact amounts, whether they are left, and the public facts of its kind."""
    if isinstance(found, dict) and set(found) == {*_AMOUNTS, "allowed", *_FACTS[kind]}:
        amounts = all(found[name] is None or _is_amount(found[name]) for name in _AMOUNTS)
        if amounts and isinstance(found["allowed"], bool) and all(_is_fact(found[name]) for name in _FACTS[kind]):
            return found
    raise ServiceError("expected the cost of the question from the service, got another answer.")


_FACTS = {"fits": ("search",), "marginals": ("bins", "noise_sd"), "error-marginals": ("bins", "noise_sd")}


def _is_budget(found: Any) -> bool:
    if not isinstance(found, dict) or set(found) != {"accounting", *_AMOUNTS}:
        return False
    parts = [found[name] for name in _AMOUNTS if found[name] is not None]
    return found["accounting"] in ("basic", "zcdp") and all(_is_part(part) for part in parts)


def _is_part(part: Any) -> bool:
    known = isinstance(part, dict) and set(part) == {"cap", "spent", "left"} and _is_amount(part["cap"])
    return known and all(part[name] is None or _is_amount(part[name]) for name in ("spent", "left"))


def _is_amount(value: Any) -> bool:
    return isinstance(value, str) and _AMOUNT.fullmatch(value) is not None


def _is_fact(value: Any) -> bool:
    """Return whether a value is printable text, or a number >= 0, within bounds."""
    if isinstance(value, str):
        return len(value) <= _LONGEST and value.isprintable()
    return type(value) in (int, float) and 0 <= value <= _LARGEST and isfinite(value)


def is_public(value: Any, depth: int = _DEEPEST) -> bool:
    """Return whether a part of a dataset's description is made of few printable texts, numbers and truth values."""
    if isinstance(value, dict):
        return all(_is_fact(name) for name in value) and is_public([*value.values()], depth)
    if isinstance(value, list):
        return depth > 0 and len(value) <= _MOST and all(is_public(part, depth - 1) for part in value)
    return value is None or isinstance(value, bool) or _is_fact(value)
