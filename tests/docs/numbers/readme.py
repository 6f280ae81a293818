"""README.md, from the files of the benchmarks."""

from __future__ import annotations

from tests.docs.page import Page, records, rounded

PAGE = "README.md"


def check(page: Page) -> None:
    page.given(
        "Python 3.11 or newer",
        "(Apache-2.0)",
        # the benchmark's splits and columns
        "On Adult (20 attributes, mean test accuracy over 20 splits",
    )
    rows = [row for row in records("benchmarks/results/exact_accuracy.csv") if row["models"] == "trees of depth 4"]
    page.row("ε", *(f"{float(row['epsilon']):g}" for row in rows), "not private")
    (optimum,) = {rounded(row["optimum, not private"], 3) for row in rows}
    draws = (f"**{rounded(row['exact'], 3)}**" for row in rows)
    page.row("one draw from all trees", *draws, f"{optimum} (certified optimum)")
    page.row("greedy, level by level", *(rounded(row["greedy"], 3) for row in rows))
    page.says("base rate {}), pure ε-DP", *{rounded(row["majority"], 3) for row in rows})
