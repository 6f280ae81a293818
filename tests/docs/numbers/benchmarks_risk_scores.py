"""Scorecards beside FasterRisk in benchmarks/README.md, from the file of risk_scores.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"


def cells(row: dict[str, str]) -> list[str]:
    """Return a row of the file as the page has it."""
    error = short(float(row["standard error of AUROC"]), 3)
    reached = [short(float(row[name]), 3) for name in ("AUROC", "log-loss")]
    sizes = [f"{float(row[name]):.0f}" for name in ("attributes", "terms")]
    return [row["table"], row["learner"], f"{reached[0]} ± {error}", reached[1], *sizes, row["splits"]]


def check(page: Page) -> None:
    page.given(
        "NeurIPS 2022) and", "same splits 80/20", "any 15 of at most 5 attributes", "points of ±5", "FasterRisk 0.1.10"
    )
    rows = records("benchmarks/results/risk_scores.csv")
    for row in rows:
        page.row(*cells(row))
    seconds = {row["learner"]: f"{float(row['seconds']):.0f}" for row in rows if row["table"] == "adult"}
    page.says(
        "On Adult a fit takes {} s, FasterRisk {} and {} s",
        seconds["5 attributes, points 5"],
        seconds["FasterRisk, 10 columns, points 5"],
        seconds["FasterRisk, 5 attributes, points 5"],
    )
