"""Scorecards of several classes in benchmarks/README.md and docs/models.md, from the file of several_classes.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"
SCORES = ("accuracy", "AUROC", "log-loss")
TABLES = ("ctg", "compas, risk", "adult, relationship")  # on the others, residuals are not asked for


def rows() -> dict[tuple[str, float, bool], dict[str, str]]:
    """Return the rows by table, ε, and whether there is a δ."""
    found = records("benchmarks/results/several_classes.csv")
    return {(row["table"], float(row["epsilon"]), float(row["delta"]) > 0): row for row in found}


def are_asked(row: dict[str, str]) -> bool:
    """Return whether residuals made a difference: from the same seeds there is none where they are not asked for."""
    return any(float(row[f"{score}, more"]) for score in SCORES)


def cell(row: dict[str, str], residuals: str) -> str:
    """Return the three scores; an empty cell where residuals are not asked for."""
    if residuals == "with" and not are_asked(row):
        return ""
    return " / ".join(short(float(row[f"{score}, {residuals}"]), 3) for score in SCORES)


def check(page: Page) -> None:
    page.given("20 splits 80/20, from the same seeds")
    found = rows()
    assert {row["splits"] for row in found.values()} == {"20"}
    for table in TABLES:
        for epsilon in (0.1, 1.0, 10.0):
            pure, gaussian = (found[table, epsilon, delta] for delta in (False, True))
            cells = [cell(row, each) for row in (pure, gaussian) for each in ("without", "with")]
            page.row(table, f"{epsilon:g}", *cells)
    assert not any(are_asked(row) for (table, *_), row in found.items() if table not in TABLES)
    asked = [row for row in found.values() if are_asked(row)]
    assert all(float(row["log-loss, more"]) < -4 * float(row["standard error of log-loss, more"]) for row in asked)
    errors = [float(row[f"standard error of {score}, more"]) for row in asked for score in SCORES]
    page.says("have a standard error of at most {}", short(max(errors), 3))
    lower = [
        (row["table"], score, row["epsilon"])
        for row in asked
        for score in SCORES[:2]
        if float(row[f"{score}, more"]) < 0
    ]
    assert lower == [("compas, risk", "accuracy", "1.0")]
