"""Derived attributes with odd cells of their columns in many types, and their values by plain Python, row by row."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow.schema import (
    Categorical,
    Derivation,
    Integer,
    Label,
    Ordered,
    Prefix,
    Ratio,
    Real,
    Schema,
    Sum,
    YearsSince,
)

UNTIL = ("2026-03-01", "2024-02-29", "2025-02-28", "2000-01-01", "1969-12-31")
DATES = [
    *("2000-02-29", "2004-02-29", "2000-03-01", "2000-02-28", "1999-12-31", "1970-01-01", "1969-07-20", "0001-01-01"),
    *("9999-12-31", "2026-03-01", "2026-03-02", "2024-02-29", "1900-02-28", "1900-03-01", "1925-02-28", "2025-03-01"),
]
CODES = [
    "I20",
    "I2",
    "I",
    "J45.1",
    "j45",
    " K5 ",
    "D50",
    "D5",
    "D",
    "Z99",
    "250",
    "0250",
    "1.05",
    "é漢🌲",
    "a'b",
    "\\n",
]
NUMBERS = [0.0, -0.0, 1.0, 3.0, 7.0, 10.0, -2.5, 0.1, 1 / 3, 1e-200, -1e-150, 1e-100, 1e100, -1e99, 5e-324, 250.0]
ITEMS = [0, 1, 2, 3, -9]
MISSING = {"years": "unknown", "ratio": -9, "sum": -9, "prefix": "?"}
MAPPING = {"heart": ("I", "I2"), "lung": ("J", "j"), "blood": ("D5",), "other": ("D", "25", "é漢", "a'", "\\")}
OUTSIDE = "outside"


def derivations(random: np.random.Generator) -> dict[str, Any]:
    """Return an attribute of each kind, with policies at random."""
    words = [MISSING["years"]] if random.random() < 0.7 else []
    whole = [MISSING["sum"]] if random.random() < 0.7 else []

    def policies(*outside: str) -> dict[str, Any]:
        return {"missing": "bin", "outside": str(random.choice(outside))}

    until = str(random.choice(UNTIL))
    chapters = ("I", "J", "K", "1", "é", "a", "2")
    years = YearsSince("birth", until, missing_values=tuple(words))
    local = YearsSince("local", until, format="%d.%m.%Y")
    ratio = Ratio("above", "below", missing_values=tuple(whole))
    score = Sum(("q1", "q2", "q3"), (0, 3), missing_values=tuple(whole))
    mapped = Prefix("code", mapping=MAPPING, missing_values=("?",))
    return {
        "age": Integer(0, 110, tuple(range(0, 110, 3)), derived=years, **policies("bin", "clip")),
        "local age": Integer(0, 110, (17, 45), derived=local, **policies("bin", "clip")),
        "chapter": Categorical(chapters, derived=Prefix("code", 1), **policies("bin")),
        "two": Ordered(("I2", "J4", "D5", "25", "1"), derived=Prefix("code", 2), **policies("bin")),
        "group": Categorical(tuple(MAPPING), derived=mapped, **policies("bin")),
        "share": Real(-5, 5, (-2.5, 0.0, 0.1, 1 / 3, 3.0), derived=ratio, **policies("bin", "clip")),
        "score": Integer(0, 9, (0, 2, 4), derived=score, **policies("bin", "clip")),
    }


def schema(random: np.random.Generator) -> Schema:
    """Return them as a schema, with a label and the number of the row, which compares each."""
    result = {"row id": Integer(0, 100, tuple(range(100))), **derivations(random)}
    return Schema(result, Label("y", ("no", "yes")))


def table(random: np.random.Generator, n_rows: int = 30) -> pa.Table:
    """Return rows of odd cells, each column in one of its types."""

    def drawn(values: list[Any], *others: Any) -> list[Any]:
        every = [*values, *others]
        return [every[i] for i in random.integers(len(every), size=n_rows)]

    def numbers(values: list[Any]) -> pa.Array:
        kind = random.choice(["float", "text", "whole"])
        if kind == "text":
            return pa.array([None if v is None else f" {v!r}" for v in drawn(values, None)], pa.string())
        if kind == "float" or any(value != int(value) or abs(value) > 1e9 for value in values):
            return pa.array(drawn(values, None, float("nan")), pa.float64())
        return pa.array([None if v is None else int(v) for v in drawn(values, None)], pa.int64())

    births = drawn(DATES, None)
    as_text = random.random() < 0.5
    codes: pa.Array = pa.array(drawn(CODES, None, "", "  ", "?"), pa.string())
    if random.random() < 0.3:
        codes = pa.array(drawn([250, 1, 0, 20], None), random.choice([pa.int64(), pa.float64()]))
    elif random.random() < 0.2:
        codes = pa.array(drawn([250.0, 1.5, 2e15, -3.0], None, float("nan")), pa.float64())
    columns = {
        "row id": pa.array(range(n_rows), pa.int32()),
        "birth": pa.array([*births[:-2], "unknown" if as_text else None, " " if as_text else None], pa.string()),
        "local": pa.array([birth and ".".join(reversed(birth.split("-"))) for birth in births], pa.string()),
        "code": codes,
        "above": numbers(NUMBERS),
        "below": numbers(NUMBERS),
        **{name: numbers(ITEMS[: 4 + (random.random() < 0.5)]) for name in ("q1", "q2", "q3")},
        "y": pa.array(drawn(["no", "yes"]), pa.string()),
    }
    if not as_text:
        columns["birth"] = columns["birth"].cast(pa.date32())
    return pa.table(columns)


def plain(cell: Any, missing: tuple[Any, ...]) -> Any:
    """Return a cell as text, a number or a date; None where it is missing."""
    if cell is None or cell != cell:
        return None
    if isinstance(cell, str):
        cell = re.sub(r"^(-?[0-9]+)\.0+$", r"\1", cell.strip())
    return None if cell in ("", *missing, *map(str, missing)) else cell


def value(derived: Derivation, row: dict[str, Any]) -> Any:
    """Return a row's value, None where it is missing, `OUTSIDE` where a code has no prefix; ValueError if refused."""
    cells = [plain(row[name], derived.missing_values) for name in derived.columns]
    others = [cell for cell in cells if cell is not None]
    if isinstance(derived, YearsSince):
        if derived.format:
            others = ["-".join(reversed(cell.split("."))) for cell in others]
        days = [datetime.date.fromisoformat(cell) if isinstance(cell, str) else cell for cell in others]
        return _age(days[0], datetime.date.fromisoformat(str(derived.until))) if days else None
    if isinstance(derived, Prefix):
        return _prefix(derived, others[0]) if others else None
    numbers = [float(cell) for cell in others]
    if isinstance(derived, Sum) and any(not number.is_integer() or not 0 <= number <= 3 for number in numbers):
        raise ValueError
    if any(abs(number) > 1e100 for number in numbers):
        raise ValueError
    if len(numbers) < len(cells):
        return None
    if isinstance(derived, Sum):
        return int(sum(map(Fraction, numbers)))
    above, below = (0.0 if abs(number) < 1e-100 else number for number in numbers)
    return None if below == 0 else float(Fraction(above) / Fraction(below))  # Python rounds a fraction to the nearest


def _age(birth: datetime.date, until: datetime.date) -> int:
    """Count birthdays: on 1 March of common years for who was born on 29 February."""
    years = until.year - birth.year - 1
    while _birthday(birth, birth.year + years + 1) <= (until.year, until.month, until.day):
        years += 1
    while _birthday(birth, birth.year + years) > (until.year, until.month, until.day):
        years -= 1
    return years


def _birthday(birth: datetime.date, year: int) -> tuple[int, int, int]:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (year, 3, 1) if (birth.month, birth.day) == (2, 29) and not is_leap else (year, birth.month, birth.day)


def _prefix(derived: Prefix, cell: Any) -> Any:
    if isinstance(cell, float):
        if not cell.is_integer() or abs(cell) >= 1e15:
            return OUTSIDE
        cell = int(cell)
    word = str(cell)
    if derived.length is not None:
        return word[: derived.length]
    fits = [prefix for prefixes in MAPPING.values() for prefix in prefixes if word.startswith(prefix)]
    if not fits:
        return OUTSIDE
    longest = max(fits, key=len)
    return next(name for name, prefixes in MAPPING.items() if longest in prefixes)
