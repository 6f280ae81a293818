"""Random tables with their schemas: odd names, values at the edges of their types, every policy."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from hedgerow import Boolean, Categorical, Date, Integer, Label, Ordered, Real, Schema, Tally
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.attributes import Attribute
from hedgerow.text.date_formats import SERIAL_DAYS
from hedgerow.text.days import Day, as_plain
from tests.engines.values import NUMBERS_IN_WORDS, WORDS
from tests.engines.words import HOSTILE

NAMES = [
    *(
        "a",
        "b",
        "x y",
        " edges ",
        "é",
        "名",
        "🌲",
        'a"b',
        "a'b",
        "a`b",
        "a\\b",
        "\\",
        "a\nb",
        "a\tb",
        "a.b",
        "a;b",
        "--",
        "/*",
    ),
    *("select", "group", "null", "row", "rows", "class", "key0", "KEY1", "code0", "line0", "a0", "n", "t0", "unnest"),
    *("%s", "{0}", "$1", "[x]", "*", "?", "x" * 60, "constructor", "count(*)", "1", "_", "A" * 12, "year=2024"),
]
INTEGERS = [
    *(
        0,
        1,
        2,
        3,
        -1,
        -9,
        9,
        30,
        31,
        60,
        90,
        91,
        99,
        127,
        128,
        255,
        256,
        32767,
        -32768,
        65535,
        2**31 - 1,
        -(2**31),
        2**32 - 1,
    ),
    *(
        2**53 - 1,
        2**53,
        2**53 + 1,
        2**60 + 1,
        -(2**53) - 1,
        2**63 - 1,
        2**63 - 512,
        2**63,
        -(2**63),
        2**64 - 1,
        2**64 - 2048,
    ),
]
FLOATS = [
    *(
        0.0,
        -0.0,
        1.0,
        2.0,
        -1.0,
        0.1,
        0.3,
        0.1 + 0.2,
        1 / 3,
        0.5,
        2.5,
        9.0,
        -9.0,
        30.0,
        30.5,
        90.0,
        1e16,
        1e22,
        2.0**53,
    ),
    *(
        5e-324,
        -5e-324,
        2.2250738585072014e-308,
        1e-300,
        1e300,
        1e307,
        1e308,
        -1e308,
        1.7976931348623157e308,
        2.0**63,
        2.0**64,
    ),
    *(0.7999999999999999, 0.8, float(np.float32(0.1)), float(np.float32(1 / 3)), 0.99999994, 123456789.12345679),
    *[float("nan")] * 3,
]
DECIMALS = [
    "0",
    "1",
    "1.5",
    "-9",
    "9",
    "0.1",
    "0.3",
    "2.50",
    "30",
    "0.79999999999999990000",
    "0.33333333333333331",
    "91.25",
]
DAYS = [0, 1, 30, 31, -1, -9, 90, 19_000, -719_162, 2_932_896, 106_751]
TEXT = [*NUMBERS_IN_WORDS, *WORDS, *HOSTILE, "1.5e-150", "1e308", "-0", "0.0", "9007199254740993.0", "a" * 300]
STORAGES: dict[str, Any] = {
    **{
        kind: getattr(pa, kind)() for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
    **{kind: getattr(pa, kind)() for kind in ("float32", "float64", "bool_", "date32", "string", "large_string")},
    **{
        f"decimal {digits}": pa.decimal128(*digits) for digits in ((5, 2), (12, 3), (15, 2), (18, 1), (38, 20), (38, 0))
    },
}
LABELS: list[tuple[Any, ...]] = [("no", "yes"), ("a'b", "\\", "é"), (0, 1), (1, 2, -9), (False, True), ("1", "2", "30")]


@dataclass(frozen=True)
class Case:
    """A table and a schema that may fit it; the attribute ``row`` is the number of the row, which compares each."""

    table: pa.Table
    schema: Schema


def case(seed: Sequence[int], *, storages: Sequence[str] = tuple(STORAGES)) -> Case:
    """Return the case of a seed; of those that memory refuses, one in ten."""
    random = np.random.default_rng(seed)
    while True:
        result = _any_case(random, storages)
        try:
            Tally.count(result.table, result.schema.label.name, result.schema)
        except DomainError:
            if random.random() < 0.9:
                continue
        return result


def _any_case(random: np.random.Generator, storages: Sequence[str]) -> Case:
    n_rows = int(random.choice([0, 1, 7, 30, 30, 30, 30, 30]))
    names = [NAMES[i] for i in random.permutation(len(NAMES))[: random.integers(2, 6)]]
    attributes: dict[str, Attribute] = {"row id": Integer(0, 30, cuts=tuple(range(30)))}
    columns: dict[str, pa.Array] = {"row id": pa.array(range(n_rows), pa.int32())}
    for name in names[1:]:
        kind = STORAGES[str(random.choice(storages))]
        attributes[name] = attribute = _attribute(random, kind)
        columns[name] = _column(random, kind, attribute, n_rows)
    classes = LABELS[random.integers(len(LABELS))]
    columns[names[0]] = _labels(random, classes, n_rows, storages)
    return Case(pa.table(columns), Schema(attributes, Label(names[0], classes)))


def _labels(random: np.random.Generator, classes: tuple[Any, ...], n_rows: int, storages: Sequence[str]) -> pa.Array:
    kinds: list[Any] = [pa.string()]
    if isinstance(classes[0], bool):
        kinds += [pa.bool_()] * 3
    elif isinstance(classes[0], int):
        kinds += [
            STORAGES[kind] for kind in ("int8", "int64", "float32", "float64", "decimal (12, 3)") if kind in storages
        ]
    kind = kinds[random.integers(len(kinds))]
    labels = [classes[i] for i in random.integers(len(classes), size=n_rows)]
    if pa.types.is_string(kind):
        labels = [
            f"{'  '[: random.integers(3)]}{str(label).lower() if isinstance(label, bool) else label}"
            for label in labels
        ]
    if random.random() < 0.05 and labels:
        labels[0] = None
    return pa.array([_stored(label, kind) for label in labels], kind)


def _column(random: np.random.Generator, kind: Any, attribute: Attribute, n_rows: int) -> pa.Array:
    values = [value for value in (_stored(value, kind) for value in _pool(kind, attribute, random)) if value is not _NO]
    picked = [values[i] for i in random.integers(len(values), size=n_rows)]
    return pa.array([None if random.random() < 0.1 else value for value in picked], kind)


_NO = object()


def _stored(value: Any, kind: Any) -> Any:
    """Return a value as a storage type has it, or `_NO`."""
    if value is None:
        return None
    if pa.types.is_date(kind):
        return datetime.date(1970, 1, 1) + datetime.timedelta(days=value) if isinstance(value, int) else _NO
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return value if isinstance(value, str) else repr(value)
    if isinstance(value, str):
        return _NO
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_float64(kind):
        return float(value)
    if pa.types.is_float32(kind):
        return float(value) if np.isnan(value) or abs(value) < 3e38 else _NO
    if pa.types.is_integer(kind):
        limits = np.iinfo(kind.to_pandas_dtype())
        return int(value) if value == value and limits.min <= value <= limits.max and value == int(value) else _NO
    return value


FORMATS = ["%d.%m.%Y", "%m/%d/%Y %H:%M", "%Y%m%d", "%H:%M:%S, %Y/%m/%d", "iso", "excel", "excel-1904"]
ODD_DATES = [
    *(
        "1970-02-30",
        "30.02.1970",
        "1.1.70",
        "0.1.1970",
        "01.13.1970",
        "1970-13-01",
        "19700230",
        "1970-01-01T24:00",
        "60",
    ),
    *("1970-01-01T12:00Z", "1970-01-01T12:00+02:00", "43861,5", "4.3861e4", "+43861", "2958466", "01.01.1970\u2028"),
    *(" 1970-01-031", "1.1.1970 ", "０1.01.1970", "1970-01-01T12:00:00.1234567890", "1/1/1970", "043861", "43861."),
]


def spellings(day: Day, form: str | None) -> list[str]:
    """Return texts that spell a day in a format, padded by zeros and not, one with white space around it."""
    date = day.date
    if form is None:
        return []
    if (system := SERIAL_DAYS.get(form)) is not None:
        serial = (date - datetime.date.fromisoformat(system.zero)).days
        return [f"{serial}", f"{serial}.5 ", f"{serial}.000"] if serial >= system.first else []
    if form == "iso":
        return [f"{date}{time}" for time in ("T23:59", " 00:00:00", "T12:34:56.123456789 ")]
    time = {"H": "23", "M": "05", "S": "59"}
    padded = {"Y": f"{date.year:04}", "m": f"{date.month:02}", "d": f"{date.day:02}", **time}
    bare = {**padded, "m": f"{date.month}", "d": f"{date.day}"}
    texts = [re.sub("%(.)", lambda found: parts[found[1]], form) for parts in (padded, bare)]  # noqa: B023
    return [texts[0], f"\t{texts[form != '%Y%m%d']} "]


def _pool(kind: Any, attribute: Attribute, random: np.random.Generator) -> list[Any]:
    if pa.types.is_boolean(kind):
        return [True, False]
    if pa.types.is_date(kind):
        return DAYS
    if pa.types.is_decimal(kind):
        limit = Decimal(10) ** (kind.precision - kind.scale)
        quantum = Decimal(1).scaleb(-kind.scale)
        return [d for d in map(Decimal, DECIMALS) if abs(d) < limit and d == d.quantize(quantum)]
    declared = [*getattr(attribute, "values", ()), *getattr(attribute, "cuts", ()), *attribute.missing_values]
    declared = list(map(as_plain, declared))
    if isinstance(attribute, Date) and (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        days = [Day(day) for day in DAYS[:-1]]
        written = [text for day in days for text in spellings(day, attribute.format)]
        odd = ODD_DATES if random.random() < 0.3 else []
        return [*map(str, days), *written, *odd, " 1970-01-01\t", "", *declared * 3]
    if isinstance(attribute, Date):
        serials = [1, 61, 100, 24107, 25569, 25600, 43861, *([43861.75, 25569.5] if pa.types.is_floating(kind) else [])]
        odd = (
            [0, -9, 60, 2_957_004, 2_958_466, *([0.5] if pa.types.is_floating(kind) else [])]
            if random.random() < 0.3
            else []
        )
        digits = [19700101, 20200131] if attribute.format not in SERIAL_DAYS and pa.types.is_integer(kind) else []
        return [*digits, 100] if digits else [*serials, *odd]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        if isinstance(attribute, Categorical):
            return [*TEXT, *declared * 5]
        if isinstance(attribute, Boolean):
            return ["true", "FALSE", " 0", "1", "1.0", "0.00", "True ", "", *declared]
        return ["1", "30.5", " 9 ", "-9.0", ".5", "1e2", "1e-300", "", "0.30000000000000004", "1e15", *declared * 2]
    if isinstance(attribute, Boolean):
        return [0, 1, *declared]
    numbers = [*declared * 2, *(FLOATS if pa.types.is_floating(kind) else INTEGERS)]
    return [*numbers, float("inf")] if pa.types.is_floating(kind) and random.random() < 0.05 else numbers


def _attribute(random: np.random.Generator, kind: Any) -> Attribute:
    if pa.types.is_boolean(kind) or random.random() < 0.15:
        choice = "boolean"
    else:
        choice = str(random.choice(["categorical", "ordered", "integer", "real"]))
    if pa.types.is_date(kind) or (pa.types.is_string(kind) and random.random() < 0.2):
        choice = str(random.choice(["date", "date", choice]))
    if pa.types.is_integer(kind) or pa.types.is_float64(kind):
        choice = "date" if random.random() < 0.15 else choice
    while True:
        try:
            return _of_kind(choice, random, kind)
        except SchemaError:
            continue


def _of_kind(choice: str, random: np.random.Generator, kind: Any) -> Attribute:
    def some(values: Sequence[Any], most: int) -> tuple[Any, ...]:
        return tuple(values[i] for i in random.permutation(len(values))[: random.integers(most + 1)])

    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    sentinels = some([-9, 9, 0.1, 30.5, "?", "-9", "nan", 1, 2**53 + 1, float(np.float32(0.1)), 1e308, "red"], 3)
    missing: dict[str, Any] = {"missing": "error"}
    if random.random() < 0.9:
        missing = {"missing": "bin", "missing_values": sentinels}
    if choice == "boolean":
        return Boolean(**missing)
    bin = random.random() < 0.9
    if choice in ("categorical", "ordered"):
        values = TEXT if text else [*INTEGERS, "0.1", "2.5", "1", "1e+22", "30", "9007199254740992.0"]
        made = Categorical if choice == "categorical" else Ordered
        words, spellings = some(values, 40), ()
        if random.random() < 0.3:
            words, others = words[: len(words) // 2], words[len(words) // 2 :]
            spellings = tuple(others[place :: len(words)] for place in range(len(words)))
        return made(words, other_spellings=spellings, outside="bin" if bin else "error", **missing)
    outside = str(random.choice(["bin", "clip"])) if bin else "error"
    if choice == "date":
        missing["missing_values"] = [str(value) for value in missing.get("missing_values", ())]
        form = str(random.choice(FORMATS)) if random.random() < 0.7 else None
        if not text and not pa.types.is_date(kind):
            form = str(random.choice([*SERIAL_DAYS, "%Y%m%d"]))
        if form and missing["missing_values"]:
            missing["missing_values"] += some(["01.01.1970", "1970-01-31", "25569", "19700101", "99.99.9999"], 2)
        low, *cuts, high = sorted({*some([Day(day) for day in DAYS], 6), Day(-10), Day(20_000)})
        return Date(low, high, cuts, outside=outside, format=form, **missing)
    if choice == "integer":
        low, *cuts, high = sorted({*some([n for n in INTEGERS if abs(n) < 2**53], 12), -10, 91})
        return Integer(low, high, cuts=tuple(cuts), outside=outside, **missing)
    low, *cuts, high = sorted({*some([x for x in FLOATS if abs(x) <= 1e307], 12), -0.5, 91.5})
    return Real(low, high, cuts=tuple(cuts), outside=outside, **missing)
