"""Claimed and found ε in benchmarks/README.md: how often is fitted, from the file of epsilon.py."""

from __future__ import annotations

from tests.docs.page import Page, records

PAGE = "benchmarks/README.md"


def check(page: Page) -> None:
    page.given("every mechanism of hedgerow at ε = 1 and 0.1")
    runs = sorted(
        {int(line["runs"]) for line in records("benchmarks/results/epsilon.csv") if line["kind"] == "hedgerow"}
    )
    quarter, full = runs
    assert full == 4 * quarter
    page.says("on each of two tables, {} by default", f"{full:,}")
