"""docs/models.md: the three models beside one another, from the file of scorecards.py."""

from __future__ import annotations

from tests.docs.numbers.benchmarks_scorecards import means
from tests.docs.page import Page, short

PAGE = "docs/models.md"


def check(page: Page) -> None:
    page.given("20 splits 80/20, pure ε", "ε = 1", "δ = 1e-5", "depth 3")
    found = means()
    for table, name in (("adult", "Adult"), ("compas", "COMPAS"), ("breast_cancer", "breast cancer")):
        for epsilon in ("0.1", "1.0"):
            cells: list[str] = []
            for learner in ("scorecard", "tree of depth 3, mixed", "DP-EBM"):
                row = found[table, epsilon, learner]
                cells += [short(float(row[score]), 3) for score in ("AUROC", "log-loss", "accuracy")]
            page.row(name, f"{float(epsilon):g}", *cells)
