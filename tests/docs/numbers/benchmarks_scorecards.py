"""Private scorecards in benchmarks/README.md, from the file of scorecards.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"
LEARNERS = ("scorecard", "scorecard with delta", "tree of depth 3, mixed", "DP-EBM", "DP-EBM on bins")
OPEN = "logistic, not private"
Key = tuple[str, str, str]


def means() -> dict[Key, dict[str, str]]:
    """Return the means over the splits by table, ε and learner."""
    rows = records("benchmarks/results/scorecards.csv")
    return {(row["table"], row["epsilon"], row["learner"]): row for row in rows}


def both(row: dict[str, str]) -> str:
    """Return AUROC and log-loss as a cell."""
    return f"{short(float(row['AUROC']), 3)} / {short(float(row['log-loss']), 3)}"


def check(page: Page) -> None:
    page.given("20 splits 80/20", "δ = 1e-5", "trees of depth 3", "clipped at 0.0001", "ten bins of equal width")
    page.given("5 splits 70/30, default sizes", "exact 95 % intervals")
    found = means()
    for table, epsilon, learner in found:
        if learner == LEARNERS[0]:
            assert found[table, epsilon, learner]["splits"] == "20"
            cells = [both(found[table, epsilon, name]) for name in LEARNERS] + [both(found[table, "", OPEN])]
            page.row(table, f"{float(epsilon):g}", *cells)
