"""docs/exact_risk.md, from the file of exact_risk.py."""

from __future__ import annotations

from tests.docs.page import Page, records, short

PAGE = "docs/exact_risk.md"
NAMES = {"compas": "COMPAS", "german": "German Credit", "adult": "Adult"}


def check(page: Page) -> None:
    page.given("99 % of rows below", "(Baker 1979", "Eisner 2016)", "with 60 digits")
    page.given("game of Salem et al. (2023)", "CSF 2023; Cherubin et al. 2024")
    page.given("below 1e-45·e^(−w)", "likelier than 1e-45", "w above 500")
    page.given("From ε = 0.1 on", "gains less than .0001 on half")
    speed = {row["what"]: row for row in records("benchmarks/results/exact_risk_speed.csv")}
    page.says("trees of depth 4 it takes {} times", speed["binarised Adult, depth 4"]["times"])
    whole = float(speed["raw Adult, depth 3"]["with encoding the rows, seconds"])
    page.says("raw Adult takes {} s for trees of depth 3", short(whole, 1))
    rows = {(row["table"], row["epsilon"]): row for row in records("benchmarks/results/exact_risk.csv")}
    for table, name in NAMES.items():
        for epsilon in ("0.01", "0.1", "1.0", "10.0"):
            row = rows[table, epsilon]
            risks = (small(row[key]) for key in ("median", "99 %", "largest"))
            bounds = (short(float(row[key]), 4) for key in ("bound of a draw", "bound of epsilon"))
            above = f"{int(row['rows above half the largest']):,}"
            page.row(f"{name}, {int(row['rows']):,} rows", f"{float(epsilon):g}", *risks, *bounds, above)
    assert all(float(rows[t, e]["median"]) < 1e-4 for t in ("compas", "adult") for e in ("0.1", "0.5", "1.0", "10.0"))
    assert all(
        float(rows[table, "1.0"]["bound of a draw"]) - float(rows[table, "1.0"]["largest"]) < 5e-4
        for table in ("compas", "german")
    )
    assert rows["compas", "10.0"]["rows above half the largest"] == "1"
    page.says("one at ε = 10 on COMPAS")
    page.says("still {} on German Credit", rows["german", "10.0"]["rows above half the largest"])


def small(text: str) -> str:
    return "< .0001" if float(text) < 5e-5 else short(float(text), 4)
