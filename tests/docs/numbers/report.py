"""docs/report.md, from the rules of the findings."""

from __future__ import annotations

import inspect

from hedgerow.report.findings import STRONG, WEAK
from hedgerow.report.guessing import MOST_RULES
from hedgerow.report.report import Report
from tests.docs.page import Page, records

PAGE = "docs/report.md"


def check(page: Page) -> None:
    page.says("a list of more than {} rules", str(MOST_RULES))
    threshold = inspect.signature(Report.of).parameters["threshold"].default
    page.says("leaves below the threshold, {} rows", str(threshold))
    page.row("ε of the model, and of all releases", f"above {WEAK}", f"up to {WEAK}", f"up to {STRONG}")
    page.given("0.4: against is", "[Five Safes RO-Crate] 0.4", "as of commit 057e5d8")
    page.given(
        "Ponomareva et al., 2023", "Dwork and Roth, 2014, section 2.3", "Hundepool et al., 2012", "Holm, 1979"
    )  # the sources
    _ways(page)
    page.given("interval above .5", "A suspicion of 50 %")  # guessing, and a prior


def _ways(page: Page) -> None:
    """Check the table of ways from a table to a report."""
    rows = records("benchmarks/results/way.csv")
    known = ("a list of ranges", "its publisher's Frictionless Table Schema", "a REDCap data dictionary")
    for row, source in zip(rows, known, strict=True):
        counts = (row["commands"], row["refused"], row["edited lines"])
        page.row(row["table"], row["columns"], f"{int(row['rows']):,}", source, *counts)
    page.says("about {} seconds of commands at most", str(max(int(row["seconds"]) for row in rows)))
