"""docs/reconstruction.md, from the file of benchmarks/worlds.py."""

from __future__ import annotations

from tests.docs.page import Page, figures, records

PAGE = "docs/reconstruction.md"


def check(page: Page) -> None:
    page.given(
        "(PDR eq. 2, 11 and 16)",
        # what a number means, by an example
        "0.94 means that 94 % of the entropy remains",
    )
    rows = {(row["attributes"], row["rules"]): row for row in records("benchmarks/results/worlds.csv")}
    median, slowest = float(rows["booleans", "200"]["in one go"]), float(rows["2 to 6 bins", "60"]["slowest"])
    page.says("200 random rules of three conditions over 40 booleans take {} s", figures(median, 1))
    page.says("60 on attributes of up to 6 values can take {} s", figures(slowest, 1))
