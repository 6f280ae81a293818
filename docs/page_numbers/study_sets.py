"""The study of several models of one table: docs/studies/sets.md."""

from __future__ import annotations

import csv

from page_numbers.marks import NAMES, ROOT, TUNED_NOTE, Row, markdown, number, short, table, tuned


def _rows(name: str) -> list[Row]:
    with (ROOT / "docs" / "studies" / "sets" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@table
def set_costs() -> str:
    """Accuracy of the trees of a set by their number."""
    keys = ("first", "mean", "best", "worst")
    rows = ((_name(row), row["k"], *(short(row[key], 3) for key in keys)) for row in _rows("costs"))
    return markdown(("data", "trees", *keys), rows) + TUNED_NOTE


@table
def set_laws() -> str:
    """Accuracy of the trees of a set by the law that it is drawn by."""
    result = {(row["dataset"], row["k"], row["law"]): row for row in _rows("laws")}
    rows = []
    for dataset, k in dict.fromkeys((row["dataset"], row["k"]) for row in _rows("laws")):
        cells = (
            short(result[dataset, k, law][key], 3)
            for law in ("one by one", "largest")
            for key in ("mean", "best", "worst")
        )
        rows.append((tuned(dataset, NAMES[dataset]), k, *cells))
    head = ("data", "trees", "one by one: mean", "best", "worst", "by the worst: mean", "best", "worst")
    return markdown(head, rows) + TUNED_NOTE


@number
def set_worst() -> str:
    """Accuracy of the worst of ten trees of breast cancer, by the worst and one by one."""
    (worst, alone) = (
        next(row for row in _rows("laws") if (row["dataset"], row["k"], row["law"]) == ("breast_cancer", "10", law))
        for law in ("largest", "one by one")
    )
    return f"{short(worst['worst'], 3)} instead of {short(alone['worst'], 3)}"


def _name(row: Row) -> str:
    return tuned(row["dataset"], NAMES[row["dataset"]])


@table
def set_small() -> str:
    """Exact advantage on one row, of independent draws and of sets."""
    rows = _rows("small")

    def cell(k: str, law: str) -> tuple[str, str]:
        (row,) = (row for row in rows if (row["k"], row["epsilon of"]) == (k, law))
        return short(row["independent"], 3), short(row["set"], 3)

    head = ("trees", "ε = 1 of each: independent", "a set", "ε = 1 of all: independent", "a set")
    counts = dict.fromkeys(row["k"] for row in rows)
    return markdown(head, ((k, *cell(k, "each"), *cell(k, "all")) for k in counts))


@table
def set_random() -> str:
    """Count the random tables on which a set discloses less than independent draws, and find the largest difference."""
    rows, lines = _rows("random"), list[tuple[str, ...]]()
    for k, epsilon in dict.fromkeys((row["k"], row["epsilon"]) for row in rows):
        result = [row for row in rows if (row["k"], row["epsilon"]) == (k, epsilon)]
        apart = [float(row["independent"]) - float(row["set"]) for row in result]
        most = result[apart.index(max(apart))]
        less = f"{sum(item > 0 for item in apart)} of {len(result)}"
        shown = (short(most[key], 3) for key in ("independent", "set"))
        lines.append((k, epsilon, less, most["rows"], *shown))
    head = ("trees", "ε of all", "tables on which a set discloses less", "most so, of rows", "independent", "a set")
    return markdown(head, lines)


@table
def set_draws() -> str:
    """Exact advantage on all rows of a table, of independent draws."""
    rows = _rows("draws")
    each, whole = ([row for row in rows if row["epsilon of"] == law] for law in ("each", "all"))
    keys = ("largest", "bound")
    lines = (
        (item["k"], *(short(row[key], 3) for row in (item, other) for key in keys))
        for item, other in zip(each, whole, strict=True)
    )
    return markdown(("draws", "ε = 1 of each: largest", "bound", "ε = 1 of all: largest", "bound"), lines)


@table
def set_rashomon() -> str:
    """Residual entropy of the best trees together, and of the most informative tree."""
    keys = ("error of the worst", "uncertainty of all", "uncertainty of the least alone", "rows alone in their cell")
    rows = ((_name(row), row["k"], *(short(row[key], 3) for key in keys)) for row in _rows("rashomon"))
    head = (
        "data",
        "trees",
        "errors of the worst",
        "left to guess, together",
        "most informative tree",
        "rows alone in a cell",
    )
    return markdown(head, rows) + TUNED_NOTE
