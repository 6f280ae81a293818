"""Three curators in benchmarks/README.md, from the file of federation.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "benchmarks/README.md"


def check(page: Page) -> None:
    page.given("Adult at ε = 0.1, CTG at ε = 1", "one question for the rows of each class by bin, 20 runs")
    rows = {(row["table"], row["how"]): row for row in records("benchmarks/results/federation.csv")}
    assert {row["runs"] for row in rows.values()} == {"20"}
    for (table, how), row in rows.items():
        numbers = (short(float(row[name]), 4) for name in ("accuracy", "deviation"))
        page.row(table, how, *numbers, f"{float(row['seconds']):.2f}")
    p = [rows[table, "three curators, HTTP"]["p (KS)"] for table in ("adult", "ctg")]
    page.says("p = {} and {}", *p)
    adult = rows["adult", "three curators, HTTP"]
    sent, received = (f"{round(float(adult[name]), -2):,.0f}" for name in ("sent", "received"))
    page.says("about {} bytes on Adult, and its answer with the card {}", sent, received)
