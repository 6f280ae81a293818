"""What the name of a column suggests: proposals for a person to correct, from the name alone."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from hedgerow.schema.imports.draft import DraftColumn

_AS_IDENTIFIER = (
    r"(.* )?(id|uid|uuid|guid|key|mrn|ssn|nhs number|name|surname|email|phone|address|street|comment|notes?)"
)
_AS_TIME = r"(.* )?(time|timestamp|datetime)( .*)?|.* at"
_SUGGESTED: tuple[tuple[str, dict[str, Any]], ...] = (
    (r"(is|has|was|had|does|can) .*|.* (flag|yn|yes no)|smoker|alive|dead|died|deceased", {"kind": "boolean"}),
    (r"(.* )?(date|dob|birthday)( .*)?", {"kind": "date"}),
    (r"(.* )?age( .*)?", {"kind": "integer", "low": 0, "high": 120, "unit": "years"}),
    (r"(.* )?year( .*)?", {"kind": "integer", "low": 1900, "high": 2100}),
    (r"(.* )?month", {"kind": "integer", "low": 1, "high": 12}),
    (r"(.* )?weekday", {"kind": "integer", "low": 1, "high": 7}),
    (r"(.* )?hour", {"kind": "integer", "low": 0, "high": 23}),
    (r"(.* )?(percent|percentage|pct)( .*)?", {"kind": "real", "low": 0, "high": 100}),
    (r"(.* )?(probability|share|fraction|proportion)( .*)?", {"kind": "real", "low": 0, "high": 1}),
    (r"(.* )?(bmi|body mass index)( .*)?", {"kind": "real", "low": 5, "high": 100}),
    (r"(height|stature)( cm)?", {"kind": "real", "low": 20, "high": 250, "unit": "cm"}),
    (r"weight( kg)?", {"kind": "real", "low": 0, "high": 400, "unit": "kg"}),
    (r"(body )?temp(erature)?", {"kind": "real", "low": 30, "high": 45, "unit": "degrees Celsius"}),
    (r"(n|num|number|count|total)( of)? .*|.* (count|number)|visits|children", {"kind": "integer", "low": 0}),
    (
        r"sex|gender|(.* )?(group|type|kind|class|category|status|stage|grade|ward|region|country)",
        {"kind": "categorical"},
    ),
    (r"(.* )?(amount|price|cost|income|salary|dose|score|rate|level|length|size)( .*)?", {"kind": "real"}),
)


def suggested(name: str) -> DraftColumn | None:
    """Return what the name of a column suggests; None for one that is likely an identifier, a text or a time.

    Examples
    --------
    >>> suggested("ageAtAdmission").high, suggested("patient_id"), suggested("x").kind
    (120, None, None)
    """
    plain = " ".join(re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^0-9A-Za-z]+", " ", name[:200]).lower().split())
    if re.fullmatch(f"{_AS_IDENTIFIER}|{_AS_TIME}", plain):
        return None
    found = next((given for pattern, given in _SUGGESTED if re.fullmatch(pattern, plain)), {})
    return DraftColumn(name=name, **found)


def with_suggestions(column: DraftColumn) -> DraftColumn:
    """Return a column of a draft with the bounds that its name suggests, where it has none and is of that kind."""
    other = suggested(column.name)
    if other is None or other.kind != column.kind:
        return column
    low, high = (
        mine if mine is not None else named for mine, named in ((column.low, other.low), (column.high, other.high))
    )
    return replace(column, low=low, high=high, unit=column.unit or other.unit)
