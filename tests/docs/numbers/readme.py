"""README.md, from the file of the league."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "README.md"
NAMES = {"adult": "Adult", "compas": "COMPAS", "breast_cancer": "breast cancer"}


def check(page: Page) -> None:
    page.given("Python 3.11 or newer", "(Apache-2.0)", "mean test accuracy over 20 splits", "DP-EBM, δ = 1e-5")
    rows = {(row["table"], float(row["epsilon"])): row for row in records("benchmarks/results/league.csv")}
    for table, name in NAMES.items():
        for epsilon in (0.01, 0.1, 1.0):
            row = rows[table, epsilon]
            cells = (
                short(float(row[key]), 3) for key in ("list", "DP-EBM", "CART of depth 3, not private", "majority")
            )
            page.row(name, f"{epsilon:g}", f"**{short(float(row['tree']), 3)}**", *cells)
