"""Marks of tables and numbers on pages, the makers that are registered for them, and how numbers are written."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Container, Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
RESULTS = "benchmarks/results"
NAMES = {
    "adult": "Adult",
    "compas": "COMPAS",
    "breast_cancer": "breast cancer",
    "german": "German Credit",
    "ctg": "cardiotocography",
}
TUNED = (
    "breast_cancer",
    "ctg",
    "compas",
    "german",
    "wine",
)  # the tables on which priors, losses and main constants of private learners were chosen
TUNED_NOTE = (
    "\n\n† Main defaults of the private learners were chosen on this table. "
    "Some defaults were compared on other tables, too."
)
MARK = re.compile(r"(<!-- (table|n): (\w+) -->)(.*?)(<!-- /\2 -->)", re.DOTALL)
MAKERS: dict[tuple[str, str], Callable[[], str]] = {}

Row = dict[str, str]
Maker = Callable[[], str]


def table(maker: Maker) -> Maker:
    """Register a function that makes a table."""
    MAKERS["table", maker.__name__] = maker
    return maker


def number(maker: Maker) -> Maker:
    """Register a function that makes a number, or the few words around several."""
    MAKERS["n", maker.__name__] = maker
    return maker


def pages() -> list[Path]:
    """Return the pages that may contain marks; pages of single benchmarks are written as a whole."""
    own = (page for page in sorted((ROOT / "docs").rglob("*.md")) if page.parent.name != "benchmarks")
    return [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *own]


def written(page: Path) -> str:
    """Return the text of a page with its numbers; parts that differ only in line breaks stay unchanged."""

    def value(match: re.Match[str]) -> str:
        made = MAKERS[match[2], match[3]]()
        if match[4].split() == made.split():
            return match[0]
        around = "\n\n" if match[2] == "table" else ""
        return f"{match[1]}{around}{made}{around}{match[5]}"

    return MARK.sub(value, page.read_text(encoding="utf-8"))


@cache
def records(name: str) -> list[Row]:
    """Return the rows of a committed CSV file, as text."""
    path = ROOT / name if "/" in name else ROOT / RESULTS / name
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def tuned(name: str, text: str | None = None) -> str:
    """Return the name of a table as pages show it, marked if defaults were chosen on it; see `TUNED_NOTE`."""
    return (name if text is None else text) + (" †" if name in TUNED else "")


def short(value: float | str, digits: int) -> str:
    """Return a number as the pages write it: no zero before the point, a real minus."""
    text = f"{abs(float(value)):.{digits}f}"
    text = text[1:] if text.startswith("0.") else text
    return ("−" if float(value) < 0 < float(text) else "") + text


def rounded(text: str, digits: int) -> str:
    """Return the number of a file with fewer digits, a half rounded up as on paper, whatever float64 makes of it."""
    return short(float(Decimal(text).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)), digits)


def sized(text: str, key: str) -> str:
    """Return a score with three digits or a size with one digit, and nothing if it was not measured."""
    is_size = any(word in key for word in ("leaves", "rules", "attributes", "bins"))
    return short(text, 1 if is_size else 3) if text else ""


def figures(value: float, digits: int = 2) -> str:
    """Return a number with as many significant digits."""
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return f"{round(value, places):,.{max(places, 0)}f}"


def power(text: str) -> str:
    """Return a power of ten as it is written with an exponent."""
    if set(text[1:]) != {"0"} or text[0] != "1":
        raise ValueError(f"Expected a power of ten, got {text}.")
    return "10" + str(len(text) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def between(values: Iterable[float], digits: int) -> str:
    """Return the range of the values as "a to b", or their common value."""
    ordered = sorted(values)
    return " to ".join(dict.fromkeys(short(end, digits) for end in (ordered[0], ordered[-1])))


def markdown(header: Sequence[str], rows: Iterable[Iterable[str]], text: Container[int] = (0,)) -> str:
    """Return a table as `make format` writes it; all columns except text are aligned to the right."""
    marks = ["--" if place in text else "-:" for place in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (header, marks, *rows))
