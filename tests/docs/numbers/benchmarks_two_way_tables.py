"""Two-way tables instead of a public source in benchmarks/README.md, from the file of two_way_tables.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"
SCORES = ("accuracy", "AUROC", "log-loss")


def rows() -> dict[tuple[float, str], dict[str, str]]:
    """Return the means by ε and learner."""
    found = records("benchmarks/results/two_way_tables.csv")
    return {(float(row["epsilon"]), row["learner"]): row for row in found}


def cell(row: dict[str, str]) -> str:
    """Return the three scores."""
    return " / ".join(short(float(row[score]), 3) for score in SCORES)


def check(page: Page) -> None:
    page.given(
        "Adult, 20 splits 80/20, pure ε",
        "4,000 public rows",
        "4,000 rows drawn from them",
        "TMLR 2025",
        "ε = 0.1 | ε = 1 |",
    )
    found = rows()
    assert {row["splits"] for row in found.values()} == {"20"}
    for learner in dict.fromkeys(learner for _, learner in found):
        page.row(learner, cell(found[0.1, learner]), cell(found[1.0, learner]))
    errors = [float(row[f"standard error of {score}, more"]) for row in found.values() for score in SCORES[:2]]
    page.says("accuracy and AUROC by split have a standard error of at most {}", short(max(errors), 4))
    better = [
        (learner, score)
        for (_, learner), row in found.items()
        for score in SCORES
        if "tables" in learner and (float(row[f"{score}, more"]) < 0) == (score == "log-loss")
    ]
    assert better == [("tree, exact tables for nothing", "AUROC")]
